//! Updates as agents report them: which version a cluster set out for, and what became of it.

use jiff::{SignedDuration, Timestamp};

use super::Name;
use crate::version::Version;

/// What became of an update, in the words of the cluster's agent. One that failed may still complete: then there are two of these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentUpdate {
    pub to: Version,
    pub outcome: AgentOutcome,
    /// What the cluster said about it; empty if nothing.
    pub why: Name,
    pub started_at: Timestamp,
    /// How long it took, as far as that is known.
    pub took: Option<SignedDuration>,
    /// Whether the agent started it by itself.
    pub is_automatic: bool,
}

/// What became of an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AgentOutcome {
    Completed,
    /// The cluster says that it fails, or does not accept it.
    Failed,
    /// Somebody has asked for something else before it was complete.
    GivenUp,
}

impl AgentOutcome {
    pub const ALL: [Self; 3] = [Self::Completed, Self::Failed, Self::GivenUp];

    /// For JSON, metrics and the store.
    pub fn code(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::GivenUp => "given-up",
        }
    }

    /// The outcome of that code.
    pub fn of_code(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.code() == code)
    }
}
