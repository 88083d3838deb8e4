//! Where pods may run: selectors, affinities, tolerations, ports and volumes of pods; taints of nodes; nodes that volumes reach.
//!
//! What is asked for and not simulated is kept in words, so that it is said.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use towpath_core::cluster::health::{Expression, Is};
use towpath_core::cluster::placement::{
    ApartFrom, Domain, OLD_ZONE_LABEL, Placement, Taint, TaintEffect, Toleration, Volume,
    ZONE_LABEL,
};

use super::cluster_version::text;
use super::documents::Object;
use super::items;
use super::pods::{expression, labels, pairs, selector};
use crate::read::{Node, Reader, Value};

const HOST_LABEL: &str = "kubernetes.io/hostname";

pub(super) fn of_pod(reader: &mut Reader, spec: Option<&Node>) -> Placement {
    let selector = spec.and_then(|spec| spec.get("nodeSelector"));
    let mut placement = Placement {
        labels: selector.map_or_else(Default::default, pairs),
        tolerations: items(reader, spec, "tolerations")
            .iter()
            .map(toleration)
            .collect(),
        claims: items(reader, spec, "volumes")
            .iter()
            .filter_map(|volume| volume.get("persistentVolumeClaim"))
            .map(|claim| Arc::from(text(claim, "claimName")))
            .collect(),
        ..Placement::default()
    };
    for container in items(reader, spec, "containers") {
        for port in items(reader, Some(container), "ports") {
            let port = port.get("hostPort").map(|port| &port.value);
            if let Some(Value::Whole(port @ 1..)) = port {
                placement.host_ports.insert(port.unsigned_abs());
            }
        }
        // Of a device, and of huge pages, a node has only so many.
        let resources = container.get("resources");
        let requests = resources.and_then(|resources| resources.get("requests"));
        let asked = requests.map_or(&[][..], Node::fields);
        let is_extended = |name: &str| name.contains('/') || name.starts_with("hugepages-");
        if asked.iter().any(|(name, _)| is_extended(&name.text)) {
            placement.others.insert("extended resources".into());
        }
    }
    let affinity = spec.and_then(|spec| spec.get("affinity"));
    let of_nodes = affinity.and_then(|affinity| affinity.get("nodeAffinity"));
    let required = of_nodes.and_then(|of| of.get("requiredDuringSchedulingIgnoredDuringExecution"));
    placement.terms = terms(reader, required, &mut placement.others);
    apart(reader, affinity, &mut placement);
    for constraint in items(reader, spec, "topologySpreadConstraints") {
        let what = match text(constraint, "whenUnsatisfiable") {
            "ScheduleAnyway" => "topology spread constraints of their own",
            _ => "topology spread constraints that must hold",
        };
        placement.others.insert(what.into());
    }
    placement
}

/// The pods that it must not share a node or a zone with, and what else it says about other pods.
fn apart(reader: &mut Reader, affinity: Option<&Node>, placement: &mut Placement) {
    let part = |name: &str| affinity.and_then(|affinity| affinity.get(name));
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
    if !items(reader, part("podAffinity"), required).is_empty() {
        placement.others.insert("pod affinity".into());
    }
    let prefers = ["nodeAffinity", "podAffinity", "podAntiAffinity"]
        .into_iter()
        .any(|kind| !items(reader, part(kind), preferred).is_empty());
    if prefers {
        placement.others.insert("preferred affinities".into());
    }
    for term in items(reader, part("podAntiAffinity"), required) {
        let within = match text(term, "topologyKey") {
            HOST_LABEL => Some(Domain::Host),
            ZONE_LABEL | OLD_ZONE_LABEL => Some(Domain::Zone),
            _ => None,
        };
        let is_own_namespace = items(reader, Some(term), "namespaces").is_empty()
            && term.get("namespaceSelector").is_none();
        match within.filter(|_| is_own_namespace) {
            Some(within) => placement.apart_from.push(ApartFrom {
                pods: selector(reader, term.given("labelSelector")),
                within,
            }),
            None => drop(
                placement
                    .others
                    .insert("pod anti-affinity over other domains or namespaces".into()),
            ),
        }
    }
}

