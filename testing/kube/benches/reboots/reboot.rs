//! A rolling reboot as the machine-config operator does it: one node after the other, cordoned, drained, and back.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use serde_json::{Value, json};
use towpath_testing_kube::{DrainOutcome, KubeApi, Kubelets, Machine};

use crate::workload::Workload;

const NAMESPACE: &str = "towpath-agent";
/// A busy machine takes its time, and nothing that is counted depends on it.
const PATIENCE: Duration = Duration::from_mins(60);
/// From one look at the pods to the next.
const AGAIN: Duration = Duration::from_millis(20);

/// What nodes have that are not done yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taint {
    None,
    /// As the machine-config operator has it: `UpdateInProgress:PreferNoSchedule`.
    Soft,
    /// `NoSchedule`, made soft for as long as pods fit nowhere else.
    Hard,
}

#[derive(Debug)]
pub(crate) struct RebootOutcome {
    /// How many pods were evicted, each as often as it was.
    pub(crate) moves: usize,
    /// The most pods for which there was no room at once.
    pub(crate) most_pending: usize,
    /// The requested CPU of the emptiest and of the fullest node at the end, in thousandths of the mean.
    pub(crate) least_loaded: u64,
    pub(crate) most_loaded: u64,
}

impl Taint {
    pub(crate) fn of(name: &str) -> Option<Self> {
        [Self::None, Self::Soft, Self::Hard]
            .into_iter()
            .find(|one| one.as_str() == name)
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Soft => "soft",
            Self::Hard => "hard",
        }
    }
}

/// Creates everything, and waits until it runs.
pub(crate) async fn deploy(api: &KubeApi, kubelets: &Kubelets, workload: &Workload) {
    for deployment in &workload.deployments {
        api.put(deployment.object(NAMESPACE)).await;
    }
    all_bound(kubelets, workload).await;
}

pub(crate) async fn reboot_all(
    api: &KubeApi,
    kubelets: &Kubelets,
    workload: &Workload,
    taint: Taint,
) -> RebootOutcome {
    let (mut moves, mut most_pending) = (0, 0);
    mark(api, &workload.machines, taint).await;
    for (number, machine) in workload.machines.iter().enumerate() {
        match api.drain(&machine.name, PATIENCE).await {
            DrainOutcome::Drained(moved) => moves += moved,
            DrainOutcome::Blocked(pods) => panic!("{} is not drained: {pods:?}", machine.name),
        }
        let mut pending = settled(kubelets, workload, &machine.name).await;
        let left = &workload.machines[number + 1..];
        if pending > 0 && taint == Taint::Hard {
            mark(api, left, Taint::Soft).await;
            pending = settled_anew(kubelets, workload, &machine.name).await;
            mark(api, left, Taint::Hard).await;
        }
        most_pending = most_pending.max(pending);
        api.uncordon(&machine.name).await;
        mark(api, std::slice::from_ref(machine), Taint::None).await;
        all_bound(kubelets, workload).await;
    }
    let (least_loaded, most_loaded) = loads(api, workload).await;
    RebootOutcome {
        moves,
        most_pending,
        least_loaded,
        most_loaded,
    }
}

/// Marks nodes that are not done yet, or takes the mark away.
async fn mark(api: &KubeApi, machines: &[Machine], taint: Taint) {
    let taints = match taint {
        Taint::None => json!([]),
        Taint::Soft => json!([{"key": "UpdateInProgress", "effect": "PreferNoSchedule"}]),
        Taint::Hard => json!([{"key": "UpdateInProgress", "effect": "NoSchedule"}]),
    };
    for machine in machines {
        set_taints(api, &machine.name, taints.clone()).await;
    }
}

async fn set_taints(api: &KubeApi, node: &str, taints: Value) {
    api.patch_node(node, &json!({"spec": {"taints": taints}}))
        .await;
}

/// Waits until no pod is on the drained node, and every pod is replaced and has a node or was refused one. How many were refused.
async fn settled(kubelets: &Kubelets, workload: &Workload, drained: &str) -> usize {
    let refused = |pods: &[&Pod]| {
        let is_left = pods.iter().any(|pod| node(pod) == Some(drained));
        let unbound = || pods.iter().filter(|pod| node(pod).is_none());
        (!is_left && unbound().all(|pod| is_refused(pod))).then(|| unbound().count())
    };
    once_whole(kubelets, workload, refused).await
}

