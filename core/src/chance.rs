//! Chance from a seed: SplitMix64. The same seed gives the same row of numbers on every machine.
//!
//! It is no source of randomness: whoever wants another row gives another seed.

/// What the state grows by with each number.
pub(crate) const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A row of numbers that look like chance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chance(u64);

impl Chance {
    pub fn of(seed: u64) -> Self {
        Self(seed)
    }

    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mixed(self.0)
    }

    /// From 0 to below `end`; 0 if nothing is below it.
    pub fn below(&mut self, end: u64) -> u64 {
        let product = u128::from(self.number()) * u128::from(end);
        (product >> 64) as u64
    }

    /// Brings things into an order that follows from the seed alone.
    pub fn shuffle<T>(&mut self, things: &mut [T]) {
        for last in (1..things.len()).rev() {
            let other = self.below(last as u64 + 1) as usize;
            things.swap(last, other);
        }
    }
}

/// A state, mixed until it looks like chance.
pub(crate) fn mixed(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
