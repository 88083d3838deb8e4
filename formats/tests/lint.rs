//! What lint finds: a table of mistakes and what is said about them.
//!
//! Each row is one edit of good files, shown above the tables: `file: what stood there => what stands there now`. Below it is
//! everything that lint finds. Without an edit, it finds nothing.
#![allow(
    clippy::unwrap_used,
    reason = "what a test writes is right, or the test is to fail"
)]
#![allow(
    clippy::disallowed_methods,
    reason = "the sources are read to compare their codes with the catalogue"
)]

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use expect_test::{Expect, expect};
use proptest::prelude::*;
use towpath_core::finding::Place;
use towpath_core::graph::Releases;
use towpath_core::lint::catalogue::{self, CATALOGUE};
use towpath_formats::SourceFile;
use towpath_formats::graph::lint::{SkippedChecks, lint};
use towpath_formats::graph::releases;

/// Two releases of 4.8, three of 4.9; one risk that ends with 4.9.3, one hard block.
const FILES: [(&str, &str); 8] = [
    ("version", "1.1.0\n"),
    (
        "channels/candidate-4.9.yaml",
        "name: candidate-4.9\ntombstones:\n- 4.9.4\nversions:\n- 4.8.1\n- 4.8.2\n- 4.9.1\n- 4.9.2\n- 4.9.3\n- 4.9.4\n",
    ),
    (
        "channels/fast-4.9.yaml",
        "name: fast-4.9\nfeeder:\n  name: candidate-4.9\n  errata: public\n  filter: 4[.][0-9]+[.].*\nversions:\n- 4.8.1\n- 4.8.2\n- 4.9.1\n- 4.9.2\n- 4.9.3\n",
    ),
    (
        "channels/stable-4.9.yaml",
        "name: stable-4.9\nfeeder:\n  name: fast-4.9\n  delay: PT48H\nversions:\n- 4.8.1\n- 4.8.2\n- 4.9.1\n- 4.9.2\n",
    ),
    (
        "blocked-edges/4.9.1-SlowStart.yaml",
        "to: 4.9.1\nfrom: 4[.]8[.].*\nurl: https://example.com/1\nname: SlowStart\nmessage: Nodes may start slowly.\nmatchingRules:\n- type: PromQL\n  promql:\n    promql: |\n      up == 0\n- type: Always\n",
    ),
    (
        "blocked-edges/4.9.2-SlowStart.yaml",
        "to: 4.9.2\nfrom: 4[.]8[.].*\nurl: https://example.com/1\nname: SlowStart\nmessage: Nodes may start slowly.\nfixedIn: 4.9.3\nmatchingRules:\n- type: PromQL\n  promql:\n    promql: |\n      up == 0\n- type: Always\n",
    ),
    (
        "blocked-edges/4.9.3-data-loss.yaml",
        "to: 4.9.3\nfrom: ^4[.]8[.]1[+].*$\n",
    ),
    (
        "blocked-edges/4.9.4-aws.yaml",
        "to: 4.9.4\nfrom: .*\nclusters:\n  platforms: [AWS]\n",
    ),
];

const RELEASES: &str = r#"{"nodes": [
  {"version": "4.8.1+amd64", "payload": "p1"}, {"version": "4.8.2+amd64", "payload": "p2"},
  {"version": "4.9.1+amd64", "payload": "p3"}, {"version": "4.9.2+amd64", "payload": "p4"},
  {"version": "4.9.3+amd64", "payload": "p5"}, {"version": "4.9.4+amd64", "payload": "p6"}],
 "edges": [[0, 1], [0, 2], [1, 2], [0, 3], [1, 3], [2, 3], [0, 4], [1, 4], [0, 5]]}
"#;

