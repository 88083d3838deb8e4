//! Which rollouts are there, and how far have they come?

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::domain::{Audience, ChannelName, Edge, Graph, Version, Window};

/// An edge that phases in, in one channel.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rollout {
    /// The channel.
    pub channel: ChannelName,
    /// The version it leaves.
    pub from: Version,
    /// The version it reaches.
    pub to: Version,
    /// When, and how.
    pub window: Window,
}

/// Every rollout that is not over, in any architecture. Edges that are blocked for everybody roll out to nobody.
pub fn rollouts(graph: &Graph, now: Timestamp) -> Vec<Rollout> {
    let mut found: BTreeMap<(ChannelName, Version, Version), Window> = BTreeMap::new();
    for channel in graph.channels().values().filter(|channel| !channel.rollouts.is_empty()) {
        for (from, from_place) in &channel.members {
            for edge in graph.edges_from(*from).iter().filter(|edge| !is_blocked(graph, **edge)) {
                let Some(to_place) = channel.membership(edge.to) else {
                    continue;
                };
                let (from, to) = (&graph.release(*from).version, &graph.release(edge.to).version);
                let window = channel.window((from, from_place), (to, to_place));
                if !window.is_over(now) && window.start < window.end {
                    found.insert((channel.name.clone(), from.clone(), to.clone()), window);
                }
            }
        }
    }
    found.into_iter().map(|((channel, from, to), window)| Rollout { channel, from, to, window }).collect()
}

fn is_blocked(graph: &Graph, edge: Edge) -> bool {
    let for_everybody =
        |stops: &Option<Audience>| matches!(stops, Some(Audience::Everybody | Audience::NotUnderstood(_)));
    graph.blocks_on(edge).any(|(block, _)| for_everybody(&block.stops))
}
