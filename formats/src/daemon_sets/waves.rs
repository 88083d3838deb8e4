//! A DaemonSet in waves as the API has it: from its object, its revisions, its pods and the nodes to what the core judges.
//!
//! Nobody can list the nodes on which a DaemonSet has to run. The controller counts them, and pods name theirs. A node that is counted and
//! has no pod is one that waits for it. Nodes with a taint that its pods do not tolerate get no new pod, so theirs stays.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::Value;
use towpath_core::finding::{Finding, Place};
use towpath_core::fleet::Name;
use towpath_core::nodes::{
    DaemonNode, DaemonPod, DaemonSettings, DaemonView, counts_differ, not_observed,
};
use towpath_core::verdict::Reason;

use super::annotations::{self, RECORD, WAVES, WaveRecord};
use crate::fields::{self, condition, label, list, since, text};

/// The label of the revision, on pods and on ControllerRevisions.
const REVISION: &str = "controller-revision-hash";
const ROLE: &str = "node-role.kubernetes.io/";
/// Why a container waits that will not start by itself.
const BROKEN: [&str; 6] = [
    "CrashLoopBackOff",
    "ImagePullBackOff",
    "InvalidImageName",
    "CreateContainerConfigError",
    "CreateContainerError",
    "RunContainerError",
];
/// Taints of a node that is lost, not one that somebody keeps for others.
const LOST: [&str; 2] = [
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/unreachable",
];

/// What was read of a DaemonSet, in this order.
#[derive(Debug, Clone, Default)]
pub struct WaveObjects {
    pub daemon_set: Value,
    /// ControllerRevisions, pods and nodes; those of others are passed over.
    pub revisions: Vec<Value>,
    pub pods: Vec<Value>,
    pub nodes: Vec<Value>,
}

/// A DaemonSet that has opted in.
#[derive(Debug, Clone)]
pub struct WaveSet {
    pub namespace: Name,
    pub name: Name,
    pub uid: Name,
    /// Writes name it, so that they change only what was read.
    pub resource_version: Name,
    pub settings: DaemonSettings,
    pub record: Option<WaveRecord>,
    /// What we told last, as it is written there.
    pub status: Option<String>,
    /// What is seen; or why nothing can be done now.
    pub view: Result<DaemonView, Box<Reason>>,
    /// The uid of each pod.
    pub pods: BTreeMap<Name, Name>,
    /// The template of each revision, as a patch.
    pub templates: BTreeMap<Name, Value>,
}

/// Whether a DaemonSet has any annotation of waves, right or wrong.
pub fn has_asked(daemon_set: &Value) -> bool {
    let names = fields::annotations(daemon_set);
    let mut names = names.keys().filter(|name| name.starts_with(WAVES));
    names.any(|name| name != RECORD && name != annotations::STATUS)
}

/// Reads it; none if it has not opted in. What is wrong with its settings is refused.
pub fn read_waves(objects: &WaveObjects) -> Result<Option<WaveSet>, Vec<Finding>> {
    let set = &objects.daemon_set;
    let (namespace, name) = (
        text(set, "/metadata/namespace"),
        text(set, "/metadata/name"),
    );
    let place = Place::file(format!("DaemonSet {namespace}/{name}"));
    let said = annotations::read(&place, &fields::annotations(set))?;
    if !said.has_asked {
        return Ok(None);
    }
    if text(set, "/spec/updateStrategy/type") != "OnDelete" {
        let problem = "it has opted in to waves, and its updateStrategy is not OnDelete: the controller replaces its pods";
        let remedy = "set spec.updateStrategy to {type: OnDelete}, or remove the annotation";
        let finding = Finding::error("not-on-delete", place, problem, remedy);
        return Err(vec![finding]);
    }
    let uid = text(set, "/metadata/uid");
    let is_own = |object: &&Value| {
        let owners = object.pointer("/metadata/ownerReferences");
        let owners = owners.and_then(Value::as_array).into_iter().flatten();
        let mut uids = owners.map(|owner| text(owner, "/uid"));
        !uid.is_empty() && uids.any(|owner| owner == uid)
    };
    let pods: Vec<&Value> = objects.pods.iter().filter(is_own).collect();
    let revisions: Vec<&Value> = objects.revisions.iter().filter(is_own).collect();
    let uids = pods.iter().map(|pod| {
        let pointer = ["/metadata/name", "/metadata/uid"];
        let [name, uid] = pointer.map(|pointer| text(pod, pointer).into());
        (name, uid)
    });
    let templates = revisions.iter().map(|revision| {
        let data = revision.get("data").cloned().unwrap_or_default();
        (label(revision, REVISION).into(), data)
    });
    Ok(Some(WaveSet {
        namespace: namespace.into(),
        name: name.into(),
        uid: uid.into(),
        resource_version: text(set, "/metadata/resourceVersion").into(),
        settings: said.settings,
        record: said.record,
        status: said.status,
        view: view(set, &revisions, &pods, &objects.nodes).map_err(Box::new),
        pods: uids.collect(),
        templates: templates.collect(),
    }))
}

