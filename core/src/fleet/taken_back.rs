//! What people have taken back: approvals, acknowledgements of gates, and planned upgrades.
//!
//! A withdrawal holds nothing by itself: the approval is gone, and the rule that wants one holds. The withdrawal says who took
//! it back. A cancelled upgrade holds its version on its cluster until a person lifts it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::Name;
use crate::cluster::ClusterId;
use crate::version::Version;

/// What people have taken back and nobody has given again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TakenBack {
    pub approvals: Vec<WithdrawnApproval>,
    pub acknowledgements: Vec<WithdrawnAcknowledgement>,
    pub upgrades: Vec<CancelledUpgrade>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct WithdrawnApproval {
    pub organisation: Name,
    /// A cluster's name; none: it was for all of the organisation.
    pub cluster: Option<Name>,
    pub version: Version,
    pub by: Name,
    pub at: Timestamp,
    pub why: Name,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct WithdrawnAcknowledgement {
    pub cluster: ClusterId,
    pub gate: Name,
    pub by: Name,
    pub at: Timestamp,
    pub why: Name,
}

/// A planned upgrade that a person cancelled. The same cluster is not started to the same version until a person lifts it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CancelledUpgrade {
    pub cluster: ClusterId,
    /// The node pool; none: the cluster itself.
    pub pool: Option<Name>,
    pub version: Version,
    pub by: Name,
    pub at: Timestamp,
    pub why: Name,
}

impl TakenBack {
    pub fn sort(&mut self) {
        self.approvals.sort();
        self.acknowledgements.sort();
        self.upgrades.sort();
    }
}

/// The same, found by what it is about.
#[derive(Debug, Clone, Default)]
pub(crate) struct TakenBackIndex {
    approvals: BTreeMap<(Name, Version), Vec<WithdrawnApproval>>,
    acknowledgements: BTreeMap<ClusterId, Vec<WithdrawnAcknowledgement>>,
    upgrades: BTreeMap<ClusterId, Vec<CancelledUpgrade>>,
}

impl From<TakenBack> for TakenBackIndex {
    fn from(taken_back: TakenBack) -> Self {
        let mut index = Self::default();
        for one in taken_back.approvals {
            let key = (one.organisation.clone(), one.version.clone());
            index.approvals.entry(key).or_default().push(one);
        }
        for one in taken_back.acknowledgements {
            let of_cluster = index.acknowledgements.entry(one.cluster.clone());
            of_cluster.or_default().push(one);
        }
        for one in taken_back.upgrades {
            let of_cluster = index.upgrades.entry(one.cluster.clone());
            of_cluster.or_default().push(one);
        }
        index
    }
}

impl TakenBackIndex {
    pub(crate) fn all(&self) -> TakenBack {
        let mut all = TakenBack {
            approvals: self.approvals.values().flatten().cloned().collect(),
            acknowledgements: self.acknowledgements.values().flatten().cloned().collect(),
            upgrades: self.upgrades.values().flatten().cloned().collect(),
        };
        all.sort();
        all
    }

    /// The newest withdrawal of an approval that the cluster had, alone or with all of its organisation.
    pub(crate) fn approval(
        &self,
        organisation: &Name,
        cluster: &Name,
        version: &Version,
    ) -> Option<&WithdrawnApproval> {
        let key = (organisation.clone(), version.clone());
        let of_version = self.approvals.get(&key).into_iter().flatten();
        let meant = of_version.filter(|one| one.cluster.as_ref().is_none_or(|of| of == cluster));
        meant.max_by_key(|one| (one.at, *one))
    }

    pub(crate) fn acknowledgement(
        &self,
        cluster: &ClusterId,
        gate: &str,
    ) -> Option<&WithdrawnAcknowledgement> {
        let of_cluster = self.acknowledgements.get(cluster).into_iter().flatten();
        of_cluster
            .filter(|one| *one.gate == *gate)
            .max_by_key(|one| (one.at, *one))
    }

    pub(crate) fn upgrade(
        &self,
        cluster: &ClusterId,
        pool: Option<&Name>,
        version: &Version,
    ) -> Option<&CancelledUpgrade> {
        let mut of_cluster = self.upgrades.get(cluster).into_iter().flatten();
        of_cluster.find(|one| one.pool.as_ref() == pool && one.version == *version)
    }

    /// Clusters that have a cancelled upgrade.
    pub(crate) fn with_cancelled(&self) -> BTreeSet<&ClusterId> {
        self.upgrades.keys().collect()
    }
}
