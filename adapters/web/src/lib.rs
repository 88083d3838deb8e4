//! The HTTP door. It parses requests, asks sheets or the fleet's desk, and writes answers; it decides nothing.
//!
//! The graph path sits directly on hyper: at a static file's speed, a router would be most of the cost.

mod admission;
mod body;
mod connection;
mod ending;
mod enrolment;
mod entrance;
mod explain;
mod fleet;
mod graph;
mod graph_data;
mod managed;
mod metrics;
mod operations;
mod page_cache;
mod path;
mod places;
mod probes;
mod questions;
mod ready;
mod reload;
mod server;
mod signatures;
mod snapshot;
mod sources;
mod step_graph_cache;
mod workers;

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::{ArcSwap, ArcSwapOption};
use http::request::Parts;
use http::{HeaderValue, Method, Response, StatusCode, header};
use hyper::body::Incoming;
use jiff::Timestamp;
use tokio::sync::Semaphore;
use towpath_core::cluster::ClusterId;
use towpath_core::finding::Finding;
use towpath_core::rate::{Rate, Rates};

pub use admission::{Admission, AllowedHosts, TrustedProxies};
pub use body::AnswerBody;
pub use enrolment::{Enrolment, PassNumber};
pub use fleet::{
    ClusterCount, Fleet, FleetAnswer, FleetDesk, FleetHealth, FleetMetrics, FleetRequest, Reads,
    RemainingSoak, TokenKeys,
};
pub use managed::{Allowed, Managed, Placed};
pub use metrics::{Metrics, ReloadResult};
pub use probes::{Probe, ProbeAnswer, Probes};
pub use reload::{ReloadDoor, ReloadRequest, Woken};
pub use server::{Limits, Server};
pub use signatures::{KeyringHealth, SignatureHealth, StoreHealth};
pub use snapshot::Snapshot;
pub use sources::{SourceHealth, SourceProblem, SourceReads, StricterPart};
use workers::Surroundings;

/// Says what time it is. A parameter, so that a service can be asked about any instant.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// What is not done between two requests.
enum Later {
    /// The fleet's desk has it.
    Fleet,
    /// It wakes those who read the sources.
    Reload,
    /// Nobody has compiled the sheet yet. There are threads for that alone.
    Compile(graph::Missing),
    /// Somebody scrapes; there may be thousands of series. There is a thread for that alone.
    Metrics(fleet::Sight),
    /// It waits in a queue for one of few threads.
    Work(Work),
}

enum Work {
    /// Some hundred edges are judged, and each told of.
    Explain(Box<explain::Question>),
    /// Every edge that phases in is looked at, at most once a second.
    Rollouts(Arc<Snapshot>),
    /// There may be thousands of files.
    GraphData(graph_data::Question),
    /// Every edge of some channels may be looked at.
    Path(Box<path::Question>),
}

/// Everything that requests share.
pub struct Service {
    clock: Clock,
    metrics: Metrics,
    snapshot: ArcSwapOption<Snapshot>,
    reload: ArcSwap<Reload>,
    /// About the snapshot that is being served.
    warnings: ArcSwap<Vec<Finding>>,
    request_ids: body::RequestIds,
    page_cache: Arc<page_cache::PageCache>,
    fleet: ArcSwapOption<Fleet>,
    /// Answers about the fleet that are being made or written.
    fleet_answers: Arc<Semaphore>,
    fleet_health: ArcSwapOption<FleetHealth>,
    fleet_metrics: ArcSwapOption<FleetMetrics>,
    enrolment: Enrolment,
    rollouts: explain::Rollouts,
    sources: ArcSwapOption<Vec<SourceHealth>>,
    signatures: ArcSwapOption<SignatureHealth>,
    reload_door: ArcSwapOption<ReloadDoor>,
    ending: Arc<ending::Ending>,
    started: Instant,
    /// How often each cluster reports; none where there is no limit.
    report_rates: Mutex<Option<Rates<ClusterId>>>,
}

/// Reports of one cluster in a minute, unless the app says otherwise. An agent sends at most six.
pub const REPORTS_PER_MINUTE: u32 = 60;
/// The most clusters whose reports are counted.
const MAX_COUNTED_CLUSTERS: usize = 100_000;

