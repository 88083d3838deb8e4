//! What only `ready` asks of a cluster, beside what the agent watches: how its nodes and pools
//! are, what runs on them, and what is waiting or firing.
//!
//! Each fact is known or unknown. An absent count is unknown, never zero.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::Fact;
use super::objects::ObjectKind;
use super::placement::{Placement, Taint, Volume};
use crate::duration::MaxUnavailable;
use crate::fleet::Name;
use crate::version::{Minor, Version};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClusterHealth {
    pub pools: Fact<Vec<PoolState>>,
    pub nodes: Fact<Vec<NodeState>>,
    pub pods: Fact<Vec<Pod>>,
    pub budgets: Fact<Vec<DisruptionBudget>>,
    /// PersistentVolumes. Only `nodes plan` asks for them.
    pub volumes: Fact<Vec<Volume>>,
    /// InstallPlans that wait for somebody's approval.
    pub install_plans: Fact<Vec<InstallPlan>>,
    /// The kind of network: `OVNKubernetes`, `OpenShiftSDN`.
    pub network: Fact<Name>,
    /// Alerts that fire now.
    pub alerts: Fact<Vec<Alert>>,
    /// ContainerRuntimeConfigs that set the runtime runc.
    pub runc_configs: Fact<Vec<Name>>,
    /// MachineConfigs that set the runtime runc.
    pub runc_machine_configs: Fact<Vec<Name>>,
    /// The stream of operating systems that pools use unless they name one: `rhel-9`.
    pub default_stream: Fact<Name>,
    /// Optional operators that nobody supports any more.
    pub ended_operators: Fact<Vec<EndedOperator>>,
    /// Kinds of which only a part was given.
    pub partly: BTreeSet<ObjectKind>,
    /// Gates that releases are known to bring.
    pub known_gates: Vec<KnownGate>,
}

/// How a MachineConfigPool is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PoolState {
    pub name: Name,
    pub is_paused: bool,
    /// Why it is degraded; none if it is not.
    pub degraded: Fact<Option<Name>>,
    /// Whether some of its nodes still have to be updated.
    pub is_updating: Fact<bool>,
    pub nodes: Fact<u64>,
    pub updated_nodes: Fact<u64>,
    /// The stream of operating systems that it names.
    pub stream: Option<Name>,
    /// How many of its nodes may be away at once.
    pub max_unavailable: Fact<MaxUnavailable>,
}

/// How a node is, and what it has room for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeState {
    pub name: Name,
    /// The pool that updates it.
    pub pool: Fact<Name>,
    pub is_ready: Fact<bool>,
    /// Whether nothing new is scheduled on it.
    pub is_cordoned: bool,
    pub allocatable: Fact<Room>,
    pub labels: BTreeMap<Name, Name>,
    pub taints: Vec<Taint>,
    pub created_at: Option<Timestamp>,
}

/// What pods ask for, or a node has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Room {
    /// In thousandths of a core.
    pub cpu_milli: u64,
    pub memory_bytes: u64,
    pub pods: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pod {
    pub namespace: Name,
    pub name: Name,
    pub node: Option<Name>,
    pub labels: BTreeMap<Name, Name>,
    /// Who made it: `Deployment db`.
    pub owner: Option<Name>,
    pub requests: Room,
    /// Who made it keeps it on its node through a drain: a DaemonSet, or the kubelet itself.
    pub stays: bool,
    /// It has succeeded or failed, and asks for nothing any more.
    pub has_ended: bool,
    pub is_ready: bool,
    /// Where it may run.
    pub placement: Placement,
}

/// A PodDisruptionBudget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DisruptionBudget {
    pub namespace: Name,
    pub name: Name,
    pub selector: Selector,
    pub min_available: Option<Amount>,
    pub max_unavailable: Option<Amount>,
    /// How many pods may be evicted now.
    pub allowed: Fact<u64>,
    pub healthy: Fact<u64>,
    pub desired: Fact<u64>,
    /// How many pods it counts.
    pub expected: Fact<u64>,
}

/// How many pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    Count(u64),
    Percent(u64),
}

/// Which pods of a namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Selector {
    #[default]
    None,
    Those {
        labels: BTreeMap<Name, Name>,
        expressions: Vec<Expression>,
    },
}

/// A condition on one label.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Expression {
    pub label: Name,
    pub is: Is,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Is {
    In(BTreeSet<Name>),
    NotIn(BTreeSet<Name>),
    There,
    NotThere,
}

