//! Which nodes go next: zone by zone, and in a zone in the order of the machine-config operator. The very first are the nodes with
//! the fewest pods, because what leaves them has nowhere to stay.

use std::collections::{BTreeMap, VecDeque};

use jiff::Timestamp;

use super::model::{Model, NodeIdx};
use super::simulation::Simulation;
use crate::cluster::health::Room;
use crate::fleet::Name;

/// Nodes of one zone that have not gone yet.
pub(super) struct Ahead {
    pub(super) nodes: VecDeque<NodeIdx>,
}

/// Nodes by zone, each zone in the operator's order. The first zone has the node with the fewest pods; nodes without a zone are
/// one more, the last.
pub(super) fn zones_in_order(model: &Model, nodes: &[NodeIdx]) -> Vec<Vec<NodeIdx>> {
    let mut zones: BTreeMap<u32, Vec<NodeIdx>> = BTreeMap::new();
    for node in nodes {
        let zone = model.node(*node).zone.unwrap_or(u32::MAX);
        zones.entry(zone).or_default().push(*node);
    }
    for zone in zones.values_mut() {
        zone.sort_by_key(|node| usual_place(model, *node));
    }
    let mut pods = vec![0usize; model.nodes.len()];
    for (_, pod) in model.pods().filter(|(_, pod)| pod.is_evicted) {
        if let Some(node) = pod.node {
            pods[node.at()] += 1;
        }
    }
    let fewest = |zone: &Vec<NodeIdx>| zone.iter().map(|node| pods[node.at()]).min();
    let first = zones.iter().min_by_key(|(_, zone)| fewest(zone));
    let first = first.map(|(zone, _)| *zone);
    let mut order: Vec<(u32, Vec<NodeIdx>)> = zones.into_iter().collect();
    order.sort_by_key(|(zone, _)| (Some(*zone) != first, *zone));
    order.into_iter().map(|(_, nodes)| nodes).collect()
}

/// Where a node stands in the operator's order: by zone, then the oldest first.
pub(super) fn usual_place(model: &Model, node: NodeIdx) -> (u32, Option<Timestamp>, Name) {
    let of = model.node(node);
    (of.zone.unwrap_or(u32::MAX), of.created_at, of.name.clone())
}

impl Ahead {
    /// The nodes of a zone. If nothing is updated yet, those with the fewest pods go first.
    pub(super) fn new(
        mut nodes: Vec<NodeIdx>,
        simulation: &Simulation<'_>,
        lightest_first: usize,
    ) -> Self {
        let mut by_pods = nodes.clone();
        by_pods.sort_by_key(|node| simulation.evictable(&[*node]).len());
        by_pods.truncate(lightest_first);
        // The rest stays in its order.
        nodes.retain(|node| !by_pods.contains(node));
        Self {
            nodes: by_pods.into_iter().chain(nodes).collect(),
        }
    }

    /// How many of the next nodes' pods the updated nodes have room for, as far as sums can tell.
    pub(super) fn fitting(&self, simulation: &Simulation<'_>, updated: &[NodeIdx]) -> usize {
        let mut free = updated
            .iter()
            .map(|node| simulation.free(*node))
            .fold(Room::default(), Room::and);
        let mut fitting = 0;
        for node in &self.nodes {
            let leaving = simulation.leaving(*node);
            if !free.holds(leaving) {
                break;
            }
            free = free.without(leaving);
            fitting += 1;
        }
        fitting
    }
}

impl Simulation<'_> {
    /// What a node has left for more pods.
    pub(super) fn free(&self, node: NodeIdx) -> Room {
        let status = &self.nodes[node.at()];
        match status.takes_pods {
            true => self.model.nodes[node.at()].room.without(status.used),
            false => Room::default(),
        }
    }

    /// What the pods ask for that a drain of the node evicts.
    fn leaving(&self, node: NodeIdx) -> Room {
        let pods = self.evictable(&[node]).into_iter();
        pods.map(|pod| self.model.pods[pod.at()].requests)
            .fold(Room::default(), Room::and)
    }
}
