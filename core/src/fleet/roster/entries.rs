//! Policy entries, indexed by cluster id, name and labels, so that a lookup need not scan them
//! all.

use std::collections::BTreeMap;

use crate::finding::{Finding, Place};
use crate::fleet::{ClusterState, FleetPolicy, LeftAlone, PolicyDefault, UpgradePolicy};

/// What a cluster wants, and what is wrong with that.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WantedPolicy<'a> {
    pub(crate) policy: &'a UpgradePolicy,
    pub(crate) problems: &'a [Finding],
    pub(crate) left_alone: Option<&'a LeftAlone>,
    /// Where it is written.
    pub(crate) origin: &'a Place,
}

/// A label's name and value; none for entries that ask for no label.
type Label<'a> = Option<(&'a str, &'a str)>;

/// The entries of a policy, by what finds them; each with its organisation's id.
pub(crate) struct Entries<'a> {
    by_id: BTreeMap<(&'a str, &'a str), WantedPolicy<'a>>,
    by_name: BTreeMap<(&'a str, &'a str), WantedPolicy<'a>>,
    /// Defaults by one of the labels that they ask for, and those that ask for none; with their place in the file.
    by_label: BTreeMap<(&'a str, Label<'a>), Vec<(usize, &'a PolicyDefault)>>,
}

impl<'a> Entries<'a> {
    pub(crate) fn new(policy: &'a FleetPolicy) -> Self {
        let mut entries = Self {
            by_id: BTreeMap::new(),
            by_name: BTreeMap::new(),
            by_label: BTreeMap::new(),
        };
        for organisation in policy.organisations.values() {
            for entry in &organisation.clusters {
                let (policy, problems, left_alone) =
                    (&entry.policy, &*entry.problems, entry.left_alone.as_ref());
                let wanted = WantedPolicy {
                    policy,
                    problems,
                    left_alone,
                    origin: &entry.origin,
                };
                match &entry.id {
                    Some(id) => entries
                        .by_id
                        .entry((&*organisation.id, id.as_str()))
                        .or_insert(wanted),
                    None => entries
                        .by_name
                        .entry((&*organisation.id, &*entry.name))
                        .or_insert(wanted),
                };
            }
            for (place, default) in organisation.defaults.iter().enumerate() {
                let label = default
                    .match_labels
                    .iter()
                    .next()
                    .map(|(name, value)| (name.as_str(), value.as_str()));
                entries
                    .by_label
                    .entry((&*organisation.id, label))
                    .or_default()
                    .push((place, default));
            }
        }
        entries
    }

    pub(crate) fn of(&self, cluster: &ClusterState) -> Option<WantedPolicy<'a>> {
        let organisation: &str = &cluster.organisation;
        let by_name = || self.by_name(cluster);
        self.by_id(cluster)
            .or_else(by_name)
            .or_else(|| self.default_for(organisation, cluster))
    }

    /// What the entry wants that names the cluster's id.
    pub(crate) fn by_id(&self, cluster: &ClusterState) -> Option<WantedPolicy<'a>> {
        self.by_id
            .get(&(&*cluster.organisation, cluster.id.as_str()))
            .copied()
    }

    /// What the entry wants that names the cluster's name, and no id.
    pub(crate) fn by_name(&self, cluster: &ClusterState) -> Option<WantedPolicy<'a>> {
        self.by_name
            .get(&(&*cluster.organisation, &*cluster.name))
            .copied()
    }

    /// The first default of the file whose labels the cluster has.
    fn default_for(&self, organisation: &str, cluster: &ClusterState) -> Option<WantedPolicy<'a>> {
        let labels = cluster
            .labels
            .iter()
            .map(|(name, value)| Some((name.as_str(), value.as_str())));
        let found = labels
            .chain([None])
            .filter_map(|label| self.by_label.get(&(organisation, label)))
            .flatten();
        let has_all = |default: &PolicyDefault| {
            default
                .match_labels
                .iter()
                .all(|(name, value)| cluster.labels.get(name) == Some(value))
        };
        let first = found
            .filter(|(_, default)| has_all(default))
            .min_by_key(|(place, _)| *place);
        first.map(|(_, default)| WantedPolicy {
            policy: &default.policy,
            problems: &default.problems,
            left_alone: None,
            origin: &default.origin,
        })
    }
}

/// Where the policy of a cluster is written.
pub fn origin_of<'a>(policy: &'a FleetPolicy, cluster: &ClusterState) -> Option<&'a Place> {
    let entry = Entries::new(policy).of(cluster)?;
    Some(entry.origin)
}
