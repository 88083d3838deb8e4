//! The current time of a command: one flag, `--now`, in one notation.
//!
//! With `--now +7d` every command gives next week's answer. Nothing else in this crate reads the wall clock to decide something.

use clap::Args;
use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use jiff::{Span, SpanRelativeTo, Timestamp};
use serde::{Deserialize, Deserializer};
use towpath_formats::graph::data::parse_time;

/// `--now`, as every command has it.
#[derive(Debug, Clone, Copy, Default, Args, Deserialize)]
#[serde(default)]
pub(crate) struct NowArgs {
    /// Answer as of this time instead of the current time: 2026-11-18T12:00Z, 2026-11-18, 14:30 today (UTC), or +2d and -3h from now.
    #[arg(
        long,
        env = "TOWPATH_NOW",
        value_name = "TIME",
        value_parser = read,
        allow_hyphen_values = true
    )]
    #[serde(deserialize_with = "written")]
    now: Option<Timestamp>,
}

impl NowArgs {
    /// The time to answer for.
    pub(crate) fn at(self) -> Timestamp {
        self.now.unwrap_or_else(Timestamp::now)
    }

    /// The time that was given, if one was: a service has a clock of its own.
    pub(crate) fn given(self) -> Option<Timestamp> {
        self.now
    }

    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            now: self.now.or(other.now),
        }
    }
}

/// Reads a time, a day or a distance from now.
pub(crate) fn read(text: &str) -> Result<Timestamp, String> {
    read_at(text, Timestamp::now())
}

fn read_at(text: &str, clock: Timestamp) -> Result<Timestamp, String> {
    let distance = |sign: char| text.starts_with(sign).then(|| from(text, clock)).flatten();
    distance('+')
        .or_else(|| distance('-'))
        .or_else(|| of_day(text, clock))
        .map_or_else(|| day_or_time(text), Ok)
        .map_err(|problem| {
            format!("{problem}; write 2026-11-18T12:00Z, 2026-11-18, 14:30, +2d or -3h")
        })
}

/// A time of the day that it is, in UTC: `14:30`, `14:30Z`, `14:30:15`.
fn of_day(text: &str, clock: Timestamp) -> Option<Timestamp> {
    let text = text.strip_suffix(['Z', 'z']).unwrap_or(text);
    let form = text.bytes().map(|byte| match byte.is_ascii_digit() {
        true => b'0',
        false => byte,
    });
    let form: Vec<u8> = form.collect();
    if !matches!(form.as_slice(), b"00:00" | b"00:00:00") {
        return None;
    }
    let time: Time = text.parse().ok()?;
    let today = clock.to_zoned(TimeZone::UTC).date();
    let at = today.to_datetime(time).to_zoned(TimeZone::UTC).ok()?;
    Some(at.timestamp())
}

/// So far before or after; a day has 24 hours.
fn from(text: &str, clock: Timestamp) -> Option<Timestamp> {
    let span: Span = text.parse().ok()?;
    let distance = span.to_duration(SpanRelativeTo::days_are_24_hours()).ok()?;
    clock.checked_add(distance).ok()
}

/// Reads a time, or a day: its first moment in UTC.
pub(crate) fn day_or_time(text: &str) -> Result<Timestamp, String> {
    let day = || text.parse::<Date>().ok().filter(|_| text.len() == 10);
    match day().and_then(|day| day.to_zoned(TimeZone::UTC).ok()) {
        Some(midnight) => Ok(midnight.timestamp()),
        None => parse_time(text),
    }
}

/// In a file, as on the command line.
fn written<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    let wrong = |problem| serde::de::Error::custom(format!("now: {problem}"));
    text.map(|text| read(&text)).transpose().map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_a_day_or_a_distance() {
        let clock: Timestamp = "2026-11-18T12:00:00Z".parse().unwrap();
        for (text, expected) in [
            ("2026-11-15T00:00Z", "2026-11-15T00:00:00Z"),
            ("2026-11-15T01:00:00+02:00", "2026-11-14T23:00:00Z"),
            ("2026-11-15", "2026-11-15T00:00:00Z"),
            ("14:30", "2026-11-18T14:30:00Z"),
            ("08:05:30Z", "2026-11-18T08:05:30Z"),
            ("+2d", "2026-11-20T12:00:00Z"),
            ("-3h", "2026-11-18T09:00:00Z"),
            ("+1w", "2026-11-25T12:00:00Z"),
            ("-PT90M", "2026-11-18T10:30:00Z"),
            ("+1d12h", "2026-11-20T00:00:00Z"),
        ] {
            let read = read_at(text, clock).map(|at| at.to_string());
            assert_eq!(read.as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn whatever_else_is_refused_with_the_forms_that_there_are() {
        for text in [
            "",
            "tomorrow",
            "2026-02-30",
            "2026-11-18T12:00",
            "2d",
            "24:30",
            "9:30",
            "14:30+01:00",
            "+2",
            "+1mo",
            "-999999y",
        ] {
            let told = read_at(text, Timestamp::UNIX_EPOCH).unwrap_err();
            let forms = "write 2026-11-18T12:00Z, 2026-11-18, 14:30, +2d or -3h";
            assert!(told.ends_with(forms), "{text}: {told}");
        }
    }
}
