//! Which rollouts are there, and how far have they come?

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::domain::{
    Arch, ChannelName, Cluster, Edge, Graph, ReleaseId, Situation, Version, Window,
};
use crate::rules::{HardBlock, Rule};

/// An edge that phases in, in one channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rollout {
    pub channel: ChannelName,
    /// The release it leaves, in the first architecture that has it.
    pub from: ReleaseId,
    pub to: ReleaseId,
    pub window: Window,
}

/// Every rollout that is not over, each once for all architectures. Edges that are blocked for everybody roll out to nobody.
pub fn rollouts(graph: &Graph, now: Timestamp) -> Vec<Rollout> {
    let mut all = Vec::new();
    for channel in graph
        .channels()
        .values()
        .filter(|channel| !channel.rollouts.is_empty())
    {
        let anybody = Cluster::anonymous(channel.name.clone(), Arch::default());
        let mut found: BTreeMap<(&Version, &Version), Rollout> = BTreeMap::new();
        for (from, from_place) in &channel.members {
            for edge in graph.edges_from(*from) {
                let Some(to_place) = channel.membership(edge.to) else {
                    continue;
                };
                let versions = (
                    &graph.release(edge.from).version,
                    &graph.release(edge.to).version,
                );
                let window = channel.window((versions.0, from_place), (versions.1, to_place));
                let phases = !window.is_over(now) && window.start < window.end;
                if phases && !is_for_nobody(graph, *edge, &anybody, now) {
                    let rollout = || Rollout {
                        channel: channel.name.clone(),
                        from: edge.from,
                        to: edge.to,
                        window,
                    };
                    found.entry(versions).or_insert_with(rollout);
                }
            }
        }
        all.extend(found.into_values());
    }
    all
}

/// Whether an edge is for nobody: the rule's word, whoever asks.
fn is_for_nobody(graph: &Graph, edge: Edge, anybody: &Cluster, now: Timestamp) -> bool {
    !HardBlock
        .judge(
            edge,
            &Situation {
                graph,
                cluster: anybody,
                now,
            },
        )
        .is_offered()
}
