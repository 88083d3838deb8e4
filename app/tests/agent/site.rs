//! A cluster with everything around it: the API, its version operator, an upstream, a registry, and somebody who signs.

use std::path::PathBuf;

use jiff::Timestamp;
use serde_json::{Value, json};
use towpath_testing_kube::{
    ADMIN_TOKEN, CRDS, ClusterVersionOperator, Fields, KubeApi, Upstream, wait_for,
};

use crate::process::{Agent, Said};
use towpath_testing_services::Signer;
use towpath_testing_services::registry::docker::{DockerRegistry, Door};
use towpath_testing_services::registry::images::{Image, release};

pub(crate) const CLUSTER: &str = "0cd7ee3d-0000-4000-8000-000000000001";
const PATH: &str = "ocp/release";

/// Everything.
pub(crate) struct Site {
    pub(crate) api: KubeApi,
    pub(crate) upstream: Upstream,
    pub(crate) operator: ClusterVersionOperator,
    pub(crate) folder: tempfile::TempDir,
    registry: DockerRegistry,
    pub(crate) signer: Signer,
    images: Vec<(String, Image)>,
}

impl Site {
    /// A cluster on 4.20.1 that nobody has opted in; releases that are signed and name those before them; an upstream that has nothing to offer.
    pub(crate) async fn new() -> Self {
        let api = KubeApi::start().await;
        let (upstream, folder) = (Upstream::start().await, tempfile::tempdir().unwrap());
        let signer = Signer::new(&folder.path().join("gpg"));
        let registry = DockerRegistry::start(Door::Plain);
        let operator = ClusterVersionOperator::new(api.admin().clone());
        let mut site = Self {
            api,
            upstream,
            operator,
            folder,
            registry,
            signer,
            images: Vec::new(),
        };
        std::fs::write(site.path("keyring"), site.signer.public_key()).unwrap();
        std::fs::create_dir(site.path("store")).unwrap();
        site.release("4.20.1", "4.20.0", Signed::Yes).await;
        site.release("4.20.2", "4.20.1", Signed::Yes).await;
        site.release("4.20.3", "4.20.1 4.20.2", Signed::Yes).await;
        site.release("4.21.0", "4.20.1 4.20.2 4.20.3", Signed::Yes)
            .await;
        site.policy("atLeastBetween: PT0S\n");
        site.install().await;
        site
    }

    /// Puts a release into the registry.
    pub(crate) async fn release(&mut self, version: &str, previous: &str, signed: Signed) {
        self.image(
            version,
            release(&format!("{version}+amd64"), previous),
            signed,
        )
        .await;
    }

    /// Puts an image into the registry; the upstream offers it as that version.
    pub(crate) async fn image(&mut self, version: &str, image: Image, signed: Signed) {
        self.registry.push(PATH, None, &image).await;
        if signed == Signed::Yes {
            self.signer
                .sign(&self.path("store"), image.digest().as_str());
        }
        self.images.retain(|(known, _)| known != version);
        self.images.push((version.to_owned(), image));
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn policy(&self, text: &str) {
        std::fs::write(self.path("policy.yaml"), text).unwrap();
    }

    /// The image of a release, by digest.
    pub(crate) fn pull_spec(&self, version: &str) -> String {
        let (_, image) = self
            .images
            .iter()
            .find(|(known, _)| known == version)
            .expect("a release of this site");
        format!("{}/{PATH}@{}", self.registry.host, image.digest())
    }

    async fn install(&self) {
        self.api
            .put(json!({
                "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"},
                "spec": {"clusterID": CLUSTER, "channel": "stable-4.20", "upstream": self.upstream.url()},
                "status": {
                    "desired": {"version": "4.20.1", "image": self.pull_spec("4.20.1")},
                    "history": [{
                        "state": "Completed", "version": "4.20.1", "image": self.pull_spec("4.20.1"), "verified": true,
                        "startedTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T01:00:00Z",
                    }],
                    "conditions": [
                        {"type": "Available", "status": "True", "lastTransitionTime": "2026-01-01T01:00:00Z"},
                        {"type": "Progressing", "status": "False", "lastTransitionTime": "2026-01-01T01:00:00Z"},
                        {"type": "Failing", "status": "False", "lastTransitionTime": "2026-01-01T01:00:00Z"},
                    ],
                    "availableUpdates": null,
                },
            }))
            .await;
        self.node("one", "v1.33.2").await;
        let infrastructure = json!({
            "apiVersion": "config.openshift.io/v1", "kind": "Infrastructure", "metadata": {"name": "cluster"},
            "status": {"platform": "AWS", "platformStatus": {"type": "AWS"}},
        });
        self.api.put(infrastructure).await;
        self.api
            .put(json!({
                "apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator", "metadata": {"name": "etcd"}, "spec": {},
                "status": {"conditions": [{
                    "type": "Upgradeable", "status": "True", "reason": "AsExpected", "message": "",
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                }]},
            }))
            .await;
    }

