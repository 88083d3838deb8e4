//! The estimate of one update, and of several.
//!
//! ```text
//! masters       = control-plane nodes × (drain + reboot + ready), one at a time
//! until nodes   = the control plane's time on the reference cluster − its masters + (DaemonSet waves − its waves); at least 0
//! control plane = until nodes + masters
//! a pool        = iterations × (drain + reboot + ready), iterations = ceil(nodes ÷ maxUnavailable)
//! total         = until nodes + the longest of masters and pools, which run side by side
//! ```

use super::{Basis, Figure, Ground, Machines, Origin, Parameters, Rollout, Seconds, Shape, Spread, rollout_seconds};
use crate::domain::Version;

/// How long an update takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Estimate {
    /// The headline: until the control plane is updated, without worker pools.
    pub control_plane: Spread,
    /// Of it, the nodes of the control plane, one after the other.
    pub masters: Spread,
    /// Of it, DaemonSets beyond what the reference cluster has.
    pub waves: Seconds,
    /// Beside it: each pool that is not paused.
    pub pools: Vec<PoolEstimate>,
    /// The longest of them.
    pub workers: Spread,
    /// Until everything is updated that is not paused.
    pub total: Spread,
    /// What the control plane's figure is about.
    pub basis: Basis,
    /// Where it comes from.
    pub origin: Origin,
}

/// How long a pool takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolEstimate {
    /// The pool.
    pub name: String,
    /// How many of its nodes are updated at once.
    pub at_once: u32,
    /// How many times that is done.
    pub iterations: u32,
    /// How long all of them take.
    pub spread: Spread,
}

/// How long one update takes on a cluster of that shape.
pub fn hop_duration(from: &Version, to: &Version, shape: &Shape, parameters: &Parameters) -> Estimate {
    let (basis, Figure { spread: known, origin }) = parameters.control_plane(from, to);
    let masters = shape.control_plane.machines.node_time(parameters).times(shape.control_plane.nodes);
    let included = Machines::on(Ground::Cloud).node_time(parameters).times(parameters.reference.control_plane_nodes);
    let waves = waves(shape, parameters);
    let pools = pools(shape, parameters);
    let workers = pools.iter().fold(Spread::default(), |longest, pool| longest.beside(pool.spread));
    let until_nodes = |known: Seconds, included: Seconds| known.saturating_add(waves).saturating_sub(included);
    let of_each = |nodes: Spread| {
        // Each of the three by itself; only what comes out is put in order, so that the reference cluster gets what is known of it.
        Spread::new(
            until_nodes(known.low, included.low).saturating_add(nodes.low),
            until_nodes(known.likely, included.likely).saturating_add(nodes.likely),
            until_nodes(known.high, included.high).saturating_add(nodes.high),
        )
    };
    Estimate {
        control_plane: of_each(masters),
        masters,
        waves,
        workers,
        total: of_each(masters.beside(workers)),
        pools,
        basis,
        origin: origin.clone(),
    }
}

/// How long updates take one after the other: control planes, and all in all.
pub fn path_duration<'e>(hops: impl IntoIterator<Item = &'e Estimate>) -> (Spread, Spread) {
    hops.into_iter().fold((Spread::default(), Spread::default()), |(control_planes, totals), hop| {
        (control_planes.then(hop.control_plane), totals.then(hop.total))
    })
}

/// DaemonSets, one after the other, beyond what they take on the reference cluster.
fn waves(shape: &Shape, parameters: &Parameters) -> Seconds {
    let Parameters { wave, daemon_set, reference, .. } = parameters;
    let all: Seconds = match &shape.daemon_sets {
        None => rollout_seconds(shape.nodes(), daemon_set.max_unavailable, wave),
        Some(sets) => {
            let rollouts = sets
                .iter()
                .map(|set| rollout_seconds(set.nodes.unwrap_or_else(|| shape.nodes()), set.max_unavailable, wave));
            rollouts.fold(0, Seconds::saturating_add)
        }
    };
    all.saturating_sub(rollout_seconds(reference.nodes, daemon_set.max_unavailable, wave))
}

fn pools(shape: &Shape, parameters: &Parameters) -> Vec<PoolEstimate> {
    let running = shape.pools.iter().filter(|pool| pool.rollout == Rollout::Runs);
    let estimate = running.map(|pool| PoolEstimate {
        name: pool.name.clone(),
        at_once: pool.at_once(),
        iterations: pool.iterations(),
        spread: pool.machines.node_time(parameters).times(pool.iterations()),
    });
    estimate.collect()
}
