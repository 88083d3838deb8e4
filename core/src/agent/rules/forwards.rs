//! Forwards: never to an older version, never to the current one, and never past a minor version,
//! unless clusters may skip it.

use super::{OfferQuestion, OfferRule};
use crate::agent::Downgrades;
use crate::verdict::{Code, Verdict};
use crate::version::Minor;

/// What the cluster runs is not known.
pub(super) static CURRENT_UNKNOWN: Code = Code::new(
    "CurrentUnknown",
    "nobody knows what the cluster runs: no update in its history is complete",
    "look at the history in its ClusterVersion",
);

static NOT_NEWER: Code = Code::new(
    "NotNewer",
    "it is no newer than {current}, which the cluster runs",
    "nothing; the agent goes forwards only",
)
.with(&[("current", "4.20.1")]);

static SKIPS_MINOR: Code = Code::new(
    "SkipsMinor",
    "it leaves out a minor version after {current}",
    "nothing; it comes after the minor version between",
)
.with(&[("current", "4.20.1")]);

pub(super) static RULE: OfferRule =
    OfferRule::new(&[&CURRENT_UNKNOWN, &NOT_NEWER, &SKIPS_MINOR], judge);

fn judge(q: &OfferQuestion<'_>) -> Verdict {
    let Some(current) = q.at.standing.current() else {
        return Verdict::refuse(CURRENT_UNKNOWN.alone());
    };
    let version = &q.offer.version;
    let (from, to) = (Minor::of(current), Minor::of(version));
    let is_back = version < current && q.at.policy.downgrades == Downgrades::Refuse;
    if version == current || is_back {
        return Verdict::refuse(NOT_NEWER.because([("current", current.into())]));
    }
    // What the table does not have is held by the rules of the cluster.
    let is_next = q.at.minors.may_follow(from, to);
    match is_next || version < current {
        true => Verdict::recommend(),
        false => Verdict::refuse(SKIPS_MINOR.because([("current", current.into())])),
    }
}
