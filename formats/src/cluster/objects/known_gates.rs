//! The gates that releases are known to bring, from a table that is part of the program.

use std::sync::Arc;

use serde::Deserialize;
use towpath_core::cluster::health::KnownGate;
use towpath_core::version::{Minor, Version};

const TABLE: &str = include_str!("known-gates.json");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    gate: String,
    description: String,
    only: Option<String>,
    /// The first release that has it.
    since: Option<String>,
    /// Where the gate is written down. A row without a source is one that nobody has verified.
    source: Option<String>,
}

pub(crate) fn read() -> Vec<KnownGate> {
    let rows: Vec<Row> = serde_json::from_str(TABLE).expect("the table is part of the program");
    rows.into_iter().map(gate).collect()
}

fn gate(row: Row) -> KnownGate {
    let minor = row
        .gate
        .strip_prefix("ack-")
        .and_then(|rest| rest.split_once('-'));
    let minor = minor.and_then(|(minor, _)| Minor::parse(minor));
    KnownGate {
        keeps_in: minor.expect("a gate names the minor version that it keeps clusters in"),
        name: row.gate.into(),
        description: row.description.into(),
        only: row.only.map(Arc::from),
        since: row.since.map(|since| {
            let since: Result<Version, _> = since.parse();
            since.expect("a gate names the release that has it first")
        }),
        is_verified: row.source.is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_gate_is_there_once_and_in_order() {
        let gates = read();
        let names: Vec<_> = gates
            .iter()
            .map(|gate| (gate.keeps_in, gate.name.clone()))
            .collect();
        let mut sorted = names.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(names, sorted);
        let first = gates.first().map(|gate| &*gate.name);
        assert_eq!(first, Some("ack-4.8-kube-1.22-api-removals-in-4.9"));
        let unverified: Vec<&str> = gates
            .iter()
            .filter(|gate| !gate.is_verified)
            .map(|gate| &*gate.name)
            .collect();
        assert_eq!(
            unverified,
            [
                "ack-4.14-kube-1.28-api-removals-in-4.15",
                "ack-4.18-aarch64-bootloader-4.19"
            ]
        );
    }
}
