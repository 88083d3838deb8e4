//! Plans: small ones that read like the manual, and what holds of every plan of a random cluster.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the finding")]

use std::collections::{BTreeMap, BTreeSet};

use towpath_core::chance::Chance;
use towpath_core::cluster::Fact;
use towpath_core::cluster::health::ClusterHealth;
use towpath_core::duration::{Ground, Machines, MaxUnavailable, Parameters};
use towpath_core::nodes::{
    Model, NoPlan, NodeIdx, NodesPlan, PlanRequest, PlannedWave, PodIdx, PoolOutlook, plan,
};
use towpath_testing_nodes::{RandomCluster, cluster, overdrawn};

fn planned(health: &ClusterHealth, request: &PlanRequest) -> NodesPlan {
    let model = Model::of(health).unwrap();
    let machines = Machines::on(Ground::Cloud);
    plan(model, request, &machines, &Parameters::usual()).unwrap()
}

/// A line for each wave, and for what is left out or done at the end.
fn told(story: &str, request: &PlanRequest) -> String {
    let plan = planned(&cluster(story), request);
    let node = |node: &NodeIdx| plan.model.node(*node).name.to_string();
    let pod = |pod: &PodIdx| plan.model.pod(*pod).name.to_string();
    let wave = |wave: &PlannedWave| {
        let nodes: Vec<String> = wave.nodes.iter().map(node).collect();
        let mut moves: Vec<String> = wave
            .drain
            .moves
            .iter()
            .map(|one| {
                let to = one.to.as_ref().map_or("nowhere".to_owned(), node);
                format!("{} to {to}", pod(&one.pod))
            })
            .collect();
        moves.sort();
        format!("{}: {}", nodes.join(" "), moves.join(", "))
    };
    let mut lines = Vec::new();
    for pool in &plan.pools {
        lines.push(match pool.state {
            PoolOutlook::Goes => format!("pool {}", pool.name),
            PoolOutlook::Paused => format!("pool {} is paused", pool.name),
            PoolOutlook::NoSlot => format!("pool {} has no slot", pool.name),
        });
        lines.extend(pool.waves.iter().map(wave));
        for held in &pool.held {
            let pods: Vec<String> = held.pods.iter().map(pod).collect();
            lines.push(format!(
                "{} is held by {}",
                node(&held.node),
                pods.join(" ")
            ));
        }
        for one in &pool.rebalanced {
            let to = one.to.as_ref().map_or("nowhere".to_owned(), node);
            lines.push(format!("at the end {} to {to}", pod(&one.pod)));
        }
    }
    lines.join("\n")
}

fn plain(story: &str) -> String {
    told(story, &PlanRequest::default())
}

#[test]
fn the_node_with_the_fewest_pods_goes_first_and_the_others_follow_by_zone_and_age() {
    let story = "
        pool worker
        node w1 zone a created 2026-01-02T00:00:00Z
        node w2 zone a created 2026-01-01T00:00:00Z
        node w3 zone b
        pod shop/a-1 on w1 owner Job/a cpu 500 mem 1000
        pod shop/b-1 on w2 owner Job/b cpu 500 mem 1000
    ";
    let plan = planned(&cluster(story), &PlanRequest::default());
    let waves = plan.pools[0].waves.iter();
    let order: Vec<&str> = waves
        .map(|wave| &*plan.model.node(wave.nodes[0]).name)
        .collect();
    assert_eq!(order, ["w3", "w2", "w1"]);
    assert!(!plan.pools[0].is_usual_order);
}

#[test]
fn a_moved_pod_lands_where_it_can_stay() {
    let story = "
        pool worker
        node w1
        node w2
        node w3
        node w4
        pod shop/a-1 on w2 owner Job/a cpu 100 mem 100
        pod shop/b-1 on w3 owner Job/b cpu 100 mem 100
        pod shop/c-1 on w4 owner Job/c cpu 100 mem 100
    ";
    let told = plain(story);
    // w1 is empty, and goes first; the next finds it updated.
    assert!(
        told.starts_with("pool worker\nw1: \nw2: a-1 to w1\n"),
        "{told}"
    );
}

#[test]
fn no_wave_has_more_nodes_than_may_be_away_nor_two_zones() {
    let story = "
        pool worker max 2
        node w1 zone a
        node w2 zone a
        node w3 zone a
        node w4 zone b
        node w5 zone b
    ";
    assert_eq!(plain(story), "pool worker\nw1 w2: \nw3: \nw4 w5: ");
    // One that is away already takes a slot, and does not go.
    let cordoned = story.replace("node w5 zone b", "node w5 zone b cordoned");
    assert_eq!(plain(&cordoned), "pool worker\nw1: \nw2: \nw3: \nw4: ");
    let both = cordoned.replace("node w4 zone b", "node w4 zone b not-ready");
    assert_eq!(plain(&both), "pool worker has no slot");
}

