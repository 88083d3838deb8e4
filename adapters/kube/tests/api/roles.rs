//! A role that is too small is a finding that names what it lacks.

use std::time::Duration;

use serde_json::json;
use towpath_kube::{Access, KubeError, State, Subject};
use towpath_testing_kube::KubeApi;

use crate::support::*;

#[tokio::test]
async fn a_role_that_is_too_small_is_told_by_verb_and_resource_and_seen_when_it_grows() {
    let api = KubeApi::start().await;
    api.put(cluster_version()).await;
    let read = |resources: &[&str]| json!([{"apiGroups": ["*"], "resources": resources, "verbs": ["list", "watch"]}]);
    let most = [
        "clusterversions",
        "clusteroperators",
        "infrastructures",
        "machineconfigpools",
        "clusterserviceversions",
        "apirequestcounts",
        "configmaps",
    ];
    api.allow("towpath-agent", "small", read(&most)).await;
    let kubeconfig = api.kubeconfig("small", &api.token_of("towpath-agent", "small").await);
    let cluster = connect(
        &Access::Kubeconfig {
            path: Some(kubeconfig),
            context: None,
        },
        settings(),
    )
    .await;
    let forbidden = |objects: &towpath_kube::Objects| {
        objects.states.iter().all(|(subject, state)| match subject {
            Subject::Nodes => matches!(
                state,
                State::NotRead(Some(KubeError::Forbidden { verb: "list", .. }))
            ),
            _ => *state == State::Current,
        })
    };
    let objects = until(&cluster, "nodes are forbidden, the rest is read", forbidden).await;
    let unread = cluster
        .read_once(Duration::ZERO)
        .await
        .unwrap_err()
        .to_string();
    assert!(
        unread.starts_with("nodes: list nodes: forbidden; let our role list nodes"),
        "{unread}"
    );

    let seen = objects.version.unwrap().resource_version;
    let error = cluster.remember(&seen, "x").await.unwrap_err();
    let text = "patch clusterversions.config.openshift.io version: forbidden; let our role patch clusterversions.config.openshift.io";
    assert!(error.to_string().starts_with(text), "{error}");

    api.allow("towpath-agent", "small", read(&["*"])).await;
    until(&cluster, "the role has grown", all_current).await;
}
