//! Did a release make updates slower? A one-sided test of the updates to it against others of the same step.
//!
//! - **Like with like**: updates to the release are compared only with updates of the same step (patches of 4.15; 4.14 to 4.15) to other
//!   releases. The learnt growth takes off what the number of nodes explains.
//! - **Clusters differ**: what a cluster's other updates took beyond the middle of their steps is taken off, as far as that
//!   foretells anything.
//! - **By ranks**: van Elteren's sum of rank tests, so an update that hung for a week counts as one slow update. The same test, turned
//!   round, says by how much updates are slower, from and to.
//! - **Enough, or not**: what cannot be told is inconclusive, with the number of updates that would tell.

use std::collections::{BTreeMap, BTreeSet};

use super::exact::{exp, ln};
use super::growth;
use super::ranks::sorted_quantile;
use super::{MinorStep, Parameters, Update};
use crate::version::Version;

/// With fewer updates, on either side, nothing is told.
pub const MIN_CHECKED: usize = 20;
/// How many releases are checked at once; the newest count.
const MAX_RELEASES: usize = 500;
/// How often a release that changed nothing may be called slower, in ten thousand. All releases of a check together.
const FALSE_ALARMS: f64 = 0.025;
/// How surely a slow-down of the size that is asked about has to be found.
const FOUND: f64 = 0.95;
/// How much a rank test needs less than one of means would need more, with normal logarithms.
const EFFICIENCY: f64 = 0.955;
/// Beyond this many standard deviations, a rest is cut before clusters are compared.
const CUT: f64 = 3.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckSettings {
    /// The slow-down that matters, in percent.
    pub slower_by_percent: u32,
}

/// What is said of one release.
#[derive(Debug, Clone, PartialEq)]
pub struct SpeedCheck {
    pub release: Version,
    /// How many updates to it there are that others can be compared with.
    pub updates: usize,
    /// With how many others they were compared, by step.
    pub compared: BTreeMap<MinorStep, ComparedUpdates>,
    /// By how much they are slower; none if there are too few to say anything.
    pub slow_down: Option<SlowDown>,
    pub verdict: SpeedVerdict,
}

/// Updates of a step: to the release, and to others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ComparedUpdates {
    pub to_it: usize,
    pub others: usize,
}

/// How many times as long an update takes, in thousandths: 1150 is 15 % slower.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlowDown {
    /// It is at least this, but for the false alarms that are stated.
    pub at_least: u32,
    pub likely: u32,
    pub at_most: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpeedVerdict {
    Slower,
    /// Any slow-down is smaller than what was asked about.
    NotSlower,
    Inconclusive {
        needed: NeededUpdates,
    },
}

/// How many updates would tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NeededUpdates {
    /// To the release.
    pub to_it: usize,
    /// To others, of the same steps.
    pub others: usize,
}

impl Default for CheckSettings {
    fn default() -> Self {
        Self {
            slower_by_percent: 15,
        }
    }
}

/// Checks one release, or every one to which there are enough updates.
///
/// If nothing has changed, at most 2.5 % of such checks call a release slower, however many releases are checked.
pub fn check(
    updates: &[Update],
    release: Option<&Version>,
    settings: CheckSettings,
    known: &Parameters,
) -> Vec<SpeedCheck> {
    let all: Vec<&Update> = updates.iter().collect();
    let mut parameters = known.clone();
    let learnt = growth::learn(&all, known.reference.nodes);
    parameters.growth = learnt.or(parameters.growth);
    let releases: Vec<&Version> = match release {
        Some(release) => vec![release],
        None => often_taken(updates),
    };
    // Each release has its part of the false alarms.
    let alarm = sigmas(FALSE_ALARMS / releases.len().max(1) as f64);
    let logs: Vec<f64> = updates
        .iter()
        .map(|update| parameters.log_on_reference(update))
        .collect();
    let checked = releases.into_iter().map(|release| {
        let samples = samples(updates, &logs, release);
        judged(release, &samples, settings, alarm)
    });
    checked.collect()
}

/// Releases to which there are enough updates, the newest first, and not too many of them.
fn often_taken(updates: &[Update]) -> Vec<&Version> {
    let mut counts: BTreeMap<&Version, usize> = BTreeMap::new();
    for update in updates {
        *counts.entry(&update.to).or_default() += 1;
    }
    let often = counts.into_iter().rev();
    let often = often.filter(|(_, count)| *count >= MIN_CHECKED);
    often
        .map(|(release, _)| release)
        .take(MAX_RELEASES)
        .collect()
}

/// Updates of one step, as logarithms with everything taken off that is known of their clusters; those to others in order.
#[derive(Debug, Default)]
struct Sample {
    to_it: Vec<f64>,
    others: Vec<f64>,
}

