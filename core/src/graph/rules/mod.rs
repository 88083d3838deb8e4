//! The question about an edge of the graph, the rules that answer it (one small file each), and
//! the policies made of them.

mod channel_entry;
mod enrolled;
mod hard_block;
mod held_rollout;
mod known_risk;
mod managed;
mod minor_succession;
mod phased_rollout;
mod risk_not_servable;
mod source_stale;
mod targeted_block;

pub use channel_entry::NOT_IN_CHANNEL;
pub(crate) use channel_entry::{RULE as CHANNEL_ENTRY, not_in_channel};
pub use enrolled::Enrolled;
pub(crate) use hard_block::RULE as HARD_BLOCKS;
pub use held_rollout::RULE as HELD_ROLLOUT;
pub use known_risk::KNOWN_RISK;
#[cfg(test)]
pub(crate) use managed::FLEET_HOLDS;
pub use managed::Managed;
pub(crate) use minor_succession::EDGE_SKIPS_MINOR;
pub use phased_rollout::{ROLLOUT_WITHOUT_ID, RULE as PHASED_ROLLOUT};
pub(crate) use risk_not_servable::RULE as RISKS_NOT_SERVABLE;
pub(crate) use source_stale::RULE as SOURCE_STALE;
pub(crate) use targeted_block::RULE as TARGETED_BLOCKS;

use jiff::Timestamp;

use crate::cluster::Cluster;
use crate::graph::{Edge, Graph, Situation};
use crate::rules::{PlainRule, Policy, Question, Rule};
use crate::verdict::Code;

/// Questions about edges.
pub struct Edges;

impl Question for Edges {
    type At<'a> = EdgeQuestion<'a>;
}

type EdgeRule = PlainRule<Edges>;

/// May this client take this edge now?
#[derive(Debug, Clone, Copy)]
pub struct EdgeQuestion<'a> {
    pub edge: Edge,
    pub graph: &'a Graph,
    pub cluster: &'a Cluster,
    pub now: Timestamp,
}

impl<'a> Situation<'a> {
    /// The question about one edge.
    pub fn about(&self, edge: Edge) -> EdgeQuestion<'a> {
        let Self {
            graph,
            cluster,
            now,
        } = *self;
        EdgeQuestion {
            edge,
            graph,
            cluster,
            now,
        }
    }
}

/// Rules whose verdict depends on the graph, the edge's blocks and the cluster alone, never on time.
/// The compiled sheets rely on that, and judge each set of blocks once.
static STANDING: Policy<Edges> = Policy(&[&BLOCKS, &SOURCE_STALE]);
static BLOCKS: Policy<Edges> = Policy(&[
    &HARD_BLOCKS,
    &known_risk::RULE,
    &RISKS_NOT_SERVABLE,
    &TARGETED_BLOCKS,
]);
static GRAPH: Policy<Edges> = Policy(&[&STANDING, &HELD_ROLLOUT, &PHASED_ROLLOUT]);
static TIMING: Policy<Edges> = Policy(&[&HELD_ROLLOUT, &PHASED_ROLLOUT, &CHANNEL_ENTRY]);
static ANYWHERE: Policy<Edges> = Policy(&[&GRAPH, &CHANNEL_ENTRY]);

impl Policy<Edges> {
    /// Rules whose verdict depends on the graph, the edge's blocks and the cluster alone, never on time.
    pub fn standing() -> &'static Self {
        &STANDING
    }

    /// The standing rules that look at blocks, and at nothing else of the graph.
    pub fn blocks() -> &'static Self {
        &BLOCKS
    }

    /// What decides which edges a client of the graph service sees.
    pub fn graph() -> &'static Self {
        &GRAPH
    }

    /// Rules whose verdict depends on the channel and time, never on an edge's blocks: when does it open?
    pub fn timing() -> &'static Self {
        &TIMING
    }

    /// What decides which edges a client sees, also of edges that may not be in the cluster's channel, or not yet.
    /// [`recommend`](crate::graph::recommend) asks only about those that are.
    pub fn anywhere() -> &'static Self {
        &ANYWHERE
    }
}

/// There is no edge to ask about.
pub static NO_EDGE: Code = Code::new(
    "NoEdge",
    "no release declares an update from {from} to {to}",
    "go by a release between them; `towpath path` finds the way",
)
.with(&[("from", "4.20.1"), ("to", "4.20.5")]);

/// What is asked about is older than what runs.
pub static OLDER: Code = Code::new(
    "Older",
    "{to} is older than {from}, and updates lead forward",
    "ask about a newer release",
)
.with(&[("from", "4.20.5"), ("to", "4.20.1")]);

/// An update that leaves out a minor version, which nobody declares.
pub static SKIPS_MINOR: Code = Code::new(
    "UpdateSkipsMinor",
    "from {from} to {to} skips {between}, and clusters update one minor version at a time",
    "go by a release of {between}; `towpath path` finds the way",
)
.with(&[("from", "4.14.16"), ("to", "4.16.30"), ("between", "4.15")]);

pub static UNKNOWN_RELEASE: Code = Code::new(
    "UnknownRelease",
    "there is no release {version} for {arch}",
    "look for a typing error; else the release file lacks it",
)
.with(&[("version", "4.20.5"), ("arch", "amd64")]);

/// An older Towpath recorded this reason. Only its code and sentence are known.
pub static RECORDED: Code = Code::new(
    "Recorded",
    "{text}",
    "see what it said then; an older Towpath recorded it",
)
.with(&[("code", "HardBlock"), ("text", "blocked for every cluster")]);

/// Every kind of reason about edges.
pub fn edge_codes() -> Vec<&'static Code> {
    let of_clusters = [Enrolled::CODES, Managed::CODES, minor_succession::CODES].concat();
    let all = ANYWHERE.codes().into_iter().chain(of_clusters);
    all.chain([&NO_EDGE, &OLDER, &SKIPS_MINOR, &UNKNOWN_RELEASE, &RECORDED])
        .collect()
}
