//! The fleet API behind the HTTP server: it writes reports to the store and answers questions from the last decision.

use std::pin::Pin;
use std::sync::{Arc, OnceLock, PoisonError};

use jiff::{SignedDuration, Timestamp};
use tokio::sync::Semaphore;
use towpath_core::agent::OrdersUse;
use towpath_core::cluster::ClusterId;
use towpath_core::finding::Place;
use towpath_core::fleet::{
    Actor, BadQuestion, Doer, Filter, FleetPolicy, KnownFleet, PreflightRequest,
};
use towpath_core::simulate::{MAX_DAYS, Outlook, forecast_days};
use towpath_core::version::Version;
use towpath_formats::fleet::acts::{self, Act, PausePlace};
use towpath_formats::fleet::cluster_list;
use towpath_formats::fleet::report::Report;
use towpath_formats::fleet::text::Expectations;
use towpath_formats::fleet::{json as told, pages, text as said};
use towpath_formats::words::second;
use towpath_store::{ClusterReport, Store, StoreError, UpgradeSelection};
use towpath_web::{
    Admitted, Clock, Enrolment, FleetAnswer, FleetApi, FleetForm, FleetRequest, UpgradeChoice,
};

use super::acts as acts_on;
use super::acts::{NotDone, People};
use super::answers::{self, Made};
use super::cluster_answer;
use super::halts::{self, WantedHalt};
use super::kept_outlook::KeptOutlook;
use super::log_answers::LogReader;
use super::published_fleet::{DecidedFleet, GraphHandle, GraphSource, PublishedFleet};
use super::report_queue::ReportQueue;
use super::{audit_log, orders, preflight, reach, revocations};

/// Questions about the fleet that are worked on at once; one more is told to come back.
const MAX_QUESTIONS: usize = 8;
/// Clusters whose orders are looked up at once; one more is told to come back.
const MAX_ORDERS: usize = 64;
pub(super) const BUSY: &str =
    "too many requests about the fleet at once; try again in a few seconds";

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
    fn answer(
        &self,
        request: FleetRequest,
        caller: Admitted,
        form: FleetForm,
    ) -> Pin<Box<dyn Future<Output = FleetAnswer> + Send>> {
        match self.0.get() {
            Some(api) => api.answer(request, caller, form),
            None => Box::pin(std::future::ready(FleetAnswer::Unavailable(
                "the store has not been reached yet".into(),
            ))),
        }
    }
}

#[derive(Clone)]
pub(crate) struct FleetBackend {
    pub(super) store: Store,
    pub(super) published_fleet: Arc<PublishedFleet>,
    graph: GraphSource,
    clock: Clock,
    allowance: SignedDuration,
    outlooks: Arc<KeptOutlook>,
    forecasts: Arc<Semaphore>,
    pub(super) questions: Arc<Semaphore>,
    orders: Arc<Semaphore>,
    reports: ReportQueue,
    log: LogReader,
}

impl FleetBackend {
    pub(crate) fn new(
        store: Store,
        published_fleet: Arc<PublishedFleet>,
        graph: GraphSource,
        clock: Clock,
        allowance: SignedDuration,
    ) -> Self {
        let reports = ReportQueue::start(&store, &published_fleet, &graph, allowance);
        Self {
            log: LogReader::new(store.clone()),
            store,
            published_fleet,
            graph,
            clock,
            allowance,
            outlooks: Arc::default(),
            forecasts: Arc::new(Semaphore::new(1)),
            questions: Arc::new(Semaphore::new(MAX_QUESTIONS)),
            orders: Arc::new(Semaphore::new(MAX_ORDERS)),
            reports,
        }
    }
}

impl FleetApi for FleetBackend {
    fn answer(
        &self,
        request: FleetRequest,
        caller: Admitted,
        form: FleetForm,
    ) -> Pin<Box<dyn Future<Output = FleetAnswer> + Send>> {
        let (backend, now) = (self.clone().acting_for(&caller), (self.clock)());
        Box::pin(async move {
            match reach::checked(&backend, request, &caller).await {
                Ok(request) => backend.answered(request, form, now).await,
                Err(refused) => refused,
            }
        })
    }
}

impl FleetBackend {
    /// The same for a caller: what they change is written down with how they are known, and from where.
    fn acting_for(mut self, caller: &Admitted) -> Self {
        if let Some(identity) = &caller.identity {
            let from = caller.from.map(|address| address.to_string());
            self.store = self.store.acting_for(Doer {
                actor: identity.into(),
                from: from.unwrap_or_default().into(),
            });
        }
        self
    }