fn view(
    set: &Value,
    revisions: &[&Value],
    pods: &[&Value],
    nodes: &[Value],
) -> Result<DaemonView, Reason> {
    let number = |pointer: &str| set.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
    let is_observed = number("/metadata/generation") == number("/status/observedGeneration");
    let newest = revisions
        .iter()
        .max_by_key(|revision| revision.get("revision").and_then(Value::as_i64));
    let Some(newest) = newest.filter(|_| is_observed) else {
        return Err(not_observed());
    };
    let nodes: BTreeMap<&str, &Value> = nodes
        .iter()
        .map(|node| (text(node, "/metadata/name"), node))
        .collect();
    let (mut seen, mut own) = (BTreeMap::<&str, DaemonNode>::new(), Vec::new());
    let mut lost = BTreeSet::new();
    for pod in pods {
        let on = node_of(pod);
        // Pods of a node that is gone go with it.
        let Some(node) = nodes.get(on) else {
            continue;
        };
        match tolerance(pod, node) {
            Tolerance::KeptOff => continue,
            Tolerance::Lost => {
                lost.insert(on);
            }
            Tolerance::All => {}
        }
        seen.entry(on).or_insert_with(|| daemon_node(node));
        own.push(daemon_pod(pod, on));
    }
    let counted = u32::try_from(number("/status/desiredNumberScheduled")).unwrap_or(u32::MAX);
    let running = u32::try_from(seen.len() - lost.len()).unwrap_or(u32::MAX);
    if running > counted {
        return Err(counts_differ(counted, running));
    }
    let waiting = (running..counted).map(|number| DaemonNode {
        name: format!("(a node without a pod, {})", number - running + 1).into(),
        zone: "".into(),
        arch: "".into(),
        pool: "".into(),
        is_ready: true,
    });
    Ok(DaemonView {
        wanted: label(newest, REVISION).into(),
        nodes: seen.into_values().chain(waiting).collect(),
        pods: own,
    })
}

/// Whether a node would get a new pod like this.
enum Tolerance {
    All,
    /// Not while the node is lost.
    Lost,
    KeptOff,
}

fn tolerance(pod: &Value, node: &Value) -> Tolerance {
    let tolerations = list(pod, "/spec/tolerations");
    let tolerates = |taint: &Value| {
        tolerations.iter().any(|own| {
            let is_any_or_same = |name: &str| {
                let own = text(own, name);
                own.is_empty() || own == text(taint, name)
            };
            let exists = text(own, "/operator") == "Exists";
            is_any_or_same("/key")
                && is_any_or_same("/effect")
                && (exists || text(own, "/value") == text(taint, "/value"))
        })
    };
    let taints = list(node, "/spec/taints");
    let keep_off: Vec<&Value> = taints
        .iter()
        .filter(|taint| text(taint, "/effect") != "PreferNoSchedule" && !tolerates(taint))
        .collect();
    let is_of_lost = |taint: &&Value| LOST.contains(&text(taint, "/key"));
    match (keep_off.is_empty(), keep_off.iter().all(is_of_lost)) {
        (true, _) => Tolerance::All,
        (false, true) => Tolerance::Lost,
        (false, false) => Tolerance::KeptOff,
    }
}

fn daemon_node(node: &Value) -> DaemonNode {
    let zones = [
        "topology.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/zone",
    ];
    let mut zones = zones.iter().map(|name| label(node, name));
    let labels = node.pointer("/metadata/labels").and_then(Value::as_object);
    let roles: BTreeSet<&str> = labels
        .into_iter()
        .flat_map(|labels| labels.keys())
        .filter_map(|name| name.strip_prefix(ROLE))
        .collect();
    let roles: Vec<&str> = roles.into_iter().collect();
    DaemonNode {
        name: text(node, "/metadata/name").into(),
        zone: zones.find(|zone| !zone.is_empty()).unwrap_or("").into(),
        arch: label(node, "kubernetes.io/arch").into(),
        pool: roles.join(",").into(),
        is_ready: ready_since(node).is_some(),
    }
}

fn daemon_pod(pod: &Value, node: &str) -> DaemonPod {
    let created = text(pod, "/metadata/creationTimestamp").parse().ok();
    DaemonPod {
        name: text(pod, "/metadata/name").into(),
        node: node.into(),
        revision: label(pod, REVISION).into(),
        // The API always sets it; without it, no patience would ever end.
        created_at: created.unwrap_or(Timestamp::UNIX_EPOCH),
        ready_since: ready_since(pod),
        broken: broken(pod).map(Into::into),
        is_leaving: pod.pointer("/metadata/deletionTimestamp").is_some(),
    }
}

/// Why it will not become ready.
fn broken(pod: &Value) -> Option<&str> {
    if text(pod, "/status/phase") == "Failed" {
        return Some("Failed");
    }
    let lists = ["initContainerStatuses", "containerStatuses"];
    let containers = lists.into_iter().flat_map(|list| {
        let list = pod.pointer(&format!("/status/{list}"));
        list.and_then(Value::as_array).into_iter().flatten()
    });
    let mut reasons = containers.map(|container| text(container, "/state/waiting/reason"));
    reasons.find(|reason| BROKEN.contains(reason))
}

/// The node of a pod. One that is not bound yet names it in its affinity, as the DaemonSet controller writes it.
fn node_of(pod: &Value) -> &str {
    const WANTED: &str = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0/matchFields/0/values/0";
    match text(pod, "/spec/nodeName") {
        "" => text(pod, WANTED),
        name => name,
    }
}

/// Since when it is ready.
fn ready_since(of: &Value) -> Option<Timestamp> {
    let own = condition(of, "Ready")?;
    (text(own, "/status") == "True").then(|| since(own))
}
