//! Rules of others beside the watch, on the same releases: as they are, at equal false halts, and beside what any rule could do.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use towpath_core::feedback::{Attempt, History, WatchSettings};
use towpath_core::graph::{Ramp, Share, Window};
use towpath_testing_feedback::rules::CountRule;
use towpath_testing_feedback::{Chance, exposed, fewest_attempts, halted, mean_attempts};

use super::case::{BASE, RELEASE, clusters, spread, version, window};
use super::exposure::{CLUSTERS, DELAY, bad_release};

const FAILING: [u32; 3] = [200_000, 100_000, 50_000];
const ALPHA: f64 = 1e-3;
const GROUP: usize = 100;
/// So surely a rule that is made for one rate sees it.
const SURELY: f64 = 0.95;

enum Contestant {
    Watch {
        organisations: u8,
    },
    Count {
        rule: CountRule,
        /// The rate that it is made for, if it is made for one.
        made_for: Option<u32>,
    },
    Nobody,
}

pub(crate) fn measure(runs: u64) {
    let contestants = contestants();
    let fleet = clusters(CLUSTERS, &mut Chance::of(0xBAD));
    let window = window(24, Ramp::Exponential);
    for failing in FAILING {
        let mut begun: Vec<Vec<usize>> = contestants.iter().map(|_| Vec::new()).collect();
        let mut known = begun.clone();
        for run in 0..runs {
            let shown_at = |position| window.due(position);
            let attempts = bad_release(&fleet, &shown_at, SignedDuration::ZERO, failing, run);
            for (number, contestant) in contestants.iter().enumerate() {
                let halt = contestant.halts(&attempts);
                begun[number].push(halt.map_or(CLUSTERS, |at| exposed(&attempts, at)));
                known[number].push(halt.map_or(CLUSTERS, |at| exposed(&attempts, at - DELAY)));
            }
        }
        for ((contestant, begun), known) in contestants.iter().zip(begun).zip(known) {
            let found = known.iter().filter(|known| **known < CLUSTERS).count();
            let mean = known.iter().sum::<usize>() as f64 / runs as f64;
            let line = json!({
                "rule": contestant.name(),
                "isOurs": matches!(contestant, Contestant::Watch { .. }),
                "organisations": match contestant {
                    Contestant::Watch { organisations } => Some(organisations),
                    _ => None,
                },
                "madeFor": contestant.made_for().map(|rate| f64::from(rate) / 1e6),
                "failing": f64::from(failing) / 1e6,
                "falseHalts": contestant.false_halts(),
                "releases": runs,
                "found": found,
                "outcomes": { "mean": mean, "median": counted(&known, 50), "p95": counted(&known, 95) },
                "exposed": spread(begun, CLUSTERS),
            });
            println!("{line}");
        }
        println!("{}", bound(failing, &window));
    }
}

fn contestants() -> Vec<Contestant> {
    let rate = f64::from(BASE.parts()) / 1e6;
    let three = CountRule::Failures(3);
    let tenth = CountRule::InGroup {
        failures: 10,
        size: GROUP,
    };
    let equal = |rule: CountRule| rule.at(ALPHA, CLUSTERS, rate);
    let plain = [three, equal(three), tenth, equal(tenth)];
    let plain = plain.map(|rule| Contestant::Count {
        rule,
        made_for: None,
    });
    let made_for = FAILING.map(|failing| Contestant::Count {
        rule: CountRule::made_for(f64::from(failing) / 1e6, SURELY, ALPHA, rate),
        made_for: Some(failing),
    });
    let ours = [2, 1].map(|organisations| Contestant::Watch { organisations });
    let all = ours.into_iter().chain(plain).chain(made_for);
    all.chain([Contestant::Nobody]).collect()
}

/// What no rule can do better, even one that knows the rate and looks only when it is best.
fn bound(failing: u32, window: &Window) -> Value {
    let rates = (f64::from(failing) / 1e6, f64::from(BASE.parts()) / 1e6);
    let fewest = |surely: f64| fewest_attempts(rates.0, surely, ALPHA, rates.1).unwrap();
    let begun = |outcomes: u64| {
        let needed = u128::from(outcomes) * Share::WHOLE.parts() / CLUSTERS as u128;
        let known_at = window.reaches(Share::of_parts(needed)) + DELAY;
        window.share(known_at).as_fraction()
    };
    let [median, p95] = [0.5, 0.95].map(fewest);
    json!({
        "rule": "no rule at all can do better",
        "isBound": true,
        "failing": rates.0,
        "falseHalts": ALPHA,
        "outcomes": { "mean": mean_attempts(rates.0, ALPHA, rates.1), "median": median, "p95": p95 },
        "exposed": { "median": begun(median), "p95": begun(p95) },
    })
}

fn counted(counts: &[usize], percent: usize) -> usize {
    let mut counts = counts.to_vec();
    counts.sort_unstable();
    counts[(counts.len() * percent).div_ceil(100).max(1) - 1]
}

impl Contestant {
    fn name(&self) -> String {
        match self {
            Self::Watch { organisations: 1 } => "the watch, one organisation is enough".to_owned(),
            Self::Watch { .. } => "the watch".to_owned(),
            Self::Count { rule, .. } => match rule {
                CountRule::Failures(count) => format!("{count} failures"),
                CountRule::InGroup { failures, size } => {
                    format!("{failures} of a group of {size}")
                }
                CountRule::AmongFirst { failures, size } => {
                    format!("{failures} of the first {size}")
                }
            },
            Self::Nobody => "no feedback".to_owned(),
        }
    }

    fn made_for(&self) -> Option<u32> {
        match self {
            Self::Count { made_for, .. } => *made_for,
            _ => None,
        }
    }

    fn false_halts(&self) -> f64 {
        match self {
            Self::Watch { .. } => ALPHA,
            Self::Count { rule, .. } => rule.false_halts(CLUSTERS, f64::from(BASE.parts()) / 1e6),
            Self::Nobody => 0.0,
        }
    }

    fn halts(&self, attempts: &[Attempt]) -> Option<Timestamp> {
        match self {
            Self::Watch { organisations } => {
                let settings = WatchSettings {
                    organisations: *organisations,
                    ..WatchSettings::default()
                };
                let history = History::default();
                halted(&version(RELEASE), attempts, &history, &settings).map(|halt| halt.since)
            }
            Self::Count { rule, .. } => rule.halts(attempts),
            Self::Nobody => None,
        }
    }
}
