//! What the agent remembers between two passes. It is kept in the cluster, so the agent's pod can
//! move.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use crate::agent::{SetChannel, StartedPreflight};
use crate::fleet::Name;
use crate::graph::ChannelName;
use crate::version::Version;

/// How far another clock may be from ours.
pub(super) const CLOCK_MARGIN: SignedDuration = SignedDuration::from_mins(10);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Memory {
    /// The update that we started last, until it is over.
    pub started: Option<StartedUpdate>,
    /// How many updates of ours have failed in a row.
    pub failures: u32,
    /// The last of them: its target, and when it was seen to have failed.
    pub failed: Option<(Version, Timestamp)>,
    /// The highest update of ours that somebody cancelled. The agent starts nothing up to it again.
    pub taken_back: Option<Version>,
    /// The newest time at which a graph that we were shown was good.
    pub graph_good_at: Option<Timestamp>,
    /// Risks that we accepted on the cluster with our last start and that are still there. They are taken back when that update is
    /// complete or given up.
    pub accepted: BTreeSet<Name>,
    /// The channel that we set for an update of the fleet.
    pub set_channel: Option<SetChannel>,
    /// A channel that we do not set again: somebody has replaced it, or the API refused it.
    pub unwanted_channel: Option<ChannelName>,
    /// The preflight that we asked the cluster for, until it is over.
    pub preflight: Option<StartedPreflight>,
    /// The last request for a preflight that we answered.
    pub answered: Option<Name>,
}

/// A newer good graph alone is stored only if it is this much newer than the stored one.
const WORTH_WRITING: SignedDuration = SignedDuration::from_hours(24);

impl Memory {
    /// Risks that we accepted for an update that is over.
    pub fn left_over(&self) -> Option<&BTreeSet<Name>> {
        Some(&self.accepted).filter(|names| self.started.is_none() && !names.is_empty())
    }

    /// Whether it must replace the stored one. A graph that stays good is no reason for a write
    /// every few minutes.
    pub fn is_worth_writing_over(&self, before: &Self) -> bool {
        let is_newer = match (self.graph_good_at, before.graph_good_at) {
            (Some(now), Some(before)) => now.duration_since(before) >= WORTH_WRITING,
            (now, before) => now != before,
        };
        is_newer
            || *self
                != Self {
                    graph_good_at: self.graph_good_at,
                    ..before.clone()
                }
    }
}

/// An update that we started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartedUpdate {
    pub version: Version,
    pub at: Timestamp,
    pub course: Course,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Course {
    /// Nothing is wrong with it.
    #[default]
    Running,
    /// The cluster says that it fails, or does not accept it. It may still complete.
    Failing,
}
