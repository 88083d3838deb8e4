//! Completed updates, from the history of ClusterVersions: YAML or JSON, one object, lists of them, or several documents.
//!
//! An entry counts if it was completed and follows an entry of another version that was completed too. Installations,
//! updates that have not come to an end, those that were sent elsewhere on their way, and ways back are counted and left
//! out. Objects of other kinds are passed over: a directory of a cluster's objects can be given as it is.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use towpath_core::duration::Update;
use towpath_core::finding::{Finding, Place};
use towpath_core::version::{ReleaseName, Version};

use crate::graph_data::parse_time;
use crate::record::shown;
use crate::tree::{self, Node, Value};
use crate::{SourceFile, json, yaml};

pub const MAX_BYTES: usize = 64 << 20;
/// The most documents of a file.
const MAX_DOCUMENTS: usize = 100_000;
/// The most entries of one history; a cluster keeps a hundred.
const MAX_ENTRIES: usize = 1_000;
/// The most updates in all.
pub const MAX_UPDATES: usize = 1_000_000;
const MAX_DEPTH: usize = 4;
/// The longest update that is one: a year.
const MAX_SECONDS: i64 = 366 * 86_400;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Histories {
    /// Completed updates, in order, each once.
    pub updates: Vec<Update>,
    /// How much was read, and what was left out.
    pub counts: Counts,
    /// What is wrong with what was read. An error: the file was left out. A warning: the entry was.
    pub findings: Vec<Finding>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    pub cluster_versions: usize,
    /// Entries of their histories that are no update of ours, by the reason.
    pub left_out: BTreeMap<LeftOut, usize>,
}

/// Why an entry was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeftOut {
    /// It is the cluster's first.
    Installation,
    /// It has not come to an end, or was replaced before it had.
    Unfinished,
    /// The one before it had not come to an end: part of the work was done already.
    Retargeted,
    /// It leads back, or nowhere.
    NotForward,
    /// It was seen before: another file is about the same cluster.
    Again,
    /// It cannot be read.
    Unreadable,
}

/// Reads all updates that these files tell of.
pub fn read(files: &[SourceFile]) -> Histories {
    let mut reading = Reading::default();
    for file in files {
        let place = Place::file(file.path.as_str());
        if let Err(finding) = reading.file(&place, &file.bytes) {
            reading.histories.findings.push(finding);
        }
    }
    reading.histories.updates.sort();
    reading.histories.findings.sort();
    reading.histories
}

impl LeftOut {
    /// For people, of one or of many.
    pub fn noun(self, count: usize) -> &'static str {
        let nouns = match self {
            Self::Installation => ["installation", "installations"],
            Self::Unfinished => ["unfinished update", "unfinished updates"],
            Self::Retargeted => [
                "update that began in the middle of another",
                "updates that began in the middle of another",
            ],
            Self::NotForward => [
                "way back or to the same release",
                "ways back or to the same release",
            ],
            Self::Again => ["seen twice", "seen twice"],
            Self::Unreadable => ["unreadable entry", "unreadable entries"],
        };
        nouns[usize::from(count != 1)]
    }

    pub fn code(self) -> &'static str {
        match self {
            Self::Installation => "installation",
            Self::Unfinished => "unfinished",
            Self::Retargeted => "retargeted",
            Self::NotForward => "notForward",
            Self::Again => "again",
            Self::Unreadable => "unreadable",
        }
    }
}

#[derive(Default)]
struct Reading {
    histories: Histories,
    /// What was seen: cluster, start and target.
    seen: BTreeSet<(String, Timestamp, Version)>,
    /// The lines of the file before the document that is read.
    lines_before: u32,
}

/// An entry of a history.
struct Entry {
    version: Version,
    started: Timestamp,
    completed: Option<Timestamp>,
}

impl Reading {
    fn file(&mut self, place: &Place, bytes: &[u8]) -> Result<(), Finding> {
        let text = yaml::text(place, bytes, MAX_BYTES)?;
        if text.trim_start().starts_with(['{', '[']) {
            let remedy = "write it anew, as `oc get clusterversion -o json` does";
            let node = tree::of_json(text).map_err(|error| json::finding(place, &error, remedy))?;
            self.object(place, &node, 0);
            return Ok(());
        }
        let documents = documents(text);
        if documents.len() > MAX_DOCUMENTS {
            let problem = format!("there are more than {MAX_DOCUMENTS} documents in this file");
            return Err(Finding::error(
                "too-large",
                place.clone(),
                problem,
                "split it",
            ));
        }
        for (first_line, document) in documents {
            let node = tree::of_yaml(place, document.as_bytes()).map_err(|finding| {
                let line = if finding.place.line == 0 {
                    0
                } else {
                    finding.place.line + first_line
                };
                Finding {
                    place: Place {
                        line,
                        ..finding.place.clone()
                    },
                    ..finding
                }
            })?;
            self.lines_before = first_line;
            self.object(place, &node, 0);
        }
        Ok(())
    }

    /// A ClusterVersion, or a list of objects; anything else is passed over.
    fn object(&mut self, place: &Place, node: &Node, depth: usize) {
        let items = match &node.value {
            Value::List(items) => Some(items),
            _ => match node.get("items").map(|items| &items.value) {
                Some(Value::List(items)) => Some(items),
                _ => None,
            },
        };
        match (items, text_of(node, "kind")) {
            (Some(items), _) if depth < MAX_DEPTH => items
                .iter()
                .for_each(|item| self.object(place, item, depth + 1)),
            (None, Some("ClusterVersion")) => self.cluster_version(place, node),
            _ => {}
        }
    }

