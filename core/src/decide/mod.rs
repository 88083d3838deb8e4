//! The questions that are asked of rules.

mod recommend;
mod rollouts;

pub use recommend::{View, recommend};
pub use rollouts::{Rollout, rollouts};
