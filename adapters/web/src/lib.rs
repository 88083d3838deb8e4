//! The HTTP door. It parses requests, asks sheets or the fleet's desk, and writes answers; it decides nothing.
//!
//! The graph path sits directly on hyper: at a static file's speed, a router would be most of the cost.

mod body;
mod chart_shelf;
mod connection;
mod explain;
mod fleet;
mod graph;
mod graph_data;
mod managed;
mod metrics;
mod operations;
mod page_cache;
mod path;
mod probes;
mod ready;
mod reload;
mod server;
mod signatures;
mod snapshot;
mod sources;
mod workers;

use std::sync::Arc;

use arc_swap::{ArcSwap, ArcSwapOption};
use http::request::Parts;
use http::{Method, Response, StatusCode, header};
use hyper::body::Incoming;
use jiff::Timestamp;
use towpath_core::finding::Finding;

pub use body::AnswerBody;
pub use fleet::{
    ClusterCount, Filter, Fleet, FleetAnswer, FleetDesk, FleetHealth, FleetMetrics, FleetRequest, RemainingSoak,
    TokenKeys,
};
pub use managed::{Allowed, Managed};
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
    /// It is computed on another thread.
    Work(Work),
}

enum Work {
    /// Nobody has compiled the sheet yet.
    Compile(graph::Missing),
    /// Some hundred edges are judged, and each told of.
    Explain(Box<explain::Question>),
    /// Every edge that phases in is looked at, at most once a second.
    Rollouts(Arc<Snapshot>),
    /// There may be thousands of files.
    GraphData(graph_data::Question),
    /// There may be thousands of series.
    Metrics,
    /// Every edge of some channels may be looked at.
    Path(Box<path::Question>),
}

/// What became of it.
enum Prepared {
    Sheet(graph::Compiled),
    Whole(Response<AnswerBody>),
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
    fleet_health: ArcSwapOption<FleetHealth>,
    fleet_metrics: ArcSwapOption<FleetMetrics>,
    managed: ArcSwapOption<Managed>,
    rollouts: explain::Rollouts,
    sources: ArcSwapOption<Vec<SourceHealth>>,
    signatures: ArcSwapOption<SignatureHealth>,
    reload_door: ArcSwapOption<ReloadDoor>,
}

/// How the last attempt to load a graph ended.
#[derive(Debug, Clone)]
pub struct Reload {
    /// When.
    pub at: Timestamp,
    /// How.
    pub result: ReloadResult,
    /// What there is to say about it.
    pub findings: Vec<Finding>,
}

impl Service {
    /// A service without a graph: alive, and not ready.
    pub fn new(clock: Clock, version: &str) -> Arc<Self> {
        let reload = Reload { at: clock(), result: ReloadResult::Pending, findings: Vec::new() };
        Arc::new(Self {
            metrics: Metrics::new(version),
            snapshot: ArcSwapOption::empty(),
            reload: ArcSwap::from_pointee(reload),
            warnings: ArcSwap::default(),
            request_ids: body::RequestIds::new(clock()),
            page_cache: Arc::default(),
            fleet: ArcSwapOption::empty(),
            fleet_health: ArcSwapOption::empty(),
            fleet_metrics: ArcSwapOption::empty(),
            managed: ArcSwapOption::empty(),
            rollouts: explain::Rollouts::default(),
            sources: ArcSwapOption::empty(),
            signatures: ArcSwapOption::empty(),
            reload_door: ArcSwapOption::empty(),
            clock,
        })
    }

    /// What is being served.
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
        self.reload.store(Arc::new(Reload { at: self.now(), result, findings }));
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
        let oldest = sources.iter().flat_map(|sources| sources.iter()).filter_map(|source| source.last_success).min();
        let age = |at: Timestamp| now.as_second().saturating_sub(at.as_second()).max(0);
        self.metrics.graph_age_seconds(now).map(|confirmed| oldest.map_or(confirmed, age))
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

    /// From the next request on, shows these clusters only what they may take. Others see what they always did.
    pub fn manage(&self, managed: Arc<Managed>) {
        let somebody = !managed.clusters.is_empty() || managed.hold_others;
        self.managed.store(somebody.then_some(managed));
    }

    /// Answers a request: at once, or from another thread where that takes longer than its neighbours should wait.
    pub(crate) async fn answer(
        self: &Arc<Self>,
        request: &Parts,
        incoming: Incoming,
        around: &Surroundings,
    ) -> Response<AnswerBody> {
        let mut response = self.answer_now_or_later(request, incoming, around).await;
        let id = self.request_ids.of(&request.headers);
        let (method, path, status) = (&request.method, request.uri.path(), response.status().as_u16());
        tracing::debug!(request_id = ?id, %method, path, status, "answered");
        response.headers_mut().insert(body::REQUEST_ID, id);
        response
    }

    async fn answer_now_or_later(
        self: &Arc<Self>,
        request: &Parts,
        incoming: Incoming,
        around: &Surroundings,
    ) -> Response<AnswerBody> {
        let work = match self.route(request) {
            Ok(response) => return response,
            // In a box, so that graph requests do not carry its state along.
            Err(Later::Fleet) => return Box::pin(fleet::answer(self, request, incoming, around)).await,
            Err(Later::Reload) => return Box::pin(reload::answer(self, request, incoming, around)).await,
            Err(Later::Work(work)) => work,
        };
        // Elsewhere, a body is none of our business; hyper does away with it.
        drop(incoming);
        let service = self.clone();
        let prepared = tokio::task::spawn_blocking(move || match work {
            Work::Compile(missing) => Prepared::Sheet(missing.compile()),
            Work::Explain(question) => Prepared::Whole(question.answer()),
            Work::Rollouts(snapshot) => Prepared::Whole(service.rollouts.answer(&snapshot, service.now())),
            Work::GraphData(question) => Prepared::Whole(question.answer()),
            Work::Metrics => Prepared::Whole(operations::metrics(&service)),
            Work::Path(question) => Prepared::Whole(question.answer()),
        });
        let response = match prepared.await {
            Ok(Prepared::Whole(response)) => Some(response),
            Ok(Prepared::Sheet(compiled)) => graph::answer(self, request, Some(&compiled)).ok(),
            Err(error) => {
                tracing::error!(%error, "an answer could not be prepared");
                None
            }
        };
        let failed =
            || body::error(StatusCode::INTERNAL_SERVER_ERROR, "failed_compile", "the answer could not be prepared");
        response.unwrap_or_else(failed)
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
                body::error(StatusCode::URI_TOO_LONG, "uri_too_long", "the request's target is too long")
            }
            graph::PATH | graph::PATH_V1 if get => {
                return graph::answer(self, request, None).map_err(|missing| Later::Work(Work::Compile(missing)));
            }
            graph::PATH | graph::PATH_V1 if request.method == Method::OPTIONS => graph::preflight(request),
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
                    return Err(Later::Work(Work::GraphData(graph_data::Question::new(snapshot, request))));
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
            "/readyz" if get => operations::readiness(self),
            "/metrics" if get => return Err(Later::Work(Work::Metrics)),
            graph::PATH
            | graph::PATH_V1
            | explain::PATH
            | explain::ROLLOUTS
            | path::PATH
            | graph_data::PATH
            | "/livez"
            | "/readyz"
            | "/metrics" => {
                let mut response = body::error(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "use GET or HEAD");
                response.headers_mut().insert(header::ALLOW, http::HeaderValue::from_static("GET, HEAD"));
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
