//! A document as a tree in which every value knows its place.
//!
//! A value of the wrong kind is a finding about its entry, and the other entries are still read.
//! Texts, numbers and booleans stay different, as in YAML.

use std::collections::BTreeSet;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;
use towpath_core::finding::Place;

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
    Map(Vec<(FieldName, Node)>),
}

/// The name of a field, and its place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FieldName {
    pub(crate) line: u32,
    pub(crate) column: u32,
    pub(crate) text: Box<str>,
    /// What stands there, if it is no text; `text` then says what it is.
    pub(crate) other: Option<Box<Node>>,
}

impl Node {
    /// Its place in a file.
    pub(crate) fn at(&self, file: &Place) -> Place {
        at(file, self.line, self.column)
    }

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
        let fields = fields.into_iter();
        Self::placeless(Value::Map(
            fields
                .map(|(name, value)| (Node::text(name).into(), value))
                .collect(),
        ))
    }

    /// A list without a place of its own.
    pub(crate) fn list(items: impl IntoIterator<Item = Node>) -> Self {
        Self::placeless(Value::List(items.into_iter().collect()))
    }

    /// The value of a field of a mapping, unless there is nothing after its colon.
    pub(crate) fn get(&self, name: &str) -> Option<&Node> {
        self.given(name).filter(|value| !value.is_nothing())
    }

    /// The value of a field of a mapping, also if there is nothing after its colon.
    pub(crate) fn given(&self, name: &str) -> Option<&Node> {
        let mut fields = self.fields().iter();
        fields
            .find(|(key, _)| &*key.text == name)
            .map(|(_, value)| value)
    }

    /// The fields of a mapping; of anything else, none.
    pub(crate) fn fields(&self) -> &[(FieldName, Node)] {
        match &self.value {
            Value::Map(fields) => fields,
            _ => &[],
        }
    }

    /// The items of a list; of anything else, none.
    pub(crate) fn items(&self) -> &[Node] {
        match &self.value {
            Value::List(items) => items,
            _ => &[],
        }
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
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

    /// A field that the value, or anything in it, has twice.
    pub(crate) fn repeated(&self) -> Option<&FieldName> {
        let mut seen = BTreeSet::new();
        let mut names = self.fields().iter().map(|(key, _)| key);
        let own = names.find(|key| !seen.insert(&*key.text));
        let below = self.fields().iter().map(|(_, value)| value);
        own.or_else(|| below.chain(self.items()).find_map(Node::repeated))
    }

    /// Moves it, and all in it, this many lines down.
    pub(super) fn move_down(&mut self, lines: u32) {
        self.line = self.line.saturating_add(lines);
        match &mut self.value {
            Value::List(items) => items.iter_mut().for_each(|item| item.move_down(lines)),
            Value::Map(fields) => {
                for (key, value) in fields {
                    key.line = key.line.saturating_add(lines);
                    value.move_down(lines);
                }
            }
            _ => {}
        }
    }
}

impl FieldName {
    /// Its place in a file.
    pub(crate) fn at(&self, file: &Place) -> Place {
        at(file, self.line, self.column)
    }
}

fn at(file: &Place, line: u32, column: u32) -> Place {
    match line {
        0 => file.clone(),
        line => file.at(line, column),
    }
}

impl From<Node> for FieldName {
    fn from(node: Node) -> Self {
        let (line, column) = (node.line, node.column);
        let (text, other) = match node.value {
            Value::Text(text) => (text, None),
            _ => (node.kind().into(), Some(Box::new(node))),
        };
        Self {
            line,
            column,
            text,
            other,
        }
    }
}

/// A node of YAML, which says where it stands, or of JSON, which does not.
pub(super) struct PlacedNode<const YAML: bool>(pub(super) Node);

impl<'de, const YAML: bool> Deserialize<'de> for PlacedNode<YAML> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !YAML {
            let PlacedValue(value) = PlacedValue::<YAML>::deserialize(deserializer)?;
            return Ok(Self(Node::placeless(value)));
        }
        let spanned = Spanned::<PlacedValue<YAML>>::deserialize(deserializer)?;
        let number = |n: u64| u32::try_from(n).unwrap_or(0);
        Ok(Self(Node {
            line: number(spanned.referenced.line()),
            column: number(spanned.referenced.column()),
            value: spanned.value.0,
        }))
    }
}

/// A value whose parts are [`PlacedNode`].
struct PlacedValue<const YAML: bool>(Value);

impl<'de, const YAML: bool> Deserialize<'de> for PlacedValue<YAML> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer
            .deserialize_any(AnyValue::<YAML>(PhantomData))
            .map(Self)
    }
}

struct AnyValue<const YAML: bool>(PhantomData<()>);

impl<'de, const YAML: bool> Visitor<'de> for AnyValue<YAML> {
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
        while let Some(PlacedNode(item)) = items.next_element::<PlacedNode<YAML>>()? {
            list.push(item);
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Vec::new();
        while let Some(PlacedNode(key)) = entries.next_key::<PlacedNode<YAML>>()? {
            let PlacedNode(value) = entries.next_value::<PlacedNode<YAML>>()?;
            map.push((key.into(), value));
        }
        Ok(Value::Map(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::{json, yaml};

    fn yaml(text: &str) -> Node {
        yaml::tree(&Place::file("f.yaml"), text.as_bytes()).unwrap()
    }

    #[test]
    fn values_know_their_kind_and_their_place() {
        let node = yaml("a: 3\nb: \"3\"\nc: [true, 4.10, 4.1.3, ~]\nd:\n  e: x\n");
        assert_eq!(node.get("a").unwrap().value, Value::Whole(3));
        assert_eq!(node.get("b").unwrap().as_text(), Some("3"));
        let items = node.get("c").unwrap().items();
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
        let fields = node.fields();
        let names: Vec<&str> = fields.iter().map(|(key, _)| &*key.text).collect();
        assert_eq!(names, ["a", "b", "b"]);
        assert_eq!(fields[1].1.get("x").unwrap().value, Value::Whole(1));
        assert_eq!(fields[1].1.line, 2);
        assert_eq!(node.repeated().map(|key| key.line), Some(3));
    }

    #[test]
    fn json_is_read_in_the_same_way() {
        let node = json::tree(r#"{"a": [1, "x", null]}"#).unwrap();
        assert_eq!(node.get("a").unwrap().kind(), "a list");
        assert!(json::tree("{").is_err());
    }
}
