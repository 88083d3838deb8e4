//! The plan as JSON, with every move. Field names are stable.

use serde_json::{Map, Value, json};
use towpath_core::cluster::Fact;
use towpath_core::nodes::{
    HeldNode, Loads, Model, Move, NodeIdx, PlannedWave, PodIdx, PoolOutlook, PoolPlan,
    RebootOutcome,
};

use super::{PlanReport, node_name, pod_name, zone_name};
use crate::duration::spread_json;
use crate::verdict;

/// Everything there is to say.
pub fn json(told: &PlanReport<'_>) -> Value {
    let model = &told.plan.model;
    let id = match &told.cluster.id {
        Fact::Known(id) => Some(id.as_str()),
        Fact::Unknown => None,
    };
    let counts = told.cluster.counts.iter();
    let objects: Map<String, Value> = counts
        .map(|(kind, count)| (kind.as_str().to_owned(), json!(count)))
        .collect();
    let pools = told.plan.pools.iter();
    json!({
        "at": told.now.to_string(),
        "id": id,
        "seed": told.seed,
        "answer": told.verdict.answer.word(),
        "reasons": verdict::reasons(&told.verdict.reasons),
        "pools": pools.map(|one| pool(model, one)).collect::<Vec<_>>(),
        "pods": outcome(&told.plan.outcome),
        "unplanned": outcome(&told.plan.unplanned),
        "nodeTakes": spread_json(told.node_takes),
        "takes": spread_json(told.plan.takes),
        "objects": objects,
        "unread": told.unread,
    })
}

fn outcome(outcome: &RebootOutcome) -> Value {
    json!({
        "moved": outcome.moved,
        "movedMoreThanOnce": outcome.moved_again,
        "moves": outcome.moves,
        "waited": outcome.waited,
        "stuck": outcome.stuck,
    })
}

fn pool(model: &Model, pool: &PoolPlan) -> Value {
    let [before, after] = pool.loads.map(loads);
    json!({
        "name": *pool.name,
        "state": match pool.state {
            PoolOutlook::Goes => "goes",
            PoolOutlook::Paused => "paused",
            PoolOutlook::NoSlot => "noSlot",
        },
        "mostAway": pool.most_away,
        "away": nodes(model, &pool.away),
        "waves": pool.waves.iter().map(|one| wave(model, one)).collect::<Vec<_>>(),
        "held": pool.held.iter().map(|one| held(model, one)).collect::<Vec<_>>(),
        "added": nodes(model, &pool.added),
        "removed": nodes(model, &pool.removed),
        "rebalanced": moves(model, &pool.rebalanced),
        "steered": pods(model, &pool.steered),
        "pods": pool.pods,
        "bound": pool.bound,
        "usualOrder": pool.is_usual_order,
        "takes": spread_json(pool.takes),
        "loadBefore": before,
        "loadAfter": after,
    })
}

fn wave(model: &Model, wave: &PlannedWave) -> Value {
    let returned = wave.returned.iter();
    let returned: Vec<Value> = returned
        .map(|(pod, to)| json!({"pod": pod_name(model, *pod), "to": node_name(model, *to)}))
        .collect();
    json!({
        "zone": zone_name(model, wave),
        "nodes": nodes(model, &wave.nodes),
        "moves": moves(model, &wave.drain.moves),
        "softened": wave.drain.softened,
        "waiting": pods(model, &wave.drain.waiting),
        "returned": returned,
        "lost": pods(model, &wave.drain.lost),
    })
}

fn held(model: &Model, held: &HeldNode) -> Value {
    json!({"node": node_name(model, held.node), "pods": pods(model, &held.pods)})
}

fn moves(model: &Model, moves: &[Move]) -> Vec<Value> {
    let one = |one: &Move| {
        json!({
            "pod": pod_name(model, one.pod),
            "from": node_name(model, one.from),
            "to": one.to.map(|to| node_name(model, to)),
        })
    };
    moves.iter().map(one).collect()
}

fn nodes(model: &Model, nodes: &[NodeIdx]) -> Vec<String> {
    let name = |node: &NodeIdx| node_name(model, *node).to_owned();
    nodes.iter().map(name).collect()
}

fn pods(model: &Model, pods: &[PodIdx]) -> Vec<String> {
    pods.iter().map(|pod| pod_name(model, *pod)).collect()
}

/// In thousandths of what a node can give, as the mean of CPU and memory.
fn loads(loads: Loads) -> Value {
    json!({"least": loads.least, "mean": loads.mean, "most": loads.most})
}