/// An InstallPlan that waits for approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstallPlan {
    pub namespace: Name,
    pub name: Name,
    /// The operators that it would install.
    pub operators: Vec<Name>,
}

/// An alert that fires.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Alert {
    pub name: Name,
    pub is_critical: bool,
    /// It has the label `openShiftUpdatePrecheck: "true"`.
    pub is_precheck: bool,
    pub namespace: Option<Name>,
    pub summary: Name,
    pub runbook: Option<Name>,
}

/// An operator whose last phase of support has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedOperator {
    pub name: Name,
    pub namespace: Name,
    /// The day that it ended.
    pub ended: Name,
}

/// A gate that releases of a minor version are known to bring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownGate {
    pub name: Name,
    pub description: Name,
    /// Which clusters it is for, if it is not for all.
    pub only: Option<Name>,
    /// The minor version that it keeps clusters in.
    pub keeps_in: Minor,
    /// The first release that has it, if that is known.
    pub since: Option<Version>,
    /// Whether somebody has verified it.
    pub is_verified: bool,
}

impl KnownGate {
    /// The command that acknowledges it.
    pub fn command(&self) -> String {
        format!(
            "oc -n openshift-config patch configmap admin-acks --type=merge -p '{{\"data\":{{\"{}\":\"true\"}}}}'",
            self.name
        )
    }
}

impl Room {
    pub fn and(self, other: Self) -> Self {
        Self {
            cpu_milli: self.cpu_milli.saturating_add(other.cpu_milli),
            memory_bytes: self.memory_bytes.saturating_add(other.memory_bytes),
            pods: self.pods.saturating_add(other.pods),
        }
    }

    pub fn without(self, other: Self) -> Self {
        Self {
            cpu_milli: self.cpu_milli.saturating_sub(other.cpu_milli),
            memory_bytes: self.memory_bytes.saturating_sub(other.memory_bytes),
            pods: self.pods.saturating_sub(other.pods),
        }
    }

    /// Whether all of it fits here.
    pub fn holds(self, needed: Self) -> bool {
        needed.cpu_milli <= self.cpu_milli
            && needed.memory_bytes <= self.memory_bytes
            && needed.pods <= self.pods
    }

    /// What is missing here for that, in words; none if all of it fits.
    pub fn lacks(self, needed: Self) -> Option<String> {
        let missing = needed.without(self);
        match missing {
            Self { cpu_milli: 1.., .. } => Some(format!(
                "{} of CPU are requested, {} are free",
                cores(needed.cpu_milli),
                cores(self.cpu_milli)
            )),
            Self {
                memory_bytes: 1.., ..
            } => Some(format!(
                "{} of memory are requested, {} are free",
                mebibytes(needed.memory_bytes),
                mebibytes(self.memory_bytes)
            )),
            Self { pods: 1.., .. } => Some(format!(
                "there are {} pods, and room for {}",
                needed.pods, self.pods
            )),
            _ => None,
        }
    }
}

fn cores(milli: u64) -> String {
    format!("{milli}m")
}

/// Rounded down, so that 0Mi is little, and never more than there is.
fn mebibytes(bytes: u64) -> String {
    format!("{}Mi", bytes >> 20)
}

impl Pod {
    /// Whether a drain has to evict it.
    pub fn is_evicted(&self) -> bool {
        !self.stays && !self.has_ended
    }
}

impl DisruptionBudget {
    pub fn counts(&self, pod: &Pod) -> bool {
        self.namespace == pod.namespace && self.selector.matches(&pod.labels)
    }
}

impl Selector {
    pub fn matches(&self, of_pod: &BTreeMap<Name, Name>) -> bool {
        match self {
            Self::None => false,
            Self::Those {
                labels,
                expressions,
            } => {
                let has = |(label, value): (&Name, &Name)| of_pod.get(label) == Some(value);
                labels.iter().all(has) && expressions.iter().all(|one| one.holds(of_pod))
            }
        }
    }
}

impl Expression {
    pub fn holds(&self, labels: &BTreeMap<Name, Name>) -> bool {
        let value = labels.get(&self.label);
        match &self.is {
            Is::In(values) => value.is_some_and(|value| values.contains(value)),
            // As Kubernetes has it: a label that is not there is in no list.
            Is::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
            Is::There => value.is_some(),
            Is::NotThere => value.is_none(),
        }
    }
}

impl std::fmt::Display for Amount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Count(count) => write!(f, "{count}"),
            Self::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}
