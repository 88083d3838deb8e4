//! Failure rates, in parts per million, and the base rate that a test may assume.

use std::fmt;

/// A rate in parts per million, from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FailureRate(u32);

/// All of them, in parts per million.
const WHOLE: u32 = 1_000_000;
/// The square of 1.645, the 95 % quantile, in millionths.
const SQUARED_QUANTILE: u128 = 2_706_025;
/// More than this tells no more about a rate.
const MOST_COUNTED: u64 = 100_000_000;

impl FailureRate {
    /// The rates that a base rate may have: the test needs room below and above.
    pub const LEAST_BASE: Self = Self(100);
    pub const MOST_BASE: Self = Self(300_000);

    /// In parts per million, at most all of them.
    pub const fn per_million(parts: u32) -> Self {
        Self(if parts < WHOLE { parts } else { WHOLE })
    }

    pub const fn parts(self) -> u32 {
        self.0
    }

    /// In parts per million, for products.
    pub(crate) fn wide(self) -> u64 {
        u64::from(self.0)
    }

    /// What is left of one.
    pub(crate) fn rest(self) -> u64 {
        u64::from(WHOLE - self.0)
    }

    /// The upper 95 % limit on a rate of which `bad` in `count` were seen: Wilson's, with the correction for continuity.
    /// All of them where nothing was seen.
    pub fn upper_limit(bad: u64, count: u64) -> Self {
        let count = u128::from(count.min(MOST_COUNTED));
        if count == 0 {
            return Self(WHOLE);
        }
        // Twice what was seen, and the half more that continuity asks for.
        let twice = (2 * u128::from(bad).min(count) + 1).min(2 * count);
        let variance = twice * (2 * count - twice) * 1_000_000_000_000 / (4 * count);
        let root = (variance + SQUARED_QUANTILE * 250_000).isqrt() + 1;
        let over = twice * 500_000 + SQUARED_QUANTILE / 2 + 1 + root * 1645 / 1000 + 1;
        let limit = (over * u128::from(WHOLE)).div_ceil(count * 1_000_000 + SQUARED_QUANTILE);
        Self(u32::try_from(limit).unwrap_or(WHOLE).min(WHOLE))
    }

    /// The same limit, drawn towards what else is known: that counts as much as `weight` attempts.
    pub(crate) fn shrunk(bad: u64, count: u64, towards: Self, weight: u64) -> Self {
        let own = Self::upper_limit(bad, count).wide() * count.min(MOST_COUNTED);
        let mean = (own + towards.wide() * weight).div_ceil(count.min(MOST_COUNTED) + weight);
        Self(u32::try_from(mean).unwrap_or(WHOLE)).as_base()
    }

    /// Within what a base rate may be.
    pub(crate) fn as_base(self) -> Self {
        self.clamp(Self::LEAST_BASE, Self::MOST_BASE)
    }
}

/// In percent, with as many places as it has: `0.5 %`.
impl fmt::Display for FailureRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (percent, rest) = (self.0 / 10_000, self.0 % 10_000);
        match format!("{percent}.{rest:04}").trim_end_matches('0') {
            whole if whole.ends_with('.') => write!(f, "{} %", whole.trim_end_matches('.')),
            other => write!(f, "{other} %"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_at_least_the_exact_ones() {
        // Clopper and Pearson's one-sided 95 % limits, in parts per million.
        let table = [
            (0, 10, 258_866),
            (0, 100, 29_513),
            (0, 1_000, 2_991),
            (5, 1_000, 10_480),
            (50, 1_000, 63_015),
            (1, 10, 394_163),
        ];
        for (bad, count, exact) in table {
            let limit = FailureRate::upper_limit(bad, count).parts();
            assert!(limit >= exact, "{bad} of {count}: {limit} is below {exact}");
            assert!(
                limit <= exact * 3 / 2,
                "{bad} of {count}: {limit} is far above {exact}"
            );
        }
        assert_eq!(FailureRate::upper_limit(0, 0).parts(), 1_000_000);
        assert_eq!(FailureRate::upper_limit(9, 9).parts(), 1_000_000);
    }

    #[test]
    fn without_attempts_the_rate_is_the_others_and_with_many_it_is_ones_own() {
        let half = FailureRate::per_million(5_000);
        assert_eq!(FailureRate::shrunk(0, 0, half, 200), half);
        let many = FailureRate::shrunk(2_000, 100_000, half, 200).parts();
        assert!((20_000..21_000).contains(&many), "{many}");
    }

    #[test]
    fn they_are_shown_in_percent() {
        let shown =
            [5_000, 50_000, 123_456, 0, 1_000_000].map(|p| FailureRate::per_million(p).to_string());
        assert_eq!(shown, ["0.5 %", "5 %", "12.3456 %", "0 %", "100 %"]);
    }
}
