//! A cluster whose nodes are drained and come back: pods are evicted as their budgets allow, the scheduler places them anew, and
//! what fits nowhere waits.
//!
//! Time passes in rounds. In each, every pod is evicted that may be; then the scheduler places all that wait, and each placed
//! pod is healthy at once. A drain that gets no further is stuck, and says at which pods.

use super::model::{BudgetIdx, Model, NodeIdx, PodIdx};
use super::scheduler::Scratch;
use super::score::{Weight, logarithms};
use crate::chance::Chance;
use crate::cluster::health::Room;

/// The state of a simulated cluster. A clone is a fork: what happens to one does not happen to the other.
#[derive(Debug, Clone)]
pub struct Simulation<'m> {
    pub(super) model: &'m Model,
    pub(super) chance: Chance,
    pub(super) nodes: Vec<NodeStatus>,
    pub(super) pods: Vec<PodStatus>,
    /// How many more pods of each budget may be evicted.
    pub(super) allowed: Vec<u64>,
    /// Where the scheduler looks next.
    pub(super) next_look: usize,
    pub(super) scratch: Scratch,
    pub(super) logarithms: std::sync::Arc<[u64]>,
    /// Evicted, and without a place yet.
    waiting: Vec<PodIdx>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct NodeStatus {
    pub(super) used: Room,
    pub(super) weight: Weight,
    pub(super) mark: UpdateMark,
    pub(super) takes_pods: bool,
    pub(super) pods: Vec<PodIdx>,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PodStatus {
    pub(super) place: Option<NodeIdx>,
    pub(super) evictions: u32,
}

/// How a node that is not updated yet is marked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum UpdateMark {
    #[default]
    None,
    /// PreferNoSchedule, as the machine-config operator marks it.
    Soft,
    /// NoSchedule.
    Hard,
}

/// How moved pods are steered towards nodes that are updated already.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Steering {
    /// Not at all.
    Unbiased,
    /// Nodes that are not updated have a soft mark.
    Soft,
    /// They have a hard mark. It is made soft for pods that fit nowhere else, so that none waits for it.
    #[default]
    Hard,
}

/// A pod that was evicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Move {
    pub pod: PodIdx,
    pub from: NodeIdx,
    /// None: it waits for a node to come back, or nobody makes it again.
    pub to: Option<NodeIdx>,
}

/// What a drain did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Drain {
    pub moves: Vec<Move>,
    /// Pods that may not be evicted. Their nodes cannot be updated.
    pub stuck: Vec<PodIdx>,
    /// Pods that nobody makes again.
    pub lost: Vec<PodIdx>,
    /// Pods that fit nowhere until a node comes back.
    pub waiting: Vec<PodIdx>,
    /// How many found a place only after the mark was made soft.
    pub softened: usize,
}

impl<'m> Simulation<'m> {
    /// The cluster as it is. The seed decides what is left to chance.
    pub fn new(model: &'m Model, seed: u64) -> Self {
        let nodes = model.nodes.iter().map(|node| NodeStatus {
            takes_pods: node.is_ready && !node.is_cordoned,
            ..NodeStatus::default()
        });
        let mut simulation = Self {
            model,
            chance: Chance::of(seed),
            nodes: nodes.collect(),
            pods: vec![PodStatus::default(); model.pods.len()],
            allowed: model.budgets.iter().map(|budget| budget.allowed).collect(),
            next_look: 0,
            scratch: Scratch::new(model.nodes.len(), model.zones.len()),
            logarithms: logarithms(model.nodes.len()).into(),
            waiting: Vec::new(),
        };
        for (pod, of) in model.pods() {
            if let Some(node) = of.node {
                simulation.put(pod, node);
            }
        }
        simulation
    }

    /// Places the pods that have no node yet, in the order of a seeded shuffle, and says how many fit.
    pub fn place_pending(&mut self) -> usize {
        let pending = self.model.pods().map(|(pod, _)| pod);
        let mut pending: Vec<PodIdx> = pending.filter(|pod| self.place(*pod).is_none()).collect();
        self.chance.shuffle(&mut pending);
        let mut placed = 0;
        for pod in pending {
            if let Some(node) = self.choose(pod, true) {
                self.put(pod, node);
                placed += 1;
            }
        }
        placed
    }

    pub fn mark(&mut self, node: NodeIdx, mark: UpdateMark) {
        self.nodes[node.at()].mark = mark;
    }

    /// Marks nodes that are not updated yet as this steering has it.
    pub fn steer(&mut self, not_updated: impl IntoIterator<Item = NodeIdx>, steering: Steering) {
        let mark = match steering {
            Steering::Unbiased => UpdateMark::None,
            Steering::Soft => UpdateMark::Soft,
            Steering::Hard => UpdateMark::Hard,
        };
        not_updated
            .into_iter()
            .for_each(|node| self.mark(node, mark));
    }

