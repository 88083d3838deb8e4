//! A rolling reboot in a given order: what it would do to pods without any plan, and what a plan is held against.

use super::model::{Model, NodeIdx};
use super::simulation::{Simulation, Steering};

/// What a rolling reboot did to pods.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RebootOutcome {
    /// Pods that were moved at all.
    pub moved: usize,
    /// Pods that were moved more than once.
    pub moved_again: usize,
    /// All moves.
    pub moves: usize,
    /// Pods that waited for a node to come back.
    pub waited: usize,
    /// Pods that could not be evicted.
    pub stuck: usize,
}

/// Reboots nodes wave by wave. Whatever is stuck stays where it is.
pub fn rolling_reboot(
    model: &Model,
    waves: &[Vec<NodeIdx>],
    steering: Steering,
    seed: u64,
) -> RebootOutcome {
    let mut simulation = Simulation::new(model, seed);
    simulation.steer(waves.iter().flatten().copied(), steering);
    let mut outcome = RebootOutcome::default();
    for wave in waves {
        let drain = simulation.drain(wave);
        outcome.waited += drain.waiting.len();
        outcome.stuck += drain.stuck.len();
        simulation.bring_back(wave);
    }
    RebootOutcome {
        waited: outcome.waited,
        stuck: outcome.stuck,
        ..simulation.outcome()
    }
}

impl Simulation<'_> {
    /// What has happened to pods so far.
    pub fn outcome(&self) -> RebootOutcome {
        let evictions = self.pods.iter().map(|pod| pod.evictions);
        let at_least = |least: u32| evictions.clone().filter(|times| *times >= least).count();
        RebootOutcome {
            moved: at_least(1),
            moved_again: at_least(2),
            moves: evictions.clone().map(|times| times as usize).sum(),
            ..RebootOutcome::default()
        }
    }
}
