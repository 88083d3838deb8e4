//! The strict reader, for graph data: otherwise a block that we did not understand would be
//! ignored.
//!
//! Numbers and booleans do not pass for texts. A value of the wrong kind makes the whole file
//! unreadable, as if it were not YAML, and only the first one is reported.

use towpath_core::finding::{Finding, Place};

use super::record::{Reader, Record, WantedKind};
use super::tree::{FieldName, Node, Value};
use super::yaml;
use crate::SourceFile;

/// The code of whatever makes a file unreadable.
pub(super) const BAD_YAML: &str = "bad-yaml";

impl Reader {
    /// A reader of a file of graph data, and what the file says.
    pub(crate) fn strict(file: &SourceFile) -> Result<(Self, Node), Finding> {
        let place = Place::file(file.path.as_str());
        let node = yaml::strict_tree(&place, &file.bytes)?;
        let reader = Self {
            strict: Some(file.bytes.clone()),
            ..Self::new(&place)
        };
        Ok((reader, node))
    }

    /// All that was found. `Err`: a file that is read strictly has a value of the wrong kind, and this is the first.
    pub(crate) fn finish(self) -> Result<Vec<Finding>, Finding> {
        let place = |finding: &&Finding| (finding.place.line, finding.place.column);
        let wrong_kinds = self.findings.iter().filter(|f| f.code == BAD_YAML);
        match wrong_kinds.min_by_key(place) {
            Some(first) => Err(first.clone()),
            None => Ok(self.findings),
        }
    }

    /// A field that is a text, if it is there. Where files are read strictly, nothing after the colon is no text.
    pub(crate) fn given_text<'n>(
        &mut self,
        record: Record<'n>,
        name: &str,
    ) -> Option<(&'n Node, &'n str)> {
        let node = record.given(name)?;
        Some((node, self.text(node, name)?))
    }

    /// A value as JSON has it. A name of a field that is no text is a finding.
    pub(crate) fn json(&mut self, node: &Node) -> Option<serde_json::Value> {
        Some(match &node.value {
            Value::Nothing => serde_json::Value::Null,
            Value::Flag(flag) => (*flag).into(),
            Value::Whole(number) => (*number).into(),
            Value::Fraction(number) => (*number).into(),
            Value::Text(text) => (&**text).into(),
            Value::List(items) => items
                .iter()
                .map(|item| self.json(item))
                .collect::<Option<_>>()?,
            Value::Map(fields) => {
                self.open_record(node, "a mapping")?;
                let field = |(key, value): &(FieldName, Node)| {
                    Some((key.text.to_string(), self.json(value)?))
                };
                let fields: Option<serde_json::Map<_, _>> = fields.iter().map(field).collect();
                fields?.into()
            }
        })
    }

    /// A text to the letter. By YAML's rules a block scalar at the end of a file has no last line break where the file
    /// has none; the parser adds one.
    pub(crate) fn to_the_letter<'t>(&self, text: &'t str) -> &'t str {
        let Some(without) = text.strip_suffix('\n') else {
            return text;
        };
        let file = std::str::from_utf8(self.strict.as_deref().unwrap_or_default());
        let last_line = file.unwrap_or_default().rsplit('\n').next();
        match last_line.unwrap_or_default().trim_start() {
            "" => text,
            unended if without.ends_with(unended) => without,
            _ => text,
        }
    }

    pub(super) fn wrong_kind_strictly(
        &self,
        node: &Node,
        wanted: WantedKind,
    ) -> (String, &'static str) {
        let (problem, remedy) = match (wanted, &node.value) {
            (WantedKind::Record | WantedKind::Labels, _) => {
                ("a mapping (`name: value`) belongs here", "correct the file")
            }
            (WantedKind::List, _) => (
                "a list (`- item`) belongs here",
                "write each value on a line of its own, after `- `",
            ),
            (_, Value::List(_) | Value::Map(_)) => {
                ("a single text belongs here", "write one value")
            }
            (WantedKind::Flag, _) => ("`true` or `false` belongs here", "write one of them"),
            (WantedKind::Text, Value::Nothing) => ("there is no value here", "give it one"),
            (WantedKind::Text, _) => {
                let problem = format!(
                    "{} is read as a number or a boolean, and a text belongs here",
                    self.written(node)
                );
                let remedy = "put it in quotes, or write it out: a version as in 4.9.7, a duration as in P2D";
                return (problem, remedy);
            }
        };
        (problem.to_owned(), remedy)
    }

    /// A number or a boolean exactly as the file writes it: 4.10, not 4.1.
    fn written(&self, node: &Node) -> String {
        let file = String::from_utf8_lossy(self.strict.as_deref().unwrap_or_default());
        let index = |n: u32| n.saturating_sub(1) as usize;
        let line = file.lines().nth(index(node.line)).unwrap_or_default();
        let from_here = line.chars().skip(index(node.column));
        let written: String = from_here
            .take_while(|c| c.is_ascii_alphanumeric() || "+-._".contains(*c))
            .collect();
        match written.is_empty() {
            true => node.kind(),
            false => written,
        }
    }
}
