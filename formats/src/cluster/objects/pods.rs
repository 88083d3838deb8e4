//! Pods and PodDisruptionBudgets: what a drain moves, how much it asks for, and who stops it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use towpath_core::cluster::Fact;
use towpath_core::cluster::health::{
    Amount, DisruptionBudget, Expression, Is, Pod, Room, Selector,
};

use super::cluster_version::text;
use super::documents::Object;
use super::{AGAIN, items, placement, quantity};
use crate::read::{Node, Reader, Value};

/// The kubelet's own pods have this annotation.
const MIRROR: &str = "kubernetes.io/config.mirror";

pub(super) fn pod(reader: &mut Reader, object: &Object) -> Pod {
    let node = &object.node;
    let (metadata, spec, status) = (node.get("metadata"), node.get("spec"), node.get("status"));
    let owner = owner(reader, metadata);
    let annotations = metadata.and_then(|metadata| metadata.get("annotations"));
    let is_mirror = annotations.is_some_and(|all| all.given(MIRROR).is_some());
    let is_kept = matches!(&owner, Some(("DaemonSet" | "Node", _)));
    let labels = labels(metadata);
    let phase = status.map_or("", |status| text(status, "phase"));
    let scheduled_on = spec.map_or("", |spec| text(spec, "nodeName"));
    let conditions = items(reader, status, "conditions");
    let is_ready = |one: &Node| text(one, "type") == "Ready" && text(one, "status") == "True";
    Pod {
        namespace: object.namespace.clone(),
        name: object.name.clone(),
        node: Some(scheduled_on)
            .filter(|name| !name.is_empty())
            .map(Arc::from),
        owner: owner.map(|(kind, name)| made_by(kind, name, &labels)),
        labels,
        requests: requests(reader, spec),
        stays: is_mirror || is_kept,
        has_ended: matches!(phase, "Succeeded" | "Failed"),
        is_ready: conditions.iter().any(is_ready),
        placement: placement::of_pod(reader, spec),
    }
}

/// The kind and name of who made it.
pub(super) fn owner<'n>(
    reader: &mut Reader,
    metadata: Option<&'n Node>,
) -> Option<(&'n str, &'n str)> {
    let owners = items(reader, metadata, "ownerReferences");
    let is_controller =
        |owner: &&Node| owner.get("controller").map(|node| &node.value) == Some(&Value::Flag(true));
    let owner = owners.iter().find(is_controller).or(owners.first())?;
    Some((text(owner, "kind"), text(owner, "name")))
}

/// People know the Deployment, not its ReplicaSets.
fn made_by(kind: &str, name: &str, labels: &BTreeMap<Arc<str>, Arc<str>>) -> Arc<str> {
    let hash = labels.get("pod-template-hash");
    let deployment = hash.and_then(|hash| name.strip_suffix(&**hash)?.strip_suffix('-'));
    match (kind, deployment) {
        ("ReplicaSet", Some(deployment)) => format!("Deployment {deployment}").into(),
        _ => format!("{kind} {name}").into(),
    }
}

pub(super) fn labels(metadata: Option<&Node>) -> BTreeMap<Arc<str>, Arc<str>> {
    let labels = metadata.and_then(|metadata| metadata.get("labels"));
    labels.map_or_else(BTreeMap::new, pairs)
}

/// A mapping from texts to texts.
pub(super) fn pairs(node: &Node) -> BTreeMap<Arc<str>, Arc<str>> {
    let pair = |(key, value): &(crate::read::FieldName, Node)| {
        Some((Arc::from(&*key.text), Arc::from(value.as_text()?)))
    };
    node.fields().iter().filter_map(pair).collect()
}

/// What the scheduler keeps for it: its containers together, or the largest that runs before them.
fn requests(reader: &mut Reader, spec: Option<&Node>) -> Room {
    let (mut sidecars, mut largest) = (Room::default(), Room::default());
    for container in items(reader, spec, "initContainers") {
        let own = of_container(reader, container);
        match text(container, "restartPolicy") {
            "Always" => sidecars = sidecars.and(own),
            _ => largest = larger(largest, sidecars.and(own)),
        }
    }
    let mut together = sidecars;
    for container in items(reader, spec, "containers") {
        together = together.and(of_container(reader, container));
    }
    let whole = spec.and_then(|spec| spec.get("resources"));
    let asked = match whole.and_then(|whole| whole.get("requests")) {
        Some(asked) => room(reader, Some(asked)),
        None => larger(together, largest),
    };
    let overhead = spec.and_then(|spec| spec.get("overhead"));
    let overhead = room(reader, overhead);
    Room {
        pods: 1,
        ..asked.and(overhead)
    }
}

fn of_container(reader: &mut Reader, container: &Node) -> Room {
    let resources = container.get("resources");
    room(
        reader,
        resources.and_then(|resources| resources.get("requests")),
    )
}

