//! Fleet policy, read and checked: organisations, sectors, and what each cluster wants.
//!
//! The meaning is that of AppSRE's Advanced Upgrade Service (AUS). Problems of an entry are kept
//! with it (`problems`) and hold back that cluster only.

use std::collections::{BTreeMap, BTreeSet};

use super::{AcceptedRisk, Exclusion, MaintenanceWindow, Name, PreflightDemand, Schedule};
use crate::cluster::ClusterId;
use crate::finding::{Finding, Place};
use crate::graph::Pattern;
use crate::version::Version;

/// Everything people want of their fleet.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FleetPolicy {
    pub organisations: BTreeMap<Name, Organisation>,
}

/// An organisation: the reach of sectors, mutexes and soak.
#[derive(Debug, Clone, PartialEq)]
pub struct Organisation {
    /// Its id, by which clusters belong to it.
    pub id: Name,
    pub name: Name,
    /// The environment it is in (`production`, `stage`, …); for people.
    pub environment: Option<Name>,
    /// Versions that nobody here may start: searched for anywhere in the version.
    pub blocked_versions: Vec<Pattern>,
    pub sectors: BTreeMap<Name, Sector>,
    pub clusters: Vec<ClusterPolicy>,
    /// What clusters want that are not named, by their labels; the first that matches counts.
    pub defaults: Vec<PolicyDefault>,
    /// Organisations whose soak days and versions count here too; both sides have agreed.
    pub inherits_from: BTreeSet<Name>,
    /// Mutexes that are the same in every organisation that shares them. (Beyond AUS, where none is.)
    pub shared_mutexes: BTreeSet<Name>,
    /// Whether the whole organisation is left alone.
    pub disabled: bool,
    pub origin: Place,
}

/// A part of an organisation that follows, or is followed by, others.
#[derive(Debug, Clone, PartialEq)]
pub struct Sector {
    pub name: Name,
    /// The sectors that must be on a version first.
    pub depends_on: Vec<Name>,
    /// How many clusters that share a mutex may be upgraded at once here.
    pub max_parallel: Option<Parallel>,
    /// After this many failed upgrades to one version, nothing more starts here. (Beyond AUS.)
    pub max_failures: Option<u32>,
    /// After this many days, laggards and silent clusters no longer hold back the next sector.
    /// (Beyond AUS.)
    pub straggler_days: Option<u32>,
    pub origin: Place,
}

/// A limit of parallel upgrades.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Parallel {
    Count(u32),
    /// This share of the sector's clusters with the mutex, in percent, rounded half to even; at least one.
    Percent(u32),
}

impl Parallel {
    /// The limit among a number of clusters.
    pub fn limit(self, clusters: u32) -> u32 {
        match self {
            Self::Count(count) => count,
            Self::Percent(percent) => {
                let (whole, rest) = (
                    u64::from(clusters) * u64::from(percent) / 100,
                    u64::from(clusters) * u64::from(percent) % 100,
                );
                let up = rest > 50 || (rest == 50 && whole % 2 == 1);
                u32::try_from(whole + u64::from(up))
                    .unwrap_or(u32::MAX)
                    .max(1)
            }
        }
    }
}

/// What a named cluster wants.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterPolicy {
    pub name: Name,
    /// Its id, where the file tells it; else the name alone finds it.
    pub id: Option<ClusterId>,
    pub policy: UpgradePolicy,
    /// Why it is left alone, if it is: nothing is started on it.
    pub left_alone: Option<LeftAlone>,
    /// What is wrong with this entry. Not empty: the cluster is held back.
    pub problems: Vec<Finding>,
    pub origin: Place,
}

/// `disable: {integrations: […]}` of a cluster's file: who upgrades clusters leaves this one alone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeftAlone {
    /// The integration that it disables.
    pub integration: Name,
    pub origin: Place,
}

/// What clusters want that have these labels.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyDefault {
    pub name: Name,
    /// A cluster must have all of these.
    pub match_labels: BTreeMap<String, String>,
    pub policy: UpgradePolicy,
    /// What is wrong with this entry. Not empty: its clusters are held back.
    pub problems: Vec<Finding>,
    pub origin: Place,
}

/// When, how and after which clusters a cluster is upgraded. Equal policies are shared.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct UpgradePolicy {
    /// What runs on it; soak days count per workload.
    pub workloads: BTreeSet<Name>,
    /// When it may start; none where the entry has none that can be read, and then it never starts.
    pub schedule: Option<Schedule>,
    /// The days a version must have run with each workload; none: no soak check.
    pub soak_days: Option<u32>,
    /// The mutexes it needs, besides itself.
    pub mutexes: BTreeSet<Name>,
    /// The sector it belongs to.
    pub sector: Option<Name>,
    /// Versions it may not start: searched for anywhere in the version.
    pub blocked_versions: Vec<Pattern>,
    /// Labels of gates that count as acknowledged here.
    pub gate_approvals: BTreeSet<Name>,
    /// It may start only inside one of these, if there are any. (Beyond AUS.)
    pub windows: Vec<MaintenanceWindow>,
    /// It may not start inside any of these. (Beyond AUS.)
    pub exclusions: Vec<Exclusion>,
    /// Whether a person must approve each version. (Beyond AUS.)
    pub needs_approval: bool,
    /// It goes to this version, and to none above it. (Beyond AUS.)
    pub pin: Option<Version>,
    /// Known risks of an update that it takes all the same. (Beyond AUS.)
    pub accepted_risks: BTreeSet<AcceptedRisk>,
    /// The group of channels (`stable`, `eus`) that it follows from minor to minor. None: it stays in its channel. (Beyond AUS.)
    pub follows: Option<Name>,
    /// Whether a preflight must have passed before a start. (Beyond AUS.)
    pub preflight: PreflightDemand,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_round_half_to_even_and_are_at_least_one() {
        let clusters = [1, 2, 3, 4, 5, 6, 7, 9, 10, 15];
        for (percent, expected) in [
            (50, [1, 1, 2, 2, 2, 3, 4, 4, 5, 8]),
            (33, [1, 1, 1, 1, 2, 2, 2, 3, 3, 5]),
            (25, [1, 1, 1, 1, 1, 2, 2, 2, 2, 4]),
        ] {
            assert_eq!(
                clusters.map(|n| Parallel::Percent(percent).limit(n)),
                expected,
                "{percent} %"
            );
        }
        assert_eq!(Parallel::Count(3).limit(1), 3);
    }
}
