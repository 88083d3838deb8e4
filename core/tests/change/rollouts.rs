//! Rollouts: windows that are running or to come.

use expect_test::{Expect, expect};
use towpath_core::graph::{RolloutWindow, Share, recent_rollouts, rollouts};

use towpath_testing_graphs::{day, graph};

fn check(now: &str, text: &str, expected: Expect) {
    let mut shown = String::new();
    for row in rollouts(&graph(text), day(now)) {
        let half = row.window.reaches(Share::thousandths(500));
        let from: Vec<String> = row.from.keys().map(ToString::to_string).collect();
        let arches: Vec<String> = row.arches.iter().map(ToString::to_string).collect();
        let arches = match text.contains("arches") {
            true => format!(" ({})", arches.join(" ")),
            false => String::new(),
        };
        let share = match row.is_blocked() {
            true => "blocked".to_owned(),
            false => row.window.share(day(now)).to_string(),
        };
        shown += &format!(
            "{} {}{arches} from {}: {share}, half at {half}\n",
            row.channel,
            row.to,
            from.join(" "),
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

/// arm64 is at half while amd64 is blocked: neither is true of the other.
#[test]
fn architectures_are_told_apart_where_a_block_does() {
    let text = format!("arches amd64 arm64 s390x\n{TWO_RULES}");
    check(
        "11",
        &text,
        expect![[r#"
        stable 4.9.2 (amd64 arm64 s390x) from 4.9.1: 50.0 %, half at 2026-11-11T00:00:00Z
        stable 4.9.2 (amd64 arm64 s390x) from 4.8.9: 7.1 %, half at 2026-11-17T00:00:00Z
    "#]],
    );
    let blocked = format!("{text}\nblock 4.9.2 from .*[+]amd64$");
    check(
        "11",
        &blocked,
        expect![[r#"
        stable 4.9.2 (amd64) from 4.9.1: blocked, half at 2026-11-11T00:00:00Z
          data:15:1 stops Everybody from 4.9.1
        stable 4.9.2 (arm64 s390x) from 4.9.1: 50.0 %, half at 2026-11-11T00:00:00Z
        stable 4.9.2 (amd64) from 4.8.9: blocked, half at 2026-11-17T00:00:00Z
          data:15:1 stops Everybody from 4.8.9
        stable 4.9.2 (arm64 s390x) from 4.8.9: 7.1 %, half at 2026-11-17T00:00:00Z
    "#]],
    );
}

#[test]
fn what_has_ended_is_recent_for_a_week() {
    let graph = graph(TWO_RULES);
    let recent = |now: &str| -> Vec<String> {
        let rows = recent_rollouts(&graph, day(now));
        let share = |row: &RolloutWindow| row.window.share(day(now)).to_string();
        rows.iter().map(share).collect()
    };
    assert_eq!(recent("11"), ["50.0 %", "7.1 %"]);
    assert_eq!(recent("18T23"), ["100.0 %", "64.0 %"]);
    assert_eq!(recent("19"), ["64.3 %"]);
    // Locked on day 11, its edges are for everybody, and it is as recent as it would be.
    let locked = TWO_RULES.replace("release 4.9.2 day 10", "release 4.9.2 day 10 locked");
    let rows = recent_rollouts(&towpath_testing_graphs::graph(&locked), day("11"));
    let ends: Vec<(bool, usize)> = rows
        .iter()
        .map(|row| (row.window.is_over(day("11")), row.from.len()))
        .collect();
    assert_eq!(ends, [(true, 2)]);
}

#[test]
fn blocks_are_told_with_their_place_and_audience() {
    check(
        "11",
        &format!("{TWO_RULES}\nblock 4.9.2 from 4[.]8\nblock 4.9.2 from .* on AWS"),
        expect![[r#"
            stable 4.9.2 from 4.9.1: 50.0 %, half at 2026-11-11T00:00:00Z
              data:15:1 stops Platforms({Platform("AWS")}) from 4.9.1
            stable 4.9.2 from 4.8.9: blocked, half at 2026-11-17T00:00:00Z
              data:14:1 stops Everybody from 4.8.9
              data:15:1 stops Platforms({Platform("AWS")}) from 4.8.9
        "#]],
    );
}
