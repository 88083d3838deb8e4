//! Bounds: how many outcomes any rule needs at least, even one that knows beforehand how often the bad release fails.

use crate::at_least;

/// The fewest outcomes after which a rule can have halted a release that fails with `failing` with a probability of `surely`, if it
/// halts one that fails with `rate` with a probability of at most α, whenever and however often it looks.
///
/// Whether it has halted by the nth outcome is a test of these n outcomes at α, so it is no more powerful than the most powerful one
/// (Neyman and Pearson): halt at more than so many failures, and at exactly so many with the chance that uses up α.
pub fn fewest_attempts(failing: f64, surely: f64, alpha: f64, rate: f64) -> Option<u64> {
    (1..=1_000_000).find(|count| power(*count, failing, alpha, rate) >= surely)
}

/// The fewest outcomes on average, if every such release is halted at last (Wald): bits of evidence over bits for each outcome.
pub fn mean_attempts(failing: f64, alpha: f64, rate: f64) -> f64 {
    let bits = failing * (failing / rate).log2()
        + (1.0 - failing) * ((1.0 - failing) / (1.0 - rate)).log2();
    -alpha.log2() / bits
}

/// The power of the most powerful test at α on so many outcomes.
fn power(count: u64, failing: f64, alpha: f64, rate: f64) -> f64 {
    let enough = (0..=count + 1).find(|k| at_least(*k, count, rate) <= alpha);
    let enough = enough.unwrap_or(count + 1);
    let exactly = |rate: f64| match enough {
        0 => 0.0,
        more => at_least(more - 1, count, rate) - at_least(enough, count, rate),
    };
    let spare = (alpha - at_least(enough, count, rate)).max(0.0);
    at_least(enough, count, failing) + (spare / exactly(rate)).min(1.0) * exactly(failing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_outcome_can_be_tested_by_chance_alone() {
        // One outcome: it halts at a failure with the chance α / rate.
        assert!((power(1, 0.2, 1e-3, 5e-3) - 0.2 * 0.2).abs() < 1e-9);
        // A coin of α alone halts a good and a bad one alike.
        assert!((power(1, 5e-3, 1e-3, 5e-3) - 1e-3).abs() < 1e-9);
    }

    #[test]
    fn more_outcomes_never_make_a_test_weaker() {
        let powers: Vec<f64> = (1..200).map(|n| power(n, 0.2, 1e-3, 5e-3)).collect();
        assert!(powers.is_sorted_by(|a, b| *a <= b + 1e-12), "{powers:?}");
    }

    #[test]
    fn walds_bound_is_that_of_the_docs() {
        let mean = mean_attempts(0.2, 1e-3, 5e-3);
        assert!((12.2..12.4).contains(&mean), "{mean}");
    }
}
