//! The agenda: when clusters may start, over some days. The hits of schedules, maintenance windows and exclusions, as spans.
//!
//! Clusters of an organisation that have the same calendar are one row.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::{ClusterIdx, Filter, FleetPlanner};
use crate::finding::Place;
use crate::fleet::roster::{CalendarEntry, CalendarIdx, Entries, OrganisationIdx};
use crate::fleet::{ClusterState, Exclusion, FleetPolicy, MaintenanceWindow, Name, Schedule};

/// The most names of a row. All its clusters are counted.
const MAX_NAMES: usize = 20;
/// The most spans of a kind in a row.
const MAX_SPANS: usize = 300;
/// The most hits of a schedule that are looked at for a row.
const MAX_HITS: usize = 4_000;
/// Hits that are no further apart are one span.
const ONE_SPAN: SignedDuration = SignedDuration::from_hours(1);
/// A schedule that is hit this often is looked at in steps of this length.
const STRIDE: SignedDuration = SignedDuration::from_mins(30);

/// The calendar of some clusters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgendaRow {
    pub organisation: Name,
    pub clusters: usize,
    /// The first of them, by name.
    pub names: Vec<Name>,
    /// As it is written. None if there is none that can be read.
    pub schedule: Option<Schedule>,
    /// When one of them may start next, by its calendar alone.
    pub next_start: Option<Timestamp>,
    /// Where the policy of the first of them is written.
    pub place: Option<Place>,
    /// By their beginning.
    pub spans: Vec<AgendaSpan>,
    /// Whether there are more spans than are told.
    pub is_cut: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct AgendaSpan {
    pub from: Timestamp,
    pub until: Timestamp,
    pub kind: SpanKind,
    pub time_zone: Name,
    pub why: Option<Name>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SpanKind {
    /// From a hit of the schedule to the last one that follows it within an hour.
    Schedule,
    /// A maintenance window: starts are allowed in it.
    Window,
    /// Nothing starts in it.
    Exclusion,
}

impl SpanKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Schedule => "schedule",
            Self::Window => "window",
            Self::Exclusion => "exclusion",
        }
    }
}

/// The place of a row: its organisation, and its number among the calendars of all.
pub type AgendaKey = (Name, usize);

/// What is asked of an agenda.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgendaQuestion<'a> {
    pub from: Timestamp,
    pub until: Timestamp,
    /// Only rows after this one.
    pub after: Option<&'a AgendaKey>,
    pub limit: usize,
}

impl Filter {
    /// The first rows that are asked for, and where the next ones begin if there are more.
    pub fn agenda(
        &self,
        desk: &FleetPlanner,
        policy: &FleetPolicy,
        question: &AgendaQuestion<'_>,
        now: Timestamp,
    ) -> (Vec<AgendaRow>, Option<AgendaKey>) {
        let roster = desk.roster();
        let mut rows: BTreeMap<(OrganisationIdx, CalendarIdx), Vec<ClusterIdx>> = BTreeMap::new();
        for member in self.members(desk, now) {
            let class = roster.class_of(member);
            let row = rows.entry((class.organisation, class.calendar));
            row.or_default().push(member);
        }
        let key = |(organisation, calendar): &(OrganisationIdx, CalendarIdx)| {
            let id = roster.organisations[*organisation].id.clone();
            (id, calendar.at())
        };
        let mut rows: Vec<(AgendaKey, CalendarIdx, Vec<ClusterIdx>)> = rows
            .into_iter()
            .map(|(place, members)| (key(&place), place.1, members))
            .filter(|(key, ..)| question.after.is_none_or(|after| key > after))
            .collect();
        rows.sort_by(|(a, ..), (b, ..)| a.cmp(b));
        let has_more = rows.len() > question.limit;
        rows.truncate(question.limit);
        let last = rows.last().filter(|_| has_more);
        let last = last.map(|(key, ..)| key.clone());
        let entries = Entries::new(policy);
        let told = |(key, calendar, members): (AgendaKey, CalendarIdx, Vec<ClusterIdx>)| {
            let calendar = &roster.calendars[calendar];
            let states = members.iter().map(|member| roster.cluster(*member));
            row(key.0, calendar, states.collect(), &entries, question, now)
        };
        (rows.into_iter().map(told).collect(), last)
    }
}

