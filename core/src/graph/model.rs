//! The graph: releases, edges with the blocks on them, and channels. Immutable once built.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::{
    Audience, Block, BlockId, Channel, ChannelName, ChannelSpec, DeclaredEdge, DeclaredHalt,
    DeclaredRelease, Provenance, Release, ReleaseId, Releases, Risk, RiskId,
};
use crate::cluster::{Cluster, Platform};
use crate::finding::{Finding, Place};
use crate::version::{Arch, ReleaseName, Version};

/// What release administrators declare, read from graph data of any schema.
#[derive(Debug, Clone, Default)]
pub struct GraphData {
    /// Channels and what they hold.
    pub channels: Vec<ChannelSpec>,
    pub blocks: Vec<Block>,
    /// Further metadata of single releases.
    pub metadata: Vec<(ReleaseName, BTreeMap<String, String>)>,
}

/// An edge of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    pub from: ReleaseId,
    pub to: ReleaseId,
    /// The set of blocks on it; edges with the same blocks have the same number.
    pub blocks: BlockSetId,
}

/// What the graph keeps of a block: its pattern has been matched, its risk numbered.
#[derive(Debug, Clone)]
pub struct KeptBlock {
    /// The release whose incoming edges it is about.
    pub to: ReleaseName,
    /// The pattern, as it was written.
    pub from: Arc<str>,
    /// The clusters that the service itself keeps from the edge.
    pub stops: Option<Audience>,
    /// What clients have to weigh.
    pub risk: Option<RiskId>,
    /// What it says about itself, if it is a halt.
    pub halt: Option<Arc<DeclaredHalt>>,
    pub origin: Place,
}

/// The number of a set of blocks in its graph; 0 is the empty set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct BlockSetId(pub u32);

/// Everything that is known about updates, the same for every client.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    pub(super) releases: Vec<Release>,
    pub(super) edges: Vec<Edge>,
    /// Where each release's edges begin; one more than there are releases.
    pub(super) edges_from: Vec<u32>,
    pub(super) channels: BTreeMap<ChannelName, Channel>,
    pub(super) blocks: Vec<KeptBlock>,
    pub(super) block_sets: Vec<Box<[BlockId]>>,
    pub(super) risks: Vec<Risk>,
    pub(super) platforms: Vec<Platform>,
    pub(super) stale: Vec<StaleSource>,
    /// Of each edge, who says that there is one; empty where no image declares any.
    pub(super) provenance: Vec<Provenance>,
}

/// A source whose copy cannot be relied on any more, so nothing is recommended from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaleSource {
    pub source: Arc<str>,
    /// When it was last found to be good.
    pub last_good: Timestamp,
    pub cause: StaleCause,
}

/// Why a copy cannot be relied on any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StaleCause {
    /// It was last read too long ago.
    TooOld,
    /// It has to be signed, and its signature does not count any more.
    NotSigned,
}

/// What a rule may look at.
#[derive(Debug, Clone, Copy)]
pub struct Situation<'a> {
    pub graph: &'a Graph,
    pub cluster: &'a Cluster,
    pub now: Timestamp,
}

impl Graph {
    /// Joins what administrators declare and what sources say exists. The findings are warnings: what is dropped here
    /// (an edge to nowhere, a release without a payload) could never have been offered.
    pub fn build(data: GraphData, releases: Releases) -> (Self, Vec<Finding>) {
        super::build::build(data, releases)
    }

    /// The same graph, by which nothing is recommended while these sources are as old as they are.
    pub fn with_stale(self, stale: Vec<StaleSource>) -> Self {
        Self { stale, ..self }
    }