    async fn answered(self, request: FleetRequest, form: FleetForm, now: Timestamp) -> FleetAnswer {
        match request {
            FleetRequest::Report {
                cluster,
                authority,
                report,
                body,
                received,
            } => {
                let (state, history) = (report.state(cluster, received), report.steps());
                // A report may come late, and says when it was made. It cannot make a time count that nobody watched: else a
                // cluster could make up days of soak within a minute.
                let counts_from = received.checked_sub(self.allowance).ok();
                let Report {
                    id,
                    updates,
                    preflights,
                    failing,
                    ..
                } = *report;
                let reported = ClusterReport {
                    state,
                    authority,
                    body,
                    id,
                    updates,
                    preflights,
                    history,
                    is_failing: failing,
                    limits: self.published_fleet.limits(),
                    counts_from,
                };
                self.reports.report(reported).await
            }
            FleetRequest::Cluster { cluster } => self
                .cluster(cluster, form)
                .await
                .unwrap_or_else(|answer| answer),
            FleetRequest::Why { cluster, version } => self
                .why(cluster, version, form, now)
                .await
                .unwrap_or_else(|answer| answer),
            FleetRequest::Upgrades(filter) => self
                .upgrades(filter, form)
                .await
                .unwrap_or_else(|answer| answer),
            FleetRequest::Plan { filter, days } => self
                .plan(filter, days, form, now)
                .await
                .unwrap_or_else(|answer| answer),
            FleetRequest::Forecast { days, from, filter } => self
                .forecast(days, from, filter, form, now)
                .await
                .unwrap_or_else(|answer| answer),
            FleetRequest::Status(_)
            | FleetRequest::Clusters { .. }
            | FleetRequest::Holds(_)
            | FleetRequest::Sectors(_)
            | FleetRequest::Matrix { .. }
            | FleetRequest::Calendar { .. }
            | FleetRequest::History(_) => {
                let (published_fleet, questions) = (self.published_fleet, self.questions);
                let made = worked(&questions, BUSY, move || {
                    looked(&published_fleet, |published| {
                        answers::ask(published, &request, form, now)
                    })
                });
                // The page is made while the fleet stands still, and written when it may go on.
                made.await.map_or_else(|answer| answer, Made::written)
            }
            FleetRequest::Watch { release } => {
                let watch = self.published_fleet.watch.clone();
                let made = worked(&self.questions, BUSY, move || {
                    crate::feedback::answer(&watch, release.as_ref(), form)
                });
                made.await.unwrap_or_else(|answer| answer)
            }
            FleetRequest::Decisions { before, limit } => self
                .log
                .decisions(before, limit, form)
                .await
                .unwrap_or_else(|answer| answer),
            FleetRequest::Decision { number, cluster } => self
                .log
                .decision(number, cluster, form)
                .await
                .unwrap_or_else(|answer| answer),
            FleetRequest::AuditLog {
                after,
                since,
                until,
                limit,
            } => self
                .log
                .acts_logged(after, (since, until), limit, form)
                .await
                .unwrap_or_else(|answer| answer),
            FleetRequest::Overrule { reload, actor } => {
                let overruled = audit_log::overruled(&self.store, &reload, &actor, now).await;
                let told = |_| FleetAnswer::Json("{}".to_owned());
                overruled.map_or_else(|error| NotDone::Store(error).into(), told)
            }
            FleetRequest::Acts { filter, standing } => self
                .log
                .acts(
                    self.questions,
                    self.published_fleet,
                    (filter, standing),
                    form,
                )
                .await
                .unwrap_or_else(|answer| answer),
            FleetRequest::Orders { cluster, purpose } => self
                .ordered(cluster, purpose, now)
                .await
                .unwrap_or_else(|answer| answer),
            FleetRequest::Preflight {
                version,
                filter,
                at_once,
                actor,
            } => {
                let request = PreflightRequest {
                    version,
                    id: preflight::request_id(now),
                    by: actor.name,
                    at: now,
                };
                self.ask_preflight(request, filter, at_once, form)
                    .await
                    .unwrap_or_else(|answer| answer)
            }
            FleetRequest::Preflights(filter) => self
                .preflights(filter, form, now)
                .await
                .unwrap_or_else(|answer| answer),
            FleetRequest::Revocations => revocations::list(&self.store, form)
                .await
                .unwrap_or_else(|answer| answer),
            FleetRequest::Revoke { which, why, by } => {
                let revocation = revocations::wanted(which, &by, &why, now);
                revocations::revoke(
                    &self.store,
                    self.graph.service().map(Arc::as_ref),
                    &revocation,
                    form,
                )
                .await
                .unwrap_or_else(|answer| answer)
            }
            FleetRequest::Halts => halts::list(&self.store, form)
                .await
                .unwrap_or_else(|answer| answer),
            FleetRequest::Halt {
                release,
                scope,
                why,
                by,
            } => {
                let graph = self.graph.now();
                let snapshot = match &graph {
                    GraphHandle::Served(snapshot) => Some(&**snapshot),
                    GraphHandle::None | GraphHandle::Fixed(_) => None,
                };
                let wanted = WantedHalt {
                    release,
                    scope,
                    why,
                    by,
                };
                halts::halt(&self.store, snapshot, wanted, form, now)
                    .await
                    .unwrap_or_else(|answer| answer)
            }
            FleetRequest::UndoHalt { halt, by } => halts::undo(&self.store, halt, &by, form, now)
                .await
                .unwrap_or_else(|answer| answer),
            act => match self.act(act, now).await {
                Ok(act) => match form {
                    FleetForm::Json => FleetAnswer::Json(acts::json(&act).to_string()),
                    FleetForm::Text { .. } | FleetForm::Markdown => {
                        FleetAnswer::Text(acts::text(&act))
                    }
                },
                Err(answer) => answer,
            },
        }
    }

