//! Upgrades: decisions to start, and their outcomes.
//!
//! ```text
//! Planned ──> Started ──> Finished
//!    │           └──────> Failed ──> Finished, if it completes later
//!    ├─> Cancelled
//!    └─> Refused
//! ```
//!
//! Planned and started upgrades hold their cluster's mutexes. A running upgrade is never
//! cancelled.

use jiff::{SignedDuration, Timestamp};

use super::Name;
use crate::cluster::ClusterId;
use crate::graph::ChannelName;
use crate::version::Version;

/// The number of an upgrade in its store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UpgradeId(pub i64);

/// A refusal is remembered no longer than this: then the version is tried again.
pub const REFUSAL_MEMORY: SignedDuration = SignedDuration::from_hours(24);

/// One cluster, or one of its node pools, on the way from one version to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upgrade {
    pub id: UpgradeId,
    pub cluster: ClusterId,
    pub pool: Option<Name>,
    pub from: Version,
    pub to: Version,
    /// The channel that the cluster is switched to for it; none: it stays in its channel.
    pub channel: Option<ChannelName>,
    pub state: UpgradeState,
    pub owner: Owner,
    /// When it is to start, or has started.
    pub start_at: Timestamp,
    /// When its state last changed.
    pub changed_at: Timestamp,
    /// How often in a row this cluster has failed to reach that version.
    pub failures: u32,
    /// What there is to say about its state: why it was cancelled, how it failed.
    pub note: Option<Name>,
}

/// How far an upgrade is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UpgradeState {
    /// It will start at its time, if it still may.
    Planned,
    Started,
    Finished,
    /// The cluster did not get there.
    Failed,
    /// It was called off before it started.
    Cancelled,
    /// The API that was to carry it out did not take it. Nothing has happened to the cluster.
    Refused,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Owner {
    /// We did, and may cancel it until it starts.
    Towpath,
    /// Somebody else did; it is left alone, and counts.
    Other,
}

impl UpgradeState {
    /// All of them, in order.
    pub const ALL: [Self; 6] = [
        Self::Planned,
        Self::Started,
        Self::Finished,
        Self::Failed,
        Self::Cancelled,
        Self::Refused,
    ];

    /// Whether its cluster's mutexes are held.
    pub fn is_active(self) -> bool {
        matches!(self, Self::Planned | Self::Started)
    }

    /// The stable name: for stores, JSON and metrics.
    pub fn code(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Started => "started",
            Self::Finished => "finished",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Refused => "refused",
        }
    }

    /// The state of that name.
    pub fn of_code(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.code() == code)
    }
}

impl Upgrade {
    /// When one that has started did so: at its time, or in the first pass after that.
    pub fn began_at(&self) -> Timestamp {
        self.start_at.max(self.changed_at)
    }

    /// What becomes of a plan that the API does not take. A cluster has lower versions to go to meanwhile; a node pool has
    /// only its control plane's, so it backs off like one that failed.
    pub fn after_refusal(&self) -> UpgradeState {
        match self.pool {
            None => UpgradeState::Refused,
            Some(_) => UpgradeState::Failed,
        }
    }
}

impl Owner {
    /// The stable name: for stores and JSON.
    pub fn code(self) -> &'static str {
        match self {
            Self::Towpath => "towpath",
            Self::Other => "other",
        }
    }

    /// The owner of that name.
    pub fn of_code(code: &str) -> Option<Self> {
        [Self::Towpath, Self::Other]
            .into_iter()
            .find(|owner| owner.code() == code)
    }
}
