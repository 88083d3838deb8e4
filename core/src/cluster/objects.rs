//! What a cluster's own objects say about whether it can be updated.
//!
//! Each fact is known or unknown. An unknown fact never loosens an answer.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::Fact;
use super::health::ClusterHealth;
use crate::fleet::Name;
use crate::moment::ShownTime;
use crate::version::{Minor, Version};

/// All that is known of a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// The updates it has had, newest first (ClusterVersion).
    pub history: Fact<Vec<HistoryEntry>>,
    /// What its version operator has against another minor version now (ClusterVersion).
    pub objections: Fact<Vec<Objection>>,
    /// What the parts of the platform have against it (ClusterOperators).
    pub operator_objections: Fact<Vec<Objection>>,
    /// What is broken, as its version operator says (ClusterVersion).
    pub failures: Fact<Vec<Objection>>,
    /// Which parts of the platform are degraded or not available (ClusterOperators).
    pub operator_failures: Fact<Vec<Objection>>,
    pub nodes: Fact<Vec<Node>>,
    /// Where its control plane runs (Infrastructure, or its HostedCluster).
    pub topology: Fact<Topology>,
    /// Node pools of a hosted control plane, as far as they were given. The Nodes, which have to be given, have the kubelets of all.
    pub node_pools: Vec<HostedPool>,
    /// Its pools of nodes (MachineConfigPools).
    pub pools: Fact<Vec<MachineConfigPool>>,
    pub operators: Fact<Vec<Operator>>,
    /// Who has used which API in the last day (APIRequestCounts).
    pub apis: Fact<Vec<ApiUse>>,
    /// What an administrator has to acknowledge, each with its description.
    pub gates: Fact<BTreeMap<Name, Name>>,
    pub acks: Fact<BTreeSet<Name>>,
    /// What only `ready` asks for.
    pub health: ClusterHealth,
}

/// The pool of the control plane's nodes.
pub const CONTROL_PLANE_POOL: &str = "master";

/// An update that was begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryEntry {
    pub version: Version,
    pub progress: Progress,
}

/// How far an update came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    Completed,
    /// It is under way, or was given up for another.
    Partial,
}

/// Somebody in the cluster says that its minor version must not change now, or that something is broken, or cannot tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Objection {
    pub by: Name,
    pub reason: Name,
    pub message: Name,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    pub name: Name,
    /// The pool that updates it.
    pub pool: Fact<Name>,
    /// The Kubernetes that its kubelet is of.
    pub kubelet: Fact<Minor>,
}

/// Where a cluster's control plane runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topology {
    /// On nodes of its own.
    Standalone,
    /// On another cluster. Its nodes are in node pools, which are updated one by one, and not with it.
    Hosted,
}

/// A node pool of a hosted control plane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostedPool {
    pub name: Name,
    /// The release that its nodes have, or are made with.
    pub version: Fact<Version>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineConfigPool {
    pub name: Name,
    /// Whether its nodes stay as they are while the cluster is updated.
    pub is_paused: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operator {
    /// Its name, with the version.
    pub name: Name,
    pub namespace: Name,
    /// The minor versions of OpenShift it is made for.
    pub openshift: Range,
    /// The minor versions of Kubernetes it is made for.
    pub kubernetes: Range,
    /// What is wrong with what it says about that.
    pub problems: Vec<Name>,
}

/// From one minor version to another; both count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Range {
    pub min: Option<Minor>,
    pub max: Option<Minor>,
}

/// An API, and who has used it in the last day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiUse {
    pub api: ApiName,
    /// The Kubernetes that removes it, as the cluster says.
    pub removed_in: Option<Minor>,
    /// The group and version to use instead, where somebody says so.
    pub replacement: Option<Name>,
    pub users: Vec<ApiUser>,
    /// Requests of users whose names nobody has kept.
    pub unnamed_requests: u64,
}

/// An API: `ingresses.v1beta1.extensions`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ApiName {
    /// The resource, in the plural.
    pub resource: Name,
    pub version: Name,
    /// The group; empty for the core.
    pub group: Name,
}

