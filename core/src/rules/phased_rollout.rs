//! Phased rollout: a new edge reaches the fleet over a window of time, each cluster at its own instant.
//!
//! A cluster without an id has no place in the queue and sees the edge when the window ends. Edges between
//! releases that are not both in the cluster's channel are none of this rule's business: they are never judged.

use super::Rule;
use crate::domain::{Channel, Edge, Fact, Membership, Position, Reason, Situation, Verdict, Window};

/// Makes clusters wait for their turn.
pub struct PhasedRollout;

impl Rule for PhasedRollout {
    fn judge(&self, edge: Edge, at: &Situation<'_>) -> Verdict {
        let places = at.graph.channel(at.cluster.channel.as_str()).and_then(|channel| places(channel, edge, at));
        let Some((window, to)) = places else {
            return Verdict::recommend();
        };
        if window.is_over(at.now) {
            return Verdict::recommend();
        }
        let Window { start, end, .. } = window;
        let Fact::Known(cluster) = &at.cluster.id else {
            return Verdict::wait_until(end, Reason::RolloutWithoutId { start, end });
        };
        // phased rollouts: edges appear at or after start, and by start + duration
        let due = window.due(Position::of(cluster, to.rotation));
        if at.now >= due {
            return Verdict::recommend();
        }
        Verdict::wait_until(due, Reason::RolloutNotReached { cluster: cluster.clone(), due, start, end })
    }
}

fn places(channel: &Channel, edge: Edge, at: &Situation<'_>) -> Option<(Window, Membership)> {
    let (from, to) = (channel.membership(edge.from)?, channel.membership(edge.to)?);
    let version = |id| &at.graph.release(id).version;
    Some((channel.window((version(edge.from), from), (version(edge.to), to)), *to))
}
