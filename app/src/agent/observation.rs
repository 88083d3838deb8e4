//! An observation of the cluster: what the watches say, as known and unknown facts.
//!
//! An object without news for too long is unknown. If the API does not have the kind, or has no object of it, that is a known "none".
//! APIRequestCounts are an exception: an API that does not count requests says nothing about who uses which API.

use std::time::Duration;

use jiff::Timestamp;
use towpath_core::agent::Memory;
use towpath_core::cluster::objects::Facts;
use towpath_core::cluster::{Fact, Platform};
use towpath_core::finding::{Finding, Place};
use towpath_formats::SourceFile;
use towpath_formats::agent::read_record;
use towpath_formats::cluster::objects::{self, ClusterObjects, Kind};
use towpath_formats::fleet::report::platform_of;
use towpath_kube::{Objects, RECORD_ANNOTATION, State, Subject};

/// How long the last known objects count for the gate while a watch is broken: connections break, and come back.
const BELIEVED: Duration = Duration::from_secs(300);
/// How long a broken watch is not reported.
const UNNOTICED: Duration = Duration::from_secs(60);

/// What is known of the cluster at one moment.
#[derive(Debug)]
pub(super) struct Observation {
    /// What its objects say.
    pub(super) objects: ClusterObjects,
    /// What of that is known for certain right now: what a start depends on.
    pub(super) certain: Facts,
    /// What it runs on.
    pub(super) platform: Fact<Platform>,
    /// What a write names, so that it is refused if anything has changed since.
    pub(super) resource_version: String,
    /// What is remembered.
    pub(super) memory: Memory,
    /// What is odd, or cannot be read.
    pub(super) warnings: Vec<Finding>,
}

/// Looks. What cannot be understood is an error as a whole: an object less would be a reason less.
pub(super) fn observe(seen: Objects, now: Timestamp) -> Result<Observation, Vec<Finding>> {
    let mut warnings: Vec<Finding> = seen
        .states
        .iter()
        .filter_map(|(subject, state)| unheard(*subject, state))
        .collect();
    let is_believed = is_believed(&seen, Subject::ClusterVersion, BELIEVED);
    let Some(version) = seen.version.clone().filter(|_| is_believed) else {
        let nothing = || {
            let problem = "the cluster has no ClusterVersion";
            Finding::error(
                "no-cluster-version",
                subject_place(Subject::ClusterVersion),
                problem,
                "is it OpenShift?",
            )
        };
        let why = seen
            .states
            .get(&Subject::ClusterVersion)
            .and_then(|state| unheard(Subject::ClusterVersion, state));
        return Err(vec![why.map_or_else(nothing, as_error)]);
    };
    let memory = read_record(version.record.as_deref()).map_err(|problem| {
        let place = Place::file(format!("clusterversion/version, annotation {RECORD_ANNOTATION}"));
        let remedy =
            "check the cluster's history, then remove the annotation; the record of failed updates goes with it";
        vec![Finding::error("bad-record", place, format!("the agent's record cannot be read: {problem}"), remedy)]
    })?;
    let platform = platform(&seen);
    let (objects, more) = objects::read(&files(&seen, BELIEVED), now)?;
    let is_certain = !seen
        .states
        .values()
        .any(|state| matches!(state, State::Behind(..)));
    let certain = match is_certain {
        true => objects.facts.clone(),
        false => objects::read(&files(&seen, Duration::ZERO), now)?.0.facts,
    };
    warnings.extend(more);
    warnings.sort();
    Ok(Observation {
        objects,
        certain,
        platform,
        resource_version: version.resource_version,
        memory,
        warnings,
    })
}

/// Whether what is known of a subject is no older than that.
fn is_believed(seen: &Objects, subject: Subject, age: Duration) -> bool {
    match seen.states.get(&subject) {
        Some(State::Behind(since, _)) => *since <= age,
        Some(State::Absent) => subject != Subject::ApiRequestCounts,
        _ => true,
    }
}

