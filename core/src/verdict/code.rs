//! Codes: the kinds of reasons. A rule's file declares its own, each with its sentence and what
//! helps.
//!
//! A sentence is a template over facts. `{name}` stands for a fact, and `{name|cluster|clusters}`
//! for a number with its noun. `{names.field}` stands for one field of each item in a list. A part
//! in brackets is left out if one of its facts is missing.

use std::fmt::Write;

use super::{Reason, Value};

/// A kind of reason.
#[derive(Debug)]
pub struct Code {
    /// The stable name: for JSON, metrics, conditions and `towpath reason`.
    pub name: &'static str,
    /// The sentence, as a template.
    pub text: &'static str,
    /// What helps, as a template.
    pub help: &'static str,
    /// A command that helps, as a template with `{{` for a brace. Facts in it are names; where one could mean something to a shell, there is no command.
    pub command: Option<&'static str>,
    /// A command that shows whether it helped, as a template like `command`.
    pub check: Option<&'static str>,
    /// The object that it is about, as a template: what people name to accept one reason and not the others of its kind.
    pub object: Option<&'static str>,
    /// The sentence without what changes from look to look, where that is another one.
    pub steady: Option<&'static str>,
    /// Whether it only informs, and objects to nothing.
    pub is_note: bool,
    /// Every fact that a reason of this kind may have, each with an example. `users.name` is an example of a field.
    pub facts: &'static [(&'static str, &'static str)],
}

impl Code {
    pub const fn new(name: &'static str, text: &'static str, help: &'static str) -> Self {
        Self {
            name,
            text,
            help,
            command: None,
            check: None,
            object: None,
            steady: None,
            is_note: false,
            facts: &[],
        }
    }

    pub const fn with(self, facts: &'static [(&'static str, &'static str)]) -> Self {
        Self { facts, ..self }
    }

    pub const fn by(self, command: &'static str) -> Self {
        Self {
            command: Some(command),
            ..self
        }
    }

    pub const fn checked_by(self, check: &'static str) -> Self {
        Self {
            check: Some(check),
            ..self
        }
    }

    pub const fn about(self, object: &'static str) -> Self {
        Self {
            object: Some(object),
            ..self
        }
    }

    pub const fn steadily(self, steady: &'static str) -> Self {
        Self {
            steady: Some(steady),
            ..self
        }
    }

    pub const fn note(self) -> Self {
        Self {
            is_note: true,
            ..self
        }
    }

    /// A reason of this kind.
    pub fn because<const N: usize>(&'static self, facts: [(&'static str, Value); N]) -> Reason {
        let known = facts
            .into_iter()
            .filter(|(_, value)| *value != Value::Missing);
        Reason::new(self, known.collect())
    }

    /// A reason of this kind as it was written down, unless it has facts that this kind has not.
    pub fn recorded(&'static self, facts: Vec<(String, Value)>) -> Option<Reason> {
        let known = |name: &str| self.facts.iter().find(|(known, _)| *known == name);
        let facts = facts
            .into_iter()
            .map(|(name, value)| Some((known(&name)?.0, value)));
        Some(Reason::new(self, facts.collect::<Option<_>>()?))
    }

    /// A reason of this kind that has no facts.
    pub fn alone(&'static self) -> Reason {
        Reason::new(self, Vec::new())
    }

    /// The sentence of the example.
    pub fn example(&self) -> String {
        self.filled_with_examples(self.text)
    }

    /// What helps, for the example.
    pub fn example_help(&self) -> String {
        self.filled_with_examples(self.help)
    }

    fn filled_with_examples(&self, template: &str) -> String {
        fill(template, &|name: &str, out: &mut String| {
            let (name, nouns) = split_nouns(name);
            let of = |name: &str| self.facts.iter().find(|(known, _)| *known == name);
            let whole = name.split_once('.').map_or(name, |(name, _)| name);
            let example = of(name).or_else(|| of(whole));
            let Some((_, example)) = example else {
                return false;
            };
            out.push_str(example);
            if let Some((one, many)) = nouns {
                let _ = write!(out, " {}", if *example == "1" { one } else { many });
            }
            true
        })
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Code {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Code {}

impl PartialOrd for Code {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Code {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.name.cmp(other.name)
    }
}

/// `name|one|many`.
pub(super) fn split_nouns(name: &str) -> (&str, Option<(&str, &str)>) {
    match name.split_once('|') {
        Some((name, nouns)) => (name, nouns.split_once('|')),
        None => (name, None),
    }
}

/// Fills a template. `put` writes what stands for a name, and says whether there is anything.
pub(super) fn fill(template: &str, put: &dyn Fn(&str, &mut String) -> bool) -> String {
    let mut text = String::with_capacity(template.len() * 2);
    let mut rest = template;
    while let Some(at) = rest.find('[') {
        let (before, after) = rest.split_at(at);
        let end = after.find(']').unwrap_or(after.len() - 1);
        fill_flat(before, put, &mut text);
        let length = text.len();
        if !fill_flat(&after[1..end], put, &mut text) {
            text.truncate(length);
        }
        rest = &after[end + 1..];
    }
    fill_flat(rest, put, &mut text);
    text
}

/// Fills a template without brackets; says whether every fact was there. `{{` and `}}` are braces.
fn fill_flat(template: &str, put: &dyn Fn(&str, &mut String) -> bool, text: &mut String) -> bool {
    let (mut rest, mut is_whole) = (template, true);
    while let Some(at) = rest.find(['{', '}']) {
        text.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let brace = rest.as_bytes()[at] as char;
        rest = match after.strip_prefix(brace) {
            Some(tail) => {
                text.push(brace);
                tail
            }
            None => {
                let (name, tail) = after.split_once('}').unwrap_or((after, ""));
                is_whole &= put(name, text);
                tail
            }
        };
    }
    text.push_str(rest);
    is_whole
}
