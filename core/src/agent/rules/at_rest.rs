//! At rest: the agent leaves a cluster alone while it updates, fails, or is misconfigured.
//!
//! The offers must also be current. While the upstream cannot be reached, a new block may be
//! missing.

use super::{OfferQuestion, OfferRule};
use crate::agent::Status;
use crate::cluster::Fact;
use crate::verdict::{Code, Verdict};

/// The cluster says that it is busy, broken, or wrongly configured.
static NOT_AT_REST: Code = Code::new(
    "NotAtRest",
    "the cluster says {condition}: {message}",
    "let it come to rest, or heal it",
)
.with(&[
    ("condition", "Progressing"),
    ("message", "Working towards 4.20.2"),
]);

/// The cluster does not say whether it is.
static REST_UNKNOWN: Code = Code::new(
    "RestUnknown",
    "the cluster does not say whether it is {condition}",
    "look at the conditions in its ClusterVersion",
)
.with(&[("condition", "Failing")]);

/// What must not be so, and whether a cluster that says nothing about it is taken to be so.
const MUST_NOT: [(&str, Silence); 4] = [
    ("Progressing", Silence::IsUnknown),
    ("Failing", Silence::IsUnknown),
    ("Invalid", Silence::IsFine),
    ("Stopping", Silence::IsFine),
];
const MUST: [(&str, Silence); 3] = [
    ("Available", Silence::IsUnknown),
    ("ReleaseAccepted", Silence::IsFine),
    ("RetrievedUpdates", Silence::IsUnknown),
];

/// What it means that a cluster says nothing.
#[derive(Clone, Copy)]
enum Silence {
    /// It is said only where something is wrong, or only by newer clusters.
    IsFine,
    IsUnknown,
}

pub(super) static RULE: OfferRule = OfferRule::new(&[&NOT_AT_REST, &REST_UNKNOWN], judge);

fn judge(q: &OfferQuestion<'_>) -> Verdict {
    let must_not = MUST_NOT.map(|(name, silence)| (name, silence, Status::False));
    let must = MUST.map(|(name, silence)| (name, silence, Status::True));
    let all = must_not.into_iter().chain(must);
    all.map(|(name, silence, wanted)| judge_condition(q, name, silence, wanted))
        .collect()
}

fn judge_condition(
    q: &OfferQuestion<'_>,
    name: &'static str,
    silence: Silence,
    wanted: Status,
) -> Verdict {
    match (q.at.standing.condition(name), silence) {
        (Fact::Unknown, Silence::IsFine) => Verdict::recommend(),
        (Fact::Unknown, Silence::IsUnknown) => {
            Verdict::wait(REST_UNKNOWN.because([("condition", name.into())]))
        }
        (Fact::Known(condition), _) if condition.status == wanted => Verdict::recommend(),
        (Fact::Known(condition), _) => {
            let said = match condition.status {
                Status::True => name.to_owned(),
                Status::False => format!("not {name}"),
                Status::Unknown => format!("{name} unknown"),
            };
            Verdict::wait(NOT_AT_REST.because([
                ("condition", said.as_str().into()),
                ("message", (&condition.message).into()),
            ]))
        }
    }
}
