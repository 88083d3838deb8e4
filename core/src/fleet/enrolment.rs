//! Enrolment: what a cluster sees before a pass over the fleet has placed it.
//!
//! A pass places every cluster that the store or a list knows: a policy manages it, or no policy
//! selects it. Until then, a cluster whose id is in the policy files is held as soon as the files
//! are read. For all others, `unknownClusters` in the policy files decides.

use std::fmt;

use super::FleetPolicy;
use crate::cluster::ClusterId;

/// What clusters see that send an id which nobody knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnknownClusters {
    /// The releases of their channel, and no edge.
    Hold,
    /// The graph, as if there were no fleet.
    Serve,
}

impl UnknownClusters {
    /// As the policy files have it.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Hold, Self::Serve]
            .into_iter()
            .find(|one| one.as_str() == text)
    }

    /// As the policy files have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hold => "hold",
            Self::Serve => "serve",
        }
    }

    /// What is in force: what people have written. Where they have not, unknown clusters are served only if every policy tells the id
    /// of its cluster: a name or a label may turn out to be anybody's. Without any organisation, nobody knows what the policy would say.
    pub fn in_force(written: Option<Self>, policy: &FleetPolicy) -> Self {
        let tells_ids = |organisation: &super::Organisation| {
            organisation.defaults.is_empty()
                && organisation.clusters.iter().all(|entry| entry.id.is_some())
        };
        let is_closed =
            !policy.organisations.is_empty() && policy.organisations.values().all(tells_ids);
        written.unwrap_or(if is_closed { Self::Serve } else { Self::Hold })
    }
}

/// Why a cluster is held that no pass has placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnplacedReason {
    /// The files name its id, and it is not known in the organisation that they name.
    Named,
    /// It has reported since the last pass.
    Reported,
    /// Nobody knows it, and unknown clusters are held.
    Unknown,
    /// The fleet has not been read yet, or cannot be read now.
    FleetUnread,
}

impl fmt::Display for UnplacedReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Named => "the fleet's files name its id, and it has not reported in the organisation that they name",
            Self::Reported => "it has reported, and the next pass over the fleet finds its policy",
            Self::Unknown => "the fleet does not know it, and unknown clusters are held",
            Self::FleetUnread => "the fleet's state cannot be read, so nobody knows which policy it has",
        })
    }
}

impl FleetPolicy {
    /// The ids that policies name.
    pub fn named_ids(&self) -> impl Iterator<Item = &ClusterId> {
        self.organisations
            .values()
            .flat_map(|organisation| &organisation.clusters)
            .filter_map(|entry| entry.id.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::finding::Place;
    use crate::fleet::{ClusterPolicy, Organisation, PolicyDefault, UpgradePolicy};

    fn entry(id: Option<&str>) -> ClusterPolicy {
        ClusterPolicy {
            name: "shop".into(),
            id: id.and_then(ClusterId::new),
            policy: UpgradePolicy::default(),
            left_alone: None,
            problems: Vec::new(),
            origin: Place::file("org.yaml"),
        }
    }

    fn default() -> PolicyDefault {
        PolicyDefault {
            name: "dev".into(),
            match_labels: BTreeMap::new(),
            policy: UpgradePolicy::default(),
            problems: Vec::new(),
            origin: Place::file("org.yaml"),
        }
    }

    fn policy(clusters: Vec<ClusterPolicy>, defaults: Vec<PolicyDefault>) -> FleetPolicy {
        let organisation = Organisation {
            id: "demo".into(),
            name: "demo".into(),
            environment: None,
            blocked_versions: Vec::new(),
            sectors: BTreeMap::new(),
            clusters,
            defaults,
            inherits_from: BTreeSet::new(),
            shared_mutexes: BTreeSet::new(),
            disabled: false,
            origin: Place::file("org.yaml"),
        };
        FleetPolicy {
            organisations: [("demo".into(), organisation)].into(),
        }
    }

    #[test]
    fn a_policy_by_name_or_label_holds_whom_nobody_knows_unless_people_say_otherwise() {
        use UnknownClusters::{Hold, Serve};
        for (policy, expected) in [
            (FleetPolicy::default(), Hold),
            (policy(vec![], vec![]), Serve),
            (policy(vec![entry(Some("a"))], vec![]), Serve),
            (policy(vec![entry(Some("a")), entry(None)], vec![]), Hold),
            (policy(vec![entry(Some("a"))], vec![default()]), Hold),
        ] {
            assert_eq!(
                UnknownClusters::in_force(None, &policy),
                expected,
                "{policy:?}"
            );
            assert_eq!(UnknownClusters::in_force(Some(Serve), &policy), Serve);
            assert_eq!(UnknownClusters::in_force(Some(Hold), &policy), Hold);
        }
    }
}
