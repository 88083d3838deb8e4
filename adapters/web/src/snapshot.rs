//! A snapshot: one immutable graph and its compiled sheets.
//!
//! A sheet is compiled at its first request, kept within a memory limit, and compiled again just before the next epoch.
//! Readers never wait for each other, only for the first compilation of a sheet.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use arc_swap::ArcSwap;
use jiff::{SignedDuration, Timestamp};
use towpath_core::cluster::{ClusterId, Group, Groups, Platform};
use towpath_core::graph::{Graph, RolloutWindow, recent_rollouts};
use towpath_core::path::{StepGraph, StepGraphSpec, StepGraphs};
use towpath_core::version::Arch;
use towpath_formats::SourceFile;
use towpath_formats::graph::platforms::Platforms;
use towpath_formats::graph::sheet::{self, Encoding};

use crate::cached_answer::CachedSheet;
use crate::graph_data::GraphDataFiles;
use crate::locked;
use crate::managed::NodePrefixes;
use crate::metrics::ChannelMetrics;
use crate::page_cache::{self, PageCache};
use crate::release_admin::CheckedAnswers;
use crate::rollout_series::LeftOutLog;
use crate::step_graph_cache::StepGraphCache;

/// The most memory of a snapshot's sheets. The least recently used are dropped first.
const MAX_SHEET_BYTES: usize = 32 << 20;
/// The most memory of sheets compiled for a new graph while the old one is served.
const MAX_WARM_BYTES: usize = MAX_SHEET_BYTES / 2;
/// Sheets requested within this time are compiled ahead of a new graph or epoch.
const IN_USE: SignedDuration = SignedDuration::from_mins(15);
/// How long before an epoch ends the next one's sheet is compiled.
const AHEAD: SignedDuration = SignedDuration::from_secs(10);

/// A graph and its compiled answers.
pub struct Snapshot {
    graph: Graph,
    platforms: Platforms,
    /// The digest of the inputs.
    pub digest: String,
    pub loaded_at: Timestamp,
    channel_archs: HashMap<Box<str>, Vec<(Arch, ChannelArch)>>,
    /// For channels and architectures that do not exist.
    nothing: [Slot; 2],
    sheet_bytes: AtomicUsize,
    ready_bytes: Arc<AtomicUsize>,
    /// What is kept for managed clusters.
    pub(crate) managed_bytes: Arc<AtomicUsize>,
    pub(crate) page_cache: Arc<PageCache>,
    rollouts: Vec<RolloutWindow>,
    pub(crate) left_out_log: LeftOutLog,
    step_graphs: StepGraphCache,
    pub(crate) graph_data: GraphDataFiles,
    /// Answers about the graph data that were made already.
    pub(crate) checked: CheckedAnswers,
}

/// The sheets of one channel and architecture.
pub(crate) struct ChannelArch {
    channel: Box<str>,
    arch: Arch,
    slots: [Slot; 2],
    prefixes: [NodePrefixes; 2],
    pub(crate) metrics: OnceLock<ChannelMetrics>,
}

/// The sheets of one encoding: of this epoch and its neighbour.
struct Slot {
    sheets: ArcSwap<Vec<Arc<CachedSheet>>>,
    compiling: Mutex<()>,
    /// In milliseconds; 0 if never.
    last_used: AtomicI64,
}

impl ChannelArch {
    pub(crate) fn channel(&self) -> &str {
        &self.channel
    }

    pub(crate) fn arch(&self) -> &Arch {
        &self.arch
    }

    /// What managed clusters get, in one encoding.
    pub(crate) fn prefixes(&self, encoding: Encoding) -> &NodePrefixes {
        &self.prefixes[encoding as usize]
    }
}

impl Snapshot {
    /// A snapshot with no sheet compiled.
    pub fn new(graph: Graph, platforms: Platforms, digest: String, now: Timestamp) -> Self {
        let mut channel_archs: HashMap<Box<str>, Vec<(Arch, ChannelArch)>> = HashMap::new();
        for channel in graph.channels().values() {
            let arches = graph
                .arches()
                .filter(|arch| !graph.members(channel, arch).is_empty());
            let channel_arch = |arch: &Arch| ChannelArch {
                channel: channel.name.as_str().into(),
                arch: arch.clone(),
                slots: [Slot::new(), Slot::new()],
                prefixes: Default::default(),
                metrics: OnceLock::new(),
            };
            channel_archs.insert(
                channel.name.as_str().into(),
                arches
                    .map(|arch| (arch.clone(), channel_arch(arch)))
                    .collect(),
            );
        }
        let rollouts = recent_rollouts(&graph, now);
        let nothing = [Slot::new(), Slot::new()];
        Self {
            graph,
            platforms,
            digest,
            loaded_at: now,
            channel_archs,
            nothing,
            sheet_bytes: AtomicUsize::new(0),
            ready_bytes: Arc::default(),
            managed_bytes: Arc::default(),
            page_cache: Arc::default(),
            rollouts,
            left_out_log: LeftOutLog::default(),
            step_graphs: StepGraphCache::default(),
            graph_data: GraphDataFiles::default(),
            checked: CheckedAnswers::default(),
        }
    }

