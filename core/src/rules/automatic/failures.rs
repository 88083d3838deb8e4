//! Failures: after some updates in a row that failed, it takes a person; and the same release is not tried again at once.

use jiff::SignedDuration;

use super::{Moment, refuse, wait};
use crate::domain::Verdict;
use crate::domain::automatic::{AutomaticReason, Offer};

/// So long after a failure the same release is left alone.
const PAUSE: SignedDuration = SignedDuration::from_hours(1);

pub(super) fn judge(offer: &Offer, at: &Moment<'_>) -> Verdict {
    if at.memory.failures >= at.policy.max_failures {
        return refuse(AutomaticReason::TooManyFailures {
            failures: at.memory.failures,
        });
    }
    let lately = at
        .memory
        .failed
        .as_ref()
        .filter(|(version, _)| *version == offer.version);
    let until = lately.and_then(|(_, failed)| Some((*failed, failed.checked_add(PAUSE).ok()?)));
    match until {
        Some((failed, until)) if at.now < until => wait(
            Some(until),
            AutomaticReason::FailedLately { at: failed, until },
        ),
        _ => Verdict::recommend(),
    }
}
