//! Empty rings: no cluster that anybody knows is in the ring, so nobody goes first.
//!
//! Graph data does not say which clusters there are. So this check runs only where somebody knows: in a service, and over a
//! fleet.

use std::collections::BTreeSet;

use crate::cluster::Group;
use crate::finding::Finding;
use crate::graph::Graph;

/// Each ring of which no known cluster is in the group, once for each channel.
pub fn empty_rings(graph: &Graph, is_somebody_in: impl Fn(&Group) -> bool) -> Vec<Finding> {
    let channels = graph.channels().values();
    let rings = channels.flat_map(|channel| channel.rings.iter().map(move |ring| (channel, ring)));
    let empty = rings.filter(|(_, ring)| !is_somebody_in(&ring.of));
    empty
        .map(|(channel, ring)| {
            let problem = format!(
                "nobody is known to be in ring {} of {} ({}), so nobody goes first by it",
                ring.name, channel.name, ring.of
            );
            let remedy = "correct the sector or the label, or say who is in it: in the fleet's policy, or in the file of --platforms";
            Finding::warning("empty-ring", ring.origin.clone(), problem, remedy)
        })
        .collect()
}

/// The groups that some ring of the graph asks for.
pub fn groups_of_rings(graph: &Graph) -> BTreeSet<&Group> {
    let channels = graph.channels().values();
    channels
        .flat_map(|channel| channel.rings.iter().map(|ring| &ring.of))
        .collect()
}
