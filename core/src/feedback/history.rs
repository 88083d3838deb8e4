//! History: how often updates failed before, in groups that are alike, and how long they took.
//!
//! A release is compared with what was known before its own first update began. So its base rate does not move while it is watched.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use crate::cluster::{Fact, Platform};
use crate::version::{Arch, Minor, Version};

use super::limits::{limit_of, percentile_99};
use super::{Attempt, Ending, FailureRate, Outcome, Signal, WatchSettings};

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
        let first = own.map(|a| a.started_at).min();
        let first = first.unwrap_or_else(|| after_all(attempts));
        let mut groups: BTreeMap<UpdateGroup, Vec<&Attempt>> = BTreeMap::new();
        for attempt in attempts {
            if attempt.started_at < first && attempt.to != *release {
                groups
                    .entry(UpdateGroup::of(attempt))
                    .or_default()
                    .push(attempt);
            }
        }
        let past = |(group, attempts): (UpdateGroup, Vec<&Attempt>)| {
            let past = past(&attempts, first, settings);
            (past.attempts > 0).then_some((group, past))
        };
        Self {
            groups: groups.into_iter().filter_map(past).collect(),
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
        limit_of(usual).max(settings.horizon)
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

/// The instant after the last that is known of.
fn after_all(attempts: &[Attempt]) -> Timestamp {
    let last = |a: &Attempt| a.ending.map_or(a.started_at, |ending| ending.known_at);
    let last = attempts.iter().map(last).max().unwrap_or(Timestamp::MIN);
    last.saturating_add(SignedDuration::from_nanos(1))
        .unwrap_or(last)
}

/// What was known before an instant.
fn past(attempts: &[&Attempt], first: Timestamp, settings: &WatchSettings) -> PastOutcomes {
    let took = |a: &&Attempt| {
        let completed_at = a.completed_at.filter(|at| *at < first)?;
        Some(completed_at.duration_since(a.started_at))
    };
    let ending = |a: &Attempt, limit| a.ending_at(first, limit).filter(|e| e.known_at < first);
    let at_least = limit_of(None).max(settings.horizon);
    let ended = attempts.iter().copied();
    let ended: Vec<&Attempt> = ended.filter(|a| ending(a, at_least).is_some()).collect();
    let of_last = of_last_releases(&ended);
    let usual_limit = percentile_99(of_last.iter().filter_map(took).collect());
    let limit = limit_of(usual_limit).max(settings.horizon);
    let endings: Vec<Ending> = of_last.iter().filter_map(|a| ending(a, limit)).collect();
    let count = |outcome: Outcome| endings.iter().filter(|e| e.outcome == outcome).count() as u64;
    PastOutcomes {
        attempts: endings.len() as u64,
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
