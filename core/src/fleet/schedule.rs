//! When a cluster may start: a cron schedule, and windows and exclusions with their own time zone.
//!
//! Day of month and day of week must both match, as in AUS. Schedules are in UTC. Windows and
//! exclusions name their zone. An hour that the change to summer time skips fires at its end. An
//! hour that occurs twice fires once.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned};

use super::Name;
use super::calendar::Calendar;
use crate::moment::WallClock;

/// The shortest time from a decision to its start: the cluster's API wants some notice.
pub const NOTICE: SignedDuration = SignedDuration::from_mins(6);
/// The longest time from a decision to its start: what is further away is decided later, with what is known then.
pub const HORIZON: SignedDuration = SignedDuration::from_hours(2);
/// How many hits of a schedule are looked at in search of one that is allowed.
const MAX_HITS: usize = 2_000;

/// A cron schedule of five fields, or a calendar. Equal texts are equal schedules.
#[derive(Clone)]
pub struct Schedule {
    text: Name,
    form: Form,
}

#[derive(Clone)]
enum Form {
    Cron(Arc<Cron>),
    Calendar(Arc<Calendar>),
}

/// Why a text is not a schedule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotASchedule(pub(super) String);

/// A span that comes again and again: begins at each hit of a schedule, and lasts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MaintenanceWindow {
    /// When it begins, in its zone.
    pub begins: Schedule,
    pub lasts: SignedDuration,
    pub time_zone: Zone,
}

/// A time zone, by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zone(TimeZone);

/// A span in which nothing starts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Exclusion {
    /// From then on, in its zone.
    pub from: DateTime,
    /// Until then, exclusive, in its zone.
    pub until: DateTime,
    pub time_zone: Zone,
    pub why: Option<Name>,
}

/// All that says when a cluster may start.
#[derive(Debug, Clone, Copy)]
pub struct Schedules<'a> {
    pub schedule: Option<&'a Schedule>,
    pub windows: &'a [MaintenanceWindow],
    pub exclusions: &'a [Exclusion],
}

/// Why nothing may start at a time that the schedule names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StartBarrier<'a> {
    Exclusion(&'a Exclusion),
    /// There are maintenance windows, and it is in none of them.
    NoWindow,
}

impl<'a> Schedules<'a> {
    /// The next time it may start, whether or not that is near.
    pub fn next(&self, now: Timestamp) -> Option<Timestamp> {
        self.search(now, None)
    }

    /// The time at which it may start if that is decided now.
    pub fn start(&self, now: Timestamp) -> Option<Timestamp> {
        self.search(now, now.checked_add(HORIZON).ok())
    }

    /// The first hit that is allowed, after due notice and not after `latest`.
    fn search(&self, now: Timestamp, latest: Option<Timestamp>) -> Option<Timestamp> {
        let mut after = now.checked_add(NOTICE).ok()?;
        for _ in 0..MAX_HITS {
            let hit = self.schedule?.after(after, &TimeZone::UTC)?;
            if latest.is_some_and(|latest| hit > latest) {
                return None;
            }
            if self.allows(hit) {
                return Some(hit);
            }
            after = self.skip(hit)?;
        }
        None
    }

    /// Up to where nothing is allowed that a hit which is not allowed would lead to: the next window, or an exclusion's end.
    /// None if no window ever comes.
    fn skip(&self, hit: Timestamp) -> Option<Timestamp> {
        let just_before = |at: Timestamp| at.checked_sub(SignedDuration::from_secs(1)).ok();
        let in_window =
            self.windows.is_empty() || self.windows.iter().any(|window| window.covers(hit));
        let windows = self.windows.iter().filter(|_| !in_window);
        let opens = windows
            .filter_map(|window| window.begins.after(hit, &window.time_zone.0))
            .min();
        let ends = self
            .exclusions
            .iter()
            .filter(|exclusion| exclusion.covers(hit));
        let ends = ends.filter_map(Exclusion::ends).max();
        if !in_window && opens.is_none() {
            return None;
        }
        let skipped = opens.into_iter().chain(ends).filter_map(just_before).max();
        Some(skipped.map_or(hit, |skipped| skipped.max(hit)))
    }

    /// Whether something may start at that very time, by windows and exclusions.
    pub fn allows(&self, at: Timestamp) -> bool {
        self.obstacle(at).is_none()
    }

    /// What forbids a start at that very time.
    pub(crate) fn obstacle(&self, at: Timestamp) -> Option<StartBarrier<'a>> {
        let mut exclusions = self.exclusions.iter();
        if let Some(exclusion) = exclusions.find(|exclusion| exclusion.covers(at)) {
            return Some(StartBarrier::Exclusion(exclusion));
        }
        let inside = self.windows.is_empty() || self.windows.iter().any(|window| window.covers(at));
        (!inside).then_some(StartBarrier::NoWindow)
    }

    /// The schedule's own next time, whatever windows and exclusions say.
    pub(crate) fn next_of_schedule(&self, now: Timestamp) -> Option<Timestamp> {
        let after = now.checked_add(NOTICE).ok()?;
        self.schedule?.after(after, &TimeZone::UTC)
    }

    /// Whether a start that comes this late is still inside: the schedule had a time shortly before now, and nothing forbids now.
    pub(crate) fn is_open(&self, now: Timestamp, shortly: SignedDuration) -> bool {
        let hit = now
            .checked_sub(shortly)
            .ok()
            .zip(self.schedule)
            .and_then(|(since, schedule)| schedule.after(since, &TimeZone::UTC));
        hit.is_some_and(|hit| hit <= now) && self.allows(now)
    }
}

