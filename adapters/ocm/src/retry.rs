//! How long to wait before a read is tried again. Chance is a seed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jiff::Timestamp;

use crate::{Limits, OcmError};

/// The wait after a failed attempt (from 0); none if it is not worth trying again.
pub(crate) fn wait(error: &OcmError, attempt: u32, limits: &Limits, jitter: &Jitter) -> Option<Duration> {
    if !error.is_passing() || attempt + 1 >= limits.attempts {
        return None;
    }
    match error {
        // Earlier than it asks for would be rude, and later than our limit is for the next pass.
        OcmError::Busy { retry_after: Some(asked), .. } => (*asked <= limits.longest_wait).then_some(*asked),
        _ => Some(jitter.of(limits.backoff.saturating_mul(1 << attempt.min(16)).min(limits.longest_wait))),
    }
}

/// What `Retry-After` says: seconds, or an instant.
pub(crate) fn retry_after(value: &str, now: Timestamp) -> Option<Duration> {
    let seconds = || value.trim().parse().ok().map(Duration::from_secs);
    let until = || {
        let at = jiff::fmt::rfc2822::parse(value.trim()).ok()?.timestamp();
        Some(Duration::try_from(now.duration_until(at)).unwrap_or(Duration::ZERO))
    };
    seconds().or_else(until)
}

/// A row of numbers that look like chance (SplitMix64).
#[derive(Debug)]
pub(crate) struct Jitter(AtomicU64);

impl Jitter {
    pub(crate) fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    /// Something between half of it and all of it.
    fn of(&self, wait: Duration) -> Duration {
        let half = wait / 2;
        let span = u64::try_from(half.as_nanos()).unwrap_or(u64::MAX).saturating_add(1);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn busy(seconds: Option<u64>) -> OcmError {
        OcmError::Busy { what: "x".to_owned(), retry_after: seconds.map(Duration::from_secs) }
    }

    #[test]
    fn waits_double_and_stay_between_half_and_whole() {
        let (limits, jitter) = (Limits { attempts: 40, ..Limits::default() }, Jitter::new(7));
        for (attempt, whole) in [(0, 250), (1, 500), (2, 1_000), (3, 2_000), (10, 60_000), (38, 60_000)] {
            let got = wait(&busy(None), attempt, &limits, &jitter).unwrap();
            assert!((whole / 2..=whole).contains(&u64::try_from(got.as_millis()).unwrap()), "{attempt}: {got:?}");
        }
    }

    #[test]
    fn what_it_asks_for_is_obeyed_up_to_a_minute() {
        let (limits, jitter) = (Limits::default(), Jitter::new(7));
        assert_eq!(wait(&busy(Some(60)), 0, &limits, &jitter), Some(Duration::from_secs(60)));
        assert_eq!(wait(&busy(Some(61)), 0, &limits, &jitter), None);
        assert_eq!(wait(&busy(Some(1)), limits.attempts - 1, &limits, &jitter), None, "the last attempt");
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
            assert_eq!(retry_after(text, now), expected.map(Duration::from_secs), "{text}");
        }
    }
}
