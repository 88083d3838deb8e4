//! The agent, opted in: its role is enough, whoever holds the Lease acts, and what is left when it is removed in the middle.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::json;
use towpath_testing_kube::{KubeApi, Pace, wait_for};

use crate::stage::Stage;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/agent-nodes");
const NODES: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../deploy/nodes/cluster-role.yaml"
);
const AGENTS: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../deploy/agent-nodes/cluster-role.yaml"
);

/// Killed when it is dropped.
struct Agent(Child);

impl Agent {
    fn start(kubeconfig: &Path, options: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_towpath"));
        command.arg("agent").args(options);
        command.args(["--listen", "127.0.0.1:0", "--kubeconfig"]);
        command
            .arg(kubeconfig)
            .env_remove("KUBERNETES_SERVICE_HOST");
        command.stdout(Stdio::null()).stderr(Stdio::null());
        Self(command.spawn().unwrap())
    }
}

impl Agent {
    /// It gives the Lease back, so that nobody has to wait for its end.
    fn stop(mut self) {
        let id = self.0.id().to_string();
        let told = Command::new("kill").args(["-TERM", &id]).status().unwrap();
        assert!(told.success() && self.0.wait().unwrap().success());
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // SIGKILL.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The operator goes on, until the pool says this.
async fn until_told(stage: &mut Stage<'_>, code: &str) {
    let end = tokio::time::Instant::now() + std::time::Duration::from_secs(300);
    loop {
        stage.operate().await;
        let pool = stage.pool().await;
        let status = pool["metadata"]["annotations"]["towpath.dev/reboots-status"].to_string();
        if status.contains(code) {
            return;
        }
        let is_late = tokio::time::Instant::now() > end;
        assert!(!is_late, "it does not come to {code}: {status}");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn the_agent_reboots_a_pool_and_removed_in_the_middle_leaves_nodes_that_can_be_put_back() {
    let api = KubeApi::start().await;
    let _control_plane = api.start_control_plane();
    let _kubelets = api.start_kubelets(Pace::FAST);
    let mut stage = Stage::of(&api, 2).await;
    // Else the operator would begin before the agent has paused it.
    let paused = |is_paused: bool| json!({"spec": {"paused": is_paused}});
    stage.change_pool("worker", paused(true)).await;
    let manifests = without_namespace(&api);
    api.kubectl(&["apply", "-f", &manifests]);
    let token = api.token_of("towpath-agent", "towpath-agent").await;
    let agents = api.kubeconfig("agent", &token);

    // Without the flag the agent touches no pool, whatever its rights are: it has held the Lease, and nothing has happened.
    let quiet = Agent::start(&agents, &["--lease-for", "15s", "--holder", "quiet"]);
    holds_the_lease(&api, "quiet").await;
    quiet.stop();
    assert_eq!(stage.record().await, None);

    // Two of them: one acts.
    let running = ["one", "two"].map(|holder| {
        let options = ["--reboots", "--lease-for", "15s", "--holder", holder];
        Agent::start(&agents, &options)
    });
    until_told(&mut stage, "RebootsDone").await;
    running.into_iter().for_each(Agent::stop);
    stage.change_pool("worker", paused(false)).await;
    stage.operate().await;
    stage.all_rebooted_once(2).await;
    assert_eq!(stage.condition().await["reason"], "RebootsDone");

    // It is removed while a node is away, and its rights with it.
    let newer = json!({"spec": {"configuration": {"name": "rendered-worker-3c"}, "paused": true}});
    stage.change_pool("worker", newer).await;
    let newer = json!({"spec": {"configuration": {"name": "rendered-towpath-reboot-3c"}}});
    stage.change_pool("towpath-reboot", newer).await;
    let agent = Agent::start(
        &agents,
        &["--reboots", "--lease-for", "15s", "--holder", "three"],
    );
    wait_for("a node that has begun", || async {
        begun(&stage).await.then_some(())
    })
    .await;
    drop(agent);
    let left = stage.left_behind().await;
    assert!(begun(&stage).await, "{left:?}");
    api.kubectl(&["delete", "-f", &manifests, "--wait=false"]);
    // All stays as it was. The pool is paused, so the operator takes nobody.
    assert_eq!(stage.left_behind().await, left);
    assert_eq!(stage.condition().await["status"], "True");

    for _ in 0..3 {
        stage.towpath(&["--undo", "--once"]);
        stage.operate().await;
    }
    let (code, pass) = stage.towpath(&["--undo", "--once"]);
    let told = &pass["pools"][0]["progress"]["code"];
    assert_eq!((code, told.as_str()), (0, Some("RebootsUndone")), "{pass}");
    // It was paused before.
    assert_eq!(stage.left_behind().await, ["the pool is paused"]);
    assert!(stage.condition().await.is_null());
}

/// Whether a node is being drained, or was handed over.
async fn begun(stage: &Stage<'_>) -> bool {
    let left = stage.left_behind().await;
    let is_begun = |one: &String| one.ends_with("is cordoned") || one.ends_with("is handed over");
    left.iter().any(is_begun)
}

/// The manifests in a file. The namespace is there already, and nothing in these tests could delete it.
fn without_namespace(api: &KubeApi) -> String {
    let all = api.kubectl(&["kustomize", FOLDER]);
    let is_other = |one: &&str| !one.lines().any(|line| line == "kind: Namespace");
    let others: Vec<&str> = all.split("---\n").filter(is_other).collect();
    let file = api.folder().join("agent-nodes.yaml");
    let text = others.join("---\n");
    assert!(text.contains("- --reboots"), "{text}");
    std::fs::write(&file, text).unwrap();
    file.display().to_string()
}

async fn holds_the_lease(api: &KubeApi, holder: &str) {
    let leases = api.api("coordination.k8s.io/v1", "Lease", Some("towpath-agent"));
    wait_for("the Lease", || async {
        let lease = leases.get("towpath-agent").await.ok()?;
        (lease.data["spec"]["holderIdentity"] == holder).then_some(())
    })
    .await;
}

/// The agent gets the rights of `towpath nodes run`, and no other.
#[test]
fn the_agents_rights_on_nodes_are_those_of_the_command() {
    let rules = |file: &str| {
        let text = std::fs::read_to_string(file).unwrap();
        let from = text.find("rules:").unwrap();
        let to = text[from..].find("---").unwrap();
        text[from..from + to].to_owned()
    };
    assert_eq!(rules(NODES), rules(AGENTS));
}
