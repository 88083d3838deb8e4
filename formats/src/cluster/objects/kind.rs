//! The kinds of objects that say something about updates, by name and API group.

/// Kinds of objects that say something about updates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    ClusterVersion,
    /// A part of the platform.
    ClusterOperator,
    Node,
    MachineConfigPool,
    ClusterServiceVersion,
    ApiRequestCount,
    /// Gates or acknowledgements, or something else.
    ConfigMap,
    Pod,
    PodDisruptionBudget,
    PersistentVolume,
    InstallPlan,
    /// The configuration of the cluster's network.
    Network,
    ContainerRuntimeConfig,
    MachineConfig,
    /// The operating systems that pools may have.
    OsImageStream,
    /// Where the control plane runs.
    Infrastructure,
    /// A hosted control plane.
    HostedCluster,
    /// Nodes of a hosted control plane.
    NodePool,
    /// What runs on every node.
    DaemonSet,
}

impl Kind {
    pub const ALL: [Self; 19] = [
        Self::ClusterVersion,
        Self::ClusterOperator,
        Self::Node,
        Self::MachineConfigPool,
        Self::ClusterServiceVersion,
        Self::ApiRequestCount,
        Self::ConfigMap,
        Self::Pod,
        Self::PodDisruptionBudget,
        Self::PersistentVolume,
        Self::InstallPlan,
        Self::Network,
        Self::ContainerRuntimeConfig,
        Self::MachineConfig,
        Self::OsImageStream,
        Self::Infrastructure,
        Self::HostedCluster,
        Self::NodePool,
        Self::DaemonSet,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClusterVersion => "ClusterVersion",
            Self::ClusterOperator => "ClusterOperator",
            Self::Node => "Node",
            Self::MachineConfigPool => "MachineConfigPool",
            Self::ClusterServiceVersion => "ClusterServiceVersion",
            Self::ApiRequestCount => "APIRequestCount",
            Self::ConfigMap => "ConfigMap",
            Self::Pod => "Pod",
            Self::PodDisruptionBudget => "PodDisruptionBudget",
            Self::PersistentVolume => "PersistentVolume",
            Self::InstallPlan => "InstallPlan",
            Self::Network => "Network",
            Self::ContainerRuntimeConfig => "ContainerRuntimeConfig",
            Self::MachineConfig => "MachineConfig",
            Self::OsImageStream => "OSImageStream",
            Self::Infrastructure => "Infrastructure",
            Self::HostedCluster => "HostedCluster",
            Self::NodePool => "NodePool",
            Self::DaemonSet => "DaemonSet",
        }
    }

    /// The API group; empty for the core.
    pub(super) fn group(self) -> &'static str {
        match self {
            Self::ClusterVersion | Self::ClusterOperator | Self::Network | Self::Infrastructure => {
                "config.openshift.io"
            }
            Self::HostedCluster | Self::NodePool => "hypershift.openshift.io",
            Self::Node | Self::ConfigMap | Self::Pod | Self::PersistentVolume => "",
            Self::MachineConfigPool
            | Self::ContainerRuntimeConfig
            | Self::MachineConfig
            | Self::OsImageStream => "machineconfiguration.openshift.io",
            Self::ClusterServiceVersion | Self::InstallPlan => "operators.coreos.com",
            Self::ApiRequestCount => "apiserver.openshift.io",
            Self::PodDisruptionBudget => "policy",
            Self::DaemonSet => "apps",
        }
    }

    /// The kind of that name. Others have kinds of the same name in other groups; without an `apiVersion` it is taken for ours.
    pub(super) fn of(api_version: Option<&str>, name: &str) -> Option<Self> {
        let group =
            api_version.map(|version| version.split_once('/').map_or("", |(group, _)| group));
        let mut kinds = Self::ALL.into_iter();
        kinds.find(|kind| kind.as_str() == name && group.is_none_or(|group| group == kind.group()))
    }
}
