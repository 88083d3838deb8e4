//! Simulated rollouts: who begins when, and what becomes of it.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use towpath_core::cluster::ClusterId;
use towpath_core::feedback::{Attempt, Ending, FailureRate, HaltScope, Outcome};
use towpath_core::graph::Position;
use towpath_core::version::Version;

use crate::{Chance, SimulatedCluster};

/// How long it takes until an outcome is known.
#[derive(Debug, Clone, Copy)]
pub enum Delays {
    /// Always so long.
    Fixed(SignedDuration),
    /// Failures after 20 minutes to 5 hours, good endings after 1 to 5 hours. So the first endings are worse than the rest.
    FailuresSooner,
}

/// How often updates go wrong.
#[derive(Debug, Clone)]
pub struct Fates {
    pub failed: FailureRate,
    /// Of those that complete.
    pub degraded: FailureRate,
    pub trouble: Option<Trouble>,
}

/// What is wrong with a release.
#[derive(Debug, Clone)]
pub struct Trouble {
    pub hit: Hit,
    /// How often updates of these clusters fail, instead of the rate of all others.
    pub failed: FailureRate,
}

/// Which clusters something is wrong for.
#[derive(Debug, Clone)]
pub enum Hit {
    Scope(HaltScope),
    Clusters(BTreeSet<ClusterId>),
}

impl Hit {
    pub fn has(&self, cluster: &SimulatedCluster) -> bool {
        match self {
            Self::Scope(scope) => cluster.is_in(scope),
            Self::Clusters(clusters) => clusters.contains(&cluster.id),
        }
    }
}

/// A release that rolls out.
pub struct SimulatedRollout<'a> {
    pub to: &'a Version,
    /// When a cluster at a position is shown it.
    pub shown_at: &'a dyn Fn(Position) -> Timestamp,
    /// Clusters begin at most so long after they are shown the release.
    pub polling: SignedDuration,
    pub delays: Delays,
    pub fates: &'a Fates,
}

impl SimulatedRollout<'_> {
    /// What becomes of it if nobody stops it, in the order of the starts. Every outcome has its time.
    pub fn attempts(&self, fleet: &[SimulatedCluster], chance: &mut Chance) -> Vec<Attempt> {
        let mut attempts: Vec<Attempt> = fleet
            .iter()
            .map(|cluster| self.attempt(cluster, chance))
            .collect();
        attempts.sort_by(|a, b| (a.started_at, &a.cluster).cmp(&(b.started_at, &b.cluster)));
        attempts
    }

    fn attempt(&self, cluster: &SimulatedCluster, chance: &mut Chance) -> Attempt {
        let shown_at = (self.shown_at)(Position(chance.number()));
        let started_at = shown_at + chance.between(SignedDuration::ZERO, self.polling);
        let ending = self.ending(cluster, started_at, chance);
        Attempt {
            cluster: cluster.id.clone(),
            organisation: cluster.organisation.clone(),
            from: cluster.from.clone(),
            to: self.to.clone(),
            platform: cluster.class.platform.clone(),
            arch: cluster.class.arch.clone(),
            started_at,
            completed_at: (ending.outcome != Outcome::Failed).then_some(ending.known_at),
            ending: Some(ending),
        }
    }

    fn ending(
        &self,
        cluster: &SimulatedCluster,
        started_at: Timestamp,
        chance: &mut Chance,
    ) -> Ending {
        let trouble = self.fates.trouble.as_ref();
        let hit = trouble.filter(|trouble| trouble.hit.has(cluster));
        let failed = hit.map_or(self.fates.failed, |trouble| trouble.failed);
        let outcome = match chance.happens(failed) {
            true => Outcome::Failed,
            false if chance.happens(self.fates.degraded) => Outcome::Degraded,
            false => Outcome::Done,
        };
        let minutes = SignedDuration::from_mins;
        let delay = match (self.delays, outcome) {
            (Delays::Fixed(delay), _) => delay,
            (Delays::FailuresSooner, Outcome::Failed) => chance.between(minutes(20), minutes(300)),
            (Delays::FailuresSooner, _) => chance.between(minutes(60), minutes(300)),
        };
        Ending {
            known_at: started_at + delay,
            outcome,
        }
    }
}
