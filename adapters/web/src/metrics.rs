//! Metrics. Every label comes from a closed set: existing channels, statuses that we send.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::StatusCode;
use jiff::Timestamp;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use crate::access::AccessPart;
use crate::fleet::{FleetCollector, FleetMetrics, ReportResults, Sight};
use crate::login::IssuerCollector;
use crate::outcome_series::OutcomesCollector;
use crate::questions::Results;
use crate::request_rate::Client;
use crate::rollout_series::rollout_series;
use crate::routes::{Cost, RouteMatch};
use crate::signatures::{SignatureHealth, SignaturesCollector};
use crate::snapshot::ChannelArch;
use crate::sources::{SourceHealth, SourcesCollector};
use crate::tls::{BadCertificate, NO_CERTIFICATE, OTHER_CLUSTER, Tls, TlsCollector};
use crate::watch_series::WatchCollector;
use crate::{Snapshot, events, locked};

/// The most channels that have series of their own; the rest are counted together.
const MAX_CHANNELS: usize = 1_000;

/// The health of the fleet, the sources and the signature stores, the outcomes of rollouts, and the watch.
type Health = (
    Option<(Arc<FleetMetrics>, Sight)>,
    Option<Arc<Vec<SourceHealth>>>,
    Option<Arc<SignatureHealth>>,
    Option<OutcomesCollector>,
    WatchCollector,
    Option<Arc<Tls>>,
    Option<IssuerCollector>,
);

/// The result of an attempt to load a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReloadResult {
    /// No attempt yet.
    Pending,
    /// A new graph is served.
    Changed,
    /// The inputs are unchanged.
    Unchanged,
    /// The last good graph, if any, is kept.
    Failed,
}

impl ReloadResult {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Changed => "changed",
            Self::Unchanged => "unchanged",
            Self::Failed => "failed",
        }
    }
}

/// A name and a value from a closed set.
type Label = [(&'static str, &'static str); 1];

pub struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    durations: Family<RequestLabels, Histogram, fn() -> Histogram>,
    /// Requests that are not for a graph.
    other_requests: Family<EndpointLabels, Counter>,
    other_durations: Family<Label, Histogram, fn() -> Histogram>,
    build: Family<BuildLabels, Gauge>,
    reloads: Family<Label, Counter>,
    last_reload_ok: Gauge,
    last_reload_at: Gauge,
    /// When the inputs were last found to be good, in seconds.
    confirmed_at: AtomicI64,
    /// The channels that have series of their own.
    channels: Mutex<BTreeSet<String>>,
    pub(crate) connections: Gauge,
    /// Refused or closed connections, by reason.
    connections_closed: Family<Label, Counter>,
    /// Requests of clusters whose certificate was refused, by reason.
    certificates_refused: Family<Label, Counter>,
    /// Requests of clients that ask too often, by how they are counted.
    requests_limited: Family<Label, Counter>,
    /// Requests of people and programs that may not do what they ask for, by kind.
    access_refused: Family<Label, Counter>,
    /// Reports of clusters, by result.
    pub(crate) reports: ReportResults,
    /// Graphs without edges, because no pass has placed the cluster.
    pub(crate) not_enrolled: Counter,
    /// Queued questions, by outcome.
    pub(crate) questions: Results,
    /// Published events, by kind.
    events: Family<Label, Counter>,
    pub(crate) event_streams: Gauge,
    /// Whether the newest files about access are in use.
    access_parts_in_use: [Gauge; AccessPart::ALL.len()],
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    channel: String,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EndpointLabels {
    endpoint: &'static str,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct BuildLabels {
    version: String,
    commit: String,
    date: String,
}

/// The series of one channel, looked up once.
pub(crate) struct ChannelMetrics {
    ok: (Counter, Histogram),
    not_modified: (Counter, Histogram),
}

impl Metrics {
    /// 1 if the newest files of this part are in use, else 0.
    pub(crate) fn access_part_in_use(&self, part: AccessPart, is_used: i64) {
        self.access_parts_in_use[part as usize].set(is_used);
    }

