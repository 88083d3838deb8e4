//! A pattern that matches no existing release: a block that blocks nothing.
//!
//! It is an error, because its author believes that the block protects clusters. It is compared
//! with the releases that channels name and, if they are known, all others. A pattern may name an
//! architecture that no given release has.

use std::collections::{BTreeMap, BTreeSet};

use super::{Field, Subject};
use crate::finding::Finding;
use crate::version::Version;

const ARCHES: [&str; 6] = ["aarch64", "amd64", "arm64", "multi", "ppc64le", "s390x"];

pub(super) fn check(subject: &Subject<'_>) -> Vec<Finding> {
    let names = names(subject);
    let mut known: BTreeMap<&str, bool> = BTreeMap::new();
    let mut findings = Vec::new();
    for block in &subject.data.blocks {
        // A few hundred patterns stand in thousands of files.
        let matches = *known
            .entry(block.from.as_str())
            .or_insert_with(|| names.iter().any(|name| block.from.finds(name)));
        if !matches {
            let problem = format!(
                "no release matches {:?}, so the block has no effect",
                block.from.as_str()
            );
            let remedy = "correct `from`; it may match anywhere in a version with its architecture, as in 4.9.7+amd64";
            findings.push(Finding::error(
                "never-matching-pattern",
                subject.place(block, Field::From),
                problem,
                remedy,
            ));
        }
    }
    findings
}

/// Each version with each architecture, as patterns see it.
fn names(subject: &Subject<'_>) -> Vec<String> {
    let given = subject
        .graph
        .map(|graph| graph.arches().map(|arch| arch.as_str()).collect())
        .unwrap_or_default();
    let arches: BTreeSet<&str> = ARCHES.into_iter().chain::<Vec<&str>>(given).collect();
    let released = subject
        .graph
        .into_iter()
        .flat_map(|graph| graph.releases())
        .map(|release| &release.version);
    let versions: BTreeSet<&Version> = subject
        .versions_in_channels()
        .into_iter()
        .chain(released)
        .collect();
    versions
        .iter()
        .flat_map(|version| arches.iter().map(move |arch| format!("{version}+{arch}")))
        .collect()
}
