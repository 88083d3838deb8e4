//! Kinds of clients: a platform that some block names, any other platform, or a client that reports nothing.

use std::collections::BTreeSet;
use std::fmt;

use crate::domain::{Arch, Audience, ChannelName, Cluster, Fact, Graph, Platform};

/// Clients of whom the standing rules say the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClientClass {
    /// On a platform that some block names.
    On(Platform),
    /// On a platform that none names.
    OnAnother,
    /// Nobody knows what it is on.
    Unknown,
}

impl ClientClass {
    /// The stable name, for machines: the platform's, `other` or `unknown`.
    pub fn code(&self) -> &str {
        match self {
            Self::On(platform) => platform.as_str(),
            Self::OnAnother => "other",
            Self::Unknown => "unknown",
        }
    }

    /// A cluster of this kind, in some channel: the standing rules do not look at it.
    pub(super) fn cluster(&self, graph: &Graph) -> Cluster {
        let platform = match self {
            Self::On(platform) => Fact::Known(platform.clone()),
            Self::OnAnother => Fact::Known(unnamed(&named(graph))),
            Self::Unknown => Fact::Unknown,
        };
        let channel = ChannelName::new("audit").expect("a well-formed name");
        Cluster {
            platform,
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

/// The kinds of clients that a graph tells apart.
pub(super) fn classes(graph: &Graph) -> BTreeSet<ClientClass> {
    let named = named(graph)
        .into_iter()
        .map(|platform| ClientClass::On(platform.clone()));
    named
        .chain([ClientClass::OnAnother, ClientClass::Unknown])
        .collect()
}

fn named(graph: &Graph) -> BTreeSet<&Platform> {
    let listed = graph
        .blocks()
        .iter()
        .filter_map(|block| match &block.stops {
            Some(Audience::Platforms(platforms)) => Some(platforms),
            Some(Audience::Everybody | Audience::NotUnderstood(_) | Audience::Disputed(_))
            | None => None,
        });
    listed.flatten().collect()
}

/// A platform that is not among these.
fn unnamed(named: &BTreeSet<&Platform>) -> Platform {
    let names = (0..=named.len()).filter_map(|number| Platform::new(&format!("other-{number}")));
    let free = names.into_iter().find(|name| !named.contains(name));
    free.expect("of one more name than there are platforms, one is free")
}
