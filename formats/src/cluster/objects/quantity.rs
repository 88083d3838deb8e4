//! Kubernetes quantities: `500m`, `1.5`, `512Mi`, `1e3`.

use crate::read::{Node, Reader, Value};

use super::AGAIN;

/// A quantity in thousandths; nothing there is nothing asked for.
pub(super) fn milli(reader: &mut Reader, parent: Option<&Node>, name: &str) -> u64 {
    let Some(node) = parent.and_then(|parent| parent.get(name)) else {
        return 0;
    };
    let read = match &node.value {
        Value::Whole(number) => u64::try_from(*number).ok().map(|n| n.saturating_mul(1_000)),
        Value::Text(text) => in_milli(text),
        Value::Fraction(number) => in_milli(&number.to_string()),
        _ => None,
    };
    read.unwrap_or_else(|| {
        let problem = format!(
            "a quantity such as 500m or 2Gi belongs here, and this is {}",
            node.kind()
        );
        reader.error("bad-quantity", node, problem, AGAIN);
        0
    })
}

/// The same in whole units, rounded up.
pub(super) fn whole(reader: &mut Reader, parent: Option<&Node>, name: &str) -> u64 {
    milli(reader, parent, name).div_ceil(1_000)
}

fn in_milli(text: &str) -> Option<u64> {
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let has_digits = !whole.is_empty() || !fraction.is_empty();
    let is_number = has_digits && !fraction.contains('.');
    if !is_number || number.len() > 30 {
        return None;
    }
    let digits: u128 = format!("{whole}{fraction}").parse().ok()?;
    let (multiplier, divisor) = scale(suffix)?;
    let below_one = 10u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let milli = digits.checked_mul(1_000)?.checked_mul(multiplier)?;
    let milli = milli.div_ceil(below_one.checked_mul(divisor)?);
    Some(u64::try_from(milli).unwrap_or(u64::MAX))
}

/// What a suffix multiplies with, and divides by.
fn scale(suffix: &str) -> Option<(u128, u128)> {
    let decimal = |power: u32| Some((10u128.pow(power), 1));
    let binary = |power: u32| Some((1u128 << (10 * power), 1));
    match suffix {
        "" => Some((1, 1)),
        "n" => Some((1, 1_000_000_000)),
        "u" => Some((1, 1_000_000)),
        "m" => Some((1, 1_000)),
        "k" => decimal(3),
        "M" => decimal(6),
        "G" => decimal(9),
        "T" => decimal(12),
        "P" => decimal(15),
        "E" => decimal(18),
        "Ki" => binary(1),
        "Mi" => binary(2),
        "Gi" => binary(3),
        "Ti" => binary(4),
        "Pi" => binary(5),
        "Ei" => binary(6),
        exponent => {
            let power: i32 = exponent.strip_prefix(['e', 'E'])?.parse().ok()?;
            let factor = 10u128
                .checked_pow(power.unsigned_abs())
                .filter(|_| power.abs() <= 18)?;
            Some(if power < 0 { (1, factor) } else { (factor, 1) })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_as_kubernetes_reads_them() {
        for (text, milli) in [
            ("0", Some(0)),
            ("4", Some(4_000)),
            ("500m", Some(500)),
            ("1.5", Some(1_500)),
            (".5", Some(500)),
            ("100u", Some(1)),
            ("1k", Some(1_000_000)),
            ("2Ki", Some(2_048_000)),
            ("1e3", Some(1_000_000)),
            ("1E", Some(u64::MAX)),
            ("5e-1", Some(500)),
            ("", None),
            (".", None),
            ("1.2.3", None),
            ("-1", None),
            ("4 cores", None),
            ("1e99", None),
        ] {
            assert_eq!(in_milli(text), milli, "{text:?}");
        }
    }
}
