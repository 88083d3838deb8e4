//! False halts: releases that fail at the base rate, and how many of them are halted at any time.

use jiff::Timestamp;
use serde_json::json;
use towpath_core::feedback::{Attempt, FailureRate, History, WatchSettings, assess};
use towpath_core::graph::Ramp;
use towpath_core::version::Version;
use towpath_testing_feedback::{
    Alarm, Chance, Delays, Fates, SimulatedCluster, SimulatedRollout, alarm, past_attempts,
};

use super::case::{ANOTHER, BASE, RELEASE, clusters, start, version, window};

/// How many clusters update to the release, and as many to another one where others update.
const CLUSTERS: usize = 2_000;
/// So many releases share a past that base rates are learned from.
const RUNS_OF_ONE_PAST: u64 = 50;
/// From the smallest on.
const ALPHAS: [u32; 2] = [1_000, 10_000];

/// A kind of good releases.
struct Kind {
    name: &'static str,
    /// How often it fails, and is degraded.
    own: u32,
    /// How often others do, in parts per million. None: nobody else updates.
    others: Option<u32>,
    /// What is known of good releases.
    base: KnownBase,
    organisations: u8,
}

enum KnownBase {
    Given(FailureRate),
    Learned,
}

const KINDS: [Kind; 6] = [
    Kind {
        name: "against history",
        own: 5_000,
        others: None,
        base: KnownBase::Given(BASE),
        organisations: 2,
    },
    Kind {
        name: "against history, one organisation is enough",
        own: 5_000,
        others: None,
        base: KnownBase::Given(BASE),
        organisations: 1,
    },
    Kind {
        name: "against history that was learned from ten releases",
        own: 5_000,
        others: None,
        base: KnownBase::Learned,
        organisations: 1,
    },
    // Three halves of the others' rate is still tolerated, and a base rate of 30 % silences the first way.
    Kind {
        name: "against others",
        own: 30_000,
        others: Some(20_000),
        base: KnownBase::Given(FailureRate::MOST_BASE),
        organisations: 2,
    },
    Kind {
        name: "against others, one organisation is enough",
        own: 30_000,
        others: Some(20_000),
        base: KnownBase::Given(FailureRate::MOST_BASE),
        organisations: 1,
    },
    Kind {
        name: "both ways, one organisation is enough",
        own: 5_000,
        others: Some(5_000),
        base: KnownBase::Given(BASE),
        organisations: 1,
    },
];

/// Measures all kinds, or the one of this number.
pub(crate) fn measure(runs: u64, only: Option<usize>) {
    let kinds = KINDS.iter().enumerate();
    for (number, kind) in kinds.filter(|(number, _)| only.is_none_or(|only| only == *number)) {
        let seed = number as u64;
        let mut alarms = ALPHAS.map(|alpha| (alpha, Vec::new()));
        let mut past = History::default();
        for run in 0..runs {
            let mut chance = Chance::of_run(seed, run);
            if run % RUNS_OF_ONE_PAST == 0 {
                past = kind.past(&mut chance);
            }
            let attempts = kind.attempts(&mut chance);
            // Evidence that is not enough for a larger α is not enough for a smaller one.
            let mut is_any = true;
            for (alpha, alarms) in alarms.iter_mut().rev() {
                let alarm = match is_any {
                    true => kind.alarm(&attempts, &past, *alpha),
                    false => Alarm::default(),
                };
                is_any = alarm.is_any();
                alarms.push(alarm);
            }
        }
        for (alpha, alarms) in alarms {
            let count = |is: fn(&Alarm) -> bool| alarms.iter().filter(|alarm| is(alarm)).count();
            let line = json!({
                "kind": kind.name,
                "alpha": f64::from(alpha) / 1e6,
                "releases": runs,
                "attempts": CLUSTERS,
                "halted": count(|alarm| alarm.is_any()),
                "againstHistory": count(|alarm| alarm.against_history),
                "againstOthers": count(|alarm| alarm.against_others),
            });
            println!("{line}");
        }
    }
}

impl Kind {
    fn past(&self, chance: &mut Chance) -> History {
        if let KnownBase::Given(_) = self.base {
            return History::default();
        }
        let releases: Vec<Version> = (0..10)
            .map(|n| version(&format!("4.20.{}", 20 + n)))
            .collect();
        let fleet = clusters(CLUSTERS, chance);
        let mut attempts = past_attempts(&releases, start(), &fleet, &fates(self.own), chance);
        // The past ends where the release begins.
        attempts.push(Attempt {
            to: version(RELEASE),
            started_at: start(),
            ending: None,
            ..attempts[0].clone()
        });
        History::before(&version(RELEASE), &attempts, &WatchSettings::default())
    }

    fn attempts(&self, chance: &mut Chance) -> Vec<Attempt> {
        let both = clusters(2 * CLUSTERS, chance);
        let (own, others) = both.split_at(CLUSTERS);
        let mut attempts = rolled_out(RELEASE, self.own, own, chance);
        if let Some(rate) = self.others {
            attempts.extend(rolled_out(ANOTHER, rate, others, chance));
        }
        attempts
    }

    fn alarm(&self, attempts: &[Attempt], past: &History, alpha: u32) -> Alarm {
        let settings = WatchSettings {
            alpha: FailureRate::per_million(alpha),
            base_rate: match self.base {
                KnownBase::Given(rate) => rate,
                KnownBase::Learned => BASE,
            },
            organisations: self.organisations,
            ..WatchSettings::default()
        };
        let end = attempts.iter().filter_map(|a| Some(a.ending?.known_at));
        let end = end.max().unwrap_or(Timestamp::MIN);
        alarm(&assess(&version(RELEASE), attempts, past, &settings, end))
    }
}

fn fates(rate: u32) -> Fates {
    Fates {
        failed: FailureRate::per_million(rate),
        degraded: FailureRate::per_million(rate),
        trouble: None,
    }
}

fn rolled_out(
    to: &str,
    rate: u32,
    fleet: &[SimulatedCluster],
    chance: &mut Chance,
) -> Vec<Attempt> {
    let window = window(24, Ramp::Exponential);
    let rollout = SimulatedRollout {
        to: &version(to),
        shown_at: &|position| window.due(position),
        polling: jiff::SignedDuration::ZERO,
        delays: Delays::FailuresSooner,
        fates: &fates(rate),
    };
    rollout.attempts(fleet, chance)
}
