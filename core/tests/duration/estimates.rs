//! Estimates on fixed shapes.

use std::fmt::Write;

use expect_test::{Expect, expect};
use towpath_core::duration::{MaxUnavailable, PoolShape, hop_duration, rollout_seconds};

use super::{at_once, minutes, shape, usual};

fn check(hop: (&str, &str), shape_text: &str, expected: Expect) {
    let estimate = hop_duration(
        &hop.0.parse().unwrap(),
        &hop.1.parse().unwrap(),
        &shape(shape_text),
        &usual(),
    );
    let mut text = format!(
        "control plane  {}   {}\n",
        minutes(estimate.control_plane),
        estimate.basis
    );
    writeln!(text, "  of it nodes  {}", minutes(estimate.masters)).unwrap();
    writeln!(text, "  of it waves  {:>6.1}", estimate.waves as f64 / 60.0).unwrap();
    for pool in &estimate.pools {
        let (name, rounds) = (
            &pool.name,
            format!("{} x {} at once", pool.iterations, pool.at_once),
        );
        writeln!(text, "{name:<14} {}   {rounds}", minutes(pool.spread)).unwrap();
    }
    writeln!(text, "total          {}", minutes(estimate.total)).unwrap();
    expected.assert_eq(&text);
}

#[test]
fn the_reference_cluster_gets_what_is_known_of_it() {
    check(
        ("4.14.1", "4.14.2"),
        "masters 3 cloud
         pool worker 3 1 cloud",
        expect![[r#"
            control plane    60.0   70.0  211.0   all patches
              of it nodes    15.0   21.0   45.0
              of it waves     0.0
            worker           15.0   21.0   45.0   3 x 1 at once
            total            60.0   70.0  211.0
        "#]],
    );
    check(
        ("4.14.1", "4.15.2"),
        "masters 3 cloud
         pool worker 3 1 cloud",
        expect![[r#"
            control plane    60.0   88.0  265.0   all minor updates
              of it nodes    15.0   21.0   45.0
              of it waves     0.0
            worker           15.0   21.0   45.0   3 x 1 at once
            total            60.0   88.0  265.0
        "#]],
    );
}

#[test]
fn workers_stand_beside_the_control_plane_and_not_in_it() {
    check(
        ("4.14.1", "4.15.2"),
        "masters 3 cloud
         pool worker 40 1 cloud",
        expect![[r#"
            control plane    63.0   91.0  268.0   all minor updates
              of it nodes    15.0   21.0   45.0
              of it waves     3.0
            worker          200.0  280.0  600.0   40 x 1 at once
            total           248.0  350.0  823.0
        "#]],
    );
    check(
        ("4.14.1", "4.15.2"),
        "masters 3 cloud
         pool worker 37 10% cloud
         pool infra 3 1 cloud",
        expect![[r#"
            control plane    63.0   91.0  268.0   all minor updates
              of it nodes    15.0   21.0   45.0
              of it waves     3.0
            worker           65.0   91.0  195.0   13 x 3 at once
            infra            15.0   21.0   45.0   3 x 1 at once
            total           113.0  161.0  418.0
        "#]],
    );
}

#[test]
fn a_paused_pool_takes_no_time() {
    check(
        ("4.14.1", "4.15.2"),
        "masters 3 cloud
         paused worker 40 1 cloud",
        expect![[r#"
            control plane    63.0   91.0  268.0   all minor updates
              of it nodes    15.0   21.0   45.0
              of it waves     3.0
            total            63.0   91.0  268.0
        "#]],
    );
}

#[test]
fn machines_take_longer_to_reboot() {
    check(
        ("4.14.1", "4.14.2"),
        "masters 3 metal
         pool worker 3 1 metal",
        expect![[r#"
            control plane   102.0  125.5  295.0   all patches
              of it nodes    57.0   76.5  129.0
              of it waves     0.0
            worker           57.0   76.5  129.0   3 x 1 at once
            total           102.0  125.5  295.0
        "#]],
    );
}

#[test]
fn a_single_node_has_two_nodes_less_to_wait_for() {
    check(
        ("4.14.1", "4.14.2"),
        "masters 1 cloud",
        expect![[r#"
        control plane    50.0   56.0  181.0   all patches
          of it nodes     5.0    7.0   15.0
          of it waves     0.0
        total            50.0   56.0  181.0
    "#]],
    );
}

#[test]
fn daemonsets_that_go_one_pod_at_a_time_hold_up_the_control_plane() {
    check(
        ("4.14.1", "4.14.2"),
        "masters 3 cloud
         pool worker 247 10% cloud
         daemons 1",
        expect![[r#"
            control plane   138.1  148.1  289.1   all patches
              of it nodes    15.0   21.0   45.0
              of it waves    78.1
            worker           55.0   77.0  165.0   11 x 24 at once
            total           178.1  204.1  409.1
        "#]],
    );
    check(
        ("4.14.1", "4.14.2"),
        "masters 3 cloud
         pool worker 247 10% cloud
         daemons 10%",
        expect![[r#"
            control plane    68.1   78.1  219.1   all patches
              of it nodes    15.0   21.0   45.0
              of it waves     8.1
            worker           55.0   77.0  165.0   11 x 24 at once
            total           108.1  134.1  339.1
        "#]],
    );
}

#[test]
fn two_hundred_and_fifty_nodes_take_eighty_minutes_one_at_a_time_and_ten_by_tenths() {
    let seconds =
        |max_unavailable: &str| rollout_seconds(250, at_once(max_unavailable), &usual().wave);
    assert_eq!(seconds("1"), 80 * 60);
    assert_eq!(seconds("10%"), 10 * 60, "ten waves of 25, 60 seconds each");
    assert_eq!(seconds("25"), 10 * 60);
    assert_eq!(
        rollout_seconds(25, MaxUnavailable::Count(25), &usual().wave),
        60
    );
    assert_eq!(
        rollout_seconds(10, MaxUnavailable::Count(1), &usual().wave),
        192,
        "19.2 seconds a node"
    );
    assert_eq!(
        rollout_seconds(0, MaxUnavailable::Percent(10), &usual().wave),
        0
    );
}

#[test]
fn iterations_on_both_sides_of_each_boundary() {
    let plain = shape("pool worker 1 1 cloud").pools.remove(0);
    for (nodes, max_unavailable, at_once_expected, iterations) in [
        (0, "1", 1, 0),
        (1, "1", 1, 1),
        (10, "3", 3, 4),
        (9, "3", 3, 3),
        (2, "3", 2, 1),
        // A percentage rounds down, and one node may always go.
        (9, "10%", 1, 9),
        (10, "10%", 1, 10),
        (19, "10%", 1, 19),
        (20, "10%", 2, 10),
        (21, "10%", 2, 11),
        (249, "10%", 24, 11),
        (250, "10%", 25, 10),
        (3, "33%", 1, 3),
        (3, "34%", 1, 3),
        (3, "66%", 1, 3),
        (3, "67%", 2, 2),
        (3, "100%", 3, 1),
    ] {
        let pool = PoolShape {
            nodes,
            max_unavailable: at_once(max_unavailable),
            ..plain.clone()
        };
        assert_eq!(
            (pool.at_once(), pool.iterations()),
            (at_once_expected, iterations),
            "{nodes} at {max_unavailable}"
        );
    }
}

#[test]
fn a_daemonset_rounds_up_and_a_pool_rounds_down() {
    for (nodes, down, up) in [(10, 1, 1), (11, 1, 2), (19, 1, 2), (20, 2, 2), (21, 2, 3)] {
        let tenth = MaxUnavailable::Percent(10);
        assert_eq!(
            (tenth.rounded_down(nodes), tenth.rounded_up(nodes)),
            (down, up),
            "{nodes}"
        );
    }
}
