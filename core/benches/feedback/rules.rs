//! Rules of others beside the watch, on the same releases: as they are, and at equal false halts.

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use towpath_core::feedback::{Attempt, History, WatchSettings};
use towpath_core::graph::Ramp;
use towpath_testing_feedback::rules::CountRule;
use towpath_testing_feedback::{Chance, exposed, halted};

use super::case::{BASE, RELEASE, clusters, spread, version, window};
use super::exposure::{CLUSTERS, bad_release};

const FAILING: [u32; 3] = [200_000, 100_000, 50_000];
const ALPHA: f64 = 1e-3;
const GROUP: usize = 100;

enum Contestant {
    Watch,
    Count(CountRule),
    Nobody,
}

pub(crate) fn measure(runs: u64) {
    let rate = f64::from(BASE.parts()) / 1e6;
    let (three, tenth) = (
        CountRule::Failures(3),
        CountRule::InGroup {
            failures: 10,
            size: GROUP,
        },
    );
    let equal = |rule: CountRule| rule.at(ALPHA, CLUSTERS, rate);
    let contestants = [
        Contestant::Watch,
        Contestant::Count(three),
        Contestant::Count(equal(three)),
        Contestant::Count(tenth),
        Contestant::Count(equal(tenth)),
        Contestant::Nobody,
    ];
    let fleet = clusters(CLUSTERS, &mut Chance::of(0xBAD));
    let window = window(24, Ramp::Exponential);
    for failing in FAILING {
        let mut begun: Vec<Vec<usize>> = contestants.iter().map(|_| Vec::new()).collect();
        for run in 0..runs {
            let shown_at = |position| window.due(position);
            let attempts = bad_release(&fleet, &shown_at, SignedDuration::ZERO, failing, run);
            for (contestant, begun) in contestants.iter().zip(&mut begun) {
                let halt = contestant.halts(&attempts);
                begun.push(halt.map_or(CLUSTERS, |at| exposed(&attempts, at)));
            }
        }
        for (contestant, begun) in contestants.iter().zip(begun) {
            let false_halts = match contestant {
                Contestant::Watch => ALPHA,
                Contestant::Count(rule) => rule.false_halts(CLUSTERS, rate),
                Contestant::Nobody => 0.0,
            };
            let line = json!({
                "rule": contestant.name(),
                "failing": f64::from(failing) / 1e6,
                "falseHalts": false_halts,
                "releases": runs,
                "exposed": spread(begun, CLUSTERS),
            });
            println!("{line}");
        }
    }
}

impl Contestant {
    fn name(&self) -> String {
        match self {
            Self::Watch => "the watch".to_owned(),
            Self::Count(CountRule::Failures(count)) => format!("{count} failures"),
            Self::Count(CountRule::InGroup { failures, size }) => {
                format!("{failures} of a group of {size}")
            }
            Self::Nobody => "no feedback".to_owned(),
        }
    }

    fn halts(&self, attempts: &[Attempt]) -> Option<Timestamp> {
        match self {
            Self::Watch => {
                let settings = WatchSettings::default();
                let history = History::default();
                halted(&version(RELEASE), attempts, &history, &settings).map(|halt| halt.since)
            }
            Self::Count(rule) => rule.halts(attempts),
            Self::Nobody => None,
        }
    }
}
