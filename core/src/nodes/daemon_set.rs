//! A DaemonSet as it is set, and how its rollout stands: what the adviser asks about.

use crate::cluster::rules::is_of_platform;
use crate::duration::{MaxUnavailable, Seconds, WaveCost, rollout_seconds};
use crate::fleet::Name;

/// What is known of a DaemonSet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DaemonSetFacts {
    pub namespace: Name,
    pub name: Name,
    pub owner: DaemonOwner,
    pub strategy: UpdateStrategy,
    /// On how many nodes it has to run.
    pub desired: u32,
    /// On how many of them its pod is of the newest revision.
    pub updated: u32,
    /// On how many of them no pod is available.
    pub unavailable: u32,
    /// How long a pod has to be ready until it counts.
    pub min_ready_seconds: u32,
    /// Ports of the node that its pods take. Two pods cannot have one port.
    pub host_ports: Vec<u32>,
    /// Images that each start of a pod asks a registry for.
    pub pulled_always: Vec<Name>,
    /// Whether it has opted in to waves.
    pub in_waves: bool,
}

/// Who sets its fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DaemonOwner {
    People,
    /// An operator, which sets them back.
    Operator(Name),
}

/// How the DaemonSet controller replaces pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpdateStrategy {
    Rolling {
        /// None: no node may be without a pod.
        max_unavailable: Option<MaxUnavailable>,
        /// None: no node gets a second pod.
        max_surge: Option<MaxUnavailable>,
    },
    /// Whoever deletes a pod gets a new one.
    OnDelete,
}

impl DaemonSetFacts {
    /// Whose it is: of an operator if an object that controls it says so, or if its namespace comes with the payload.
    pub fn owner(namespace: &Name, controller: Option<Name>) -> DaemonOwner {
        match (controller, is_of_platform(namespace)) {
            (Some(controller), _) => DaemonOwner::Operator(controller),
            (None, true) => DaemonOwner::Operator(namespace.clone()),
            (None, false) => DaemonOwner::People,
        }
    }

    /// Whether the cluster's updates roll it out.
    pub fn is_of_payload(&self) -> bool {
        is_of_platform(&self.namespace)
    }

    /// How many nodes get a new pod at once. None: nobody says.
    pub fn at_once(&self) -> Option<MaxUnavailable> {
        match self.strategy {
            UpdateStrategy::OnDelete => None,
            UpdateStrategy::Rolling {
                max_unavailable,
                max_surge,
            } => Some(
                max_surge
                    .or(max_unavailable)
                    .unwrap_or(MaxUnavailable::Count(1)),
            ),
        }
    }

    /// How long a rollout takes with so many at once.
    pub fn seconds(&self, at_once: MaxUnavailable, cost: &WaveCost) -> Seconds {
        let with_wait = WaveCost {
            r0: cost.r0 + f64::from(self.min_ready_seconds),
            ..cost.clone()
        };
        rollout_seconds(self.desired, at_once, &with_wait)
    }

    /// `namespace/name`.
    pub fn full_name(&self) -> Name {
        format!("{}/{}", self.namespace, self.name).into()
    }
}
