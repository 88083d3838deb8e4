//! What all parts share: releases, fleets, rates, and how a spread is told.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use towpath_core::feedback::FailureRate;
use towpath_core::graph::{Ramp, Window};
use towpath_core::version::Version;
use towpath_testing_feedback::{Chance, FleetShape, SimulatedCluster, fleet};

/// The watched release, one that others update to, and where clusters come from.
pub(crate) const RELEASE: &str = "4.20.9";
pub(crate) const ANOTHER: &str = "4.20.10";
const FROM: &str = "4.20.8";
const FROM_BEFORE: &str = "4.19.15";

/// Half a percent, which is the default base rate.
pub(crate) const BASE: FailureRate = FailureRate::per_million(5_000);

pub(crate) fn version(text: &str) -> Version {
    text.parse().unwrap()
}

pub(crate) fn start() -> Timestamp {
    "2026-01-05T00:00:00Z".parse().unwrap()
}

pub(crate) fn window(hours: i64, ramp: Ramp) -> Window {
    Window {
        start: start(),
        end: start() + SignedDuration::from_hours(hours),
        ramp,
    }
}

/// A fleet in which an organisation has 25 clusters on average.
pub(crate) fn clusters(count: usize, chance: &mut Chance) -> Vec<SimulatedCluster> {
    let shape = FleetShape {
        clusters: count,
        organisations: (count as u64 / 25).max(4),
    };
    fleet(shape, &version(FROM), &version(FROM_BEFORE), chance)
}

/// The median and the 95th percentile, in parts of the fleet.
pub(crate) fn spread(mut counts: Vec<usize>, of: usize) -> Value {
    counts.sort_unstable();
    let percentile = |percent: usize| {
        let rank = (counts.len() * percent).div_ceil(100).max(1);
        counts[rank - 1] as f64 / of as f64
    };
    json!({ "median": percentile(50), "p95": percentile(95) })
}
