//! `graph extend`: which risks newer releases lack, and copies that mean the same for another release.
#![allow(
    clippy::unwrap_used,
    reason = "what a test writes is right, or the test is to fail"
)]

use expect_test::{Expect, expect};
use towpath_core::change::{Only, diff};
use towpath_core::finding::Place;
use towpath_core::graph::Graph;
use towpath_formats::SourceFile;
use towpath_formats::graph::extend::{self, ExtensionProof, Written};
use towpath_formats::graph::{data, releases};

const CHANNEL: (&str, &str) = (
    "channels/stable-4.9.yaml",
    "name: stable-4.9\nversions:\n- 4.8.1\n- 4.9.1\n- 4.9.2\n- 4.9.3\n- 4.9.4\n",
);

/// Declared for 4.9.1 and 4.9.2; written by somebody who likes comments.
const SLOW_START: [(&str, &str); 2] = [
    (
        "blocked-edges/4.9.1-SlowStart.yaml",
        "to: 4.9.1\nfrom: 4[.]8[.].*\nurl: https://example.com/1\nname: SlowStart\nmessage: Nodes start slowly.\nmatchingRules:\n- type: Always\n",
    ),
    (
        "blocked-edges/4.9.2-SlowStart.yaml",
        "# seen by two customers\nfrom: 4[.]8[.].*   # not from 4.9.2 itself\nto: \"4.9.2\" # 4.9.2 and later\nurl: https://example.com/1\nname: SlowStart\nmessage: Nodes start slowly.\nmatchingRules:\n- type: Always\n",
    ),
];

const RELEASES: &str = r#"{"nodes": [
    {"version": "4.8.1+amd64", "payload": "r@sha256:01"}, {"version": "4.9.1+amd64", "payload": "r@sha256:02"},
    {"version": "4.9.2+amd64", "payload": "r@sha256:03"}, {"version": "4.9.3+amd64", "payload": "r@sha256:04"},
    {"version": "4.9.4+amd64", "payload": "r@sha256:05"}],
  "edges": [[0,1],[0,2],[0,3],[1,2],[1,3],[2,3],[3,4]]}"#;

fn files(more: &[(&str, &str)]) -> Vec<SourceFile> {
    let version = [("version", "1.1.0\n"), CHANNEL];
    let all = version.iter().chain(more);
    all.map(|(path, text)| SourceFile::new(*path, text.as_bytes()))
        .collect()
}

fn graph(files: &[SourceFile]) -> Graph {
    let (data, _) = data::read(files).unwrap();
    let (releases, _) = releases::read(&Place::file("releases.json"), RELEASES.as_bytes()).unwrap();
    Graph::build(data, releases).0
}

/// Extends a risk, and says what `graph extend` says; then the files.
fn check(more: &[(&str, &str)], names: &[&str], expected: Expect) {
    let files = files(more);
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let said = match extend::extend(&files, &names) {
        Ok(extension) if names.is_empty() => extend::list_text(&extension),
        Ok(mut extension) => {
            let copies = extension.copies.iter().map(|copy| copy.file.clone());
            let after: Vec<SourceFile> = files.iter().cloned().chain(copies).collect();
            let (before, after) = (graph(&files), graph(&after));
            let idle = extension.without_idle(&after);
            let now = "2026-11-18T00:00Z".parse().unwrap();
            let (meant, other) =
                extension
                    .given
                    .split(diff(&before, &after, now, &Only::default()));
            let proof = ExtensionProof { meant, other };
            let mut said = extend::text(&extension, &idle, &proof, Written::No);
            for copy in &extension.copies {
                let text = String::from_utf8(copy.file.bytes.to_vec()).unwrap();
                said += &format!("\n--- {}\n{text}", copy.file.path);
            }
            said
        }
        Err(findings) => findings
            .iter()
            .map(|finding| format!("{finding}\n"))
            .collect(),
    };
    expected.assert_eq(&said);
}