impl MaintenanceWindow {
    /// The longest that a window may last.
    pub const LONGEST: SignedDuration = SignedDuration::from_hours(7 * 24);

    /// Whether that time lies in one of its spans.
    pub fn covers(&self, at: Timestamp) -> bool {
        // It does if the last beginning at or before `at` is less than a length away: some beginning is after
        // (at - length), and the first such is not after `at`.
        let Ok(earliest) = at.checked_sub(self.lasts) else {
            return false;
        };
        self.begins
            .after(earliest, &self.time_zone.0)
            .is_some_and(|begins| begins <= at)
    }
}

impl MaintenanceWindow {
    pub fn opens_after(&self, time: Timestamp) -> Option<Timestamp> {
        self.begins.after(time, &self.time_zone.0)
    }
}

impl fmt::Display for Exclusion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} to {} {}",
            WallClock(self.from),
            WallClock(self.until),
            self.time_zone.name()
        )?;
        match &self.why {
            Some(why) => write!(f, ": {why}"),
            None => Ok(()),
        }
    }
}

impl Exclusion {
    pub fn begins(&self) -> Option<Timestamp> {
        self.time_zone.0.to_timestamp(self.from).ok()
    }

    pub fn ends(&self) -> Option<Timestamp> {
        self.time_zone.0.to_timestamp(self.until).ok()
    }

    /// Whether that time lies in it.
    pub fn covers(&self, at: Timestamp) -> bool {
        let here = self.time_zone.0.to_datetime(at);
        self.from <= here && here < self.until
    }
}

impl Schedule {
    /// The first hit strictly after that time.
    pub fn after(&self, time: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        match &self.form {
            Form::Cron(cron) => {
                let from = Zoned::new(time, zone.clone());
                cron.find_next_occurrence(&from, false)
                    .ok()
                    .map(|hit| hit.timestamp())
            }
            Form::Calendar(calendar) => calendar.after(time, zone),
        }
    }

    /// Reads cron (`0 22 * * 1-5`) or a calendar (`Mon..Fri 22:00`). A calendar never has five parts.
    pub fn read(text: &str) -> Result<Self, NotASchedule> {
        text.parse()
            .or_else(|no_cron| match text.split_whitespace().count() {
                5 => Err(no_cron),
                _ => Ok(Self {
                    text: text.into(),
                    form: Form::Calendar(Arc::new(text.parse()?)),
                }),
            })
    }

    /// The text it was read from.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl FromStr for Schedule {
    type Err = NotASchedule;

    fn from_str(text: &str) -> Result<Self, NotASchedule> {
        let fields = text.split_whitespace().count();
        if fields != 5 {
            return Err(NotASchedule(format!(
                "it has {fields} fields, and a schedule has five"
            )));
        }
        // What AUS's own reader does not take would mean something else there.
        if let Some(odd) = text
            .chars()
            .find(|c| !matches!(c, '0'..='9' | 'a'..='z' | 'A'..='Z' | '*' | ',' | '-' | '/' | '#' | '?' | ' ' | '\t'))
        {
            return Err(NotASchedule(format!("{odd:?} has no meaning in it")));
        }
        let parser = CronParser::builder()
            .seconds(Seconds::Disallowed)
            .year(Year::Disallowed)
            .dom_and_dow(true)
            .build();
        let cron = parser
            .parse(text)
            .map_err(|error| NotASchedule(error.to_string()))?;
        Ok(Self {
            text: text.into(),
            form: Form::Cron(Arc::new(cron)),
        })
    }
}

impl FromStr for Zone {
    type Err = NotASchedule;

    fn from_str(name: &str) -> Result<Self, NotASchedule> {
        let zone = TimeZone::get(name)
            .map_err(|_| NotASchedule(format!("there is no time zone {name:?}")))?;
        Ok(Self(zone))
    }
}

impl Zone {
    pub fn name(&self) -> &str {
        self.0.iana_name().unwrap_or("UTC")
    }
}

impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.text)
    }
}

