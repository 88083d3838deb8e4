//! Sorting: which groups the clusters of a fleet are in, by the sectors of its policy and by their
//! labels. Rings of graph data ask for that.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::roster::Entries;
use super::{ClusterState, FleetPolicy, UpgradePolicy};
use crate::cluster::{Fact, Group, Groups};
use crate::finding::Finding;
use crate::graph::Graph;
use crate::lint::{empty_rings, groups_of_rings};

/// Says how clusters are sorted that have a policy.
#[derive(Clone)]
pub(crate) struct Sorting<'a>(Arc<Entries<'a>>);

impl<'a> Sorting<'a> {
    /// None where no ring of the graph asks.
    pub(crate) fn of(policy: &'a FleetPolicy, graph: &Graph) -> Option<Self> {
        let has_rings = !groups_of_rings(graph).is_empty();
        has_rings.then(|| Self(Arc::new(Entries::new(policy))))
    }

    pub(crate) fn groups(&self, state: &ClusterState) -> Fact<Groups> {
        let wanted = self.0.of(state);
        // Of a policy with a mistake nobody knows what it would say.
        let wanted = wanted.filter(|wanted| wanted.problems.is_empty());
        Fact::from(wanted.map(|wanted| groups_of(state, wanted.policy)))
    }
}

/// How a cluster is sorted that has this policy.
pub(super) fn groups_of(state: &ClusterState, policy: &UpgradePolicy) -> Groups {
    Groups {
        sector: policy.sector.clone(),
        labels: state.labels.clone(),
    }
}

/// The rings that no cluster of the fleet is in, nor any that `others` knows.
pub fn rings_without_clusters(
    graph: &Graph,
    policy: &FleetPolicy,
    clusters: &[ClusterState],
    others: impl Fn(&Group) -> bool,
) -> Vec<Finding> {
    let Some(sorting) = Sorting::of(policy, graph) else {
        return Vec::new();
    };
    let mut sought = groups_of_rings(graph);
    let mut found: BTreeSet<&Group> = BTreeSet::new();
    for state in clusters {
        if sought.is_empty() {
            break;
        }
        if let Fact::Known(groups) = sorting.groups(state) {
            found.extend(sought.extract_if(.., |group| groups.are_in(group)));
        }
    }
    empty_rings(graph, |group| found.contains(group) || others(group))
}
