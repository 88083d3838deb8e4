//! Names of releases that do not exist: misspelt, withdrawn, or not published yet.
//!
//! A release may be named before it is published, so these are warnings. Names for one
//! architecture are skipped if no release of that architecture was given.

use std::collections::{BTreeMap, BTreeSet};

use super::{Field, Subject};
use crate::finding::{Finding, Place};
use crate::graph::Graph;
use crate::version::{Arch, ReleaseName, Version};

pub(super) fn check(subject: &Subject<'_>) -> Vec<Finding> {
    let Some(graph) = subject.graph else {
        return Vec::new();
    };
    let known = KnownReleases::of(graph);
    let members = subject
        .data
        .channels
        .iter()
        .flat_map(|channel| &channel.members);
    let members = members.map(|member| {
        (
            &member.name,
            member.origin.clone(),
            "clusters cannot be offered it",
        )
    });
    let targets = subject.data.blocks.iter();
    let targets = targets.map(|block| {
        (
            &block.to,
            subject.place(block, Field::To),
            "the block has no edge to stop",
        )
    });
    let fixed = subject
        .data
        .blocks
        .iter()
        .filter_map(|block| subject.fixed_in(block));
    let fixed = fixed.map(|fixed| (&fixed.name, fixed.place.clone(), "the fix cannot be in it"));
    let mut findings: Vec<Finding> = members
        .chain(targets)
        .chain(fixed)
        .filter(|(name, _, _)| !known.has(name))
        .map(|(name, place, meaning)| known.finding(name, place, meaning))
        .collect();
    // Channels of one file share its list.
    findings.sort();
    findings.dedup();
    findings
}

/// The releases that there are.
struct KnownReleases<'a> {
    arches: BTreeSet<&'a Arch>,
    releases: BTreeMap<&'a Version, BTreeSet<&'a Arch>>,
}

impl<'a> KnownReleases<'a> {
    fn of(graph: &'a Graph) -> Self {
        let mut known = Self {
            arches: graph.arches().collect(),
            releases: BTreeMap::new(),
        };
        for release in graph.releases() {
            known
                .releases
                .entry(&release.version)
                .or_default()
                .insert(&release.arch);
        }
        known
    }

    fn has(&self, name: &ReleaseName) -> bool {
        let arches = self.releases.get(&name.version);
        match &name.arch {
            None => arches.is_some(),
            Some(arch) => {
                !self.arches.contains(arch) || arches.is_some_and(|arches| arches.contains(arch))
            }
        }
    }

    fn finding(&self, name: &ReleaseName, place: Place, meaning: &str) -> Finding {
        let arches: Vec<&str> = self.arches.iter().map(|arch| arch.as_str()).collect();
        let problem = format!(
            "there is no release {name} for {}; {meaning}",
            arches.join(", ")
        );
        Finding::warning(
            "unknown-release",
            place,
            problem,
            "correct the version, or wait until it is published",
        )
    }
}
