//! The queue as the reporter and the sender share it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use towpath_core::finding::Finding;

use crate::{Queue, QueuedReport};

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

    /// Adds a report ([`Queue::push`]). If the queue has a folder, the report is on disk when this returns.
    pub fn push(&self, id: &str, bytes: &[u8]) -> Vec<Finding> {
        let findings = self.lock().push(id, bytes);
        self.news.notify_one();
        findings
    }

    pub fn waiting(&self) -> usize {
        self.lock().len()
    }

    /// Waits for the next report to send.
    pub(crate) async fn oldest(&self) -> QueuedReport {
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

    fn first(&self) -> Option<QueuedReport> {
        self.lock().oldest().cloned()
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
