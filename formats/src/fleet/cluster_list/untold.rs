//! What a list does not tell, and a plan therefore does not take into account.
//!
//! An API tells everything. A list that a person made often has the clusters alone, and a plan from it looks better than it is.

use towpath_core::finding::{Finding, Place};
use towpath_core::fleet::{ClusterState, Product};

use super::ClusterList;

/// The code of these warnings.
pub const NOT_TOLD: &str = "not-told";

/// The code of the warning that clusters are known from a list which is no longer there.
pub const LIST_IS_GONE: &str = "list-is-gone";
/// The code of the warning that policies follow channels, and nobody is switched.
pub const CHANNEL_NOT_FOLLOWED: &str = "channel-not-followed";

/// A warning for each thing that the list at that place says nothing about.
pub fn untold(list: &ClusterList, place: &Place) -> Vec<Finding> {
    if list.clusters.is_empty() {
        return Vec::new();
    }
    let without_pools = |state: &&ClusterState| matches!(&state.product, Product::HostedControlPlane { pools } if pools.is_empty());
    let hosted = list.clusters.iter().filter(without_pools).count();
    let lacks = |part: &str| !list.parts.contains(part);
    let untold = [
        (
            lacks("versionGates"),
            "the list has no `versionGates`, so this plan passes every gate".to_owned(),
            "add them (`[]` if there are none)",
        ),
        (
            lacks("upgrades"),
            "the list has no `upgrades`, so this plan knows no upgrade that somebody else has planned or started".to_owned(),
            "add them (`[]` if there are none)",
        ),
        (
            hosted > 0,
            format!("{hosted} of the list's clusters are hosted control planes without `nodePools`, so this plan upgrades no node pool of them"),
            "add `nodePools` to them",
        ),
    ];
    let told = untold.into_iter().filter(|(is_untold, ..)| *is_untold);
    told.map(|(_, problem, remedy)| {
        let remedy = format!("{remedy}, or read the fleet from its API with --ocm");
        Finding::warning(NOT_TOLD, place.clone(), problem, remedy)
    })
    .collect()
}
