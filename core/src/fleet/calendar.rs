//! Calendars: when something happens, in systemd's calendar syntax: `Mon..Fri *-2..10-*
//! 10:00,14:00`.
//!
//! An expression has days of the week, a date (year-month-day, or month-day) and a time of day.
//! Each may be left out, but not all. A part is `*`, a number, a range `2..10`, any of these with
//! a step `/2`, or a list of them. A range may go past the end: `11..1` is November to January,
//! `Fri..Mon` is a long weekend. A day of the week is its English name or at least the first
//! three letters of it. Times are listed whole (`10:00,14:30`) or by their parts (`10,14:00`).
//! Without a time it is midnight.
//!
//! A time that the change to summer time skips happens at the end of the gap. A time that occurs
//! twice happens once, at the first.

use std::str::FromStr;

use jiff::civil::{Date, Time, Weekday};
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{Span, Timestamp};

use super::NotASchedule;

/// The most days that are looked at: a February 29 on one day of the week comes after 40 years at the latest.
const MAX_DAYS: usize = 41 * 366;

/// The last year. Years do not come round again, so a range of them cannot go past the end.
const NEVER_AGAIN: i16 = 9999;

/// Days of the week, dates and times of day that must all match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Calendar {
    /// By the offset from Monday.
    weekdays: Numbers,
    years: Numbers,
    months: Numbers,
    days: Numbers,
    times: Vec<TimesOfDay>,
}

/// Every one of the minutes of every one of the hours.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TimesOfDay {
    hours: Numbers,
    minutes: Numbers,
}

/// Several ranges of numbers, each with a step.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Numbers(Vec<Run>);

/// A range of numbers with a step. It may wrap: after the highest number comes the lowest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    first: i16,
    /// How far the last one is from the first.
    length: i16,
    every: i16,
    /// How many numbers there are before it wraps.
    circle: i16,
}

impl Calendar {
    /// The first hit strictly after that time.
    pub(super) fn after(&self, time: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let mut date = zone.to_datetime(time).date();
        for _ in 0..MAX_DAYS {
            if let Some(hit) = self
                .on(date)
                .find_map(|at| instant(date, at, zone).filter(|hit| *hit > time))
            {
                return Some(hit);
            }
            date = date.checked_add(Span::new().days(1)).ok()?;
        }
        None
    }

    /// The times of a day at which it happens, in order.
    fn on(&self, date: Date) -> impl Iterator<Item = Time> {
        let weekday = date.weekday().to_monday_zero_offset().into();
        let is_meant = self.years.has(date.year())
            && self.months.has(date.month().into())
            && self.days.has(date.day().into())
            && self.weekdays.has(weekday);
        let has = |hour: i16, minute: i16| {
            self.times
                .iter()
                .any(|times| times.hours.has(hour) && times.minutes.has(minute))
        };
        let minutes_of_day: i16 = if is_meant { 24 * 60 } else { 0 };
        let hits = (0..minutes_of_day)
            .map(|minute| (minute / 60, minute % 60))
            .filter(move |(hour, minute)| has(*hour, *minute));
        // Both fit: they are below 24 and 60.
        hits.filter_map(|(hour, minute)| Time::new(hour as i8, minute as i8, 0, 0).ok())
    }
}

/// When it is that time there.
fn instant(date: Date, at: Time, zone: &TimeZone) -> Option<Timestamp> {
    let civil = zone.to_ambiguous_timestamp(date.to_datetime(at));
    match civil.offset() {
        AmbiguousOffset::Unambiguous { .. } | AmbiguousOffset::Fold { .. } => civil.earlier().ok(),
        AmbiguousOffset::Gap { before, .. } => {
            // By the clock of before, the gap has begun; the change is the last one up to then.
            let inside = before.to_timestamp(date.to_datetime(at)).ok()?;
            let change = zone
                .preceding(inside.checked_add(Span::new().seconds(1)).ok()?)
                .next()?;
            Some(change.timestamp())
        }
    }
}

impl FromStr for Calendar {
    type Err = NotASchedule;

