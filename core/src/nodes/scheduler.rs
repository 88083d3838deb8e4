//! Where the default scheduler of Kubernetes 1.20 puts a pod: which nodes it looks at, which of them can take the pod, and
//! which of these it likes best. Among equals the seed decides.
//!
//! Two things are left out. It never evicts a pod for one of higher priority, and it knows no preference of pods for each other.
//! As in 1.20, nodes without a zone are not spread over.

use super::model::{NodeIdx, PodIdx};
use super::score::{SPREAD_WEIGHT, Weight, of_neighbours, of_room, of_taints, to_scale};
use super::simulation::{Simulation, UpdateMark};
use crate::cluster::placement::Domain;

/// With fewer nodes it looks at all of them.
const LOOKS_AT_ALL_BELOW: usize = 100;

/// What it has in hand while it thinks. Kept from pod to pod, so that nothing is allocated for each.
#[derive(Debug, Clone, Default)]
pub(super) struct Scratch {
    candidates: Vec<Candidate>,
    /// How many pods like this one are on each node, and in each zone.
    on_host: Vec<u32>,
    in_zone: Vec<u32>,
    has_candidate: Vec<bool>,
    /// Nodes and zones that others keep it away from.
    kept_from_hosts: Vec<bool>,
    kept_from_zones: Vec<bool>,
}

#[derive(Debug, Clone, Copy)]
struct Candidate {
    node: NodeIdx,
    avoided: u8,
    neighbours: u64,
}

impl Scratch {
    pub(super) fn new(nodes: usize, zones: usize) -> Self {
        Self {
            candidates: Vec::with_capacity(nodes),
            on_host: vec![0; nodes],
            in_zone: vec![0; zones],
            has_candidate: vec![false; zones],
            kept_from_hosts: vec![false; nodes],
            kept_from_zones: vec![false; zones],
        }
    }
}

