//! Which edges does this client see?
//!
//! This is the truth. The graph service compiles it into sheets for speed, and a property test
//! holds both equal.

use crate::graph::rules::{Edges, Managed};
use crate::graph::{ChannelView, Edge, ReleaseId, Situation};
use crate::rules::Rule;
use crate::verdict::Verdict;

/// What a client's channel holds now, and what is said about each edge in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct View {
    pub releases: Vec<ReleaseId>,
    /// Every edge between them, with its verdict; those that are not offered too.
    pub judged: Vec<(Edge, Verdict)>,
}

/// Judges every edge of the cluster's channel and architecture. A channel that does not exist has none.
pub fn recommend(policy: &dyn Rule<Edges>, at: &Situation<'_>) -> View {
    let channel = at.cluster.channel.as_str();
    let view = ChannelView::named(at.graph, channel, &at.cluster.arch, at.now);
    let judge = |edge: Edge| (edge, policy.judge(&at.about(edge)));
    View {
        releases: view.releases().collect(),
        judged: view.edges().map(|one| judge(one.edge)).collect(),
    }
}

/// What a cluster sees that a fleet's policy looks after: of the edges that the policy lets it take, those that are offered anyway.
pub fn recommend_managed(
    policy: &dyn Rule<Edges>,
    managed: &Managed,
    at: &Situation<'_>,
) -> Vec<(Edge, Verdict)> {
    let (graph, arch) = (at.graph, &at.cluster.arch);
    let from = graph
        .find(&managed.from, arch)
        .filter(|_| !managed.to.is_empty());
    let view = ChannelView::named(graph, at.cluster.channel.as_str(), arch, at.now);
    let edges = from.into_iter().flat_map(|from| view.edges_from(from));
    edges
        .map(|one| one.edge)
        .filter(|edge| managed.lets(*edge, graph))
        .map(|edge| (edge, policy.judge(&at.about(edge))))
        .filter(|(_, verdict)| verdict.is_offered())
        .collect()
}

impl View {
    /// The edges that the client is shown, with or without risks to weigh.
    pub fn offered(&self) -> impl Iterator<Item = &(Edge, Verdict)> {
        self.judged
            .iter()
            .filter(|(_, verdict)| verdict.is_offered())
    }
}
