//! Metrics of the fleet: the results of the last pass, and the received reports.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use jiff::Timestamp;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use towpath_core::finding::Severity;
use towpath_core::fleet::{AgentOutcome, ClusterRow, HistoryRow, Name, RuleId, UpgradeState};
use towpath_core::version::Version;

use super::Sight;
use super::aus_metrics::AusMetrics;
use crate::sources::gauges;

/// The most series of a metric that names clusters, versions or workloads; how many were left out is a series of its own.
const MAX_SERIES: usize = 10_000;
/// The most pairs of organisation and sector that have series of their own; the rest are counted together.
const MAX_CLUSTER_SERIES: usize = 1_000;

/// The results of a pass over the fleet. The app sets new ones after each pass.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FleetMetrics {
    /// The number of clusters in each sector.
    pub clusters: Vec<ClusterCount>,
    /// Upgrades by state. Missing states count as 0.
    pub upgrades: BTreeMap<UpgradeState, u64>,
    /// Clusters that are held back, by rule. Missing rules count as 0.
    pub holds: BTreeMap<RuleId, u64>,
    /// What each cluster still waits for to soak.
    pub remaining_soak: Bounded<RemainingSoak>,
    /// How long each workload has run on each version.
    pub soak: Bounded<HistoryRow>,
    /// Each managed cluster with its policy.
    pub policies: Bounded<ClusterRow>,
    /// What is wrong or odd with the policies, by severity and code.
    pub findings: BTreeMap<(Severity, &'static str), u64>,
    /// Clusters that reported lately and are not bound to an organisation and a name.
    pub unbound_clusters: u64,
    /// Clusters whose name others have too.
    pub name_clashes: u64,
    /// Upgrades that take longer than they should.
    pub overdue_upgrades: u64,
    /// When the last pass ended.
    pub last_pass: Option<Timestamp>,
    pub pass_duration: Duration,
    /// Whether this replica is the one that starts upgrades.
    pub is_scheduler: bool,
    /// Decisions that were made since the process started.
    pub decisions: u64,
    /// Updates that agents reported since the process started, each once. Missing outcomes count as 0.
    pub agent_updates: BTreeMap<AgentOutcome, u64>,
    /// The same under AUS's names, if somebody wants that.
    pub aus: Option<AusMetrics>,
}

impl FleetMetrics {
    /// Whether people would see something else: more than that time has passed.
    pub(crate) fn shows_else(&self, new: &Self) -> bool {
        let shown = |of: &Self| {
            (
                of.is_scheduler,
                of.unbound_clusters,
                of.name_clashes,
                of.overdue_upgrades,
            )
        };
        shown(self) != shown(new)
            || self.clusters != new.clusters
            || self.upgrades != new.upgrades
            || self.holds != new.holds
            || self.policies != new.policies
            || self.findings != new.findings
            || self.agent_updates != new.agent_updates
    }
}

/// The first of many, each of which becomes a series, and how many were left out.
#[derive(Debug, Clone, PartialEq)]
pub struct Bounded<T> {
    first: Vec<T>,
    left_out: u64,
}

impl<T> Default for Bounded<T> {
    fn default() -> Self {
        Self {
            first: Vec::new(),
            left_out: 0,
        }
    }
}

impl<T> Bounded<T> {
    pub(super) fn first(&self) -> &[T] {
        &self.first
    }
}

impl<T> FromIterator<T> for Bounded<T> {
    fn from_iter<I: IntoIterator<Item = T>>(all: I) -> Self {
        let mut all = all.into_iter();
        Self {
            first: all.by_ref().take(MAX_SERIES).collect(),
            left_out: all.count() as u64,
        }
    }
}

/// How many clusters there are in a sector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterCount {
    pub organisation: Name,
    /// In this sector; empty for those in none.
    pub sector: Name,
    pub clusters: u64,
}

/// How long a version must still run elsewhere before a cluster may take it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemainingSoak {
    pub organisation: Name,
    /// … this cluster, by name, …
    pub cluster: Name,
    /// … to this version, …
    pub version: Version,
    pub workload: Name,
    /// In seconds, all clusters of the workload together.
    pub seconds: u64,
}

/// Reports that came in, by result.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReportResults(Family<[(&'static str, &'static str); 1], Counter>);

impl ReportResults {
    pub(crate) fn register(&self, registry: &mut Registry) {
        registry.register(
            "towpath_fleet_reports",
            "Reports of clusters, by what became of them",
            self.0.clone(),
        );
    }

