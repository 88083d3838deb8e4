//! Phased rollout: a new edge reaches the fleet over a window of time, each cluster at its own instant.
//!
//! A cluster without an id has no place in the queue and sees the edge when the window ends. Edges between
//! releases that are not both in the cluster's channel are none of this rule's business: they are never judged.

use super::Rule;
use crate::domain::{
    Channel, Edge, Fact, Membership, Position, Reason, Situation, Verdict, Window,
};
use crate::finding::Place;

/// Makes clusters wait for their turn.
pub struct PhasedRollout;

impl Rule for PhasedRollout {
    fn judge(&self, edge: Edge, at: &Situation<'_>) -> Verdict {
        let places = at
            .graph
            .channel(at.cluster.channel.as_str())
            .and_then(|channel| places(channel, edge, at));
        let Some(Phase {
            window,
            to,
            origins: [origin, rule],
        }) = places
        else {
            return Verdict::recommend();
        };
        if window.is_over(at.now) {
            return Verdict::recommend();
        }
        let [origin, rule] = [origin, rule].map(Place::clone);
        let Fact::Known(cluster) = &at.cluster.id else {
            return Verdict::wait_until(
                window.end,
                Reason::RolloutWithoutId {
                    window,
                    origin,
                    rule,
                },
            );
        };
        // phased rollouts: edges appear at or after start, and by start + duration
        let due = window.due(Position::of(cluster, to.rotation));
        if at.now >= due {
            return Verdict::recommend();
        }
        let cluster = cluster.clone();
        Verdict::wait_until(
            due,
            Reason::RolloutNotReached {
                cluster,
                due,
                window,
                origin,
                rule,
            },
        )
    }
}

/// How an edge phases in.
struct Phase<'a> {
    window: Window,
    to: Membership,
    /// Where the release that opens the window is listed, and where the rule is written.
    origins: [&'a Place; 2],
}

fn places<'a>(channel: &'a Channel, edge: Edge, at: &Situation<'_>) -> Option<Phase<'a>> {
    let (from, to) = (channel.membership(edge.from)?, channel.membership(edge.to)?);
    let version = |id| &at.graph.release(id).version;
    let versions = [version(edge.from), version(edge.to)];
    let window = channel.window((versions[0], from), (versions[1], to));
    let later = if from.start > to.start {
        edge.from
    } else {
        edge.to
    };
    let rule = channel
        .rule(versions[0], versions[1])
        .map_or(&channel.origin, |rule| &rule.origin);
    Some(Phase {
        window,
        to: *to,
        origins: [channel.origin_of(later)?, rule],
    })
}
