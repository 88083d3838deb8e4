//! Repeated warnings: the first is logged at once, then one a minute with the number of those in
//! between.
//!
//! Times are durations since an arbitrary start.

use std::fmt;
use std::time::Duration;

/// After a warning was logged, repeats are only counted for this long.
const QUIET: Duration = Duration::from_secs(60);

/// One warning, and how often it came.
#[derive(Debug, Default)]
pub struct Repeats {
    said: Option<Duration>,
    unsaid: u64,
}

/// Text about the repeats that were not logged. It is empty if there are none, so it can end any
/// message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct More(u64);

impl Repeats {
    /// Counts one. If it should be logged now, returns what to add to it.
    pub fn came(&mut self, now: Duration) -> Option<More> {
        if self
            .said
            .is_some_and(|said| now.saturating_sub(said) < QUIET)
        {
            self.unsaid += 1;
            return None;
        }
        self.said = Some(now);
        Some(More(std::mem::take(&mut self.unsaid)))
    }

    /// Whether it has ended with repeats that were not logged. Ask this when all is well again.
    pub fn ended(&mut self, now: Duration) -> Option<More> {
        let is_due = self
            .said
            .is_some_and(|said| now.saturating_sub(said) >= QUIET);
        (is_due && self.unsaid > 0).then(|| {
            self.said = None;
            More(std::mem::take(&mut self.unsaid))
        })
    }
}

impl fmt::Display for More {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => Ok(()),
            count => write!(
                f,
                " … and {} more like this in the last minute",
                grouped(count)
            ),
        }
    }
}

/// `1199` as `1,199`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_every_fifty_milliseconds_is_one_line_a_minute() {
        let mut repeats = Repeats::default();
        let said: Vec<(u64, String)> = (0..=2_400)
            .map(|n| n * 50)
            .filter_map(|at| Some((at, repeats.came(Duration::from_millis(at))?.to_string())))
            .collect();
        let more = " … and 1,199 more like this in the last minute";
        assert_eq!(
            said,
            [
                (0, String::new()),
                (60_000, more.to_owned()),
                (120_000, more.to_owned())
            ]
        );
    }

    #[test]
    fn when_it_has_ended_the_rest_is_told_once() {
        let mut repeats = Repeats::default();
        let second = Duration::from_secs;
        assert_eq!(repeats.ended(second(0)), None);
        assert_eq!(repeats.came(second(1)), Some(More(0)));
        assert_eq!(repeats.came(second(2)), None);
        assert_eq!(repeats.ended(second(3)), None, "a minute is not over");
        assert_eq!(repeats.ended(second(61)), Some(More(1)));
        assert_eq!(repeats.ended(second(62)), None);
        assert_eq!(
            repeats.came(second(63)),
            Some(More(0)),
            "said at once again"
        );
    }

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!(
            [0, 999, 1_000, 1_234_567].map(grouped),
            ["0", "999", "1,000", "1,234,567"]
        );
    }
}
