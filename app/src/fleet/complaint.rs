//! Logs a problem that comes with every pass when it is new, and then once a minute.

use std::time::Duration;

use towpath_core::repeats::{More, Repeats};

/// A problem that may last, in its own words.
#[derive(Debug, Default)]
pub(crate) struct Complaint {
    words: String,
    repeats: Repeats,
}

impl Complaint {
    /// It came. If it is to be said now: what to add to it.
    pub(crate) fn came(&mut self, words: &str, now: Duration) -> Option<More> {
        if self.words != words {
            *self = Self {
                words: words.to_owned(),
                repeats: Repeats::default(),
            };
        }
        self.repeats.came(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_problem_is_said_once_a_minute_and_another_at_once() {
        let mut complaint = Complaint::default();
        let mut said = |words: &str, at: u64| {
            complaint
                .came(words, Duration::from_secs(at))
                .map(|more| more.to_string())
        };
        assert_eq!(said("the disk is full", 0).as_deref(), Some(""));
        for second in 1..60 {
            assert_eq!(said("the disk is full", second), None);
        }
        let more = " … and 59 more like this in the last minute";
        assert_eq!(said("the disk is full", 60).as_deref(), Some(more));
        assert_eq!(
            said("no such file", 61).as_deref(),
            Some(""),
            "another problem"
        );
    }
}
