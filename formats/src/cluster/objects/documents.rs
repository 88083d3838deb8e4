//! From files to objects: documents, lists, and which kinds were given at all.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use towpath_core::finding::{Finding, Place};

use super::{AGAIN, Kind, MAX_OBJECTS};
use crate::SourceFile;
use crate::read::{Node, Value, too_large, yaml};
use crate::words::plain;

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
pub(super) struct FoundObjects {
    pub(super) objects: Vec<Object>,
    /// Kinds that were given, even as an empty list.
    pub(super) given: BTreeSet<Kind>,
    /// How many objects are of other kinds.
    pub(super) ignored: usize,
    pub(super) findings: Vec<Finding>,
    seen: BTreeMap<(Kind, Arc<str>, Arc<str>), Place>,
}

pub(super) fn read(files: &[SourceFile]) -> FoundObjects {
    let mut found = FoundObjects::default();
    for file in files {
        let place = Place::file(file.path.as_str());
        // All of a file, or nothing.
        let mut nodes = Vec::new();
        let take = |node| nodes.push(node);
        match yaml::documents(&place, &file.bytes, yaml::MAX_FILE_BYTES, AGAIN, take) {
            Ok(()) => nodes
                .into_iter()
                .for_each(|node| found.take(&place, node, None)),
            Err(finding) => found.findings.push(finding),
        }
    }
    found
}

impl FoundObjects {
    /// Takes in an object, or those of a list. Items of a typed list need not name their kind.
    fn take(&mut self, file: &Place, mut node: Node, kind_of_list: Option<Kind>) {
        let place = node.at(file);
        let named = node.get("kind").and_then(Node::as_text).map(str::to_owned);
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
                let problem = "this is not an object of a cluster: it has no `kind`";
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
        if let Some(key) = node.repeated() {
            let place = key.at(place);
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
            let field = node.get("metadata").and_then(|node| node.get(field));
            field.and_then(Node::as_text).unwrap_or_default().into()
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
            return self.findings.push(too_large(
                &Place::file(place.file),
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

fn is_empty(list: &Node) -> bool {
    list.get("items")
        .is_none_or(|items| items.value == Value::List(Vec::new()))
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
