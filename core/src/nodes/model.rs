//! A cluster's nodes, pods and budgets as the simulator has them: numbered, in integers, and in an order of their own.
//!
//! The order in which objects come in changes nothing. A node whose room nobody knows has none, so that no pod is planned onto
//! it. Pods that ask for the same places share one class.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::counted::BudgetCounts;
use super::places::{PodClass, Terms};
use crate::cluster::Fact;
use crate::cluster::health::{ClusterHealth, DisruptionBudget, NodeState, Pod, PoolState, Room};
use crate::cluster::placement::zone_of;
use crate::duration::MaxUnavailable;
use crate::fleet::Name;

/// The most nodes of a cluster. Kubernetes itself is tested with as many.
pub const MAX_NODES: usize = 5_000;
/// The most pods of a cluster.
pub const MAX_PODS: usize = 200_000;

/// A node of a [`Model`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeIdx(pub(super) u32);

/// A pod of a [`Model`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PodIdx(pub(super) u32);

/// A budget of a [`Model`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct BudgetIdx(pub(super) u32);

/// Pods that the scheduler spreads: those of one owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct GroupIdx(pub(super) u32);

#[derive(Debug, Clone)]
pub struct Model {
    /// By name.
    pub(super) nodes: Vec<ModelNode>,
    /// By namespace and name. Those that have ended are not here.
    pub(super) pods: Vec<ModelPod>,
    pub(super) budgets: Vec<ModelBudget>,
    /// By name.
    pub(super) pools: Vec<ModelPool>,
    pub(super) zones: Vec<Name>,
    pub(super) groups: Vec<Vec<PodIdx>>,
    pub(super) classes: Vec<PodClass>,
    pub(super) terms: Terms,
    /// The order in which the scheduler looks at nodes.
    pub(super) looked_at: Vec<NodeIdx>,
}

#[derive(Debug, Clone)]
pub struct ModelNode {
    pub name: Name,
    /// A number for each zone, in the order of their names.
    pub zone: Option<u32>,
    pub(super) pool: Option<u32>,
    /// What it can give to pods; nothing if nobody knows.
    pub room: Room,
    pub is_ready: bool,
    pub is_cordoned: bool,
    pub(super) created_at: Option<Timestamp>,
    /// Added for the time of the update.
    pub(super) is_surge: bool,
}

#[derive(Debug, Clone)]
pub struct ModelPod {
    pub namespace: Name,
    pub name: Name,
    pub owner: Option<Name>,
    /// Where it runs at first.
    pub node: Option<NodeIdx>,
    pub requests: Room,
    /// Whether a drain evicts it.
    pub is_evicted: bool,
    pub(super) group: Option<GroupIdx>,
    pub(super) class: u32,
    pub(super) budgets: Vec<BudgetIdx>,
}

#[derive(Debug, Clone)]
pub(super) struct ModelBudget {
    /// How many pods may be evicted at first. None is known: none may.
    pub(super) allowed: u64,
}

/// Nodes that are updated by one pool.
#[derive(Debug, Clone)]
pub(super) struct ModelPool {
    pub(super) name: Name,
    pub(super) is_paused: bool,
    pub(super) max_unavailable: MaxUnavailable,
    pub(super) nodes: Vec<NodeIdx>,
}

/// Why no model can be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoModel {
    #[error("there are {0} nodes, and at most {MAX_NODES} are planned; give those of one cluster")]
    TooManyNodes(usize),
    #[error("there are {0} pods, and at most {MAX_PODS} are planned; give those of one cluster")]
    TooManyPods(usize),
    #[error(
        "the cluster's Nodes are not known; give them too: `oc get nodes -o yaml > nodes.yaml`"
    )]
    NoNodes,
    #[error(
        "the cluster's Pods are not known; give them too: `oc get pods --all-namespaces -o yaml > pods.yaml`"
    )]
    NoPods,
}

