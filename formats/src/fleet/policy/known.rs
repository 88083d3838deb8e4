//! Shared values: a hundred thousand clusters mostly repeat the same few names, patterns and
//! schedules.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use towpath_core::fleet::{Name, Schedule};
use towpath_core::graph::Pattern;

/// The most different patterns that all files together may have; they bound what compiling them can cost.
pub const MAX_PATTERNS: usize = 5_000;
/// The most different schedules that all files together may have.
pub const MAX_SCHEDULES: usize = 20_000;
/// A schedule that never fires takes a search of centuries. At most this many are searched.
const MAX_NEVER: usize = 20;

/// Names, patterns and schedules, each kept once.
#[derive(Debug, Default)]
pub(crate) struct SharedValues {
    names: BTreeSet<Name>,
    patterns: BTreeMap<Name, Result<Pattern, String>>,
    schedules: BTreeMap<Name, Result<Schedule, String>>,
    /// Whether there is ever such a day: by day of month, month and day of week.
    days: BTreeMap<String, bool>,
}

impl SharedValues {
    /// The name of that text.
    pub(crate) fn name(&mut self, text: &str) -> Name {
        if let Some(name) = self.names.get(text) {
            return name.clone();
        }
        let name: Name = text.into();
        self.names.insert(name.clone());
        name
    }

    /// The pattern of that text, or why it is none.
    pub(crate) fn pattern(&mut self, text: &str) -> Result<Pattern, String> {
        if let Some(known) = self.patterns.get(text) {
            return known.clone();
        }
        if self.patterns.len() >= MAX_PATTERNS {
            return Err(format!(
                "there are more than {MAX_PATTERNS} different patterns before it"
            ));
        }
        let pattern = match text.is_empty() {
            true => Err(
                "it is empty, and would block every version; write `.*` if that is meant"
                    .to_owned(),
            ),
            false => Pattern::new(text).map_err(|error| error.to_string()),
        };
        self.patterns.insert(text.into(), pattern.clone());
        pattern
    }

    /// The schedule of that text, or why it is none.
    pub(crate) fn schedule(&mut self, text: &str) -> Result<Schedule, String> {
        if let Some(known) = self.schedules.get(text) {
            return known.clone();
        }
        if self.schedules.len() >= MAX_SCHEDULES {
            return Err(format!(
                "there are more than {MAX_SCHEDULES} different schedules before it"
            ));
        }
        let parsed = text
            .parse::<Schedule>()
            .map_err(|error| error.to_string().trim_end_matches('.').to_owned());
        let schedule = parsed.and_then(|schedule| self.fires(schedule));
        self.schedules.insert(text.into(), schedule.clone());
        schedule
    }

    /// The schedule, unless it never fires. There is every minute of every day, so only the days matter.
    fn fires(&mut self, schedule: Schedule) -> Result<Schedule, String> {
        let days: Vec<&str> = schedule.as_str().split_whitespace().skip(2).collect();
        let days = days.join(" ");
        let there_are = match self.days.get(&days) {
            Some(known) => *known,
            None if self.days.values().filter(|there_are| !**there_are).count() >= MAX_NEVER => {
                return Err(format!(
                    "there are {MAX_NEVER} before it that never fire, so it was not looked at"
                ));
            }
            None => has_days(&schedule),
        };
        self.days.insert(days, there_are);
        match there_are {
            true => Ok(schedule),
            false => Err("it never fires: there is no such day".to_owned()),
        }
    }
}

/// From the year 2000 on, every calendar comes by within four hundred years.
fn has_days(schedule: &Schedule) -> bool {
    const YEAR_2000: i64 = 946_684_800;
    let start = Timestamp::from_second(YEAR_2000).unwrap_or(Timestamp::UNIX_EPOCH);
    schedule.after(start, &TimeZone::UTC).is_some()
}
