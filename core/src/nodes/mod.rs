//! Nodes: how what runs on every node is replaced, a few nodes at a time.
//!
//! Objects come in, the next step comes out. Nothing here waits, reads a clock or asks a cluster. Each step can be lost, or be
//! taken twice, and the next one is right all the same: what was done is read off the objects.

mod daemon_rollout;
mod daemons;
pub mod run;

pub use daemon_rollout::{DaemonProgress, DaemonStep, RolloutRecord, next_step};
pub use daemons::{DaemonNode, DaemonPod, DaemonSettings, DaemonView};
