//! `towpath daemonsets` on a real API server. The DaemonSet controller and the kubelets are played by the test, as Kubernetes' own
//! have it: the controller makes revisions, counts nodes and makes pods that are missing; a kubelet makes them ready, or not.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the finding")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use towpath_testing_kube::{ADMIN_TOKEN, KubeApi};

const NAMESPACE: &str = "towpath-waves";
const SET: &str = "agent";

/// A cluster with one DaemonSet in waves.
struct Stage {
    api: KubeApi,
    kubeconfig: PathBuf,
    made: usize,
    /// Names of nodes that have ever got a pod of each image.
    reached: BTreeMap<String, BTreeSet<String>>,
    /// The most nodes that were ever without a ready pod.
    most_away: usize,
}

impl Stage {
    async fn set(nodes: usize) -> Self {
        let api = KubeApi::start().await;
        api.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}))
            .await;
        for number in 0..nodes {
            api.put(json!({
                "apiVersion": "v1", "kind": "Node",
                "metadata": {"name": format!("node-{number:03}"), "labels": {
                    "topology.kubernetes.io/zone": format!("zone-{}", number % 3), "kubernetes.io/arch": "amd64",
                    "node-role.kubernetes.io/worker": "",
                }},
                "status": {
                    "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": ""}],
                    "nodeInfo": {
                        "kubeletVersion": "v1.20.2", "architecture": "amd64", "machineID": "", "systemUUID": "", "bootID": "",
                        "kernelVersion": "", "osImage": "", "containerRuntimeVersion": "", "kubeProxyVersion": "", "operatingSystem": "linux",
                    },
                },
            }))
            .await;
        }
        // A new namespace has no account yet, and nobody is here to make one.
        api.put(json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": NAMESPACE}})).await;
        for kind in ["DaemonSet", "ControllerRevision"] {
            let all = api.api("apps/v1", kind, Some(NAMESPACE));
            for object in all.list(&Default::default()).await.unwrap() {
                let name = object.metadata.name.unwrap();
                all.delete(&name, &Default::default()).await.unwrap();
            }
        }
        api.put(json!({
            "apiVersion": "apps/v1", "kind": "DaemonSet",
            "metadata": {"name": SET, "namespace": NAMESPACE, "annotations": {
                "towpath.dev/waves": "true", "towpath.dev/waves-soak": "0s", "towpath.dev/waves-patience": "5m",
                "towpath.dev/waves-at-most-away": "20%",
            }},
            "spec": {
                "selector": {"matchLabels": {"app": "agent"}},
                "updateStrategy": {"type": "OnDelete"},
                "template": {
                    "metadata": {"labels": {"app": "agent"}},
                    "spec": {"containers": [{"name": "agent", "image": "agent:one"}]},
                },
            },
        }))
        .await;
        let kubeconfig = api.kubeconfig("admin", ADMIN_TOKEN);
        let mut stage = Self {
            api,
            kubeconfig,
            made: 0,
            reached: BTreeMap::new(),
            most_away: 0,
        };
        stage.play().await;
        stage.play().await;
        stage
    }

    async fn set_image(&self, image: &str) {
        self.api
            .put(json!({
                "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": SET, "namespace": NAMESPACE},
                "spec": {"template": {"spec": {"containers": [{"name": "agent", "image": image}]}}},
            }))
            .await;
    }

    async fn daemon_set(&self) -> Value {
        let api = self.api.api("apps/v1", "DaemonSet", Some(NAMESPACE));
        serde_json::to_value(api.get(SET).await.unwrap()).unwrap()
    }

    async fn annotate(&self, name: &str, value: &str) {
        self.api
            .put(json!({
                "apiVersion": "apps/v1", "kind": "DaemonSet",
                "metadata": {"name": SET, "namespace": NAMESPACE, "annotations": {name: value}},
            }))
            .await;
    }

    async fn pods(&self) -> Vec<Value> {
        let api = self.api.api("v1", "Pod", Some(NAMESPACE));
        let pods = api.list(&Default::default()).await.unwrap();
        pods.into_iter()
            .map(|pod| serde_json::to_value(pod).unwrap())
            .collect()
    }

    async fn nodes(&self) -> Vec<String> {
        let nodes = self.api.api("v1", "Node", None);
        let nodes = nodes.list(&Default::default()).await.unwrap();
        nodes
            .into_iter()
            .map(|node| node.metadata.name.unwrap())
            .collect()
    }

    /// What the controller and the kubelets do next.
    async fn play(&mut self) {
        self.watch_away().await;
        let set = self.daemon_set().await;
        let revision = self.revision_of(&set).await;
        let nodes = self.nodes().await;
        let pods = self.pods().await;
        let taken: BTreeSet<&str> = pods
            .iter()
            .map(|pod| pod["spec"]["nodeName"].as_str().unwrap())
            .collect();
        for node in nodes.iter().filter(|node| !taken.contains(node.as_str())) {
            self.make_pod(&set, &revision, node).await;
        }
        for pod in &pods {
            self.start(pod).await;
        }
        let status = json!({
            "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": SET, "namespace": NAMESPACE},
            "status": {
                "observedGeneration": set["metadata"]["generation"], "desiredNumberScheduled": nodes.len(),
                "currentNumberScheduled": nodes.len(), "numberMisscheduled": 0, "numberReady": 0,
            },
        });
        self.api.put(status).await;
    }

    /// The revision of the template: an older one of the same template gets a new number.
    async fn revision_of(&self, set: &Value) -> String {
        let template = &set["spec"]["template"];
        let all = self
            .api
            .api("apps/v1", "ControllerRevision", Some(NAMESPACE));
        let there = all.list(&Default::default()).await.unwrap();
        let there: Vec<Value> = there
            .into_iter()
            .map(|one| serde_json::to_value(one).unwrap())
            .collect();
        let newest = there
            .iter()
            .filter_map(|one| one["revision"].as_i64())
            .max()
            .unwrap_or(0);
        let same = there
            .iter()
            .find(|one| same_pod(&one["data"]["spec"]["template"], template));
        let image = template["spec"]["containers"][0]["image"].as_str().unwrap();
        let hash = image.replace(':', "-");
        match same {
            Some(one) if one["revision"].as_i64() == Some(newest) => {}
            Some(one) => {
                let name = &one["metadata"]["name"];
                self.api
                    .put(json!({
                        "apiVersion": "apps/v1", "kind": "ControllerRevision", "revision": newest + 1,
                        "metadata": {"name": name, "namespace": NAMESPACE},
                    }))
                    .await;
            }
            None => {
                let mut data = template.clone();
                data["$patch"] = "replace".into();
                self.api
                    .put(json!({
                        "apiVersion": "apps/v1", "kind": "ControllerRevision", "revision": newest + 1,
                        "metadata": {
                            "name": format!("agent-{hash}"), "namespace": NAMESPACE,
                            "labels": {"app": "agent", "controller-revision-hash": hash}, "ownerReferences": [owner(set)],
                        },
                        "data": {"spec": {"template": data}},
                    }))
                    .await;
            }
        }
        hash
    }

    async fn make_pod(&mut self, set: &Value, revision: &str, node: &str) {
        self.made += 1;
        let mut spec = set["spec"]["template"]["spec"].clone();
        spec["nodeName"] = node.into();
        // A kubelet would end it within this time.
        spec["terminationGracePeriodSeconds"] = 0.into();
        spec["tolerations"] = json!([{"operator": "Exists"}]);
        spec["automountServiceAccountToken"] = false.into();
        self.api
            .put(json!({
                "apiVersion": "v1", "kind": "Pod",
                "metadata": {
                    "name": format!("agent-{:05}", self.made), "namespace": NAMESPACE,
                    "labels": {"app": "agent", "controller-revision-hash": revision}, "ownerReferences": [owner(set)],
                },
                "spec": spec,
            }))
            .await;
        let image = spec["containers"][0]["image"].as_str().unwrap().to_owned();
        self.reached
            .entry(image)
            .or_default()
            .insert(node.to_owned());
    }

    /// A kubelet starts a pod: images called `bad` crash.
    async fn start(&self, pod: &Value) {
        let is_new = pod["status"]["conditions"]
            .as_array()
            .is_none_or(|all| all.iter().all(|one| one["type"] != "Ready"));
        if !is_new || pod["metadata"]["deletionTimestamp"].is_string() {
            return;
        }
        let is_bad = pod["spec"]["containers"][0]["image"]
            .as_str()
            .unwrap()
            .contains("bad");
        let state = match is_bad {
            true => json!({"waiting": {"reason": "CrashLoopBackOff"}}),
            false => json!({"running": {}}),
        };
        let ready = if is_bad { "False" } else { "True" };
        let name = &pod["metadata"]["name"];
        self.api
            .put(json!({
                "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": NAMESPACE},
                "status": {
                    "phase": "Running",
                    "conditions": [{"type": "Ready", "status": ready, "lastTransitionTime": "2026-01-01T00:00:00Z"}],
                    "containerStatuses": [{
                        "name": "agent", "image": "x", "imageID": "x", "ready": !is_bad, "restartCount": 0, "state": state,
                    }],
                },
            }))
            .await;
    }

    async fn watch_away(&mut self) {
        let ready: BTreeSet<String> = self
            .pods()
            .await
            .iter()
            .filter(|pod| works(pod))
            .map(|pod| pod["spec"]["nodeName"].as_str().unwrap().to_owned())
            .collect();
        let away = self.nodes().await.len() - ready.len();
        // Before the first pods are there, nobody could do anything.
        if !ready.is_empty() {
            self.most_away = self.most_away.max(away);
        }
    }

    async fn on(&self, image: &str) -> usize {
        let pods = self.pods().await;
        let own = pods
            .iter()
            .filter(|pod| pod["spec"]["containers"][0]["image"] == image);
        own.filter(|pod| works(pod)).count()
    }

    fn towpath(&self, arguments: &[&str]) -> (i32, Value) {
        let output = self.command(arguments).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let said = String::from_utf8_lossy(&output.stderr);
        let answer =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}{said}"));
        if arguments.first() == Some(&"run") {
            towpath_testing_services::schema::hold("daemonsets run", &text);
        }
        (output.status.code().unwrap(), answer)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_towpath"));
        command.arg("daemonsets").args(arguments);
        command
            .args(["--output", "json", "--kubeconfig"])
            .arg(&self.kubeconfig);
        command
    }

    /// One pass after the other, until one ends with that code.
    async fn run_until(&mut self, code: &str) -> Value {
        for _ in 0..60 {
            let (_, pass) = self.towpath(&["run", "--once"]);
            let set = &pass["daemonSets"][0];
            if set["reason"]["code"] == code {
                return set.clone();
            }
            self.play().await;
        }
        panic!(
            "it does not come to {code}: {}",
            self.towpath(&["run", "--once"]).1
        );
    }
}

