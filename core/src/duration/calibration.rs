//! Calibration: how many unseen updates took no longer than the parameters predicted?
//!
//! One of ten should stay within the low bound, half within the P50 and nine of ten within the P90.
//! The result comes with its margin of chance, so that ten updates prove nothing.

use super::exact::ln;
use super::{Parameters, Spread, Update};

/// With fewer updates than this, shares say nothing.
const MIN_UPDATES: usize = 20;

/// How well durations were foretold.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    /// How many updates took no longer than the low bound, the P10.
    pub p10: UpdateShare,
    /// How many updates took no longer than the P50.
    pub p50: UpdateShare,
    /// How many took no longer than the P90.
    pub p90: UpdateShare,
    /// Half of them were within this factor of the P50, above or below.
    pub typical_factor: f64,
}

/// A share of updates, and what it should be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UpdateShare {
    /// How many took no longer than was foretold.
    pub within: usize,
    pub of: usize,
    /// Which share should have.
    pub expected: f64,
}

/// What a share says of the figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CalibrationVerdict {
    /// There are too few updates to tell.
    TooFew,
    /// It is what it should be, as far as chance lets one see.
    Fits,
    /// Updates took longer than foretold, more often than they should.
    TooShort,
    /// Updates took longer than foretold, less often than they should.
    TooLong,
}

/// How well these parameters would have foretold these updates, which they must not have been fitted to.
pub fn judge(updates: &[Update], parameters: &Parameters) -> Calibration {
    let foretold = updates
        .iter()
        .map(|update| (parameters.foretold(update), update));
    Calibration::of(foretold)
}

impl Calibration {
    /// Of updates and what was foretold for each.
    pub(super) fn of<'u>(foretold: impl Iterator<Item = (Spread, &'u Update)>) -> Self {
        let (mut within_p10, mut within_p50, mut within_p90) = (0, 0, 0);
        let mut misses = Vec::new();
        for (spread, update) in foretold {
            within_p10 += usize::from(update.seconds <= spread.low);
            within_p50 += usize::from(update.seconds <= spread.likely);
            within_p90 += usize::from(update.seconds <= spread.high);
            let (less, more) = (
                update.seconds.min(spread.likely).max(1),
                update.seconds.max(spread.likely).max(1),
            );
            misses.push(more as f64 / less as f64);
        }
        misses.sort_by(f64::total_cmp);
        let share = |within: usize, expected: f64| UpdateShare {
            within,
            of: misses.len(),
            expected,
        };
        Self {
            p10: share(within_p10, 0.1),
            p50: share(within_p50, 0.5),
            p90: share(within_p90, 0.9),
            typical_factor: misses.get(misses.len() / 2).copied().unwrap_or(1.0),
        }
    }
}

impl UpdateShare {
    /// The share.
    pub fn fraction(self) -> f64 {
        if self.of == 0 {
            0.0
        } else {
            self.within as f64 / self.of as f64
        }
    }

    /// How far from what it should be chance leads, nineteen times of twenty.
    pub fn chance(self) -> f64 {
        2.0 * (self.expected * (1.0 - self.expected) / self.of.max(1) as f64).sqrt()
    }

    pub fn verdict(self) -> CalibrationVerdict {
        let off = self.fraction() - self.expected;
        match () {
            () if self.of < MIN_UPDATES => CalibrationVerdict::TooFew,
            () if off < -self.chance() => CalibrationVerdict::TooShort,
            () if off > self.chance() => CalibrationVerdict::TooLong,
            () => CalibrationVerdict::Fits,
        }
    }
}

impl Parameters {
    /// What an update's control plane takes with the nodes that its cluster has, if that is known.
    pub(super) fn foretold(&self, update: &Update) -> Spread {
        let known = self.control_plane(&update.from, &update.to).spread;
        match (&self.growth, self.nodes_beyond_reference(update.nodes)) {
            (Some(growth), more) => growth.on(known, more),
            (None, _) => known,
        }
    }

    /// A cluster of unknown size counts as the reference cluster.
    pub(super) fn nodes_beyond_reference(&self, nodes: Option<u32>) -> u32 {
        nodes.map_or(0, |nodes| nodes.saturating_sub(self.reference.nodes))
    }
}

impl Update {
    /// The logarithm of how long it took: there, twice as long is as far off as half as long.
    pub(super) fn log_seconds(&self) -> f64 {
        ln(self.seconds.max(1) as f64)
    }
}
