//! The loop of scheduling passes: on its own (`towpath fleet run`), or in the background of the graph service (`towpath serve --fleet`).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use jiff::{SignedDuration, Timestamp};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;
use towpath_core::cluster::Groups;
use towpath_core::finding::Finding;
use towpath_core::fleet::{
    ClusterIdx, ClusterState, Filter, FleetPlanner, Name, PUNCTUALITY, UpgradeState, history,
    name_clashes,
};
use towpath_core::retry::Backoff;
use towpath_sources::HttpAccess;
use towpath_store::{Store, StoreAddress, StoreError};
use towpath_web::{
    AllowedUpdates, AusMetrics, Bounded, Clock, ClusterCount, ClusterPlace, Fleet, FleetHealth,
    FleetMetrics, Managed, RemainingSoak, Service,
};

use super::aus_metrics::aus_metrics;
use super::complaint::Complaint;
use super::facts::NO_POLICY;
use super::fleet_backend::{FleetBackend, FleetBackendSlot};
use super::outcomes_query::{BackgroundQuery, OutcomesQuery};
use super::published_fleet::{DecidedFleet, GraphSource, PassOutcome, PublishedFleet};
use super::revocations;
use super::scheduler::Scheduler;
use super::{facts, needed, open_or_make};
use crate::config::{FleetSettings, Settings};
use crate::feedback::{self, BackgroundWatch};
use crate::sources::{Access, HaltsFeed, HaltsOverlay};

/// A cluster that was seen since then reports lately.
const LATELY: SignedDuration = SignedDuration::from_hours(24);

/// How long a pass may take to end when the service stops.
const SHUTDOWN: Duration = Duration::from_secs(10);

/// What a signal to stop means for `fleet run`.
const STOPPING: &str = "no further pass; upgrades that have started continue";

/// Decides and acts until told to stop.
pub(crate) async fn run(settings: Settings, once: bool) -> anyhow::Result<bool> {
    let fleet = needed(&settings)?;
    fleet.check_log_key()?;
    let now = settings.now.unwrap_or_else(Timestamp::now);
    let graph = facts::graph(&settings, now)?.map_or(GraphSource::None, |graph| {
        GraphSource::Fixed(Arc::new(graph))
    });
    let files = fleet.store_address().files();
    let is_new = files.first().is_some_and(|file| !file.exists());
    let store = open_or_make(fleet.store_address()).await?;
    let passed = match once {
        true => pass_once(&store, &settings, &fleet, graph, now).await,
        false => pass_for_ever(&store, &settings, &fleet, graph).await,
    };
    store.close().await;
    if passed.is_err() && is_new && once {
        // Nothing was decided, so nobody misses it.
        for file in files {
            let _ = std::fs::remove_file(file);
        }
    }
    passed.map(|()| true)
}

/// One pass, or why it could not be made.
async fn pass_once(
    store: &Store,
    settings: &Settings,
    fleet: &FleetSettings,
    graph: GraphSource,
    now: Timestamp,
) -> anyhow::Result<()> {
    let published = Arc::new(PublishedFleet::default());
    let query = outcomes_query(store, fleet, &settings.sources.access.http, &published)?;
    let mut scheduler = Scheduler::new(store.clone(), fleet.clone(), graph, published)?;
    scheduler.sign_log(Arc::new(move || now), None)?;
    let passed = scheduler.pass(now).await;
    let findings = scheduler.findings();
    scheduler.stop().await;
    let outcome = passed?;
    // The pass has learned how long updates may take.
    if let Some(query) = query {
        let looked = query.look(now).await;
        query.stop().await;
        looked.context("what Prometheus tells could not be written down")?;
    }
    // Without any policy nothing can ever start: somebody has named another folder.
    if let Some(finding) = findings.iter().find(|finding| finding.code == NO_POLICY) {
        bail!("{finding}");
    }
    tell(&outcome);
    crate::cli::say(&outcome.to_string())?;
    if outcome.planned > 0 && !fleet.has_calendar_elsewhere() {
        crate::cli::say(&next_pass_note())?;
    }
    Ok(())
}

