//! `towpath ready --kubeconfig` on a real Kubernetes API.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};
use towpath_testing_kube::{ADMIN_TOKEN, KubeApi};

fn ready(kubeconfig: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_towpath"))
        .args(["ready", "--kubeconfig"])
        .arg(kubeconfig)
        .args(arguments)
        .output()
        .expect("it runs")
}

async fn put_version(api: &KubeApi) {
    api.put(json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"},
        "spec": {"clusterID": "5b3a8a34-8c1e-4a6e-9a7e-2f0c4c1f7d01"},
        "status": {
            "conditions": [{"type": "Failing", "status": "False"}],
            "history": [{"state": "Completed", "version": "4.20.1", "startedTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T01:00:00Z", "image": "x", "verified": true}],
        },
    }))
    .await;
}

#[tokio::test]
async fn ready_reads_a_live_cluster_and_says_once_what_it_may_not_read() {
    let api = KubeApi::start().await;
    put_version(&api).await;
    let admin = api.kubeconfig("admin", ADMIN_TOKEN);
    let told = ready(&admin, &["-o", "json"]);
    let answer: Value =
        serde_json::from_slice(&told.stdout).unwrap_or_else(|error| panic!("{error}: {told:?}"));
    assert_eq!(
        (told.status.code(), &answer["from"]),
        (Some(1), &json!("4.20.1"))
    );
    let unjudged = answer["unjudged"].as_array().expect("a list");
    let unjudged: Vec<&str> = unjudged
        .iter()
        .filter_map(|one| one["what"].as_str())
        .collect();
    assert_eq!(unjudged, ["lifecycles of operators", "alerts"]);

    // A patch is never stopped, and what is missing can be accepted.
    let patch = ready(&admin, &["--to", "4.20.2"]);
    assert_eq!(patch.status.code(), Some(0), "{patch:?}");
    let accepted = ready(&admin, &["--accept", "ObjectsNotGiven/alerts"]);
    assert_eq!(accepted.status.code(), Some(0), "{accepted:?}");

    let rules = json!([{"apiGroups": ["config.openshift.io"], "resources": ["clusterversions"], "verbs": ["get"]}]);
    api.allow("towpath-agent", "reader", rules).await;
    let token = api.token_of("towpath-agent", "reader").await;
    let told = ready(&api.kubeconfig("reader", &token), &[]);
    let text = String::from_utf8_lossy(&told.stdout);
    assert_eq!(told.status.code(), Some(1), "{text}");
    let line = "Pods cannot be read: your role may not list pods";
    assert_eq!(text.matches(line).count(), 1, "{text}");

    let stranger = ready(&api.kubeconfig("stranger", "no-token"), &[]);
    assert_eq!(stranger.status.code(), Some(2), "{stranger:?}");
}
