//! From files to objects: documents, lists, and which kinds were given at all.
//!
//! A must-gather prints an object in more than one file. Two prints of one object have its uid,
//! and the newer counts. Without a uid, or with two, there are two clusters in one directory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use towpath_core::finding::{Finding, Place};

use super::{AGAIN, Kind, MAX_OBJECTS, alerts, lifecycles, must_gather};
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
    /// What Prometheus answered.
    pub(super) alerts: Option<(Place, Node)>,
    /// What catalogues say about how long operators are supported.
    pub(super) lifecycles: Vec<(Place, Node)>,
    /// Whether it is a must-gather, which has some namespaces and not all.
    pub(super) is_must_gather: bool,
    seen: BTreeMap<(Kind, Arc<str>, Arc<str>), usize>,
}

/// What the items of a list are, if they do not say so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ListOf {
    /// It is no list, or one of anything.
    Anything,
    Those(Kind),
    /// Of a kind that says nothing about updates.
    Others,
}

pub(super) fn read(files: &[SourceFile]) -> FoundObjects {
    let mut found = FoundObjects {
        is_must_gather: must_gather::is_one(files),
        ..FoundObjects::default()
    };
    let is_must_gather = found.is_must_gather;
    let is_object = |file: &&SourceFile| !is_must_gather || must_gather::has_objects(&file.path);
    for file in files.iter().filter(is_object) {
        let place = Place::file(file.path.as_str());
        // All of a file, or nothing.
        let mut nodes = Vec::new();
        let take = |node| nodes.push(node);
        match yaml::documents(&place, &file.bytes, yaml::MAX_FILE_BYTES, AGAIN, take) {
            Ok(()) => nodes
                .into_iter()
                .for_each(|node| found.take(&place, node, ListOf::Anything)),
            Err(finding) => found.findings.push(finding),
        }
    }
    found
}

impl FoundObjects {
    /// Takes in an object, or those of a list. Items of a typed list need not name their kind.
    fn take(&mut self, file: &Place, mut node: Node, list_of: ListOf) {
        let place = node.at(file);
        let text = |name: &str| node.get(name).and_then(Node::as_text).map(str::to_owned);
        let (named, version) = (text("kind"), text("apiVersion"));
        let items_are = named.as_deref().and_then(|kind| kind.strip_suffix("List"));
        match (items_are, named.as_deref(), list_of) {
            (Some(kind), _, ListOf::Anything) => {
                let items_are = match (kind, Kind::of(version.as_deref(), kind)) {
                    (_, Some(kind)) => ListOf::Those(kind),
                    ("", None) => ListOf::Anything,
                    (_, None) => ListOf::Others,
                };
                let given = match items_are {
                    ListOf::Those(kind) => Some(kind),
                    _ => is_empty(&node).then(|| kind_of_file(&file.file)).flatten(),
                };
                self.given.extend(given);
                let items = take_items(&mut node);
                self.object_to_repeated(&place, &node);
                items
                    .into_iter()
                    .for_each(|item| self.take(file, item, items_are));
            }
            (_, Some(kind), _) => match Kind::of(version.as_deref(), kind) {
                Some(kind) => self.keep(kind, place, node),
                None => self.ignored += 1,
            },
            (_, None, ListOf::Those(kind)) => self.keep(kind, place, node),
            (_, None, ListOf::Others) => self.ignored += 1,
            (_, None, ListOf::Anything) if lifecycles::is_entry(&node) => {
                self.lifecycles.push((place, node));
            }
            (_, None, ListOf::Anything) if alerts::is_answer(&node) => {
                self.keep_alerts(place, node);
            }
            (_, None, ListOf::Anything) => {
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

    fn keep_alerts(&mut self, place: Place, node: Node) {
        match &self.alerts {
            None => self.alerts = Some((place, node)),
            Some((earlier, _)) => {
                let problem = format!("there are two answers with alerts, the first at {earlier}");
                let remedy = "give the newer one alone";
                let finding = Finding::error("given-twice", place, problem, remedy);
                self.findings.push(finding);
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
        let object = Object {
            kind,
            namespace,
            name,
            place,
            node,
        };
        // A directory is one cluster: two of them would hide each other's reasons.
        let identity = (kind, object.namespace.clone(), object.name.clone());
        match self.seen.get(&identity).copied() {
            None => {
                self.seen.insert(identity, self.objects.len());
                self.objects.push(object);
            }
            Some(index) => self.keep_newer(index, object),
        }
    }

    /// Of two prints of one object, the newer counts.
    fn keep_newer(&mut self, index: usize, object: Object) {
        let earlier = &mut self.objects[index];
        let (first, second) = (earlier.of_metadata("uid"), object.of_metadata("uid"));
        match first.is_some() && first == second {
            true if object.age() > earlier.age() => *earlier = object,
            true => {}
            false => {
                let problem = format!(
                    "{} {} is given twice, first at {}",
                    object.kind.as_str(),
                    plain(&object.name),
                    earlier.place
                );
                let remedy = "give the objects of one cluster, each once";
                let finding = Finding::error("given-twice", object.place, problem, remedy);
                self.findings.push(finding);
            }
        }
    }
}

impl Object {
    fn of_metadata(&self, field: &str) -> Option<&str> {
        let field = self.node.get("metadata")?.get(field)?;
        field.as_text().filter(|text| !text.is_empty())
    }

    /// Larger for a newer print; of etcd's numbers the larger is newer.
    fn age(&self) -> u64 {
        let version = self.of_metadata("resourceVersion");
        version.and_then(|text| text.parse().ok()).unwrap_or(0)
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
        ("machineconfig", Kind::MachineConfig),
        ("containerruntimeconfig", Kind::ContainerRuntimeConfig),
        ("poddisruptionbudget", Kind::PodDisruptionBudget),
        ("pdb", Kind::PodDisruptionBudget),
        ("persistentvolumes", Kind::PersistentVolume),
        ("installplan", Kind::InstallPlan),
    ];
    names
        .into_iter()
        .find(|(part, _)| name.contains(part))
        .map(|(_, kind)| kind)
}
