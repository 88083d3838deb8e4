//! A time as people read it: the one form of all texts.
//!
//! JSON, files and logs have RFC 3339, which is what a `Timestamp` prints.

use std::fmt;

use jiff::Timestamp;
use jiff::civil::DateTime;

/// `2026-11-18 12:00Z`, with seconds only where there are any. Fractions of a second are cut off.
#[derive(Debug, Clone, Copy)]
pub struct ShownTime(pub Timestamp);

impl fmt::Display for ShownTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_whole_minute = self.0.as_second().rem_euclid(60) == 0;
        let form = match is_whole_minute {
            true => "%Y-%m-%d %H:%MZ",
            false => "%Y-%m-%d %H:%M:%SZ",
        };
        self.0.strftime(form).fmt(f)
    }
}

/// The same of a time on a clock on the wall: `2026-11-18 12:00`.
#[derive(Debug, Clone, Copy)]
pub struct WallClock(pub DateTime);

impl fmt::Display for WallClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let form = match self.0.second() {
            0 => "%Y-%m-%d %H:%M",
            _ => "%Y-%m-%d %H:%M:%S",
        };
        self.0.strftime(form).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_shown_where_there_are_any() {
        for (time, shown) in [
            ("2026-11-18T12:00:00Z", "2026-11-18 12:00Z"),
            ("2026-11-18T12:00:07Z", "2026-11-18 12:00:07Z"),
            ("2026-11-18T12:00:00.9Z", "2026-11-18 12:00Z"),
            ("1960-01-01T00:00:30Z", "1960-01-01 00:00:30Z"),
        ] {
            let time: Timestamp = time.parse().unwrap();
            assert_eq!(ShownTime(time).to_string(), shown);
        }
        assert_eq!(
            WallClock(jiff::civil::date(2026, 12, 20).at(5, 0, 0, 0)).to_string(),
            "2026-12-20 05:00"
        );
    }
}