    /// Adds the graph data, for the graph-data endpoint.
    pub fn with_graph_data(self, files: Vec<SourceFile>, modified_at: Timestamp) -> Self {
        Self {
            graph_data: GraphDataFiles::new(files, modified_at),
            ..self
        }
    }

    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The rollouts that had not ended when the snapshot was made, or not for long.
    pub(crate) fn rollouts(&self) -> &[RolloutWindow] {
        &self.rollouts
    }

    /// Looks up a cluster.
    pub(crate) fn platform_of(&self, id: Option<&ClusterId>) -> Option<&Platform> {
        self.platforms.get(id?.as_str())?.platform.as_ref()
    }

    /// How the lookup file sorts a cluster.
    pub(crate) fn groups_of(&self, id: Option<&ClusterId>) -> Option<&Arc<Groups>> {
        self.platforms.get(id?.as_str())?.groups.as_ref()
    }

    /// Whether the lookup file sorts some cluster into a group.
    pub fn knows_somebody_in(&self, group: &Group) -> bool {
        let mut all = self.platforms.values();
        all.any(|known| known.groups.as_ref().is_some_and(|it| it.are_in(group)))
    }

    pub(crate) fn channel_arch(&self, channel: &str, arch: &str) -> Option<&ChannelArch> {
        let arches = self.channel_archs.get(channel)?;
        arches
            .iter()
            .find(|(known, _)| known.as_str() == arch)
            .map(|(_, channel_arch)| channel_arch)
    }

    /// The current sheet of a channel and architecture, if it is compiled.
    pub(crate) fn with_sheet<T>(
        &self,
        channel_arch: Option<&ChannelArch>,
        encoding: Encoding,
        now: Timestamp,
        read: impl FnOnce(&CachedSheet) -> T,
    ) -> Option<T> {
        let slot = self.slot(channel_arch, encoding);
        slot.last_used
            .store(now.as_millisecond(), Ordering::Relaxed);
        slot.sheets
            .load()
            .iter()
            .find(|ready| ready.sheet.covers(now))
            .map(|ready| read(ready))
    }

    fn slot<'a>(&'a self, channel_arch: Option<&'a ChannelArch>, encoding: Encoding) -> &'a Slot {
        let slots = channel_arch.map_or(&self.nothing, |channel_arch| &channel_arch.slots);
        &slots[encoding as usize]
    }

    /// Compiles the sheets that an older snapshot used lately, latest first, within the memory limit.
    pub(crate) fn warm_like(&self, old: &Self, now: Timestamp) {
        let encodings = [Encoding::Gzip, Encoding::Identity];
        let slots = old
            .all_channel_archs()
            .flat_map(|channel_arch| encodings.map(|encoding| (channel_arch, encoding)));
        let used = slots.map(|(channel_arch, encoding)| {
            (
                old.slot(Some(channel_arch), encoding)
                    .last_used
                    .load(Ordering::Relaxed),
                channel_arch,
                encoding,
            )
        });
        let mut in_use: Vec<_> = used.filter(|(used, _, _)| is_in_use(*used, now)).collect();
        in_use.sort_by_key(|(used, channel_arch, encoding)| {
            (
                std::cmp::Reverse(*used),
                *encoding,
                &channel_arch.channel,
                &channel_arch.arch,
            )
        });
        for (used, channel_arch, encoding) in in_use {
            if self.sheet_bytes.load(Ordering::Relaxed) > MAX_WARM_BYTES {
                break;
            }
            let same = self.channel_arch(&channel_arch.channel, channel_arch.arch.as_str());
            self.slot(same, encoding)
                .last_used
                .store(used, Ordering::Relaxed);
            self.compile(same, encoding, now);
        }
        for (channel_arch, encoding) in old.prefixes_in_use(now) {
            if let Some(same) = self.channel_arch(&channel_arch.channel, channel_arch.arch.as_str())
            {
                let used = channel_arch
                    .prefixes(encoding)
                    .last_used
                    .load(Ordering::Relaxed);
                same.prefixes(encoding)
                    .last_used
                    .store(used, Ordering::Relaxed);
                self.prefix(same, encoding, now);
            }
        }
    }

