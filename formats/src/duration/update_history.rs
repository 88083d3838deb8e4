//! Completed updates, from the history of ClusterVersions in YAML or JSON: one object, lists, or
//! several documents.
//!
//! An entry counts if it completed and follows a completed entry of another version. Others are
//! counted and left out: installations, unfinished and redirected updates, and rollbacks. Objects
//! of other kinds are skipped, so a directory with a cluster's objects works as it is.
//!
//! What a fleet's store has seen of updates counts beside them.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use towpath_core::duration::{OperatorRest, Update};
use towpath_core::feedback::Attempt;
use towpath_core::finding::{Finding, Place};
use towpath_core::version::{ReleaseName, Version};

use super::cluster_sizes::{ClusterSizes, NODES};
use crate::SourceFile;
use crate::graph::data::parse_time;
use crate::read::{Node, Value, shown, yaml};
use crate::words::counted;

pub const MAX_BYTES: usize = 64 << 20;
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
    /// When operators came to rest in the newest update of their cluster, where that is known.
    pub rests: Vec<OperatorRest>,
    /// How much was read, and what was left out.
    pub counts: Counts,
    /// What is wrong with what was read. An error: the file was left out. A warning: the entry was.
    pub findings: Vec<Finding>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    pub cluster_versions: usize,
    /// Updates that a store has seen.
    pub attempts: usize,
    /// Entries of their histories that are no update of ours, by the reason.
    pub left_out: BTreeMap<HistoryOmission, usize>,
}

/// Why an entry was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HistoryOmission {
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

/// Reads all updates that these files tell of, and takes those that a store has seen. What both tell of is taken from the file.
pub fn read(files: &[SourceFile], attempts: &[Attempt]) -> Histories {
    let mut reading = HistoryReading::default();
    for file in files {
        let place = Place::file(file.path.as_str());
        if let Err(finding) = reading.file(&place, &file.bytes) {
            reading.histories.findings.push(finding);
        }
    }
    for attempt in attempts {
        reading.attempt(attempt);
    }
    let sizes = reading.sizes.by_cluster();
    for update in &mut reading.histories.updates {
        update.nodes = sizes.get(&*update.cluster).copied();
    }
    reading.histories.updates.sort();
    reading.histories.rests = reading.rests();
    reading.histories.findings.sort();
    reading.histories
}

impl Counts {
    /// Where updates were looked for, in words.
    pub(super) fn sources(&self) -> String {
        let files = counted(self.cluster_versions, "ClusterVersion");
        let seen = counted(self.attempts, "update");
        match (self.cluster_versions, self.attempts) {
            (_, 0) => files,
            (0, _) => format!("{seen} of the store"),
            (_, _) => format!("{files} and {seen} of the store"),
        }
    }
}

impl HistoryOmission {
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
struct HistoryReading {
    histories: Histories,
    /// What was seen: cluster, start and target.
    seen: BTreeSet<(String, Timestamp, Version)>,
    /// The same without the start: a store knows it less exactly.
    reached: BTreeSet<(String, Version)>,
    sizes: ClusterSizes,
    /// The newest update of each cluster, if it is one that counts.
    newest: BTreeMap<String, (Timestamp, u64)>,
    /// Operators that are at rest: the file, the name, and since when.
    at_rest: Vec<(String, String, Timestamp)>,
}

/// An entry of a history.
struct HistoryUpdate {
    version: Version,
    started: Timestamp,
    completed: Option<Timestamp>,
}

impl HistoryReading {
    fn file(&mut self, place: &Place, bytes: &[u8]) -> Result<(), Finding> {
        let remedy = "write it again, as `oc get clusterversion -o json` does";
        yaml::documents(place, bytes, MAX_BYTES, remedy, |node| {
            self.object(place, &node, 0)
        })
    }

    /// A ClusterVersion, a Node, or a list of objects; anything else is passed over.
    fn object(&mut self, place: &Place, node: &Node, depth: usize) {
        let mut lists = [Some(node), node.get("items")].into_iter().flatten();
        let list = lists.find(|node| matches!(node.value, Value::List(_)));
        match (list, text_of(node, "kind")) {
            (Some(list), _) if depth < MAX_DEPTH => list
                .items()
                .iter()
                .for_each(|item| self.object(place, item, depth + 1)),
            (None, Some("ClusterVersion")) => self.cluster_version(place, node),
            (None, Some("ClusterOperator")) => self.operator(place, node),
            (None, Some("Node")) => self.sizes.add_node(&place.file, node),
            _ => {}
        }
    }

    /// Since when a ClusterOperator is at rest.
    fn operator(&mut self, place: &Place, node: &Node) {
        let name = node.get("metadata").and_then(|of| text_of(of, "name"));
        let conditions = node.get("status").and_then(|of| of.get("conditions"));
        let mut conditions = conditions.map_or(&[][..], Node::items).iter();
        let progressing = conditions.find(|one| text_of(one, "type") == Some("Progressing"));
        let since = progressing
            .filter(|one| text_of(one, "status") == Some("False"))
            .and_then(|one| text_of(one, "lastTransitionTime"))
            .and_then(|text| parse_time(text).ok());
        if let (Some(name), Some(since)) = (name, since) {
            let rest = (place.file.to_string(), name.to_owned(), since);
            self.at_rest.push(rest);
        }
    }

    /// Those that came to rest within the newest update of their cluster. Each counts once.
    fn rests(&self) -> Vec<OperatorRest> {
        let within = self.at_rest.iter().filter_map(|(path, operator, since)| {
            let cluster = self.sizes.only_cluster(path)?;
            let (started, of) = *self.newest.get(cluster)?;
            let after = u64::try_from(started.duration_until(*since).as_secs()).ok()?;
            (after <= of).then(|| OperatorRest {
                cluster: cluster.to_owned(),
                operator: operator.clone(),
                after,
                of,
            })
        });
        let once: BTreeSet<OperatorRest> = within.collect();
        once.into_iter().collect()
    }

