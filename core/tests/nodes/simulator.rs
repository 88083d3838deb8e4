//! The simulated scheduler and drains, told in small clusters.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the finding")]

use towpath_core::nodes::{Model, NodeIdx, Simulation, Steering, rolling_reboot};
use towpath_testing_nodes::{RandomCluster, cluster};

/// A line for each move of a drain of these nodes; then what did not work.
fn drained(story: &str, nodes: &[&str]) -> String {
    let model = Model::of(&cluster(story)).unwrap();
    let mut simulation = Simulation::new(&model, 1);
    let nodes: Vec<NodeIdx> = nodes
        .iter()
        .map(|name| model.node_named(name).unwrap())
        .collect();
    let drain = simulation.drain(&nodes);
    let name = |pod| model.pod(pod).name.to_string();
    let mut lines: Vec<String> = drain
        .moves
        .iter()
        .map(|moved| {
            let to = moved.to.map(|to| model.node(to).name.to_string());
            format!(
                "{} to {}",
                name(moved.pod),
                to.as_deref().unwrap_or("nowhere")
            )
        })
        .collect();
    lines.sort();
    for (what, pods) in [("stuck", drain.stuck), ("lost", drain.lost)] {
        lines.extend(pods.into_iter().map(|pod| format!("{what}: {}", name(pod))));
    }
    lines.join("\n")
}

#[test]
fn a_pod_goes_to_the_emptier_node() {
    let story = "
        node w1
        node w2
        node w3
        pod shop/a-1 on w1 owner Job/a cpu 1000 mem 2048
        pod shop/b-1 on w2 owner Job/b cpu 2000 mem 4096
    ";
    assert_eq!(drained(story, &["w1"]), "a-1 to w3");
}

#[test]
fn pods_of_one_owner_are_spread_over_nodes_with_a_zone() {
    let story = "
        node w1 zone a
        node w2 zone a
        node w3 zone a
        pod shop/a-1 on w1 owner Deployment/a cpu 100 mem 100
        pod shop/a-2 on w2 owner Deployment/a cpu 100 mem 100
        pod shop/a-3 on w2 owner Deployment/a cpu 100 mem 100
        pod shop/b-1 on w3 owner Job/b cpu 600 mem 1200
    ";
    assert_eq!(drained(story, &["w1"]), "a-1 to w3");
    // As in 1.20, it does not spread where no zone is known.
    let without: String = story.replace("zone a", "");
    assert_eq!(drained(&without, &["w1"]), "a-1 to w2");
}

#[test]
fn no_pod_goes_where_it_may_not() {
    let story = "
        node w1 zone a
        node w2 zone a cordoned
        node w3 zone a not-ready
        node w4 zone a silent
        node w5 zone b
        pod shop/a-1 on w1 owner StatefulSet/a cpu 100 claim data
        volume v of shop/data zone a
    ";
    assert_eq!(drained(story, &["w1"]), "a-1 to nowhere");
    let elsewhere = story.replace("volume v of shop/data zone a", "");
    assert_eq!(drained(&elsewhere, &["w1"]), "a-1 to w5");
}

#[test]
fn pods_that_keep_apart_and_pods_with_one_port_share_no_node() {
    let story = "
        node w1
        node w2
        node w3 cpu 1000
        pod shop/a-1 on w1 owner Deployment/a app a apart a cpu 100
        pod shop/a-2 on w2 owner Deployment/a app a apart a cpu 100
        pod shop/r-1 on w1 owner Deployment/r port 443 cpu 100
        pod shop/r-2 on w2 owner Deployment/r port 443 cpu 100
    ";
    assert_eq!(drained(story, &["w1"]), "a-1 to w3\nr-1 to w3");
}

#[test]
fn a_budget_lets_pods_go_as_others_are_well_again() {
    let story = "
        node w1
        node w2
        pod shop/a-1 on w1 owner Deployment/a app a cpu 100
        pod shop/a-2 on w1 owner Deployment/a app a cpu 100
        budget shop/a app a allowed 1
    ";
    assert_eq!(drained(story, &["w1"]), "a-1 to w2\na-2 to w2");
    let never = story.replace("allowed 1", "never");
    assert_eq!(drained(&never, &["w1"]), "stuck: a-1\nstuck: a-2");
    let unknown = story.replace("allowed 1", "unknown");
    assert_eq!(drained(&unknown, &["w1"]), "stuck: a-1\nstuck: a-2");
    let twice = format!("{story}\nbudget shop/all app a allowed 1");
    assert_eq!(drained(&twice, &["w1"]), "stuck: a-1\nstuck: a-2");
}

#[test]
fn a_pod_that_fits_nowhere_holds_its_budget() {
    let story = "
        node w1
        node w2 cpu 100
        pod shop/a-1 on w1 owner Deployment/a app a cpu 100
        pod shop/a-2 on w1 owner Deployment/a app a cpu 100
        pod shop/a-3 on w1 owner Deployment/a app a cpu 100
        budget shop/a app a allowed 1
    ";
    let told = drained(story, &["w1"]);
    assert!(
        told.contains("to w2") && told.contains("to nowhere"),
        "{told}"
    );
    assert_eq!(told.matches("stuck").count(), 1, "{told}");
}

#[test]
fn a_pod_without_an_owner_is_lost() {
    let story = "
        node w1
        node w2
        pod shop/debug on w1 cpu 100
        pod shop/daemon on w1 owner DaemonSet/d stays
    ";
    assert_eq!(drained(story, &["w1"]), "debug to nowhere\nlost: debug");
}

#[test]
fn one_seed_is_one_outcome_and_the_order_of_objects_changes_nothing() {
    let health = RandomCluster::default().placed(7);
    let mut turned = health.clone();
    for pods in [&mut turned.pods] {
        if let towpath_core::cluster::Fact::Known(pods) = pods {
            pods.reverse();
        }
    }
    if let towpath_core::cluster::Fact::Known(nodes) = &mut turned.nodes {
        nodes.reverse();
    }
    let outcome = |health, seed| {
        let model = Model::of(health).unwrap();
        let waves: Vec<Vec<NodeIdx>> = model.nodes().map(|(node, _)| vec![node]).collect();
        rolling_reboot(&model, &waves, Steering::Unbiased, seed)
    };
    assert_eq!(outcome(&health, 3), outcome(&turned, 3));
    assert_ne!(outcome(&health, 3), outcome(&health, 4));
}

/// The figures of docs/nodes.md are of this kind; the rig holds them against the real scheduler.
#[test]
fn steering_saves_moves() {
    let mean = |steering: Steering| {
        let of = |seed: u64| {
            let model = Model::of(&RandomCluster::default().placed(seed)).unwrap();
            let waves: Vec<Vec<NodeIdx>> = model.nodes().map(|(node, _)| vec![node]).collect();
            let outcome = rolling_reboot(&model, &waves, steering, seed);
            assert_eq!(outcome.stuck, 0);
            (outcome.moves - outcome.moved) * 1_000 / outcome.moved
        };
        (0..10).map(of).sum::<usize>() / 10
    };
    let [unbiased, soft, hard] = [Steering::Unbiased, Steering::Soft, Steering::Hard].map(mean);
    assert!(hard <= soft && soft < unbiased, "{unbiased} {soft} {hard}");
}
