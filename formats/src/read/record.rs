//! Entries that people write, read from a tree: each problem becomes a finding with its place, and reading goes on.

use std::collections::BTreeMap;
use std::sync::Arc;

use towpath_core::finding::{Finding, Place};

use super::strict::BAD_YAML;
use super::tree::{FieldName, Node, Value};
use super::yaml;

/// The longest name of a cluster, a workload, a sector, …
pub(crate) const MAX_NAME_BYTES: usize = 256;
/// The longest text of any other kind.
const MAX_TEXT_BYTES: usize = 8 * 1024;
/// The most fields of an entry.
const MAX_FIELDS: usize = 200;

/// Reads entries of one file, and collects what is wrong with them.
#[derive(Debug)]
pub(crate) struct Reader {
    /// Where what has no place of its own stands.
    pub(crate) place: Place,
    /// What was found so far.
    pub(crate) findings: Vec<Finding>,
    /// The file, where it is read strictly.
    pub(super) strict: Option<Arc<[u8]>>,
}

/// What belongs where something else stands.
pub(super) enum WantedKind {
    Record,
    Text,
    List,
    Labels,
    Flag,
}

/// The fields of an entry.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Record<'n> {
    pub(crate) node: &'n Node,
    what: &'static str,
}

/// There is more of something than we take in.
pub(crate) fn too_large(place: &Place, problem: impl Into<String>, remedy: &str) -> Finding {
    Finding::error("too-large", place.clone(), problem, remedy)
}

impl Reader {
    /// Reads a YAML file of at most `max` bytes, unless there is something wrong with it.
    pub(crate) fn whole<T>(
        place: &Place,
        bytes: &[u8],
        (what, max, remedy): (&str, usize, &str),
        read: impl FnOnce(&mut Self, &Node) -> Option<T>,
    ) -> Result<T, Vec<Finding>> {
        if bytes.len() > max {
            let problem = format!("the {what} is larger than {max} bytes");
            return Err(vec![too_large(place, problem, remedy)]);
        }
        let tree = yaml::tree(place, bytes).map_err(|finding| vec![finding])?;
        let mut reader = Self::new(place);
        let read = read(&mut reader, &tree);
        reader.findings.sort();
        match read {
            Some(read) if reader.findings.is_empty() => Ok(read),
            _ => Err(reader.findings),
        }
    }

    pub(crate) fn new(place: &Place) -> Self {
        Self {
            place: place.clone(),
            findings: Vec::new(),
            strict: None,
        }
    }

    pub(crate) fn at(&self, node: &Node) -> Place {
        node.at(&self.place)
    }

    /// Something is wrong with a value.
    pub(crate) fn error(
        &mut self,
        code: &'static str,
        node: &Node,
        problem: impl Into<String>,
        remedy: &str,
    ) {
        self.findings
            .push(Finding::error(code, self.at(node), problem, remedy));
    }

    /// Something about a value should be known, and does no harm.
    pub(crate) fn warning(
        &mut self,
        code: &'static str,
        node: &Node,
        problem: String,
        remedy: &str,
    ) {
        self.findings
            .push(Finding::warning(code, self.at(node), problem, remedy));
    }

    /// Something is wrong with what stands at a place.
    pub(crate) fn error_at(
        &mut self,
        code: &'static str,
        place: &Place,
        problem: String,
        remedy: &str,
    ) {
        self.findings
            .push(Finding::error(code, place.clone(), problem, remedy));
    }

    /// Something should be there, and is not.
    pub(crate) fn missing(&mut self, place: &Place, problem: impl Into<String>, remedy: &str) {
        let finding = Finding::error("missing-field", place.clone(), problem, remedy);
        self.findings.push(finding);
    }

    /// A field is not understood, which does no harm.
    pub(crate) fn note_field(
        &mut self,
        code: &'static str,
        field: &FieldName,
        problem: String,
        remedy: &str,
    ) {
        let finding = Finding::warning(code, field.at(&self.place), problem, remedy);
        self.findings.push(finding);
    }