#[test]
fn a_copy_differs_from_the_newest_file_in_its_release_alone() {
    check(
        &SLOW_START,
        &["SlowStart"],
        expect![[r#"
        blocked-edges/4.9.3-SlowStart.yaml  copied from blocked-edges/4.9.2-SlowStart.yaml
        blocked-edges/4.9.4-SlowStart.yaml  left out: no edge matches its `from`

        1 edge in 1 channel now has SlowStart. Nothing else changes: no release, no other edge, no window.
        No file is written; --write writes them.

        --- blocked-edges/4.9.3-SlowStart.yaml
        # seen by two customers
        from: 4[.]8[.].*   # not from 4.9.2 itself
        to: "4.9.3" # 4.9.2 and later
        url: https://example.com/1
        name: SlowStart
        message: Nodes start slowly.
        matchingRules:
        - type: Always
    "#]],
    );
}

#[test]
fn without_a_name_the_open_risks_are_listed() {
    check(
        &SLOW_START,
        &[],
        expect![[r#"
         RISK       MINOR  DECLARED UP TO  NEWER RELEASES WITHOUT IT
         SlowStart  4.9    4.9.2           4.9.3, 4.9.4

        No file says that these risks are fixed. Extend one with `towpath graph extend RISK`, or add `fixedIn` to its newest file.
    "#]],
    );
}

#[test]
fn a_risk_that_is_fixed_is_not_extended_past_the_fix() {
    let [first, (path, text)] = SLOW_START;
    let fixed = |version: &str| format!("{text}fixedIn: {version}\n");
    check(
        &[first, (path, &fixed("4.9.3"))],
        &["SlowStart"],
        expect![[r#"
            Nothing to extend: each of these risks is fixed, or declared for the newest release of its minor version.
        "#]],
    );
    check(
        &[first, (path, &fixed("4.9.4"))],
        &["SlowStart"],
        expect![[r#"
            blocked-edges/4.9.3-SlowStart.yaml  copied from blocked-edges/4.9.2-SlowStart.yaml

            1 edge in 1 channel now has SlowStart. Nothing else changes: no release, no other edge, no window.
            No file is written; --write writes them.

            --- blocked-edges/4.9.3-SlowStart.yaml
            # seen by two customers
            from: 4[.]8[.].*   # not from 4.9.2 itself
            to: "4.9.3" # 4.9.2 and later
            url: https://example.com/1
            name: SlowStart
            message: Nodes start slowly.
            matchingRules:
            - type: Always
            fixedIn: 4.9.4
        "#]],
    );
    check(
        &[first, (path, &fixed("4.9.3"))],
        &[],
        expect![[r#"
        No risk is open: each is fixed, or declared for the newest release of its minor version.
    "#]],
    );
}

#[test]
fn a_risk_of_pre_releases_says_nothing_of_the_final_release() {
    let [_, (_, text)] = SLOW_START;
    let early = text.replace("4.9.2", "4.9.0-rc.1");
    check(
        &[("blocked-edges/4.9.0-rc.1-SlowStart.yaml", &early)],
        &[],
        expect![[r#"
        No risk is open: each is fixed, or declared for the newest release of its minor version.
    "#]],
    );
}

#[test]
fn a_misspelt_risk_is_no_risk() {
    check(
        &SLOW_START,
        &["SlowStrat"],
        expect![[r#"
        blocked-edges: no block declares a risk "SlowStrat"; correct its name; newer releases lack SlowStart
    "#]],
    );
}

#[test]
fn what_cannot_be_copied_word_for_word_is_not_copied() {
    let [_, (path, text)] = SLOW_START;
    let escaped = text.replace("to: \"4.9.2\"", "to: \"4.9\\x2e2\"");
    check(
        &[(path, &escaped)],
        &["SlowStart"],
        expect![[r#"
            blocked-edges/4.9.2-SlowStart.yaml:1: `to` does not stand in it as plain text; write the block for 4.9.3 by hand
            blocked-edges/4.9.2-SlowStart.yaml:1: `to` does not stand in it as plain text; write the block for 4.9.4 by hand
        "#]],
    );
    // Somebody else's file has the name.
    let other = (
        "blocked-edges/4.9.3-SlowStart.yaml",
        "to: 4.9.1\nfrom: 4[.]7[.].*\n",
    );
    check(
        &[SLOW_START[1], other],
        &["SlowStart"],
        expect![[r#"
        blocked-edges/4.9.2-SlowStart.yaml:1: blocked-edges/4.9.3-SlowStart.yaml exists already, and is not about this risk; write the block for 4.9.3 by hand
    "#]],
    );
}

#[test]
fn a_change_that_the_copies_do_not_explain_is_found() {
    let files = files(&SLOW_START);
    let names = ["SlowStart".to_owned()];
    let extension = extend::extend(&files, &names).unwrap();
    let more = |path: &str, text: &str| {
        let mut after = files.clone();
        after.push(SourceFile::new(path, text.as_bytes()));
        let now = "2026-11-18T00:00Z".parse().unwrap();
        let changes = diff(&graph(&files), &graph(&after), now, &Only::default());
        let (meant, other) = extension.given.split(changes);
        (meant.is_empty(), other.is_empty())
    };
    let [_, (_, text)] = SLOW_START;
    let for_3 = text.replace("\"4.9.2\"", "4.9.3");
    // The copy itself; another risk; another release; a hard block on the same edges.
    assert_eq!(more("blocked-edges/a.yaml", &for_3), (false, true));
    let another = for_3.replace("SlowStart", "Other");
    assert_eq!(more("blocked-edges/a.yaml", &another), (true, false));
    let elsewhere = text
        .replace("\"4.9.2\"", "4.9.2")
        .replace("4[.]8[.].*", "4[.]9[.]1[+].*");
    assert_eq!(more("blocked-edges/a.yaml", &elsewhere), (true, false));
    assert_eq!(
        more("blocked-edges/a.yaml", "to: 4.9.3\nfrom: 4[.]8[.].*\n"),
        (true, false)
    );
}
