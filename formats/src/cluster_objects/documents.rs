//! Files to objects: documents, lists, and which kinds were given at all.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use towpath_core::finding::{Finding, Place};

use super::{AGAIN, Kind, MAX_OBJECTS};
use crate::tree::{self, Key, Node, Value};
use crate::words::plain;
use crate::{SourceFile, json, yaml};

/// An object of a kind that we ask about.
#[derive(Debug)]
pub(super) struct Object {
    pub(super) kind: Kind,
    pub(super) namespace: Arc<str>,
    pub(super) name: Arc<str>,
    pub(super) place: Place,
    pub(super) node: Node,
}

/// What was found in files.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) objects: Vec<Object>,
    /// Kinds that were given, be it an empty list.
    pub(super) given: BTreeSet<Kind>,
    /// How many objects are of other kinds.
    pub(super) ignored: usize,
    pub(super) findings: Vec<Finding>,
    seen: BTreeMap<(Kind, Arc<str>, Arc<str>), Place>,
}

pub(super) fn read(files: &[SourceFile]) -> Found {
    let mut found = Found::default();
    for file in files {
        let place = Place::file(file.path.as_str());
        match documents(&place, &file.bytes) {
            Ok(documents) => documents
                .into_iter()
                .for_each(|node| found.take(&place, node, None)),
            Err(finding) => found.findings.push(finding),
        }
    }
    found
}

/// The documents of a file, each with its place in the file.
fn documents(place: &Place, bytes: &[u8]) -> Result<Vec<Node>, Finding> {
    let text = yaml::text(place, bytes, tree::MAX_FILE_BYTES)?;
    if text.trim_start().starts_with('{') {
        return tree::of_json(text)
            .map(|node| vec![node])
            .map_err(|error| json::finding(place, &error, AGAIN));
    }
    let mut nodes = Vec::new();
    for (line, text) in split(text) {
        let is_blank = text
            .lines()
            .all(|line| line.trim_start().is_empty() || line.trim_start().starts_with('#'));
        if is_blank {
            continue;
        }
        let shift = |finding: Finding| Finding {
            place: shifted(finding.place, line),
            ..finding
        };
        let mut node = tree::of_yaml(place, text.as_bytes()).map_err(shift)?;
        move_down(&mut node, line);
        nodes.push(node);
    }
    Ok(nodes)
}

/// The documents of a YAML text, each with the lines before it. By YAML's rules `---` at the start of a line is never part of a value.
fn split(text: &str) -> Vec<(u32, &str)> {
    let mut documents = Vec::new();
    let (mut start, mut start_line, mut offset) = (0, 0, 0);
    for (line, content) in (0u32..).zip(text.split_inclusive('\n')) {
        let is_marker = content.strip_prefix("---").is_some_and(is_blank_or_comment);
        if is_marker {
            documents.push((start_line, &text[start..offset]));
            (start, start_line) = (offset + content.len(), line + 1);
        }
        offset += content.len();
    }
    documents.push((start_line, &text[start..]));
    documents
}

fn is_blank_or_comment(rest: &str) -> bool {
    rest.trim().is_empty() || (rest.starts_with([' ', '\t']) && rest.trim_start().starts_with('#'))
}

fn shifted(place: Place, lines: u32) -> Place {
    match place.line {
        0 => place,
        line => place.at(line.saturating_add(lines), place.column),
    }
}

fn move_down(node: &mut Node, lines: u32) {
    node.line = node.line.saturating_add(lines);
    match &mut node.value {
        Value::List(items) => items.iter_mut().for_each(|item| move_down(item, lines)),
        Value::Map(fields) => {
            for (key, value) in fields {
                key.line = key.line.saturating_add(lines);
                move_down(value, lines);
            }
        }
        _ => {}
    }
}

impl Found {
    /// Takes in an object, or those of a list. Items of a typed list need not name their kind.
    fn take(&mut self, file: &Place, mut node: Node, kind_of_list: Option<Kind>) {
        let place = if node.line == 0 {
            file.clone()
        } else {
            file.at(node.line, node.column)
        };
        let named = match node.get("kind").map(|kind| &kind.value) {
            Some(Value::Text(kind)) => Some(kind.to_string()),
            _ => None,
        };
        let list_of = named.as_deref().and_then(|kind| kind.strip_suffix("List"));
        match (list_of, named.as_deref(), kind_of_list) {
            (Some(kind), _, None) => {
                let kind = Kind::named(kind);
                self.given.extend(
                    kind.or_else(|| is_empty(&node).then(|| kind_of_file(&file.file)).flatten()),
                );
                let items = take_items(&mut node);
                self.object_to_repeated(&place, &node);
                items
                    .into_iter()
                    .for_each(|item| self.take(file, item, kind.or(kind_of_list)));
            }
            (_, Some(kind), _) => match Kind::named(kind) {
                Some(kind) => self.keep(kind, place, node),
                None => self.ignored += 1,
            },
            (_, None, Some(kind)) => self.keep(kind, place, node),
            (_, None, None) => {
                let problem = "this is no object of a cluster: it has no `kind`";
                self.findings.push(Finding::error(
                    "no-kind",
                    place,
                    problem,
                    "remove it, or give the object whole",
                ));
            }
        }
    }

