//! The simulated cluster-version operator behaves as OpenShift's, and the adapter drives it.

use serde_json::{Value, json};
use towpath_kube::{StartOutcome, Update};
use towpath_testing_kube::{Behaviour, CRDS, ClusterVersionOperator, Fields, KubeApi, Upstream};

use crate::support::*;

fn graph(versions: &[&str], edges: &[(usize, usize)]) -> Value {
    let nodes = versions
        .iter()
        .map(|version| json!({"version": version, "payload": image(version), "metadata": {}}));
    json!({"nodes": nodes.collect::<Vec<_>>(), "edges": edges.iter().map(|(from, to)| json!([from, to])).collect::<Vec<_>>()})
}

fn image(version: &str) -> String {
    format!("quay.example/release@sha256:{version}")
}

async fn begin(api: &KubeApi, upstream: &Upstream) -> ClusterVersionOperator {
    let mut object = cluster_version();
    object["spec"]["upstream"] = upstream.url().into();
    object["status"]["desired"] = json!({"version": "4.9.1", "image": image("4.9.1")});
    object["status"]["history"][0]["image"] = image("4.9.1").into();
    api.put(object).await;
    ClusterVersionOperator::new(api.admin().clone())
}

fn condition(object: &Value, name: &str) -> (String, String) {
    let all = object["status"]["conditions"].as_array().unwrap();
    let found = all.iter().find(|one| one["type"] == name);
    let text = |field: &str| {
        found
            .map_or("", |one| one[field].as_str().unwrap())
            .to_owned()
    };
    (text("status"), text("reason"))
}

fn history(object: &Value) -> Vec<String> {
    let entries = object["status"]["history"].as_array().unwrap().iter();
    entries
        .map(|entry| {
            format!(
                "{} {}",
                entry["version"].as_str().unwrap(),
                entry["state"].as_str().unwrap()
            )
        })
        .collect()
}

fn is(status: &str, reason: &str) -> (String, String) {
    (status.to_owned(), reason.to_owned())
}

/// Asks for an update through the adapter.
async fn start(api: &KubeApi, version: &str) {
    let cluster = cluster(api).await;
    let seen = cluster.objects().version.unwrap().resource_version;
    let image = image(version);
    let started = cluster
        .start_update(
            &seen,
            Update {
                version,
                image: &image,
                record: "",
                ..Update::default()
            },
        )
        .await
        .unwrap();
    assert_eq!(started, StartOutcome::Started);
}

#[tokio::test]
async fn there_and_back_again() {
    let (api, upstream) = (KubeApi::start().await, Upstream::start().await);
    let operator = begin(&api, &upstream).await;
    operator.step(time("2026-01-02T00:00:00Z")).await;
    assert_eq!(
        condition(&api.cluster_version().await, "RetrievedUpdates"),
        is("False", "ResponseFailed")
    );

    upstream.set_graph(Some(graph(&["4.9.1", "4.9.2"], &[(0, 1)])));
    operator.step(time("2026-01-02T00:01:00Z")).await;
    let offered = api.cluster_version().await;
    assert_eq!(
        offered["status"]["availableUpdates"],
        json!([{"version": "4.9.2", "image": image("4.9.2")}])
    );
    assert_eq!(condition(&offered, "RetrievedUpdates"), is("True", ""));
    let asked = upstream.asked().pop().unwrap();
    assert_eq!(
        asked,
        "/graph?arch=amd64&channel=stable-4.9&id=0cd7ee3d-0000-4000-8000-000000000001&version=4.9.1"
    );

    start(&api, "4.9.2").await;
    operator.step(time("2026-01-02T00:02:00Z")).await;
    let under_way = api.cluster_version().await;
    assert_eq!(history(&under_way), ["4.9.2 Partial", "4.9.1 Completed"]);
    assert_eq!(condition(&under_way, "Progressing").0, "True");
    operator.step(time("2026-01-02T01:00:00Z")).await;
    let done = api.cluster_version().await;
    assert_eq!(history(&done), ["4.9.2 Completed", "4.9.1 Completed"]);
    assert_eq!(
        done["status"]["history"][0]["completionTime"],
        "2026-01-02T01:00:00Z"
    );
    assert_eq!(condition(&done, "Progressing").0, "False");

    // Back to the previous version of the same minor one: OpenShift allows that, and no more.
    upstream.set_graph(Some(graph(&["4.9.2", "4.9.1", "4.9.0"], &[(0, 1), (0, 2)])));
    operator.step(time("2026-01-03T00:00:00Z")).await;
    start(&api, "4.9.0").await;
    operator.step(time("2026-01-03T00:01:00Z")).await;
    let refused = api.cluster_version().await;
    assert_eq!(
        condition(&refused, "ReleaseAccepted"),
        is("False", "PreconditionChecks")
    );
    assert_eq!(history(&refused).len(), 2);
    start(&api, "4.9.1").await;
    operator.step(time("2026-01-03T00:02:00Z")).await;
    operator.step(time("2026-01-03T00:03:00Z")).await;
    assert_eq!(history(&api.cluster_version().await)[0], "4.9.1 Completed");

    // Nothing to do is nothing written.
    operator.step(time("2026-01-03T00:04:00Z")).await;
    let quiet = api.cluster_version().await;
    operator.step(time("2026-01-03T00:05:00Z")).await;
    assert_eq!(api.cluster_version().await, quiet);
}

