//! Feedback: what became of the updates to a release, and whether it is bad enough to stop.
//!
//! An attempt is one cluster's update to one release. Attempts of a class are compared with history and with what other
//! clusters do at the same time. Nothing here reads a clock or a store: attempts come in, an assessment comes out.
//! docs/feedback.md has the mathematics.
//!
//! ```text
//! report ─evidence→ Testimony ─follow→ Followed (stored) ─at a time→ Attempt ─count→ Tallies
//! ```

mod against_history;
mod against_others;
mod assess;
mod assessment;
mod attempt;
mod bits;
mod evidence;
mod follow;
mod goes_on;
mod history;
mod limits;
mod narrowest;
mod outcomes;
mod power;
mod rate;
mod scopes;
mod settings;
mod stages;
mod steps;
mod tally;
mod told;
mod trials;
mod visible;
mod watch;

pub use assess::assess;
pub use assessment::{Assessment, Halt, HaltWay, HeldBack, ScopeEvidence, WatchAnswer};
pub use attempt::{Attempt, Ending, HaltScope, Outcome, UpdateClass};
pub use bits::Bits;
pub use evidence::{
    DEGRADED_WITHIN, Followed, KEPT_FOR, MAX_OF_CLUSTER, UpdateEvidence, UpdateStart,
};
pub use follow::{Testimony, follow};
pub use history::{History, PastOutcomes, UpdateGroup};
pub use limits::TimeLimits;
pub use outcomes::{FleetOutcomes, OutcomeCount, ReleaseOutcomes};
pub use power::{PowerCard, PowerRow, StoppedAt, power_card};
pub use rate::FailureRate;
pub use settings::{FeedbackPolicy, Mode, WatchSettings};
pub use stages::best_stages;
pub use tally::{ClassKey, OutcomeTally, Tallies};
pub use told::{HistoryStep, Told};
pub use visible::attempts_needed;
pub use watch::{
    HaltsSoFar, WatchAct, WatchCase, WatchDecision, WatchInput, WatchJudgement, WatchedRelease,
    watch, watched_releases,
};

/// What is counted against a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Signal {
    Failed,
    Degraded,
}

impl Signal {
    pub const ALL: [Self; 2] = [Self::Failed, Self::Degraded];

    /// Whether an outcome is this.
    pub fn is(self, outcome: Outcome) -> bool {
        match self {
            Self::Failed => outcome == Outcome::Failed,
            Self::Degraded => outcome == Outcome::Degraded,
        }
    }

    /// Its part of the evidence, as a logarithm.
    fn weight(self) -> Bits {
        match self {
            Self::Failed => Bits::of_ratio(7, 8),
            Self::Degraded => Bits::of_ratio(1, 8),
        }
    }
}
