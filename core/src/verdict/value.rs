//! Values: the facts of a reason, typed, so that text and JSON say the same.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;

use crate::graph::Share;
use crate::moment::ShownTime;
use crate::version::{Minor, Version};

/// The most items of a list that are written out. The others are counted.
const MAX_LISTED: usize = 5;
const SECONDS_PER_DAY: i64 = 86_400;

/// A fact of a reason.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Value {
    /// There is no such fact: it is left out.
    Missing,
    Text(Arc<str>),
    /// A command of ours, which a shell may see.
    Command(&'static str),
    Number(u64),
    /// A span, told in days.
    Seconds(i64),
    Time(Timestamp),
    Share(Share),
    List(Vec<Value>),
    /// A thing with fields, and how people call it.
    Thing {
        text: Arc<str>,
        fields: Vec<(&'static str, Value)>,
    },
}

impl Value {
    /// Anything that has words of its own.
    pub fn text(of: impl fmt::Display) -> Self {
        Self::Text(of.to_string().into())
    }

    /// One for each; of none, there is nothing to tell.
    pub fn list<T: Into<Value>>(values: impl IntoIterator<Item = T>) -> Self {
        let values: Vec<Value> = values.into_iter().map(Into::into).collect();
        match values.is_empty() {
            true => Self::Missing,
            false => Self::List(values),
        }
    }

    /// A field of a thing.
    pub fn field(&self, name: &str) -> Option<&Value> {
        match self {
            Self::Thing { fields, .. } => fields
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| value),
            _ => None,
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The field of each thing in a list.
    pub fn each(&self, field: &str) -> Option<Self> {
        match self {
            Self::List(values) => {
                let mut fields: Vec<Value> = values
                    .iter()
                    .filter_map(|value| value.field(field).cloned())
                    .collect();
                fields.sort();
                fields.dedup();
                (!fields.is_empty()).then_some(Self::List(fields))
            }
            other => other.field(field).cloned(),
        }
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Missing, Into::into)
    }
}

impl From<Arc<str>> for Value {
    fn from(text: Arc<str>) -> Self {
        Self::Text(text)
    }
}

impl From<&Arc<str>> for Value {
    fn from(text: &Arc<str>) -> Self {
        Self::Text(text.clone())
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<&Version> for Value {
    fn from(version: &Version) -> Self {
        Self::text(version)
    }
}

impl From<Minor> for Value {
    fn from(minor: Minor) -> Self {
        Self::text(minor)
    }
}

impl From<Timestamp> for Value {
    fn from(time: Timestamp) -> Self {
        Self::Time(time)
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<Share> for Value {
    fn from(share: Share) -> Self {
        Self::Share(share)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => Ok(()),
            Self::Text(text) | Self::Thing { text, .. } => f.write_str(text),
            Self::Command(command) => f.write_str(command),
            Self::Number(number) => number.fmt(f),
            Self::Seconds(seconds) => Days(*seconds).fmt(f),
            Self::Time(time) => ShownTime(*time).fmt(f),
            Self::Share(share) => share.fmt(f),
            Self::List(values) => list(values, f),
        }
    }
}

/// `a, b and 3 more`; things, which have words of their own, are told apart by semicolons.
fn list(values: &[Value], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let is_thing = |value: &Value| matches!(value, Value::Thing { .. });
    let between = if values.iter().any(is_thing) {
        "; "
    } else {
        ", "
    };
    for (number, value) in values.iter().take(MAX_LISTED).enumerate() {
        if number > 0 {
            f.write_str(between)?;
        }
        write!(f, "{value}")?;
    }
    match values.len().saturating_sub(MAX_LISTED) {
        0 => Ok(()),
        more => write!(f, " and {more} more"),
    }
}

/// Seconds as days, with as many digits as tell the difference: `4`, `3.5`, `6.99`.
#[derive(Debug, Clone, Copy)]
pub struct Days(pub i64);

impl fmt::Display for Days {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Rounded down: 6.999 days are not seven.
        let (days, hundredths) = (
            self.0 / SECONDS_PER_DAY,
            self.0 % SECONDS_PER_DAY * 100 / SECONDS_PER_DAY,
        );
        match (hundredths / 10, hundredths % 10) {
            (0, 0) => f.pad(&format!("{days}")),
            (tenths, 0) => f.pad(&format!("{days}.{tenths}")),
            (tenths, rest) => f.pad(&format!("{days}.{tenths}{rest}")),
        }
    }
}
