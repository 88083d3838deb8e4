//! The exact binomial test: does a count contradict a rate?

/// The probability of so many or more in `runs`, where each happens with `rate`.
pub fn at_least(count: u64, runs: u64, rate: f64) -> f64 {
    if count == 0 {
        return 1.0;
    }
    // Below the count there are few terms where rates are small, and each follows from the one before it.
    let mut term = (runs as f64 * (1.0 - rate).ln()).exp();
    let mut below = term;
    for k in 1..count {
        term *= (runs - k + 1) as f64 / k as f64 * rate / (1.0 - rate);
        below += term;
    }
    (1.0 - below).max(0.0)
}

/// The smallest count that contradicts a rate: where it is the true one, so many or more have a probability below `doubt`.
pub fn fewest_contradicting(runs: u64, rate: f64, doubt: f64) -> u64 {
    (0..=runs)
        .find(|count| at_least(*count, runs, rate) < doubt)
        .unwrap_or(runs + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        // P(X >= 1), P(X >= 2) of 10 at 0.1.
        assert!((at_least(1, 10, 0.1) - 0.651_321_56).abs() < 1e-6);
        assert!((at_least(2, 10, 0.1) - 0.263_901_07).abs() < 1e-6);
        assert_eq!(fewest_contradicting(10_000, 0.001, 0.01), 19);
    }
}
