//! Following: what is stored of a cluster's updates, and what is new about them, give what has changed.
//!
//! A cluster counts once for each release. Repeated, late and reordered testimonies change nothing that they should not.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::TimeLimits;
use super::evidence::{Followed, MAX_OF_CLUSTER, UpdateEvidence};
use crate::cluster::{ClusterId, Fact, Platform};
use crate::fleet::Name;
use crate::version::{Arch, Version};

/// What is new about one cluster's updates, from its report or from a measurement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Testimony {
    pub cluster: ClusterId,
    pub organisation: Name,
    pub platform: Fact<Platform>,
    pub arch: Arch,
    pub evidence: Vec<UpdateEvidence>,
    /// How long updates that start now may take.
    pub limits: Arc<TimeLimits>,
}

/// What has changed by it: new ones, and ones that are known better. The store writes exactly these.
pub fn follow(known: &BTreeMap<Version, Followed>, new: &Testimony) -> Vec<Followed> {
    let first = |followed: &Followed| followed.evidence.first_at();
    let oldest = known.values().filter_map(first).min();
    let is_full = known.len() >= MAX_OF_CLUSTER;
    // One that was left out for its age does not come back.
    let is_too_old = |one: &UpdateEvidence| is_full && one.first_at() < oldest;
    let mut changed = Vec::new();
    for one in &new.evidence {
        match known.get(&one.to) {
            None if is_too_old(one) => {}
            None => changed.push(new.begun(one)),
            Some(known) => changed.extend(Some(new.added(known, one)).filter(|now| now != known)),
        }
    }
    changed
}

impl Testimony {
    fn begun(&self, evidence: &UpdateEvidence) -> Followed {
        self.limited(Followed {
            cluster: self.cluster.clone(),
            organisation: self.organisation.clone(),
            platform: self.platform.clone(),
            arch: self.arch.clone(),
            evidence: evidence.clone(),
            limit: None,
        })
    }

    /// An organisation that was vouched for stays, and so does a platform that is known. Of two the lower one stays: any order would
    /// do, but it must not depend on which came first.
    fn added(&self, known: &Followed, evidence: &UpdateEvidence) -> Followed {
        let vouched = |one: &Name, other: &Name| match (one.is_empty(), other.is_empty()) {
            (true, _) => other.clone(),
            (_, true) => one.clone(),
            _ => one.min(other).clone(),
        };
        self.limited(Followed {
            cluster: known.cluster.clone(),
            organisation: vouched(&known.organisation, &self.organisation),
            platform: match (known.platform.known(), self.platform.known()) {
                (Some(one), Some(other)) => Fact::Known(one.min(other).clone()),
                (one, other) => Fact::from(one.or(other).cloned()),
            },
            arch: (&known.arch).min(&self.arch).clone(),
            evidence: known.evidence.clone().and(evidence.clone()),
            limit: known.limit,
        })
    }

    fn limited(&self, followed: Followed) -> Followed {
        let limit = followed.class().map(|class| self.limits.of(&class));
        Followed {
            limit: followed.limit.or(limit),
            ..followed
        }
    }
}
