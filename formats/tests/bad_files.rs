//! What is wrong with a file, and what it says about itself: a table of mistakes and their messages.
//!
//! Each row is one edit of a good file, shown above its table: `what stood there => what stands there now`. Below it
//! is everything that is said: place, problem, remedy. Rows without an edit are whole files with a name.

use expect_test::{Expect, expect};
use towpath_core::finding::{Finding, Place};
use towpath_formats::SourceFile;
use towpath_formats::graph::{data, platforms, releases};

const CHANNEL: &str = "\
name: stable-4.9
feeder:
  name: fast-4.9
versions:
- 4.9.1
- 4.9.2+amd64
";

const CHANNELS: &str = "\
channels:
- name: fast-4.9
- name: stable-4.9
  phasedRollouts:
  - fromVersion: patch
    duration: P2D
  - duration: P14D
    ramp: exponential
versions:
- name: 4.9.1
  start: 2020-05-12T00:00Z
- name: 4.9.2
  start: 2020-06-12T00:00Z
  locked: true
  replaces: 4.9.1
";

const BLOCK: &str = "\
to: 4.9.2
from: 4[.]8[.].*
url: https://example.com/bug
name: SlowStart
message: Nodes may start slowly.
fixedIn: 4.9.3
matchingRules:
- type: PromQL
  promql:
    promql: up == 0
- type: Always
clusters:
  platforms: [AWS, Azure]
";

const RELEASES: &str = r#"{"nodes": [
  {"version": "4.9.1+amd64", "payload": "p1", "metadata": {"url": "u"}},
  {"version": "4.9.2+amd64", "payload": "p2"}],
 "edges": [[0, 1]],
 "conditionalEdges": [
  {"edges": [{"from": "4.9.1", "to": "4.9.2"}],
   "risks": [{"name": "R", "url": "u", "message": "m", "matchingRules": [{"type": "Always"}]}]}]}
"#;

// Schema version