fn works(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array();
    let is_ready = conditions.is_some_and(|all| {
        all.iter()
            .any(|one| one["type"] == "Ready" && one["status"] == "True")
    });
    is_ready && !pod["metadata"]["deletionTimestamp"].is_string()
}

fn same_pod(one: &Value, other: &Value) -> bool {
    one["spec"] == other["spec"]
}

fn owner(set: &Value) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet", "name": SET, "uid": set["metadata"]["uid"],
        "controller": true, "blockOwnerDeletion": true,
    })
}

#[tokio::test]
async fn a_revision_goes_out_in_waves_and_a_bad_one_goes_back() {
    let mut stage = Stage::set(30).await;
    assert_eq!(stage.on("agent:one").await, 30);
    let done = stage.run_until("WavesDone").await;
    assert_eq!(done["deleted"], json!([]), "there was nothing to do");

    // A good one: three canaries, one for each zone; then 1, 2, 4, and never more than 20 %.
    stage.set_image("agent:two").await;
    stage.play().await;
    let (code, pass) = stage.towpath(&["run", "--once", "--dry-run"]);
    let set = &pass["daemonSets"][0];
    assert_eq!(
        (code, set["reason"]["code"].as_str()),
        (0, Some("WavesCanaries"))
    );
    assert_eq!(set["deleted"].as_array().unwrap().len(), 3, "{set}");
    assert_eq!(stage.on("agent:one").await, 30, "a dry run deletes nothing");
    stage.run_until("WavesDone").await;
    assert_eq!(stage.on("agent:two").await, 30);
    assert!((2..=6).contains(&stage.most_away), "{}", stage.most_away);

    // A bad one: it never gets past its canaries, and everything is as it was.
    stage.set_image("agent:bad").await;
    stage.play().await;
    let set = stage.run_until("WavesRolledBack").await;
    let why = set["reason"]["text"].as_str().unwrap();
    assert!(why.contains("CrashLoopBackOff"), "{why}");
    assert_eq!(stage.reached["agent:bad"].len(), 3);
    assert_eq!(stage.on("agent:two").await, 30);
    assert!(stage.most_away <= 6, "{}", stage.most_away);
    let now = stage.daemon_set().await;
    assert_eq!(
        now["spec"]["template"]["spec"]["containers"][0]["image"],
        "agent:two"
    );
    let status = now["metadata"]["annotations"]["towpath.dev/waves-status"]
        .as_str()
        .unwrap();
    let status: Value = serde_json::from_str(status).unwrap();
    assert_eq!(status["code"], "WavesRolledBack");
    let events = stage.api.kubectl(&[
        "get",
        "events",
        "-n",
        NAMESPACE,
        "-o",
        "jsonpath={.items[*].reason}",
    ]);
    for reason in [
        "WavesCanaries",
        "WavesUnderWay",
        "WavesDone",
        "WavesRollingBack",
        "WavesRolledBack",
    ] {
        assert!(events.contains(reason), "{reason}: {events}");
    }
    // Once more the same: it goes back without a single pod.
    stage.set_image("agent:bad").await;
    stage.play().await;
    stage.run_until("WavesRolledBack").await;
    assert_eq!(stage.reached["agent:bad"].len(), 3);
}

