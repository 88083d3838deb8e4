//! Graph age: a graph must not go back in time, nor stand still: what an old one lacks may be a block.
//!
//! Only the service that shares a secret with the cluster can stamp a graph, so nobody on the way, and no other upstream, can pass off an old one.

use jiff::SignedDuration;

use super::{Moment, refuse, wait};
use crate::domain::automatic::{AutomaticReason, Offer};
use crate::domain::{Fact, Verdict};

/// Replicas of a service read their sources at different times; by so much one may be behind another.
const REPLICA_MARGIN: SignedDuration = SignedDuration::from_mins(10);

pub(super) fn judge(_: &Offer, at: &Moment<'_>) -> Verdict {
    let Some(most) = at.policy.max_graph_age else {
        return Verdict::recommend();
    };
    let stamp = match at.stamp {
        Fact::Unknown => return wait(None, AutomaticReason::GraphAgeUnknown),
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
        return wait(None, AutomaticReason::GraphAgeUnknown);
    }
    match seen {
        Some(seen) => refuse(AutomaticReason::GraphWentBack {
            seen,
            now: stamp.good_at,
        }),
        None if at.now.duration_since(oldest) > most => {
            wait(None, AutomaticReason::GraphTooOld { good_at: oldest })
        }
        None => Verdict::recommend(),
    }
}
