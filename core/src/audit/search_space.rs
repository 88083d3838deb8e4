//! The search space of an audit: the releases of one architecture that have entered a channel, and
//! their edges.

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::graph::model::BlockSetId;
use crate::graph::{Channel, ChannelView, Graph, GraphSteps, numbers};
use crate::version::{Arch, Version};

/// All edges between the members, blocked or not.
pub(super) struct ChannelSteps<'a> {
    graph: &'a Graph,
    pub(super) steps: GraphSteps,
    /// The oldest first.
    pub(super) members: Vec<u32>,
    /// All sets of blocks on these edges.
    pub(super) block_sets: BTreeSet<BlockSetId>,
}

impl<'a> ChannelSteps<'a> {
    /// What is there at that time.
    pub(super) fn new(graph: &'a Graph, channel: &Channel, arch: &Arch, now: Timestamp) -> Self {
        let (first, count) = numbers(graph, arch);
        let view = ChannelView::of_arch(graph, channel, arch, now);
        let members: Vec<u32> = view.releases().map(|id| id.0 - first).collect();
        let mut is_member = vec![false; count as usize];
        members
            .iter()
            .for_each(|member| is_member[*member as usize] = true);
        let steps = GraphSteps::lay_out(
            graph,
            arch,
            |from| is_member[from as usize],
            |_, step| is_member[step.release as usize],
        );
        let out = members.iter().flat_map(|member| steps.out(*member));
        let block_sets = out.map(|step| step.blocks).collect();
        Self {
            graph,
            steps,
            members,
            block_sets,
        }
    }

    /// The version of a member.
    pub(super) fn version(&self, member: u32) -> &'a Version {
        &self.graph.release(self.steps.id(member)).version
    }
}
