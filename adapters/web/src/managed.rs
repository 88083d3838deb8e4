//! Answers for managed clusters: all releases of their channel, and only the edges that they may take now.
//!
//! They never see more than unmanaged clusters: an edge is shown if it is offered to everybody and allowed by the policy.
//! Most managed clusters may take no edge, or the same few. So the nodes are written and compressed once, and each set of
//! edges is cached.

use std::collections::HashMap;
use std::io::Write;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use http::HeaderValue;
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use towpath_core::cluster::{Cluster, ClusterId, Groups, Platform};
use towpath_core::fleet::UnknownClusters;
use towpath_core::graph::{
    ChannelName, ChannelView, Edge, Epoch, Graph, ReleaseId, RiskId, Situation, View,
    recommend_managed,
};
use towpath_core::hex;
use towpath_core::rules::Policy;
use towpath_core::verdict::{Answer, Verdict};
use towpath_formats::graph::cincinnati;
use towpath_formats::graph::sheet::{Client, Encoding};

use crate::cached_answer::CachedAnswer;
use crate::snapshot::ChannelArch;
use crate::{Snapshot, locked, page_cache};

/// The most sets of edges for one prefix of nodes. Beyond that, the prefix starts again from empty.
const MAX_KINDS: usize = 512;
/// The most memory of all answers for managed clusters. Beyond that, the cache starts again from empty.
const MAX_BYTES: usize = 16 << 20;
/// The approximate overhead of a cached answer.
const OVERHEAD: usize = 512;

/// The end of a graph without edges. Everything before it is the same for all.
const NO_EDGES: &str = "],\"edges\":[],\"conditionalEdges\":[]}";
/// The beginning of every gzip body: no name, no time, so that equal texts give equal bytes.
const GZIP_HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];

/// The result of a pass over the fleet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Managed {
    /// The clusters that are known or named in the fleet's files.
    pub clusters: HashMap<ClusterId, ClusterPlace>,
    /// What other clusters with an id see.
    pub others: UnknownClusters,
}

/// The place of a cluster in the fleet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClusterPlace {
    /// A policy decides its updates.
    Managed(AllowedUpdates),
    /// The files name its id, but it is not known in that organisation: it is held.
    NotEnrolled,
    /// It is known, and no policy covers it: it sees the graph.
    Unmanaged,
}

/// The updates that a managed cluster may take now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedUpdates {
    /// What the policy allows.
    pub rule: towpath_core::graph::rules::Managed,
    /// Its reported platform, for targeted blocks, if its request names none.
    pub platform: Option<Platform>,
    /// How the fleet's policy sorts it; none where nobody knows.
    pub groups: Option<Arc<Groups>>,
}

/// The edges that a managed cluster is shown.
pub(crate) type ShownEdges = Vec<(Edge, Verdict)>;

/// The key of an answer among those with the same nodes: each edge, with its conditional risks.
type EdgeSet = Vec<(ReleaseId, ReleaseId, Option<Vec<RiskId>>)>;

/// The platform of a cluster whose request names none: that of the lookup file, else what it reported if it is managed. The
/// report of another cluster does not count: such clusters get the same bytes as without a fleet.
pub(crate) fn platform_of<'a>(
    snapshot: &'a Snapshot,
    allowed: Option<&'a AllowedUpdates>,
    id: Option<&ClusterId>,
) -> Option<&'a Platform> {
    let looked_up = snapshot.platform_of(id);
    looked_up.or_else(|| allowed?.platform.as_ref())
}

/// How a cluster is sorted: if it is managed, by the fleet alone, else by the lookup file. Nothing that its request says.
pub(crate) fn groups_of<'a>(
    snapshot: &'a Snapshot,
    allowed: Option<&'a AllowedUpdates>,
    id: Option<&ClusterId>,
) -> Option<&'a Arc<Groups>> {
    match allowed {
        Some(allowed) => allowed.groups.as_ref(),
        None => snapshot.groups_of(id),
    }
}

/// The edges that a cluster sees: allowed by its policy, and offered to everybody.
pub(crate) fn shown(
    graph: &Graph,
    channel_arch: &ChannelArch,
    allowed: &AllowedUpdates,
    client: Client<'_>,
) -> ShownEdges {
    let Some(channel) = ChannelName::new(channel_arch.channel()) else {
        return ShownEdges::new();
    };
    let cluster = Cluster {
        id: client.id.cloned().into(),
        platform: client
            .platform
            .or(allowed.platform.as_ref())
            .cloned()
            .into(),
        groups: allowed.groups.clone().into(),
        channel,
        arch: channel_arch.arch().clone(),
    };
    let at = Situation {
        graph,
        cluster: &cluster,
        now: client.now,
    };
    recommend_managed(Policy::graph(), &allowed.rule, &at)
}

