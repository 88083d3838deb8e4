//! Fields of an object as the API sends it. What is not there is an empty text.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;
use towpath_core::fleet::Name;

pub(crate) fn text<'o>(object: &'o Value, pointer: &str) -> &'o str {
    let value = object.pointer(pointer);
    value.and_then(Value::as_str).unwrap_or_default()
}

pub(crate) fn label<'o>(object: &'o Value, name: &str) -> &'o str {
    let labels = object.pointer("/metadata/labels");
    let value = labels.and_then(|labels| labels.get(name));
    value.and_then(Value::as_str).unwrap_or_default()
}

pub(crate) fn labels(object: &Value) -> BTreeMap<Name, Name> {
    let all = texts(object, "/metadata/labels");
    let pair = |(name, value): (String, String)| (Name::from(name), Name::from(value));
    all.into_iter().map(pair).collect()
}

pub(crate) fn annotations(object: &Value) -> BTreeMap<String, String> {
    texts(object, "/metadata/annotations")
}

fn texts(object: &Value, pointer: &str) -> BTreeMap<String, String> {
    let all = object.pointer(pointer);
    let all = all.and_then(Value::as_object).into_iter().flatten();
    all.map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned()))
        .collect()
}

pub(crate) fn list<'o>(object: &'o Value, pointer: &str) -> &'o [Value] {
    let list = object.pointer(pointer).and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}

/// A condition of its status.
pub(crate) fn condition<'o>(object: &'o Value, name: &str) -> Option<&'o Value> {
    let mut conditions = list(object, "/status/conditions").iter();
    conditions.find(|one| text(one, "/type") == name)
}

/// Since when a condition is as it is. The API always says it; without it, no patience would ever end.
pub(crate) fn since(condition: &Value) -> Timestamp {
    let since = text(condition, "/lastTransitionTime").parse();
    since.unwrap_or(Timestamp::UNIX_EPOCH)
}