/// The loop is killed with SIGKILL again and again, wherever it is.
#[tokio::test]
async fn whoever_is_killed_in_the_middle_is_continued() {
    let mut stage = Stage::set(20).await;
    stage.run_until("WavesDone").await;
    stage.set_image("agent:two").await;
    stage.play().await;
    for pause in [150, 400, 900, 300, 700, 1_300] {
        let mut command = stage.command(&["run", "--interval", "1"]);
        let mut running = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        tokio::time::sleep(Duration::from_millis(pause)).await;
        running.kill().unwrap();
        running.wait().unwrap();
        stage.play().await;
    }
    // What a dead pass had named counts as gone for a minute, then it is looked at again.
    let record = stage.daemon_set().await;
    let record = record["metadata"]["annotations"]["towpath.dev/waves-record"]
        .as_str()
        .unwrap()
        .to_owned();
    let mut record: Value = serde_json::from_str(&record).unwrap();
    if record["going"].is_object() {
        record["going"]["until"] = "2026-01-01T00:00:00Z".into();
        stage
            .annotate("towpath.dev/waves-record", &record.to_string())
            .await;
    }
    stage.run_until("WavesDone").await;
    assert_eq!(stage.on("agent:two").await, 20);
    assert!(stage.most_away <= 4, "{}", stage.most_away);
}

