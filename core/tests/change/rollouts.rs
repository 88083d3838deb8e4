//! Rollouts: windows that are running or to come.

use expect_test::{Expect, expect};
use towpath_core::graph::{Share, rollouts};

use towpath_testing_graphs::{day, graph};

fn check(now: &str, text: &str, expected: Expect) {
    let mut shown = String::new();
    for row in rollouts(&graph(text), day(now)) {
        let half = row.window.reaches(Share::thousandths(500));
        let from: Vec<String> = row.from.iter().map(ToString::to_string).collect();
        shown += &format!(
            "{} {} from {}: {}, half at {half}\n",
            row.channel,
            row.to,
            from.join(" "),
            row.window.share(day(now))
        );
        for stop in &row.stops {
            let from: Vec<String> = stop.from.iter().map(ToString::to_string).collect();
            shown += &format!(
                "  {} stops {:?} from {}\n",
                stop.origin,
                stop.whom,
                from.join(" ")
            );
        }
    }
    expected.assert_eq(&shown);
}

const TWO_RULES: &str = "
    channel fast
    release 4.8.9 day 1
    release 4.9.1 day 1
    release 4.9.2 day 10
    channel stable
    rule patch P2D
    rule minor P14D
    release 4.8.9 day 1
    release 4.9.1 day 1
    release 4.9.2 day 10
    edges 4.8.9 -> 4.9.2
    edges 4.9.1 -> 4.9.2";

#[test]
fn patch_and_minor_updates_have_windows_of_their_own() {
    check(
        "11",
        TWO_RULES,
        expect![[r#"
        stable 4.9.2 from 4.9.1: 50.0 %, half at 2026-11-11T00:00:00Z
        stable 4.9.2 from 4.8.9: 7.1 %, half at 2026-11-17T00:00:00Z
    "#]],
    );
}

#[test]
fn what_is_to_come_is_there_with_nobody_reached_also_where_it_is_for_everybody_at_once() {
    check(
        "9",
        TWO_RULES,
        expect![[r#"
        fast 4.9.2 from 4.8.9 4.9.1: 0.0 %, half at 2026-11-10T00:00:00Z
        stable 4.9.2 from 4.9.1: 0.0 %, half at 2026-11-11T00:00:00Z
        stable 4.9.2 from 4.8.9: 0.0 %, half at 2026-11-17T00:00:00Z
    "#]],
    );
}

#[test]
fn what_is_over_is_not_there() {
    check(
        "12",
        TWO_RULES,
        expect![[r#"
        stable 4.9.2 from 4.8.9: 14.3 %, half at 2026-11-17T00:00:00Z
    "#]],
    );
    check("24", TWO_RULES, expect![""]);
}

#[test]
fn blocks_are_told_with_their_place_and_audience() {
    check(
        "11",
        &format!("{TWO_RULES}\nblock 4.9.2 from 4[.]8\nblock 4.9.2 from .* on AWS"),
        expect![[r#"
        stable 4.9.2 from 4.9.1: 50.0 %, half at 2026-11-11T00:00:00Z
          data:15:1 stops Platforms({Platform("AWS")}) from 4.9.1
        stable 4.9.2 from 4.8.9: 7.1 %, half at 2026-11-17T00:00:00Z
          data:14:1 stops Everybody from 4.8.9
          data:15:1 stops Platforms({Platform("AWS")}) from 4.8.9
    "#]],
    );
}