#[test]
fn a_node_that_cannot_be_drained_is_held_and_the_others_go() {
    let story = "
        pool worker
        node w1
        node w2
        node w3
        pod shop/a-1 on w2 owner Deployment/a app a cpu 100 mem 100
        budget shop/a app a never
    ";
    assert_eq!(plain(story), "pool worker\nw1: \nw3: \nw2 is held by a-1");
}

#[test]
fn paused_empty_and_single_pools() {
    assert_eq!(
        plain("pool worker\npool infra paused\nnode w1\nnode i1 pool infra\npool gpu"),
        "pool gpu\npool infra is paused\npool worker\nw1: "
    );
    // Its pods have nowhere to go, so its node is not drained.
    let single = "pool worker\nnode w1\npod shop/a-1 on w1 owner Job/a cpu 100";
    assert_eq!(plain(single), "pool worker\nw1: ");
    // Without pools, all nodes are of one, and go one by one.
    assert_eq!(plain("node w1\nnode w2"), "pool all nodes\nw1: \nw2: ");
    assert_eq!(plain(""), "pool all nodes");
}

#[test]
fn the_control_plane_goes_first_and_one_by_one() {
    let story = "
        pool a max 2
        pool master max 3
        node a1 pool a
        node a2 pool a
        node m1 pool master
        node m2 pool master
        node m3 pool master
    ";
    assert_eq!(
        plain(story),
        "pool master\nm1: \nm2: \nm3: \npool a\na1 a2: "
    );
    let only = PlanRequest {
        pool: Some("a".into()),
        ..PlanRequest::default()
    };
    assert_eq!(told(story, &only), "pool a\na1 a2: ");
}

#[test]
fn what_does_not_fit_makes_a_wave_smaller() {
    let story = "
        pool worker max 2
        node w1
        node w2
        node w3
        pod shop/a-1 on w1 owner Job/a cpu 3000 mem 100
        pod shop/b-1 on w2 owner Job/b cpu 3000 mem 100
    ";
    assert_eq!(
        plain(story),
        "pool worker\nw3: \nw1: a-1 to w3\nw2: b-1 to w1"
    );
}

#[test]
fn a_pool_that_is_not_there_is_an_error() {
    let model = Model::of(&cluster("pool worker\nnode w1")).unwrap();
    let request = PlanRequest {
        pool: Some("wroker".into()),
        ..PlanRequest::default()
    };
    let machines = Machines::on(Ground::Cloud);
    let problem = plan(model, &request, &machines, &Parameters::usual()).unwrap_err();
    assert_eq!(
        problem,
        NoPlan::NoPool("wroker".into(), "worker".to_owned())
    );
}

fn random(seed: u64) -> RandomCluster {
    let mut chance = Chance::of(seed);
    RandomCluster {
        nodes: 1 + chance.below(40) as usize,
        zones: chance.below(4) as usize,
        fill_percent: 30 + chance.below(65),
        pods_per_node: 5 + chance.below(20),
        budgets_percent: chance.below(100),
        max_unavailable: MaxUnavailable::Count(1 + chance.below(6) as u32),
    }
}

/// Some of what makes clusters hard: nodes that are away, budgets that never allow anything, pods of nobody.
fn made_hard(health: &mut ClusterHealth, seed: u64) {
    let mut chance = Chance::of(seed ^ 0xa5a5);
    if let Fact::Known(nodes) = &mut health.nodes {
        for node in nodes {
            node.is_cordoned = chance.below(20) == 0;
            node.is_ready = Fact::Known(chance.below(30) > 0);
        }
    }
    if let Fact::Known(budgets) = &mut health.budgets {
        for budget in budgets {
            if chance.below(8) == 0 {
                budget.allowed = Fact::Known(0);
            }
        }
    }
    if let Fact::Known(pods) = &mut health.pods {
        for pod in pods.iter_mut().filter(|_| chance.below(60) == 0) {
            pod.owner = None;
        }
    }
}

