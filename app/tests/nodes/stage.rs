//! A pool of workers that has opted in, the pool beside it, and a machine-config operator that is played step by step.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};
use towpath_testing_kube::{ADMIN_TOKEN, KubeApi, Machine, wait_for};

pub(crate) const NAMESPACE: &str = "towpath-agent";
pub(crate) const NEW: &str = "rendered-worker-2b";
const BESIDE: &str = "rendered-towpath-reboot-2b";
const OLD: &str = "rendered-worker-1a";
const OPERATOR: &str = "machineconfiguration.openshift.io";
const HANDED: &str = "towpath.dev/reboot";
const PASSES: usize = 120;

pub(crate) struct Stage<'a> {
    pub(crate) api: &'a KubeApi,
    /// The pool that reboots.
    pub(crate) pool: &'static str,
    pub(crate) kubeconfig: PathBuf,
    /// How often each node has rebooted.
    pub(crate) reboots: BTreeMap<String, usize>,
    pub(crate) most_away: usize,
    /// Nodes that the operator had to drain itself.
    pub(crate) undrained: Vec<String>,
    /// This node never comes back.
    pub(crate) lost: Option<&'static str>,
}

impl<'a> Stage<'a> {
    /// So many workers, and a Deployment with a pod for each.
    pub(crate) async fn of(api: &'a KubeApi, nodes: usize) -> Self {
        let stage = Self::without_pods(api, nodes).await;
        stage.deploy("web", nodes).await;
        stage
    }

    pub(crate) async fn without_pods(api: &'a KubeApi, nodes: usize) -> Self {
        let role = json!({"matchLabels": {"node-role.kubernetes.io/worker": ""}});
        Self::of_pool(api, nodes, "worker", role, "pool.yaml").await
    }

    /// A custom pool, as it usually is, and the pool beside it.
    pub(crate) async fn custom(api: &'a KubeApi, nodes: usize) -> Self {
        let role = json!({"matchLabels": {"node-role.kubernetes.io/infra": ""}});
        let stage = Self::of_pool(api, nodes, "infra", role, "custom-pool.yaml").await;
        for number in 0..nodes {
            let labels = json!({"metadata": {"labels": {"node-role.kubernetes.io/infra": ""}}});
            api.patch_node(&format!("w{number}"), &labels).await;
        }
        stage
    }

    async fn of_pool(
        api: &'a KubeApi,
        nodes: usize,
        pool: &'static str,
        selector: Value,
        file: &str,
    ) -> Self {
        let machine = |number: usize| Machine::worker(&format!("w{number}"), &format!("z{number}"));
        let machines: Vec<Machine> = (0..nodes).map(machine).collect();
        api.add_machines(&machines).await;
        for machine in &machines {
            api.patch_node(&machine.name, &operated(OLD, OLD, "Done"))
                .await;
        }
        api.put(json!({
            "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool",
            "metadata": {"name": pool, "annotations": {"towpath.dev/reboots": "true"}},
            "spec": {
                "nodeSelector": selector,
                "maxUnavailable": 1, "configuration": {"name": NEW},
            },
        }))
        .await;
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/nodes");
        let kubeconfig = api.kubeconfig("admin", ADMIN_TOKEN);
        api.kubectl(&["apply", "-f", &format!("{folder}/{file}")]);
        let stage = Self {
            api,
            pool,
            kubeconfig,
            reboots: BTreeMap::new(),
            most_away: 0,
            undrained: Vec::new(),
            lost: None,
        };
        stage
            .change_pool(
                match pool {
                    "worker" => "towpath-reboot",
                    _ => "towpath-reboot-infra",
                },
                json!({"spec": {"configuration": {"name": BESIDE}}}),
            )
            .await;
        stage
    }

