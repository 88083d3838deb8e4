//! What stands in the way of a planned reboot, as rules: may these nodes be drained, and do their pods have a place?
//!
//! What budgets and nodes say themselves is judged by the rules of the cluster. The simulation adds what it found out: drains that
//! do not end, and pods that wait. What is not known is said, and never taken for fine.

use std::collections::{BTreeMap, BTreeSet};

use super::model::{Model, NO_POOL, NodeIdx, PodIdx};
use super::plan::{NodesPlan, PoolOutlook, PoolPlan};
use crate::cluster::Fact;
use crate::cluster::health::{ClusterHealth, Pod};
use crate::cluster::objects::ObjectKind;
use crate::cluster::rules::{budgets, node_room, not_given, partly_given};
use crate::fleet::Name;
use crate::rules::{PlainRule, Policy, Question, Rule};
use crate::verdict::{Code, Value, Verdict};

/// Questions about the drains of a plan.
pub struct Drains;

impl Question for Drains {
    type At<'a> = DrainQuestion<'a>;
}

/// What do a cluster's objects have against this plan?
#[derive(Clone, Copy)]
pub struct DrainQuestion<'a> {
    pub plan: &'a NodesPlan,
    /// What is known of the nodes that are planned, and of the pods on them.
    pub health: &'a ClusterHealth,
}

static DRAIN_DOES_NOT_END: Code = Code::new(
    "DrainDoesNotEnd",
    "node {node} cannot be drained: these pods may not be evicted: {pods}",
    "settle what is said about their PodDisruptionBudgets, or make room for them; then plan again",
)
.by("oc adm drain {node} --ignore-daemonsets --delete-emptydir-data --dry-run=server")
.about("{node}")
.with(&[("node", "w1"), ("pods", "shop/db-0, shop/db-1")]);

static PODS_WITHOUT_OWNER: Code = Code::new(
    "PodsWithoutOwner",
    "the drain of node {node} deletes pods that nothing makes again: {pods}",
    "delete them if nobody needs them, or run them from a Deployment or a Job",
)
.by("oc get pods --all-namespaces --field-selector spec.nodeName={node}")
.about("{node}")
.with(&[("node", "w1"), ("pods", "shop/debug")]);

static PODS_FIT_NOWHERE: Code = Code::new(
    "PodsFitNowhere",
    "while node {node} is away, these pods have no place and wait: {pods}",
    "add a node, lower what they request, or let them run on more nodes",
)
.by("oc adm top nodes")
.about("{node}")
.with(&[("node", "w1"), ("pods", "shop/web-1")]);

static VOLUMES_KEEP_PODS: Code = Code::new(
    "VolumesKeepPods",
    "while node {node} is away, these pods wait: no other node with room reaches their volumes: {pods}",
    "add a node where the volumes can be reached, in their zone",
)
.by("oc get persistentvolumes -o wide")
.about("{node}")
.with(&[("node", "w1"), ("pods", "shop/db-0")]);

static NODE_IS_CORDONED: Code = Code::new(
    "NodeIsCordoned",
    "node {node} is cordoned: the machine-config operator leaves it out, and counts it as away",
    "uncordon {node}, or remove it",
)
.by("oc adm uncordon {node}")
.checked_by("oc get node {node}")
.about("{node}")
.with(&[("node", "w1")]);

static POOL_HAS_NO_SLOT: Code = Code::new(
    "PoolHasNoSlot",
    "no node of pool {pool} can go: {most} may be away, and these are already: {nodes}",
    "bring these nodes back, or raise maxUnavailable of {pool}",
)
.by("oc get machineconfigpool {pool}")
.about("{pool}")
.with(&[("pool", "worker"), ("most", "1"), ("nodes", "w3")]);

static NODES_OF_NO_POOL: Code = Code::new(
    "NodesOfNoPool",
    "nobody can tell which pool updates these nodes, so they are not planned: {nodes}",
    "give all MachineConfigPools, and label the nodes for one of them",
)
.by("oc get machineconfigpools -o wide")
.with(&[("nodes", "w7, w8")]);

