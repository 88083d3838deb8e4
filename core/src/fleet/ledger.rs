//! The soak ledger: from the observed time of clusters to the soak days of workloads.
//!
//! A cluster's time counts for the workloads that its policy names now. If it has left the fleet,
//! it counts for the workloads that it had last. The time of an unbound cluster, or of one with a
//! shared name, counts for nobody: nobody can tell which cluster it was.

use std::collections::{BTreeMap, BTreeSet};

use crate::cluster::ClusterId;
use crate::fleet::roster::Entries;
use crate::fleet::{ClusterState, FleetPolicy, Name, SoakSum, name_clashes};
use crate::version::Version;

static NO_WORKLOADS: BTreeSet<Name> = BTreeSet::new();

/// How long each cluster has run healthily on each version.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ledger {
    seconds: BTreeMap<ClusterId, BTreeMap<Version, i64>>,
}

/// Where a cluster belongs, or belonged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tenure {
    pub organisation: Name,
    pub workloads: BTreeSet<Name>,
}

/// The lowest version whose soak any of these clusters may still need: clusters go to versions above their own alone.
pub fn oldest_needed<'a>(
    clusters: impl IntoIterator<Item = &'a ClusterState>,
) -> Option<&'a Version> {
    clusters.into_iter().map(|cluster| &cluster.version).min()
}

/// What another system has counted beyond our own sums. Both may have observed the same time, which must not be credited twice.
pub fn beyond_own(theirs: Vec<SoakSum>, own: &[SoakSum]) -> Vec<SoakSum> {
    let key = |sum: &SoakSum| {
        let SoakSum {
            organisation,
            workload,
            version,
            ..
        } = sum.clone();
        (organisation, workload, version)
    };
    let own: BTreeMap<_, i64> = own.iter().map(|sum| (key(sum), sum.seconds)).collect();
    let more = |sum: SoakSum| {
        let counted = own.get(&key(&sum)).copied().unwrap_or_default();
        SoakSum {
            seconds: (sum.seconds - counted).max(0),
            ..sum
        }
    };
    theirs.into_iter().map(more).collect()
}

/// Sums that were imported, and those of a list. If both tell the same workload and version, the larger one counts, once.
pub fn told_once(imported: &[SoakSum], listed: &[SoakSum]) -> Vec<SoakSum> {
    let mut of_list: BTreeMap<(&Name, &Name, &Version), i64> = BTreeMap::new();
    for sum in listed {
        *of_list
            .entry((&sum.organisation, &sum.workload, &sum.version))
            .or_default() += sum.seconds;
    }
    for sum in imported {
        let known = of_list
            .entry((&sum.organisation, &sum.workload, &sum.version))
            .or_default();
        *known = (*known).max(sum.seconds);
    }
    let sum =
        |((organisation, workload, version), seconds): ((&Name, &Name, &Version), i64)| SoakSum {
            organisation: organisation.clone(),
            workload: workload.clone(),
            version: version.clone(),
            seconds,
        };
    of_list.into_iter().map(sum).collect()
}

impl Ledger {
    /// A cluster's whole time on a version is now this; says how much more that is.
    pub fn set(&mut self, cluster: &ClusterId, version: &Version, seconds: i64) -> i64 {
        let known = self
            .seconds
            .entry(cluster.clone())
            .or_default()
            .entry(version.clone())
            .or_default();
        seconds - std::mem::replace(known, seconds)
    }

    /// Clusters with observed time whose workloads are unknown: no policy is about them now, or their time does not count now, and
    /// nobody has ever known what runs on them.
    pub fn without_workloads<'a>(
        &'a self,
        policy: &FleetPolicy,
        clusters: &'a BTreeMap<ClusterId, ClusterState>,
        last_known: &BTreeMap<ClusterId, Tenure>,
    ) -> impl Iterator<Item = &'a ClusterState> {
        let entries = Entries::new(policy);
        let clashes = name_clashes(clusters.values());
        let has_time = |versions: &BTreeMap<Version, i64>| versions.values().any(|one| *one > 0);
        let timed = self
            .seconds
            .iter()
            .filter(move |(_, versions)| has_time(versions));
        let known = timed.filter_map(|(id, _)| clusters.get(id));
        let unknown = known.filter(|cluster| {
            let last = last_known.get(&cluster.id);
            let counts = entries
                .of(cluster)
                .is_some_and(|entry| entry.left_alone.is_none())
                && !clashes.contains_key(&cluster.id);
            !counts && last.is_none_or(|tenure| tenure.workloads.is_empty())
        });
        unknown.collect::<Vec<_>>().into_iter()
    }

    /// The sums by organisation, workload and version. `last_known` is for clusters that no policy is about now.
    pub fn sums<'a>(
        &self,
        policy: &FleetPolicy,
        clusters: impl IntoIterator<Item = &'a ClusterState>,
        last_known: &BTreeMap<ClusterId, Tenure>,
    ) -> Vec<SoakSum> {
        let entries = Entries::new(policy);
        let mut sums: BTreeMap<(&Name, &Name, &Version), i64> = BTreeMap::new();
        let mut current: BTreeMap<&ClusterId, (&Name, &BTreeSet<Name>)> = BTreeMap::new();
        let clusters: Vec<&ClusterState> = clusters.into_iter().collect();
        let clashes = name_clashes(clusters.iter().copied());
        let counts = |cluster: &ClusterState| {
            cluster.binding.is_bound() && !clashes.contains_key(&cluster.id)
        };
        let left_out: BTreeSet<&ClusterId> = clusters
            .iter()
            .filter(|cluster| !counts(cluster))
            .map(|cluster| &cluster.id)
            .collect();
        for cluster in clusters {
            if let Some(wanted) = entries.of(cluster) {
                // The time of a cluster that is left alone is not credited.
                let workloads = if wanted.left_alone.is_none() {
                    &wanted.policy.workloads
                } else {
                    &NO_WORKLOADS
                };
                current.insert(&cluster.id, (&cluster.organisation, workloads));
            }
        }
        for (cluster, versions) in self
            .seconds
            .iter()
            .filter(|(cluster, _)| !left_out.contains(cluster))
        {
            let last = || {
                last_known
                    .get(cluster)
                    .map(|tenure| (&tenure.organisation, &tenure.workloads))
            };
            let Some((organisation, workloads)) = current.get(cluster).copied().or_else(last)
            else {
                continue;
            };
            for (version, seconds) in versions {
                for workload in workloads {
                    *sums.entry((organisation, workload, version)).or_default() += seconds;
                }
            }
        }
        let sum =
            |((organisation, workload, version), seconds): ((&Name, &Name, &Version), i64)| {
                SoakSum {
                    organisation: organisation.clone(),
                    workload: workload.clone(),
                    version: version.clone(),
                    seconds,
                }
            };
        sums.into_iter().map(sum).collect()
    }
}
