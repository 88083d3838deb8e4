//! The plan of a rolling reboot: text for people, JSON with every move, and a drawing of its waves.

mod drawing;
mod json;
mod text;

pub use drawing::drawing;
pub use json::json;
pub use text::text;

use jiff::Timestamp;
use towpath_core::duration::Spread;
use towpath_core::nodes::{Model, NodeIdx, NodesPlan, PlannedWave, PodIdx, PoolPlan};
use towpath_core::verdict::Verdict;

use crate::cluster::objects::ClusterObjects;
use crate::cluster::ready::UnreadKinds;

/// What was asked, and what there is to say.
pub struct PlanReport<'a> {
    pub cluster: &'a ClusterObjects,
    pub plan: &'a NodesPlan,
    /// What stands in the way of it.
    pub verdict: &'a Verdict,
    /// How long a node takes: drain, reboot, ready.
    pub node_takes: Spread,
    pub seed: u64,
    /// When its objects were printed.
    pub now: Timestamp,
    /// What a cluster did not let us read.
    pub unread: &'a UnreadKinds,
}

/// A pod with its namespace.
fn pod_name(model: &Model, pod: PodIdx) -> String {
    let pod = model.pod(pod);
    format!("{}/{}", pod.namespace, pod.name)
}

fn node_name(model: &Model, node: NodeIdx) -> &str {
    &model.node(node).name
}

fn zone_name<'m>(model: &'m Model, wave: &PlannedWave) -> Option<&'m str> {
    wave.zone.map(|zone| &**model.zone_name(zone))
}

/// How many nodes of a pool go, and how many there are.
fn nodes_that_go(pool: &PoolPlan) -> usize {
    pool.waves.iter().map(|wave| wave.nodes.len()).sum()
}