    fn cluster_version(&mut self, place: &Place, node: &Node) {
        self.histories.counts.cluster_versions += 1;
        let entries = match node
            .get("status")
            .and_then(|status| status.get("history"))
            .map(|node| &node.value)
        {
            Some(Value::List(entries)) => &entries[..entries.len().min(MAX_ENTRIES)],
            _ => &[],
        };
        let read: Vec<Option<Entry>> = entries.iter().map(|node| self.entry(place, node)).collect();
        // A cluster without an id is told apart by when it was installed.
        let first = || {
            read.last()
                .and_then(Option::as_ref)
                .map_or_else(String::new, |entry| entry.started.to_string())
        };
        let id = node.get("spec").and_then(|spec| text_of(spec, "clusterID"));
        let cluster = id.map_or_else(first, str::to_owned);
        for (at, entry) in read.iter().enumerate() {
            let before = read.get(at + 1);
            match update(entry.as_ref(), before.map(Option::as_ref)) {
                Ok((from, seconds)) => self.keep(&cluster, entry.as_ref(), from, seconds),
                Err(reason) => self.leave_out(reason),
            }
        }
    }

    fn keep(&mut self, cluster: &str, entry: Option<&Entry>, from: Version, seconds: u64) {
        let Some(Entry {
            version, started, ..
        }) = entry
        else {
            return;
        };
        let is_new = self
            .seen
            .insert((cluster.to_owned(), *started, version.clone()));
        if !is_new {
            return self.leave_out(LeftOut::Again);
        }
        if self.histories.updates.len() >= MAX_UPDATES {
            return self.leave_out(LeftOut::Unreadable);
        }
        let (cluster, started, to) = (cluster.to_owned(), *started, version.clone());
        self.histories.updates.push(Update {
            cluster,
            started,
            from,
            to,
            seconds,
        });
    }

    fn leave_out(&mut self, reason: LeftOut) {
        *self.histories.counts.left_out.entry(reason).or_default() += 1;
    }

    /// An entry; none, with a warning, if it cannot be read.
    fn entry(&mut self, place: &Place, node: &Node) -> Option<Entry> {
        let read = || -> Result<Entry, String> {
            let field =
                |name: &str| text_of(node, name).ok_or_else(|| format!("it has no `{name}`"));
            let version = ReleaseName::parse(field("version")?)
                .map_err(|error| error.to_string())?
                .version;
            let started = parse_time(field("startedTime")?)?;
            let completed = text_of(node, "completionTime")
                .map(parse_time)
                .transpose()?;
            let completed = completed.filter(|_| text_of(node, "state") == Some("Completed"));
            let seconds =
                completed.map_or(1, |completed| started.duration_until(completed).as_secs());
            match (1..=MAX_SECONDS).contains(&seconds) {
                true => Ok(Entry {
                    version,
                    started,
                    completed,
                }),
                false => Err(format!(
                    "{seconds} seconds are no time for an update to take"
                )),
            }
        };
        read()
            .map_err(|problem| {
                let place = match node.line {
                    0 => place.clone(),
                    line => place.at(self.lines_before + line, node.column),
                };
                let problem = format!(
                    "an entry of the history cannot be read: {}",
                    shown(&problem)
                );
                let remedy = "nothing need be done; it is left out";
                self.histories
                    .findings
                    .push(Finding::warning("bad-entry", place, problem, remedy));
            })
            .ok()
    }
}

/// Where an update came from and how long it took; or why there is none.
fn update(
    entry: Option<&Entry>,
    before: Option<Option<&Entry>>,
) -> Result<(Version, u64), LeftOut> {
    let entry = entry.ok_or(LeftOut::Unreadable)?;
    let completed = entry.completed.ok_or(LeftOut::Unfinished)?;
    let before = before
        .ok_or(LeftOut::Installation)?
        .ok_or(LeftOut::Unreadable)?;
    match (before.completed, before.version < entry.version) {
        (None, _) => Err(LeftOut::Retargeted),
        (Some(_), false) => Err(LeftOut::NotForward),
        (Some(_), true) => {
            let seconds = entry.started.duration_until(completed).as_secs();
            Ok((
                before.version.clone(),
                u64::try_from(seconds).map_err(|_| LeftOut::Unreadable)?,
            ))
        }
    }
}

/// The documents of a YAML file, each with the number of lines before it. `---` at the beginning of a line is always a
/// document's.
fn documents(text: &str) -> Vec<(u32, &str)> {
    let (mut documents, mut start, mut first_line) = (Vec::new(), 0, 0);
    let mut offset = 0;
    let mut push = |from: usize, to: usize, first_line: u32| {
        let has_content = |line: &str| {
            !line.trim().is_empty()
                && !line.trim_start().starts_with('#')
                && line.trim_end() != "---"
        };
        if text[from..to].lines().any(has_content) {
            documents.push((first_line, &text[from..to]));
        }
    };
    for (number, line) in text.split_inclusive('\n').enumerate() {
        if line.trim_end() == "---" || line.starts_with("--- ") {
            push(start, offset, first_line);
            (start, first_line) = (offset, u32::try_from(number).unwrap_or(0));
        }
        offset += line.len();
    }
    push(start, text.len(), first_line);
    documents
}

fn text_of<'n>(node: &'n Node, name: &str) -> Option<&'n str> {
    match &node.get(name)?.value {
        Value::Text(text) => Some(text),
        _ => None,
    }
}
