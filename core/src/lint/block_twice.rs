//! The same block twice: most likely a copy whose `to` or `from` was not changed.

use std::collections::BTreeMap;

use super::{Field, Subject};
use crate::finding::Finding;
use crate::graph::Block;

pub(super) fn check(subject: &Subject<'_>) -> Vec<Finding> {
    let mut seen: BTreeMap<_, &Block> = BTreeMap::new();
    let mut findings = Vec::new();
    for block in &subject.data.blocks {
        let risk = block.risk.as_ref().map(|risk| &risk.name);
        // Blocks of different platforms may well have the same ends.
        let key = (&block.to, block.from.as_str(), risk, &block.stops);
        match seen.get(&key) {
            None => drop(seen.insert(key, block)),
            Some(first) => {
                let problem = format!("{} declares the same block", first.origin.file);
                let remedy = "remove one of them, or correct `to` and `from`";
                findings.push(Finding::warning(
                    "duplicate-block",
                    subject.place(block, Field::To),
                    problem,
                    remedy,
                ));
            }
        }
    }
    findings
}
