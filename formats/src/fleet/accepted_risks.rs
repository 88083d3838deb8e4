//! `acceptedRisks` of a policy: a list of risks, each with a reason, an owner and an end.
//!
//! The short form is a name alone, and has no end. It still counts, with a warning.

use std::collections::BTreeSet;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use towpath_core::fleet::{AcceptedRisk, Name, RiskEnd};

use crate::graph::data::parse_time;
use crate::read::{Node, Reader, Value, shown};

/// The most risks of a policy.
const MAX_RISKS: usize = 200;
const FIELDS: [&str; 4] = ["name", "reason", "owner", "until"];
const ENTRY: &str = "write `{name: …, reason: …, owner: …, until: 2027-01-31}`, or `until: fixed`";

/// Reads the list. An entry with an error is left out, and accepts nothing.
pub(crate) fn read(
    reader: &mut Reader,
    node: &Node,
    shared: &mut dyn FnMut(&str) -> Name,
) -> BTreeSet<AcceptedRisk> {
    let mut accepted: BTreeSet<AcceptedRisk> = BTreeSet::new();
    for item in reader.list(node, "acceptedRisks", MAX_RISKS) {
        let risk = match &item.value {
            Value::Text(_) => short(reader, item, shared),
            _ => entry(reader, item, shared),
        };
        let Some(risk) = risk else { continue };
        if accepted.iter().any(|known| known.name == risk.name) {
            let problem = format!("the risk {:?} stands twice", shown(&risk.name));
            reader.error("duplicate-risk", item, problem, "keep one of the two");
        }
        accepted.insert(risk);
    }
    accepted
}

fn short(
    reader: &mut Reader,
    node: &Node,
    shared: &mut dyn FnMut(&str) -> Name,
) -> Option<AcceptedRisk> {
    let name = reader.name(node, "a risk's name")?;
    let problem = format!("the risk {:?} is accepted without an end", shown(name));
    reader.warning("risk-without-end", node, problem, ENTRY);
    Some(AcceptedRisk::named(shared(name)))
}

fn entry(
    reader: &mut Reader,
    node: &Node,
    shared: &mut dyn FnMut(&str) -> Name,
) -> Option<AcceptedRisk> {
    let record = reader.record(node, "an accepted risk", &FIELDS)?;
    let mut text = |reader: &mut Reader, field: &str| {
        let node = reader.required(record, field, ENTRY)?;
        reader.name(node, field).map(&mut *shared)
    };
    let name = text(reader, "name");
    let reason = text(reader, "reason");
    let owner = text(reader, "owner");
    let until = reader.required(record, "until", ENTRY);
    let until = until.and_then(|node| end(reader, node));
    Some(AcceptedRisk {
        name: name?,
        reason: Some(reason?),
        owner: Some(owner?),
        until: until?,
    })
}

/// `fixed`, a date, or a time. A date is its beginning, in UTC: from then on the risk is no longer accepted.
fn end(reader: &mut Reader, node: &Node) -> Option<RiskEnd> {
    let text = reader.text(node, "until")?;
    if text == "fixed" {
        return Some(RiskEnd::Fixed);
    }
    let end = day(text).or_else(|| parse_time(text).ok());
    if end.is_none() {
        let problem = format!("{:?} is no end of an acceptance", shown(text));
        let remedy = "write `fixed`, a date (2027-01-31), or a time (2027-01-31T12:00:00Z)";
        reader.error("bad-time", node, problem, remedy);
    }
    end.map(RiskEnd::At)
}

fn day(text: &str) -> Option<Timestamp> {
    let is_plain = text.len() == "2027-01-31".len();
    let date = text.parse::<Date>().ok().filter(|_| is_plain)?;
    let begins = date.to_zoned(TimeZone::UTC).ok()?;
    Some(begins.timestamp())
}
