//! What is known of a cluster at one moment, in the form that `formats::cluster_objects` reads.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use towpath_formats::SourceFile;

use crate::error::KubeError;
use crate::operator::OPERATOR_NAME;
use crate::store::{Freshness, Kept, Shelf};
use crate::subject::Subject;
use crate::update::RECORD_ANNOTATION;

#[derive(Debug, Clone)]
pub struct Objects {
    /// A file for each subject that was read, be it an old copy; a subject that is not there has no file, so that it is unknown. What this agent has said itself,
    /// its ClusterOperator, is not among them: it is no fact about the cluster.
    pub files: Vec<SourceFile>,
    /// Subjects of which there is nothing: everything was read, and nothing was there, or the API does not have the kind.
    pub none: BTreeSet<Subject>,
    /// The ClusterVersion, if there is one.
    pub version: Option<SeenVersion>,
    /// How fresh each subject is.
    pub states: BTreeMap<Subject, State>,
}

/// A ClusterVersion as it was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenVersion {
    /// What a write names, so that it is refused if anything has changed since.
    pub resource_version: String,
    /// The object, without what the API server keeps there for itself.
    pub json: Arc<str>,
    /// What an agent has written down there.
    pub record: Option<String>,
}

/// How fresh what is known of a subject is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    Current,
    /// The API does not have that kind.
    Absent,
    /// Nothing was read yet, perhaps because of this.
    NotRead(Option<KubeError>),
    /// Nothing was heard for so long, because of this; changes are missing.
    Behind(Duration, KubeError),
}

pub(crate) fn of(shelves: &BTreeMap<Subject, Shelf>, now: Instant) -> Objects {
    let was_read = |shelf: &Shelf| {
        matches!(
            shelf.freshness,
            Freshness::Current | Freshness::Behind { .. }
        )
    };
    let read = shelves.iter().filter(|(_, shelf)| was_read(shelf));
    let has_none = |shelf: &Shelf| {
        shelf.objects.is_empty() && !matches!(shelf.freshness, Freshness::NotRead(_))
    };
    let none = shelves.iter().filter(|(_, shelf)| has_none(shelf));
    Objects {
        files: read.map(|(subject, shelf)| file(*subject, shelf)).collect(),
        none: none.map(|(subject, _)| *subject).collect(),
        version: shelves
            .get(&Subject::ClusterVersion)
            .and_then(|shelf| shelf.objects.values().next())
            .map(seen),
        states: states(shelves, now),
    }
}

pub(crate) fn states(shelves: &BTreeMap<Subject, Shelf>, now: Instant) -> BTreeMap<Subject, State> {
    shelves
        .iter()
        .map(|(subject, shelf)| (*subject, state(&shelf.freshness, now)))
        .collect()
}

fn file(subject: Subject, shelf: &Shelf) -> SourceFile {
    let is_ours = |name: &str| subject == Subject::ClusterOperators && name == OPERATOR_NAME;
    let objects = shelf.objects.iter().filter(|((_, name), _)| !is_ours(name));
    let mut text = format!(
        "{{\"kind\":\"{}List\",\"items\":[",
        subject.selection().resource.kind
    );
    for (place, (_, kept)) in objects.enumerate() {
        if place > 0 {
            text.push_str(",\n");
        }
        text.push_str(&kept.json);
    }
    text.push_str("]}\n");
    SourceFile {
        path: format!("{}.json", subject.as_str()),
        bytes: text.into_bytes().into(),
    }
}

fn seen(kept: &Kept) -> SeenVersion {
    let object: Value = serde_json::from_str(&kept.json).unwrap_or_default();
    let record = object
        .pointer("/metadata/annotations")
        .and_then(|all| all.get(RECORD_ANNOTATION));
    SeenVersion {
        resource_version: kept.resource_version.clone(),
        json: kept.json.clone(),
        record: record.and_then(Value::as_str).map(str::to_owned),
    }
}

fn state(freshness: &Freshness, now: Instant) -> State {
    match freshness {
        Freshness::Current => State::Current,
        Freshness::Absent => State::Absent,
        Freshness::NotRead(problem) => State::NotRead(problem.clone()),
        Freshness::Behind { since, problem } => {
            State::Behind(now.saturating_duration_since(*since), problem.clone())
        }
    }
}