#[test]
fn blocks() {
    check(
        &[
            // names and addresses
            ("4.9.1-SlowStart", "name: SlowStart", "name: Slow Start"),
            ("4.9.1-SlowStart", "name: SlowStart", "name: slow_start"),
            (
                "4.9.1-SlowStart",
                "https://example.com/1",
                "http://example.com/1",
            ),
            ("4.9.1-SlowStart", "https://example.com/1", "https://"),
            // one name, one risk
            (
                "4.9.1-SlowStart",
                "may start slowly.",
                "may start very slowly.",
            ),
            (
                "4.9.1-SlowStart",
                "https://example.com/1",
                "https://example.com/2",
            ),
            ("4.9.1-SlowStart", "up == 0", "up == 1"),
            // rules
            (
                "4.9.1-SlowStart",
                "- type: PromQL\n  promql:\n    promql: |\n      up == 0\n- type: Always",
                "- type: Telepathy",
            ),
            (
                "4.9.1-SlowStart",
                "matchingRules:\n",
                "matchingRules:\n- type: Always\n",
            ),
            (
                "4.9.1-SlowStart",
                "- type: Always",
                "- type: Always\n  always: true",
            ),
            (
                "4.9.1-SlowStart",
                "promql: |\n      up == 0",
                "promql: up == 0\n    timeout: 3s",
            ),
            ("4.9.1-SlowStart", "up == 0", "up == "),
            ("4.9.1-SlowStart", "up == 0", "group by (a (up)"),
            ("4.9.1-SlowStart", "up == 0", "nonsense(up)"),
            // copies
            ("4.9.2-SlowStart", "to: 4.9.2", "to: 4.9.1"),
            ("4.9.3-data-loss", "to: 4.9.3", "to: 4.9.33"),
            // patterns
            ("4.9.3-data-loss", "^4[.]8[.]1[+].*$", "^4[.]8[.]1$"),
            ("4.9.3-data-loss", "^4[.]8[.]1[+].*$", "'[+]s390x'"),
            ("4.9.3-data-loss", "^4[.]8[.]1[+].*$", "4[.]7[.].*"),
            // platforms
            ("4.9.4-aws", "[AWS]", "[Amazon, Vshpere]"),
            // how a risk ends
            ("4.9.2-SlowStart", "fixedIn: 4.9.3\n", ""),
            ("4.9.2-SlowStart", "fixedIn: 4.9.3", "fixedIn: 4.9.4"),
            ("4.9.2-SlowStart", "fixedIn: 4.9.3", "fixedIn: 4.9.2"),
            ("4.9.2-SlowStart", "fixedIn: 4.9.3", "fixedIn: 4.9.7"),
            ("4.9.2-SlowStart", "fixedIn: 4.9.3", "fixedIn: soon"),
            // hard and conditional
            (
                "4.9.3-data-loss",
                "to: 4.9.3\nfrom: ^4[.]8[.]1[+].*$",
                "to: 4.9.2\nfrom: .*",
            ),
        ],
        expect![[r#"
            4.9.1-SlowStart: name: SlowStart => name: Slow Start
                error bad-risk-name: blocked-edges/4.9.1-SlowStart.yaml:4:7: the risk's name "Slow Start" cannot be the reason of a condition; clusters could not store it; use letters and digits, as in SlowNodeStart
                warning risk-ends: blocked-edges/4.9.1-SlowStart.yaml:4:7: 4.9.1 has the risk Slow Start, the next release 4.9.2 has not, and no file says that it is fixed there; add `fixedIn: 4.9.2` if it is fixed there, or declare the risk for 4.9.2 too
            4.9.1-SlowStart: name: SlowStart => name: slow_start
                warning risk-ends: blocked-edges/4.9.1-SlowStart.yaml:4:7: 4.9.1 has the risk slow_start, the next release 4.9.2 has not, and no file says that it is fixed there; add `fixedIn: 4.9.2` if it is fixed there, or declare the risk for 4.9.2 too
                warning risk-name-style: blocked-edges/4.9.1-SlowStart.yaml:4:7: the risk's name slow_start is not CamelCase; use letters and digits, as in SlowNodeStart
            4.9.1-SlowStart: https://example.com/1 => http://example.com/1
                error bad-risk-url: blocked-edges/4.9.1-SlowStart.yaml:3:6: "http://example.com/1" is not an https address; write `url: https://…`
                error risk-differs: blocked-edges/4.9.2-SlowStart.yaml:3:6: risk SlowStart has another url than in blocked-edges/4.9.1-SlowStart.yaml; write the same in all its files, or give it another name
            4.9.1-SlowStart: https://example.com/1 => https://
                error bad-risk-url: blocked-edges/4.9.1-SlowStart.yaml:3:6: "https://" is not an https address; write `url: https://…`
                error risk-differs: blocked-edges/4.9.2-SlowStart.yaml:3:6: risk SlowStart has another url than in blocked-edges/4.9.1-SlowStart.yaml; write the same in all its files, or give it another name
            4.9.1-SlowStart: may start slowly. => may start very slowly.
                error risk-differs: blocked-edges/4.9.2-SlowStart.yaml:5:10: risk SlowStart has another message than in blocked-edges/4.9.1-SlowStart.yaml; write the same in all its files, or give it another name
            4.9.1-SlowStart: https://example.com/1 => https://example.com/2
                error risk-differs: blocked-edges/4.9.2-SlowStart.yaml:3:6: risk SlowStart has another url than in blocked-edges/4.9.1-SlowStart.yaml; write the same in all its files, or give it another name
            4.9.1-SlowStart: up == 0 => up == 1
                error risk-differs: blocked-edges/4.9.2-SlowStart.yaml:8:3: risk SlowStart has another list of matchingRules than in blocked-edges/4.9.1-SlowStart.yaml; write the same in all its files, or give it another name
            4.9.1-SlowStart: - type: PromQL\n  promql:\n    promql: |\n      up == 0\n- type: Always => - type: Telepathy
                error no-known-rule: blocked-edges/4.9.1-SlowStart.yaml:7:3: clients know none of these rules, so the edge is recommended to no cluster; add `- type: Always` or a PromQL rule; to stop the edge for everybody, remove `matchingRules`
                error risk-differs: blocked-edges/4.9.2-SlowStart.yaml:8:3: risk SlowStart has another list of matchingRules than in blocked-edges/4.9.1-SlowStart.yaml; write the same in all its files, or give it another name
                warning unknown-matching-rule: blocked-edges/4.9.1-SlowStart.yaml:7:3: clients know the types Always and PromQL, and skip this rule; where no rule decides, they do not recommend the edge; use one of them, also as a last rule
            4.9.1-SlowStart: matchingRules:\n => matchingRules:\n- type: Always\n
                error risk-differs: blocked-edges/4.9.2-SlowStart.yaml:8:3: risk SlowStart has another list of matchingRules than in blocked-edges/4.9.1-SlowStart.yaml; write the same in all its files, or give it another name
                warning unreachable-rule: blocked-edges/4.9.1-SlowStart.yaml:7:3: clients never reach the rules after `type: Always`: it always matches; put it last, or remove it
            4.9.1-SlowStart: - type: Always => - type: Always\n  always: true
                warning unknown-field: blocked-edges/4.9.1-SlowStart.yaml:12:3: this matching rule has no field "always"; it is ignored; correct its name, or remove it
            4.9.1-SlowStart: promql: |\n      up == 0 => promql: up == 0\n    timeout: 3s
                error risk-differs: blocked-edges/4.9.2-SlowStart.yaml:8:3: risk SlowStart has another list of matchingRules than in blocked-edges/4.9.1-SlowStart.yaml; write the same in all its files, or give it another name
                warning unknown-field: blocked-edges/4.9.1-SlowStart.yaml:10:5: `promql` has no field "timeout"; it is ignored; correct its name, or remove it
            4.9.1-SlowStart: up == 0 => up == 
                error bad-promql: blocked-edges/4.9.1-SlowStart.yaml:10:7: the query is not PromQL: look for a bracket, a comma or an operator too many or too few; correct it; until then the edge is blocked for every cluster
                error risk-differs: blocked-edges/4.9.2-SlowStart.yaml:8:3: risk SlowStart has another list of matchingRules than in blocked-edges/4.9.1-SlowStart.yaml; write the same in all its files, or give it another name
            4.9.1-SlowStart: up == 0 => group by (a (up)
                error bad-promql: blocked-edges/4.9.1-SlowStart.yaml:10:7: the query is not PromQL: unclosed left parenthesis; correct it; until then the edge is blocked for every cluster
                error risk-differs: blocked-edges/4.9.2-SlowStart.yaml:8:3: risk SlowStart has another list of matchingRules than in blocked-edges/4.9.1-SlowStart.yaml; write the same in all its files, or give it another name
            4.9.1-SlowStart: up == 0 => nonsense(up)
                error bad-promql: blocked-edges/4.9.1-SlowStart.yaml:10:7: the query is not PromQL: unknown function with name 'nonsense'; correct it; until then the edge is blocked for every cluster
                error risk-differs: blocked-edges/4.9.2-SlowStart.yaml:8:3: risk SlowStart has another list of matchingRules than in blocked-edges/4.9.1-SlowStart.yaml; write the same in all its files, or give it another name
            4.9.2-SlowStart: to: 4.9.2 => to: 4.9.1
                warning risk-ends: blocked-edges/4.9.1-SlowStart.yaml:4:7: 4.9.1 has the risk SlowStart, the next release 4.9.2 has not, and no file says that it is fixed there; add `fixedIn: 4.9.2` if it is fixed there, or declare the risk for 4.9.2 too
                warning duplicate-block: blocked-edges/4.9.2-SlowStart.yaml:1:5: blocked-edges/4.9.1-SlowStart.yaml declares the same block; remove one of them, or correct `to` and `from`
                warning misleading-file-name: blocked-edges/4.9.2-SlowStart.yaml:1:5: the file's name does not have 4.9.1, the release that it blocks; correct `to`, or rename the file to begin with 4.9.1
            4.9.3-data-loss: to: 4.9.3 => to: 4.9.33
                warning misleading-file-name: blocked-edges/4.9.3-data-loss.yaml:1:5: the file's name does not have 4.9.33, the release that it blocks; correct `to`, or rename the file to begin with 4.9.33
                warning unknown-release: blocked-edges/4.9.3-data-loss.yaml:1:5: there is no release 4.9.33 for amd64; the block has no edge to stop; correct the version, or wait until it is published
            4.9.3-data-loss: ^4[.]8[.]1[+].*$ => ^4[.]8[.]1$
                error never-matching-pattern: blocked-edges/4.9.3-data-loss.yaml:2:7: no release matches "^4[.]8[.]1$", so the block has no effect; correct `from`; it may match anywhere in a version with its architecture, as in 4.9.7+amd64
            4.9.3-data-loss: ^4[.]8[.]1[+].*$ => \'[+]s390x\'
                nothing
            4.9.3-data-loss: ^4[.]8[.]1[+].*$ => 4[.]7[.].*
                error never-matching-pattern: blocked-edges/4.9.3-data-loss.yaml:2:7: no release matches "4[.]7[.].*", so the block has no effect; correct `from`; it may match anywhere in a version with its architecture, as in 4.9.7+amd64
            4.9.4-aws: [AWS] => [Amazon, Vshpere]
                error unknown-platform: blocked-edges/4.9.4-aws.yaml:4:3: `clusters.platforms` names what is not a platform of OpenShift (Amazon, Vshpere); correct it; there are AWS, AlibabaCloud, Azure, BareMetal, EquinixMetal, External, GCP, IBMCloud, KubeVirt, Libvirt, None, Nutanix, OpenStack, PowerVS, VSphere, oVirt; until then the edge is blocked for every cluster
            4.9.2-SlowStart: fixedIn: 4.9.3\n => 
                warning risk-ends: blocked-edges/4.9.2-SlowStart.yaml:4:7: 4.9.2 has the risk SlowStart, the next release 4.9.3 has not, and no file says that it is fixed there; add `fixedIn: 4.9.3` if it is fixed there, or declare the risk for 4.9.3 too
            4.9.2-SlowStart: fixedIn: 4.9.3 => fixedIn: 4.9.4
                warning risk-ends: blocked-edges/4.9.2-SlowStart.yaml:4:7: 4.9.2 has the risk SlowStart, the next release 4.9.3 has not, and no file says that it is fixed there; add `fixedIn: 4.9.3` if it is fixed there, or declare the risk for 4.9.3 too
            4.9.2-SlowStart: fixedIn: 4.9.3 => fixedIn: 4.9.2
                warning fixed-and-declared: blocked-edges/4.9.2-SlowStart.yaml:6:10: SlowStart is fixed in 4.9.2, and declared for that release or a later one; correct `fixedIn`, or remove the risk there
            4.9.2-SlowStart: fixedIn: 4.9.3 => fixedIn: 4.9.7
                warning risk-ends: blocked-edges/4.9.2-SlowStart.yaml:4:7: 4.9.2 has the risk SlowStart, the next release 4.9.3 has not, and no file says that it is fixed there; add `fixedIn: 4.9.3` if it is fixed there, or declare the risk for 4.9.3 too
                warning unknown-release: blocked-edges/4.9.2-SlowStart.yaml:6:10: there is no release 4.9.7 for amd64; the fix cannot be in it; correct the version, or wait until it is published
            4.9.2-SlowStart: fixedIn: 4.9.3 => fixedIn: soon
                warning risk-ends: blocked-edges/4.9.2-SlowStart.yaml:4:7: 4.9.2 has the risk SlowStart, the next release 4.9.3 has not, and no file says that it is fixed there; add `fixedIn: 4.9.3` if it is fixed there, or declare the risk for 4.9.3 too
                warning bad-fixed-in: blocked-edges/4.9.2-SlowStart.yaml:6:10: "soon" is not a version: a release has three numbers, as in 4.20.3; name the first release without the problem
            4.9.3-data-loss: to: 4.9.3\nfrom: ^4[.]8[.]1[+].*$ => to: 4.9.2\nfrom: .*
                warning risk-behind-block: blocked-edges/4.9.2-SlowStart.yaml:2:7: blocked-edges/4.9.3-data-loss.yaml stops 4.8.1 to 4.9.2 and one more edge for every cluster, so this risk is not shown there; keep the block or the risk, or narrow `from`
                warning misleading-file-name: blocked-edges/4.9.3-data-loss.yaml:1:5: the file's name does not have 4.9.2, the release that it blocks; correct `to`, or rename the file to begin with 4.9.2
        "#]],
    );
}

#[test]
fn channels() {
    check(
        &[
            ("candidate-4.9", "- 4.9.1\n- 4.9.2\n", "- 4.9.2\n- 4.9.1\n"),
            (
                "candidate-4.9",
                "- 4.9.1\n",
                "- 4.9.1\n- 4.9.1-rc.1\n- 4.9.0-0.hotfix-2020-09-19-234758\n",
            ),
            ("stable-4.9", "- 4.9.2\n", "- 4.9.2\n- 4.9.2+amd64\n"),
            ("fast-4.9", "- 4.9.2\n", ""),
            ("fast-4.9", "- 4.9.2\n", "- 4.9.2+amd64\n"),
            ("fast-4.9", "- 4.9.3\n", "- 4.9.3\n- 4.9.4\n"),
            ("fast-4.9", "- 4.9.3\n", "- 4.9.3\n- 4.9.4+s390x\n"),
            (
                "fast-4.9",
                "filter: 4[.][0-9]+[.].*",
                "filter: (4\n  delays: PT1H",
            ),
            (
                "fast-4.9",
                "errata: public",
                "errata: private\n  delay: soon",
            ),
            (
                "candidate-4.9",
                "- 4.9.4\nversions",
                "- 4.9.4\n- 4.9.5\n- soon\nversions",
            ),
            ("stable-4.9", "name: stable-4.9\n", "name: stable-4.10\n"),
            ("stable-4.9", "- 4.9.2\n", "- 4.9.2\n- 4.10.0\n"),
            ("stable-4.9", "- 4.9.2\n", "- 4.9\n"),
        ],
        expect![[r#"
            candidate-4.9: - 4.9.1\n- 4.9.2\n => - 4.9.2\n- 4.9.1\n
                warning versions-out-of-order: channels/candidate-4.9.yaml:8:3: 4.9.1 stands after 4.9.2; keep versions in ascending order
            candidate-4.9: - 4.9.1\n => - 4.9.1\n- 4.9.1-rc.1\n- 4.9.0-0.hotfix-2020-09-19-234758\n
                warning unknown-release: channels/candidate-4.9.yaml:8:3: there is no release 4.9.1-rc.1 for amd64; clusters cannot be offered it; correct the version, or wait until it is published
                warning unknown-release: channels/candidate-4.9.yaml:9:3: there is no release 4.9.0-0.hotfix-2020-09-19-234758 for amd64; clusters cannot be offered it; correct the version, or wait until it is published
            stable-4.9: - 4.9.2\n => - 4.9.2\n- 4.9.2+amd64\n
                warning duplicate-version: channels/stable-4.9.yaml:10:3: 4.9.2+amd64 is listed, and 4.9.2 means it too; remove one of them
            fast-4.9: - 4.9.2\n => 
                error not-promoted: channels/stable-4.9.yaml:9:3: 4.9.2 is in stable-4.9 and not in fast-4.9; promote it to fast-4.9 first, or remove it here
            fast-4.9: - 4.9.2\n => - 4.9.2+amd64\n
                error not-promoted: channels/stable-4.9.yaml:9:3: 4.9.2 is in stable-4.9 for every architecture, and in fast-4.9 as 4.9.2+amd64; promote it to fast-4.9 first, or remove it here
            fast-4.9: - 4.9.3\n => - 4.9.3\n- 4.9.4\n
                warning tombstone-promoted: channels/fast-4.9.yaml:12:3: 4.9.4 is in fast-4.9, and has a tombstone in candidate-4.9; do not promote it; if clusters run it already, leave it here and remove the tombstone
            fast-4.9: - 4.9.3\n => - 4.9.3\n- 4.9.4+s390x\n
                nothing
            fast-4.9: filter: 4[.][0-9]+[.].* => filter: (4\n  delays: PT1H
                warning bad-feeder: channels/fast-4.9.yaml:5:3: `filter` is not a regular expression: unclosed group; correct it; the service ignores it
                warning bad-feeder: channels/fast-4.9.yaml:6:3: a feeder has no field "delays"; correct it; the service ignores it
            fast-4.9: errata: public => errata: private\n  delay: soon
                warning bad-feeder: channels/fast-4.9.yaml:4:3: `errata` is `public`, or is left out; correct it; the service ignores it
                warning bad-feeder: channels/fast-4.9.yaml:5:3: "soon" is not an RFC 3339 duration; correct it; the service ignores it
            candidate-4.9: - 4.9.4\nversions => - 4.9.4\n- 4.9.5\n- soon\nversions
                warning idle-tombstone: channels/candidate-4.9.yaml:4:3: 4.9.5 has a tombstone, and is not in candidate-4.9; remove it, or list the release
                warning bad-tombstone: channels/candidate-4.9.yaml:5:3: a tombstone names a release, and this is "soon"; write it as in 4.9.7 or 4.9.7+amd64
            stable-4.9: name: stable-4.9\n => name: stable-4.10\n
                warning misleading-file-name: channels/stable-4.9.yaml:1: the file declares channel stable-4.10; correct its `name`, or rename the file to stable-4.10.yaml
            stable-4.9: - 4.9.2\n => - 4.9.2\n- 4.10.0\n
                error not-promoted: channels/stable-4.9.yaml:10:3: 4.10.0 is in stable-4.9 and not in fast-4.9; promote it to fast-4.9 first, or remove it here
                warning unknown-release: channels/stable-4.9.yaml:10:3: there is no release 4.10.0 for amd64; clusters cannot be offered it; correct the version, or wait until it is published
            stable-4.9: - 4.9.2\n => - 4.9\n
                error bad-yaml: channels/stable-4.9.yaml:9:3: 4.9 is read as a number or a boolean, and a text belongs here; put it in quotes, or write it out: a version as in 4.9.7, a duration as in P2D
        "#]],
    );
}

#[test]
fn nothing_is_wrong_with_the_files_above() {
    assert_eq!(found(&files(), Some(known())), "");
}

#[test]
fn what_is_not_known_is_not_checked() {
    let mut files = files();
    edit(&mut files, "stable-4.9", "- 4.9.2\n", "- 4.9.2\n- 4.10.0\n");
    let linted = lint(&files, None);
    assert_eq!(linted.left_out, [SkippedChecks::Releases]);
    assert!(
        linted
            .findings
            .iter()
            .all(|finding| finding.code != "unknown-release")
    );
    assert_eq!((linted.channels, linted.blocks), (3, 4));
    edit(&mut files, "stable-4.9", "name: ", "nam: ");
    assert_eq!(
        lint(&files, None).left_out,
        [SkippedChecks::AcrossFiles, SkippedChecks::Releases]
    );
}

/// Schema 2.0.0: what the schema says MUST, and what is acceptable.
#[test]
fn phased_rollouts() {
    const GOOD: &str = "channels:\n- name: fast-4.9\n- name: stable-4.9\n  phasedRollouts:\n  - fromVersion: patch\n    duration: P2D\n  - fromVersion: minor\n    duration: P14D\nversions:\n- name: 4.8.1\n  start: 2020-05-12T00:00Z\n- name: 4.9.1\n  start: 2020-06-12T00:00Z\n";
    const CANDIDATE: &str = "channels:\n- name: candidate-4.9\nversions:\n- name: 4.8.1\n  start: 2020-05-01T00:00Z\n- name: 4.9.1\n  start: 2020-06-01T00:00Z\n";
    let files = |version: &str, fast: &str| {
        let files = [
            ("version", version),
            ("channels/4.9.yaml", fast),
            ("channels/candidate.yaml", CANDIDATE),
        ];
        files.map(|(path, text)| source(path, text)).to_vec()
    };
    let rows = [
        ("fromVersion: minor", "fromVersion: patch"),
        ("fromVersion: minor", "fromVersion: major"),
        ("2020-06-12", "2020-05-30"),
        (
            "- name: 4.9.1\n  start: 2020-06-12T00:00Z\n",
            "- name: 4.9.1\n  start: 2020-06-12T00:00Z\n- name: 4.8.2\n  start: 2020-06-12T00:00Z\n",
        ),
    ];
    let mut shown = format!("as it is\n{}", found(&files("2.0.0", GOOD), None));
    for (then, now) in rows {
        writeln!(shown, "{} => {}", then.escape_debug(), now.escape_debug()).unwrap();
        shown += &found(&files("2.0.0", &GOOD.replace(then, now)), None);
    }
    writeln!(shown, "3.0.0\n{}", found(&files("3.0.0", GOOD), None)).unwrap();
    expect![[r#"
        as it is
        fromVersion: minor => fromVersion: patch
            error duplicate-rule: channels/4.9.yaml:7:5: there are two rules for fromVersion patch; keep one of them
        fromVersion: minor => fromVersion: major
            warning unknown-criterion: channels/4.9.yaml:7:18: fromVersion "major" is not known, so the rule matches nothing; minor and patch match edges; without a default rule, the others are there at once
        2020-06-12 => 2020-05-30
            error not-promoted: channels/4.9.yaml:12:9: 4.9.1 enters fast-4.9 before candidate-4.9; promote it to candidate-4.9 first, or remove it here
        - name: 4.9.1\n  start: 2020-06-12T00:00Z\n => - name: 4.9.1\n  start: 2020-06-12T00:00Z\n- name: 4.8.2\n  start: 2020-06-12T00:00Z\n
            error not-promoted: channels/4.9.yaml:14:9: 4.8.2 is in fast-4.9 and not in candidate-4.9; promote it to candidate-4.9 first, or remove it here
            warning versions-out-of-order: channels/4.9.yaml:14:9: 4.8.2 stands after 4.9.1; keep versions in ascending order
        3.0.0
            error unknown-schema: version: the schema version is 3.0.0, which this towpath does not understand; this towpath reads schema 1.0.0, 1.1.0, 2.0.0 and 2.1.0

    "#]].assert_eq(&shown);
}

#[test]
fn the_catalogue_has_every_code_once_in_order() {
    let codes: Vec<&str> = CATALOGUE.iter().map(|kind| kind.code).collect();
    assert!(codes.is_sorted_by(|a, b| a < b), "{codes:?}");
    assert_eq!(
        catalogue::find("risk-ends").map(|kind| kind.code),
        Some("risk-ends")
    );
    assert_eq!(catalogue::find("no-such-code"), None);
    let known: BTreeSet<String> = codes.iter().map(|code| (*code).to_owned()).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let of = |paths: &[&str]| -> BTreeSet<String> {
        paths
            .iter()
            .flat_map(|path| literals(&root.join(path)))
            .collect()
    };
    let mut used = of(&[
        "core/src/change",
        "core/src/lint",
        "formats/src/graph/data",
        "formats/src/read/json.rs",
        "formats/src/read/strict.rs",
        "formats/src/read/yaml.rs",
    ]);
    // A folder; and what is said of a migration is not said of graph data.
    used.remove("blocked-edges");
    for code in of(&["formats/src/graph/data/migrate"]) {
        used.remove(&code);
    }
    assert_eq!(
        used.difference(&known).collect::<Vec<_>>(),
        Vec::<&String>::new(),
        "these codes are not in the catalogue"
    );
    let anywhere = of(&["core/src", "formats/src"]);
    assert_eq!(
        known.difference(&anywhere).collect::<Vec<_>>(),
        Vec::<&String>::new(),
        "no finding has these codes"
    );
}

/// Texts in the shape of a code, in the sources of a file or a folder, tests and catalogue aside.
fn literals(path: &Path) -> BTreeSet<String> {
    if path.is_dir() {
        return std::fs::read_dir(path)
            .unwrap()
            .flat_map(|entry| literals(&entry.unwrap().path()))
            .collect();
    }
    if path.ends_with("catalogue.rs") {
        return BTreeSet::new();
    }
    let text = std::fs::read_to_string(path).unwrap();
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let part = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase());
    let is_code = |text: &&str| text.contains('-') && text.split('-').all(part);
    code.lines()
        .flat_map(|line| line.split('"').skip(1).step_by(2))
        .filter(is_code)
        .map(str::to_owned)
        .collect()
}

#[test]
fn the_manual_has_the_catalogue() {
    let manual = include_str!("../../docs/lint.md");
    let mut table =
        "| code | severity | what it means | what to do |\n|---|---|---|---|\n".to_owned();
    for kind in CATALOGUE {
        writeln!(
            table,
            "| `{}` | {} | {} | {} |",
            kind.code,
            kind.level.as_str(),
            kind.meaning,
            kind.remedy
        )
        .unwrap();
    }
    assert!(
        manual.contains(&table),
        "docs/lint.md should have this table:\n{table}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Which file is read first changes nothing.
    #[test]
    fn the_order_of_files_does_not_matter(order in Just((0..FILES.len()).collect::<Vec<_>>()).prop_shuffle(), at in 0..FILES.len()) {
        let mut files = files();
        // Something is wrong with one of them.
        files[at].bytes = String::from_utf8(files[at].bytes.to_vec()).unwrap().replace("4.9.2", "4.9.7").into_bytes().into();
        let shuffled: Vec<SourceFile> = order.iter().map(|at| files[*at].clone()).collect();
        prop_assert_eq!(lint(&files, Some(known())), lint(&shuffled, Some(known())));
    }

    /// Queries are parsed by somebody else's code: whatever stands there, it comes back.
    #[test]
    fn no_query_is_too_strange(query in "[a-z0-9_{}()\\[\\]\"'`\\\\@:,.+*/^%=!~<> -]{0,60}|\\PC{0,40}") {
        let mut files = files();
        let block = serde_json::json!({
            "to": "4.9.1", "from": "4[.]8[.].*", "url": "https://example.com/1", "name": "Strange", "message": "m", "fixedIn": "4.9.2",
            "matchingRules": [{"type": "PromQL", "promql": {"promql": query}}],
        });
        files.push(source("blocked-edges/4.9.1-Strange.yaml", &block.to_string()));
        let linted = lint(&files, Some(known()));
        let known = ["bad-promql", "unchecked-promql", "bad-yaml"];
        prop_assert!(linted.findings.iter().all(|finding| known.contains(&finding.code)), "{:?}", linted.findings);
    }
}

fn check(rows: &[(&str, &str, &str)], expected: Expect) {
    let mut shown = String::new();
    for (file, then, now) in rows {
        let mut files = files();
        edit(&mut files, file, then, now);
        writeln!(
            shown,
            "{file}: {} => {}",
            then.escape_debug(),
            now.escape_debug()
        )
        .unwrap();
        let found = found(&files, Some(known()));
        shown += if found.is_empty() {
            "    nothing\n"
        } else {
            &found
        };
    }
    expected.assert_eq(&shown);
}

fn found(files: &[SourceFile], releases: Option<Releases>) -> String {
    let line = |finding: &towpath_core::finding::Finding| {
        let severity = if finding.is_error() {
            "error"
        } else {
            "warning"
        };
        format!("    {severity} {}: {finding}\n", finding.code)
    };
    lint(files, releases).findings.iter().map(line).collect()
}

fn files() -> Vec<SourceFile> {
    FILES.map(|(path, text)| source(path, text)).to_vec()
}

fn source(path: &str, text: &str) -> SourceFile {
    SourceFile {
        path: path.to_owned(),
        bytes: text.as_bytes().into(),
    }
}

fn edit(files: &mut [SourceFile], file: &str, then: &str, now: &str) {
    let file = files
        .iter_mut()
        .find(|known| known.path.contains(&format!("/{file}.")))
        .expect("the file is there");
    let text = String::from_utf8(file.bytes.to_vec()).unwrap();
    assert!(text.contains(then), "{then:?} stands in {}", file.path);
    file.bytes = text.replacen(then, now, 1).into_bytes().into();
}

fn known() -> Releases {
    releases::read(&Place::file("releases.json"), RELEASES.as_bytes())
        .unwrap()
        .0
}
