//! What the watch last said, for whoever asks: the fleet API and metrics.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use towpath_core::feedback::WatchDecision;
use towpath_web::WatchMetrics;

/// The last pass that was made here.
#[derive(Default)]
pub(crate) struct PublishedWatch(Mutex<WatchState>);

#[derive(Default)]
struct WatchState {
    decisions: Arc<[WatchDecision]>,
    at: Option<Timestamp>,
    passes: u64,
    failed_passes: u64,
    is_watcher: bool,
}

impl PublishedWatch {
    pub(super) fn publish(&self, decisions: Vec<WatchDecision>, at: Timestamp) {
        let mut state = self.state();
        state.decisions = decisions.into();
        state.at = Some(at);
        state.passes += 1;
    }

    /// Whether this replica acts. The lease may come and go between two judgements.
    pub(super) fn acts(&self, is_watcher: bool) {
        self.state().is_watcher = is_watcher;
    }

    pub(super) fn pass_failed(&self) {
        let mut state = self.state();
        state.failed_passes += 1;
        state.is_watcher = false;
    }

    /// The last decisions, in the order of their releases, and when they were made. None: no pass was made yet.
    pub(crate) fn last(&self) -> Option<(Arc<[WatchDecision]>, Timestamp)> {
        let state = self.state();
        state.at.map(|at| (state.decisions.clone(), at))
    }

    pub(crate) fn metrics(&self) -> WatchMetrics {
        let state = self.state();
        let mut answers = BTreeMap::new();
        for decision in &*state.decisions {
            let answer = decision.judgement.assessment.answer;
            *answers.entry(answer.code()).or_default() += 1;
        }
        WatchMetrics {
            passes: state.passes,
            failed_passes: state.failed_passes,
            last_pass: state.at,
            is_watcher: state.is_watcher,
            answers,
        }
    }

    fn state(&self) -> MutexGuard<'_, WatchState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