/// The files to be read: without what is too old, and with what there is none of. The ClusterVersion is there in any case: a write names the state it was seen in.
fn files(seen: &Objects, age: Duration) -> Vec<SourceFile> {
    let is_believed =
        |subject: Subject| subject == Subject::ClusterVersion || is_believed(seen, subject, age);
    let named = |file: &SourceFile| {
        Subject::ALL
            .into_iter()
            .find(|subject| file.path == path(*subject))
    };
    let is_empty = |subject: Subject| seen.none.contains(&subject);
    let read = seen
        .files
        .iter()
        .filter(|file| named(file).is_some_and(|one| is_believed(one) && !is_empty(one)));
    let none = seen
        .none
        .iter()
        .copied()
        .filter(|subject| is_believed(*subject))
        .filter_map(empty);
    read.cloned().chain(none).collect()
}

/// That there is none of it, in a form that is read; nothing where every cluster has some.
fn empty(subject: Subject) -> Option<SourceFile> {
    let list = |kind: Kind| format!("{{\"kind\":\"{}List\",\"items\":[]}}", kind.as_str());
    let config_map = |namespace: &str, name: &str| {
        format!(
            "{{\"kind\":\"ConfigMap\",\"metadata\":{{\"namespace\":\"{namespace}\",\"name\":\"{name}\"}},\"data\":{{}}}}"
        )
    };
    let text = match subject {
        Subject::MachineConfigPools => list(Kind::MachineConfigPool),
        Subject::ClusterServiceVersions => list(Kind::ClusterServiceVersion),
        Subject::ApiRequestCounts => list(Kind::ApiRequestCount),
        Subject::AdminGates => config_map("openshift-config-managed", "admin-gates"),
        Subject::AdminAcks => config_map("openshift-config", "admin-acks"),
        Subject::ClusterVersion
        | Subject::ClusterOperators
        | Subject::Infrastructure
        | Subject::Nodes => return None,
    };
    Some(SourceFile::new(path(subject), text.into_bytes()))
}

fn platform(seen: &Objects) -> Fact<Platform> {
    let file = seen
        .files
        .iter()
        .find(|file| file.path == path(Subject::Infrastructure));
    let list = file.and_then(|file| serde_json::from_slice::<serde_json::Value>(&file.bytes).ok());
    let object = list.as_ref().and_then(|list| list.pointer("/items/0"));
    object.map_or(Fact::Unknown, |object| {
        platform_of(object.to_string().as_bytes())
    })
}

/// What is to be said of a subject that nothing is heard of.
fn unheard(subject: Subject, state: &State) -> Option<Finding> {
    let warn = |problem: String| {
        let remedy = "until then, updates that depend on it wait; `kubectl auth can-i --list` as the agent's service account lists its permissions";
        Some(Finding::warning(
            "not-heard",
            subject_place(subject),
            problem,
            remedy,
        ))
    };
    match state {
        State::Absent if subject == Subject::ApiRequestCounts => warn(
            "the cluster's API does not have this kind, so nobody can tell who uses APIs that go"
                .to_owned(),
        ),
        State::Current | State::Absent => None,
        State::NotRead(None) => warn("it has not been read yet".to_owned()),
        State::NotRead(Some(problem)) => warn(format!("it cannot be read: {problem}")),
        State::Behind(since, _) if *since < UNNOTICED => None,
        // For how long is measured, and not told here: words that change all the time would be a write each time.
        State::Behind(_, problem) => warn(format!("no news of it: {problem}")),
    }
}

fn as_error(finding: Finding) -> Finding {
    Finding::error(finding.code, finding.place, finding.problem, finding.remedy)
}

fn subject_place(subject: Subject) -> Place {
    Place::file(subject.as_str())
}

