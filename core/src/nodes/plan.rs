//! The plan of a rolling reboot: which nodes go together and in which order, what moves where, and what is left to do at the end.
//!
//! - Pools go one after the other, the control plane's first. A paused pool stays.
//! - A wave has nodes of one zone, and no more than `maxUnavailable` together with those that are away already.
//! - Nodes that are not updated yet have a hard mark, so that a moved pod lands where it can stay. Where nothing else has room, the
//!   mark is soft for that pod.
//! - A wave is no larger than the updated nodes have room for. The first has nowhere to go but to nodes that follow, so its nodes
//!   are those with the fewest pods.
//!
//! Everything is simulated with the rules of the scheduler. A node whose drain does not end is held, and tried again at the end.

use super::model::{Model, ModelPool, NodeIdx, PodIdx};
use super::pool_planning::PoolPlanning;
use super::rebalance::Loads;
use super::rolling::{RebootOutcome, rolling_reboot};
use super::simulation::{Drain, Move, Simulation, Steering};
use super::waves::{usual_place, zones_in_order};
use crate::cluster::objects::CONTROL_PLANE_POOL;
use crate::duration::{Machines, Parameters, Spread, waves_take};
use crate::fleet::Name;

/// The most nodes that may be added for an update.
pub const MAX_SURGE: u32 = 100;

/// What a plan is asked to do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlanRequest {
    /// Only this pool. None: all that are not paused.
    pub pool: Option<Name>,
    /// So many nodes are added to each pool of workers for the time of the update.
    pub surge: u32,
    /// What the scheduler leaves to chance follows from it.
    pub seed: u64,
}