    fn from_str(text: &str) -> Result<Self, NotASchedule> {
        let mut parts = text.split_whitespace().peekable();
        let is_weekdays = |part: &&str| part.starts_with(|c: char| c.is_ascii_alphabetic());
        let weekdays = parts.next_if(is_weekdays);
        let date = parts.next_if(|part| part.contains('-'));
        let time = parts.next_if(|part| part.contains(':'));
        if let Some(more) = parts.next() {
            return Err(NotASchedule(format!(
                "{more:?} is neither days of the week, nor a date, nor a time, in that order"
            )));
        }
        if weekdays.or(date).or(time).is_none() {
            return Err(NotASchedule("it is empty".to_owned()));
        }
        let [years, months, days] = match date.unwrap_or("*-*-*").split('-').collect::<Vec<_>>()[..]
        {
            [month, day] => ["*", month, day],
            [year, month, day] => [year, month, day],
            _ => {
                return Err(NotASchedule(
                    "a date is year-month-day, or month-day".to_owned(),
                ));
            }
        };
        Ok(Self {
            weekdays: Numbers::read(weekdays.unwrap_or("*"), [0, 6], weekday)?,
            years: Numbers::read(years, [1970, NEVER_AGAIN], number)?,
            months: Numbers::read(months, [1, 12], number)?,
            days: Numbers::read(days, [1, 31], number)?,
            times: times(time.unwrap_or("0:0"))?,
        })
    }
}

/// `10:00,14:30` is a list of times; `10,14:00,30` is one of hours and one of minutes.
fn times(text: &str) -> Result<Vec<TimesOfDay>, NotASchedule> {
    let is_list_of_times = text.split(',').all(|part| part.contains(':'));
    let whole: Vec<&str> = if is_list_of_times {
        text.split(',').collect()
    } else {
        vec![text]
    };
    let read = |time: &str| {
        let [hours, minutes] = match time.split(':').collect::<Vec<_>>()[..] {
            [hours, minutes] | [hours, minutes, "00"] => [hours, minutes],
            _ => {
                return Err(NotASchedule(format!(
                    "{time:?} is not a time: that is hour:minute"
                )));
            }
        };
        let (hours, minutes) = (
            Numbers::read(hours, [0, 23], number)?,
            Numbers::read(minutes, [0, 59], number)?,
        );
        Ok(TimesOfDay { hours, minutes })
    };
    whole.into_iter().map(read).collect()
}

impl Numbers {
    fn has(&self, number: i16) -> bool {
        let hits = |run: &Run| {
            let distance = (number - run.first).rem_euclid(run.circle);
            distance <= run.length && distance % run.every == 0
        };
        self.0.iter().any(hits)
    }

