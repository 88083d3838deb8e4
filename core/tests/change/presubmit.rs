//! Presubmit: what a change of windows takes back, or hands out at once.

use expect_test::expect;
use jiff::{SignedDuration, Timestamp};
use towpath_core::change::{PresubmitOptions, share_before_feedback};
use towpath_core::finding::Place;
use towpath_core::graph::{EdgeMatch, Ramp, RolloutRule, RuleRings, Share};

use crate::dsl::{check_presubmit, check_presubmit_with};

const BASE: &str = "
    channel stable
    rule patch P4D
    rule minor P14D
    release 4.8.9 day 1
    release 4.9.1 day 1
    release 4.9.2 day 10
    edges 4.8.9 -> 4.9.2
    edges 4.9.1 -> 4.9.2";

fn changed(from: &str, to: &str) -> String {
    assert!(BASE.contains(from), "{from}");
    BASE.replace(from, to)
}

#[test]
fn nothing_changed_nothing_said() {
    check_presubmit("11", [BASE, BASE], expect![""]);
}

#[test]
fn a_later_start_takes_back() {
    check_presubmit(
        "12",
        [BASE, &changed("4.9.2 day 10", "4.9.2 day 11")],
        expect![[r#"
            error rollout-loses
              at data:7:1
              the window of 4.9.2 in stable was 2026-11-10 00:00Z to 2026-11-14 00:00Z (linear) and becomes 2026-11-11 00:00Z to 2026-11-15 00:00Z (linear): 2 edges shown to 50.0 % of the fleet would be shown to 25.0 %, and 25.0 % would lose what they have been shown
              keep start, rules and ramp as they were until 2026-11-14 00:00Z; to stop a rollout, block its edges; if it is meant, pass --allow-window-change 4.9.2
        "#]],
    );
}

#[test]
fn an_earlier_start_jumps() {
    check_presubmit(
        "12",
        [BASE, &changed("4.9.2 day 10", "4.9.2 day 9")],
        expect![[r#"
            error rollout-jumps
              at data:7:1
              the window of 4.9.2 in stable was 2026-11-10 00:00Z to 2026-11-14 00:00Z (linear) and becomes 2026-11-09 00:00Z to 2026-11-13 00:00Z (linear): 2 edges shown to 50.0 % of the fleet would be shown to 75.0 %, so 25.0 % would gain them at once, and 1.0 % may
              keep its window as it was; if it is meant, pass --allow-window-change 4.9.2
        "#]],
    );
}

#[test]
fn a_hold_may_keep_back_what_nobody_has_and_takes_nothing_back() {
    let held = changed("4.9.2 day 10", "4.9.2 day 10 held");
    // Nobody has been shown anything yet.
    check_presubmit("9", [BASE, &held], expect![""]);
    check_presubmit(
        "12",
        [BASE, &held],
        expect![[r#"
        error rollout-loses
          at data:7:1
          `held` takes edges to 4.9.2 in stable back, whose window is 2026-11-10 00:00Z to 2026-11-14 00:00Z (linear): 2 edges shown to 50.0 % of the fleet would go
          hold only what nobody has been shown; to stop a rollout, block its edges; if it is meant, pass --allow-window-change 4.9.2
    "#]],
    );
    let edge = format!("{BASE}\nrule any held from 4.9.1 to 4.9.2");
    check_presubmit(
        "12",
        [BASE, &edge],
        expect![[r#"
        error rollout-loses
          at data:7:1
          `held` takes edges to 4.9.2 in stable back, whose window is 2026-11-10 00:00Z to 2026-11-14 00:00Z (linear): 1 edge shown to 50.0 % of the fleet would go
          hold only what nobody has been shown; to stop a rollout, block its edges; if it is meant, pass --allow-window-change 4.9.2
    "#]],
    );
    // A block takes back, and the hold behind it changes nothing for anybody.
    let blocked = format!("{held}\nblock 4.9.2");
    check_presubmit("12", [BASE, &blocked], expect![""]);
}

#[test]
fn what_was_held_is_let_go_with_a_window_of_its_own() {
    let held = changed("4.9.2 day 10", "4.9.2 day 10 held");
    // Its window went on meanwhile.
    check_presubmit(
        "12",
        [&held, BASE],
        expect![[r#"
        error rollout-jumps
          at data:7:1
          edges to 4.9.2 in stable are no longer held, and their window is 2026-11-10 00:00Z to 2026-11-14 00:00Z (linear): 2 edges shown to 0.0 % of the fleet would be shown to 50.0 %, so 50.0 % would gain them at once, and 1.0 % may
          give it a new window: a rollout rule with `to: 4.9.2` and a `start` at which the hold goes; if it is meant, pass --allow-window-change 4.9.2
    "#]],
    );
    let anew = format!("{BASE}\nrule any P4D to 4.9.2 day 12");
    check_presubmit("12", [&held, &anew], expect![""]);
    // One edge of what is held, as a first step.
    let base = format!("{BASE}\nrule any held to 4.9.2");
    let first = format!("{base}\nrule any P1D from 4.9.1 to 4.9.2 day 12");
    check_presubmit("12", [&base, &first], expect![""]);
    check_presubmit("11", [&held, &held], expect![""]);
}

#[test]
fn a_window_that_is_over_may_not_open_again() {
    check_presubmit(
        "20",
        [BASE, &changed("patch P4D", "patch P20D")],
        expect![[r#"
            error rollout-loses
              at data:7:1
              the window of 4.9.2 in stable was 2026-11-10 00:00Z to 2026-11-14 00:00Z (linear) and becomes 2026-11-10 00:00Z to 2026-11-30 00:00Z (linear): 1 edge shown to 100.0 % of the fleet would be shown to 50.0 %, and 50.0 % would lose what they have been shown
              mark 4.9.2 `locked: true`, since its rollout was over, and keep its start; if it is meant, pass --allow-window-change 4.9.2
        "#]],
    );
}

#[test]
fn a_window_that_has_not_begun_may_change_as_one_likes() {
    check_presubmit(
        "9",
        [BASE, &changed("4.9.2 day 10", "4.9.2 day 12")],
        expect![""],
    );
    check_presubmit("9", [BASE, &changed("patch P4D", "patch P9D")], expect![""]);
}

#[test]
fn another_ramp_takes_back() {
    check_presubmit(
        "12",
        [BASE, &changed("patch P4D", "patch P4D exponential")],
        expect![[r#"
            error rollout-loses
              at data:7:1
              the window of 4.9.2 in stable was 2026-11-10 00:00Z to 2026-11-14 00:00Z (linear) and becomes 2026-11-10 00:00Z to 2026-11-14 00:00Z (exponential): 1 edge shown to 50.0 % of the fleet would be shown to 5.9 %, and 44.1 % would lose what they have been shown
              keep start, rules and ramp as they were until 2026-11-14 00:00Z; to stop a rollout, block its edges; if it is meant, pass --allow-window-change 4.9.2
        "#]],
    );
}

#[test]
fn a_rule_that_takes_precedence_takes_back() {
    let default = "
        channel stable
        rule any P4D
        release 4.9.1 day 1
        release 4.9.2 day 10
        edges 4.9.1 -> 4.9.2";
    check_presubmit(
        "12",
        [
            default,
            &default.replace("rule any P4D", "rule any P4D\n rule patch P8D"),
        ],
        expect![[r#"
            error rollout-loses
              at data:6:1
              the window of 4.9.2 in stable was 2026-11-10 00:00Z to 2026-11-14 00:00Z (linear) and becomes 2026-11-10 00:00Z to 2026-11-18 00:00Z (linear): 1 edge shown to 50.0 % of the fleet would be shown to 25.0 %, and 25.0 % would lose what they have been shown
              keep start, rules and ramp as they were until 2026-11-14 00:00Z; to stop a rollout, block its edges; if it is meant, pass --allow-window-change 4.9.2
        "#]],
    );
}

#[test]
fn a_release_that_leaves_takes_all_its_edges_along() {
    check_presubmit(
        "12",
        [BASE, &changed("release 4.9.1 day 1", "")],
        expect![[r#"
            error release-leaves
              at data:2:1
              4.9.1 is no longer in stable: clusters that run it would get VersionNotFound instead of updates, and 1 edge shown to 50.0 % of the fleet would go
              keep 4.9.1 in the channel, and block its edges if nobody should take them; if it is meant, pass --allow-window-change 4.9.1
        "#]],
    );
}

#[test]
fn replacing_another_release_moves_everybody_in_the_queue() {
    check_presubmit(
        "12",
        [
            BASE,
            &changed("4.9.2 day 10", "4.9.2 day 10 replaces 4.9.1"),
        ],
        expect![[r#"
            error rollout-loses
              at data:7:1
              what 4.9.2 `replaces` in stable has changed, and with it the queue: 2 edges shown to 50.0 % of the fleet would be shown to 50.0 %, and 38.2 % would lose what they have been shown
              keep `replaces` as it was until its window is over; if it is meant, pass --allow-window-change 4.9.2
        "#]],
    );
}

#[test]
fn a_release_in_another_file_is_in_other_channels() {
    let moved = "
        channel stable
        rule patch P4D
        release 4.9.1 day 1
        channel fast
        release 4.9.1 day 1
        release 4.9.2 day 10
        edges 4.9.1 -> 4.9.2";
    check_presubmit(
        "12",
        [BASE, moved],
        expect![[r#"
            error release-leaves
              at data:2:1
              4.8.9 is no longer in stable: clusters that run it would get VersionNotFound instead of updates
              keep 4.8.9 in the channel, and block its edges if nobody should take them; if it is meant, pass --allow-window-change 4.8.9
            error release-leaves
              at data:2:1
              4.9.2 is no longer in stable: clusters that run it would get VersionNotFound instead of updates, and 2 edges shown to 50.0 % of the fleet would go
              keep 4.9.2 in the channel, and block its edges if nobody should take them; if it is meant, pass --allow-window-change 4.9.2
        "#]],
    );
}

#[test]
fn a_channel_that_goes_is_one_finding() {
    check_presubmit(
        "12",
        [BASE, &changed("channel stable", "channel steady")],
        expect![[r#"
            error release-leaves
              at data:2:1
              stable is gone, and with it 3 releases, and 2 edges shown to 50.0 % of the fleet
              keep the channel; if nobody follows it any more, check this change without --base
        "#]],
    );
}

#[test]
fn locking_a_release_in_its_window_is_a_jump_like_any_other() {
    let locked = changed("4.9.2 day 10", "4.9.2 day 10 locked");
    check_presubmit(
        "12",
        [BASE, &locked],
        expect![[r#"
        error rollout-jumps
          at data:7:1
          `locked` ends the rollout of 4.9.2 in stable, whose window is 2026-11-10 00:00Z to 2026-11-24 00:00Z (linear): 2 edges shown to 14.3 % of the fleet would be shown to 100.0 %, so 85.7 % would gain them at once, and 1.0 % may
          set `locked` once the window is over, at 2026-11-24 00:00Z; if it is meant, pass --allow-window-change 4.9.2
    "#]],
    );
    let options = PresubmitOptions {
        allowed_releases: ["4.9.2".parse().unwrap()].into(),
        ..PresubmitOptions::default()
    };
    check_presubmit_with(&options, "12", [BASE, &locked], expect![""]);
    // Once both windows are over, nobody gains anything.
    check_presubmit("25", [BASE, &locked], expect![""]);
}

/// A new release that is locked at once passes by the windows of its channel.
#[test]
fn a_release_that_comes_locked_is_for_everybody_at_once() {
    let more = format!("{BASE}\n edges 4.9.1 -> 4.9.3\n release 4.9.3 day 11 locked");
    check_presubmit(
        "12",
        [BASE, &more],
        expect![[r#"
            error rollout-jumps
              at data:11:1
              4.9.3 comes to stable `locked`, so it has no window: 1 edge shown to 0.0 % of the fleet would be shown to 100.0 %, so 100.0 % would gain it at once, and 1.0 % may
              remove `locked`, and set `start` to when the change goes live; if it is meant, pass --allow-window-change 4.9.3
        "#]],
    );
}

#[test]
fn locking_does_not_excuse_taking_back() {
    check_presubmit(
        "12",
        [BASE, &changed("4.9.2 day 10", "4.9.2 day 13 locked")],
        expect![[r#"
            error release-leaves
              at data:7:1
              4.9.2 leaves stable until 2026-11-13 00:00Z: clusters that run it would get VersionNotFound instead of updates, and 2 edges shown to 50.0 % of the fleet would go
              set `start` to when the change goes live, not later; to stop a rollout, block its edges; if it is meant, pass --allow-window-change 4.9.2
        "#]],
    );
}

#[test]
fn what_is_allowed_by_name_is_allowed() {
    let allowed_releases = ["4.9.2".parse().unwrap()].into();
    let options = PresubmitOptions {
        allowed_releases,
        ..PresubmitOptions::default()
    };
    check_presubmit_with(
        &options,
        "12",
        [BASE, &changed("4.9.2 day 10", "4.9.2 day 11")],
        expect![""],
    );
}

#[test]
fn so_much_at_once_is_allowed_and_no_more() {
    // A day earlier is a quarter of four days, and a fourteenth of fourteen.
    let options = |thousandths| PresubmitOptions {
        allowed_gain: Share::thousandths(thousandths),
        ..PresubmitOptions::default()
    };
    let change = [BASE, &changed("4.9.2 day 10", "4.9.2 day 9")];
    check_presubmit_with(&options(250), "12", change, expect![""]);
    check_presubmit_with(
        &options(249),
        "12",
        change,
        expect![[r#"
            error rollout-jumps
              at data:7:1
              the window of 4.9.2 in stable was 2026-11-10 00:00Z to 2026-11-14 00:00Z (linear) and becomes 2026-11-09 00:00Z to 2026-11-13 00:00Z (linear): 1 edge shown to 50.0 % of the fleet would be shown to 75.0 %, so 25.0 % would gain it at once, and 24.9 % may
              keep its window as it was; if it is meant, pass --allow-window-change 4.9.2
        "#]],
    );
}

#[test]
fn blocking_what_was_shown_is_what_blocks_are_for() {
    check_presubmit(
        "12",
        [BASE, &format!("{BASE}\n block 4.9.2 from .*")],
        expect![""],
    );
}

#[test]
fn unblocking_after_the_window_shows_the_edge_to_everybody_at_once() {
    let blocked = format!("{BASE}\n block 4.9.2 from .*");
    check_presubmit(
        "25",
        [&blocked, BASE],
        expect![[r#"
        error rollout-jumps
          at data:7:1
          edges to 4.9.2 in stable are no longer blocked, and their window is 2026-11-10 00:00Z to 2026-11-24 00:00Z (linear): 2 edges shown to 0.0 % of the fleet would be shown to 100.0 %, so 100.0 % would gain them at once, and 1.0 % may
          give 4.9.2 a new window: set its `start` to when the block is removed; if it is meant, pass --allow-window-change 4.9.2
    "#]],
    );
}

#[test]
fn unblocking_inside_the_window_shows_the_edge_to_a_share_at_once() {
    let blocked = format!("{BASE}\n block 4.9.2 from 4[.]9");
    check_presubmit(
        "12",
        [&blocked, BASE],
        expect![[r#"
        error rollout-jumps
          at data:7:1
          edges to 4.9.2 in stable are no longer blocked, and their window is 2026-11-10 00:00Z to 2026-11-14 00:00Z (linear): 1 edge shown to 0.0 % of the fleet would be shown to 50.0 %, so 50.0 % would gain it at once, and 1.0 % may
          give 4.9.2 a new window: set its `start` to when the block is removed; if it is meant, pass --allow-window-change 4.9.2
    "#]],
    );
}

/// The advice of the enhancement on phased rollouts: block, look, unblock with a new window.
#[test]
fn unblocking_with_a_new_window_shows_the_edge_to_nobody_at_once() {
    let blocked = format!("{BASE}\n block 4.9.2 from .*");
    let again = changed("4.9.2 day 10", "4.9.2 day 25");
    check_presubmit("25", [&blocked, &again], expect![""]);
}

/// A new start begins the edges from the release again, too. Locking it would not help them.
#[test]
fn a_new_window_takes_back_the_edges_that_lead_on() {
    let more = |text: &str| format!("{text}\n edges 4.9.2 -> 4.9.3\n release 4.9.3 day 11");
    let blocked = format!("{}\n block 4.9.2 from .*", more(BASE));
    let again = more(&changed("4.9.2 day 10", "4.9.2 day 25"));
    check_presubmit(
        "25",
        [&blocked, &again],
        expect![[r#"
            error rollout-loses
              at data:7:1
              the window of edges from 4.9.2 in stable was 2026-11-11 00:00Z to 2026-11-15 00:00Z (linear) and becomes 2026-11-25 00:00Z to 2026-11-29 00:00Z (linear): 1 edge shown to 100.0 % of the fleet would go
              keep the start of 4.9.2, because its edges to other releases begin with it; if it is meant, pass --allow-window-change 4.9.2
        "#]],
    );
}

#[test]
fn a_platform_that_is_unblocked_is_told() {
    let base = format!("{BASE}\n block 4.9.2 from .* on AWS");
    check_presubmit(
        "25",
        [&base, BASE],
        expect![[r#"
        error rollout-jumps
          at data:7:1
          edges to 4.9.2 in stable are no longer blocked, and their window is 2026-11-10 00:00Z to 2026-11-24 00:00Z (linear): 2 edges shown to 0.0 % of clusters on AWS and unknown platforms would be shown to 100.0 %, so 100.0 % would gain them at once, and 1.0 % may
          give 4.9.2 a new window: set its `start` to when the block is removed; if it is meant, pass --allow-window-change 4.9.2
    "#]],
    );
}

/// A channel without rules shows everything to everybody at once, so unblocking is no jump there.
#[test]
fn unblocking_where_nothing_is_phased_in_is_no_jump() {
    let fast = changed("rule patch P4D", "").replace("rule minor P14D", "");
    check_presubmit(
        "12",
        [&format!("{fast}\n block 4.9.2 from .*"), &fast],
        expect![""],
    );
}

/// Behind a block nobody sees the window, so nobody loses or gains by a change of it.
#[test]
fn the_window_of_a_blocked_edge_may_change() {
    let blocked = format!("{BASE}\n block 4.9.2 from .*");
    check_presubmit(
        "12",
        [&blocked, &blocked.replace("4.9.2 day 10", "4.9.2 day 11")],
        expect![""],
    );
}

#[test]
fn a_new_release_with_an_old_start_is_refused() {
    let more = format!("{BASE}\n edges 4.9.2 -> 4.9.3\n release 4.9.3 day 11");
    check_presubmit(
        "12",
        [BASE, &more],
        expect![[r#"
            error rollout-starts-late
              at data:11:1
              4.9.3 comes to stable late, with the window 2026-11-11 00:00Z to 2026-11-15 00:00Z (linear): 1 edge shown to 0.0 % of the fleet would be shown to 25.0 %, so 25.0 % would gain it at once, and 1.0 % may
              set `start` of 4.9.3 to when the change goes live; if it is meant, pass --allow-window-change 4.9.3
        "#]],
    );
    check_presubmit("11", [BASE, &more], expect![""]);
}

/// Nobody has been shown it, and everybody would be: a window that was to come is gone.
#[test]
fn a_window_to_come_that_is_taken_away_is_refused() {
    let early = changed("4.9.2 day 10", "4.9.2 day 7").replace("patch P4D", "patch PT0S");
    check_presubmit(
        "9",
        [BASE, &early],
        expect![[r#"
            error rollout-starts-late
              at data:7:1
              4.9.2 comes to stable late, with the window for everybody at 2026-11-07 00:00Z: 2 edges shown to 0.0 % of the fleet would be shown to 100.0 %, so 100.0 % would gain them at once, and 1.0 % may
              set `start` of 4.9.2 to when the change goes live; if it is meant, pass --allow-window-change 4.9.2
            warning rollout-too-short
              at data:3:1
              stable phases patch updates in over 0s, and feedback takes 4h: 100.0 % of the fleet would have a bad release before a block arrives
              make it at least 16h long, or bring feedback sooner
        "#]],
    );
}

#[test]
fn a_new_release_whose_window_is_over_is_refused() {
    let more = format!("{BASE}\n edges 4.9.2 -> 4.9.3\n release 4.9.3 day 11");
    check_presubmit(
        "25",
        [BASE, &more],
        expect![[r#"
            error rollout-starts-late
              at data:11:1
              4.9.3 comes to stable late, with the window 2026-11-11 00:00Z to 2026-11-15 00:00Z (linear): 1 edge shown to 0.0 % of the fleet would be shown to 100.0 %, so 100.0 % would gain it at once, and 1.0 % may
              set `start` of 4.9.3 to when the change goes live; if it is meant, pass --allow-window-change 4.9.3
        "#]],
    );
}

/// 4.8.8 is new, and its edge opens when 4.9.2 begins. It is 4.8.8 that comes late.
#[test]
fn the_release_that_comes_late_is_blamed_and_not_the_one_that_was_there() {
    let more = format!("{BASE}\n edges 4.8.8 -> 4.9.2\n release 4.8.8 day 2");
    check_presubmit(
        "12",
        [BASE, &more],
        expect![[r#"
            error rollout-starts-late
              at data:11:1
              4.8.8 comes to stable late, with the window 2026-11-10 00:00Z to 2026-11-24 00:00Z (linear): 1 edge shown to 0.0 % of the fleet would be shown to 14.3 %, so 14.3 % would gain it at once, and 1.0 % may
              set `start` of 4.8.8 to when the change goes live; if it is meant, pass --allow-window-change 4.8.8
        "#]],
    );
}

/// Clusters on it would ask for their updates, and hear that there is no such version.
#[test]
fn a_release_that_moves_into_the_future_leaves_until_then() {
    let later = changed("4.9.2 day 10", "4.9.2 day 28");
    check_presubmit(
        "25",
        [BASE, &later],
        expect![[r#"
        error release-leaves
          at data:7:1
          4.9.2 leaves stable until 2026-11-28 00:00Z: clusters that run it would get VersionNotFound instead of updates, and 2 edges shown to 100.0 % of the fleet would go
          set `start` to when the change goes live, not later; to stop a rollout, block its edges; if it is meant, pass --allow-window-change 4.9.2
    "#]],
    );
    let blocked = |text: &str| format!("{text}\n block 4.9.2 from .*");
    check_presubmit(
        "25",
        [&blocked(BASE), &later],
        expect![[r#"
        error release-leaves
          at data:7:1
          4.9.2 leaves stable until 2026-11-28 00:00Z: clusters that run it would get VersionNotFound instead of updates
          set `start` to when the change goes live, not later; to stop a rollout, block its edges; if it is meant, pass --allow-window-change 4.9.2
    "#]],
    );
    check_presubmit("9", [BASE, &later], expect![""]);
}

#[test]
fn a_release_without_visible_edges_does_not_leave_unnoticed() {
    let base = format!("{BASE}\n release 4.9.0 day 1");
    check_presubmit(
        "12",
        [&base, BASE],
        expect![[r#"
        error release-leaves
          at data:2:1
          4.9.0 is no longer in stable: clusters that run it would get VersionNotFound instead of updates
          keep 4.9.0 in the channel, and block its edges if nobody should take them; if it is meant, pass --allow-window-change 4.9.0
    "#]],
    );
    let alone = "
        channel stable
        release 4.9.1 day 1";
    check_presubmit(
        "12",
        [alone, "channel steady\n release 4.9.1 day 1"],
        expect![[r#"
            error release-leaves
              at data:2:1
              stable is gone, and with it 1 release
              keep the channel; if nobody follows it any more, check this change without --base
        "#]],
    );
}

#[test]
fn a_short_window_says_who_would_have_it_before_anybody_reacts() {
    let short = changed("patch P4D", "patch PT12H");
    check_presubmit(
        "9",
        [&short, &short],
        expect![[r#"
        warning rollout-too-short
          at data:3:1
          stable phases patch updates in over 12h, and feedback takes 4h: 33.3 % of the fleet would have a bad release before a block arrives
          make it at least 16h long, or bring feedback sooner
    "#]],
    );
    // A rule that matches nothing harms nobody.
    let other = changed("patch P4D", "major PT1H");
    check_presubmit("9", [&other, &other], expect![""]);
}

#[test]
fn four_hours_of_a_linear_day_are_a_sixth() {
    let rule = RolloutRule {
        edges: EdgeMatch::Any,
        start: None,
        duration: "P1D".parse().unwrap(),
        ramp: Ramp::Linear,
        rings: RuleRings::default(),
        origin: Place::file("c"),
    };
    let now: Timestamp = "2026-11-01T00:00Z".parse().unwrap();
    let share =
        |hours| share_before_feedback(&rule, SignedDuration::from_hours(hours), now).to_string();
    assert_eq!([share(4), share(24)], ["16.7 %", "100.0 %"]);
}
