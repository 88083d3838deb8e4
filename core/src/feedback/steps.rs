//! What one outcome adds to the evidence against a base rate, for each alternative.
//!
//! The alternatives are 2 × 1.6^j times the base rate, below 95 %. Each is a bet that is fair or worse as long as the true rate is
//! at most the base rate. Their mean is such a bet too.

use super::{Bits, FailureRate};

/// How many alternatives there are.
pub(super) const ALTERNATIVES: usize = 10;
/// The largest alternative, in parts per million.
const MOST: u64 = 950_000;

/// The logarithms of one bet for each alternative, after some outcomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bets(pub(super) [Bits; ALTERNATIVES]);

/// What a good and a bad outcome add.
#[derive(Debug, Clone)]
pub(super) struct BetSteps {
    pub(super) good: Bets,
    pub(super) bad: Bets,
}

impl BetSteps {
    pub(super) fn against(base: FailureRate) -> Self {
        let alternatives = alternatives(base);
        let all = base.wide() + base.rest();
        let good = |p: u64| Bits::of_ratio(all - p, base.rest());
        let bad = |p: u64| Bits::of_ratio(p, base.wide());
        Self {
            good: Bets(alternatives.map(good)),
            bad: Bets(alternatives.map(bad)),
        }
    }

    pub(super) fn of(&self, is_bad: bool) -> Bets {
        match is_bad {
            true => self.bad,
            false => self.good,
        }
    }

    /// After so many bad outcomes among so many.
    pub(super) fn after(&self, bad: u64, count: u64) -> Bets {
        let (good, bad_count) = (count - bad, bad);
        let sum = |j: usize| self.good.0[j].times(good) + self.bad.0[j].times(bad_count);
        Bets(std::array::from_fn(sum))
    }
}

impl Bets {
    pub(super) const NONE: Self = Self([Bits::ZERO; ALTERNATIVES]);

    pub(super) fn add(&mut self, step: Self) {
        for (sum, step) in self.0.iter_mut().zip(step.0) {
            *sum = *sum + step;
        }
    }

    pub(super) fn without(mut self, part: Self) -> Self {
        for (sum, part) in self.0.iter_mut().zip(part.0) {
            *sum = *sum - part;
        }
        self
    }

    /// The mean of all bets, rounded down.
    pub(super) fn mean(self) -> Bits {
        let mut all = self.0;
        all.sort();
        let sum = all.into_iter().fold(Bits::LEAST, Bits::of_sum);
        sum - Bits::of_ratio_up(ALTERNATIVES as u64, 1)
    }
}

fn alternatives(base: FailureRate) -> [u64; ALTERNATIVES] {
    let mut next = (2 * base.wide(), 1);
    std::array::from_fn(|_| {
        let (over, under) = next;
        next = (over * 8, under * 5);
        (over / under).min(MOST)
    })
}