#[tokio::test]
async fn an_operator_that_objects_stops_minor_updates_and_no_patches() {
    let (api, upstream) = (KubeApi::start().await, Upstream::start().await);
    let operator_ = begin(&api, &upstream).await;
    upstream.set_graph(Some(graph(
        &["4.9.1", "4.9.2", "4.10.0"],
        &[(0, 1), (0, 2)],
    )));
    api.put(operator("towpath", "False")).await;
    operator_.step(time("2026-01-02T00:00:00Z")).await;
    assert_eq!(
        condition(&api.cluster_version().await, "Upgradeable"),
        is("False", "ItSays")
    );
    start(&api, "4.10.0").await;
    operator_.step(time("2026-01-02T00:01:00Z")).await;
    let refused = api.cluster_version().await;
    assert_eq!(
        condition(&refused, "ReleaseAccepted"),
        is("False", "PreconditionChecks")
    );
    assert_eq!(history(&refused), ["4.9.1 Completed"]);
    start(&api, "4.9.2").await;
    operator_.step(time("2026-01-02T00:02:00Z")).await;
    operator_.step(time("2026-01-02T00:03:00Z")).await;
    assert_eq!(history(&api.cluster_version().await)[0], "4.9.2 Completed");
    api.put(operator("towpath", "True")).await;
    operator_.step(time("2026-01-02T00:04:00Z")).await;
    assert_eq!(
        condition(&api.cluster_version().await, "Upgradeable"),
        is("", "")
    );
}

#[tokio::test]
async fn updates_fail_or_hang_when_told_to() {
    let (api, upstream) = (KubeApi::start().await, Upstream::start().await);
    let mut operator = begin(&api, &upstream).await;
    upstream.set_graph(Some(graph(&["4.9.1", "4.9.2"], &[(0, 1)])));
    operator.step(time("2026-01-02T00:00:00Z")).await;
    start(&api, "4.9.2").await;
    operator.set_behaviour(Behaviour::Hangs);
    operator.step(time("2026-01-02T00:01:00Z")).await;
    operator.step(time("2026-01-02T09:00:00Z")).await;
    let hanging = api.cluster_version().await;
    assert_eq!(
        (
            history(&hanging)[0].as_str(),
            condition(&hanging, "Failing").0.as_str()
        ),
        ("4.9.2 Partial", "False")
    );
    operator.set_behaviour(Behaviour::Fails);
    operator.step(time("2026-01-02T09:01:00Z")).await;
    let failing = api.cluster_version().await;
    assert_eq!(history(&failing)[0], "4.9.2 Partial");
    assert_eq!(
        condition(&failing, "Failing"),
        is("True", "ClusterOperatorDegraded")
    );
}

#[tokio::test]
async fn conditional_updates_say_whether_they_are_recommended_and_since_when() {
    let (api, upstream) = (KubeApi::start().await, Upstream::start().await);
    let mut operator = begin(&api, &upstream).await;
    let mut answer = graph(&["4.9.1", "4.9.2"], &[(0, 1)]);
    answer["conditionalEdges"] = json!([{
        "edges": [{"from": "4.9.1", "to": "4.9.2"}],
        "risks": [{
            "name": "Risky", "message": "It breaks.", "url": "https://risk.example",
            "matchingRules": [{"type": "PromQL", "promql": {"promql": "is_risky"}}],
        }],
    }]);
    upstream.set_graph(Some(answer));
    let mut told = Vec::new();
    for (minute, risky) in [
        (1, None),
        (2, Some(true)),
        (3, Some(true)),
        (4, Some(false)),
    ] {
        if let Some(risky) = risky {
            operator.answer("is_risky", risky);
        }
        operator
            .step(time(&format!("2026-01-02T00:0{minute}:00Z")))
            .await;
        let object = api.cluster_version().await;
        assert_eq!(
            object["status"]["availableUpdates"],
            Value::Null,
            "the conditional one wins"
        );
        let update = &object["status"]["conditionalUpdates"][0];
        assert_eq!(update["release"]["image"], image("4.9.2"));
        let text = |name: &str| update["conditions"][0][name].as_str().unwrap().to_owned();
        told.push(format!(
            "{} {} {}",
            text("status"),
            text("reason"),
            text("lastTransitionTime")
        ));
    }
    assert_eq!(
        told,
        [
            "Unknown EvaluationFailed 2026-01-02T00:01:00Z",
            "False Risky 2026-01-02T00:02:00Z",
            "False Risky 2026-01-02T00:02:00Z",
            "True NotExposedToRisks 2026-01-02T00:04:00Z",
        ]
    );
}

#[tokio::test]
async fn automatic_updates_are_a_property_only_where_the_api_has_it() {
    let api = KubeApi::start().await;
    let crd = CRDS
        .iter()
        .find(|crd| crd.kind == "ClusterVersion")
        .unwrap();
    let mut object = cluster_version();
    object["spec"]["automaticUpdates"] = true.into();
    api.put(object.clone()).await;
    assert_eq!(
        api.cluster_version().await["spec"]["automaticUpdates"],
        Value::Null
    );
    api.add_kind(crd, Fields::AutomaticUpdates).await;
    api.put(object).await;
    assert_eq!(
        api.cluster_version().await["spec"]["automaticUpdates"],
        true
    );
}