impl Model {
    /// Of what is known of a cluster. What is not known gives no room and allows no eviction.
    pub fn of(health: &ClusterHealth) -> Result<Self, NoModel> {
        let nodes = health.nodes.known().ok_or(NoModel::NoNodes)?;
        let pods = health.pods.known().ok_or(NoModel::NoPods)?;
        if nodes.len() > MAX_NODES {
            return Err(NoModel::TooManyNodes(nodes.len()));
        }
        if pods.len() > MAX_PODS {
            return Err(NoModel::TooManyPods(pods.len()));
        }
        let mut states: Vec<&NodeState> = nodes.iter().collect();
        states.sort_by_key(|node| &node.name);
        let zones = zones(&states);
        let mut pools = pools(health.pools.known());
        let nodes = numbered_nodes(&states, &zones, &mut pools);
        let mut running: Vec<&Pod> = pods.iter().filter(|pod| !pod.has_ended).collect();
        running.sort_by_key(|pod| (&pod.namespace, &pod.name));
        let budgets = health.budgets.known().map_or(&[][..], Vec::as_slice);
        let classes = PodClass::of_pods(&running, &states, health.volumes.known());
        let mut groups = Groups::default();
        let mut model = Self {
            pods: Vec::with_capacity(running.len()),
            budgets: budgets.iter().map(ModelBudget::of).collect(),
            looked_at: round_robin(&nodes, zones.len()),
            terms: Terms::of_pods(&running),
            classes: classes.classes,
            zones,
            pools,
            groups: Vec::new(),
            nodes,
        };
        let counted = BudgetCounts::by(budgets);
        for (number, pod) in running.iter().enumerate() {
            let place = pod.node.as_ref();
            let place = place.and_then(|name| model.node_named(name));
            model.pods.push(ModelPod {
                namespace: pod.namespace.clone(),
                name: pod.name.clone(),
                owner: pod.owner.clone(),
                node: place,
                requests: Room {
                    pods: 1,
                    ..pod.requests
                },
                is_evicted: pod.is_evicted(),
                group: groups.of(pod, PodIdx::new(number)),
                class: classes.of_pod[number],
                budgets: counted.of(pod),
            });
        }
        model.groups = groups.members;
        Ok(model)
    }

    pub fn nodes(&self) -> impl Iterator<Item = (NodeIdx, &ModelNode)> {
        let numbered = self.nodes.iter().enumerate();
        numbered.map(|(number, node)| (NodeIdx::new(number), node))
    }

    pub fn pods(&self) -> impl Iterator<Item = (PodIdx, &ModelPod)> {
        let numbered = self.pods.iter().enumerate();
        numbered.map(|(number, pod)| (PodIdx::new(number), pod))
    }

    pub fn node(&self, node: NodeIdx) -> &ModelNode {
        &self.nodes[node.at()]
    }

    pub fn pod(&self, pod: PodIdx) -> &ModelPod {
        &self.pods[pod.at()]
    }

    /// The zone that nodes name so.
    pub fn zone_name(&self, zone: u32) -> &Name {
        &self.zones[zone as usize]
    }

    /// How many nodes may take a pod at all, whatever is free there.
    pub fn places(&self, pod: PodIdx) -> usize {
        self.class(pod).nodes.iter().flatten().count()
    }

    /// Whether its volumes are bound to some of the nodes.
    pub fn is_bound_by_volumes(&self, pod: PodIdx) -> bool {
        self.class(pod).is_bound
    }

    /// How many budgets allow fewer pods to be away than these.
    pub fn overdrawn_by(&self, away: &[PodIdx]) -> usize {
        let mut left: Vec<Option<u64>> = self.budgets.iter().map(|one| Some(one.allowed)).collect();
        for BudgetIdx(budget) in away.iter().flat_map(|pod| &self.pod(*pod).budgets) {
            let left = &mut left[*budget as usize];
            *left = left.and_then(|left| left.checked_sub(1));
        }
        left.iter().filter(|left| left.is_none()).count()
    }

    fn class(&self, pod: PodIdx) -> &PodClass {
        &self.classes[self.pods[pod.at()].class as usize]
    }

    pub fn node_named(&self, name: &str) -> Option<NodeIdx> {
        let surge = self.nodes.iter().rev().take_while(|node| node.is_surge);
        let lasting = &self.nodes[..self.nodes.len() - surge.count()];
        let found = lasting.binary_search_by(|node| (*node.name).cmp(name));
        found.ok().map(NodeIdx::new)
    }

    /// How many nodes of a pool may be away at once, whoever caused it. At least one.
    pub(super) fn most_away(&self, pool: &ModelPool) -> usize {
        let own = pool.nodes.iter().filter(|node| !self.node(**node).is_surge);
        let nodes = u32::try_from(own.count()).unwrap_or(u32::MAX);
        pool.max_unavailable.rounded_down(nodes) as usize
    }
}

impl NodeIdx {
    pub(super) fn new(number: usize) -> Self {
        Self(u32::try_from(number).unwrap_or(u32::MAX))
    }

    pub(super) fn at(self) -> usize {
        self.0 as usize
    }
}

impl PodIdx {
    pub(super) fn new(number: usize) -> Self {
        Self(u32::try_from(number).unwrap_or(u32::MAX))
    }

    pub(super) fn at(self) -> usize {
        self.0 as usize
    }
}