    /// A node with that kubelet.
    pub(crate) async fn node(&self, name: &str, kubelet: &str) {
        self.api
            .put(json!({
                "apiVersion": "v1", "kind": "Node",
                "metadata": {"name": name, "labels": {"node-role.kubernetes.io/worker": ""}},
                "status": {"nodeInfo": {
                    "kubeletVersion": kubelet, "architecture": "amd64", "machineID": "", "systemUUID": "", "bootID": "",
                    "kernelVersion": "", "osImage": "", "containerRuntimeVersion": "", "kubeProxyVersion": "",
                    "operatingSystem": "linux",
                }},
            }))
            .await;
    }

    /// Opts in, or out, by the annotation.
    pub(crate) fn opt_in(&self, wanted: &str) {
        let annotation = format!("towpath.dev/automatic-updates={wanted}");
        self.api.kubectl(&[
            "annotate",
            "--overwrite",
            "clusterversion",
            "version",
            &annotation,
        ]);
    }

    /// What the upstream offers from now on: edges between these versions. The operator sees it with its next step.
    pub(crate) fn offer(&self, edges: &[(&str, &str)]) {
        let node = |(version, _): &(String, Image)| json!({"version": version, "payload": self.pull_spec(version), "metadata": {}});
        let nodes: Vec<Value> = self.images.iter().map(node).collect();
        let at = |version: &str| {
            self.images
                .iter()
                .position(|(known, _)| known == version)
                .unwrap()
        };
        let edges: Vec<Value> = edges
            .iter()
            .map(|(from, to)| json!([at(from), at(to)]))
            .collect();
        self.upstream
            .set_graph(Some(json!({"nodes": nodes, "edges": edges})));
    }

    /// What the upstream offers from now on: one update, with a risk that applies to every cluster.
    pub(crate) fn offer_with_risk(&self, from: &str, to: &str, risk: &str) {
        let node = |(version, _): &(String, Image)| json!({"version": version, "payload": self.pull_spec(version), "metadata": {}});
        let nodes: Vec<Value> = self.images.iter().map(node).collect();
        let risk = json!({
            "name": risk, "message": "It is slow.", "url": "https://risk.example", "matchingRules": [{"type": "Always"}],
        });
        let conditional = json!([{"edges": [{"from": from, "to": to}], "risks": [risk]}]);
        let graph = json!({"nodes": nodes, "edges": [], "conditionalEdges": conditional});
        self.upstream.set_graph(Some(graph));
    }

    /// Gives ClusterVersion the fields behind feature gates, and an operator that uses them. Its preflights find these risks.
    pub(crate) async fn gates(&mut self, preflights_find: &[&str]) {
        let kind = CRDS.iter().find(|crd| crd.kind == "ClusterVersion");
        self.api.add_kind(kind.unwrap(), Fields::Gated).await;
        self.operator.gates(preflights_find);
    }

    /// A merge patch of a person.
    pub(crate) fn patch(&self, patch: &Value) {
        let patch = patch.to_string();
        let arguments = [
            "patch",
            "clusterversion",
            "version",
            "--type=merge",
            "--patch",
            &patch,
        ];
        self.api.kubectl(&arguments);
    }

