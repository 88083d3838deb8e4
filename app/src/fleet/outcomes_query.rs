//! The query of `--outcomes-prometheus`: one replica asks Prometheus now and then, and writes what it tells into the store.
//!
//! It works beside the passes, so a Prometheus that hangs holds nobody up. While it does not answer, what it has told stays.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use tokio::task::JoinHandle;
use towpath_core::finding::Finding;
use towpath_core::repeats::Repeats;
use towpath_formats::fleet::outcomes_query::{self as told, OutcomesAnswer};
use towpath_sources::{HttpAccess, Prometheus};
use towpath_store::{Lease, MAX_TESTIMONIES, Store};
use towpath_web::{Clock, OutcomesQueryMetrics, Service};

use super::lease::{give_back, new_owner};
use super::published_fleet::PublishedFleet;
use crate::config::OutcomesQuerySettings;

/// The lease's name in the store.
const LEASE: &str = "outcomes";
/// How much longer than an interval the lease lasts: as long as an answer may take, and more.
const PATIENCE: Duration = Duration::from_secs(35);

/// How long the first question waits for the first pass.
const FIRST_PASS: Duration = Duration::from_secs(60);

/// How asking went, for whoever wants to know.
#[derive(Default)]
pub(crate) struct PublishedQuery(Mutex<QueryState>);

#[derive(Default)]
struct QueryState {
    metrics: OutcomesQueryMetrics,
    findings: Vec<Finding>,
}

impl PublishedQuery {
    pub(super) fn findings(&self) -> Vec<Finding> {
        self.state().findings.clone()
    }

    fn state(&self) -> MutexGuard<'_, QueryState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Who asks.
pub(crate) struct OutcomesQuery {
    prometheus: Prometheus,
    every: Duration,
    store: Store,
    owner: String,
    published: Arc<PublishedFleet>,
}

impl OutcomesQuery {
    pub(crate) fn new(
        settings: &OutcomesQuerySettings,
        access: &HttpAccess,
        store: Store,
        published: Arc<PublishedFleet>,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            prometheus: settings.prometheus(access)?,
            every: settings.every,
            store,
            owner: new_owner(),
            published,
        })
    }

    /// Asks, if this replica is the one that does.
    pub(crate) async fn look(&self, now: Timestamp) -> towpath_store::Result<()> {
        let term = self.every + PATIENCE;
        let Some(lease) = self.store.acquire(LEASE, &self.owner, term).await? else {
            self.published.outcomes_query.state().findings.clear();
            return Ok(());
        };
        match self.answer(now).await {
            Ok(answer) => self.record(&lease, answer, now).await,
            Err(finding) => {
                self.failed(finding);
                Ok(())
            }
        }
    }

    /// The lease, for others.
    pub(crate) async fn stop(&self) {
        give_back(&self.store, LEASE, &self.owner).await;
    }

    async fn answer(&self, now: Timestamp) -> Result<OutcomesAnswer, Finding> {
        let came = self.prometheus.ask(now, told::MAX_BYTES).await?;
        let (place, limits) = (self.prometheus.place(), self.published.limits());
        tokio::task::block_in_place(|| told::read(&place, came.status, &came.body, &limits, now))
    }

    async fn record(
        &self,
        lease: &Lease,
        answer: OutcomesAnswer,
        now: Timestamp,
    ) -> towpath_store::Result<()> {
        let mut changed = 0;
        for batch in answer.told.chunks(MAX_TESTIMONIES) {
            changed += self.store.record_testimonies(lease, batch).await?;
        }
        if changed > 0 {
            self.published.reports_came.notify_one();
        }
        let (series, clusters) = (answer.series, answer.told.len());
        tracing::debug!(series, clusters, changed, "Prometheus told of updates");
        let mut state = self.published.outcomes_query.state();
        state.metrics.answered += 1;
        state.metrics.last_success = Some(now);
        state.metrics.series = series as u64;
        state.found(answer.findings);
        Ok(())
    }

    fn failed(&self, finding: Finding) {
        let mut state = self.published.outcomes_query.state();
        state.metrics.failed += 1;
        let since = match state.metrics.last_success {
            Some(at) => format!("it last answered at {at}"),
            None => "it has not answered this process yet".to_owned(),
        };
        let problem = format!("{}; {since}, and what it told then stays", finding.problem);
        state.found(vec![Finding { problem, ..finding }]);
    }
}

impl QueryState {
    /// New ones are told once.
    fn found(&mut self, findings: Vec<Finding>) {
        if findings != self.findings {
            for finding in &findings {
                tracing::warn!("{finding}");
            }
        }
        self.findings = findings;
    }
}

/// A query that is asked in the background.
pub(crate) struct BackgroundQuery {
    query: Arc<OutcomesQuery>,
    work: JoinHandle<()>,
}

impl BackgroundQuery {
    /// Starts asking. A service shows how it goes.
    pub(crate) fn start(query: OutcomesQuery, service: Option<Arc<Service>>, clock: Clock) -> Self {
        let query = Arc::new(query);
        let work = tokio::spawn(ask_on(query.clone(), service, clock));
        Self { query, work }
    }

    /// Ends, and lets another replica ask at once.
    pub(crate) async fn stop(self) {
        self.work.abort();
        // It ends by being aborted, which is an error to nobody.
        let _ = self.work.await;
        self.query.stop().await;
    }
}

async fn ask_on(query: Arc<OutcomesQuery>, service: Option<Arc<Service>>, clock: Clock) {
    let (mut failures, began) = (Repeats::default(), Instant::now());
    // A start gets its time limit when it is first seen, and the first pass learns the limits. Where passes fail, the usual one holds.
    while query.published.learned_limits().is_none() && began.elapsed() < FIRST_PASS {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    loop {
        if let Err(error) = query.look(clock()).await
            && let Some(more) = failures.came(began.elapsed())
        {
            tracing::error!(%error, "what Prometheus tells could not be written down; it is asked again{more}");
        }
        if let Some(service) = &service {
            let metrics = query.published.outcomes_query.state().metrics.clone();
            service.outcomes_query_metrics(metrics);
        }
        tokio::time::sleep(query.every).await;
    }
}
