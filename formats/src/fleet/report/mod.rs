//! A cluster's report about itself: the body of the request.
//!
//! Unknown fields are ignored, so that agents may be newer than the service. Known fields must be
//! valid, and everything has a limit, because reports come from outside.

mod of_cluster;
mod read;
mod write;

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use towpath_core::cluster::{ClusterId, Fact, Platform};
use towpath_core::feedback::HistoryStep;
use towpath_core::fleet::{
    AgentUpdate, Binding, ClusterState, Health, Labels, Name, NodePool, PreflightResult, Product,
};
use towpath_core::graph::ChannelName;
use towpath_core::version::{Arch, Version};

pub use of_cluster::{Seen, platform_of};
pub use read::read;
pub use write::write;

pub const MAX_BYTES: usize = 64 << 10;
/// The most entries of a history, conditions, updates, labels, and node pools, each.
pub const MAX_ENTRIES: usize = 64;
/// The longest text, messages of conditions apart, in characters.
const MAX_TEXT: usize = 256;
/// The longest name of a report, in characters.
pub const MAX_ID_CHARACTERS: usize = 64;
/// The longest text about what became of an update, in bytes; more is cut off.
const MAX_WHY_BYTES: usize = 1024;

/// What a cluster says of itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Its name, by which the same report is known again.
    pub id: Option<Name>,
    /// Its name; none: it is known by its id.
    pub name: Option<Name>,
    /// The organisation it belongs to.
    pub organisation: Name,
    pub version: Version,
    /// What it is on its way to.
    pub desired: Option<Version>,
    /// How it is, all in all.
    pub health: Health,
    /// The versions it has run, as it lists them: newest first.
    pub history: Vec<HistoryEntry>,
    pub conditions: Vec<ReportCondition>,
    /// What became of its updates, as its agent saw it.
    pub updates: Vec<AgentUpdate>,
    /// What became of preflights that it was asked for.
    pub preflights: Vec<PreflightResult>,
    pub platform: Fact<Platform>,
    pub channel: Option<ChannelName>,
    /// The architecture of its payload.
    pub arch: Arch,
    pub labels: Labels,
    /// How many nodes it has.
    pub nodes: Option<u32>,
    /// Its node pools, if its control plane is hosted.
    pub pools: Option<Vec<NodePool>>,
    /// Whether it uses short-lived tokens of AWS (STS).
    pub sts: Fact<bool>,
    /// Whether it uses Workload Identity Federation of GCP (WIF).
    pub wif: Fact<bool>,
    /// When this was so, by its own clock.
    pub at: Option<Timestamp>,
    /// Whether an update of it is failing.
    pub failing: bool,
    /// Whether an update of it is in progress.
    pub progressing: bool,
}

/// A version that a cluster has run, or has tried to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryEntry {
    pub version: Version,
    /// `Completed` or `Partial`.
    pub state: String,
    pub started: Option<Timestamp>,
    pub completed: Option<Timestamp>,
}

/// A condition of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(expecting = "a condition: an object")]
pub struct ReportCondition {
    /// What it is about: `Failing`, `Available`, `Progressing`, …
    pub r#type: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

impl Report {
    /// What is known of the cluster after this report. What it could go to is not the cluster's to say.
    ///
    /// A report that came late is about its own time; one from the future is about now.
    pub fn state(&self, id: ClusterId, received_at: Timestamp) -> ClusterState {
        let received_at = self.at.map_or(received_at, |at| at.min(received_at));
        let since = self
            .history
            .iter()
            .find(|entry| entry.version == self.version);
        let since = since
            .and_then(|entry| entry.completed.or(entry.started))
            .unwrap_or(received_at);
        ClusterState {
            name: self.name.clone().unwrap_or_else(|| id.as_str().into()),
            id,
            organisation: self.organisation.clone(),
            // A report binds nothing; its token may.
            binding: Binding::Unbound,
            version: self.version.clone(),
            going_to: self.going_to(),
            version_since: since.min(received_at),
            last_seen: received_at,
            health: self.health.clone(),
            channel: self.channel.clone(),
            arch: self.arch.clone(),
            platform: self.platform.clone(),
            labels: self.labels.clone(),
            product: match &self.pools {
                Some(pools) => Product::HostedControlPlane {
                    pools: pools.clone(),
                },
                None => Product::Standalone,
            },
            sts: self.sts.clone(),
            wif: self.wif.clone(),
            offers: Arc::new([]),
            acknowledged_gates: Default::default(),
            available_channels: Fact::Unknown,
        }
    }

    /// The versions it has run or tried to, newest first, as the counting of outcomes wants them.
    pub fn steps(&self) -> Vec<HistoryStep> {
        let step = |entry: &HistoryEntry| HistoryStep {
            version: entry.version.clone(),
            is_complete: entry.state == "Completed",
            started_at: entry.started,
            ended_at: entry.completed,
        };
        self.history.iter().map(step).collect()
    }

    /// The version it is on its way to, if it is on its way.
    fn going_to(&self) -> Option<Version> {
        self.desired
            .clone()
            .filter(|desired| *desired != self.version)
    }
}
