//! Drains that do not move hold no slot.

use serde_json::{Value, json};
use towpath_testing_kube::{KubeApi, Pace};

use crate::stage::Stage;

fn code_of(reasons: &Value) -> Vec<String> {
    let all = reasons.as_array().unwrap().iter();
    all.map(|one| one["code"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn a_drain_that_a_budget_blocks_gives_its_slot_back_within_one_pass() {
    let api = KubeApi::start().await;
    let _control_plane = api.start_control_plane();
    let _kubelets = api.start_kubelets(Pace::FAST);
    let mut stage = Stage::of(&api, 3).await;
    stage
        .annotate("towpath.dev/reboots-refused-for", json!("10s"))
        .await;

    // A budget that is known to allow nothing: no node is even cordoned.
    stage.budget("web", 3, 0).await;
    stage.pass(&[]).await;
    let held = stage
        .until("it is not held", |told| {
            told["progress"]["code"] == "RebootsHeld"
        })
        .await;
    assert_eq!(code_of(&held["reasons"]), ["DrainRefused"; 3], "{held}");
    let why = held["reasons"][0]["text"].to_string();
    assert!(
        why.contains("towpath-agent/web allows no eviction"),
        "{why}"
    );
    assert_eq!(stage.away().await, Vec::<String>::new());
    assert_eq!(stage.most_away, 0);

    // Two budgets count a pod, which the API refuses only when it is asked.
    stage.budget("web", 2, 1).await;
    api.put(json!({
        "apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget", "metadata": {"name": "also", "namespace": "towpath-agent"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
    }))
    .await;
    stage
        .until("no drain begins", |told| {
            told["acts"].to_string().contains("cordon w0")
        })
        .await;
    stage.pass(&[]).await;
    let mut record = stage.record().await.unwrap();
    assert!(record["refused"]["w0"].is_string(), "{record}");
    record["refused"]["w0"] = "2026-01-01T00:00:00Z".into();
    stage
        .annotate("towpath.dev/reboots-record", json!(record.to_string()))
        .await;
    // One pass: the slot is free again, and the reason is told.
    let given_up = stage.pass(&[]).await;
    let acts = given_up["acts"].to_string();
    assert!(acts.contains("uncordon w0"), "{given_up}");
    let codes = code_of(&given_up["reasons"]);
    assert!(codes.contains(&"DrainRefused".to_owned()), "{given_up}");
    assert!(!stage.away().await.contains(&"w0".to_owned()));
    assert!(stage.record().await.unwrap()["setAside"]["w0"].is_object());
    assert!(stage.most_away <= 1);

    // The budget is gone, and the time has passed: everything goes.
    let both = [
        "delete",
        "poddisruptionbudget",
        "--all",
        "-n",
        "towpath-agent",
    ];
    api.kubectl(&both);
    for _ in 0..3 {
        let mut record = stage.record().await.unwrap();
        record.as_object_mut().unwrap().remove("setAside");
        stage
            .annotate("towpath.dev/reboots-record", json!(record.to_string()))
            .await;
        stage.pass(&[]).await;
    }
    stage.run_until(&[], "RebootsDone").await;
    stage.all_rebooted_once(3).await;
}

#[tokio::test]
async fn what_a_node_cannot_be_handed_over_to_is_told_and_nothing_begins() {
    let api = KubeApi::start().await;
    // Without its controllers new nodes keep their first taint.
    let _control_plane = api.start_control_plane();
    let mut stage = Stage::without_pods(&api, 2).await;
    for (change, back, code) in [
        (
            json!({"paused": true}),
            json!({"paused": false}),
            "PoolBesideUnfit",
        ),
        (
            json!({"maxUnavailable": "50%"}),
            json!({"maxUnavailable": "100%"}),
            "PoolBesideUnfit",
        ),
        (
            json!({"configuration": {"name": "rendered-towpath-reboot-1a"}}),
            json!({"configuration": {"name": "rendered-towpath-reboot-2b"}}),
            "PoolBesideDiffers",
        ),
    ] {
        stage
            .change_pool("towpath-reboot", json!({"spec": change}))
            .await;
        let (code_of_exit, pass) = stage.towpath(&["--once"]);
        assert_eq!(code_of(&pass["pools"][0]["reasons"]), [code], "{pass}");
        assert_eq!(code_of_exit, 1);
        stage
            .change_pool("towpath-reboot", json!({"spec": back}))
            .await;
    }
    for (name, wrong, expected) in [
        ("towpath.dev/reboots-pace", "fast", "is no pace"),
        ("towpath.dev/reboots-again-after", "5s", "is no time"),
        ("towpath.dev/reboots-faster", "yes", "no such setting"),
        ("towpath.dev/reboots", "yes", "neither true nor false"),
        ("towpath.dev/reboots-record", "{", "cannot be read"),
    ] {
        stage.annotate(name, json!(wrong)).await;
        let (code, pass) = stage.towpath(&["--once"]);
        let told = &pass["pools"][0];
        assert_eq!(
            (code, told["outcome"].as_str()),
            (1, Some("refused")),
            "{pass}"
        );
        assert!(told["findings"].to_string().contains(expected), "{told}");
        let condition = stage.condition().await;
        assert_eq!(condition["reason"], "RebootsRefused");
        let message = condition["message"].as_str().unwrap();
        assert!(message.contains(expected), "{message}");
        stage.annotate(name, Value::Null).await;
        stage.annotate("towpath.dev/reboots", json!("true")).await;
    }
    let paused = stage.pool().await["spec"]["paused"].clone();
    assert_ne!(paused, true, "nothing was done");
    stage.watch_away().await;
    assert_eq!(stage.most_away, 0);
}