/// In which order nodes go, and what that does.
#[derive(Debug, Clone)]
pub struct NodesPlan {
    pub model: Model,
    /// In the order in which they go.
    pub pools: Vec<PoolPlan>,
    /// How long all waves take: P10, P50 and P90.
    pub takes: Spread,
    /// What happens to pods in all.
    pub outcome: RebootOutcome,
    /// The same if the nodes went in the order and number that the machine-config operator takes them, with its soft mark.
    pub unplanned: RebootOutcome,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PoolPlan {
    pub name: Name,
    pub state: PoolOutlook,
    /// How many of its nodes may be away at once, and how many are already.
    pub most_away: usize,
    pub away: Vec<NodeIdx>,
    pub waves: Vec<PlannedWave>,
    /// Nodes that cannot be drained.
    pub held: Vec<HeldNode>,
    /// Added before the first wave, and removed after the last.
    pub added: Vec<NodeIdx>,
    pub removed: Vec<NodeIdx>,
    /// What is moved off the nodes that are removed, and to make the nodes even.
    pub rebalanced: Vec<Move>,
    /// Those of them that land there only if the other nodes are closed to new pods meanwhile.
    pub steered: Vec<PodIdx>,
    /// How many pods a drain of its nodes moves.
    pub pods: usize,
    /// How many of them move more than once at least, with as many nodes away at once as in the first wave.
    pub bound: usize,
    /// How full its nodes are before and after.
    pub loads: [Loads; 2],
    /// How long its waves take: P10, P50 and P90.
    pub takes: Spread,
    /// Whether the machine-config operator takes its nodes in this order by itself.
    pub is_usual_order: bool,
}

impl PoolPlan {
    /// How many nodes each wave has.
    fn sizes(&self) -> Vec<usize> {
        self.waves.iter().map(|wave| wave.nodes.len()).collect()
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PoolOutlook {
    #[default]
    Goes,
    Paused,
    /// As many of its nodes are away as may be.
    NoSlot,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlannedWave {
    pub nodes: Vec<NodeIdx>,
    pub zone: Option<u32>,
    /// What the drain does.
    pub drain: Drain,
    /// Where pods go that waited for these nodes.
    pub returned: Vec<(PodIdx, NodeIdx)>,
}

/// A node that cannot be drained, and the pods that may not be evicted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldNode {
    pub node: NodeIdx,
    pub pods: Vec<PodIdx>,
}

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoPlan {
    #[error("there is no pool {0}; the cluster has {1}")]
    NoPool(Name, String),
    #[error("at most {MAX_SURGE} nodes are added for an update, and these are {0}")]
    TooMuchSurge(u32),
}

/// Plans. The same cluster and request give the same plan.
pub fn plan(
    model: Model,
    request: &PlanRequest,
    machines: &Machines,
    parameters: &Parameters,
) -> Result<NodesPlan, NoPlan> {
    let names = pools_in_order(&model, request)?;
    let unplanned = unplanned(&model, &names, request.seed);
    let (model, added) = with_surge(model, &names, request.surge);
    let mut simulation = Simulation::new(&model, request.seed);
    for pool in names.iter().map(|name| pool_named(&model, name)) {
        if outlook(&model, pool) == PoolOutlook::Goes {
            simulation.steer(candidates(&model, pool), Steering::Hard);
        }
    }
    let node_takes = machines.node_time(parameters);
    let mut pools: Vec<PoolPlan> = Vec::new();
    for name in &names {
        let pool = pool_named(&model, name);
        let mut planned = PoolPlanning::of(&model, pool, &added).run(&mut simulation);
        planned.takes = waves_take(&planned.sizes(), node_takes, request.seed);
        pools.push(planned);
    }
    let sizes: Vec<usize> = pools.iter().flat_map(PoolPlan::sizes).collect();
    let mut outcome = simulation.outcome();
    let waves = || pools.iter().flat_map(|pool| &pool.waves);
    outcome.waited = waves().map(|wave| wave.drain.waiting.len()).sum();
    outcome.stuck = pools
        .iter()
        .flat_map(|pool| &pool.held)
        .map(|held| held.pods.len())
        .sum();
    Ok(NodesPlan {
        takes: waves_take(&sizes, node_takes, request.seed),
        pools,
        outcome,
        unplanned,
        model,
    })
}

/// The control plane first, then by name.
fn pools_in_order(model: &Model, request: &PlanRequest) -> Result<Vec<Name>, NoPlan> {
    if request.surge > MAX_SURGE {
        return Err(NoPlan::TooMuchSurge(request.surge));
    }
    let mut names: Vec<Name> = model.pools.iter().map(|pool| pool.name.clone()).collect();
    names.sort_by_key(|name| (**name != *CONTROL_PLANE_POOL, name.clone()));
    match &request.pool {
        None => Ok(names),
        Some(wanted) if names.contains(wanted) => Ok(vec![wanted.clone()]),
        Some(wanted) => {
            let known: Vec<&str> = names.iter().map(|name| &**name).collect();
            Err(NoPlan::NoPool(wanted.clone(), known.join(", ")))
        }
    }
}

fn pool_named<'m>(model: &'m Model, name: &Name) -> &'m ModelPool {
    let mut pools = model.pools.iter();
    let pool = pools.find(|pool| pool.name == *name);
    pool.expect("a pool that was listed is there")
}

/// Adds nodes to each pool of workers that goes, in the zone that goes last.
fn with_surge(mut model: Model, names: &[Name], surge: u32) -> (Model, Vec<NodeIdx>) {
    let mut added = Vec::new();
    for name in names.iter().filter(|name| ***name != *CONTROL_PLANE_POOL) {
        let pool = pool_named(&model, name);
        let order = zones_in_order(&model, &candidates(&model, pool));
        let like = order.last().and_then(|zone| zone.first().copied());
        let Some(like) = like.filter(|_| surge > 0 && !pool.is_paused) else {
            continue;
        };
        let (with, new) = model.with_surge(like, surge);
        model = with;
        added.extend(new);
    }
    (model, added)
}

/// The nodes that the machine-config operator takes: those of the pool that are ready and not cordoned.
pub(super) fn candidates(model: &Model, pool: &ModelPool) -> Vec<NodeIdx> {
    let own = pool.nodes.iter().copied();
    own.filter(|node| {
        let node = model.node(*node);
        node.is_ready && !node.is_cordoned && !node.is_surge
    })
    .collect()
}

/// Nodes that are away already, whoever caused it. The operator takes no cordoned node.
pub(super) fn away<'m>(
    model: &'m Model,
    pool: &'m ModelPool,
) -> impl Iterator<Item = NodeIdx> + 'm {
    let lasting = pool.nodes.iter().copied();
    lasting.filter(|node| {
        let node = model.node(*node);
        (!node.is_ready || node.is_cordoned) && !node.is_surge
    })
}

/// etcd keeps its quorum only if the control plane's nodes go one by one.
pub(super) fn most_away(model: &Model, pool: &ModelPool) -> usize {
    match *pool.name == *CONTROL_PLANE_POOL {
        true => 1,
        false => model.most_away(pool),
    }
}

/// How many more nodes may go at once.
pub(super) fn slots(model: &Model, pool: &ModelPool) -> usize {
    most_away(model, pool).saturating_sub(away(model, pool).count())
}

pub(super) fn outlook(model: &Model, pool: &ModelPool) -> PoolOutlook {
    match (pool.is_paused, slots(model, pool)) {
        (true, _) => PoolOutlook::Paused,
        (false, 0) if !candidates(model, pool).is_empty() => PoolOutlook::NoSlot,
        _ => PoolOutlook::Goes,
    }
}

/// What would happen without a plan: as many nodes as may be in the operator's order, with its soft mark.
fn unplanned(model: &Model, names: &[Name], seed: u64) -> RebootOutcome {
    let mut waves = Vec::new();
    for name in names {
        let pool = pool_named(model, name);
        let mut order = candidates(model, pool);
        order.sort_by_key(|node| usual_place(model, *node));
        let limit = slots(model, pool);
        if !pool.is_paused && limit > 0 {
            waves.extend(order.chunks(limit).map(<[NodeIdx]>::to_vec));
        }
    }
    rolling_reboot(model, &waves, Steering::Soft, seed)
}