impl PartialEq for Schedule {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Schedule {}

impl PartialOrd for Schedule {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Schedule {
    fn cmp(&self, other: &Self) -> Ordering {
        self.text.cmp(&other.text)
    }
}

impl PartialOrd for Zone {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Zone {
    fn cmp(&self, other: &Self) -> Ordering {
        self.name().cmp(other.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(schedule: &str, now: &str) -> Option<String> {
        let schedule: Schedule = schedule.parse().unwrap();
        let all = Schedules {
            schedule: Some(&schedule),
            windows: &[],
            exclusions: &[],
        };
        all.start(now.parse().unwrap()).map(|at| at.to_string())
    }

    #[test]
    fn a_start_is_more_than_six_minutes_and_at_most_two_hours_away() {
        // A Monday.
        for (schedule, expected) in [
            ("* * * * *", Some("18:07")),
            ("7 18 * * *", Some("18:07")),
            ("6 18 * * *", None),
            ("0 20 * * *", Some("20:00")),
            ("1 20 * * *", None),
            ("0 19 24-31 * 1", Some("19:00")),
            ("0 19 30 * 2", None),
            ("0 19 30 * 1", Some("19:00")),
            ("0 19 * * 7", None),
            ("0 19 * * mon", Some("19:00")),
            ("0 0 31 2 *", None),
        ] {
            let expected = expected.map(|time| format!("2021-08-30T{time}:00Z"));
            assert_eq!(
                start(schedule, "2021-08-30T18:00:00Z"),
                expected,
                "{schedule}"
            );
        }
        assert_eq!(
            start("7 18 * * *", "2021-08-30T18:00:59Z").as_deref(),
            Some("2021-08-30T18:07:00Z")
        );
        assert_eq!(start("7 18 * * *", "2021-08-30T18:01:00Z"), None);
    }

    #[test]
    fn what_is_no_schedule() {
        for text in [
            "",
            "* * * *",
            "* * * * * *",
            "@daily",
            "60 * * * *",
            "0 0 * * 1+2",
            "x y z a b",
        ] {
            assert!(text.parse::<Schedule>().is_err(), "{text}");
        }
    }

    #[test]
    fn windows_and_exclusions_are_in_their_zone() {
        let window = MaintenanceWindow {
            begins: "0 22 * * 1-5".parse().unwrap(),
            lasts: SignedDuration::from_hours(4),
            time_zone: "Europe/Berlin".parse().unwrap(),
        };
        for (at, expected) in [
            // Winter: 22:00 in Berlin is 21:00 UTC. The 16th is a Monday.
            ("2026-11-16T20:59:59Z", false),
            ("2026-11-16T21:00:00Z", true),
            ("2026-11-17T00:59:59Z", true),
            ("2026-11-17T01:00:00Z", false),
            // Summer: 20:00 UTC.
            ("2026-07-06T20:00:00Z", true),
            ("2026-07-05T20:00:00Z", false),
        ] {
            assert_eq!(window.covers(at.parse().unwrap()), expected, "{at}");
        }
        let exclusion = Exclusion {
            from: "2026-12-20T00:00".parse().unwrap(),
            until: "2027-01-03T00:00".parse().unwrap(),
            time_zone: "America/New_York".parse().unwrap(),
            why: None,
        };
        for (at, expected) in [
            ("2026-12-20T04:59:59Z", false),
            ("2026-12-20T05:00:00Z", true),
            ("2027-01-03T04:59:59Z", true),
            ("2027-01-03T05:00:00Z", false),
        ] {
            assert_eq!(exclusion.covers(at.parse().unwrap()), expected, "{at}");
        }
        let schedule: Schedule = "0 * * * *".parse().unwrap();
        let all = Schedules {
            schedule: Some(&schedule),
            windows: &[window],
            exclusions: &[exclusion],
        };
        assert_eq!(
            all.next("2026-12-19T10:00:00Z".parse().unwrap())
                .unwrap()
                .to_string(),
            "2027-01-04T21:00:00Z"
        );
        assert_eq!(all.start("2026-12-19T10:00:00Z".parse().unwrap()), None);
    }

    #[test]
    fn a_weekly_window_is_found_from_any_day_and_a_window_that_never_comes_is_not() {
        let schedule: Schedule = "* * * * *".parse().unwrap();
        let window = |begins: &str| MaintenanceWindow {
            begins: begins.parse().unwrap(),
            lasts: SignedDuration::from_hours(4),
            time_zone: "UTC".parse().unwrap(),
        };
        let next = |begins: &str, exclusions: &[Exclusion]| {
            let windows = [window(begins)];
            let all = Schedules {
                schedule: Some(&schedule),
                windows: &windows,
                exclusions,
            };
            all.next("2026-01-05T00:00:00Z".parse().unwrap())
                .map(|at| at.to_string())
        };
        assert_eq!(
            next("0 2 * * 0", &[]).as_deref(),
            Some("2026-01-11T02:00:00Z")
        );
        let january = Exclusion {
            from: "2026-01-01T00:00".parse().unwrap(),
            until: "2026-02-01T00:00".parse().unwrap(),
            time_zone: "UTC".parse().unwrap(),
            why: None,
        };
        assert_eq!(
            next("0 2 * * 0", &[january]).as_deref(),
            Some("2026-02-01T02:00:00Z")
        );
        assert_eq!(next("0 0 31 2 *", &[]), None);
    }
}
