//! How long to wait before something is tried again. Chance is a seed, and time is an argument.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jiff::Timestamp;

/// A row of numbers that look like chance (SplitMix64), so that many clients do not come back all at once.
#[derive(Debug)]
pub struct Jitter(AtomicU64);

impl Jitter {
    /// The row that begins there.
    pub fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    /// The wait after a failed attempt (from 0): it doubles from one to the next, up to the longest.
    pub fn backoff(&self, first: Duration, longest: Duration, attempt: u32) -> Duration {
        self.of(first.saturating_mul(1 << attempt.min(16)).min(longest))
    }

    /// Something between half of it and all of it.
    pub fn of(&self, wait: Duration) -> Duration {
        let half = wait / 2;
        let span = u64::try_from(half.as_nanos())
            .unwrap_or(u64::MAX)
            .saturating_add(1);
        half + Duration::from_nanos(self.next() % span)
    }

    fn next(&self) -> u64 {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut z = self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
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

    #[test]
    fn waits_double_and_stay_between_half_and_whole() {
        let (first, longest, jitter) = (
            Duration::from_millis(250),
            Duration::from_secs(60),
            Jitter::new(7),
        );
        for (attempt, whole) in [
            (0, 250),
            (1, 500),
            (2, 1_000),
            (3, 2_000),
            (10, 60_000),
            (u32::MAX, 60_000),
        ] {
            let got = jitter.backoff(first, longest, attempt).as_millis();
            assert!((whole / 2..=whole).contains(&got), "{attempt}: {got}");
        }
        let row = |seed| -> Vec<Duration> {
            let jitter = Jitter::new(seed);
            (0..4)
                .map(|attempt| jitter.backoff(first, longest, attempt))
                .collect()
        };
        assert_eq!(row(7), row(7));
        assert_ne!(row(7), row(8), "clients differ");
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
