//! What is known of one cluster's update to one release, and the attempt that follows from it.
//!
//! Evidence only adds up: of each event the earliest time counts. So reports may be repeated, late or out of order, and what is known
//! afterwards is the same. What evidence means at a time ([`Followed::attempt`]) is decided when somebody asks.

use jiff::{SignedDuration, Timestamp};

use super::{Attempt, Ending, Outcome, UpdateClass};
use crate::cluster::{ClusterId, Fact, Platform};
use crate::fleet::Name;
use crate::version::{Arch, Minor, Version};

/// A cluster that is not well within this time after an update counts as degraded.
pub const DEGRADED_WITHIN: SignedDuration = SignedDuration::from_hours(24);
/// Evidence that is older than this is neither taken nor kept.
pub const KEPT_FOR: SignedDuration = SignedDuration::from_hours(90 * 24);
/// How many releases are kept for each cluster: the ones it went to last.
pub const MAX_OF_CLUSTER: usize = 64;

/// What is known of an update to one release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateEvidence {
    pub to: Version,
    /// None: nobody saw where the cluster came from, so it is not counted.
    pub start: Option<UpdateStart>,
    /// When the cluster first said that it fails, was first told something else, or first did not accept the update.
    pub failed_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
    /// When it was first not well on that release.
    pub degraded_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct UpdateStart {
    pub at: Timestamp,
    pub from: Version,
}

/// The evidence of one cluster and release, with what the store keeps beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Followed {
    pub cluster: ClusterId,
    /// Empty if nobody but the cluster itself says whose it is.
    pub organisation: Name,
    pub platform: Fact<Platform>,
    pub arch: Arch,
    pub evidence: UpdateEvidence,
    /// How long it may take. It is set with the start, and stays.
    pub limit: Option<SignedDuration>,
}

impl UpdateEvidence {
    pub fn of(to: Version) -> Self {
        Self {
            to,
            start: None,
            failed_at: None,
            completed_at: None,
            degraded_at: None,
        }
    }

    /// Both together. The order does not matter, nor how often something is added.
    pub fn and(self, other: Self) -> Self {
        Self {
            to: self.to,
            start: earlier(self.start, other.start),
            failed_at: earlier(self.failed_at, other.failed_at),
            completed_at: earlier(self.completed_at, other.completed_at),
            degraded_at: earlier(self.degraded_at, other.degraded_at),
        }
    }

    /// When anything of it happened first. None: it says nothing.
    pub fn first_at(&self) -> Option<Timestamp> {
        let start = self.start.as_ref().map(|start| start.at);
        [start, self.failed_at, self.completed_at, self.degraded_at]
            .into_iter()
            .flatten()
            .min()
    }
}

fn earlier<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

impl Followed {
    /// The attempt as it stands now, by the limit that is kept with it. None: nobody saw it start.
    pub fn attempt(&self, now: Timestamp) -> Option<Attempt> {
        self.attempt_within(self.limit, now)
    }

    /// The same for a watch, which has a limit of its own.
    pub fn attempt_without_limit(&self, now: Timestamp) -> Option<Attempt> {
        self.attempt_within(None, now)
    }

    fn attempt_within(&self, limit: Option<SignedDuration>, now: Timestamp) -> Option<Attempt> {
        let start = self.evidence.start.as_ref()?;
        Some(Attempt {
            cluster: self.cluster.clone(),
            organisation: self.organisation.clone(),
            from: start.from.clone(),
            to: self.evidence.to.clone(),
            platform: self.platform.clone(),
            arch: self.arch.clone(),
            started_at: start.at,
            completed_at: self.evidence.completed_at.filter(|at| *at <= now),
            ending: self.ending(start.at, limit, now),
        })
    }

    /// None: nobody saw where it came from.
    pub fn class(&self) -> Option<UpdateClass> {
        let start = self.evidence.start.as_ref()?;
        Some(UpdateClass {
            from: Minor::of(&start.from),
            platform: self.platform.clone(),
            arch: self.arch.clone(),
        })
    }

    /// How long it took, if it is complete, whatever else happened on the way.
    pub fn took(&self) -> Option<SignedDuration> {
        let start = self.evidence.start.as_ref()?;
        let took = self.evidence.completed_at?.duration_since(start.at);
        (took > SignedDuration::ZERO).then_some(took)
    }

    /// Failed comes first: an update that failed and completed later has failed. What completes is done at once, and becomes
    /// degraded if the cluster is not well within a day.
    fn ending(
        &self,
        started_at: Timestamp,
        limit: Option<SignedDuration>,
        now: Timestamp,
    ) -> Option<Ending> {
        let UpdateEvidence {
            failed_at,
            completed_at,
            degraded_at,
            ..
        } = self.evidence;
        let overdue_at = limit.and_then(|limit| started_at.checked_add(limit).ok());
        let overdue =
            overdue_at.filter(|due| *due <= now && completed_at.is_none_or(|at| at > *due));
        let ended = |known_at: Timestamp, outcome| Some(Ending { known_at, outcome });
        if let Some(at) = earlier(failed_at, overdue) {
            return ended(at, Outcome::Failed);
        }
        let completed_at = completed_at?;
        let is_soon = |at: &Timestamp| at.duration_since(completed_at) <= DEGRADED_WITHIN;
        match degraded_at.filter(is_soon) {
            Some(at) => ended(at, Outcome::Degraded),
            None => ended(completed_at, Outcome::Done),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(hour: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + hour * 3600).unwrap()
    }

    fn followed(failed: Option<i64>, completed: Option<i64>, degraded: Option<i64>) -> Followed {
        Followed {
            cluster: ClusterId::new("a").unwrap(),
            organisation: "acme".into(),
            platform: Fact::Unknown,
            arch: Arch::default(),
            evidence: UpdateEvidence {
                to: "4.16.2".parse().unwrap(),
                start: Some(UpdateStart {
                    at: at(0),
                    from: "4.16.1".parse().unwrap(),
                }),
                failed_at: failed.map(at),
                completed_at: completed.map(at),
                degraded_at: degraded.map(at),
            },
            limit: Some(SignedDuration::from_hours(6)),
        }
    }

    #[test]
    fn how_attempts_end() {
        for (what, [failed, completed, degraded], now, expected) in [
            ("under way", [None; 3], 5, None),
            ("at its limit", [None; 3], 6, Some((6, Outcome::Failed))),
            (
                "in time",
                [None, Some(6), None],
                9,
                Some((6, Outcome::Done)),
            ),
            ("late", [None, Some(7), None], 9, Some((6, Outcome::Failed))),
            (
                "failed",
                [Some(2), None, None],
                3,
                Some((2, Outcome::Failed)),
            ),
            (
                "failed, and complete later",
                [Some(2), Some(4), None],
                9,
                Some((2, Outcome::Failed)),
            ),
            (
                "not well a day later",
                [None, Some(1), Some(25)],
                30,
                Some((25, Outcome::Degraded)),
            ),
            (
                "not well after more than a day",
                [None, Some(1), Some(26)],
                30,
                Some((1, Outcome::Done)),
            ),
        ] {
            let followed = followed(failed, completed, degraded);
            let ending = followed.attempt(at(now)).unwrap().ending;
            let expected = expected.map(|(hour, outcome)| Ending {
                known_at: at(hour),
                outcome,
            });
            assert_eq!(ending, expected, "{what}");
        }
    }

    #[test]
    fn without_a_start_there_is_no_attempt() {
        let mut followed = followed(None, Some(1), None);
        followed.evidence.start = None;
        assert_eq!(followed.attempt(at(9)), None);
        assert_eq!(followed.took(), None);
    }
}
