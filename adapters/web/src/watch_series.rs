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

/// The head of the log, and who vouches for it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogMetrics {
    /// The newest entry of the log.
    pub newest: i64,
    /// The newest entry that a signature vouches for, with the beginning of its hash as a number, and when it was signed.
    pub signed: Option<(i64, u64, Timestamp)>,
    /// Whether this replica could sign when it last tried; none if it is not the one that signs.
    pub signs: Option<bool>,
}

/// Collects them during a scrape.
#[derive(Debug, Default)]
pub(crate) struct WatchCollector {
    pub(crate) watch: Option<Arc<WatchMetrics>>,
    pub(crate) query: Option<Arc<OutcomesQueryMetrics>>,
    pub(crate) log: Option<Arc<LogMetrics>>,
}

impl Collector for WatchCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        if let Some(watch) = &self.watch {
            watch.encode(&mut encoder)?;
        }
        if let Some(log) = &self.log {
            log.encode(&mut encoder)?;
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

impl LogMetrics {
    fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "The number of the newest entry of the decision and audit log";
        gauge(encoder, "towpath_log_entries", help, self.newest as f64)?;
        if let Some((sequence, hash, at)) = self.signed {
            let help = "The number of the newest entry of the log that a signature vouches for";
            gauge(encoder, "towpath_log_head", help, sequence as f64)?;
            let help = "The first 48 bits of the hash of that entry, as a number";
            gauge(encoder, "towpath_log_head_hash", help, hash as f64)?;
            let help = "When the head of the log was last signed";
            let name = "towpath_log_head_signed_timestamp_seconds";
            time(encoder, name, help, Some(at))?;
        }
        match self.signs {
            Some(signs) => {
                let help = "1 if this replica, which signs the head of the log, could do so when it last tried";
                let signs = f64::from(u8::from(signs));
                gauge(encoder, "towpath_log_signing_works", help, signs)
            }
            None => Ok(()),
        }
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
