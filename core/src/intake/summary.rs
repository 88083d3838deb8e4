//! What one copy of a source amounts to, in few numbers: enough to tell a change from an accident.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::Payloads;
use crate::domain::{GraphData, Releases, Version};

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Measure {
    /// Releases that a source declares, of all architectures.
    Releases,
    /// Edges between them.
    Edges,
    /// Channels.
    Channels,
    /// Places in channels, of all of them together.
    Members,
    /// Blocks.
    Blocks,
    /// Clusters whose platform is looked up.
    Platforms,
    /// Releases whose signature was verified.
    Verified,
}

/// A copy of a source, in numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// How many there are of what this kind of source has.
    pub counts: BTreeMap<Measure, usize>,
    /// The newest release, where the source declares any.
    pub newest: Option<Version>,
    /// When it was made, as far as the source tells: a commit's time, `Last-Modified`, an image's creation.
    pub made_at: Option<Timestamp>,
    /// The images of its releases.
    pub payloads: Payloads,
}

impl Measure {
    /// For people.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Releases => "releases",
            Self::Edges => "edges",
            Self::Channels => "channels",
            Self::Members => "places in channels",
            Self::Blocks => "blocks",
            Self::Platforms => "platforms of clusters",
            Self::Verified => "verified releases",
        }
    }

    /// Whether having none of it is an accident and no choice. The last block may well be taken away.
    pub(super) fn is_needed(self) -> bool {
        self != Self::Blocks
    }
}

impl Summary {
    /// Graph data.
    pub fn of_graph_data(data: &GraphData) -> Self {
        let members = data.channels.iter().map(|channel| channel.members.len()).sum();
        let counts = [
            (Measure::Channels, data.channels.len()),
            (Measure::Members, members),
            (Measure::Blocks, data.blocks.len()),
        ];
        Self { counts: counts.into(), ..Self::default() }
    }

    /// Releases.
    pub fn of_releases(releases: &Releases) -> Self {
        let edges: BTreeSet<(u32, u32)> = releases.edges.iter().map(|edge| (edge.from, edge.to)).collect();
        let counts = [(Measure::Releases, releases.releases.len()), (Measure::Edges, edges.len())];
        let newest = releases.releases.iter().map(|release| &release.version).max().cloned();
        Self { counts: counts.into(), newest, made_at: None, payloads: Payloads::of(releases) }
    }

    /// A lookup of platforms.
    pub fn of_platforms(clusters: usize) -> Self {
        Self { counts: [(Measure::Platforms, clusters)].into(), ..Self::default() }
    }

    /// The same, made then.
    pub fn made_at(self, made_at: Option<Timestamp>) -> Self {
        Self { made_at, ..self }
    }
}
