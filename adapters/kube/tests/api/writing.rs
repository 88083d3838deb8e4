//! Writes happen once, completely, and only over the version that was read.

use std::collections::BTreeMap;

use serde_json::json;
use towpath_kube::{
    Condition, Event, OPERATOR_NAME, OperatorStatus, OperatorVersion, PublishOutcome,
    RECORD_ANNOTATION, RecordOutcome, Severity, StartOutcome, Status, Update,
};
use towpath_testing_kube::KubeApi;

use crate::support::*;

fn update(record: &str) -> Update<'_> {
    Update {
        version: "4.9.2",
        image: DIGEST,
        record,
        ..Update::default()
    }
}

#[tokio::test]
async fn an_update_is_started_once_and_only_over_what_was_seen() {
    let api = KubeApi::start().await;
    let mut object = cluster_version();
    object["spec"]["desiredUpdate"] =
        json!({"version": "4.9.1", "image": "quay.example/release@sha256:1", "force": true});
    api.put(object).await;
    let cluster = cluster(&api).await;
    let seen = cluster.objects().version.unwrap();

    let started = cluster
        .start_update(&seen.resource_version, update("attempt 1"))
        .await
        .unwrap();
    assert_eq!(started, StartOutcome::Started);
    let there = api.cluster_version().await;
    assert_eq!(
        there["spec"]["desiredUpdate"],
        json!({"version": "4.9.2", "image": DIGEST}),
        "and nothing is forced"
    );
    assert_eq!(
        there["metadata"]["annotations"][RECORD_ANNOTATION],
        "attempt 1"
    );
    assert_eq!(there["spec"]["channel"], "stable-4.9", "the rest stays");

    let again = cluster
        .start_update(&seen.resource_version, update("attempt 2"))
        .await
        .unwrap();
    assert_eq!(again, StartOutcome::Conflict);
    assert_eq!(api.cluster_version().await, there);
    let objects = until(&cluster, "the record comes back", |objects| {
        objects
            .version
            .as_ref()
            .is_some_and(|seen| seen.record.as_deref() == Some("attempt 1"))
    })
    .await;
    assert_eq!(
        objects.version.unwrap().resource_version,
        there["metadata"]["resourceVersion"].as_str().unwrap()
    );
}

#[tokio::test]
async fn a_persons_choice_in_between_wins() {
    let api = KubeApi::start().await;
    api.put(cluster_version()).await;
    let cluster = cluster(&api).await;
    let seen = cluster.objects().version.unwrap();
    let choice = r#"{"spec":{"desiredUpdate":{"version":"4.9.7"}}}"#;
    api.kubectl(&[
        "patch",
        "clusterversion",
        "version",
        "--type=merge",
        "--patch",
        choice,
    ]);
    let started = cluster
        .start_update(&seen.resource_version, update(""))
        .await
        .unwrap();
    assert_eq!(started, StartOutcome::Conflict);
    assert_eq!(
        api.cluster_version().await["spec"]["desiredUpdate"],
        json!({"version": "4.9.7"})
    );
}

#[tokio::test]
async fn what_the_api_does_not_want_is_told() {
    let api = KubeApi::start().await;
    let mut object = cluster_version();
    object["spec"]["desiredUpdate"] = json!({"architecture": "Multi", "version": "4.9.1"});
    api.put(object).await;
    let cluster = cluster(&api).await;
    let seen = cluster.objects().version.unwrap();
    let started = cluster
        .start_update(&seen.resource_version, update(""))
        .await
        .unwrap();
    assert_eq!(
        started,
        StartOutcome::Started,
        "an architecture that was asked for once gives way to an image"
    );
    assert_eq!(
        api.cluster_version().await["spec"]["desiredUpdate"].get("architecture"),
        None
    );
    let seen = api.cluster_version().await["metadata"]["resourceVersion"]
        .as_str()
        .unwrap()
        .to_owned();
    let image = "x".repeat(2_000);
    match cluster
        .start_update(
            &seen,
            Update {
                version: "4.9.3",
                image: &image,
                record: "",
                ..Update::default()
            },
        )
        .await
        .unwrap()
    {
        StartOutcome::Refused(message) => {
            assert!(message.contains("spec.desiredUpdate"), "{message}")
        }
        other => panic!("a name without end: {other:?}"),
    }
    assert_eq!(
        api.cluster_version().await["spec"]["desiredUpdate"]["version"],
        "4.9.2"
    );
}

#[tokio::test]
async fn a_record_is_written_over_what_was_seen_and_has_a_limit() {
    let api = KubeApi::start().await;
    api.put(cluster_version()).await;
    let cluster = cluster(&api).await;
    let seen = cluster.objects().version.unwrap().resource_version;
    assert_eq!(
        cluster.remember(&seen, "one").await.unwrap(),
        RecordOutcome::Written
    );
    assert_eq!(
        cluster.remember(&seen, "two").await.unwrap(),
        RecordOutcome::Conflict
    );
    assert_eq!(
        api.cluster_version().await["metadata"]["annotations"][RECORD_ANNOTATION],
        "one"
    );
    let long = "x".repeat(towpath_kube::MAX_RECORD_BYTES + 1);
    assert_eq!(
        cluster.remember(&seen, &long).await.unwrap_err().kind(),
        "too-large"
    );
}

