//! What administrators allow their cluster to do by itself.

use std::collections::BTreeSet;

use jiff::SignedDuration;

use crate::fleet::{AcceptedRisk, MaintenanceWindow};
use crate::version::{Minor, Version};

/// What a cluster may do by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AutomaticPolicy {
    /// When it may start an update; any time if there are none.
    pub windows: Vec<MaintenanceWindow>,
    /// The least time from one update's end to the next one's start.
    pub at_least_between: SignedDuration,
    pub pin: Option<Pin>,
    /// It stops after this many failed updates in a row.
    pub max_failures: u32,
    /// Whether it may go back.
    pub downgrades: Downgrades,
    /// What must be proved of a release.
    pub proof: RequiredProof,
    /// How old the graph may be; none if nobody stamps it.
    pub max_graph_age: Option<SignedDuration>,
    /// Known risks of updates that the cluster takes all the same.
    pub accepted_risks: BTreeSet<AcceptedRisk>,
}

/// How far a cluster may go.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pin {
    Release(Version),
    /// Up to the last release of that minor version.
    Minor(Minor),
}

/// Whether a cluster may go back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Downgrades {
    #[default]
    Refuse,
    /// If that is what it is offered. For tests of the loop, and for nothing else.
    Allow,
}

/// What must be proved of a release before it is taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequiredProof {
    /// It is signed, it is the release it is offered as, and it or the cluster's own release names the update.
    #[default]
    Signed,
    /// Nothing: the upstream is trusted. Anybody who can write its graph can install anything.
    Nothing,
    /// The policy asks for nothing, and whoever started the agent did not allow that. No update is taken.
    NothingUnallowed,
}

impl AutomaticPolicy {
    /// What is in force where nothing is configured.
    pub fn usual() -> Self {
        Self {
            windows: Vec::new(),
            at_least_between: SignedDuration::from_hours(24),
            pin: None,
            max_failures: 3,
            downgrades: Downgrades::Refuse,
            proof: RequiredProof::Signed,
            max_graph_age: None,
            accepted_risks: BTreeSet::new(),
        }
    }
}

impl Pin {
    /// Reads `4.18.7` or `4.18`.
    pub fn parse(text: &str) -> Option<Self> {
        Minor::parse(text)
            .map(Self::Minor)
            .or_else(|| text.parse().ok().map(Self::Release))
    }

    /// Whether a release is within it.
    pub fn holds(&self, version: &Version) -> bool {
        match self {
            Self::Release(last) => version <= last,
            Self::Minor(last) => Minor::of(version) <= *last,
        }
    }
}

impl std::fmt::Display for Pin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Release(version) => version.fmt(f),
            Self::Minor(minor) => minor.fmt(f),
        }
    }
}
