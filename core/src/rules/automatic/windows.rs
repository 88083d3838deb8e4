//! Windows: an update starts only while a maintenance window is open. It may take longer than that.

use super::{Moment, wait};
use crate::domain::Verdict;
use crate::domain::automatic::{AutomaticReason, Offer};

pub(super) fn judge(_: &Offer, at: &Moment<'_>) -> Verdict {
    let windows = &at.policy.windows;
    if windows.is_empty() || windows.iter().any(|window| window.covers(at.now)) {
        return Verdict::recommend();
    }
    let opens = windows
        .iter()
        .filter_map(|window| window.opens_after(at.now))
        .min();
    wait(opens, AutomaticReason::OutsideWindows { opens })
}