    /// A mapping with the fields that an entry of that kind can have. What else it has is an error.
    pub(crate) fn record<'n>(
        &mut self,
        node: &'n Node,
        what: &'static str,
        known: &[&str],
    ) -> Option<Record<'n>> {
        let record = self.open_record(node, what)?;
        for key in record.unknown(known) {
            let problem = format!("{what} has no field {:?}", shown(&key.text));
            let finding = Finding::error(
                "unknown-field",
                key.at(&self.place),
                problem,
                "correct its name, or remove it",
            );
            self.findings.push(finding);
        }
        Some(record)
    }

    /// A mapping with any fields, none of them twice.
    pub(crate) fn open_record<'n>(
        &mut self,
        node: &'n Node,
        what: &'static str,
    ) -> Option<Record<'n>> {
        let fields = match &node.value {
            Value::Map(fields) => fields,
            // In graph data nothing is a mapping without fields.
            Value::Nothing if self.strict.is_some() => return Some(Record { node, what }),
            _ => {
                self.wrong_kind(node, WantedKind::Record, what);
                return None;
            }
        };
        if self.strict.is_some() {
            // Fields that are given twice were refused before.
            let others = fields.iter().filter_map(|(key, _)| key.other.as_deref());
            others.for_each(|name| self.wrong_kind(name, WantedKind::Text, "the name of a field"));
            return Some(Record { node, what });
        }
        if fields.len() > MAX_FIELDS {
            let problem = format!(
                "{what} has {} fields; at most {MAX_FIELDS} are allowed",
                fields.len()
            );
            self.error(
                "too-large",
                node,
                problem,
                "remove those that do not belong here",
            );
            return None;
        }
        for (index, (key, _)) in fields.iter().enumerate() {
            if fields[..index]
                .iter()
                .any(|(earlier, _)| earlier.text == key.text)
            {
                self.given_twice(key);
            }
        }
        Some(Record { node, what })
    }

    fn given_twice(&mut self, key: &FieldName) {
        let problem = format!("{:?} is given twice", shown(&key.text));
        let place = key.at(&self.place);
        self.findings.push(Finding::error(
            "duplicate-field",
            place,
            problem,
            "keep one of them",
        ));
    }

    /// A warning for each field that is not known and does no harm.
    pub(crate) fn warn_unknown(&mut self, record: Record<'_>, known: &[&str]) {
        for key in record.unknown(known) {
            let problem = format!(
                "{} has no field {:?}; it is ignored",
                record.what,
                shown(&key.text)
            );
            let remedy = "correct its name, or remove it";
            self.note_field("unknown-field", key, problem, remedy);
        }
    }

    /// A field that must be there.
    pub(crate) fn required<'n>(
        &mut self,
        record: Record<'n>,
        name: &str,
        remedy: &str,
    ) -> Option<&'n Node> {
        let found = record.get(name);
        if found.is_none() {
            let problem = format!("{} has no `{name}`", record.what);
            self.error("missing-field", record.node, problem, remedy);
        }
        found
    }

    pub(crate) fn text<'n>(&mut self, node: &'n Node, what: &str) -> Option<&'n str> {
        let Some(text) = node.as_text() else {
            self.wrong_kind(node, WantedKind::Text, what);
            return None;
        };
        let fits = text.len() <= MAX_TEXT_BYTES || self.strict.is_some();
        if !fits {
            let problem = format!(
                "{what} is {} bytes long; at most {MAX_TEXT_BYTES} are allowed",
                text.len()
            );
            self.error("too-large", node, problem, "write a shorter one");
        }
        fits.then_some(text)
    }

    /// A text that is a name: not empty, not long, on one line.
    pub(crate) fn name<'n>(&mut self, node: &'n Node, what: &str) -> Option<&'n str> {
        let text = self.text(node, what)?;
        let is_name =
            !text.is_empty() && text.len() <= MAX_NAME_BYTES && !text.chars().any(char::is_control);
        if !is_name {
            let problem = format!("{:?} cannot be {what}", shown(text));
            let remedy = format!("use 1 to {MAX_NAME_BYTES} bytes on one line");
            self.error("bad-name", node, problem, &remedy);
        }
        is_name.then_some(text)
    }

    /// A list of at most `max` items. None if there are more.
    pub(crate) fn list<'n>(&mut self, node: &'n Node, what: &str, max: usize) -> &'n [Node] {
        match &node.value {
            Value::List(items) if items.len() <= max => items,
            Value::List(items) => {
                let problem = format!(
                    "{what}: there are {}; at most {max} are allowed",
                    items.len()
                );
                self.error("too-large", node, problem, "shorten the list");
                &[]
            }
            _ => {
                self.wrong_kind(node, WantedKind::List, what);
                &[]
            }
        }
    }

    pub(crate) fn labels(
        &mut self,
        node: &Node,
        what: &str,
        max: usize,
    ) -> BTreeMap<String, String> {
        let fields = match &node.value {
            Value::Map(fields) if fields.len() <= max => fields,
            Value::Map(fields) => {
                let problem = format!(
                    "{what}: there are {}; at most {max} are allowed",
                    fields.len()
                );
                self.error("too-large", node, problem, "remove some");
                return BTreeMap::new();
            }
            _ => {
                self.wrong_kind(node, WantedKind::Labels, what);
                return BTreeMap::new();
            }
        };
        let mut labels = BTreeMap::new();
        for (key, value) in fields {
            let Some(text) = self.text(value, "the value of a label") else {
                continue;
            };
            if labels
                .insert(key.text.to_string(), text.to_owned())
                .is_some()
            {
                self.given_twice(key);
            }
        }
        labels
    }

    /// `true` or `false`.
    pub(crate) fn flag(&mut self, node: &Node, what: &str) -> Option<bool> {
        let flag = match &node.value {
            Value::Flag(flag) => Some(*flag),
            // In graph data it may be in quotes.
            Value::Text(text) if self.strict.is_some() => {
                text.trim().to_ascii_lowercase().parse().ok()
            }
            _ => None,
        };
        if flag.is_none() {
            self.wrong_kind(node, WantedKind::Flag, what);
        }
        flag
    }

    /// A whole number, in quotes or not.
    pub(crate) fn count(
        &mut self,
        node: &Node,
        what: &str,
        range: std::ops::RangeInclusive<u32>,
    ) -> Option<u32> {
        let number = match &node.value {
            Value::Whole(number) => u32::try_from(*number).ok(),
            Value::Text(text) => whole(text),
            _ => None,
        };
        let fits = number.filter(|number| range.contains(number));
        if fits.is_none() {
            let problem = format!("{what} is a whole number, and this is {}", node.kind());
            let remedy = format!("write a number from {} to {}", range.start(), range.end());
            self.error("bad-number", node, problem, &remedy);
        }
        fits
    }

    /// A value is of the wrong kind. The words for it stand here, and nowhere else.
    fn wrong_kind(&mut self, node: &Node, wanted: WantedKind, what: &str) {
        if self.strict.is_some() {
            let (problem, remedy) = self.wrong_kind_strictly(node, wanted);
            return self.error(BAD_YAML, node, problem, remedy);
        }
        let is_unquoted = matches!(
            node.value,
            Value::Whole(_) | Value::Fraction(_) | Value::Flag(_)
        );
        let (belongs, remedy) = match wanted {
            WantedKind::Record => ("belongs here", "write a mapping: `name: value`"),
            WantedKind::Text if is_unquoted => ("is a text", "put it in quotes"),
            WantedKind::Text => ("is a text", "write one text"),
            WantedKind::List => ("is a list", "write each on a line of its own, after `- `"),
            WantedKind::Labels => ("are a mapping", "write them as `name: value`"),
            WantedKind::Flag => (
                "is true or false",
                "write `true` or `false`, without quotes",
            ),
        };
        let problem = format!("{what} {belongs}, and this is {}", node.kind());
        self.error("wrong-kind", node, problem, remedy);
    }
}

impl<'n> Record<'n> {
    /// The value of a field, unless there is nothing after its colon.
    pub(crate) fn get(&self, name: &str) -> Option<&'n Node> {
        self.node.get(name)
    }

    /// The value of a field, also if there is nothing after its colon.
    pub(crate) fn given(&self, name: &str) -> Option<&'n Node> {
        self.node.given(name)
    }

    pub(crate) fn unknown<'k>(
        &self,
        known: &'k [&str],
    ) -> impl Iterator<Item = &'n FieldName> + use<'n, 'k> {
        let names = self.node.fields().iter().map(|(key, _)| key);
        names.filter(|key| !known.contains(&&*key.text))
    }
}

/// The number that digits, and nothing but digits, write.
pub(crate) fn whole(text: &str) -> Option<u32> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

/// A text as far as a message has room for it.
pub(crate) fn shown(text: &str) -> String {
    const MAX_CHARS: usize = 80;
    match text.chars().count() {
        0..=MAX_CHARS => text.to_owned(),
        _ => text.chars().take(MAX_CHARS).chain("…".chars()).collect(),
    }
}
