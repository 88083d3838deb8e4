//! What stands behind the fleet's HTTP door: reports go to the store, questions to what was last decided.

use std::pin::Pin;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Instant;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc, oneshot};
use towpath_core::domain::fleet::{Approval, Pause, Upgrade};
use towpath_core::domain::{ClusterId, Version};
use towpath_core::repeats::Repeats;
use towpath_formats::fleet_json;
use towpath_formats::report::Report;
use towpath_store::{Recorded, Reported, Store, StoreError, Which};
use towpath_web::{Clock, Filter, FleetAnswer, FleetDesk, FleetRequest};

use super::answers;
use super::board::{Board, GraphSource, Held, Published};

/// Reports that wait to be written; one more is told to come back.
const MAX_WAITING: usize = 20_000;
/// Reports that are written in one transaction.
const BATCH: usize = 500;
/// Upgrades that are told of.
const MAX_UPGRADES: u32 = 1_000;

/// The desk's place: somebody may not be there yet.
#[derive(Default)]
pub(crate) struct Place(OnceLock<Arc<Counter>>);

impl Place {
    /// From now on there is somebody.
    pub(crate) fn take(&self, counter: Arc<Counter>) {
        // Only one ever comes.
        let _ = self.0.set(counter);
    }
}

impl FleetDesk for Place {
    fn answer(&self, request: FleetRequest) -> Pin<Box<dyn Future<Output = FleetAnswer> + Send>> {
        match self.0.get() {
            Some(counter) => counter.answer(request),
            None => Box::pin(std::future::ready(FleetAnswer::Unavailable("the store has not been reached yet".into()))),
        }
    }
}

/// The desk.
pub(crate) struct Counter {
    store: Store,
    board: Arc<Board>,
    graph: GraphSource,
    clock: Clock,
    allowance: SignedDuration,
    forecasts: Arc<Semaphore>,
    reports: mpsc::Sender<Waiting>,
}

struct Waiting {
    report: Reported,
    done: oneshot::Sender<Result<Recorded, String>>,
}

impl Counter {
    /// A desk with a few writers behind it: those who wait are written together.
    pub(crate) fn new(
        store: Store,
        board: Arc<Board>,
        graph: GraphSource,
        clock: Clock,
        allowance: SignedDuration,
    ) -> Arc<Self> {
        let (reports, waiting) = mpsc::channel(MAX_WAITING);
        let waiting = Arc::new(tokio::sync::Mutex::new(waiting));
        for _ in 0..store.backend().writers() {
            tokio::spawn(write(store.clone(), waiting.clone(), allowance, board.clone(), graph.clone()));
        }
        Arc::new(Self { store, board, graph, clock, allowance, forecasts: Arc::new(Semaphore::new(1)), reports })
    }

