//! Why a cluster does not take an update by itself.

use std::fmt;

use jiff::Timestamp;

use super::{Asked, Pin};
use crate::domain::Version;
use crate::domain::fleet::Name;

/// Why an update is not taken, or not yet.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum AutomaticReason {
    /// Nobody wants automatic updates here.
    NotOptedIn,
    /// The cluster says that it is busy, broken, or wrongly configured.
    NotAtRest {
        /// In its word: `Progressing`, `Failing`, …
        condition: Name,
        message: Name,
    },
    /// The cluster does not say whether it is.
    RestUnknown {
        /// What it does not say.
        condition: Name,
    },
    /// Another update has been asked for, and has not begun.
    UpdateAsked { asked: Asked },
    /// What the cluster runs is not known.
    CurrentUnknown,
    /// A risk of it applies to the cluster.
    NotRecommended { reason: Name, message: Name },
    /// Whether its risks apply is not known.
    AdviceUnknown { reason: Name, message: Name },
    /// It would be no step forward.
    NotNewer { current: Version },
    /// It leaves out a minor version.
    SkipsMinor { current: Version },
    /// It is beyond what the cluster is pinned to.
    BeyondPin { pin: Pin },
    /// No maintenance window is open.
    OutsideWindows {
        /// When the next one opens.
        opens: Option<Timestamp>,
    },
    /// The last update is too recent.
    TooSoon {
        last: Timestamp,
        /// When the next one may start.
        until: Timestamp,
    },
    /// When the last update was complete is not known.
    LastUpdateUnknown,
    /// Too many updates have failed.
    TooManyFailures { failures: u32 },
    /// It failed a short while ago.
    FailedLately {
        at: Timestamp,
        /// When it may be tried again.
        until: Timestamp,
    },
    /// That update, or one beyond it, was started once, and somebody took it back.
    TakenBack { version: Version },
    /// Its image is named by something that may mean another image tomorrow.
    NoDigest,
    /// It has not been looked at.
    NotProved,
    /// Its image is not signed by a key of the keyring, or that is not known.
    NotSigned { found: Name },
    /// What its image says of itself cannot be read.
    MetadataUnknown,
    /// Its image is signed, but is another release than it was offered as.
    OtherRelease { is: Name },
    /// Its image is signed, but is for other machines.
    OtherArch {
        is: Name,
        /// What the cluster's release is for.
        runs: Name,
    },
    /// For which machines the cluster's own release is, is not known for certain.
    ArchUnknown { current: Version },
    /// Neither its image nor that of the cluster's release names this update, so only the graph says that there is one.
    OnlyClaimed { current: Version },
    /// The graph is older than one that was seen before.
    GraphWentBack {
        /// When that one was good.
        seen: Timestamp,
        now: Timestamp,
    },
    /// Nobody has found the graph to be good for too long.
    GraphTooOld { good_at: Timestamp },
    /// How old the graph is is not known.
    GraphAgeUnknown,
}

impl AutomaticReason {
    /// The stable name: for JSON, metrics and conditions.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotOptedIn => "NotOptedIn",
            Self::NotAtRest { .. } => "NotAtRest",
            Self::RestUnknown { .. } => "RestUnknown",
            Self::UpdateAsked { .. } => "UpdateAsked",
            Self::CurrentUnknown => "CurrentUnknown",
            Self::NotRecommended { .. } => "NotRecommended",
            Self::AdviceUnknown { .. } => "AdviceUnknown",
            Self::NotNewer { .. } => "NotNewer",
            Self::SkipsMinor { .. } => "SkipsMinor",
            Self::BeyondPin { .. } => "BeyondPin",
            Self::OutsideWindows { .. } => "OutsideWindows",
            Self::TooSoon { .. } => "TooSoon",
            Self::LastUpdateUnknown => "LastUpdateUnknown",
            Self::TooManyFailures { .. } => "TooManyFailures",
            Self::FailedLately { .. } => "FailedLately",
            Self::TakenBack { .. } => "TakenBack",
            Self::NoDigest => "NoDigest",
            Self::NotProved => "NotProved",
            Self::NotSigned { .. } => "NotSigned",
            Self::MetadataUnknown => "MetadataUnknown",
            Self::OtherRelease { .. } => "OtherRelease",
            Self::OtherArch { .. } => "OtherArch",
            Self::ArchUnknown { .. } => "ArchUnknown",
            Self::OnlyClaimed { .. } => "OnlyClaimed",
            Self::GraphWentBack { .. } => "GraphWentBack",
            Self::GraphTooOld { .. } => "GraphTooOld",
            Self::GraphAgeUnknown => "GraphAgeUnknown",
        }
    }
}

