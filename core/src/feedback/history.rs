//! History: how often updates failed before, in groups that are alike, and how long they took.
//!
//! A release is compared with what was known before its own first update began. So its base rate does not move while it is watched.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use crate::cluster::{Fact, Platform};
use crate::version::{Arch, Minor, Version};

use super::limits::percentile_99;
use super::{Attempt, FailureRate, Outcome, Signal, WatchSettings};

/// How many of the last releases of a group count.
const RELEASES: usize = 10;
/// What the fleet's rate counts for in a group's, and the default in the fleet's, in attempts.
const WEIGHT: u64 = 200;

/// Updates whose failure rates are alike: a class, where the minor version changes and where it does not.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct UpdateGroup {
    pub is_minor_update: bool,
    pub from: Minor,
    pub platform: Option<Platform>,
    pub arch: Arch,
}

/// What became of the updates of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PastOutcomes {
    pub attempts: u64,
    pub failed: u64,
    pub degraded: u64,
    /// All but one in a hundred took no longer. None: too few to tell.
    pub usual_limit: Option<SignedDuration>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct History {
    pub groups: BTreeMap<UpdateGroup, PastOutcomes>,
}

impl UpdateGroup {
    pub fn of(attempt: &Attempt) -> Self {
        Self {
            is_minor_update: Minor::of(&attempt.from) != Minor::of(&attempt.to),
            from: Minor::of(&attempt.from),
            platform: match &attempt.platform {
                Fact::Known(platform) => Some(platform.clone()),
                Fact::Unknown => None,
            },
            arch: attempt.arch.clone(),
        }
    }
}

impl History {
    /// What is known of other releases before the first update to this one began. Leave out attempts at halted releases.
    pub fn before(release: &Version, attempts: &[Attempt], settings: &WatchSettings) -> Self {
        let own = attempts.iter().filter(|a| a.to == *release);
        let first = own.map(|a| a.started_at).min().unwrap_or(Timestamp::MAX);
        let mut groups: BTreeMap<UpdateGroup, Vec<&Attempt>> = BTreeMap::new();
        for attempt in attempts {
            let known = attempt.ending.is_some_and(|e| e.known_at < first);
            if known && attempt.to != *release {
                groups
                    .entry(UpdateGroup::of(attempt))
                    .or_default()
                    .push(attempt);
            }
        }
        let past =
            |(group, attempts): (UpdateGroup, Vec<&Attempt>)| (group, past(&attempts, settings));
        Self {
            groups: groups.into_iter().map(past).collect(),
        }
    }

    /// The most that the rate of a group is taken to be.
    pub fn base_rate(
        &self,
        group: &UpdateGroup,
        signal: Signal,
        settings: &WatchSettings,
    ) -> FailureRate {
        let alike = self
            .groups
            .iter()
            .filter(|(g, _)| g.is_minor_update == group.is_minor_update);
        let (bad, count) = alike.fold((0, 0), |(bad, count), (_, past)| {
            (bad + past.bad(signal), count + past.attempts)
        });
        let fleet = FailureRate::shrunk(bad, count, settings.base_rate, WEIGHT);
        let own = self.groups.get(group).copied().unwrap_or_default();
        FailureRate::shrunk(own.bad(signal), own.attempts, fleet, WEIGHT)
    }

    /// How long an update of a group may take before it counts as failed.
    pub fn limit(&self, group: &UpdateGroup, settings: &WatchSettings) -> SignedDuration {
        let usual = self.groups.get(group).and_then(|past| past.usual_limit);
        usual.map_or(settings.horizon, |usual| usual.max(settings.horizon))
    }
}

impl PastOutcomes {
    fn bad(&self, signal: Signal) -> u64 {
        match signal {
            Signal::Failed => self.failed,
            Signal::Degraded => self.degraded,
        }
    }
}

fn past(attempts: &[&Attempt], settings: &WatchSettings) -> PastOutcomes {
    let attempts = of_last_releases(attempts);
    let took = |a: &&Attempt| Some(a.completed_at?.duration_since(a.started_at));
    let usual_limit = percentile_99(attempts.iter().filter_map(took).collect());
    let limit = usual_limit.map_or(settings.horizon, |usual| usual.max(settings.horizon));
    let count = |outcome: Outcome| {
        let is = |a: &&&Attempt| {
            a.ending
                .is_some_and(|e| a.outcome_within(limit, e) == outcome)
        };
        attempts.iter().filter(is).count() as u64
    };
    PastOutcomes {
        attempts: attempts.len() as u64,
        failed: count(Outcome::Failed),
        degraded: count(Outcome::Degraded),
        usual_limit,
    }
}

/// Those to the releases that were begun last.
fn of_last_releases<'a>(attempts: &[&'a Attempt]) -> Vec<&'a Attempt> {
    let mut begun: BTreeMap<&Version, Timestamp> = BTreeMap::new();
    for attempt in attempts {
        let first = begun.entry(&attempt.to).or_insert(attempt.started_at);
        *first = attempt.started_at.min(*first);
    }
    let mut order: Vec<(Timestamp, &Version)> = begun.into_iter().map(|(v, t)| (t, v)).collect();
    order.sort();
    let last: BTreeSet<&Version> = order.iter().rev().take(RELEASES).map(|(_, v)| *v).collect();
    let of_last = attempts.iter().filter(|a| last.contains(&a.to));
    of_last.copied().collect()
}
