//! Releases, as a source declares them and as the graph keeps them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;

use super::{ChannelName, Risk};
use crate::version::{Arch, Version};

/// What one or more sources say exists: releases, and edges between them.
#[derive(Debug, Clone, Default)]
pub struct Releases {
    pub releases: Vec<DeclaredRelease>,
    /// Edges, by index into `releases`.
    pub edges: Vec<DeclaredEdge>,
}

/// A release, as its source declares it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredRelease {
    pub version: Version,
    /// The architecture of its payload.
    pub arch: Arch,
    /// The pull spec of its payload.
    pub payload: String,
    /// What else is said about it (`url`, `description`, …).
    pub metadata: BTreeMap<String, String>,
    /// What its own image says about updates, if that was read.
    pub declares: Option<Declares>,
    /// Whether its signature was verified.
    pub trust: Trust,
}

/// The updates that a release's own image names. Its digest covers them, and so does a signature of the digest.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Declares {
    /// The releases that can be updated to it.
    pub previous: BTreeSet<Version>,
    /// The releases that it can be updated to.
    pub next: BTreeSet<Version>,
}

/// Whether the signature of a payload was verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Trust {
    /// It was not, or nobody asked.
    #[default]
    Unverified,
    /// A key of the keyring signed its digest.
    Verified,
}

impl DeclaredRelease {
    /// Where metadata has the architecture of a release whose version does not.
    pub const ARCH_KEY: &str = "io.openshift.upgrades.graph.release.arch";
}

impl Releases {
    /// Leaves out the releases that are not wanted, and their edges.
    pub fn retain(&mut self, mut is_wanted: impl FnMut(&DeclaredRelease) -> bool) {
        let mut numbers = Vec::with_capacity(self.releases.len());
        let mut kept = 0;
        self.releases.retain(|release| {
            let stays = is_wanted(release);
            numbers.push(stays.then_some(kept));
            kept += u32::from(stays);
            stays
        });
        let number = |at: u32| numbers.get(at as usize).copied().flatten();
        self.edges
            .retain_mut(|edge| match (number(edge.from), number(edge.to)) {
                (Some(from), Some(to)) => {
                    (edge.from, edge.to) = (from, to);
                    true
                }
                _ => false,
            });
    }
}

/// An edge, as its source declares it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredEdge {
    /// Index of the release it leaves.
    pub from: u32,
    /// Index of the release it reaches.
    pub to: u32,
    /// Risks that the source itself attaches to it.
    pub risks: Option<Arc<[Risk]>>,
}

/// A release in a graph.
#[derive(Debug, Clone)]
pub struct Release {
    pub version: Version,
    /// The architecture of its payload.
    pub arch: Arch,
    /// The pull spec of its payload.
    pub payload: Arc<str>,
    /// What else is said about it, channels aside.
    pub metadata: BTreeMap<Arc<str>, Arc<str>>,
    /// Whether its signature was verified.
    pub trust: Trust,
    /// The channels that hold it, and since when, in the order in which they are shown.
    pub channels: Vec<(ChannelName, Timestamp)>,
}

/// The number of a release in its graph. Releases are numbered by (architecture, version).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReleaseId(pub u32);
