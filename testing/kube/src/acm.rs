//! ACM's kinds. The ClusterCurator's definition is the real one where `TOWPATH_REAL_DATA` names it.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::crds::{Crd, Fields};
use crate::server::KubeApi;

const CURATORS: Crd = Crd::namespaced(
    "cluster.open-cluster-management.io",
    "v1beta1",
    "ClusterCurator",
    "clustercurators",
);

/// The kinds whose real definitions are not at hand. They have the fields that ACM documents.
const OTHERS: [Crd; 4] = [
    Crd::of_clusters(
        "cluster.open-cluster-management.io",
        "v1",
        "ManagedCluster",
        "managedclusters",
    ),
    Crd::namespaced(
        "internal.open-cluster-management.io",
        "v1beta1",
        "ManagedClusterInfo",
        "managedclusterinfos",
    ),
    Crd::namespaced(
        "hypershift.openshift.io",
        "v1beta1",
        "HostedCluster",
        "hostedclusters",
    ),
    Crd::namespaced(
        "hypershift.openshift.io",
        "v1beta1",
        "NodePool",
        "nodepools",
    ),
];

impl KubeApi {
    /// Makes the server an ACM hub without clusters.
    pub async fn make_hub(&self) {
        match real_definition() {
            Some(path) => {
                let path = path.display().to_string();
                // An API server that is older than the rules in it drops them.
                self.kubectl(&["apply", "--validate=false", "-f", &path]);
                self.wait_for_kind(&CURATORS).await;
            }
            None => self.add_kind(&CURATORS, Fields::Released).await,
        }
        for crd in &OTHERS {
            self.add_kind(crd, Fields::Released).await;
        }
        for crd in OTHERS.iter().chain([&CURATORS]) {
            self.remove(&crd.api_version(), crd.kind, |_| true).await;
        }
    }

    /// A cluster that reports to the hub and is well, with its namespace and what the hub knows of its updates.
    pub async fn put_managed_cluster(
        &self,
        name: &str,
        id: &str,
        version: &str,
        channel: &str,
        offers: &[&str],
    ) {
        let time = "2026-01-01T00:00:00Z";
        self.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}))
            .await;
        self.put(json!({
            "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
            "metadata": {"name": name, "labels": {"vendor": "OpenShift", "cluster.open-cluster-management.io/clusterset": "acme"}},
            "spec": {"hubAcceptsClient": true},
            "status": {
                "conditions": [{
                    "type": "ManagedClusterConditionAvailable", "status": "True", "reason": "ManagedClusterAvailable",
                    "message": "Managed cluster is available", "lastTransitionTime": time,
                }],
                "clusterClaims": [
                    {"name": "id.openshift.io", "value": id},
                    {"name": "version.openshift.io", "value": version},
                    {"name": "platform.open-cluster-management.io", "value": "AWS"},
                ],
            },
        }))
        .await;
        self.put(json!({
            "apiVersion": "internal.open-cluster-management.io/v1beta1", "kind": "ManagedClusterInfo",
            "metadata": {"name": name, "namespace": name},
            "status": {"distributionInfo": {"type": "OCP", "ocp": {
                "version": version, "channel": channel, "availableUpdates": offers, "desiredVersion": version,
            }}},
        }))
        .await;
    }

    /// A cluster's curator; null if there is none.
    pub async fn curator(&self, namespace: &str, name: &str) -> Value {
        let api = self.api(&CURATORS.api_version(), CURATORS.kind, Some(namespace));
        let found = api.get_opt(name).await.unwrap();
        found.map_or(Value::Null, |found| serde_json::to_value(found).unwrap())
    }

    /// Does to a curator what the hub's controller does, or a person: a merge patch.
    pub async fn change_curator(&self, namespace: &str, name: &str, patch: Value) {
        let api = self.api(&CURATORS.api_version(), CURATORS.kind, Some(namespace));
        let patch = kube::api::Patch::Merge(&patch);
        api.patch(name, &kube::api::PatchParams::default(), &patch)
            .await
            .unwrap();
    }

    /// Deletes a curator as a person does.
    pub async fn delete_curator(&self, namespace: &str, name: &str) {
        let api = self.api(&CURATORS.api_version(), CURATORS.kind, Some(namespace));
        api.delete(name, &kube::api::DeleteParams::default())
            .await
            .unwrap();
    }

    /// Writes a curator as a person does, without a status.
    pub async fn put_curator(&self, namespace: &str, name: &str, spec: Value) {
        self.put(json!({
            "apiVersion": CURATORS.api_version(), "kind": CURATORS.kind,
            "metadata": {"name": name, "namespace": namespace}, "spec": spec,
        }))
        .await;
    }
}

fn real_definition() -> Option<PathBuf> {
    let data = std::env::var_os("TOWPATH_REAL_DATA").map(PathBuf::from);
    let path = data.map(|data| data.join("crds/clustercurators.yaml"));
    path.filter(|path| path.is_file())
}
