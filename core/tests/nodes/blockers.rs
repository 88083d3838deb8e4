//! What stands in the way of a plan, told in small clusters.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the finding")]

use expect_test::{Expect, expect};
use towpath_core::duration::{Ground, Machines, Parameters};
use towpath_core::nodes::{Model, PlanRequest, blockers, plan};
use towpath_testing_nodes::cluster;

fn check(story: &str, expected: Expect) {
    let health = cluster(story);
    let model = Model::of(&health).unwrap();
    let machines = Machines::on(Ground::Cloud);
    let plan = plan(
        model,
        &PlanRequest::default(),
        &machines,
        &Parameters::usual(),
    );
    let verdict = blockers(&plan.unwrap(), &health);
    let reasons = verdict.reasons.iter();
    let lines = reasons.map(|reason| format!("{}: {}", reason.code().name, reason.text()));
    let lines: Vec<String> = [verdict.answer.word().to_owned()]
        .into_iter()
        .chain(lines)
        .collect();
    expected.assert_eq(&lines.join("\n"));
}

#[test]
fn nothing_stands_in_the_way() {
    check(
        "
        pool worker
        node w1
        node w2
        pod shop/a-1 on w1 owner Deployment/a app a cpu 100
        budget shop/a app a allowed 1
        ",
        expect!["yes"],
    );
}

#[test]
fn budgets_that_allow_nothing_and_pairs_that_lock_each_other() {
    check(
        "
        pool worker
        node w1
        node w2
        node w3
        pod shop/a-1 on w1 owner Deployment/a app a cpu 100
        pod shop/b-1 on w2 owner Deployment/b app b cpu 100
        budget shop/a app a never
        budget shop/b app b allowed 1
        budget shop/also app b allowed 1
        ",
        expect![[r#"
            no
            BudgetAllowsNothing: PodDisruptionBudget a of shop never allows an eviction: maxUnavailable is 0; it counts a-1 of Deployment a
            BudgetsLockEachOther: pod b-1 of shop (Deployment b) is counted by 2 PodDisruptionBudgets (b, also), and the API evicts no such pod
            DrainDoesNotEnd: node w1 cannot be drained: these pods may not be evicted: shop/a-1
            DrainDoesNotEnd: node w2 cannot be drained: these pods may not be evicted: shop/b-1"#]],
    );
}

#[test]
fn pods_that_are_lost_or_wait() {
    check(
        "
        pool worker
        node w1 zone a
        node w2 zone b
        node w3 zone b cpu 1000
        pod shop/debug on w3 cpu 100
        pod shop/db-0 on w1 owner StatefulSet/db cpu 100 claim data
        pod shop/big-1 on w2 owner Job/big cpu 4000
        volume v of shop/data zone a
        ",
        expect![[r#"
            no
            PodsFitNowhere: while node w2 is away, these pods have no place and wait: shop/big-1
            PodsWithoutOwner: the drain of node w3 deletes pods that nothing makes again: shop/debug
            VolumesKeepPods: while node w1 is away, these pods wait: no other node with room reaches their volumes: shop/db-0"#]],
    );
}

#[test]
fn nodes_that_are_away() {
    check(
        "
        pool worker
        pool infra paused
        node w1
        node w2 cordoned
        node w3 no-pool
        node i1 pool infra not-ready
        ",
        expect![[r#"
            no
            NodeIsCordoned: node w2 is cordoned: the machine-config operator leaves it out, and counts it as away
            NodesOfNoPool: nobody can tell which pool updates these nodes, so they are not planned: w3
            PoolHasNoSlot: no node of pool worker can go: 1 may be away, and these are already: w2
            PoolStays: pool infra is paused, so its nodes stay as they are"#]],
    );
}

#[test]
fn what_is_not_known_is_said() {
    check(
        "
        pool worker
        node w1
        node w2 silent
        node w3
        pod shop/a-1 on w1 owner StatefulSet/a app a cpu 100 claim data
        pod shop/b-1 on w1 owner Deployment/b app b cpu 100
        budget shop/b app b unknown
        unknown volumes
        ",
        expect![[r#"
            no
            BudgetUnknown: PodDisruptionBudget b of shop does not say how many evictions it allows
            DrainDoesNotEnd: node w1 cannot be drained: these pods may not be evicted: shop/b-1
            NodeStateUnknown: these nodes do not say whether they are ready, or what room they have: w2
            ObjectsNotGiven: nobody can tell without these objects: PersistentVolumes"#]],
    );
    check(
        "node w1\nunknown budgets\nunknown pools",
        expect![[r#"
        no
        ObjectsNotGiven: nobody can tell without these objects: MachineConfigPools
        ObjectsNotGiven: nobody can tell without these objects: PodDisruptionBudgets"#]],
    );
}

#[test]
fn what_is_not_simulated_is_said() {
    check(
        "
        pool worker
        node w1
        node w2
        pod shop/a-1 on w1 owner Job/a cpu 100 other affinity
        ",
        expect![[r#"
            yes
            NotSimulated: the simulation leaves out what 1 pod asks for: affinity"#]],
    );
}