    pub(crate) fn new(version: &str) -> Self {
        let metrics = Self {
            registry: Registry::default(),
            requests: Family::default(),
            durations: Family::new_with_constructor(histogram),
            other_requests: Family::default(),
            other_durations: Family::new_with_constructor(slow_histogram),
            build: Family::default(),
            reloads: Family::default(),
            last_reload_ok: Gauge::default(),
            last_reload_at: Gauge::default(),
            confirmed_at: AtomicI64::new(0),
            channels: Mutex::default(),
            connections: Gauge::default(),
            connections_closed: Family::default(),
            certificates_refused: Family::default(),
            access_refused: Family::default(),
            requests_limited: Family::default(),
            reports: ReportResults::default(),
            not_enrolled: Counter::default(),
            questions: Results::default(),
            events: Family::default(),
            event_streams: Gauge::default(),
            access_parts_in_use: Default::default(),
        };
        for part in AccessPart::ALL {
            metrics.access_part_in_use(part, 1);
        }
        for name in events::names() {
            drop(metrics.events.get_or_create(&[("kind", name)]));
        }
        let bad = BadCertificate::ALL.map(BadCertificate::name);
        for reason in bad.into_iter().chain([NO_CERTIFICATE, OTHER_CLUSTER]) {
            let refused = &metrics.certificates_refused;
            drop(refused.get_or_create(&[("reason", reason)]));
        }
        for kind in Client::KINDS {
            drop(metrics.requests_limited.get_or_create(&[("by", kind)]));
        }
        for result in [
            ReloadResult::Changed,
            ReloadResult::Unchanged,
            ReloadResult::Failed,
        ] {
            drop(
                metrics
                    .reloads
                    .get_or_create(&[("result", result.as_str())]),
            );
        }
        metrics.built_from(version, None, None);
        metrics.registered()
    }

    fn registered(mut self) -> Self {
        let r = &mut self.registry;
        r.register(
            "towpath_graph_requests",
            "Graph requests by channel and status; channel is empty where the request named none that exists",
            self.requests.clone(),
        );
        r.register_with_unit(
            "towpath_graph_request_duration",
            "Time from a graph request's head to its answer's",
            Unit::Seconds,
            self.durations.clone(),
        );
        r.register(
            "towpath_requests",
            "Requests by endpoint and status, but for answered graph requests; endpoint is empty where there is none",
            self.other_requests.clone(),
        );
        r.register_with_unit(
            "towpath_request_duration",
            "Time from a request's head to its answer's, by endpoint, but for answered graph requests",
            Unit::Seconds,
            self.other_durations.clone(),
        );
        r.register(
            "towpath_reloads",
            "Attempts to load the graph, by result",
            self.reloads.clone(),
        );
        r.register(
            "towpath_last_reload_success",
            "1 if the last attempt to load the graph was good",
            self.last_reload_ok.clone(),
        );
        r.register(
            "towpath_last_reload_timestamp_seconds",
            "When the graph was last attempted to be loaded",
            self.last_reload_at.clone(),
        );
        r.register(
            "towpath_connections",
            "Open connections",
            self.connections.clone(),
        );
        r.register(
            "towpath_connections_closed",
            "Connections that we closed on our side, by reason",
            self.connections_closed.clone(),
        );
        r.register(
            "towpath_client_certificates_refused",
            "Requests of clusters that were refused for their certificate, by reason",
            self.certificates_refused.clone(),
        );
        r.register(
            "towpath_requests_limited",
            "Requests that were refused because their client asks too often, by how it is counted",
            self.requests_limited.clone(),
        );
        r.register(
            "towpath_access_refused",
            "Requests that were refused for their token, or for the role of whoever sent them, by kind",
            self.access_refused.clone(),
        );
        r.register(
            "towpath_questions",
            "Questions and scrapes that were put into a queue, by what became of them",
            self.questions.clone(),
        );
        r.register(
            "towpath_events",
            "Events that were published, by kind",
            self.events.clone(),
        );
        r.register(
            "towpath_event_streams",
            "Open streams of events",
            self.event_streams.clone(),
        );
        for part in AccessPart::ALL {
            let (name, help) = part.metric();
            r.register(name, help, self.access_parts_in_use[part as usize].clone());
        }
        self.reports.register(r);
        r.register(
            "towpath_graph_not_enrolled",
            "Graph answers without edges, because the cluster is not enrolled in the fleet (NotEnrolled)",
            self.not_enrolled.clone(),
        );
        // A gauge, where OpenMetrics has a type of its own for this: older parsers know no other.
        r.register(
            "towpath_build_info",
            "The build that is running",
            self.build.clone(),
        );
        self
    }

