//! The tests' access to the API.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use towpath_core::retry::Backoff;
use towpath_kube::{Access, Cluster, Objects, Settings, State, Subject};
use towpath_testing_kube::{ADMIN_TOKEN, KubeApi};

const PATIENCE: Duration = Duration::from_secs(120);
pub(crate) const DIGEST: &str =
    "quay.example/release@sha256:0000000000000000000000000000000000000000000000000000000000000002";

/// As in production, but with less patience.
pub(crate) fn settings() -> Settings {
    Settings {
        request: Duration::from_secs(20),
        absent: Duration::from_millis(200),
        backoff: Backoff {
            first: Duration::from_millis(50),
            longest: Duration::from_millis(400),
        },
        ..Settings::default()
    }
}

/// The adapter as an administrator, with everything read.
pub(crate) async fn cluster(api: &KubeApi) -> Cluster {
    cluster_with(api, settings()).await
}

pub(crate) async fn cluster_with(api: &KubeApi, settings: Settings) -> Cluster {
    let cluster = connect(
        &Access::Kubeconfig {
            path: Some(api.kubeconfig("admin", ADMIN_TOKEN)),
            context: None,
        },
        settings,
    )
    .await;
    cluster.read_once(PATIENCE).await.unwrap();
    cluster
}

pub(crate) async fn connect(access: &Access, settings: Settings) -> Cluster {
    Cluster::connect(access, settings).await.unwrap()
}

/// Waits, change by change, until what is known is as wanted.
pub(crate) async fn until(
    cluster: &Cluster,
    what: &str,
    is_so: impl Fn(&Objects) -> bool,
) -> Objects {
    let mut changes = cluster.changes();
    let end = Instant::now() + PATIENCE;
    loop {
        let objects = cluster.objects();
        if is_so(&objects) {
            return objects;
        }
        let left = end.saturating_duration_since(Instant::now());
        let changed = tokio::time::timeout(left, changes.next()).await;
        assert!(
            changed.is_ok(),
            "waited too long for this: {what}; {:?}",
            cluster.objects().states
        );
    }
}

pub(crate) fn all_current(objects: &Objects) -> bool {
    objects
        .states
        .values()
        .all(|state| *state == State::Current)
}

/// The file of a subject, as JSON.
pub(crate) fn file(objects: &Objects, subject: Subject) -> Value {
    let path = format!("{}.json", subject.as_str());
    let file = objects.files.iter().find(|file| file.path == path);
    file.map_or(Value::Null, |file| {
        serde_json::from_slice(&file.bytes).unwrap()
    })
}

pub(crate) fn names(objects: &Objects, subject: Subject) -> Vec<String> {
    let items = file(objects, subject)["items"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    items
        .iter()
        .map(|item| item["metadata"]["name"].as_str().unwrap().to_owned())
        .collect()
}

pub(crate) fn cluster_version() -> Value {
    json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"},
        "spec": {"clusterID": "0cd7ee3d-0000-4000-8000-000000000001", "channel": "stable-4.9"},
        "status": {
            "desired": {"version": "4.9.1", "image": "quay.example/release@sha256:1"},
            "history": [{
                "state": "Completed", "version": "4.9.1", "image": "quay.example/release@sha256:1", "verified": true,
                "startedTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T01:00:00Z",
            }],
            "conditions": [{"type": "Available", "status": "True", "lastTransitionTime": "2026-01-01T01:00:00Z"}],
            "availableUpdates": null,
        },
    })
}

pub(crate) fn node(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {"node-role.kubernetes.io/worker": ""}},
        "status": {"nodeInfo": {
            "kubeletVersion": "v1.22.3", "architecture": "amd64", "machineID": "", "systemUUID": "", "bootID": "",
            "kernelVersion": "", "osImage": "", "containerRuntimeVersion": "", "kubeProxyVersion": "", "operatingSystem": "linux",
        }},
    })
}

pub(crate) fn operator(name: &str, upgradeable: &str) -> Value {
    json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator", "metadata": {"name": name}, "spec": {},
        "status": {"conditions": [{
            "type": "Upgradeable", "status": upgradeable, "reason": "ItSays", "message": "it said so",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }]},
    })
}

pub(crate) fn optional_operator(namespace: &str, name: &str, is_copy: bool) -> Value {
    let labels = if is_copy {
        json!({"olm.copiedFrom": "openshift-config"})
    } else {
        json!({})
    };
    json!({
        "apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
        "metadata": {
            "name": name, "namespace": namespace, "labels": labels,
            "annotations": {"olm.properties": "[{\"type\":\"olm.maxOpenShiftVersion\",\"value\":\"4.9\"}]", "other": "x"},
        },
        "spec": {"description": "long and of no interest"},
    })
}

pub(crate) fn config_map(namespace: &str, name: &str, data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}, "data": data})
}

pub(crate) fn pool(name: &str, is_paused: bool) -> Value {
    json!({
        "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool", "metadata": {"name": name},
        "spec": {"paused": is_paused, "nodeSelector": {"matchLabels": {"node-role.kubernetes.io/worker": ""}}},
    })
}

pub(crate) fn time(text: &str) -> jiff::Timestamp {
    text.parse().unwrap()
}
