//! What becomes of a 1.x repository: files as they are written, and the same files in schema 2.0.0.
//!
//! Each test shows whole files. Those that cannot be kept are refused, with a place; nothing is dropped in silence.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so")]

use std::collections::BTreeSet;

use expect_test::{Expect, expect};
use jiff::Timestamp;
use proptest::prelude::*;
use towpath_core::graph::ChannelName;
use towpath_core::version::ReleaseName;
use towpath_formats::SourceFile;
use towpath_formats::graph::data;
use towpath_formats::graph::data::migrate::{Migration, Rollout, Stays, Wishes, migrate};

type Files<'a> = &'a [(&'a str, &'a str)];

const NOW: &str = "2026-11-16T12:00Z";

// Channels that share a file

#[test]
fn fast_and_stable_come_to_share_a_file() {
    check(
        &[
            (
                "channels/fast-4.9.yaml",
                "name: fast-4.9\nversions:\n- 4.9.1\n- 4.9.2\n",
            ),
            (
                "channels/stable-4.9.yaml",
                "name: stable-4.9\nversions:\n- 4.9.1\n- 4.9.2\n",
            ),
        ],
        &["patch=P2D", "minor=P14D,exponential"],
        expect![[r#"
            == channels/4.9.yaml
            channels:
            - name: fast-4.9
            - name: stable-4.9
              phasedRollouts:
              - fromVersion: patch
                duration: P2D
              - fromVersion: minor
                duration: P14D
                ramp: exponential
            versions:
            - name: 4.9.1
              start: 1970-01-01T00:00:00Z
            - name: 4.9.2
              start: 1970-01-01T00:00:00Z
        "#]],
    );
}

#[test]
fn a_release_that_is_held_back_keeps_its_channels_apart() {
    check(
        HELD_BACK,
        &["P1D"],
        expect![[r#"
            == channels/4.8.yaml
            channels:
            - name: stable-4.8
              phasedRollouts:
              - duration: P1D
            - name: eus-4.8
              phasedRollouts:
              - duration: P1D
            versions:
            - name: 4.8.1
              start: 1970-01-01T00:00:00Z
            == channels/fast-4.8.yaml
            channels:
            - name: fast-4.8
            versions:
            - name: 4.8.1
              start: 1970-01-01T00:00:00Z
            - name: 4.8.2
              start: 1970-01-01T00:00:00Z
            !! channels/stable-4.8.yaml: stable-4.8 lacks 4.8.2 of fast-4.8, so each keeps its file; there is nothing to do if that is held back; if it is on its way, join them and roll it out from now on: --promote 4.8.2
        "#]],
    );
}

const HELD_BACK: Files<'static> = &[
    (
        "channels/eus-4.8.yaml",
        "name: eus-4.8\nversions: [4.8.1]\n",
    ),
    (
        "channels/fast-4.8.yaml",
        "name: fast-4.8\nversions: [4.8.1, 4.8.2]\n",
    ),
    (
        "channels/stable-4.8.yaml",
        "name: stable-4.8\nversions: [4.8.1]\n",
    ),
];

#[test]
fn what_a_person_promotes_joins_them_and_is_rolled_out_from_now_on() {
    let migration = migrated(HELD_BACK, &wishes(&["P1D"], &["4.8.2"]), &Stays::default()).unwrap();
    expect![[r#"
        == channels/4.8.yaml
        channels:
        - name: fast-4.8
        - name: stable-4.8
          phasedRollouts:
          - duration: P1D
        - name: eus-4.8
          phasedRollouts:
          - duration: P1D
        versions:
        - name: 4.8.1
          start: 1970-01-01T00:00:00Z
        - name: 4.8.2
          start: 2026-11-16T12:00:00Z
    "#]]
    .assert_eq(&shown(&migration));
}

/// A release starts once for all channels of a file: where it has been shown already, it would be taken back.
#[test]
fn what_is_promoted_is_not_phased_in_again_where_it_is_already() {
    let fast_too = Wishes {
        phased: vec!["fast".into(), "stable".into()],
        ..wishes(&["P1D"], &["4.8.2"])
    };
    let refused = migrated(HELD_BACK, &fast_too, &Stays::default()).unwrap_err();
    expect!["channels/fast-4.8.yaml: fast-4.8 has 4.8.2 already, and would phase it in again if it is promoted now; leave fast-4.8 out of --channels, or do not promote 4.8.2"]
        .assert_eq(&refused[0].to_string());
}

#[test]
fn candidates_and_channels_of_no_version_are_never_joined() {
    let files = &[
        ("channels/fast.yaml", "name: fast\nversions: [4.9.1]\n"),
        ("channels/stable.yaml", "name: stable\nversions: [4.9.1]\n"),
        (
            "channels/candidate-4.9.yaml",
            "name: candidate-4.9\nversions: [4.9.1]\n",
        ),
        (
            "channels/fast-4.9.yaml",
            "name: fast-4.9\nversions: [4.9.1]\n",
        ),
    ];
    let migration = migrated(files, &wishes(&[], &[]), &Stays::default()).unwrap();
    let paths: Vec<&str> = migration
        .channels
        .iter()
        .map(|file| file.path.as_str())
        .collect();
    let alone = [
        "channels/candidate-4.9.yaml",
        "channels/fast-4.9.yaml",
        "channels/fast.yaml",
        "channels/stable.yaml",
    ];
    assert_eq!(paths, alone);
}

#[test]
fn tombstones_are_never_lost() {
    let fast = "name: fast-4.9\nversions: [4.9.1]\n";
    let stable = "name: stable-4.9\ntombstones:\n- 4.9.0\nversions: [4.9.1]\n";
    let files = &[
        ("channels/fast-4.9.yaml", fast),
        ("channels/stable-4.9.yaml", stable),
    ];
    check(
        files,
        &[],
        expect![[r#"
            == channels/fast-4.9.yaml
            channels:
            - name: fast-4.9
            versions:
            - name: 4.9.1
              start: 1970-01-01T00:00:00Z
            == channels/stable-4.9.yaml
            channels:
            - name: stable-4.9
            tombstones:
            - 4.9.0
            versions:
            - name: 4.9.1
              start: 1970-01-01T00:00:00Z
            !! channels/stable-4.9.yaml: stable-4.9 and fast-4.9 have different tombstones; there is nothing to do: each keeps its file
        "#]],
    );
}

#[test]
fn a_path_that_is_taken_is_left_to_its_owner() {
    let files = &[
        ("channels/4.9.yaml", "name: special\nversions: [4.9.1]\n"),
        (
            "channels/fast-4.9.yaml",
            "name: fast-4.9\nversions: [4.9.1]\n",
        ),
        (
            "channels/stable-4.9.yaml",
            "name: stable-4.9\nversions: [4.9.1]\n",
        ),
    ];
    let migration = migrated(files, &wishes(&[], &[]), &Stays::default()).unwrap();
    assert_eq!(migration.channels.len(), 3);
    assert_eq!(codes(&migration), ["kept-apart"]);
}

// Starts

#[test]
fn starts_come_from_history_and_nobody_waits_again() {
    // 4.9.3 came to stable three days ago; a window of fourteen days is not to begin for it now.
    let list = |name: &str, releases: &str| format!("name: {name}\nversions: [{releases}]\n");
    let mut stays = Stays::default();
    for (at, path, text) in [
        (
            "2026-01-01T00:00Z",
            "channels/fast-4.9.yaml",
            list("fast-4.9", "4.9.1"),
        ),
        (
            "2026-02-01T00:00Z",
            "channels/fast-4.9.yaml",
            list("fast-4.9", "4.9.1, 4.9.2"),
        ),
        (
            "2026-02-08T00:00Z",
            "channels/stable-4.9.yaml",
            list("stable-4.9", "4.9.1, 4.9.2"),
        ),
        (
            "2026-11-06T00:00Z",
            "channels/fast-4.9.yaml",
            list("fast-4.9", "4.9.1, 4.9.2, 4.9.3"),
        ),
        (
            "2026-11-13T00:00Z",
            "channels/stable-4.9.yaml",
            list("stable-4.9", "4.9.1, 4.9.2, 4.9.3"),
        ),
    ] {
        stays.commit(
            at.parse().unwrap(),
            std::iter::once((path, Some(text.as_bytes()))),
        );
    }
    let (fast, stable) = (
        list("fast-4.9", "4.9.1, 4.9.2, 4.9.3"),
        list("stable-4.9", "4.9.1, 4.9.2, 4.9.3"),
    );
    let files = &[
        ("channels/fast-4.9.yaml", fast.as_str()),
        ("channels/stable-4.9.yaml", stable.as_str()),
    ];
    let migration = migrated(files, &wishes(&["patch=P2D", "minor=P14D"], &[]), &stays).unwrap();
    expect![[r#"
        == channels/4.9.yaml
        channels:
        - name: fast-4.9
        - name: stable-4.9
          phasedRollouts:
          - fromVersion: patch
            duration: P2D
          - fromVersion: minor
            duration: P14D
        versions:
        - name: 4.9.1
          start: 2026-01-01T00:00:00Z
        - name: 4.9.2
          start: 2026-02-01T00:00:00Z
        - name: 4.9.3
          start: 2026-11-02T12:00:00Z  # it came 2026-11-06T00:00:00Z; an earlier start keeps what clusters see
    "#]]
    .assert_eq(&shown(&migration));
    let without_rollouts = migrated(files, &wishes(&[], &[]), &stays).unwrap();
    assert!(shown(&without_rollouts).contains("- name: 4.9.3\n  start: 2026-11-06T00:00:00Z\n"));
}

/// Candidate 11-05, fast 11-07, stable 11-12, and a rollout of fourteen days. stable is set back, and so are those before it.
#[test]
fn what_is_migrated_is_promoted_in_order() {
    let list = |name: &str, releases: &str| format!("name: {name}\nversions: [{releases}]\n");
    // 4.9.9 is in fast alone, so that fast and stable stay apart.
    let files = [
        ("2026-11-05T00:00Z", "candidate-4.9", "4.9.1, 4.9.9"),
        ("2026-11-07T00:00Z", "fast-4.9", "4.9.1, 4.9.9"),
        ("2026-11-12T00:00Z", "stable-4.9", "4.9.1"),
    ]
    .map(|(at, name, releases)| (at, format!("channels/{name}.yaml"), list(name, releases)));
    let mut stays = Stays::default();
    for (at, path, text) in &files {
        stays.commit(
            at.parse().unwrap(),
            std::iter::once((path.as_str(), Some(text.as_bytes()))),
        );
    }
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(_, path, text)| (path.as_str(), text.as_str()))
        .collect();
    let migration = migrated(&files, &wishes(&["patch=P14D"], &[]), &stays).unwrap();
    expect![[r#"
        == channels/candidate-4.9.yaml
        channels:
        - name: candidate-4.9
        versions:
        - name: 4.9.1
          start: 2026-11-02T12:00:00Z  # it came 2026-11-05T00:00:00Z; an earlier start keeps it before the channel that this one feeds
        - name: 4.9.9
          start: 2026-11-05T00:00:00Z
        == channels/fast-4.9.yaml
        channels:
        - name: fast-4.9
        versions:
        - name: 4.9.1
          start: 2026-11-02T12:00:00Z  # it came 2026-11-07T00:00:00Z; an earlier start keeps it before the channel that this one feeds
        - name: 4.9.9
          start: 2026-11-07T00:00:00Z
        == channels/stable-4.9.yaml
        channels:
        - name: stable-4.9
          phasedRollouts:
          - fromVersion: patch
            duration: P14D
        versions:
        - name: 4.9.1
          start: 2026-11-02T12:00:00Z  # it came 2026-11-12T00:00:00Z; an earlier start keeps what clusters see
        !! channels/stable-4.9.yaml: stable-4.9 lacks 4.9.9 of fast-4.9, so each keeps its file; there is nothing to do if that is held back; if it is on its way, join them and roll it out from now on: --promote 4.9.9
    "#]].assert_eq(&shown(&migration));
    let lint = towpath_formats::graph::lint::lint(&migration.files, None);
    let errors: Vec<String> = lint
        .findings
        .iter()
        .filter(|finding| finding.is_error())
        .map(ToString::to_string)
        .collect();
    assert_eq!(errors, Vec::<String>::new());
}

// Comments and order

#[test]
fn comments_go_with_what_they_are_about() {
    check(
        &[
            (
                "channels/fast-4.9.yaml",
                "\
# Everything about fast.
feeder:
  # the filter
  filter: 4[.]9[.].*
  name: candidate

name: fast-4.9  # quick
# The releases.
versions:  # newest last
# no 4.9.0
- 4.9.1

- \"4.9.2\"  # quoted
  # indented
- '4.9.3+amd64'
# the end
",
            ),
            (
                "channels/stable-4.9.yaml",
                "\
# Everything about stable.
name: 'stable-4.9'
feeder:
  delay: PT48H
  name: fast-4.9
versions:
# no 4.9.0
- 4.9.1  # fine
# waited long for this
- 4.9.2 # quoted
- 4.9.3+amd64
# the end
",
            ),
        ],
        &[],
        expect![[r#"
            == channels/4.9.yaml
            # Everything about fast.
            feeder:
              # the filter
              filter: 4[.]9[.].*
              name: candidate

            channels:
            - name: fast-4.9  # quick
            # Everything about stable.
            # stable-4.9 had a feeder of its own, and shares these releases now:
            # feeder:
            #   delay: PT48H
            #   name: fast-4.9
            - name: 'stable-4.9'
            # The releases.
            versions:  # newest last
            # no 4.9.0
            # fine
            - name: 4.9.1
              start: 1970-01-01T00:00:00Z

            # waited long for this
            - name: "4.9.2"  # quoted
              start: 1970-01-01T00:00:00Z
            # indented
            - name: '4.9.3+amd64'
              start: 1970-01-01T00:00:00Z
            # the end
            !! channels: the feeders of stable-4.9 became comments, since others feed what they share now; let promotion tooling add a release to a file once, and not to each channel
        "#]],
    );
}

#[test]
fn lists_in_brackets_are_written_out() {
    let text = "---\nname: odd\nversions: [ 4.9.1, \"4.9.2\",  # two\n  # three\n  '4.9.3', # is it\n  4.9.4,\n]  # all\n";
    check(
        &[("channels/odd.yaml", text)],
        &[],
        expect![[r#"
        == channels/odd.yaml
        ---
        channels:
        - name: odd
        versions:  # all
        - name: 4.9.1
          start: 1970-01-01T00:00:00Z
        - name: "4.9.2"  # two
          start: 1970-01-01T00:00:00Z
        # three
        - name: '4.9.3'  # is it
          start: 1970-01-01T00:00:00Z
        - name: 4.9.4
          start: 1970-01-01T00:00:00Z
    "#]],
    );
}

#[test]
fn an_empty_channel_stays_one() {
    check(
        &[("channels/none.yml", "versions: [] # yet\nname: none")],
        &[],
        expect![[r#"
        == channels/none.yml
        versions: []  # yet
        channels:
        - name: none
    "#]],
    );
}

#[test]
fn a_release_stands_once() {
    let text =
        "name: a\nversions:\n# one\n- 4.9.1+amd64 # x\n- 4.9.1\n- 4.9.2\n# again\n- 4.9.2 # y\n";
    check(
        &[("channels/a.yaml", text)],
        &[],
        expect![[r#"
        == channels/a.yaml
        channels:
        - name: a
        versions:
        # one
        # x
        - name: 4.9.1
          start: 1970-01-01T00:00:00Z
        # again
        # y
        - name: 4.9.2
          start: 1970-01-01T00:00:00Z
        !! channels/a.yaml:4: 4.9.1+amd64 is listed twice, and will be listed once; there is nothing to do
        !! channels/a.yaml:8: 4.9.2 is listed twice, and will be listed once; there is nothing to do
    "#]],
    );
}

#[test]
fn line_ends_are_told() {
    check(
        &[("channels/a.yaml", "name: a\r\nversions:\r\n- 4.9.1 # x\r\n")],
        &[],
        expect![[r#"
        == channels/a.yaml
        channels:
        - name: a
        versions:
        - name: 4.9.1  # x
          start: 1970-01-01T00:00:00Z
        !! channels/a.yaml: lines end with a carriage return, and will not in the new file; there is nothing to do
    "#]],
    );
}

// What is refused

#[test]
fn what_cannot_be_kept_is_refused() {
    for (text, place) in [
        ("{name: a, versions: [4.9.1]}\n", "channels/a.yaml:1"),
        ("\"name\": a\nversions: [4.9.1]\n", "channels/a.yaml:1"),
        ("name:\n  a\nversions: [4.9.1]\n", "channels/a.yaml:1"),
        ("name: a\nversions:\n-\n  4.9.1\n", "channels/a.yaml:3"),
        ("name: a\nversions:\n- |-\n  4.9.1\n", "channels/a.yaml:3"),
        ("name: a\nversions:\n- !!str 4.9.1\n", "channels/a.yaml:3"),
        ("name: a\nversions:\n  [4.9.1]\n", "channels/a.yaml:3"),
        (
            "name: a\nversions: [4.9.1\n  , 4.9.2]\n",
            "channels/a.yaml:3",
        ),
        ("name: a\nversions: [4.9.1]\n...\n", "channels/a.yaml:3"),
        (
            "name: a\nowner: me\nversions: [4.9.1]\n",
            "channels/a.yaml:2",
        ),
        // These the reader does not take either.
        ("name: a\nversions: [&x 4.9.1]\n", "channels/a.yaml:2:15"),
        ("name: a\nversions: &x [4.9.1]\n", "channels/a.yaml:2:14"),
        ("name: a\nversions:\n", "channels/a.yaml"),
    ] {
        let findings = migrated(
            &[("channels/a.yaml", text)],
            &wishes(&[], &[]),
            &Stays::default(),
        )
        .unwrap_err();
        let places: Vec<String> = findings
            .iter()
            .map(|finding| finding.place.to_string())
            .collect();
        assert_eq!(places, [place], "{text}{findings:?}");
    }
}

#[test]
fn what_is_migrated_already_is_refused_kindly() {
    let text = "channels:\n- name: a\nversions: []\n";
    let refused = |version: &str| {
        let files = [source("version", version), source("channels/a.yaml", text)];
        migrate(&files, &Stays::default(), &wishes(&[], &[])).unwrap_err()[0].to_string()
    };
    expect![
        "version: the graph data is of schema 2.0.0 already; there is nothing to do; `towpath graph lint` checks it"
    ]
    .assert_eq(&refused("2.0.0\n"));
    assert!(refused("3.0.0\n").contains("the schema version is 3.0.0"));
}

#[test]
fn wishes_that_cannot_be_met_are_told() {
    let files = &[("channels/a-1.yaml", "name: a-1\nversions: []\n")];
    let refused = |wishes| migrated(files, &wishes, &Stays::default()).unwrap_err()[0].to_string();
    expect!["--channels: no channel is of stable, eus; name streams (stable) or channels (stable-4.9) that are there"]
        .assert_eq(&refused(wishes(&["P1D"], &[])));
    let twice = Wishes {
        phased: vec!["a".into()],
        ..wishes(&["patch=P1D", "patch=P2D"], &[])
    };
    expect!["--rollout: there are two rules for patch edges; keep one of them"]
        .assert_eq(&refused(twice));
    let migration = migrated(files, &wishes(&[], &["4.9.1"]), &Stays::default()).unwrap();
    assert_eq!(codes(&migration), ["nothing-to-promote"]);
}

// Whatever stands there

#[derive(Debug, Clone)]
struct Line {
    above: Option<String>,
    quote: &'static str,
    patch: u32,
    beside: Option<String>,
}

fn any_line() -> impl Strategy<Value = Line> {
    let words = || {
        proptest::option::weighted(
            0.3,
            "[a-z0-9:'\"\\[\\]{}#&*!|>-][ a-z0-9:'\"\\[\\]{}#,&*!|>-]{0,12}",
        )
    };
    (
        words(),
        prop_oneof![Just(""), Just("'"), Just("\"")],
        0u32..30,
        words(),
    )
        .prop_map(|(above, quote, patch, beside)| Line {
            above,
            quote,
            patch,
            beside,
        })
}

fn block(name: &str, lines: &[Line]) -> String {
    let mut text = format!(
        "name: {name}\nversions:{}\n",
        if lines.is_empty() { " []" } else { "" }
    );
    for Line {
        above,
        quote,
        patch,
        beside,
    } in lines
    {
        text += &above
            .as_ref()
            .map(|words| format!("# {words}\n"))
            .unwrap_or_default();
        let beside = beside
            .as_ref()
            .map(|words| format!(" # {words}"))
            .unwrap_or_default();
        text += &format!("- {quote}4.9.{patch}{quote}{beside}\n");
    }
    text
}

fn flow(name: &str, lines: &[Line]) -> String {
    let mut text = format!("name: {name}\nversions: [\n");
    for Line {
        above,
        quote,
        patch,
        beside,
    } in lines
    {
        text += &above
            .as_ref()
            .map(|words| format!("  # {words}\n"))
            .unwrap_or_default();
        let beside = beside
            .as_ref()
            .map(|words| format!(" # {words}"))
            .unwrap_or_default();
        text += &format!("  {quote}4.9.{patch}{quote},{beside}\n");
    }
    text + "]\n"
}

proptest! {
    #[test]
    fn no_comment_and_no_release_is_lost(
        fast in proptest::collection::vec(any_line(), 0..8), stable in proptest::collection::vec(any_line(), 0..8), same in any::<bool>(),
    ) {
        let stable = if same { fast.iter().rev().cloned().collect() } else { stable };
        let texts = [block("fast-4.9", &fast), flow("stable-4.9", &stable)];
        let files = &[("channels/fast-4.9.yaml", texts[0].as_str()), ("channels/stable-4.9.yaml", texts[1].as_str())];
        let migration = migrated(files, &wishes(&["P1D"], &[]), &Stays::default()).unwrap();
        let out = shown(&migration);
        for words in fast.iter().chain(&stable).flat_map(|line| line.above.iter().chain(&line.beside)) {
            prop_assert!(out.contains(&format!("# {}", words.trim_end())), "{words:?} is lost:\n{out}");
        }
        // The order of the first channel is kept.
        let (data, _) = data::read(&migration.files).unwrap();
        for (name, lines) in [("fast-4.9", &fast), ("stable-4.9", &stable)] {
            let channel = data.channels.iter().find(|channel| channel.name == ChannelName::new(name).unwrap()).unwrap();
            let held: BTreeSet<String> = channel.members.iter().map(|member| member.name.to_string()).collect();
            prop_assert_eq!(held, lines.iter().map(|line| format!("4.9.{}", line.patch)).collect::<BTreeSet<_>>());
        }
        // Once more gives the same bytes.
        let again = migrated(files, &wishes(&["P1D"], &[]), &Stays::default()).unwrap();
        prop_assert_eq!(&again.files, &migration.files);
    }

    #[test]
    fn any_text_is_kept_or_refused(text in "(name: a\n)?(---\n)?[a-z:#\\[\\], '\"\n0-9.-]{0,60}(\nversions:\n- 4.9.1\n)?[a-z:#\\[\\], '\"\n-]{0,20}") {
        if let Ok(migration) = migrated(&[("channels/a.yaml", &text)], &wishes(&[], &[]), &Stays::default()) {
            let (old, _) = data::read(&sources(&[("channels/a.yaml", &text)])).unwrap();
            let (new, _) = data::read(&migration.files).unwrap();
            let members = |data: &towpath_core::graph::GraphData| -> BTreeSet<ReleaseName> {
                data.channels[0].members.iter().map(|member| member.name.clone()).collect()
            };
            prop_assert_eq!(members(&old), members(&new));
        }
    }
}

// The helpers

fn source(path: &str, text: &str) -> SourceFile {
    SourceFile {
        path: path.to_owned(),
        bytes: text.as_bytes().into(),
    }
}

fn sources(files: Files<'_>) -> Vec<SourceFile> {
    let version = source("version", "1.1.0\n");
    std::iter::once(version)
        .chain(files.iter().map(|(path, text)| source(path, text)))
        .collect()
}

fn wishes(rollouts: &[&str], promote: &[&str]) -> Wishes {
    Wishes {
        rollouts: rollouts
            .iter()
            .map(|text| text.parse::<Rollout>().unwrap())
            .collect(),
        phased: vec!["stable".into(), "eus".into()],
        promote: promote
            .iter()
            .map(|text| ReleaseName::parse(text).unwrap())
            .collect(),
        now: NOW.parse::<Timestamp>().unwrap(),
    }
}

fn migrated(
    files: Files<'_>,
    wishes: &Wishes,
    stays: &Stays,
) -> Result<Migration, Vec<towpath_core::finding::Finding>> {
    migrate(&sources(files), stays, wishes)
}

fn check(files: Files<'_>, rollouts: &[&str], expected: Expect) {
    // Without a history everything has always been there.
    let migration = migrated(files, &wishes(rollouts, &[]), &Stays::default()).unwrap();
    expected.assert_eq(&shown(&migration));
}

/// Each file of channels, and then what is said.
fn shown(migration: &Migration) -> String {
    let mut text = String::new();
    for file in migration
        .files
        .iter()
        .filter(|file| file.path.starts_with("channels/"))
    {
        text += &format!("== {}\n{}", file.path, String::from_utf8_lossy(&file.bytes));
    }
    let said: Vec<String> = migration
        .findings
        .iter()
        .map(|finding| format!("!! {finding}\n"))
        .collect();
    text + &said.concat()
}

fn codes(migration: &Migration) -> Vec<&'static str> {
    migration
        .findings
        .iter()
        .map(|finding| finding.code)
        .collect()
}

/// In schema 1.0.0 a block is for everybody, whatever its `clusters` say. In 2.0.0 it would be for those alone.
#[test]
fn a_block_that_would_mean_something_else_is_not_migrated() {
    let files = |version: &str| {
        [
            ("version", version),
            (
                "channels/stable-4.9.yaml",
                "name: stable-4.9\nversions:\n- 4.9.0\n- 4.9.1\n",
            ),
            (
                "blocked-edges/a.yaml",
                "to: 4.9.1\nfrom: .*\nclusters: {platforms: [AWS]}\n",
            ),
        ]
        .map(|(path, text)| SourceFile::new(path, text.as_bytes().to_vec()))
    };
    let wishes = Wishes {
        rollouts: Vec::new(),
        phased: Vec::new(),
        promote: BTreeSet::new(),
        now: NOW.parse().unwrap(),
    };
    let migrated = |version: &str| migrate(&files(version), &Stays::default(), &wishes);
    let findings = migrated("1.0.0\n").err().unwrap();
    assert_eq!(findings[0].code, "other-meaning", "{findings:?}");
    assert_eq!(&*findings[0].place.file, "blocked-edges/a.yaml");
    assert!(migrated("1.1.0\n").is_ok());
}
