//! Kinds of clients: a platform that some block names, any other platform, or a client that reports nothing.

use std::collections::BTreeSet;
use std::fmt;

use crate::cluster::{Cluster, Fact, Platform};
use crate::graph::{Audience, ChannelName, Graph, KeptBlock};
use crate::version::Arch;

/// Clients that get the same answer from the standing rules.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClientClass {
    /// On a platform that some block names.
    On(Platform),
    /// On a platform that no block names.
    OnAnother,
    /// On a platform that nobody knows, or under a name that OpenShift does not have.
    Unknown,
}

/// The kinds of clients that blocks on these platforms tell apart, in order.
pub fn client_classes(platforms: &[Platform]) -> impl Iterator<Item = ClientClass> {
    let named = platforms.iter().cloned().map(ClientClass::On);
    named.chain([ClientClass::OnAnother, ClientClass::Unknown])
}

/// The platforms that some of these blocks name, sorted.
pub fn named_platforms<'a>(blocks: impl IntoIterator<Item = &'a KeptBlock>) -> Vec<Platform> {
    let listed = blocks.into_iter().filter_map(|block| match &block.stops {
        Some(Audience::Platforms(platforms)) => Some(platforms),
        Some(Audience::Everybody | Audience::NotUnderstood(_) | Audience::Disputed(_)) | None => {
            None
        }
    });
    let named: BTreeSet<&Platform> = listed.flatten().collect();
    named.into_iter().cloned().collect()
}

impl ClientClass {
    /// The kind that a client on this platform is of.
    pub fn of(graph: &Graph, platform: &Fact<Platform>) -> Self {
        match platform {
            Fact::Unknown => Self::Unknown,
            Fact::Known(platform) if !platform.is_known() => Self::Unknown,
            Fact::Known(platform) => graph
                .platforms()
                .binary_search(platform)
                .map_or(Self::OnAnother, |at| {
                    Self::On(graph.platforms()[at].clone())
                }),
        }
    }

    /// The stable name, for machines: the platform's, `other` or `unknown`.
    pub fn code(&self) -> &str {
        match self {
            Self::On(platform) => platform.as_str(),
            Self::OnAnother => "other",
            Self::Unknown => "unknown",
        }
    }

    pub fn platform(&self) -> Fact<Platform> {
        match self {
            Self::On(platform) => Fact::Known(platform.clone()),
            Self::OnAnother => Fact::Known(Platform::that_nothing_names()),
            Self::Unknown => Fact::Unknown,
        }
    }

    /// A cluster of this kind. The standing rules do not look at its channel or architecture.
    pub(super) fn cluster(&self) -> Cluster {
        let channel = ChannelName::new("any").expect("a well-formed name");
        Cluster {
            platform: self.platform(),
            ..Cluster::anonymous(channel, Arch::default())
        }
    }
}

impl fmt::Display for ClientClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::On(platform) => platform.fmt(f),
            Self::OnAnother => f.write_str("other platforms"),
            Self::Unknown => f.write_str("unknown platform"),
        }
    }
}
