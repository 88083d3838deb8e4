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
        expect![[""]],
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
        expect![[""]],
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
        expect![[""]],
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
        expect![[""]],
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
        expect![[""]],
    );
    check("node w1\nunknown budgets\nunknown pools", expect![[""]]);
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
        expect![[""]],
    );
}
