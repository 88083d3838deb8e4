//! Nodes that are added for the time of an update, so that the first pods to move have a place where they can stay.
//!
//! An added node is like one of its pool, and runs the new release from the start. A pod that only one node can take does not
//! get another one by it.

use super::model::{Model, NodeIdx, round_robin};

impl Model {
    /// The same cluster with so many more nodes like this one, and their numbers.
    pub(super) fn with_surge(mut self, like: NodeIdx, count: u32) -> (Self, Vec<NodeIdx>) {
        let mut added = Vec::new();
        for number in 1..=count {
            let node = NodeIdx::new(self.nodes.len());
            let mut one = self.nodes[like.at()].clone();
            one.name = format!("surge-{number}").into();
            one.is_surge = true;
            if let Some(pool) = one.pool {
                self.pools[pool as usize].nodes.push(node);
            }
            for class in &mut self.classes {
                let places = class.nodes.iter().flatten().count();
                let place = class.nodes[like.at()].filter(|_| places > 1);
                class.nodes.push(place);
                class.selected.push(class.selected[like.at()]);
            }
            self.nodes.push(one);
            added.push(node);
        }
        self.looked_at = round_robin(&self.nodes, self.zones.len());
        (self, added)
    }
}
