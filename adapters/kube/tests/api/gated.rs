//! Fields behind feature gates: risks to accept, and preflights. With an API that has them, and one that drops them.
//!
//! Where OpenShift's own definitions are at hand (`TOWPATH_REAL_DATA`), the same is done with those.

use std::path::PathBuf;

use serde_json::{Value, json};
use towpath_kube::{AskOutcome, Cluster, RecordOutcome, RiskChange, StartOutcome, Update};
use towpath_testing_kube::{CRDS, ClusterVersionOperator, Fields, KubeApi};

use crate::support::*;

/// Puts a ClusterVersion whose API has these fields, in turn by our own definition and by OpenShift's.
async fn definitions(api: &KubeApi, fields: Fields, mut check: impl AsyncFnMut(&KubeApi)) {
    let crd = CRDS
        .iter()
        .find(|crd| crd.kind == "ClusterVersion")
        .unwrap();
    api.add_kind(crd, fields).await;
    check(api).await;
    let real = std::env::var_os("TOWPATH_REAL_DATA").map(PathBuf::from);
    if let Some(real) = real {
        let name = match fields {
            Fields::Gated => "clusterversions-DevPreviewNoUpgrade.yaml",
            _ => "clusterversions-Default.yaml",
        };
        api.define_cluster_version(&real.join("crds").join(name), fields)
            .await;
        check(api).await;
    }
}

fn update<'a>(record: &'a str, risks: RiskChange<'a>) -> Update<'a> {
    Update {
        version: "4.9.2",
        image: DIGEST,
        record,
        risks,
    }
}

async fn put(api: &KubeApi, desired_update: Value) -> (Cluster, String) {
    api.kubectl(&["delete", "clusterversions", "--all"]);
    let mut object = cluster_version();
    object["spec"]["desiredUpdate"] = desired_update;
    // OpenShift's own definition wants more of a status than these tests need.
    object.as_object_mut().unwrap().remove("status");
    api.put(object).await;
    let cluster = cluster(api).await;
    let seen = cluster.objects().version.unwrap().resource_version;
    (cluster, seen)
}

async fn desired(api: &KubeApi) -> Value {
    api.cluster_version().await["spec"]["desiredUpdate"].clone()
}

#[tokio::test]
async fn risks_are_accepted_in_the_same_write_beside_what_others_put_there() {
    let api = KubeApi::start().await;
    definitions(&api, Fields::Gated, async |api| {
        let theirs = json!({"acceptRisks": [{"name": "Theirs"}, {"name": "Ours"}], "mode": "Preflight", "version": "4.9.2"});
        let (cluster, seen) = put(api, theirs).await;
        let change = RiskChange {
            add: &["New", "Theirs"],
            remove: &["Ours"],
        };
        let started = cluster.start_update(&seen, update("r", change)).await;
        assert_eq!(started.unwrap(), StartOutcome::Started);
        assert_eq!(
            desired(api).await,
            json!({"version": "4.9.2", "image": DIGEST, "acceptRisks": [{"name": "Theirs"}, {"name": "New"}]}),
            "and the left-over mode is gone"
        );
        let again = cluster.start_update(&seen, update("s", change)).await;
        assert_eq!(again.unwrap(), StartOutcome::Conflict);
        // Without anything to accept, the list is left alone.
        let seen = until(&cluster, "the start", |objects| {
            objects.version.as_ref().is_some_and(|seen| seen.record.as_deref() == Some("r"))
        });
        let seen = seen.await.version.unwrap().resource_version;
        let started = cluster.start_update(&seen, update("t", RiskChange::default())).await;
        assert_eq!(started.unwrap(), StartOutcome::Started);
        assert_eq!(desired(api).await["acceptRisks"].as_array().unwrap().len(), 2);
        let seen = until(&cluster, "the second start", |objects| {
            objects.version.as_ref().is_some_and(|seen| seen.record.as_deref() == Some("t"))
        });
        let seen = seen.await.version.unwrap().resource_version;
        // The last one goes with the list: the API does not allow an empty one.
        let taken = cluster.take_back_risks(&seen, "u", &["New", "Theirs"]).await;
        assert_eq!(taken.unwrap(), RecordOutcome::Written);
        assert_eq!(desired(api).await, json!({"version": "4.9.2", "image": DIGEST}));
    })
    .await;
}