    /// A field that stands there twice hides one of the two.
    fn object_to_repeated(&mut self, place: &Place, node: &Node) {
        if let Some(key) = repeated(node) {
            let place = if key.line == 0 {
                place.clone()
            } else {
                place.at(key.line, key.column)
            };
            let problem = format!(
                "`{}` stands here twice: which of them is meant?",
                plain(&key.text)
            );
            self.findings
                .push(Finding::error("duplicate-field", place, problem, AGAIN));
        }
    }

    fn keep(&mut self, kind: Kind, place: Place, node: Node) {
        self.given.insert(kind);
        self.object_to_repeated(&place, &node);
        let of_metadata = |field: &str| -> Arc<str> {
            match node
                .get("metadata")
                .and_then(|metadata| metadata.get(field))
            {
                Some(Node {
                    value: Value::Text(text),
                    ..
                }) => Arc::from(&**text),
                _ => Arc::from(""),
            }
        };
        let (namespace, name) = (of_metadata("namespace"), of_metadata("name"));
        if name.is_empty() {
            let problem = format!("this {} has no name", kind.as_str());
            return self
                .findings
                .push(Finding::error("no-name", place, problem, AGAIN));
        }
        if self.objects.len() >= MAX_OBJECTS {
            let problem = format!("there are more than {MAX_OBJECTS} objects");
            return self.findings.push(Finding::error(
                "too-large",
                Place::file(place.file),
                problem,
                "give one cluster's",
            ));
        }
        // A directory is one cluster: two of them would hide each other's reasons.
        let identity = (kind, namespace.clone(), name.clone());
        if let Some(earlier) = self.seen.insert(identity, place.clone()) {
            let problem = format!(
                "{} {} is given twice, first at {earlier}",
                kind.as_str(),
                plain(&name)
            );
            let remedy = "give the objects of one cluster, each once";
            self.findings.push(Finding::error(
                "given-twice",
                place.clone(),
                problem,
                remedy,
            ));
        }
        self.objects.push(Object {
            kind,
            namespace,
            name,
            place,
            node,
        });
    }
}

/// A field that an object, or anything in it, has twice.
fn repeated(node: &Node) -> Option<&Key> {
    match &node.value {
        Value::List(items) => items.iter().find_map(repeated),
        Value::Map(fields) => {
            let mut seen = BTreeSet::new();
            let twice = fields
                .iter()
                .find(|(key, _)| !seen.insert(&*key.text))
                .map(|(key, _)| key);
            twice.or_else(|| fields.iter().find_map(|(_, value)| repeated(value)))
        }
        _ => None,
    }
}

fn is_empty(list: &Node) -> bool {
    match list.get("items").map(|items| &items.value) {
        None => true,
        Some(Value::List(items)) => items.is_empty(),
        Some(_) => false,
    }
}

fn take_items(list: &mut Node) -> Vec<Node> {
    let Value::Map(fields) = &mut list.value else {
        return Vec::new();
    };
    let items = fields
        .iter_mut()
        .find(|(key, _)| &*key.text == "items")
        .map(|(_, items)| &mut items.value);
    match items {
        Some(Value::List(items)) => std::mem::take(items),
        _ => Vec::new(),
    }
}

/// An empty `List` does not say of what; its file does. Only of these a cluster may have none.
fn kind_of_file(path: &str) -> Option<Kind> {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let names = [
        ("clusterserviceversion", Kind::ClusterServiceVersion),
        ("csv", Kind::ClusterServiceVersion),
        ("apirequestcount", Kind::ApiRequestCount),
        // Hosted control planes have none.
        ("machineconfigpool", Kind::MachineConfigPool),
    ];
    names
        .into_iter()
        .find(|(part, _)| name.contains(part))
        .map(|(_, kind)| kind)
}
