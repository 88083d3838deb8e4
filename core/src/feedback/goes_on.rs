//! When a release may be called good: once the tolerated failure rate is ruled out.
//!
//! The same kind of bet, the other way round: that the rate is a tenth of the tolerated one. Here a trial without an ending counts
//! as bad, so nobody is called good because nothing is known. The answer is wrong with a probability of at most α.

use super::trials::{Trial, Trials};
use super::{Bits, FailureRate, Outcome};

/// For each scope, whether the rate is ruled out.
pub(super) fn ruled_out(trials: &Trials, rate: FailureRate, needed: Bits) -> Vec<bool> {
    let all = rate.wide() + rate.rest();
    // A rate below a millionth is no rate.
    let hoped = (rate.wide() / 10).max(1);
    let good = Bits::of_ratio(all - hoped, rate.rest().max(1));
    let bad = Bits::of_ratio(hoped, rate.wide().max(1));
    let mut sums = vec![Bits::ZERO; trials.scopes.len()];
    let mut is_ruled_out = vec![false; trials.scopes.len()];
    for trial in &trials.own {
        for scope in &trials.group(trial).scopes {
            sums[*scope] = sums[*scope] + if is_good(trial) { good } else { bad };
            is_ruled_out[*scope] |= sums[*scope] >= needed;
        }
    }
    is_ruled_out
}

fn is_good(trial: &Trial) -> bool {
    trial
        .ending
        .is_some_and(|ending| ending.outcome == Outcome::Done)
}
