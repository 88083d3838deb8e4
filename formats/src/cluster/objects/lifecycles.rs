//! How long optional operators are supported, as catalogues say it in entries of the schema
//! `io.openshift.operators.lifecycles.v1alpha1`.
//!
//! An operator has ended when all phases of its minor version have. One that the data does not
//! name has not.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use towpath_core::cluster::health::EndedOperator;

use super::cluster_version::text;
use super::{AGAIN, items};
use crate::read::{Node, Reader, shown};

const SCHEMA: &str = "io.openshift.operators.lifecycles.";

/// The last day of each minor version of each package.
pub(super) type LastDays = BTreeMap<(Arc<str>, Arc<str>), Date>;

/// The package and version of an installed operator.
#[derive(Debug, Clone)]
pub(super) struct Installed {
    pub(super) name: Arc<str>,
    pub(super) namespace: Arc<str>,
    pub(super) package: Arc<str>,
    pub(super) version: Arc<str>,
}

/// Whether a document is an entry, or a list of them.
pub(super) fn is_entry(node: &Node) -> bool {
    let is_one = |node: &Node| text(node, "schema").starts_with(SCHEMA);
    is_one(node) || (!node.items().is_empty() && node.items().iter().all(is_one))
}

pub(super) fn read(reader: &mut Reader, node: &Node, days: &mut LastDays) {
    if text(node, "schema").is_empty() {
        return node.items().iter().for_each(|one| read(reader, one, days));
    }
    let package: Arc<str> = text(node, "package").into();
    for version in items(reader, Some(node), "versions") {
        let phases = items(reader, Some(version), "phases");
        let ends: Vec<Date> = phases
            .iter()
            .filter_map(|phase| last_day(reader, phase))
            .collect();
        let name: Arc<str> = text(version, "name").into();
        // A phase without an end goes on.
        if let (Some(last), true) = (ends.iter().max(), ends.len() == phases.len()) {
            days.insert((package.clone(), name), *last);
        }
    }
}

fn last_day(reader: &mut Reader, phase: &Node) -> Option<Date> {
    let node = phase.get("endDate")?;
    let written = node.as_text().filter(|text| !text.is_empty())?;
    let day = written.parse::<Date>();
    if day.is_err() {
        let problem = format!("{:?} is not a day such as 2026-11-30", shown(written));
        reader.error("bad-time", node, problem, AGAIN);
    }
    day.ok()
}

/// The operators whose last day is over.
pub(super) fn ended(
    installed: &[Installed],
    days: &LastDays,
    now: Timestamp,
) -> Vec<EndedOperator> {
    let today = now.to_zoned(TimeZone::UTC).date();
    let mut ended = Vec::new();
    for one in installed {
        let minor: Vec<&str> = one.version.splitn(3, '.').take(2).collect();
        let key = (one.package.clone(), Arc::from(minor.join(".")));
        let last = days.get(&key).filter(|last| **last < today);
        ended.extend(last.map(|last| EndedOperator {
            name: one.name.clone(),
            namespace: one.namespace.clone(),
            ended: last.to_string().into(),
        }));
    }
    ended
}
