//! How long to wait before a retry. Randomness comes in as a seed, and time as an argument.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jiff::Timestamp;

use crate::chance::{STEP, mixed};

/// Waits that double from one failure to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// The wait after the first failure.
    pub first: Duration,
    pub longest: Duration,
}

impl Backoff {
    /// The wait after this many failures in a row.
    pub fn wait(&self, failures: u32) -> Duration {
        let doublings = failures.saturating_sub(1).min(16);
        self.first.saturating_mul(1 << doublings).min(self.longest)
    }
}

/// How often something is tried, and how long to wait in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// In all, the first attempt included.
    pub attempts: u32,
    pub backoff: Backoff,
}

impl Retry {
    /// The wait after this many attempts that failed; none if it is not worth trying again. What the server asks for is
    /// obeyed: earlier would be rude, and later than our longest wait is for the next time.
    pub fn wait(
        &self,
        failures: u32,
        asked: Option<Duration>,
        jitter: &Jitter,
    ) -> Option<Duration> {
        if failures >= self.attempts {
            return None;
        }
        match asked {
            Some(asked) => (asked <= self.backoff.longest).then_some(asked),
            None => Some(jitter.of(self.backoff.wait(failures))),
        }
    }
}

/// A row of numbers that look like chance (SplitMix64), so that many clients do not come back all at once.
#[derive(Debug)]
pub struct Jitter(AtomicU64);

impl Jitter {
    /// The row that begins there.
    pub fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    /// Something between half of it and all of it.
    pub fn of(&self, wait: Duration) -> Duration {
        let half = wait / 2;
        half + self.up_to(half)
    }

    /// Something between nothing and all of it.
    pub fn up_to(&self, span: Duration) -> Duration {
        let span = u64::try_from(span.as_nanos())
            .unwrap_or(u64::MAX)
            .saturating_add(1);
        Duration::from_nanos(self.next() % span)
    }

    fn next(&self) -> u64 {
        mixed(self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP))
    }
}

/// What `Retry-After` says: seconds, or an instant.
pub fn retry_after(value: &str, now: Timestamp) -> Option<Duration> {
    let seconds = || value.trim().parse().ok().map(Duration::from_secs);
    let until = || {
        let at = jiff::fmt::rfc2822::parse(value.trim()).ok()?.timestamp();
        Some(Duration::try_from(now.duration_until(at)).unwrap_or(Duration::ZERO))
    };
    seconds().or_else(until)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RETRY: Retry = Retry {
        attempts: 4,
        backoff: Backoff {
            first: Duration::from_millis(250),
            longest: Duration::from_secs(60),
        },
    };

    #[test]
    fn waits_double_up_to_the_longest() {
        for (failures, whole) in [
            (0, 250),
            (1, 250),
            (2, 500),
            (3, 1_000),
            (4, 2_000),
            (11, 60_000),
            (u32::MAX, 60_000),
        ] {
            let wait = RETRY.backoff.wait(failures);
            assert_eq!(wait.as_millis(), whole, "{failures}");
        }
        let none = Backoff {
            first: Duration::ZERO,
            ..RETRY.backoff
        };
        assert_eq!(none.wait(9), Duration::ZERO);
    }

    #[test]
    fn jitter_stays_between_half_and_whole_and_differs_between_clients() {
        let row = |seed| -> Vec<Duration> {
            let jitter = Jitter::new(seed);
            (0..20).map(|_| jitter.of(Duration::from_secs(1))).collect()
        };
        let bounds = Duration::from_millis(500)..=Duration::from_secs(1);
        assert!(row(7).iter().all(|wait| bounds.contains(wait)));
        assert_eq!(row(7), row(7));
        assert_ne!(row(7), row(8));
    }

    #[test]
    fn attempts_end_and_the_server_is_obeyed_up_to_the_longest_wait() {
        let jitter = Jitter::new(7);
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        for (failures, least, most) in [(1, 125, 250), (2, 250, 500), (3, 500, 1_000)] {
            let wait = RETRY.wait(failures, None, &jitter).unwrap().as_millis();
            assert!((least..=most).contains(&wait), "{failures}: {wait}");
        }
        assert_eq!(RETRY.wait(1, seconds(60), &jitter), seconds(60));
        assert_eq!(RETRY.wait(1, seconds(61), &jitter), None);
        assert_eq!(RETRY.wait(4, None, &jitter), None, "the last attempt");
        assert_eq!(RETRY.wait(4, seconds(1), &jitter), None);
    }

    #[test]
    fn retry_after_is_seconds_or_an_instant() {
        let now = "1994-11-06T08:49:00Z".parse().unwrap();
        for (text, expected) in [
            ("37", Some(37)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(37)),
            ("Sun, 06 Nov 1994 08:48:00 GMT", Some(0)),
            ("soon", None),
            ("-1", None),
        ] {
            assert_eq!(
                retry_after(text, now),
                expected.map(Duration::from_secs),
                "{text}"
            );
        }
    }
}
