//! The questions that are asked of rules.

mod dispatch;
mod plans;
mod recommend;
mod rollouts;
mod why;

pub use dispatch::{Decision, Desk, LockNeed, Start, StartKind, dispatch, sector_key};
pub use plans::{Cancel, EXPECTED, Ended, GRACE, Overdue};
pub use recommend::{View, recommend};
pub use rollouts::{Rollout, rollouts};
pub use why::{CandidateWhy, Why};
