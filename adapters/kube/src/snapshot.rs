//! A cluster's objects at one moment, as files that `formats::cluster_objects` reads.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use towpath_formats::SourceFile;

use crate::error::KubeError;
use crate::operator::OPERATOR_NAME;
use crate::store::{Freshness, StoredObject, SubjectObjects};
use crate::subject::Subject;
use crate::update::RECORD_ANNOTATION;

#[derive(Debug, Clone)]
pub struct Objects {
    /// A file for each subject that was read, even if the copy is old. A subject that was not read has no file and counts as unknown.
    /// The agent's own ClusterOperator is left out: it is not a fact about the cluster.
    pub files: Vec<SourceFile>,
    /// Subjects without objects: the list was empty, or the API does not have the kind.
    pub none: BTreeSet<Subject>,
    /// The ClusterVersion, if there is one.
    pub version: Option<SeenVersion>,
    /// How fresh each subject is.
    pub states: BTreeMap<Subject, State>,
}

/// The ClusterVersion as last read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenVersion {
    /// Writes name it, so that the API refuses them if the object has changed since.
    pub resource_version: String,
    /// The object without the API server's own fields.
    pub json: Arc<str>,
    /// The agent's record.
    pub record: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    Current,
    /// The API does not have that kind.
    Absent,
    /// Not read yet; with the error, if there was one.
    NotRead(Option<KubeError>),
    /// The watch is broken for this long, because of this error. Changes may be missing.
    Behind(Duration, KubeError),
}

pub(crate) fn of(subjects: &BTreeMap<Subject, SubjectObjects>, now: Instant) -> Objects {
    let was_read = |subject_objects: &SubjectObjects| {
        matches!(
            subject_objects.freshness,
            Freshness::Current | Freshness::Behind { .. }
        )
    };
    let read = subjects
        .iter()
        .filter(|(_, subject_objects)| was_read(subject_objects));
    let has_none = |subject_objects: &SubjectObjects| {
        subject_objects.objects.is_empty()
            && !matches!(subject_objects.freshness, Freshness::NotRead(_))
    };
    let none = subjects
        .iter()
        .filter(|(_, subject_objects)| has_none(subject_objects));
    Objects {
        files: read
            .map(|(subject, subject_objects)| file(*subject, subject_objects))
            .collect(),
        none: none.map(|(subject, _)| *subject).collect(),
        version: subjects
            .get(&Subject::ClusterVersion)
            .and_then(|subject_objects| subject_objects.objects.values().next())
            .map(seen),
        states: states(subjects, now),
    }
}

pub(crate) fn states(
    subjects: &BTreeMap<Subject, SubjectObjects>,
    now: Instant,
) -> BTreeMap<Subject, State> {
    subjects
        .iter()
        .map(|(subject, subject_objects)| (*subject, state(&subject_objects.freshness, now)))
        .collect()
}

fn file(subject: Subject, subject_objects: &SubjectObjects) -> SourceFile {
    let is_ours = |name: &str| subject == Subject::ClusterOperators && name == OPERATOR_NAME;
    let objects = subject_objects
        .objects
        .iter()
        .filter(|((_, name), _)| !is_ours(name));
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

fn seen(kept: &StoredObject) -> SeenVersion {
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