    /// Tells which build is running.
    pub(crate) fn built_from(&self, version: &str, commit: Option<&str>, day: Option<&str>) {
        let text = |known: Option<&str>| known.unwrap_or_default().to_owned();
        let labels = BuildLabels {
            version: version.to_owned(),
            commit: text(commit),
            date: text(day),
        };
        self.build.clear();
        self.build.get_or_create(&labels).set(1);
    }

    pub(crate) fn graph_answered(
        &self,
        channel_arch: Option<&ChannelArch>,
        status: StatusCode,
        took: Duration,
    ) {
        let known = channel_arch.map(|channel_arch| {
            channel_arch
                .metrics
                .get_or_init(|| self.of_channel(channel_arch.channel()))
        });
        match (known, status) {
            (Some(known), StatusCode::OK) => known.ok.count(took),
            (Some(known), StatusCode::NOT_MODIFIED) => known.not_modified.count(took),
            _ => self.series("", status).count(took),
        }
    }

    /// Counts a request that is not for a graph, and the time that its answer took.
    pub(crate) fn answered(
        &self,
        found: Option<RouteMatch<'_>>,
        status: StatusCode,
        took: Duration,
    ) {
        let route = found.map(|found| found.route);
        let labels = EndpointLabels {
            endpoint: route.map_or("", |route| route.label),
            status: status.as_u16(),
        };
        self.other_requests.get_or_create(&labels).inc();
        self.other_durations
            .get_or_create(&[("endpoint", labels.endpoint)])
            .observe(took.as_secs_f64());
        if route.is_some_and(|route| route.cost() == Cost::Report) {
            self.reports.count(status);
        }
    }

    pub(crate) fn refused(&self, kind: &'static str) {
        self.access_refused.get_or_create(&[("kind", kind)]).inc();
    }

    pub(crate) fn event(&self, kind: &'static str) {
        self.events.get_or_create(&[("kind", kind)]).inc();
    }

    /// Counts a connection that was refused, or closed on our side.
    pub(crate) fn connection_closed(&self, reason: &'static str) {
        self.connections_closed
            .get_or_create(&[("reason", reason)])
            .inc();
    }

    /// Counts a request of a client that asks too often.
    pub(crate) fn request_limited(&self, by: &'static str) {
        self.requests_limited.get_or_create(&[("by", by)]).inc();
    }

    /// Counts a request of a cluster that was refused for its certificate.
    pub(crate) fn certificate_refused(&self, reason: &'static str) {
        self.certificates_refused
            .get_or_create(&[("reason", reason)])
            .inc();
    }

    fn of_channel(&self, channel: &str) -> ChannelMetrics {
        let mut channels = locked(&self.channels);
        let room = channels.contains(channel) || channels.len() < MAX_CHANNELS;
        if room {
            channels.insert(channel.to_owned());
        }
        // Not the name of any channel, since those have no underscore.
        let channel = if room { channel } else { "_others" };
        ChannelMetrics {
            ok: self.series(channel, StatusCode::OK),
            not_modified: self.series(channel, StatusCode::NOT_MODIFIED),
        }
    }

    fn series(&self, channel: &str, status: StatusCode) -> (Counter, Histogram) {
        let labels = RequestLabels {
            channel: channel.to_owned(),
            status: status.as_u16(),
        };
        (
            self.requests.get_or_create(&labels).clone(),
            self.durations.get_or_create(&labels).clone(),
        )
    }

