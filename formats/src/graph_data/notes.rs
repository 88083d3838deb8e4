//! Notes: what stands in graph data and only lint asks for, read from a tree in which every value knows its place.
//!
//! A second, forgiving reading of files that the first has understood: what does not fit is left out, since the first
//! reading has said so. Only what the service ignores (`feeder`, `tombstones`, the insides of rules) is judged here.

use towpath_core::finding::{Finding, Place};
use towpath_core::graph::Pattern;
use towpath_core::lint::{BlockNotes, ChannelNotes, Field, NotedRelease, Notes};
use towpath_core::version::ReleaseName;

use super::{Kind, promql, time::parse_duration};
use crate::SourceFile;
use crate::tree::{self, Key, Node, Value};

pub fn read(files: &[SourceFile]) -> (Notes, Vec<Finding>) {
    let mut reader = Reader {
        notes: Notes::default(),
        findings: Vec::new(),
        queries: promql::Known::default(),
    };
    for file in files {
        let place = Place::file(file.path.as_str());
        let kind = Kind::of(&file.path);
        match (kind, tree::of_yaml(&place, &file.bytes)) {
            (Kind::Block, Ok(node)) => reader.block(&place, &node),
            (Kind::Channels, Ok(node)) => reader.channels(&place, &node),
            _ => {}
        }
    }
    reader.findings.sort();
    (reader.notes, reader.findings)
}

/// Fields of a block that findings point at.
const FIELDS: [(&str, Field); 6] = [
    ("to", Field::To),
    ("from", Field::From),
    ("name", Field::Name),
    ("url", Field::Url),
    ("message", Field::Message),
    ("matchingRules", Field::MatchingRules),
];

struct Reader {
    notes: Notes,
    findings: Vec<Finding>,
    queries: promql::Known,
}

impl Reader {
    fn block(&mut self, file: &Place, node: &Node) {
        let mut notes = BlockNotes::default();
        for (name, field) in FIELDS {
            notes
                .places
                .extend(node.get(name).map(|value| (field, at(file, value))));
        }
        notes.fixed_in = node.get("fixedIn").and_then(|fixed| noted(file, fixed));
        for rule in list(node.get("matchingRules")) {
            self.rule(file, rule);
        }
        self.notes.blocks.insert(file.file.clone(), notes);
    }

    fn rule(&mut self, file: &Place, rule: &Node) {
        let inner = rule.get("promql");
        let fields: &[&str] = match rule.get("type").and_then(text) {
            Some("Always") => &["type"],
            Some("PromQL") => &["type", "promql"],
            // Of other types, the first reading has warned.
            _ => return,
        };
        self.unknown_fields(file, rule, "this matching rule", fields);
        let Some(query) = inner
            .and_then(|inner| inner.get("promql"))
            .filter(|_| fields.contains(&"promql"))
        else {
            return;
        };
        self.unknown_fields(file, inner.unwrap_or(rule), "`promql`", &["promql"]);
        if let Some(wrong) = text(query).and_then(|text| self.queries.check(text)) {
            self.findings.push(wrong.finding(at(file, query)));
        }
    }

    fn unknown_fields(&mut self, file: &Place, node: &Node, what: &str, known: &[&str]) {
        let unknown = fields(node).filter(|(key, _)| !known.contains(&&*key.text));
        self.findings.extend(unknown.map(|(key, _)| {
            let problem = format!("{what} has no field {:?}; it is ignored", key.text);
            let place = file.at(key.line, key.column);
            Finding::warning(
                "unknown-field",
                place,
                problem,
                "correct its name, or remove it",
            )
        }));
    }

    fn channels(&mut self, file: &Place, node: &Node) {
        let mut notes = ChannelNotes::default();
        for tombstone in list(node.get("tombstones")) {
            match noted(file, tombstone) {
                Some(noted) => notes.tombstones.push(noted),
                None => {
                    let problem = format!(
                        "a tombstone names a release, and this is {}",
                        tombstone.kind()
                    );
                    let remedy = "write it as in 4.9.7 or 4.9.7+amd64";
                    self.findings.push(Finding::warning(
                        "bad-tombstone",
                        at(file, tombstone),
                        problem,
                        remedy,
                    ));
                }
            }
        }
        if let Some(feeder) = node.get("feeder") {
            notes.feeder = feeder.get("name").and_then(text).map(str::to_owned);
            self.feeder(file, feeder);
        }
        self.notes.channels.insert(file.file.clone(), notes);
    }

    fn feeder(&mut self, file: &Place, feeder: &Node) {
        for (key, value) in fields(feeder) {
            let problem = match (&*key.text, text(value)) {
                ("name", Some(_)) | ("errata", Some("public")) => continue,
                ("errata", _) => "`errata` is `public`, or is left out".to_owned(),
                ("delay", Some(delay)) => match parse_duration(delay) {
                    Ok(_) => continue,
                    Err(problem) => problem,
                },
                ("filter", Some(filter)) => match Pattern::new(filter) {
                    Ok(_) => continue,
                    Err(problem) => format!("`filter` is not a regular expression: {problem}"),
                },
                ("name" | "delay" | "filter", None) => {
                    format!("a text belongs here, and this is {}", value.kind())
                }
                (name, _) => format!("a feeder has no field {name:?}"),
            };
            let place = file.at(key.line, key.column);
            self.findings.push(Finding::warning(
                "bad-feeder",
                place,
                problem,
                "correct it; the service ignores it",
            ));
        }
    }
}

fn noted(file: &Place, node: &Node) -> Option<NotedRelease> {
    let name = ReleaseName::parse(text(node)?).ok()?;
    Some(NotedRelease {
        name,
        place: at(file, node),
    })
}

fn at(file: &Place, node: &Node) -> Place {
    file.at(node.line, node.column)
}

fn text(node: &Node) -> Option<&str> {
    match &node.value {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

fn list(node: Option<&Node>) -> &[Node] {
    match node.map(|node| &node.value) {
        Some(Value::List(items)) => items,
        _ => &[],
    }
}

fn fields(node: &Node) -> impl Iterator<Item = &(Key, Node)> {
    let fields: &[(Key, Node)] = match &node.value {
        Value::Map(fields) => fields,
        _ => &[],
    };
    fields.iter()
}
