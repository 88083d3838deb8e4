//! Nodes: how what runs on every node is replaced, a few nodes at a time; and how nodes reboot without moving pods twice.
//!
//! Objects come in, the next step comes out. Nothing here waits, reads a clock or asks a cluster. Each step can be lost, or be
//! taken twice, and the next one is right all the same: what was done is read off the objects.

mod blockers;
mod counted;
mod daemon_rollout;
mod daemons;
mod model;
mod places;
mod plan;
mod pool_planning;
mod rebalance;
mod rolling;
pub mod run;
mod scheduler;
mod score;
mod simulation;
mod surge;
mod waves;

pub(crate) use blockers::drain_codes;
pub use blockers::{DrainQuestion, Drains, blockers};
pub use daemon_rollout::{DaemonProgress, DaemonStep, RolloutRecord, next_step};
pub use daemons::{DaemonNode, DaemonPod, DaemonSettings, DaemonView};
pub use model::{
    MAX_NODES, MAX_PODS, Model, ModelNode, ModelPod, NO_POOL, NoModel, NodeIdx, PodIdx,
};
pub use places::UPDATE_TAINT;
pub use plan::{
    HeldNode, MAX_SURGE, NoPlan, NodesPlan, PlanRequest, PlannedWave, PoolOutlook, PoolPlan, plan,
};
pub use rebalance::{EVEN_PERCENT, Loads};
pub use rolling::{RebootOutcome, rolling_reboot};
pub use simulation::{Drain, Move, Simulation, Steering, UpdateMark};
