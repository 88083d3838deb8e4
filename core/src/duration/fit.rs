//! Fits parameters to update histories: for each pair of releases, each step and each kind of
//! update.
//!
//! Each level leans on the one above it, more so with fewer updates: pair → step → kind → prior.
//! It works on logarithms, with medians and quantiles, so an update that hung for a week changes
//! little. Held-out clusters measure the quality: no cluster is predicted from its own updates.
//! They also say how far low and high have to be from the middle, so that one of ten lies beyond each.

use std::collections::BTreeMap;

use jiff::Timestamp;
use sha2::{Digest, Sha256};

use super::exact::{exp, ln};
use super::growth;
use super::ranks::sorted_quantile as quantile;
use super::{
    Basis, Calibration, Figure, MinorStep, Origin, OriginKind, Parameters, Seconds, Spread,
};
use crate::version::Version;

/// In how many parts clusters are held out, one after the other.
pub const FOLDS: u64 = 10;
/// Fewer updates between two releases are not written down; they count for their step.
pub const MIN_PAIR_UPDATES: usize = 3;
/// What the level above weighs, in updates, against the middle of a group,
const MIDDLE_WEIGHT: f64 = 5.0;
/// and against its spread: it takes more updates to know a tail.
const SPREAD_WEIGHT: f64 = 20.0;
/// With fewer held-out updates, low and high stay as the levels have them.
const MIN_HELD_OUT: usize = 50;

/// An update that somebody's cluster has completed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Update {
    /// The cluster; its updates are held out together.
    pub cluster: String,
    pub started: Timestamp,
    pub from: Version,
    pub to: Version,
    pub seconds: Seconds,
    /// How many nodes the cluster has, if that is known.
    pub nodes: Option<u32>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    pub parameters: Parameters,
    /// What each level says, from the least to the most specific.
    pub groups: Vec<FittedGroup>,
    /// How well held-out updates were foretold by the others.
    pub calibration: Calibration,
    /// How well the parameters foretell them that the fit began with.
    pub before: Calibration,
}

/// Updates of one kind, step or pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FittedGroup {
    pub basis: Basis,
    pub updates: usize,
    /// Their own P10, P50 and P90, as on the reference cluster.
    pub measured: Spread,
    /// What is taken, leaning on the level above.
    pub fitted: Spread,
}

/// Fits the control plane's times to updates, starting with what was known before.
pub fn fit(updates: &[Update], before: &Parameters) -> Fit {
    let all: Vec<&Update> = updates.iter().collect();
    let (mut parameters, mut groups) = fitted(&all, before);
    let held_out = foretold_by_others(&all, before);
    Stretch::of(held_out.iter()).stretch(&mut parameters, &mut groups);
    let stretched = (0..FOLDS).flat_map(|fold| {
        // Nobody's own updates say how far their own bounds have to be.
        let others = held_out.iter().filter(move |one| one.fold != fold);
        let stretch = Stretch::of(others);
        let own = held_out.iter().filter(move |one| one.fold == fold);
        own.map(move |one| (stretch.on(one.spread), one.update))
    });
    Fit {
        calibration: Calibration::of(stretched),
        parameters,
        groups,
        before: super::judge(updates, before),
    }
}

/// An update, and what was foretold for it by the updates of other clusters.
struct HeldOut<'u> {
    fold: u64,
    spread: Spread,
    update: &'u Update,
}

fn foretold_by_others<'u>(updates: &[&'u Update], before: &Parameters) -> Vec<HeldOut<'u>> {
    let mut folds: BTreeMap<u64, Vec<&Update>> = BTreeMap::new();
    for update in updates {
        let own = folds.entry(fold(&update.cluster)).or_default();
        own.push(update);
    }
    let foretold = folds.into_iter().flat_map(|(held, own)| {
        let others: Vec<&Update> = updates
            .iter()
            .copied()
            .filter(|update| fold(&update.cluster) != held)
            .collect();
        let (parameters, _) = fitted(&others, before);
        own.into_iter().map(move |update| HeldOut {
            fold: held,
            spread: parameters.foretold(update),
            update,
        })
    });
    foretold.collect()
}

/// How many times as far from the middle low and high have to be.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    below: f64,
    above: f64,
}

impl Stretch {
    /// So that of these updates one of ten lies below low, and one of ten above high.
    fn of<'h, 'u: 'h>(held_out: impl Iterator<Item = &'h HeldOut<'u>>) -> Self {
        let mut misses: Vec<f64> = held_out.map(HeldOut::miss).collect();
        if misses.len() < MIN_HELD_OUT {
            return Self {
                below: 1.0,
                above: 1.0,
            };
        }
        misses.sort_by(f64::total_cmp);
        let within = |times: f64| times.clamp(0.25, 4.0);
        Self {
            below: within(-quantile(&misses, 0.1)),
            above: within(quantile(&misses, 0.9)),
        }
    }

    fn on(self, spread: Spread) -> Spread {
        let Quantiles {
            middle,
            below,
            above,
        } = Quantiles::from(spread);
        let stretched = Quantiles {
            middle,
            below: below * self.below,
            above: above * self.above,
        };
        stretched.spread()
    }

    /// Stretches what was fitted. What no update told stays.
    fn stretch(self, parameters: &mut Parameters, groups: &mut [FittedGroup]) {
        for group in groups {
            group.fitted = self.on(group.fitted);
            parameters.figure_mut(&group.basis).spread = group.fitted;
        }
    }
}

impl HeldOut<'_> {
    /// How far from the middle it was: −1 is low, 1 is high.
    fn miss(&self) -> f64 {
        let Quantiles {
            middle,
            below,
            above,
        } = Quantiles::from(self.spread);
        let off = self.update.log_seconds() - middle;
        let unit = if off < 0.0 { below } else { above };
        off / unit.max(0.01)
    }
}

