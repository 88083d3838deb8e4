//! The HTTP server. It parses requests, reads sheets or asks the fleet, and writes answers. It decides nothing.
//!
//! Graph requests run directly on hyper, because a router would be most of their cost. `routes` lists the endpoints, and
//! `dispatch` answers them.

mod access;
mod admission;
mod body;
mod cached_answer;
mod connection;
mod contract;
mod dispatch;
mod ending;
mod enrolment;
mod entrance;
mod events;
mod explain;
mod fleet;
mod graph;
mod graph_data;
mod login;
mod managed;
mod metrics;
mod mirror;
mod openapi;
mod operations;
mod outcome_series;
mod page;
mod page_cache;
mod path;
mod picture;
mod places;
mod probes;
mod questions;
mod refusal;
mod release_admin;
mod reload;
mod request_rate;
mod rollout_series;
mod routes;
mod server;
mod session;
mod signatures;
mod snapshot;
mod sources;
mod step_graph_cache;
mod tls;
mod transport;
mod watch_series;
mod workers;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::{ArcSwap, ArcSwapOption};
use http::request::Parts;
use http::{HeaderValue, Response, header};
use jiff::Timestamp;
use serde_json::json;
use tokio::sync::Semaphore;
use towpath_core::cluster::ClusterId;
use towpath_core::feedback::{FeedbackPolicy, FleetOutcomes};
use towpath_core::finding::Finding;
use towpath_core::rate::{Rate, Rates};
use towpath_core::repeats::Repeats;
use towpath_core::version::Minors;
use towpath_formats::minors::built_in;

use events::EventKind;

pub use access::{
    AccessKeys, AccessPart, Admitted, Authenticator, NotRecognised, Person, Recognition, TokenKeys,
};
pub use admission::{Admission, AllowedHosts, PlainHttp, TrustedProxies};
pub use body::AnswerBody;
pub use contract::ClientContract;
pub use enrolment::{Enrolment, PassNumber};
pub use fleet::{
    AusCluster, AusMetrics, AusOrganisation, AusRemaining, AusSoak, Bounded, ClusterCount, Fleet,
    FleetAnswer, FleetApi, FleetForm, FleetHealth, FleetMetrics, FleetRequest, Reads,
    RemainingSoak, RevokeWhich, UpgradeChoice,
};
pub use login::{IssuerHealth, LoggedIn, LoginOffer, LoginProvider, LoginRefusal, Redemption};
pub use managed::{AllowedUpdates, ClusterPlace, Managed};
pub use metrics::{Metrics, ReloadResult};
pub use probes::{Probe, ProbeAnswer, Probes};
pub use reload::{ReloadDoor, ReloadRequest, WakeOutcome};
pub use request_rate::REQUESTS_PER_MINUTE;
pub use routes::{Cost, Party, ROUTES, Route, Verb, Who, access_rows};
pub use server::{Limits, Server};
pub use signatures::{KeyringHealth, SignatureHealth, StoreHealth};
pub use snapshot::Snapshot;
pub use sources::{
    ChangedWindows, SealHealth, SourceHealth, SourceProblem, SourceReads, StricterPart,
    WindowChanges,
};
pub use tls::{Tls, TlsBytes, TlsPart};
pub use watch_series::{LogMetrics, OutcomesQueryMetrics, WatchMetrics};