    /// Counts a report by the status it was answered with.
    pub(crate) fn count(&self, status: StatusCode) {
        let result = match status {
            StatusCode::ACCEPTED => "accepted",
            StatusCode::UNAUTHORIZED => "no_token",
            StatusCode::FORBIDDEN => "wrong_token",
            StatusCode::REQUEST_TIMEOUT => "too_slow",
            StatusCode::PAYLOAD_TOO_LARGE => "too_large",
            StatusCode::BAD_REQUEST | StatusCode::UNSUPPORTED_MEDIA_TYPE => "malformed",
            StatusCode::TOO_MANY_REQUESTS => "too_often",
            StatusCode::SERVICE_UNAVAILABLE => "unavailable",
            StatusCode::INTERNAL_SERVER_ERROR => "failed",
            // Not a report at all.
            StatusCode::METHOD_NOT_ALLOWED => return,
            _ => "refused",
        };
        self.0.get_or_create(&[("result", result)]).inc();
    }
}

/// Collects the metrics of the fleet during a scrape.
#[derive(Debug)]
pub(crate) struct FleetCollector {
    pub(crate) metrics: Arc<FleetMetrics>,
    /// What the scraper may see.
    pub(crate) sight: Sight,
    pub(crate) now: Timestamp,
}

impl Collector for FleetCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let encoder = &mut encoder;
        self.encode_pass(encoder)?;
        let hidden = ConstGauge::new(i64::from(self.sight == Sight::Nameless));
        let help = "1 if series that name organisations, sectors, clusters or workloads are left out, because this scrape had no token that may read the fleet";
        let name = "towpath_fleet_metrics_hidden";
        hidden.encode(encoder.encode_descriptor(name, help, None, hidden.metric_type())?)?;
        if self.sight == Sight::Whole {
            self.encode_clusters(encoder)?;
            self.encode_soak(encoder)?;
            self.encode_history(encoder)?;
            self.encode_policies(encoder)?;
            if let Some(aus) = &self.metrics.aus {
                aus.encode(encoder, self.metrics.decisions, &self.metrics.soak)?;
            }
        }
        let findings = self.metrics.findings.iter();
        let findings = findings.map(|((severity, code), count)| {
            let severity = match severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
            };
            ([("severity", severity), ("code", code)], *count)
        });
        gauges(
            encoder,
            "towpath_fleet_policy_findings",
            "Findings of the policies and of the list of clusters, by severity and code",
            findings,
        )?;
        let states = UpgradeState::ALL.map(|state| {
            (
                [("state", state.code())],
                counted(&self.metrics.upgrades, state),
            )
        });
        gauges(
            encoder,
            "towpath_fleet_upgrades",
            "Upgrades by how far they are",
            states,
        )?;
        let holds =
            RuleId::all().map(|rule| ([("rule", rule.name())], counted(&self.metrics.holds, rule)));
        gauges(
            encoder,
            "towpath_fleet_holds",
            "Clusters that are held back, by the rule that holds them",
            holds,
        )?;
        self.encode_agent_updates(encoder)
    }
}

