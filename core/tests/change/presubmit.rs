//! Presubmit: what a change of windows takes back, or hands out at once.

use expect_test::expect;
use jiff::{SignedDuration, Timestamp};
use towpath_core::change::{PresubmitOptions, share_before_feedback};
use towpath_core::finding::Place;
use towpath_core::graph::{Ramp, RolloutRule, Share};

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
              the window of 4.9.2 in stable was 2026-11-10T00:00:00Z to 2026-11-14T00:00:00Z (linear) and becomes 2026-11-11T00:00:00Z to 2026-11-15T00:00:00Z (linear): 2 edges shown to 50.0 % of the fleet would be shown to 25.0 %, and 25.0 % would lose what they have been shown
              keep start, rules and ramp as they were until 2026-11-14T00:00:00Z; to stop a rollout, block its edges; if it is meant, pass --allow-window-change 4.9.2
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
              the window of 4.9.2 in stable was 2026-11-10T00:00:00Z to 2026-11-14T00:00:00Z (linear) and becomes 2026-11-09T00:00:00Z to 2026-11-13T00:00:00Z (linear): 2 edges shown to 50.0 % of the fleet would be shown to 75.0 %, so 25.0 % would gain them at once, and 1.0 % may
              keep its window as it was, or mark 4.9.2 `locked: true` to end its rollout; if it is meant, pass --allow-window-change 4.9.2
        "#]],
    );
}

