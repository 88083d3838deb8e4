//! The query: `now`, `to`, `format`, and `width`, which only a terminal has.

use jiff::Timestamp;

use super::Bars;
use crate::graph::data::parse_time;
use crate::graph::explain::Form;
use crate::graph::explain::request::{given, parsed};
use crate::graph::request::BadRequest;
use crate::room::Room;
use towpath_core::version::Version;

/// How it is to be answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RolloutsRequest {
    /// As of then; none: now.
    pub now: Option<Timestamp>,
    /// Only this release.
    pub to: Option<Version>,
    /// In which form, if it was said; else the `Accept` header says it.
    pub form: Option<Form>,
    pub bars: Bars,
    pub room: Room,
}

/// Reads a query, or says what is wrong with it.
pub fn read(query: &str) -> Result<RolloutsRequest, BadRequest> {
    let [now, to, output, width] = given(query, ["now", "to", "format", "width"])?;
    let width = parsed("width", width, |text| text.parse::<u16>().ok())?;
    Ok(RolloutsRequest {
        now: parsed("now", now, |text| parse_time(text).ok())?,
        to: parsed("to", to, |text| text.parse().ok())?,
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