impl FleetCollector {
    fn encode_pass(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let metrics = &self.metrics;
        let mut gauge = |name, help, value: f64| {
            let gauge = ConstGauge::new(value);
            gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)
        };
        if let Some(last) = metrics.last_pass {
            let lag = self.now.duration_since(last).as_secs_f64().max(0.0);
            gauge(
                "towpath_fleet_scheduler_lag_seconds",
                "Time since the last pass over the fleet ended",
                lag,
            )?;
            let at = last.as_second() as f64;
            gauge(
                "towpath_fleet_last_pass_timestamp_seconds",
                "When the last pass over the fleet ended",
                at,
            )?;
            let took = metrics.pass_duration.as_secs_f64();
            gauge(
                "towpath_fleet_pass_duration_seconds",
                "How long the last pass over the fleet took",
                took,
            )?;
        }
        let scheduler = f64::from(u8::from(metrics.is_scheduler));
        gauge(
            "towpath_fleet_is_scheduler",
            "1 if this replica is the one that starts upgrades",
            scheduler,
        )?;
        let unbound = metrics.unbound_clusters as f64;
        let help = "Clusters that reported in the last 24 hours and are not bound to an organisation and a name";
        gauge("towpath_fleet_unbound_clusters", help, unbound)?;
        let clashes = metrics.name_clashes as f64;
        gauge(
            "towpath_fleet_name_clashes",
            "Clusters whose name another cluster of their organisation has too",
            clashes,
        )?;
        let overdue = metrics.overdue_upgrades as f64;
        gauge(
            "towpath_fleet_overdue_upgrades",
            "Upgrades that take longer than they should",
            overdue,
        )?;
        let decisions = ConstCounter::new(metrics.decisions);
        let help = "Decisions about the fleet that were made by this process";
        let descriptor = encoder.encode_descriptor(
            "towpath_fleet_decisions",
            help,
            None,
            decisions.metric_type(),
        )?;
        decisions.encode(descriptor)
    }

    fn encode_agent_updates(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Updates that agents told of, by what became of them, each once";
        let mut family = encoder.encode_descriptor(
            "towpath_fleet_agent_updates",
            help,
            None,
            MetricType::Counter,
        )?;
        for outcome in AgentOutcome::ALL {
            let count = counted(&self.metrics.agent_updates, outcome);
            ConstCounter::new(count)
                .encode(family.encode_family(&[("outcome", outcome.code())])?)?;
        }
        Ok(())
    }

    fn encode_clusters(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let (shown, rest) = self
            .metrics
            .clusters
            .split_at(self.metrics.clusters.len().min(MAX_CLUSTER_SERIES));
        let labels = |place: &ClusterCount| {
            [
                ("organisation", place.organisation.to_string()),
                ("sector", place.sector.to_string()),
            ]
        };
        let others: u64 = rest.iter().map(|place| place.clusters).sum();
        let others_labels = [
            ("organisation", "_others".to_owned()),
            ("sector", String::new()),
        ];
        let others = (!rest.is_empty()).then_some((others_labels, others));
        let series = shown
            .iter()
            .map(|place| (labels(place), place.clusters))
            .chain(others);
        gauges(
            encoder,
            "towpath_fleet_clusters",
            "Clusters by organisation and sector",
            series,
        )
    }

    fn encode_history(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let soak = &self.metrics.soak;
        let labels = |row: &HistoryRow| {
            [
                ("organisation", row.organisation.to_string()),
                ("version", row.version.to_string()),
                ("workload", row.workload.to_string()),
            ]
        };
        let series = soak.first.iter().map(|row| (labels(row), row.seconds));
        let help = "How long a workload has run on a version, over all clusters of the organisation together";
        gauges(encoder, "towpath_fleet_soak_seconds", help, series)?;
        let help = "Series that towpath_fleet_soak_seconds lacks, because there are too many";
        left_out(
            encoder,
            "towpath_fleet_soak_series_dropped",
            help,
            soak.left_out,
        )
    }

    fn encode_policies(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let policies = &self.metrics.policies;
        let or_nothing = |text: Option<String>| text.unwrap_or_default();
        let labels = |row: &ClusterRow| {
            [
                ("organisation", row.organisation.to_string()),
                ("cluster", row.name.to_string()),
                ("id", row.id.as_str().to_owned()),
                ("version", row.version.to_string()),
                (
                    "channel",
                    or_nothing(row.channel.as_ref().map(ToString::to_string)),
                ),
                ("schedule", or_nothing(row.schedule.clone())),
                (
                    "sector",
                    or_nothing(row.sector.as_ref().map(ToString::to_string)),
                ),
                ("mutexes", joined_names(&row.mutexes)),
                ("workloads", joined_names(&row.workloads)),
                (
                    "soak_days",
                    or_nothing(row.soak_days.map(|days| days.to_string())),
                ),
            ]
        };
        let series = policies.first.iter().map(|row| (labels(row), 1_u64));
        let help = "1 for each managed cluster, with what its policy says";
        gauges(encoder, "towpath_fleet_cluster_policy_info", help, series)?;
        let help =
            "Series that towpath_fleet_cluster_policy_info lacks, because there are too many";
        let name = "towpath_fleet_cluster_policy_series_dropped";
        left_out(encoder, name, help, policies.left_out)
    }

    fn encode_soak(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let soak = &self.metrics.remaining_soak;
        let help =
            "Series that towpath_fleet_remaining_soak_seconds lacks, because there are too many";
        let name = "towpath_fleet_remaining_soak_series_dropped";
        left_out(encoder, name, help, soak.left_out)?;
        let labels = |soak: &RemainingSoak| {
            [
                ("organisation", soak.organisation.to_string()),
                ("cluster", soak.cluster.to_string()),
                ("version", soak.version.to_string()),
                ("workload", soak.workload.to_string()),
            ]
        };
        let series = soak.first.iter().map(|soak| (labels(soak), soak.seconds));
        let help = "How long a version must still run elsewhere before a cluster may take it";
        gauges(
            encoder,
            "towpath_fleet_remaining_soak_seconds",
            help,
            series,
        )
    }
}

/// Names in one label.
pub(super) fn joined_names(names: &BTreeSet<Name>) -> String {
    let names: Vec<&str> = names.iter().map(|name| &**name).collect();
    names.join(",")
}

fn left_out(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    series: u64,
) -> fmt::Result {
    let gauge = ConstGauge::new(series);
    gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)
}

fn counted<K: Ord>(counts: &BTreeMap<K, u64>, what: K) -> u64 {
    counts.get(&what).copied().unwrap_or(0)
}
