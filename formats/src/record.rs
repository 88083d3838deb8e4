//! Entries that people write, read from a tree: each problem becomes a finding with its place, and reading goes on.

use std::collections::BTreeMap;

use towpath_core::finding::{Finding, Place};

use crate::tree::{Key, Node, Value};

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
}

/// The fields of an entry.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Record<'n> {
    pub(crate) node: &'n Node,
    what: &'static str,
}

impl Reader {
    pub(crate) fn new(place: &Place) -> Self {
        Self {
            place: place.clone(),
            findings: Vec::new(),
        }
    }

    pub(crate) fn at(&self, node: &Node) -> Place {
        match node.line {
            0 => self.place.clone(),
            line => self.place.at(line, node.column),
        }
    }

    fn at_key(&self, key: &Key) -> Place {
        match key.line {
            0 => self.place.clone(),
            line => self.place.at(line, key.column),
        }
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
                self.at_key(key),
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
        let Value::Map(fields) = &node.value else {
            let problem = format!("{what} belongs here, and this is {}", node.kind());
            self.error(
                "wrong-kind",
                node,
                problem,
                "write a mapping: `name: value`",
            );
            return None;
        };
        if fields.len() > MAX_FIELDS {
            let problem = format!(
                "{what} has {} fields; at most {MAX_FIELDS} are taken",
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
                let problem = format!("{:?} is given twice", shown(&key.text));
                let finding = Finding::error(
                    "duplicate-field",
                    self.at_key(key),
                    problem,
                    "keep one of them",
                );
                self.findings.push(finding);
            }
        }
        Some(Record { node, what })
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
            self.findings.push(Finding::warning(
                "unknown-field",
                self.at_key(key),
                problem,
                remedy,
            ));
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
        match &node.value {
            Value::Text(text) if text.len() <= MAX_TEXT_BYTES => Some(text),
            Value::Text(text) => {
                let problem = format!(
                    "{what} is {} bytes long; at most {MAX_TEXT_BYTES} are taken",
                    text.len()
                );
                self.error("too-large", node, problem, "write a shorter one");
                None
            }
            _ => {
                let remedy = match node.value {
                    Value::Whole(_) | Value::Fraction(_) | Value::Flag(_) => "put it in quotes",
                    _ => "write one text",
                };
                self.error(
                    "wrong-kind",
                    node,
                    format!("{what} is a text, and this is {}", node.kind()),
                    remedy,
                );
                None
            }
        }
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

    /// A list of at most so many items. Too many of them: none.
    pub(crate) fn list<'n>(&mut self, node: &'n Node, what: &str, max: usize) -> &'n [Node] {
        match &node.value {
            Value::List(items) if items.len() <= max => items,
            Value::List(items) => {
                let problem = format!("{what}: there are {}; at most {max} are taken", items.len());
                self.error("too-large", node, problem, "shorten the list");
                &[]
            }
            _ => {
                let problem = format!("{what} is a list, and this is {}", node.kind());
                self.error(
                    "wrong-kind",
                    node,
                    problem,
                    "write each on a line of its own, after `- `",
                );
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
                    "{what}: there are {}; at most {max} are taken",
                    fields.len()
                );
                self.error("too-large", node, problem, "remove some");
                return BTreeMap::new();
            }
            _ => {
                let problem = format!("{what} are a mapping, and this is {}", node.kind());
                self.error("wrong-kind", node, problem, "write them as `name: value`");
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
                let problem = format!("{:?} is given twice", shown(&key.text));
                let finding = Finding::error(
                    "duplicate-field",
                    self.at_key(key),
                    problem,
                    "keep one of them",
                );
                self.findings.push(finding);
            }
        }
        labels
    }

    /// `true` or `false`.
    pub(crate) fn flag(&mut self, node: &Node, what: &str) -> Option<bool> {
        match node.value {
            Value::Flag(flag) => Some(flag),
            _ => {
                let problem = format!("{what} is true or false, and this is {}", node.kind());
                self.error(
                    "wrong-kind",
                    node,
                    problem,
                    "write `true` or `false`, without quotes",
                );
                None
            }
        }
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
}

impl<'n> Record<'n> {
    /// The value of a field, unless there is nothing after its colon.
    pub(crate) fn get(&self, name: &str) -> Option<&'n Node> {
        self.node.get(name)
    }

    fn unknown<'k>(&self, known: &'k [&str]) -> impl Iterator<Item = &'n Key> + use<'n, 'k> {
        let fields: &'n [(Key, Node)] = match &self.node.value {
            Value::Map(fields) => fields,
            _ => &[],
        };
        fields
            .iter()
            .map(|(key, _)| key)
            .filter(|key| !known.contains(&&*key.text))
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
