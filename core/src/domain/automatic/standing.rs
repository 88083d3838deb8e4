//! How a cluster stands, in the words of its own ClusterVersion: who opted in, what it runs, what it was asked for, what it is offered.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::domain::fleet::Name;
use crate::domain::readiness::Progress;
use crate::domain::{Fact, Version};

/// How a cluster stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Standing {
    /// Whether its administrators want automatic updates.
    pub opt_in: OptIn,
    /// What it runs or is on its way to: version and image (`status.desired`).
    pub desired: Option<Asked>,
    /// What somebody has asked it for (`spec.desiredUpdate`).
    pub asked: Option<Asked>,
    /// What it says of itself, by name.
    pub conditions: BTreeMap<Name, Condition>,
    /// Its updates, newest first, with their times.
    pub past: Vec<Past>,
    /// What it was offered.
    pub offers: Vec<Offer>,
}

/// Whether automatic updates are wanted. Nobody is opted in by saying nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum OptIn {
    /// They are.
    Wanted,
    /// They are not.
    #[default]
    NotWanted,
}

/// A version, an image, or both.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Asked {
    /// The version.
    pub version: Option<Version>,
    /// The image, as a pull spec.
    pub image: Option<Name>,
}

/// What a cluster says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// Whether it is so.
    pub status: Status,
    /// In a word.
    pub reason: Name,
    /// In a sentence.
    pub message: Name,
    /// Since when.
    pub since: Option<Timestamp>,
}

/// Whether something is so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It is.
    True,
    /// It is not.
    False,
    /// Nobody knows.
    Unknown,
}

/// An update that was begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Past {
    /// To.
    pub version: Version,
    /// How far it came.
    pub progress: Progress,
    /// When it began.
    pub started: Option<Timestamp>,
    /// When it was complete, or given up.
    pub ended: Option<Timestamp>,
}

/// An update that a cluster was offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// To that release.
    pub version: Version,
    /// By this image.
    pub image: Name,
    /// What the cluster itself makes of it.
    pub advice: Advice,
}

/// What a cluster makes of an update that it is offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Advice {
    /// It has nothing against it.
    Recommended,
    /// It has risks, and some apply.
    NotRecommended {
        /// In a word.
        reason: Name,
        /// In a sentence.
        message: Name,
    },
    /// It has risks, and whether they apply is not known.
    NotKnown {
        /// In a word.
        reason: Name,
        /// In a sentence.
        message: Name,
    },
}

impl Standing {
    /// The release it has last been updated to.
    pub fn current(&self) -> Option<&Version> {
        self.past.iter().find(|past| past.progress == Progress::Completed).map(|past| &past.version)
    }

    /// When its last update was complete. The installation counts.
    pub fn last_completed(&self) -> Option<Timestamp> {
        self.past.iter().find(|past| past.progress == Progress::Completed).and_then(|past| past.ended)
    }

    /// What was asked for and is not what it runs or is on its way to.
    pub fn open_request(&self) -> Option<&Asked> {
        let desired = self.desired.as_ref();
        let is_met = |asked: &Asked| {
            let same_version =
                asked.version.is_none() || desired.is_some_and(|desired| desired.version == asked.version);
            let same_image = asked.image.is_none() || desired.is_some_and(|desired| desired.image == asked.image);
            same_version && same_image
        };
        self.asked.as_ref().filter(|asked| !is_met(asked))
    }

    /// What it says of itself.
    pub fn condition(&self, name: &str) -> Fact<&Condition> {
        Fact::from(self.conditions.get(name))
    }
}

impl std::fmt::Display for Asked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.version, &self.image) {
            (Some(version), _) => version.fmt(f),
            (None, Some(image)) => f.write_str(image),
            (None, None) => f.write_str("nothing in particular"),
        }
    }
}
