//! What good files mean: who sees which releases and edges, and when.
//!
//! Every test reads files as an adapter would bring them, and asks what clusters see. A question is a line: an instant,
//! a channel, and what is known of the cluster (`arch=`, `id=`, `platform=`); `why` asks for the edges that are not
//! offered too.

use std::collections::BTreeSet;

use expect_test::{Expect, expect};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use towpath_core::cluster::{Cluster, ClusterId, Fact, Platform};
use towpath_core::finding::Place;
use towpath_core::graph::{Audience, ChannelName, Edge, Graph, Situation, View, recommend};
use towpath_core::rules::Policy;
use towpath_core::verdict::{Answer, Verdict};
use towpath_core::version::Arch;
use towpath_formats::SourceFile;
use towpath_formats::graph::{data, releases};

type Files<'a> = &'a [(&'a str, &'a str)];

const PHASED: (&str, &str) = ("version", "2.0.0\n");
const FINER: (&str, &str) = ("version", "2.1.0\n");
const PLAIN: (&str, &str) = ("version", "1.1.0\n");

/// 4.9.8 enters at noon on 12 May; its edges take no time in fast-4.9, days in stable-4.9.
const MAY: (&str, &str) = (
    "channels/4.9.yaml",
    "
channels:
- name: fast-4.9
- name: stable-4.9
  phasedRollouts:
  - {fromVersion: patch, duration: P2D}
  - {fromVersion: minor, duration: P14D}
versions:
- {name: 4.8.5, start: 2020-01-01T00:00Z}
- {name: 4.9.7, start: 2020-01-01T00:00Z}
- {name: 4.9.8, start: 2020-05-12T12:00Z}
",
);
const INTO_MAY: &str = "4.8.5 -> 4.9.8; 4.9.7 -> 4.9.8";

/// No rollouts: everything has always been there.
const STABLE: (&str, &str) = (
    "channels/stable-4.9.yaml",
    "{name: stable-4.9, versions: [4.8.5, 4.9.6, 4.9.7, 4.9.8]}",
);
const TO_498: &str = "4.8.5 -> 4.9.8; 4.9.6 -> 4.9.8; 4.9.7 -> 4.9.8";

/// Of this cluster docs/positions.md says that it stands at 0.0785 of the queue for 4.9.8, at 0.4605 for 4.9.7.
const EARLY: &str = "0b5b8d2e-6f0c-4f0e-9d3c-0a4f7c2f9b11";

// Phased rollouts

