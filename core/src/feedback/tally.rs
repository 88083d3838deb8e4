//! Counting: how many updates to a release were started, and how they ended, in all and in each class.

use std::collections::BTreeMap;

use super::{Attempt, Outcome, UpdateClass};
use crate::cluster::{Fact, Platform};
use crate::version::{Arch, Minor, Version};

/// How many attempts there are, and how they ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OutcomeTally {
    pub started: u64,
    pub done: u64,
    pub failed: u64,
    pub degraded: u64,
}

/// A class as a key, in an order: minor version, platform, architecture. An unknown platform comes first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClassKey {
    pub from: Minor,
    pub platform: Option<Platform>,
    pub arch: Arch,
}

/// The attempts of one release.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tallies {
    pub all: OutcomeTally,
    pub classes: BTreeMap<ClassKey, OutcomeTally>,
}

impl OutcomeTally {
    pub fn under_way(&self) -> u64 {
        self.started - self.done - self.failed - self.degraded
    }

    pub fn add(&mut self, attempt: &Attempt) {
        self.started += 1;
        match attempt.ending.map(|ending| ending.outcome) {
            None => {}
            Some(Outcome::Done) => self.done += 1,
            Some(Outcome::Failed) => self.failed += 1,
            Some(Outcome::Degraded) => self.degraded += 1,
        }
    }

    pub fn plus(self, other: Self) -> Self {
        Self {
            started: self.started + other.started,
            done: self.done + other.done,
            failed: self.failed + other.failed,
            degraded: self.degraded + other.degraded,
        }
    }
}

impl ClassKey {
    pub fn of(class: &UpdateClass) -> Self {
        Self {
            from: class.from,
            platform: class.platform.known().cloned(),
            arch: class.arch.clone(),
        }
    }

    pub fn class(&self) -> UpdateClass {
        UpdateClass {
            from: self.from,
            platform: Fact::from(self.platform.clone()),
            arch: self.arch.clone(),
        }
    }
}

impl Tallies {
    pub fn add(&mut self, attempt: &Attempt) {
        self.all.add(attempt);
        let class = ClassKey::of(&attempt.class());
        self.classes.entry(class).or_default().add(attempt);
    }

    /// Of each release.
    pub fn of(attempts: impl IntoIterator<Item = Attempt>) -> BTreeMap<Version, Self> {
        let mut of_release: BTreeMap<Version, Self> = BTreeMap::new();
        for attempt in attempts {
            of_release
                .entry(attempt.to.clone())
                .or_default()
                .add(&attempt);
        }
        of_release
    }
}
