//! Whoever takes the steps is killed right after a write, and another goes on.

use std::process::Stdio;

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