#[tokio::test]
async fn an_api_that_drops_the_risks_is_noticed_and_the_update_goes_on() {
    let api = KubeApi::start().await;
    definitions(&api, Fields::Released, async |api| {
        let (cluster, seen) = put(api, json!({})).await;
        let change = RiskChange {
            add: &["New"],
            remove: &[],
        };
        let started = cluster.start_update(&seen, update("r", change)).await;
        assert_eq!(started.unwrap(), StartOutcome::StartedWithoutRisks);
        assert_eq!(
            desired(api).await,
            json!({"version": "4.9.2", "image": DIGEST})
        );
    })
    .await;
}

#[tokio::test]
async fn a_preflight_is_asked_for_and_cleared_and_never_becomes_an_update() {
    let api = KubeApi::start().await;
    definitions(&api, Fields::Gated, async |api| {
        let theirs = json!({"acceptRisks": [{"name": "Theirs"}], "version": "4.9.1"});
        let (cluster, seen) = put(api, theirs).await;
        let asked = cluster.ask_preflight(&seen, update("r", RiskChange::default())).await;
        assert_eq!(asked.unwrap(), AskOutcome::Asked);
        assert_eq!(
            desired(api).await,
            json!({"version": "4.9.2", "image": DIGEST, "mode": "Preflight", "acceptRisks": [{"name": "Theirs"}]})
        );
        let again = cluster.ask_preflight(&seen, update("r", RiskChange::default())).await;
        assert_eq!(again.unwrap(), AskOutcome::Conflict);
        let seen = api.cluster_version().await["metadata"]["resourceVersion"].clone();
        let cleared = cluster.clear_preflight(seen.as_str().unwrap(), "s").await;
        assert_eq!(cleared.unwrap(), RecordOutcome::Written);
        assert_eq!(desired(api).await, json!({"acceptRisks": [{"name": "Theirs"}]}));
    })
    .await;
}

/// Without its mode, the request would be an update.
#[tokio::test]
async fn an_api_without_preflights_is_not_written_to() {
    let api = KubeApi::start().await;
    definitions(&api, Fields::Released, async |api| {
        let (cluster, seen) = put(api, json!({"version": "4.9.1"})).await;
        let before = api.cluster_version().await;
        let asked = cluster
            .ask_preflight(&seen, update("r", RiskChange::default()))
            .await;
        assert_eq!(asked.unwrap(), AskOutcome::Unsupported);
        assert_eq!(api.cluster_version().await, before);
    })
    .await;
}

#[tokio::test]
async fn the_operator_runs_a_preflight_and_updates_to_nothing() {
    let api = KubeApi::start().await;
    let crd = CRDS
        .iter()
        .find(|crd| crd.kind == "ClusterVersion")
        .unwrap();
    api.add_kind(crd, Fields::Gated).await;
    let preflight = json!({"version": "4.9.2", "image": DIGEST, "mode": "Preflight"});
    let mut object = cluster_version();
    object["spec"]["desiredUpdate"] = preflight;
    api.put(object).await;
    let mut operator = ClusterVersionOperator::new(api.admin().clone());
    operator.gates(&["OldDriver"]);
    let mut told = Vec::new();
    for minute in 0..3 {
        operator
            .step(time(&format!("2026-01-02T00:0{minute}:00Z")))
            .await;
        let status = api.cluster_version().await["status"].clone();
        let risks = status["conditionalUpdateRisks"].as_array().unwrap().iter();
        let names: Vec<String> = risks
            .map(|risk| risk["name"].as_str().unwrap().to_owned())
            .collect();
        told.push(format!(
            "{} {}",
            names.join(" "),
            status["desired"]["version"].as_str().unwrap()
        ));
    }
    assert_eq!(
        told,
        [
            "PreflightInProgress 4.9.1",
            "OldDriver 4.9.1",
            "OldDriver 4.9.1"
        ]
    );
}
