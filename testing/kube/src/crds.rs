//! Minimal definitions of OpenShift's kinds. They refuse what a real cluster refuses.

use serde_json::{Value, json};

/// Which fields ClusterVersion has besides those of every release. The others it silently drops from writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fields {
    /// None.
    Released,
    /// `spec.automaticUpdates`. No released OpenShift has it yet.
    AutomaticUpdates,
    /// `acceptRisks` and `mode` of `spec.desiredUpdate`, which are behind feature gates.
    Gated,
}

/// A kind that is not Kubernetes' own.
#[derive(Debug, Clone, Copy)]
pub struct Crd {
    pub group: &'static str,
    pub version: &'static str,
    pub kind: &'static str,
    pub plural: &'static str,
    scope: &'static str,
}

pub const CRDS: [Crd; 6] = [
    Crd {
        group: "config.openshift.io",
        version: "v1",
        kind: "Infrastructure",
        plural: "infrastructures",
        scope: "Cluster",
    },
    Crd {
        group: "config.openshift.io",
        version: "v1",
        kind: "ClusterVersion",
        plural: "clusterversions",
        scope: "Cluster",
    },
    Crd {
        group: "config.openshift.io",
        version: "v1",
        kind: "ClusterOperator",
        plural: "clusteroperators",
        scope: "Cluster",
    },
    Crd {
        group: "operators.coreos.com",
        version: "v1alpha1",
        kind: "ClusterServiceVersion",
        plural: "clusterserviceversions",
        scope: "Namespaced",
    },
    Crd {
        group: "apiserver.openshift.io",
        version: "v1",
        kind: "APIRequestCount",
        plural: "apirequestcounts",
        scope: "Cluster",
    },
    Crd {
        group: "machineconfiguration.openshift.io",
        version: "v1",
        kind: "MachineConfigPool",
        plural: "machineconfigpools",
        scope: "Cluster",
    },
];

/// Kinds that only `towpath ready` reads. A test that needs them adds them.
pub const READY_CRDS: [Crd; 3] = [
    Crd {
        group: "operators.coreos.com",
        version: "v1alpha1",
        kind: "InstallPlan",
        plural: "installplans",
        scope: "Namespaced",
    },
    Crd {
        group: "config.openshift.io",
        version: "v1",
        kind: "Network",
        plural: "networks",
        scope: "Cluster",
    },
    Crd {
        group: "machineconfiguration.openshift.io",
        version: "v1",
        kind: "OSImageStream",
        plural: "osimagestreams",
        scope: "Cluster",
    },
];

impl Crd {
    pub(crate) const fn namespaced(
        group: &'static str,
        version: &'static str,
        kind: &'static str,
        plural: &'static str,
    ) -> Self {
        Self {
            group,
            version,
            kind,
            plural,
            scope: "Namespaced",
        }
    }

    pub(crate) const fn of_clusters(
        group: &'static str,
        version: &'static str,
        kind: &'static str,
        plural: &'static str,
    ) -> Self {
        Self {
            scope: "Cluster",
            ..Self::namespaced(group, version, kind, plural)
        }
    }

    /// The name of its definition.
    pub fn name(&self) -> String {
        format!("{}.{}", self.plural, self.group)
    }

    pub(crate) fn api_version(&self) -> String {
        format!("{}/{}", self.group, self.version)
    }

    pub fn definition(&self, fields: Fields) -> Value {
        let anything = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let spec = match self.kind {
            "ClusterVersion" => cluster_version_spec(fields),
            _ => anything.clone(),
        };
        // The status of a ClusterCurator is written with the object.
        let subresources = match self.kind {
            "ClusterCurator" => json!({}),
            _ => json!({"status": {}}),
        };
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": self.name(), "annotations": {"api-approved.kubernetes.io": "unapproved, for tests"}},
            "spec": {
                "group": self.group,
                "scope": self.scope,
                "names": {
                    "kind": self.kind,
                    "listKind": format!("{}List", self.kind),
                    "plural": self.plural,
                    "singular": self.kind.to_lowercase(),
                },
                "versions": [{
                    "name": self.version,
                    "served": true,
                    "storage": true,
                    "subresources": subresources,
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": anything}}},
                }],
            },
        })
    }
}

/// Has the real field names, so that a misspelt one is dropped as in a real cluster. Has the real rule about an architecture
/// and an image. The limit is only for tests: something must be refused.
fn cluster_version_spec(fields: Fields) -> Value {
    let (text, flag) = (json!({"type": "string"}), json!({"type": "boolean"}));
    let anything = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let mut spec = json!({
        "type": "object",
        "required": ["clusterID"],
        "properties": {
            "clusterID": text,
            "upstream": text,
            "channel": text,
            "desiredUpdate": {
                "type": "object",
                "properties": {"architecture": {"type": "string", "enum": ["Multi", ""]}, "version": text, "image": {"type": "string", "maxLength": 1024}, "force": flag},
                "not": {
                    "required": ["architecture", "image"],
                    "properties": {"architecture": {"minLength": 1}, "image": {"minLength": 1}},
                },
            },
            "capabilities": anything,
            "overrides": {"type": "array", "items": anything},
            "signatureStores": {"type": "array", "items": anything},
        },
    });
    if fields == Fields::AutomaticUpdates {
        spec["properties"]["automaticUpdates"] = flag;
    }
    if fields == Fields::Gated {
        let update = &mut spec["properties"]["desiredUpdate"]["properties"];
        update["mode"] = json!({"type": "string", "enum": ["Preflight"]});
        update["acceptRisks"] = json!({
            "type": "array", "minItems": 1, "maxItems": 1000,
            "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object", "required": ["name"],
                "properties": {"name": {"type": "string", "minLength": 1, "maxLength": 256}},
            },
        });
    }
    spec
}
