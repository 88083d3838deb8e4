//! On which nodes a pod may run at all, whatever is free there.
//!
//! Labels, taints and volumes are asked once for all pods that ask for the same. Ports and pods that keep away from each other
//! depend on where others are, so they are terms: who holds one, and whom it is about.

use std::collections::BTreeMap;

use super::model::PodIdx;
use crate::cluster::health::{NodeState, Pod};
use crate::cluster::placement::{ApartFrom, Domain, Placement, Taint, TaintEffect, Volume, meets};
use crate::fleet::Name;

/// The taint that the machine-config operator gives nodes that are not updated yet.
pub const UPDATE_TAINT: &str = "UpdateInProgress";

/// Pods that ask for the same places.
#[derive(Debug, Clone)]
pub(super) struct PodClass {
    /// For each node: whether it may run there, and how many of the node's taints it would rather avoid.
    pub(super) nodes: Vec<Option<u8>>,
    /// For each node: whether its labels are as the pod asks. The scheduler counts for spreading only there.
    pub(super) selected: Vec<bool>,
    /// It does not mind a node that is not updated yet: neither the hard mark, nor the soft one.
    pub(super) minds_not: [bool; 2],
    /// Whether volumes are bound to some of the nodes.
    pub(super) is_bound: bool,
}

/// The class of each pod.
pub(super) struct Classes {
    pub(super) classes: Vec<PodClass>,
    pub(super) of_pod: Vec<u32>,
}

/// What tells classes apart.
type Asks<'a> = (
    &'a BTreeMap<Name, Name>,
    &'a [Vec<crate::cluster::health::Expression>],
    &'a [crate::cluster::placement::Toleration],
    Vec<&'a Name>,
);

impl PodClass {
    /// The classes of pods on these nodes.
    pub(super) fn of_pods(
        pods: &[&Pod],
        nodes: &[&NodeState],
        volumes: Option<&Vec<Volume>>,
    ) -> Classes {
        let mut bound: BTreeMap<(&Name, &Name), &Volume> = BTreeMap::new();
        for volume in volumes.into_iter().flatten() {
            if let (Some((namespace, claim)), false) = (&volume.claim, volume.terms.is_empty()) {
                bound.insert((namespace, claim), volume);
            }
        }
        let mut numbers: BTreeMap<Asks<'_>, u32> = BTreeMap::new();
        let mut classes = Vec::new();
        let mut of_pod = Vec::with_capacity(pods.len());
        for pod in pods {
            let claims = pod.placement.claims.iter();
            let own: Vec<&Volume> = claims
                .filter_map(|claim| bound.get(&(&pod.namespace, claim)).copied())
                .collect();
            let asks: Asks<'_> = (
                &pod.placement.labels,
                &pod.placement.terms,
                &pod.placement.tolerations,
                own.iter().map(|volume| &volume.name).collect(),
            );
            let number = *numbers.entry(asks).or_insert_with(|| {
                classes.push(Self::of(&pod.placement, &own, nodes));
                u32::try_from(classes.len() - 1).unwrap_or(u32::MAX)
            });
            of_pod.push(number);
        }
        Classes { classes, of_pod }
    }

    fn of(placement: &Placement, volumes: &[&Volume], nodes: &[&NodeState]) -> Self {
        let reaches = |node: &NodeState| volumes.iter().all(|one| meets(&one.terms, &node.labels));
        let selects = |node: &NodeState| placement.selects(&node.labels);
        let place = |node: &&NodeState| {
            let is_kept_away = node.taints.iter().any(|taint| {
                taint.effect != TaintEffect::PreferNoSchedule && !placement.tolerates(taint)
            });
            let may = selects(node) && reaches(node) && !is_kept_away;
            let avoided = node.taints.iter().filter(|taint| {
                taint.effect == TaintEffect::PreferNoSchedule
                    && *taint.key != *UPDATE_TAINT
                    && !placement.tolerates(taint)
            });
            may.then(|| u8::try_from(avoided.count()).unwrap_or(u8::MAX))
        };
        let minds_not = [TaintEffect::NoSchedule, TaintEffect::PreferNoSchedule].map(|effect| {
            let (key, value) = (UPDATE_TAINT.into(), "".into());
            placement.tolerates(&Taint { key, value, effect })
        });
        Self {
            nodes: nodes.iter().map(place).collect(),
            selected: nodes.iter().map(|node| selects(node)).collect(),
            minds_not,
            is_bound: !volumes.is_empty(),
        }
    }
}

/// Pods that may not share a node or a zone.
#[derive(Debug, Clone, Default)]
pub(super) struct Terms {
    pub(super) terms: Vec<Term>,
    /// For each pod: the terms that concern it, and whether it holds them, is meant by them, or both.
    pub(super) of_pod: Vec<Vec<Concern>>,
}

#[derive(Debug, Clone)]
pub(super) struct Term {
    pub(super) within: Domain,
    /// Who keeps away.
    pub(super) holders: Vec<PodIdx>,
    /// From whom.
    pub(super) meant: Vec<PodIdx>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Concern {
    pub(super) term: u32,
    pub(super) holds: bool,
    pub(super) is_meant: bool,
}

impl Terms {
    /// The terms of pods in their order.
    pub(super) fn of_pods(pods: &[&Pod]) -> Self {
        let mut terms = Self {
            terms: Vec::new(),
            of_pod: vec![Vec::new(); pods.len()],
        };
        let mut ports: BTreeMap<u64, Vec<PodIdx>> = BTreeMap::new();
        let mut apart: BTreeMap<(&Name, &ApartFrom), Vec<PodIdx>> = BTreeMap::new();
        let mut of_namespace: BTreeMap<&Name, Vec<PodIdx>> = BTreeMap::new();
        for (number, pod) in pods.iter().enumerate() {
            let number = PodIdx::new(number);
            of_namespace.entry(&pod.namespace).or_default().push(number);
            for port in &pod.placement.host_ports {
                ports.entry(*port).or_default().push(number);
            }
            for from in &pod.placement.apart_from {
                apart
                    .entry((&pod.namespace, from))
                    .or_default()
                    .push(number);
            }
        }
        // Two pods with one port keep away from each other.
        for users in ports.into_values().filter(|users| users.len() > 1) {
            terms.add(Domain::Host, users.clone(), users);
        }
        for ((namespace, from), holders) in apart {
            let others = of_namespace.get(namespace).into_iter().flatten().copied();
            let is_meant = |pod: &PodIdx| from.pods.matches(&pods[pod.at()].labels);
            terms.add(from.within, holders, others.filter(is_meant).collect());
        }
        terms
    }

    fn add(&mut self, within: Domain, holders: Vec<PodIdx>, meant: Vec<PodIdx>) {
        let term = u32::try_from(self.terms.len()).unwrap_or(u32::MAX);
        let (mut of_holders, mut of_meant) = (holders.iter().peekable(), meant.iter().peekable());
        // Both lists are in the pods' order.
        loop {
            let next = match (of_holders.peek(), of_meant.peek()) {
                (None, None) => break,
                (Some(pod), None) | (None, Some(pod)) => **pod,
                (Some(holder), Some(meant)) => **holder.min(meant),
            };
            let holds = of_holders.next_if(|pod| **pod == next).is_some();
            let is_meant = of_meant.next_if(|pod| **pod == next).is_some();
            self.of_pod[next.at()].push(Concern {
                term,
                holds,
                is_meant,
            });
        }
        self.terms.push(Term {
            within,
            holders,
            meant,
        });
    }
}
