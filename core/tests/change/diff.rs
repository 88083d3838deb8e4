//! Diff: what clients will see that they do not see now.

use expect_test::expect;

use crate::dsl::check_diff;

const BASE: &str = "
    channel fast
    release 4.8.9 day 1
    release 4.9.1 day 1
    release 4.9.2 day 10
    channel stable
    rule patch P4D
    rule minor P14D
    release 4.8.9 day 1
    release 4.9.1 day 1
    release 4.9.2 day 10
    edges 4.8.9 -> 4.9.1
    edges 4.8.9 -> 4.9.2
    edges 4.9.1 -> 4.9.2";

fn with(more: &str) -> String {
    format!("{BASE}\n{more}")
}

#[test]
fn the_same_is_no_difference() {
    check_diff("12", [BASE, BASE], expect![""]);
}

#[test]
fn a_block_takes_edges_away_and_lifting_it_brings_them_back() {
    let blocked = with("block 4.9.2 from .*");
    check_diff(
        "30",
        [BASE, &blocked],
        expect![[r#"
            fast amd64
              4.8.9,4.9.1 -> 4.9.2 disappears for everybody (before now)
            stable amd64
              4.8.9,4.9.1 -> 4.9.2 disappears for everybody (before now)
        "#]],
    );
    check_diff(
        "30",
        [&blocked, BASE],
        expect![[r#"
            fast amd64
              4.8.9,4.9.1 -> 4.9.2 appears for everybody (after now)
            stable amd64
              4.8.9,4.9.1 -> 4.9.2 appears for everybody (after now)
        "#]],
    );
}

#[test]
fn edges_come_back_when_their_window_says_so() {
    check_diff(
        "12",
        [&with("block 4.9.2 from .*"), BASE],
        expect![[r#"
            fast amd64
              4.8.9,4.9.1 -> 4.9.2 appears for everybody (after now)
            stable amd64
              4.9.1 -> 4.9.2 appears for everybody (after days 10 to 14)
              4.8.9 -> 4.9.2 appears for everybody (after days 10 to 24)
        "#]],
    );
}

#[test]
fn a_targeted_block_concerns_its_platforms_and_whoever_is_unknown() {
    check_diff(
        "30",
        [BASE, &with("block 4.9.2 from .* on AWS")],
        expect![[r#"
            fast amd64
              4.8.9,4.9.1 -> 4.9.2 disappears on AWS and unknown platforms (before now)
            stable amd64
              4.8.9,4.9.1 -> 4.9.2 disappears on AWS and unknown platforms (before now)
        "#]],
    );
}

#[test]
fn a_block_that_is_for_fewer_gives_back_to_the_others() {
    check_diff(
        "30",
        [
            &with("block 4.9.2 from .*"),
            &with("block 4.9.2 from .* on AWS,GCP"),
        ],
        expect![[r#"
            fast amd64
              4.8.9,4.9.1 -> 4.9.2 appears except on AWS, GCP and unknown platforms (after now)
            stable amd64
              4.8.9,4.9.1 -> 4.9.2 appears except on AWS, GCP and unknown platforms (after now)
        "#]],
    );
}

#[test]
fn a_risk_makes_conditional() {
    let risky = with("risk Slow 4.9.2 from 4[.]8");
    check_diff(
        "30",
        [BASE, &risky],
        expect![[r#"
            fast amd64
              4.8.9 -> 4.9.2 becomesConditional for everybody now unless Slow (before now, after now)
            stable amd64
              4.8.9 -> 4.9.2 becomesConditional for everybody now unless Slow (before now, after now)
        "#]],
    );
    check_diff(
        "30",
        [&risky, BASE],
        expect![[r#"
            fast amd64
              4.8.9 -> 4.9.2 becomesUnconditional for everybody no longer unless Slow (before now, after now)
            stable amd64
              4.8.9 -> 4.9.2 becomesUnconditional for everybody no longer unless Slow (before now, after now)
        "#]],
    );
    check_diff(
        "30",
        [&risky, &with("risk Slower 4.9.2 from 4[.]8")],
        expect![[r#"
            fast amd64
              4.8.9 -> 4.9.2 changesRisks for everybody now unless Slower no longer unless Slow (before now, after now)
            stable amd64
              4.8.9 -> 4.9.2 changesRisks for everybody now unless Slower no longer unless Slow (before now, after now)
        "#]],
    );
}

#[test]
fn a_hard_block_where_there_was_a_risk_is_a_loss() {
    let both = with("risk Slow 4.9.2 from 4[.]8\nblock 4.9.2 from .*");
    check_diff(
        "30",
        [&with("risk Slow 4.9.2 from 4[.]8"), &both],
        expect![[r#"
            fast amd64
              4.8.9,4.9.1 -> 4.9.2 disappears for everybody (before now)
            stable amd64
              4.8.9,4.9.1 -> 4.9.2 disappears for everybody (before now)
        "#]],
    );
    // A risk that a hard block covers changes nothing for anybody.
    check_diff("30", [&with("block 4.9.2 from .*"), &both], expect![""]);
}

#[test]
fn a_new_release_comes_when_it_starts_and_over_its_windows() {
    let more = with(
        "release 4.9.3 day 20\nedges 4.9.1 -> 4.9.3\nedges 4.9.2 -> 4.9.3\nedges 4.8.9 -> 4.9.3",
    );
    check_diff(
        "12",
        [BASE, &more],
        expect![[r#"
        stable amd64
          4.9.3 appears day 20
          4.9.1,4.9.2 -> 4.9.3 appears for everybody (after days 20 to 24)
          4.8.9 -> 4.9.3 appears for everybody (after days 20 to 04)
    "#]],
    );
}

#[test]
fn a_release_that_goes_takes_its_edges_along() {
    check_diff(
        "30",
        [BASE, &BASE.replace("release 4.9.1 day 1", "")],
        expect![[r#"
        fast amd64
          4.9.1 disappears
          4.9.1 -> 4.9.2 disappears for everybody (before now)
          4.8.9 -> 4.9.1 disappears for everybody (before now)
        stable amd64
          4.9.1 disappears
          4.9.1 -> 4.9.2 disappears for everybody (before now)
          4.8.9 -> 4.9.1 disappears for everybody (before now)
    "#]],
    );
}

#[test]
fn another_window_is_another_time() {
    check_diff(
        "12",
        [BASE, &BASE.replace("patch P4D", "patch P8D")],
        expect![[r#"
        stable amd64
          4.9.1 -> 4.9.2 moves for everybody (before days 10 to 14, after days 10 to 18)
    "#]],
    );
    // When it is over on both sides, nobody could tell.
    check_diff(
        "30",
        [BASE, &BASE.replace("patch P4D", "patch P8D")],
        expect![""],
    );
}

#[test]
fn architectures_are_told_apart() {
    let two = with("arches amd64 arm64");
    check_diff(
        "30",
        [
            &two,
            &two.replace("release 4.9.2 day 10", "release 4.9.2 day 10 only amd64"),
        ],
        expect![[r#"
        fast arm64
          4.9.2 disappears
          4.8.9,4.9.1 -> 4.9.2 disappears for everybody (before now)
        stable arm64
          4.9.2 disappears
          4.8.9,4.9.1 -> 4.9.2 disappears for everybody (before now)
    "#]],
    );
}