fn status(upgradeable: Status, message: &str) -> OperatorStatus {
    let condition = |status, message: &str| Condition {
        status,
        reason: "AsExpected".into(),
        message: message.into(),
    };
    OperatorStatus {
        conditions: BTreeMap::from([
            ("Available".to_owned(), condition(Status::True, "")),
            ("Upgradeable".to_owned(), condition(upgradeable, message)),
        ]),
        versions: vec![OperatorVersion {
            name: "operator".into(),
            version: "0.1.0".into(),
        }],
    }
}

#[tokio::test]
async fn our_operator_is_written_when_it_says_something_new_and_only_then() {
    let api = KubeApi::start().await;
    let cluster = cluster(&api).await;
    let operators = api.api("config.openshift.io/v1", "ClusterOperator", None);
    let said = || async { operators.get(OPERATOR_NAME).await.unwrap().data["status"].clone() };
    let since = |status: &serde_json::Value, place: usize| {
        status["conditions"][place]["lastTransitionTime"].clone()
    };

    let first = status(Status::True, "");
    assert_eq!(
        cluster
            .publish(&first, time("2026-01-01T00:00:00Z"))
            .await
            .unwrap(),
        PublishOutcome::Written
    );
    assert_eq!(
        said().await["versions"],
        json!([{"name": "operator", "version": "0.1.0"}])
    );
    until(&cluster, "our own operator comes back", |_| {
        cluster.is_published(&first)
    })
    .await;
    let before = cluster.requests();
    for _ in 0..10 {
        assert_eq!(
            cluster
                .publish(&first, time("2026-01-01T00:01:00Z"))
                .await
                .unwrap(),
            PublishOutcome::Unchanged
        );
    }
    assert_eq!(
        cluster.requests(),
        before,
        "what is said already costs nothing"
    );

    let second = status(Status::True, "still");
    assert_eq!(
        cluster
            .publish(&second, time("2026-01-01T00:02:00Z"))
            .await
            .unwrap(),
        PublishOutcome::Written
    );
    assert_eq!(
        since(&said().await, 1),
        "2026-01-01T00:00:00Z",
        "the status is the same"
    );
    let third = status(Status::False, "no");
    assert_eq!(
        cluster
            .publish(&third, time("2026-01-01T00:03:00Z"))
            .await
            .unwrap(),
        PublishOutcome::Written
    );
    assert_eq!(since(&said().await, 1), "2026-01-01T00:03:00Z");
    assert_eq!(since(&said().await, 0), "2026-01-01T00:00:00Z");
    assert_eq!(said().await["conditions"][1]["message"], "no");
    // Nobody else's word stands in our name: the watch tells, and the next call puts it right.
    api.kubectl(&["delete", "clusteroperator", OPERATOR_NAME, "--wait=true"]);
    let mut changes = cluster.changes();
    while cluster
        .publish(&third, time("2026-01-01T00:04:00Z"))
        .await
        .unwrap()
        == PublishOutcome::Unchanged
    {
        changes.next().await;
    }
    assert_eq!(said().await["conditions"][1]["message"], "no");
}

#[tokio::test]
async fn news_are_events_of_the_cluster_version() {
    let api = KubeApi::start().await;
    api.put(cluster_version()).await;
    let cluster = cluster(&api).await;
    let event = Event {
        severity: Severity::Warning,
        reason: "UpdateFailed".into(),
        message: "It broke. ".repeat(200),
    };
    cluster
        .tell(&event, time("2026-01-01T00:00:00Z"))
        .await
        .unwrap();
    cluster
        .tell(&event, time("2026-01-01T00:05:00Z"))
        .await
        .unwrap();
    let other = Event {
        severity: Severity::Normal,
        reason: "UpdateStarted".into(),
        message: "to 4.9.2".into(),
    };
    cluster
        .tell(&other, time("2026-01-01T00:06:00Z"))
        .await
        .unwrap();
    let described = api.kubectl(&["describe", "clusterversion", "version"]);
    assert!(
        described.contains("UpdateFailed") && described.contains("to 4.9.2"),
        "{described}"
    );
    let events = api
        .api("v1", "Event", Some("default"))
        .list(&Default::default())
        .await
        .unwrap();
    let failed = events
        .items
        .iter()
        .find(|event| event.data["reason"] == "UpdateFailed")
        .unwrap();
    assert_eq!(failed.data["count"], 2);
    assert_eq!(failed.data["firstTimestamp"], "2026-01-01T00:00:00Z");
    assert_eq!(failed.data["lastTimestamp"], "2026-01-01T00:05:00Z");
}
