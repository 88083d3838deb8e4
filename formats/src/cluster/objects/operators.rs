//! ClusterServiceVersions: the versions of OpenShift and Kubernetes that an optional operator
//! supports.
//!
//! OLM reads them from the annotation `operatorframework.io/properties`, which it fills from the
//! bundle. Authors write `olm.properties`. We read both, and the narrower counts.
//! `olm.maxOpenShiftVersion` is OLM's own property. The others are read in the same way: a minor
//! version, both ends included. A property that is wrong, or that one annotation has twice, allows
//! nothing. `spec.minKubeVersion` is OLM's own, too; its patch number is ignored.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use towpath_core::cluster::objects::{Operator, Range};
use towpath_core::version::Minor;

use super::documents::Object;
use super::lifecycles::Installed;
use crate::read::{Node, Reader, Value, shown};

const ANNOTATIONS: [&str; 2] = ["operatorframework.io/properties", "olm.properties"];

const MAX_OPENSHIFT: &str = "olm.maxOpenShiftVersion";
const MIN_OPENSHIFT: &str = "towpath.minOpenShiftVersion";
const MAX_KUBERNETES: &str = "towpath.maxKubeVersion";
const OLM_MAX_KUBERNETES: &str = "olm.maxKubeVersion";
const MIN_KUBERNETES: &str = "towpath.minKubeVersion";

/// An operator, and whether this is but a copy of it for another namespace.
#[derive(Debug)]
pub(super) struct InstalledOperator {
    operator: Operator,
    is_copy: bool,
}

/// OLM's own annotation has the list in a field.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Properties<'a> {
    #[serde(borrow)]
    properties: Option<Vec<Property<'a>>>,
}

#[derive(Deserialize)]
struct Property<'a> {
    r#type: String,
    #[serde(borrow)]
    value: Option<&'a RawValue>,
}

pub(super) fn read(reader: &mut Reader, object: &Object) -> InstalledOperator {
    let metadata = object.node.get("metadata");
    let field = |of: &str, name: &str| {
        metadata
            .and_then(|metadata| metadata.get(of))
            .and_then(|map| map.get(name))
    };
    let (name, namespace) = (object.name.clone(), object.namespace.clone());
    let (openshift, kubernetes) = (Range::default(), Range::default());
    let mut operator = Operator {
        name,
        namespace,
        openshift,
        kubernetes,
        problems: Vec::new(),
    };
    for annotation in ANNOTATIONS {
        if let Some(node) = field("annotations", annotation) {
            narrow(reader, node, annotation, &mut operator);
        }
    }
    let spec = object.node.get("spec");
    if let Some(node) = spec.and_then(|spec| spec.get("minKubeVersion")) {
        lowest_kubernetes(reader, node, &mut operator);
    }
    operator.problems.sort();
    operator.problems.dedup();
    InstalledOperator {
        operator,
        is_copy: field("labels", "olm.copiedFrom").is_some(),
    }
}

/// The package and version that it was installed from; none for a copy in another namespace.
pub(super) fn installed(reader: &mut Reader, object: &Object) -> Option<Installed> {
    #[derive(Deserialize)]
    struct Package {
        #[serde(rename = "packageName")]
        name: String,
        version: String,
    }
    let metadata = object.node.get("metadata");
    let of = |map: &str, name: &str| metadata?.get(map)?.get(name);
    if of("labels", "olm.copiedFrom").is_some() {
        return None;
    }
    // What is wrong with it is said where its limits are read.
    let listed = ANNOTATIONS.iter().filter_map(|annotation| {
        let node = of("annotations", annotation)?;
        properties(reader, node, annotation, &mut Vec::new())
    });
    let mut listed = listed.flatten().filter(|(name, _)| name == "olm.package");
    let package = listed.find_map(|(_, value)| serde_json::from_str::<Package>(&value).ok());
    let (package, version) = match package {
        Some(package) => (package.name, package.version),
        None => {
            let (package, version) = object.name.split_once(".v")?;
            (package.to_owned(), version.to_owned())
        }
    };
    Some(Installed {
        name: object.name.clone(),
        namespace: object.namespace.clone(),
        package: package.into(),
        version: version.into(),
    })
}

/// Adds what an annotation says.
fn narrow(reader: &mut Reader, node: &Node, annotation: &str, operator: &mut Operator) {
    let problems = &mut operator.problems;
    let properties = properties(reader, node, annotation, problems).unwrap_or_default();
    let mut limit = |name: &str| match limit(&properties, name) {
        Ok(minor) => minor,
        Err(problem) => {
            problems.push(problem.into());
            None
        }
    };
    let (min, max) = (limit(MIN_OPENSHIFT), limit(MAX_OPENSHIFT));
    operator.openshift = narrower(operator.openshift, Range { min, max });
    let (min, max) = (limit(MIN_KUBERNETES), limit(MAX_KUBERNETES));
    operator.kubernetes = narrower(operator.kubernetes, Range { min, max });
    let (min, max) = (None, limit(OLM_MAX_KUBERNETES));
    operator.kubernetes = narrower(operator.kubernetes, Range { min, max });
}