/// Somebody who uses an API.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ApiUser {
    pub name: Name,
    /// The program, as it calls itself.
    pub agent: Option<Name>,
    /// How many requests in the last day, or in the audit log.
    pub requests: u64,
    /// The hour of the last one.
    pub last: Option<Timestamp>,
    pub counted: Counted,
}

/// Who has counted requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Counted {
    /// The cluster, in the last day.
    #[default]
    InADay,
    /// We, in an audit log.
    InTheLog,
}

impl Range {
    /// Whether it has that minor version.
    pub fn contains(self, minor: Minor) -> bool {
        self.min.is_none_or(|min| min <= minor) && self.max.is_none_or(|max| minor <= max)
    }
}

impl MachineConfigPool {
    /// The command that lets a paused pool's nodes be updated again, as a reason has it.
    pub const UNPAUSE: &'static str =
        "oc patch machineconfigpool {pool} --type=merge -p '{{\"spec\":{{\"paused\":false}}}}'";

    /// The command that keeps a pool's nodes as they are, as a reason has it.
    pub const PAUSE: &'static str =
        "oc patch machineconfigpool {pool} --type=merge -p '{{\"spec\":{{\"paused\":true}}}}'";

    /// The command that waits until all of a pool's nodes are updated, as a reason has it.
    pub const WAIT: &'static str =
        "oc wait machineconfigpool {pool} --for=condition=Updated --timeout=24h";

    pub fn new(name: Name, is_paused: bool) -> Self {
        Self { name, is_paused }
    }

    /// Whether its nodes are the control plane's.
    pub fn is_of_control_plane(&self) -> bool {
        &*self.name == CONTROL_PLANE_POOL
    }
}

impl Facts {
    /// What the cluster runs, or is on its way to.
    pub fn heads_for(&self) -> Option<&Version> {
        let history = self.history.known()?;
        history.first().map(|entry| &entry.version)
    }

    /// Whether its control plane is known to be hosted.
    pub fn is_hosted(&self) -> bool {
        self.topology == Fact::Known(Topology::Hosted)
    }

    /// Why a node may be behind. Only one whose pool is known to run is known to follow the cluster's updates. The control plane's has to run: if it is
    /// paused, that is refused on its own account, and what follows is judged as if it ran.
    pub fn lag(&self, node: &Node) -> Lag {
        let pool = match (&node.pool, &self.pools) {
            (Fact::Known(name), Fact::Known(pools)) => pools.iter().find(|pool| pool.name == *name),
            _ => None,
        };
        match pool {
            None if self.is_hosted() && node.pool != Fact::Unknown => Lag::NodePool,
            Some(pool) if pool.is_paused && !pool.is_of_control_plane() => Lag::Paused,
            Some(_) => Lag::Behind,
            None => Lag::NoPool,
        }
    }
}

impl std::fmt::Display for ApiUser {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let requests = if self.requests == 1 {
            "request"
        } else {
            "requests"
        };
        f.write_str(&self.name)?;
        let mut agent = self.agent.iter();
        agent.try_for_each(|agent| write!(f, " ({agent})"))?;
        let span = match self.counted {
            Counted::InADay => "in a day",
            Counted::InTheLog => "in the audit log",
        };
        write!(f, ", {} {requests} {span}", self.requests)?;
        match self.last {
            Some(last) => write!(f, ", last in the hour from {}", ShownTime(last)),
            None => Ok(()),
        }
    }
}

impl std::fmt::Display for ApiName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.resource, self.version)?;
        match &*self.group {
            "" => Ok(()),
            group => write!(f, ".{group}"),
        }
    }
}