fn path(subject: Subject) -> String {
    format!("{}.json", subject.as_str())
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use towpath_kube::{KubeError, SeenVersion};

    use super::*;

    const VERSION: &str = r#"{"kind":"ClusterVersion","metadata":{"name":"version"},"spec":{"clusterID":"c"},
        "status":{"history":[{"state":"Completed","version":"4.20.1","completionTime":"2026-01-01T00:00:00Z"}]}}"#;

    /// A cluster with nothing but a ClusterVersion, and of nodes and that version nothing heard for so long.
    fn seen(version: u64, nodes: u64) -> Objects {
        let behind = |seconds: u64| match seconds {
            0 => State::Current,
            seconds => {
                let problem = KubeError::Unanswered {
                    call: "watch".to_owned(),
                    problem: "gone".to_owned(),
                };
                State::Behind(Duration::from_secs(seconds), problem)
            }
        };
        let state = |subject: Subject| match subject {
            Subject::ClusterVersion => behind(version),
            Subject::Nodes => behind(nodes),
            Subject::MachineConfigPools => State::Absent,
            _ => State::Current,
        };
        let file = |subject: Subject, item: &str| SourceFile {
            path: path(subject),
            bytes: format!(
                "{{\"kind\":\"{}List\",\"items\":[{item}]}}",
                if item.is_empty() {
                    "Node"
                } else {
                    "ClusterVersion"
                }
            )
            .into_bytes()
            .into(),
        };
        let others = Subject::ALL
            .into_iter()
            .filter(|subject| !matches!(subject, Subject::ClusterVersion | Subject::Nodes));
        Objects {
            files: vec![
                file(Subject::ClusterVersion, VERSION),
                file(Subject::Nodes, ""),
            ],
            none: others.collect::<BTreeSet<_>>(),
            version: Some(SeenVersion {
                resource_version: "7".to_owned(),
                json: VERSION.into(),
                record: None,
            }),
            states: Subject::ALL
                .into_iter()
                .map(|subject| (subject, state(subject)))
                .collect::<BTreeMap<_, _>>(),
        }
    }

    fn now() -> Timestamp {
        "2026-11-16T12:00:00Z".parse().unwrap()
    }

    #[test]
    fn a_cluster_version_that_is_not_heard_of_is_no_empty_one() {
        for (behind, is_judged) in [(0, true), (300, true), (301, false)] {
            let observation = observe(seen(behind, 0), now());
            assert_eq!(
                observation.is_ok(),
                is_judged,
                "{behind} s: {observation:?}"
            );
        }
    }

    #[test]
    fn what_is_not_heard_of_is_unknown_at_once_for_a_start_and_later_for_the_gate() {
        let known = |fact: &Fact<Vec<_>>| matches!(fact, Fact::Known(_));
        for (behind, certain, gate, told) in [
            (0, true, true, 0),
            (30, false, true, 0),
            (90, false, true, 1),
            (301, false, false, 1),
        ] {
            let observation = observe(seen(0, behind), now()).unwrap();
            let (at_once, later) = (
                known(&observation.certain.nodes),
                known(&observation.objects.facts.nodes),
            );
            assert_eq!(
                (at_once, later, observation.warnings.len()),
                (certain, gate, told),
                "{behind} s"
            );
            assert_eq!(
                observation
                    .objects
                    .standing
                    .current()
                    .map(ToString::to_string)
                    .as_deref(),
                Some("4.20.1")
            );
        }
    }

    #[test]
    fn an_api_that_does_not_count_requests_does_not_say_that_there_were_none() {
        let mut seen = seen(0, 0);
        seen.states.insert(Subject::ApiRequestCounts, State::Absent);
        let observation = observe(seen, now()).unwrap();
        assert_eq!(observation.objects.facts.apis, Fact::Unknown);
        assert_eq!(observation.certain.apis, Fact::Unknown);
        assert_eq!(observation.warnings.len(), 1);
    }

    #[test]
    fn what_there_is_none_of_is_known_to_be_none() {
        let observation = observe(seen(0, 0), now()).unwrap();
        let facts = &observation.objects.facts;
        assert_eq!(
            (&facts.pools, &facts.operators, &facts.apis),
            (
                &Fact::Known(vec![]),
                &Fact::Known(vec![]),
                &Fact::Known(vec![])
            )
        );
        assert!(
            matches!((&facts.gates, &facts.acks), (Fact::Known(gates), Fact::Known(acks)) if gates.is_empty() && acks.is_empty())
        );
    }
}
