//! The kinds of objects that we watch: those that matter for updates.

use crate::resource::{self, Resource};

/// A kind of object. Each costs one list and one watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    ClusterVersion,
    ClusterOperators,
    Infrastructure,
    Nodes,
    /// Hosted control planes have none.
    MachineConfigPools,
    /// Optional operators, without the copies that OLM puts into other namespaces.
    ClusterServiceVersions,
    ApiRequestCounts,
    /// What an administrator must acknowledge.
    AdminGates,
    /// What an administrator has acknowledged.
    AdminAcks,
}

/// Which objects to list, and how many in a page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Selection {
    pub(crate) resource: &'static Resource,
    pub(crate) namespace: Option<&'static str>,
    /// Only the object of this name. A role can be limited to that name.
    pub(crate) name: Option<&'static str>,
    pub(crate) labels: Option<&'static str>,
    /// The page size of a list, smaller for large objects.
    pub(crate) page: u32,
}

impl Subject {
    pub const ALL: [Self; 9] = [
        Self::ClusterVersion,
        Self::ClusterOperators,
        Self::Infrastructure,
        Self::Nodes,
        Self::MachineConfigPools,
        Self::ClusterServiceVersions,
        Self::ApiRequestCounts,
        Self::AdminGates,
        Self::AdminAcks,
    ];

    /// A stable word for metrics and messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClusterVersion => "clusterversion",
            Self::ClusterOperators => "clusteroperators",
            Self::Infrastructure => "infrastructure",
            Self::Nodes => "nodes",
            Self::MachineConfigPools => "machineconfigpools",
            Self::ClusterServiceVersions => "clusterserviceversions",
            Self::ApiRequestCounts => "apirequestcounts",
            Self::AdminGates => "admin-gates",
            Self::AdminAcks => "admin-acks",
        }
    }

    pub(crate) fn selection(self) -> Selection {
        let all = |resource| Selection {
            resource,
            namespace: None,
            name: None,
            labels: None,
            page: 200,
        };
        let config_map = |namespace, name| Selection {
            namespace: Some(namespace),
            name: Some(name),
            ..all(&resource::CONFIG_MAPS)
        };
        match self {
            Self::ClusterVersion => Selection {
                name: Some("version"),
                ..all(&resource::CLUSTER_VERSIONS)
            },
            Self::ClusterOperators => all(&resource::CLUSTER_OPERATORS),
            Self::Infrastructure => Selection {
                name: Some("cluster"),
                ..all(&resource::INFRASTRUCTURES)
            },
            Self::Nodes => all(&resource::NODES),
            Self::MachineConfigPools => all(&resource::MACHINE_CONFIG_POOLS),
            Self::ClusterServiceVersions => Selection {
                // A cluster with a thousand namespaces has a thousand copies of each.
                labels: Some("!olm.copiedFrom"),
                page: 50,
                ..all(&resource::CLUSTER_SERVICE_VERSIONS)
            },
            // A day of requests by node and user: up to hundreds of kilobytes each.
            Self::ApiRequestCounts => Selection {
                page: 50,
                ..all(&resource::API_REQUEST_COUNTS)
            },
            Self::AdminGates => config_map("openshift-config-managed", "admin-gates"),
            Self::AdminAcks => config_map("openshift-config", "admin-acks"),
        }
    }
}