pub(super) fn room(reader: &mut Reader, node: Option<&Node>) -> Room {
    Room {
        cpu_milli: quantity::milli(reader, node, "cpu"),
        memory_bytes: quantity::whole(reader, node, "memory"),
        pods: quantity::whole(reader, node, "pods"),
    }
}

fn larger(one: Room, other: Room) -> Room {
    Room {
        cpu_milli: one.cpu_milli.max(other.cpu_milli),
        memory_bytes: one.memory_bytes.max(other.memory_bytes),
        pods: one.pods.max(other.pods),
    }
}

pub(super) fn budget(reader: &mut Reader, object: &Object) -> DisruptionBudget {
    let (spec, status) = (object.node.get("spec"), object.node.get("status"));
    let mut amount = |name: &str| {
        let node = spec.and_then(|spec| spec.get(name))?;
        amount(reader, node)
    };
    let (min_available, max_unavailable) = (amount("minAvailable"), amount("maxUnavailable"));
    let counts = [
        "disruptionsAllowed",
        "currentHealthy",
        "desiredHealthy",
        "expectedPods",
    ];
    let counts = counts.map(|name| count(reader, status, name));
    // The API writes zeros before anybody has counted.
    let is_seen = status.is_some_and(|status| status.get("observedGeneration").is_some());
    let is_counted = is_seen || counts.iter().any(|count| matches!(count, Fact::Known(1..)));
    let [allowed, healthy, desired, expected] = match is_counted {
        true => counts,
        false => [const { Fact::Unknown }; 4],
    };
    DisruptionBudget {
        namespace: object.namespace.clone(),
        name: object.name.clone(),
        min_available,
        max_unavailable,
        allowed,
        healthy,
        desired,
        expected,
        selector: budget_selector(reader, &object.node),
    }
}

/// `policy/v1beta1` was the first version. There an empty selector selects nothing, as the API server has it when it evicts.
fn budget_selector(reader: &mut Reader, object: &Node) -> Selector {
    let spec = object.get("spec");
    let read = selector(reader, spec.and_then(|spec| spec.given("selector")));
    let is_old = text(object, "apiVersion") == "policy/v1beta1";
    match read {
        Selector::Those {
            labels,
            expressions,
        } if is_old && labels.is_empty() && expressions.is_empty() => Selector::None,
        read => read,
    }
}

/// A count that is not there is unknown, not zero.
pub(super) fn count(reader: &mut Reader, parent: Option<&Node>, name: &str) -> Fact<u64> {
    let Some(node) = parent.and_then(|parent| parent.get(name)) else {
        return Fact::Unknown;
    };
    match node.value {
        Value::Whole(number) if number >= 0 => Fact::Known(number.unsigned_abs()),
        _ => {
            let problem = format!("a count belongs here, and this is {}", node.kind());
            reader.error("bad-number", node, problem, AGAIN);
            Fact::Unknown
        }
    }
}

pub(super) fn amount(reader: &mut Reader, node: &Node) -> Option<Amount> {
    let read = match &node.value {
        Value::Whole(number) => u64::try_from(*number).ok().map(Amount::Count),
        Value::Text(text) => match text.strip_suffix('%') {
            Some(percent) => percent.parse().ok().map(Amount::Percent),
            None => text.parse().ok().map(Amount::Count),
        },
        _ => None,
    };
    if read.is_none() {
        let problem = format!(
            "a number or a percentage belongs here, and this is {}",
            node.kind()
        );
        reader.error("bad-number", node, problem, AGAIN);
    }
    read
}

/// No selector selects nothing; an empty one selects every pod of the namespace.
pub(super) fn selector(reader: &mut Reader, node: Option<&Node>) -> Selector {
    let Some(node) = node.filter(|node| !node.is_nothing()) else {
        return Selector::None;
    };
    let labels = node.get("matchLabels").map_or_else(BTreeMap::new, pairs);
    let expressions = items(reader, Some(node), "matchExpressions");
    let expressions = expressions
        .iter()
        .filter_map(|node| expression(reader, node))
        .collect();
    Selector::Those {
        labels,
        expressions,
    }
}

pub(super) fn expression(reader: &mut Reader, node: &Node) -> Option<Expression> {
    let values = items(reader, Some(node), "values").iter();
    let values: BTreeSet<Arc<str>> = values.filter_map(Node::as_text).map(Arc::from).collect();
    let is = match text(node, "operator") {
        "In" => Is::In(values),
        "NotIn" => Is::NotIn(values),
        "Exists" => Is::There,
        "DoesNotExist" => Is::NotThere,
        _ => {
            let problem = "an operator of a selector is In, NotIn, Exists or DoesNotExist";
            reader.error("bad-selector", node, problem, AGAIN);
            return None;
        }
    };
    let label = text(node, "key").into();
    Some(Expression { label, is })
}
