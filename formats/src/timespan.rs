//! A length of time as people write it, in every flag, file and address: `90s`, `15m`, `1h 30m`, `1d`, `P1D`, `PT4H`.
//!
//! A day has 24 hours. Months and years have no length of their own, so there are none. Durations of graph data are another matter:
//! others read them too, and their format is RFC 3339's alone.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use jiff::{SignedDuration, Span, SpanRelativeTo};
use serde::{Deserialize, Deserializer};

/// The longest text that is read.
const MAX_TEXT_BYTES: usize = 32;
const DAY_SECONDS: i64 = 86_400;

/// Zero or more, and at most [`TimeSpan::LONGEST`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimeSpan(SignedDuration);

impl TimeSpan {
    pub const ZERO: Self = Self(SignedDuration::ZERO);
    /// A hundred years.
    pub const LONGEST: Self = Self::days(36_500);

    pub const fn seconds(seconds: u32) -> Self {
        Self(SignedDuration::from_secs(seconds as i64))
    }

    pub const fn days(days: u16) -> Self {
        Self(SignedDuration::from_secs(days as i64 * DAY_SECONDS))
    }

    pub fn signed(self) -> SignedDuration {
        self.0
    }

    pub fn unsigned(self) -> Duration {
        self.0.unsigned_abs()
    }

    /// None, where zero stands for "never" or "for ever".
    pub fn unless_zero(self) -> Option<SignedDuration> {
        Some(self.0).filter(|length| !length.is_zero())
    }

    /// Reads lengths between these two. It is a parser for flags.
    pub fn between(
        least: Self,
        most: Self,
    ) -> impl Fn(&str) -> Result<Self, String> + Clone + Send + Sync + 'static {
        move |text| {
            let read: Self = text.parse()?;
            match (least..=most).contains(&read) {
                true => Ok(read),
                false => Err(format!("it must be between {least} and {most}")),
            }
        }
    }
}

impl FromStr for TimeSpan {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let forms = "90s, 15m, 4h, 1d or P1D";
        let shown: String = text.chars().take(MAX_TEXT_BYTES).collect();
        if text == "0" {
            return Ok(Self::ZERO);
        }
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(format!(
                "{shown:?} has no unit; write {shown}s for seconds, or the like of {forms}"
            ));
        }
        let exact = |text: &str| {
            let span: Span = text.parse().ok()?;
            span.to_duration(SpanRelativeTo::days_are_24_hours()).ok()
        };
        let read = exact(text).filter(|_| text.len() <= MAX_TEXT_BYTES);
        match read {
            Some(length) if length > Self::LONGEST.0 => {
                Err(format!("{shown:?} is too long: at most {}", Self::LONGEST))
            }
            Some(length) if !length.is_negative() => Ok(Self(length)),
            _ => Err(format!(
                "{shown:?} is not a length of time; write it as in {forms}"
            )),
        }
    }
}

impl fmt::Display for TimeSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&written(self.0))
    }
}

/// A length as it can be read back: `1d 12h`, `0s`.
pub fn written(length: SignedDuration) -> String {
    let days = length.as_secs() / DAY_SECONDS;
    let rest = length - SignedDuration::from_secs(days * DAY_SECONDS);
    match (days, rest.is_zero()) {
        (0, _) => format!("{rest:#}"),
        (_, true) => format!("{days}d"),
        (_, false) => format!("{days}d {rest:#}"),
    }
}

impl<'de> Deserialize<'de> for TimeSpan {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_several_ways_to_write_one_length() {
        for (texts, seconds) in [
            (&["90s", "1m 30s", "1m30s", "PT90S", "PT1M30S"][..], 90),
            (&["4h", "240m", "PT4H", "4 hours"], 14_400),
            (&["1d", "24h", "P1D", "PT24H"], 86_400),
            (&["1w", "P1W", "7d"], 604_800),
            (&["0", "0s", "PT0S"], 0),
        ] {
            for text in texts {
                assert_eq!(text.parse(), Ok(TimeSpan::seconds(seconds)), "{text}");
            }
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        for text in ["0s", "90s", "1h 30m", "1d", "90d", "1d 12h", "36500d"] {
            let span: TimeSpan = text.parse().unwrap();
            assert_eq!(span.to_string().parse(), Ok(span), "{text}");
        }
        let shown = |text: &str| text.parse::<TimeSpan>().unwrap().to_string();
        assert_eq!(shown("36h"), "1d 12h");
        assert_eq!(shown("PT90M"), "1h 30m");
    }

    #[test]
    fn what_is_no_length_is_refused_with_a_remedy() {
        let refused = |text: &str| text.parse::<TimeSpan>().unwrap_err();
        assert_eq!(
            refused("60"),
            "\"60\" has no unit; write 60s for seconds, or the like of 90s, 15m, 4h, 1d or P1D"
        );
        assert_eq!(refused("36501d"), "\"36501d\" is too long: at most 36500d");
        let long = format!("{}1s", " ".repeat(40));
        for text in ["", "-4h", "4h ago", "1mo", "1y", "P1M", "soon", &long] {
            assert!(refused(text).contains("write it as in 90s, 15m"), "{text}");
        }
    }

    #[test]
    fn a_flag_has_its_limits() {
        let read = TimeSpan::between(TimeSpan::seconds(15), TimeSpan::seconds(3_600));
        assert_eq!(read("15s"), Ok(TimeSpan::seconds(15)));
        assert_eq!(read("61m"), Err("it must be between 15s and 1h".to_owned()));
    }
}