    async fn report(reports: mpsc::Sender<Waiting>, report: Reported) -> FleetAnswer {
        let (done, written) = oneshot::channel();
        if reports.try_send(Waiting { report, done }).is_err() {
            return FleetAnswer::Unavailable("too many reports wait to be written; try again".into());
        }
        match written.await {
            Ok(Ok(Recorded::Unfit)) => {
                let sentence = "the report has a name or a time that cannot be kept".to_owned();
                FleetAnswer::Refused { kind: "unfit_report", sentence }
            }
            Ok(Ok(Recorded::NotAsBound)) => {
                let sentence = "the cluster is bound to another organisation or name than the report says; list it anew, or `towpath fleet forget` it and report again".to_owned();
                FleetAnswer::Forbidden { kind: "not_as_bound", sentence }
            }
            Ok(Ok(recorded)) => {
                let recorded = match recorded {
                    Recorded::Extended => "extended",
                    Recorded::Began => "began",
                    Recorded::Nothing | Recorded::NotAsBound | Recorded::Unfit => "nothing",
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
    waiting: Arc<tokio::sync::Mutex<mpsc::Receiver<Waiting>>>,
    allowance: SignedDuration,
    board: Arc<Board>,
    graph: GraphSource,
) {
    let (mut failures, began) = (Repeats::default(), Instant::now());
    loop {
        let mut batch = Vec::with_capacity(BATCH);
        if waiting.lock().await.recv_many(&mut batch, BATCH).await == 0 {
            return;
        }
        let (reports, done): (Vec<Reported>, Vec<_>) = batch.into_iter().map(|one| (one.report, one.done)).unzip();
        match store.record_all(&reports, allowance).await {
            Ok(written) => {
                written.outcomes.iter().for_each(|outcome| board.outcomes.count(*outcome));
                if let Some(enrolment) = graph.enrolment() {
                    let kept =
                        reports.iter().zip(&written.recorded).filter(|(_, recorded)| **recorded != Recorded::Unfit);
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

/// How many clusters a pause stops: none, and somebody has mistyped something.
fn covered(published: &RwLock<Published>, pause: &Pause) -> usize {
    let published = published.read().unwrap_or_else(PoisonError::into_inner);
    let roster = published.desk.roster();
    let is_covered =
        |member: &&u32| pause.covers(&roster.cluster(**member).organisation, roster.policy(**member).sector.as_deref());
    roster.in_order().iter().filter(is_covered).count()
}

impl FleetDesk for Counter {
    fn answer(&self, request: FleetRequest) -> Pin<Box<dyn Future<Output = FleetAnswer> + Send>> {
        let (store, board, graph, now) = (self.store.clone(), self.board.clone(), self.graph.clone(), (self.clock)());
        match request {
            FleetRequest::Report { cluster, authority, report, body, received } => {
                let state = report.state(cluster, received);
                // A report may come late, and says when it was made. It cannot make a time count that nobody watched: else a
                // cluster could make up days of soak within a minute.
                let counts_from = received.checked_sub(self.allowance).ok();
                let Report { id, updates, .. } = *report;
                let reported = Reported { state, authority, body, id, updates, counts_from };
                Box::pin(Self::report(self.reports.clone(), reported))
            }
            FleetRequest::Why { cluster, version } => Box::pin(async move {
                let asked = tokio::task::spawn_blocking(move || match board.published() {
                    Some(published) => {
                        let published = published.read().unwrap_or_else(PoisonError::into_inner);
                        why(&published, &cluster, version.as_ref(), now)
                    }
                    None => Err(FleetAnswer::Unavailable("the fleet has not been read yet".into())),
                });
                match asked.await {
                    Ok(Ok((id, last_seen, mut told))) => {
                        // Where the store is away, the rest is told all the same. What came after the pass waits for the next.
                        let updates = store.agent_updates(&id, last_seen).await.ok();
                        told["updates"] = json!(updates.as_deref().map(fleet_json::agent_updates));
                        FleetAnswer::Json(told.to_string())
                    }
                    Ok(Err(answer)) => answer,
                    Err(_) => FleetAnswer::Unavailable("the answer could not be prepared".into()),
                }
            }),
            FleetRequest::Pause { organisation, sector, by, why } => Box::pin(async move {
                let (organisation, sector) = (organisation.map(Into::into), sector.map(Into::into));
                let pause = Pause { organisation, sector, by: by.into(), at: now, why: why.into() };
                let clusters = board.published().map(|published| covered(&published, &pause));
                done(store.pause(&pause).await.map(|()| json!({"kind": "paused", "clusters": clusters})))
            }),
            FleetRequest::Resume { organisation, sector } => Box::pin(async move {
                let resumed = store.resume(organisation.as_deref(), sector.as_deref()).await;
                match resumed {
                    Ok(0) => FleetAnswer::NotFound("there is no such pause".into()),
                    other => done(other.map(|pauses| json!({"kind": "resumed", "pauses": pauses}))),
                }
            }),
            FleetRequest::Approve { organisation, cluster, version, by } => Box::pin(async move {
                let (organisation, cluster) = (organisation.into(), cluster.map(Into::into));
                let approval = Approval { organisation, cluster, version, by: by.into(), at: now };
                done(store.approve(&approval).await.map(|()| json!({"kind": "approved"})))
            }),
            FleetRequest::Upgrades(filter) => Box::pin(async move {
                let limit = filter.limit.map_or(MAX_UPGRADES, |limit| u32::try_from(limit).unwrap_or(MAX_UPGRADES));
                match store.upgrades(&Which::Recent(MAX_UPGRADES)).await {
                    Ok(upgrades) => match board.published() {
                        Some(published) => {
                            let published = published.read().unwrap_or_else(PoisonError::into_inner);
                            upgrades_of(&published, upgrades, &filter, limit as usize)
                        }
                        None => FleetAnswer::Unavailable("the fleet has not been read yet".into()),
                    },
                    Err(error) => FleetAnswer::Unavailable(error.to_string()),
                }
            }),
            FleetRequest::Forecast { days, filter } => {
                let turn = self.forecasts.clone();
                Box::pin(async move {
                    // Each takes a processor for a while; one at a time is enough.
                    let Ok(_turn) = turn.try_acquire_owned() else {
                        return FleetAnswer::Unavailable("another forecast is being made; try again".into());
                    };
                    let made = tokio::task::spawn_blocking(move || forecast(&board, &graph.now(), days, &filter, now));
                    made.await.unwrap_or_else(|_| FleetAnswer::Unavailable("the forecast could not be made".into()))
                })
            }
            question => Box::pin(async move {
                let answered = tokio::task::spawn_blocking(move || match board.published() {
                    Some(published) => {
                        let published = published.read().unwrap_or_else(PoisonError::into_inner);
                        ask(&published, question, now)
                    }
                    None => FleetAnswer::Unavailable("the fleet has not been read yet".into()),
                });
                answered.await.unwrap_or_else(|_| FleetAnswer::Unavailable("the answer could not be prepared".into()))
            }),
        }
    }
}

fn done(result: Result<serde_json::Value, StoreError>) -> FleetAnswer {
    match result {
        Ok(value) => FleetAnswer::Json(value.to_string()),
        Err(StoreError::Bad(sentence)) => FleetAnswer::Refused { kind: "bad_request", sentence },
        Err(error) => FleetAnswer::Unavailable(error.to_string()),
    }
}

/// The newest upgrades of the clusters that were asked about.
fn upgrades_of(published: &Published, upgrades: Vec<Upgrade>, filter: &Filter, limit: usize) -> FleetAnswer {
    let (desk, at) = (&published.desk, published.decision.at);
    if let Err(error) = answers::check(filter) {
        return FleetAnswer::Refused { kind: "bad_filter", sentence: error.to_string() };
    }
    let everybody = *filter == Filter { limit: filter.limit, ..Filter::default() };
    let named = upgrades.iter().filter_map(|upgrade| match desk.roster().find(upgrade.cluster.as_str()) {
        Some(member) => {
            let meant = answers::is_meant(desk, member, filter, at);
            meant.then(|| (upgrade, Some(&desk.roster().cluster(member).name)))
        }
        // Of a cluster that has left the fleet, nobody knows where it was.
        None => everybody.then_some((upgrade, None)),
    });
    FleetAnswer::Json(fleet_json::upgrades(named.take(limit)).to_string())
}

/// What will start. The fleet is copied first, so that no pass waits for a forecast.
fn forecast(board: &Board, graph: &Held, days: u32, filter: &Filter, now: Timestamp) -> FleetAnswer {
    let Some(published) = board.published() else {
        return FleetAnswer::Unavailable("the fleet has not been read yet".into());
    };
    let (meant, input, at) = {
        let published = published.read().unwrap_or_else(PoisonError::into_inner);
        let at = instant(&published, now);
        let input = published.desk.roster().input(&published.policy, &published.inherited);
        (answers::meant_names(&published.desk, filter, at), input, at)
    };
    let forecasts = answers::check(filter)
        .and_then(|()| answers::forecast_for(&meant, input, graph.graph(), at, days, &mut |_| {}));
    match forecasts {
        Ok(forecasts) => FleetAnswer::Json(fleet_json::forecast(&forecasts).to_string()),
        Err(error) => FleetAnswer::Refused { kind: "bad_forecast", sentence: error.to_string() },
    }
}

/// Why a cluster does, or does not, go where it could; which cluster it is, and as of which report.
fn why(
    published: &Published,
    cluster: &str,
    version: Option<&Version>,
    now: Timestamp,
) -> Result<(ClusterId, Timestamp, Value), FleetAnswer> {
    let (desk, at) = (&published.desk, instant(published, now));
    let told = answers::find(desk, cluster).and_then(|member| {
        let why = answers::candidates(desk, member, version, at)?;
        let state = desk.roster().cluster(member);
        Ok((state.id.clone(), state.last_seen, fleet_json::why(desk, member, &why)))
    });
    told.map_err(|error| FleetAnswer::NotFound(error.to_string()))
}

/// Verdicts are those of the decision's instant; without one yet, of now.
fn instant(published: &Published, now: Timestamp) -> Timestamp {
    if published.decision.at == Timestamp::default() { now } else { published.decision.at }
}

/// Answers a question from what was last decided.
fn ask(published: &Published, question: FleetRequest, now: Timestamp) -> FleetAnswer {
    let Published { desk, decision, .. } = published;
    let at = instant(published, now);
    let checked = |filter: &Filter| {
        let refused = |error: anyhow::Error| FleetAnswer::Refused { kind: "bad_filter", sentence: error.to_string() };
        answers::check(filter).map_err(refused)
    };
    let answered = match question {
        FleetRequest::Status(filter) => checked(&filter).map(|()| {
            let rows = answers::status_rows(desk, decision, &filter);
            fleet_json::status(&rows[..filter.limit.unwrap_or(rows.len()).min(rows.len())])
        }),
        FleetRequest::Plan(filter) => checked(&filter).map(|()| answers::plan_json(desk, decision, &filter)),
        FleetRequest::Holds(filter) => checked(&filter).map(|()| answers::holds(desk, &filter, at)),
        FleetRequest::History(filter) => {
            checked(&filter).map(|()| fleet_json::history(&answers::history_rows(desk, &filter, at)))
        }
        FleetRequest::Report { .. }
        | FleetRequest::Why { .. }
        | FleetRequest::Pause { .. }
        | FleetRequest::Resume { .. }
        | FleetRequest::Approve { .. }
        | FleetRequest::Upgrades(_)
        | FleetRequest::Forecast { .. } => unreachable!("these are answered elsewhere"),
    };
    answered.map_or_else(|refusal| refusal, |value| FleetAnswer::Json(value.to_string()))
}