/// The prefixes of one channel, architecture and encoding: the current one and its neighbour in time.
#[derive(Default)]
pub(crate) struct NodePrefixes {
    prefixes: ArcSwap<Vec<Arc<NodePrefix>>>,
    building: Mutex<()>,
    /// In milliseconds; 0 if never.
    pub(crate) last_used: AtomicI64,
}

/// All nodes of one channel and architecture until the next one enters, and the answers that begin with them.
pub(crate) struct NodePrefix {
    epoch: Epoch,
    encoding: Encoding,
    releases: Vec<ReleaseId>,
    text_bytes: usize,
    checksum: crc32fast::Hasher,
    bytes: Bytes,
    /// Of the bytes.
    digest: Sha256,
    kinds: ArcSwap<HashMap<EdgeSet, Arc<CachedAnswer>>>,
    held: AtomicUsize,
    /// … and all prefixes of the snapshot together.
    budget: Arc<AtomicUsize>,
}

impl Snapshot {
    /// The answer with these edges, if it is cached.
    pub(crate) fn managed(
        &self,
        channel_arch: &ChannelArch,
        encoding: Encoding,
        now: Timestamp,
        shown: &ShownEdges,
    ) -> Option<Arc<CachedAnswer>> {
        let prefixes = channel_arch.prefixes(encoding);
        prefixes
            .last_used
            .store(now.as_millisecond(), Ordering::Relaxed);
        let loaded = prefixes.prefixes.load();
        let prefix = loaded.iter().find(|prefix| prefix.covers(now))?;
        prefix.kinds.load().get(&kind(shown)).cloned()
    }

    /// Builds the answer with these edges. Takes milliseconds for a channel that nobody has requested yet.
    pub(crate) fn make_managed(
        &self,
        channel_arch: &ChannelArch,
        encoding: Encoding,
        now: Timestamp,
        shown: ShownEdges,
    ) -> Arc<CachedAnswer> {
        self.prefix(channel_arch, encoding, now)
            .answer(self.graph(), shown, now)
    }

    /// The prefix that is valid then, written if needed.
    pub(crate) fn prefix(
        &self,
        channel_arch: &ChannelArch,
        encoding: Encoding,
        now: Timestamp,
    ) -> Arc<NodePrefix> {
        let prefixes = channel_arch.prefixes(encoding);
        let _one_at_a_time = locked(&prefixes.building);
        let old = prefixes.prefixes.load_full();
        if let Some(known) = old.iter().find(|prefix| prefix.covers(now)) {
            return known.clone();
        }
        let prefix = Arc::new(NodePrefix::write(self, channel_arch, encoding, now));
        if self.managed_bytes.load(Ordering::Relaxed) > MAX_BYTES {
            self.all_fronts()
                .for_each(|others| others.prefixes.store(Arc::default()));
        }
        // Requests on both sides of an instant find theirs.
        let neighbour = old
            .iter()
            .find(|old| old.epoch.is_next_to(&prefix.epoch))
            .cloned();
        prefixes.prefixes.store(Arc::new(
            std::iter::once(prefix.clone()).chain(neighbour).collect(),
        ));
        prefix
    }
}

impl NodePrefixes {
    /// When the current prefix ends, if there is one.
    pub(crate) fn until(&self, now: Timestamp) -> Option<Timestamp> {
        self.prefixes
            .load()
            .iter()
            .find(|prefix| prefix.covers(now))
            .map(|prefix| prefix.epoch.until)
    }
}

impl NodePrefix {
    fn covers(&self, now: Timestamp) -> bool {
        self.epoch.covers(now)
    }

    fn write(
        snapshot: &Snapshot,
        channel_arch: &ChannelArch,
        encoding: Encoding,
        now: Timestamp,
    ) -> Self {
        let graph = snapshot.graph();
        let channel = ChannelView::named(graph, channel_arch.channel(), channel_arch.arch(), now);
        let view = View {
            releases: channel.releases().collect(),
            judged: Vec::new(),
        };
        let whole = cincinnati::write(graph, &view, now);
        let text = whole
            .strip_suffix(NO_EDGES)
            .expect("a graph without edges ends like that");
        let mut checksum = crc32fast::Hasher::new();
        let bytes = match encoding {
            Encoding::Identity => Bytes::from(text.as_bytes().to_vec()),
            Encoding::Gzip => {
                checksum.update(text.as_bytes());
                Bytes::from(compressed(GZIP_HEADER.to_vec(), text.as_bytes(), false))
            }
        };
        let mirrored = bytes.len() >= page_cache::MIN_BYTES;
        let bytes = if mirrored {
            snapshot.page_cache.mirror(bytes)
        } else {
            bytes
        };
        let prefix = Self {
            // A node also lists the other channels that it has entered.
            epoch: channel.epoch_of_releases(),
            encoding,
            releases: view.releases,
            text_bytes: text.len(),
            checksum,
            digest: Sha256::new_with_prefix(&bytes),
            bytes,
            kinds: ArcSwap::default(),
            held: AtomicUsize::new(0),
            budget: snapshot.managed_bytes.clone(),
        };
        prefix.hold();
        prefix
    }