impl Simulation<'_> {
    /// The node it chooses, if any can take the pod. With `softly`, a hard mark is taken for a soft one.
    pub(super) fn choose(&mut self, pod: PodIdx, softly: bool) -> Option<NodeIdx> {
        self.keep_apart(pod);
        self.find_candidates(pod, softly);
        self.forget_apart(pod);
        match self.scratch.candidates.as_slice() {
            [] => None,
            [only] => Some(only.node),
            _ => {
                self.count_neighbours(pod);
                Some(self.best(pod))
            }
        }
    }

    /// Whether a node can take it, if it is the only one that is open.
    pub(super) fn could_take(&mut self, node: NodeIdx, pod: PodIdx) -> bool {
        self.keep_apart(pod);
        let takes = self.takes(node, pod, false).is_some();
        self.forget_apart(pod);
        takes
    }

    /// It begins where it left off, and stops when it has enough.
    fn find_candidates(&mut self, pod: PodIdx, softly: bool) {
        let nodes = self.model.looked_at.len();
        let enough = enough(nodes);
        self.scratch.candidates.clear();
        let mut looked_at = 0;
        while looked_at < nodes && self.scratch.candidates.len() < enough {
            let node = self.model.looked_at[(self.next_look + looked_at) % nodes];
            looked_at += 1;
            if let Some(avoided) = self.takes(node, pod, softly) {
                self.scratch.candidates.push(Candidate {
                    node,
                    avoided,
                    neighbours: 0,
                });
            }
        }
        self.next_look = (self.next_look + looked_at) % nodes.max(1);
    }

    /// Whether a node can take it, and how many of its taints the pod would rather avoid.
    fn takes(&self, node: NodeIdx, pod: PodIdx, softly: bool) -> Option<u8> {
        let status = &self.nodes[node.at()];
        if !status.takes_pods || self.scratch.kept_from_hosts[node.at()] {
            return None;
        }
        let (one, of) = (&self.model.pods[pod.at()], &self.model.nodes[node.at()]);
        let class = &self.model.classes[one.class as usize];
        let avoided = class.nodes[node.at()]?;
        let [minds_no_hard, minds_no_soft] = class.minds_not;
        let marked = match status.mark {
            UpdateMark::Hard if !minds_no_hard && !softly => return None,
            UpdateMark::Hard | UpdateMark::Soft if !minds_no_soft => 1,
            _ => 0,
        };
        let is_kept = |zone: u32| self.scratch.kept_from_zones[zone as usize];
        let fits = of.room.holds(status.used.and(one.requests)) && !of.zone.is_some_and(is_kept);
        fits.then(|| avoided.saturating_add(marked))
    }

    /// Marks where ports are taken, and where pods are that it keeps away from, or that keep away from it.
    fn keep_apart(&mut self, pod: PodIdx) {
        self.set_apart(pod, true);
    }

    fn forget_apart(&mut self, pod: PodIdx) {
        self.set_apart(pod, false);
    }

    fn set_apart(&mut self, pod: PodIdx, is_kept: bool) {
        let model = self.model;
        for concern in &model.terms.of_pod[pod.at()] {
            let term = &model.terms.terms[concern.term as usize];
            let meant = term.meant.iter().filter(|_| concern.holds);
            let holders = term.holders.iter().filter(|_| concern.is_meant);
            for other in meant.chain(holders).filter(|other| **other != pod) {
                let Some(node) = self.pods[other.at()].place else {
                    continue;
                };
                match (term.within, model.nodes[node.at()].zone) {
                    (Domain::Zone, Some(zone)) => {
                        self.scratch.kept_from_zones[zone as usize] = is_kept;
                    }
                    // Without a zone, it is at least not on the same node.
                    _ => self.scratch.kept_from_hosts[node.at()] = is_kept,
                }
            }
        }
    }

    /// Counts the pods of its owner on each candidate and in its zone.
    fn count_neighbours(&mut self, pod: PodIdx) {
        let model = self.model;
        let own = &model.pods[pod.at()];
        let Some(group) = own.group else {
            return;
        };
        let class = &model.classes[own.class as usize];
        let scratch = &mut self.scratch;
        let (mut hosts, mut zones) = (0usize, 0usize);
        for candidate in &scratch.candidates {
            if let Some(zone) = model.nodes[candidate.node.at()].zone {
                hosts += 1;
                zones += usize::from(!std::mem::replace(
                    &mut scratch.has_candidate[zone as usize],
                    true,
                ));
            }
        }
        let members = model.groups[group.0 as usize].iter();
        for node in members.clone().filter_map(|one| self.pods[one.at()].place) {
            scratch.on_host[node.at()] += 1;
            if let (Some(zone), true) = (model.nodes[node.at()].zone, class.selected[node.at()]) {
                scratch.in_zone[zone as usize] += 1;
            }
        }
        let logarithms = (self.logarithms[hosts], self.logarithms[zones]);
        for candidate in &mut scratch.candidates {
            if let Some(zone) = model.nodes[candidate.node.at()].zone {
                let on_host = scratch.on_host[candidate.node.at()].into();
                let in_zone = scratch.in_zone[zone as usize].into();
                candidate.neighbours = of_neighbours(on_host, in_zone, logarithms);
            }
        }
        for node in members.filter_map(|one| self.pods[one.at()].place) {
            scratch.on_host[node.at()] = 0;
        }
        scratch.in_zone.fill(0);
        scratch.has_candidate.fill(false);
    }

    /// The candidate with the highest score. Of several, each is as likely.
    fn best(&mut self, pod: PodIdx) -> NodeIdx {
        let model = self.model;
        let weight = Weight::of(model.pods[pod.at()].requests);
        let is_spread = model.pods[pod.at()].group.is_some();
        let candidates = &self.scratch.candidates;
        let most_avoided = candidates.iter().map(|one| one.avoided).max().unwrap_or(0);
        // Without a zone nobody has counted, and the score is 0.
        let counted = || {
            candidates
                .iter()
                .map(|one| one.neighbours)
                .filter(|all| *all > 0)
        };
        let (least, most) = (counted().min().unwrap_or(0), counted().max().unwrap_or(0));
        let mut best: Option<(u64, NodeIdx)> = None;
        let mut equals = 1;
        for one in candidates {
            let status = &self.nodes[one.node.at()];
            let spread = match one.neighbours {
                0 => 0,
                neighbours if is_spread => to_scale(neighbours, least, most),
                _ => 0,
            };
            let score = of_room(status.weight.and(weight), model.nodes[one.node.at()].room)
                + of_taints(one.avoided.into(), most_avoided.into())
                + SPREAD_WEIGHT * spread;
            match best {
                Some((highest, _)) if score < highest => {}
                Some((highest, _)) if score == highest => {
                    equals += 1;
                    if self.chance.below(equals) == 0 {
                        best = Some((score, one.node));
                    }
                }
                _ => {
                    equals = 1;
                    best = Some((score, one.node));
                }
            }
        }
        best.map_or(candidates[0].node, |(_, node)| node)
    }
}

/// How many nodes that can take a pod are enough to choose from.
fn enough(nodes: usize) -> usize {
    if nodes < LOOKS_AT_ALL_BELOW {
        return nodes;
    }
    let percent = 50usize.saturating_sub(nodes / 125).max(5);
    (nodes * percent / 100).max(LOOKS_AT_ALL_BELOW)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_a_large_cluster_it_looks_at_a_part_of_the_nodes() {
        for (nodes, expected) in [
            (6, 6),
            (99, 99),
            (100, 100),
            (250, 120),
            (1_000, 420),
            (5_000, 500),
        ] {
            assert_eq!(enough(nodes), expected, "{nodes}");
        }
    }
}
