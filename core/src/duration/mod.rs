//! How long does an update take? Estimates, never decisions: no offer and no refusal depends on
//! them.
//!
//! The headline of an estimate is the control plane, without worker pools. Pools are listed beside
//! it. docs/duration.md has the formula, the origin of each parameter, and what the numbers do not
//! mean.
//!
//! Floats are used inside, with operations that give the same result on every machine. Every
//! result is in whole seconds.

mod calibration;
mod check;
mod estimate;
mod exact;
mod fit;
mod growth;
mod operators;
mod parameters;
mod ranks;
mod shape;
mod slowest;
mod waves;

pub use calibration::{Calibration, CalibrationVerdict, UpdateShare, judge};
pub use check::{
    CheckSettings, ComparedUpdates, MIN_CHECKED, NeededUpdates, SlowDown, SpeedCheck, SpeedVerdict,
    check,
};
pub use estimate::{ControlPlaneTimes, Estimate, PoolEstimate, hop_duration, path_duration};
pub use fit::{FOLDS, Fit, FittedGroup, MIN_PAIR_UPDATES, Update, fit};
pub use operators::{OperatorPhase, OperatorRest, operator_phases};
pub use parameters::{
    Basis, Figure, MinorStep, NodeGrowth, NodeTimes, Origin, OriginKind, Parameters, Reference,
    UpdateKind, UsualDaemonSet, WaveCost,
};
pub use shape::{
    ControlPlane, DaemonSet, Ground, Machines, MaxUnavailable, PoolShape, Rollout, Shape,
};
pub use slowest::waves_take;
pub use waves::rollout_seconds;

/// Whole seconds.
pub type Seconds = u64;

/// How long something takes: the shortest, the middle and the longest that one should reckon with, in this order.
///
/// Of fitted figures they are the P10, P50 and P90.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spread {
    pub low: Seconds,
    /// As often shorter as longer.
    pub likely: Seconds,
    /// If it goes slowly, and not wrong.
    pub high: Seconds,
}

impl Spread {
    /// These three; one that is less than the one before it is raised to it.
    pub const fn new(low: Seconds, likely: Seconds, high: Seconds) -> Self {
        let likely = if likely < low { low } else { likely };
        let high = if high < likely { likely } else { high };
        Self { low, likely, high }
    }

    /// The same time in any case.
    pub const fn exactly(seconds: Seconds) -> Self {
        Self::new(seconds, seconds, seconds)
    }

    /// Each of the three, worked out from those of two others.
    fn of(a: Self, b: Self, f: impl Fn(Seconds, Seconds) -> Seconds) -> Self {
        Self::new(f(a.low, b.low), f(a.likely, b.likely), f(a.high, b.high))
    }

    /// One after the other. Both slow, or both fast: the ends are further out than those of the sum need be.
    pub fn then(self, other: Self) -> Self {
        Self::of(self, other, Seconds::saturating_add)
    }

    /// Side by side: whichever takes longer.
    pub fn beside(self, other: Self) -> Self {
        Self::of(self, other, Seconds::max)
    }

    /// The sum of this many, one after the other.
    pub fn times(self, count: u32) -> Self {
        let times = |seconds: Seconds| seconds.saturating_mul(u64::from(count));
        Self::new(times(self.low), times(self.likely), times(self.high))
    }
}
