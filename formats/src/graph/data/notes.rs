//! Notes: the parts of graph data that only lint reads, from a tree in which every value knows its
//! place.
//!
//! This is a second, forgiving reading. It leaves out what does not fit, because the first reading
//! has reported that. It only looks at what the service ignores (`feeder`, `tombstones`, the
//! insides of rules).

use towpath_core::finding::{Finding, Place};
use towpath_core::graph::Pattern;
use towpath_core::lint::{BlockNotes, ChannelNotes, Field, NotedRelease, Notes};
use towpath_core::version::ReleaseName;

use super::{FileKind, time::parse_duration};
use crate::SourceFile;
use crate::graph::promql;
use crate::read::{Node, yaml};

pub fn read(files: &[SourceFile]) -> (Notes, Vec<Finding>) {
    let mut reader = NoteReader {
        notes: Notes::default(),
        findings: Vec::new(),
        queries: promql::CheckedQueries::default(),
    };
    for file in files {
        let place = Place::file(file.path.as_str());
        let kind = FileKind::of(&file.path);
        match (kind, yaml::tree(&place, &file.bytes)) {
            (FileKind::Block, Ok(node)) => reader.block(&place, &node),
            (FileKind::Channels, Ok(node)) => reader.channels(&place, &node),
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

struct NoteReader {
    notes: Notes,
    findings: Vec<Finding>,
    queries: promql::CheckedQueries,
}

impl NoteReader {
    fn block(&mut self, file: &Place, node: &Node) {
        let mut notes = BlockNotes::default();
        for (name, field) in FIELDS {
            notes
                .places
                .extend(node.get(name).map(|value| (field, value.at(file))));
        }
        notes.fixed_in = node.get("fixedIn").and_then(|fixed| noted(file, fixed));
        for rule in node.get("matchingRules").map_or(&[][..], Node::items) {
            self.rule(file, rule);
        }
        self.notes.blocks.insert(file.file.clone(), notes);
    }

    fn rule(&mut self, file: &Place, rule: &Node) {
        let inner = rule.get("promql");
        let fields: &[&str] = match rule.get("type").and_then(Node::as_text) {
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
        if let Some(wrong) = query.as_text().and_then(|text| self.queries.check(text)) {
            self.findings.push(wrong.finding(query.at(file)));
        }
    }

    fn unknown_fields(&mut self, file: &Place, node: &Node, what: &str, known: &[&str]) {
        let unknown = node
            .fields()
            .iter()
            .filter(|(key, _)| !known.contains(&&*key.text));
        self.findings.extend(unknown.map(|(key, _)| {
            let problem = format!("{what} has no field {:?}; it is ignored", key.text);
            let place = key.at(file);
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
        for tombstone in node.get("tombstones").map_or(&[][..], Node::items) {
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
                        tombstone.at(file),
                        problem,
                        remedy,
                    ));
                }
            }
        }
        if let Some(feeder) = node.get("feeder") {
            notes.feeder = feeder
                .get("name")
                .and_then(Node::as_text)
                .map(str::to_owned);
            self.feeder(file, feeder);
        }
        self.notes.channels.insert(file.file.clone(), notes);
    }

    fn feeder(&mut self, file: &Place, feeder: &Node) {
        for (key, value) in feeder.fields() {
            let problem = match (&*key.text, value.as_text()) {
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
            let place = key.at(file);
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
    let name = ReleaseName::parse(node.as_text()?).ok()?;
    Some(NotedRelease {
        name,
        place: node.at(file),
    })
}
