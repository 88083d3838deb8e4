//! Where a pod may run, as far as its own object and its volumes say: labels and taints of nodes, ports, and pods that it
//! keeps away from.
//!
//! What else decides where it runs is named in `others`, so that nobody takes it for simulated.

use std::collections::{BTreeMap, BTreeSet};

use super::health::{Expression, Selector};
use crate::fleet::Name;

/// The zone of a node.
pub const ZONE_LABEL: &str = "topology.kubernetes.io/zone";
/// The same on older clusters.
pub const OLD_ZONE_LABEL: &str = "failure-domain.beta.kubernetes.io/zone";

/// A mark of a node that keeps pods away.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Taint {
    pub key: Name,
    pub value: Name,
    pub effect: TaintEffect,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TaintEffect {
    /// Others are better.
    PreferNoSchedule,
    /// No new pod comes here.
    NoSchedule,
    /// No pod stays here.
    NoExecute,
}

/// A taint that a pod does not mind. What is not given stands for any.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Toleration {
    pub key: Option<Name>,
    pub value: Option<Name>,
    pub effect: Option<TaintEffect>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Placement {
    /// Labels that its node has to have.
    pub labels: BTreeMap<Name, Name>,
    /// Its node has to meet all conditions of one of these; any node does if there is none.
    pub terms: Vec<Vec<Expression>>,
    pub tolerations: Vec<Toleration>,
    /// Pods of its namespace that it keeps away from.
    pub apart_from: Vec<ApartFrom>,
    /// Ports of the node that it needs for itself.
    pub host_ports: BTreeSet<u64>,
    /// The claims of its volumes.
    pub claims: BTreeSet<Name>,
    /// What else it asks for, in words.
    pub others: BTreeSet<Name>,
}

/// No node, or no zone, has it and one of these pods.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ApartFrom {
    pub pods: Selector,
    pub within: Domain,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Domain {
    Host,
    Zone,
}

/// A PersistentVolume.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Volume {
    pub name: Name,
    /// The namespace and name of the claim that it is bound to.
    pub claim: Option<(Name, Name)>,
    /// Which nodes reach it, as a pod's `terms`.
    pub terms: Vec<Vec<Expression>>,
}

impl Toleration {
    pub fn tolerates(&self, taint: &Taint) -> bool {
        let is_same =
            |own: &Option<Name>, other: &Name| own.as_ref().is_none_or(|own| own == other);
        is_same(&self.key, &taint.key)
            && is_same(&self.value, &taint.value)
            && self.effect.is_none_or(|effect| effect == taint.effect)
    }
}

impl Placement {
    pub fn tolerates(&self, taint: &Taint) -> bool {
        self.tolerations.iter().any(|one| one.tolerates(taint))
    }

    /// Whether a node's labels are as it asks.
    pub fn selects(&self, labels: &BTreeMap<Name, Name>) -> bool {
        let has = |(label, value): (&Name, &Name)| labels.get(label) == Some(value);
        self.labels.iter().all(has) && meets(&self.terms, labels)
    }
}

/// Whether labels meet all conditions of one of these terms. As Kubernetes has it, a term without conditions is met by nothing.
pub fn meets(terms: &[Vec<Expression>], labels: &BTreeMap<Name, Name>) -> bool {
    let is_met = |term: &Vec<Expression>| {
        !term.is_empty() && term.iter().all(|condition| condition.holds(labels))
    };
    terms.is_empty() || terms.iter().any(is_met)
}

/// The zone that a node's labels name.
pub fn zone_of(labels: &BTreeMap<Name, Name>) -> Option<&Name> {
    let zone = labels.get(ZONE_LABEL).or(labels.get(OLD_ZONE_LABEL));
    zone.filter(|zone| !zone.is_empty())
}
