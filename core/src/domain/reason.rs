//! Reasons: why a verdict is what it is. One enum, a stable code for machines, a sentence for people.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;

use super::automatic::AutomaticReason;
use super::fleet::{FleetReason, Unplaced};
use super::ready_reason::ReadyReason;
use super::{Arch, Channel, ChannelName, Cluster, ClusterId, Platform, Version, Window};
use crate::finding::Place;

/// Why an update is not simply recommended.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// A block stops the edge for everybody.
    HardBlock { origin: Place },
    /// A block says whom it stops in a way that we do not understand.
    BlockNotUnderstood {
        /// What was not understood.
        what: String,
        origin: Place,
    },
    /// A block stops the edge for this cluster's platform.
    PlatformBlocked { platform: Platform, origin: Place },
    /// A block stops the edge for some platforms, and the cluster's is unknown.
    PlatformUnknown {
        platforms: Vec<Platform>,
        origin: Place,
    },
    /// A known risk, which the cluster weighs itself.
    KnownRisk {
        name: String,
        url: String,
        origin: Place,
    },
    /// The rollout has not reached this cluster.
    RolloutNotReached {
        cluster: ClusterId,
        due: Timestamp,
        /// When it begins and ends, and how it goes on between.
        window: Window,
        /// Where the release that is rolled out is listed.
        origin: Place,
        rule: Place,
    },
    /// The rollout is not over, and the cluster has no id by which it could be reached earlier.
    RolloutWithoutId {
        /// When it begins and ends, and how it goes on between.
        window: Window,
        /// Where the release that is rolled out is listed.
        origin: Place,
        rule: Place,
    },
    /// A release is not in the cluster's channel, and may never be.
    NotInChannel {
        version: Version,
        channel: ChannelName,
        /// Where the channel is declared.
        origin: Place,
    },
    /// A release enters the cluster's channel later.
    NotYetInChannel {
        version: Version,
        channel: ChannelName,
        start: Timestamp,
        origin: Place,
    },
    /// Nobody has declared an edge between the two.
    NoEdge { from: Version, to: Version },
    /// There is no such release.
    UnknownRelease { version: Version, arch: Arch },
    /// Sources disagree about the release's payload.
    PayloadDisputed { what: String, origin: Place },
    /// A source has not been read for too long, and what it would say now may be against it.
    SourceStale {
        source: Arc<str>,
        /// When it was last found to be good.
        last_good: Timestamp,
    },
    /// A fleet's policy looks after the cluster, and does not let it take this now.
    FleetHolds { version: Version },
    /// A fleet may look after the cluster, and no pass has placed it yet.
    NotEnrolled {
        /// Why it has no place.
        why: Unplaced,
    },
    /// The fleet's policy has something against it.
    Fleet(Box<FleetReason>),
    /// The cluster itself is not ready for it.
    Ready(
        /// What stands in the way.
        Box<ReadyReason>,
    ),
    /// The cluster does not take it by itself.
    Automatic(Box<AutomaticReason>),
}