/// How the last attempt to load a graph ended.
#[derive(Debug, Clone)]
pub struct Reload {
    pub at: Timestamp,
    pub result: ReloadResult,
    /// What there is to say about it.
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
            warnings: ArcSwap::default(),
            request_ids: body::RequestIds::new(clock()),
            page_cache: Arc::default(),
            fleet: ArcSwapOption::empty(),
            fleet_answers: Arc::new(Semaphore::new(fleet::MAX_ANSWERS)),
            fleet_health: ArcSwapOption::empty(),
            fleet_metrics: ArcSwapOption::empty(),
            enrolment: Enrolment::default(),
            rollouts: explain::Rollouts::default(),
            sources: ArcSwapOption::empty(),
            signatures: ArcSwapOption::empty(),
            reload_door: ArcSwapOption::empty(),
            ending: Arc::default(),
            started: Instant::now(),
            report_rates: Mutex::new(report_rates(REPORTS_PER_MINUTE)),
            clock,
        })
    }

    pub fn snapshot(&self) -> Option<Arc<Snapshot>> {
        self.snapshot.load_full()
    }

    /// The time, as this service has it.
    pub fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// Serves a new graph from the next request on. Sheets that are in use are compiled first, so that nobody waits.
    pub fn replace(&self, snapshot: Snapshot, warnings: Vec<Finding>) {
        let snapshot = snapshot.mirrored_in(self.page_cache.clone());
        self.warnings.store(Arc::new(warnings.clone()));
        if let Some(old) = self.snapshot() {
            snapshot.warm_like(&old, self.now());
        }
        self.snapshot.store(Some(Arc::new(snapshot)));
        self.reloaded(ReloadResult::Changed, warnings);
    }

    /// Notes that the inputs are what they were, and so are the warnings about them.
    pub fn unchanged(&self) {
        self.reloaded(ReloadResult::Unchanged, self.warnings.load().to_vec());
    }

    /// Notes that the inputs could not be used. What is being served stays.
    pub fn failed(&self, findings: Vec<Finding>) {
        self.reloaded(ReloadResult::Failed, findings);
    }

    fn reloaded(&self, result: ReloadResult, findings: Vec<Finding>) {
        self.metrics.reloaded(result, self.now());
        self.reload.store(Arc::new(Reload {
            at: self.now(),
            result,
            findings,
        }));
    }

    /// Compiles ahead what will be asked for soon; to be called about once a second.
    pub fn prepare(&self) {
        if let Some(snapshot) = self.snapshot() {
            snapshot.prepare(self.now());
        }
    }

    /// Says how the keyring and the signature stores are.
    pub fn signatures(&self, health: SignatureHealth) {
        self.signatures.store(Some(Arc::new(health)));
    }

    /// Notes how the sources are, for `/readyz` and `/metrics`.
    pub fn sources(&self, sources: Vec<SourceHealth>) {
        self.sources.store(Some(Arc::new(sources)));
    }

    /// How long ago the oldest of the graph's inputs was last found to be good; none if there is no graph.
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

    /// Lets those who may wake the readers of the sources.
    pub fn reload_door(&self, door: ReloadDoor) {
        self.reload_door.store(Some(Arc::new(door)));
    }

    /// The keys that tokens are checked with: the fleet's, where there is one; else those of whoever may wake readers.
    pub(crate) fn token_keys(&self) -> Option<TokenKeys> {
        match (&*self.fleet.load(), &*self.reload_door.load()) {
            (Some(fleet), _) => fleet.keys.clone(),
            (None, Some(door)) => door.keys.clone(),
            (None, None) => None,
        }
    }

    /// Takes so many reports of one cluster in a minute; 0 is no limit.
    pub fn limit_reports(&self, per_minute: u32) {
        *self
            .report_rates
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = report_rates(per_minute);
    }

    /// Counts a report of a cluster. How long it has to wait, if it reports too often.
    pub(crate) fn count_report(&self, cluster: &ClusterId) -> Result<(), Duration> {
        let mut rates = self
            .report_rates
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        rates
            .as_mut()
            .map_or(Ok(()), |rates| rates.take(cluster, self.started.elapsed()))
    }

    /// Serves the fleet from the next request on; again, to change its keys.
    pub fn fleet(&self, fleet: Fleet) {
        self.fleet.store(Some(Arc::new(fleet)));
    }

    /// Notes how the fleet's parts are, for `/readyz`. Whether graphs can be served does not depend on it.
    pub fn fleet_health(&self, health: FleetHealth) {
        self.fleet_health.store(Some(Arc::new(health)));
    }

    /// Notes what a pass over the fleet found, for `/metrics`.
    pub fn fleet_metrics(&self, metrics: Arc<FleetMetrics>) {
        self.fleet_metrics.store(Some(metrics));
    }

    /// Who of the fleet sees what. Whatever is changed there counts from the next request on.
    pub fn enrolment(&self) -> &Enrolment {
        &self.enrolment
    }

    /// Answers a request: at once, or from another thread where that takes longer than its neighbours should wait.
    pub(crate) async fn answer(
        self: &Arc<Self>,
        request: &Parts,
        incoming: Incoming,
        around: &Surroundings,
    ) -> Response<AnswerBody> {
        self.answer_now_or_later(request, incoming, around).await
    }

    /// Adds what every answer has.
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

    async fn answer_now_or_later(
        self: &Arc<Self>,
        request: &Parts,
        incoming: Incoming,
        around: &Surroundings,
    ) -> Response<AnswerBody> {
        let later = match self.route(request) {
            Ok(response) => return response,
            Err(later) => later,
        };
        // In boxes, so that graph requests do not carry their state along.
        match later {
            Later::Fleet => Box::pin(fleet::answer(self, request, incoming, around)).await,
            Later::Reload => Box::pin(reload::answer(self, request, incoming, around)).await,
            // Elsewhere, a body is none of our business; hyper does away with it.
            Later::Compile(missing) => self.compile(request, missing).await,
            Later::Metrics(sight) => {
                let service = self.clone();
                let written = around
                    .scrapes
                    .ask(move |_| operations::metrics(&service, sight));
                Box::pin(written)
                    .await
                    .unwrap_or_else(questions::Unanswered::response)
            }
            Later::Work(work) => Box::pin(self.work(work, around)).await,
        }
    }

    async fn compile(
        self: &Arc<Self>,
        request: &Parts,
        missing: graph::Missing,
    ) -> Response<AnswerBody> {
        let response = match tokio::task::spawn_blocking(move || missing.compile()).await {
            Ok(compiled) => graph::answer(self, request, Some(&compiled)).ok(),
            Err(error) => {
                tracing::error!(%error, "an answer could not be prepared");
                None
            }
        };
        let failed = || {
            body::error(
                StatusCode::INTERNAL_SERVER_ERROR,
                "failed_compile",
                "the answer could not be prepared",
            )
        };
        response.unwrap_or_else(failed)
    }

    /// Has it done in its turn, for as long as the client waits.
    async fn work(self: &Arc<Self>, work: Work, around: &Surroundings) -> Response<AnswerBody> {
        let service = self.clone();
        let answer = around.questions.ask(move |is_gone| match work {
            Work::Explain(question) => question.answer(),
            Work::Rollouts(snapshot) => service.rollouts.answer(&snapshot, service.now()),
            Work::GraphData(question) => question.answer(),
            Work::Path(question) => question.answer(is_gone),
        });
        tokio::select! {
            answer = answer => answer.unwrap_or_else(questions::Unanswered::response),
            // Nobody reads this.
            () = around.peer.left() => body::error(StatusCode::SERVICE_UNAVAILABLE, "abandoned", "nobody waits any more"),
        }
    }

    fn route(&self, request: &Parts) -> Result<Response<AnswerBody>, Later> {
        let path = request.uri.path();
        let get = matches!(request.method, Method::GET | Method::HEAD);
        Ok(match path {
            _ if request
                .uri
                .path_and_query()
                .is_some_and(|target| target.as_str().len() > server::MAX_TARGET_BYTES) =>
            {
                body::error(
                    StatusCode::URI_TOO_LONG,
                    "uri_too_long",
                    "the request's target is too long",
                )
            }
            graph::PATH | graph::PATH_V1 if get => {
                return graph::answer(self, request, None).map_err(Later::Compile);
            }
            graph::PATH | graph::PATH_V1 if request.method == Method::OPTIONS => {
                graph::preflight(request)
            }
            explain::PATH if get => match explain::question(self, request) {
                Ok(question) => return Err(Later::Work(Work::Explain(Box::new(question)))),
                Err(response) => *response,
            },
            explain::ROLLOUTS if get => match self.snapshot() {
                Some(snapshot) => return Err(Later::Work(Work::Rollouts(snapshot))),
                None => explain::not_ready(),
            },
            path::PATH if get => match path::question(self, request) {
                Ok(question) => return Err(Later::Work(Work::Path(Box::new(question)))),
                Err(response) => *response,
            },
            graph_data::PATH if get => match self.snapshot() {
                Some(snapshot) => {
                    return Err(Later::Work(Work::GraphData(graph_data::Question::new(
                        snapshot, request,
                    ))));
                }
                None => explain::not_ready(),
            },
            reload::PATH => return Err(Later::Reload),
            path if path.starts_with(fleet::PREFIX)
                && ![explain::PATH, explain::ROLLOUTS, path::PATH].contains(&path) =>
            {
                return Err(Later::Fleet);
            }
            "/livez" if get => operations::liveness(),
            "/readyz" if get => operations::readiness(self, &request.headers),
            "/metrics" if get => return Err(Later::Metrics(fleet::sight(self, &request.headers))),
            graph::PATH
            | graph::PATH_V1
            | explain::PATH
            | explain::ROLLOUTS
            | path::PATH
            | graph_data::PATH
            | "/livez"
            | "/readyz"
            | "/metrics" => {
                let mut response = body::error(
                    StatusCode::METHOD_NOT_ALLOWED,
                    "method_not_allowed",
                    "use GET or HEAD",
                );
                response
                    .headers_mut()
                    .insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
                response
            }
            _ => body::error(
                StatusCode::NOT_FOUND,
                "does_not_exist",
                "there is nothing here; try /api/upgrades_info/graph?channel=stable-4.20",
            ),
        })
    }
}

fn report_rates(per_minute: u32) -> Option<Rates<ClusterId>> {
    Rate::per_minute(per_minute).map(|rate| Rates::new(rate, MAX_COUNTED_CLUSTERS))
}
