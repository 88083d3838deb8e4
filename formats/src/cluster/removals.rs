//! Removals of APIs that somebody adds to the built-in table: what `--removals` takes.
//!
//! ```json
//! [{"group": "batch", "version": "v2alpha1", "resource": "cronjobs", "removed": "1.21", "replacement": "batch/v1"}]
//! ```
//!
//! `removed` is a minor version of Kubernetes or OpenShift. An entry without it announces nothing yet.

use std::sync::Arc;

use towpath_core::cluster::objects::ApiName;
use towpath_core::finding::{Finding, Place};

use super::objects::{AddedRemoval, kubernetes};
use crate::read::{Node, Reader, shown};

pub const MAX_BYTES: usize = 4 << 20;
const MAX_ENTRIES: usize = 10_000;
const FIELDS: [&str; 7] = [
    "group",
    "version",
    "kind",
    "resource",
    "deprecated",
    "removed",
    "replacement",
];

pub fn read(place: &Place, bytes: &[u8]) -> Result<Vec<AddedRemoval>, Vec<Finding>> {
    let limit = (
        "list of removals",
        MAX_BYTES,
        "give the APIs that are in use",
    );
    Reader::whole(place, bytes, limit, |reader, node| {
        let entries = reader.list(node, "removals", MAX_ENTRIES);
        let entries = entries.iter().filter_map(|entry| removal(reader, entry));
        Some(entries.collect())
    })
}

fn removal(reader: &mut Reader, node: &Node) -> Option<AddedRemoval> {
    let record = reader.record(node, "a removal", &FIELDS)?;
    let text = |reader: &mut Reader, name: &'static str| -> Option<Arc<str>> {
        let node = reader.required(record, name, "name the API as the cluster does")?;
        reader.text(node, name).map(Arc::from)
    };
    let (group, version, resource) = (
        text(reader, "group"),
        text(reader, "version"),
        text(reader, "resource"),
    );
    let removed = record.get("removed")?;
    let written = reader.text(removed, "removed")?;
    let removed_in = kubernetes(written);
    if removed_in.is_none() {
        let problem = format!(
            "{:?} is not a minor version of Kubernetes or OpenShift",
            shown(written)
        );
        reader.error("bad-version", removed, problem, "write it as 1.29 or 4.16");
    }
    let replacement = record.get("replacement");
    let replacement = replacement.and_then(|node| reader.text(node, "replacement"));
    Some(AddedRemoval {
        api: ApiName {
            resource: resource?,
            version: version?,
            group: group?,
        },
        removed_in: removed_in?,
        replacement: replacement.filter(|text| !text.is_empty()).map(Arc::from),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn removals_name_kubernetes_or_openshift() {
        let read = |text: &str| read(&Place::file("r.json"), text.as_bytes());
        let entry = |removed: &str| {
            format!(
                r#"[{{"group": "a.io", "version": "v1", "kind": "B", "resource": "bs", "removed": "{removed}"}}]"#
            )
        };
        let minors = [entry("1.29"), entry("4.16")].map(|text| read(&text).unwrap()[0].removed_in);
        assert_eq!(minors[0], minors[1]);
        let announced =
            r#"[{"group": "a.io", "version": "v1", "resource": "bs", "deprecated": "1.29"}]"#;
        assert_eq!(read(announced).unwrap(), []);
        for wrong in [
            entry("soon"),
            r#"[{"group": "a.io"}]"#.to_owned(),
            r#"[{"api": "b"}]"#.to_owned(),
        ] {
            assert!(read(&wrong).is_err(), "{wrong}");
        }
    }
}
