//! The past: earlier releases of a good kind, from which base rates are learned.

use jiff::{SignedDuration, Timestamp};
use towpath_core::feedback::Attempt;
use towpath_core::graph::{Ramp, Window};
use towpath_core::version::Version;

use crate::{Chance, Delays, Fates, SimulatedCluster, SimulatedRollout};

/// Attempts at these releases, one a week before `start`, each by all clusters of the fleet.
pub fn past_attempts(
    releases: &[Version],
    start: Timestamp,
    fleet: &[SimulatedCluster],
    fates: &Fates,
    chance: &mut Chance,
) -> Vec<Attempt> {
    let week = SignedDuration::from_hours(7 * 24);
    let of_release = |(number, to): (usize, &Version)| {
        let begin = start - week * (releases.len() - number) as i32;
        let window = Window {
            start: begin,
            end: begin + SignedDuration::from_hours(48),
            ramp: Ramp::Linear,
        };
        let rollout = SimulatedRollout {
            to,
            shown_at: &|position| window.due(position),
            polling: SignedDuration::ZERO,
            delays: Delays::FailuresSooner,
            fates,
        };
        rollout.attempts(fleet, chance)
    };
    releases.iter().enumerate().flat_map(of_release).collect()
}
