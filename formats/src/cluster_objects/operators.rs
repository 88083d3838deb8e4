//! ClusterServiceVersions: the versions of OpenShift and Kubernetes that an optional operator is made for.
//!
//! They stand in the annotation `olm.properties`, a JSON list of types and values. `olm.maxOpenShiftVersion` is OLM's own; the other three are ours, and
//! read in the same way: a minor version, both ends count, and what is wrong or stands twice allows nothing.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use towpath_core::domain::Minor;
use towpath_core::domain::readiness::{Operator, Range};

use super::documents::Object;
use crate::record::{Reader, shown};
use crate::tree::{Node, Value};

const MAX_OPENSHIFT: &str = "olm.maxOpenShiftVersion";
const MIN_OPENSHIFT: &str = "towpath.minOpenShiftVersion";
const MAX_KUBERNETES: &str = "towpath.maxKubeVersion";
const MIN_KUBERNETES: &str = "towpath.minKubeVersion";

/// An operator, and whether this is but a copy of it for another namespace.
#[derive(Debug)]
pub(super) struct Installed {
    operator: Operator,
    is_copy: bool,
}

#[derive(Deserialize)]
struct Property<'a> {
    r#type: String,
    #[serde(borrow)]
    value: Option<&'a RawValue>,
}

pub(super) fn read(reader: &mut Reader, object: &Object) -> Installed {
    let metadata = object.node.get("metadata");
    let field = |of: &str, name: &str| metadata.and_then(|metadata| metadata.get(of)).and_then(|map| map.get(name));
    let mut problems = Vec::new();
    let properties = field("annotations", "olm.properties").and_then(|node| properties(reader, node, &mut problems));
    let properties = properties.unwrap_or_default();
    let mut limit = |name: &str| match limit(&properties, name) {
        Ok(minor) => minor,
        Err(problem) => {
            problems.push(problem.into());
            None
        }
    };
    let openshift = Range { min: limit(MIN_OPENSHIFT), max: limit(MAX_OPENSHIFT) };
    let kubernetes = Range { min: limit(MIN_KUBERNETES), max: limit(MAX_KUBERNETES) };
    let (name, namespace) = (object.name.clone(), object.namespace.clone());
    Installed {
        operator: Operator { name, namespace, openshift, kubernetes, problems },
        is_copy: field("labels", "olm.copiedFrom").is_some(),
    }
}

/// Each operator once: copies are left out where another of that name says the same.
pub(super) fn once(mut installed: Vec<Installed>) -> Vec<Operator> {
    let says = |operator: &Operator| (operator.openshift, operator.kubernetes, operator.problems.clone());
    installed.sort_by(|a, b| (a.is_copy, &a.operator.namespace).cmp(&(b.is_copy, &b.operator.namespace)));
    let mut operators: Vec<Operator> = Vec::new();
    for Installed { operator, is_copy } in installed {
        let same = |other: &Operator| other.name == operator.name && says(other) == says(&operator);
        if !is_copy || !operators.iter().any(same) {
            operators.push(operator);
        }
    }
    operators.sort_by(|a, b| (&a.name, &a.namespace).cmp(&(&b.name, &b.namespace)));
    operators
}

/// Types and values; a list that cannot be read may hold any limit.
fn properties(reader: &mut Reader, node: &Node, problems: &mut Vec<Arc<str>>) -> Option<Vec<(String, String)>> {
    let Value::Text(text) = &node.value else {
        reader.error("wrong-kind", node, format!("a text belongs here, and this is {}", node.kind()), super::AGAIN);
        return None;
    };
    match serde_json::from_str::<Vec<Property<'_>>>(text) {
        Ok(list) => {
            let raw = |value: Option<&RawValue>| value.map_or_else(String::new, |value| value.get().to_owned());
            Some(list.into_iter().map(|property| (property.r#type, raw(property.value))).collect())
        }
        Err(_) => {
            problems.push("something in olm.properties that cannot be read".into());
            None
        }
    }
}

/// A limit as it is written, with quotes or without: as a number 4.10 would be 4.1.
fn limit(properties: &[(String, String)], name: &str) -> Result<Option<Minor>, String> {
    let mut values = properties.iter().filter(|(property, _)| property == name).map(|(_, value)| value);
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(_), Some(_)) => Err(format!("{name} twice")),
        (Some(value), None) => match Minor::parse(value.trim_matches('"')) {
            Some(minor) => Ok(Some(minor)),
            None => Err(format!("{name} is {}, which is no minor version", shown(value))),
        },
    }
}
