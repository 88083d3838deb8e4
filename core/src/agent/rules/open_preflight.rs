//! Open preflight: the agent asks for no preflight before every other one is over.
//!
//! Else what the cluster tells of the other could pass for the outcome of ours.

use super::{OfferQuestion, OfferRule};
use crate::agent::preflight::told_as_running;
use crate::verdict::{Code, Value, Verdict};

static OPEN_PREFLIGHT: Code = Code::new(
    "OpenPreflight",
    "somebody has asked for a preflight of {to}",
    "let it end, or clear it: `oc adm upgrade --clear`",
)
.with(&[("to", "4.21.0")]);

/// It is cleared, and the status tells of it all the same.
static PREFLIGHT_STILL_TOLD: Code = Code::new(
    "PreflightStillTold",
    "the cluster still tells of another preflight that runs: {message}",
    "wait; if it stays, look at the cluster-version operator",
)
.with(&[("message", "Preflight=4.21.0: it is running")]);

static STATUS_BEHIND: Code = Code::new(
    "StatusBehind",
    "the cluster's status is not about its newest specification",
    "wait; if it stays, look at the cluster-version operator",
);

pub(super) static RULE: OfferRule = OfferRule::new(
    &[&OPEN_PREFLIGHT, &PREFLIGHT_STILL_TOLD, &STATUS_BEHIND],
    judge,
);

fn judge(q: &OfferQuestion<'_>) -> Verdict {
    let standing = q.at.standing;
    if let Some(open) = &standing.preflight {
        return Verdict::wait(OPEN_PREFLIGHT.because([("to", Value::text(open))]));
    }
    match (told_as_running(standing), standing.is_observed) {
        (Some(message), _) => {
            Verdict::wait(PREFLIGHT_STILL_TOLD.because([("message", message.into())]))
        }
        (None, false) => Verdict::wait(STATUS_BEHIND.alone()),
        (None, true) => Verdict::recommend(),
    }
}
