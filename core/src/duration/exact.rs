//! Logarithms and powers, the same on every machine.
//!
//! IEEE 754 makes addition, multiplication and division exact everywhere. A system library's `ln`
//! and `exp` differ in their last digits. The ones here use only exact operations and are right to
//! about fourteen digits.

use std::f64::consts::{LN_2, SQRT_2};

/// Bits of a float: the fraction, and what the exponent is counted from.
const FRACTION_BITS: u32 = 52;
const EXPONENT_OF_ONE: i64 = 1023;

/// The natural logarithm of a number of at least one.
pub(super) fn ln(number: f64) -> f64 {
    assert!(
        (1.0..1e300).contains(&number),
        "only numbers from one on have a logarithm here"
    );
    let bits = number.to_bits();
    let fraction = bits & ((1 << FRACTION_BITS) - 1);
    let mut exponent =
        i64::try_from(bits >> FRACTION_BITS).unwrap_or(EXPONENT_OF_ONE) - EXPONENT_OF_ONE;
    let mut rest = f64::from_bits(fraction | (EXPONENT_OF_ONE.cast_unsigned() << FRACTION_BITS));
    if rest > SQRT_2 {
        rest /= 2.0;
        exponent += 1;
    }
    // ln(rest) = 2 artanh(z), and |z| < 0.18, so that twelve terms are plenty.
    let z = (rest - 1.0) / (rest + 1.0);
    let series = (0..12)
        .rev()
        .fold(0.0, |sum, term| sum * z * z + 1.0 / f64::from(2 * term + 1));
    2.0 * z * series + exponent as f64 * LN_2
}

/// e to that power, which is cut to what durations need: from 0 to about 10^300.
pub(super) fn exp(power: f64) -> f64 {
    let power = power.clamp(-690.0, 690.0);
    let doublings = (power / LN_2).round();
    let rest = power - doublings * LN_2;
    let series = (1..=18)
        .rev()
        .fold(1.0, |sum, term| 1.0 + sum * rest / f64::from(term));
    let exponent = (doublings as i64 + EXPONENT_OF_ONE).cast_unsigned();
    series * f64::from_bits(exponent << FRACTION_BITS)
}

/// A number of at least one to a power.
pub(super) fn power(base: f64, exponent: f64) -> f64 {
    exp(exponent * ln(base))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_right_to_twelve_digits() {
        for number in [
            1.0,
            1.4,
            1.5,
            2.0,
            2.9,
            25.0,
            70.0,
            4_800.0,
            86_400.0,
            1e9,
            1e300_f64.sqrt(),
        ] {
            assert!(
                (ln(number) - number.ln()).abs() <= 1e-12 * number.ln().max(1.0),
                "ln {number}"
            );
            assert!(
                (exp(number.ln()) / number - 1.0).abs() < 1e-12,
                "exp of ln {number}"
            );
        }
        assert!((power(25.0, 0.5) - 5.0).abs() < 1e-12);
        assert!((exp(-3.5) - (-3.5_f64).exp()).abs() < 1e-12);
        assert_eq!((power(1.0, 0.7), ln(1.0), exp(0.0)), (1.0, 0.0, 1.0));
    }

    #[test]
    fn the_very_bits_are_the_same_everywhere() {
        let bits = [ln(4_800.0), ln(1.5), exp(1.5), power(25.0, 0.7)].map(f64::to_bits);
        let golden = [
            0x4020_F3E6_ECEE_D967,
            0x3FD9_F323_ECBF_984C,
            0x4011_ED3F_E64F_C542,
            0x4023_095A_A530_DCE5,
        ];
        assert_eq!(bits, golden);
    }
}
