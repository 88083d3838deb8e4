//! JSON that machines write, read straight into serde types, with a place for each error.
//!
//! Maps refuse a duplicate key. A part that people may have written becomes a tree.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use towpath_core::finding::{Finding, Place};

use super::tree::{Node, PlacedNode};

/// What helps where a document is wrong; the caller knows.
pub(crate) struct Remedies {
    /// Where it is something else, or empty: what it should be.
    pub(crate) form: &'static str,
    /// What errors say where it is JSON, but something else.
    pub(crate) other: &'static [&'static str],
    /// Where a part of it is wrong.
    pub(crate) part: &'static str,
}

/// Reads a document of a machine.
pub(crate) fn read<'b, T: Deserialize<'b>>(
    place: &Place,
    bytes: &'b [u8],
    remedies: &Remedies,
) -> Result<T, Finding> {
    serde_json::from_slice(bytes).map_err(|error| {
        let is_empty = bytes.iter().all(u8::is_ascii_whitespace);
        let is_other = error.is_syntax() && (error.line(), error.column()) == (1, 1);
        let whole = match (is_empty, is_other) {
            (true, _) => "the file is empty",
            (false, true) => "this is not JSON",
            (false, false) => {
                let text = error.to_string();
                let is_other = remedies.other.iter().any(|other| text.contains(other));
                let remedy = if is_other {
                    remedies.form
                } else {
                    remedies.part
                };
                return finding(place, &error, remedy);
            }
        };
        Finding::error("bad-json", place.clone(), whole, remedies.form)
    })
}

/// Reads a JSON value; its parts have no places of their own.
pub(crate) fn tree(text: &str) -> Result<Node, serde_json::Error> {
    serde_json::from_str::<PlacedNode<false>>(text).map(|PlacedNode(node)| node)
}

/// A map in which each key stands once; of two, one would be lost without a word.
#[derive(Debug)]
pub(crate) struct Unique<V>(pub(crate) BTreeMap<String, V>);

impl<V> Default for Unique<V> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Unique<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(UniqueVisitor(PhantomData))
    }
}

struct UniqueVisitor<V>(PhantomData<V>);

impl<'de, V: Deserialize<'de>> Visitor<'de> for UniqueVisitor<V> {
    type Value = Unique<V>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Unique<V>, A::Error> {
        let mut entries = BTreeMap::new();
        while let Some((key, value)) = map.next_entry::<String, V>()? {
            if let Some(twice) = entries.insert(key.clone(), value).map(|_| key) {
                return Err(A::Error::custom(format!("the key {twice:?} stands twice")));
            }
        }
        Ok(Unique(entries))
    }
}

/// Turns a JSON error into a finding with its place, and without the names of our types.
pub(crate) fn finding(place: &Place, error: &serde_json::Error, remedy: &str) -> Finding {
    let at = at(place, error);
    let full = error.to_string();
    let sentence = full
        .split(" at line ")
        .next()
        .unwrap_or(&full)
        .replace("expected u32", "expected the number of a node");
    match error.is_eof() {
        true => Finding::error("bad-json", at, "the file is cut short", "write it again"),
        false => Finding::error("bad-json", at, sentence, remedy),
    }
}

/// Where a JSON error is.
pub(crate) fn at(place: &Place, error: &serde_json::Error) -> Place {
    let number = |n: usize| u32::try_from(n).unwrap_or(0);
    place.at(number(error.line()), number(error.column()))
}
