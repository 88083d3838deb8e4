//! How far pruning may go. A clock that jumps ahead must not delete recent decisions.
//!
//! Pruning has a clock of its own, which follows the real one in steps. If the real clock is
//! right, pruning catches up after a few steps. If it is wrong, somebody has time to correct it.

use jiff::{SignedDuration, Timestamp};

/// The time that pruning goes by moves ahead by no more than this at once: once an hour, or once a run.
pub const PRUNING_STEP: SignedDuration = SignedDuration::from_hours(7 * 24);

/// The time that pruning goes by, after the one it went by last. If it never went by any, it begins where nothing is old enough to go.
pub fn pruning_clock(
    last: Option<Timestamp>,
    oldest_decision: Option<Timestamp>,
    now: Timestamp,
    keep_for: SignedDuration,
) -> Timestamp {
    let begins = || oldest_decision.and_then(|at| at.checked_add(keep_for).ok());
    let furthest = last
        .or_else(begins)
        .and_then(|clock| clock.checked_add(PRUNING_STEP).ok());
    furthest.map_or(now, |furthest| now.min(furthest))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEEP: SignedDuration = SignedDuration::from_hours(90 * 24);

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn a_clock_that_goes_on_is_followed_at_once_and_one_that_jumps_in_steps() {
        let (now, later) = (at("2026-11-16T12:00Z"), at("2026-11-16T13:00Z"));
        assert_eq!(pruning_clock(Some(now), None, later, KEEP), later);
        assert_eq!(
            pruning_clock(Some(later), None, now, KEEP),
            now,
            "back is harmless"
        );
        let (mut clock, far) = (now, at("2036-01-01T00:00Z"));
        for step in 1..=10 {
            clock = pruning_clock(Some(clock), None, far, KEEP);
            assert_eq!(clock, now + PRUNING_STEP * step);
        }
        assert_eq!(pruning_clock(Some(clock), None, later, KEEP), later);
    }

    #[test]
    fn the_first_time_nothing_of_a_young_log_goes_whatever_the_clock_says() {
        let (oldest, far) = (at("2026-11-16T12:00Z"), at("2036-01-01T00:00Z"));
        let clock = pruning_clock(None, Some(oldest), far, KEEP);
        assert!(clock - KEEP <= oldest + PRUNING_STEP);
        let soon = at("2026-11-17T00:00Z");
        assert_eq!(pruning_clock(None, Some(oldest), soon, KEEP), soon);
        assert_eq!(
            pruning_clock(None, None, far, KEEP),
            far,
            "there is nothing to lose"
        );
    }
}
