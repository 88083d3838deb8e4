//! The fleet API behind the HTTP server: it writes reports to the store and answers questions from the last decision.

use std::pin::Pin;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Instant;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc, oneshot};
use towpath_core::cluster::ClusterId;
use towpath_core::finding::Place;
use towpath_core::fleet::{
    Approval, ClusterState, Filter, FleetPolicy, Name, Pause, PreflightRequest, UpgradePolicy,
    find_cluster, why_of,
};
use towpath_core::repeats::Repeats;
use towpath_core::simulate::forecast_days;
use towpath_core::version::Version;
use towpath_formats::findings;
use towpath_formats::fleet::cluster_list;
use towpath_formats::fleet::report::Report;
use towpath_formats::fleet::{self, pages};
use towpath_store::{ClusterReport, RecordOutcome, Store, StoreError, UpgradeSelection};
use towpath_web::{Clock, Enrolment, FleetAnswer, FleetApi, FleetRequest};

use super::orders;
use super::published_fleet::{DecidedFleet, GraphHandle, GraphSource, PublishedFleet};

/// Reports that wait to be written; one more is told to come back.
const MAX_WAITING: usize = 20_000;
/// Reports that are written in one transaction.
const BATCH: usize = 500;
/// Questions about the fleet that are worked on at once; one more is told to come back.
const MAX_QUESTIONS: usize = 8;
/// Clusters whose orders are looked up at once; one more is told to come back.
const MAX_ORDERS: usize = 64;
const BUSY: &str = "too many requests about the fleet at once; try again in a few seconds";

/// Holds the fleet API once the store is open. Until then every request is answered with "unavailable".
#[derive(Default)]
pub(crate) struct FleetBackendSlot(OnceLock<FleetBackend>);

impl FleetBackendSlot {
    pub(crate) fn take(&self, api: FleetBackend) {
        // Only one ever comes.
        let _ = self.0.set(api);
    }
}

impl FleetApi for FleetBackendSlot {
    fn answer(&self, request: FleetRequest) -> Pin<Box<dyn Future<Output = FleetAnswer> + Send>> {
        match self.0.get() {
            Some(api) => api.answer(request),
            None => Box::pin(std::future::ready(FleetAnswer::Unavailable(
                "the store has not been reached yet".into(),
            ))),
        }
    }
}

#[derive(Clone)]
pub(crate) struct FleetBackend {
    store: Store,
    published_fleet: Arc<PublishedFleet>,
    graph: GraphSource,
    clock: Clock,
    allowance: SignedDuration,
    forecasts: Arc<Semaphore>,
    questions: Arc<Semaphore>,
    orders: Arc<Semaphore>,
    reports: mpsc::Sender<QueuedReport>,
}

struct QueuedReport {
    report: ClusterReport,
    done: oneshot::Sender<Result<RecordOutcome, String>>,
}

impl FleetBackend {
    /// Starts a few writers; each writes all reports that are queued in one transaction.
    pub(crate) fn new(
        store: Store,
        published_fleet: Arc<PublishedFleet>,
        graph: GraphSource,
        clock: Clock,
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
        Self {
            store,
            published_fleet,
            graph,
            clock,
            allowance,
            forecasts: Arc::new(Semaphore::new(1)),
            questions: Arc::new(Semaphore::new(MAX_QUESTIONS)),
            orders: Arc::new(Semaphore::new(MAX_ORDERS)),
            reports,
        }
    }

