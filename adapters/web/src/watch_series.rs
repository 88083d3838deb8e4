//! The series of the watch and of the query for outcomes. Both work at their own pace, so they are told apart from the fleet's passes.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use towpath_core::feedback::WatchAnswer;

/// What the watch has done since the process started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WatchMetrics {
    pub passes: u64,
    pub failed_passes: u64,
    pub last_pass: Option<Timestamp>,
    /// Whether this replica is the one that acts on what the watch says.
    pub is_watcher: bool,
    /// Releases by the answer of the last pass.
    pub answers: BTreeMap<&'static str, u64>,
}

/// How often Prometheus was asked for outcomes since the process started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutcomesQueryMetrics {
    pub answered: u64,
    pub failed: u64,
    /// When Prometheus last answered.
    pub last_success: Option<Timestamp>,
    /// The series of the last answer.
    pub series: u64,
}

/// Collects both during a scrape.
#[derive(Debug, Default)]
pub(crate) struct WatchCollector {
    pub(crate) watch: Option<Arc<WatchMetrics>>,
    pub(crate) query: Option<Arc<OutcomesQueryMetrics>>,
}

impl Collector for WatchCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        if let Some(watch) = &self.watch {
            watch.encode(&mut encoder)?;
        }
        match &self.query {
            Some(query) => query.encode(&mut encoder),
            None => Ok(()),
        }
    }
}

impl WatchMetrics {
    fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Passes of the watch over releases that are rolled out, by result";
        let results = [("ok", self.passes), ("failed", self.failed_passes)];
        by_result(encoder, "towpath_watch_passes", help, results)?;
        let help = "Releases that are watched, by the watch's answer";
        let mut answers =
            encoder.encode_descriptor("towpath_watch_releases", help, None, MetricType::Gauge)?;
        for answer in [
            WatchAnswer::Halt,
            WatchAnswer::GoOn,
            WatchAnswer::Inconclusive,
        ] {
            let count = self.answers.get(answer.code()).copied().unwrap_or(0);
            ConstGauge::new(count).encode(answers.encode_family(&[("answer", answer.code())])?)?;
        }
        let name = "towpath_watch_last_pass_timestamp_seconds";
        time(encoder, name, "When the watch last judged", self.last_pass)?;
        let is_watcher = f64::from(u8::from(self.is_watcher));
        let help = "1 if this replica is the one that acts on what the watch says";
        gauge(encoder, "towpath_watch_is_watcher", help, is_watcher)
    }
}

impl OutcomesQueryMetrics {
    fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Queries of outcomes that this replica sent to Prometheus, by result";
        let results = [("ok", self.answered), ("failed", self.failed)];
        by_result(encoder, "towpath_outcomes_queries", help, results)?;
        let name = "towpath_outcomes_query_last_success_timestamp_seconds";
        let help = "When Prometheus last answered the query of outcomes";
        time(encoder, name, help, self.last_success)?;
        let help = "Series in the last answer to the query of outcomes";
        let series = self.series as f64;
        gauge(encoder, "towpath_outcomes_query_series", help, series)
    }
}

fn by_result(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    results: [(&str, u64); 2],
) -> fmt::Result {
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
    for (result, count) in results {
        ConstCounter::new(count).encode(family.encode_family(&[("result", result)])?)?;
    }
    Ok(())
}

fn time(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    at: Option<Timestamp>,
) -> fmt::Result {
    at.map_or(Ok(()), |at| {
        gauge(encoder, name, help, at.as_second() as f64)
    })
}

fn gauge(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: f64) -> fmt::Result {
    let gauge = ConstGauge::new(value);
    gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)
}