    async fn cluster(self, cluster: String, form: FleetForm) -> Result<FleetAnswer, FleetAnswer> {
        let (known, name) = (self.published_fleet.clone(), cluster.clone());
        let found = worked(&self.questions, BUSY, move || {
            looked(&known, |published| {
                let found = cluster_answer::found(&published.planner, &name);
                let (_, state) = found.map_err(answers::not_found)?;
                Ok((state.id.clone(), state.last_seen))
            })
        });
        let (id, seen) = found.await?;
        let records = cluster_answer::records(&self.store, &id, seen).await.ok();
        let published_fleet = self.published_fleet;
        let made = worked(&self.questions, BUSY, move || {
            looked(&published_fleet, |published| {
                cluster_answer::answer(published, &cluster, records, form)
            })
        });
        Ok(made.await?.written())
    }

    async fn why(
        self,
        cluster: String,
        version: Option<Version>,
        form: FleetForm,
        now: Timestamp,
    ) -> Result<FleetAnswer, FleetAnswer> {
        let known = self.published_fleet.clone();
        let name = cluster.clone();
        let found = worked(&self.questions, BUSY, move || {
            looked(&known, |published| answers::whose(published, &name))
        });
        let (id, last_seen) = found.await?;
        // If the store is away, the answer lacks the updates. Updates that came after the pass are shown after the next pass.
        let updates = self.store.agent_updates(&id, last_seen).await.ok();
        let published_fleet = self.published_fleet;
        let made = worked(&self.questions, BUSY, move || {
            looked(&published_fleet, |published| {
                let version = version.as_ref();
                answers::why(published, &cluster, version, updates.as_deref(), form, now)
            })
        });
        Ok(made.await?.written())
    }

    /// What the fleet asks of a cluster.
    async fn ordered(
        self,
        cluster: ClusterId,
        purpose: OrdersUse,
        now: Timestamp,
    ) -> Result<FleetAnswer, FleetAnswer> {
        let (published_fleet, asked) = (self.published_fleet, cluster.clone());
        let known = worked(&self.orders, BUSY, move || {
            looked(&published_fleet, |published| {
                Ok(orders::known(published, &asked, now))
            })
        });
        let known = known.await?;
        let graph = self.graph.now();
        Ok(orders::answer(&self.store, &graph, (&cluster, purpose), known, now).await)
    }

