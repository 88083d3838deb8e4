//! An assessment: what a watch answers about a release, with its evidence.

use jiff::Timestamp;

use crate::fleet::Name;
use crate::version::Version;

use super::{Bits, FailureRate, HaltScope};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WatchAnswer {
    /// It fails too often: stop offering it.
    Halt,
    /// The tolerated failure rate is ruled out.
    GoOn,
    /// Neither: too few outcomes are known.
    Inconclusive,
}

/// By which of both tests it is halted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HaltWay {
    /// It fails more often than updates did before, and others do not fail as much at the same time.
    AgainstHistory,
    /// It fails more often than other updates at the same time.
    AgainstOthers,
}

/// Whom to stop offering the release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Halt {
    pub scope: HaltScope,
    pub way: HaltWay,
    /// When all that it needs was known. A later look may say a later time: failures that have become known since are counted in
    /// the order of their starts, so they may come before. What is made or proposed keeps the time of the look that did so.
    pub since: Timestamp,
    /// The evidence at that time, and what it had to reach.
    pub evidence: Bits,
    pub needed: Bits,
}

/// Why there is no halt, though there is evidence for one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeldBack {
    /// The evidence is enough only with this organisation.
    OnlyWith(Name),
    /// Updates to other releases fail at the same time as well.
    OthersFailToo,
}

/// What is known of the clusters of a scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopeEvidence {
    pub scope: HaltScope,
    /// A scope that is not halted and not ruled good is inconclusive, though another may be halted.
    pub answer: WatchAnswer,
    pub attempts: u64,
    /// Those whose outcome is known.
    pub known: u64,
    pub failed: u64,
    pub degraded: u64,
    /// The failure rate that history allows, on average over the attempts.
    pub base_rate: FailureRate,
    pub organisations_hit: u64,
    /// The strongest evidence so far, against history and against others.
    pub against_history: Bits,
    pub against_others: Bits,
    /// What either must reach where no other scope helps.
    pub needed: Bits,
    /// The smallest failure rate that would have been seen by now, in whole percent.
    pub visible_by_now: Option<FailureRate>,
    /// The tolerated rate would be seen after about so many attempts.
    pub tolerated_seen_after: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assessment {
    pub release: Version,
    pub at: Timestamp,
    pub answer: WatchAnswer,
    /// Whom to stop offering it, in the order of their times; empty unless the answer is to halt.
    pub halts: Vec<Halt>,
    pub held_back: Option<HeldBack>,
    pub tolerated_rate: FailureRate,
    /// The first is for all clusters.
    pub scopes: Vec<ScopeEvidence>,
}

impl WatchAnswer {
    pub fn code(self) -> &'static str {
        match self {
            Self::Halt => "halt",
            Self::GoOn => "go-on",
            Self::Inconclusive => "inconclusive",
        }
    }
}

impl HaltWay {
    pub fn code(self) -> &'static str {
        match self {
            Self::AgainstHistory => "against-history",
            Self::AgainstOthers => "against-others",
        }
    }
}
