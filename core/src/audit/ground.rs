//! The ground that is searched: the releases that have entered a channel, of one architecture, and the edges between them.

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::domain::graph::BlockSetId;
use crate::domain::{Arch, Channel, Graph, ReleaseId, Version};
use crate::graph::ChannelView;

/// Releases have their place in `members` for a number, so a higher number is a newer release.
pub(super) struct Ground<'a> {
    pub(super) graph: &'a Graph,
    /// By version, the oldest first.
    pub(super) members: Vec<ReleaseId>,
    /// For each member, the edges into it: from where, and with which blocks.
    pub(super) into: Vec<Vec<(u32, BlockSetId)>>,
    /// For each member, how many edges leave it.
    pub(super) leaving: Vec<u32>,
    /// All sets of blocks on these edges.
    pub(super) block_sets: BTreeSet<BlockSetId>,
}

impl<'a> Ground<'a> {
    /// What is there at that time.
    pub(super) fn new(graph: &'a Graph, channel: &Channel, arch: &Arch, now: Timestamp) -> Self {
        let view = ChannelView::of_arch(graph, channel, arch, now);
        let members: Vec<ReleaseId> = view.releases().collect();
        let mut into = vec![Vec::new(); members.len()];
        let mut leaving = vec![0; members.len()];
        let mut block_sets = BTreeSet::new();
        for (from, release) in members.iter().enumerate() {
            for edge in graph.edges_from(*release) {
                if let Ok(to) = members.binary_search(&edge.to) {
                    into[to].push((from as u32, edge.blocks));
                    leaving[from] += 1;
                    block_sets.insert(edge.blocks);
                }
            }
        }
        Self {
            graph,
            members,
            into,
            leaving,
            block_sets,
        }
    }

    /// The version of a member.
    pub(super) fn version(&self, member: u32) -> &'a Version {
        &self.graph.release(self.members[member as usize]).version
    }

    /// The blocks on the edge between two members, if there is one.
    pub(super) fn blocks(&self, from: u32, to: u32) -> Option<BlockSetId> {
        let into = &self.into[to as usize];
        let at = into.binary_search_by_key(&from, |(from, _)| *from).ok()?;
        Some(into[at].1)
    }
}
