//! Reasons: why a verdict is what it is. One type for all of them: a code, the facts, a place, and until when.

use std::fmt;

use jiff::Timestamp;

use super::code::{fill, split_nouns};
use super::{Code, Value};
use crate::finding::Place;

/// Why an update is not simply recommended.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reason {
    code: &'static Code,
    facts: Vec<(&'static str, Value)>,
    place: Option<Place>,
    until: Option<Timestamp>,
}

impl Reason {
    pub(super) fn new(code: &'static Code, facts: Vec<(&'static str, Value)>) -> Self {
        let is_known = |name: &str| code.facts.iter().any(|(known, _)| *known == name);
        debug_assert!(
            facts.iter().all(|(name, _)| is_known(name)),
            "{} does not list one of {facts:?}",
            code.name
        );
        Self {
            code,
            facts,
            place: None,
            until: None,
        }
    }

    /// Where somebody wrote it down: file and line, or an object.
    pub fn at(self, place: &Place) -> Self {
        Self {
            place: Some(place.clone()),
            ..self
        }
    }

    /// It ends by itself then, if that is known.
    pub fn until(self, until: impl Into<Option<Timestamp>>) -> Self {
        Self {
            until: until.into(),
            ..self
        }
    }

    pub fn code(&self) -> &'static Code {
        self.code
    }

    pub fn is(&self, code: &Code) -> bool {
        *self.code == *code
    }

    pub fn facts(&self) -> &[(&'static str, Value)] {
        &self.facts
    }

    pub fn fact(&self, name: &str) -> Option<&Value> {
        self.facts
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value)
    }

    pub fn place(&self) -> Option<&Place> {
        self.place.as_ref()
    }

    pub fn ends(&self) -> Option<Timestamp> {
        self.until
    }

    /// The sentence, without its place.
    pub fn text(&self) -> String {
        self.filled(self.code.text)
    }

    /// The sentence without what changes from look to look.
    pub fn steady_text(&self) -> String {
        self.filled(self.code.steady.unwrap_or(self.code.text))
    }

    /// What helps.
    pub fn help(&self) -> String {
        self.filled(self.code.help)
    }

    /// A command that helps. A name that no object can have may be meant for the shell that somebody pastes the command into, so there is no command then.
    pub fn command(&self) -> Option<String> {
        self.shell(self.code.command?)
    }

    /// A command that shows whether it helped.
    pub fn check(&self) -> Option<String> {
        self.shell(self.code.check?)
    }

    /// The object that it is about.
    pub fn object(&self) -> Option<String> {
        self.code.object.map(|template| self.filled(template))
    }

    fn shell(&self, template: &str) -> Option<String> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let is_name = |text: &str| {
            text.starts_with(|c: char| c.is_ascii_alphanumeric()) && text.chars().all(is_part)
        };
        let is_safe = std::cell::Cell::new(true);
        let command = fill(template, &|name, out| {
            let value = self.fact(name).filter(|value| match value {
                Value::Command(_) => true,
                value => is_name(&value.to_string()),
            });
            is_safe.set(is_safe.get() && value.is_some());
            value
                .iter()
                .for_each(|value| out.push_str(&value.to_string()));
            value.is_some()
        });
        is_safe.get().then_some(command)
    }

    fn filled(&self, template: &str) -> String {
        use fmt::Write;
        fill(template, &|name, out| {
            let (name, nouns) = split_nouns(name);
            let value = match (name, name.split_once('.')) {
                ("until", _) => self.until.map(Value::Time),
                (_, Some((name, field))) => self.fact(name).and_then(|value| value.each(field)),
                (name, None) => self.fact(name).cloned(),
            };
            let Some(value) = value else { return false };
            let _ = write!(out, "{value}");
            if let Some((one, many)) = nouns {
                let is_one = value == Value::Number(1);
                let _ = write!(out, " {}", if is_one { one } else { many });
            }
            true
        })
    }
}

/// The sentence with its place.
impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())?;
        self.place
            .iter()
            .try_for_each(|place| write!(f, " ({place})"))
    }
}