async fn pass_for_ever(
    store: &Store,
    settings: &Settings,
    fleet: &FleetSettings,
    graph: GraphSource,
) -> anyhow::Result<()> {
    let published = Arc::new(PublishedFleet::default());
    let query = outcomes_query(store, fleet, &settings.sources.access.http, &published)?;
    let now = settings.now;
    let clock: Clock = Arc::new(move || now.unwrap_or_else(Timestamp::now));
    let query = query.map(|query| BackgroundQuery::start(query, None, clock.clone()));
    let mut scheduler = Scheduler::new(store.clone(), fleet.clone(), graph, published)?;
    scheduler.sign_log(clock, None)?;
    let mut stop = std::pin::pin!(crate::serve::stop_signal(STOPPING)?);
    let (mut complaint, began) = (Complaint::default(), Instant::now());
    let mut ticks = ticks(fleet.pass_every);
    let taken_over = scheduler.taken_over();
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = taken_over.notified() => {}
            () = &mut stop => break,
        }
        let now = settings.now.unwrap_or_else(Timestamp::now);
        match scheduler.pass(now).await {
            Ok(outcome) => tell(&outcome),
            Err(error) => _ = complain(&mut complaint, began, &error),
        }
    }
    scheduler.stop().await;
    if let Some(query) = query {
        query.stop().await;
    }
    Ok(())
}

/// Who asks Prometheus for outcomes, if somebody is to.
fn outcomes_query(
    store: &Store,
    fleet: &FleetSettings,
    access: &HttpAccess,
    published: &Arc<PublishedFleet>,
) -> anyhow::Result<Option<OutcomesQuery>> {
    let query = fleet.outcomes.query.as_ref();
    let made =
        query.map(|query| OutcomesQuery::new(query, access, store.clone(), published.clone()));
    made.transpose()
}

/// What somebody who makes single passes has to know.
fn next_pass_note() -> String {
    let minutes = PUNCTUALITY.as_mins();
    format!(
        "What is planned begins in the first pass after its time. Make the next passes at most {minutes} minutes apart, or leave out --once. A plan that is {minutes} minutes late begins only while its schedule is open.\n"
    )
}

/// One that comes late does not make others come early.
fn ticks(every: Duration) -> tokio::time::Interval {
    let mut ticks = tokio::time::interval(every);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    ticks
}

/// Says that a pass failed, unless that has just been said; returns why.
fn complain(complaint: &mut Complaint, began: Instant, error: &anyhow::Error) -> String {
    let problem = format!("{error:#}");
    if let Some(more) = complaint.came(&problem, began.elapsed()) {
        tracing::error!("a scheduling pass failed; nothing starts: {problem}{more}");
    }
    problem
}

fn tell(outcome: &PassOutcome) {
    let acted =
        outcome.planned + outcome.begun + outcome.cancelled + outcome.ended + outcome.refused > 0;
    let PassOutcome {
        planned,
        begun,
        refused,
        cancelled,
        ended,
        overdue,
        clusters,
        is_scheduler,
        ..
    } = outcome;
    let took_ms = u64::try_from(outcome.took.as_millis()).unwrap_or(u64::MAX);
    match acted {
        true => tracing::info!(
            planned,
            begun,
            refused,
            cancelled,
            ended,
            overdue,
            clusters,
            is_scheduler,
            took_ms,
            "a pass was made"
        ),
        false => tracing::debug!(overdue, clusters, is_scheduler, took_ms, "a pass was made"),
    }
}

/// A fleet that is looked after beside the graph service.
pub(crate) struct BackgroundFleet {
    stop: Arc<Notify>,
    work: JoinHandle<()>,
    halts: Mutex<Option<oneshot::Sender<HaltsFeed>>>,
}

impl BackgroundFleet {
    /// Sends the halts of the store there from now on.
    pub(crate) fn feed(&self, halts: HaltsFeed) {
        let waiting = self
            .halts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        // If nobody waits for it, the fleet has stopped.
        let _ = waiting.map(|waiting| waiting.send(halts));
    }

    /// Ends after the pass that is being made, and lets another replica take over at once.
    pub(crate) async fn stop(self) {
        self.stop.notify_one();
        if tokio::time::timeout(SHUTDOWN, self.work).await.is_err() {
            tracing::warn!(
                "the fleet's pass did not finish in time; another replica takes over when the lease expires"
            );
        }
    }
}