impl Reason {
    /// The stable name: for JSON, metrics and conditions.
    pub fn code(&self) -> &'static str {
        match self {
            Self::HardBlock { .. } => "HardBlock",
            Self::BlockNotUnderstood { .. } => "BlockNotUnderstood",
            Self::PlatformBlocked { .. } => "PlatformBlocked",
            Self::PlatformUnknown { .. } => "PlatformUnknown",
            Self::KnownRisk { .. } => "KnownRisk",
            Self::RolloutNotReached { .. } => "RolloutNotReached",
            Self::RolloutWithoutId { .. } => "RolloutWithoutId",
            Self::NotInChannel { .. } => "NotInChannel",
            Self::NotYetInChannel { .. } => "NotYetInChannel",
            Self::NoEdge { .. } => "NoEdge",
            Self::UnknownRelease { .. } => "UnknownRelease",
            Self::PayloadDisputed { .. } => "PayloadDisputed",
            Self::SourceStale { .. } => "SourceStale",
            Self::FleetHolds { .. } => "FleetHolds",
            Self::NotEnrolled { .. } => "NotEnrolled",
            Self::Fleet(reason) => reason.code(),
            Self::Ready(reason) => reason.code(),
            Self::Automatic(reason) => reason.code(),
        }
    }

    /// Whether it only informs, and speaks against nothing.
    pub fn is_note(&self) -> bool {
        matches!(self, Self::Ready(reason) if reason.is_note())
    }

    /// Where in the graph data it was declared, if it was.
    pub fn origin(&self) -> Option<&Place> {
        match self {
            Self::HardBlock { origin }
            | Self::BlockNotUnderstood { origin, .. }
            | Self::PlatformBlocked { origin, .. }
            | Self::PlatformUnknown { origin, .. }
            | Self::KnownRisk { origin, .. }
            | Self::RolloutNotReached { origin, .. }
            | Self::RolloutWithoutId { origin, .. }
            | Self::NotInChannel { origin, .. }
            | Self::NotYetInChannel { origin, .. }
            | Self::PayloadDisputed { origin, .. } => Some(origin),
            Self::NoEdge { .. }
            | Self::UnknownRelease { .. }
            | Self::SourceStale { .. }
            | Self::FleetHolds { .. }
            | Self::NotEnrolled { .. }
            | Self::Fleet(_)
            | Self::Ready(_)
            | Self::Automatic(_) => None,
        }
    }

    /// A release is not in the cluster's channel; the place is the channel's, if there is one.
    pub(crate) fn not_in_channel(
        version: &Version,
        cluster: &Cluster,
        channel: Option<&Channel>,
    ) -> Self {
        let origin =
            channel.map_or_else(|| Place::file("channels"), |channel| channel.origin.clone());
        Self::NotInChannel {
            version: version.clone(),
            channel: cluster.channel.clone(),
            origin,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HardBlock { origin } => write!(f, "blocked for every cluster ({origin})"),
            Self::BlockNotUnderstood { what, origin } => {
                write!(f, "blocked for every cluster, because {what} ({origin})")
            }
            Self::PlatformBlocked { platform, origin } => {
                write!(f, "blocked on {platform} ({origin})")
            }
            Self::PlatformUnknown { platforms, origin } => {
                let names: Vec<&str> = platforms.iter().map(Platform::as_str).collect();
                write!(
                    f,
                    "blocked on {}, and this cluster's platform is unknown ({origin})",
                    names.join(", ")
                )
            }
            Self::KnownRisk { name, url, origin } => {
                write!(f, "recommended unless {name} applies, see {url} ({origin})")
            }
            Self::RolloutNotReached {
                cluster,
                due,
                window: Window { start, end, .. },
                origin,
                ..
            } => {
                write!(
                    f,
                    "the rollout from {start} to {end} reaches {cluster} at {due} ({origin})"
                )
            }
            Self::RolloutWithoutId {
                window: Window { start, end, .. },
                origin,
                ..
            } => {
                write!(
                    f,
                    "the rollout from {start} to {end} reaches clusters without an id at its end ({origin})"
                )
            }
            Self::NotInChannel {
                version,
                channel,
                origin,
            } => write!(f, "{version} is not in {channel} ({origin})"),
            Self::NotYetInChannel {
                version,
                channel,
                start,
                origin,
            } => {
                write!(f, "{version} enters {channel} at {start} ({origin})")
            }
            Self::NoEdge { from, to } => {
                write!(f, "no release declares an update from {from} to {to}")
            }
            Self::UnknownRelease { version, arch } => {
                write!(f, "there is no release {version} for {arch}")
            }
            Self::PayloadDisputed { what, origin } => {
                write!(f, "not offered to anybody, because {what} ({origin})")
            }
            Self::SourceStale { source, last_good } => {
                write!(
                    f,
                    "nothing is offered while {source} cannot be read; the last good copy is of {last_good}"
                )
            }
            Self::FleetHolds { version } => {
                write!(
                    f,
                    "the fleet's policy does not let this cluster take {version} now; `towpath fleet why` says why"
                )
            }
            Self::NotEnrolled { why } => write!(f, "this cluster is not enrolled: {why}"),
            Self::Fleet(reason) => reason.fmt(f),
            Self::Ready(reason) => reason.fmt(f),
            Self::Automatic(reason) => reason.fmt(f),
        }
    }
}
