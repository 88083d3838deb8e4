//! `ready` reads a cluster once, with gets and lists alone.

use std::path::PathBuf;

use serde_json::{Value, json};
use towpath_core::cluster::Fact;
use towpath_core::cluster::objects::{ObjectKind, Topology};
use towpath_formats::cluster::objects;
use towpath_kube::{Access, KubeError, LookedAt, Verb, look};
use towpath_testing_kube::{ADMIN_TOKEN, CRDS, Fields, KubeApi, READY_CRDS};

use crate::support::*;

async fn look_as(api: &KubeApi, name: &str, token: &str) -> LookedAt {
    let access = Access::Kubeconfig {
        path: Some(api.kubeconfig(name, token)),
        context: None,
    };
    look(&access, &settings()).await.unwrap()
}

async fn put_workload(api: &KubeApi) {
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": "towpath-agent"}});
    api.put(account).await;
    api.put(json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "db-0", "namespace": "towpath-agent", "labels": {"app": "db"}},
        "spec": {
            "automountServiceAccountToken": false, "nodeName": "one",
            "containers": [{"name": "db", "image": "db", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}],
        },
    }))
    .await;
    api.put(json!({
        "apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget", "metadata": {"name": "db", "namespace": "towpath-agent"},
        "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "db"}}},
    }))
    .await;
}

#[tokio::test]
async fn a_live_cluster_is_read_with_gets_and_lists_alone() {
    let api = KubeApi::start().await;
    for crd in &READY_CRDS {
        api.add_kind(crd, Fields::Released).await;
    }
    api.put(cluster_version()).await;
    api.put(operator("etcd", "True")).await;
    api.put(node("one")).await;
    api.put(pool("worker", false)).await;
    put_workload(&api).await;
    api.put(json!({
        "apiVersion": "operators.coreos.com/v1alpha1", "kind": "InstallPlan", "metadata": {"name": "install-a", "namespace": "towpath-agent"},
        "spec": {"approved": false, "clusterServiceVersionNames": ["a.v1"]}, "status": {"phase": "RequiresApproval"},
    }))
    .await;
    api.put(json!({
        "apiVersion": "config.openshift.io/v1", "kind": "Network", "metadata": {"name": "cluster"}, "spec": {},
        "status": {"networkType": "OpenShiftSDN"},
    }))
    .await;

    api.put(infrastructure("External")).await;
    api.put(streams()).await;

    let looked = look_as(&api, "admin", ADMIN_TOKEN).await;
    assert!(looked.unread.is_empty(), "{:?}", looked.unread);
    assert_eq!(looked.absent, []);
    let verbs = looked.requests.keys().map(|(verb, _)| *verb);
    assert!(
        verbs
            .clone()
            .all(|verb| matches!(verb, Verb::Get | Verb::List)),
        "{:?}",
        looked.requests
    );
    let (known, findings) = objects::read(&looked.files, time("2026-01-02T00:00:00Z")).unwrap();
    assert_eq!(findings, []);
    let health = &known.facts.health;
    let pods = health.pods.known().unwrap();
    assert_eq!(
        (
            pods.len(),
            pods[0].requests.cpu_milli,
            pods[0].node.as_deref()
        ),
        (1, 1_000, Some("one"))
    );
    let budgets = health.budgets.known().unwrap();
    assert_eq!((budgets.len(), budgets[0].counts(&pods[0])), (1, true));
    // Nobody keeps the status of a budget here, and what it does not say is unknown.
    assert_eq!(budgets[0].expected, Fact::Unknown);
    assert_eq!(health.install_plans.known().map(Vec::len), Some(1));
    assert_eq!(health.network, Fact::Known("OpenShiftSDN".into()));
    assert_eq!(health.default_stream, Fact::Known("rhel-9".into()));
    assert_eq!(known.facts.topology, Fact::Known(Topology::Hosted));
    // Kinds that the API does not have: there is none of them.
    assert_eq!(health.runc_configs, Fact::Known(vec![]));
    assert!(
        known
            .facts
            .gates
            .known()
            .is_some_and(|gates| gates.is_empty())
    );
    for crd in &READY_CRDS {
        api.remove_kind(crd).await;
    }
}

