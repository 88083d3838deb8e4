//! How fast reports are sent: one every few seconds, with small bursts, and with a back-off while the service is down.
//! Times count from an arbitrary start.

use std::time::Duration;

use towpath_core::retry::{Backoff, Jitter};

use crate::ReportOutcome;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    pub interval: Duration,
    /// How many reports may go at once after a pause.
    pub burst: u32,
    pub backoff: Backoff,
    /// The longest wait that the service may ask for.
    pub longest_asked: Duration,
}

/// Computes when the next report may go.
#[derive(Debug)]
pub(crate) struct SendSchedule {
    pace: Pace,
    /// When the next report is due without bursts.
    due: Duration,
    failures: u32,
    not_before: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(10),
            burst: 3,
            backoff: Backoff {
                first: Duration::from_secs(5),
                longest: Duration::from_secs(300),
            },
            longest_asked: Duration::from_secs(900),
        }
    }
}

impl SendSchedule {
    pub(crate) fn new(pace: Pace) -> Self {
        Self {
            pace,
            due: Duration::ZERO,
            failures: 0,
            not_before: Duration::ZERO,
        }
    }

    /// How long the next report must wait.
    pub(crate) fn wait(&self, now: Duration) -> Duration {
        let early = self
            .pace
            .interval
            .saturating_mul(self.pace.burst.saturating_sub(1));
        self.due
            .saturating_sub(early)
            .max(self.not_before)
            .saturating_sub(now)
    }

    pub(crate) fn sending(&mut self, now: Duration) {
        self.due = self.due.max(now) + self.pace.interval;
    }

    /// Takes the outcome of a report. Returns the wait before a retry.
    pub(crate) fn answered(
        &mut self,
        answered: &ReportOutcome,
        now: Duration,
        jitter: &Jitter,
    ) -> Option<Duration> {
        match answered {
            ReportOutcome::Sent | ReportOutcome::Refused { .. } => {
                (self.failures, self.not_before) = (0, Duration::ZERO);
                None
            }
            ReportOutcome::Later { after, .. } => {
                self.failures = self.failures.saturating_add(1);
                let backoff = jitter.of(self.pace.backoff.wait(self.failures));
                // All who were asked to wait so long do not come back at once.
                let asked = after.map(|asked| {
                    asked.min(self.pace.longest_asked) + jitter.of(self.pace.backoff.first)
                });
                let wait = asked.map_or(backoff, |asked| asked.max(backoff));
                self.not_before = now + wait;
                Some(wait)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn later(after: Option<u64>) -> ReportOutcome {
        ReportOutcome::Later {
            why: String::new(),
            after: after.map(Duration::from_secs),
        }
    }

    #[test]
    fn a_few_at_once_and_then_one_by_one() {
        let mut beat = SendSchedule::new(Pace::default());
        let mut now = 100 * SECOND;
        let mut waits = Vec::new();
        for _ in 0..6 {
            let wait = beat.wait(now);
            waits.push(wait.as_secs());
            now += wait;
            beat.sending(now);
        }
        assert_eq!(waits, [0, 0, 0, 10, 10, 10]);
        now += 15 * SECOND;
        assert_eq!(beat.wait(now), Duration::ZERO, "a rest gives one back");
        beat.sending(now);
        assert_eq!(beat.wait(now), 5 * SECOND);
    }

    #[test]
    fn ever_more_slowly_while_it_is_away_and_at_once_when_it_is_back() {
        let (mut beat, jitter) = (SendSchedule::new(Pace::default()), Jitter::new(7));
        for whole in [5, 10, 20, 40, 80, 160, 300, 300] {
            let wait = beat
                .answered(&later(None), Duration::ZERO, &jitter)
                .unwrap();
            assert!(
                (SECOND * whole / 2..=SECOND * whole).contains(&wait),
                "{whole}: {wait:?}"
            );
            assert_eq!(beat.wait(Duration::ZERO), wait);
        }
        assert_eq!(
            beat.answered(&ReportOutcome::Sent, Duration::ZERO, &jitter),
            None
        );
        assert_eq!(beat.wait(Duration::ZERO), Duration::ZERO);
        let wait = beat
            .answered(&later(None), Duration::ZERO, &jitter)
            .unwrap();
        assert!(wait <= 5 * SECOND, "it begins anew: {wait:?}");
    }

    #[test]
    fn what_the_service_asks_for_is_obeyed_up_to_a_limit() {
        let jitter = Jitter::new(7);
        for (asked, least, most) in [
            (60, 60, 65),
            (900, 900, 905),
            (1_000_000, 900, 905),
            (0, 2, 5),
        ] {
            let wait = SendSchedule::new(Pace::default())
                .answered(&later(Some(asked)), Duration::ZERO, &jitter)
                .unwrap();
            assert!(
                (SECOND * least..=SECOND * most).contains(&wait),
                "{asked}: {wait:?}"
            );
        }
    }
}
