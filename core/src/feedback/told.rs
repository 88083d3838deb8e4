//! From what a cluster tells of itself to evidence of its updates.
//!
//! A cluster tells its version, where it is going, its history and what its agent saw. Each of them may be missing. An update to an
//! older release is a rollback: it is no attempt.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::evidence::{DEGRADED_WITHIN, KEPT_FOR, UpdateEvidence, UpdateStart};
use crate::fleet::{AgentOutcome, AgentUpdate};
use crate::version::Version;

/// What a cluster tells of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told<'a> {
    pub version: &'a Version,
    /// Where it is going, or the same version.
    pub desired: Option<&'a Version>,
    /// The versions it has run or tried to, newest first.
    pub history: &'a [HistoryStep],
    pub is_failing: bool,
    pub is_healthy: bool,
    pub updates: &'a [AgentUpdate],
    /// When all this was so. Nothing that it tells is taken as later.
    pub at: Timestamp,
}

/// An entry of a cluster's history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryStep {
    pub version: Version,
    pub is_complete: bool,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
}

impl Told<'_> {
    /// What follows for the releases that it went to, at most one piece of evidence for each.
    pub fn evidence(&self) -> Vec<UpdateEvidence> {
        let mut all: BTreeMap<Version, UpdateEvidence> = BTreeMap::new();
        let history = (0..self.history.len()).map(|place| self.of_step(place));
        let updates = self.updates.iter().map(|update| self.of_update(update));
        for one in history.chain([self.of_now()]).chain(updates) {
            let known = all
                .entry(one.to.clone())
                .or_insert_with(|| UpdateEvidence::of(one.to.clone()));
            *known = known.clone().and(one);
        }
        let oldest = self.at.checked_sub(KEPT_FOR).unwrap_or(Timestamp::MIN);
        let is_recent = |one: &UpdateEvidence| one.first_at().is_some_and(|first| first >= oldest);
        all.into_values().filter(is_recent).collect()
    }

    /// A partial entry that is not the newest was given up for the one after it.
    fn of_step(&self, place: usize) -> UpdateEvidence {
        let step = &self.history[place];
        let newer = place.checked_sub(1).map(|newer| &self.history[newer]);
        let was_left =
            !step.is_complete && newer.is_some_and(|newer| newer.version != step.version);
        let left_at = || step.ended_at.or(newer.and_then(|newer| newer.started_at));
        UpdateEvidence {
            to: step.version.clone(),
            start: step
                .started_at
                .and_then(|at| self.start(at, self.run_before(place), &step.version)),
            failed_at: was_left.then(|| self.no_later(left_at().unwrap_or(self.at))),
            completed_at: step
                .ended_at
                .filter(|_| step.is_complete)
                .map(|at| self.no_later(at)),
            degraded_at: None,
        }
    }

    /// The update that is under way, or the release that it is on.
    fn of_now(&self) -> UpdateEvidence {
        match self.desired.filter(|desired| *desired != self.version) {
            Some(desired) => self.of_going(desired),
            None => self.of_staying(),
        }
    }

    fn of_going(&self, desired: &Version) -> UpdateEvidence {
        let newest = self.history.first().filter(|step| step.version == *desired);
        let started_at = newest.and_then(|step| step.started_at).unwrap_or(self.at);
        let start = self.start(started_at, Some(self.version), desired);
        UpdateEvidence {
            // A rollback that fails says nothing of the release: it may have run there well before.
            failed_at: (self.is_failing && start.is_some()).then_some(self.at),
            start,
            ..UpdateEvidence::of(desired.clone())
        }
    }

    fn of_staying(&self) -> UpdateEvidence {
        let step = |step: &&HistoryStep| step.version == *self.version && step.is_complete;
        let completed_at = self
            .history
            .iter()
            .find(step)
            .and_then(|step| step.ended_at);
        let completed_at = self.no_later(completed_at.unwrap_or(self.at));
        let is_soon = self.at.duration_since(completed_at) <= DEGRADED_WITHIN;
        UpdateEvidence {
            completed_at: Some(completed_at),
            degraded_at: (!self.is_healthy && is_soon).then_some(self.at),
            ..UpdateEvidence::of(self.version.clone())
        }
    }

    /// What its agent saw of an update.
    fn of_update(&self, update: &AgentUpdate) -> UpdateEvidence {
        let ended_at = update
            .took
            .and_then(|took| update.started_at.checked_add(took).ok());
        let ended_at = self.no_later(ended_at.unwrap_or(self.at));
        let is_complete = update.outcome == AgentOutcome::Completed;
        UpdateEvidence {
            start: self.start(update.started_at, self.run_at(update), &update.to),
            failed_at: (!is_complete).then_some(ended_at),
            completed_at: is_complete.then_some(ended_at),
            ..UpdateEvidence::of(update.to.clone())
        }
    }

    fn start(&self, at: Timestamp, from: Option<&Version>, to: &Version) -> Option<UpdateStart> {
        let from = from.filter(|from| *from < to)?.clone();
        let at = self.no_later(at);
        Some(UpdateStart { at, from })
    }

    /// The version that it ran before an entry of its history.
    fn run_before(&self, place: usize) -> Option<&Version> {
        let older = self.history[place + 1..].iter();
        older
            .filter(|step| step.is_complete)
            .map(|step| &step.version)
            .next()
    }

    /// The version that it ran when an update started.
    fn run_at(&self, update: &AgentUpdate) -> Option<&Version> {
        let was_run = |step: &&HistoryStep| {
            step.is_complete
                && step
                    .ended_at
                    .is_some_and(|ended| ended <= update.started_at)
        };
        let known = self.history.iter().find(was_run).map(|step| &step.version);
        known.or((*self.version != update.to).then_some(self.version))
    }

    fn no_later(&self, at: Timestamp) -> Timestamp {
        at.min(self.at)
    }
}
