//! The second process: the release against what other clusters update to at the same time.
//!
//! A registry that is down, or a cloud's bad day, hits both. At each failure it asks: of the clusters that were at risk just then, and
//! began in the same six hours in the same group, how many are on this release? Time at risk counts, so updates under way need no
//! special case.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::Bits;
use super::trials::{Trial, Trials};

/// Clusters that began in the same stretch of time are compared.
const STRETCH_SECONDS: i64 = 6 * 3600;
/// How many times as often as others a release may fail: three halves.
const TOLERATED: (u64, u64) = (3, 2);
/// The alternatives: so many times more than that.
const RATIOS: [u64; 6] = [2, 4, 8, 16, 32, 64];
/// After so many failures elsewhere in a stretch an organisation is no longer compared in it.
const FAILURES_OF_ONE: u32 = 3;

/// What became of the comparison in a scope.
#[derive(Debug, Clone, Copy)]
pub(super) struct Compared {
    /// The best alternative, as it stands: below zero, others fail as well.
    pub(super) now: Bits,
    /// The mean of all alternatives where it was largest, and when that was.
    pub(super) largest: (Bits, Timestamp),
}

/// Those of a group who began in the same stretch.
type Stratum = (usize, i64);

/// One thing that happened: a start, or an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    at: Timestamp,
    is_end: bool,
    is_own: bool,
    trial: usize,
}

struct Comparison<'t> {
    trials: &'t Trials,
    limits_organisations: bool,
    /// On this release, and on others, by organisation.
    at_risk: BTreeMap<Stratum, BTreeMap<usize, [u64; 2]>>,
    totals: BTreeMap<Stratum, [u64; 2]>,
    failures: BTreeMap<(usize, i64), u32>,
    left_out: BTreeSet<(usize, i64)>,
    sums: Vec<[Bits; RATIOS.len()]>,
    largest: Vec<(Bits, Timestamp)>,
}

/// Compares, for each scope, without one organisation if one is named.
pub(super) fn against_others(
    trials: &Trials,
    organisations: u8,
    without: Option<usize>,
) -> Vec<Compared> {
    let scopes = trials.scopes.len();
    let mut comparison = Comparison {
        trials,
        limits_organisations: organisations > 1,
        at_risk: BTreeMap::new(),
        totals: BTreeMap::new(),
        failures: BTreeMap::new(),
        left_out: BTreeSet::new(),
        sums: vec![[Bits::ZERO; RATIOS.len()]; scopes],
        largest: vec![(Bits::ZERO, Timestamp::MIN); scopes],
    };
    if !trials.others.is_empty() {
        for event in events(trials, without) {
            comparison.take(event);
        }
    }
    let compared = |(sums, largest): (&[Bits; RATIOS.len()], &(Bits, Timestamp))| Compared {
        now: sums.iter().copied().max().unwrap_or(Bits::ZERO),
        largest: *largest,
    };
    comparison
        .sums
        .iter()
        .zip(&comparison.largest)
        .map(compared)
        .collect()
}

/// The stretch of time in which something began.
pub(super) fn stretch_of(started_at: Timestamp) -> i64 {
    started_at.as_second().div_euclid(STRETCH_SECONDS)
}

fn events(trials: &Trials, without: Option<usize>) -> Vec<Event> {
    let mut events = Vec::new();
    for (is_own, all) in [(true, &trials.own), (false, &trials.others)] {
        for (number, trial) in all.iter().enumerate() {
            if Some(trial.organisation) == without {
                continue;
            }
            let event = |at, is_end| Event {
                at,
                is_end,
                is_own,
                trial: number,
            };
            events.push(event(trial.started_at, false));
            events.extend(trial.ending.map(|ending| event(ending.known_at, true)));
        }
    }
    events.sort_unstable();
    events
}

impl Comparison<'_> {
    fn take(&mut self, event: Event) {
        let trial = match event.is_own {
            true => self.trials.own[event.trial],
            false => self.trials.others[event.trial],
        };
        let stretch = stretch_of(trial.started_at);
        if self.left_out.contains(&(trial.organisation, stretch)) {
            return;
        }
        let stratum = (trial.group, stretch);
        if event.is_end && trial.went_wrong_at().is_some() {
            self.failure(&trial, stratum, event);
        }
        let side = usize::from(!event.is_own);
        let own = self.at_risk.entry(stratum).or_default();
        let counts = [
            &mut own.entry(trial.organisation).or_default()[side],
            &mut self.totals.entry(stratum).or_default()[side],
        ];
        for count in counts {
            *count = match event.is_end {
                true => count.saturating_sub(1),
                false => *count + 1,
            };
        }
        if event.is_end && !event.is_own && trial.went_wrong_at().is_some() {
            self.limit(trial.organisation, stretch);
        }
    }

    fn failure(&mut self, trial: &Trial, stratum: Stratum, event: Event) {
        let [own, others] = self.totals.get(&stratum).copied().unwrap_or_default();
        if own == 0 || others == 0 {
            return;
        }
        let (over, under) = TOLERATED;
        let null = over * own + under * others;
        let step = RATIOS.map(|ratio| {
            let factor = if event.is_own { ratio } else { 1 };
            Bits::of_ratio(factor * null, ratio * over * own + under * others)
        });
        for scope in &self.trials.group(trial).scopes {
            for (sum, step) in self.sums[*scope].iter_mut().zip(step) {
                *sum = *sum + step;
            }
            let mean = mean(self.sums[*scope]);
            if mean > self.largest[*scope].0 {
                self.largest[*scope] = (mean, event.at);
            }
        }
    }

    /// Whoever fails elsewhere again and again leaves the comparison, so that nobody can hide a bad release.
    fn limit(&mut self, organisation: usize, stretch: i64) {
        let failures = self.failures.entry((organisation, stretch)).or_default();
        *failures += 1;
        if !self.limits_organisations || *failures < FAILURES_OF_ONE {
            return;
        }
        self.left_out.insert((organisation, stretch));
        for ((_, of), at_risk) in &mut self.at_risk {
            if *of == stretch {
                at_risk.remove(&organisation);
            }
        }
        for (stratum, total) in &mut self.totals {
            if stratum.1 != stretch {
                continue;
            }
            let rest = self
                .at_risk
                .get(stratum)
                .into_iter()
                .flat_map(BTreeMap::values);
            *total = rest.fold([0, 0], |sum, part| [sum[0] + part[0], sum[1] + part[1]]);
        }
    }
}

fn mean(mut sums: [Bits; RATIOS.len()]) -> Bits {
    sums.sort();
    let sum = sums.into_iter().fold(Bits::LEAST, Bits::of_sum);
    sum - Bits::of_ratio_up(RATIOS.len() as u64, 1)
}
