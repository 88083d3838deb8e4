//! What is moved when all nodes are updated: the last ones come back empty, and the others are fuller than before.
//!
//! A pod is evicted only if the scheduler would then put it where it helps: off a node that is too full, or onto one that is too
//! empty. Pods that have moved more than once already go first: those who were disturbed once stay in peace.
//! Where the scheduler would have no pod go there, the other nodes are closed while one pod moves.

use super::model::{NodeIdx, PodIdx};
use super::simulation::{Move, Simulation};

/// A node is even that has at least, and at most, so many percent of the mean load.
pub const EVEN_PERCENT: (u64, u64) = (80, 120);
/// So many thousandths of a node are not worth a move.
const NO_MATTER: u64 = 50;
/// How many pods of a node are tried before the next node's turn.
const TRIES: usize = 32;

/// Which nodes are helped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Only {
    /// Those that are not even.
    Uneven,
    /// Any that is less full than the mean.
    Unequal,
}

/// Which pods may move, and whom that has to help.
#[derive(Debug, Clone, Copy)]
struct Choice {
    mean: u64,
    only: Only,
    /// Only pods that were evicted so often before.
    evictions: u32,
}

/// What was moved at the end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rebalanced {
    pub moves: Vec<Move>,
    /// Pods that land there only if the other nodes are closed to new pods meanwhile.
    pub steered: Vec<PodIdx>,
}

/// How full nodes are, in thousandths.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Loads {
    pub least: u64,
    pub mean: u64,
    pub most: u64,
}

impl Loads {
    pub fn are_even(self) -> bool {
        let (_, most) = EVEN_PERCENT;
        let is_high = self.most * 100 > self.mean * most && self.mean + NO_MATTER < self.most;
        !self.is_low() && !is_high
    }

    /// Whether a node is too empty.
    fn is_low(self) -> bool {
        let (least, _) = EVEN_PERCENT;
        self.least * 100 < self.mean * least && self.least + NO_MATTER < self.mean
    }
}

