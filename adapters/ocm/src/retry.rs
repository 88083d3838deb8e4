//! How long to wait before a read is tried again, and whether it is.

use std::time::Duration;

use towpath_core::retry::Jitter;

use crate::{Limits, OcmError};

/// The wait after a failed attempt (from 0); none if it is not worth trying again.
pub(crate) fn wait(
    error: &OcmError,
    attempt: u32,
    limits: &Limits,
    jitter: &Jitter,
) -> Option<Duration> {
    if !error.is_passing() || attempt + 1 >= limits.attempts {
        return None;
    }
    match error {
        // Earlier than it asks for would be rude, and later than our limit is for the next pass.
        OcmError::Busy {
            retry_after: Some(asked),
            ..
        } => (*asked <= limits.longest_wait).then_some(*asked),
        _ => Some(jitter.backoff(limits.backoff, limits.longest_wait, attempt)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy(seconds: Option<u64>) -> OcmError {
        OcmError::Busy {
            what: "x".to_owned(),
            retry_after: seconds.map(Duration::from_secs),
        }
    }

    #[test]
    fn waits_double_and_stay_between_half_and_whole() {
        let (limits, jitter) = (
            Limits {
                attempts: 40,
                ..Limits::default()
            },
            Jitter::new(7),
        );
        for (attempt, whole) in [
            (0, 250),
            (1, 500),
            (2, 1_000),
            (3, 2_000),
            (10, 60_000),
            (38, 60_000),
        ] {
            let got = wait(&busy(None), attempt, &limits, &jitter).unwrap();
            assert!(
                (whole / 2..=whole).contains(&u64::try_from(got.as_millis()).unwrap()),
                "{attempt}: {got:?}"
            );
        }
    }

    #[test]
    fn what_it_asks_for_is_obeyed_up_to_a_minute() {
        let (limits, jitter) = (Limits::default(), Jitter::new(7));
        assert_eq!(
            wait(&busy(Some(60)), 0, &limits, &jitter),
            Some(Duration::from_secs(60))
        );
        assert_eq!(wait(&busy(Some(61)), 0, &limits, &jitter), None);
        assert_eq!(
            wait(&busy(Some(1)), limits.attempts - 1, &limits, &jitter),
            None,
            "the last attempt"
        );
    }
}
