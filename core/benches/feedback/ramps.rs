//! Ramps: how many clusters are exposed with more or fewer doublings than the eight of graph data, and in stages.
//!
//! Where outcomes take equally long, after how many of them a release is halted does not depend on the ramp. So the watch looks at
//! each release once, and every ramp is asked who had begun by then. The stages that do best are simulated as well.

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use towpath_core::feedback::{History, WatchSettings, best_stages};
use towpath_core::graph::{Position, Ramp, Window};
use towpath_testing_feedback::{Chance, SimulatedCluster, SimulatedRamp, exposed, halted};

use super::case::{RELEASE, clusters, spread, start, version, window};
use super::exposure::{CLUSTERS, DELAY, bad_release};

const HOURS: [i64; 2] = [24, 48];
const FAILING: [u32; 3] = [200_000, 100_000, 50_000];
/// One stretch is the linear ramp.
const STRETCHES: [u32; 13] = [1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16];

/// The positions of all clusters, and of the one whose outcome was the last that a halt needed.
struct Halted {
    positions: Vec<Position>,
    last: Option<Position>,
}

pub(crate) fn measure(runs: u64) {
    let fleet = clusters(CLUSTERS, &mut Chance::of(0xBAD));
    for failing in FAILING {
        let releases: Vec<Halted> = (0..runs).map(|run| release(&fleet, failing, run)).collect();
        for hours in HOURS {
            let length = SignedDuration::from_hours(hours);
            for (name, ramp) in ramps(length) {
                let exposed = releases
                    .iter()
                    .map(|release| release.exposed(&ramp, length));
                line(hours, &name, failing, false, exposed.collect());
            }
            let stages = best(length);
            let exposed = (0..runs / 4).map(|run| simulated(&fleet, &stages, length, failing, run));
            line(hours, "stages", failing, true, exposed.collect());
        }
    }
}

fn line(hours: i64, ramp: &str, failing: u32, is_simulated: bool, exposed: Vec<usize>) {
    let mean = exposed.iter().sum::<usize>() as f64 / (exposed.len() * CLUSTERS) as f64;
    let line = json!({
        "hours": hours,
        "ramp": ramp,
        "isSimulated": is_simulated,
        "failing": f64::from(failing) / 1e6,
        "releases": exposed.len(),
        "mean": mean,
        "exposed": spread(exposed, CLUSTERS),
    });
    println!("{line}");
}

fn ramps(length: SignedDuration) -> Vec<(String, SimulatedRamp)> {
    let doublings = STRETCHES.map(|stretches| {
        let name = match stretches {
            1 => "linear".to_owned(),
            8 => "exponential (8 doublings)".to_owned(),
            other => format!("{other} doublings"),
        };
        (name, SimulatedRamp::Doublings(stretches))
    });
    let stages = ("stages".to_owned(), best(length));
    doublings.into_iter().chain([stages]).collect()
}

fn best(length: SignedDuration) -> SimulatedRamp {
    let stages = best_stages(length, CLUSTERS as u64, &WatchSettings::default());
    SimulatedRamp::Real(Ramp::Stages(stages.expect("there is room for two stages")))
}

/// A bad release that rolls out, and what it is halted by.
fn release(fleet: &[SimulatedCluster], failing: u32, run: u64) -> Halted {
    let window: Window = window(24, Ramp::Exponential);
    let shown_at = |position| window.due(position);
    let attempts = bad_release(fleet, &shown_at, SignedDuration::ZERO, failing, run);
    let position = |at: Timestamp| Position(u64::try_from(window.share(at).parts() - 1).unwrap());
    let halt = halted(
        &version(RELEASE),
        &attempts,
        &History::default(),
        &WatchSettings::default(),
    );
    Halted {
        positions: attempts.iter().map(|a| position(a.started_at)).collect(),
        last: halt.map(|halt| position(halt.since - DELAY)),
    }
}

impl Halted {
    fn exposed(&self, ramp: &SimulatedRamp, length: SignedDuration) -> usize {
        let Some(last) = self.last else {
            return CLUSTERS;
        };
        let known_at = ramp.due(start(), length, last) + DELAY;
        self.positions
            .partition_point(|position| ramp.due(start(), length, *position) <= known_at)
    }
}

/// The same with the watch itself on the ramp.
fn simulated(
    fleet: &[SimulatedCluster],
    ramp: &SimulatedRamp,
    length: SignedDuration,
    failing: u32,
    run: u64,
) -> usize {
    let shown_at = |position| ramp.due(start(), length, position);
    let attempts = bad_release(fleet, &shown_at, SignedDuration::ZERO, failing, run);
    let halt = halted(
        &version(RELEASE),
        &attempts,
        &History::default(),
        &WatchSettings::default(),
    );
    halt.map_or(CLUSTERS, |halt| exposed(&attempts, halt.since))
}