/// The same with OpenShift's own definitions, where they are at hand.
#[tokio::test]
async fn a_cluster_with_openshifts_own_definitions_is_read() {
    let Some(real) = std::env::var_os("TOWPATH_REAL_DATA").map(PathBuf::from) else {
        return;
    };
    let api = KubeApi::start().await;
    let files = [
        ("ClusterOperator", "clusteroperators.yaml"),
        ("MachineConfigPool", "machineconfigpools.yaml"),
        ("APIRequestCount", "apirequestcounts.yaml"),
        ("Infrastructure", "infrastructures-Default.yaml"),
        ("OSImageStream", "osimagestreams.yaml"),
    ];
    let mut kinds = CRDS.iter().chain(&READY_CRDS);
    let of_kind = |name: &str| kinds.clone().find(|crd| crd.kind == name).unwrap();
    for (kind, file) in files {
        api.define(of_kind(kind), &real.join("crds").join(file))
            .await;
    }
    api.put(cluster_version()).await;
    api.put(operator("etcd", "True")).await;
    api.put(node("one")).await;
    api.put(json!({
        "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool", "metadata": {"name": "worker"},
        "spec": {"paused": true, "osImageStream": {"name": "rhel-10"}},
        "status": {"machineCount": 1, "updatedMachineCount": 1, "conditions": [
            {"type": "Updated", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z", "reason": "AllUpdated", "message": "all nodes are updated"},
        ]},
    }))
    .await;
    api.put(json!({
        "apiVersion": "apiserver.openshift.io/v1", "kind": "APIRequestCount", "metadata": {"name": "ingresses.v1beta1.extensions"}, "spec": {},
        "status": {"removedInRelease": "1.22", "requestCount": 0, "currentHour": {"requestCount": 0}, "last24h": []},
    }))
    .await;
    api.put(infrastructure("HighlyAvailable")).await;
    api.put(streams()).await;

    let looked = look_as(&api, "admin", ADMIN_TOKEN).await;
    // The test defines no networks.
    let unread: Vec<ObjectKind> = looked.unread.keys().copied().collect();
    assert_eq!(unread, [ObjectKind::Network], "{:?}", looked.unread);
    let (known, findings) = objects::read(&looked.files, time("2026-01-02T00:00:00Z")).unwrap();
    assert_eq!(findings, []);
    let facts = &known.facts;
    assert_eq!(facts.topology, Fact::Known(Topology::Standalone));
    assert_eq!(facts.health.default_stream, Fact::Known("rhel-9".into()));
    let pools = facts.health.pools.known().unwrap();
    assert_eq!(
        (pools[0].is_paused, pools[0].stream.as_deref()),
        (true, Some("rhel-10"))
    );
    assert_eq!(facts.apis.known().map(Vec::len), Some(1));
    let stream = kinds.find(|crd| crd.kind == "OSImageStream").unwrap();
    api.remove_kind(stream).await;
}

fn infrastructure(topology: &str) -> Value {
    json!({
        "apiVersion": "config.openshift.io/v1", "kind": "Infrastructure", "metadata": {"name": "cluster"}, "spec": {},
        "status": {"controlPlaneTopology": topology, "infrastructureTopology": "HighlyAvailable", "platform": "AWS"},
    })
}

fn streams() -> Value {
    let image = format!("registry.example.com/os@sha256:{}", "1".repeat(64));
    json!({
        "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "OSImageStream", "metadata": {"name": "cluster"},
        "spec": {"defaultStream": "rhel-9"},
        "status": {"defaultStream": "rhel-9", "availableStreams": [{"name": "rhel-9", "osImage": image, "osExtensionsImage": image}]},
    })
}

#[tokio::test]
async fn what_may_not_be_read_is_told_and_the_rest_is_read() {
    let api = KubeApi::start().await;
    api.put(cluster_version()).await;
    put_workload(&api).await;
    let most = [
        "clusterversions",
        "clusteroperators",
        "machineconfigpools",
        "clusterserviceversions",
        "apirequestcounts",
        "nodes",
        "poddisruptionbudgets",
    ];
    let rules = json!([{"apiGroups": ["*"], "resources": most, "verbs": ["get", "list"]}]);
    api.allow("towpath-agent", "reader", rules).await;
    let token = api.token_of("towpath-agent", "reader").await;
    let looked = look_as(&api, "reader", &token).await;
    let forbidden = |kind: ObjectKind| {
        let problem = looked.unread.get(&kind);
        matches!(problem, Some(KubeError::Forbidden { .. }))
    };
    assert!(
        forbidden(ObjectKind::Pod) && forbidden(ObjectKind::AdminGates),
        "{:?}",
        looked.unread
    );
    let (known, _) = objects::read(&looked.files, time("2026-01-02T00:00:00Z")).unwrap();
    assert_eq!(known.facts.health.pods, Fact::Unknown);
    assert_eq!(known.facts.gates, Fact::Unknown);
    assert_eq!(known.facts.health.budgets.known().map(Vec::len), Some(1));
}

#[tokio::test]
async fn a_cluster_that_knows_nobody_of_that_name_is_an_error() {
    let api = KubeApi::start().await;
    let access = Access::Kubeconfig {
        path: Some(api.kubeconfig("stranger", "not-a-token")),
        context: None,
    };
    let error = look(&access, &settings()).await.unwrap_err();
    assert_eq!(error.kind(), "unauthorized", "{error}");
}
