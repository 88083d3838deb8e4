//! Rules: each reason an update may not happen now, one small file each.
//!
//! A rule is a pure function from a question to a verdict. There are four questions: about an edge of the graph ([`EdgeQuestion`]), about
//! a start in the fleet, about an offer that a cluster's agent considers, and about a step that a cluster would take.

pub mod automatic;
mod channel_entry;
mod edge;
mod enrolled;
pub(crate) mod fleet;
mod hard_block;
mod known_risk;
mod managed;
mod phased_rollout;
pub mod ready;
mod source_stale;
mod targeted_block;

pub(crate) use channel_entry::not_in_channel;
pub use channel_entry::{ChannelEntry, NOT_IN_CHANNEL};
pub use edge::{EdgeQuestion, Edges, NO_EDGE, RECORDED, UNKNOWN_RELEASE, edge_codes};
pub use enrolled::Enrolled;
pub use fleet::{NOT_SOAKED, RuleId, fleet_codes};
pub use hard_block::HardBlock;
pub use known_risk::{KNOWN_RISK, KnownRisk};
pub use managed::Managed;
pub use phased_rollout::{PhasedRollout, ROLLOUT_WITHOUT_ID};
pub use source_stale::SourceStale;
pub use targeted_block::TargetedBlock;

use crate::verdict::{Code, Verdict};

/// Something that rules judge. What is asked borrows its facts.
pub trait Question: 'static {
    type At<'a>;
}

/// A reason an update may not happen now.
pub trait Rule<Q: Question>: Send + Sync {
    /// The stable name: for filters and metrics.
    fn name(&self) -> &'static str;

    /// The kinds of reasons that it gives.
    fn codes(&self) -> Vec<&'static Code>;

    fn judge(&self, question: &Q::At<'_>) -> Verdict;

    /// Whether it stands in the way. A rule that is asked millions of times answers this without words.
    fn holds(&self, question: &Q::At<'_>) -> bool {
        !self.judge(question).is_offered()
    }
}

/// A list of rules; itself a rule. The order does not matter.
pub struct Policy<Q: Question>(pub &'static [&'static dyn Rule<Q>]);

impl<Q: Question> Rule<Q> for Policy<Q> {
    fn name(&self) -> &'static str {
        "policy"
    }

    fn codes(&self) -> Vec<&'static Code> {
        self.0.iter().flat_map(|rule| rule.codes()).collect()
    }

    fn judge(&self, question: &Q::At<'_>) -> Verdict {
        self.0.iter().map(|rule| rule.judge(question)).collect()
    }

    fn holds(&self, question: &Q::At<'_>) -> bool {
        self.0.iter().any(|rule| rule.holds(question))
    }
}
