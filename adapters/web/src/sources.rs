//! The health of the graph's sources, for `/readyz`, metrics and answers.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use serde_json::{Value, json};
use towpath_core::finding::Finding;
use towpath_core::graph::RolloutWindow;
use towpath_core::intake::{Ages, Freshness};
use towpath_core::signatures::GraphSeal;

use crate::signatures::KeyringHealth;

/// The health of one source. Everybody sees it, so it must hold no secret.
#[derive(Debug, Clone)]
pub struct SourceHealth {
    pub name: Arc<str>,
    /// What kind of source: `directory`, `git`, …
    pub kind: &'static str,
    /// Where it is, without credentials.
    pub location: String,
    /// When a copy of it was last found to be good.
    pub last_success: Option<Timestamp>,
    /// The current problem and since when; none while all is well.
    pub problem: Option<SourceProblem>,
    /// Who signed the copy in use; none if nobody has to.
    pub seal: Option<SealHealth>,
    /// How often it was read, by result.
    pub reads: SourceReads,
    /// Blocks of refused copies, which still apply.
    pub stricter: Vec<StricterPart>,
    /// What its last copy of other channels did to windows; none if that was nothing.
    pub changed_windows: Option<ChangedWindows>,
    /// How many copies changed windows.
    pub window_changes: WindowChanges,
    /// When it counts as old.
    pub ages: Ages,
}

/// The signature of the copy in use, where one is asked for.
#[derive(Debug, Clone)]
pub struct SealHealth {
    /// None while there is no copy.
    pub seal: Option<GraphSeal>,
    /// Whether it counts now. One that has ended counts no more, and nothing is recommended.
    pub counts: bool,
    /// The keys that count for graph data.
    pub keyring: KeyringHealth,
}

/// A block of a refused copy. It applies until a copy is accepted, or until somebody discards it by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StricterPart {
    /// Its file in that copy, by which it is discarded.
    pub name: String,
    pub since: Timestamp,
    /// The release that it is about.
    pub to: String,
    /// The pattern of the releases from which the edges lead there.
    pub from: String,
}

/// What a copy of graph data does to windows that clusters are in, as presubmit says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedWindows {
    /// When the copy came.
    pub at: Timestamp,
    pub taken: bool,
    pub findings: Vec<Finding>,
}

/// How many copies changed windows, by what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WindowChanges {
    pub taken: u64,
    pub refused: u64,
}

/// What is wrong with a source.
#[derive(Debug, Clone)]
pub struct SourceProblem {
    /// Since when, without a good read between.
    pub since: Timestamp,
    /// The findings of the last read.
    pub findings: Vec<Finding>,
}

/// How often a source was read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SourceReads {
    pub changed: u64,
    pub unchanged: u64,
    /// It could not be read or understood.
    pub failed: u64,
    /// It was read but refused: empty, shrunk, older than before, or not signed.
    pub refused: u64,
}

/// How many findings of a source are shown.
const MAX_FINDINGS: usize = 5;
/// How many stricter parts of a source are shown.
const MAX_PARTS: usize = 100;

impl SourceHealth {
    /// The state of the copy in use; none if there never was one.
    pub fn freshness(&self, now: Timestamp) -> Option<Freshness> {
        let has_ended = |seal: &SealHealth| seal.seal.is_some() && !seal.counts;
        self.last_success
            .map(|at| match self.seal.as_ref().is_some_and(has_ended) {
                true => Freshness::Closed,
                false => Freshness::of(at, now, &self.ages),
            })
    }