impl fmt::Display for AutomaticReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotOptedIn => f.write_str("automatic updates are not wanted here"),
            Self::NotAtRest { condition, message } => {
                write!(f, "the cluster says {condition}: {message}")
            }
            Self::RestUnknown { condition } => {
                write!(f, "the cluster does not say whether it is {condition}")
            }
            Self::UpdateAsked { asked } => write!(
                f,
                "an update to {asked} has been asked for, and has not begun"
            ),
            Self::CurrentUnknown => f.write_str(
                "what the cluster runs is not known: no update in its history is complete",
            ),
            Self::NotRecommended { reason, message } => {
                write!(f, "the cluster does not recommend it: {reason}: {message}")
            }
            Self::AdviceUnknown { reason, message } => {
                write!(
                    f,
                    "whether its risks apply is not known: {reason}: {message}"
                )
            }
            Self::NotNewer { current } => {
                write!(f, "it is no newer than {current}, which the cluster runs")
            }
            Self::SkipsMinor { current } => {
                write!(f, "it leaves out a minor version after {current}")
            }
            Self::BeyondPin { pin } => write!(f, "the cluster is pinned to {pin}"),
            Self::OutsideWindows { opens: Some(opens) } => {
                write!(
                    f,
                    "no maintenance window is open; the next opens at {opens}"
                )
            }
            Self::OutsideWindows { opens: None } => {
                f.write_str("no maintenance window is open, nor ever will be")
            }
            Self::TooSoon { last, until } => {
                write!(
                    f,
                    "the last update was complete at {last}; the next may start at {until}"
                )
            }
            Self::LastUpdateUnknown => {
                f.write_str("the cluster does not say when its last update was complete")
            }
            Self::TooManyFailures { failures } => {
                write!(
                    f,
                    "{failures} automatic updates in a row have failed; a person has to look"
                )
            }
            Self::FailedLately { at, until } => {
                write!(
                    f,
                    "an update to it failed at {at}; it may be tried again at {until}"
                )
            }
            Self::TakenBack { version } => {
                write!(
                    f,
                    "the update to {version} was started, and somebody took it back; only newer releases are taken"
                )
            }
            Self::NoDigest => f.write_str("its image is not named by a digest"),
            Self::NotProved => f.write_str("its signature and metadata have not been looked at"),
            Self::NotSigned { found } => f.write_str(found),
            Self::MetadataUnknown => f.write_str("what its image says of itself cannot be read"),
            Self::OtherRelease { is } => write!(f, "its image is signed, but is {is}"),
            Self::OtherArch { is, runs } => {
                write!(
                    f,
                    "its image is signed, but is for {is}, and the cluster runs a release for {runs}"
                )
            }
            Self::ArchUnknown { current } => {
                write!(
                    f,
                    "the signed image of {current}, which the cluster runs, cannot be read, so for which machines it is is not known"
                )
            }
            Self::OnlyClaimed { current } => {
                write!(
                    f,
                    "only the graph claims an update from {current}: neither release's signed image names the other"
                )
            }
            Self::GraphWentBack { seen, now } => {
                write!(
                    f,
                    "the graph was good at {now}, and one that was good at {seen} has been seen before"
                )
            }
            Self::GraphTooOld { good_at } => {
                write!(f, "the graph was last found to be good at {good_at}")
            }
            Self::GraphAgeUnknown => {
                f.write_str("how old the graph is is not known: nobody has stamped it")
            }
        }
    }
}