static POOL_STAYS: Code = Code::new(
    "PoolStays",
    "pool {pool} is paused, so its nodes stay as they are",
    "unpause it when its nodes may go",
)
.about("{pool}")
.with(&[("pool", "infra")])
.note();

static NOT_SIMULATED: Code = Code::new(
    "NotSimulated",
    "the simulation leaves out what {count|pod asks|pods ask} for: {what}",
    "look at these pods yourself: they may have fewer places than the plan thinks",
)
.with(&[("count", "3"), ("what", "pod affinity")])
.note();

type DrainRule = PlainRule<Drains>;

static BUDGETS: DrainRule = DrainRule::new(&budgets::DRAIN_CODES, |q| {
    let health = q.health;
    match &health.budgets {
        Fact::Unknown => not_given(ObjectKind::PodDisruptionBudget),
        Fact::Known(budgets) => budgets::judge_all(budgets, health)
            .and(partly_given(health, ObjectKind::PodDisruptionBudget)),
    }
});

static OBJECTS: DrainRule = DrainRule::new(&[], |q| {
    let needs_volumes = |pod: &Pod| pod.is_evicted() && !pod.placement.claims.is_empty();
    let mut pods = q.health.pods.known().into_iter().flatten();
    let volumes = match &q.health.volumes {
        Fact::Unknown if pods.any(needs_volumes) => not_given(ObjectKind::PersistentVolume),
        _ => Verdict::recommend(),
    };
    let pools = match &q.health.pools {
        Fact::Unknown => not_given(ObjectKind::MachineConfigPool),
        Fact::Known(_) => Verdict::recommend(),
    };
    let nodes = q.health.nodes.known().map(|nodes| node_room::states(nodes));
    let pods = partly_given(q.health, ObjectKind::Pod);
    [volumes, pools, pods].into_iter().chain(nodes).collect()
});

static POOLS: DrainRule = DrainRule::new(
    &[
        &NODE_IS_CORDONED,
        &POOL_HAS_NO_SLOT,
        &NODES_OF_NO_POOL,
        &POOL_STAYS,
    ],
    |q| {
        let model = &q.plan.model;
        let of_pools = q.plan.pools.iter().map(|pool| of_pool(model, pool));
        of_pools.chain([of_no_pool(q)]).collect()
    },
);

static SIMULATED: DrainRule = DrainRule::new(
    &[
        &DRAIN_DOES_NOT_END,
        &PODS_WITHOUT_OWNER,
        &PODS_FIT_NOWHERE,
        &VOLUMES_KEEP_PODS,
    ],
    |q| {
        let pools = q.plan.pools.iter();
        pools.map(|pool| simulated(&q.plan.model, pool)).collect()
    },
);

static LEFT_OUT: DrainRule = DrainRule::new(&[&NOT_SIMULATED], |q| {
    let mut asked: BTreeMap<&Name, u64> = BTreeMap::new();
    let pods = q.health.pods.known().into_iter().flatten();
    for pod in pods.filter(|pod| pod.is_evicted()) {
        for what in &pod.placement.others {
            *asked.entry(what).or_default() += 1;
        }
    }
    let told = |(what, count): (&Name, u64)| {
        Verdict::inform(NOT_SIMULATED.because([("count", count.into()), ("what", what.into())]))
    };
    asked.into_iter().map(told).collect()
});

static ALL: Policy<Drains> = Policy(&[&BUDGETS, &LEFT_OUT, &OBJECTS, &POOLS, &SIMULATED]);

/// What stands in the way of a plan.
pub fn blockers(plan: &NodesPlan, health: &ClusterHealth) -> Verdict {
    let health = &concerned(plan, health);
    ALL.judge(&DrainQuestion { plan, health })
}

/// The kinds of reasons that only plans of nodes have.
pub(crate) fn drain_codes() -> Vec<&'static Code> {
    let of_rules = [&POOLS, &SIMULATED, &LEFT_OUT];
    of_rules.into_iter().flat_map(Rule::codes).collect()
}