/// The steps in which there are both.
fn samples(updates: &[Update], logs: &[f64], release: &Version) -> BTreeMap<MinorStep, Sample> {
    let step_of = |update: &Update| MinorStep::of(&update.from, &update.to);
    let is_other = |update: &&Update| update.to != *release;
    let own: BTreeSet<MinorStep> = updates
        .iter()
        .filter(|update| update.to == *release)
        .map(step_of)
        .collect();
    // What the release does must not pass for what a step takes, nor for what its clusters are like.
    let mut by_step: BTreeMap<MinorStep, Vec<f64>> = BTreeMap::new();
    for (update, log) in updates
        .iter()
        .zip(logs)
        .filter(|(update, _)| is_other(update))
    {
        by_step.entry(step_of(update)).or_default().push(*log);
    }
    let middles: BTreeMap<MinorStep, f64> = by_step
        .into_iter()
        .map(|(step, mut logs)| {
            logs.sort_by(f64::total_cmp);
            (step, sorted_quantile(&logs, 0.5))
        })
        .collect();
    let rest_of = |update: &Update, log: f64| Some(log - middles.get(&step_of(update))?);
    let others = updates
        .iter()
        .zip(logs)
        .filter(|(update, _)| is_other(update));
    let habits = Habits::of(
        others.filter_map(|(update, log)| Some((&*update.cluster, rest_of(update, *log)?))),
    );
    let mut samples: BTreeMap<MinorStep, Sample> = BTreeMap::new();
    for (update, log) in updates.iter().zip(logs) {
        let step = step_of(update);
        let Some(rest) = rest_of(update, *log).filter(|_| own.contains(&step)) else {
            continue;
        };
        let sample = samples.entry(step).or_default();
        match is_other(&update) {
            true => sample
                .others
                .push(rest - habits.beside(&update.cluster, rest)),
            false => sample.to_it.push(rest - habits.of_cluster(&update.cluster)),
        }
    }
    for sample in samples.values_mut() {
        sample.others.sort_by(f64::total_cmp);
    }
    samples
}

/// What clusters' updates to other releases took beyond the middle of their steps.
struct Habits<'u> {
    /// The sum and the number of such rests.
    of: BTreeMap<&'u str, (f64, f64)>,
    /// Rests are cut here.
    cut: f64,
    /// How many updates of a cluster weigh as much as knowing nothing of it. None: they foretell nothing.
    weight: Option<f64>,
}