/// The clock. A parameter, so that tests can choose any instant.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// The state that all requests share.
pub struct Service {
    clock: Clock,
    metrics: Metrics,
    snapshot: ArcSwapOption<Snapshot>,
    reload: ArcSwap<Reload>,
    contract: ArcSwap<ClientContract>,
    /// Which minor version follows which.
    minors: ArcSwap<Minors>,
    /// The state of the current snapshot.
    warnings: ArcSwap<Vec<Finding>>,
    request_ids: body::RequestIds,
    page_cache: Arc<page_cache::PageCache>,
    fleet: ArcSwapOption<Fleet>,
    access: access::Access,
    /// Answers about the fleet that are being made or written.
    fleet_answers: Arc<Semaphore>,
    fleet_health: ArcSwapOption<FleetHealth>,
    fleet_metrics: ArcSwapOption<FleetMetrics>,
    watch_metrics: ArcSwapOption<WatchMetrics>,
    log_metrics: ArcSwapOption<LogMetrics>,
    /// Whose refusals were logged lately.
    refusals: Mutex<Repeats>,
    query_metrics: ArcSwapOption<OutcomesQueryMetrics>,
    outcomes: ArcSwapOption<FleetOutcomes>,
    /// How releases are watched.
    feedback: ArcSwap<FeedbackPolicy>,
    enrolment: Enrolment,
    rollouts: explain::Rollouts,
    pictures: picture::Pictures,
    sources: ArcSwapOption<Vec<SourceHealth>>,
    signatures: ArcSwapOption<SignatureHealth>,
    reload_door: ArcSwapOption<ReloadDoor>,
    /// Where people log in with the page.
    login: ArcSwapOption<login::LoginDoor>,
    /// None: plain HTTP.
    pub(crate) tls: ArcSwapOption<Tls>,
    /// What is unsafe in how the service was started.
    pub(crate) setup: ArcSwap<Vec<Finding>>,
    /// Why the newest files about access are not in use.
    access_problems: Mutex<BTreeMap<AccessPart, Finding>>,
    ending: Arc<ending::Ending>,
    events: events::Events,
    build: Build,
    started: Instant,
    /// Limits how often each cluster reports; none without a limit.
    report_rates: Mutex<Option<Rates<ClusterId>>>,
    /// Limits how often each client asks for anything but graphs; none without a limit.
    request_rates: Mutex<Option<Rates<request_rate::Client>>>,
}

/// What is running.
struct Build {
    version: String,
    /// Set once, by whoever knows it.
    more: OnceLock<(Option<String>, bool)>,
}

/// The default limit of reports per cluster and minute. An agent sends at most six.
pub const REPORTS_PER_MINUTE: u32 = 60;
/// The most clusters whose reports are counted.
const MAX_COUNTED_CLUSTERS: usize = 100_000;

/// The result of the last attempt to load a graph.
#[derive(Debug, Clone)]
pub struct Reload {
    pub at: Timestamp,
    pub result: ReloadResult,
    /// Its findings.
    pub findings: Vec<Finding>,
}

impl Service {
    /// A service without a graph: alive, and not ready.
    pub fn new(clock: Clock, version: &str) -> Arc<Self> {
        let reload = Reload {
            at: clock(),
            result: ReloadResult::Pending,
            findings: Vec::new(),
        };
        Arc::new(Self {
            metrics: Metrics::new(version),
            snapshot: ArcSwapOption::empty(),
            reload: ArcSwap::from_pointee(reload),
            contract: ArcSwap::default(),
            minors: ArcSwap::from_pointee(built_in()),
            feedback: ArcSwap::from_pointee(FeedbackPolicy::default()),
            warnings: ArcSwap::default(),
            request_ids: body::RequestIds::new(clock()),
            page_cache: Arc::default(),
            fleet: ArcSwapOption::empty(),
            access: access::Access::default(),
            fleet_answers: Arc::new(Semaphore::new(fleet::MAX_ANSWERS)),
            fleet_health: ArcSwapOption::empty(),
            fleet_metrics: ArcSwapOption::empty(),
            watch_metrics: ArcSwapOption::empty(),
            log_metrics: ArcSwapOption::empty(),
            refusals: Mutex::default(),
            query_metrics: ArcSwapOption::empty(),
            outcomes: ArcSwapOption::empty(),
            enrolment: Enrolment::default(),
            rollouts: explain::Rollouts::default(),
            pictures: picture::Pictures::default(),
            sources: ArcSwapOption::empty(),
            signatures: ArcSwapOption::empty(),
            reload_door: ArcSwapOption::empty(),
            login: ArcSwapOption::empty(),
            tls: ArcSwapOption::empty(),
            setup: ArcSwap::default(),
            access_problems: Mutex::default(),
            ending: Arc::default(),
            events: events::Events::new(clock()),
            build: Build {
                version: version.to_owned(),
                more: OnceLock::new(),
            },
            started: Instant::now(),
            report_rates: Mutex::new(report_rates(REPORTS_PER_MINUTE)),
            request_rates: Mutex::new(request_rate::rates(REQUESTS_PER_MINUTE)),
            clock,
        })
    }