impl Simulation<'_> {
    /// How full these nodes are. Those that take no pods do not count.
    pub fn loads(&self, nodes: &[NodeIdx]) -> Loads {
        let taking = nodes.iter().filter(|node| self.nodes[node.at()].takes_pods);
        let loads: Vec<u64> = taking.map(|node| self.load(*node)).collect();
        let count = loads.len().max(1) as u64;
        Loads {
            least: loads.iter().copied().min().unwrap_or(0),
            mean: loads.iter().sum::<u64>() / count,
            most: loads.iter().copied().max().unwrap_or(0),
        }
    }

    /// Moves pods until these nodes are even, or nothing more helps.
    pub fn rebalance(&mut self, nodes: &[NodeIdx]) -> Rebalanced {
        let mut rebalanced = Rebalanced::default();
        let most = self.evictable(nodes).len();
        while rebalanced.moves.len() < most {
            let loads = self.loads(nodes);
            if loads.are_even() {
                break;
            }
            // What is uneven itself comes first; if the scheduler would not have it so, what is nearly.
            let ways = [
                (Only::Uneven, 2),
                (Only::Uneven, 0),
                (Only::Unequal, 2),
                (Only::Unequal, 0),
            ];
            let moved = ways.into_iter().find_map(|(only, evictions)| {
                let choice = Choice {
                    mean: loads.mean,
                    only,
                    evictions,
                };
                self.relieve_one(nodes, choice)
            });
            let steered = match moved {
                Some(_) => None,
                None => self.steer_one(nodes, loads),
            };
            rebalanced.steered.extend(steered.map(|moved| moved.pod));
            let Some(moved) = moved.or(steered) else {
                break;
            };
            rebalanced.moves.push(moved);
        }
        rebalanced
    }

    /// Moves one pod to the emptiest node, or off the fullest, with all others closed to it.
    fn steer_one(&mut self, nodes: &[NodeIdx], loads: Loads) -> Option<Move> {
        let mut sorted: Vec<(u64, NodeIdx)> = nodes
            .iter()
            .filter(|node| self.nodes[node.at()].takes_pods)
            .map(|node| (self.load(*node), *node))
            .collect();
        sorted.sort_unstable();
        let (low, high) = (sorted.first()?.1, sorted.last()?.1);
        let from_full = sorted.iter().rev().map(|(_, node)| (*node, low));
        let to_empty = sorted.iter().map(|(_, node)| (high, *node));
        let pairs: Vec<(NodeIdx, NodeIdx)> = match loads.is_low() {
            true => from_full.collect(),
            false => to_empty.collect(),
        };
        let pairs = pairs.into_iter().filter(|(from, to)| from != to);
        pairs
            .take(TRIES)
            .find_map(|(from, to)| self.steer_between(from, to))
    }

    /// The largest pod after whose move the one node is still no emptier than the other.
    fn steer_between(&mut self, from: NodeIdx, to: NodeIdx) -> Option<Move> {
        let pods = self.may_go(from, 0).into_iter().take(TRIES);
        pods.into_iter().find_map(|pod| {
            self.take_off(pod, from);
            let can_go = self.could_take(to, pod);
            self.put(pod, if can_go { to } else { from });
            let is_better = can_go && self.load(to) <= self.load(from);
            if can_go && !is_better {
                self.take_off(pod, to);
                self.put(pod, from);
            }
            is_better.then(|| {
                self.pods[pod.at()].evictions += 1;
                let to = Some(to);
                Move { pod, from, to }
            })
        })
    }

    /// Moves one pod off the fullest node where that helps.
    fn relieve_one(&mut self, nodes: &[NodeIdx], choice: Choice) -> Option<Move> {
        let mut full: Vec<(u64, NodeIdx)> = nodes
            .iter()
            .map(|node| (self.load(*node), *node))
            .filter(|(load, _)| *load > choice.mean)
            .collect();
        full.sort_unstable_by_key(|(load, node)| (std::cmp::Reverse(*load), *node));
        full.into_iter().find_map(|(_, from)| {
            let pods = self.may_go(from, choice.evictions).into_iter().take(TRIES);
            pods.into_iter()
                .find_map(|pod| self.try_move(pod, from, choice))
        })
    }

    /// The pods of a node that may be evicted and are made again. The largest first: fewer have to move then.
    fn may_go(&self, from: NodeIdx, evictions: u32) -> Vec<PodIdx> {
        let may_go = |pod: &PodIdx| {
            let is_made_again = self.model.pods[pod.at()].owner.is_some();
            is_made_again && self.evictions(*pod) >= evictions && self.may_evict(*pod)
        };
        let mut pods = self.evictable(&[from]);
        pods.retain(may_go);
        pods.sort_by_key(|pod| std::cmp::Reverse(self.share(*pod, from)));
        pods
    }

    /// How much of a node a pod asks for, in millionths.
    fn share(&self, pod: PodIdx, node: NodeIdx) -> u64 {
        let (asked, room) = (
            self.model.pods[pod.at()].requests,
            self.model.nodes[node.at()].room,
        );
        let part = |asked: u64, all: u64| {
            u64::try_from(u128::from(asked) * 1_000_000 / u128::from(all.max(1)))
                .unwrap_or(u64::MAX)
        };
        u64::midpoint(
            part(asked.cpu_milli, room.cpu_milli),
            part(asked.memory_bytes, room.memory_bytes),
        )
    }

    /// Evicts the pod if it would then go where it helps.
    fn try_move(&mut self, pod: PodIdx, from: NodeIdx, choice: Choice) -> Option<Move> {
        let Choice { mean, only, .. } = choice;
        let before = self.load(from);
        self.take_off(pod, from);
        let chosen = self.choose(pod, false);
        let (empty, full) = EVEN_PERCENT;
        let left = self.load(from);
        let helps = |to: &NodeIdx| {
            let load = self.load(*to);
            let is_helped = match only {
                Only::Uneven => {
                    load * 100 < mean * empty || (before * 100 > mean * full && load < mean)
                }
                // It stays less full than the node that it relieves, so that this ends.
                Only::Unequal => load < mean && load + (before - left) < before,
            };
            *to != from && is_helped
        };
        let to = chosen.filter(helps);
        self.put(pod, to.unwrap_or(from));
        let to = to?;
        self.pods[pod.at()].evictions += 1;
        Some(Move {
            pod,
            from,
            to: Some(to),
        })
    }
}
