//! Parameters of the estimate, as data. Each figure names its origin, and the most specific figure
//! counts.

use std::collections::BTreeMap;
use std::fmt;

use super::{MaxUnavailable, Spread};
use crate::version::Version;

/// All that an estimate is made of, besides the cluster's shape.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameters {
    /// The control plane's time for a patch, on the reference cluster.
    pub patch: Figure,
    /// The control plane's time for a minor update, on the reference cluster.
    pub minor: Figure,
    /// The same for what is known of a step from one minor version to another, or to itself.
    pub steps: BTreeMap<MinorStep, Figure>,
    /// The same for what is known of two releases.
    pub pairs: BTreeMap<(Version, Version), Figure>,
    /// The cluster that these are about.
    pub reference: Reference,
    /// A node in a cloud.
    pub cloud: NodeTimes,
    /// A node that is a machine.
    pub metal: NodeTimes,
    /// What a wave of a DaemonSet costs.
    pub wave: WaveCost,
    /// The DaemonSet that a cluster has which lists none.
    pub daemon_set: UsualDaemonSet,
    /// How the control plane's time grows with nodes, where histories have shown it.
    pub growth: Option<NodeGrowth>,
}

/// How long something takes, and who says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figure {
    pub spread: Spread,
    pub origin: Origin,
}

/// Where a figure comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// What kind of source it is.
    pub kind: OriginKind,
    pub note: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OriginKind {
    Docs,
    Measured,
    Fitted,
    /// Nobody knows; this is what we take.
    Assumed,
}

/// What a node goes through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeTimes {
    pub drain: Figure,
    pub reboot: Figure,
    /// It gets ready for pods.
    pub ready: Figure,
}

/// The cluster whose control plane's times are known. What another one has more, or less, is added or taken off.
///
/// Histories tell nothing of the clusters that they are of; this is what we take them for: in a cloud, with the usual DaemonSet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// How many nodes its control plane has.
    pub control_plane_nodes: u32,
    /// How many nodes it has in all.
    pub nodes: u32,
    pub origin: Origin,
}

/// A wave of u pods takes r0 + r1·u^β.
#[derive(Debug, Clone, PartialEq)]
pub struct WaveCost {
    /// Seconds of each wave, whatever its size.
    pub r0: f64,
    /// Seconds of a wave of one pod, beyond those.
    pub r1: f64,
    /// How they grow with the wave: from 0 (not at all) to 1 (as it does).
    pub beta: f64,
    pub origin: Origin,
}

/// The DaemonSet of a cluster that lists none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsualDaemonSet {
    /// How many of its pods may be away at once.
    pub max_unavailable: MaxUnavailable,
    pub origin: Origin,
}

/// How the control plane's time grows with the number of nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeGrowth {
    /// Thousandths of the reference cluster's time, for each hundred nodes more.
    pub permille: u32,
    /// Few clusters with more nodes than this were seen. Beyond it, the waves of DaemonSets count too.
    pub up_to: u32,
    pub origin: Origin,
}

/// A step from one minor version to another; or to itself, for patches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct MinorStep {
    /// Major and minor version before.
    pub from: (u64, u64),
    /// Major and minor version after.
    pub to: (u64, u64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum UpdateKind {
    Patch,
    Minor,
}

/// What a figure is about, from the most to the least specific.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Basis {
    Pair(Version, Version),
    Step(MinorStep),
    Kind(UpdateKind),
}

