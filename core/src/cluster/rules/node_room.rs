//! Node room: while one node of a pool is away, its pods need room on the others.
//!
//! The rule refuses only what cannot work: a pod that fits on no other node of its pool, or pods
//! that together ask for more than all others have free. Whether the scheduler finds a place for
//! each pod is another matter: it also looks at zones, affinities and taints.
//!
//! Nodes of a paused pool stay. A cluster of a single node has nowhere to move pods to, and its
//! node is not drained.

use std::collections::BTreeMap;

use super::{StepQuestion, StepRule, not_given, partly_given};
use crate::cluster::Fact;
use crate::cluster::health::{ClusterHealth, NodeState, Pod, Room};
use crate::cluster::objects::ObjectKind;
use crate::fleet::Name;
use crate::verdict::{Code, Value, Verdict};

static NODE_NOT_READY: Code = Code::new(
    "NodeNotReady",
    "node {node} is not ready",
    "repair node {node}, or remove it from the cluster",
)
.by("oc describe node {node}")
.checked_by("oc get node {node}")
.about("{node}")
.with(&[("node", "w1")]);

static NO_ROOM_FOR_PODS: Code = Code::new(
    "NoRoomForPods",
    "while node {node} of {pool} is away, its pods do not fit on the others: {missing}",
    "add a node to {pool}, or lower what its pods request",
)
.by("oc adm top nodes")
.checked_by("oc describe node {node}")
.about("{node}")
.with(&[
    ("node", "w1"),
    ("pool", "pool worker"),
    ("missing", "6500m of CPU are requested, 4200m are free"),
]);

static NO_ROOM_FOR_POD: Code = Code::new(
    "NoRoomForPod",
    "while node {node} of {pool} is away, pod {pod} of {namespace}[ ({owner})] fits on none of the others: {missing}",
    "add a larger node to {pool}, or lower what {pod} of {namespace} requests",
)
.by("oc -n {namespace} describe pod {pod}")
.checked_by("oc -n {namespace} get pod {pod} -o wide")
.about("{namespace}/{pod}")
.with(&[
    ("node", "w1"),
    ("pool", "pool worker"),
    ("pod", "db-0"),
    ("namespace", "shop"),
    ("owner", "StatefulSet db"),
    ("missing", "16384Mi of memory are requested, 9000Mi are free"),
]);

static NODE_STATE_UNKNOWN: Code = Code::new(
    "NodeStateUnknown",
    "these nodes do not say whether they are ready, or what room they have: {nodes}",
    "give the Nodes with their `status`: conditions or `allocatable` are missing in {nodes}",
)
.by("oc get nodes -o yaml > nodes.yaml")
.checked_by("oc get nodes")
.with(&[("nodes", "w1, w2")]);

static NODE_WITHOUT_POOL: Code = Code::new(
    "NodeWithoutPool",
    "these nodes have pods to move, and nobody can tell which pool updates them: {nodes}",
    "find out which pool updates these nodes: {nodes}",
)
.by("oc get machineconfigpools -o wide")
.checked_by("oc get nodes --show-labels")
.with(&[("nodes", "w1, w2")]);

pub(super) static RULE: StepRule = StepRule::new(
    &[
        &NODE_NOT_READY,
        &NO_ROOM_FOR_PODS,
        &NO_ROOM_FOR_POD,
        &NODE_STATE_UNKNOWN,
        &NODE_WITHOUT_POOL,
    ],
    judge,
);

fn judge(q: &StepQuestion<'_>) -> Verdict {
    let health = &q.facts.health;
    if !q.step.is_first_minor() {
        return Verdict::recommend();
    }
    let of_nodes = match &health.nodes {
        Fact::Unknown => not_given(ObjectKind::Node),
        Fact::Known(nodes) => states(nodes),
    };
    let room = match (&health.nodes, &health.pods) {
        (_, Fact::Unknown) => not_given(ObjectKind::Pod),
        (Fact::Unknown, _) => Verdict::recommend(),
        (Fact::Known(nodes), Fact::Known(pods)) => judge_room(health, nodes, pods),
    };
    [of_nodes, room, partly_given(health, ObjectKind::Pod)]
        .into_iter()
        .collect()
}

pub(crate) fn states(nodes: &[NodeState]) -> Verdict {
    let is_vague =
        |node: &&NodeState| node.is_ready == Fact::Unknown || node.allocatable == Fact::Unknown;
    let vague: Vec<&Name> = nodes
        .iter()
        .filter(is_vague)
        .map(|node| &node.name)
        .collect();
    let unknown = match vague.is_empty() {
        true => Verdict::recommend(),
        false => Verdict::refuse(NODE_STATE_UNKNOWN.because([("nodes", Value::list(vague))])),
    };
    let broken = nodes
        .iter()
        .filter(|node| node.is_ready == Fact::Known(false));
    let broken =
        broken.map(|node| Verdict::refuse(NODE_NOT_READY.because([("node", (&node.name).into())])));
    broken.chain([unknown]).collect()
}

