//! Reports on their way into the store: a bounded queue, and a few writers that each write all that waits in one transaction.

use std::sync::Arc;
use std::time::Instant;

use jiff::SignedDuration;
use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use towpath_core::repeats::Repeats;
use towpath_store::{ClusterReport, RecordOutcome, Store};
use towpath_web::FleetAnswer;

use super::published_fleet::{GraphSource, PublishedFleet};

/// Reports that wait to be written; one more is told to come back.
const MAX_WAITING: usize = 20_000;
/// Reports that are written in one transaction.
const BATCH: usize = 500;

#[derive(Clone)]
pub(super) struct ReportQueue(mpsc::Sender<QueuedReport>);

struct QueuedReport {
    report: ClusterReport,
    done: oneshot::Sender<Result<RecordOutcome, String>>,
}

impl ReportQueue {
    /// Starts the writers.
    pub(super) fn start(
        store: &Store,
        published_fleet: &Arc<PublishedFleet>,
        graph: &GraphSource,
        allowance: SignedDuration,
    ) -> Self {
        let (reports, waiting) = mpsc::channel(MAX_WAITING);
        let waiting = Arc::new(tokio::sync::Mutex::new(waiting));
        for _ in 0..store.backend().writers() {
            tokio::spawn(write(
                store.clone(),
                waiting.clone(),
                allowance,
                published_fleet.clone(),
                graph.clone(),
            ));
        }
        Self(reports)
    }

    /// Has a report written. The answer comes after that.
    pub(super) async fn report(self, report: ClusterReport) -> FleetAnswer {
        let (done, written) = oneshot::channel();
        if self.0.try_send(QueuedReport { report, done }).is_err() {
            return FleetAnswer::Unavailable("too many reports are waiting; try again".into());
        }
        match written.await {
            Ok(Ok(RecordOutcome::Unfit)) => {
                let sentence = "the report has a name or a time that cannot be stored".to_owned();
                FleetAnswer::Refused {
                    kind: "unfit_report",
                    sentence,
                }
            }
            Ok(Ok(RecordOutcome::NotAsBound)) => {
                let sentence = "the cluster is bound to another organisation or name than the report says; list it again, or `towpath fleet forget` it and report again".to_owned();
                FleetAnswer::Forbidden {
                    kind: "not_as_bound",
                    sentence,
                }
            }
            Ok(Ok(recorded)) => {
                let recorded = match recorded {
                    RecordOutcome::Extended => "extended",
                    RecordOutcome::Began => "began",
                    RecordOutcome::Nothing | RecordOutcome::NotAsBound | RecordOutcome::Unfit => {
                        "nothing"
                    }
                };
                FleetAnswer::Json(json!({"kind": "accepted", "recorded": recorded}).to_string())
            }
            Ok(Err(problem)) => FleetAnswer::Unavailable(problem),
            Err(_) => FleetAnswer::Unavailable("the service is stopping".into()),
        }
    }
}

/// Takes what waits, all at once, and writes it. Nobody is told before it is committed, and held unless a pass has placed it.
async fn write(
    store: Store,
    waiting: Arc<tokio::sync::Mutex<mpsc::Receiver<QueuedReport>>>,
    allowance: SignedDuration,
    published_fleet: Arc<PublishedFleet>,
    graph: GraphSource,
) {
    let (mut failures, began) = (Repeats::default(), Instant::now());
    loop {
        let mut batch = Vec::with_capacity(BATCH);
        if waiting.lock().await.recv_many(&mut batch, BATCH).await == 0 {
            return;
        }
        let (reports, done): (Vec<ClusterReport>, Vec<_>) =
            batch.into_iter().map(|one| (one.report, one.done)).unzip();
        match store.record_all(&reports, allowance).await {
            Ok(written) => {
                published_fleet.reports_came.notify_one();
                written
                    .outcomes
                    .iter()
                    .for_each(|outcome| published_fleet.outcomes.count(*outcome));
                if let Some(enrolment) = graph.enrolment() {
                    let kept = reports
                        .iter()
                        .zip(&written.recorded)
                        .filter(|(_, recorded)| **recorded != RecordOutcome::Unfit);
                    enrolment.hold_reported(kept.map(|(report, _)| &report.state.id));
                }
                for (done, recorded) in done.into_iter().zip(written.recorded) {
                    // Whoever no longer waits does not need the answer.
                    let _ = done.send(Ok(recorded));
                }
            }
            Err(error) => {
                if let Some(more) = failures.came(began.elapsed()) {
                    tracing::warn!(%error, reports = reports.len(), "reports could not be written{more}");
                }
                for done in done {
                    let _ = done.send(Err("the store is not available; try again".to_owned()));
                }
            }
        }
    }
}