    pub(crate) fn reloaded(&self, result: ReloadResult, now: Timestamp) {
        self.reloads
            .get_or_create(&[("result", result.as_str())])
            .inc();
        let good = result != ReloadResult::Failed;
        self.last_reload_ok.set(i64::from(good));
        self.last_reload_at.set(now.as_second());
        if good {
            self.confirmed_at.store(now.as_second(), Ordering::Relaxed);
        }
    }

    /// The time since the inputs were last good; none if they never were.
    pub(crate) fn graph_age_seconds(&self, now: Timestamp) -> Option<i64> {
        let confirmed = self.confirmed_at.load(Ordering::Relaxed);
        (confirmed > 0).then(|| now.as_second().saturating_sub(confirmed).max(0))
    }

    /// Everything, in Prometheus' text format.
    pub(crate) fn write(
        &self,
        snapshot: Option<Arc<Snapshot>>,
        (fleet, sources, signatures, outcomes, watch, tls, issuer): Health,
        age_seconds: Option<i64>,
        now: Timestamp,
    ) -> Result<String, fmt::Error> {
        let mut of_graph = Registry::default();
        if let Some((metrics, sight)) = fleet {
            of_graph.register_collector(Box::new(FleetCollector {
                metrics,
                sight,
                now,
            }));
        }
        if let Some(sources) = sources {
            of_graph.register_collector(Box::new(SourcesCollector { sources, now }));
        }
        if let Some(health) = signatures {
            of_graph.register_collector(Box::new(SignaturesCollector { health, now }));
        }
        if let Some(outcomes) = outcomes {
            of_graph.register_collector(Box::new(outcomes));
        }
        of_graph.register_collector(Box::new(watch));
        if let Some(tls) = tls {
            of_graph.register_collector(Box::new(TlsCollector(tls)));
        }
        if let Some(issuer) = issuer {
            of_graph.register_collector(Box::new(issuer));
        }
        let snapshot = GraphCollector {
            age_seconds,
            snapshot,
            now,
        };
        of_graph.register_collector(Box::new(snapshot));
        let mut text = String::new();
        prometheus_client::encoding::text::encode_registry(&mut text, &self.registry)?;
        prometheus_client::encoding::text::encode_registry(&mut text, &of_graph)?;
        Ok(classic(&text))
    }
}

/// Converts OpenMetrics into the classic text format, which every scraper reads: HELP and TYPE of a counter use the name of
/// its samples, and there are no units.
fn classic(open_metrics: &str) -> String {
    let counters: BTreeSet<&str> = open_metrics
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter"))
        .collect();
    let mut text = String::with_capacity(open_metrics.len());
    for line in open_metrics
        .lines()
        .filter(|line| !line.starts_with("# UNIT "))
    {
        let described = ["# HELP ", "# TYPE "].iter().find_map(|mark| {
            let (name, rest) = line.strip_prefix(mark)?.split_once(' ')?;
            counters
                .contains(name)
                .then(|| format!("{mark}{name}_total {rest}"))
        });
        text.push_str(described.as_deref().unwrap_or(line));
        text.push('\n');
    }
    text
}

trait Count {
    fn count(&self, took: Duration);
}

impl Count for (Counter, Histogram) {
    fn count(&self, took: Duration) {
        self.0.inc();
        self.1.observe(took.as_secs_f64());
    }
}

fn histogram() -> Histogram {
    Histogram::new([
        5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 5e-3, 2.5e-2, 0.1, 0.5,
    ])
}

/// For what may take a thread and a while.
fn slow_histogram() -> Histogram {
    Histogram::new([1e-3, 5e-3, 2.5e-2, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0])
}

/// Collects the metrics of the graph during a scrape.
#[derive(Debug)]
struct GraphCollector {
    snapshot: Option<Arc<Snapshot>>,
    age_seconds: Option<i64>,
    now: Timestamp,
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot")
            .field("digest", &self.digest)
            .finish_non_exhaustive()
    }
}

