//! All resources that we use. Every request, count and error names one of them.

use kube::api::{Api, DynamicObject};
use kube::core::ApiResource;

use crate::count::Verb;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Resource {
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) plural: &'static str,
}

pub(crate) const CLUSTER_VERSIONS: Resource = Resource {
    group: "config.openshift.io",
    version: "v1",
    kind: "ClusterVersion",
    plural: "clusterversions",
};
pub(crate) const CLUSTER_OPERATORS: Resource = Resource {
    group: "config.openshift.io",
    version: "v1",
    kind: "ClusterOperator",
    plural: "clusteroperators",
};
pub(crate) const INFRASTRUCTURES: Resource = Resource {
    group: "config.openshift.io",
    version: "v1",
    kind: "Infrastructure",
    plural: "infrastructures",
};
pub(crate) const NODES: Resource = Resource {
    group: "",
    version: "v1",
    kind: "Node",
    plural: "nodes",
};
pub(crate) const MACHINE_CONFIG_POOLS: Resource = Resource {
    group: "machineconfiguration.openshift.io",
    version: "v1",
    kind: "MachineConfigPool",
    plural: "machineconfigpools",
};
pub(crate) const CLUSTER_SERVICE_VERSIONS: Resource = Resource {
    group: "operators.coreos.com",
    version: "v1alpha1",
    kind: "ClusterServiceVersion",
    plural: "clusterserviceversions",
};
pub(crate) const API_REQUEST_COUNTS: Resource = Resource {
    group: "apiserver.openshift.io",
    version: "v1",
    kind: "APIRequestCount",
    plural: "apirequestcounts",
};
pub(crate) const CONFIG_MAPS: Resource = Resource {
    group: "",
    version: "v1",
    kind: "ConfigMap",
    plural: "configmaps",
};
pub(crate) const EVENTS: Resource = Resource {
    group: "",
    version: "v1",
    kind: "Event",
    plural: "events",
};
pub(crate) const LEASES: Resource = Resource {
    group: "coordination.k8s.io",
    version: "v1",
    kind: "Lease",
    plural: "leases",
};
pub(crate) const MANAGED_CLUSTERS: Resource = Resource {
    group: "cluster.open-cluster-management.io",
    version: "v1",
    kind: "ManagedCluster",
    plural: "managedclusters",
};
pub(crate) const CLUSTER_CURATORS: Resource = Resource {
    group: "cluster.open-cluster-management.io",
    version: "v1beta1",
    kind: "ClusterCurator",
    plural: "clustercurators",
};
pub(crate) const MANAGED_CLUSTER_INFOS: Resource = Resource {
    group: "internal.open-cluster-management.io",
    version: "v1beta1",
    kind: "ManagedClusterInfo",
    plural: "managedclusterinfos",
};
pub(crate) const HOSTED_CLUSTERS: Resource = Resource {
    group: "hypershift.openshift.io",
    version: "v1beta1",
    kind: "HostedCluster",
    plural: "hostedclusters",
};
pub(crate) const NODE_POOLS: Resource = Resource {
    group: "hypershift.openshift.io",
    version: "v1beta1",
    kind: "NodePool",
    plural: "nodepools",
};

pub(crate) const PERSISTENT_VOLUMES: Resource = Resource {
    group: "",
    version: "v1",
    kind: "PersistentVolume",
    plural: "persistentvolumes",
};

