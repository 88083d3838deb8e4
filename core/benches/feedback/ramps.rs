//! Ramps: how many clusters are exposed with more or fewer doublings than the eight of graph data.

use jiff::SignedDuration;
use serde_json::json;
use towpath_core::feedback::{History, WatchSettings};
use towpath_core::graph::Position;
use towpath_testing_feedback::{Chance, doublings, exposed, halted};

use super::case::{RELEASE, clusters, spread, start, version};
use super::exposure::{CLUSTERS, bad_release};

const HOURS: [i64; 2] = [24, 48];
/// One stretch is the linear ramp.
const STRETCHES: [u32; 8] = [1, 4, 6, 8, 10, 12, 14, 16];
const FAILING: [u32; 2] = [200_000, 50_000];

pub(crate) fn measure(runs: u64) {
    let fleet = clusters(CLUSTERS, &mut Chance::of(0xBAD));
    for hours in HOURS {
        for stretches in STRETCHES {
            for failing in FAILING {
                let length = SignedDuration::from_hours(hours);
                let shown_at = |position: Position| doublings(start(), length, stretches, position);
                let begun = (0..runs).map(|run| {
                    let attempts =
                        bad_release(&fleet, &shown_at, SignedDuration::ZERO, failing, run);
                    let halt = halted(
                        &version(RELEASE),
                        &attempts,
                        &History::default(),
                        &WatchSettings::default(),
                    );
                    halt.map_or(CLUSTERS, |halt| exposed(&attempts, halt.since))
                });
                let line = json!({
                    "hours": hours,
                    "doublings": stretches,
                    "failing": f64::from(failing) / 1e6,
                    "releases": runs,
                    "exposed": spread(begun.collect(), CLUSTERS),
                });
                println!("{line}");
            }
        }
    }
}