#[test]
fn whatever_the_cluster_a_plan_keeps_its_limits() {
    for seed in 0..120 {
        let mut health = random(seed).placed(seed);
        if seed % 2 == 0 {
            made_hard(&mut health, seed);
        }
        let surge = u32::from(seed % 5 == 0);
        let request = PlanRequest {
            seed,
            surge,
            ..PlanRequest::default()
        };
        let plan = planned(&health, &request);
        let pool = &plan.pools[0];
        let mut gone = BTreeSet::new();
        for wave in &pool.waves {
            assert!(
                wave.nodes.len() + pool.away.len() <= pool.most_away,
                "{seed}"
            );
            let zones: BTreeSet<_> = wave
                .nodes
                .iter()
                .map(|node| plan.model.node(*node).zone)
                .collect();
            assert_eq!(zones.len(), 1, "{seed}: never two zones at once");
            assert!(
                wave.nodes.iter().all(|node| gone.insert(*node)),
                "{seed}: once"
            );
            assert!(wave.drain.stuck.is_empty(), "{seed}");
        }
        let held: BTreeSet<NodeIdx> = pool.held.iter().map(|held| held.node).collect();
        assert!(held.is_disjoint(&gone), "{seed}");
        let accounted = gone.len() + held.len() + pool.away.len();
        let all = health.nodes.known().unwrap().len();
        match pool.state {
            PoolOutlook::Goes => assert_eq!(accounted, all, "{seed}: no node is forgotten"),
            _ => assert!(gone.is_empty() && held.is_empty(), "{seed}"),
        }
        assert_eq!(overdrawn(&plan), 0, "{seed}: no budget is violated");
        follow(&plan, seed);
    }
}

/// Follows every move: a pod leaves the node that it is on, and no node takes what it has no room for, or is away.
fn follow(plan: &NodesPlan, seed: u64) {
    let model = &plan.model;
    let mut place: BTreeMap<PodIdx, Option<NodeIdx>> =
        model.pods().map(|(pod, of)| (pod, of.node)).collect();
    let mut check = |pod: PodIdx, from: Option<NodeIdx>, to: Option<NodeIdx>, away: &[NodeIdx]| {
        assert_eq!(place[&pod], from, "{seed}");
        assert!(to.is_none_or(|to| !away.contains(&to)), "{seed}");
        place.insert(pod, to);
    };
    for pool in &plan.pools {
        for wave in &pool.waves {
            for one in &wave.drain.moves {
                check(one.pod, Some(one.from), one.to, &wave.nodes);
            }
            for (pod, to) in &wave.returned {
                check(*pod, None, Some(*to), &[]);
            }
        }
        for one in &pool.rebalanced {
            check(one.pod, Some(one.from), one.to, &pool.removed);
        }
    }
    let mut used: BTreeMap<NodeIdx, towpath_core::cluster::health::Room> = BTreeMap::new();
    for (pod, node) in place {
        if let Some(node) = node {
            let used = used.entry(node).or_default();
            *used = used.and(model.pod(pod).requests);
        }
    }
    for (node, used) in used {
        assert!(
            model.node(node).room.holds(used),
            "{seed}: {node:?} is overfull"
        );
    }
}

#[test]
fn the_same_cluster_in_another_order_has_the_same_plan() {
    for seed in 0..20 {
        let health = random(seed).placed(seed);
        let mut turned = health.clone();
        if let Fact::Known(nodes) = &mut turned.nodes {
            nodes.reverse();
        }
        if let Fact::Known(pods) = &mut turned.pods {
            let turn = 7.min(pods.len());
            pods.rotate_left(turn);
            pods.reverse();
        }
        if let Fact::Known(budgets) = &mut turned.budgets {
            budgets.reverse();
        }
        let request = PlanRequest::default();
        let (one, other) = (planned(&health, &request), planned(&turned, &request));
        assert_eq!(one.pools, other.pools, "{seed}");
        assert_eq!(one.outcome, other.outcome, "{seed}");
    }
}

#[test]
fn planned_reboots_are_as_calm_as_they_can_be() {
    for (fill_percent, percent) in [(60, 120), (80, 150)] {
        for seed in 0..40 {
            let mut chance = Chance::of(seed);
            let random = RandomCluster {
                nodes: 6 + chance.below(25) as usize,
                fill_percent,
                ..RandomCluster::default()
            };
            let plan = planned(&random.placed(seed), &PlanRequest::default());
            let pool = &plan.pools[0];
            let again = plan.outcome.moved_again;
            assert!(
                again * 100 <= pool.bound * percent,
                "{seed}: {again} of {}",
                pool.bound
            );
            assert!(pool.loads[1].are_even(), "{seed}: {:?}", pool.loads);
            assert_eq!((plan.outcome.waited, plan.outcome.stuck), (0, 0), "{seed}");
        }
    }
}

#[test]
fn with_a_node_more_hardly_a_pod_moves_twice() {
    let (mut pods, mut again) = (0, 0);
    for seed in 0..30 {
        let random = RandomCluster {
            nodes: 6 + seed as usize,
            ..RandomCluster::default()
        };
        let request = PlanRequest {
            surge: 1,
            ..PlanRequest::default()
        };
        let plan = planned(&random.placed(seed), &request);
        let pool = &plan.pools[0];
        assert_eq!((pool.added.len(), pool.removed.len()), (1, 1), "{seed}");
        pods += pool.pods;
        again += plan.outcome.moved_again;
    }
    assert!(again * 100 <= pods, "{again} of {pods}");
}