pub(crate) const PODS: Resource = Resource {
    group: "",
    version: "v1",
    kind: "Pod",
    plural: "pods",
};
pub(crate) const DAEMON_SETS: Resource = Resource {
    group: "apps",
    version: "v1",
    kind: "DaemonSet",
    plural: "daemonsets",
};
pub(crate) const CONTROLLER_REVISIONS: Resource = Resource {
    group: "apps",
    version: "v1",
    kind: "ControllerRevision",
    plural: "controllerrevisions",
};
pub(crate) const POD_DISRUPTION_BUDGETS: Resource = Resource {
    group: "policy",
    version: "v1",
    kind: "PodDisruptionBudget",
    plural: "poddisruptionbudgets",
};
pub(crate) const OLD_POD_DISRUPTION_BUDGETS: Resource = Resource {
    version: "v1beta1",
    ..POD_DISRUPTION_BUDGETS
};
pub(crate) const INSTALL_PLANS: Resource = Resource {
    group: "operators.coreos.com",
    version: "v1alpha1",
    kind: "InstallPlan",
    plural: "installplans",
};
pub(crate) const NETWORKS: Resource = Resource {
    group: "config.openshift.io",
    version: "v1",
    kind: "Network",
    plural: "networks",
};
pub(crate) const CONTAINER_RUNTIME_CONFIGS: Resource = Resource {
    group: "machineconfiguration.openshift.io",
    version: "v1",
    kind: "ContainerRuntimeConfig",
    plural: "containerruntimeconfigs",
};
pub(crate) const MACHINE_CONFIGS: Resource = Resource {
    group: "machineconfiguration.openshift.io",
    version: "v1",
    kind: "MachineConfig",
    plural: "machineconfigs",
};

pub(crate) const OS_IMAGE_STREAMS: Resource = Resource {
    group: "machineconfiguration.openshift.io",
    version: "v1",
    kind: "OSImageStream",
    plural: "osimagestreams",
};
pub(crate) const TOKEN_REVIEWS: Resource = Resource {
    group: "authentication.k8s.io",
    version: "v1",
    kind: "TokenReview",
    plural: "tokenreviews",
};
pub(crate) const SUBJECT_ACCESS_REVIEWS: Resource = Resource {
    group: "authorization.k8s.io",
    version: "v1",
    kind: "SubjectAccessReview",
    plural: "subjectaccessreviews",
};

impl Resource {
    /// `v1`, or `group/v1`.
    pub(crate) fn api_version(&self) -> String {
        match self.group {
            "" => self.version.to_owned(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// The path of all objects, or of those in a namespace.
    pub(crate) fn api(&self, client: &kube::Client, namespace: Option<&str>) -> Api<DynamicObject> {
        let resource = ApiResource {
            group: self.group.to_owned(),
            version: self.version.to_owned(),
            api_version: self.api_version(),
            kind: self.kind.to_owned(),
            plural: self.plural.to_owned(),
        };
        match namespace {
            None => Api::all_with(client.clone(), &resource),
            Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        }
    }

    /// `nodes`, `clusterversions.config.openshift.io`.
    pub(crate) fn full_name(&self) -> String {
        match self.group {
            "" => self.plural.to_owned(),
            group => format!("{}.{group}", self.plural),
        }
    }
}

/// A request, described for error messages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call<'a> {
    pub(crate) verb: Verb,
    pub(crate) resource: &'a Resource,
    /// The subresource: `status`, or nothing.
    pub(crate) part: &'static str,
    pub(crate) namespace: Option<&'a str>,
    pub(crate) name: Option<&'a str>,
}

impl<'a> Call<'a> {
    pub(crate) fn new(verb: Verb, resource: &'a Resource) -> Self {
        Self {
            verb,
            resource,
            part: "",
            namespace: None,
            name: None,
        }
    }

    pub(crate) fn of(self, name: &'a str) -> Self {
        Self {
            name: Some(name),
            ..self
        }
    }

    pub(crate) fn within(self, namespace: Option<&'a str>) -> Self {
        Self { namespace, ..self }
    }

    pub(crate) fn part(self, part: &'static str) -> Self {
        Self { part, ..self }
    }

    /// `clusterversions/status.config.openshift.io`, as roles name it.
    pub(crate) fn target(&self) -> String {
        let full = self.resource.full_name();
        match self.part {
            "" => full,
            part => full.replacen(
                self.resource.plural,
                &format!("{}/{part}", self.resource.plural),
                1,
            ),
        }
    }
}

impl std::fmt::Display for Call<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.verb.as_str(), self.target())?;
        match (self.namespace, self.name) {
            (Some(namespace), Some(name)) => write!(f, " {namespace}/{name}"),
            (Some(namespace), None) => write!(f, " in {namespace}"),
            (None, Some(name)) => write!(f, " {name}"),
            (None, None) => Ok(()),
        }
    }
}
