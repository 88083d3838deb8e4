//! A document as a tree in which every value knows its place.
//!
//! For what people write by hand in large files: one value of the wrong kind is a finding about the entry it stands in, and
//! the other entries are read all the same. Texts, numbers and booleans are told apart, as YAML does.

use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;
use serde_saphyr::options::{DuplicateKeyPolicy, MergeKeyPolicy, NonFiniteFloatPolicy};
use towpath_core::finding::{Finding, Place};

use crate::yaml;

/// The largest file that is read into a tree: an organisation of a hundred thousand clusters has some thirty megabytes.
pub(crate) const MAX_FILE_BYTES: usize = 128 << 20;
/// The most values in a file.
const MAX_VALUES: usize = 8_000_000;
/// The most values that aliases may stand for in a file.
const MAX_ALIASED_VALUES: usize = 1_000_000;

/// A value and its place. Line 0: it has none of its own.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) line: u32,
    pub(crate) column: u32,
    pub(crate) value: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Nothing,
    Flag(bool),
    Whole(i64),
    Fraction(f64),
    Text(Box<str>),
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

/// The name of a field, and its place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Key {
    pub(crate) line: u32,
    pub(crate) column: u32,
    pub(crate) text: Box<str>,
}

pub(crate) fn of_yaml(place: &Place, bytes: &[u8]) -> Result<Node, Finding> {
    let text = yaml::text(place, bytes, MAX_FILE_BYTES)?;
    let options = serde_saphyr::options! {
        strict_booleans: true,
        with_snippet: false,
        // A field that is given twice is a problem of its entry alone: whoever reads the entry finds it.
        duplicate_keys: DuplicateKeyPolicy::LastWins,
        merge_keys: MergeKeyPolicy::AsOrdinary,
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: MAX_ALIASED_VALUES,
        },
        budget: serde_saphyr::budget! {
            max_events: 2 * MAX_VALUES,
            max_nodes: MAX_VALUES,
            max_depth: 32,
            max_documents: 1,
            max_total_scalar_bytes: MAX_FILE_BYTES,
        },
    };
    serde_saphyr::from_str_with_options::<InYaml>(text, options)
        .map(|InYaml(node)| node)
        .map_err(|error| yaml::finding(place, &error))
}

/// Reads a JSON value; its parts have no places of their own.
pub(crate) fn of_json(text: &str) -> Result<Node, serde_json::Error> {
    serde_json::from_str::<InJson>(text).map(|InJson(node)| node)
}

impl Node {
    /// A value without a place of its own.
    pub(crate) fn placeless(value: Value) -> Self {
        Self {
            line: 0,
            column: 0,
            value,
        }
    }

    /// A text without a place of its own.
    pub(crate) fn text(text: impl Into<Box<str>>) -> Self {
        Self::placeless(Value::Text(text.into()))
    }

    /// A mapping without a place of its own.
    pub(crate) fn map(fields: impl IntoIterator<Item = (&'static str, Node)>) -> Self {
        let key = |text: &str| Key {
            line: 0,
            column: 0,
            text: text.into(),
        };
        Self::placeless(Value::Map(
            fields
                .into_iter()
                .map(|(name, value)| (key(name), value))
                .collect(),
        ))
    }

    /// A list without a place of its own.
    pub(crate) fn list(items: impl IntoIterator<Item = Node>) -> Self {
        Self::placeless(Value::List(items.into_iter().collect()))
    }

    /// The value of a field of a mapping, unless it is empty.
    pub(crate) fn get(&self, name: &str) -> Option<&Node> {
        let Value::Map(fields) = &self.value else {
            return None;
        };
        fields
            .iter()
            .find(|(key, _)| &*key.text == name)
            .map(|(_, value)| value)
            .filter(|value| !value.is_nothing())
    }

    /// Whether there is nothing after the colon.
    pub(crate) fn is_nothing(&self) -> bool {
        matches!(self.value, Value::Nothing)
    }

    /// What it is, for the error where something else belongs.
    pub(crate) fn kind(&self) -> String {
        match &self.value {
            Value::Nothing => "nothing".to_owned(),
            Value::Flag(flag) => format!("{flag}"),
            Value::Whole(number) => format!("the number {number}"),
            Value::Fraction(number) => format!("the number {number}"),
            Value::Text(text) => format!("{:?}", text.chars().take(80).collect::<String>()),
            Value::List(_) => "a list".to_owned(),
            Value::Map(_) => "a mapping".to_owned(),
        }
    }
}

/// How values find out where they stand.
trait Placed<'de>: Deserialize<'de> {
    fn node(self) -> Node;
}

struct InYaml(Node);

struct InJson(Node);

impl<'de> Deserialize<'de> for InYaml {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Spanned {
            value: Unplaced(value, _),
            referenced,
            ..
        } = Spanned::<Unplaced<InYaml>>::deserialize(deserializer)?;
        let number = |n: u64| u32::try_from(n).unwrap_or(0);
        Ok(Self(Node {
            line: number(referenced.line()),
            column: number(referenced.column()),
            value,
        }))
    }
}