/// Looks after a fleet beside the graph service, whose graph it follows.
pub(crate) fn in_background(
    service: Arc<Service>,
    fleet: FleetSettings,
    access: Access,
    clock: Clock,
) -> anyhow::Result<BackgroundFleet> {
    let feedback = feedback::read(fleet.feedback.as_deref())?;
    service.set_feedback(feedback.policy.clone());
    let address = fleet.store_address();
    // What no waiting can mend ends the start.
    address.check().context("--store cannot be used")?;
    fleet.check_log_key()?;
    if let Some(query) = &fleet.outcomes.query {
        query.prometheus(&access.http)?;
    }
    let overlay = fleet.halts_to.clone().map(HaltsOverlay::new).transpose()?;
    let api = Arc::new(FleetBackendSlot::default());
    service.fleet(Fleet {
        desk: api.clone(),
        reads: fleet.reads,
    });
    service.expect_revoked_in_store();
    // Until the fleet has been read once, nobody knows who is managed: too many blocks can be undone.
    service.enrolment().start();
    let stop = Arc::new(Notify::new());
    let stopped = stop.clone();
    let (feed, fed) = oneshot::channel();
    let work = tokio::spawn(async move {
        // It comes as soon as the sources have started.
        let Ok(halts) = fed.await else { return };
        let store = tokio::select! {
            store = open_at_last(&address, &service, &clock, &halts) => store,
            () = stopped.notified() => return,
        };
        let followed = store.clone();
        let checks_tokens = service.clone();
        let following = tokio::spawn(async move {
            let revoked = revocations::follow(&followed, &checks_tokens);
            let passed_on = async {
                if let Some(overlay) = &overlay {
                    overlay.follow(&followed, &halts).await;
                }
            };
            tokio::join!(halts.follow(&followed), passed_on, revoked);
        });
        let published_fleet = Arc::new(PublishedFleet::default());
        let graph = GraphSource::Served(service.clone());
        api.take(FleetBackend::new(
            store.clone(),
            published_fleet.clone(),
            graph.clone(),
            clock.clone(),
            fleet.allowance,
        ));
        let (every, names_of_aus) = (fleet.pass_every, fleet.aus_metrics);
        let watch = BackgroundWatch::start(
            store.clone(),
            feedback,
            service.clone(),
            published_fleet.clone(),
            &access,
            clock.clone(),
        );
        let query = outcomes_query(&store, &fleet, &access.http, &published_fleet);
        let start = |query| BackgroundQuery::start(query, Some(service.clone()), clock.clone());
        let query = query.map(|query| query.map(start));
        match Scheduler::new(store.clone(), fleet, graph, published_fleet) {
            Ok(mut scheduler) => {
                if let Err(error) = scheduler.sign_log(clock.clone(), Some(service.clone())) {
                    tracing::error!("the head of the log is not signed: {error:#}");
                }
                pass_until(scheduler, &service, &clock, every, names_of_aus, &stopped).await;
            }
            Err(error) => tracing::error!("the fleet's scheduler cannot start: {error:#}"),
        }
        match watch {
            Ok(watch) => watch.stop().await,
            Err(error) => tracing::error!("{error:#}"),
        }
        match query {
            Ok(Some(query)) => query.stop().await,
            Ok(None) => {}
            Err(error) => tracing::error!("{error:#}"),
        }
        following.abort();
        // Nothing is asked of it any more; SQLite then has everything in its one file.
        store.close().await;
    });
    let halts = Mutex::new(Some(feed));
    Ok(BackgroundFleet { stop, work, halts })
}

const STORE_BACKOFF: Backoff = Backoff {
    first: Duration::from_secs(1),
    longest: Duration::from_secs(30),
};

/// The organisations that a policy or a cluster names.
fn organisations(published: &DecidedFleet) -> BTreeSet<Name> {
    let of_policies = published.policy.organisations.keys().cloned();
    let clusters = published.planner.roster().clusters();
    let of_clusters = clusters.map(|(state, _)| state.organisation.clone());
    of_policies.chain(of_clusters).collect()
}

/// Opens the store; while that fails, graphs are served and the fleet waits.
async fn open_at_last(
    address: &StoreAddress,
    service: &Service,
    clock: &Clock,
    halts: &HaltsFeed,
) -> Store {
    let mut failures = 0_u32;
    let (mut complaint, began) = (Complaint::default(), Instant::now());
    loop {
        match Store::open(address.clone()).await {
            Ok(store) => return store,
            Err(error) => {
                if let Some(more) = complaint.came(&error.to_string(), began.elapsed()) {
                    tracing::error!(%error, "the store cannot be opened; nothing starts until it can{more}");
                }
                halts.failed(&error.to_string());
                let problem = Some(error.to_string());
                service.fleet_health(health(clock(), problem, None));
                failures = failures.saturating_add(1);
                tokio::time::sleep(STORE_BACKOFF.wait(failures)).await;
            }
        }
    }
}

