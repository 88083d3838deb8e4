//! A copy of a source in a few numbers: enough to tell a change from an accident.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::Payloads;
use crate::graph::{DeclaredEdge, GraphData, Releases};
use crate::version::Version;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Measure {
    /// Releases that a source declares, of all architectures.
    Releases,
    Edges,
    /// Those of them that carry risks.
    RiskyEdges,
    Channels,
    /// Places in channels, of all of them together.
    Members,
    Blocks,
    /// Edges under blocks, once for each kind of client.
    Covered,
    /// Clusters whose platform is looked up.
    Platforms,
    /// Releases whose signature was verified.
    Verified,
}

/// What losing something does to clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Loss {
    /// There is less to be offered; to have none of it is an accident and no choice.
    Empties,
    /// More is offered: the dangerous direction. The last one may well be taken away.
    Loosens,
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
    pub const ALL: [Self; 9] = [
        Self::Releases,
        Self::Edges,
        Self::RiskyEdges,
        Self::Channels,
        Self::Members,
        Self::Blocks,
        Self::Covered,
        Self::Platforms,
        Self::Verified,
    ];

    /// For people, and for what is kept.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Releases => "releases",
            Self::Edges => "edges",
            Self::RiskyEdges => "edges with risks",
            Self::Channels => "channels",
            Self::Members => "places in channels",
            Self::Blocks => "blocks in effect",
            Self::Covered => "edges under blocks (for each kind of client)",
            Self::Platforms => "platforms of clusters",
            Self::Verified => "verified releases",
        }
    }

    pub(super) fn loss(self) -> Loss {
        match self {
            Self::Blocks | Self::Covered | Self::RiskyEdges => Loss::Loosens,
            Self::Releases
            | Self::Edges
            | Self::Channels
            | Self::Members
            | Self::Platforms
            | Self::Verified => Loss::Empties,
        }
    }
}

impl Summary {
    /// Graph data. What its blocks do depends on the edges that there are: `Coverage` says it.
    pub fn of_graph_data(data: &GraphData) -> Self {
        let members = data
            .channels
            .iter()
            .map(|channel| channel.members.len())
            .sum();
        let counts = [
            (Measure::Channels, data.channels.len()),
            (Measure::Members, members),
        ];
        Self {
            counts: counts.into(),
            ..Self::default()
        }
    }

    /// The same, with what its blocks do.
    pub fn with_coverage(mut self, blocks: usize, edges: usize) -> Self {
        self.counts
            .extend([(Measure::Blocks, blocks), (Measure::Covered, edges)]);
        self
    }

    pub fn of_releases(releases: &Releases) -> Self {
        let ends = |edge: &DeclaredEdge| (edge.from, edge.to);
        let edges: BTreeSet<(u32, u32)> = releases.edges.iter().map(ends).collect();
        let has_risks =
            |edge: &&DeclaredEdge| edge.risks.as_ref().is_some_and(|risks| !risks.is_empty());
        let risky: BTreeSet<(u32, u32)> =
            releases.edges.iter().filter(has_risks).map(ends).collect();
        let counts = [
            (Measure::Releases, releases.releases.len()),
            (Measure::Edges, edges.len()),
            (Measure::RiskyEdges, risky.len()),
        ];
        let newest = releases
            .releases
            .iter()
            .map(|release| &release.version)
            .max()
            .cloned();
        Self {
            counts: counts.into(),
            newest,
            made_at: None,
            payloads: Payloads::of(releases),
        }
    }

    pub fn of_platforms(clusters: usize) -> Self {
        Self {
            counts: [(Measure::Platforms, clusters)].into(),
            ..Self::default()
        }
    }

    /// What is left of releases after verification.
    pub fn of_verified(releases: usize) -> Self {
        Self {
            counts: [(Measure::Verified, releases)].into(),
            ..Self::default()
        }
    }

    pub fn made_at(self, made_at: Option<Timestamp>) -> Self {
        Self { made_at, ..self }
    }
}