    fn state(&self, now: Timestamp) -> &'static str {
        self.freshness(now).map_or("never read", Freshness::name)
    }

    /// What is told of changed windows: a copy that was taken is of interest for some days.
    fn changed_windows(&self, now: Timestamp) -> Option<&ChangedWindows> {
        let changed = self.changed_windows.as_ref()?;
        let is_recent = now.duration_since(changed.at) < RolloutWindow::RECENT;
        (is_recent || !changed.taken).then_some(changed)
    }

    fn age_seconds(&self, now: Timestamp) -> Option<i64> {
        self.last_success
            .map(|at| now.duration_since(at).as_secs().max(0))
    }

    fn json(&self, now: Timestamp) -> Value {
        json!({
            "name": *self.name,
            "kind": self.kind,
            "location": self.location,
            "state": self.state(now),
            "ageSeconds": self.age_seconds(now),
            "lastSuccess": self.last_success.map(|at| at.to_string()),
            "problem": self.problem.as_ref().map(SourceProblem::json),
            "seal": self.seal.as_ref().map(SealHealth::json),
            "changedWindows": self.changed_windows(now).map(|changed| changed.json(&self.name)),
            "stricterParts": self.stricter.iter().take(MAX_PARTS).map(StricterPart::json).collect::<Vec<_>>(),
            "stricterPartsLeftOut": self.stricter.len().saturating_sub(MAX_PARTS),
        })
    }
}

impl SealHealth {
    fn state(&self) -> &'static str {
        match (&self.seal, self.counts) {
            (None, _) => "none",
            (Some(_), true) => "counts",
            (Some(_), false) => "ended",
        }
    }

    fn json(&self) -> Value {
        let seal = self.seal.as_ref();
        json!({
            "state": self.state(),
            "what": seal.map(|seal| &seal.what),
            "key": seal.map(|seal| &seal.signer.fingerprint),
            "user": seal.map(|seal| &seal.signer.user_id),
            "signedAt": seal.map(|seal| seal.signer.signed_at.to_string()),
            "keys": self.keyring.keys,
            "keyringProblem": self.keyring.problem.as_ref().map(SourceProblem::json),
        })
    }
}

impl ChangedWindows {
    fn json(&self, source: &str) -> Value {
        let shown = self.findings.iter().take(MAX_FINDINGS);
        json!({
            "source": source,
            "at": self.at.to_string(),
            "result": if self.taken { "taken" } else { "refused" },
            "sentences": shown.map(ToString::to_string).collect::<Vec<_>>(),
            "leftOut": self.findings.len().saturating_sub(MAX_FINDINGS),
        })
    }
}

impl StricterPart {
    fn json(&self) -> Value {
        json!({"name": self.name, "since": self.since.to_string(), "to": self.to, "from": self.from})
    }
}

impl SourceProblem {
    pub(crate) fn json(&self) -> Value {
        let first = self.findings.first();
        json!({
            "since": self.since.to_string(),
            "kind": first.map(|finding| finding.code),
            "sentence": first.map(ToString::to_string),
            "more": self.findings.iter().skip(1).take(MAX_FINDINGS).map(ToString::to_string).collect::<Vec<_>>(),
        })
    }
}

/// All sources, for `/readyz`.
pub(crate) fn told(sources: &[SourceHealth], now: Timestamp) -> Value {
    sources.iter().map(|source| source.json(now)).collect()
}

/// What copies of the sources do to windows, for `/api/v1/rollouts`.
pub(crate) fn changed_windows(sources: &[SourceHealth], now: Timestamp) -> Value {
    let told = |source: &SourceHealth| Some(source.changed_windows(now)?.json(&source.name));
    sources.iter().filter_map(told).collect()
}

/// The status text about old sources; none while all are fresh.
pub(crate) fn complaint(sources: &[SourceHealth], now: Timestamp) -> Option<String> {
    let of = |wanted: Freshness| -> Vec<String> {
        let old = sources
            .iter()
            .filter(|source| source.freshness(now) == Some(wanted));
        let since = |source: &SourceHealth| {
            source
                .last_success
                .map(|at| at.to_string())
                .unwrap_or_default()
        };
        let told = |source: &SourceHealth| match &source.seal {
            Some(seal) if seal.state() == "ended" => {
                format!("the signature of {} no longer counts", source.name)
            }
            _ => format!("{} was last good at {}", source.name, since(source)),
        };
        old.map(told).collect()
    };
    let (closed, degraded) = (of(Freshness::Closed), of(Freshness::Degraded));
    match (closed.is_empty(), degraded.is_empty()) {
        (false, _) => Some(format!(
            "ready, closed: nothing is recommended, {}",
            [closed, degraded].concat().join(", ")
        )),
        (true, false) => Some(format!("ready, degraded: {}", degraded.join(", "))),
        (true, true) => None,
    }
}

