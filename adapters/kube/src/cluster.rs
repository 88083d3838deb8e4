//! A cluster that is watched.

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

/// A cluster that is watched as long as this lives.
pub struct Cluster {
    pub(crate) client: kube::Client,
    pub(crate) settings: Settings,
    pub(crate) store: Store,
    counter: Counter,
    _watches: JoinSet<()>,
}

/// Wakes whoever waits for a change: once, however many there were.
#[derive(Debug)]
pub struct Changes(watch::Receiver<u64>);

/// Some subjects could not be read in time, each perhaps because of something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotRead(pub BTreeMap<Subject, Option<KubeError>>);

impl Cluster {
    /// Reads the configuration and begins to watch, on the runtime that this is called on. Whether the API answers is seen in [`Cluster::objects`].
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

    /// What is known right now. Asks nothing of the API.
    pub fn objects(&self) -> Objects {
        snapshot::of(&self.store.shelves(), Instant::now())
    }

    /// How fresh each subject is. Asks nothing of the API, and costs little.
    pub fn states(&self) -> BTreeMap<Subject, State> {
        snapshot::states(&self.store.shelves(), Instant::now())
    }

    /// Wakes at the next change, and at all that come after.
    pub fn changes(&self) -> Changes {
        Changes(self.store.changes())
    }

    /// Waits until everything that the API has was read once.
    pub async fn read_once(&self, limit: Duration) -> Result<(), NotRead> {
        let mut changes = self.changes();
        let end = tokio::time::Instant::now() + limit;
        loop {
            let unread: BTreeMap<_, _> = self.states().into_iter().filter_map(unread).collect();
            if unread.is_empty() {
                return Ok(());
            }
            if tokio::time::timeout_at(end, changes.next()).await.is_err() {
                return Err(NotRead(unread));
            }
        }
    }

    /// How many requests were sent so far, by verb and resource.
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

impl std::fmt::Display for NotRead {
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

impl std::error::Error for NotRead {}