    /// The releases and edges again, to build another graph of them. What sources attach to edges, and what images declare
    /// about them, is not part of that.
    pub fn declared(&self) -> Releases {
        let release = |release: &Release| DeclaredRelease {
            version: release.version.clone(),
            arch: release.arch.clone(),
            payload: release.payload.to_string(),
            metadata: release
                .metadata
                .iter()
                .map(|(name, value)| (name.to_string(), value.to_string()))
                .collect(),
            declares: None,
            trust: release.trust,
        };
        let edge = |edge: &Edge| DeclaredEdge {
            from: edge.from.0,
            to: edge.to.0,
            risks: None,
        };
        Releases {
            releases: self.releases.iter().map(release).collect(),
            edges: self.edges.iter().map(edge).collect(),
        }
    }

    /// The sources that are too old to recommend anything by; usually none.
    pub fn stale(&self) -> &[StaleSource] {
        &self.stale
    }

    /// The release of that number.
    pub fn release(&self, id: ReleaseId) -> &Release {
        &self.releases[id.0 as usize]
    }

    pub fn releases(&self) -> &[Release] {
        &self.releases
    }

    /// The number of the release, if it exists.
    pub fn find(&self, version: &Version, arch: &Arch) -> Option<ReleaseId> {
        let at = self
            .releases
            .binary_search_by(|r| (&r.arch, &r.version).cmp(&(arch, version)))
            .ok()?;
        Some(ReleaseId(at as u32))
    }

    /// The edges that leave a release.
    pub fn edges_from(&self, release: ReleaseId) -> &[Edge] {
        let at = release.0 as usize;
        &self.edges[self.edges_from[at] as usize..self.edges_from[at + 1] as usize]
    }

    /// All edges, sorted by source and target.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    pub fn channels(&self) -> &BTreeMap<ChannelName, Channel> {
        &self.channels
    }

    /// The channel of that name.
    pub fn channel(&self, name: &str) -> Option<&Channel> {
        self.channels.get(name)
    }

    /// The members of a channel that are of one architecture.
    pub fn members<'a>(
        &'a self,
        channel: &'a Channel,
        arch: &Arch,
    ) -> &'a [(ReleaseId, super::Membership)] {
        let arch_of = |(id, _): &(ReleaseId, super::Membership)| &self.release(*id).arch;
        let begin = channel
            .members
            .partition_point(|member| arch_of(member) < arch);
        let end = channel
            .members
            .partition_point(|member| arch_of(member) <= arch);
        &channel.members[begin..end]
    }

    /// The architectures there are releases for.
    pub fn arches(&self) -> impl Iterator<Item = &Arch> {
        self.releases
            .chunk_by(|a, b| a.arch == b.arch)
            .map(|same| &same[0].arch)
    }

    /// The blocks on an edge.
    pub fn blocks_on(&self, edge: Edge) -> impl Iterator<Item = &KeptBlock> {
        self.block_sets[edge.blocks.0 as usize]
            .iter()
            .map(|id| &self.blocks[id.0 as usize])
    }

    /// The numbers of the blocks of a set.
    pub fn block_ids_in(&self, set: BlockSetId) -> &[BlockId] {
        &self.block_sets[set.0 as usize]
    }

    /// The platforms that some block names, sorted.
    pub fn platforms(&self) -> &[Platform] {
        &self.platforms
    }

    /// The numbers of all sets of blocks, that of none among them.
    pub fn block_sets(&self) -> impl Iterator<Item = BlockSetId> {
        (0..self.block_sets.len() as u32).map(BlockSetId)
    }

    /// The block of that number.
    pub fn block(&self, id: BlockId) -> &KeptBlock {
        &self.blocks[id.0 as usize]
    }

    /// How many risks there are. They are numbered from 0.
    pub(crate) fn risk_count(&self) -> u32 {
        u32::try_from(self.risks.len()).unwrap_or(u32::MAX)
    }

    /// The risk of that number. Numbers follow the risks' names.
    pub fn risk(&self, id: RiskId) -> &Risk {
        &self.risks[id.0 as usize]
    }

    /// All blocks, also those of releases that do not exist.
    pub fn blocks(&self) -> &[KeptBlock] {
        &self.blocks
    }
}

impl BlockSetId {
    pub const NONE: Self = Self(0);
}
