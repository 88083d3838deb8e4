//! Rules: each reason an update may not happen now, one small file each.

pub mod automatic;
mod channel_entry;
mod enrolled;
pub(crate) mod fleet;
mod hard_block;
mod known_risk;
mod managed;
mod phased_rollout;
pub mod ready;
mod source_stale;
mod targeted_block;

pub use channel_entry::ChannelEntry;
pub use enrolled::Enrolled;
pub use hard_block::HardBlock;
pub use known_risk::KnownRisk;
pub use managed::Managed;
pub use phased_rollout::PhasedRollout;
pub use source_stale::SourceStale;
pub use targeted_block::TargetedBlock;

use crate::domain::{Edge, Situation, Verdict};

/// A pure function from an edge and a situation to a verdict.
pub trait Rule: Send + Sync {
    /// What this rule says about the edge.
    fn judge(&self, edge: Edge, at: &Situation<'_>) -> Verdict;
}

/// A list of rules; itself a rule. The order does not matter.
pub struct Policy(Vec<Box<dyn Rule>>);

impl Policy {
    /// Rules whose verdict depends on the graph, the edge's blocks and the cluster alone, never on time.
    /// The compiled sheets rely on that, and judge each set of blocks once.
    pub fn standing() -> Self {
        Self(vec![
            Box::new(HardBlock),
            Box::new(KnownRisk),
            Box::new(SourceStale),
            Box::new(TargetedBlock),
        ])
    }

    /// The standing rules that look at blocks, and at nothing else of the graph.
    pub fn blocks() -> Self {
        Self(vec![
            Box::new(HardBlock),
            Box::new(KnownRisk),
            Box::new(TargetedBlock),
        ])
    }

    /// What decides which edges a client of the graph service sees.
    pub fn graph() -> Self {
        Self(vec![Box::new(Self::standing()), Box::new(PhasedRollout)])
    }

    /// Rules whose verdict depends on the channel and time, never on an edge's blocks: when does it open?
    pub fn timing() -> Self {
        Self(vec![Box::new(PhasedRollout), Box::new(ChannelEntry)])
    }

    /// What decides which edges a client sees, also of edges that may not be in the cluster's channel, or not yet. [`recommend`](crate::decide::recommend) asks only
    /// about those that are.
    pub fn anywhere() -> Self {
        Self(vec![Box::new(Self::graph()), Box::new(ChannelEntry)])
    }
}

impl Rule for Policy {
    fn judge(&self, edge: Edge, at: &Situation<'_>) -> Verdict {
        self.0.iter().map(|rule| rule.judge(edge, at)).collect()
    }
}