impl Parameters {
    /// What is known without any history: docs/duration.md tells where each figure is from.
    pub fn usual() -> Self {
        let minutes =
            |low: u64, likely: u64, high: u64| Spread::new(low * 60, likely * 60, high * 60);
        let figure = |spread: Spread, kind: OriginKind, note: &str| Figure {
            spread,
            origin: Origin::new(kind, note),
        };
        let drain = figure(
            Spread::new(180, 240, 600),
            OriginKind::Assumed,
            "what is left of the documented 5 minutes a node; disruption budgets can hold it up for longer",
        );
        let ready = figure(
            Spread::new(60, 90, 180),
            OriginKind::Assumed,
            "what is left of the documented 5 minutes a node",
        );
        let cloud = figure(
            Spread::new(60, 90, 120),
            OriginKind::Docs,
            "a reboot takes 1 to 2 minutes in a cloud",
        );
        let metal = figure(
            minutes(15, 20, 30),
            OriginKind::Docs,
            "a reboot takes more than 15 minutes on metal",
        );
        Self {
            patch: figure(
                minutes(60, 70, 211),
                OriginKind::Measured,
                "P50 and P90 of patches among 131 updates in public ClusterVersions; low: the documented 60 to 120 minutes",
            ),
            minor: figure(
                minutes(60, 88, 265),
                OriginKind::Measured,
                "P50 of minor updates among 131 updates in public ClusterVersions; high: as far above it as a patch's; low: the documented 60 to 120 minutes",
            ),
            steps: BTreeMap::new(),
            pairs: BTreeMap::new(),
            reference: Reference {
                control_plane_nodes: 3,
                nodes: 6,
                origin: Origin::new(
                    OriginKind::Assumed,
                    "three control-plane nodes and three workers in a cloud",
                ),
            },
            cloud: NodeTimes {
                drain: drain.clone(),
                reboot: cloud,
                ready: ready.clone(),
            },
            metal: NodeTimes {
                drain,
                reboot: metal,
                ready,
            },
            wave: WaveCost {
                r0: 9.0,
                r1: 10.2,
                beta: 0.5,
                origin: Origin::new(
                    OriginKind::Fitted,
                    "250 nodes: one at a time 80 minutes, 25 at a time 10 minutes; two measurements leave beta open, 0.5 is assumed",
                ),
            },
            daemon_set: UsualDaemonSet {
                max_unavailable: MaxUnavailable::Percent(10),
                origin: Origin::new(
                    OriginKind::Assumed,
                    "the DaemonSets of OpenShift's operators, as if they were one",
                ),
            },
            growth: None,
        }
    }

    /// The most specific figure for an update's control plane.
    pub fn control_plane(&self, from: &Version, to: &Version) -> &Figure {
        let step = MinorStep::of(from, to);
        let figure = self.of_pair(from, to).or_else(|| self.steps.get(&step));
        figure.unwrap_or_else(|| self.of_kind(step.kind()))
    }

    /// What that figure is about.
    pub fn basis(&self, from: &Version, to: &Version) -> Basis {
        let step = MinorStep::of(from, to);
        match (self.of_pair(from, to), self.steps.contains_key(&step)) {
            (Some(_), _) => Basis::Pair(from.clone(), to.clone()),
            (None, true) => Basis::Step(step),
            (None, false) => Basis::Kind(step.kind()),
        }
    }

    fn of_pair(&self, from: &Version, to: &Version) -> Option<&Figure> {
        // A key has to be made for the question; where nothing is known of pairs, that is saved.
        let asked = !self.pairs.is_empty();
        asked
            .then(|| self.pairs.get(&(from.clone(), to.clone())))
            .flatten()
    }

    /// The figure for updates of a kind.
    pub fn of_kind(&self, kind: UpdateKind) -> &Figure {
        match kind {
            UpdateKind::Patch => &self.patch,
            UpdateKind::Minor => &self.minor,
        }
    }
}

impl Origin {
    /// Of this kind, with the source in a few words.
    pub fn new(kind: OriginKind, note: impl Into<String>) -> Self {
        Self {
            kind,
            note: note.into(),
        }
    }
}

impl OriginKind {
    pub const ALL: [Self; 4] = [Self::Docs, Self::Measured, Self::Fitted, Self::Assumed];

    pub fn code(self) -> &'static str {
        match self {
            Self::Docs => "docs",
            Self::Measured => "measured",
            Self::Fitted => "fitted",
            Self::Assumed => "assumed",
        }
    }
}

impl MinorStep {
    /// The step that an update makes.
    pub fn of(from: &Version, to: &Version) -> Self {
        Self {
            from: (from.major(), from.minor()),
            to: (to.major(), to.minor()),
        }
    }

    /// What kind of update it is.
    pub fn kind(self) -> UpdateKind {
        if self.from == self.to {
            UpdateKind::Patch
        } else {
            UpdateKind::Minor
        }
    }
}

impl fmt::Display for MinorStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            from: (from_major, from_minor),
            to: (to_major, to_minor),
        } = self;
        match self.kind() {
            UpdateKind::Patch => write!(f, "patches of {from_major}.{from_minor}"),
            UpdateKind::Minor => write!(f, "{from_major}.{from_minor} to {to_major}.{to_minor}"),
        }
    }
}

impl fmt::Display for UpdateKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Patch => "all patches",
            Self::Minor => "all minor updates",
        })
    }
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pair(from, to) => write!(f, "{from} to {to}"),
            Self::Step(step) => step.fmt(f),
            Self::Kind(kind) => kind.fmt(f),
        }
    }
}
