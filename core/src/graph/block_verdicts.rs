//! What a set of blocks means for a kind of client.
//!
//! Standing rules look only at an edge's blocks and the client's platform, never at the time, the
//! channel or the id. So there is one verdict for each set of blocks and kind of client. Callers
//! that ask often keep the verdicts.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::ClientClass;
use crate::cluster::Cluster;
use crate::finding::Place;
use crate::graph::model::BlockSetId;
use crate::graph::rules::{Edges, HALTS, HARD_BLOCKS, RISKS_NOT_SERVABLE, TARGETED_BLOCKS};
use crate::graph::{BlockId, Edge, Graph, ReleaseId, RiskId, Situation};
use crate::rules::{Policy, Rule};
use crate::verdict::Answer;

/// What a set of blocks means for a kind of client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockVerdict {
    /// The edge is offered, with these risks to weigh, if any.
    Offered(Box<[RiskId]>),
    /// The edge is not offered, because of these blocks. There are none if something else holds it, such as a source that is too old.
    Held(Box<[BlockId]>),
}

/// What every set of blocks of a graph means for one kind of client.
#[derive(Debug, Clone)]
pub struct BlockVerdicts(Vec<BlockVerdict>);

/// The standing rules, and a cluster of each kind of client to ask them about.
pub struct StandingRules<'a> {
    graph: &'a Graph,
    policy: &'static Policy<Edges>,
    clients: Vec<(ClientClass, Cluster)>,
}

impl BlockVerdicts {
    /// Asks the standing rules.
    pub fn of(graph: &Graph, class: &ClientClass) -> Self {
        Self::by(Policy::standing(), graph, class)
    }

    /// Asks the rules on blocks alone. How old a source is makes no difference.
    pub fn of_blocks_alone(graph: &Graph, class: &ClientClass) -> Self {
        Self::by(Policy::blocks(), graph, class)
    }

    fn by(policy: &Policy<Edges>, graph: &Graph, class: &ClientClass) -> Self {
        let cluster = class.cluster();
        let judge = |blocks| judge(policy, graph, &cluster, blocks);
        Self(graph.block_sets().map(judge).collect())
    }

    pub fn get(&self, blocks: BlockSetId) -> &BlockVerdict {
        &self.0[blocks.0 as usize]
    }

    /// The risks of an edge with these blocks; none if it is not offered.
    pub fn risks(&self, blocks: BlockSetId) -> Option<&[RiskId]> {
        self.get(blocks).risks()
    }
}

impl<'a> StandingRules<'a> {
    pub fn new(graph: &'a Graph, classes: impl IntoIterator<Item = ClientClass>) -> Self {
        Self::by(Policy::standing(), graph, classes)
    }

    /// The rules on blocks alone. How old a source is makes no difference.
    pub fn of_blocks_alone(
        graph: &'a Graph,
        classes: impl IntoIterator<Item = ClientClass>,
    ) -> Self {
        Self::by(Policy::blocks(), graph, classes)
    }

    fn by(
        policy: &'static Policy<Edges>,
        graph: &'a Graph,
        classes: impl IntoIterator<Item = ClientClass>,
    ) -> Self {
        let with_cluster = |class: ClientClass| {
            let cluster = class.cluster();
            (class, cluster)
        };
        Self {
            graph,
            policy,
            clients: classes.into_iter().map(with_cluster).collect(),
        }
    }

    /// The kinds of clients, in the order in which they were given.
    pub fn classes(&self) -> impl Iterator<Item = &ClientClass> {
        self.clients.iter().map(|(class, _)| class)
    }

    /// What a set of blocks means for each of them.
    pub fn verdicts(&self, blocks: BlockSetId) -> impl Iterator<Item = BlockVerdict> {
        let clusters = self.clients.iter().map(|(_, cluster)| cluster);
        clusters.map(move |cluster| judge(self.policy, self.graph, cluster, blocks))
    }
}

impl BlockVerdict {
    /// The risks to weigh; none if the edge is not offered.
    pub fn risks(&self) -> Option<&[RiskId]> {
        match self {
            Self::Offered(risks) => Some(risks),
            Self::Held(_) => None,
        }
    }
}

fn judge(
    policy: &Policy<Edges>,
    graph: &Graph,
    cluster: &Cluster,
    blocks: BlockSetId,
) -> BlockVerdict {
    let edge = Edge {
        from: ReleaseId(0),
        to: ReleaseId(0),
        blocks,
    };
    let at = Situation {
        graph,
        cluster,
        now: Timestamp::UNIX_EPOCH,
    };
    match policy.judge(&at.about(edge)).answer {
        Answer::Recommend => BlockVerdict::Offered(Box::default()),
        Answer::RecommendUnless(risks) => BlockVerdict::Offered(risks.into_iter().collect()),
        Answer::Wait { .. } | Answer::Refuse => BlockVerdict::Held(holding(edge, &at)),
    }
}

/// The blocks that keep the cluster from an edge: those that a rule on blocks names.
fn holding(edge: Edge, at: &Situation<'_>) -> Box<[BlockId]> {
    let reasons = HARD_BLOCKS
        .judge(&at.about(edge))
        .and(HALTS.judge(&at.about(edge)))
        .and(RISKS_NOT_SERVABLE.judge(&at.about(edge)))
        .and(TARGETED_BLOCKS.judge(&at.about(edge)))
        .reasons;
    let named: BTreeSet<&Place> = reasons.iter().filter_map(|one| one.place()).collect();
    let ids = at.graph.block_ids_in(edge.blocks).iter().copied();
    ids.filter(|id| named.contains(&at.graph.block(*id).origin))
        .collect()
}
