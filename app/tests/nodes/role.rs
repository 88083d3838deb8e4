//! The role in deploy/nodes: it is enough, and no more; and what is left when it is removed in the middle.

use serde_json::json;
use towpath_testing_kube::{KubeApi, Pace};

use crate::stage::Stage;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/nodes");

const FORBIDDEN: [&str; 14] = [
    "delete pods -A",
    "create pods -n towpath-agent",
    "delete nodes",
    "create nodes",
    "patch nodes --subresource=status",
    "update machineconfigpools.machineconfiguration.openshift.io",
    "delete machineconfigpools.machineconfiguration.openshift.io",
    "create machineconfigpools.machineconfiguration.openshift.io",
    "update machineconfigpools.machineconfiguration.openshift.io --subresource=status",
    "patch poddisruptionbudgets.policy -A",
    "list secrets -A",
    "list configmaps -A",
    "create events -n kube-system",
    "patch clusterversions.config.openshift.io",
];

#[tokio::test]
async fn the_role_is_enough_and_no_more_and_its_removal_can_be_undone() {
    let api = KubeApi::start().await;
    let _control_plane = api.start_control_plane();
    let _kubelets = api.start_kubelets(Pace::FAST);
    let mut stage = Stage::of(&api, 3).await;
    api.kubectl(&["apply", "-k", FOLDER]);
    let token = api.token_of("towpath-nodes", "towpath-nodes").await;
    let admin = std::mem::replace(&mut stage.kubeconfig, api.kubeconfig("nodes", &token));
    stage.run_until(&[], "RebootsDone").await;
    stage.all_rebooted_once(3).await;
    for forbidden in FORBIDDEN {
        let arguments: Vec<&str> = ["auth", "can-i"]
            .into_iter()
            .chain(forbidden.split(' '))
            .collect();
        let output = api.kubectl_as("nodes", &arguments);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(said.trim(), "no", "{forbidden}");
    }

    // It is removed while a node is drained, and its rights with it.
    let newer = json!({"spec": {"configuration": {"name": "rendered-worker-3c"}, "paused": true}});
    stage.change_pool("worker", newer).await;
    let newer = json!({"spec": {"configuration": {"name": "rendered-towpath-reboot-3c"}}});
    stage.change_pool("towpath-reboot", newer).await;
    stage.towpath(&["--once"]);
    assert_eq!(stage.away().await.len(), 1);
    api.kubectl(&["delete", "-k", FOLDER, "--wait=false"]);
    let output = stage.command(&["--once"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("machineconfigpools"), "{said}");
    // Everything stays as it was. The pool is paused, so the operator takes nobody.
    assert_eq!(stage.away().await.len(), 1);

    stage.kubeconfig = admin;
    for _ in 0..3 {
        stage.towpath(&["--undo", "--once"]);
    }
    let (code, pass) = stage.towpath(&["--undo", "--once"]);
    assert_eq!(
        pass["pools"][0]["progress"]["code"], "RebootsUndone",
        "{pass}"
    );
    assert_eq!(code, 0);
    // It was paused before.
    assert_eq!(stage.left_behind().await, ["the pool is paused"]);
}
