//! Nodes: how what runs on every node is replaced, a few nodes at a time; and how nodes reboot without moving pods twice.
//!
//! Objects come in, the next step comes out. Nothing here waits, reads a clock or asks a cluster. Each step can be lost, or be
//! taken twice, and the next one is right all the same: what was done is read off the objects.

mod advice;
mod blockers;
mod counted;
mod daemon_rollout;
mod daemon_set;
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
mod wave_reasons;

pub(crate) use advice::advice_codes;
pub use advice::{DaemonAdvice, SetAdvice, advise};
pub use daemon_rollout::{DaemonProgress, DaemonStep, RolloutRecord, next_step};
pub use daemon_set::{DaemonOwner, DaemonSetFacts, UpdateStrategy};
pub use daemons::{DaemonNode, DaemonPod, DaemonSettings, DaemonView};
pub use model::{
    MAX_NODES, MAX_PODS, Model, ModelNode, ModelPod, NO_POOL, NoModel, NodeIdx, PodIdx,
};
pub use places::UPDATE_TAINT;
pub use plan::{
    HeldNode, MAX_SURGE, NoPlan, NodesPlan, PlanRequest, PlannedWave, PoolOutlook, PoolPlan, plan,
};
pub use rebalance::{EVEN_PERCENT, Loads, Rebalanced};
pub use rolling::{RebootOutcome, rolling_reboot};
pub(crate) use run::run_codes;
pub use simulation::{Drain, Move, Simulation, Steering, UpdateMark};
pub(crate) use wave_reasons::wave_codes;
pub use wave_reasons::{counts_differ, not_observed};