/// What is known of the nodes of the planned pools, and of the pods on them.
fn concerned(plan: &NodesPlan, health: &ClusterHealth) -> ClusterHealth {
    let planned = |pool: &Name| {
        plan.pools
            .iter()
            .any(|one| one.name == *pool && one.state != PoolOutlook::Paused)
    };
    let is_single = plan.pools.iter().any(|pool| *pool.name == *NO_POOL);
    let nodes = health.nodes.known().into_iter().flatten();
    let nodes: Vec<_> = nodes
        .filter(|node| is_single || node.pool.known().is_some_and(planned))
        .cloned()
        .collect();
    let names: BTreeSet<&Name> = nodes.iter().map(|node| &node.name).collect();
    let is_there = |pod: &&Pod| pod.node.as_ref().is_some_and(|node| names.contains(node));
    let pods = health.pods.known().into_iter().flatten();
    let pods = pods.filter(is_there).cloned().collect();
    ClusterHealth {
        pods: Fact::Known(pods),
        budgets: health.budgets.clone(),
        volumes: health.volumes.clone(),
        pools: health.pools.clone(),
        partly: health.partly.clone(),
        nodes: Fact::Known(nodes),
        ..ClusterHealth::default()
    }
}

fn of_pool(model: &Model, pool: &PoolPlan) -> Verdict {
    let name = |node: &NodeIdx| Value::from(&model.node(*node).name);
    let cordoned = pool
        .away
        .iter()
        .filter(|node| model.node(**node).is_cordoned);
    let cordoned =
        cordoned.map(|node| Verdict::refuse(NODE_IS_CORDONED.because([("node", name(node))])));
    let of_pool = match pool.state {
        PoolOutlook::Goes => Verdict::recommend(),
        PoolOutlook::Paused => {
            return Verdict::inform(POOL_STAYS.because([("pool", (&pool.name).into())]));
        }
        PoolOutlook::NoSlot => Verdict::refuse(POOL_HAS_NO_SLOT.because([
            ("pool", (&pool.name).into()),
            ("most", (pool.most_away as u64).into()),
            (
                "nodes",
                Value::list(pool.away.iter().map(|node| &model.node(*node).name)),
            ),
        ])),
    };
    cordoned.chain([of_pool]).collect()
}

fn of_no_pool(q: &DrainQuestion<'_>) -> Verdict {
    let lost = q.plan.model.nodes().filter(|(_, node)| node.pool.is_none());
    let names: Vec<&Name> = lost.map(|(_, node)| &node.name).collect();
    match names.is_empty() {
        true => Verdict::recommend(),
        false => Verdict::refuse(NODES_OF_NO_POOL.because([("nodes", Value::list(names))])),
    }
}

/// What the simulation found out: for each node, and for each kind of trouble, its pods.
fn simulated(model: &Model, pool: &PoolPlan) -> Verdict {
    let mut pods: BTreeMap<(&'static Code, NodeIdx), Vec<PodIdx>> = BTreeMap::new();
    for held in &pool.held {
        let stuck = pods.entry((&DRAIN_DOES_NOT_END, held.node)).or_default();
        stuck.extend(&held.pods);
    }
    for wave in &pool.waves {
        let from = |pod: &PodIdx| {
            let mut moves = wave.drain.moves.iter();
            moves.find(|one| one.pod == *pod).map(|one| one.from)
        };
        let lost = wave.drain.lost.iter().map(|pod| (&PODS_WITHOUT_OWNER, pod));
        let waiting = wave
            .drain
            .waiting
            .iter()
            .map(|pod| match model.is_bound_by_volumes(*pod) {
                true => (&VOLUMES_KEEP_PODS, pod),
                false => (&PODS_FIT_NOWHERE, pod),
            });
        for (code, pod) in lost.chain(waiting) {
            if let Some(node) = from(pod) {
                pods.entry((code, node)).or_default().push(*pod);
            }
        }
    }
    let told = |((code, node), pods): ((&'static Code, NodeIdx), Vec<PodIdx>)| {
        let names = pods.iter().map(|pod| {
            let pod = model.pod(*pod);
            format!("{}/{}", pod.namespace, pod.name)
        });
        let names: Vec<String> = names.collect();
        Verdict::refuse(code.because([
            ("node", (&model.node(node).name).into()),
            ("pods", Value::list(names.iter().map(String::as_str))),
        ]))
    };
    pods.into_iter().map(told).collect()
}
