//! Blocks without effect: `from` matches no release, or `to` is no release.
//!
//! Their authors believe that they protect clusters. `graph lint` and the service both say so.
//! A release counts if a channel or a source names it, so that a copy of a few releases does not
//! make all other blocks suspect. A pattern may name an architecture that no given release has.

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::{Finding, Place};
use crate::graph::{Block, ChannelSpec};
use crate::version::Version;

const ARCHES: [&str; 6] = ["aarch64", "amd64", "arm64", "multi", "ppc64le", "s390x"];

/// Releases that are named anywhere, as patterns see them.
pub(crate) struct NamedReleases<'a> {
    versions: BTreeSet<&'a Version>,
    names: Vec<String>,
}

impl<'a> NamedReleases<'a> {
    /// Those of channels, and of sources with their architectures.
    pub(crate) fn of(
        channels: &'a [ChannelSpec],
        released: impl Iterator<Item = &'a Version>,
        arches: impl Iterator<Item = &'a str>,
    ) -> Self {
        let members = channels.iter().flat_map(|channel| &channel.members);
        let members = members.map(|member| &member.name.version);
        let versions: BTreeSet<&Version> = members.chain(released).collect();
        let arches: BTreeSet<&str> = ARCHES.into_iter().chain(arches).collect();
        let names = versions
            .iter()
            .flat_map(|version| arches.iter().map(move |arch| format!("{version}+{arch}")))
            .collect();
        Self { versions, names }
    }

    /// The blocks whose pattern matches none of them.
    pub(crate) fn never_matching<'b>(&self, blocks: &'b [Block]) -> Vec<&'b Block> {
        // A few hundred patterns stand in thousands of files.
        let mut known: BTreeMap<&str, bool> = BTreeMap::new();
        let mut matches = |block: &'b Block| {
            *known
                .entry(block.from.as_str())
                .or_insert_with(|| self.names.iter().any(|name| block.from.finds(name)))
        };
        blocks.iter().filter(|block| !matches(block)).collect()
    }

    /// What the service says of blocks without effect.
    pub(crate) fn warnings(&self, blocks: &[Block]) -> Vec<Finding> {
        let patterns = self.never_matching(blocks).into_iter();
        let patterns = patterns.map(|block| Finding {
            severity: crate::finding::Severity::Warning,
            ..never_matching_pattern(block, block.origin.clone())
        });
        let targets = blocks
            .iter()
            .filter(|block| !self.versions.contains(&block.to.version));
        let targets = targets.map(|block| {
            let problem = format!(
                "there is no release {}, so the block has no effect",
                block.to
            );
            let remedy = "correct `to`, or wait until it is published";
            Finding::warning("unknown-release", block.origin.clone(), problem, remedy)
        });
        patterns.chain(targets).collect()
    }
}

pub(crate) fn never_matching_pattern(block: &Block, place: Place) -> Finding {
    let problem = format!(
        "no release matches {:?}, so the block has no effect",
        block.from.as_str()
    );
    let remedy = "correct `from`; it may match anywhere in a version with its architecture, as in 4.9.7+amd64";
    Finding::error("never-matching-pattern", place, problem, remedy)
}
