//! InstallPlans that wait for approval, the network's type, and who sets the container runtime.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use towpath_core::cluster::health::InstallPlan;

use super::cluster_version::text;
use super::documents::Object;
use super::items;
use crate::read::{Node, Reader, Value};

/// Where CRI-O reads its settings.
const CRIO_SETTINGS: &str = "/etc/crio/";

/// An InstallPlan, and what decides whether it still matters.
pub(super) struct AnyPlan {
    plan: InstallPlan,
    /// OLM resolves a namespace as a whole, and counts its plans.
    generation: i64,
    waits: bool,
}

pub(super) fn install_plan(reader: &mut Reader, object: &Object) -> AnyPlan {
    let (spec, status) = (object.node.get("spec"), object.node.get("status"));
    let names = items(reader, spec, "clusterServiceVersionNames").iter();
    let is_approved = spec
        .and_then(|spec| spec.get("approved"))
        .map(|node| &node.value);
    let generation = spec
        .and_then(|spec| spec.get("generation"))
        .map(|node| &node.value);
    let phase = status.map_or("", |status| text(status, "phase"));
    AnyPlan {
        plan: InstallPlan {
            namespace: object.namespace.clone(),
            name: object.name.clone(),
            operators: names.filter_map(Node::as_text).map(Arc::from).collect(),
        },
        generation: match generation {
            Some(Value::Whole(number)) => *number,
            _ => i64::MAX,
        },
        waits: is_approved != Some(&Value::Flag(true)) && !matches!(phase, "Complete" | "Failed"),
    }
}

/// The plans that wait. A newer plan of a namespace replaces the older ones, which stay there.
pub(super) fn waiting(plans: Vec<AnyPlan>) -> Vec<InstallPlan> {
    let mut newest: BTreeMap<Arc<str>, i64> = BTreeMap::new();
    for one in &plans {
        let known = newest.entry(one.plan.namespace.clone()).or_insert(i64::MIN);
        *known = one.generation.max(*known);
    }
    let is_newest = |one: &AnyPlan| newest.get(&one.plan.namespace) == Some(&one.generation);
    let waiting = plans.into_iter().filter(|one| one.waits && is_newest(one));
    waiting.map(|one| one.plan).collect()
}

/// The network's type: the one in use, else the one that is asked for.
pub(super) fn network(object: &Object) -> Option<Arc<str>> {
    said_in(object, "networkType")
}

/// The stream of pools that name none: the one in use, else the one that is asked for.
pub(super) fn default_stream(object: &Object) -> Option<Arc<str>> {
    said_in(object, "defaultStream")
}

fn said_in(object: &Object, field: &str) -> Option<Arc<str>> {
    let of = |part: &str| object.node.get(part).map(|part| text(part, field));
    let said = [of("status"), of("spec")].into_iter().flatten();
    let mut said = said.filter(|name| !name.is_empty());
    said.next().map(Arc::from)
}

/// Whether a ContainerRuntimeConfig sets runc.
pub(super) fn config_sets_runc(_: &mut Reader, object: &Object) -> bool {
    let spec = object.node.get("spec");
    let config = spec.and_then(|spec| spec.get("containerRuntimeConfig"));
    config.is_some_and(|config| text(config, "defaultRuntime") == "runc")
}

/// Whether a MachineConfig sets runc in a file of CRI-O. What the pools were rendered from says it already, so rendered ones do not count.
pub(super) fn machine_config_sets_runc(reader: &mut Reader, object: &Object) -> bool {
    if object.name.starts_with("rendered-") {
        return false;
    }
    let config = object.node.get("spec").and_then(|spec| spec.get("config"));
    let storage = config.and_then(|config| config.get("storage"));
    let files = items(reader, storage, "files");
    let of_crio = files
        .iter()
        .filter(|file| text(file, "path").starts_with(CRIO_SETTINGS));
    let mut sources = of_crio.filter_map(|file| file.get("contents"));
    sources.any(|contents| sets_runc(text(contents, "source")))
}

/// Whether a data URL is a setting of CRI-O with runc as its default. One that cannot be read may be anything.
fn sets_runc(source: &str) -> bool {
    let Some((kind, data)) = source
        .strip_prefix("data:")
        .and_then(|url| url.split_once(','))
    else {
        return false;
    };
    let content = match kind.ends_with(";base64") {
        true => STANDARD.decode(data).ok(),
        false => percent_decoded(data),
    };
    let content = content.and_then(|bytes| String::from_utf8(bytes).ok());
    let is_runc = |line: &str| {
        let (name, value) = line.split_once('=').unwrap_or_default();
        name.trim() == "default_runtime" && value.trim().trim_matches(['"', '\'']) == "runc"
    };
    content.is_some_and(|content| content.lines().any(is_runc))
}

fn percent_decoded(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = match (first, tail) {
            (b'%', [high, low, tail @ ..]) => {
                let digits = [*high, *low];
                let digits = std::str::from_utf8(&digits).ok()?;
                bytes.push(u8::from_str_radix(digits, 16).ok()?);
                tail
            }
            (byte, tail) => {
                bytes.push(*byte);
                tail
            }
        };
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runc_is_found_in_plain_and_in_encoded_settings() {
        let encoded = STANDARD.encode("[crio.runtime]\ndefault_runtime = \"runc\"\n");
        for (source, expected) in [
            (
                &*format!("data:text/plain;charset=utf-8;base64,{encoded}"),
                true,
            ),
            (
                "data:,%5Bcrio.runtime%5D%0Adefault_runtime%20%3D%20%22runc%22%0A",
                true,
            ),
            ("data:,default_runtime%20%3D%20%22crun%22", false),
            ("data:,%23%20default_runtime%20%3D%20%22runc%22", false),
            ("https://example.com/crio.conf", false),
            ("", false),
        ] {
            assert_eq!(sets_runc(source), expected, "{source}");
        }
    }
}