/// Terms of a required node affinity. One with something that we do not know is met by nothing that we know.
fn terms(
    reader: &mut Reader,
    required: Option<&Node>,
    others: &mut BTreeSet<Arc<str>>,
) -> Vec<Vec<Expression>> {
    let mut terms = Vec::new();
    for term in items(reader, required, "nodeSelectorTerms") {
        let mut conditions = Vec::new();
        for node in items(reader, Some(term), "matchExpressions") {
            match text(node, "operator") {
                "Gt" | "Lt" => {
                    others.insert("node affinity with Gt or Lt".into());
                    conditions.push(nothing());
                }
                _ => conditions.extend(expression(reader, node)),
            }
        }
        if !items(reader, Some(term), "matchFields").is_empty() {
            others.insert("node affinity by fields".into());
            conditions.push(nothing());
        }
        terms.push(conditions);
    }
    terms
}

/// A condition that no node meets.
fn nothing() -> Expression {
    Expression {
        label: HOST_LABEL.into(),
        is: Is::In(BTreeSet::new()),
    }
}

fn toleration(node: &Node) -> Toleration {
    let given = |name: &str| Some(text(node, name)).filter(|text| !text.is_empty());
    let is_any_value = text(node, "operator") == "Exists";
    Toleration {
        key: given("key").map(Arc::from),
        value: (!is_any_value).then(|| text(node, "value").into()),
        effect: given("effect").and_then(effect),
    }
}

fn effect(text: &str) -> Option<TaintEffect> {
    match text {
        "NoSchedule" => Some(TaintEffect::NoSchedule),
        "PreferNoSchedule" => Some(TaintEffect::PreferNoSchedule),
        "NoExecute" => Some(TaintEffect::NoExecute),
        _ => None,
    }
}

pub(super) fn taints(reader: &mut Reader, spec: Option<&Node>) -> Vec<Taint> {
    let taints = items(reader, spec, "taints").iter();
    // The cluster itself marks cordoned nodes so; that is read elsewhere.
    let is_lasting = |taint: &&Node| text(taint, "key") != "node.kubernetes.io/unschedulable";
    taints
        .filter(is_lasting)
        .map(|taint| Taint {
            key: text(taint, "key").into(),
            value: text(taint, "value").into(),
            // An effect that we do not know keeps pods away.
            effect: effect(text(taint, "effect")).unwrap_or(TaintEffect::NoSchedule),
        })
        .collect()
}

pub(super) fn created_at(object: &Object) -> Option<Timestamp> {
    let metadata = object.node.get("metadata")?;
    text(metadata, "creationTimestamp").parse().ok()
}

pub(super) fn volume(reader: &mut Reader, object: &Object) -> Volume {
    let spec = object.node.get("spec");
    let claim = spec.and_then(|spec| spec.get("claimRef"));
    let claim = claim.map(|claim| (text(claim, "namespace").into(), text(claim, "name").into()));
    let affinity = spec.and_then(|spec| spec.get("nodeAffinity"));
    let required = affinity.and_then(|affinity| affinity.get("required"));
    let mut terms = terms(reader, required, &mut BTreeSet::new());
    // Volumes from before node affinities have the zone as a label.
    let own = labels(object.node.get("metadata"));
    if terms.is_empty() {
        let zone = [ZONE_LABEL, OLD_ZONE_LABEL]
            .into_iter()
            .find_map(|label| Some((label, own.get(label)?)));
        terms.extend(zone.map(|(label, zones)| {
            let zones = zones.split("__").map(Arc::from).collect();
            vec![Expression {
                label: label.into(),
                is: Is::In(zones),
            }]
        }));
    }
    Volume {
        name: object.name.clone(),
        claim,
        terms,
    }
}
