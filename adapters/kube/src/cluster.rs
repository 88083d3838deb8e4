//! The connection to one cluster, and the watches on its objects.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::connect::{self, Access, Settings};
use crate::count::{Counter, Requests};
use crate::error::KubeError;
use crate::snapshot::{self, Objects, State};
use crate::store::Store;
use crate::subject::Subject;
use crate::watch::watch;

/// Watches a cluster until it is dropped.
pub struct Cluster {
    pub(crate) client: kube::Client,
    pub(crate) settings: Settings,
    pub(crate) store: Store,
    counter: Counter,
    _watches: JoinSet<()>,
}

/// Wakes a waiting task when something has changed: once, even for many changes.
#[derive(Debug)]
pub struct Changes(watch::Receiver<u64>);

/// The subjects that could not be read in time, each with its error if there was one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadSubjects(pub BTreeMap<Subject, Option<KubeError>>);

impl Cluster {
    /// Reads the configuration and begins to watch, on the current runtime.
    /// [`Cluster::objects`] shows whether the API answers.
    pub async fn connect(access: &Access, settings: Settings) -> Result<Self, KubeError> {
        let counter = Counter::default();
        let client = connect::client(access, &settings, &counter).await?;
        let store = Store::new();
        let mut watches = JoinSet::new();
        for subject in Subject::ALL {
            watches.spawn(watch(
                client.clone(),
                settings.clone(),
                subject,
                store.clone(),
            ));
        }
        Ok(Self {
            client,
            settings,
            store,
            counter,
            _watches: watches,
        })
    }

    /// What is known right now. Sends no request.
    pub fn objects(&self) -> Objects {
        snapshot::of(&self.store.subjects(), Instant::now())
    }

    /// How fresh each subject is. Sends no request, and is cheap.
    pub fn states(&self) -> BTreeMap<Subject, State> {
        snapshot::states(&self.store.subjects(), Instant::now())
    }

    /// Wakes at every change from now on.
    pub fn changes(&self) -> Changes {
        Changes(self.store.changes())
    }

    /// Waits until every subject has been read once.
    pub async fn read_once(&self, limit: Duration) -> Result<(), UnreadSubjects> {
        let mut changes = self.changes();
        let end = tokio::time::Instant::now() + limit;
        loop {
            let unread: BTreeMap<_, _> = self.states().into_iter().filter_map(unread).collect();
            if unread.is_empty() {
                return Ok(());
            }
            if tokio::time::timeout_at(end, changes.next()).await.is_err() {
                return Err(UnreadSubjects(unread));
            }
        }
    }

    pub fn requests(&self) -> Requests {
        self.counter.so_far()
    }
}

fn unread((subject, state): (Subject, State)) -> Option<(Subject, Option<KubeError>)> {
    match state {
        State::NotRead(problem) => Some((subject, problem)),
        State::Current | State::Absent | State::Behind(..) => None,
    }
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cluster")
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}

impl Changes {
    /// Waits for a change since the last call, or since [`Cluster::changes`].
    pub async fn next(&mut self) {
        if self.0.changed().await.is_err() {
            // The cluster is gone, and nothing will ever change again.
            std::future::pending::<()>().await;
        }
    }
}

impl std::fmt::Display for UnreadSubjects {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (place, (subject, problem)) in self.0.iter().enumerate() {
            let line = if place > 0 { "\n" } else { "" };
            match problem {
                Some(problem) => write!(f, "{line}{}: {problem}", subject.as_str())?,
                None => write!(f, "{line}{}: not read in time", subject.as_str())?,
            }
        }
        Ok(())
    }
}

impl std::error::Error for UnreadSubjects {}