async fn pass_until(
    mut scheduler: Scheduler,
    service: &Service,
    clock: &Clock,
    every: Duration,
    names_of_aus: bool,
    stopped: &Notify,
) {
    let (mut last_pass, mut decisions, mut failed_passes) = (None, 0, 0);
    let (mut complaint, began) = (Complaint::default(), Instant::now());
    let mut ticks = ticks(every);
    // A fleet is judged by the graph that is served; before there is one, there is nothing to judge.
    while service.snapshot().is_none() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let mut told = FleetMetrics::default();
    let taken_over = scheduler.taken_over();
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = taken_over.notified() => {}
            () = stopped.notified() => return scheduler.stop().await,
        }
        let now = clock();
        let number = service.enrolment().pass_begins();
        match scheduler.pass(now).await {
            Ok(outcome) => {
                tell(&outcome);
                last_pass = Some(now);
                decisions += 1;
                let findings = scheduler.findings();
                let is_scheduler = outcome.is_scheduler;
                service.fleet_health(FleetHealth {
                    findings: findings.clone(),
                    is_scheduler,
                    ..health(clock(), None, last_pass)
                });
                if let Some(published) = scheduler.published_fleet.published() {
                    let published = published.read().unwrap_or_else(PoisonError::into_inner);
                    tokio::task::block_in_place(|| {
                        service.set_organisations(organisations(&published));
                        service
                            .enrolment()
                            .publish(Arc::new(managed(&published)), number);
                        told = metrics(&published, &outcome, &findings, decisions);
                        told.aus = names_of_aus.then(|| AusMetrics {
                            failed_passes,
                            ..aus_metrics(&published, outcome.at)
                        });
                        told.agent_updates = scheduler.published_fleet.outcomes.all();
                        service.fleet_metrics(Arc::new(told.clone()));
                    });
                }
                if let Some(outcomes) = tokio::task::block_in_place(|| scheduler.outcomes(now)) {
                    service.outcomes(Arc::new(outcomes));
                }
            }
            Err(error) => {
                service.enrolment().fleet_is_unread();
                let problem = complain(&mut complaint, began, &error);
                let is_the_store = error.chain().any(|cause| cause.is::<StoreError>());
                let (store_problem, pass_problem) = match is_the_store {
                    true => (Some(problem), None),
                    false => (None, Some(problem)),
                };
                service.fleet_health(FleetHealth {
                    findings: scheduler.findings(),
                    pass_problem,
                    ..health(clock(), store_problem, last_pass)
                });
                told.is_scheduler = false;
                failed_passes += 1;
                if let Some(aus) = &mut told.aus {
                    aus.failed_passes = failed_passes;
                }
                service.fleet_metrics(Arc::new(told.clone()));
            }
        }
    }
}

fn health(
    now: Timestamp,
    store_problem: Option<String>,
    last_pass: Option<Timestamp>,
) -> FleetHealth {
    FleetHealth {
        store_problem,
        pass_problem: None,
        checked_at: now,
        last_pass,
        is_scheduler: false,
        findings: Vec::new(),
    }
}