/// Which part a cluster is held out with.
fn fold(cluster: &str) -> u64 {
    let digest: [u8; 32] = Sha256::digest(cluster.as_bytes()).into();
    let first: [u8; 8] = std::array::from_fn(|at| digest[at]);
    u64::from_be_bytes(first) % FOLDS
}

/// Every level, each leaning on the one above.
fn fitted(updates: &[&Update], before: &Parameters) -> (Parameters, Vec<FittedGroup>) {
    let (mut parameters, mut groups) = (before.clone(), Vec::new());
    let growth = growth::learn(updates, before.reference.nodes);
    parameters.growth = growth.or(parameters.growth);
    let mut logs: BTreeMap<Basis, Vec<f64>> = BTreeMap::new();
    for update in updates {
        let step = MinorStep::of(&update.from, &update.to);
        let pair = Basis::Pair(update.from.clone(), update.to.clone());
        for basis in [Basis::Kind(step.kind()), Basis::Step(step), pair] {
            let own = logs.entry(basis).or_default();
            own.push(parameters.log_on_reference(update));
        }
    }
    // A basis is ordered from the most to the least specific; whoever leans on another comes after it.
    for (basis, mut logs) in logs.into_iter().rev() {
        if matches!(basis, Basis::Pair(..)) && logs.len() < MIN_PAIR_UPDATES {
            continue;
        }
        logs.sort_by(f64::total_cmp);
        let own = Quantiles::of(&logs);
        let above = Quantiles::from(parameters.above(&basis).spread);
        let spread = own.leaning_on(above, logs.len()).spread();
        let note = format!("{} completed updates", logs.len());
        let figure = Figure {
            spread,
            origin: Origin::new(OriginKind::Fitted, note),
        };
        groups.push(FittedGroup {
            basis: basis.clone(),
            updates: logs.len(),
            measured: own.spread(),
            fitted: spread,
        });
        parameters.set(basis, figure);
    }
    groups.sort_by(|a, b| {
        rank(&a.basis)
            .cmp(&rank(&b.basis))
            .then_with(|| a.basis.cmp(&b.basis))
    });
    (parameters, groups)
}

fn rank(basis: &Basis) -> u8 {
    match basis {
        Basis::Kind(_) => 0,
        Basis::Step(_) => 1,
        Basis::Pair(..) => 2,
    }
}

impl Parameters {
    /// The figure that a group leans on. Of a pair, its step's, which was fitted before it.
    fn above(&self, basis: &Basis) -> &Figure {
        let of_step = |step: &MinorStep| self.steps.get(step);
        match basis {
            Basis::Pair(from, to) => {
                let step = MinorStep::of(from, to);
                of_step(&step).unwrap_or_else(|| self.of_kind(step.kind()))
            }
            Basis::Step(step) => self.of_kind(step.kind()),
            Basis::Kind(kind) => self.of_kind(*kind),
        }
    }

    fn set(&mut self, basis: Basis, figure: Figure) {
        *self.figure_mut(&basis) = figure;
    }

    /// The figure of a basis; that of the level above, if it has none yet.
    fn figure_mut(&mut self, basis: &Basis) -> &mut Figure {
        use super::UpdateKind::{Minor, Patch};
        let above = self.above(basis).clone();
        match basis {
            Basis::Pair(from, to) => {
                let pair = (from.clone(), to.clone());
                self.pairs.entry(pair).or_insert(above)
            }
            Basis::Step(step) => self.steps.entry(*step).or_insert(above),
            Basis::Kind(Patch) => &mut self.patch,
            Basis::Kind(Minor) => &mut self.minor,
        }
    }

    /// The logarithm of how long an update would have taken on the reference cluster.
    pub(super) fn log_on_reference(&self, update: &Update) -> f64 {
        let more = self.nodes_beyond_reference(update.nodes);
        let grown = self.growth.as_ref().map_or(0.0, |growth| growth.log(more));
        update.log_seconds() - grown
    }
}

/// The middle of durations, and how far its tenths are from it, as logarithms.
#[derive(Debug, Clone, Copy)]
struct Quantiles {
    middle: f64,
    below: f64,
    above: f64,
}

impl Quantiles {
    /// Of sorted logarithms, of which there is at least one.
    fn of(logs: &[f64]) -> Self {
        let middle = quantile(logs, 0.5);
        Self {
            middle,
            below: middle - quantile(logs, 0.1),
            above: quantile(logs, 0.9) - middle,
        }
    }

    fn from(spread: Spread) -> Self {
        let log = |seconds: Seconds| ln(seconds.max(1) as f64);
        let middle = log(spread.likely);
        Self {
            middle,
            below: middle - log(spread.low),
            above: log(spread.high) - middle,
        }
    }

    /// These, and those of the level above, each with its weight.
    fn leaning_on(self, above: Self, updates: usize) -> Self {
        let mixed = |own: f64, theirs: f64, count: f64, weight: f64| {
            (own * count + theirs * weight) / (count + weight)
        };
        let count = updates as f64;
        // One update has a middle, and no spread at all.
        let spread = |own: f64, theirs: f64| mixed(own, theirs, count - 1.0, SPREAD_WEIGHT);
        Self {
            middle: mixed(self.middle, above.middle, count, MIDDLE_WEIGHT),
            below: spread(self.below, above.below),
            above: spread(self.above, above.above),
        }
    }

    fn spread(self) -> Spread {
        let seconds = |log: f64| exp(log).round() as Seconds;
        Spread::new(
            seconds(self.middle - self.below),
            seconds(self.middle),
            seconds(self.middle + self.above),
        )
    }
}