    pub(crate) async fn deploy(&self, app: &str, replicas: usize) {
        self.api
            .put(json!({
                "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": app, "namespace": NAMESPACE},
                "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": app}}, "template": {
                    "metadata": {"labels": {"app": app}},
                    "spec": {"automountServiceAccountToken": false, "containers": [{"name": "it", "image": "it:1"}]},
                }},
            }))
            .await;
        self.all_run(app, replicas).await;
    }

    pub(crate) async fn all_run(&self, app: &str, replicas: usize) {
        let deployments = self.api.api("apps/v1", "Deployment", Some(NAMESPACE));
        wait_for("ready pods", || async {
            let there = deployments.get(app).await.ok()?;
            (there.data["status"]["readyReplicas"] == json!(replicas)).then_some(())
        })
        .await;
    }

    /// A budget, once the controller has counted.
    pub(crate) async fn budget(&self, app: &str, min_available: usize, allows: usize) {
        self.api
            .put(json!({
                "apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget", "metadata": {"name": app, "namespace": NAMESPACE},
                "spec": {"minAvailable": min_available, "selector": {"matchLabels": {"app": app}}},
            }))
            .await;
        let budgets = self
            .api
            .api("policy/v1beta1", "PodDisruptionBudget", Some(NAMESPACE));
        wait_for("a budget that is counted", || async {
            let there = budgets.get(app).await.ok()?;
            let status = &there.data["status"];
            let is_seen = status["observedGeneration"] == json!(there.metadata.generation);
            (is_seen && status["disruptionsAllowed"] == json!(allows)).then_some(())
        })
        .await;
    }

    pub(crate) async fn change_pool(&self, name: &str, change: Value) {
        let mut object = change;
        object["apiVersion"] = "machineconfiguration.openshift.io/v1".into();
        object["kind"] = "MachineConfigPool".into();
        object["metadata"]["name"] = name.into();
        self.api.put(object).await;
    }

    pub(crate) async fn annotate(&self, name: &str, value: Value) {
        let change = json!({"metadata": {"annotations": {name: value}}});
        self.change_pool(self.pool, change).await;
    }

    pub(crate) async fn pool(&self) -> Value {
        let pools = self.api.api(
            "machineconfiguration.openshift.io/v1",
            "MachineConfigPool",
            None,
        );
        serde_json::to_value(pools.get(self.pool).await.unwrap()).unwrap()
    }

    /// Our condition of the pool.
    pub(crate) async fn condition(&self) -> Value {
        let pool = self.pool().await;
        let all = pool["status"]["conditions"].as_array();
        let ours = all.into_iter().flatten();
        let mut ours = ours.filter(|one| one["type"] == "TowpathReboots");
        ours.next().cloned().unwrap_or_default()
    }

    /// What the pool remembers.
    pub(crate) async fn record(&self) -> Option<Value> {
        let pool = self.pool().await;
        let text = pool["metadata"]["annotations"]["towpath.dev/reboots-record"].as_str()?;
        Some(serde_json::from_str(text).unwrap())
    }

    pub(crate) async fn nodes(&self) -> Vec<Value> {
        let nodes = self.api.api("v1", "Node", None);
        let nodes = nodes.list(&Default::default()).await.unwrap();
        nodes
            .into_iter()
            .map(|node| serde_json::to_value(node).unwrap())
            .collect()
    }

    /// The operator's next step, for each node: it takes it, or brings it back.
    pub(crate) async fn operate(&mut self) {
        let pool = self.pool().await;
        let is_paused = pool["spec"]["paused"] == true;
        let lets_go = self.pool == "worker"
            || pool["spec"]["nodeSelector"]["matchExpressions"][0]["operator"] == "DoesNotExist";
        for node in self.nodes().await {
            let name = node["metadata"]["name"].as_str().unwrap();
            let said = |what: &str| {
                let all = &node["metadata"]["annotations"];
                all[format!("{OPERATOR}/{what}")]
                    .as_str()
                    .unwrap()
                    .to_owned()
            };
            let is_handed = node["metadata"]["labels"][HANDED].is_string();
            assert!(!is_handed || lets_go, "{name} is in two custom pools");
            let wanted = match (is_handed, is_paused) {
                (true, _) => BESIDE.to_owned(),
                (false, false) => NEW.to_owned(),
                (false, true) => said("desiredConfig"),
            };
            if said("state") == "Working" {
                if self.lost != Some(name) {
                    let mut back = operated(&said("desiredConfig"), &said("desiredConfig"), "Done");
                    back["spec"] = json!({"unschedulable": null});
                    self.api.set_ready(name, true).await;
                    self.api.patch_node(name, &back).await;
                }
            } else if hash(&wanted) == hash(&said("currentConfig")) {
                // Nothing differs but the name.
                self.api
                    .patch_node(name, &operated(&wanted, &wanted, "Done"))
                    .await;
            } else {
                if !self.api.movable_pods(name).await.is_empty() {
                    self.undrained.push(name.to_owned());
                }
                *self.reboots.entry(name.to_owned()).or_default() += 1;
                let mut away = operated(&said("currentConfig"), &wanted, "Working");
                away["spec"] = json!({"unschedulable": true});
                self.api.patch_node(name, &away).await;
                self.api.set_ready(name, false).await;
            }
        }
        self.watch_away().await;
    }

    pub(crate) async fn away(&self) -> Vec<String> {
        let is_away = |node: &Value| {
            let mut conditions = node["status"]["conditions"].as_array().unwrap().iter();
            let is_ready = conditions.any(|one| one["type"] == "Ready" && one["status"] == "True");
            let is_handed = node["metadata"]["labels"][HANDED].is_string();
            let is_new = node["metadata"]["annotations"][format!("{OPERATOR}/currentConfig")]
                .as_str()
                .is_some_and(|name| hash(name) == hash(NEW));
            !is_ready || node["spec"]["unschedulable"] == true || is_handed && !is_new
        };
        let nodes = self.nodes().await.into_iter().filter(is_away);
        nodes
            .map(|node| node["metadata"]["name"].as_str().unwrap().to_owned())
            .collect()
    }

    pub(crate) async fn watch_away(&mut self) {
        self.most_away = self.most_away.max(self.away().await.len());
    }

    /// What is still ours, in words.
    pub(crate) async fn left_behind(&self) -> Vec<String> {
        let mut left = Vec::new();
        for node in self.nodes().await {
            let name = node["metadata"]["name"].as_str().unwrap();
            let mut note = |what: &str, is_so: bool| {
                if is_so {
                    left.push(format!("{name} {what}"));
                }
            };
            note(
                "is handed over",
                node["metadata"]["labels"][HANDED].is_string(),
            );
            note("is cordoned", node["spec"]["unschedulable"] == true);
            let all = &node["metadata"]["annotations"];
            note("has our note", all["towpath.dev/cordoned-for"].is_string());
            let mut taints = node["spec"]["taints"].as_array().into_iter().flatten();
            note("is marked", taints.any(|taint| taint["key"] == HANDED));
        }
        let pool = self.pool().await;
        if pool["spec"]["paused"] == true {
            left.push("the pool is paused".to_owned());
        }
        if self.record().await.is_some() {
            left.push("the pool has a record".to_owned());
        }
        left
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_towpath"));
        command.args(["nodes", "run"]).args(arguments);
        command
            .args(["--output", "json", "--kubeconfig"])
            .arg(&self.kubeconfig);
        command
    }

    pub(crate) fn towpath(&self, arguments: &[&str]) -> (i32, Value) {
        let output = self.command(arguments).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let said = String::from_utf8_lossy(&output.stderr);
        let answer =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}{said}"));
        towpath_testing_services::schema::hold("nodes run", &text);
        (output.status.code().unwrap(), answer)
    }

    /// One pass of ours and a step of the operator: what is told of the pool.
    pub(crate) async fn pass(&mut self, arguments: &[&str]) -> Value {
        let (_, pass) = self.towpath(&[&["--once"], arguments].concat());
        self.watch_away().await;
        self.operate().await;
        pass["pools"][0].clone()
    }

    /// Passes, until one ends with that code.
    pub(crate) async fn run_until(&mut self, arguments: &[&str], code: &str) -> Value {
        let mut last = Value::Null;
        for _ in 0..PASSES {
            last = self.pass(arguments).await;
            if last["progress"]["code"] == code {
                return last;
            }
        }
        panic!("it does not come to {code}: {last}");
    }

    /// Passes, until something is so.
    pub(crate) async fn until(&mut self, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let mut last = Value::Null;
        for _ in 0..PASSES {
            last = self.pass(&[]).await;
            if is_so(&last) {
                return last;
            }
        }
        panic!("{what}: {last}");
    }

    pub(crate) async fn all_rebooted_once(&self, nodes: usize) {
        let once: BTreeMap<String, usize> =
            (0..nodes).map(|number| (format!("w{number}"), 1)).collect();
        assert_eq!(self.reboots, once);
        assert_eq!(self.left_behind().await, Vec::<String>::new());
        assert_eq!(self.undrained, Vec::<String>::new());
        assert_eq!(self.most_away, 1);
    }
}

fn hash(configuration: &str) -> &str {
    configuration.rsplit_once('-').unwrap().1
}

/// What the operator writes on a node.
fn operated(current: &str, desired: &str, state: &str) -> Value {
    json!({"metadata": {"annotations": {
        format!("{OPERATOR}/currentConfig"): current,
        format!("{OPERATOR}/desiredConfig"): desired,
        format!("{OPERATOR}/state"): state,
    }}})
}
