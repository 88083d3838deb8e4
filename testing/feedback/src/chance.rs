//! Chance from a seed: SplitMix64. The same seed gives the same fleet on every machine.

use jiff::SignedDuration;
use towpath_core::feedback::FailureRate;

/// A row of random numbers.
#[derive(Debug, Clone)]
pub struct Chance(u64);

impl Chance {
    pub fn of(seed: u64) -> Self {
        Self(seed)
    }

    /// A row of its own, for one of many runs.
    pub fn of_run(seed: u64, run: u64) -> Self {
        let mut chance = Self(seed ^ run.wrapping_mul(0xD6E8_FEB8_6659_FD93));
        Self(chance.number())
    }

    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        let product = u128::from(self.number()) * u128::from(end);
        (product >> 64) as u64
    }

    pub fn happens(&mut self, rate: FailureRate) -> bool {
        self.below(1_000_000) < u64::from(rate.parts())
    }

    /// From `least` to `most`, in whole seconds.
    pub fn between(&mut self, least: SignedDuration, most: SignedDuration) -> SignedDuration {
        let span = u64::try_from(most.as_secs() - least.as_secs()).unwrap() + 1;
        least + SignedDuration::from_secs(self.below(span) as i64)
    }

    /// One of several, by weight.
    pub fn one_of<'a, T>(&mut self, weighted: &'a [(T, u64)]) -> &'a T {
        let sum = weighted.iter().map(|(_, weight)| weight).sum();
        let mut place = self.below(sum);
        for (one, weight) in weighted {
            match place.checked_sub(*weight) {
                Some(rest) => place = rest,
                None => return one,
            }
        }
        unreachable!("a place is below the sum of all weights")
    }
}