    async fn ask_preflight(
        self,
        request: PreflightRequest,
        filter: Filter,
        at_once: u32,
        form: FleetForm,
    ) -> Result<FleetAnswer, FleetAnswer> {
        let (published_fleet, version) = (self.published_fleet, request.version.clone());
        let asked = worked(&self.questions, BUSY, move || {
            looked(&published_fleet, |published| {
                let asked = request.of(&filter, &published.planner);
                asked.map_err(|problem| FleetAnswer::NotFound(problem.to_string()))
            })
        });
        let asked = asked.await?;
        if asked.preflights.is_empty() {
            return Err(FleetAnswer::NotFound(preflight::NOBODY.to_owned()));
        }
        let written = self.store.ask_preflights(&asked.preflights, at_once).await;
        written.map_err(|error| FleetAnswer::from(NotDone::Store(error)))?;
        Ok(match form {
            FleetForm::Json => FleetAnswer::Json(told::preflights_asked(&asked).to_string()),
            FleetForm::Text { .. } | FleetForm::Markdown => {
                FleetAnswer::Text(said::preflights_asked(&version, &asked, at_once))
            }
        })
    }

    async fn preflights(
        self,
        filter: Filter,
        form: FleetForm,
        now: Timestamp,
    ) -> Result<FleetAnswer, FleetAnswer> {
        let unavailable = |error: StoreError| FleetAnswer::Unavailable(error.to_string());
        let preflights = self.store.preflights().await.map_err(unavailable)?;
        let published_fleet = self.published_fleet;
        let made = worked(&self.questions, BUSY, move || {
            looked(&published_fleet, |published| {
                answers::preflights(published, &preflights, &filter, form, now)
            })
        });
        Ok(made.await?.written())
    }

    async fn upgrades(self, filter: Filter, form: FleetForm) -> Result<FleetAnswer, FleetAnswer> {
        let before = pages::upgrades_before(&filter).map_err(answers::bad_filter)?;
        let (known, asked) = (self.published_fleet.clone(), filter.clone());
        let found = worked(&self.questions, BUSY, move || {
            looked(&known, |published| answers::upgraded(published, &asked))
        });
        let whose = found.await?;
        let which = match (&whose, before) {
            (Some(id), _) => UpgradeSelection::Of(id.clone()),
            (None, Some(id)) => UpgradeSelection::Before(id, pages::UPGRADES_LOOKED_AT),
            (None, None) => UpgradeSelection::Recent(pages::UPGRADES_LOOKED_AT),
        };
        let unavailable = |error: StoreError| FleetAnswer::Unavailable(error.to_string());
        let mut upgrades = self.store.upgrades(&which).await.map_err(unavailable)?;
        if whose.is_some() {
            upgrades.reverse();
            upgrades.retain(|upgrade| before.is_none_or(|before| upgrade.id < before));
            upgrades.truncate(pages::UPGRADES_LOOKED_AT as usize);
        }
        let published_fleet = self.published_fleet;
        let made = worked(&self.questions, BUSY, move || {
            looked(&published_fleet, |published| {
                answers::upgrades(published, &upgrades, whose, &filter, form)
            })
        });
        Ok(made.await?.written())
    }

    async fn plan(
        self,
        filter: Filter,
        days: Option<u32>,
        form: FleetForm,
        now: Timestamp,
    ) -> Result<FleetAnswer, FleetAnswer> {
        let outlook = match days {
            Some(days) => Some((self.outlook(days, now).await?, days)),
            None => None,
        };
        let published_fleet = self.published_fleet;
        let made = worked(&self.questions, BUSY, move || {
            looked(&published_fleet, |published| {
                let expected = outlook.as_ref().map(|(outlook, days)| Expectations {
                    outlook,
                    days: *days,
                });
                answers::plan(published, &filter, expected, form)
            })
        });
        Ok(made.await?.written())
    }

    async fn forecast(
        self,
        days: u32,
        from: Option<Timestamp>,
        filter: Filter,
        form: FleetForm,
        now: Timestamp,
    ) -> Result<FleetAnswer, FleetAnswer> {
        let (known, asked) = (self.published_fleet.clone(), filter.clone());
        let meant = worked(&self.questions, BUSY, move || {
            looked(&known, |published| {
                let at = answers::instant(published, now);
                Ok((answers::meant(published, &asked, now)?, at))
            })
        });
        let (meant, at) = meant.await?;
        let begins = from.unwrap_or(at);
        let ahead = days_ahead(at, begins, days)?;
        let outlook = self.outlook(ahead, now).await?;
        let made = worked(&self.questions, BUSY, move || {
            let outlook = Outlook::clone(&outlook).about(&meant);
            let outlook = match from {
                Some(from) => outlook.between(from, days),
                None => outlook,
            };
            answers::forecast(outlook, begins, days, &filter, form)
        });
        Ok(made.await?.written())
    }