    /// Drains nodes at once. They take no pods until they come back.
    pub fn drain(&mut self, wave: &[NodeIdx]) -> Drain {
        let mut drain = Drain::default();
        for node in wave {
            self.nodes[node.at()].takes_pods = false;
        }
        let mut left = self.evictable(wave);
        self.chance.shuffle(&mut left);
        loop {
            let before = left.len();
            left.retain(|pod| !self.evict(*pod, &mut drain));
            let placed = self.place_waiting(&mut drain);
            // Only a pod that was placed can free a budget.
            if left.is_empty() || (left.len() == before && placed == 0) {
                break;
            }
        }
        for moved in &mut drain.moves {
            moved.to = self.pods[moved.pod.at()].place;
        }
        left.sort_unstable();
        drain.stuck = left;
        // Whoever waits since an earlier drain is not this one's.
        let own = drain.moves.iter().map(|moved| moved.pod);
        drain.waiting = own.filter(|pod| self.waiting.contains(pod)).collect();
        drain.waiting.sort_unstable();
        drain
    }

    /// Nodes are updated and come back without a mark; pods that waited are placed.
    pub fn bring_back(&mut self, wave: &[NodeIdx]) -> Vec<(PodIdx, NodeIdx)> {
        for node in wave {
            let own = &self.model.nodes[node.at()];
            let status = &mut self.nodes[node.at()];
            status.takes_pods = own.is_ready && !own.is_cordoned;
            status.mark = UpdateMark::None;
        }
        let mut drain = Drain::default();
        let waited = self.waiting.clone();
        self.place_waiting(&mut drain);
        let placed = |pod: PodIdx| Some((pod, self.pods[pod.at()].place?));
        waited.into_iter().filter_map(placed).collect()
    }

    pub fn place(&self, pod: PodIdx) -> Option<NodeIdx> {
        self.pods[pod.at()].place
    }

    /// How often a pod was evicted.
    pub fn evictions(&self, pod: PodIdx) -> u32 {
        self.pods[pod.at()].evictions
    }

    /// How many pods of a budget may still be evicted, by the budget's place in the cluster's list.
    pub fn allowed(&self, budget: usize) -> u64 {
        self.allowed[budget]
    }

    /// How full a node is, in thousandths: the mean of CPU and memory.
    pub fn load(&self, node: NodeIdx) -> u64 {
        let (used, room) = (self.nodes[node.at()].used, self.model.nodes[node.at()].room);
        let part = |used: u64, all: u64| used.saturating_mul(1_000) / all.max(1);
        let cpu = part(used.cpu_milli, room.cpu_milli);
        // In KiB, so that the product has room in 64 bits.
        u64::midpoint(cpu, part(used.memory_bytes >> 10, room.memory_bytes >> 10))
    }

    /// The pods that a drain of these nodes evicts.
    pub(super) fn evictable(&self, nodes: &[NodeIdx]) -> Vec<PodIdx> {
        let on = |node: &NodeIdx| self.nodes[node.at()].pods.iter().copied();
        let mut pods: Vec<PodIdx> = nodes.iter().flat_map(on).collect();
        pods.retain(|pod| self.model.pods[pod.at()].is_evicted);
        pods.sort_unstable();
        pods
    }

    /// Evicts a pod if its budget allows it. The API evicts no pod that two budgets count.
    fn evict(&mut self, pod: PodIdx, drain: &mut Drain) -> bool {
        let own = &self.model.pods[pod.at()];
        let Some(from) = self.pods[pod.at()].place else {
            return true;
        };
        if !self.may_evict(pod) {
            return false;
        }
        for BudgetIdx(budget) in &own.budgets {
            self.allowed[*budget as usize] -= 1;
        }
        self.take_off(pod, from);
        self.pods[pod.at()].evictions += 1;
        let to = None;
        drain.moves.push(Move { pod, from, to });
        match own.owner {
            None => drain.lost.push(pod),
            Some(_) => self.waiting.push(pod),
        }
        true
    }

    pub(super) fn may_evict(&self, pod: PodIdx) -> bool {
        match self.model.pods[pod.at()].budgets.as_slice() {
            [] => true,
            [BudgetIdx(budget)] => self.allowed[*budget as usize] > 0,
            _ => false,
        }
    }

    /// Places all that wait, and says how many found a place.
    fn place_waiting(&mut self, drain: &mut Drain) -> usize {
        let waiting = std::mem::take(&mut self.waiting);
        let before = waiting.len();
        for pod in waiting {
            let at_once = self.choose(pod, false);
            let node = at_once.or_else(|| self.choose(pod, true));
            let Some(node) = node else {
                self.waiting.push(pod);
                continue;
            };
            drain.softened += usize::from(at_once.is_none());
            self.settle(pod, node);
        }
        before - self.waiting.len()
    }

    /// Puts an evicted pod onto a node, where it is healthy at once.
    pub(super) fn settle(&mut self, pod: PodIdx, node: NodeIdx) {
        self.put(pod, node);
        for BudgetIdx(budget) in &self.model.pods[pod.at()].budgets {
            self.allowed[*budget as usize] += 1;
        }
    }

    pub(super) fn put(&mut self, pod: PodIdx, node: NodeIdx) {
        let requests = self.model.pods[pod.at()].requests;
        let status = &mut self.nodes[node.at()];
        status.used = status.used.and(requests);
        status.weight = status.weight.and(Weight::of(requests));
        status.pods.push(pod);
        self.pods[pod.at()].place = Some(node);
    }

    pub(super) fn take_off(&mut self, pod: PodIdx, node: NodeIdx) {
        let requests = self.model.pods[pod.at()].requests;
        let status = &mut self.nodes[node.at()];
        status.used = status.used.without(requests);
        status.weight = status.weight.without(Weight::of(requests));
        status.pods.retain(|other| *other != pod);
        self.pods[pod.at()].place = None;
    }
}
