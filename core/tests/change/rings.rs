//! Rings in a change: who gains or loses when rings come, go, or get other windows.

use expect_test::expect;

use crate::dsl::{check_diff, check_presubmit};

/// Canaries have it at noon, everybody else from the 12th to the 14th.
const BASE: &str = "
    channel stable
    ring canaries sector canary
    rule patch P2D after P2D
    turn canaries PT12H
    release 4.9.1 day 1
    release 4.9.2 day 10
    edges 4.9.1 -> 4.9.2";

#[test]
fn what_stays_as_it_was_is_no_change() {
    check_presubmit("11", [BASE, BASE], expect![""]);
    check_diff("11", [BASE, BASE], expect![""]);
}

/// Nobody knows how many canaries there are: it may be the whole fleet.
#[test]
fn a_ring_that_goes_sooner_jumps_and_one_that_goes_later_loses() {
    let sooner = BASE.replace("turn canaries PT12H", "turn canaries PT6H");
    check_presubmit(
        "10T03",
        [BASE, &sooner],
        expect![[r#"
        error rollout-jumps
          at data:7:1
          the window of 4.9.2 in stable, for ring canaries, was 2026-11-10 00:00Z to 2026-11-10 12:00Z (linear) and becomes 2026-11-10 00:00Z to 2026-11-10 06:00Z (linear): 1 edge shown to 25.0 % of ring canaries would be shown to 50.0 %, so 25.0 % would gain it at once, and 1.0 % may
          keep rings and their windows as they were until everybody has it; to stop a rollout, block its edges; if it is meant, pass --allow-window-change 4.9.2
    "#]],
    );
    let later = BASE.replace("turn canaries PT12H", "turn canaries PT24H");
    check_presubmit(
        "10T03",
        [BASE, &later],
        expect![[r#"
        error rollout-loses
          at data:7:1
          the window of 4.9.2 in stable, for ring canaries, was 2026-11-10 00:00Z to 2026-11-10 12:00Z (linear) and becomes 2026-11-10 00:00Z to 2026-11-11 00:00Z (linear): 1 edge shown to 25.0 % of ring canaries would be shown to 12.5 %, and 12.5 % would lose what they have been shown
          keep rings and their windows as they were until everybody has it; to stop a rollout, block its edges; if it is meant, pass --allow-window-change 4.9.2
    "#]],
    );
    // Before the window begins nobody has been shown anything.
    check_presubmit("10", [BASE, &later], expect![[r#""#]]);
}

#[test]
fn a_ring_that_goes_while_it_has_the_release_loses_it() {
    let without = BASE
        .replace("    ring canaries sector canary\n", "")
        .replace("    turn canaries PT12H\n", "");
    check_presubmit(
        "11",
        [BASE, &without],
        expect![[r#"
        error rollout-loses
          at data:5:1
          the window of 4.9.2 in stable, for clusters that go from ring canaries to everybody else, was 2026-11-10 00:00Z to 2026-11-10 12:00Z (linear) and becomes 2026-11-12 00:00Z to 2026-11-14 00:00Z (linear): 1 edge shown to 100.0 % of clusters that go from ring canaries to everybody else would go
          keep rings and their windows as they were until everybody has it; to stop a rollout, block its edges; if it is meant, pass --allow-window-change 4.9.2
    "#]],
    );
    // Once everybody has it, rings may go.
    check_presubmit("14", [BASE, &without], expect![""]);
}

#[test]
fn other_clusters_in_a_ring_lose_it_or_gain_it_at_once() {
    let others = BASE.replace("sector canary", "sector early");
    check_presubmit(
        "11",
        [BASE, &others],
        expect![[r#"
        error rollout-loses
          at data:7:1
          the window of 4.9.2 in stable, for clusters that go from ring canaries to everybody else, was 2026-11-10 00:00Z to 2026-11-10 12:00Z (linear) and becomes 2026-11-12 00:00Z to 2026-11-14 00:00Z (linear): 1 edge shown to 100.0 % of clusters that go from ring canaries to everybody else would go
          keep rings and their windows as they were until everybody has it; to stop a rollout, block its edges; if it is meant, pass --allow-window-change 4.9.2
    "#]],
    );
}

#[test]
fn rings_that_come_while_a_rollout_runs_jump() {
    let without = BASE
        .replace("    ring canaries sector canary\n", "")
        .replace("    turn canaries PT12H\n", "")
        .replace(" after P2D", "");
    let rings = BASE.replace(" after P2D", "");
    check_presubmit(
        "10T12",
        [&without, &rings],
        expect![[r#"
        error rollout-jumps
          at data:7:1
          the window of 4.9.2 in stable, for clusters that go from everybody else to ring canaries, was 2026-11-10 00:00Z to 2026-11-12 00:00Z (linear) and becomes 2026-11-10 00:00Z to 2026-11-10 12:00Z (linear): 1 edge shown to 25.0 % of clusters that go from everybody else to ring canaries would be shown to 100.0 %, so 75.0 % would gain it at once, and 1.0 % may
          keep rings and their windows as they were until everybody has it; to stop a rollout, block its edges; if it is meant, pass --allow-window-change 4.9.2
    "#]],
    );
    // As long as the window has not begun, they come without a word.
    check_presubmit("9", [&without, BASE], expect![[r#""#]]);
}

#[test]
fn a_diff_tells_the_rings_whose_times_change() {
    let sooner = BASE.replace("turn canaries PT12H", "turn canaries PT6H");
    check_diff(
        "9",
        [BASE, &sooner],
        expect![[r#"
        stable amd64
          4.9.1 -> 4.9.2 moves for everybody, ring canaries (before days 10 to 10T12, after days 10 to 10T06)
    "#]],
    );
    let without = BASE
        .replace("    ring canaries sector canary\n", "")
        .replace("    turn canaries PT12H\n", "")
        .replace(" after P2D", "");
    check_diff(
        "9",
        [&without, BASE],
        expect![[r#"
        stable amd64
          4.9.1 -> 4.9.2 moves for everybody, clusters that go from everybody else to ring canaries (before days 10 to 12, after days 10 to 10T12)
          4.9.1 -> 4.9.2 moves for everybody, everybody else (before days 10 to 12, after days 12 to 14)
    "#]],
    );
    check_diff(
        "9",
        [&BASE.replace("edges 4.9.1 -> 4.9.2", ""), BASE],
        expect![[r#"
            stable amd64
              4.9.1 -> 4.9.2 appears for everybody, everybody else (after days 12 to 14)
              4.9.1 -> 4.9.2 appears for everybody, ring canaries (after days 10 to 10T12)
        "#]],
    );
}
