//! Durations and settings as people write them: `1h 30m`, `90s`, `10%`.

use jiff::SignedDuration;
use towpath_core::duration::{MaxUnavailable, Seconds, Spread};

use crate::read::{Node, Reader, Value};
use crate::timespan::TimeSpan;

/// The longest time that a part of an update may take: a month.
const MAX_SECONDS: i64 = 31 * 86_400;
/// The most nodes that may go at once.
const MAX_COUNT: u32 = 100_000;
const REMEDY: &str = "write it as in 90s, 15m or 1h 30m, up to 31 days";

/// A duration, or three: `15m`, or `{low: 15m, likely: 20m, high: 30m}`.
pub(crate) fn spread(reader: &mut Reader, node: &Node, what: &'static str) -> Option<Spread> {
    if !matches!(node.value, Value::Map(_)) {
        return seconds(reader, node, what).map(Spread::exactly);
    }
    let record = reader.record(node, what, &["low", "likely", "high", "origin"])?;
    let [low, likely, high] = ["low", "likely", "high"].map(|name| {
        let node = reader.required(record, name, "give low, likely and high")?;
        seconds(reader, node, name)
    });
    let (low, likely, high) = (low?, likely?, high?);
    if low <= likely && likely <= high {
        return Some(Spread::new(low, likely, high));
    }
    reader.error(
        "bad-order",
        node,
        format!("{what}: low, likely and high are not in this order"),
        "put them in order",
    );
    None
}

/// A duration in whole seconds.
fn seconds(reader: &mut Reader, node: &Node, what: &str) -> Option<Seconds> {
    let duration = duration(reader, node, what)?;
    match u64::try_from(duration.as_secs()) {
        Ok(seconds) if duration.subsec_nanos() == 0 => Some(seconds),
        _ => {
            reader.error(
                "bad-duration",
                node,
                format!("{what} is not in whole seconds"),
                REMEDY,
            );
            None
        }
    }
}

/// A duration of zero or more, as long as it may be.
pub(crate) fn duration(reader: &mut Reader, node: &Node, what: &str) -> Option<SignedDuration> {
    let fits = |duration: &SignedDuration| duration.as_secs() <= MAX_SECONDS;
    let parsed = match &node.value {
        Value::Text(text) => text.parse::<TimeSpan>().ok(),
        _ => None,
    };
    let parsed = parsed.map(TimeSpan::signed).filter(fits);
    if parsed.is_none() {
        reader.error(
            "bad-duration",
            node,
            format!("{what} is {}, which is no duration", node.kind()),
            REMEDY,
        );
    }
    parsed
}

/// `3` or `10%`.
pub(crate) fn max_unavailable(reader: &mut Reader, node: &Node) -> Option<MaxUnavailable> {
    let read = match &node.value {
        Value::Whole(count) => u32::try_from(*count).ok().map(MaxUnavailable::Count),
        Value::Text(text) => MaxUnavailable::read(text),
        _ => None,
    };
    let fits = read.filter(|read| match read {
        MaxUnavailable::Count(count) => (1..=MAX_COUNT).contains(count),
        MaxUnavailable::Percent(percent) => (1..=100).contains(percent),
    });
    if fits.is_none() {
        let problem = format!(
            "{} is not a number of nodes that may be away at once",
            node.kind()
        );
        reader.error(
            "bad-max-unavailable",
            node,
            problem,
            "write a number from 1 on, or a share from 1% to 100%",
        );
    }
    fits
}