/// Kinds of objects that rules ask about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ObjectKind {
    /// The cluster's version and history.
    ClusterVersion,
    /// The parts of the platform.
    ClusterOperator,
    Node,
    MachineConfigPool,
    ClusterServiceVersion,
    ApiRequestCount,
    AdminGates,
    Pod,
    PodDisruptionBudget,
    PersistentVolume,
    InstallPlan,
    /// The configuration of the cluster's network.
    Network,
    ContainerRuntimeConfig,
    MachineConfig,
    /// Where the control plane runs.
    Infrastructure,
    /// The operating systems that pools may have.
    OsImageStream,
    /// What Prometheus answers at `/api/v1/alerts`.
    Alerts,
    /// What runs on every node. Only `daemonsets` asks for them.
    DaemonSet,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lag {
    Paused,
    /// They are in a node pool of a hosted control plane, and stay as they are until that is updated.
    NodePool,
    /// They are in no pool that we know of.
    NoPool,
    /// They follow the cluster's updates, and have not been updated yet.
    Behind,
}

impl ObjectKind {
    pub fn command(self) -> &'static str {
        match self {
            Self::ClusterVersion => "oc get clusterversions -o yaml > clusterversions.yaml",
            Self::ClusterOperator => "oc get clusteroperators -o yaml > clusteroperators.yaml",
            Self::Node => "oc get nodes -o yaml > nodes.yaml",
            Self::MachineConfigPool => {
                "oc get machineconfigpools -o yaml > machineconfigpools.yaml"
            }
            Self::ClusterServiceVersion => {
                "oc get clusterserviceversions --all-namespaces -o yaml > clusterserviceversions.yaml"
            }
            Self::ApiRequestCount => "oc get apirequestcounts -o yaml > apirequestcounts.yaml",
            Self::AdminGates => {
                "oc -n openshift-config-managed get configmap admin-gates -o yaml > admin-gates.yaml; oc -n openshift-config get configmap admin-acks -o yaml > admin-acks.yaml"
            }
            Self::Pod => "oc get pods --all-namespaces -o yaml > pods.yaml",
            Self::PodDisruptionBudget => {
                "oc get poddisruptionbudgets --all-namespaces -o yaml > poddisruptionbudgets.yaml"
            }
            Self::PersistentVolume => "oc get persistentvolumes -o yaml > persistentvolumes.yaml",
            Self::InstallPlan => "oc get installplans --all-namespaces -o yaml > installplans.yaml",
            Self::Network => "oc get networks.config.openshift.io -o yaml > networks.yaml",
            Self::ContainerRuntimeConfig => {
                "oc get containerruntimeconfigs -o yaml > containerruntimeconfigs.yaml"
            }
            Self::MachineConfig => "oc get machineconfigs -o yaml > machineconfigs.yaml",
            Self::Infrastructure => {
                "oc get infrastructures.config.openshift.io -o yaml > infrastructures.yaml"
            }
            Self::OsImageStream => "oc get osimagestreams -o yaml > osimagestreams.yaml",
            Self::DaemonSet => "oc get daemonsets --all-namespaces -o yaml > daemonsets.yaml",
            Self::Alerts => {
                "oc -n openshift-monitoring exec -c prometheus prometheus-k8s-0 -- curl -s http://localhost:9090/api/v1/alerts > alerts.json"
            }
        }
    }
}

impl std::fmt::Display for ObjectKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::ClusterVersion => "ClusterVersion",
            Self::ClusterOperator => "ClusterOperators",
            Self::Node => "Nodes",
            Self::MachineConfigPool => "MachineConfigPools",
            Self::ClusterServiceVersion => "ClusterServiceVersions",
            Self::ApiRequestCount => "APIRequestCounts",
            Self::AdminGates => "ConfigMap openshift-config-managed/admin-gates",
            Self::Pod => "Pods",
            Self::PodDisruptionBudget => "PodDisruptionBudgets",
            Self::PersistentVolume => "PersistentVolumes",
            Self::InstallPlan => "InstallPlans",
            Self::Network => "Network",
            Self::ContainerRuntimeConfig => "ContainerRuntimeConfigs",
            Self::MachineConfig => "MachineConfigs",
            Self::Infrastructure => "Infrastructure",
            Self::OsImageStream => "OSImageStreams",
            Self::Alerts => "alerts",
            Self::DaemonSet => "DaemonSets",
        })
    }
}