#[test]
fn schema_versions() {
    let version = |text: &str| graph_data(&[("version", text), ("channels/c.yaml", CHANNEL)]);
    check(
        [
            "3.0.0\n",
            "1.2.0\n",
            "2.2.0\n",
            "0.9.0\n",
            "1.1.0-rc.1\n",
            "1.1\n",
            "",
            "one point one\n",
            "1.0.7\n",
        ]
        .map(|text| (format!("{text:?}"), version(text)))
        .into_iter()
        .chain([(
            "no file `version`".to_owned(),
            graph_data(&[("channels/c.yaml", CHANNEL)]),
        )]),
        expect![[r#"
            "3.0.0\n"
                version: the schema version is 3.0.0, which this towpath does not understand; this towpath reads schema 1.0.0, 1.1.0, 2.0.0 and 2.1.0
            "1.2.0\n"
                version: the schema version is 1.2.0, which this towpath does not understand; this towpath reads schema 1.0.0, 1.1.0, 2.0.0 and 2.1.0
            "2.2.0\n"
                version: the schema version is 2.2.0, which this towpath does not understand; this towpath reads schema 1.0.0, 1.1.0, 2.0.0 and 2.1.0
            "0.9.0\n"
                version: the schema version is 0.9.0, which this towpath does not understand; this towpath reads schema 1.0.0, 1.1.0, 2.0.0 and 2.1.0
            "1.1.0-rc.1\n"
                version: the schema version is 1.1.0-rc.1, which this towpath does not understand; this towpath reads schema 1.0.0, 1.1.0, 2.0.0 and 2.1.0
            "1.1\n"
                version: "1.1" is not a schema version; this towpath reads schema 1.0.0, 1.1.0, 2.0.0 and 2.1.0
            ""
                version: "" is not a schema version; this towpath reads schema 1.0.0, 1.1.0, 2.0.0 and 2.1.0
            "one point one\n"
                version: what the file says is not a schema version; this towpath reads schema 1.0.0, 1.1.0, 2.0.0 and 2.1.0
            "1.0.7\n"
                is taken
            no file `version`
                version: the file `version` is missing, so this is no graph data; name the directory that holds version, channels/ and blocked-edges/; or write the schema into `version`, as in 2.0.0
        "#]],
    );
}

// Channels

#[test]
fn channels_of_schema_1() {
    check_edits(
        CHANNEL,
        |text| graph_data(&[("version", "1.1.0"), ("channels/c.yaml", text)]),
        &[
            ("name: stable-4.9\nfeeder", "feeder"),
            ("name: stable-4.9", "name: Stable 4.9"),
            ("name: stable-4.9", "name: 4.9"),
            ("name: stable-4.9", "name: [stable-4.9]"),
            ("name: stable-4.9", "name:"),
            ("name: stable-4.9", "name: a\nname: b"),
            ("versions:\n- 4.9.1\n- 4.9.2+amd64\n", ""),
            ("versions:\n- 4.9.1\n- 4.9.2+amd64\n", "versions:\n"),
            ("versions:\n- 4.9.1\n- 4.9.2+amd64\n", "versions: 4.9.1\n"),
            ("- 4.9.1", "- 4.9"),
            ("- 4.9.1", "- 4.9.x"),
            ("- 4.9.1", "- {name: 4.9.1}"),
            ("- 4.9.1", "- 4.9.1\n- 4.9.1"),
            ("feeder", "feeders"),
            ("- 4.9.1\n", "- 4.9.1\n 4.9.2\n"),
        ],
        expect![[r#"
            name: stable-4.9\nfeeder => feeder
                channels/c.yaml: the channel has no name; add `name: <channel>`
            name: stable-4.9 => name: Stable 4.9
                channels/c.yaml:1:7: "Stable 4.9" cannot be a channel's name; use lower-case letters, digits, `-` and `.`
            name: stable-4.9 => name: 4.9
                channels/c.yaml:1:7: 4.9 is read as a number or a boolean, and a text belongs here; put it in quotes, or write it out: a version as in 4.9.7, a duration as in P2D
            name: stable-4.9 => name: [stable-4.9]
                channels/c.yaml:1:7: a single text belongs here; write one value
            name: stable-4.9 => name:
                channels/c.yaml:1:5: there is no value here; give it one
            name: stable-4.9 => name: a\nname: b
                channels/c.yaml:2:1: name is given twice; keep one of them
            versions:\n- 4.9.1\n- 4.9.2+amd64 => (nothing)
                channels/c.yaml: the channel has no `versions`; list its releases, or write `versions: []`
            versions:\n- 4.9.1\n- 4.9.2+amd64 => versions:
                channels/c.yaml: the channel has no `versions`; list its releases, or write `versions: []`
            versions:\n- 4.9.1\n- 4.9.2+amd64 => versions: 4.9.1
                channels/c.yaml:4:11: a list (`- item`) belongs here; write each value on a line of its own, after `- `
            - 4.9.1 => - 4.9
                channels/c.yaml:5:3: 4.9 is read as a number or a boolean, and a text belongs here; put it in quotes, or write it out: a version as in 4.9.7, a duration as in P2D
            - 4.9.1 => - 4.9.x
                channels/c.yaml:5:3: "4.9.x" is not a version: unexpected character 'x' while parsing patch version number; write it as in 4.9.7 or 4.9.7+amd64
            - 4.9.1 => - {name: 4.9.1}
                channels/c.yaml:5:3: a single text belongs here; write one value
            - 4.9.1 => - 4.9.1\n- 4.9.1
                is taken, with a warning: channels/c.yaml:6:3: 4.9.1 is listed twice; remove one of them
            feeder => feeders
                is taken, with a warning: channels/c.yaml:2:1: a channel has no field "feeders"; it is ignored; correct its name, or remove it
            - 4.9.1 => - 4.9.1\n 4.9.2
                channels/c.yaml:5:3: "4.9.1 4.9.2" is not a version: unexpected character ' ' after patch version number; write it as in 4.9.7 or 4.9.7+amd64
        "#]],
    );
}

#[test]
fn channels_of_schema_2() {
    check_edits(
        CHANNELS,
        phased,
        &[
            (
                "channels:\n- name: fast-4.9\n",
                "name: fast-4.9\nchannels:\n",
            ),
            (CHANNELS, "versions: []\n"),
            (CHANNELS, "channels: []\n"),
            ("channels:\n- name: fast-4.9\n", "channels: fast-4.9\n"),
            ("- name: fast-4.9", "- fast-4.9"),
            ("- name: fast-4.9", "- phasedRollouts: []"),
            ("- name: fast-4.9", "- name: Fast"),
            ("- name: fast-4.9", "- name: stable-4.9"),
            ("- name: fast-4.9", "- name: fast-4.9\n  feeder: x"),
            ("versions:", "release:"),
        ],
        expect![[r#"
            channels:\n- name: fast-4.9 => name: fast-4.9\nchannels:
                channels/c.yaml:1:1: a file of channels has no field "name"; correct its name, or remove it
            (all) => versions: []
                channels/c.yaml: the file has no `channels`; add `channels:` with a list of names; schema 2.0.0 has no `name` at the top
            (all) => channels: []
                channels: there are no channels; add channels/<name>.yaml, or point --graph-data at the right folder
            channels:\n- name: fast-4.9 => channels: fast-4.9
                channels/c.yaml:1:11: a list (`- item`) belongs here; write each value on a line of its own, after `- `
            - name: fast-4.9 => - fast-4.9
                channels/c.yaml:2:3: a mapping (`name: value`) belongs here; correct the file
            - name: fast-4.9 => - phasedRollouts: []
                channels/c.yaml:2:3: the channel has no name; add `name: <channel>`
            - name: fast-4.9 => - name: Fast
                channels/c.yaml:2:9: "Fast" cannot be a channel's name; use lower-case letters, digits, `-` and `.`
            - name: fast-4.9 => - name: stable-4.9
                channels/c.yaml:3:3: channel stable-4.9 is declared at channels/c.yaml:2:3 already; declare each channel once
            - name: fast-4.9 => - name: fast-4.9\n  feeder: x
                channels/c.yaml:3:3: a channel has no field "feeder"; correct its name, or remove it
            versions: => release:
                channels/c.yaml:9:1: a file of channels has no field "release"; correct its name, or remove it
        "#]],
    );
}

#[test]
fn rollout_rules() {
    check_edits(
        CHANNELS,
        phased,
        &[
            ("    duration: P2D\n", ""),
            ("duration: P2D", "duration: 2 days"),
            ("duration: P2D", "duration: 48"),
            ("duration: P2D", "duration: P2H"),
            ("duration: P2D", "duration: -P2D"),
            ("duration: P2D", "duration: P-2D"),
            ("duration: P2D", "duration: PT1.5H"),
            ("duration: P2D", "duration: P367D"),
            ("duration: P2D", "duration:"),
            ("fromVersion: patch\n    duration: P2D", "duration: P2D"),
            (
                "- duration: P14D",
                "- duration: P14D\n    fromVersion: patch",
            ),
            ("ramp: exponential", "ramp: steep"),
            ("fromVersion: patch", "fromVersion: major"),
            ("fromVersion: patch", "fromVersion: Patch"),
            ("fromVersion: patch", "fromversion: patch"),
            ("fromVersion: patch", "region: eu"),
            (
                "  phasedRollouts:\n  - fromVersion: patch\n    duration: P2D\n  - duration: P14D\n    ramp: exponential\n",
                "  phasedRollouts: P2D\n",
            ),
        ],
        expect![[r#"
            duration: P2D => (nothing)
                channels/c.yaml:5:5: the rollout rule has no duration; add `duration: P2D`, or the like
            duration: P2D => duration: 2 days
                channels/c.yaml:6:15: "2 days" is not an RFC 3339 duration; write it as in P2D or PT48H, at most P366D
            duration: P2D => duration: 48
                channels/c.yaml:6:15: 48 is read as a number or a boolean, and a text belongs here; put it in quotes, or write it out: a version as in 4.9.7, a duration as in P2D
            duration: P2D => duration: P2H
                channels/c.yaml:6:15: "P2H" is not an RFC 3339 duration; write it as in P2D or PT48H, at most P366D
            duration: P2D => duration: -P2D
                channels/c.yaml:6:15: "-P2D" is not an RFC 3339 duration; write it as in P2D or PT48H, at most P366D
            duration: P2D => duration: P-2D
                channels/c.yaml:6:15: "P-2D" is not an RFC 3339 duration; write it as in P2D or PT48H, at most P366D
            duration: P2D => duration: PT1.5H
                channels/c.yaml:6:15: "PT1.5H" is not an RFC 3339 duration; write it as in P2D or PT48H, at most P366D
            duration: P2D => duration: P367D
                channels/c.yaml:6:15: P367D is longer than the 366 days that a window may have; write it as in P2D or PT48H, at most P366D
            duration: P2D => duration:
                channels/c.yaml:6:13: there is no value here; give it one
            fromVersion: patch\n    duration: P2D => duration: P2D
                channels/c.yaml:6:5: there are two rules with only a duration; keep one of them
            - duration: P14D => - duration: P14D\n    fromVersion: patch
                channels/c.yaml:7:5: there are two rules for fromVersion patch; keep one of them
            ramp: exponential => ramp: steep
                channels/c.yaml:8:11: "steep" is not a ramp; use linear or exponential, or `stages`
            fromVersion: patch => fromVersion: major
                is taken, with a warning: channels/c.yaml:5:18: fromVersion "major" is not known, so the rule matches nothing; minor and patch match edges; without a default rule, the others are there at once
            fromVersion: patch => fromVersion: Patch
                is taken, with a warning: channels/c.yaml:5:18: fromVersion "Patch" is not known, so the rule matches nothing; minor and patch match edges; without a default rule, the others are there at once
            fromVersion: patch => fromversion: patch
                is taken, with a warning: channels/c.yaml:5:5: a rollout rule has no field "fromversion"; the rule matches nothing; correct its name, or remove the rule
            fromVersion: patch => region: eu
                is taken, with a warning: channels/c.yaml:5:5: a rollout rule has no field "region"; the rule matches nothing; correct its name, or remove the rule
            phasedRollouts:\n  - fromVersion: patch\n    duration: P2D\n … => phasedRollouts: P2D
                channels/c.yaml:4:19: a list (`- item`) belongs here; write each value on a line of its own, after `- `
        "#]],
    );
}

#[test]
fn releases_of_channels() {
    check_edits(
        CHANNELS,
        phased,
        &[
            ("  start: 2020-05-12T00:00Z\n", ""),
            ("2020-05-12T00:00Z", "2020-05-12"),
            ("2020-05-12T00:00Z", "2020-05-12T00:00"),
            ("2020-05-12T00:00Z", "2020-05-32T00:00Z"),
            ("2020-05-12T00:00Z", "tomorrow"),
            ("2020-05-12T00:00Z", "1589241600"),
            ("- name: 4.9.1\n  start", "- start"),
            ("- name: 4.9.1\n", "- name: 4.9\n"),
            ("- name: 4.9.1\n", "- name: 4.9.one\n"),
            ("- name: 4.9.1\n  start: 2020-05-12T00:00Z\n", "- 4.9.1\n"),
            ("- name: 4.9.2\n", "- name: 4.9.1\n"),
            ("- name: 4.9.2\n", "- name: 4.9.1+arm64\n"),
            ("locked: true", "locked: maybe"),
            ("locked: true", "locked: yes"),
            ("locked: true", "locked: 1"),
            ("locked: true", "locked: \"true\""),
            ("locked: true", "locked:"),
            ("locked: true", "lock: true"),
            ("replaces: 4.9.1", "replaces: 4.9.0"),
            ("replaces: 4.9.1", "replaces: 4.9.2"),
            ("replaces: 4.9.1", "replaces: the last one"),
        ],
        expect![[r#"
            start: 2020-05-12T00:00Z => (nothing)
                channels/c.yaml:10:3: version 4.9.1 has no start; add `start: <RFC 3339 time>`
            2020-05-12T00:00Z => 2020-05-12
                channels/c.yaml:11:10: "2020-05-12" is not an RFC 3339 date-time, or there is no such day; write it as in 2020-05-12T00:00Z
            2020-05-12T00:00Z => 2020-05-12T00:00
                channels/c.yaml:11:10: "2020-05-12T00:00" has no offset: end it with Z, or the like of +02:00; write it as in 2020-05-12T00:00Z
            2020-05-12T00:00Z => 2020-05-32T00:00Z
                channels/c.yaml:11:10: "2020-05-32T00:00Z" is not an RFC 3339 date-time, or there is no such day; write it as in 2020-05-12T00:00Z
            2020-05-12T00:00Z => tomorrow
                channels/c.yaml:11:10: "tomorrow" is not an RFC 3339 date-time, or there is no such day; write it as in 2020-05-12T00:00Z
            2020-05-12T00:00Z => 1589241600
                channels/c.yaml:11:10: 1589241600 is read as a number or a boolean, and a text belongs here; put it in quotes, or write it out: a version as in 4.9.7, a duration as in P2D
            - name: 4.9.1\n  start => - start
                channels/c.yaml:10:3: the release has no name; add `name: <version>`
                channels/c.yaml:14:13: 4.9.2 cannot replace 4.9.1; name a release of this file with an earlier start
            - name: 4.9.1 => - name: 4.9
                channels/c.yaml:10:9: 4.9 is read as a number or a boolean, and a text belongs here; put it in quotes, or write it out: a version as in 4.9.7, a duration as in P2D
            - name: 4.9.1 => - name: 4.9.one
                channels/c.yaml:10:9: "4.9.one" is not a version: unexpected character 'o' while parsing patch version number; write it as in 4.9.7 or 4.9.7+amd64
                channels/c.yaml:15:13: 4.9.2 cannot replace 4.9.1; name a release of this file with an earlier start
            - name: 4.9.1\n  start: 2020-05-12T00:00Z => - 4.9.1
                channels/c.yaml:10:3: a mapping (`name: value`) belongs here; correct the file
            - name: 4.9.2 => - name: 4.9.1
                channels/c.yaml:12:3: 4.9.1 is listed twice, so its start is not clear; keep one of them
                channels/c.yaml:15:13: 4.9.1 cannot replace 4.9.1; name a release of this file with an earlier start
            - name: 4.9.2 => - name: 4.9.1+arm64
                channels/c.yaml:12:3: 4.9.1+arm64 is listed twice, so its start is not clear; keep one of them
                channels/c.yaml:15:13: 4.9.1+arm64 cannot replace 4.9.1; name a release of this file with an earlier start
            locked: true => locked: maybe
                channels/c.yaml:14:11: `true` or `false` belongs here; write one of them
            locked: true => locked: yes
                channels/c.yaml:14:11: `true` or `false` belongs here; write one of them
            locked: true => locked: 1
                channels/c.yaml:14:11: `true` or `false` belongs here; write one of them
            locked: true => locked: "true"
                is taken
            locked: true => locked:
                channels/c.yaml:14:9: `true` or `false` belongs here; write one of them
            locked: true => lock: true
                channels/c.yaml:14:3: a release of a channel has no field "lock"; correct its name, or remove it
            replaces: 4.9.1 => replaces: 4.9.0
                channels/c.yaml:15:13: 4.9.2 cannot replace 4.9.0; name a release of this file with an earlier start
            replaces: 4.9.1 => replaces: 4.9.2
                channels/c.yaml:15:13: 4.9.2 cannot replace 4.9.2; name a release of this file with an earlier start
            replaces: 4.9.1 => replaces: the last one
                channels/c.yaml:15:13: "the last one" is not a version: a release has three numbers, as in 4.20.3; write it as in 4.9.7 or 4.9.7+amd64
        "#]],
    );
}

#[test]
fn a_channel_stands_in_one_file_only() {
    check(
        [
            (
                "1.1.0",
                graph_data(&[
                    ("version", "1.1.0"),
                    ("channels/a.yaml", CHANNEL),
                    ("channels/b.yaml", CHANNEL),
                ]),
            ),
            (
                "2.0.0",
                graph_data(&[
                    ("version", "2.0.0"),
                    ("channels/a.yaml", CHANNELS),
                    ("channels/b.yaml", CHANNELS),
                ]),
            ),
            (
                "a file of 1.1.0 in data of 2.0.0",
                graph_data(&[
                    ("version", "2.0.0"),
                    ("channels/a.yaml", CHANNELS),
                    ("channels/b.yaml", CHANNEL),
                ]),
            ),
            (
                "a file of 2.0.0 in data of 1.1.0",
                graph_data(&[
                    ("version", "1.1.0"),
                    ("channels/a.yaml", CHANNEL),
                    ("channels/b.yaml", CHANNELS),
                ]),
            ),
            (
                "no channels at all",
                graph_data(&[("version", "1.1.0"), ("README.md", "hello")]),
            ),
        ],
        expect![[r#"
            1.1.0
                channels/b.yaml:1: channel stable-4.9 is declared at channels/a.yaml:1 already; declare each channel once
            2.0.0
                channels/b.yaml:2:3: channel fast-4.9 is declared at channels/a.yaml:2:3 already; declare each channel once
                channels/b.yaml:3:3: channel stable-4.9 is declared at channels/a.yaml:3:3 already; declare each channel once
            a file of 1.1.0 in data of 2.0.0
                channels/b.yaml: this looks like a file of schema 1.x, and `version` says 2.0.0; write all channels in one schema
            a file of 2.0.0 in data of 1.1.0
                channels/b.yaml: this looks like a file of schema 2.0.0, and `version` says 1.x; write all channels in one schema
            no channels at all
                channels: there are no channels; add channels/<name>.yaml, or point --graph-data at the right folder
        "#]],
    );
}

// Blocks

#[test]
fn blocks() {
    check_edits(
        BLOCK,
        block,
        &[
            ("to: 4.9.2\n", ""),
            ("to: 4.9.2", "to: 4.9"),
            ("to: 4.9.2", "to: 4.9.*"),
            ("to: 4.9.2", "to: [4.9.2, 4.9.3]"),
            ("to: 4.9.2", "To: 4.9.2"),
            ("from: 4[.]8[.].*\n", ""),
            ("from: 4[.]8[.].*", "from: 4[.]8[.](.*"),
            ("from: 4[.]8[.].*", "from: 4[.8"),
            ("from: 4[.]8[.].*", "from: (?=4)"),
            ("from: 4[.]8[.].*", "from: *"),
            ("from: 4[.]8[.].*", "from: true"),
            ("from: 4[.]8[.].*", "from: 5"),
            ("from: 4[.]8[.].*", "from: 4.8"),
            ("from: 4[.]8[.].*", "from:"),
            ("from: 4[.]8[.].*", "from: [4.8.1]"),
            ("from: 4[.]8[.].*", "from: .*\nfrom: 4[.]8[.].*"),
            ("from: 4[.]8[.].*", "from: (\\w{100}){100}"),
            ("fixedIn: 4.9.3", "fixedIn: soon"),
            ("fixedIn: 4.9.3", "fixed_in: 4.9.3"),
        ],
        expect![[r#"
            to: 4.9.2 => (nothing)
                blocked-edges/b.yaml: the block has no `to`; add `to: <version>`
            to: 4.9.2 => to: 4.9
                blocked-edges/b.yaml:1:5: 4.9 is read as a number or a boolean, and a text belongs here; put it in quotes, or write it out: a version as in 4.9.7, a duration as in P2D
            to: 4.9.2 => to: 4.9.*
                blocked-edges/b.yaml:1:5: "4.9.*" is not a version: unexpected character '*' while parsing patch version number; write it as in 4.9.7 or 4.9.7+amd64
            to: 4.9.2 => to: [4.9.2, 4.9.3]
                blocked-edges/b.yaml:1:5: a single text belongs here; write one value
            to: 4.9.2 => To: 4.9.2
                blocked-edges/b.yaml: the block has no `to`; add `to: <version>`
                and a warning: blocked-edges/b.yaml:1:1: a block has no field "To"; the edge is blocked for every cluster; correct its name, or remove it
            from: 4[.]8[.].* => (nothing)
                blocked-edges/b.yaml: the block has no `from`; add `from: <regular expression>`
            from: 4[.]8[.].* => from: 4[.]8[.](.*
                blocked-edges/b.yaml:2:7: `from` is not a regular expression that towpath accepts: unclosed group; correct it; `.*` means every release
            from: 4[.]8[.].* => from: 4[.8
                blocked-edges/b.yaml:2:7: `from` is not a regular expression that towpath accepts: unclosed character class; correct it; `.*` means every release
            from: 4[.]8[.].* => from: (?=4)
                blocked-edges/b.yaml:2:7: `from` is not a regular expression that towpath accepts: look-around, including look-ahead and look-behind, is not supported; correct it; `.*` means every release
            from: 4[.]8[.].* => from: *
                blocked-edges/b.yaml:2:7: `*` and `&` begin aliases and anchors, which are not supported here; put the text in quotes; a pattern for every release is `.*`
            from: 4[.]8[.].* => from: true
                blocked-edges/b.yaml:2:7: true is read as a number or a boolean, and a text belongs here; put it in quotes, or write it out: a version as in 4.9.7, a duration as in P2D
            from: 4[.]8[.].* => from: 5
                blocked-edges/b.yaml:2:7: 5 is read as a number or a boolean, and a text belongs here; put it in quotes, or write it out: a version as in 4.9.7, a duration as in P2D
            from: 4[.]8[.].* => from: 4.8
                blocked-edges/b.yaml:2:7: 4.8 is read as a number or a boolean, and a text belongs here; put it in quotes, or write it out: a version as in 4.9.7, a duration as in P2D
            from: 4[.]8[.].* => from:
                blocked-edges/b.yaml:2:5: there is no value here; give it one
            from: 4[.]8[.].* => from: [4.8.1]
                blocked-edges/b.yaml:2:7: a single text belongs here; write one value
            from: 4[.]8[.].* => from: .*\nfrom: 4[.]8[.].*
                blocked-edges/b.yaml:3:1: from is given twice; keep one of them
            from: 4[.]8[.].* => from: (\w{100}){100}
                blocked-edges/b.yaml:2:7: `from` is not a regular expression that towpath accepts: it is too large when compiled; use smaller repetitions; correct it; `.*` means every release
            fixedIn: 4.9.3 => fixedIn: soon
                is taken, with a warning: blocked-edges/b.yaml:6:10: "soon" is not a version: a release has three numbers, as in 4.20.3; name the first release without the problem
            fixedIn: 4.9.3 => fixed_in: 4.9.3
                is taken, with a warning: blocked-edges/b.yaml:6:1: a block has no field "fixed_in"; the edge is blocked for every cluster; correct its name, or remove it
        "#]],
    );
}

#[test]
fn risks() {
    const RULES: &str =
        "matchingRules:\n- type: PromQL\n  promql:\n    promql: up == 0\n- type: Always\n";
    check_edits(
        BLOCK,
        block,
        &[
            ("url: https://example.com/bug\n", ""),
            ("name: SlowStart\n", ""),
            ("message: Nodes may start slowly.\n", ""),
            ("message: Nodes may start slowly.", "message: ''"),
            ("message: Nodes may start slowly.", "message:"),
            (RULES, "matchingRules: []\n"),
            (RULES, "matchingRules:\n"),
            (RULES, "matchingRules: Always\n"),
            (RULES, "matchingRules: {type: Always}\n"),
            (RULES, "matchingRules:\n- Always\n"),
            (RULES, "matchingrules:\n- type: Always\n"),
            ("- type: Always", "- kind: Always"),
            ("- type: Always", "- type: 5"),
            ("- type: Always", "- type:"),
            ("- type: Always", "- type: always"),
            ("  promql:\n    promql: up == 0\n", ""),
            ("  promql:\n    promql: up == 0\n", "  promql: up == 0\n"),
            ("    promql: up == 0\n", "    query: up == 0\n"),
            ("    promql: up == 0\n", "    promql: 1\n"),
        ],
        expect![[r#"
            url: https://example.com/bug => (nothing)
                blocked-edges/b.yaml: the block has `matchingRules` and no `url`; clients refuse a risk without name, url and message: add it
            name: SlowStart => (nothing)
                blocked-edges/b.yaml: the block has `matchingRules` and no `name`; clients refuse a risk without name, url and message: add it
            message: Nodes may start slowly. => (nothing)
                blocked-edges/b.yaml: the block has `matchingRules` and no `message`; clients refuse a risk without name, url and message: add it
            message: Nodes may start slowly. => message: ''
                blocked-edges/b.yaml: the block has `matchingRules` and no `message`; clients refuse a risk without name, url and message: add it
            message: Nodes may start slowly. => message:
                blocked-edges/b.yaml:5:8: there is no value here; give it one
            matchingRules:\n- type: PromQL\n  promql:\n    promql: up == … => matchingRules: []
                blocked-edges/b.yaml:7:16: `matchingRules` is empty; say when the risk applies (`- type: Always`), or remove the field to block the edge for everybody
            matchingRules:\n- type: PromQL\n  promql:\n    promql: up == … => matchingRules:
                blocked-edges/b.yaml:7:14: `matchingRules` is empty; say when the risk applies (`- type: Always`), or remove the field to block the edge for everybody
            matchingRules:\n- type: PromQL\n  promql:\n    promql: up == … => matchingRules: Always
                blocked-edges/b.yaml:7:16: a list (`- item`) belongs here; write each value on a line of its own, after `- `
            matchingRules:\n- type: PromQL\n  promql:\n    promql: up == … => matchingRules: {type: Always}
                blocked-edges/b.yaml:7:16: a list (`- item`) belongs here; write each value on a line of its own, after `- `
            matchingRules:\n- type: PromQL\n  promql:\n    promql: up == … => matchingRules:\n- Always
                blocked-edges/b.yaml:8:3: a matching rule needs a `type`; write `type: Always`, or `type: PromQL` with `promql: {promql: <query>}`
            matchingRules:\n- type: PromQL\n  promql:\n    promql: up == … => matchingrules:\n- type: Always
                is taken, with a warning: blocked-edges/b.yaml:7:1: a block has no field "matchingrules"; the edge is blocked for every cluster; correct its name, or remove it
            - type: Always => - kind: Always
                blocked-edges/b.yaml:11:3: a matching rule needs a `type`; write `type: Always`, or `type: PromQL` with `promql: {promql: <query>}`
            - type: Always => - type: 5
                blocked-edges/b.yaml:11:3: a matching rule needs a `type`; write `type: Always`, or `type: PromQL` with `promql: {promql: <query>}`
            - type: Always => - type:
                blocked-edges/b.yaml:11:3: a matching rule needs a `type`; write `type: Always`, or `type: PromQL` with `promql: {promql: <query>}`
            - type: Always => - type: always
                is taken, with a warning: blocked-edges/b.yaml:11:3: clients know the types Always and PromQL, and skip this rule; where no rule decides, they do not recommend the edge; use one of them, also as a last rule
            promql:\n    promql: up == 0 => (nothing)
                blocked-edges/b.yaml:8:3: a PromQL rule needs `promql: {promql: <query>}`; write `type: Always`, or `type: PromQL` with `promql: {promql: <query>}`
            promql:\n    promql: up == 0 => promql: up == 0
                blocked-edges/b.yaml:8:3: a PromQL rule needs `promql: {promql: <query>}`; write `type: Always`, or `type: PromQL` with `promql: {promql: <query>}`
            promql: up == 0 => query: up == 0
                blocked-edges/b.yaml:8:3: a PromQL rule needs `promql: {promql: <query>}`; write `type: Always`, or `type: PromQL` with `promql: {promql: <query>}`
            promql: up == 0 => promql: 1
                blocked-edges/b.yaml:8:3: a PromQL rule needs `promql: {promql: <query>}`; write `type: Always`, or `type: PromQL` with `promql: {promql: <query>}`
        "#]],
    );
}

#[test]
fn clusters() {
    const CLUSTERS: &str = "clusters:\n  platforms: [AWS, Azure]\n";
    check_edits(
        BLOCK,
        block,
        &[
            (CLUSTERS, "clusters: AWS\n"),
            (CLUSTERS, "clusters: [AWS]\n"),
            (CLUSTERS, "clusters:\n"),
            (CLUSTERS, "clusters: {}\n"),
            ("platforms: [AWS, Azure]", "platforms: []"),
            ("platforms: [AWS, Azure]", "platforms:"),
            ("platforms: [AWS, Azure]", "platforms: AWS"),
            ("platforms: [AWS, Azure]", "platforms: {AWS: true}"),
            ("platforms: [AWS, Azure]", "platforms: [AWS, 5]"),
            ("platforms: [AWS, Azure]", "platforms: [AWS, Bare Metal]"),
            ("platforms: [AWS, Azure]", "platforms: [AWS, ~]"),
            (
                "platforms: [AWS, Azure]",
                "platforms: [AWS]\n  platforms: [Azure]",
            ),
            ("platforms: [AWS, Azure]", "platform: AWS"),
            (
                "platforms: [AWS, Azure]",
                "platforms: [AWS]\n  regions: [eu]",
            ),
        ],
        expect![[r#"
            clusters:\n  platforms: [AWS, Azure] => clusters: AWS
                blocked-edges/b.yaml:12:11: `clusters` is not a mapping; write `clusters: {platforms: [<platform>]}`
            clusters:\n  platforms: [AWS, Azure] => clusters: [AWS]
                blocked-edges/b.yaml:12:11: `clusters` is not a mapping; write `clusters: {platforms: [<platform>]}`
            clusters:\n  platforms: [AWS, Azure] => clusters:
                blocked-edges/b.yaml:12:9: `clusters` is not a mapping; write `clusters: {platforms: [<platform>]}`
            clusters:\n  platforms: [AWS, Azure] => clusters: {}
                is taken, with a warning: blocked-edges/b.yaml:12:11: `clusters` names no clusters; list the platforms, or remove `clusters`; until then the edge is blocked for every cluster
            platforms: [AWS, Azure] => platforms: []
                is taken, with a warning: blocked-edges/b.yaml:13:3: `clusters` names no clusters; list the platforms, or remove `clusters`; until then the edge is blocked for every cluster
            platforms: [AWS, Azure] => platforms:
                blocked-edges/b.yaml:13:3: `clusters.platforms` is not a list; write `platforms: [AWS, BareMetal]`
            platforms: [AWS, Azure] => platforms: AWS
                blocked-edges/b.yaml:13:3: `clusters.platforms` is not a list; write `platforms: [AWS, BareMetal]`
            platforms: [AWS, Azure] => platforms: {AWS: true}
                blocked-edges/b.yaml:13:3: `clusters.platforms` is not a list; write `platforms: [AWS, BareMetal]`
            platforms: [AWS, Azure] => platforms: [AWS, 5]
                blocked-edges/b.yaml:13:3: 5 in `clusters.platforms` is not the name of a platform; write `platforms: [AWS, BareMetal]`
            platforms: [AWS, Azure] => platforms: [AWS, Bare Metal]
                blocked-edges/b.yaml:13:3: "Bare Metal" in `clusters.platforms` is not the name of a platform; write `platforms: [AWS, BareMetal]`
            platforms: [AWS, Azure] => platforms: [AWS, ~]
                blocked-edges/b.yaml:13:3: null in `clusters.platforms` is not the name of a platform; write `platforms: [AWS, BareMetal]`
            platforms: [AWS, Azure] => platforms: [AWS]\n  platforms: [Azure]
                blocked-edges/b.yaml:14:3: platforms is given twice; keep one of them
            platforms: [AWS, Azure] => platform: AWS
                is taken, with a warning: blocked-edges/b.yaml:13:3: `clusters` has a property that this towpath does not know (platform); list the platforms, or remove `clusters`; until then the edge is blocked for every cluster
            platforms: [AWS, Azure] => platforms: [AWS]\n  regions: [eu]
                is taken, with a warning: blocked-edges/b.yaml:13:3: `clusters` has a property that this towpath does not know (regions); list the platforms, or remove `clusters`; until then the edge is blocked for every cluster
        "#]],
    );
}

// Files

#[test]
fn file_names() {
    let named = |name: &str| {
        let result = graph_data(&[
            ("version", "1.1.0"),
            ("channels/c.yaml", CHANNEL),
            (name, BLOCK),
        ]);
        (name.to_owned(), result)
    };
    check(
        [
            "blocked-edges/b.yaml",
            "blocked-edges/b.yml",
            "blocked-edges/b.json",
            "blocked-edges/b.txt",
            "blocked-edges/b",
            "blocked-edges/b.YAML",
            "blocked-edges/b.yaml~",
            "blocked-edges/4.9/b.yaml",
            "blocked-edges/.gitkeep",
            "channels/c.json",
            "channels/4.9/c.yaml",
            "README.md",
        ]
        .map(named),
        expect![[r#"
            blocked-edges/b.yaml
                is taken
            blocked-edges/b.yml
                is taken
            blocked-edges/b.json
                blocked-edges/b.json: only *.yaml and *.yml directly in blocked-edges/ and channels/ are read, so this would have no effect; name it *.yaml, or remove it
            blocked-edges/b.txt
                blocked-edges/b.txt: only *.yaml and *.yml directly in blocked-edges/ and channels/ are read, so this would have no effect; name it *.yaml, or remove it
            blocked-edges/b
                blocked-edges/b: only *.yaml and *.yml directly in blocked-edges/ and channels/ are read, so this would have no effect; name it *.yaml, or remove it
            blocked-edges/b.YAML
                blocked-edges/b.YAML: only *.yaml and *.yml directly in blocked-edges/ and channels/ are read, so this would have no effect; name it *.yaml, or remove it
            blocked-edges/b.yaml~
                blocked-edges/b.yaml~: only *.yaml and *.yml directly in blocked-edges/ and channels/ are read, so this would have no effect; name it *.yaml, or remove it
            blocked-edges/4.9/b.yaml
                blocked-edges/4.9/b.yaml: only *.yaml and *.yml directly in blocked-edges/ and channels/ are read, so this would have no effect; move it out of its subfolder, or remove it
            blocked-edges/.gitkeep
                is taken
            channels/c.json
                channels/c.json: only *.yaml and *.yml directly in blocked-edges/ and channels/ are read, so this would have no effect; name it *.yaml, or remove it
            channels/4.9/c.yaml
                channels/4.9/c.yaml: only *.yaml and *.yml directly in blocked-edges/ and channels/ are read, so this would have no effect; move it out of its subfolder, or remove it
            README.md
                is taken
        "#]],
    );
}

#[test]
fn whole_files() {
    let deep = format!(
        "to: 4.9.2\nfrom: .*\nclusters: {}1{}\n",
        "[".repeat(100),
        "]".repeat(100)
    );
    let bomb = "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nto: 4.9.2\nfrom: .*\n";
    let large = format!("to: 4.9.2\nfrom: .*\nmessage: {}\n", "x".repeat(4 << 20));
    let long = format!("to: 4.9.2\nfrom: {}\n", "a|".repeat(5000));
    check(
        [
            ("empty", ""),
            ("only a comment", "# to be written\n"),
            ("null", "~\n"),
            ("a list", "- to: 4.9.2\n"),
            ("a word", "blocked\n"),
            (
                "two documents",
                "to: 4.9.2\nfrom: .*\n---\nto: 4.9.3\nfrom: .*\n",
            ),
            (
                "one document, with its marks",
                "---\nto: 4.9.2\nfrom: .*\n...\n",
            ),
            (
                "a byte order mark and CRLF",
                "\u{feff}to: 4.9.2\r\nfrom: .*\r\n",
            ),
            (
                "a tab for indentation",
                "to: 4.9.2\nfrom: .*\nclusters:\n\tplatforms: [AWS]\n",
            ),
            ("an open quote", "to: '4.9.2\nfrom: .*\n"),
            (
                "an open bracket",
                "to: 4.9.2\nfrom: .*\nclusters: {platforms: [AWS\n",
            ),
            ("JSON inside", "{\"to\": \"4.9.2\", \"from\": \".*\"}\n"),
            ("an anchor", "to: &to 4.9.2\nfrom: .*\n"),
            ("an alias bomb", bomb),
            ("a merge key", "<<: {to: 4.9.2}\nfrom: .*\n"),
            ("nested a hundred deep", &deep),
            ("four megabytes and more", &large),
            ("a pattern of ten thousand bytes", &long),
        ]
        .map(|(name, text)| (name, block(text)))
        .into_iter()
        .chain([("not UTF-8", blocks_in_bytes(b"to: 4.9.2\nfrom: \xff\n"))]),
        expect![[r#"
            empty
                blocked-edges/b.yaml: the file is empty; write it, or remove it
            only a comment
                blocked-edges/b.yaml: the block has no `from`; add `from: <regular expression>`
                blocked-edges/b.yaml: the block has no `to`; add `to: <version>`
            null
                blocked-edges/b.yaml: the block has no `from`; add `from: <regular expression>`
                blocked-edges/b.yaml: the block has no `to`; add `to: <version>`
            a list
                blocked-edges/b.yaml:1:1: a mapping (`name: value`) belongs here; correct the file
            a word
                blocked-edges/b.yaml:1:1: a mapping (`name: value`) belongs here; correct the file
            two documents
                blocked-edges/b.yaml:3:1: there is more than one document in this file; one document per file
            one document, with its marks
                is taken
            a byte order mark and CRLF
                is taken
            a tab for indentation
                blocked-edges/b.yaml:4:2: tabs disallowed within this context (block indentation); correct the file
            an open quote
                blocked-edges/b.yaml:2:1: invalid indentation in multiline quoted scalar; correct the file
            an open bracket
                blocked-edges/b.yaml:3:23: unclosed bracket '['; correct the file
            JSON inside
                is taken
            an anchor
                blocked-edges/b.yaml:1:9: anchors are not supported here; write the value out
            an alias bomb
                blocked-edges/b.yaml:1:7: anchors are not supported here; write the value out
            a merge key
                is taken
            nested a hundred deep
                blocked-edges/b.yaml:3:42: it is nested too deeply; correct the file
            four megabytes and more
                blocked-edges/b.yaml: the file is larger than 4194304 bytes; split it
            a pattern of ten thousand bytes
                blocked-edges/b.yaml:2:7: `from` is not a regular expression that towpath accepts: it is longer than 8192 bytes; correct it; `.*` means every release
            not UTF-8
                blocked-edges/b.yaml: the file is not UTF-8 text; save it as UTF-8
        "#]],
    );
}

#[test]
fn raw_metadata() {
    let raw = |text: &'static str| {
        let files = [
            ("version", "1.1.0"),
            ("channels/c.yaml", CHANNEL),
            ("raw/metadata.json", text),
        ];
        (
            if text.is_empty() { "(nothing)" } else { text },
            graph_data(&files),
        )
    };
    check(
        [
            r#"{"4.9.2": {"io.openshift.upgrades.graph.previous.add": "4.9.1"}}"#,
            r#"{"4.9.2": {"url": 5}}"#,
            r#"{"4.9.2": "url"}"#,
            r#"{"4.9": {}}"#,
            r#"{"4.9.2": {"#,
            r#"["4.9.2"]"#,
            r#"{"4.9.2": {"a": "b"}, "4.9.2": {}}"#,
            r#"{"4.9.2": {"io.openshift.upgrades.graph.previous.remove": "4.9.x"}}"#,
            r#"{"4.9.2": {"io.openshift.upgrades.graph.previous.remove_regex": "("}}"#,
            "",
        ]
        .map(raw),
        expect![[r#"
            {"4.9.2": {"io.openshift.upgrades.graph.previous.add": "4.9.1"}}
                is taken
            {"4.9.2": {"url": 5}}
                raw/metadata.json:1:19: invalid type: integer `5`, expected a string; correct the file
            {"4.9.2": "url"}
                raw/metadata.json:1:15: invalid type: string "url", expected an object; correct the file
            {"4.9": {}}
                raw/metadata.json: the key "4.9" is not a version: a release has three numbers, as in 4.9.3; write it as in 4.9.7 or 4.9.7+amd64
            {"4.9.2": {
                raw/metadata.json:1:11: the file is cut short; write it again
            ["4.9.2"]
                raw/metadata.json:1: invalid type: sequence, expected an object; correct the file
            {"4.9.2": {"a": "b"}, "4.9.2": {}}
                raw/metadata.json:1:34: the key "4.9.2" stands twice; correct the file
            {"4.9.2": {"io.openshift.upgrades.graph.previous.remove": "4.9.x"}}
                raw/metadata.json: io.openshift.upgrades.graph.previous.remove of "4.9.2": "4.9.x" is not a version: unexpected character 'x' while parsing patch version number; write a comma list of versions, or a regular expression for remove_regex
            {"4.9.2": {"io.openshift.upgrades.graph.previous.remove_regex": "("}}
                raw/metadata.json: io.openshift.upgrades.graph.previous.remove_regex of "4.9.2": "(": unclosed group; write a comma list of versions, or a regular expression for remove_regex
            (nothing)
                raw/metadata.json: the file is empty; write a JSON object: {"4.9.7": {"url": "https://…"}}
        "#]],
    );
}

#[test]
fn every_problem_of_every_file_is_reported_at_once() {
    check(
        [(
            "five files, all of them wrong",
            graph_data(&[
                ("version", "2.0.0"),
                (
                    "channels/a.yaml",
                    "channels: [{name: A}]\nversions: [{name: 4.9.1}, {start: now}]\n",
                ),
                ("blocked-edges/c.yaml", "from: (\nfixedIn: never\n"),
                ("blocked-edges/b.txt", "to: 4.9.2\n"),
                ("raw/metadata.json", "{}}"),
            ]),
        )],
        expect![[r#"
            five files, all of them wrong
                blocked-edges/b.txt: only *.yaml and *.yml directly in blocked-edges/ and channels/ are read, so this would have no effect; name it *.yaml, or remove it
                blocked-edges/c.yaml: the block has no `to`; add `to: <version>`
                blocked-edges/c.yaml:1:7: `from` is not a regular expression that towpath accepts: unclosed group; correct it; `.*` means every release
                channels/a.yaml:1:19: "A" cannot be a channel's name; use lower-case letters, digits, `-` and `.`
                channels/a.yaml:2:12: version 4.9.1 has no start; add `start: <RFC 3339 time>`
                channels/a.yaml:2:27: the release has no name; add `name: <version>`
                raw/metadata.json:1:3: trailing characters; correct the file
                and a warning: blocked-edges/c.yaml:2:10: "never" is not a version: a release has three numbers, as in 4.20.3; name the first release without the problem
        "#]],
    );
}

// Releases and platforms

#[test]
fn releases_files() {
    check_edits(
        RELEASES,
        |text| {
            said(
                releases::read(&Place::file("releases.json"), text.as_bytes())
                    .map(|(_, warnings)| warnings),
            )
        },
        &[
            (RELEASES, ""),
            (RELEASES, "[]"),
            (RELEASES, "<html>"),
            (RELEASES, "{\"nodes\": []}"),
            (&RELEASES[70..], ""),
            ("\"version\": \"4.9.1+amd64\", ", ""),
            ("\"version\": \"4.9.1+amd64\"", "\"version\": 4.9"),
            ("\"version\": \"4.9.1+amd64\"", "\"version\": \"4.9\""),
            ("\"payload\": \"p1\"", "\"payload\": 1"),
            ("\"payload\": \"p1\"", "\"payload\": \"\""),
            ("\"payload\": \"p1\"", "\"payload\": null"),
            ("{\"url\": \"u\"}", "{\"url\": 5}"),
            ("{\"version\": \"4.9.2+amd64\"", "{\"version\": \"4.9.1\""),
            ("[[0, 1]]", "[[0, 2], [7, 1]]"),
            ("[[0, 1]]", "[[0, -1]]"),
            ("[[0, 1]]", "[[0]]"),
            ("[[0, 1]]", "[{\"from\": 0, \"to\": 1}]"),
            (
                "[{\"name\": \"R\", \"url\": \"u\", \"message\": \"m\", \"matchingRules\": [{\"type\": \"Always\"}]}]",
                "[]",
            ),
            (
                ",\n   \"risks\": [{\"name\": \"R\", \"url\": \"u\", \"message\": \"m\", \"matchingRules\": [{\"type\": \"Always\"}]}]",
                "",
            ),
            ("\"message\": \"m\", ", ""),
            ("[{\"type\": \"Always\"}]", "[]"),
            ("\"to\": \"4.9.2\"", "\"to\": \"4.9\""),
        ],
        expect![[r#"
            (all) => (nothing)
                releases.json: the file is empty; give a graph in JSON, with nodes and edges: `towpath releases scrape` writes one, and update services answer with one
            (all) => []
                releases.json:1:2: invalid length 0, expected a graph: an object with nodes and edges; give a graph in JSON, with nodes and edges: `towpath releases scrape` writes one, and update services answer with one
            (all) => <html>
                releases.json: this is not JSON; give a graph in JSON, with nodes and edges: `towpath releases scrape` writes one, and update services answer with one
            (all) => {"nodes": []}
                releases.json:1:13: missing field `edges`; give a graph in JSON, with nodes and edges: `towpath releases scrape` writes one, and update services answer with one
            {"url": "u"}},\n  {"version": "4.9.2+amd64", "payload": "p2" … => (nothing)
                releases.json:2:58: the file is cut short; write it again
            "version": "4.9.1+amd64", => (nothing)
                releases.json:2:45: missing field `version`; write the graph again from its source
            "version": "4.9.1+amd64" => "version": 4.9
                releases.json:2:17: invalid type: floating point `4.9`, expected a string; write the graph again from its source
            "version": "4.9.1+amd64" => "version": "4.9"
                releases.json: nodes[0]: "4.9" is not a version: a release has three numbers, as in 4.9.3; write it as in 4.9.7 or 4.9.7+amd64
            "payload": "p1" => "payload": 1
                releases.json:2:41: invalid type: integer `1`, expected a string; write the graph again from its source
            "payload": "p1" => "payload": ""
                is taken, with a warning: releases.json: 1 release has no payload: left out, with all edges; they are names that other releases mention; scrape them if they exist
            "payload": "p1" => "payload": null
                is taken, with a warning: releases.json: 1 release has no payload: left out, with all edges; they are names that other releases mention; scrape them if they exist
            {"url": "u"} => {"url": 5}
                releases.json:2:67: invalid type: integer `5`, expected a string; write the graph again from its source
            {"version": "4.9.2+amd64" => {"version": "4.9.1"
                releases.json: nodes[1]: 4.9.1 of amd64 stands here twice, with different payloads; keep the right one
            [[0, 1]] => [[0, 2], [7, 1]]
                releases.json: edges[0]: [0, 2] names a node that does not exist (2 do); write the graph again from its source
                releases.json: edges[1]: [7, 1] names a node that does not exist (2 do); write the graph again from its source
            [[0, 1]] => [[0, -1]]
                releases.json:4:17: invalid value: integer `-1`, expected the number of a node; write the graph again from its source
            [[0, 1]] => [[0]]
                releases.json:4:14: invalid length 1, expected a tuple of size 2; write the graph again from its source
            [[0, 1]] => [{"from": 0, "to": 1}]
                releases.json:4:11: invalid type: map, expected a tuple of size 2; write the graph again from its source
            [{"name": "R", "url": "u", "message": "m", "matchingRules":  … => []
                releases.json: a group of conditionalEdges has no risks; write the graph again from its source
            ,\n   "risks": [{"name": "R", "url": "u", "message": "m", "m … => (nothing)
                releases.json:6:47: missing field `risks`; write the graph again from its source
            "message": "m", => (nothing)
                releases.json:7:77: missing field `message`; write the graph again from its source
            [{"type": "Always"}] => []
                is taken
            "to": "4.9.2" => "to": "4.9"
                releases.json: conditionalEdges: "4.9" is not a version: a release has three numbers, as in 4.9.3; write the graph again from its source
        "#]],
    );
}

#[test]
fn platforms_files() {
    let file = |text: &str| {
        (
            format!("{text:?}"),
            said(
                platforms::read(&Place::file("platforms.csv"), text.as_bytes())
                    .map(|(_, warnings)| warnings),
            ),
        )
    };
    check(
        [
            "# clusters\n\n0f3a,AWS\n0f3b , Azure\r\n",
            "0f3a\n",
            "0f3a;AWS\n",
            "0f3a,\n,AWS\n",
            "0f3a,AWS,eu\n",
            "0f3a,Bare Metal\n",
            "0f3a,AWS\n0f3a,aws\n",
            "0f3a,AWS\n0f3a,Azure\n",
            "\u{feff}0f3a,AWS\n",
            "0f3a,Amazon\n",
            "0f3a,,sector=canary,label:tier=dev\n0f3b,AWS, sector=\n",
            "0f3a,AWS,sector=a,sector=b\n",
            "0f3a,AWS,tier=dev\n",
            "0f3a,AWS,label:=dev\n",
            "0f3a,AWS,sector=a\n0f3a,AWS\n",
        ]
        .map(file)
        .into_iter()
        .chain([(
            "not UTF-8".to_owned(),
            said(
                platforms::read(&Place::file("platforms.csv"), b"0f3a,AWS\n\xff,AWS\n")
                    .map(|(_, warnings)| warnings),
            ),
        )]),
        expect![[r##"
            "# clusters\n\n0f3a,AWS\n0f3b , Azure\r\n"
                is taken
            "0f3a\n"
                platforms.csv:1: there is no comma between an id and a platform; write it as in `<uuid>,AWS`, or `<uuid>,AWS,sector=canary,label:tier=dev`
            "0f3a;AWS\n"
                platforms.csv:1: there is no comma between an id and a platform; write it as in `<uuid>,AWS`, or `<uuid>,AWS,sector=canary,label:tier=dev`
            "0f3a,\n,AWS\n"
                platforms.csv:1: what is after the comma is not the name of a platform; write it as in `<uuid>,AWS`, or `<uuid>,AWS,sector=canary,label:tier=dev`
                platforms.csv:2: what is before the comma is not the id of a cluster; write it as in `<uuid>,AWS`, or `<uuid>,AWS,sector=canary,label:tier=dev`
            "0f3a,AWS,eu\n"
                platforms.csv:1: "eu" is neither `sector=<name>` nor `label:<name>=<value>`; write it as in `<uuid>,AWS`, or `<uuid>,AWS,sector=canary,label:tier=dev`
            "0f3a,Bare Metal\n"
                platforms.csv:1: what is after the comma is not the name of a platform; write it as in `<uuid>,AWS`, or `<uuid>,AWS,sector=canary,label:tier=dev`
            "0f3a,AWS\n0f3a,aws\n"
                is taken
            "0f3a,AWS\n0f3a,Azure\n"
                platforms.csv:2: 0f3a has two lines that differ; keep the right one
            "\u{feff}0f3a,AWS\n"
                is taken
            "0f3a,Amazon\n"
                is taken, with a warning: platforms.csv:1: Amazon is not a platform of OpenShift, so blocks for any platform hold; correct it; there are AWS, AlibabaCloud, Azure, BareMetal, EquinixMetal, External, GCP, IBMCloud, KubeVirt, Libvirt, None, Nutanix, OpenStack, PowerVS, VSphere, oVirt
            "0f3a,,sector=canary,label:tier=dev\n0f3b,AWS, sector=\n"
                is taken
            "0f3a,AWS,sector=a,sector=b\n"
                platforms.csv:1: "sector=b" is said twice; write it as in `<uuid>,AWS`, or `<uuid>,AWS,sector=canary,label:tier=dev`
            "0f3a,AWS,tier=dev\n"
                platforms.csv:1: "tier=dev" is neither `sector=<name>` nor `label:<name>=<value>`; write it as in `<uuid>,AWS`, or `<uuid>,AWS,sector=canary,label:tier=dev`
            "0f3a,AWS,label:=dev\n"
                platforms.csv:1: "label:=dev" is neither `sector=<name>` nor `label:<name>=<value>`; write it as in `<uuid>,AWS`, or `<uuid>,AWS,sector=canary,label:tier=dev`
            "0f3a,AWS,sector=a\n0f3a,AWS\n"
                platforms.csv:2: 0f3a has two lines that differ; keep the right one
            not UTF-8
                platforms.csv:2: the line is not UTF-8 text; write it as in `<uuid>,AWS`, or `<uuid>,AWS,sector=canary,label:tier=dev`
        "##]],
    );
}

// How the tables are made

/// What a reader said: why it refuses, or what it takes in with a warning.
type Said = Result<Vec<Finding>, Vec<Finding>>;

fn check_edits(good: &str, read: impl Fn(&str) -> Said, edits: &[(&str, &str)], expected: Expect) {
    assert_eq!(read(good), Ok(vec![]), "the file before the edits is good");
    let rows = edits.iter().map(|(before, after)| {
        assert!(
            good.contains(before),
            "{before:?} does not stand in the good file"
        );
        let whole = if *before == good {
            "(all)".to_owned()
        } else {
            shown(before)
        };
        (
            format!("{whole} => {}", shown(after)),
            read(&good.replacen(before, after, 1)),
        )
    });
    check(rows, expected);
}

fn check<N: Into<String>>(rows: impl IntoIterator<Item = (N, Said)>, expected: Expect) {
    let mut table = String::new();
    for (name, said) in rows {
        let (Ok(findings) | Err(findings)) = &said;
        table += &format!("{}\n", name.into());
        if findings.is_empty() {
            table += "    is taken\n";
        }
        for finding in findings {
            let severity = match (&said, finding.is_error()) {
                (_, true) => "",
                (Ok(_), false) => "is taken, with a warning: ",
                (Err(_), false) => "and a warning: ",
            };
            table += &format!("    {severity}{finding}\n");
        }
    }
    expected.assert_eq(&table);
}

/// An edit in one line, long ones up to a limit.
fn shown(text: &str) -> String {
    const MAX_CHARS: usize = 60;
    let line = text.trim().replace('\n', "\\n");
    match line.chars().count() {
        0 => "(nothing)".to_owned(),
        1..=MAX_CHARS => line,
        _ => line.chars().take(MAX_CHARS).chain(" …".chars()).collect(),
    }
}

/// Two rings, and a rule that says when they go.
const RINGS: &str = "\
channels:
- name: stable-4.9
  rings:
  - name: canaries
    sector: canary
  - name: early
    label: {tier: dev}
  phasedRollouts:
  - duration: P2D
    after: P1D
    rings:
    - name: canaries
      duration: PT6H
    - name: early
      after: PT6H
      duration: PT6H
versions:
- name: 4.9.1
  start: 2020-05-12T00:00Z
";

#[test]
fn rings_and_their_turns() {
    let said =
        |version: &str, text: &str| graph_data(&[("version", version), ("channels/c.yaml", text)]);
    let early = "after: PT6H\n      duration: PT6H";
    // What stood there, what stands there now, and the code that is said.
    let edits = [
        (
            "  - name: early\n    label: {tier: dev}\n",
            "",
            "unknown-ring",
        ),
        (
            "name: early\n    label",
            "name: canaries\n    label",
            "bad-ring",
        ),
        (
            "name: early\n    label",
            "name: Early\n    label",
            "bad-ring",
        ),
        ("label: {tier: dev}", "sector: canary", "bad-ring"),
        (
            "label: {tier: dev}",
            "sector: dev\n    label: {tier: dev}",
            "bad-ring",
        ),
        ("    label: {tier: dev}\n", "", "bad-ring"),
        ("label: {tier: dev}", "label: {}", "bad-ring"),
        (
            "label: {tier: dev}",
            "label: {tier: dev, zone: a}",
            "too-large",
        ),
        ("label: {tier: dev}", "labels: {tier: dev}", "unknown-field"),
        ("sector: canary", "sector: ''", "bad-ring"),
        (
            "- name: early\n      after",
            "- name: canaries\n      after",
            "bad-ring",
        ),
        (
            "      duration: PT6H\n    - name: early",
            "    - name: early",
            "missing-field",
        ),
        (early, "after: PT6H\n      duration: P1M", "bad-ring"),
        (early, "after: soon\n      duration: PT6H", "bad-duration"),
        ("duration: P2D", "duration: P1Y", "bad-ring"),
        ("duration: P2D", "duration: P366D", "bad-ring"),
        // Everybody else, or the early ones, would at some time be ahead.
        (early, "after: PT6H\n      duration: P3D", "ring-order"),
        (early, "after: P2D\n      duration: PT6H", "ring-order"),
        (
            "canaries\n      duration: PT6H",
            "canaries\n      duration: PT18H",
            "ring-order",
        ),
        (
            early,
            "after: PT6H\n      duration: PT6H\n      ramp: fast",
            "bad-ramp",
        ),
        (
            "- duration: P2D\n",
            "- held: true\n    to: 4.9.1\n",
            "bad-rule",
        ),
    ];
    for (then, now, code) in edits {
        assert!(RINGS.contains(then), "{then}");
        let findings = said("2.1.0", &RINGS.replacen(then, now, 1)).expect_err(now);
        let codes: Vec<&str> = findings.iter().map(|finding| finding.code).collect();
        assert!(codes.contains(&code), "{then} => {now}: {findings:?}");
        assert!(
            findings.iter().all(|one| one.place.line > 0),
            "{findings:?}"
        );
    }
    let warnings = |text: &str| {
        let warnings = said("2.1.0", text).expect("it is taken");
        warnings.iter().map(|one| one.code).collect::<Vec<_>>()
    };
    assert!(warnings(RINGS).is_empty());
    let unnamed = "    - name: early\n      after: PT6H\n      duration: PT6H\n";
    assert_eq!(warnings(&RINGS.replace(unnamed, "")), ["unused-ring"]);
    // A service of 2.0.0 would read it otherwise.
    let older = said("2.0.0", RINGS).expect_err("it is refused");
    assert!(
        older.iter().any(|one| one.code == "newer-field"),
        "{older:?}"
    );
    let ring = |n: usize| format!("  - {{name: r{n}, sector: s{n}}}\n");
    let many: String = (0..9).map(ring).collect();
    let many = RINGS.replace("  rings:\n  - name", &format!("  rings:\n{many}  - name"));
    let many = said("2.1.0", &many).expect_err("there are too many");
    assert!(many.iter().any(|one| one.code == "too-large"), "{many:?}");
}

/// What came with 2.1.0, and what can be wrong with it.
const FINER: &str = "\
channels:
- name: fast-4.9
- name: stable-4.9
  start: 2020-05-01T00:00Z
  phasedRollouts:
  - duration: P2D
    stages: [0.5%, 12 %, 40.25%]
  - to: 4.9.2
    fromVersion: minor
    duration: P14D
    start: 2020-06-20T00:00Z
  - from: 4.9.1
    to: 4.9.2
    held: true
versions:
- name: 4.9.1
  start: 2020-05-12T00:00Z
- name: 4.9.2
  start: 2020-06-12T00:00Z
  starts:
    stable-4.9: 2020-06-15T00:00Z
- name: 4.9.3
  start: 2020-07-12T00:00Z
  held: true
";

#[test]
fn rules_for_releases_and_edges() {
    let said =
        |version: &str, text: &str| graph_data(&[("version", version), ("channels/c.yaml", text)]);
    let edits = [
        ("to: 4.9.2\n    fromVersion", "to: 4.9.9\n    fromVersion"),
        (
            "to: 4.9.2\n    fromVersion",
            "to: 4.9.2+amd64\n    fromVersion",
        ),
        ("to: 4.9.2\n    fromVersion: minor", "fromVersion: minor"),
        ("[0.5%, 12 %, 40.25%]", "[12%, 0.5%]"),
        ("[0.5%, 12 %, 40.25%]", "[12%, 12%]"),
        ("[0.5%, 12 %, 40.25%]", "[12%, 100%]"),
        ("[0.5%, 12 %, 40.25%]", "[0%, 12%]"),
        ("[0.5%, 12 %, 40.25%]", "[0.125%]"),
        ("[0.5%, 12 %, 40.25%]", "[12]"),
        ("[0.5%, 12 %, 40.25%]", "[half]"),
        ("[0.5%, 12 %, 40.25%]", "[]"),
        ("[0.5%, 12 %, 40.25%]", "12%"),
        (
            "[0.5%, 12 %, 40.25%]",
            "[1%, 2%, 3%, 4%, 5%, 6%, 7%, 8%, 9%, 10%, 11%, 12%, 13%]",
        ),
        (
            "stages: [0.5%, 12 %, 40.25%]",
            "stages: [12%]\n    ramp: linear",
        ),
        (
            "held: true\nversions",
            "held: true\n    stages: [12%]\nversions",
        ),
        ("    to: 4.9.2\n    held", "    held"),
        (
            "held: true\nversions",
            "held: true\n    duration: P1D\nversions",
        ),
        (
            "to: 4.9.2\n    held",
            "to: 4.9.2\n    fromVersion: patch\n    held",
        ),
        ("from: 4.9.1\n    to: 4.9.2\n    held: true", "held: true"),
        ("held: true\nversions", "held: maybe\nversions"),
        (
            "from: 4.9.1\n    to: 4.9.2\n    held: true",
            "to: 4.9.2\n    fromVersion: minor\n    held: true",
        ),
        ("    stable-4.9: 2020", "    stable-4.8: 2020"),
        ("    stable-4.9: 2020-06-15T00:00Z", "    stable-4.9: soon"),
        ("  start: 2020-05-01T00:00Z", "  start: soon"),
        ("  held: true\n", "  held: true\n  locked: true\n"),
    ];
    let rows = edits.map(|(then, now)| {
        assert!(FINER.contains(then), "{then}");
        let at = FINER.rfind(then).unwrap();
        let text = format!("{}{now}{}", &FINER[..at], &FINER[at + then.len()..]);
        let name = format!("{} => {}", shown(then), shown(now));
        (name, said("2.1.0", &text))
    });
    let whole = [
        ("2.1.0".to_owned(), said("2.1.0", FINER)),
        ("in data of 2.0.0".to_owned(), said("2.0.0", FINER)),
    ];
    check(
        whole.into_iter().chain(rows),
        expect![[r#"
            2.1.0
                is taken
            in data of 2.0.0
                channels/c.yaml:4:10: `start` came with schema 2.1.0, and `version` says 2.0.0; write 2.1.0 into `version` once every service that reads these files knows it, or remove the field
                channels/c.yaml:7:13: `stages` came with schema 2.1.0, and `version` says 2.0.0; write 2.1.0 into `version` once every service that reads these files knows it, or remove the field
                channels/c.yaml:8:9: `to` came with schema 2.1.0, and `version` says 2.0.0; write 2.1.0 into `version` once every service that reads these files knows it, or remove the field
                channels/c.yaml:11:12: `start` came with schema 2.1.0, and `version` says 2.0.0; write 2.1.0 into `version` once every service that reads these files knows it, or remove the field
                channels/c.yaml:12:11: `from` came with schema 2.1.0, and `version` says 2.0.0; write 2.1.0 into `version` once every service that reads these files knows it, or remove the field
                channels/c.yaml:13:9: `to` came with schema 2.1.0, and `version` says 2.0.0; write 2.1.0 into `version` once every service that reads these files knows it, or remove the field
                channels/c.yaml:14:11: `held` came with schema 2.1.0, and `version` says 2.0.0; write 2.1.0 into `version` once every service that reads these files knows it, or remove the field
                channels/c.yaml:21:5: `starts` came with schema 2.1.0, and `version` says 2.0.0; write 2.1.0 into `version` once every service that reads these files knows it, or remove the field
                channels/c.yaml:24:9: `held` came with schema 2.1.0, and `version` says 2.0.0; write 2.1.0 into `version` once every service that reads these files knows it, or remove the field
            to: 4.9.2\n    fromVersion => to: 4.9.9\n    fromVersion
                channels/c.yaml:8:9: 4.9.9 is not among the versions of this file; correct the version, or list it
            to: 4.9.2\n    fromVersion => to: 4.9.2+amd64\n    fromVersion
                channels/c.yaml:8:9: a rule is for all architectures, and 4.9.2+amd64 names one; write the version alone; a block can be for one architecture
            to: 4.9.2\n    fromVersion: minor => fromVersion: minor
                channels/c.yaml:10:12: a rule for all releases cannot have a start; add `to: <version>`, or set the `start` of releases
            [0.5%, 12 %, 40.25%] => [12%, 0.5%]
                channels/c.yaml:7:13: the shares of `stages` do not rise from one to the next; write 1 to 12 shares, each larger than the one before, as in [0.5%, 5%, 40%]; everybody follows at the end by itself
            [0.5%, 12 %, 40.25%] => [12%, 12%]
                channels/c.yaml:7:13: the shares of `stages` do not rise from one to the next; write 1 to 12 shares, each larger than the one before, as in [0.5%, 5%, 40%]; everybody follows at the end by itself
            [0.5%, 12 %, 40.25%] => [12%, 100%]
                channels/c.yaml:7:19: "100%" is not a share of the fleet; write a percentage from 0.01% to 99.99%, with at most two places, as in 0.5%
            [0.5%, 12 %, 40.25%] => [0%, 12%]
                channels/c.yaml:7:14: "0%" is not a share of the fleet; write a percentage from 0.01% to 99.99%, with at most two places, as in 0.5%
            [0.5%, 12 %, 40.25%] => [0.125%]
                channels/c.yaml:7:14: "0.125%" is not a share of the fleet; write a percentage from 0.01% to 99.99%, with at most two places, as in 0.5%
            [0.5%, 12 %, 40.25%] => [12]
                channels/c.yaml:7:14: 12 is read as a number or a boolean, and a text belongs here; put it in quotes, or write it out: a version as in 4.9.7, a duration as in P2D
            [0.5%, 12 %, 40.25%] => [half]
                channels/c.yaml:7:14: "half" is not a share of the fleet; write a percentage from 0.01% to 99.99%, with at most two places, as in 0.5%
            [0.5%, 12 %, 40.25%] => []
                channels/c.yaml:7:13: the shares of `stages` do not rise from one to the next; write 1 to 12 shares, each larger than the one before, as in [0.5%, 5%, 40%]; everybody follows at the end by itself
            [0.5%, 12 %, 40.25%] => 12%
                channels/c.yaml:7:13: a list (`- item`) belongs here; write each value on a line of its own, after `- `
            [0.5%, 12 %, 40.25%] => [1%, 2%, 3%, 4%, 5%, 6%, 7%, 8%, 9%, 10%, 11%, 12%, 13%]
                channels/c.yaml:7:13: stages: there are 13; at most 12 are allowed; shorten the list
            stages: [0.5%, 12 %, 40.25%] => stages: [12%]\n    ramp: linear
                channels/c.yaml:8:11: `ramp` and `stages` both say how the share grows; remove one of them
            held: true\nversions => held: true\n    stages: [12%]\nversions
                channels/c.yaml:15:13: what is held has no window, so `stages` means nothing; remove it, or `held`
            to: 4.9.2\n    held => held
                channels/c.yaml:12:5: the rule does not say which release is held; add `to: <version>`
            held: true\nversions => held: true\n    duration: P1D\nversions
                channels/c.yaml:15:15: what is held has no window, so `duration` means nothing; remove it, or `held`
            to: 4.9.2\n    held => to: 4.9.2\n    fromVersion: patch\n    held
                channels/c.yaml:12:5: `from` and `to` name one update, so `fromVersion` means nothing; remove it, or `from`
            from: 4.9.1\n    to: 4.9.2\n    held: true => held: true
                channels/c.yaml:12:5: the rule does not say which release is held; add `to: <version>`
            held: true\nversions => held: maybe\nversions
                channels/c.yaml:14:11: `true` or `false` belongs here; write one of them
            from: 4.9.1\n    to: 4.9.2\n    held: true => to: 4.9.2\n    fromVersion: minor\n    held: true
                channels/c.yaml:12:5: there are two rules for minor updates to 4.9.2; keep one of them
            stable-4.9: 2020 => stable-4.8: 2020
                channels/c.yaml:21:17: this file has no channel "stable-4.8"; name a channel of this file, or remove the start
            stable-4.9: 2020-06-15T00:00Z => stable-4.9: soon
                channels/c.yaml:21:17: "soon" is not an RFC 3339 date-time, or there is no such day; write it as in 2020-05-12T00:00Z
            start: 2020-05-01T00:00Z => start: soon
                channels/c.yaml:4:10: "soon" is not an RFC 3339 date-time, or there is no such day; write it as in 2020-05-12T00:00Z
            held: true => held: true\n  locked: true
                channels/c.yaml:22:3: `locked` says that everybody is offered it, and `held` that nobody is; keep one of them
        "#]],
    );
}

fn phased(text: &str) -> Said {
    graph_data(&[("version", "2.0.0"), ("channels/c.yaml", text)])
}

fn block(text: &str) -> Said {
    blocks_in_bytes(text.as_bytes())
}

fn blocks_in_bytes(bytes: &[u8]) -> Said {
    let file = |path: &str, bytes: &[u8]| SourceFile {
        path: path.into(),
        bytes: bytes.into(),
    };
    let (version, channel) = (
        file("version", b"1.1.0\n"),
        file("channels/c.yaml", CHANNEL.as_bytes()),
    );
    said(
        data::read(&[version, channel, file("blocked-edges/b.yaml", bytes)])
            .map(|(_, warnings)| warnings),
    )
}

fn graph_data(files: &[(&str, &str)]) -> Said {
    let file = |(path, text): &(&str, &str)| SourceFile {
        path: (*path).into(),
        bytes: text.as_bytes().into(),
    };
    let files: Vec<SourceFile> = files.iter().map(file).collect();
    said(data::read(&files).map(|(_, warnings)| warnings))
}

/// A refusal names an error, and what is taken has none.
fn said(result: Said) -> Said {
    match &result {
        Ok(warnings) => assert!(!warnings.iter().any(Finding::is_error), "{warnings:?}"),
        Err(findings) => assert!(findings.iter().any(Finding::is_error), "{findings:?}"),
    }
    result
}

/// Regressions: each of these was taken without a word, and opened something.
#[test]
fn what_looks_harmless_and_is_not() {
    let said = |path: &str, text: &str| {
        let file = |path: &str, text: &str| SourceFile {
            path: path.into(),
            bytes: text.as_bytes().into(),
        };
        let good = "channels: [{name: c}]\nversions: [{name: 4.9.1, start: '2020-01-01T00:00Z'}]";
        let files = [
            file("version", "2.0.0"),
            file("channels/good.yaml", good),
            file(path, text),
        ];
        data::read(&files).map_or_else(
            |findings| findings[0].to_string(),
            |_| "is taken".to_owned(),
        )
    };
    let table: Vec<String> = [
        ("blocked-edges/b.yaml", "to: 4.9.1\nfrom: |\n  4[.]9\n"),
        ("blocked-edges/b.yaml", "to: 4.9.1\nfrom: ' 4[.]9'\n"),
        ("blocked-edges", "to: 4.9.1\nfrom: .*\n"),
        (
            "channels/b.yaml",
            "channels:\n- name: b\n  phasedRollouts:\n  # - duration: P2D\n",
        ),
        ("channels/b.yaml", "channels: [{name: b}]\nversions:\n"),
        ("channels/b.yaml", "channels:\n"),
    ]
    .map(|(path, text)| said(path, text))
    .into();
    expect![[r#"
        blocked-edges/b.yaml:3:3: `from` is not a regular expression that towpath accepts: a version has no spaces or line breaks, so it would match nothing; write it in quotes, on one line; correct it; `.*` means every release
        blocked-edges/b.yaml:2:7: `from` is not a regular expression that towpath accepts: a version has no spaces or line breaks, so it would match nothing; write it in quotes, on one line; correct it; `.*` means every release
        blocked-edges: only *.yaml and *.yml directly in blocked-edges/ and channels/ are read, so this would have no effect; make it a folder
        channels/b.yaml:3:17: `phasedRollouts` has nothing in it; list something, or write `[]`
        channels/b.yaml:2:9: `versions` has nothing in it; list something, or write `[]`
        channels/b.yaml: the file has no `channels`; add `channels:` with a list of names; schema 2.0.0 has no `name` at the top"#]].assert_eq(&table.join("\n"));
    let platforms = |text: &str| {
        towpath_formats::graph::platforms::read(&Place::file("p"), text.as_bytes())
            .map_err(|f| f[0].to_string())
    };
    expect![[r#"
        Err(
            "p: the last line has no end, so it may be cut short; end it with a line break; write the file elsewhere, then rename it",
        )
    "#]].assert_debug_eq(&platforms("aaaa,GCP\nbbbb,AW"));
}

/// Wherever only some findings are shown, the reason why nothing was loaded is among them.
#[test]
fn errors_come_before_warnings() {
    let file = |path: String, text: &str| SourceFile {
        path,
        bytes: text.as_bytes().into(),
    };
    let mut files = vec![
        file("version".into(), "1.1.0"),
        file("channels/c.yaml".into(), "name: c\nversions:\n"),
    ];
    files.extend((0..60).map(|n| {
        file(
            format!("blocked-edges/{n}.yaml"),
            "to: 4.9.1\nfrom: .*\nnote: x\n",
        )
    }));
    let findings = data::read(&files).unwrap_err();
    let errors: Vec<bool> = findings.iter().map(Finding::is_error).collect();
    assert_eq!(
        (errors.len(), errors[0], errors[1..].contains(&true)),
        (61, true, false)
    );
}
