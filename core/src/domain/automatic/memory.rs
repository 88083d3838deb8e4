//! What is remembered between two looks at a cluster, wherever the agent runs next.

use jiff::Timestamp;

use crate::domain::Version;

/// What is remembered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Memory {
    /// The update that we started last, until it is over.
    pub started: Option<Started>,
    /// So many updates of ours, one after the other, have failed.
    pub failures: u32,
    /// The last of them: its target, and when it was seen to have failed.
    pub failed: Option<(Version, Timestamp)>,
    /// The newest time at which a graph that we were shown was good.
    pub graph_good_at: Option<Timestamp>,
}

/// An update that we started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    /// To.
    pub version: Version,
    /// When.
    pub at: Timestamp,
    /// How it goes.
    pub course: Course,
}

/// How an update goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Course {
    /// Nothing is wrong with it.
    #[default]
    Running,
    /// The cluster says that it fails, or does not accept it. It may still complete.
    Failing,
}
