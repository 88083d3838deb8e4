//! Times and durations in the syntax of RFC 3339, appendix A.

use jiff::civil::{Date, DateTime};
use jiff::{Span, SpanRelativeTo, Timestamp, Unit};
use towpath_core::graph::RolloutRule;

/// Reads a date-time; seconds are optional: `2020-05-12T00:00Z`. It must have an offset.
pub fn parse_time(text: &str) -> Result<Timestamp, String> {
    let shown: String = text.chars().take(40).collect();
    let dated = text
        .as_bytes()
        .get(10)
        .is_some_and(|b| *b == b'T' || *b == b't');
    let time = dated && !text.contains('[');
    match text.parse() {
        Ok(timestamp) if time => Ok(timestamp),
        _ if time && text.parse::<DateTime>().is_ok() && !text.contains(['Z', 'z', '+']) => Err(
            format!("{shown:?} has no offset: end it with Z, or the like of +02:00"),
        ),
        _ => Err(format!(
            "{shown:?} is not an RFC 3339 date-time, or there is no such day"
        )),
    }
}

/// Reads a duration of whole numbers: `P2D`, `PT48H`, `P1W`, `P1M`; `P0S` too, which schema 2.0.0 has for "none".
pub fn parse_duration(text: &str) -> Result<Span, String> {
    let wrong = || format!("{text:?} is not an RFC 3339 duration");
    if text == "P0S" {
        return Ok(Span::new());
    }
    let whole = |b: u8| b.is_ascii_digit() || b"PTYMWDHS".contains(&b);
    if text.len() > 32 || !text.starts_with('P') || !text.bytes().all(whole) {
        return Err(wrong());
    }
    let span: Span = text.parse().map_err(|_| wrong())?;
    // Months and years need a calendar; the longest they can be is what counts for the limit.
    let reference = SpanRelativeTo::from(Date::constant(2020, 1, 1));
    let days = span.total((Unit::Day, reference)).map_err(|_| wrong())?;
    match days <= RolloutRule::MAX_DAYS as f64 {
        true => Ok(span),
        false => Err(format!(
            "{text} is longer than the {} days that a window may have",
            RolloutRule::MAX_DAYS
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        for good in [
            "P2D", "PT48H", "P0S", "P0D", "PT0S", "P1W", "P1M", "P1Y", "P1DT12H", "P366D",
        ] {
            assert!(parse_duration(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "P",
            "2D",
            "-P2D",
            "P-2D",
            "+P2D",
            "PT1.5H",
            "p2d",
            "2 days",
            "P367D",
            "P2Y",
            "P2DT",
            "P99999999999999999999D",
            "P1D ",
        ] {
            assert!(parse_duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn times() {
        for good in [
            "2020-05-12T00:00Z",
            "2020-05-12T00:00:00Z",
            "2020-05-12T02:00:00.5+02:00",
        ] {
            assert!(parse_time(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "2020-05-12",
            "2020-05-12T00:00",
            "yesterday",
            "2020-13-01T00:00Z",
            "2020-05-12T00:00+02:00[Europe/Berlin]",
            "1589241600",
        ] {
            assert!(parse_time(bad).is_err(), "{bad}");
        }
    }
}