impl<'de> Deserialize<'de> for InJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Unplaced(value, _) = Unplaced::<InJson>::deserialize(deserializer)?;
        Ok(Self(Node::placeless(value)))
    }
}

impl Placed<'_> for InYaml {
    fn node(self) -> Node {
        self.0
    }
}

impl Placed<'_> for InJson {
    fn node(self) -> Node {
        self.0
    }
}

/// A value whose parts find their places as `P` does.
struct Unplaced<P>(Value, PhantomData<P>);

impl<'de, P: Placed<'de>> Deserialize<'de> for Unplaced<P> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer
            .deserialize_any(AnyValue::<P>(PhantomData))
            .map(|value| Self(value, PhantomData))
    }
}

struct AnyValue<P>(PhantomData<P>);

impl<'de, P: Placed<'de>> Visitor<'de> for AnyValue<P> {
    type Value = Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Nothing)
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Flag(flag))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Whole(number))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Value, E> {
        Ok(i64::try_from(number).map_or(Value::Fraction(number as f64), Value::Whole))
    }

    fn visit_i128<E: Error>(self, number: i128) -> Result<Value, E> {
        Ok(i64::try_from(number).map_or(Value::Fraction(number as f64), Value::Whole))
    }

    fn visit_u128<E: Error>(self, number: u128) -> Result<Value, E> {
        Ok(i64::try_from(number).map_or(Value::Fraction(number as f64), Value::Whole))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Value, E> {
        Ok(Value::Fraction(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.into()))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Value, E> {
        Ok(Value::Text(text.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element::<P>()? {
            list.push(item.node());
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Vec::new();
        while let Some(key) = entries.next_key::<P>()? {
            let Node {
                line,
                column,
                value,
            } = key.node();
            let text = match value {
                Value::Text(text) => text,
                other => Node::placeless(other).kind().into(),
            };
            map.push((
                Key { line, column, text },
                entries.next_value::<P>()?.node(),
            ));
        }
        Ok(Value::Map(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn yaml(text: &str) -> Node {
        of_yaml(&Place::file("f.yaml"), text.as_bytes()).unwrap()
    }

    #[test]
    fn values_know_their_kind_and_their_place() {
        let node = yaml("a: 3\nb: \"3\"\nc: [true, 4.10, 4.1.3, ~]\nd:\n  e: x\n");
        assert_eq!(node.get("a").unwrap().value, Value::Whole(3));
        assert_eq!(node.get("b").unwrap().value, Value::Text("3".into()));
        let Value::List(items) = &node.get("c").unwrap().value else {
            panic!("a list")
        };
        let values: Vec<&Value> = items.iter().map(|item| &item.value).collect();
        assert_eq!(
            values,
            [
                &Value::Flag(true),
                &Value::Fraction(4.1),
                &Value::Text("4.1.3".into()),
                &Value::Nothing
            ]
        );
        assert_eq!((items[2].line, items[2].column), (3, 17));
        assert_eq!(
            node.get("d").unwrap().get("e").map(|e| (e.line, e.column)),
            Some((5, 6))
        );
    }

    #[test]
    fn aliases_are_written_out_and_fields_given_twice_are_kept() {
        let node = yaml("a: &policy {x: 1}\nb: *policy\nb: 2\n");
        let Value::Map(fields) = &node.value else {
            panic!("a mapping")
        };
        let names: Vec<&str> = fields.iter().map(|(key, _)| &*key.text).collect();
        assert_eq!(names, ["a", "b", "b"]);
        assert_eq!(fields[1].1.get("x").unwrap().value, Value::Whole(1));
        assert_eq!(fields[1].1.line, 2);
    }

    #[test]
    fn json_is_read_in_the_same_way() {
        let strip = |text: &str| of_json(text).unwrap();
        assert_eq!(
            strip(r#"{"a": [1, "x", null]}"#).get("a").unwrap().kind(),
            "a list"
        );
        assert!(of_json("{").is_err());
    }
}
