//! Shuts a server down in stages, so that no request is lost.
//!
//! First it tells load balancers and clients to go elsewhere, and still serves them. Then it stops listening and closes
//! idle connections. A connection without any request yet may still send one, because it may be on its way.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use tokio::sync::watch;

/// The stage of the shutdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Stage {
    Serving,
    /// Not ready, and every answer is the last of its connection.
    Draining,
    /// No new connections; idle ones that were kept are closed.
    ClosingKept,
    /// Connections without any request are closed too.
    ClosingAll,
}

pub(crate) struct Ending {
    /// The same as in `stages`, for reading without a lock.
    stage: AtomicU8,
    stages: watch::Sender<Stage>,
}

/// The state of one connection, for the shutdown.
pub(crate) struct ConnectionState {
    ending: Arc<Ending>,
    answering: AtomicBool,
}

/// Marks that a request is being answered, until it is dropped.
pub(crate) struct AnsweringGuard<'a>(&'a ConnectionState);

impl Default for Ending {
    fn default() -> Self {
        Self {
            stage: AtomicU8::new(Stage::Serving as u8),
            stages: watch::Sender::new(Stage::Serving),
        }
    }
}

impl Ending {
    pub(crate) fn enter(&self, stage: Stage) {
        self.stage.store(stage as u8, Ordering::Release);
        self.stages.send_replace(stage);
    }

    pub(crate) fn has_come_to(&self, stage: Stage) -> bool {
        self.stage.load(Ordering::Acquire) >= stage as u8
    }

    /// The current stage and later ones.
    pub(crate) fn stages(&self) -> watch::Receiver<Stage> {
        let mut stages = self.stages.subscribe();
        stages.mark_changed();
        stages
    }
}

impl ConnectionState {
    pub(crate) fn new(ending: Arc<Ending>) -> Self {
        Self {
            ending,
            answering: AtomicBool::new(false),
        }
    }

    pub(crate) fn begin(&self) -> AnsweringGuard<'_> {
        self.answering.store(true, Ordering::Relaxed);
        AnsweringGuard(self)
    }

    /// Whether a connection that waits for another request must close.
    pub(crate) fn is_over(&self) -> bool {
        self.ending.has_come_to(Stage::ClosingKept) && !self.answering.load(Ordering::Relaxed)
    }
}

impl Drop for AnsweringGuard<'_> {
    fn drop(&mut self) {
        self.0.answering.store(false, Ordering::Relaxed);
    }
}
