//! Interval: some time passes between two updates, whoever started them. The installation counts as one.

use super::{Moment, wait};
use crate::domain::Verdict;
use crate::domain::automatic::{AutomaticReason, Offer};

pub(super) fn judge(_: &Offer, at: &Moment<'_>) -> Verdict {
    let Some(last) = at.standing.last_completed() else {
        return wait(None, AutomaticReason::LastUpdateUnknown);
    };
    let until = last
        .checked_add(at.policy.at_least_between)
        .unwrap_or(jiff::Timestamp::MAX);
    match at.now < until {
        true => wait(Some(until), AutomaticReason::TooSoon { last, until }),
        false => Verdict::recommend(),
    }
}