    async fn report(reports: mpsc::Sender<QueuedReport>, report: ClusterReport) -> FleetAnswer {
        let (done, written) = oneshot::channel();
        if reports.try_send(QueuedReport { report, done }).is_err() {
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

/// How many clusters somebody's decision is about; none if the fleet has not been read yet. If it is about nobody,
/// somebody has mistyped something. A pass may hold the fleet for a second, so the wait is on a thread of its own.
async fn concerned(
    published: Option<Arc<RwLock<DecidedFleet>>>,
    is_meant: impl Fn(&ClusterState, &UpgradePolicy) -> bool + Send + 'static,
) -> Option<usize> {
    let published = published?;
    let count = move || {
        let published = published.read().unwrap_or_else(PoisonError::into_inner);
        let roster = published.planner.roster();
        let members = roster.in_order().iter();
        members
            .filter(|member| is_meant(roster.cluster(**member), roster.policy(**member)))
            .count()
    };
    tokio::task::spawn_blocking(count).await.ok()
}

impl FleetApi for FleetBackend {
    fn answer(&self, request: FleetRequest) -> Pin<Box<dyn Future<Output = FleetAnswer> + Send>> {
        Box::pin(self.clone().answered(request, (self.clock)()))
    }
}

impl FleetBackend {
    async fn answered(self, request: FleetRequest, now: Timestamp) -> FleetAnswer {
        let Self {
            store,
            published_fleet,
            graph,
            questions,
            ..
        } = self;
        match request {
            FleetRequest::Report {
                cluster,
                authority,
                report,
                body,
                received,
            } => {
                let state = report.state(cluster, received);
                // A report may come late, and says when it was made. It cannot make a time count that nobody watched: else a
                // cluster could make up days of soak within a minute.
                let counts_from = received.checked_sub(self.allowance).ok();
                let Report {
                    id,
                    updates,
                    preflights,
                    ..
                } = *report;
                let reported = ClusterReport {
                    state,
                    authority,
                    body,
                    id,
                    updates,
                    preflights,
                    counts_from,
                };
                Self::report(self.reports, reported).await
            }
            FleetRequest::Why { cluster, version } => {
                let asked = worked(&questions, BUSY, move || {
                    looked(&published_fleet, |published| {
                        why(published, &cluster, version.as_ref(), now)
                    })
                });
                match asked.await {
                    Ok((id, last_seen, told)) => {
                        // If the store is away, the answer lacks the updates. Updates that came after the pass are shown after the next pass.
                        let updates = store.agent_updates(&id, last_seen).await.ok();
                        let told = fleet::json::with_updates(told, updates.as_deref());
                        FleetAnswer::Json(told.to_string())
                    }
                    Err(answer) => answer,
                }
            }
            FleetRequest::Pause {
                organisation,
                sector,
                by,
                why,
            } => {
                let pause = Pause {
                    organisation: organisation.map(Into::into),
                    sector: sector.map(Into::into),
                    by: by.into(),
                    at: now,
                    why: why.into(),
                };
                let asked = pause.clone();
                let clusters = concerned(published_fleet.published(), move |state, policy| {
                    asked.covers(&state.organisation, policy.sector.as_deref())
                })
                .await;
                let is_everywhere = pause.organisation.is_none() && pause.sector.is_none();
                if clusters == Some(0) && !is_everywhere {
                    let nobody = "nobody is concerned, and nothing was paused: no cluster is there; look at the names";
                    return FleetAnswer::NotFound(nobody.into());
                }
                let paused = store.pause(&pause).await;
                done(paused.map(|()| json!({"kind": "paused", "clusters": clusters})))
            }
            FleetRequest::Resume {
                organisation,
                sector,
            } => {
                let resumed = store
                    .resume(organisation.as_deref(), sector.as_deref())
                    .await;
                match resumed {
                    Ok(0) => FleetAnswer::NotFound("there is no such pause".into()),
                    other => done(other.map(|pauses| json!({"kind": "resumed", "pauses": pauses}))),
                }
            }
            FleetRequest::Approve {
                organisation,
                cluster,
                version,
                by,
            } => {
                let approval = Approval {
                    organisation: organisation.into(),
                    cluster: cluster.map(Into::into),
                    version,
                    by: by.into(),
                    at: now,
                };
                let asked = approval.clone();
                let clusters = concerned(published_fleet.published(), move |state, _| {
                    let is_named = |name: &Name| *name == state.name;
                    state.organisation == asked.organisation
                        && asked.cluster.as_ref().is_none_or(is_named)
                })
                .await;
                if clusters == Some(0) {
                    let nobody = "nobody is concerned, and nothing was approved: there is no such cluster or organisation; look at the names";
                    return FleetAnswer::NotFound(nobody.into());
                }
                let approved = store.approve(&approval).await;
                done(approved.map(|()| json!({"kind": "approved"})))
            }
            FleetRequest::Acknowledge { gate, cluster, by } => {
                match store.cluster(&cluster).await {
                    Ok(Some(_)) => {
                        let acknowledged = store.acknowledge_gate(&cluster, &gate, &by, now).await;
                        done(acknowledged.map(|()| json!({"kind": "acknowledged"})))
                    }
                    Ok(None) => {
                        let nobody = "nobody is concerned, and nothing was acknowledged: no cluster has this id; give the id and not the name";
                        FleetAnswer::NotFound(nobody.into())
                    }
                    Err(error) => done(Err(error)),
                }
            }
            FleetRequest::Orders { cluster } => {
                let asked = cluster.clone();
                let known = worked(&self.orders, BUSY, move || {
                    looked(&published_fleet, |published| {
                        Ok(orders::known(published, &asked, now))
                    })
                });
                match known.await {
                    Ok(known) => orders::answer(&store, &graph.now(), &cluster, known, now).await,
                    Err(answer) => answer,
                }
            }
            FleetRequest::Preflight {
                version,
                filter,
                at_once,
                by,
            } => {
                let request = PreflightRequest {
                    version,
                    id: super::preflight::request_id(now),
                    by: by.into(),
                    at: now,
                };
                let asked = worked(&questions, BUSY, move || {
                    looked(&published_fleet, |published| {
                        let asked = request.of(&filter, &published.planner);
                        asked.map_err(|problem| FleetAnswer::NotFound(problem.to_string()))
                    })
                });
                match asked.await {
                    Ok(asked) if asked.preflights.is_empty() => {
                        FleetAnswer::NotFound(super::preflight::NOBODY.to_owned())
                    }
                    Ok(asked) => {
                        let written = store.ask_preflights(&asked.preflights, at_once).await;
                        done(written.map(|()| {
                            json!({
                                "kind": "asked",
                                "clusters": asked.preflights.len(),
                                "notOffered": asked.not_offered,
                            })
                        }))
                    }
                    Err(answer) => answer,
                }
            }
            FleetRequest::Preflights(filter) => {
                let preflights = match store.preflights().await {
                    Ok(preflights) => preflights,
                    Err(error) => return FleetAnswer::Unavailable(error.to_string()),
                };
                let told = worked(&questions, BUSY, move || {
                    looked(&published_fleet, |published| {
                        let planner = &published.planner;
                        let is_right = filter.check_names(planner);
                        is_right.map_err(|problem| FleetAnswer::NotFound(problem.to_string()))?;
                        let meant = filter.preflights(planner, &preflights, now);
                        Ok(fleet::json::preflights(meant))
                    })
                });
                told.await
                    .map_or_else(|answer| answer, |told| FleetAnswer::Json(told.to_string()))
            }
            FleetRequest::Forget { cluster } => match store.forget(&cluster).await {
                Ok(false) => FleetAnswer::NotFound(
                    "there is no such cluster; give the id and not the name".into(),
                ),
                other => {
                    tracing::info!(%cluster, "a cluster was forgotten over HTTP");
                    done(other.map(|_| json!({"kind": "forgotten"})))
                }
            },
            FleetRequest::Import { list } => {
                // A pass may hold the fleet for a second, so the wait is on a thread of its own.
                let policy = move || {
                    let published = published_fleet.published()?;
                    let published = published.read().unwrap_or_else(PoisonError::into_inner);
                    Some(published.policy.clone())
                };
                let policy = tokio::task::spawn_blocking(policy).await.ok().flatten();
                let policy = policy.unwrap_or_default();
                let enrolment = graph.enrolment();
                import(&store, &list, &policy, self.allowance, enrolment, now).await
            }
            FleetRequest::Upgrades(filter) => {
                let which = match pages::upgrades_before(&filter) {
                    Ok(Some(id)) => UpgradeSelection::Before(id, pages::UPGRADES_LOOKED_AT),
                    Ok(None) => UpgradeSelection::Recent(pages::UPGRADES_LOOKED_AT),
                    Err(sentence) => return bad_filter(sentence),
                };
                let upgrades = match store.upgrades(&which).await {
                    Ok(upgrades) => upgrades,
                    Err(error) => return FleetAnswer::Unavailable(error.to_string()),
                };
                let told = worked(&questions, BUSY, move || {
                    looked(&published_fleet, |published| {
                        known(published, &filter)?;
                        let at = published.decision.at;
                        Ok(pages::upgrades(&published.planner, &upgrades, &filter, at))
                    })
                });
                told.await
                    .map_or_else(|answer| answer, |told| FleetAnswer::Json(told.to_string()))
            }
            FleetRequest::Forecast { days, filter } => {
                // Each takes a processor for a while; one at a time is enough.
                let busy = "another forecast is being made; try again";
                let made = worked(&self.forecasts, busy, move || {
                    Ok(forecast(&published_fleet, &graph.now(), days, &filter, now))
                });
                made.await.unwrap_or_else(|answer| answer)
            }
            question => {
                let made = worked(&questions, BUSY, move || {
                    // The page is made while the fleet stands still, and written when it may go on.
                    let page = looked(&published_fleet, |published| ask(published, question, now))?;
                    Ok(FleetAnswer::Json(page.to_string()))
                });
                made.await.unwrap_or_else(|answer| answer)
            }
        }
    }
}

/// Works on a thread that may wait, as one of few. The turn goes along with the work: it is over when the work is, whoever still waits
/// for the answer.
async fn worked<T: Send + 'static>(
    turns: &Arc<Semaphore>,
    busy: &str,
    work: impl FnOnce() -> Result<T, FleetAnswer> + Send + 'static,
) -> Result<T, FleetAnswer> {
    let Ok(turn) = turns.clone().try_acquire_owned() else {
        return Err(FleetAnswer::Unavailable(busy.to_owned()));
    };
    let made = tokio::task::spawn_blocking(move || {
        let _until_it_is_done = turn;
        work()
    });
    made.await.unwrap_or_else(|_| {
        Err(FleetAnswer::Unavailable(
            "the answer could not be prepared".into(),
        ))
    })
}

/// Looks at what was last decided, and lets go of it.
fn looked<T>(
    published_fleet: &PublishedFleet,
    look: impl FnOnce(&DecidedFleet) -> Result<T, FleetAnswer>,
) -> Result<T, FleetAnswer> {
    match published_fleet.published() {
        Some(published) => look(&published.read().unwrap_or_else(PoisonError::into_inner)),
        None => Err(FleetAnswer::Unavailable(
            "the fleet has not been read yet".into(),
        )),
    }
}

/// Whether a filter names what there is. A name that nobody has is mistyped, and an empty page would read as fine.
fn known(published: &DecidedFleet, filter: &Filter) -> Result<(), FleetAnswer> {
    let checked = filter.check_names(&published.planner);
    checked.map_err(|problem| FleetAnswer::NotFound(problem.to_string()))
}

fn bad_filter(sentence: String) -> FleetAnswer {
    FleetAnswer::Refused {
        kind: "bad_filter",
        sentence,
    }
}

/// Records a list, without its entries that have errors. A body that is no list changes nothing.
async fn import(
    store: &Store,
    list: &str,
    policy: &FleetPolicy,
    allowance: SignedDuration,
    enrolment: Option<&Enrolment>,
    now: Timestamp,
) -> FleetAnswer {
    let place = Place::file("body");
    let read = || cluster_list::read(&place, list.as_bytes(), now);
    let (list, found) = tokio::task::block_in_place(read);
    if let (true, Some(first)) = (list.is_unusable, found.first()) {
        return FleetAnswer::Refused {
            kind: "bad_list",
            sentence: first.to_string(),
        };
    }
    let ids: Vec<ClusterId> = list.clusters.iter().map(|state| state.id.clone()).collect();
    let recorded = super::import::record(store, list, policy, allowance, now).await;
    if let (Ok(recorded), Some(enrolment)) = (&recorded, enrolment) {
        // Before the answer: from now on nobody may see more than the next pass lets them.
        enrolment.hold_reported(ids.iter());
        tracing::info!(
            clusters = recorded.clusters,
            "a list was imported over HTTP"
        );
    }
    done(recorded.map(|recorded| {
        json!({
            "kind": "imported",
            "clusters": recorded.clusters,
            "changed": recorded.changed,
            "soakDays": recorded.soak.days(),
            "findings": findings::json(&found),
        })
    }))
}

fn done(result: Result<serde_json::Value, StoreError>) -> FleetAnswer {
    match result {
        Ok(value) => FleetAnswer::Json(value.to_string()),
        Err(StoreError::Bad(sentence)) => FleetAnswer::Refused {
            kind: "bad_request",
            sentence,
        },
        Err(error) => FleetAnswer::Unavailable(error.to_string()),
    }
}

/// What will start. The fleet is copied first, so that no pass waits for a forecast.
fn forecast(
    published_fleet: &PublishedFleet,
    graph: &GraphHandle,
    days: u32,
    filter: &Filter,
    now: Timestamp,
) -> FleetAnswer {
    let Some(published) = published_fleet.published() else {
        return FleetAnswer::Unavailable("the fleet has not been read yet".into());
    };
    let (meant, input, at) = {
        let published = published.read().unwrap_or_else(PoisonError::into_inner);
        if let Err(answer) = known(&published, filter) {
            return answer;
        }
        let at = instant(&published, now);
        let input = published
            .planner
            .roster()
            .input(&published.policy, &published.inherited);
        (filter.names(&published.planner, at), input, at)
    };
    let forecasts = filter
        .check()
        .and_then(|()| forecast_days(&meant, input, graph.graph(), at, days, &mut |_| {}))
        .map_err(|problem| problem.to_string())
        .and_then(|forecasts| pages::forecast(forecasts, filter));
    match forecasts {
        Ok(page) => FleetAnswer::Json(page.to_string()),
        Err(sentence) => FleetAnswer::Refused {
            kind: "bad_forecast",
            sentence,
        },
    }
}

/// Why a cluster does, or does not, go where it could; which cluster it is, and as of which report.
fn why(
    published: &DecidedFleet,
    cluster: &str,
    version: Option<&Version>,
    now: Timestamp,
) -> Result<(ClusterId, Timestamp, Value), FleetAnswer> {
    let (planner, at) = (&published.planner, instant(published, now));
    let told = find_cluster(planner, cluster).and_then(|member| {
        let why = why_of(planner, member, version, at)?;
        let state = planner.roster().cluster(member);
        Ok((
            state.id.clone(),
            state.last_seen,
            fleet::json::with_preflights(
                fleet::json::why(planner, member, &why),
                planner.roster().preflights(&state.id),
            ),
        ))
    });
    told.map_err(|error| FleetAnswer::NotFound(error.to_string()))
}

/// Verdicts are those of the decision's instant; without one yet, of now.
fn instant(published: &DecidedFleet, now: Timestamp) -> Timestamp {
    if published.decision.at == Timestamp::default() {
        now
    } else {
        published.decision.at
    }
}

/// Answers a question from what was last decided: a page of it.
fn ask(
    published: &DecidedFleet,
    question: FleetRequest,
    now: Timestamp,
) -> Result<Value, FleetAnswer> {
    let DecidedFleet {
        planner, decision, ..
    } = published;
    let at = instant(published, now);
    if let FleetRequest::Status(filter)
    | FleetRequest::Plan(filter)
    | FleetRequest::Holds(filter)
    | FleetRequest::History(filter) = &question
    {
        known(published, filter)?;
    }
    let answered = match &question {
        FleetRequest::Status(filter) => pages::status(planner, decision, filter),
        FleetRequest::Plan(filter) => pages::plan(planner, decision, filter),
        FleetRequest::Holds(filter) => filter
            .check()
            .map(|()| fleet::json::holds(&filter.holds(planner, at)))
            .map_err(|problem| problem.to_string()),
        FleetRequest::History(filter) => pages::history(planner, filter, at),
        FleetRequest::Report { .. }
        | FleetRequest::Why { .. }
        | FleetRequest::Pause { .. }
        | FleetRequest::Resume { .. }
        | FleetRequest::Approve { .. }
        | FleetRequest::Acknowledge { .. }
        | FleetRequest::Orders { .. }
        | FleetRequest::Preflight { .. }
        | FleetRequest::Preflights(_)
        | FleetRequest::Forget { .. }
        | FleetRequest::Import { .. }
        | FleetRequest::Upgrades(_)
        | FleetRequest::Forecast { .. } => unreachable!("these are answered elsewhere"),
    };
    answered.map_err(bad_filter)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Polls it once, and lets it go: what it has begun goes on.
    async fn leave(question: impl Future<Output = Result<(), FleetAnswer>>) {
        tokio::select! {
            biased;
            _ = question => panic!("it was not to end"),
            () = std::future::ready(()) => {}
        }
    }

    #[tokio::test]
    async fn a_turn_is_over_when_the_work_is_and_not_when_the_asker_has_gone() {
        let turns = Arc::new(Semaphore::new(1));
        let (end, ended) = std::sync::mpsc::channel::<()>();
        leave(worked(&turns, BUSY, move || {
            ended
                .recv()
                .map_err(|_| FleetAnswer::Unavailable("ended".into()))
        }))
        .await;
        let refused = worked(&turns, BUSY, || Ok(())).await;
        assert_eq!(refused, Err(FleetAnswer::Unavailable(BUSY.to_owned())));
        end.send(()).expect("it is being waited for");
        let _free = turns.acquire().await.expect("the turn is over");
    }
}