/// Collects the metrics of sources during a scrape.
#[derive(Debug)]
pub(crate) struct SourcesCollector {
    pub(crate) sources: Arc<Vec<SourceHealth>>,
    pub(crate) now: Timestamp,
}

impl Collector for SourcesCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let name = |source: &SourceHealth| [("source", source.name.to_string())];
        let ages = self
            .sources
            .iter()
            .filter_map(|source| Some((name(source), source.age_seconds(self.now)?)));
        let help = "Time since a source was last found to be good";
        gauges(&mut encoder, "towpath_source_age_seconds", help, ages)?;
        let successes = self
            .sources
            .iter()
            .filter_map(|source| Some((name(source), source.last_success?.as_second())));
        let help = "When a source was last found to be good";
        gauges(
            &mut encoder,
            "towpath_source_last_success_timestamp_seconds",
            help,
            successes,
        )?;
        let parts =
            |source: &SourceHealth| i64::try_from(source.stricter.len()).unwrap_or(i64::MAX);
        let stricter = self
            .sources
            .iter()
            .map(|source| (name(source), parts(source)));
        let help = "Blocks of copies that were not taken, which hold all the same";
        gauges(
            &mut encoder,
            "towpath_source_stricter_parts",
            help,
            stricter,
        )?;
        let sealed = self.sources.iter().filter_map(|source| {
            let counts = source.seal.as_ref()?.state() == "counts";
            Some((name(source), i64::from(counts)))
        });
        let help = "1 if the signature of the copy in use counts, 0 if it does not; only of sources that have to be signed";
        gauges(&mut encoder, "towpath_source_signed", help, sealed)?;
        let broken = self.sources.iter().filter_map(|source| {
            let is_broken = source.seal.as_ref()?.keyring.problem.is_some();
            Some((name(source), i64::from(is_broken)))
        });
        let help = "1 if the keyring for graph data was read again and is broken, so that the old one stays in use";
        gauges(&mut encoder, "towpath_source_keyring_broken", help, broken)?;
        let count = |state| {
            let in_state = self
                .sources
                .iter()
                .filter(|source| source.state(self.now) == state)
                .count();
            (
                [("state", state)],
                i64::try_from(in_state).unwrap_or(i64::MAX),
            )
        };
        let states = Freshness::ALL
            .map(Freshness::name)
            .into_iter()
            .chain(["never read"])
            .map(count);
        gauges(
            &mut encoder,
            "towpath_sources_state",
            "Sources by how good the copy in use is",
            states,
        )?;
        self.encode_window_changes(&mut encoder)?;
        self.encode_reads(&mut encoder)
    }
}

impl SourcesCollector {
    fn encode_window_changes(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Copies of graph data that changed windows, by what became of them";
        let name = "towpath_source_window_changes";
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        for source in self.sources.iter() {
            let WindowChanges { taken, refused } = source.window_changes;
            for (result, count) in [("taken", taken), ("refused", refused)] {
                let labels = [
                    ("source", source.name.to_string()),
                    ("result", result.to_owned()),
                ];
                ConstCounter::new(count).encode(family.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }

    fn encode_reads(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Reads of a source, by result";
        let mut family =
            encoder.encode_descriptor("towpath_source_reads", help, None, MetricType::Counter)?;
        for source in self.sources.iter() {
            let SourceReads {
                changed,
                unchanged,
                failed,
                refused,
            } = source.reads;
            let results = [
                ("changed", changed),
                ("unchanged", unchanged),
                ("failed", failed),
                ("refused", refused),
            ];
            for (result, count) in results {
                let labels = [
                    ("source", source.name.to_string()),
                    ("result", result.to_owned()),
                ];
                ConstCounter::new(count).encode(family.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}

pub(crate) fn gauges<V, N, const L: usize>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    series: impl IntoIterator<Item = ([(&'static str, V); L], N)>,
) -> fmt::Result
where
    V: prometheus_client::encoding::EncodeLabelValue,
    N: prometheus_client::encoding::EncodeGaugeValue,
{
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for (labels, value) in series {
        ConstGauge::new(value).encode(family.encode_family(&labels)?)?;
    }
    Ok(())
}
