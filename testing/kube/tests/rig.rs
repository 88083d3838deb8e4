//! The rig that tests of nodes stand on: a real scheduler and real controllers, nodes as objects, and kubelets of ours.
//!
//! What is held here is what those tests believe of it: pods come and go as on a real cluster, and a budget that forbids an eviction
//! forbids it. Every wait is for a condition, and none is short.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the finding")]

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use serde_json::{Value, json};
use towpath_testing_kube::{DrainOutcome, Fault, KubeApi, Machine, Pace, PodsWith, wait_for};

const NAMESPACE: &str = "towpath-agent";

fn template(app: &str, image: &str) -> Value {
    json!({"metadata": {"labels": {"app": app}}, "spec": {
        "automountServiceAccountToken": false,
        "containers": [{"name": "it", "image": image, "resources": {"requests": {"cpu": "500m"}}}],
    }})
}

fn deployment(app: &str, replicas: u32) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": app, "namespace": NAMESPACE},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": app}}, "template": template(app, "it:1")},
    })
}

fn daemon_set(app: &str, image: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": app, "namespace": NAMESPACE},
        "spec": {"selector": {"matchLabels": {"app": app}}, "template": template(app, image)},
    })
}

fn budget(app: &str, min_available: u32) -> Value {
    json!({
        "apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget", "metadata": {"name": app, "namespace": NAMESPACE},
        "spec": {"minAvailable": min_available, "selector": {"matchLabels": {"app": app}}},
    })
}

fn workers(count: usize) -> Vec<Machine> {
    let machine =
        |number: usize| Machine::worker(&format!("w{number}"), &format!("z{}", number % 3));
    (0..count).map(machine).collect()
}

async fn pods_of(api: &KubeApi, app: &str) -> Vec<Pod> {
    let of_app = ListParams::default().labels(&format!("app={app}"));
    let mut pods = api.pods().list(&of_app).await.unwrap().items;
    pods.retain(|pod| pod.metadata.deletion_timestamp.is_none());
    pods
}

fn node(pod: &Pod) -> Option<String> {
    pod.spec.as_ref()?.node_name.clone()
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod
        .status
        .iter()
        .flat_map(|status| status.conditions.iter().flatten());
    conditions
        .into_iter()
        .any(|one| one.type_ == "Ready" && one.status == "True")
}

/// Waits for so many pods of an application, all ready; the nodes that they are on, in order.
async fn all_ready(api: &KubeApi, app: &str, count: usize) -> Vec<String> {
    let what = format!("{count} ready pods of {app}");
    wait_for(&what, || async {
        let pods = pods_of(api, app).await;
        let mut nodes: Vec<String> = pods
            .iter()
            .filter(|pod| is_ready(pod))
            .filter_map(node)
            .collect();
        nodes.sort();
        (pods.len() == count && nodes.len() == count).then_some(nodes)
    })
    .await
}

/// What a budget allows, once the controller has counted.
async fn allows(api: &KubeApi, app: &str, wanted: i64) {
    let budgets = api.api("policy/v1beta1", "PodDisruptionBudget", Some(NAMESPACE));
    wait_for(&format!("the budget {app} to allow {wanted}"), || async {
        let budget = budgets.get(app).await.ok()?;
        (budget.data["status"]["disruptionsAllowed"] == wanted).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_drain_moves_pods_as_their_budget_allows() {
    let api = KubeApi::start().await;
    let _control_plane = api.start_control_plane();
    let _kubelets = api.start_kubelets(Pace::FAST);
    api.add_machines(&workers(3)).await;
    api.put(deployment("web", 3)).await;
    // The scheduler spreads them, as it does everywhere.
    assert_eq!(all_ready(&api, "web", 3).await, ["w0", "w1", "w2"]);

    // A budget that allows nothing: the drain ends at its limit, and names the pod and the budget.
    api.put(budget("web", 3)).await;
    allows(&api, "web", 0).await;
    let DrainOutcome::Blocked(pods) = api.drain("w1", Duration::from_millis(500)).await else {
        panic!("the budget was violated");
    };
    assert!(pods[0].1.contains("disruption budget"), "{pods:?}");
    api.uncordon("w1").await;
    assert_eq!(all_ready(&api, "web", 3).await, ["w0", "w1", "w2"]);

    // One that allows one: the pod goes elsewhere, and comes not back by itself.
    api.put(budget("web", 2)).await;
    allows(&api, "web", 1).await;
    assert_eq!(
        api.drain("w1", Duration::from_secs(120)).await,
        DrainOutcome::Drained(1)
    );
    let nodes = all_ready(&api, "web", 3).await;
    assert!(nodes.iter().all(|node| node != "w1"), "{nodes:?}");
    api.uncordon("w1").await;
    assert_eq!(all_ready(&api, "web", 3).await, nodes);
}

#[tokio::test]
async fn a_revision_can_fail_and_be_mended() {
    let api = KubeApi::start().await;
    let _control_plane = api.start_control_plane();
    let kubelets = api.start_kubelets(Pace::FAST);
    api.add_machines(&workers(3)).await;
    api.put(daemon_set("log", "log:1")).await;
    assert_eq!(all_ready(&api, "log", 3).await, ["w0", "w1", "w2"]);

    let bad = PodsWith::Image("log:2".to_owned());
    kubelets.fail(bad.clone(), Fault::Crashes);
    api.put(daemon_set("log", "log:2")).await;
    let broken = wait_for("a pod of the new revision that crashes", || async {
        let pods = pods_of(&api, "log").await;
        pods.into_iter().find(|pod| {
            let mut states = pod
                .status
                .iter()
                .flat_map(|status| status.container_statuses.iter().flatten());
            states.any(|one| {
                one.state.as_ref().is_some_and(|state| {
                    state
                        .waiting
                        .as_ref()
                        .is_some_and(|why| why.reason.as_deref() == Some("CrashLoopBackOff"))
                })
            })
        })
    })
    .await;
    // It goes one by one, so the controller waits for it, and the others stay.
    let ready = pods_of(&api, "log")
        .await
        .iter()
        .filter(|pod| is_ready(pod))
        .count();
    assert!(ready <= 2 && !is_ready(&broken), "{ready} are ready");
    kubelets.mend(&bad);
    assert_eq!(all_ready(&api, "log", 3).await, ["w0", "w1", "w2"]);

    // A node that is drained keeps the pods of DaemonSets.
    assert_eq!(
        api.drain("w0", Duration::from_secs(120)).await,
        DrainOutcome::Drained(0)
    );
    assert_eq!(all_ready(&api, "log", 3).await, ["w0", "w1", "w2"]);
}
