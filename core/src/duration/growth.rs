//! How the control plane's time grows with the number of nodes, learnt from updates whose clusters' nodes are known.
//!
//! With a growth of g, a cluster with a hundred nodes more takes (1 + g) times as long. The growth is the number that
//! leaves no order: once it is taken off, updates of large clusters are no slower than those of small ones. Updates are
//! compared only within their step, and by their ranks. So one update that hung for a week changes little.

use std::collections::BTreeMap;

use super::exact::ln;
use super::ranks::{ranks, sorted_quantile};
use super::{MinorStep, NodeGrowth, Origin, OriginKind, Seconds, Spread, Update};

/// With fewer updates of known size, nothing is learnt.
const MIN_UPDATES: usize = 30;
/// Of the larger quarter, clusters have to be this many times as large as those of the smaller one.
const MIN_RATIO: f64 = 2.0;
/// The largest growth that is looked for, in thousandths for a hundred nodes.
const MAX_PERMILLE: u32 = 20_000;

/// An update of a cluster whose size is known.
struct Sized {
    /// Nodes beyond the reference cluster's.
    more: u32,
    log_seconds: f64,
}

/// The growth that these updates show; none if too few of them say how many nodes there were, or all had about as many.
pub(super) fn learn(updates: &[&Update], reference_nodes: u32) -> Option<NodeGrowth> {
    let mut steps: BTreeMap<MinorStep, Vec<Sized>> = BTreeMap::new();
    for update in updates {
        let Some(nodes) = update.nodes else {
            continue;
        };
        let sized = Sized {
            more: nodes.saturating_sub(reference_nodes),
            log_seconds: update.log_seconds(),
        };
        let step = MinorStep::of(&update.from, &update.to);
        steps.entry(step).or_default().push(sized);
    }
    let mut sizes: Vec<f64> = updates
        .iter()
        .filter_map(|update| update.nodes.map(f64::from))
        .collect();
    sizes.sort_by(f64::total_cmp);
    let tells = sizes.len() >= MIN_UPDATES
        && sorted_quantile(&sizes, 0.75) >= MIN_RATIO * sorted_quantile(&sizes, 0.25).max(1.0);
    if !tells {
        return None;
    }
    // Growing means that what is left over still grows with the nodes.
    let (mut low, mut high) = (0, MAX_PERMILLE);
    while low < high {
        let middle = low + (high - low) / 2;
        match is_still_growing(steps.values(), middle) {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    let note = format!(
        "{} completed updates of clusters with known nodes",
        sizes.len()
    );
    Some(NodeGrowth {
        permille: low,
        up_to: sorted_quantile(&sizes, 0.95).round() as u32,
        origin: Origin::new(OriginKind::Fitted, note),
    })
}

/// Whether larger clusters are slower on the whole, once this growth is taken off.
fn is_still_growing<'s>(steps: impl Iterator<Item = &'s Vec<Sized>>, permille: u32) -> bool {
    let sum: f64 = steps
        .map(|step| {
            let sizes: Vec<f64> = step.iter().map(|sized| f64::from(sized.more)).collect();
            let rests: Vec<f64> = step
                .iter()
                .map(|sized| sized.log_seconds - log_factor(permille, sized.more))
                .collect();
            let middle = (step.len() as f64 + 1.0) / 2.0;
            let products = ranks(&sizes).into_iter().zip(ranks(&rests));
            let together: f64 = products
                .map(|(size, rest)| (size - middle) * (rest - middle))
                .sum();
            // Ranks of a step of n updates go up to n: each update weighs as much in a small step as in a large one.
            together / (step.len() * step.len()) as f64
        })
        .sum();
    sum > 0.0
}

fn log_factor(permille: u32, more: u32) -> f64 {
    ln(1.0 + f64::from(permille) * f64::from(more) / 100_000.0)
}

impl NodeGrowth {
    /// The logarithm of how many times as long it takes with that many nodes beyond the reference cluster's.
    pub(super) fn log(&self, more: u32) -> f64 {
        log_factor(self.permille, more)
    }

    /// What the reference cluster takes, on a cluster with that many nodes more.
    pub(super) fn on(&self, spread: Spread, more: u32) -> Spread {
        let with = |seconds: Seconds| {
            let growth = u128::from(seconds) * u128::from(self.permille) * u128::from(more);
            let added = (growth + 50_000) / 100_000;
            seconds.saturating_add(u64::try_from(added).unwrap_or(u64::MAX))
        };
        Spread::new(with(spread.low), with(spread.likely), with(spread.high))
    }
}
