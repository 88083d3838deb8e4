//! The questions that are asked of rules.

mod choose;
mod coverage;
mod dispatch;
mod explain;
mod follow;
mod gate;
mod history;
mod ledger;
mod offers;
mod plans;
mod ready;
mod recommend;
mod retention;
mod rollouts;
mod status;
mod why;

pub use choose::{Choice, choose};
pub use coverage::{COVERAGE_CODES, coverage};
pub use dispatch::{Decision, Desk, LockNeed, Start, StartKind, dispatch, sector_key};
pub use explain::{Candidate, Explanation, Standing, explain};
pub use follow::{Outcome, follow};
pub use gate::{Gate, gate};
pub use history::{HistoryRow, history};
pub use ledger::{Ledger, Tenure, oldest_needed};
pub use offers::OfferBook;
pub(crate) use plans::PLAN_CODES;
pub use plans::{Cancel, EXPECTED, Ended, GRACE, Overdue};
pub use ready::{Readiness, ReadyHop, Task, ready};
pub use recommend::{View, recommend, recommend_managed};
pub use retention::{PRUNING_STEP, pruning_clock};
pub use rollouts::{RolloutStop, RolloutWindow, rollouts};
pub use status::{Next, StatusRow, status};
pub use why::{CandidateWhy, Why};
