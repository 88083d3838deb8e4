//! Nodes: how what runs on every node is replaced, a few nodes at a time.
//!
//! Objects come in, the next step comes out. Nothing here waits, reads a clock or asks a cluster. Each step can be lost, or be
//! taken twice, and the next one is right all the same: what was done is read off the objects.

mod advice;
mod daemon_rollout;
mod daemon_set;
mod daemons;
mod wave_reasons;

pub(crate) use advice::advice_codes;
pub use advice::{DaemonAdvice, SetAdvice, advise};
pub use daemon_rollout::{DaemonProgress, DaemonStep, RolloutRecord, next_step};
pub use daemon_set::{DaemonOwner, DaemonSetFacts, UpdateStrategy};
pub use daemons::{DaemonNode, DaemonPod, DaemonSettings, DaemonView};
pub(crate) use wave_reasons::wave_codes;
pub use wave_reasons::{counts_differ, not_observed};