impl ModelBudget {
    fn of(budget: &DisruptionBudget) -> Self {
        Self {
            allowed: budget.allowed.known().copied().unwrap_or(0),
        }
    }
}

/// Groups of pods, numbered as they are met.
#[derive(Default)]
struct Groups<'p> {
    numbers: BTreeMap<(&'p Name, &'p Name), GroupIdx>,
    members: Vec<Vec<PodIdx>>,
}

impl<'p> Groups<'p> {
    /// The scheduler spreads what it finds a selector for: the pods of these owners.
    fn of(&mut self, pod: &'p Pod, number: PodIdx) -> Option<GroupIdx> {
        const SPREAD: [&str; 4] = [
            "Deployment ",
            "ReplicaSet ",
            "ReplicationController ",
            "StatefulSet ",
        ];
        let owner = pod.owner.as_ref()?;
        if !SPREAD.iter().any(|kind| owner.starts_with(kind)) {
            return None;
        }
        let next = GroupIdx(u32::try_from(self.members.len()).unwrap_or(u32::MAX));
        let group = *self
            .numbers
            .entry((&pod.namespace, owner))
            .or_insert_with(|| {
                self.members.push(Vec::new());
                next
            });
        self.members[group.0 as usize].push(number);
        Some(group)
    }
}

fn zones(nodes: &[&NodeState]) -> Vec<Name> {
    let named = nodes.iter().filter_map(|node| zone_of(&node.labels));
    let mut zones: Vec<Name> = named.cloned().collect();
    zones.sort();
    zones.dedup();
    zones
}

/// Clusters with a hosted control plane have no pools: all their nodes are of one, and go one by one.
fn pools(states: Option<&Vec<PoolState>>) -> Vec<ModelPool> {
    let mut pools: Vec<ModelPool> = states
        .into_iter()
        .flatten()
        .map(|pool| ModelPool {
            name: pool.name.clone(),
            is_paused: pool.is_paused,
            max_unavailable: match pool.max_unavailable {
                Fact::Known(most) => most,
                Fact::Unknown => MaxUnavailable::Count(1),
            },
            nodes: Vec::new(),
        })
        .collect();
    if pools.is_empty() {
        pools.push(ModelPool {
            name: NO_POOL.into(),
            is_paused: false,
            max_unavailable: MaxUnavailable::Count(1),
            nodes: Vec::new(),
        });
    }
    pools.sort_by(|a, b| a.name.cmp(&b.name));
    pools
}

/// The name of the one pool of a cluster that has none.
pub const NO_POOL: &str = "all nodes";

fn numbered_nodes(
    states: &[&NodeState],
    zones: &[Name],
    pools: &mut [ModelPool],
) -> Vec<ModelNode> {
    let has_one_pool = matches!(pools, [only] if *only.name == *NO_POOL);
    let mut nodes = Vec::with_capacity(states.len());
    for (number, state) in states.iter().enumerate() {
        let of = |pool: &&mut ModelPool| match &state.pool {
            Fact::Known(name) => pool.name == *name,
            Fact::Unknown => false,
        };
        let mut own = pools.iter_mut().enumerate();
        let pool = own.find(|(_, pool)| has_one_pool || of(pool));
        let pool = pool.map(|(at, pool)| {
            pool.nodes.push(NodeIdx::new(number));
            u32::try_from(at).unwrap_or(u32::MAX)
        });
        let zone = zone_of(&state.labels).and_then(|zone| zones.binary_search(zone).ok());
        nodes.push(ModelNode {
            name: state.name.clone(),
            zone: zone.and_then(|zone| u32::try_from(zone).ok()),
            pool,
            room: state.allocatable.known().copied().unwrap_or_default(),
            is_ready: state.is_ready == Fact::Known(true),
            is_cordoned: state.is_cordoned,
            created_at: state.created_at,
            is_surge: false,
        });
    }
    nodes
}

/// One node of each zone in turn.
pub(super) fn round_robin(nodes: &[ModelNode], zones: usize) -> Vec<NodeIdx> {
    let mut of_zone: Vec<Vec<NodeIdx>> = vec![Vec::new(); zones + 1];
    for (number, node) in nodes.iter().enumerate() {
        let zone = node.zone.map_or(zones, |zone| zone as usize);
        of_zone[zone].push(NodeIdx::new(number));
    }
    let most = of_zone.iter().map(Vec::len).max().unwrap_or(0);
    let turn = |turn: usize| {
        of_zone
            .iter()
            .filter_map(move |zone| zone.get(turn).copied())
    };
    (0..most).flat_map(turn).collect()
}
