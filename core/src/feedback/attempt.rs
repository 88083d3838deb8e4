//! An attempt: one cluster's update to one release, and how it ended.

use jiff::{SignedDuration, Timestamp};

use crate::cluster::{ClusterId, Fact, Platform};
use crate::fleet::Name;
use crate::version::{Arch, Minor, Version};

/// One cluster's update to one release. A cluster counts once for each release: its first attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    pub cluster: ClusterId,
    /// Whose cluster it is: the share of one organisation is limited.
    pub organisation: Name,
    pub from: Version,
    pub to: Version,
    pub platform: Fact<Platform>,
    pub arch: Arch,
    pub started_at: Timestamp,
    /// When the cluster had the new version, healthy or not. None: not yet, or never.
    pub completed_at: Option<Timestamp>,
    /// None: it is under way, or complete and still watched.
    pub ending: Option<Ending>,
}

/// How an attempt ended, and when that was known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ending {
    pub known_at: Timestamp,
    pub outcome: Outcome,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// Complete, and not degraded within a day.
    Done,
    /// The cluster said that it fails or does not accept it, it was given up, or it took longer than its class may take.
    Failed,
    /// Complete, and degraded within a day.
    Degraded,
}

impl Outcome {
    pub const ALL: [Self; 3] = [Self::Done, Self::Failed, Self::Degraded];

    /// For JSON, metrics and the store.
    pub fn code(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Degraded => "degraded",
        }
    }

    pub fn of_code(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.code() == code)
    }
}

/// Attempts whose failure rates are alike: what an attempt is compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateClass {
    /// The minor version that clusters come from.
    pub from: Minor,
    pub platform: Fact<Platform>,
    pub arch: Arch,
}

/// Which clusters a halt is for. A part that is none is for all.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct HaltScope {
    pub from: Option<Minor>,
    /// These, and clusters whose platform is unknown.
    pub platform: Option<Platform>,
    pub arch: Option<Arch>,
}

impl Attempt {
    pub fn class(&self) -> UpdateClass {
        UpdateClass {
            from: Minor::of(&self.from),
            platform: self.platform.clone(),
            arch: self.arch.clone(),
        }
    }

    /// What is known of its end at an instant. It has failed once it takes too long, whatever comes of it later.
    pub(super) fn ending_at(&self, now: Timestamp, limit: SignedDuration) -> Option<Ending> {
        let too_long = self
            .started_at
            .saturating_add(limit)
            .unwrap_or(Timestamp::MAX);
        let ending = self.ending.filter(|ending| ending.known_at <= now);
        let completed_at = self.completed_at.filter(|at| *at <= now);
        let is_too_long = match (completed_at, ending) {
            (Some(at), _) => at > too_long,
            (None, Some(_)) => false,
            (None, None) => now > too_long,
        };
        let failed = Ending {
            known_at: too_long,
            outcome: Outcome::Failed,
        };
        match ending {
            Some(ending) if ending.known_at <= too_long => Some(ending),
            _ if is_too_long => Some(failed),
            ending => ending,
        }
    }

    /// Which of several reports about one cluster and release counts: the first attempt, as it was known first.
    pub(super) fn order(&self) -> impl Ord + '_ {
        let first_known = (self.ending.is_none(), self.ending);
        let completed = (self.completed_at.is_none(), self.completed_at);
        (
            self.started_at,
            first_known,
            completed,
            &self.organisation,
            &self.from,
        )
    }
}

impl HaltScope {
    /// Whether it is all clusters.
    pub fn is_all(&self) -> bool {
        *self == Self::default()
    }

    /// Whether it has clusters of this class. One whose platform is unknown is in every scope.
    pub fn has(&self, class: &UpdateClass) -> bool {
        let on = |wanted: &Platform| class.platform.known().is_none_or(|own| own == wanted);
        self.from.is_none_or(|from| from == class.from)
            && self.platform.as_ref().is_none_or(on)
            && self.arch.as_ref().is_none_or(|arch| *arch == class.arch)
    }
}
