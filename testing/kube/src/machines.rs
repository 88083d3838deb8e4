//! Nodes as objects: what a kubelet would register, and the little that changes about a node.

use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, ListParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::server::{KubeApi, wait_for};

/// A machine that joins the cluster.
#[derive(Debug, Clone)]
pub struct Machine {
    pub name: String,
    pub zone: String,
    /// The role in its label: `worker`.
    pub role: String,
    pub cpu_milli: u64,
    pub memory_mebibytes: u64,
    pub pods: u64,
}

impl Machine {
    /// A worker with 4 cores, 16 GiB, and room for 110 pods.
    pub fn worker(name: &str, zone: &str) -> Self {
        Self {
            name: name.to_owned(),
            zone: zone.to_owned(),
            role: "worker".to_owned(),
            cpu_milli: 4_000,
            memory_mebibytes: 16 << 10,
            pods: 110,
        }
    }

    fn object(&self) -> Value {
        let room = json!({
            "cpu": format!("{}m", self.cpu_milli),
            "memory": format!("{}Mi", self.memory_mebibytes),
            "pods": self.pods.to_string(),
        });
        json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": self.name, "labels": {
                "kubernetes.io/hostname": self.name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                "topology.kubernetes.io/zone": self.zone,
                format!("node-role.kubernetes.io/{}", self.role): "",
            }},
            "status": {
                "capacity": room, "allocatable": room,
                "conditions": [ready_condition(true)],
                "nodeInfo": {
                    "architecture": "amd64", "operatingSystem": "linux", "kubeletVersion": "v1.20.2",
                    "bootID": "", "containerRuntimeVersion": "", "kernelVersion": "", "kubeProxyVersion": "",
                    "machineID": "", "osImage": "", "systemUUID": "",
                },
            },
        })
    }
}

fn ready_condition(is_ready: bool) -> Value {
    let (status, reason) = match is_ready {
        true => ("True", "KubeletReady"),
        false => ("False", "KubeletNotReady"),
    };
    let now = jiff::Timestamp::now()
        .strftime("%Y-%m-%dT%H:%M:%SZ")
        .to_string();
    json!({
        "type": "Ready", "status": status, "reason": reason, "message": "",
        "lastHeartbeatTime": now, "lastTransitionTime": now,
    })
}

impl KubeApi {
    pub fn nodes(&self) -> Api<Node> {
        Api::all(self.admin.clone())
    }

    /// Adds nodes, and waits until the scheduler may use them. It needs the controllers, which take the first taint away.
    pub async fn add_machines(&self, machines: &[Machine]) {
        for machine in machines {
            self.put(machine.object()).await;
        }
        let nodes = self.nodes();
        wait_for("nodes without a taint", || async {
            let all = nodes.list(&ListParams::default()).await.ok()?;
            let is_tainted = |node: &Node| {
                let spec = node.spec.as_ref();
                spec.is_some_and(|spec| spec.taints.as_ref().is_some_and(|all| !all.is_empty()))
            };
            (all.items.len() >= machines.len() && !all.items.iter().any(is_tainted)).then_some(())
        })
        .await;
    }

    /// Lets no new pods come.
    pub async fn cordon(&self, node: &str) {
        self.patch_node(node, &json!({"spec": {"unschedulable": true}}))
            .await;
    }

    /// Lets new pods come again, and waits until the controllers have taken away the taint of the cordon.
    pub async fn uncordon(&self, node: &str) {
        self.patch_node(node, &json!({"spec": {"unschedulable": false}}))
            .await;
        let nodes = self.nodes();
        wait_for("a node without the taint of its cordon", || async {
            let taints = nodes.get(node).await.ok()?.spec?.taints.unwrap_or_default();
            let is_cordon = |key: &str| key == "node.kubernetes.io/unschedulable";
            (!taints.iter().any(|taint| is_cordon(&taint.key))).then_some(())
        })
        .await;
    }

    pub async fn patch_node(&self, node: &str, change: &Value) {
        let (parameters, patch) = (PatchParams::default(), Patch::Merge(change));
        let patched = self.nodes().patch(node, &parameters, &patch).await;
        patched.unwrap();
    }

    /// What a kubelet says when it goes away, and when it is back.
    pub async fn set_ready(&self, node: &str, is_ready: bool) {
        let change = json!({"status": {"conditions": [ready_condition(is_ready)]}});
        let (parameters, patch) = (PatchParams::default(), Patch::Strategic(&change));
        let patched = self.nodes().patch_status(node, &parameters, &patch).await;
        patched.unwrap();
    }
}