fn judge_room(health: &ClusterHealth, nodes: &[NodeState], pods: &[Pod]) -> Verdict {
    let mut on_node: BTreeMap<&Name, Vec<&Pod>> = BTreeMap::new();
    for pod in pods.iter().filter(|pod| !pod.has_ended) {
        if let Some(node) = &pod.node {
            on_node.entry(node).or_default().push(pod);
        }
    }
    let mut pools: BTreeMap<Option<&Name>, Vec<PoolNode<'_>>> = BTreeMap::new();
    for node in nodes {
        let pods = on_node.remove(&node.name).unwrap_or_default();
        let pool = node.pool.known();
        pools.entry(pool).or_default().push(PoolNode { node, pods });
    }
    let is_paused = |pool: &Name| {
        let mut states = health.pools.known().into_iter().flatten();
        states.any(|state| state.name == *pool && state.is_paused)
    };
    // Hosted control planes have no pools: there all nodes are of one kind.
    let has_pools = health.pools.known().is_none_or(|pools| !pools.is_empty());
    let is_single = nodes.len() == 1;
    pools
        .into_iter()
        .filter(|(pool, _)| !is_single && !pool.is_some_and(is_paused))
        .map(|(pool, nodes)| match pool {
            None if has_pools => without_pool(&nodes),
            _ => judge_pool(pool, &nodes),
        })
        .collect()
}

/// Nodes of no known pool are not known to stay, nor to have room for each other.
fn without_pool(nodes: &[PoolNode<'_>]) -> Verdict {
    let has_moving = |one: &&PoolNode<'_>| one.pods.iter().any(|pod| pod.is_evicted());
    let names: Vec<&Name> = nodes
        .iter()
        .filter(has_moving)
        .map(|one| &one.node.name)
        .collect();
    match names.is_empty() {
        true => Verdict::recommend(),
        false => Verdict::refuse(NODE_WITHOUT_POOL.because([("nodes", Value::list(names))])),
    }
}

/// A node of a pool, and what runs on it.
struct PoolNode<'a> {
    node: &'a NodeState,
    pods: Vec<&'a Pod>,
}

impl PoolNode<'_> {
    /// What it has free for others; nothing if it takes none, or nobody knows.
    fn free(&self) -> Room {
        let takes_pods = !self.node.is_cordoned && self.node.is_ready == Fact::Known(true);
        let room = self.node.allocatable.known().filter(|_| takes_pods);
        let used = self.pods.iter().map(|pod| pod.requests);
        room.map_or_else(Room::default, |room| {
            room.without(used.fold(Room::default(), Room::and))
        })
    }
}

fn judge_pool(pool: Option<&Name>, nodes: &[PoolNode<'_>]) -> Verdict {
    let name: Value = match pool {
        Some(pool) => format!("pool {pool}").as_str().into(),
        None => "the cluster".into(),
    };
    let free: Vec<Room> = nodes.iter().map(PoolNode::free).collect();
    let all_free = free.iter().copied().fold(Room::default(), Room::and);
    let away = |(index, one): (usize, &PoolNode<'_>)| {
        let moving: Vec<&Pod> = one
            .pods
            .iter()
            .copied()
            .filter(|pod| pod.is_evicted())
            .collect();
        let needed = moving
            .iter()
            .map(|pod| pod.requests)
            .fold(Room::default(), Room::and);
        let others = all_free.without(free[index]);
        let together = others.lacks(needed).map(|missing| {
            Verdict::refuse(NO_ROOM_FOR_PODS.because([
                ("node", (&one.node.name).into()),
                ("pool", name.clone()),
                ("missing", missing.as_str().into()),
            ]))
        });
        match together {
            Some(verdict) => verdict,
            None => moving
                .into_iter()
                .filter_map(|pod| alone(pod, one, (index, &free), &name))
                .collect(),
        }
    };
    nodes.iter().enumerate().map(away).collect()
}

/// A pod that not one of the other nodes has room for.
fn alone(
    pod: &Pod,
    from: &PoolNode<'_>,
    (index, free): (usize, &[Room]),
    pool: &Value,
) -> Option<Verdict> {
    let others = free.iter().enumerate().filter(|(other, _)| *other != index);
    let missing: Option<Vec<(u64, String)>> = others
        .map(|(_, room)| {
            room.lacks(pod.requests)
                .map(|text| (room.memory_bytes, text))
        })
        .collect();
    // The others have room together, so there is another.
    let (_, missing) = missing?.into_iter().max()?;
    Some(Verdict::refuse(NO_ROOM_FOR_POD.because([
        ("node", (&from.node.name).into()),
        ("pool", pool.clone()),
        ("pod", (&pod.name).into()),
        ("namespace", (&pod.namespace).into()),
        ("owner", pod.owner.as_ref().into()),
        ("missing", missing.as_str().into()),
    ])))
}
