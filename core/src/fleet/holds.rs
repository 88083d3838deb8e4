//! What holds each cluster, found out once for all questions about one pass.
//!
//! A filter, a count and a table ask it of every cluster. The answers stay right until the planner changes, so the planner
//! forgets them whenever it does.

use std::sync::OnceLock;

use jiff::Timestamp;

use super::why;
use crate::fleet::roster::{CalendarEntry, ClusterEntry, StartQuestion};
use crate::fleet::rules::RuleSet;
use crate::fleet::{ClusterIdx, Roster};
use crate::table::Table;

#[derive(Debug, Clone, Default)]
pub(super) struct HoldIndex(OnceLock<(Timestamp, Table<ClusterEntry, RuleSet>)>);

impl HoldIndex {
    /// The rules that hold a cluster which could go somewhere. Another time than that of the first question is judged anew.
    pub(super) fn of(&self, roster: &Roster, member: ClusterIdx, now: Timestamp) -> RuleSet {
        let (at, held) = self.0.get_or_init(|| (now, all(roster, now)));
        match *at == now {
            true => held[member],
            false => why::holding(&StartQuestion::new(roster, member, now), RuleSet::CLUSTER),
        }
    }
}

/// All clusters at once: those with one calendar share what it says.
fn all(roster: &Roster, now: Timestamp) -> Table<ClusterEntry, RuleSet> {
    let mut closed: Table<CalendarEntry, Option<RuleSet>> = Table::like(&roster.calendars, None);
    let others = RuleSet::CLUSTER.without(RuleSet::CALENDAR);
    let held = roster.numbers().map(|member| {
        let question = StartQuestion::new(roster, member, now);
        if question.member.candidates.is_empty() {
            return RuleSet::NONE;
        }
        let by_calendar = closed[question.class.calendar]
            .get_or_insert_with(|| RuleSet::CALENDAR.holding(&question));
        by_calendar.and(why::holding(&question, others))
    });
    held.collect()
}
