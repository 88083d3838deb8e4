//! Stages: shares of the fleet that begin together, one after the other.
//!
//! What begins between two looks at outcomes is exposed and teaches nothing in time. So the ramp that does best is a stair,
//! whose steps are as long as outcomes take ([`best_stages`](crate::feedback::best_stages)).

use super::{Position, Share};

/// The shares of the fleet that have begun with each stage but the last, which is everybody. Stages begin at equal distances
/// in the window: the first with it, the last at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stages {
    count: u8,
    /// In hundredths of a percent, rising; those after `count` are 0.
    shares: [u16; Self::MAX],
}

impl Stages {
    /// The most, without the last one.
    pub const MAX: usize = 12;
    /// Everybody, in hundredths of a percent.
    pub const WHOLE: u16 = 10_000;

    /// In hundredths of a percent. None unless each is larger than the one before, all are more than nobody and less than
    /// everybody, and there is at least one and not too many.
    pub fn new(shares: &[u16]) -> Option<Self> {
        let is_rising = shares.is_sorted_by(|one, next| one < next);
        let fits = |share: &u16| (1..Self::WHOLE).contains(share);
        if shares.is_empty() || !is_rising || !shares.iter().all(fits) {
            return None;
        }
        let mut padded = [0; Self::MAX];
        padded.get_mut(..shares.len())?.copy_from_slice(shares);
        Some(Self {
            count: u8::try_from(shares.len()).ok()?,
            shares: padded,
        })
    }

    /// In hundredths of a percent.
    pub fn hundredths(&self) -> &[u16] {
        &self.shares[..usize::from(self.count)]
    }

    /// The share of the fleet with each stage, and everybody.
    pub fn shares(&self) -> impl Iterator<Item = Share> + '_ {
        let own = self.hundredths().iter().copied();
        own.map(Share::hundredths_of_percent).chain([Share::WHOLE])
    }

    /// How many stretches of time lie between the first stage and everybody.
    pub(super) fn count(&self) -> u32 {
        u32::from(self.count)
    }

    /// How many parts of the fleet have begun after so much of the window's length, of how many.
    pub(super) fn reached(&self, elapsed: u128, length: u128) -> (u128, u128) {
        let stage = elapsed * u128::from(self.count) / length;
        let stage = usize::try_from(stage).unwrap_or(usize::MAX);
        let share = self.hundredths().get(stage).copied();
        let share = share.unwrap_or(Self::WHOLE);
        (u128::from(share), u128::from(Self::WHOLE))
    }

    /// How much of the length has passed when this position begins.
    pub(super) fn due(&self, position: Position, length: u128) -> u128 {
        let mut shares = self.shares();
        let stage = shares.position(|share| share.holds(position));
        let stage = stage.unwrap_or(usize::from(self.count));
        (length * stage as u128).div_ceil(u128::from(self.count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_rise_and_are_neither_nobody_nor_everybody() {
        let long: Vec<u16> = (1..=13).collect();
        for wrong in [&[][..], &[0], &[10_000], &[5, 5], &[6, 5], &long] {
            assert_eq!(Stages::new(wrong), None, "{wrong:?}");
        }
        let stages = Stages::new(&long[..12]).unwrap();
        assert_eq!(stages.hundredths(), &long[..12]);
        assert_eq!(stages.shares().count(), 13);
    }
}
