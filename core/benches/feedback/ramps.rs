//! Ramps: how many clusters are exposed with more or fewer doublings than the eight of graph data, and in stages.
//!
//! Where outcomes take equally long, after how many of them a release is halted does not depend on the ramp. So the watch looks at
//! each release once, and every ramp is asked who had begun by then. The stages that do best are simulated as well.
//!
//! The last line of each group is a bound for every ramp that there can be, even one that knows how often the release fails.

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

/// What no ramp does better than.
const BOUND: &str = "no ramp at all can do better";
/// What stands for all rates together, each as likely as the others.
const ALL_RATES: u32 = 0;

/// The positions of all clusters, and of the one whose outcome was the last that a halt needed.
struct Halted {
    positions: Vec<Position>,
    last: Option<Position>,
}

pub(crate) fn measure(runs: u64) {
    let fleet = clusters(CLUSTERS, &mut Chance::of(0xBAD));
    let of_rate = |failing| {
        let releases = (0..runs).map(|run| release(&fleet, failing, run));
        releases.collect::<Vec<Halted>>()
    };
    let rates: Vec<Vec<Halted>> = FAILING.map(of_rate).into();
    let of_all: Vec<&Halted> = rates.iter().flatten().collect();
    let mut kinds: Vec<(u32, Vec<&Halted>)> = Vec::new();
    for (failing, releases) in FAILING.iter().zip(&rates) {
        kinds.push((*failing, releases.iter().collect()));
    }
    kinds.push((ALL_RATES, of_all));
    for (failing, releases) in kinds {
        for hours in HOURS {
            let length = SignedDuration::from_hours(hours);
            for (name, ramp) in ramps(length) {
                let exposed = releases
                    .iter()
                    .map(|release| release.exposed(&ramp, length));
                line(hours, &name, failing, false, exposed.collect());
            }
            if failing != ALL_RATES {
                let stages = best(length);
                let exposed =
                    (0..runs / 4).map(|run| simulated(&fleet, &stages, length, failing, run));
                line(hours, "stages", failing, true, exposed.collect());
            }
            let needed = releases.iter().map(|release| release.needed());
            line(
                hours,
                BOUND,
                failing,
                false,
                fewest(needed.collect(), length),
            );
        }
    }
}

/// How many clusters each release is on when it is halted, with the ramp that does best on average for exactly these releases.
///
/// Take any ramp, and what it has shown at 0, d, 2 d, … where d is the delay. Who begins after i d has an outcome after (i + 1) d, so
/// everybody of that instant is exposed. Stages of these shares at these times expose no more, whichever outcome is the last that is
/// needed. So the best ramp is one in stages, as many as delays begin in the window, and then everybody. Their sizes are those after
/// which releases are halted, since between two of these a smaller stage exposes fewer.
fn fewest(mut needed: Vec<usize>, length: SignedDuration) -> Vec<usize> {
    needed.sort_unstable();
    let seconds = (length.as_secs(), DELAY.as_secs());
    let stages = usize::try_from((seconds.0 + seconds.1 - 1) / seconds.1).unwrap();
    let count = needed.len();
    // least[n] is the least sum of the first n releases in so many stages, and where the last of these stages begins.
    let mut least: Vec<Option<usize>> = vec![None; count + 1];
    least[0] = Some(0);
    let mut cuts: Vec<Vec<usize>> = Vec::new();
    for stage in 0..=stages {
        let mut next = least.clone();
        let mut cut: Vec<usize> = (0..=count).collect();
        for end in 1..=count {
            let size = match stage == stages {
                true => CLUSTERS,
                false => needed[end - 1],
            };
            for begin in 0..end {
                let sum = least[begin].map(|sum| sum + (end - begin) * size);
                if sum.is_some_and(|sum| next[end].is_none_or(|best| sum < best)) {
                    (next[end], cut[end]) = (sum, begin);
                }
            }
        }
        least = next;
        cuts.push(cut);
    }
    let (mut exposed, mut end) = (Vec::new(), count);
    for (stage, cut) in cuts.iter().enumerate().rev() {
        let size = match stage == stages {
            true => CLUSTERS,
            false => end.checked_sub(1).map_or(0, |last| needed[last]),
        };
        exposed.extend((cut[end]..end).map(|_| size));
        end = cut[end];
    }
    exposed
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
    /// How many outcomes a halt needs, in the order of positions; all clusters if it is never halted.
    fn needed(&self) -> usize {
        self.last.map_or(CLUSTERS, |last| {
            self.positions.iter().filter(|one| **one <= last).count()
        })
    }

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
