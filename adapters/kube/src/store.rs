//! The watched objects: for each subject the trimmed objects as JSON, and how fresh they are.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use kube::api::DynamicObject;
use tokio::sync::watch;

use crate::error::KubeError;
use crate::subject::Subject;
use crate::trim::trimmed;

/// The most objects of one subject.
pub(crate) const MAX_OBJECTS: usize = 50_000;
/// The most bytes of one subject. Files of objects are limited to 128 MiB.
pub(crate) const MAX_BYTES: usize = 64 << 20;

/// An object by namespace and name.
type Key = (String, String);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredObject {
    pub(crate) json: Arc<str>,
    /// Writes name it, so that they only change the version that was read.
    pub(crate) resource_version: String,
}

#[derive(Debug, Clone)]
pub(crate) enum Freshness {
    NotRead(Option<KubeError>),
    Absent,
    Current,
    Behind { since: Instant, problem: KubeError },
}

/// The objects of one subject.
#[derive(Debug)]
pub(crate) struct SubjectObjects {
    pub(crate) objects: BTreeMap<Key, StoredObject>,
    pub(crate) freshness: Freshness,
    bytes: usize,
}

/// A list that is being read, page by page.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    objects: BTreeMap<Key, StoredObject>,
    bytes: usize,
}

#[derive(Debug)]
pub(crate) struct SizeLimitReached(pub(crate) String);

/// All subjects. Clones share one store.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    subjects: Arc<Mutex<BTreeMap<Subject, SubjectObjects>>>,
    changes: watch::Sender<u64>,
}

