//! The query: `now`, `to`, `fleet-size`, `format`, and `width`, which only a terminal has.

use std::ops::RangeInclusive;

use jiff::Timestamp;

use super::Bars;
use crate::graph::data::parse_time;
use crate::graph::explain::Form;
use crate::graph::explain::request::{given, parsed};
use crate::graph::request::BadRequest;
use crate::room::Room;
use towpath_core::version::Version;

/// How many clusters may be said to follow a channel.
pub const FLEET_SIZES: RangeInclusive<u64> = 1..=100_000_000;

/// The narrowest and the widest terminal that tables are made for.
const WIDTHS: RangeInclusive<u16> = 20..=1_000;

/// How it is to be answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RolloutsRequest {
    /// As of then; none: now.
    pub now: Option<Timestamp>,
    /// Only this release.
    pub to: Option<Version>,
    /// How many clusters follow a channel: with the power cards of the windows.
    pub fleet_size: Option<u64>,
    /// In which form, if it was said; else the `Accept` header says it.
    pub form: Option<Form>,
    pub bars: Bars,
    pub room: Room,
}

/// Reads a query, or says what is wrong with it.
pub fn read(query: &str) -> Result<RolloutsRequest, BadRequest> {
    let [now, to, fleet_size, output, width] =
        given(query, ["now", "to", "fleet-size", "format", "width"])?;
    let width = parsed("width", width, |text| {
        text.parse().ok().filter(|width| WIDTHS.contains(width))
    })?;
    Ok(RolloutsRequest {
        now: parsed("now", now, |text| parse_time(text).ok())?,
        to: parsed("to", to, |text| text.parse().ok())?,
        fleet_size: parsed("fleet-size", fleet_size, self::fleet_size)?,
        form: parsed("format", output, Form::named)?,
        bars: match width {
            Some(_) => Bars::Blocks,
            None => Bars::Ascii,
        },
        room: Room {
            width,
            ..Room::default()
        },
    })
}

fn fleet_size(text: &str) -> Option<u64> {
    text.parse()
        .ok()
        .filter(|count| FLEET_SIZES.contains(count))
}
