//! Releases, as a source declares them and as the graph keeps them.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::{Arch, ChannelName, Risk, Version};

/// What one or more sources say exists: releases, and edges between them.
#[derive(Debug, Clone, Default)]
pub struct Releases {
    /// The releases.
    pub releases: Vec<DeclaredRelease>,
    /// Edges, by index into `releases`.
    pub edges: Vec<DeclaredEdge>,
}

/// A release, as its source declares it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredRelease {
    /// Its version.
    pub version: Version,
    /// The architecture of its payload.
    pub arch: Arch,
    /// The pull spec of its payload.
    pub payload: String,
    /// What else is said about it (`url`, `description`, …).
    pub metadata: BTreeMap<String, String>,
}

impl DeclaredRelease {
    /// Where metadata has the architecture of a release whose version does not.
    pub const ARCH_KEY: &str = "io.openshift.upgrades.graph.release.arch";
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
    /// Its version.
    pub version: Version,
    /// The architecture of its payload.
    pub arch: Arch,
    /// The pull spec of its payload.
    pub payload: Arc<str>,
    /// What else is said about it, channels aside.
    pub metadata: BTreeMap<Arc<str>, Arc<str>>,
    /// The channels that hold it, and since when, in the order in which they are shown.
    pub channels: Vec<(ChannelName, Timestamp)>,
}

/// The number of a release in its graph. Releases are numbered by (architecture, version).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReleaseId(pub u32);