#[test]
fn a_release_enters_every_channel_of_its_file_exactly_at_start() {
    check(
        &[PHASED, MAY],
        INTO_MAY,
        &[
            "2020-05-12T11:59:59.999999999Z fast-4.9",
            "2020-05-12T11:59:59.999999999Z stable-4.9",
            "2020-05-12T12:00:00Z fast-4.9",
            "2020-05-12T12:00:00Z stable-4.9",
        ],
        expect![[r#"
            2020-05-12T11:59:59.999999999Z fast-4.9
                has 4.8.5, 4.9.7
            2020-05-12T11:59:59.999999999Z stable-4.9
                has 4.8.5, 4.9.7
            2020-05-12T12:00:00Z fast-4.9
                has 4.8.5, 4.9.7, 4.9.8
                4.8.5 -> 4.9.8
                4.9.7 -> 4.9.8
            2020-05-12T12:00:00Z stable-4.9
                has 4.8.5, 4.9.7, 4.9.8
        "#]],
    );
}

#[test]
fn patch_and_minor_edges_each_have_their_window() {
    check(
        &[PHASED, MAY],
        INTO_MAY,
        &[
            &format!("2020-05-12T12:00Z stable-4.9 id={EARLY} why"),
            &format!("2020-05-12T15:46:11.660550065Z stable-4.9 id={EARLY}"),
            &format!("2020-05-12T15:46:11.660550066Z stable-4.9 id={EARLY}"),
            &format!("2020-05-13T14:23:21.623850461Z stable-4.9 id={EARLY}"),
            &format!("2020-05-13T14:23:21.623850462Z stable-4.9 id={EARLY}"),
        ],
        expect![[r#"
            2020-05-12T12:00Z stable-4.9 id=0b5b8d2e-6f0c-4f0e-9d3c-0a4f7c2f9b11 why
                has 4.8.5, 4.9.7, 4.9.8
                4.8.5 -> 4.9.8 not yet
                    the rollout from 2020-05-12 12:00Z to 2020-05-26 12:00Z reaches this cluster at 2020-05-13 14:23:21Z, when 7.9 % of clusters have it (channels/4.9.yaml:11:10)
                4.9.7 -> 4.9.8 not yet
                    the rollout from 2020-05-12 12:00Z to 2020-05-14 12:00Z reaches this cluster at 2020-05-12 15:46:11Z, when 7.9 % of clusters have it (channels/4.9.yaml:11:10)
            2020-05-12T15:46:11.660550065Z stable-4.9 id=0b5b8d2e-6f0c-4f0e-9d3c-0a4f7c2f9b11
                has 4.8.5, 4.9.7, 4.9.8
            2020-05-12T15:46:11.660550066Z stable-4.9 id=0b5b8d2e-6f0c-4f0e-9d3c-0a4f7c2f9b11
                has 4.8.5, 4.9.7, 4.9.8
                4.9.7 -> 4.9.8
            2020-05-13T14:23:21.623850461Z stable-4.9 id=0b5b8d2e-6f0c-4f0e-9d3c-0a4f7c2f9b11
                has 4.8.5, 4.9.7, 4.9.8
                4.9.7 -> 4.9.8
            2020-05-13T14:23:21.623850462Z stable-4.9 id=0b5b8d2e-6f0c-4f0e-9d3c-0a4f7c2f9b11
                has 4.8.5, 4.9.7, 4.9.8
                4.8.5 -> 4.9.8
                4.9.7 -> 4.9.8
        "#]],
    );
}

#[test]
fn a_client_without_an_id_sees_edges_at_the_end() {
    check(
        &[PHASED, MAY],
        INTO_MAY,
        &[
            "2020-05-14T11:59:59.999999999Z stable-4.9 why",
            "2020-05-14T12:00:00Z stable-4.9",
            "2020-05-26T11:59:59.999999999Z stable-4.9",
            "2020-05-26T12:00:00Z stable-4.9",
        ],
        expect![[r#"
            2020-05-14T11:59:59.999999999Z stable-4.9 why
                has 4.8.5, 4.9.7, 4.9.8
                4.8.5 -> 4.9.8 not yet
                    the rollout lasts from 2020-05-12 12:00Z to 2020-05-26 12:00Z; clusters that do not send their id get it at the end (channels/4.9.yaml:11:10)
                4.9.7 -> 4.9.8 not yet
                    the rollout lasts from 2020-05-12 12:00Z to 2020-05-14 12:00Z; clusters that do not send their id get it at the end (channels/4.9.yaml:11:10)
            2020-05-14T12:00:00Z stable-4.9
                has 4.8.5, 4.9.7, 4.9.8
                4.9.7 -> 4.9.8
            2020-05-26T11:59:59.999999999Z stable-4.9
                has 4.8.5, 4.9.7, 4.9.8
                4.9.7 -> 4.9.8
            2020-05-26T12:00:00Z stable-4.9
                has 4.8.5, 4.9.7, 4.9.8
                4.8.5 -> 4.9.8
                4.9.7 -> 4.9.8
        "#]],
    );
}

#[test]
fn a_stage_shows_an_edge_to_all_of_its_share_at_once() {
    let text = MAY.1.replace(
        "duration: P2D",
        "duration: P2D, stages: [5%, 40%, 80.5%, 90%]",
    );
    let graph = graph(&[FINER, (MAY.0, &text)], INTO_MAY);
    let start: Timestamp = "2020-05-12T12:00Z".parse().unwrap();
    let seen = [-1, 0, 719, 720, 1_439, 1_440, 2_160, 2_879, 2_880].map(|minutes| {
        let now = start + SignedDuration::from_mins(minutes);
        let sees = |n: &u32| {
            let cluster = cluster(&["stable-4.9", &format!("id=cluster-{n}")]);
            offered(&graph, &cluster, now).contains("4.9.7 -> 4.9.8")
        };
        format!("after {minutes} min: {}", (0..1000).filter(sees).count())
    });
    expect![[r#"
        after -1 min: 0
        after 0 min: 51
        after 719 min: 51
        after 720 min: 408
        after 1439 min: 408
        after 1440 min: 805
        after 2160 min: 907
        after 2879 min: 907
        after 2880 min: 1000"#]]
    .assert_eq(&seen.join("\n"));
    // Position 0.0785 is in the second stage.
    let early = cluster(&["stable-4.9", &format!("id={EARLY}")]);
    let at = |minutes| start + SignedDuration::from_mins(minutes);
    assert!(!offered(&graph, &early, at(719)).contains("4.9.7 -> 4.9.8"));
    assert!(offered(&graph, &early, at(720)).contains("4.9.7 -> 4.9.8"));
}

#[test]
fn a_ramp_says_how_many_see_an_edge() {
    let linear = MAY
        .1
        .replace("duration: P2D", "duration: P2D, ramp: linear");
    let exponential = MAY
        .1
        .replace("duration: P2D", "duration: P2D, ramp: exponential");
    let mut table = "             none linear exponential\n".to_owned();
    for hours in [0, 6, 12, 24, 36, 42, 47, 48] {
        let now =
            "2020-05-12T12:00Z".parse::<Timestamp>().unwrap() + SignedDuration::from_hours(hours);
        let [no_ramp, linear, exponential] = [MAY.1, &linear, &exponential].map(|channels| {
            let graph = graph(&[PHASED, (MAY.0, channels)], INTO_MAY);
            let sees = |n: &u32| {
                let cluster = cluster(&["stable-4.9", &format!("id=cluster-{n}")]);
                offered(&graph, &cluster, now).contains("4.9.7 -> 4.9.8")
            };
            (0..1000).filter(sees).count()
        });
        table += &format!("after {hours:2} h   {no_ramp:4} {linear:6} {exponential:11}\n");
    }
    expect![[r#"
                     none linear exponential
        after  0 h      0      0           0
        after  6 h    129    129           5
        after 12 h    242    242          11
        after 24 h    518    518          57
        after 36 h    758    758         238
        after 42 h    882    882         516
        after 47 h    983    983         924
        after 48 h   1000   1000        1000
    "#]]
    .assert_eq(&table);
}

#[test]
fn a_locked_release_is_there_for_everybody_from_its_start() {
    let locked = MAY.1.replace("12T12:00Z}", "12T12:00Z, locked: true}");
    check(
        &[PHASED, (MAY.0, &locked)],
        INTO_MAY,
        &[
            "2020-05-12T11:59:59Z stable-4.9",
            "2020-05-12T12:00Z stable-4.9",
        ],
        expect![[r#"
            2020-05-12T11:59:59Z stable-4.9
                has 4.8.5, 4.9.7
            2020-05-12T12:00Z stable-4.9
                has 4.8.5, 4.9.7, 4.9.8
                4.8.5 -> 4.9.8
                4.9.7 -> 4.9.8
        "#]],
    );
}

#[test]
fn a_held_release_is_there_and_nobody_is_offered_an_edge_to_it() {
    let held = MAY.1.replace("12T12:00Z}", "12T12:00Z, held: true}");
    let files: Files<'_> = &[FINER, (MAY.0, &held)];
    check(
        files,
        INTO_MAY,
        &["2020-05-12T12:00Z stable-4.9", "2030-01-01T00:00Z fast-4.9"],
        expect![[r#"
            2020-05-12T12:00Z stable-4.9
                has 4.8.5, 4.9.7, 4.9.8
            2030-01-01T00:00Z fast-4.9
                has 4.8.5, 4.9.7, 4.9.8
        "#]],
    );
}

#[test]
fn an_edge_and_a_release_may_have_rules_of_their_own() {
    let rules = "  - {to: 4.9.8, duration: P1D, start: 2020-05-20T00:00Z}
  - {to: 4.9.8, from: 4.8.5, held: true}
versions:";
    let text = MAY.1.replace("versions:", rules);
    let files: Files<'_> = &[FINER, (MAY.0, &text)];
    check(
        files,
        INTO_MAY,
        &[
            "2020-05-20T00:00Z stable-4.9",
            "2020-05-21T00:00Z stable-4.9",
            "2020-05-12T12:00Z fast-4.9",
        ],
        expect![[r#"
            2020-05-20T00:00Z stable-4.9
                has 4.8.5, 4.9.7, 4.9.8
            2020-05-21T00:00Z stable-4.9
                has 4.8.5, 4.9.7, 4.9.8
                4.9.7 -> 4.9.8
            2020-05-12T12:00Z fast-4.9
                has 4.8.5, 4.9.7, 4.9.8
                4.8.5 -> 4.9.8
                4.9.7 -> 4.9.8
        "#]],
    );
}

/// The cluster stands at 0.0785 of each queue: its ring's, or that of everybody else.
#[test]
fn rings_go_before_everybody_else_and_a_parameter_puts_nobody_into_one() {
    let rings = "- name: stable-4.9
  rings:
  - {name: canaries, sector: canary}
  - {name: early, label: {tier: dev}}
  phasedRollouts:
  - duration: P2D
    after: P1D
    rings: [{name: canaries, duration: P0D}, {name: early, duration: PT12H, after: PT12H}]
";
    let at = MAY.1.find("- name: stable-4.9").unwrap();
    let end = MAY.1.find("versions:").unwrap();
    let text = format!("{}{rings}{}", &MAY.1[..at], &MAY.1[end..]);
    let files: Files<'_> = &[FINER, (MAY.0, &text)];
    let ask = |at: &str, more: &str| format!("{at} stable-4.9 id={EARLY}{more}");
    let asked = [
        // The release enters at noon of the 12th, and all canaries have it.
        ask("2020-05-12T11:59:59Z", " groups=canary"),
        ask("2020-05-12T12:00Z", " groups=canary,tier=dev"),
        ask("2020-05-12T12:00Z", " groups=tier=dev"),
        // 0.0785 of twelve hours are 56 minutes and a half.
        ask("2020-05-13T00:56Z", " groups=tier=dev"),
        ask("2020-05-13T00:57Z", " groups=tier=dev"),
        ask("2020-05-13T12:00Z", " groups=prod"),
        ask("2020-05-13T12:00Z", ""),
        // 0.0785 of two days are 3 hours and three quarters.
        ask("2020-05-13T15:45Z", " groups=prod"),
        ask("2020-05-13T15:47Z", " groups=-"),
        ask("2020-05-13T15:47Z", ""),
        "2020-05-15T11:59:59Z stable-4.9".to_owned(),
        "2020-05-15T12:00Z stable-4.9".to_owned(),
    ];
    let asked: Vec<&str> = asked.iter().map(String::as_str).collect();
    check(
        files,
        INTO_MAY,
        &asked,
        expect![[r#"
            2020-05-12T11:59:59Z stable-4.9 id=0b5b8d2e-6f0c-4f0e-9d3c-0a4f7c2f9b11 groups=canary
                has 4.8.5, 4.9.7
            2020-05-12T12:00Z stable-4.9 id=0b5b8d2e-6f0c-4f0e-9d3c-0a4f7c2f9b11 groups=canary,tier=dev
                has 4.8.5, 4.9.7, 4.9.8
                4.8.5 -> 4.9.8
                4.9.7 -> 4.9.8
            2020-05-12T12:00Z stable-4.9 id=0b5b8d2e-6f0c-4f0e-9d3c-0a4f7c2f9b11 groups=tier=dev
                has 4.8.5, 4.9.7, 4.9.8
            2020-05-13T00:56Z stable-4.9 id=0b5b8d2e-6f0c-4f0e-9d3c-0a4f7c2f9b11 groups=tier=dev
                has 4.8.5, 4.9.7, 4.9.8
            2020-05-13T00:57Z stable-4.9 id=0b5b8d2e-6f0c-4f0e-9d3c-0a4f7c2f9b11 groups=tier=dev
                has 4.8.5, 4.9.7, 4.9.8
                4.8.5 -> 4.9.8
                4.9.7 -> 4.9.8
            2020-05-13T12:00Z stable-4.9 id=0b5b8d2e-6f0c-4f0e-9d3c-0a4f7c2f9b11 groups=prod
                has 4.8.5, 4.9.7, 4.9.8
            2020-05-13T12:00Z stable-4.9 id=0b5b8d2e-6f0c-4f0e-9d3c-0a4f7c2f9b11
                has 4.8.5, 4.9.7, 4.9.8
            2020-05-13T15:45Z stable-4.9 id=0b5b8d2e-6f0c-4f0e-9d3c-0a4f7c2f9b11 groups=prod
                has 4.8.5, 4.9.7, 4.9.8
            2020-05-13T15:47Z stable-4.9 id=0b5b8d2e-6f0c-4f0e-9d3c-0a4f7c2f9b11 groups=-
                has 4.8.5, 4.9.7, 4.9.8
                4.8.5 -> 4.9.8
                4.9.7 -> 4.9.8
            2020-05-13T15:47Z stable-4.9 id=0b5b8d2e-6f0c-4f0e-9d3c-0a4f7c2f9b11
                has 4.8.5, 4.9.7, 4.9.8
                4.8.5 -> 4.9.8
                4.9.7 -> 4.9.8
            2020-05-15T11:59:59Z stable-4.9
                has 4.8.5, 4.9.7, 4.9.8
            2020-05-15T12:00Z stable-4.9
                has 4.8.5, 4.9.7, 4.9.8
                4.8.5 -> 4.9.8
                4.9.7 -> 4.9.8
        "#]],
    );
}

#[test]
fn a_channel_may_start_later_than_others_of_its_file_and_a_release_in_one_channel() {
    let text = MAY
        .1
        .replace(
            "- name: stable-4.9\n",
            "- name: stable-4.9\n  start: 2020-03-01T00:00Z\n",
        )
        .replace(
            "12T12:00Z}",
            "12T12:00Z, starts: {stable-4.9: 2020-05-19T12:00Z}}",
        );
    let files: Files<'_> = &[FINER, (MAY.0, &text)];
    check(
        files,
        INTO_MAY,
        &[
            "2020-02-29T23:59:59Z stable-4.9",
            "2020-02-29T23:59:59Z fast-4.9",
            "2020-03-01T00:00Z stable-4.9",
            "2020-05-12T12:00Z fast-4.9",
            "2020-05-19T11:59:59Z stable-4.9",
            "2020-05-21T12:00Z stable-4.9",
        ],
        expect![[r#"
            2020-02-29T23:59:59Z stable-4.9
                has nothing
            2020-02-29T23:59:59Z fast-4.9
                has 4.8.5, 4.9.7
            2020-03-01T00:00Z stable-4.9
                has 4.8.5, 4.9.7
            2020-05-12T12:00Z fast-4.9
                has 4.8.5, 4.9.7, 4.9.8
                4.8.5 -> 4.9.8
                4.9.7 -> 4.9.8
            2020-05-19T11:59:59Z stable-4.9
                has 4.8.5, 4.9.7
            2020-05-21T12:00Z stable-4.9
                has 4.8.5, 4.9.7, 4.9.8
                4.9.7 -> 4.9.8
        "#]],
    );
}

#[test]
fn an_edge_waits_for_both_its_ends() {
    let later = MAY.1.replace(
        "4.9.7, start: 2020-01-01T00:00Z",
        "4.9.7, start: 2020-05-13T12:00Z",
    );
    check(
        &[PHASED, (MAY.0, &later)],
        INTO_MAY,
        &[
            "2020-05-13T11:00Z fast-4.9",
            "2020-05-13T12:00Z fast-4.9",
            "2020-05-15T11:59Z stable-4.9 why",
        ],
        expect![[r#"
            2020-05-13T11:00Z fast-4.9
                has 4.8.5, 4.9.8
                4.8.5 -> 4.9.8
            2020-05-13T12:00Z fast-4.9
                has 4.8.5, 4.9.7, 4.9.8
                4.8.5 -> 4.9.8
                4.9.7 -> 4.9.8
            2020-05-15T11:59Z stable-4.9 why
                has 4.8.5, 4.9.7, 4.9.8
                4.8.5 -> 4.9.8 not yet
                    the rollout lasts from 2020-05-12 12:00Z to 2020-05-26 12:00Z; clusters that do not send their id get it at the end (channels/4.9.yaml:11:10)
                4.9.7 -> 4.9.8 not yet
                    the rollout lasts from 2020-05-13 12:00Z to 2020-05-15 12:00Z; clusters that do not send their id get it at the end (channels/4.9.yaml:10:10)
        "#]],
    );
}

#[test]
fn who_got_the_bad_release_gets_its_fix_first() {
    let replaced = format!(
        "{}- {{name: 4.9.9, start: 2020-05-13T00:00Z, replaces: 4.9.8}}\n",
        MAY.1
    );
    let edges = "4.9.7 -> 4.9.9; 4.9.8 -> 4.9.9";
    let question = format!("2020-05-13T00:00Z stable-4.9 id={EARLY} why");
    check(
        &[PHASED, (MAY.0, &replaced)],
        edges,
        &[&question],
        expect![[r#"
            2020-05-13T00:00Z stable-4.9 id=0b5b8d2e-6f0c-4f0e-9d3c-0a4f7c2f9b11 why
                has 4.9.7, 4.9.8, 4.9.9
                4.9.7 -> 4.9.9 not yet
                    the rollout from 2020-05-13 00:00Z to 2020-05-15 00:00Z reaches this cluster at 2020-05-13 03:46:11Z, when 7.9 % of clusters have it (channels/4.9.yaml:12:10)
                4.9.8 -> 4.9.9 not yet
                    the rollout from 2020-05-13 00:00Z to 2020-05-15 00:00Z reaches this cluster at 2020-05-13 03:46:11Z, when 7.9 % of clusters have it (channels/4.9.yaml:12:10)
        "#]],
    );
    let unrelated = replaced.replace(", replaces: 4.9.8", "");
    check(
        &[PHASED, (MAY.0, &unrelated)],
        edges,
        &[&question],
        expect![[r#"
            2020-05-13T00:00Z stable-4.9 id=0b5b8d2e-6f0c-4f0e-9d3c-0a4f7c2f9b11 why
                has 4.9.7, 4.9.8, 4.9.9
                4.9.7 -> 4.9.9 not yet
                    the rollout from 2020-05-13 00:00Z to 2020-05-15 00:00Z reaches this cluster at 2020-05-14 09:26:07Z, when 69.7 % of clusters have it (channels/4.9.yaml:12:10)
                4.9.8 -> 4.9.9 not yet
                    the rollout from 2020-05-13 00:00Z to 2020-05-15 00:00Z reaches this cluster at 2020-05-14 09:26:07Z, when 69.7 % of clusters have it (channels/4.9.yaml:12:10)
        "#]],
    );
}

#[test]
fn a_block_holds_during_a_window_and_after_it() {
    check(
        &[
            PHASED,
            MAY,
            (
                "blocked-edges/4.9.8.yaml",
                "{to: 4.9.8, from: '4[.]9[.].*'}",
            ),
        ],
        INTO_MAY,
        &[
            &format!("2020-05-13T12:00Z stable-4.9 id={EARLY} platform=AWS why"),
            "2020-05-13T12:00Z fast-4.9",
            &format!("2030-01-01T00:00Z stable-4.9 id={EARLY} platform=AWS"),
            "2030-01-01T00:00Z stable-4.9",
        ],
        expect![[r#"
            2020-05-13T12:00Z stable-4.9 id=0b5b8d2e-6f0c-4f0e-9d3c-0a4f7c2f9b11 platform=AWS why
                has 4.8.5, 4.9.7, 4.9.8
                4.8.5 -> 4.9.8 not yet
                    the rollout from 2020-05-12 12:00Z to 2020-05-26 12:00Z reaches this cluster at 2020-05-13 14:23:21Z, when 7.9 % of clusters have it (channels/4.9.yaml:11:10)
                4.9.7 -> 4.9.8 not
                    blocked for every cluster (blocked-edges/4.9.8.yaml:1)
            2020-05-13T12:00Z fast-4.9
                has 4.8.5, 4.9.7, 4.9.8
                4.8.5 -> 4.9.8
            2030-01-01T00:00Z stable-4.9 id=0b5b8d2e-6f0c-4f0e-9d3c-0a4f7c2f9b11 platform=AWS
                has 4.8.5, 4.9.7, 4.9.8
                4.8.5 -> 4.9.8
            2030-01-01T00:00Z stable-4.9
                has 4.8.5, 4.9.7, 4.9.8
                4.8.5 -> 4.9.8
        "#]],
    );
}

#[test]
fn no_rule_that_matches_means_no_delay() {
    let other = MAY.1.replace("fromVersion: minor", "fromVersion: major");
    check(
        &[PHASED, (MAY.0, &other)],
        INTO_MAY,
        &["2020-05-12T12:00Z stable-4.9"],
        expect![[r#"
        2020-05-12T12:00Z stable-4.9
            has 4.8.5, 4.9.7, 4.9.8
            4.8.5 -> 4.9.8
    "#]],
    );
}

// Hard blocks

#[test]
fn every_file_with_the_same_target_applies() {
    check(
        &[
            PLAIN,
            STABLE,
            ("blocked-edges/a.yaml", r"{to: 4.9.8, from: 4\.9\.6}"),
            ("blocked-edges/b.yaml", r"{to: 4.9.8, from: 4\.9\.7}"),
        ],
        TO_498,
        &["2020-05-12T00:00Z stable-4.9 why"],
        expect![[r#"
            2020-05-12T00:00Z stable-4.9 why
                has 4.8.5, 4.9.6, 4.9.7, 4.9.8
                4.8.5 -> 4.9.8
                4.9.6 -> 4.9.8 not
                    blocked for every cluster (blocked-edges/a.yaml:1)
                4.9.7 -> 4.9.8 not
                    blocked for every cluster (blocked-edges/b.yaml:1)
        "#]],
    );
}

#[test]
fn a_hard_block_with_fixed_in_is_a_hard_block() {
    check(
        &[
            PLAIN,
            STABLE,
            (
                "blocked-edges/a.yaml",
                "{to: 4.9.8, from: .*, fixedIn: 4.9.9}",
            ),
        ],
        TO_498,
        &["2020-05-12T00:00Z stable-4.9"],
        expect![[r#"
            2020-05-12T00:00Z stable-4.9
                has 4.8.5, 4.9.6, 4.9.7, 4.9.8
        "#]],
    );
}

#[test]
fn patterns_are_found_anywhere_in_the_version_with_its_architecture() {
    let from = |pattern: &str| {
        let block = format!("{{to: 4.9.8, from: '{pattern}'}}");
        let graph = graph(&[PLAIN, STABLE, ("blocked-edges/a.yaml", &block)], TO_498);
        let seen = offered(&graph, &cluster(&["stable-4.9"]), Timestamp::UNIX_EPOCH);
        format!("{pattern:<18} leaves {}\n", or_nothing(seen))
    };
    let patterns = [
        r"4\.9",
        r"^4\.9\.7$",
        r"^4\.9\.7\+amd64$",
        "amd64",
        "arm64",
        r"9\.6",
        "^$",
        ".*",
    ];
    expect![[r#"
        4\.9               leaves 4.8.5 -> 4.9.8
        ^4\.9\.7$          leaves 4.8.5 -> 4.9.8, 4.9.6 -> 4.9.8, 4.9.7 -> 4.9.8
        ^4\.9\.7\+amd64$   leaves 4.8.5 -> 4.9.8, 4.9.6 -> 4.9.8
        amd64              leaves nothing
        arm64              leaves 4.8.5 -> 4.9.8, 4.9.6 -> 4.9.8, 4.9.7 -> 4.9.8
        9\.6               leaves 4.8.5 -> 4.9.8, 4.9.7 -> 4.9.8
        ^$                 leaves 4.8.5 -> 4.9.8, 4.9.6 -> 4.9.8, 4.9.7 -> 4.9.8
        .*                 leaves nothing
    "#]]
    .assert_eq(&patterns.map(from).concat());
}

#[test]
fn a_name_with_an_architecture_means_that_one_alone() {
    let risk = "url: 'https://u', name: Slow, message: m, matchingRules: [{type: Always}]";
    check(
        &[
            PLAIN,
            (
                "channels/a.yaml",
                "{name: stable-4.9, versions: [4.9.6, 4.9.7, 4.9.8, 4.9.9+arm64]}",
            ),
            ("blocked-edges/hard.yaml", "{to: 4.9.7+amd64, from: .*}"),
            (
                "blocked-edges/risk.yaml",
                &format!("{{to: 4.9.8+amd64, from: .*, {risk}}}"),
            ),
        ],
        "4.9.6+amd64 -> 4.9.7+amd64 4.9.8+amd64 4.9.9+amd64; 4.9.6+arm64 -> 4.9.7+arm64 4.9.8+arm64 4.9.9+arm64",
        &[
            "2020-05-12T00:00Z stable-4.9 arch=amd64",
            "2020-05-12T00:00Z stable-4.9 arch=arm64",
        ],
        expect![[r#"
            2020-05-12T00:00Z stable-4.9 arch=amd64
                has 4.9.6, 4.9.7, 4.9.8
                4.9.6 -> 4.9.8 unless Slow
            2020-05-12T00:00Z stable-4.9 arch=arm64
                has 4.9.6, 4.9.7, 4.9.8, 4.9.9
                4.9.6 -> 4.9.7
                4.9.6 -> 4.9.8
                4.9.6 -> 4.9.9
        "#]],
    );
}

// Risks and targeted blocks

#[test]
fn a_risk_is_for_the_cluster_to_weigh_unless_the_edge_is_blocked_anyway() {
    check(
        &[
            PLAIN,
            STABLE,
            (
                "blocked-edges/risk.yaml",
                "{to: 4.9.8, from: .*, url: 'https://u', name: Slow, message: m, matchingRules: [{type: Always}]}",
            ),
            (
                "blocked-edges/second.yaml",
                "{to: 4.9.8, from: 4.9.6, url: 'https://u', name: Leak, message: m, matchingRules: [{type: Always}]}",
            ),
            ("blocked-edges/hard.yaml", r"{to: 4.9.8, from: 4\.8\..*}"),
        ],
        TO_498,
        &["2020-05-12T00:00Z stable-4.9 why"],
        expect![[r#"
            2020-05-12T00:00Z stable-4.9 why
                has 4.8.5, 4.9.6, 4.9.7, 4.9.8
                4.8.5 -> 4.9.8 not
                    blocked for every cluster (blocked-edges/hard.yaml:1)
                    it carries the risk Slow, see https://u (blocked-edges/risk.yaml:1)
                4.9.6 -> 4.9.8 unless Leak or Slow
                    it carries the risk Leak, see https://u (blocked-edges/second.yaml:1)
                    it carries the risk Slow, see https://u (blocked-edges/risk.yaml:1)
                4.9.7 -> 4.9.8 unless Slow
                    it carries the risk Slow, see https://u (blocked-edges/risk.yaml:1)
        "#]],
    );
}

#[test]
fn a_targeted_block_stops_listed_and_unknown_platforms() {
    check(
        &[
            PLAIN,
            STABLE,
            (
                "blocked-edges/a.yaml",
                "{to: 4.9.8, from: 4.9.7, clusters: {platforms: [AWS, Azure]}}",
            ),
        ],
        "4.9.7 -> 4.9.8",
        &[
            "2020-05-12T00:00Z stable-4.9 platform=AWS why",
            "2020-05-12T00:00Z stable-4.9 platform=azure why",
            "2020-05-12T00:00Z stable-4.9 platform=GCP why",
            "2020-05-12T00:00Z stable-4.9 why",
        ],
        expect![[r#"
            2020-05-12T00:00Z stable-4.9 platform=AWS why
                has 4.9.7, 4.9.8
                4.9.7 -> 4.9.8 not
                    blocked on AWS (blocked-edges/a.yaml:1)
            2020-05-12T00:00Z stable-4.9 platform=azure why
                has 4.9.7, 4.9.8
                4.9.7 -> 4.9.8 not
                    blocked on azure (blocked-edges/a.yaml:1)
            2020-05-12T00:00Z stable-4.9 platform=GCP why
                has 4.9.7, 4.9.8
                4.9.7 -> 4.9.8
            2020-05-12T00:00Z stable-4.9 why
                has 4.9.7, 4.9.8
                4.9.7 -> 4.9.8 not
                    blocked on AWS, Azure, and this cluster's platform is unknown (blocked-edges/a.yaml:1)
        "#]],
    );
}

#[test]
fn clusters_described_in_unknown_words_are_all_clusters() {
    for clusters in [
        "{platforms: [AWS], regions: [eu]}",
        "{regions: [eu]}",
        "{}",
        "{platforms: []}",
        "{platforms: [AWS, Vshpere]}",
        "{platforms: [Amazon]}",
    ] {
        let block = format!("{{to: 4.9.8, from: .*, clusters: {clusters}}}");
        let graph = graph(&[PLAIN, STABLE, ("blocked-edges/a.yaml", &block)], TO_498);
        for who in ["platform=AWS", "platform=GCP", ""] {
            let seen = offered(
                &graph,
                &cluster(&["stable-4.9", who]),
                Timestamp::UNIX_EPOCH,
            );
            assert_eq!(seen, BTreeSet::new(), "{clusters} for {who}");
        }
    }
}

#[test]
fn a_cluster_on_a_platform_that_openshift_does_not_have_is_stopped_like_an_unknown_one() {
    let block = "{to: 4.9.8, from: .*, clusters: {platforms: [AWS]}}";
    check(
        &[PLAIN, STABLE, ("blocked-edges/a.yaml", block)],
        "4.9.7 -> 4.9.8",
        &["2020-05-12T00:00Z stable-4.9 platform=Amazon why"],
        expect![[r#"
            2020-05-12T00:00Z stable-4.9 platform=Amazon why
                has 4.9.7, 4.9.8
                4.9.7 -> 4.9.8 not
                    blocked on AWS, and Amazon is not a platform of OpenShift (blocked-edges/a.yaml:1)
        "#]],
    );
}

#[test]
fn what_no_cluster_can_store_blocks_its_edge_and_nothing_else() {
    let risk = |name: &str, url: &str, rule: &str| {
        format!(
            "{{to: 4.9.8, from: .*, url: {url}, name: {name}, message: m, matchingRules: [{rule}]}}"
        )
    };
    let query =
        |query: &str| format!("{{type: PromQL, promql: {{promql: {query}}}}}, {{type: Always}}");
    let (always, good) = ("{type: Always}", "'https://u'");
    let other = (
        "blocked-edges/z.yaml",
        risk("Slow", "'https://other'", always),
    );
    for (what, a, b) in [
        (
            "a name that is no reason",
            risk("Slow-Start", good, always),
            None,
        ),
        (
            "a url that is no URI",
            risk("Slow", "example", always),
            None,
        ),
        (
            "a blank before a url",
            risk("Slow", "' https://u'", always),
            None,
        ),
        ("an empty query", risk("Slow", good, &query("''")), None),
        (
            "a query that is not PromQL",
            risk("Slow", good, &query("'up =='")),
            None,
        ),
        (
            "one name, two urls",
            risk("Slow", good, always),
            Some(&other),
        ),
    ] {
        let mut files = vec![PLAIN, STABLE, ("blocked-edges/a.yaml", a.as_str())];
        files.extend(b.map(|(path, text)| (*path, text.as_str())));
        let graph = graph(&files, "4.9.6 -> 4.9.7; 4.9.7 -> 4.9.8");
        for who in ["platform=AWS", ""] {
            let cluster = cluster(&["stable-4.9", who]);
            let at = Situation {
                graph: &graph,
                cluster: &cluster,
                now: Timestamp::UNIX_EPOCH,
            };
            let view = recommend(Policy::graph(), &at);
            let (kept, blocked): (Vec<_>, Vec<_>) = view
                .judged
                .iter()
                .partition(|(_, verdict)| verdict.is_offered());
            assert_eq!((kept.len(), blocked.len()), (1, 1), "{what}");
            let reasons = &blocked[0].1.reasons;
            let refusals = reasons
                .iter()
                .filter(|one| one.code().name == "RiskNotServable");
            let places: Vec<String> = refusals
                .filter_map(|one| Some(one.place()?.to_string()))
                .collect();
            let expected = ["blocked-edges/a.yaml:1", "blocked-edges/z.yaml:1"];
            assert_eq!(places, expected[..1 + usize::from(b.is_some())], "{what}");
        }
    }
}

#[test]
fn the_service_warns_of_blocks_that_match_nothing() {
    let idle = [
        PLAIN,
        STABLE,
        ("blocked-edges/a.yaml", "{to: 4.9.8, from: ^9}"),
        ("blocked-edges/b.yaml", "{to: 4.9.88, from: .*}"),
        ("blocked-edges/c.yaml", "{to: 4.9.8, from: s390x}"),
    ];
    let files = idle.map(|(path, text)| SourceFile {
        path: path.into(),
        bytes: text.as_bytes().into(),
    });
    let (data, _) = data::read(&files).unwrap();
    let (_, findings) = Graph::build(data, towpath_core::graph::Releases::default());
    let said: Vec<String> = findings.iter().map(ToString::to_string).collect();
    expect![[r#"
        blocked-edges/a.yaml:1: no release matches "^9", so the block has no effect; correct `from`; it may match anywhere in a version with its architecture, as in 4.9.7+amd64
        blocked-edges/b.yaml:1: there is no release 4.9.88, so the block has no effect; correct `to`, or wait until it is published"#]].assert_eq(&said.join("\n"));
    assert!(
        !findings
            .iter()
            .any(towpath_core::finding::Finding::is_error)
    );
}

#[test]
fn a_node_lists_its_channels_as_production_does_and_a_url_that_clients_can_parse() {
    let channel = |name: &str| {
        (
            format!("channels/{name}.yaml"),
            format!("{{name: {name}, versions: [4.9.7, 4.9.8]}}"),
        )
    };
    let names = [
        "stable-4.9",
        "fast-4.9",
        "stable-4.10",
        "stable-4.8",
        "eus-4.10",
    ];
    let files: Vec<(String, String)> = names.into_iter().map(channel).collect();
    let files: Vec<SourceFile> = [("version".to_owned(), "1.1.0\n".to_owned())]
        .into_iter()
        .chain(files)
        .map(|(path, text)| SourceFile {
            path,
            bytes: text.into_bytes().into(),
        })
        .collect();
    let (data, _) = data::read(&files).unwrap();
    let json = r#"{"nodes": [
        {"version": "4.9.7", "payload": "p7", "metadata": {"url": " https://example.com/7"}},
        {"version": "4.9.8", "payload": "p8", "metadata": {"url": "https://example.com:x/8"}}],
        "edges": []}"#;
    let (releases, _) = releases::read(&Place::file("r"), json.as_bytes()).unwrap();
    let (graph, findings) = Graph::build(data, releases);
    let said: Vec<String> = findings.iter().map(ToString::to_string).collect();
    expect![[r#"
        releases: the url " https://example.com/7" of 4.9.7+amd64 has blanks around it; it is served without them; correct it where the release is made; clients refuse a whole graph for such a url
        releases: the url "https://example.com:x/8" of 4.9.8+amd64 cannot be parsed; the release is served without it; correct it where the release is made; clients refuse a whole graph for such a url"#]].assert_eq(&said.join("\n"));
    let view = ask(&graph, &cluster(&["stable-4.9"]), Timestamp::UNIX_EPOCH);
    let served = towpath_formats::graph::cincinnati::write(&graph, &view, Timestamp::UNIX_EPOCH);
    let served: serde_json::Value = serde_json::from_str(&served).unwrap();
    let metadata = |at: usize| &served["nodes"][at]["metadata"];
    assert_eq!(
        metadata(0)["io.openshift.upgrades.graph.release.channels"],
        "eus-4.10,stable-4.10,stable-4.8,fast-4.9,stable-4.9"
    );
    assert_eq!(metadata(0)["url"], "https://example.com/7");
    assert!(metadata(1)["url"].is_null());
}

#[test]
fn a_file_with_both_stops_some_and_warns_the_rest() {
    let both = "{to: 4.9.8, from: .*, url: 'https://u', name: Slow, message: m, matchingRules: [{type: Always}], clusters: {platforms: [AWS]}}";
    check(
        &[PLAIN, STABLE, ("blocked-edges/a.yaml", both)],
        "4.9.7 -> 4.9.8",
        &[
            "2020-05-12T00:00Z stable-4.9 platform=AWS",
            "2020-05-12T00:00Z stable-4.9 platform=GCP",
            "2020-05-12T00:00Z stable-4.9",
        ],
        expect![[r#"
            2020-05-12T00:00Z stable-4.9 platform=AWS
                has 4.9.7, 4.9.8
            2020-05-12T00:00Z stable-4.9 platform=GCP
                has 4.9.7, 4.9.8
                4.9.7 -> 4.9.8 unless Slow
            2020-05-12T00:00Z stable-4.9
                has 4.9.7, 4.9.8
        "#]],
    );
}

// Releases and their own metadata

#[test]
fn releases_add_and_remove_edges_of_their_own() {
    check_metadata(
        &[
            r#"{}"#,
            r#"{"4.9.8": {"previous.add": "4.9.6"}}"#,
            r#"{"4.9.8": {"previous.add": "4.9.6+arm64, 4.0.0, 4.9.8"}}"#,
            r#"{"4.9.8+arm64": {"previous.add": "4.9.6"}}"#,
            r#"{"4.9.8": {"previous.remove": "4.9.7, 4.9.6"}}"#,
            r#"{"4.9.8": {"previous.add": "4.9.6", "previous.remove": "4.9.6"}}"#,
            r#"{"4.9.8": {"previous.remove_regex": "4[.]9[.].*"}}"#,
            r#"{"4.9.8": {"previous.remove_regex": "amd64"}}"#,
            r#"{"4.9.7": {"next.remove": "4.9.8"}, "4.9.6": {"next.add": "4.9.8"}}"#,
            r#"{"4.9.7": {"release.remove": "true"}}"#,
        ],
        expect![[r#"
            {}
                leaves 4.8.5 -> 4.9.8, 4.9.7 -> 4.9.8
            {"4.9.8": {"previous.add": "4.9.6"}}
                leaves 4.8.5 -> 4.9.8, 4.9.6 -> 4.9.8, 4.9.7 -> 4.9.8
            {"4.9.8": {"previous.add": "4.9.6+arm64, 4.0.0, 4.9.8"}}
                leaves 4.8.5 -> 4.9.8, 4.9.7 -> 4.9.8
            {"4.9.8+arm64": {"previous.add": "4.9.6"}}
                leaves 4.8.5 -> 4.9.8, 4.9.7 -> 4.9.8
            {"4.9.8": {"previous.remove": "4.9.7, 4.9.6"}}
                leaves 4.8.5 -> 4.9.8
            {"4.9.8": {"previous.add": "4.9.6", "previous.remove": "4.9.6"}}
                leaves 4.8.5 -> 4.9.8, 4.9.7 -> 4.9.8
            {"4.9.8": {"previous.remove_regex": "4[.]9[.].*"}}
                leaves 4.8.5 -> 4.9.8
            {"4.9.8": {"previous.remove_regex": "amd64"}}
                leaves nothing
            {"4.9.7": {"next.remove": "4.9.8"}, "4.9.6": {"next.add": "4.9.8"}}
                leaves 4.8.5 -> 4.9.8, 4.9.6 -> 4.9.8
            {"4.9.7": {"release.remove": "true"}}
                leaves 4.8.5 -> 4.9.8
        "#]],
    );
}

#[test]
fn what_is_removed_by_anyone_stays_removed() {
    check_metadata(
        &[
            r#"{"4.9.8": {"previous.remove": "*"}}"#,
            r#"{"4.9.8": {"previous.add": "4.9.6", "previous.remove_regex": ".*"}}"#,
            r#"{"4.9.7": {"next.remove": "*"}}"#,
        ],
        expect![[r#"
            {"4.9.8": {"previous.remove": "*"}}
                leaves nothing
            {"4.9.8": {"previous.add": "4.9.6", "previous.remove_regex": ".*"}}
                leaves nothing
            {"4.9.7": {"next.remove": "*"}}
                leaves 4.8.5 -> 4.9.8
        "#]],
    );
}

/// Graph data with such a mistake is refused; what a release image says cannot be, so it fails closed.
#[test]
fn what_a_release_says_and_nobody_understands_removes_its_edges() {
    let graph = r#"{"nodes":[{"version":"4.9.7","payload":"a"},
        {"version":"4.9.8","payload":"b","metadata":{"io.openshift.upgrades.graph.previous.remove_regex":"("}}],"edges":[[0,1]]}"#;
    let (releases, _) =
        towpath_formats::graph::releases::read(&Place::file("r"), graph.as_bytes()).unwrap();
    let (graph, warnings) = Graph::build(towpath_core::graph::GraphData::default(), releases);
    assert_eq!(graph.edges(), []);
    assert_eq!(warnings.len(), 1);
    assert!(
        warnings[0]
            .problem
            .contains("previous.remove_regex of 4.9.8+amd64"),
        "{}",
        warnings[0]
    );
}

fn check_metadata(files: &[&str], expected: Expect) {
    let mut table = String::new();
    for metadata in files {
        let keys = ["previous", "next", "release"];
        let raw = keys.iter().fold((*metadata).to_owned(), |raw, key| {
            raw.replace(
                &format!("\"{key}."),
                &format!("\"io.openshift.upgrades.graph.{key}."),
            )
        });
        let graph = graph(
            &[PLAIN, STABLE, ("raw/metadata.json", &raw)],
            "4.8.5 -> 4.9.8; 4.9.7 -> 4.9.8; 4.9.6",
        );
        let seen = offered(&graph, &cluster(&["stable-4.9"]), Timestamp::UNIX_EPOCH);
        table += &format!("{metadata}\n    leaves {}\n", or_nothing(seen));
    }
    expected.assert_eq(&table);
}

#[test]
fn risks_of_the_releases_file_stay_on_their_edges() {
    check(
        &[PLAIN, STABLE],
        "4.9.6 -> 4.9.8 unless Slow; 4.9.7 -> 4.9.8; 4.9.7 -> 4.9.8 unless Leak",
        &["2020-05-12T00:00Z stable-4.9 why"],
        expect![[r#"
            2020-05-12T00:00Z stable-4.9 why
                has 4.9.6, 4.9.7, 4.9.8
                4.9.6 -> 4.9.8 unless Slow
                    it carries the risk Slow, see https://u (releases)
                4.9.7 -> 4.9.8 unless Leak
                    it carries the risk Leak, see https://u (releases)
        "#]],
    );
}

#[test]
fn a_release_without_a_payload_is_left_out_with_its_edges() {
    check(
        &[PLAIN, STABLE],
        "4.8.5 -> (4.9.6); (4.9.6) -> 4.9.8; 4.9.7 -> 4.9.8",
        &["2020-05-12T00:00Z stable-4.9"],
        expect![[r#"
            2020-05-12T00:00Z stable-4.9
                has 4.8.5, 4.9.7, 4.9.8
                4.9.7 -> 4.9.8
        "#]],
    );
}

#[test]
fn a_channel_that_does_not_exist_holds_nothing() {
    check(
        &[PLAIN, STABLE],
        TO_498,
        &[
            "2020-05-12T00:00Z stable-5.0",
            "2020-05-12T00:00Z stable-4.9 arch=s390x",
        ],
        expect![[r#"
            2020-05-12T00:00Z stable-5.0
                has nothing
            2020-05-12T00:00Z stable-4.9 arch=s390x
                has nothing
        "#]],
    );
}

// What holds for all data

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn the_order_of_files_does_not_matter(
        (files, shuffled) in any_data().prop_flat_map(|files| (Just(files.clone()), Just(files).prop_shuffle())),
        cluster in any_cluster(),
        now in any_instant(),
    ) {
        prop_assert_eq!(answer(&graph_of(&files), &cluster, now), answer(&graph_of(&shuffled), &cluster, now));
    }

    #[test]
    fn what_is_unknown_never_loosens(files in any_data(), id in any_id(), now in any_instant()) {
        let graph = graph_of(&files);
        let known = |id: &str, platform: &str| offered(&graph, &cluster(&["stable-4.9", id, platform]), now);
        let ids = [id.as_str(), "id=a", "id=b", "id=c", ""];
        let platforms = ["platform=AWS", "platform=Azure", "platform=GCP", ""];
        for id in ids {
            for platform in platforms {
                let seen = known(id, platform);
                prop_assert!(known("", platform).is_subset(&seen), "without {id}, on {platform}");
                prop_assert!(known(id, "").is_subset(&seen), "with {id}, without {platform}");
            }
        }
    }

    #[test]
    fn what_a_cluster_sees_only_grows_with_time(
        files in any_data(),
        cluster in any_cluster(),
        first in any_instant(),
        second in any_instant(),
    ) {
        let graph = graph_of(&files);
        let (early, late) = (first.min(second), first.max(second));
        prop_assert!(offered(&graph, &cluster, early).is_subset(&offered(&graph, &cluster, late)));
        prop_assert!(nodes(&graph, &cluster, early).is_subset(&nodes(&graph, &cluster, late)));
    }
}

/// Some releases that enter in May, with or without a rollout, and up to six blocks of every kind.
fn any_data() -> impl Strategy<Value = Vec<(String, String)>> {
    let member = |name: &'static str| {
        (1..31u32, any::<bool>()).prop_map(move |(day, locked)| {
            format!("- {{name: {name}, start: '2020-05-{day:02}T00:00Z', locked: {locked}}}\n")
        })
    };
    let rule = proptest::sample::select(vec!["P0S", "PT36H", "P2D", "P1W", "P1M"]);
    let ramp = proptest::sample::select(vec!["linear", "exponential"]);
    let rollouts = (rule.clone(), rule, ramp).prop_map(|(patch, other, ramp)| {
        format!("[{{fromVersion: patch, duration: {patch}, ramp: {ramp}}}, {{duration: {other}}}]")
    });
    let channels = (rollouts, ["4.8.5", "4.9.6", "4.9.7", "4.9.8"].map(member)).prop_map(
        |(rollouts, members)| {
            let channels = format!(
                "channels: [{{name: fast-4.9}}, {{name: stable-4.9, phasedRollouts: {rollouts}}}]\n"
            );
            (
                "channels/4.9.yaml".to_owned(),
                format!("{channels}versions:\n{}", members.concat()),
            )
        },
    );
    let blocks = proptest::collection::vec(any_block(), 0..6).prop_map(|blocks| {
        let file = |(n, text): (usize, String)| (format!("blocked-edges/{n}.yaml"), text);
        blocks.into_iter().enumerate().map(file).collect::<Vec<_>>()
    });
    (channels, blocks).prop_map(|(channels, mut files)| {
        files.push(channels);
        files.push(("version".to_owned(), "2.0.0".to_owned()));
        files
    })
}

fn any_block() -> impl Strategy<Value = String> {
    let to = proptest::sample::select(vec![
        "4.9.6",
        "4.9.7",
        "4.9.8",
        "4.9.8+amd64",
        "4.9.8+arm64",
    ]);
    let from = proptest::sample::select(vec!["4[.]8", "4.9.6", "[67][+]", "arm64"]);
    let about = proptest::sample::select(vec![
        "",
        ", clusters: {platforms: [AWS]}",
        ", clusters: {platforms: [Azure, aws]}",
        ", clusters: {platforms: [AWS], regions: [eu]}",
        ", url: 'https://u', name: Slow, message: m, matchingRules: [{type: Always}]",
        ", url: 'https://u', name: Leak, message: m, matchingRules: [{type: Always}], clusters: {platforms: [GCP]}",
    ]);
    (to, from, about).prop_map(|(to, from, about)| format!("{{to: {to}, from: '{from}'{about}}}"))
}

fn any_id() -> impl Strategy<Value = String> {
    "[0-9a-f]{8}".prop_map(|id| format!("id={id}"))
}

fn any_cluster() -> impl Strategy<Value = Cluster> {
    let platform =
        proptest::sample::select(vec!["", "platform=AWS", "platform=Azure", "platform=GCP"]);
    let id = prop_oneof![Just(String::new()), any_id()];
    let channel = proptest::sample::select(vec!["fast-4.9", "stable-4.9"]);
    (channel, id, platform).prop_map(|(channel, id, platform)| cluster(&[channel, &id, platform]))
}

/// Somewhere in May and June, often at a round hour.
fn any_instant() -> impl Strategy<Value = Timestamp> {
    let may: Timestamp = "2020-05-01T00:00Z".parse().expect("a time");
    let within = prop_oneof![
        (0..61 * 24i64).prop_map(|hours| hours * 3600),
        0..61 * 24 * 3600i64
    ];
    within.prop_map(move |seconds| may + SignedDuration::from_secs(seconds))
}

fn graph_of(files: &[(String, String)]) -> Graph {
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    graph(
        &files,
        "4.8.5 -> 4.9.6 4.9.7 4.9.8; 4.9.6 -> 4.9.7 4.9.8; 4.9.7 -> 4.9.8",
    )
}

// How questions are asked

fn check(files: Files<'_>, releases: &str, questions: &[&str], expected: Expect) {
    let graph = graph(files, releases);
    let mut answers = String::new();
    for question in questions {
        let (now, cluster_and_why) = question.split_once(' ').expect("an instant and a channel");
        let words: Vec<&str> = cluster_and_why.split(' ').collect();
        let view = ask(&graph, &cluster(&words), now.parse().expect("an instant"));
        answers += &format!(
            "{question}\n    has {}\n",
            or_nothing(shown_nodes(&graph, &view))
        );
        for (edge, verdict) in view
            .judged
            .iter()
            .filter(|(_, v)| v.is_offered() || words.contains(&"why"))
        {
            answers += &format!("    {}\n", shown(&graph, *edge, verdict));
            if words.contains(&"why") {
                verdict
                    .reasons
                    .iter()
                    .for_each(|reason| answers += &format!("        {reason}\n"));
            }
        }
    }
    expected.assert_eq(&answers);
}

fn or_nothing(names: BTreeSet<String>) -> String {
    match names.is_empty() {
        true => "nothing".to_owned(),
        false => names.into_iter().collect::<Vec<_>>().join(", "),
    }
}

fn shown(graph: &Graph, edge: Edge, verdict: &Verdict) -> String {
    let version = |id| &graph.release(id).version;
    let edge = format!("{} -> {}", version(edge.from), version(edge.to));
    match &verdict.answer {
        Answer::Recommend => edge,
        Answer::RecommendUnless(risks) => {
            let names: Vec<&str> = risks
                .iter()
                .map(|id| graph.risk(*id).name.as_str())
                .collect();
            format!("{edge} unless {}", names.join(" or "))
        }
        Answer::Wait { .. } => format!("{edge} not yet"),
        Answer::Refuse => format!("{edge} not"),
    }
}

fn shown_nodes(graph: &Graph, view: &View) -> BTreeSet<String> {
    view.releases
        .iter()
        .map(|id| graph.release(*id).version.to_string())
        .collect()
}

fn nodes(graph: &Graph, cluster: &Cluster, now: Timestamp) -> BTreeSet<String> {
    shown_nodes(graph, &ask(graph, cluster, now))
}

/// The edges that the cluster is shown. An edge with risks is another than one without.
fn offered(graph: &Graph, cluster: &Cluster, now: Timestamp) -> BTreeSet<String> {
    ask(graph, cluster, now)
        .offered()
        .map(|(edge, verdict)| shown(graph, *edge, verdict))
        .collect()
}

/// All that is said, with every reason.
fn answer(graph: &Graph, cluster: &Cluster, now: Timestamp) -> String {
    let view = ask(graph, cluster, now);
    let judged: Vec<_> = view
        .judged
        .iter()
        .map(|(edge, v)| (shown(graph, *edge, v), &v.reasons))
        .collect();
    format!("{:?} {judged:?}", shown_nodes(graph, &view))
}

fn ask(graph: &Graph, cluster: &Cluster, now: Timestamp) -> View {
    recommend(
        Policy::graph(),
        &Situation {
            graph,
            cluster,
            now,
        },
    )
}

/// A channel, then what is known: `arch=`, `id=`, `platform=`, `groups=`.
fn cluster(words: &[&str]) -> Cluster {
    let known = |key: &str| words.iter().find_map(|word| word.strip_prefix(key));
    Cluster {
        id: Fact::from(known("id=").map(|id| ClusterId::new(id).expect("an id"))),
        platform: Fact::from(
            known("platform=").map(|platform| Platform::new(platform).expect("a platform")),
        ),
        channel: ChannelName::new(words[0]).expect("a channel"),
        groups: towpath_testing_graphs::groups(known("groups=")),
        arch: known("arch=").map(Arch::new).unwrap_or_default(),
    }
}

fn graph(files: Files<'_>, releases: &str) -> Graph {
    let file = |(path, text): &(&str, &str)| SourceFile {
        path: (*path).into(),
        bytes: text.as_bytes().into(),
    };
    let files: Vec<SourceFile> = files.iter().map(file).collect();
    let (data, _) = data::read(&files).unwrap_or_else(|findings| panic!("{findings:#?}"));
    let json = releases_file(releases);
    let (releases, _) =
        releases::read(&Place::file("releases.json"), json.as_bytes()).expect("good releases");
    Graph::build(data, releases).0
}

/// Writes a releases file: `4.9.1 -> 4.9.2 4.9.3; 4.9.2 -> 4.9.3 unless Risk`. `(4.9.0)` has no payload.
fn releases_file(text: &str) -> String {
    let statements: Vec<Vec<&str>> = text
        .split(';')
        .map(|part| part.split_whitespace().collect())
        .collect();
    let names: BTreeSet<&str> = statements
        .iter()
        .flat_map(|words| words.iter().take_while(|word| **word != "unless"))
        .copied()
        .collect();
    let names: Vec<&str> = names.into_iter().filter(|name| *name != "->").collect();
    let node = |name: &&str| match name.strip_prefix('(') {
        Some(name) => serde_json::json!({"version": name.trim_end_matches(')')}),
        None => {
            serde_json::json!({"version": name, "payload": format!("registry.example.com/release@{name}")})
        }
    };
    let number = |name: &str| names.iter().position(|known| *known == name);
    let (mut edges, mut conditional) = (Vec::new(), Vec::new());
    for words in statements.iter().filter(|words| words.len() > 1) {
        match words.as_slice() {
            [from, "->", to, "unless", risk] => conditional.push(serde_json::json!({
                "edges": [{"from": from, "to": to}],
                "risks": [{"name": risk, "url": "https://u", "message": "m", "matchingRules": [{"type": "Always"}]}],
            })),
            [from, "->", targets @ ..] => edges.extend(targets.iter().map(|to| (number(from), number(to)))),
            _ => panic!("{words:?} is not an edge"),
        }
    }
    let nodes: Vec<_> = names.iter().map(node).collect();
    serde_json::json!({"nodes": nodes, "edges": edges, "conditionalEdges": conditional}).to_string()
}

#[test]
fn rollouts_are_listed_while_they_are_open_and_not_for_edges_that_nobody_gets() {
    let channels = "channels: [{name: c, phasedRollouts: [{duration: P2D}]}]\nversions: [{name: 4.9.6, start: '2020-01-01T00:00Z'}, {name: 4.9.7, start: '2020-01-01T00:00Z'}, {name: 4.9.8, start: '2020-05-12T00:00Z'}]";
    let files = [
        ("version", "2.0.0"),
        ("channels/c.yaml", channels),
        ("blocked-edges/b.yaml", "to: 4.9.8\nfrom: 4[.]9[.]7\n"),
        (
            "blocked-edges/p.yaml",
            "to: 4.9.8\nfrom: .*\nclusters: {platforms: [AWS]}\n",
        ),
    ];
    let graph = graph(&files, "4.9.6 -> 4.9.8; 4.9.7 -> 4.9.8; 4.9.6 -> 4.9.7");
    let listed = |now: &str| -> Vec<String> {
        let rollouts = towpath_core::graph::rollouts(&graph, now.parse().unwrap());
        let edges = rollouts
            .iter()
            .flat_map(|one| one.reaching_from.iter().map(move |from| (one, from)));
        edges
            .map(|(one, from)| format!("{} {from} -> {}", one.channel, one.to))
            .collect()
    };
    assert_eq!(listed("2020-05-13T00:00Z"), ["c 4.9.6 -> 4.9.8"]);
    assert_eq!(listed("2020-05-14T00:00Z"), Vec::<String>::new());
}

/// Whoever knows only schema 1.0.0 ignores `clusters` and blocks the edge for everybody. So do we, and say so.
#[test]
fn clusters_in_schema_1_0_0_narrow_nothing() {
    let read = |version: &str| {
        let files = [
            ("version", version),
            ("channels/c.yaml", "name: c\nversions: [4.9.7, 4.9.8]\n"),
            (
                "blocked-edges/p.yaml",
                "to: 4.9.8\nfrom: .*\nclusters: {platforms: [AWS]}\n",
            ),
        ];
        let files = files.map(|(path, text)| SourceFile {
            path: path.to_owned(),
            bytes: text.as_bytes().into(),
        });
        let (data, findings) = data::read(&files).unwrap();
        let findings: Vec<String> = findings.iter().map(ToString::to_string).collect();
        (data.blocks[0].stops.clone().unwrap(), findings)
    };
    let (stops, findings) = read("1.0.0");
    assert!(matches!(stops, Audience::NotUnderstood(_)), "{stops:?}");
    let expected = "blocked-edges/p.yaml:3:11: schema 1.0.0 has no `clusters`, and those who read it block the edge for every cluster, as this towpath does; \
        write 1.1.0 into the file `version`, or remove `clusters`";
    assert_eq!(findings, [expected]);
    for version in ["1.1.0", "\u{feff}1.1.0\r\n"] {
        let (stops, findings) = read(version);
        assert!(matches!(stops, Audience::Platforms(_)), "{stops:?}");
        assert_eq!(findings, Vec::<String>::new());
    }
}
