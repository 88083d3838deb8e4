//! The pods of a node that a drain has to move, and those that wait for a node.

use jiff::Timestamp;
use serde_json::Value;
use towpath_core::cluster::health::DisruptionBudget;
use towpath_core::fleet::Name;
use towpath_core::nodes::run::DrainedPod;

use crate::fields::{self, condition, labels, list, since, text};

/// A pod that has to go, and what an eviction of it names.
#[derive(Debug, Clone)]
pub struct PodOnNode {
    pub pod: DrainedPod,
    /// Its successor may have its name.
    pub uid: Name,
    /// A budget that lets no pod go now, as `namespace/name`.
    pub held_by: Option<Name>,
}

/// Those that a drain evicts, as the operator's own does: all but pods of DaemonSets, of the kubelet itself, and those that have ended.
pub fn pods_of(pods: &[Value], budgets: &[DisruptionBudget]) -> Vec<PodOnNode> {
    let goes = |pod: &&Value| {
        let owners = list(pod, "/metadata/ownerReferences");
        let stays = owners
            .iter()
            .any(|owner| matches!(text(owner, "/kind"), "DaemonSet" | "Node"));
        let is_mirror = fields::annotations(pod).contains_key("kubernetes.io/config.mirror");
        let has_ended = matches!(text(pod, "/status/phase"), "Succeeded" | "Failed");
        !stays && !is_mirror && !has_ended
    };
    pods.iter()
        .filter(goes)
        .map(|pod| one(pod, budgets))
        .collect()
}

fn one(pod: &Value, budgets: &[DisruptionBudget]) -> PodOnNode {
    let namespace = text(pod, "/metadata/namespace");
    let (labels, is_leaving) = (
        labels(pod),
        pod.pointer("/metadata/deletionTimestamp").is_some(),
    );
    let holds = |budget: &&DisruptionBudget| {
        let is_its = *budget.namespace == *namespace && budget.selector.matches(&labels);
        is_its && budget.allowed.known() == Some(&0)
    };
    let held_by = budgets.iter().find(holds).filter(|_| !is_leaving);
    PodOnNode {
        pod: DrainedPod {
            namespace: namespace.into(),
            name: text(pod, "/metadata/name").into(),
            is_leaving,
            refused: None,
        },
        uid: text(pod, "/metadata/uid").into(),
        held_by: held_by.map(|budget| format!("{namespace}/{}", budget.name).into()),
    }
}

/// Since when each pod waits that the scheduler has refused.
pub fn waiting_since(pods: &[Value]) -> Vec<Timestamp> {
    let refused = |pod: &Value| {
        let scheduled = condition(pod, "PodScheduled")?;
        let is_refused = text(scheduled, "/status") == "False"
            && text(scheduled, "/reason") == "Unschedulable"
            && text(pod, "/spec/nodeName").is_empty();
        is_refused.then(|| since(scheduled))
    };
    pods.iter().filter_map(refused).collect()
}
