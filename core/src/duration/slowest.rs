//! How long waves of nodes take: P10, P50 and P90 of simulated runs.
//!
//! A wave lasts until its slowest node is back, so a wave of ten nodes takes longer than one node. A sum of waves is not as uncertain as each
//! of them: a slow node here is made up for by a quick one there. Half of what differs is taken to be the cluster's (its disks, its
//! registry), and slows all its nodes; the other half is each node's own. That share is assumed.

use std::f64::consts::FRAC_1_SQRT_2;

use super::exact::{exp, ln};
use super::{Seconds, Spread};
use crate::chance::Chance;

/// So many runs: the P10 and the P90 have 200 runs beyond them.
const RUNS: usize = 2_000;
/// The P90 of a normal distribution, in standard deviations.
const P90: f64 = 1.281_551_565_545;
/// Fractions of chance.
const BITS: u32 = 32;

/// Of waves of so many nodes each, one after the other. The node's three times are its P10, P50 and P90.
pub fn waves_take(waves: &[usize], node: Spread, seed: u64) -> Spread {
    let mut chance = Chance::of(seed);
    let one = NodeTime::of(node);
    let mut runs: Vec<Seconds> = (0..RUNS).map(|_| one.run(waves, &mut chance)).collect();
    runs.sort_unstable();
    let part = |percent: usize| runs[(RUNS - 1) * percent / 100];
    Spread::new(part(10), part(50), part(90))
}

/// A node's time, as a lognormal distribution with a width of its own below its middle and above it.
struct NodeTime {
    likely: f64,
    below: f64,
    above: f64,
}

impl NodeTime {
    fn of(node: Spread) -> Self {
        let logarithm = |seconds: Seconds| ln(seconds.max(1) as f64);
        let likely = logarithm(node.likely);
        Self {
            likely,
            below: (likely - logarithm(node.low)) / P90,
            above: (logarithm(node.high) - likely) / P90,
        }
    }

    /// All waves of one run.
    fn run(&self, waves: &[usize], chance: &mut Chance) -> Seconds {
        let shared = normal(chance);
        let wave = |nodes: &usize| {
            let own = (0..*nodes).map(|_| normal(chance)).reduce(f64::max);
            // The slowest node is the one whose own part is the slowest.
            own.map_or(0, |own| self.at((shared + own) * FRAC_1_SQRT_2))
        };
        waves.iter().map(wave).sum()
    }

    fn at(&self, deviations: f64) -> Seconds {
        let width = if deviations < 0.0 {
            self.below
        } else {
            self.above
        };
        exp(self.likely + deviations * width).round() as Seconds
    }
}

/// A number of the standard normal distribution, nearly: twelve even ones, added up.
fn normal(chance: &mut Chance) -> f64 {
    let halves = |number: u64| (number >> BITS) + (number & ((1 << BITS) - 1));
    let sum: u64 = (0..6).map(|_| halves(chance.number())).sum();
    sum as f64 / (1u64 << BITS) as f64 - 6.0
}
