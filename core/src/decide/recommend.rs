//! Which edges does this client see?
//!
//! This is the truth; the graph service compiles it into sheets for speed, and a property test holds both equal.

use crate::domain::{Edge, ReleaseId, Situation, Verdict};
use crate::rules::Rule;

/// What a client's channel holds now, and what is said about each edge in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct View {
    pub releases: Vec<ReleaseId>,
    /// Every edge between them, with its verdict; those that are not offered too.
    pub judged: Vec<(Edge, Verdict)>,
}

/// Judges every edge of the cluster's channel and architecture. A channel that does not exist has none.
pub fn recommend(policy: &dyn Rule, at: &Situation<'_>) -> View {
    let Some(channel) = at.graph.channel(at.cluster.channel.as_str()) else {
        return View::default();
    };
    let entered = at
        .graph
        .members(channel, &at.cluster.arch)
        .iter()
        .filter(|(_, place)| place.start <= at.now);
    let releases: Vec<ReleaseId> = entered.map(|(id, _)| *id).collect();
    let edges = releases.iter().flat_map(|from| at.graph.edges_from(*from));
    let inside = edges.filter(|edge| releases.binary_search(&edge.to).is_ok());
    let judged = inside
        .map(|edge| (*edge, policy.judge(*edge, at)))
        .collect();
    View { releases, judged }
}

impl View {
    /// The edges that the client is shown, be it with risks to weigh.
    pub fn offered(&self) -> impl Iterator<Item = &(Edge, Verdict)> {
        self.judged
            .iter()
            .filter(|(_, verdict)| verdict.is_offered())
    }
}
