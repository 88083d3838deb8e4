//! Where reports are put, and where the sender finds them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use towpath_core::finding::Finding;

use crate::{Queue, Queued};

/// A queue that is shared between who reports and who sends.
#[derive(Debug)]
pub struct Outbox {
    queue: Mutex<Queue>,
    news: Notify,
}

impl Outbox {
    pub fn new(queue: Queue) -> Arc<Self> {
        Arc::new(Self {
            queue: Mutex::new(queue),
            news: Notify::new(),
        })
    }

    /// Adds a report ([`Queue::push`]). It is on disk when this returns, if there is a folder for it.
    pub fn push(&self, id: &str, bytes: &[u8]) -> Vec<Finding> {
        let findings = self.lock().push(id, bytes);
        self.news.notify_one();
        findings
    }

    pub fn waiting(&self) -> usize {
        self.lock().len()
    }

    /// The one to be sent next, as soon as there is one.
    pub(crate) async fn oldest(&self) -> Queued {
        loop {
            if let Some(queued) = self.first() {
                return queued;
            }
            self.news.notified().await;
        }
    }

    pub(crate) fn done(&self, id: &str) {
        self.lock().done(id);
    }

    fn first(&self) -> Option<Queued> {
        self.lock().oldest().cloned()
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