/// Adds OLM's own lowest Kubernetes: `1.16.3` is 1.16. An empty text is none.
fn lowest_kubernetes(reader: &mut Reader, node: &Node, operator: &mut Operator) {
    let Some(text) = reader.text(node, "a lowest Kubernetes").map(str::trim) else {
        return;
    };
    let mut parts = text.strip_prefix('v').unwrap_or(text).splitn(3, '.');
    let minor = parts.next().zip(parts.next());
    match minor.and_then(|(major, minor)| Minor::parse(&format!("{major}.{minor}"))) {
        Some(minor) => {
            let min = Some(minor);
            operator.kubernetes = narrower(operator.kubernetes, Range { min, max: None });
        }
        None if text.is_empty() => {}
        None => {
            let problem = format!("minKubeVersion is {:?}, which is no version", shown(text));
            operator.problems.push(problem.into());
        }
    }
}

fn narrower(one: Range, other: Range) -> Range {
    Range {
        min: one.min.max(other.min),
        max: one.max.into_iter().chain(other.max).min(),
    }
}

/// Each operator once: copies are left out where another of that name says the same.
pub(super) fn once(mut installed: Vec<InstalledOperator>) -> Vec<Operator> {
    let says = |operator: &Operator| {
        (
            operator.openshift,
            operator.kubernetes,
            operator.problems.clone(),
        )
    };
    installed.sort_by(|a, b| {
        (a.is_copy, &a.operator.namespace).cmp(&(b.is_copy, &b.operator.namespace))
    });
    let mut operators: Vec<Operator> = Vec::new();
    for InstalledOperator { operator, is_copy } in installed {
        let same = |other: &Operator| other.name == operator.name && says(other) == says(&operator);
        if !is_copy || !operators.iter().any(same) {
            operators.push(operator);
        }
    }
    operators.sort_by(|a, b| (&a.name, &a.namespace).cmp(&(&b.name, &b.namespace)));
    operators
}

/// Types and values; a list that cannot be read may hold any limit.
fn properties(
    reader: &mut Reader,
    node: &Node,
    annotation: &str,
    problems: &mut Vec<Arc<str>>,
) -> Option<Vec<(String, String)>> {
    let Value::Text(text) = &node.value else {
        reader.error(
            "wrong-kind",
            node,
            format!("a text belongs here, and this is {}", node.kind()),
            super::AGAIN,
        );
        return None;
    };
    let list = match text.trim_start().starts_with('{') {
        true => serde_json::from_str::<Properties<'_>>(text)
            .map(|all| all.properties.unwrap_or_default()),
        false => serde_json::from_str::<Vec<Property<'_>>>(text),
    };
    match list {
        Ok(list) => {
            let raw = |value: Option<&RawValue>| {
                value.map_or_else(String::new, |value| value.get().to_owned())
            };
            Some(
                list.into_iter()
                    .map(|property| (property.r#type, raw(property.value)))
                    .collect(),
            )
        }
        Err(_) => {
            problems.push(format!("something in {annotation} that cannot be read").into());
            None
        }
    }
}

/// A limit as it is written, with quotes or without: as a number 4.10 would be 4.1.
fn limit(properties: &[(String, String)], name: &str) -> Result<Option<Minor>, String> {
    let mut values = properties
        .iter()
        .filter(|(property, _)| property == name)
        .map(|(_, value)| value);
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(_), Some(_)) => Err(format!("{name} twice")),
        (Some(value), None) => match tolerant(value.trim_matches('"')) {
            Some(minor) => Ok(Some(minor)),
            None => Err(format!(
                "{name} is {}, which is no minor version",
                shown(value)
            )),
        },
    }
}

/// As OLM reads versions: `4.9`, `v4.9` and `4.9.0` are 4.9, and `4` is 4.0. A patch other than the first is no limit of minor versions.
fn tolerant(text: &str) -> Option<Minor> {
    let text = text.trim();
    let mut parts = text
        .strip_prefix('v')
        .unwrap_or(text)
        .split('.')
        .map(number);
    let (major, minor, patch) = (
        parts.next()??,
        parts.next().unwrap_or(Some(0))?,
        parts.next().unwrap_or(Some(0))?,
    );
    (patch == 0 && parts.next().is_none()).then(|| Minor::new(major, minor))
}

fn number(digits: &str) -> Option<u64> {
    digits
        .bytes()
        .all(|digit| digit.is_ascii_digit())
        .then(|| digits.parse().ok())
        .flatten()
}
