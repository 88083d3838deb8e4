//! Exposure: how many clusters have begun when a bad release is halted.

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use towpath_core::feedback::{Attempt, FailureRate, HaltScope, History, WatchSettings};
use towpath_core::graph::{Position, Ramp};
use towpath_testing_feedback::{
    Chance, Delays, Fates, Hit, SimulatedCluster, SimulatedRollout, Trouble, exposed, halted,
};

use super::case::{BASE, RELEASE, clusters, spread, version, window};

pub(crate) const CLUSTERS: usize = 10_000;
pub(crate) const DELAY: SignedDuration = SignedDuration::from_hours(4);

/// A window, how long clusters take to ask again, and how often the release fails.
struct Case {
    hours: i64,
    ramp: Ramp,
    polling_minutes: i64,
    failing: u32,
    /// Whether a bar holds it, so that it takes all runs. The others take a tenth.
    has_bar: bool,
}

const fn case(hours: i64, ramp: Ramp, polling_minutes: i64, failing: u32, has_bar: bool) -> Case {
    Case {
        hours,
        ramp,
        polling_minutes,
        failing,
        has_bar,
    }
}

const CASES: [Case; 10] = [
    case(24, Ramp::Exponential, 0, 200_000, true),
    case(48, Ramp::Exponential, 0, 200_000, true),
    case(24, Ramp::Exponential, 4, 200_000, false),
    case(48, Ramp::Exponential, 4, 200_000, false),
    case(24, Ramp::Exponential, 0, 100_000, false),
    case(24, Ramp::Exponential, 0, 50_000, false),
    case(48, Ramp::Exponential, 0, 100_000, false),
    case(48, Ramp::Exponential, 0, 50_000, false),
    case(24, Ramp::Linear, 0, 200_000, false),
    case(48, Ramp::Linear, 0, 200_000, false),
];

/// Measures all cases, or the one of this number.
pub(crate) fn measure(runs: u64, only: Option<usize>) {
    let fleet = clusters(CLUSTERS, &mut Chance::of(0xBAD));
    let cases = CASES.iter().enumerate();
    for (_, case) in cases.filter(|(number, _)| only.is_none_or(|only| only == *number)) {
        let window = window(case.hours, case.ramp);
        let polling = SignedDuration::from_mins(case.polling_minutes);
        let runs = if case.has_bar { runs } else { runs / 10 };
        let (mut found, mut counts) = (0, Vec::new());
        for run in 0..runs {
            let shown_at = |position| window.due(position);
            let attempts = bad_release(&fleet, &shown_at, polling, case.failing, run);
            let halt = halted(
                &version(RELEASE),
                &attempts,
                &History::default(),
                &WatchSettings::default(),
            );
            found += u64::from(halt.is_some());
            counts.push(halt.map_or(CLUSTERS, |halt| exposed(&attempts, halt.since)));
        }
        let line = json!({
            "hours": case.hours,
            "ramp": case.ramp.name(),
            "pollingMinutes": case.polling_minutes,
            "failing": f64::from(case.failing) / 1e6,
            "releases": runs,
            "found": found,
            "exposed": spread(counts, CLUSTERS),
        });
        println!("{line}");
    }
}

/// A release that fails for everybody, to the end.
pub(crate) fn bad_release(
    fleet: &[SimulatedCluster],
    shown_at: &dyn Fn(Position) -> Timestamp,
    polling: SignedDuration,
    failing: u32,
    run: u64,
) -> Vec<Attempt> {
    let mut chance = Chance::of_run(0xBAD, run);
    let fates = Fates {
        failed: BASE,
        degraded: BASE,
        trouble: Some(Trouble {
            hit: Hit::Scope(HaltScope::default()),
            failed: FailureRate::per_million(failing),
        }),
    };
    let rollout = SimulatedRollout {
        to: &version(RELEASE),
        shown_at,
        polling,
        delays: Delays::Fixed(DELAY),
        fates: &fates,
    };
    rollout.attempts(fleet, &mut chance)
}