    /// Compiles the next epoch's sheet wherever it is about to begin and the sheet is in use.
    pub(crate) fn prepare(&self, now: Timestamp) {
        for channel_arch in self.all_channel_archs() {
            for encoding in [Encoding::Gzip, Encoding::Identity] {
                let slot = &channel_arch.slots[encoding as usize];
                if !is_in_use(slot.last_used.load(Ordering::Relaxed), now) {
                    continue;
                }
                let until = slot
                    .sheets
                    .load()
                    .iter()
                    .find(|ready| ready.sheet.covers(now))
                    .map(|ready| ready.sheet.epoch.until);
                if let Some(next) = until.filter(|until| until.duration_since(now) <= AHEAD) {
                    self.compile(Some(channel_arch), encoding, next);
                }
            }
        }
        for (channel_arch, encoding) in self.prefixes_in_use(now) {
            let until = channel_arch.prefixes(encoding).until(now);
            if let Some(next) = until.filter(|until| until.duration_since(now) <= AHEAD) {
                self.prefix(channel_arch, encoding, next);
            }
        }
    }

    fn prefixes_in_use(&self, now: Timestamp) -> impl Iterator<Item = (&ChannelArch, Encoding)> {
        let all = self.all_channel_archs().flat_map(|channel_arch| {
            [Encoding::Gzip, Encoding::Identity].map(|encoding| (channel_arch, encoding))
        });
        all.filter(move |(channel_arch, encoding)| {
            is_in_use(
                channel_arch
                    .prefixes(*encoding)
                    .last_used
                    .load(Ordering::Relaxed),
                now,
            )
        })
    }

    pub(crate) fn all_fronts(&self) -> impl Iterator<Item = &NodePrefixes> {
        self.all_channel_archs()
            .flat_map(|channel_arch| &channel_arch.prefixes)
    }

    fn all_channel_archs(&self) -> impl Iterator<Item = &ChannelArch> {
        self.channel_archs
            .values()
            .flatten()
            .map(|(_, channel_arch)| channel_arch)
    }

    /// Compiles the sheet for that time, unless it exists.
    pub(crate) fn compile(
        &self,
        channel_arch: Option<&ChannelArch>,
        encoding: Encoding,
        now: Timestamp,
    ) -> Arc<CachedSheet> {
        let slot = self.slot(channel_arch, encoding);
        let _one_at_a_time = locked(&slot.compiling);
        if let Some(known) = slot
            .sheets
            .load()
            .iter()
            .find(|ready| ready.sheet.covers(now))
        {
            return known.clone();
        }
        let (channel, arch) = channel_arch.map_or_else(
            || ("", Arch::default()),
            |channel_arch| (&*channel_arch.channel, channel_arch.arch.clone()),
        );
        let mut sheet = sheet::compile(&self.graph, channel, &arch, now, encoding);
        let common = sheet.common_piece();
        if common.len() >= page_cache::MIN_BYTES {
            *common = self.page_cache.mirror(std::mem::take(common));
        }
        let ready = Arc::new(CachedSheet::new(sheet, self.ready_bytes.clone()));
        self.keep(slot, ready.clone());
        self.make_room(slot);
        ready
    }

    /// Mirrors large pieces in the page cache.
    pub(crate) fn mirrored_in(self, page_cache: Arc<PageCache>) -> Self {
        Self { page_cache, ..self }
    }

    /// Keeps a sheet beside its neighbour in time, so that requests on both sides of an instant find theirs.
    fn keep(&self, slot: &Slot, ready: Arc<CachedSheet>) {
        let old = slot.sheets.load_full();
        let neighbour = |old: &&Arc<CachedSheet>| old.sheet.epoch.is_next_to(&ready.sheet.epoch);
        let neighbour = old.iter().find(neighbour).cloned();
        let sheets: Vec<_> = std::iter::once(ready).chain(neighbour).collect();
        self.sheet_bytes
            .fetch_add(total(&sheets), Ordering::Relaxed);
        // What is really replaced counts: another slot's compile may have emptied this one meanwhile.
        let replaced = slot.sheets.swap(Arc::new(sheets));
        self.sheet_bytes
            .fetch_sub(total(&replaced), Ordering::Relaxed);
    }

    /// Drops the least recently used sheets until the rest fits. The given slot stays.
    fn make_room(&self, in_hand: &Slot) {
        if self.sheet_bytes.load(Ordering::Relaxed) <= MAX_SHEET_BYTES {
            return;
        }
        let slots = self
            .all_channel_archs()
            .flat_map(|channel_arch| &channel_arch.slots);
        let mut filled: Vec<&Slot> = slots
            .filter(|slot| !std::ptr::eq(*slot, in_hand) && !slot.sheets.load().is_empty())
            .collect();
        filled.sort_by_key(|slot| slot.last_used.load(Ordering::Relaxed));
        for slot in filled {
            if self.sheet_bytes.load(Ordering::Relaxed) <= MAX_SHEET_BYTES {
                break;
            }
            let dropped = slot.sheets.swap(Arc::default());
            self.sheet_bytes
                .fetch_sub(total(&dropped), Ordering::Relaxed);
        }
    }
}