    /// The version operator does what there is to do.
    pub(crate) async fn step(&self) {
        self.operator.step(Timestamp::now()).await;
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.api.kubeconfig("admin", ADMIN_TOKEN)
    }

    pub(crate) fn options(&self, more: &[&str]) -> Vec<String> {
        let text = |name: &str| self.path(name).display().to_string();
        let own = [
            "--policy",
            &text("policy.yaml"),
            "--keyring",
            &text("keyring"),
            "--signatures",
            &text("store"),
            "--plain-http",
        ];
        let lease: &[&str] = if more.contains(&"--lease-for") {
            &[]
        } else {
            &["--lease-for", "15s"]
        };
        own.iter()
            .chain(lease)
            .chain(more)
            .map(|&option| option.to_owned())
            .collect()
    }

    /// An agent that looks after this cluster.
    pub(crate) fn agent(&self, more: &[&str]) -> Agent {
        Agent::start(&self.kubeconfig(), &self.options(more))
    }

    /// What an agent would do.
    pub(crate) fn dry_run(&self, more: &[&str]) -> Said {
        Agent::once(
            &self.kubeconfig(),
            &self.options(&[&["--dry-run"], more].concat()),
        )
    }

    /// One pass of an agent that acts.
    pub(crate) fn once(&self, more: &[&str]) -> Said {
        Agent::once(&self.kubeconfig(), &self.options(more))
    }

    /// The cluster's history: version and state, newest first.
    pub(crate) async fn history(&self) -> Vec<String> {
        let object = self.api.cluster_version().await;
        let entries = object["status"]["history"].as_array().unwrap().iter();
        let one = |entry: &Value| {
            format!(
                "{} {}",
                entry["version"].as_str().unwrap(),
                entry["state"].as_str().unwrap()
            )
        };
        entries.map(one).collect()
    }

    /// What has been asked for: version and image.
    pub(crate) async fn asked(&self) -> Option<(String, String)> {
        let object = self.api.cluster_version().await;
        let text = |name: &str| {
            object["spec"]["desiredUpdate"][name]
                .as_str()
                .map(str::to_owned)
        };
        Some((text("version")?, text("image")?))
    }

    /// Steps until the cluster's history begins like this.
    pub(crate) async fn until_history(&self, wanted: &[&str]) {
        wait_for(&format!("a history of {wanted:?}"), || async {
            self.step().await;
            let history = self.history().await;
            history
                .iter()
                .map(String::as_str)
                .take(wanted.len())
                .eq(wanted.iter().copied())
                .then_some(())
        })
        .await;
    }

    /// Waits until an agent has said this about the cluster in an event.
    pub(crate) async fn until_event(&self, reason: &str) -> String {
        wait_for(&format!("an event {reason}"), || async {
            self.event(reason)
        })
        .await
    }

    /// What an event of that reason says.
    pub(crate) fn event(&self, reason: &str) -> Option<String> {
        let path = format!("jsonpath={{.items[?(@.reason==\"{reason}\")].message}}");
        let said =
            self.api
                .kubectl(&["get", "events", "--namespace", "default", "--output", &path]);
        Some(said).filter(|said| !said.is_empty())
    }

    /// What our ClusterOperator says under that name: status, reason, message.
    pub(crate) fn condition(&self, name: &str) -> Option<(String, String, String)> {
        let said = self
            .api
            .kubectl(&["get", "clusteroperators", "--output", "json"]);
        let list: Value = serde_json::from_str(&said).unwrap();
        let ours = list["items"]
            .as_array()?
            .iter()
            .find(|item| item["metadata"]["name"] == "towpath")?
            .clone();
        let found = ours["status"]["conditions"]
            .as_array()?
            .iter()
            .find(|one| one["type"] == name)?
            .clone();
        let text = |field: &str| found[field].as_str().unwrap_or_default().to_owned();
        Some((text("status"), text("reason"), text("message")))
    }

    /// How often the ClusterVersion's specification was written.
    pub(crate) async fn generation(&self) -> i64 {
        self.api.cluster_version().await["metadata"]["generation"]
            .as_i64()
            .unwrap()
    }
}

/// Whether a release is signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signed {
    Yes,
    No,
}
