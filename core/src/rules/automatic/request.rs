//! Request: whatever somebody has asked the cluster for comes first, be it a person or we ourselves, and whether or not we see it already.

use super::{Moment, wait};
use crate::domain::Verdict;
use crate::domain::automatic::{Asked, AutomaticReason, Offer};

pub(super) fn judge(_: &Offer, at: &Moment<'_>) -> Verdict {
    let ours = at.memory.started.as_ref().map(|started| Asked {
        version: Some(started.version.clone()),
        ..Asked::default()
    });
    match at.standing.open_request().cloned().or(ours) {
        None => Verdict::recommend(),
        Some(asked) => wait(None, AutomaticReason::UpdateAsked { asked }),
    }
}