impl Store {
    pub(crate) fn new() -> Self {
        let empty = |subject| {
            (
                subject,
                SubjectObjects {
                    objects: BTreeMap::new(),
                    freshness: Freshness::NotRead(None),
                    bytes: 0,
                },
            )
        };
        Self {
            subjects: Arc::new(Mutex::new(Subject::ALL.into_iter().map(empty).collect())),
            changes: watch::Sender::new(0),
        }
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    pub(crate) fn subjects(&self) -> MutexGuard<'_, BTreeMap<Subject, SubjectObjects>> {
        self.subjects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the objects with a complete list.
    pub(crate) fn replace(&self, subject: Subject, listing: Listing) {
        self.change(subject, |subject_objects| {
            let is_new = !matches!(subject_objects.freshness, Freshness::Current)
                || !same(&subject_objects.objects, &listing.objects);
            (subject_objects.objects, subject_objects.bytes) = (listing.objects, listing.bytes);
            subject_objects.freshness = Freshness::Current;
            is_new
        });
    }

    /// Adds or replaces an object.
    pub(crate) fn put(
        &self,
        subject: Subject,
        object: DynamicObject,
    ) -> Result<(), SizeLimitReached> {
        let (key, kept) = keep(subject, object);
        let mut full = None;
        self.change(subject, |subject_objects| {
            let before = subject_objects.objects.get(&key).cloned();
            subject_objects.bytes = subject_objects.bytes
                - before.as_ref().map_or(0, |kept| kept.json.len())
                + kept.json.len();
            let is_new = before
                .as_ref()
                .is_none_or(|before| before.json != kept.json);
            subject_objects.objects.insert(key, kept);
            full = check(subject_objects.objects.len(), subject_objects.bytes).err();
            is_new
        });
        full.map_or(Ok(()), Err)
    }

    pub(crate) fn remove(&self, subject: Subject, object: DynamicObject) {
        let (key, _) = keep(subject, object);
        self.change(subject, |subject_objects| {
            match subject_objects.objects.remove(&key) {
                Some(kept) => {
                    subject_objects.bytes -= kept.json.len();
                    true
                }
                None => false,
            }
        });
    }

    pub(crate) fn absent(&self, subject: Subject) {
        self.change(subject, |subject_objects| {
            let is_new = !matches!(subject_objects.freshness, Freshness::Absent);
            (
                subject_objects.objects,
                subject_objects.bytes,
                subject_objects.freshness,
            ) = (BTreeMap::new(), 0, Freshness::Absent);
            is_new
        });
    }

    /// The watch continues where it stopped.
    pub(crate) fn resumed(&self, subject: Subject) {
        self.change(subject, |subject_objects| {
            let is_new = !matches!(subject_objects.freshness, Freshness::Current);
            subject_objects.freshness = Freshness::Current;
            is_new
        });
    }

    /// The watch failed. The objects stay, and their age grows.
    pub(crate) fn failed(&self, subject: Subject, problem: KubeError) {
        self.change(subject, |subject_objects| {
            let (next, is_new) = match &subject_objects.freshness {
                Freshness::Current => (
                    Freshness::Behind {
                        since: Instant::now(),
                        problem,
                    },
                    true,
                ),
                Freshness::Behind {
                    since,
                    problem: before,
                } => {
                    let is_new = *before != problem;
                    (
                        Freshness::Behind {
                            since: *since,
                            problem,
                        },
                        is_new,
                    )
                }
                Freshness::NotRead(before) if before.as_ref() == Some(&problem) => {
                    (Freshness::NotRead(Some(problem)), false)
                }
                // There was none of it when it was last looked for, and there is none until something else is seen.
                Freshness::Absent => (Freshness::Absent, false),
                Freshness::NotRead(_) => (Freshness::NotRead(Some(problem)), true),
            };
            subject_objects.freshness = next;
            is_new
        });
    }

    /// Changes a subject, and wakes waiting tasks if the closure says that something is new.
    fn change(&self, subject: Subject, change: impl FnOnce(&mut SubjectObjects) -> bool) {
        let is_new = self.subjects().get_mut(&subject).is_some_and(change);
        if is_new {
            self.changes
                .send_modify(|count| *count = count.wrapping_add(1));
        }
    }
}

impl Listing {
    pub(crate) fn add(
        &mut self,
        subject: Subject,
        object: DynamicObject,
    ) -> Result<(), SizeLimitReached> {
        let (key, kept) = keep(subject, object);
        self.bytes += kept.json.len();
        if let Some(before) = self.objects.insert(key, kept) {
            self.bytes -= before.json.len();
        }
        check(self.objects.len(), self.bytes)
    }
}

fn keep(subject: Subject, object: DynamicObject) -> (Key, StoredObject) {
    let metadata = &object.metadata;
    let key = (
        metadata.namespace.clone().unwrap_or_default(),
        metadata.name.clone().unwrap_or_default(),
    );
    let resource_version = metadata.resource_version.clone().unwrap_or_default();
    let json = trimmed(subject, object).to_string();
    (
        key,
        StoredObject {
            json: json.into(),
            resource_version,
        },
    )
}

fn same(one: &BTreeMap<Key, StoredObject>, other: &BTreeMap<Key, StoredObject>) -> bool {
    one.len() == other.len()
        && one
            .iter()
            .zip(other)
            .all(|((a, x), (b, y))| a == b && x.json == y.json)
}

fn check(objects: usize, bytes: usize) -> Result<(), SizeLimitReached> {
    match (objects > MAX_OBJECTS, bytes > MAX_BYTES) {
        (false, false) => Ok(()),
        (true, _) => Err(SizeLimitReached(format!(
            "there are more than {MAX_OBJECTS} objects"
        ))),
        (false, true) => Err(SizeLimitReached(format!(
            "there are more than {MAX_BYTES} bytes of objects"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn node(version: u32, zone: &str) -> DynamicObject {
        let object: Value = json!({
            "metadata": {"name": "n", "resourceVersion": version.to_string(), "labels": {"zone": zone}},
            "status": {"conditions": [{"type": "Ready", "lastHeartbeatTime": version}]},
        });
        serde_json::from_value(object).unwrap()
    }

    fn broken() -> KubeError {
        KubeError::Unanswered {
            call: "watch nodes".into(),
            problem: "gone".into(),
        }
    }

    #[test]
    fn only_what_somebody_reads_wakes() {
        let store = Store::new();
        let mut changes = store.changes();
        let mut woken = |act: &dyn Fn()| {
            changes.mark_unchanged();
            act();
            changes.has_changed().unwrap()
        };
        assert!(woken(&|| store.replace(Subject::Nodes, Listing::default())));
        assert!(
            !woken(&|| store.replace(Subject::Nodes, Listing::default())),
            "the same list"
        );
        assert!(woken(&|| store.put(Subject::Nodes, node(1, "a")).unwrap()));
        assert!(
            !woken(&|| store.put(Subject::Nodes, node(2, "a")).unwrap()),
            "a heartbeat"
        );
        assert!(woken(&|| store.put(Subject::Nodes, node(3, "b")).unwrap()));
        assert!(woken(&|| store.failed(Subject::Nodes, broken())));
        assert!(
            !woken(&|| store.failed(Subject::Nodes, broken())),
            "it is known already"
        );
        assert!(woken(&|| store.resumed(Subject::Nodes)));
        assert!(!woken(&|| store.resumed(Subject::Nodes)));
        assert!(woken(&|| store.remove(Subject::Nodes, node(4, "b"))));
        assert!(!woken(&|| store.remove(Subject::Nodes, node(4, "b"))));
        assert!(woken(&|| store.absent(Subject::Nodes)));
        assert!(!woken(&|| store.absent(Subject::Nodes)));
    }

    #[test]
    fn a_watch_that_broke_keeps_what_was_known_and_since_when_it_is_old() {
        let store = Store::new();
        store.replace(Subject::Nodes, Listing::default());
        store.put(Subject::Nodes, node(1, "a")).unwrap();
        store.failed(Subject::Nodes, broken());
        let since = |store: &Store| match &store.subjects()[&Subject::Nodes].freshness {
            Freshness::Behind { since, .. } => *since,
            other => panic!("{other:?}"),
        };
        let first = since(&store);
        store.failed(
            Subject::Nodes,
            KubeError::TooLarge {
                call: String::new(),
                problem: String::new(),
            },
        );
        assert_eq!(since(&store), first, "the first failure counts");
        assert_eq!(store.subjects()[&Subject::Nodes].objects.len(), 1);
    }

    #[test]
    fn there_is_a_limit() {
        assert!(check(MAX_OBJECTS, MAX_BYTES).is_ok());
        assert!(check(MAX_OBJECTS + 1, 0).is_err());
        assert!(check(0, MAX_BYTES + 1).is_err());
    }
}
