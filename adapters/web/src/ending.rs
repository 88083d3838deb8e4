//! The end of a server, in stages, so that no request is lost on the way.
//!
//! First it tells load balancers and clients to go elsewhere and serves them all the same. Then it stops listening. Connections that were kept and are idle
//! are closed; one that has asked nothing yet may still ask once, because its client may have sent a request already.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use tokio::sync::watch;

/// How far the end has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Stage {
    Serving,
    /// Not ready, and every answer is the last of its connection.
    Draining,
    /// No new connections; idle ones that were kept are closed.
    ClosingKept,
    /// Those that have asked nothing yet are closed too.
    ClosingAll,
}

pub(crate) struct Ending {
    /// The same as in `stages`, to be looked at without a lock.
    stage: AtomicU8,
    stages: watch::Sender<Stage>,
}

/// One connection, as it matters for the end.
pub(crate) struct ConnectionState {
    ending: Arc<Ending>,
    answering: AtomicBool,
}

/// While a request is being answered.
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

    /// Tells of the stage there is, and of those to come.
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

    /// Whether a connection that waits for another request has to end.
    pub(crate) fn is_over(&self) -> bool {
        self.ending.has_come_to(Stage::ClosingKept) && !self.answering.load(Ordering::Relaxed)
    }
}

impl Drop for AnsweringGuard<'_> {
    fn drop(&mut self) {
        self.0.answering.store(false, Ordering::Relaxed);
    }
}
