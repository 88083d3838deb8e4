//! How many attempts it takes until a failure rate is seen.

use super::steps::BetSteps;
use super::{Bits, FailureRate, Signal, WatchSettings, scopes};

/// A rate that needs more failures than this is as good as invisible.
const MOST_FAILURES: u64 = 5_000;

/// How many attempts of all clusters it takes, on average, until a release that fails so often is halted. None: such a rate is not
/// seen.
pub fn attempts_needed(
    rate: FailureRate,
    base: FailureRate,
    settings: &WatchSettings,
) -> Option<u64> {
    let needed = needed(settings) - scopes::weight_of_all() - Signal::Failed.weight();
    let steps = BetSteps::against(base.as_base());
    let spare = u64::from(settings.organisations.saturating_sub(1));
    let all = rate.wide() + rate.rest();
    let attempts = |failures: u64| (failures * all).div_ceil(rate.wide().max(1));
    let is_enough = |failures: u64| {
        // The failures of one organisation do not count.
        let counted = failures.saturating_sub(spare);
        steps.after(counted, attempts(failures)).mean() >= needed
    };
    // Where the evidence grows, it grows with each failure.
    let (mut few, mut enough) = (0, MOST_FAILURES);
    if !is_enough(enough) {
        return None;
    }
    while enough - few > 1 {
        let middle = few.midpoint(enough);
        match is_enough(middle) {
            true => enough = middle,
            false => few = middle,
        }
    }
    Some(attempts(enough))
}

/// The smallest rate, in whole percent, that so many attempts make visible.
pub(super) fn rate_seen(
    attempts: u64,
    base: FailureRate,
    settings: &WatchSettings,
) -> Option<FailureRate> {
    let rate = |percent: u32| FailureRate::per_million(percent * 10_000);
    let is_seen = |percent: u32| {
        attempts_needed(rate(percent), base, settings).is_some_and(|needed| needed <= attempts)
    };
    let (mut unseen, mut seen) = (0, 100);
    if !is_seen(seen) {
        return None;
    }
    while seen - unseen > 1 {
        let middle = unseen.midpoint(seen);
        match is_seen(middle) {
            true => seen = middle,
            false => unseen = middle,
        }
    }
    Some(rate(seen))
}

/// What the evidence of one of both ways must reach.
pub(super) fn needed(settings: &WatchSettings) -> Bits {
    let alpha = settings.alpha;
    Bits::of_ratio_up(2 * (alpha.wide() + alpha.rest()), alpha.wide().max(1))
}
