//! Outcomes of releases: to how many clusters each is offered now, and what became of the updates to it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::{Attempt, ClassKey, OutcomeTally, Tallies};
use crate::cluster::ClusterId;
use crate::fleet::{ClusterState, Offer};
use crate::version::{Minor, Version};

/// The outcomes of a fleet at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetOutcomes {
    pub at: Timestamp,
    /// How many clusters told something: of themselves, or of their updates.
    pub clusters: u64,
    pub releases: BTreeMap<Version, ReleaseOutcomes>,
}

/// Of one release, in all and by class.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReleaseOutcomes {
    pub all: OutcomeCount,
    pub classes: BTreeMap<ClassKey, OutcomeCount>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OutcomeCount {
    /// Clusters that the graph offers the release to now, whatever their fleet's policy lets them take.
    pub offered: u64,
    pub tally: OutcomeTally,
}

impl FleetOutcomes {
    /// Each cluster counts once for each release.
    pub fn of<'a>(
        clusters: impl IntoIterator<Item = &'a ClusterState>,
        attempts: impl IntoIterator<Item = Attempt>,
        at: Timestamp,
    ) -> Self {
        let mut known: BTreeSet<ClusterId> = BTreeSet::new();
        let attempts = attempts.into_iter().inspect(|attempt| {
            known.insert(attempt.cluster.clone());
        });
        let tallies = Tallies::of(attempts);
        let mut outcomes = Self {
            at,
            clusters: 0,
            releases: BTreeMap::new(),
        };
        for (release, tallies) in tallies {
            let of_release = outcomes.releases.entry(release).or_default();
            of_release.all.tally = tallies.all;
            for (class, tally) in tallies.classes {
                of_release.classes.entry(class).or_default().tally = tally;
            }
        }
        for state in clusters {
            known.insert(state.id.clone());
            let offered = state.offers.iter().filter(|offer| is_offered(offer, at));
            for offer in offered {
                let of_release = outcomes.releases.entry(offer.version.clone()).or_default();
                of_release.all.offered += 1;
                of_release
                    .classes
                    .entry(class_of(state))
                    .or_default()
                    .offered += 1;
            }
        }
        outcomes.clusters = known.len() as u64;
        outcomes
    }
}

/// What a rollout has not reached when the offer was looked up, it may have reached by now.
fn is_offered(offer: &Offer, now: Timestamp) -> bool {
    let is_over = |until: Timestamp| until <= now;
    let holds = offer
        .objection
        .as_ref()
        .is_some_and(|objection| !objection.until().is_some_and(is_over));
    offer.channel.is_none() && !holds
}

fn class_of(state: &ClusterState) -> ClassKey {
    ClassKey {
        from: Minor::of(&state.version),
        platform: state.platform.known().cloned(),
        arch: state.arch.clone(),
    }
}