#[tokio::test]
async fn what_cannot_be_followed_is_refused_and_nothing_is_touched() {
    let mut stage = Stage::set(6).await;
    stage.set_image("agent:two").await;
    stage.play().await;
    for (name, wrong, right, expected) in [
        ("towpath.dev/waves-soak", "soon", "0s", "is no time"),
        (
            "towpath.dev/waves-at-most-away",
            "200%",
            "1",
            "is not a number of nodes",
        ),
        ("towpath.dev/waves", "yes", "true", "neither true nor false"),
        ("towpath.dev/waves-record", "{", "", "cannot be read"),
    ] {
        stage.annotate(name, wrong).await;
        let (code, pass) = stage.towpath(&["run", "--once"]);
        let set = &pass["daemonSets"][0];
        assert_eq!(
            (code, set["outcome"].as_str()),
            (1, Some("refused")),
            "{pass}"
        );
        assert!(set["findings"].to_string().contains(expected), "{set}");
        if !right.is_empty() {
            stage.annotate(name, right).await;
        }
    }
    assert_eq!(stage.on("agent:one").await, 6);
    // Off is off.
    stage.annotate("towpath.dev/waves", "false").await;
    stage
        .annotate(
            "towpath.dev/waves-record",
            r#"{"to":"x","backTo":null,"canaries":[],"failed":null}"#,
        )
        .await;
    let (code, pass) = stage.towpath(&["run", "--once"]);
    assert_eq!((code, &pass["daemonSets"]), (0, &json!([])));
}

#[tokio::test]
async fn the_role_is_enough_and_the_adviser_reads_a_live_cluster() {
    let mut stage = Stage::set(6).await;
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/daemonsets");
    stage.api.kubectl(&["apply", "-k", folder]);
    let token = stage
        .api
        .token_of("towpath-daemonsets", "towpath-daemonsets")
        .await;
    let admin = std::mem::replace(&mut stage.kubeconfig, stage.api.kubeconfig("waves", &token));
    stage.set_image("agent:two").await;
    stage.play().await;
    stage.run_until("WavesDone").await;
    assert_eq!(stage.on("agent:two").await, 6);
    stage.set_image("agent:bad").await;
    stage.play().await;
    stage.run_until("WavesRolledBack").await;
    let refused = stage
        .api
        .kubectl_as("waves", &["delete", "daemonset", SET, "-n", NAMESPACE]);
    assert!(!refused.status.success());

    stage.kubeconfig = admin;
    stage.annotate("towpath.dev/waves", "false").await;
    let (code, advice) = stage.towpath(&["advise"]);
    let own = advice["daemonSets"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["name"] == SET)
        .unwrap()
        .clone();
    assert_eq!(
        (own["setBy"].as_str(), own["atOnce"].as_str()),
        (Some("people"), Some("on delete")),
        "{code} {own}"
    );
}
