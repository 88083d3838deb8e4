//! Graph age: a graph must neither go back in time nor stand still, because an old graph may lack
//! a block.
//!
//! Only the service that shares a secret with the cluster can stamp a graph. So nobody in between,
//! and no other upstream, can replay an old one.

use jiff::SignedDuration;

use super::{OfferQuestion, OfferRule};
use crate::cluster::Fact;
use crate::verdict::{Code, Verdict};

/// Replicas of a service read their sources at different times. One may be this far behind another.
const REPLICA_MARGIN: SignedDuration = SignedDuration::from_mins(10);

pub static GRAPH_AGE_UNKNOWN: Code = Code::new(
    "GraphAgeUnknown",
    "nobody has stamped the graph, so nobody knows how old it is",
    "see that the agent reaches the service, and that its token is right",
);

static GRAPH_TOO_OLD: Code = Code::new(
    "GraphTooOld",
    "the graph was last found to be good at {goodAt}",
    "see that the service reads its sources; its `/readyz` says",
)
.with(&[("goodAt", "2026-11-16 12:00Z")]);

pub static GRAPH_WENT_BACK: Code = Code::new(
    "GraphWentBack",
    "the graph was good at {goodAt}, and one that was good at {seen} has been seen before",
    "find out which service answers, and from what data",
)
.steadily("the graph is older than one that was seen before")
.with(&[
    ("goodAt", "2026-11-16 12:00Z"),
    ("seen", "2026-11-17 12:00Z"),
]);

pub(super) static RULE: OfferRule = OfferRule::new(
    &[&GRAPH_AGE_UNKNOWN, &GRAPH_TOO_OLD, &GRAPH_WENT_BACK],
    judge,
);

fn judge(q: &OfferQuestion<'_>) -> Verdict {
    let (at, Some(most)) = (q.at, q.at.policy.max_graph_age) else {
        return Verdict::recommend();
    };
    let stamp = match at.stamp {
        Fact::Unknown => return Verdict::wait(GRAPH_AGE_UNKNOWN.alone()),
        Fact::Known(stamp) => stamp,
    };
    // A time that is still to come was written down by a clock that was wrong.
    let seen = at
        .memory
        .graph_good_at
        .filter(|seen| seen.duration_since(at.now) <= REPLICA_MARGIN);
    let seen = seen.filter(|seen| seen.duration_since(stamp.good_at) > REPLICA_MARGIN);
    let oldest = stamp.good_at.min(stamp.stamped_at);
    if oldest.duration_since(at.now) > REPLICA_MARGIN {
        // Of the future: it would be young for ever.
        return Verdict::wait(GRAPH_AGE_UNKNOWN.alone());
    }
    match seen {
        Some(seen) => Verdict::refuse(
            GRAPH_WENT_BACK.because([("goodAt", stamp.good_at.into()), ("seen", seen.into())]),
        ),
        None if at.now.duration_since(oldest) > most => {
            Verdict::wait(GRAPH_TOO_OLD.because([("goodAt", oldest.into())]))
        }
        None => Verdict::recommend(),
    }
}