fn row(
    organisation: Name,
    calendar: &CalendarEntry,
    mut states: Vec<&ClusterState>,
    entries: &Entries<'_>,
    question: &AgendaQuestion<'_>,
    now: Timestamp,
) -> AgendaRow {
    states.sort_unstable_by_key(|state| (&state.name, &state.id));
    let entry = states.first().and_then(|state| entries.of(state));
    let (mut spans, is_cut) = spans(calendar, question.from, question.until);
    spans.sort();
    AgendaRow {
        organisation,
        clusters: states.len(),
        names: states
            .iter()
            .take(MAX_NAMES)
            .map(|state| state.name.clone())
            .collect(),
        schedule: calendar.schedule.clone(),
        next_start: calendar.schedules().next(now),
        place: entry.map(|entry| entry.origin.clone()),
        spans,
        is_cut,
    }
}

/// All spans of a calendar that touch a time, and whether there are more.
fn spans(calendar: &CalendarEntry, from: Timestamp, until: Timestamp) -> (Vec<AgendaSpan>, bool) {
    let mut spans = Vec::new();
    let mut is_cut = false;
    if let Some(schedule) = &calendar.schedule {
        is_cut |= scheduled(schedule, from, until, &mut spans);
    }
    for window in &calendar.windows {
        is_cut |= opened(window, from, until, &mut spans);
    }
    let excluded = calendar.exclusions.iter().filter_map(excluded);
    spans.extend(excluded.filter(|span| span.from < until && from < span.until));
    (spans, is_cut)
}

/// Adds the spans in which a schedule is hit. Returns whether it has more.
fn scheduled(
    schedule: &Schedule,
    from: Timestamp,
    until: Timestamp,
    spans: &mut Vec<AgendaSpan>,
) -> bool {
    let utc = jiff::tz::TimeZone::UTC;
    let after = |time: Timestamp| schedule.after(time, &utc).filter(|hit| *hit < until);
    let Ok(before) = from.checked_sub(SignedDuration::from_secs(1)) else {
        return false;
    };
    let span = |from: Timestamp, until: Timestamp| AgendaSpan {
        from,
        until,
        kind: SpanKind::Schedule,
        time_zone: "UTC".into(),
        why: None,
    };
    let (begun, mut hits) = (spans.len(), 0);
    let mut open: Option<(Timestamp, Timestamp)> = None;
    let mut hit = after(before);
    while let Some(at) = hit {
        hits += 1;
        if hits > MAX_HITS || spans.len() - begun >= MAX_SPANS {
            spans.extend(open.map(|(first, last)| span(first, last)));
            return true;
        }
        open = match open {
            Some((first, last)) if last.duration_until(at) <= ONE_SPAN => Some((first, at)),
            Some((first, last)) => {
                spans.push(span(first, last));
                Some((at, at))
            }
            None => Some((at, at)),
        };
        // One that is hit again within the hour after a stride has no gap that would end the span.
        let far = at.checked_add(STRIDE).ok().and_then(after);
        let is_near = |far: &Timestamp| at.duration_until(*far) <= ONE_SPAN;
        hit = far.filter(is_near).or_else(|| after(at));
    }
    spans.extend(open.map(|(first, last)| span(first, last)));
    false
}

/// Adds the spans of a maintenance window. Returns whether it has more.
fn opened(
    window: &MaintenanceWindow,
    from: Timestamp,
    until: Timestamp,
    spans: &mut Vec<AgendaSpan>,
) -> bool {
    let Ok(mut after) = from.checked_sub(window.lasts) else {
        return false;
    };
    for _ in 0..MAX_SPANS {
        let opens = window.opens_after(after).filter(|opens| *opens < until);
        let Some(opens) = opens else { return false };
        let Ok(closes) = opens.checked_add(window.lasts) else {
            return false;
        };
        spans.push(AgendaSpan {
            from: opens,
            until: closes,
            kind: SpanKind::Window,
            time_zone: window.time_zone.name().into(),
            why: None,
        });
        after = opens;
    }
    true
}

fn excluded(exclusion: &Exclusion) -> Option<AgendaSpan> {
    Some(AgendaSpan {
        from: exclusion.begins()?,
        until: exclusion.ends()?,
        kind: SpanKind::Exclusion,
        time_zone: exclusion.time_zone.name().into(),
        why: exclusion.why.clone(),
    })
}
