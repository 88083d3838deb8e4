//! Request: whatever somebody has asked the cluster for comes first, be it a person or we ourselves a moment ago.

use super::{Moment, wait};
use crate::domain::Verdict;
use crate::domain::automatic::{AutomaticReason, Offer};

pub(super) fn judge(_: &Offer, at: &Moment<'_>) -> Verdict {
    match at.standing.open_request() {
        None => Verdict::recommend(),
        Some(asked) => wait(None, AutomaticReason::UpdateAsked { asked: asked.clone() }),
    }
}
