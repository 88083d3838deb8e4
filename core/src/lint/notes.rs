//! Notes: parts of graph data that only lint reads. The service never does.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::finding::Place;
use crate::version::ReleaseName;

/// What else stands in the files, by their paths.
#[derive(Debug, Clone, Default)]
pub struct Notes {
    pub blocks: BTreeMap<Arc<str>, BlockNotes>,
    pub channels: BTreeMap<Arc<str>, ChannelNotes>,
}

/// What else stands in the file of a block.
#[derive(Debug, Clone, Default)]
pub struct BlockNotes {
    pub places: BTreeMap<Field, Place>,
    /// The first release without the problem.
    pub fixed_in: Option<NotedRelease>,
}

/// What else stands in a file of channels.
#[derive(Debug, Clone, Default)]
pub struct ChannelNotes {
    /// The channel that releases are promoted from.
    pub feeder: Option<String>,
    /// Releases that are not to be promoted from here to further channels.
    pub tombstones: Vec<NotedRelease>,
}

/// A release, and where it is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotedRelease {
    pub name: ReleaseName,
    pub place: Place,
}

/// A field of a block that a finding may point at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Field {
    /// `to`
    To,
    /// `from`
    From,
    /// `name`
    Name,
    /// `url`
    Url,
    /// `message`
    Message,
    /// `matchingRules`
    MatchingRules,
}
