//! Checks a plan against budgets with a count of its own.

use towpath_core::nodes::{Move, NodesPlan, PodIdx};

/// How often more pods of a budget were away than it allowed at first. A pod that waits for a node is away until the wave ends.
///
/// Within a drain, pods go in rounds and settle in between, so of each drain only those count that it left without a place.
pub fn overdrawn(plan: &NodesPlan) -> usize {
    let waves = plan.pools.iter().flat_map(|pool| &pool.waves);
    let too_many = waves.filter(|wave| {
        let moves = wave.drain.moves.iter();
        let without: Vec<PodIdx> = moves
            .filter(|Move { to, .. }| to.is_none())
            .map(|moved| moved.pod)
            .collect();
        plan.model.overdrawn_by(&without) > 0
    });
    too_many.count()
}