impl StepGraphs for Snapshot {
    fn step_graph(&self, of: &StepGraphSpec<'_>) -> Arc<StepGraph> {
        self.step_graphs.step_graph(of)
    }
}

impl Slot {
    fn new() -> Self {
        Self {
            sheets: ArcSwap::default(),
            compiling: Mutex::new(()),
            last_used: AtomicI64::new(0),
        }
    }
}

fn total(sheets: &[Arc<CachedSheet>]) -> usize {
    let mirrored = |common: usize| {
        if common >= page_cache::MIN_BYTES {
            common
        } else {
            0
        }
    };
    sheets
        .iter()
        .map(|ready| ready.sheet.size() + mirrored(ready.sheet.common_bytes()))
        .sum()
}

fn is_in_use(last_used: i64, now: Timestamp) -> bool {
    last_used > 0 && i128::from(now.as_millisecond() - last_used) <= IN_USE.as_millis()
}

#[cfg(test)]
mod tests {
    use super::*;
    use towpath_core::graph::{GraphData, Releases};

    const START: &str = "2026-01-01T00:00Z";

    fn snapshot() -> Snapshot {
        let file = |path: &str, text: &str| SourceFile {
            path: path.into(),
            bytes: text.as_bytes().into(),
        };
        let channels = format!(
            "channels: [{{name: fast-4.9}}]\nversions: [{{name: 4.9.1, start: '2025-01-01T00:00Z'}}, {{name: 4.9.2, start: '{START}'}}]"
        );
        let (data, _): (GraphData, _) = towpath_formats::graph::data::read(&[
            file("version", "2.0.0"),
            file("channels/4.9.yaml", &channels),
        ])
        .unwrap();
        let graph = r#"{"nodes":[{"version":"4.9.1","payload":"a"},{"version":"4.9.2","payload":"b"}],"edges":[[0,1]]}"#;
        let (releases, _): (Releases, _) = towpath_formats::graph::releases::read(
            &towpath_core::finding::Place::file("r"),
            graph.as_bytes(),
        )
        .unwrap();
        let (graph, _) = Graph::build(data, releases);
        Snapshot::new(
            graph,
            Platforms::new(),
            String::new(),
            START.parse().unwrap(),
        )
    }

    fn span(snapshot: &Snapshot, now: Timestamp) -> (Timestamp, Timestamp) {
        let channel_arch = snapshot.channel_arch("fast-4.9", "amd64");
        let compiled = snapshot.compile(channel_arch, Encoding::Gzip, now);
        let span = |ready: &CachedSheet| (ready.sheet.epoch.from, ready.sheet.epoch.until);
        assert_eq!(
            snapshot.with_sheet(channel_arch, Encoding::Gzip, now, span),
            Some(span(&compiled))
        );
        span(&compiled)
    }

    #[test]
    fn the_next_epoch_is_compiled_before_it_begins() {
        let snapshot = snapshot();
        let start: Timestamp = START.parse().unwrap();
        let before = start - SignedDuration::from_secs(5);
        assert_eq!(span(&snapshot, before).1, start);
        let kept = || {
            snapshot.channel_arch("fast-4.9", "amd64").unwrap().slots[Encoding::Gzip as usize]
                .sheets
                .load()
                .len()
        };
        assert_eq!(kept(), 1);
        snapshot.prepare(before - SignedDuration::from_secs(60));
        assert_eq!(kept(), 1, "not a minute ahead");
        snapshot.prepare(before);
        assert_eq!(kept(), 2);
        assert_eq!(span(&snapshot, start).0, start);
        assert_eq!(
            span(&snapshot, before).1,
            start,
            "the old one is kept for clocks that are a little behind"
        );
    }

    #[test]
    fn sheets_in_use_are_compiled_before_a_new_snapshot_is_served() {
        let (old, new) = (snapshot(), snapshot());
        let now: Timestamp = START.parse().unwrap();
        span(&old, now);
        new.warm_like(&old, now);
        let channel_arch = new.channel_arch("fast-4.9", "amd64").unwrap();
        assert_eq!(
            channel_arch
                .slots
                .each_ref()
                .map(|slot| slot.sheets.load().len()),
            [0, 1],
            "gzip was asked for, identity was not"
        );
    }

    #[test]
    fn what_does_not_exist_is_empty() {
        let snapshot = snapshot();
        assert!(
            snapshot.channel_arch("fast-4.9", "s390x").is_none()
                && snapshot.channel_arch("nope", "amd64").is_none()
        );
    }
}