/// The same after more nodes were opened: the scheduler tries again pods that it has refused. It does so within ten seconds; a pod
/// that is still refused after twice that time fits nowhere.
async fn settled_anew(kubelets: &Kubelets, workload: &Workload, drained: &str) -> usize {
    let end = tokio::time::Instant::now() + 2 * SCHEDULERS_BACKOFF;
    loop {
        let refused = settled(kubelets, workload, drained).await;
        if refused == 0 || tokio::time::Instant::now() > end {
            return refused;
        }
        tokio::time::sleep(AGAIN).await;
    }
}

/// The longest that the scheduler waits before it tries a pod again.
const SCHEDULERS_BACKOFF: Duration = Duration::from_secs(10);

async fn all_bound(kubelets: &Kubelets, workload: &Workload) {
    let is_bound = |pods: &[&Pod]| pods.iter().all(|pod| node(pod).is_some()).then_some(());
    once_whole(kubelets, workload, is_bound).await;
}

/// Looks at the pods that nobody has deleted, until there are as many as there shall be and the look finds something.
async fn once_whole<T>(
    kubelets: &Kubelets,
    workload: &Workload,
    look: impl Fn(&[&Pod]) -> Option<T>,
) -> T {
    let end = tokio::time::Instant::now() + PATIENCE;
    loop {
        let found = kubelets.look(|pods| {
            let active: Vec<&Pod> = pods.filter(|pod| is_active(pod)).collect();
            let is_whole = active.len() as u64 == workload.pods();
            is_whole.then(|| look(&active)).flatten()
        });
        if let Some(found) = found {
            return found;
        }
        let is_late = tokio::time::Instant::now() > end;
        assert!(!is_late, "the pods do not settle");
        tokio::time::sleep(AGAIN).await;
    }
}

fn is_active(pod: &Pod) -> bool {
    pod.metadata.deletion_timestamp.is_none()
}

/// The pods that nobody has deleted.
async fn active(api: &KubeApi) -> Vec<Pod> {
    let mut pods = api
        .pods()
        .list(&ListParams::default())
        .await
        .expect("pods")
        .items;
    pods.retain(is_active);
    pods
}

fn node(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref()
}

fn is_refused(pod: &Pod) -> bool {
    let conditions = pod
        .status
        .iter()
        .flat_map(|status| status.conditions.iter().flatten());
    conditions
        .into_iter()
        .any(|one| one.type_ == "PodScheduled" && one.reason.as_deref() == Some("Unschedulable"))
}

/// The cluster as it is, one line for each node and pod.
pub(crate) async fn told(api: &KubeApi, workload: &Workload) -> String {
    let node_line = |machine: &Machine| {
        let Machine {
            name,
            zone,
            cpu_milli,
            memory_mebibytes,
            pods,
            ..
        } = machine;
        format!("node {name} zone {zone} cpu {cpu_milli} mem {memory_mebibytes} pods {pods}\n")
    };
    let active = active(api).await;
    let pod_line = |pod: &Pod| {
        let name = pod.metadata.name.as_deref()?;
        let (node, deployment) = (node(pod)?, workload.deployment_of(pod)?);
        let (owner, cpu, memory) = (
            &deployment.name,
            deployment.cpu_milli,
            deployment.memory_mebibytes,
        );
        Some(format!(
            "pod {NAMESPACE}/{name} on {node} owner Deployment/{owner} cpu {cpu} mem {memory}\n"
        ))
    };
    let nodes = workload.machines.iter().map(node_line);
    nodes.chain(active.iter().filter_map(pod_line)).collect()
}

async fn loads(api: &KubeApi, workload: &Workload) -> (u64, u64) {
    let machines = workload.machines.iter();
    let mut loads: BTreeMap<&str, u64> = machines.map(|one| (one.name.as_str(), 0)).collect();
    let active = active(api).await;
    for pod in &active {
        let asked = workload.deployment_of(pod).map_or(0, |one| one.cpu_milli);
        if let Some(load) = node(pod).and_then(|node| loads.get_mut(node)) {
            *load += asked;
        }
    }
    let mean = loads.values().sum::<u64>() / loads.len() as u64;
    let part = |load: Option<&u64>| load.copied().unwrap_or(0) * 1_000 / mean.max(1);
    (part(loads.values().min()), part(loads.values().max()))
}
