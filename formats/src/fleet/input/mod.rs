//! All that a decision depended on, stored so that it can be decided again, bit for bit.
//!
//! The JSON is canonical: equal inputs are equal bytes, in whatever order they were collected. It
//! has one part for each organisation and one for the rest. So a part that has not changed since
//! the last decision need not be stored again.

mod codes;
mod objection;
mod parts;
mod records;
mod stored;

use std::cmp::Ordering;
use std::collections::BTreeMap;

use towpath_core::fleet::{FleetInput, Upgrade};

use parts::{Part, Rest, Whole};
use stored::Text;

/// What the names of organisations' parts begin with.
pub const ORGANISATION: &str = "organisation/";
/// The name of the part that belongs to no organisation.
pub const REST: &str = "rest";

/// Puts lists whose order means nothing into the order in which they are written.
pub fn sort(input: &mut FleetInput) {
    input
        .clusters
        .sort_by(|a, b| (&a.organisation, &a.id).cmp(&(&b.organisation, &b.id)));
    input.upgrades.sort_by(in_order);
    input.soak.sort();
    input.gates.sort();
    input.approvals.sort();
    input.taken_back.sort();
    input.pauses.sort();
    input.preflights.sort();
}

fn in_order(a: &Upgrade, b: &Upgrade) -> Ordering {
    (a.id, &a.cluster, &a.pool).cmp(&(b.id, &b.cluster, &b.pool))
}

/// Writes the whole. [`read`] gives it back as [`sort`] leaves it.
pub fn write(input: &FleetInput) -> Vec<u8> {
    bytes(&Whole::of(input))
}

/// Reads what [`write()`] has written.
pub fn read(bytes: &[u8]) -> Result<FleetInput, String> {
    let whole: Whole<'_> = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    whole.join()
}

/// Writes the parts, each with its name, in the order of their names.
pub fn parts(input: &FleetInput) -> Vec<(String, Vec<u8>)> {
    let whole = Whole::of(input);
    let organisations = whole.organisations.iter();
    organisations
        .map(|(id, part)| (format!("{ORGANISATION}{id}"), bytes(part)))
        .chain([(REST.to_owned(), bytes(&whole.rest))])
        .collect()
}

/// Reads what [`parts`] has written, in any order.
pub fn from_parts<'p>(
    parts: impl IntoIterator<Item = (&'p str, &'p [u8])>,
) -> Result<FleetInput, String> {
    let mut organisations: BTreeMap<Text<'_>, Part<'_>> = BTreeMap::new();
    let mut rest: Option<Rest<'_>> = None;
    for (name, bytes) in parts {
        let wrong = |error: serde_json::Error| format!("{name}: {error}");
        let is_new = match name.strip_prefix(ORGANISATION) {
            Some(id) => organisations
                .insert(id.into(), serde_json::from_slice(bytes).map_err(wrong)?)
                .is_none(),
            None if name == REST => rest
                .replace(serde_json::from_slice(bytes).map_err(wrong)?)
                .is_none(),
            None => return Err(format!("there is no part {name:?}")),
        };
        if !is_new {
            return Err(format!("the part {name:?} is there twice"));
        }
    }
    let whole = Whole {
        organisations,
        rest: rest.ok_or_else(|| format!("the part {REST:?} is missing"))?,
    };
    whole.join()
}

fn bytes(value: &impl serde::Serialize) -> Vec<u8> {
    // Texts, numbers, lists and maps with text keys: there is nothing in them that JSON cannot say.
    serde_json::to_vec(value).unwrap_or_default()
}
