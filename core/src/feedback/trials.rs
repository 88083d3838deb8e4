//! Trials: attempts as a watch counts them at one instant, in an order that nobody's reports can change.
//!
//! They are in the order of their starts, not of their ends: failures are known sooner than good endings, so the first endings
//! are always worse than the rest. A cluster counts once for each release. What is later than the instant does not exist.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::fleet::Name;
use crate::version::Version;

use super::steps::BetSteps;
use super::{
    Attempt, Bits, Ending, FailureRate, HaltScope, History, Signal, UpdateGroup, WatchSettings,
    scopes,
};

/// One cluster's attempt at one release. Numbers stand for names.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trial {
    pub(super) started_at: Timestamp,
    pub(super) organisation: usize,
    pub(super) group: usize,
    pub(super) ending: Option<Ending>,
}

/// What all trials of a group share.
#[derive(Debug)]
pub(super) struct GroupFacts {
    /// The scopes that its clusters are in; the first is for all clusters.
    pub(super) scopes: Vec<usize>,
    pub(super) base_rates: [FailureRate; 2],
    pub(super) steps: [BetSteps; 2],
}

#[derive(Debug)]
pub(super) struct Trials {
    /// At the release, in the order of their starts.
    pub(super) own: Vec<Trial>,
    /// At other releases.
    pub(super) others: Vec<Trial>,
    pub(super) groups: Vec<GroupFacts>,
    /// With their weights; the first is for all clusters.
    pub(super) scopes: Vec<(HaltScope, Bits)>,
    /// By name.
    pub(super) organisations: Vec<Name>,
}

impl Trial {
    pub(super) fn is_bad(&self, signal: Signal) -> bool {
        self.ending.is_some_and(|ending| signal.is(ending.outcome))
    }

    /// When it was known to have gone wrong in any way.
    pub(super) fn went_wrong_at(&self) -> Option<Timestamp> {
        let ending = self.ending?;
        Signal::ALL
            .into_iter()
            .any(|signal| signal.is(ending.outcome))
            .then_some(ending.known_at)
    }
}

impl Trials {
    pub(super) fn of(
        release: &Version,
        attempts: &[Attempt],
        history: &History,
        settings: &WatchSettings,
        now: Timestamp,
    ) -> Self {
        let counted = counted(attempts, now);
        let mut trials = Self {
            own: Vec::new(),
            others: Vec::new(),
            groups: Vec::new(),
            scopes: vec![(HaltScope::default(), scopes::weight_of_all())],
            organisations: Vec::new(),
        };
        let mut groups: BTreeMap<UpdateGroup, usize> = BTreeMap::new();
        // By name: of organisations that weigh alike, the same one is named, whatever else is known.
        let names: BTreeSet<&Name> = counted
            .iter()
            .map(|attempt| &attempt.organisation)
            .collect();
        trials.organisations = names.iter().map(|name| (*name).clone()).collect();
        let organisations: BTreeMap<&Name, usize> = names.into_iter().zip(0..).collect();
        for attempt in counted {
            let group = UpdateGroup::of(attempt);
            let limit = history.limit(&group, settings);
            let number = *groups
                .entry(group)
                .or_insert_with_key(|group| trials.number(group, release, history, settings));
            let trial = Trial {
                started_at: attempt.started_at,
                organisation: organisations[&attempt.organisation],
                group: number,
                ending: attempt.ending_at(now, limit),
            };
            match attempt.to == *release {
                true => trials.own.push(trial),
                false => trials.others.push(trial),
            }
        }
        trials
    }

    fn number(
        &mut self,
        group: &UpdateGroup,
        release: &Version,
        history: &History,
        settings: &WatchSettings,
    ) -> usize {
        let mut numbers = Vec::new();
        for (scope, weight) in scopes::scopes(group, release) {
            let known = self.scopes.iter().position(|(other, _)| *other == scope);
            numbers.push(known.unwrap_or_else(|| {
                self.scopes.push((scope, weight));
                self.scopes.len() - 1
            }));
        }
        let base_rates = Signal::ALL.map(|signal| history.base_rate(group, signal, settings));
        self.groups.push(GroupFacts {
            scopes: numbers,
            base_rates,
            steps: base_rates.map(BetSteps::against),
        });
        self.groups.len() - 1
    }

    pub(super) fn group(&self, trial: &Trial) -> &GroupFacts {
        &self.groups[trial.group]
    }

    /// The trials at the release whose clusters are in a scope.
    pub(super) fn own_in(&self, scope: usize) -> impl Iterator<Item = &Trial> {
        let is_in = move |trial: &&Trial| self.group(trial).scopes.contains(&scope);
        self.own.iter().filter(is_in)
    }

    /// Organisations with a trial at the release that went wrong, in the order of their numbers.
    pub(super) fn hit_organisations(&self) -> Vec<usize> {
        let hit = self
            .own
            .iter()
            .filter(|trial| trial.went_wrong_at().is_some());
        let mut hit: Vec<usize> = hit.map(|trial| trial.organisation).collect();
        hit.sort_unstable();
        hit.dedup();
        hit
    }
}

/// The attempts that count, in the order of their starts: one for each cluster and release.
fn counted(attempts: &[Attempt], now: Timestamp) -> Vec<&Attempt> {
    let mut begun: Vec<&Attempt> = attempts.iter().filter(|a| a.started_at <= now).collect();
    begun.sort_by(|a, b| (&a.cluster, &a.to, a.order()).cmp(&(&b.cluster, &b.to, b.order())));
    begun.dedup_by(|later, first| later.cluster == first.cluster && later.to == first.to);
    begun.sort_by(|a, b| (a.started_at, &a.cluster, &a.to).cmp(&(b.started_at, &b.cluster, &b.to)));
    begun
}
