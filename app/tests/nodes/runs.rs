//! Whole runs: to their end, stopped, and put back.

use serde_json::json;
use towpath_testing_kube::{KubeApi, Pace};

use crate::stage::Stage;

#[tokio::test]
async fn every_node_reboots_once_and_nothing_is_left() {
    let api = KubeApi::start().await;
    let _control_plane = api.start_control_plane();
    let _kubelets = api.start_kubelets(Pace::FAST);
    let mut stage = Stage::of(&api, 4).await;
    stage
        .annotate("towpath.dev/reboots-order", json!("w2"))
        .await;

    let (_, pass) = stage.towpath(&["--once", "--dry-run"]);
    assert_eq!(pass["pools"][0]["acts"], json!(["pause the pool"]));
    assert_eq!(stage.record().await, None, "a dry run writes nothing");
    assert_eq!(stage.left_behind().await, Vec::<String>::new());

    stage.pass(&[]).await;
    let begins = stage.towpath(&["--once", "--dry-run"]).1;
    let acts = begins["pools"][0]["acts"].to_string();
    assert!(acts.contains("cordon w2"), "{acts}");
    let done = stage.run_until(&[], "RebootsDone").await;
    assert_eq!(done["acts"], json!([]));
    stage.operate().await;
    stage.all_rebooted_once(4).await;
    stage.all_run("web", 4).await;

    let pool = stage.pool().await;
    let status = &pool["metadata"]["annotations"]["towpath.dev/reboots-status"];
    assert!(status.as_str().unwrap().contains("RebootsDone"), "{status}");
    let condition = stage.condition().await;
    let told = [&condition["status"], &condition["reason"]];
    assert_eq!(told, ["False", "RebootsDone"], "{condition}");
    let events = [
        "get",
        "events",
        "-n",
        "default",
        "-o",
        "jsonpath={.items[*].reason}",
    ];
    let events = api.kubectl(&events);
    for reason in [
        "RebootsUnderWay",
        "NodesAway",
        "RebootsFinishing",
        "RebootsDone",
    ] {
        assert!(events.contains(reason), "{reason}: {events}");
    }
    // A quiet pool is written to no more.
    let version = pool["metadata"]["resourceVersion"].clone();
    stage.pass(&[]).await;
    assert_eq!(stage.pool().await["metadata"]["resourceVersion"], version);
}

/// The operator takes no node of two custom pools, so nothing begins until the pool lets go of its nodes.
#[tokio::test]
async fn a_custom_pool_reboots_once_it_lets_go_of_its_nodes() {
    let api = KubeApi::start().await;
    let _control_plane = api.start_control_plane();
    let _kubelets = api.start_kubelets(Pace::FAST);
    let mut stage = Stage::custom(&api, 2).await;
    let told = stage.towpath(&["--once"]).1["pools"][0].clone();
    let reason = &told["reasons"][0];
    assert_eq!(reason["code"], "PoolKeepsItsNodes", "{told}");
    assert_eq!(told["acts"], json!([]));
    assert_eq!(stage.left_behind().await, ["the pool has a record"]);
    let command = reason["command"].as_str().unwrap();
    let (before, patch) = command.split_once(" -p ").unwrap();
    let words = before.split(' ').skip(1);
    let words: Vec<&str> = words.chain(["-p", patch.trim_matches('\'')]).collect();
    api.kubectl(&words);

    stage.run_until(&[], "RebootsDone").await;
    stage.operate().await;
    stage.all_rebooted_once(2).await;
}

#[tokio::test]
async fn a_node_that_does_not_come_back_stops_the_run_until_somebody_resumes_it() {
    let api = KubeApi::start().await;
    let _control_plane = api.start_control_plane();
    let _kubelets = api.start_kubelets(Pace::FAST);
    let mut stage = Stage::of(&api, 3).await;
    stage.lost = Some("w0");
    let is_out = |told: &serde_json::Value| told["acts"].to_string().contains("hand w0 over");
    stage.until("w0 is not handed over", is_out).await;
    stage.pass(&[]).await;
    // The time for which it has been away has passed.
    let mut record = stage.record().await.unwrap();
    record["handed"]["w0"] = "2026-01-01T00:00:00Z".into();
    stage
        .annotate("towpath.dev/reboots-record", json!(record.to_string()))
        .await;
    let is_on = stage.condition().await;
    assert_eq!(is_on["status"], "True", "{is_on}");
    let stopped = stage.run_until(&[], "RebootsStopped").await;
    let condition = stage.condition().await;
    assert_eq!(condition["reason"], "RebootsStopped");
    assert_eq!(condition["status"], "False");
    let message = condition["message"].as_str().unwrap();
    assert!(message.contains("NodeNotBack: node w0"), "{message}");
    assert_eq!(stopped["reasons"][0]["code"], "NodeNotBack", "{stopped}");
    assert_eq!(stage.towpath(&["--once"]).0, 1, "somebody has to look");
    for _ in 0..3 {
        stage.pass(&[]).await;
    }
    assert_eq!(stage.reboots.len(), 1, "no other node began");
    assert_eq!(
        stage.left_behind().await,
        [
            "w0 is handed over",
            "w0 is cordoned",
            "w0 is marked",
            "the pool is paused",
            "the pool has a record"
        ]
    );

    stage.lost = None;
    stage.operate().await;
    let again = stage.run_until(&[], "RebootsStopped").await;
    assert!(!again["acts"].to_string().contains("cordon w1"));
    stage.pass(&["--resume"]).await;
    stage.run_until(&[], "RebootsDone").await;
    stage.all_rebooted_once(3).await;
}

/// Whatever has happened, and whoever is gone, `--undo` brings everything back.
#[tokio::test]
async fn a_run_is_put_back_at_any_step() {
    let api = KubeApi::start().await;
    let _control_plane = api.start_control_plane();
    let _kubelets = api.start_kubelets(Pace::FAST);
    let mut stage = Stage::of(&api, 8).await;
    // Else the operator would go on in an order of its own each time.
    let paused = json!({"spec": {"paused": true}});
    stage.change_pool("worker", paused).await;
    for passes in 1..=5 {
        stage.annotate("towpath.dev/reboots", json!("true")).await;
        for _ in 0..passes {
            stage.pass(&[]).await;
        }
        stage.run_until(&["--undo"], "RebootsUndone").await;
        assert_eq!(
            stage.left_behind().await,
            ["the pool is paused"],
            "after {passes} passes"
        );
        let pool = stage.pool().await;
        let annotations = &pool["metadata"]["annotations"];
        assert_eq!(annotations["towpath.dev/reboots"], "false");
        assert!(annotations["towpath.dev/reboots-status"].is_null());
        assert!(stage.condition().await.is_null());
        let (code, pass) = stage.towpath(&["--once"]);
        assert_eq!((code, &pass["pools"]), (0, &json!([])), "off is off");
    }
    assert!(stage.most_away <= 1, "{}", stage.most_away);
    assert!(stage.reboots.values().all(|times| *times == 1));

    // Whoever still runs puts back what has opted out.
    stage.annotate("towpath.dev/reboots", json!("true")).await;
    stage.pass(&[]).await;
    stage.annotate("towpath.dev/reboots", json!("false")).await;
    stage.run_until(&[], "RebootsUndone").await;
    assert_eq!(stage.left_behind().await, ["the pool is paused"]);
}