impl<'u> Habits<'u> {
    fn of(rests: impl Iterator<Item = (&'u str, f64)>) -> Self {
        let rests: Vec<(&str, f64)> = rests.collect();
        let mut sizes: Vec<f64> = rests.iter().map(|(_, rest)| rest.abs()).collect();
        sizes.sort_by(f64::total_cmp);
        // Half of normal numbers are within 0.6745 standard deviations.
        let cut = match sizes.is_empty() {
            true => 0.0,
            false => CUT * sorted_quantile(&sizes, 0.5) / 0.6745,
        };
        let (mut of, mut squares) = (BTreeMap::<&str, (f64, f64)>::new(), 0.0);
        let (mut together, mut pairs) = (0.0, 0.0);
        for (cluster, rest) in &rests {
            let rest = rest.clamp(-cut, cut);
            let (sum, count) = of.entry(*cluster).or_default();
            // Two updates of one cluster agree as far as clusters differ.
            together += rest * *sum;
            pairs += *count;
            *sum += rest;
            *count += 1.0;
            squares += rest * rest;
        }
        let between = if pairs > 0.0 { together / pairs } else { 0.0 };
        let whole = squares / rests.len().max(1) as f64;
        let weight = (between > 0.02 * whole).then(|| ((whole - between) / between).max(0.0));
        Self { of, cut, weight }
    }

    fn of_cluster(&self, cluster: &str) -> f64 {
        let (sum, count) = self.of.get(cluster).copied().unwrap_or_default();
        self.leaning(sum, count)
    }

    /// The same without one of its updates, which is judged by the others.
    fn beside(&self, cluster: &str, rest: f64) -> f64 {
        let (sum, count) = self.of.get(cluster).copied().unwrap_or_default();
        self.leaning(sum - rest.clamp(-self.cut, self.cut), count - 1.0)
    }

    fn leaning(&self, sum: f64, count: f64) -> f64 {
        match self.weight {
            Some(weight) if count > 0.0 => sum / (count + weight),
            _ => 0.0,
        }
    }
}

fn judged(
    release: &Version,
    samples: &BTreeMap<MinorStep, Sample>,
    settings: CheckSettings,
    alarm: f64,
) -> SpeedCheck {
    let compared: BTreeMap<MinorStep, ComparedUpdates> = samples
        .iter()
        .map(|(step, sample)| {
            let (to_it, others) = (sample.to_it.len(), sample.others.len());
            (*step, ComparedUpdates { to_it, others })
        })
        .collect();
    let to_it = compared.values().map(|compared| compared.to_it).sum();
    let others: usize = compared.values().map(|compared| compared.others).sum();
    let is_enough = to_it >= MIN_CHECKED && others >= MIN_CHECKED;
    let slow_down = is_enough.then(|| SlowDown::of(samples, alarm));
    let asked = 1_000 + settings.slower_by_percent * 10;
    let verdict = match slow_down {
        Some(slow_down) if slow_down.at_least > 1_000 => SpeedVerdict::Slower,
        Some(slow_down) if slow_down.at_most < asked => SpeedVerdict::NotSlower,
        _ => SpeedVerdict::Inconclusive {
            needed: needed(samples, others, f64::from(asked) / 1_000.0, alarm),
        },
    };
    SpeedCheck {
        release: release.clone(),
        updates: to_it,
        compared,
        slow_down,
        verdict,
    }
}

impl SlowDown {
    /// Each is the slow-down that, taken off, leaves updates to the release as much slower as the test allows.
    fn of(samples: &BTreeMap<MinorStep, Sample>, alarm: f64) -> Self {
        let at = |wanted: f64| {
            let (mut low, mut high) = (-2.5_f64, 2.5);
            for _ in 0..50 {
                let middle = (low + high) / 2.0;
                match standing(samples, middle) > wanted {
                    true => low = middle,
                    false => high = middle,
                }
            }
            (exp(low) * 1_000.0).round() as u32
        };
        Self {
            at_least: at(alarm),
            likely: at(0.0),
            at_most: at(-alarm),
        }
    }
}

/// How far, in standard deviations, updates to the release stand behind others once a slow-down is taken off them.
fn standing(samples: &BTreeMap<MinorStep, Sample>, slow_down: f64) -> f64 {
    let (mut sum, mut variance) = (0.0, 0.0);
    for sample in samples.values() {
        let (to_it, others) = (sample.to_it.len() as f64, sample.others.len() as f64);
        let slower = sample.to_it.iter().map(|log| {
            let log = log - slow_down;
            let below = sample.others.partition_point(|other| *other < log);
            let not_above = sample.others.partition_point(|other| *other <= log);
            (below + not_above) as f64 / 2.0
        });
        let all = to_it + others + 1.0;
        sum += (slower.sum::<f64>() - to_it * others / 2.0) / all;
        variance += to_it * others / (12.0 * all);
    }
    match variance > 0.0 {
        true => sum / variance.sqrt(),
        false => 0.0,
    }
}

/// How many updates find a slow-down of that factor, with as many others as there are; or with more of both, if those are too few.
fn needed(
    samples: &BTreeMap<MinorStep, Sample>,
    others: usize,
    factor: f64,
    alarm: f64,
) -> NeededUpdates {
    let mut rests: Vec<f64> = Vec::new();
    for sample in samples.values() {
        rests.extend(&sample.others);
    }
    rests.sort_by(f64::total_cmp);
    let sigma = match rests.len() {
        // What public histories show, where there are none of one's own.
        0..MIN_CHECKED => 0.5,
        _ => (sorted_quantile(&rests, 0.75) - sorted_quantile(&rests, 0.25)) / 1.349,
    };
    let wanted = (alarm + sigmas(1.0 - FOUND)) * sigma / ln(factor.max(1.01));
    let wanted = (wanted * wanted / EFFICIENCY).max(1.0);
    let left = 1.0 / wanted - 1.0 / others.max(1) as f64;
    let (to_it, others) = match left > 0.1 / wanted {
        true => (1.0 / left, others as f64),
        false => (2.0 * wanted, 2.0 * wanted),
    };
    let at_least = |count: f64| (count.ceil() as usize).max(MIN_CHECKED);
    NeededUpdates {
        to_it: at_least(to_it),
        others: at_least(others),
    }
}

/// How many standard deviations a normal number exceeds with that probability.
fn sigmas(probability: f64) -> f64 {
    let (mut low, mut high) = (0.0, 10.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        match tail(middle) > probability {
            true => low = middle,
            false => high = middle,
        }
    }
    low
}

/// The probability that a normal number exceeds that many standard deviations (Abramowitz and Stegun 26.2.17: right to 1e-7).
fn tail(sigmas: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * sigmas);
    let factors = [
        0.319_381_530,
        -0.356_563_782,
        1.781_477_937,
        -1.821_255_978,
        1.330_274_429,
    ];
    let series = factors
        .into_iter()
        .rev()
        .fold(0.0, |sum, factor| (sum + factor) * t);
    0.398_942_280_401_432_7 * exp(-sigmas * sigmas / 2.0) * series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_tails_are_those_of_tables() {
        for (probability, expected) in [(0.025, 1.959_964), (0.05, 1.644_854), (0.000_1, 3.719_0)] {
            assert!(
                (sigmas(probability) - expected).abs() < 1e-3,
                "{probability}"
            );
        }
    }
}