    /// What will start. Each takes a processor for a while, so one at a time is made, and it is kept for a minute.
    async fn outlook(&self, days: u32, now: Timestamp) -> Result<Arc<Outlook>, FleetAnswer> {
        let (published_fleet, graph) = (self.published_fleet.clone(), self.graph.now());
        if let Some(outlook) = self.outlooks.fresh(days, graph.name()) {
            return Ok(outlook);
        }
        let (busy, kept) = (
            "another forecast is being made; try again",
            self.outlooks.clone(),
        );
        let made = worked(&self.forecasts, busy, move || {
            // The fleet is copied first, so that no pass waits for a forecast.
            let (input, at) = looked(&published_fleet, |published| {
                let roster = published.planner.roster();
                let input = roster.input(&published.policy, &published.inherited);
                Ok((input, answers::instant(published, now)))
            })?;
            let outlook = forecast_days(input, graph.graph(), at, days, &mut |_| {});
            let refused = |problem: BadQuestion| FleetAnswer::Refused {
                kind: "bad_forecast",
                sentence: problem.to_string(),
            };
            let outlook = Arc::new(outlook.map_err(refused)?);
            kept.keep(days, graph.name(), outlook.clone());
            Ok(outlook)
        });
        made.await
    }

    /// Carries out what somebody decided.
    async fn act(self, request: FleetRequest, now: Timestamp) -> Result<Act, FleetAnswer> {
        let Self {
            store,
            published_fleet,
            graph,
            questions,
            allowance,
            ..
        } = self;
        if let FleetRequest::Import { list, actor } = &request {
            // A pass may hold the fleet for a second, so the wait is on a thread of its own.
            let policy = move || {
                let published = published_fleet.published()?;
                let published = published.read().unwrap_or_else(PoisonError::into_inner);
                Some(published.policy.clone())
            };
            let policy = tokio::task::spawn_blocking(policy).await.ok().flatten();
            let policy = policy.unwrap_or_default();
            let (list, by) = (&**list, &*actor.name);
            return import(
                &store,
                (list, by),
                &policy,
                allowance,
                graph.enrolment(),
                now,
            )
            .await;
        }
        let asked = request.clone();
        let looking = worked(&questions, BUSY, move || {
            looked(&published_fleet, |published| {
                Ok((
                    published.planner.roster().known(),
                    acts_on::covered(published, &asked),
                ))
            })
        });
        // Before the fleet was read once, nobody is known. A pause is the safe side, and holds all the same.
        let (known, covered) = match (looking.await, &request) {
            (Err(FleetAnswer::Unavailable(_)), FleetRequest::Pause { .. }) => {
                (KnownFleet::default(), None)
            }
            (looked, _) => looked?,
        };
        let service = graph.service().cloned();
        let graph = graph.now();
        let Some(actor) = actor_of(&request) else {
            unreachable!("{request:?} is no act");
        };
        let people = People {
            actor,
            store: &store,
            known: &known,
            graph: graph.graph(),
            now,
        };
        Ok(match request {
            FleetRequest::Pause {
                organisation,
                sector,
                why,
                ..
            } => {
                let place = PausePlace {
                    organisation,
                    sector,
                };
                if covered == Some(0) && place != PausePlace::default() {
                    let nobody = "nothing was paused: no cluster is there; `towpath fleet clusters` lists organisations and sectors";
                    return Err(FleetAnswer::NotFound(nobody.into()));
                }
                people.pause(place, why, covered, None).await?
            }
            FleetRequest::Resume {
                organisation,
                sector,
                why,
                ..
            } => {
                let place = PausePlace {
                    organisation,
                    sector,
                };
                people.resume(place, &why).await?
            }
            FleetRequest::Lift {
                cluster,
                version,
                why,
                ..
            } => people.lift(&cluster, version.as_ref(), &why).await?,
            FleetRequest::Approve {
                organisation,
                cluster,
                version,
                why,
                ..
            } => people.approve(organisation, cluster, version, &why).await?,
            FleetRequest::Acknowledge {
                gate, cluster, why, ..
            } => people.acknowledge(&gate, &cluster, &why).await?,
            FleetRequest::WithdrawApproval {
                organisation,
                cluster,
                version,
                why,
                ..
            } => {
                let act = people.withdraw_approval(organisation, cluster, version, &why);
                act.await?
            }
            FleetRequest::WithdrawAcknowledgement {
                gate, cluster, why, ..
            } => {
                let act = people.withdraw_acknowledgement(&gate, &cluster, &why);
                act.await?
            }
            FleetRequest::Cancel { which, why, .. } => match which {
                UpgradeChoice::Of(cluster) => people.cancel_of(&cluster, &why).await?,
                UpgradeChoice::Number(number) => people.cancel_number(number, &why).await?,
            },
            FleetRequest::Forget { cluster, actor } => {
                let act = people.forget(&cluster).await?;
                revocations::tell(&store, service.as_deref()).await;
                tracing::info!(%cluster, by = &*actor.name, "a cluster was forgotten over HTTP");
                act
            }
            question => unreachable!("{question:?} is no act"),
        })
    }
}