    fn answer(&self, graph: &Graph, shown: ShownEdges, now: Timestamp) -> Arc<CachedAnswer> {
        let kind = kind(&shown);
        if let Some(ready) = self.kinds.load().get(&kind) {
            return ready.clone();
        }
        let view = View {
            releases: self.releases.clone(),
            judged: shown,
        };
        let text = cincinnati::write(graph, &view, now);
        let ready = Arc::new(self.ended_with(&text[self.text_bytes..]));
        let room = self.budget.load(Ordering::Relaxed) + own_bytes(&ready) <= MAX_BYTES;
        self.kinds.rcu(|kinds| {
            let mut kinds = if room && kinds.len() < MAX_KINDS {
                (**kinds).clone()
            } else {
                HashMap::new()
            };
            kinds.insert(kind.clone(), ready.clone());
            kinds
        });
        self.hold();
        ready
    }

    /// The whole answer with this end.
    fn ended_with(&self, text: &str) -> CachedAnswer {
        let end = match self.encoding {
            Encoding::Identity => Bytes::from(text.as_bytes().to_vec()),
            Encoding::Gzip => {
                let mut checksum = self.checksum.clone();
                checksum.update(text.as_bytes());
                let length = u32::try_from(self.text_bytes + text.len())
                    .expect("a body is smaller than 4 GiB");
                let mut end = compressed(Vec::new(), text.as_bytes(), true);
                end.extend(checksum.finalize().to_le_bytes());
                end.extend(length.to_le_bytes());
                Bytes::from(end)
            }
        };
        let digest = self.digest.clone().chain_update(&end).finalize();
        let tag = hex::encode(&digest[..16]);
        let bytes = self.bytes.len() + end.len();
        CachedAnswer {
            tag: HeaderValue::from_str(&format!("\"{tag}\"")).expect("a tag fits a header"),
            length: HeaderValue::from(bytes),
            chunks: Arc::new([self.bytes.clone(), end]),
            bytes,
        }
    }

    /// Counts the cached bytes again, so that a race between threads leaves no lasting error.
    fn hold(&self) {
        let mirrored = if self.bytes.len() >= page_cache::MIN_BYTES {
            self.bytes.len()
        } else {
            0
        };
        let kinds: usize = self
            .kinds
            .load()
            .values()
            .map(|ready| own_bytes(ready))
            .sum();
        self.hold_bytes(self.bytes.len() + mirrored + kinds);
    }

    fn hold_bytes(&self, bytes: usize) {
        let before = self.held.swap(bytes, Ordering::Relaxed);
        self.budget.fetch_add(bytes, Ordering::Relaxed);
        self.budget.fetch_sub(before, Ordering::Relaxed);
    }
}

impl Drop for NodePrefix {
    fn drop(&mut self) {
        self.hold_bytes(0);
    }
}

/// The memory that only this answer uses.
fn own_bytes(ready: &CachedAnswer) -> usize {
    ready.chunks.last().map_or(0, Bytes::len) + OVERHEAD
}

fn kind(shown: &ShownEdges) -> EdgeSet {
    let risks = |verdict: &Verdict| match &verdict.answer {
        Answer::RecommendUnless(risks) => Some(risks.iter().copied().collect()),
        _ => None,
    };
    shown
        .iter()
        .map(|(edge, verdict)| (edge.from, edge.to, risks(verdict)))
        .collect()
}

/// Appends a compressed text, in blocks that end on a byte boundary. The last block ends the stream.
fn compressed(before: Vec<u8>, text: &[u8], is_last: bool) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(before, Compression::new(6));
    let written = encoder.write_all(text).and_then(|()| match is_last {
        true => encoder.try_finish(),
        false => encoder.flush(),
    });
    written.expect("writing to memory does not fail");
    std::mem::take(encoder.get_mut())
}

#[cfg(test)]
mod tests;