#[test]
fn a_window_that_is_over_may_not_open_again() {
    check_presubmit(
        "20",
        [BASE, &changed("patch P4D", "patch P20D")],
        expect![[r#"
            error rollout-loses
              at data:7:1
              the window of 4.9.2 in stable was 2026-11-10T00:00:00Z to 2026-11-14T00:00:00Z (linear) and becomes 2026-11-10T00:00:00Z to 2026-11-30T00:00:00Z (linear): 1 edge shown to 100.0 % of the fleet would be shown to 50.0 %, and 50.0 % would lose what they have been shown
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
              the window of 4.9.2 in stable was 2026-11-10T00:00:00Z to 2026-11-14T00:00:00Z (linear) and becomes 2026-11-10T00:00:00Z to 2026-11-14T00:00:00Z (exponential): 1 edge shown to 50.0 % of the fleet would be shown to 5.9 %, and 44.1 % would lose what they have been shown
              keep start, rules and ramp as they were until 2026-11-14T00:00:00Z; to stop a rollout, block its edges; if it is meant, pass --allow-window-change 4.9.2
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
              the window of 4.9.2 in stable was 2026-11-10T00:00:00Z to 2026-11-14T00:00:00Z (linear) and becomes 2026-11-10T00:00:00Z to 2026-11-18T00:00:00Z (linear): 1 edge shown to 50.0 % of the fleet would be shown to 25.0 %, and 25.0 % would lose what they have been shown
              keep start, rules and ramp as they were until 2026-11-14T00:00:00Z; to stop a rollout, block its edges; if it is meant, pass --allow-window-change 4.9.2
        "#]],
    );
}

#[test]
fn a_release_that_leaves_takes_all_its_edges_along() {
    check_presubmit(
        "12",
        [BASE, &changed("release 4.9.1 day 1", "")],
        expect![[r#"
            error rollout-loses
              at data:2:1
              4.9.1 is no longer in stable: 1 edge shown to 50.0 % of the fleet would go
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
            error rollout-loses
              at data:2:1
              4.9.2 is no longer in stable: 2 edges shown to 50.0 % of the fleet would go
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
            error rollout-loses
              at data:2:1
              stable is gone, and with it 2 edges shown to 50.0 % of the fleet
              keep the channel; if nobody follows it any more, check this change without --base
        "#]],
    );
}

#[test]
fn locking_a_release_ends_its_rollout_on_purpose() {
    check_presubmit(
        "12",
        [BASE, &changed("4.9.2 day 10", "4.9.2 day 10 locked")],
        expect![""],
    );
}

#[test]
fn locking_does_not_excuse_taking_back() {
    check_presubmit(
        "12",
        [BASE, &changed("4.9.2 day 10", "4.9.2 day 13 locked")],
        expect![[r#"
            error rollout-loses
              at data:7:1
              the window of 4.9.2 in stable was 2026-11-10T00:00:00Z to 2026-11-14T00:00:00Z (linear) and becomes for everybody at 2026-11-13T00:00:00Z: 2 edges shown to 50.0 % of the fleet would go
              keep start, rules and ramp as they were until 2026-11-14T00:00:00Z; to stop a rollout, block its edges; if it is meant, pass --allow-window-change 4.9.2
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
              the window of 4.9.2 in stable was 2026-11-10T00:00:00Z to 2026-11-14T00:00:00Z (linear) and becomes 2026-11-09T00:00:00Z to 2026-11-13T00:00:00Z (linear): 1 edge shown to 50.0 % of the fleet would be shown to 75.0 %, so 25.0 % would gain them at once, and 24.9 % may
              keep its window as it was, or mark 4.9.2 `locked: true` to end its rollout; if it is meant, pass --allow-window-change 4.9.2
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
fn a_block_does_not_hide_what_happens_to_the_window() {
    let blocked = format!("{BASE}\n block 4.9.2 from .*");
    check_presubmit(
        "12",
        [&blocked, &blocked.replace("4.9.2 day 10", "4.9.2 day 11")],
        expect![[r#"
            error rollout-loses
              at data:7:1
              the window of 4.9.2 in stable was 2026-11-10T00:00:00Z to 2026-11-14T00:00:00Z (linear) and becomes 2026-11-11T00:00:00Z to 2026-11-15T00:00:00Z (linear): 2 edges shown to 50.0 % of the fleet would be shown to 25.0 %, and 25.0 % would lose what they have been shown
              keep start, rules and ramp as they were until 2026-11-14T00:00:00Z; to stop a rollout, block its edges; if it is meant, pass --allow-window-change 4.9.2
        "#]],
    );
}

#[test]
fn a_new_release_with_an_old_start_is_worth_a_look() {
    let more = format!("{BASE}\n edges 4.9.2 -> 4.9.3\n release 4.9.3 day 11");
    check_presubmit(
        "12",
        [BASE, &more],
        expect![[r#"
            warning rollout-starts-late
              at data:11:1
              4.9.3 comes to stable late: its window is 2026-11-11T00:00:00Z to 2026-11-15T00:00:00Z (linear), so 25.0 % of the fleet would gain 1 edge at once
              set `start` to when the change goes live; if it is meant, pass --allow-window-change 4.9.3
        "#]],
    );
    check_presubmit("11", [BASE, &more], expect![""]);
}

/// Nobody has been shown it, and everybody would be: a window that was to come is gone.
#[test]
fn a_window_to_come_that_is_taken_away_is_worth_a_look() {
    let early = changed("4.9.2 day 10", "4.9.2 day 7").replace("patch P4D", "patch PT0S");
    check_presubmit(
        "9",
        [BASE, &early],
        expect![[r#"
        warning rollout-too-short
          at data:3:1
          stable phases patch updates in over 0s, and feedback takes 4h: 100.0 % of the fleet would have a bad release before a block arrives
          make it at least 16h long, or bring feedback sooner
        warning rollout-starts-late
          at data:7:1
          4.9.2 comes to stable late: its window is for everybody at 2026-11-07T00:00:00Z, so 100.0 % of the fleet would gain 2 edges at once
          set `start` to when the change goes live; if it is meant, pass --allow-window-change 4.9.2
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
        from_version: None,
        duration: "P1D".parse().unwrap(),
        ramp: Ramp::Linear,
        origin: Place::file("c"),
    };
    let now: Timestamp = "2026-11-01T00:00Z".parse().unwrap();
    let share =
        |hours| share_before_feedback(&rule, SignedDuration::from_hours(hours), now).to_string();
    assert_eq!([share(4), share(24)], ["16.7 %", "100.0 %"]);
}
