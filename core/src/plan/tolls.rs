//! Tolls: what the standing rules make of each set of blocks, for clusters on one platform.
//!
//! Standing rules look at an edge's blocks and the platform alone, never at the time, the channel or who asks. So there is one answer for
//! each set of blocks, whatever is asked; a service that is asked often keeps them.

use jiff::Timestamp;

use super::Asker;
use crate::domain::graph::BlockSetId;
use crate::domain::{Answer, Arch, Edge, Fact, Graph, Platform, ReleaseId, RiskId, Situation};
use crate::rules::{Policy, Rule};

/// What an edge costs, by its set of blocks: for one graph, and clusters on one platform.
#[derive(Debug, Clone)]
pub struct Tolls(Vec<Toll>);

#[derive(Debug, Clone)]
enum Toll {
    /// It may be taken, with these risks.
    Risks(Box<[RiskId]>),
    Closed,
}

impl Tolls {
    /// Asks the standing rules about every set of blocks that the graph has.
    pub fn of(graph: &Graph, platform: &Fact<Platform>) -> Self {
        // Which channel it is does not matter; where there is none, nothing can be taken.
        let Some(channel) = graph.channels().keys().next() else {
            return Self(Vec::new());
        };
        let asker = Asker {
            id: Fact::Unknown,
            platform: platform.clone(),
            arch: Arch::default(),
        };
        let cluster = asker.in_channel(channel);
        let (at, standing) = (
            Situation {
                graph,
                cluster: &cluster,
                now: Timestamp::UNIX_EPOCH,
            },
            Policy::standing(),
        );
        let toll = |blocks: BlockSetId| {
            let edge = Edge {
                from: ReleaseId(0),
                to: ReleaseId(0),
                blocks,
            };
            match standing.judge(edge, &at).answer {
                Answer::Recommend => Toll::Risks(Box::default()),
                Answer::RecommendUnless(risks) => Toll::Risks(risks.into_iter().collect()),
                Answer::Wait { .. } | Answer::Refuse => Toll::Closed,
            }
        };
        Self(graph.block_sets().map(toll).collect())
    }

    /// The risks of an edge with these blocks; none if it may not be taken.
    pub(super) fn risks(&self, blocks: BlockSetId) -> Option<&[RiskId]> {
        match self.0.get(blocks.0 as usize)? {
            Toll::Risks(risks) => Some(risks),
            Toll::Closed => None,
        }
    }
}
