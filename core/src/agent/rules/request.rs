//! Request: an update that is already requested wins, whether a person or the agent requested it.
//!
//! This also holds before the cluster's status shows the request.

use super::{OfferQuestion, OfferRule};
use crate::agent::UpdateTarget;
use crate::verdict::{Code, Value, Verdict};

static UPDATE_REQUESTED: Code = Code::new(
    "UpdateRequested",
    "an update to {to} is requested, and has not begun",
    "let it begin, or take the request back",
)
.with(&[("to", "4.20.2")]);

pub(super) static RULE: OfferRule = OfferRule::new(&[&UPDATE_REQUESTED], judge);

fn judge(q: &OfferQuestion<'_>) -> Verdict {
    let ours = q.at.memory.started.as_ref().map(|started| UpdateTarget {
        version: Some(started.version.clone()),
        ..UpdateTarget::default()
    });
    match q.at.standing.open_request().cloned().or(ours) {
        None => Verdict::recommend(),
        Some(asked) => Verdict::wait(UPDATE_REQUESTED.because([("to", Value::text(asked))])),
    }
}
