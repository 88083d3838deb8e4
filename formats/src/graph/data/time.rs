//! Times and durations in the syntax of RFC 3339, appendix A.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Span, SpanRelativeTo, Timestamp, Unit};
use towpath_core::graph::RolloutRule;

/// Reads a date-time: `2020-05-12T00:00Z`, `2020-05-12T02:00:00.5+02:00`. Seconds and their fraction are optional, the
/// offset is not: `Z`, or hours and minutes up to 23:59.
pub fn parse_time(text: &str) -> Result<Timestamp, String> {
    let shown: String = text.chars().take(40).collect();
    let wrong = || format!("{shown:?} is not an RFC 3339 date-time, or there is no such day");
    let (clock, offset) = split_offset(text);
    if !is_clock(clock) || clock.parse::<DateTime>().is_err() {
        return Err(wrong());
    }
    match offset.as_bytes() {
        [] => Err(format!(
            "{shown:?} has no offset: end it with Z, or the like of +02:00"
        )),
        b"Z" | b"z" => Ok(()),
        [_, hours @ .., b':', ten, one] if hours.len() == 2 && is_number(&[*ten, *one]) => {
            match is_number(hours) && hours < b"24".as_slice() && *ten < b'6' {
                true => Ok(()),
                false => Err(format!(
                    "the offset of {shown:?} is not one: it goes up to 23:59"
                )),
            }
        }
        _ => Err(wrong()),
    }?;
    text.parse().map_err(|_| {
        let last = Timestamp::MAX;
        format!("{shown:?} is too late: the last time that can be read is {last}")
    })
}

/// Reads the start of a release. Its windows must end before the last time that there is, so none is cut short.
pub(super) fn parse_start(text: &str) -> Result<Timestamp, String> {
    let start = parse_time(text)?;
    match start.to_zoned(TimeZone::UTC).year() <= LAST_YEAR {
        true => Ok(start),
        false => Err(format!(
            "{text:?} is too late: a release may start until the end of {LAST_YEAR}, so that its windows end in time"
        )),
    }
}

/// The last year in which a release may start: a window is at most [`RolloutRule::MAX_DAYS`] long.
const LAST_YEAR: i16 = 9997;

/// A date with a time of day, and the offset that follows.
fn split_offset(text: &str) -> (&str, &str) {
    let of_day = text.find(['T', 't']).unwrap_or(text.len());
    let offset = text.bytes().skip(of_day).position(|b| b"Zz+-".contains(&b));
    text.split_at(offset.map_or(text.len(), |at| of_day + at))
}

/// Whether this is `2020-05-12T00:00`, with seconds or without, and a fraction of them or none.
fn is_clock(text: &str) -> bool {
    let (clock, fraction) = match text.split_once('.') {
        Some((clock, fraction)) => (clock, Some(fraction)),
        None => (text, None),
    };
    let is_like = |form: &str| {
        let same = |(byte, form): (u8, u8)| match form {
            b'0' => byte.is_ascii_digit(),
            form => byte.eq_ignore_ascii_case(&form),
        };
        clock.len() == form.len() && clock.bytes().zip(form.bytes()).all(same)
    };
    match fraction {
        Some(digits) => is_like("0000-00-00T00:00:00") && is_number(digits.as_bytes()),
        None => is_like("0000-00-00T00:00:00") || is_like("0000-00-00T00:00"),
    }
}

fn is_number(digits: &[u8]) -> bool {
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
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
            "P2D",
            "PT48H",
            "P0S",
            "P0D",
            "PT0S",
            "P1W",
            "P1M",
            "P1Y",
            "P1DT12H",
            "P366D",
            "P1W2D",
            "P1M2DT3H4M5S",
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
            "P1D1W",
            "P1D2D",
            "PT1D",
            "P1DT",
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
            "2020-05-12t00:00z",
            "2020-05-12T00:00+23:59",
            "2020-05-12T00:00-00:00",
            "2016-12-31T23:59:60Z",
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
            "20200512T0000Z",
            "2020-05-12 00:00Z",
            "2020-05-12T00Z",
            "2020-05-12T00:00+02",
            "2020-05-12T00:00+0200",
            "2020-05-12T00:00+02:00:00",
            "2020-05-12T00:00+24:00",
            "2020-05-12T00:00-25:59",
            "2020-05-12T00:00+02:60",
            "2020-05-12T00:00.5Z",
            "2020-05-12T00:00:00,5Z",
            "2020-05-12T00:00:00.Z",
            "2020-05-12T00:00Zulu",
            "+002020-05-12T00:00Z",
        ] {
            assert!(parse_time(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_time_that_is_refused_says_why() {
        let why = |text| parse_start(text).unwrap_err();
        assert_eq!(
            why("9999-12-31T23:59:59Z"),
            "\"9999-12-31T23:59:59Z\" is too late: the last time that can be read is 9999-12-30T22:00:00.999999999Z"
        );
        assert_eq!(
            why("9998-01-01T00:00Z"),
            "\"9998-01-01T00:00Z\" is too late: a release may start until the end of 9997, so that its windows end in time"
        );
        assert!(parse_start("9997-12-31T23:59:59Z").is_ok());
        assert_eq!(
            why("2020-05-12T00:00+25:59"),
            "the offset of \"2020-05-12T00:00+25:59\" is not one: it goes up to 23:59"
        );
    }

    /// No start that is read has a window that is cut at the end of time.
    #[test]
    fn the_longest_window_of_the_last_start_ends_in_time() {
        let start = parse_start("9997-12-31T23:59:59.999Z").unwrap();
        for longest in ["P366D", "P1Y", "P12M"] {
            let end = start
                .to_zoned(TimeZone::UTC)
                .checked_add(parse_duration(longest).unwrap());
            assert!(end.unwrap().timestamp() < Timestamp::MAX, "{longest}");
        }
    }
}
