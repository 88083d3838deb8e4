//! Which rollouts are there, and how far have they come?

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::domain::{Audience, ChannelName, Edge, Graph, ReleaseId, Version, Window};

/// An edge that phases in, in one channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rollout {
    /// The channel.
    pub channel: ChannelName,
    /// The release it leaves, in the first architecture that has it.
    pub from: ReleaseId,
    /// The release it reaches.
    pub to: ReleaseId,
    /// When, and how.
    pub window: Window,
}

/// Every rollout that is not over, each once for all architectures. Edges that are blocked for everybody roll out to nobody.
pub fn rollouts(graph: &Graph, now: Timestamp) -> Vec<Rollout> {
    let mut all = Vec::new();
    for channel in graph.channels().values().filter(|channel| !channel.rollouts.is_empty()) {
        let mut found: BTreeMap<(&Version, &Version), Rollout> = BTreeMap::new();
        for (from, from_place) in &channel.members {
            for edge in graph.edges_from(*from).iter().filter(|edge| !is_blocked(graph, **edge)) {
                let Some(to_place) = channel.membership(edge.to) else { continue };
                let versions = (&graph.release(edge.from).version, &graph.release(edge.to).version);
                let window = channel.window((versions.0, from_place), (versions.1, to_place));
                if !window.is_over(now) && window.start < window.end {
                    let rollout = || Rollout { channel: channel.name.clone(), from: edge.from, to: edge.to, window };
                    found.entry(versions).or_insert_with(rollout);
                }
            }
        }
        all.extend(found.into_values());
    }
    all
}

fn is_blocked(graph: &Graph, edge: Edge) -> bool {
    let for_everybody =
        |stops: &Option<Audience>| matches!(stops, Some(Audience::Everybody | Audience::NotUnderstood(_)));
    graph.blocks_on(edge).any(|block| for_everybody(&block.stops))
}
