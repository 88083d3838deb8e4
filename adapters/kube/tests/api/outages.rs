//! The API server goes away and comes back; tokens end.

use std::time::Duration;

use towpath_kube::{Access, KubeError, State, Subject};
use towpath_testing_kube::{ADMIN_TOKEN, KubeApi};

use crate::support::*;

#[tokio::test]
async fn a_restart_is_survived_and_nothing_is_missed() {
    let mut api = KubeApi::start().await;
    api.put(cluster_version()).await;
    api.put(node("before")).await;
    let cluster = cluster(&api).await;
    api.stop();
    let behind = |objects: &towpath_kube::Objects| {
        objects
            .states
            .values()
            .all(|state| matches!(state, State::Behind(..)))
    };
    let objects = until(&cluster, "every watch is known to be broken", behind).await;
    assert_eq!(
        names(&objects, Subject::Nodes),
        ["before"],
        "what was known stays"
    );
    let State::Behind(_, problem) = &objects.states[&Subject::Nodes] else {
        panic!("{:?}", objects.states)
    };
    assert_eq!(problem.kind(), "unanswered", "{problem}");
    let update = towpath_kube::Update {
        version: "4.9.2",
        image: DIGEST,
        record: "",
        ..towpath_kube::Update::default()
    };
    let seen = objects.version.unwrap().resource_version;
    let error = cluster.start_update(&seen, update).await.unwrap_err();
    assert!(matches!(error, KubeError::Unanswered { .. }), "{error}");
    assert!(
        error
            .to_string()
            .starts_with("patch clusterversions.config.openshift.io version: no answer"),
        "{error}"
    );

    api.start_again().await;
    api.put(node("after")).await;
    until(&cluster, "the new node", |objects| {
        names(objects, Subject::Nodes) == ["after", "before"]
    })
    .await;
    let objects = until(&cluster, "everything is watched again", all_current).await;
    let seen = objects.version.unwrap().resource_version;
    assert_eq!(
        cluster.start_update(&seen, update).await.unwrap(),
        towpath_kube::StartOutcome::Started
    );
}

#[tokio::test]
async fn a_start_whose_answer_was_lost_is_done_once_however_often_it_is_tried() {
    let api = KubeApi::start().await;
    api.put(cluster_version()).await;
    let (proxy, kubeconfig) = api.proxy().await;
    let settings = towpath_kube::Settings {
        request: Duration::from_secs(4),
        ..settings()
    };
    let cluster = connect(
        &Access::Kubeconfig {
            path: Some(kubeconfig),
            context: None,
        },
        settings,
    )
    .await;
    cluster.read_once(Duration::from_secs(120)).await.unwrap();
    let seen = cluster.objects().version.unwrap().resource_version;
    // This leaves a connection open, and the next request takes it.
    let event = towpath_kube::Event {
        severity: towpath_kube::Severity::Normal,
        reason: "A".into(),
        message: String::new(),
    };
    cluster
        .tell(&event, time("2026-01-01T00:00:00Z"))
        .await
        .unwrap();

    proxy.lose_answers();
    let update = towpath_kube::Update {
        version: "4.9.2",
        image: DIGEST,
        record: "attempt 1",
        ..towpath_kube::Update::default()
    };
    let lost = cluster.start_update(&seen, update).await.unwrap_err();
    assert_eq!(lost.kind(), "unanswered", "{lost}");
    let there = api.cluster_version().await;
    assert_eq!(
        there["spec"]["desiredUpdate"]["version"], "4.9.2",
        "it was done all the same"
    );
    proxy.heal();
    let again = towpath_kube::Update {
        record: "attempt 2",
        ..update
    };
    assert_eq!(
        cluster.start_update(&seen, again).await.unwrap(),
        towpath_kube::StartOutcome::Conflict
    );
    assert_eq!(
        api.cluster_version().await,
        there,
        "attempt 1 is remembered, and there is no other"
    );
}

#[tokio::test]
async fn an_api_server_that_is_not_there_yet_is_waited_for() {
    let mut api = KubeApi::start().await;
    api.put(cluster_version()).await;
    let kubeconfig = api.kubeconfig("admin", ADMIN_TOKEN);
    api.stop();
    let cluster = connect(
        &Access::Kubeconfig {
            path: Some(kubeconfig),
            context: None,
        },
        settings(),
    )
    .await;
    let unread = cluster.read_once(Duration::from_secs(2)).await.unwrap_err();
    assert_eq!(unread.0.len(), Subject::ALL.len());
    assert!(
        unread
            .to_string()
            .contains("clusterversion: discover clusterversions.config.openshift.io"),
        "{unread}"
    );
    api.start_again().await;
    cluster.read_once(Duration::from_secs(120)).await.unwrap();
    assert!(cluster.objects().version.is_some());
}

#[tokio::test]
async fn a_token_that_ended_is_told_and_a_new_one_in_its_file_is_used() {
    let mut api = KubeApi::start().await;
    api.put(cluster_version()).await;
    api.allow(
        "towpath-agent",
        "agent",
        serde_json::json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]),
    )
    .await;
    let file = api.folder().join("agent.token");
    std::fs::write(&file, api.token_of("towpath-agent", "agent").await).unwrap();
    let kubeconfig = api.kubeconfig_with_token_file("agent", &file);
    let cluster = connect(
        &Access::Kubeconfig {
            path: Some(kubeconfig),
            context: None,
        },
        settings(),
    )
    .await;
    cluster.read_once(Duration::from_secs(120)).await.unwrap();

    // The token is bound to its account: a new account of the same name needs a new one. The server remembers tokens for a while, hence the restart.
    api.kubectl(&["delete", "serviceaccount", "-n", "towpath-agent", "agent"]);
    api.stop();
    api.start_again().await;
    let unauthorized = |objects: &towpath_kube::Objects| {
        objects
            .states
            .values()
            .all(|state| matches!(state, State::Behind(_, KubeError::Unauthorized { .. })))
    };
    until(&cluster, "the old token is refused", unauthorized).await;
    std::fs::write(&file, api.token_of("towpath-agent", "agent").await).unwrap();
    until(&cluster, "the new token is used", all_current).await;
}

#[tokio::test]
async fn a_configuration_that_cannot_be_used_is_a_finding() {
    let access = |path: &std::path::Path| Access::Kubeconfig {
        path: Some(path.to_owned()),
        context: None,
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config");
    for content in [
        None,
        Some("not: [a, kubeconfig"),
        Some("apiVersion: v1\nkind: Config\ncurrent-context: nowhere\n"),
    ] {
        if let Some(content) = content {
            std::fs::write(&path, content).unwrap();
        }
        let error = towpath_kube::Cluster::connect(&access(&path), settings())
            .await
            .unwrap_err();
        assert_eq!(error.kind(), "configuration", "{content:?}");
        assert!(
            error.to_string().starts_with(&path.display().to_string()),
            "{error}"
        );
    }
}
