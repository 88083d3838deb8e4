//! Whoever takes the steps is killed right after a write, and another goes on.

use std::process::{Child, Stdio};

use serde_json::json;
use towpath_testing_kube::{KubeApi, Pace};

use crate::stage::Stage;

/// Far more processes than a run takes.
const MOST: usize = 400;

#[tokio::test]
async fn killed_at_each_write_the_limit_holds_and_the_end_is_the_same() {
    let api = KubeApi::start().await;
    let _control_plane = api.start_control_plane();
    let _kubelets = api.start_kubelets(Pace::FAST);
    let mut stage = Stage::of(&api, 4).await;
    let (direct, gate) = (stage.kubeconfig.clone(), api.gate().await);
    // Each process dies after one write more than the one before. One that comes to its end is followed by one that dies at its first.
    let (mut killed, mut last) = (Vec::new(), 1);
    for _ in 0..MOST {
        stage.kubeconfig = gate.kubeconfig().clone();
        gate.last_write(last);
        let mut child = stage.command(&["--once"]);
        let mut child = child
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let ended = async {
            loop {
                if child.try_wait().unwrap().is_some() {
                    return;
                }
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        };
        let is_killed = tokio::select! {
            () = gate.reached() => true,
            () = ended => false,
        };
        if is_killed {
            // SIGKILL.
            child.kill().unwrap();
            child.wait().unwrap();
            killed.push(last);
        }
        last = if is_killed { last + 1 } else { 1 };
        gate.last_write(0);
        stage.kubeconfig = direct.clone();
        stage.watch_away().await;
        stage.operate().await;
        let dry = stage.towpath(&["--once", "--dry-run"]).1;
        if dry["pools"][0]["progress"]["code"] == "RebootsDone" {
            break;
        }
    }
    stage.run_until(&[], "RebootsDone").await;
    stage.all_rebooted_once(4).await;
    let at = |write: &usize| killed.iter().filter(|one| *one == write).count();
    assert!(killed.len() >= 12 && at(&3) >= 2, "{killed:?}");
}

/// Three run at once. Whoever comes second finds the pool written to, or sees what the first has begun.
#[tokio::test]
async fn several_at_once_exceed_no_limit() {
    let api = KubeApi::start().await;
    let _control_plane = api.start_control_plane();
    let _kubelets = api.start_kubelets(Pace::FAST);
    let mut stage = Stage::of(&api, 4).await;
    // Else the operator would begin before anybody has paused it.
    let paused = |is_paused: bool| json!({"spec": {"paused": is_paused}});
    stage.change_pool("worker", paused(true)).await;
    let start = || -> Child {
        let mut command = stage.command(&["--interval", "1"]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    };
    let mut running = [start(), start(), start()];
    let end = tokio::time::Instant::now() + std::time::Duration::from_secs(300);
    loop {
        let pool = stage.pool().await;
        let status = pool["metadata"]["annotations"]["towpath.dev/reboots-status"].to_string();
        if status.contains("RebootsDone") {
            break;
        }
        assert!(
            tokio::time::Instant::now() < end,
            "it does not end: {status}"
        );
        stage.operate().await;
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    for one in &mut running {
        one.kill().unwrap();
        one.wait().unwrap();
    }
    stage.change_pool("worker", paused(false)).await;
    stage.operate().await;
    stage.all_rebooted_once(4).await;
}