/// What each managed cluster may take now: where its upgrade goes that has started. A cluster whose organisation's policy is not
/// there, or that may be in a file which cannot be read, may take nothing: nobody knows what its policy says. Nor may one whose id
/// a policy names for an organisation in which it is not known.
fn managed(published: &DecidedFleet) -> Managed {
    let roster = published.planner.roster();
    let started = roster
        .upgrades()
        .iter()
        .filter(|upgrade| upgrade.state == UpgradeState::Started && upgrade.pool.is_none());
    let started: HashMap<&str, _> = started
        .map(|upgrade| (upgrade.cluster.as_str(), upgrade))
        .collect();
    let is_lost = |state: &&ClusterState| {
        published.is_partial
            || !published
                .policy
                .organisations
                .contains_key(&state.organisation)
    };
    let (lost, free): (Vec<_>, Vec<_>) = roster.unmanaged().partition(is_lost);
    let mut clusters: HashMap<_, _> = free
        .into_iter()
        .map(|state| (state.id.clone(), ClusterPlace::Unmanaged))
        .collect();
    let named = published.policy.named_ids().chain(&published.strays);
    clusters.extend(named.map(|id| (id.clone(), ClusterPlace::NotEnrolled)));
    let known = roster.groups();
    let lost = lost.into_iter().map(|state| (state, None));
    // Many clusters are sorted alike.
    let mut sorted: BTreeSet<Arc<Groups>> = BTreeSet::new();
    let allowed = known.chain(lost).map(|(state, groups)| {
        let groups = groups.map(|groups| match sorted.get(&groups) {
            Some(known) => known.clone(),
            None => {
                let groups = Arc::new(groups);
                sorted.insert(groups.clone());
                groups
            }
        });
        let to = started
            .get(state.id.as_str())
            .map(|upgrade| upgrade.to.clone());
        let allowed = AllowedUpdates {
            rule: towpath_core::graph::rules::Managed {
                from: state.version.clone(),
                to: to.into_iter().collect(),
            },
            platform: state.platform.known().cloned(),
            groups,
        };
        (state.id.clone(), ClusterPlace::Managed(allowed))
    });
    clusters.extend(allowed);
    for id in &published.left_out {
        clusters
            .entry(id.clone())
            .or_insert(ClusterPlace::NotEnrolled);
    }
    Managed {
        clusters,
        others: published.unknown_clusters,
    }
}

fn metrics(
    published: &DecidedFleet,
    outcome: &PassOutcome,
    findings: &[Finding],
    decisions: u64,
) -> FleetMetrics {
    let (planner, at) = (&published.planner, outcome.at);
    let mut by_code = BTreeMap::new();
    for finding in findings {
        *by_code.entry((finding.severity, finding.code)).or_default() += 1;
    }
    let mut clusters: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for (state, policy) in planner.roster().clusters() {
        *clusters
            .entry((
                &*state.organisation,
                policy.sector.as_deref().unwrap_or_default(),
            ))
            .or_default() += 1;
    }
    let mut upgrades = BTreeMap::new();
    for upgrade in planner.roster().upgrades() {
        *upgrades.entry(upgrade.state).or_default() += 1;
    }
    let count = |((organisation, sector), clusters): ((&str, &str), u64)| ClusterCount {
        organisation: organisation.into(),
        sector: sector.into(),
        clusters,
    };
    let known = || {
        planner
            .roster()
            .clusters()
            .map(|(state, _)| state)
            .chain(planner.roster().unmanaged())
    };
    let reports_lately = |state: &&ClusterState| state.last_seen.duration_until(at) <= LATELY;
    FleetMetrics {
        unbound_clusters: known()
            .filter(|state| !state.binding.is_bound())
            .filter(reports_lately)
            .count() as u64,
        name_clashes: name_clashes(known()).len() as u64,
        clusters: clusters.into_iter().map(count).collect(),
        upgrades,
        holds: planner.holds(at),
        remaining_soak: remaining_soak(planner),
        soak: history(planner.roster()).into_iter().collect(),
        policies: Filter::default()
            .clusters(planner, at)
            .into_iter()
            .filter(|row| row.no_policy.is_none())
            .collect(),
        findings: by_code,
        overdue_upgrades: outcome.overdue as u64,
        last_pass: Some(at),
        pass_duration: outcome.took,
        is_scheduler: outcome.is_scheduler,
        decisions,
        agent_updates: BTreeMap::new(),
        aus: None,
    }
}

/// What each cluster waits for to soak, workload by workload.
fn remaining_soak(planner: &FleetPlanner) -> Bounded<RemainingSoak> {
    let roster = planner.roster();
    let of_member = |member: &ClusterIdx| {
        let (member, state) = (*member, roster.cluster(*member));
        let workloads = roster.policy(member).workloads.iter();
        workloads.flat_map(move |workload| {
            let soaking = planner.soak_of(member, workload).into_iter();
            soaking.map(move |(version, have, need)| RemainingSoak {
                organisation: state.organisation.clone(),
                cluster: state.name.clone(),
                version,
                workload: workload.clone(),
                seconds: u64::try_from(need - have).unwrap_or_default(),
            })
        })
    };
    roster.in_order().iter().flat_map(of_member).collect()
}