    /// Sets where graphs are answered, and what a request must have.
    pub fn contract(&self, contract: ClientContract) {
        self.contract.store(Arc::new(contract));
    }

    /// Sets which minor version follows which. Without it, the built-in table counts.
    pub fn set_minors(&self, minors: Minors) {
        self.minors.store(Arc::new(minors));
    }

    /// How releases are watched, for power cards.
    pub fn set_feedback(&self, policy: FeedbackPolicy) {
        self.feedback.store(Arc::new(policy));
    }

    pub(crate) fn feedback(&self) -> Arc<FeedbackPolicy> {
        self.feedback.load_full()
    }

    pub(crate) fn minors(&self) -> Minors {
        (**self.minors.load()).clone()
    }

    /// Serves over TLS. Call it before the server is started.
    pub fn secure(&self, tls: Arc<Tls>) {
        self.tls.store(Some(tls));
    }

    /// How its addresses begin.
    pub fn scheme(&self) -> &'static str {
        match &*self.tls.load() {
            Some(_) => "https",
            None => "http",
        }
    }

    /// Sets what is unsafe in how the service was started, for `/readyz`. Everybody sees it.
    pub fn set_up(&self, findings: Vec<Finding>) {
        self.setup.store(Arc::new(findings));
    }

    /// Sets what `/api/v1/session` and `towpath_build_info` tell besides: the commit and its day, and whether the built-in example is served.
    pub fn describe(&self, commit: Option<&str>, day: Option<&str>, is_example: bool) {
        self.metrics.built_from(&self.build.version, commit, day);
        // Only the first counts: neither changes.
        let _ = self.build.more.set((commit.map(str::to_owned), is_example));
    }

    pub fn snapshot(&self) -> Option<Arc<Snapshot>> {
        self.snapshot.load_full()
    }

    /// The time of this service's clock.
    pub fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// Serves a new graph from the next request on. Compiles the sheets in use first, so that nobody waits.
    pub fn replace(&self, snapshot: Snapshot, warnings: Vec<Finding>) {
        let snapshot = snapshot.mirrored_in(self.page_cache.clone());
        self.warnings.store(Arc::new(warnings.clone()));
        if let Some(old) = self.snapshot() {
            snapshot.warm_like(&old, self.now());
        }
        let digest = snapshot.digest.clone();
        self.snapshot.store(Some(Arc::new(snapshot)));
        self.reloaded(ReloadResult::Changed, warnings);
        let at = self.now().to_string();
        self.publish(EventKind::Graph, &json!({"digest": digest, "at": at}));
    }

    /// Records that the inputs and their warnings are unchanged.
    pub fn unchanged(&self) {
        self.reloaded(ReloadResult::Unchanged, self.warnings.load().to_vec());
    }

    /// Records that the inputs could not be used. The current graph stays.
    pub fn failed(&self, findings: Vec<Finding>) {
        self.reloaded(ReloadResult::Failed, findings);
    }

    fn reloaded(&self, result: ReloadResult, findings: Vec<Finding>) {
        self.metrics.reloaded(result, self.now());
        let (at, count) = (self.now(), findings.len());
        let failed = |reload: &Reload| reload.result == ReloadResult::Failed;
        let new = Arc::new(Reload {
            at,
            result,
            findings,
        });
        let old = self.reload.swap(new.clone());
        if failed(&old) != failed(&new) || (failed(&new) && old.findings != new.findings) {
            let told = json!({"result": result.as_str(), "at": at.to_string(), "findings": count});
            self.publish(EventKind::Reload, &told);
        }
    }

    /// Compiles sheets that will be needed soon. Call it about once a second.
    pub fn prepare(&self) {
        if let Some(snapshot) = self.snapshot() {
            snapshot.prepare(self.now());
        }
    }

    /// Sets the health of the keyring and the signature stores.
    pub fn signatures(&self, health: SignatureHealth) {
        self.signatures.store(Some(Arc::new(health)));
    }

    /// Sets the health of the sources, for `/readyz` and `/metrics`.
    pub fn sources(&self, sources: Vec<SourceHealth>) {
        self.sources.store(Some(Arc::new(sources)));
    }

    /// The age of the graph's oldest input since it was last good; none without a graph.
    pub(crate) fn graph_age_seconds(&self) -> Option<i64> {
        let now = self.now();
        let sources = self.sources.load();
        let oldest = sources
            .iter()
            .flat_map(|sources| sources.iter())
            .filter_map(|source| source.last_success)
            .min();
        let age = |at: Timestamp| now.as_second().saturating_sub(at.as_second()).max(0);
        self.metrics
            .graph_age_seconds(now)
            .map(|confirmed| oldest.map_or(confirmed, age))
    }

    /// Enables `POST /api/v1/reload`.
    pub fn reload_door(&self, door: ReloadDoor) {
        self.reload_door.store(Some(Arc::new(door)));
    }

    /// Limits the reports of one cluster per minute; 0 for no limit.
    pub fn limit_reports(&self, per_minute: u32) {
        *locked(&self.report_rates) = report_rates(per_minute);
    }

    /// Counts a report of a cluster. Returns the wait if it reports too often.
    pub(crate) fn count_report(&self, cluster: &ClusterId) -> Result<(), Duration> {
        let mut rates = locked(&self.report_rates);
        rates
            .as_mut()
            .map_or(Ok(()), |rates| rates.take(cluster, self.started.elapsed()))
    }

    /// Serves the fleet from the next request on.
    pub fn fleet(&self, fleet: Fleet) {
        self.fleet.store(Some(Arc::new(fleet)));
    }

    /// Sets the fleet's health, for `/readyz`. Graphs do not depend on it.
    pub fn fleet_health(&self, health: FleetHealth) {
        self.fleet_health.store(Some(Arc::new(health)));
    }

    /// Sets the results of a pass over the fleet, for `/metrics`.
    pub fn fleet_metrics(&self, metrics: Arc<FleetMetrics>) {
        let old = self.fleet_metrics.swap(Some(metrics.clone()));
        if old.is_none_or(|old| old.shows_else(&metrics)) {
            let at = metrics.last_pass.map(|at| at.to_string());
            self.publish(EventKind::Fleet, &json!({ "at": at }));
        }
    }

    /// Sets what the watch last did, for `/metrics`. It looks more often than the fleet makes passes.
    pub fn watch_metrics(&self, metrics: WatchMetrics) {
        let at = metrics.last_pass.map(|at| at.to_string());
        let answers = metrics.answers.clone();
        let old = self.watch_metrics.swap(Some(Arc::new(metrics)));
        if old.is_none_or(|old| old.answers != answers) {
            self.publish(EventKind::Fleet, &json!({ "at": at }));
        }
    }

    /// Sets what is known of the head of the log, for `/metrics`.
    pub fn log_metrics(&self, metrics: LogMetrics) {
        self.log_metrics.store(Some(Arc::new(metrics)));
    }

    /// Sets how asking Prometheus for outcomes went, for `/metrics`.
    pub fn outcomes_query_metrics(&self, metrics: OutcomesQueryMetrics) {
        self.query_metrics.store(Some(Arc::new(metrics)));
    }

    /// Sets what became of updates, for `/api/v1/rollouts` and `/metrics`.
    pub fn outcomes(&self, outcomes: Arc<FleetOutcomes>) {
        self.outcomes.store(Some(outcomes));
    }

    /// What each cluster of the fleet sees. Changes apply from the next request on.
    pub fn enrolment(&self) -> &Enrolment {
        &self.enrolment
    }

    /// Adds the headers of every answer.
    pub(crate) fn dressed(
        &self,
        request: &Parts,
        mut response: Response<AnswerBody>,
        client: Option<IpAddr>,
    ) -> Response<AnswerBody> {
        let id = self.request_ids.of(&request.headers);
        let (method, path, status) = (
            &request.method,
            request.uri.path(),
            response.status().as_u16(),
        );
        let client = client.map(tracing::field::display);
        tracing::debug!(request_id = ?id, %method, path, status, client, "answered");
        let headers = response.headers_mut();
        headers.insert(body::REQUEST_ID, id);
        headers.insert(
            header::X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        );
        if self.ending.has_come_to(ending::Stage::Draining) {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

/// A panic cannot leave the data inconsistent, so poisoning is ignored.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn report_rates(per_minute: u32) -> Option<Rates<ClusterId>> {
    Rate::per_minute(per_minute).map(|rate| Rates::new(rate, MAX_COUNTED_CLUSTERS))
}
