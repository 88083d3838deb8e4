//! Fits parameters to update histories: for each pair of releases, each step and each kind of
//! update.
//!
//! Each level leans on the one above it, more so with fewer updates: pair → step → kind → prior.
//! It works on logarithms, with medians and quantiles, so an update that hung for a week changes
//! little. Held-out clusters measure the quality: no cluster is predicted from its own updates.

use std::collections::BTreeMap;

use jiff::Timestamp;
use sha2::{Digest, Sha256};

use super::exact::{exp, ln};
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

/// An update that somebody's cluster has completed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Update {
    /// The cluster; its updates are held out together.
    pub cluster: String,
    pub started: Timestamp,
    pub from: Version,
    pub to: Version,
    pub seconds: Seconds,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    pub parameters: Parameters,
    /// What each level says, from the least to the most specific.
    pub groups: Vec<Group>,
    /// How well held-out updates were foretold by the others.
    pub calibration: Calibration,
    /// How well the parameters foretell them that the fit began with.
    pub before: Calibration,
}

/// Updates of one kind, step or pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    pub basis: Basis,
    pub updates: usize,
    /// Their own P10, P50 and P90.
    pub measured: Spread,
    /// What is taken, leaning on the level above.
    pub fitted: Spread,
}

/// Fits the control plane's times to updates, starting with what was known before.
pub fn fit(updates: &[Update], before: &Parameters) -> Fit {
    let (parameters, groups) = fitted(updates.iter(), before);
    let mut held_out: BTreeMap<u64, Vec<&Update>> = BTreeMap::new();
    for update in updates {
        held_out
            .entry(fold(&update.cluster))
            .or_default()
            .push(update);
    }
    let foretold = held_out.into_iter().flat_map(|(held, those)| {
        let others = updates
            .iter()
            .filter(move |update| fold(&update.cluster) != held);
        let (parameters, _) = fitted(others, before);
        those.into_iter().map(move |update| {
            (
                parameters.control_plane(&update.from, &update.to).spread,
                update,
            )
        })
    });
    let calibration = Calibration::of(foretold);
    Fit {
        parameters,
        groups,
        calibration,
        before: super::judge(updates, before),
    }
}

/// Which part a cluster is held out with.
fn fold(cluster: &str) -> u64 {
    let digest: [u8; 32] = Sha256::digest(cluster.as_bytes()).into();
    let first: [u8; 8] = std::array::from_fn(|at| digest[at]);
    u64::from_be_bytes(first) % FOLDS
}

/// Every level, each leaning on the one above.
fn fitted<'u>(
    updates: impl Iterator<Item = &'u Update>,
    before: &Parameters,
) -> (Parameters, Vec<Group>) {
    let mut logs: BTreeMap<Basis, Vec<f64>> = BTreeMap::new();
    for update in updates {
        let step = MinorStep::of(&update.from, &update.to);
        let pair = Basis::Pair(update.from.clone(), update.to.clone());
        for basis in [Basis::Kind(step.kind()), Basis::Step(step), pair] {
            logs.entry(basis).or_default().push(update.log_seconds());
        }
    }
    let (mut parameters, mut groups) = (before.clone(), Vec::new());
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
        groups.push(Group {
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
        use super::UpdateKind::{Minor, Patch};
        match basis {
            Basis::Pair(from, to) => drop(self.pairs.insert((from, to), figure)),
            Basis::Step(step) => drop(self.steps.insert(step, figure)),
            Basis::Kind(Patch) => self.patch = figure,
            Basis::Kind(Minor) => self.minor = figure,
        }
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

/// What that share of sorted numbers does not exceed, in between by straight lines.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let (low, rest) = (place.floor(), place - place.floor());
    let at = |index: usize| sorted[index.min(sorted.len() - 1)];
    at(low as usize) * (1.0 - rest) + at(low as usize + 1) * rest
}
