//! The estimate of one update, and of several.
//!
//! ```text
//! masters       = control-plane nodes × (drain + reboot + ready), one at a time
//! until nodes   = the control plane's time on the reference cluster − its masters + what more nodes add; at least 0
//! what more nodes add = the larger of: learnt growth × nodes beyond the reference's; DaemonSet waves − the reference's waves
//! control plane = until nodes + masters
//! a pool        = iterations × (drain + reboot + ready), iterations = ceil(nodes ÷ maxUnavailable)
//! total         = until nodes + the longest of masters and pools, which run side by side
//! ```

use std::collections::BTreeMap;

use super::{
    Basis, Figure, Ground, Machines, NodeGrowth, Origin, Parameters, Rollout, Seconds, Shape,
    Spread, rollout_seconds,
};
use crate::version::Version;

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
    pub workers: Spread,
    /// Until everything is updated that is not paused.
    pub total: Spread,
    /// What the control plane's figure is about.
    pub basis: Basis,
    pub origin: Origin,
}

/// How long a pool takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolEstimate {
    pub name: String,
    /// How many of its nodes are updated at once.
    pub at_once: u32,
    /// How many times that is done.
    pub iterations: u32,
    /// How long all of them take.
    pub spread: Spread,
}

/// The control plane of a cluster: what is the same in all its updates, worked out once.
#[derive(Debug, Clone, Copy)]
pub struct ControlPlaneTimes<'p> {
    parameters: &'p Parameters,
    masters: Spread,
    /// Of the reference cluster's nodes, in what is known.
    included: Spread,
    waves: Seconds,
    /// How many nodes the cluster has beyond the reference cluster's.
    more_nodes: u32,
}

impl<'p> ControlPlaneTimes<'p> {
    /// On a cluster of that shape.
    pub fn new(shape: &Shape, parameters: &'p Parameters) -> Self {
        let Parameters { reference, .. } = parameters;
        Self {
            parameters,
            masters: shape
                .control_plane
                .machines
                .node_time(parameters)
                .times(shape.control_plane.nodes),
            included: Machines::on(Ground::Cloud)
                .node_time(parameters)
                .times(reference.control_plane_nodes),
            waves: waves(shape, parameters),
            more_nodes: shape.nodes().saturating_sub(reference.nodes),
        }
    }

    pub fn of(&self, from: &Version, to: &Version) -> Spread {
        self.with_nodes(self.parameters.control_plane(from, to).spread, self.masters)
    }

    /// Each of the three by itself; only what comes out is put in order, so that the reference cluster gets what is known of it.
    fn with_nodes(&self, known: Spread, nodes: Spread) -> Spread {
        let grown = match &self.parameters.growth {
            Some(growth) => growth.on(known, self.more_nodes),
            None => known,
        };
        let with = |known: Seconds, grown: Seconds, included: Seconds, nodes: Seconds| {
            grown
                .max(known.saturating_add(self.waves))
                .saturating_sub(included)
                .saturating_add(nodes)
        };
        Spread::new(
            with(known.low, grown.low, self.included.low, nodes.low),
            with(
                known.likely,
                grown.likely,
                self.included.likely,
                nodes.likely,
            ),
            with(known.high, grown.high, self.included.high, nodes.high),
        )
    }
}

/// How long one update takes on a cluster of that shape.
pub fn hop_duration(
    from: &Version,
    to: &Version,
    shape: &Shape,
    parameters: &Parameters,
) -> Estimate {
    let Figure {
        spread: known,
        origin,
    } = parameters.control_plane(from, to);
    let times = ControlPlaneTimes::new(shape, parameters);
    let pools = pools(shape, parameters);
    let workers = pools.iter().fold(Spread::default(), |longest, pool| {
        longest.beside(pool.spread)
    });
    Estimate {
        control_plane: times.with_nodes(*known, times.masters),
        masters: times.masters,
        waves: times.waves,
        workers,
        total: times.with_nodes(*known, times.masters.beside(workers)),
        pools,
        basis: parameters.basis(from, to),
        origin: origin.clone(),
    }
}

/// How long updates take one after the other: control planes, and all in all.
pub fn path_duration<'e>(hops: impl IntoIterator<Item = &'e Estimate>) -> (Spread, Spread) {
    hops.into_iter().fold(
        (Spread::default(), Spread::default()),
        |(control_planes, totals), hop| {
            (
                control_planes.then(hop.control_plane),
                totals.then(hop.total),
            )
        },
    )
}

/// DaemonSets beyond what they take on the reference cluster.
///
/// Those of one operator go side by side, and the longest counts. Operators go one after the other, and so do DaemonSets of which nobody has
/// said whose they are. The reference cluster has the usual one for each operator, and one for all others.
fn waves(shape: &Shape, parameters: &Parameters) -> Seconds {
    let Parameters {
        wave,
        daemon_set,
        reference,
        growth,
        ..
    } = parameters;
    let of = |nodes: u32, max_unavailable| rollout_seconds(nodes, max_unavailable, wave);
    let included = of(reference.nodes, daemon_set.max_unavailable);
    let Some(sets) = &shape.daemon_sets else {
        // What histories say of more nodes has the usual DaemonSets in it, as far as they go.
        let is_known = |growth: &NodeGrowth| shape.nodes() <= growth.up_to;
        return match growth.as_ref().is_some_and(is_known) {
            true => 0,
            false => of(shape.nodes(), daemon_set.max_unavailable).saturating_sub(included),
        };
    };
    let (mut others, mut longest) = (0, BTreeMap::<&str, Seconds>::new());
    for set in sets {
        let nodes = set.nodes.unwrap_or_else(|| shape.nodes());
        let seconds = of(nodes, set.max_unavailable);
        match &set.operator {
            None => others = seconds.saturating_add(others),
            Some(operator) => {
                let longest = longest.entry(operator).or_default();
                *longest = seconds.max(*longest);
            }
        }
    }
    let beyond = longest
        .into_values()
        .map(|seconds| seconds.saturating_sub(included));
    beyond.fold(others.saturating_sub(included), Seconds::saturating_add)
}

fn pools(shape: &Shape, parameters: &Parameters) -> Vec<PoolEstimate> {
    let running = shape
        .pools
        .iter()
        .filter(|pool| pool.rollout == Rollout::Runs);
    let estimate = running.map(|pool| PoolEstimate {
        name: pool.name.clone(),
        at_once: pool.at_once(),
        iterations: pool.iterations(),
        spread: pool.machines.node_time(parameters).times(pool.iterations()),
    });
    estimate.collect()
}
