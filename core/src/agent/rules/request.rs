//! Request: an update that is already requested wins, whether a person or the agent requested it.
//!
//! This also holds before the cluster's status shows the request.

use super::{OfferQuestion, OfferRule};
use crate::verdict::{Code, Value, Verdict};
use crate::version::Version;

static UPDATE_REQUESTED: Code = Code::new(
    "UpdateRequested",
    "an update to {to} is requested, and has not begun",
    "let it begin, or take the request back",
)
.with(&[("to", "4.20.2")]);

/// We have started one, and the cluster does not ask for it: it does not show the start yet, or somebody has taken it back.
static JUST_STARTED: Code = Code::new(
    "JustStarted",
    "the agent started the update to {to}, and the cluster does not show it",
    "nothing; the cluster shows it in a moment. If somebody has taken it back, the agent goes on ten minutes after the start, with newer releases only",
)
.with(&[("to", "4.20.2")]);

/// We have asked the cluster for a preflight, and it is not over.
static PREFLIGHT_RUNS: Code = Code::new(
    "PreflightRuns",
    "the fleet has asked for a preflight of {to}, and it is not over",
    "wait; after an hour it is given up",
)
.with(&[("to", "4.21.0")]);

pub(super) static RULE: OfferRule =
    OfferRule::new(&[&UPDATE_REQUESTED, &JUST_STARTED, &PREFLIGHT_RUNS], judge);

fn judge(q: &OfferQuestion<'_>) -> Verdict {
    let standing = q.at.standing;
    let is_shown = |version: &Version| {
        let targets = [&standing.asked, &standing.desired];
        let mut shown = targets.into_iter().flatten();
        shown.any(|target| target.version.as_ref() == Some(version))
    };
    match (standing.open_request(), &q.at.memory.started) {
        (Some(asked), _) => Verdict::wait(UPDATE_REQUESTED.because([("to", Value::text(asked))])),
        (None, Some(started)) => {
            let code = match is_shown(&started.version) {
                true => &UPDATE_REQUESTED,
                false => &JUST_STARTED,
            };
            Verdict::wait(code.because([("to", (&started.version).into())]))
        }
        (None, None) => match &q.at.memory.preflight {
            Some(preflight) => {
                Verdict::wait(PREFLIGHT_RUNS.because([("to", (&preflight.version).into())]))
            }
            None => Verdict::recommend(),
        },
    }
}
