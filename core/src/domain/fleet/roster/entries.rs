//! Policy entries, found for a cluster without looking at all of them: by its id, its name, its labels.

use std::collections::BTreeMap;

use crate::domain::fleet::{ClusterState, FleetPolicy, PolicyDefault, UpgradePolicy};
use crate::finding::Finding;

/// What a cluster wants, and what is wrong with that.
type Wanted<'a> = (&'a UpgradePolicy, &'a [Finding]);

/// A label's name and value; none for entries that ask for no label.
type Label<'a> = Option<(&'a str, &'a str)>;

/// The entries of a policy, by what finds them; each with its organisation's id.
pub(crate) struct Entries<'a> {
    by_id: BTreeMap<(&'a str, &'a str), Wanted<'a>>,
    by_name: BTreeMap<(&'a str, &'a str), Wanted<'a>>,
    /// Defaults by one of the labels that they ask for, and those that ask for none; with their place in the file.
    by_label: BTreeMap<(&'a str, Label<'a>), Vec<(usize, &'a PolicyDefault)>>,
}

impl<'a> Entries<'a> {
    pub(crate) fn new(policy: &'a FleetPolicy) -> Self {
        let mut entries = Self { by_id: BTreeMap::new(), by_name: BTreeMap::new(), by_label: BTreeMap::new() };
        for organisation in policy.organisations.values() {
            for entry in &organisation.clusters {
                let wanted = (&entry.policy, &*entry.problems);
                match &entry.id {
                    Some(id) => entries.by_id.entry((&*organisation.id, id.as_str())).or_insert(wanted),
                    None => entries.by_name.entry((&*organisation.id, &*entry.name)).or_insert(wanted),
                };
            }
            for (place, default) in organisation.defaults.iter().enumerate() {
                let label = default.match_labels.iter().next().map(|(name, value)| (name.as_str(), value.as_str()));
                entries.by_label.entry((&*organisation.id, label)).or_default().push((place, default));
            }
        }
        entries
    }

    /// What a cluster wants.
    pub(crate) fn of(&self, cluster: &ClusterState) -> Option<Wanted<'a>> {
        let organisation: &str = &cluster.organisation;
        let by_id = || self.by_id.get(&(organisation, cluster.id.as_str())).copied();
        let by_name = || self.by_name.get(&(organisation, &*cluster.name)).copied();
        by_id().or_else(by_name).or_else(|| self.default_for(organisation, cluster))
    }

    /// The first default of the file whose labels the cluster has.
    fn default_for(&self, organisation: &str, cluster: &ClusterState) -> Option<Wanted<'a>> {
        let labels = cluster.labels.iter().map(|(name, value)| Some((name.as_str(), value.as_str())));
        let found = labels.chain([None]).filter_map(|label| self.by_label.get(&(organisation, label))).flatten();
        let has_all = |default: &PolicyDefault| {
            default.match_labels.iter().all(|(name, value)| cluster.labels.get(name) == Some(value))
        };
        let first = found.filter(|(_, default)| has_all(default)).min_by_key(|(place, _)| *place);
        first.map(|(_, default)| (&default.policy, &*default.problems))
    }
}