/// Who acts; none if the request is no act.
fn actor_of(request: &FleetRequest) -> Option<Actor> {
    match request {
        FleetRequest::Pause { actor, .. }
        | FleetRequest::Resume { actor, .. }
        | FleetRequest::Lift { actor, .. }
        | FleetRequest::Approve { actor, .. }
        | FleetRequest::Acknowledge { actor, .. }
        | FleetRequest::WithdrawApproval { actor, .. }
        | FleetRequest::WithdrawAcknowledgement { actor, .. }
        | FleetRequest::Cancel { actor, .. }
        | FleetRequest::Forget { actor, .. } => Some(actor.clone()),
        _ => None,
    }
}

/// How many days a forecast from the last pass has to look, so that it tells of so many days from another time. What was before the
/// last pass it cannot tell.
fn days_ahead(at: Timestamp, from: Timestamp, days: u32) -> Result<u32, FleetAnswer> {
    let refused = |sentence: String| FleetAnswer::Refused {
        kind: "not_then",
        sentence,
    };
    let pass = second(at);
    if from < at {
        let from = second(from);
        return Err(refused(format!(
            "the fleet is known as it was at {pass}, not as it was at {from}: what was observed and reported since then cannot be taken back. /api/v1/fleet/decisions has what was decided then"
        )));
    }
    let seconds = at.duration_until(from).as_secs();
    let ahead = u32::try_from(seconds.div_euclid(86_400)).unwrap_or(u32::MAX);
    let ahead = ahead
        .saturating_add(u32::from(seconds % 86_400 > 0))
        .saturating_add(days);
    match ahead <= MAX_DAYS {
        true => Ok(ahead),
        false => Err(refused(format!(
            "a forecast reaches at most {MAX_DAYS} days from the last pass at {pass}; ask for fewer days or an earlier time"
        ))),
    }
}

/// Works on a thread that may wait, as one of few. The turn goes along with the work: it is over when the work is, whoever still waits
/// for the answer.
pub(super) async fn worked<T: Send + 'static>(
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
pub(super) fn looked<T>(
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

/// Records a list, without its entries that have errors. A body that is no list changes nothing.
async fn import(
    store: &Store,
    (list, by): (&str, &str),
    policy: &FleetPolicy,
    allowance: SignedDuration,
    enrolment: Option<&Enrolment>,
    now: Timestamp,
) -> Result<Act, FleetAnswer> {
    let place = Place::file("body");
    let read = || cluster_list::read(&place, list.as_bytes(), now);
    let (list, found) = tokio::task::block_in_place(read);
    if let (true, Some(first)) = (list.is_unusable, found.first()) {
        return Err(FleetAnswer::Refused {
            kind: "bad_list",
            sentence: first.to_string(),
        });
    }
    let ids: Vec<ClusterId> = list.clusters.iter().map(|state| state.id.clone()).collect();
    let recorded = super::import::record(store, list, by, policy, allowance, now).await;
    let mut recorded = recorded.map_err(NotDone::from)?;
    recorded.findings = found;
    if let Some(enrolment) = enrolment {
        // Before the answer: from now on nobody may see more than the next pass lets them.
        enrolment.hold_reported(ids.iter());
        tracing::info!(clusters = ids.len(), "a list was imported over HTTP");
    }
    Ok(Act::Imported(recorded))
}

impl From<NotDone> for FleetAnswer {
    fn from(why: NotDone) -> Self {
        match why {
            NotDone::Unknown(sentence) => Self::NotFound(sentence),
            NotDone::Refused { kind, sentence } => Self::Refused { kind, sentence },
            NotDone::Store(StoreError::Bad(sentence)) => Self::Refused {
                kind: "bad_request",
                sentence,
            },
            NotDone::Store(error) => Self::Unavailable(error.to_string()),
        }
    }
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