    fn cluster_version(&mut self, place: &Place, node: &Node) {
        self.histories.counts.cluster_versions += 1;
        let history = node.get("status").and_then(|status| status.get("history"));
        let entries = history.map_or(&[][..], Node::items);
        let entries = &entries[..entries.len().min(MAX_ENTRIES)];
        let read: Vec<Option<HistoryUpdate>> =
            entries.iter().map(|node| self.entry(place, node)).collect();
        // A cluster without an id is told apart by when it was installed.
        let first = || {
            read.last()
                .and_then(Option::as_ref)
                .map_or_else(String::new, |entry| entry.started.to_string())
        };
        let id = node.get("spec").and_then(|spec| text_of(spec, "clusterID"));
        let cluster = id.map_or_else(first, str::to_owned);
        if let Err(problem) = self.sizes.add_cluster(&place.file, &cluster, node) {
            let remedy = format!("write it as in {NODES}: \"250\"");
            let finding = Finding::warning("bad-nodes", node.at(place), problem, remedy);
            self.histories.findings.push(finding);
        }
        for (at, entry) in read.iter().enumerate() {
            let before = read.get(at + 1);
            let update = update(entry.as_ref(), before.map(Option::as_ref));
            if let (0, Ok((_, seconds)), Some(entry)) = (at, &update, entry) {
                let newest = (entry.started, *seconds);
                self.newest.insert(cluster.clone(), newest);
            }
            match update {
                Ok((from, seconds)) => self.keep(&cluster, entry.as_ref(), from, seconds),
                Err(reason) => self.leave_out(reason),
            }
        }
    }

    /// An update that a store has seen.
    fn attempt(&mut self, attempt: &Attempt) {
        self.histories.counts.attempts += 1;
        let cluster = attempt.cluster.as_str();
        if self
            .reached
            .contains(&(cluster.to_owned(), attempt.to.clone()))
        {
            return self.leave_out(HistoryOmission::Again);
        }
        let Some(completed) = attempt.completed_at else {
            return self.leave_out(HistoryOmission::Unfinished);
        };
        if attempt.to <= attempt.from {
            return self.leave_out(HistoryOmission::NotForward);
        }
        let seconds = attempt.started_at.duration_until(completed).as_secs();
        match u64::try_from(seconds) {
            Ok(took) if (1..=MAX_SECONDS).contains(&seconds) => {
                let entry = HistoryUpdate {
                    version: attempt.to.clone(),
                    started: attempt.started_at,
                    completed: Some(completed),
                };
                self.keep(cluster, Some(&entry), attempt.from.clone(), took);
            }
            _ => self.leave_out(HistoryOmission::Unreadable),
        }
    }

    fn keep(&mut self, cluster: &str, entry: Option<&HistoryUpdate>, from: Version, seconds: u64) {
        let Some(HistoryUpdate {
            version, started, ..
        }) = entry
        else {
            return;
        };
        let is_new = self
            .seen
            .insert((cluster.to_owned(), *started, version.clone()));
        if !is_new {
            return self.leave_out(HistoryOmission::Again);
        }
        if self.histories.updates.len() >= MAX_UPDATES {
            return self.leave_out(HistoryOmission::Unreadable);
        }
        let (cluster, started, to) = (cluster.to_owned(), *started, version.clone());
        self.reached.insert((cluster.clone(), to.clone()));
        self.histories.updates.push(Update {
            cluster,
            started,
            from,
            to,
            seconds,
            nodes: None,
        });
    }

    fn leave_out(&mut self, reason: HistoryOmission) {
        *self.histories.counts.left_out.entry(reason).or_default() += 1;
    }

    /// An entry; none, with a warning, if it cannot be read.
    fn entry(&mut self, place: &Place, node: &Node) -> Option<HistoryUpdate> {
        let read = || -> Result<HistoryUpdate, String> {
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
                true => Ok(HistoryUpdate {
                    version,
                    started,
                    completed,
                }),
                false => Err(format!(
                    "{seconds} seconds is not a possible time for an update"
                )),
            }
        };
        read()
            .map_err(|problem| {
                let place = node.at(place);
                let problem = format!(
                    "an entry of the history cannot be read: {}",
                    shown(&problem)
                );
                let remedy = "there is nothing to do; it is left out";
                self.histories
                    .findings
                    .push(Finding::warning("bad-entry", place, problem, remedy));
            })
            .ok()
    }
}

/// Where an update came from and how long it took; or why there is none.
fn update(
    entry: Option<&HistoryUpdate>,
    before: Option<Option<&HistoryUpdate>>,
) -> Result<(Version, u64), HistoryOmission> {
    let entry = entry.ok_or(HistoryOmission::Unreadable)?;
    let completed = entry.completed.ok_or(HistoryOmission::Unfinished)?;
    let before = before
        .ok_or(HistoryOmission::Installation)?
        .ok_or(HistoryOmission::Unreadable)?;
    match (before.completed, before.version < entry.version) {
        (None, _) => Err(HistoryOmission::Retargeted),
        (Some(_), false) => Err(HistoryOmission::NotForward),
        (Some(_), true) => {
            let seconds = entry.started.duration_until(completed).as_secs();
            Ok((
                before.version.clone(),
                u64::try_from(seconds).map_err(|_| HistoryOmission::Unreadable)?,
            ))
        }
    }
}

fn text_of<'n>(node: &'n Node, name: &str) -> Option<&'n str> {
    node.get(name)?.as_text()
}
