//! A cluster's state as its ClusterVersion tells it: who opted in, the current version, the
//! requested one, and the offers.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::cluster::Fact;
use crate::cluster::objects::Progress;
use crate::fleet::Name;
use crate::graph::ChannelName;
use crate::version::Version;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClusterStanding {
    /// Whether its administrators want automatic updates.
    pub opt_in: OptIn,
    /// The channel that it follows (`spec.channel`).
    pub channel: Option<ChannelName>,
    /// What it runs or is on its way to: version and image (`status.desired`).
    pub desired: Option<UpdateTarget>,
    /// What somebody has asked it to update to (`spec.desiredUpdate`).
    pub asked: Option<UpdateTarget>,
    /// What somebody has asked it to check, without updating (`spec.desiredUpdate` with `mode: Preflight`).
    pub preflight: Option<UpdateTarget>,
    /// Whether its status is about its newest specification.
    pub is_observed: bool,
    /// Risks that were accepted on the cluster itself (`spec.desiredUpdate.acceptRisks`).
    pub accepted_risks: BTreeSet<Name>,
    /// Risks that it knows of (`status.conditionalUpdateRisks`), by name.
    pub risks: BTreeMap<Name, ClusterRisk>,
    /// What it says of itself, by name.
    pub conditions: BTreeMap<Name, Condition>,
    /// Its updates, newest first, with their times.
    pub past: Vec<Past>,
    pub offers: Vec<UpdateOffer>,
}

/// Whether automatic updates are wanted. Nobody is opted in by saying nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum OptIn {
    Wanted,
    #[default]
    NotWanted,
}

/// A version, an image, or both; perhaps another architecture.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct UpdateTarget {
    pub version: Option<Version>,
    /// The version, if it is none that we can read.
    pub unread: Option<Name>,
    /// The image, as a pull spec.
    pub image: Option<Name>,
    /// The architecture: `Multi`, or whatever there will be.
    pub arch: Option<Name>,
}

/// What a cluster says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    pub status: Status,
    pub reason: Name,
    pub message: Name,
    pub since: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    True,
    False,
    Unknown,
}

/// An update that was begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Past {
    pub version: Version,
    pub progress: Progress,
    pub started: Option<Timestamp>,
    /// When it was complete, or given up.
    pub ended: Option<Timestamp>,
}

/// An update that a cluster was offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateOffer {
    pub version: Version,
    pub image: Name,
    /// What the cluster itself makes of it.
    pub advice: Advice,
    /// The names of its risks that apply, or may. Empty if it is recommended, or if nobody has told them.
    pub risks: BTreeSet<Name>,
}

/// A risk of some update, as the cluster judges it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterRisk {
    pub message: Name,
    /// Whether it applies; none if the cluster does not say.
    pub applies: Option<Condition>,
}

/// What a cluster makes of an update that it is offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Advice {
    /// It has nothing against it.
    Recommended,
    /// It has risks, and some apply.
    NotRecommended { reason: Name, message: Name },
    /// It has risks, and whether they apply is not known.
    NotKnown { reason: Name, message: Name },
}

impl ClusterStanding {
    /// The release it has last been updated to.
    pub fn current(&self) -> Option<&Version> {
        self.past
            .iter()
            .find(|past| past.progress == Progress::Completed)
            .map(|past| &past.version)
    }

    /// When its last update was complete. The installation counts.
    pub fn last_completed(&self) -> Option<Timestamp> {
        self.past
            .iter()
            .find(|past| past.progress == Progress::Completed)
            .and_then(|past| past.ended)
    }

    /// What was asked for and is not what it runs or is on its way to.
    pub fn open_request(&self) -> Option<&UpdateTarget> {
        self.asked
            .as_ref()
            .filter(|asked| !asked.is_met_by(self.desired.as_ref()))
    }

    /// What it says of itself.
    pub fn condition(&self, name: &str) -> Fact<&Condition> {
        Fact::from(self.conditions.get(name))
    }
}

impl UpdateTarget {
    /// Whether a cluster that runs this, or updates to it, fulfils the whole request. A missing
    /// field requests nothing.
    fn is_met_by(&self, desired: Option<&Self>) -> bool {
        let nothing = Self::default();
        let desired = desired.unwrap_or(&nothing);
        (self.version.is_none() || self.version == desired.version)
            && (self.unread.is_none() || self.unread == desired.unread)
            && (self.image.is_none() || self.image == desired.image)
            && (self.arch.is_none() || self.arch == desired.arch)
    }
}

impl std::fmt::Display for UpdateTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.version, &self.unread, &self.image) {
            (Some(version), _, _) => version.fmt(f)?,
            (None, Some(text), _) => write!(f, "{text:?}, which is no version")?,
            (None, None, Some(image)) => f.write_str(image)?,
            (None, None, None) if self.arch.is_none() => f.write_str("nothing in particular")?,
            (None, None, None) => f.write_str("the same release")?,
        }
        self.arch
            .as_ref()
            .map_or(Ok(()), |arch| write!(f, " for the architecture {arch}"))
    }
}
