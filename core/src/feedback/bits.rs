//! UpdateEvidence as powers of two: logarithms in whole numbers, never above the true value.
//!
//! Replicas of every architecture agree, and a replay is exact. Rounding down lowers the evidence, so it can delay a halt,
//! and never causes one.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, Neg, Sub};

/// A logarithm to the base 2, in units of 2^-32.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Bits(i64);

/// The binary places of a logarithm.
const PLACES: u32 = 32;
/// Two values further apart than this: the sum is taken to be the larger.
const FAR: i64 = 24;

impl Bits {
    pub const ZERO: Self = Self(0);
    pub const ONE: Self = Self(1 << PLACES);
    /// Less than any evidence.
    pub const LEAST: Self = Self(i64::MIN / 4);

    /// In units of 2^-32, to be written down.
    pub fn units(self) -> i64 {
        self.0
    }

    pub const fn of_units(units: i64) -> Self {
        Self(units)
    }

    /// The logarithm of a fraction of two positive numbers, rounded down.
    pub fn of_ratio(over: u64, under: u64) -> Self {
        assert!(over > 0 && under > 0, "a logarithm needs positive numbers");
        let (shift_over, shift_under) = (over.leading_zeros(), under.leading_zeros());
        let quotient = (u128::from(over << shift_over) << 64) / u128::from(under << shift_under);
        let whole = i64::from(shift_under) - i64::from(shift_over);
        // The quotient is over/under × 2^64, with both scaled to at least half of what fits.
        match quotient >> 64 {
            0 => Self::of_mantissa(quotient, whole - 1),
            _ => Self::of_mantissa(quotient >> 1, whole),
        }
    }

    /// The same, rounded up: for what evidence must reach.
    pub fn of_ratio_up(over: u64, under: u64) -> Self {
        -Self::of_ratio(under, over)
    }

    /// Of `mantissa` × 2^-63 × 2^`whole`, where the mantissa is from 2^63 to below 2^64. One binary place for each squaring.
    fn of_mantissa(mut mantissa: u128, whole: i64) -> Self {
        let mut units = whole;
        for _ in 0..PLACES {
            let square = mantissa * mantissa;
            let bit = square >> 127;
            // What is cut off only makes the rest smaller.
            mantissa = square >> (63 + bit);
            units = units << 1 | i64::from(bit == 1);
        }
        Self(units)
    }

    /// The logarithm of the sum of both powers, rounded down.
    pub fn of_sum(self, other: Self) -> Self {
        let (small, large) = (self.min(other), self.max(other));
        let apart = (large.0.saturating_sub(small.0) + Self::ONE.0 - 1) >> PLACES;
        match apart {
            0..FAR => large + Self::of_ratio((1 << apart) + 1, 1 << apart),
            _ => large,
        }
    }

    /// So many times as much.
    pub fn times(self, count: u64) -> Self {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        Self(self.0.saturating_mul(count).max(Self::LEAST.0))
    }

    /// In tenths, rounded down; for text and JSON.
    pub fn tenths(self) -> i64 {
        ((i128::from(self.0) * 10) >> PLACES) as i64
    }
}

impl Add for Bits {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0).max(Self::LEAST.0))
    }
}

impl Sub for Bits {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Neg for Bits {
    type Output = Self;

    fn neg(self) -> Self {
        Self(self.0.saturating_neg())
    }
}

impl Sum for Bits {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::ZERO, Add::add)
    }
}

/// As a power: `2^11.3`.
impl fmt::Display for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = self.tenths();
        let sign = if tenths < 0 { "-" } else { "" };
        let tenths = tenths.unsigned_abs();
        write!(f, "2^{sign}{}.{}", tenths / 10, tenths % 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn powers_of_two_are_exact_both_ways() {
        assert_eq!(Bits::of_ratio(8, 1), Bits::ONE.times(3));
        assert_eq!(Bits::of_ratio_up(8, 1), Bits::ONE.times(3));
        assert_eq!(Bits::of_ratio(1, 4), -Bits::ONE.times(2));
        assert_eq!(Bits::of_ratio(7, 7), Bits::ZERO);
    }

    #[test]
    fn known_values_are_rounded_down_to_the_last_place() {
        // log2(3) = 1.58496250072115618…, log2(1/3) = -1.58496250072115618…, in units of 2^-32.
        assert_eq!(Bits::of_ratio(3, 1).units(), 6_807_362_105);
        assert_eq!(Bits::of_ratio_up(3, 1).units(), 6_807_362_106);
        assert_eq!(Bits::of_ratio(1, 3).units(), -6_807_362_106);
    }

    #[test]
    fn they_are_shown_as_powers() {
        let shown =
            [Bits::of_ratio(2_500, 1), Bits::of_ratio(1, 3), Bits::ZERO].map(|b| b.to_string());
        assert_eq!(shown, ["2^11.2", "2^-1.6", "2^0.0"]);
    }

    proptest! {
        #[test]
        fn a_logarithm_is_never_above_the_true_value_and_at_most_one_unit_below(over in 1u64.., under in 1u64..) {
            let units = Bits::of_ratio(over, under).units();
            let up = Bits::of_ratio_up(over, under).units();
            prop_assert!(units <= up && up - units <= 2, "{} and {}", units, up);
            // A float has 53 bits, so it tells a deviation of a few units in 2^-32 of values up to 64.
            let truth = ((over as f64).log2() - (under as f64).log2()) * 4_294_967_296.0;
            prop_assert!((units as f64 - truth).abs() < 3.0, "{} is not {}", units, truth);
        }

        #[test]
        fn a_fraction_of_small_numbers_is_bounded_by_exact_powers(over in 1u64..60, under in 1u64..60) {
            // over/under >= 2^(floor) is over^4 >= under^4 × 2^(floor of four times the logarithm), in whole numbers.
            let four = Bits::of_ratio(over, under).units().div_euclid(1 << 30);
            let (a, b) = (u128::from(over).pow(4), u128::from(under).pow(4));
            let holds = match four >= 0 {
                true => a >= b << four,
                false => a << -four >= b,
            };
            prop_assert!(holds, "log2({}/{}) is below {}/4", over, under, four);
        }

        #[test]
        fn a_sum_is_at_least_the_larger_and_never_above_the_true_sum(a in -40i64 << 32..40 << 32, b in -40i64 << 32..40 << 32) {
            let sum = Bits(a).of_sum(Bits(b));
            prop_assert_eq!(sum, Bits(b).of_sum(Bits(a)));
            prop_assert!(sum >= Bits(a).max(Bits(b)));
            let real = |units: i64| units as f64 / 4_294_967_296.0;
            let truth = (real(a).exp2() + real(b).exp2()).log2();
            prop_assert!(real(sum.units()) <= truth + 1e-9);
        }
    }
}