impl prometheus_client::collector::Collector for GraphCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let mut gauge = |name: &str, help: &str, value: i64| {
            let gauge = ConstGauge::new(value);
            gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)
        };
        if let Some(age) = self.age_seconds {
            gauge(
                "towpath_graph_age_seconds",
                "Time since the graph's inputs were last found to be good",
                age,
            )?;
        }
        let Some(snapshot) = &self.snapshot else {
            return Ok(());
        };
        let graph = snapshot.graph();
        let size = |length: usize| i64::try_from(length).unwrap_or(i64::MAX);
        gauge(
            "towpath_graph_loaded_timestamp_seconds",
            "When the graph that is served was loaded",
            snapshot.loaded_at.as_second(),
        )?;
        gauge(
            "towpath_graph_releases",
            "Releases in the graph, of all architectures",
            size(graph.releases().len()),
        )?;
        gauge(
            "towpath_graph_edges",
            "Edges in the graph, of all architectures",
            size(graph.edges().len()),
        )?;
        gauge(
            "towpath_graph_channels",
            "Channels in the graph",
            size(graph.channels().len()),
        )?;
        gauge(
            "towpath_graph_blocks",
            "Blocks in the graph",
            size(graph.blocks().len()),
        )?;
        let halts = graph.blocks().iter().filter(|block| block.halt.is_some());
        gauge(
            "towpath_halts",
            "Halts in the graph, of the graph data, an overlay and the store",
            size(halts.count()),
        )?;
        self.encode_rollouts(&mut encoder, snapshot)
    }
}

impl GraphCollector {
    fn encode_rollouts(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        snapshot: &Snapshot,
    ) -> Result<(), fmt::Error> {
        let (series, left_out) = rollout_series(snapshot.rollouts(), self.now);
        snapshot.left_out_log.log(left_out);
        let left_out = ConstGauge::new(i64::try_from(left_out).unwrap_or(i64::MAX));
        let help =
            "Rollouts that phased_update_rollout has no series for, because there are too many";
        left_out.encode(encoder.encode_descriptor(
            "towpath_rollouts_left_out",
            help,
            None,
            left_out.metric_type(),
        )?)?;
        let help = "The share of the fleet, or of a ring, that a rollout has reached; 0 while it is blocked for everybody";
        let mut family =
            encoder.encode_descriptor("phased_update_rollout", help, None, MetricType::Gauge)?;
        for one in series {
            let mut labels = vec![
                ("channel", one.channel.to_string()),
                ("arch", one.arch.to_string()),
                ("from", one.from.to_string()),
                ("to", one.to.to_string()),
            ];
            labels.extend(one.ring.map(|ring| ("ring", ring.to_string())));
            ConstGauge::new(one.share.as_fraction()).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sample_is_described_under_the_name_it_has() {
        let metrics = Metrics::new("1.2.3");
        metrics.reloaded(
            ReloadResult::Changed,
            Timestamp::UNIX_EPOCH + jiff::SignedDuration::from_secs(60),
        );
        metrics
            .series("stable-4.9", StatusCode::OK)
            .count(Duration::from_micros(7));
        let now = Timestamp::UNIX_EPOCH + jiff::SignedDuration::from_secs(90);
        let text = metrics
            .write(
                None,
                (
                    None,
                    None,
                    None,
                    None,
                    WatchCollector::default(),
                    None,
                    None,
                ),
                metrics.graph_age_seconds(now),
                now,
            )
            .unwrap();
        let described: BTreeSet<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next())
            .collect();
        for sample in text.lines().filter(|line| !line.starts_with('#')) {
            let name = sample.split(['{', ' ']).next().unwrap();
            let base = ["_bucket", "_sum", "_count"]
                .iter()
                .find_map(|suffix| name.strip_suffix(suffix))
                .unwrap_or(name);
            assert!(
                described.contains(name) || described.contains(base),
                "{sample}"
            );
        }
        for expected in [
            "towpath_graph_requests_total{channel=\"stable-4.9\",status=\"200\"} 1",
            "towpath_graph_request_duration_seconds_bucket{le=\"0.00001\",channel=\"stable-4.9\",status=\"200\"} 1",
            "towpath_graph_age_seconds 30",
            "towpath_build_info{version=\"1.2.3\",commit=\"\",date=\"\"} 1",
        ] {
            assert!(
                text.lines().any(|line| line == expected),
                "{expected} is not in\n{text}"
            );
        }
    }
}