    fn read(
        text: &str,
        [low, high]: [i16; 2],
        value: fn(&str) -> Option<i16>,
    ) -> Result<Self, NotASchedule> {
        let run = |part: &str| {
            let (range, every) = match part.split_once('/') {
                Some((range, every)) => (range, every.parse().ok().filter(|every| *every > 0)?),
                None => (part, 1),
            };
            let (first, last) = match range.split_once("..") {
                None if range == "*" => (low, high),
                None if every > 1 => (value(range)?, high),
                None => (value(range)?, value(range)?),
                Some((first, last)) => (value(first)?, value(last)?),
            };
            let circle = high - low + 1;
            let may_wrap = first <= last || high < NEVER_AGAIN;
            let are_known = [first, last].iter().all(|end| (low..=high).contains(end));
            (are_known && may_wrap).then_some(Run {
                first,
                length: (last - first).rem_euclid(circle),
                every,
                circle,
            })
        };
        let bad = |part: &str| {
            NotASchedule(format!(
                "{part:?} is not one of {low} to {high}, nor a range of them"
            ))
        };
        text.split(',')
            .map(|part| run(part).ok_or_else(|| bad(part)))
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

fn number(text: &str) -> Option<i16> {
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())?
}

fn weekday(text: &str) -> Option<i16> {
    let days = [
        ("monday", Weekday::Monday),
        ("tuesday", Weekday::Tuesday),
        ("wednesday", Weekday::Wednesday),
        ("thursday", Weekday::Thursday),
        ("friday", Weekday::Friday),
        ("saturday", Weekday::Saturday),
        ("sunday", Weekday::Sunday),
    ];
    let text = text.to_ascii_lowercase();
    days.into_iter()
        .find(|(name, _)| text.len() >= 3 && name.starts_with(&text))
        .map(|(_, day)| day.to_monday_zero_offset().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hits(calendar: &str, zone: &str, after: &str, count: usize) -> Vec<String> {
        let calendar: Calendar = calendar.parse().unwrap();
        let zone = TimeZone::get(zone).unwrap();
        let first: Timestamp = after.parse().unwrap();
        let next = |time: &Timestamp| calendar.after(*time, &zone);
        std::iter::successors(next(&first), next)
            .take(count)
            .map(|at| at.to_string())
            .collect()
    }

    #[test]
    fn workdays_from_february_to_october_twice_a_day() {
        let expected = [
            "2026-10-29T14:00:00Z",
            "2026-10-30T10:00:00Z",
            "2026-10-30T14:00:00Z",
            "2027-02-01T10:00:00Z",
        ];
        for twice in [
            "Mon..Fri *-2..10-* 10:00,14:00",
            "mon..friday 2..10-* 10,14:00",
            "Mon,Tue..Fri 2..10-* 10..14/4:0",
        ] {
            assert_eq!(
                hits(twice, "UTC", "2026-10-29T11:00:00Z", 4),
                expected,
                "{twice}"
            );
        }
    }

    #[test]
    fn parts_that_are_left_out_are_any() {
        assert_eq!(
            hits("Sat", "UTC", "2026-11-16T00:00:00Z", 2),
            ["2026-11-21T00:00:00Z", "2026-11-28T00:00:00Z"]
        );
        assert_eq!(
            hits("12-24", "UTC", "2026-11-16T00:00:00Z", 1),
            ["2026-12-24T00:00:00Z"]
        );
        assert_eq!(
            hits("8/6:15,45", "UTC", "2026-11-16T08:15:00Z", 3),
            [
                "2026-11-16T08:45:00Z",
                "2026-11-16T14:15:00Z",
                "2026-11-16T14:45:00Z"
            ]
        );
        assert_eq!(
            hits("Thu 2-29 12:00", "UTC", "2026-11-16T00:00:00Z", 1),
            ["2052-02-29T12:00:00Z"]
        );
        assert_eq!(
            hits("2-30 12:00", "UTC", "2026-11-16T00:00:00Z", 1),
            [""; 0]
        );
        assert_eq!(hits("2027-1-1", "UTC", "2028-11-16T00:00:00Z", 1), [""; 0]);
    }

    #[test]
    fn a_range_may_go_past_the_end() {
        // The schedule of the automatic-updates document.
        assert_eq!(
            hits(
                "Tues..Thurs *-11..1-* 11:00",
                "UTC",
                "2027-01-27T12:00:00Z",
                3
            ),
            [
                "2027-01-28T11:00:00Z",
                "2027-11-02T11:00:00Z",
                "2027-11-03T11:00:00Z"
            ]
        );
        assert_eq!(
            hits("Fri..Mon 12:00", "UTC", "2026-11-18T00:00:00Z", 5),
            [
                "2026-11-20T12:00:00Z",
                "2026-11-21T12:00:00Z",
                "2026-11-22T12:00:00Z",
                "2026-11-23T12:00:00Z",
                "2026-11-27T12:00:00Z"
            ]
        );
        assert_eq!(
            hits("22..4/3:30", "UTC", "2026-11-18T12:00:00Z", 4),
            [
                "2026-11-18T22:30:00Z",
                "2026-11-19T01:30:00Z",
                "2026-11-19T04:30:00Z",
                "2026-11-19T22:30:00Z"
            ]
        );
    }

    #[test]
    fn a_time_in_a_gap_happens_at_its_end_and_one_that_is_there_twice_once() {
        // In Berlin the clock goes from 02:00 to 03:00 on March 29, and from 03:00 back to 02:00 on October 25.
        for time in ["02:00", "02:30", "02:00,02:30,02:59", "03:00"] {
            let hits = hits(time, "Europe/Berlin", "2026-03-28T12:00:00Z", 2);
            assert_eq!(hits[0], "2026-03-29T01:00:00Z", "{time}");
        }
        assert_eq!(
            hits("02:30", "Europe/Berlin", "2026-10-24T12:00:00Z", 2),
            ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]
        );
    }

    #[test]
    fn what_is_no_calendar() {
        for text in [
            "",
            "10",
            "Mon..",
            "Fri..Moon",
            "Mo",
            "2030..2027-1-1",
            "25:00",
            "10:60",
            "13-1",
            "*-*-*-*",
            "10:00:30",
            "10:00 Mon",
            "*/0:00",
            "+1:00",
            "1-2..32",
        ] {
            assert!(text.parse::<Calendar>().is_err(), "{text}");
        }
    }
}
