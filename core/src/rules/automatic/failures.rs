//! Failures: after some updates in a row that failed, it takes a person.

use super::{Moment, refuse};
use crate::domain::Verdict;
use crate::domain::automatic::{AutomaticReason, Offer};

pub(super) fn judge(_: &Offer, at: &Moment<'_>) -> Verdict {
    match at.memory.failures >= at.policy.max_failures {
        true => refuse(AutomaticReason::TooManyFailures { failures: at.memory.failures }),
        false => Verdict::recommend(),
    }
}
