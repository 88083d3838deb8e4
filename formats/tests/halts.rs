//! Halts: what a file says is what is served and what is explained, and a halt never does less than it says.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the finding")]

use towpath_core::cluster::{Cluster, ClusterId, Platform};
use towpath_core::feedback::HaltScope;
use towpath_core::finding::{Finding, Place};
use towpath_core::graph::{
    Audience, ChannelName, DeclaredHalt, Graph, GraphData, ObservedFailures, Situation, explain,
};
use towpath_core::version::{Arch, Minors, Version};
use towpath_formats::SourceFile;
use towpath_formats::graph::data;
use towpath_formats::graph::releases;

const CHANNEL: &str = "name: stable-4.20\nversions:\n- 4.19.9\n- 4.20.1\n- 4.20.2\n";

fn read(block: &str, schema: &str) -> Result<(GraphData, Vec<Finding>), Vec<Finding>> {
    data::read(&[
        SourceFile::new("version", schema.as_bytes()),
        SourceFile::new("channels/stable-4.20.yaml", CHANNEL.as_bytes()),
        SourceFile::new("blocked-edges/4.20.2-halted.yaml", block.as_bytes()),
    ])
}

fn version(text: &str) -> Version {
    text.parse().unwrap()
}

fn halt(scope: HaltScope) -> DeclaredHalt {
    DeclaredHalt {
        by: "watch".into(),
        at: "2026-11-18T12:00:00Z".parse().unwrap(),
        scope,
        why: Some("Nodes: \"NotReady\" # x".into()),
        evidence: Some(ObservedFailures {
            attempts: 41,
            known: 36,
            failed: 6,
            degraded: 1,
            sentence: "At most 1 in 1,000 good releases looks so bad.".into(),
        }),
    }
}

fn scopes() -> Vec<HaltScope> {
    let scope = |from, platform, arch| data::halt_scope(from, platform, arch).unwrap();
    vec![
        HaltScope::default(),
        scope(Some("4.19"), None, None),
        scope(None, Some("aws"), None),
        scope(None, None, Some("arm64")),
        scope(Some("4.20"), Some("AWS"), Some("amd64")),
    ]
}

/// Whom the file stops, of clusters of each origin, platform and architecture; and what is said to each.
fn stopped(file: &str) -> Vec<(String, String)> {
    let (data, _) = read(file, "1.1.0").unwrap();
    let node = |version: &str, arch: &str| {
        format!(
            r#"{{"version": "{version}", "payload": "{version}{arch}", "metadata": {{"io.openshift.upgrades.graph.release.arch": "{arch}"}}}}"#
        )
    };
    let arches = ["amd64", "arm64"];
    let mut nodes = Vec::new();
    for arch in arches {
        for version in ["4.19.9", "4.20.1", "4.20.2"] {
            nodes.push(node(&format!("{version}+{arch}"), arch));
        }
    }
    let text = format!(
        r#"{{"nodes": [{}], "edges": [[0, 2], [1, 2], [3, 5], [4, 5]]}}"#,
        nodes.join(",")
    );
    let (releases, _) = releases::read(&Place::file("r"), text.as_bytes()).unwrap();
    let (graph, _) = Graph::build(data, releases);
    let mut found = Vec::new();
    for arch in arches {
        for platform in [Some("AWS"), Some("Azure"), None] {
            for from in ["4.19.9", "4.20.1"] {
                let cluster = Cluster {
                    platform: platform.and_then(Platform::new).into(),
                    ..Cluster::anonymous(ChannelName::new("stable-4.20").unwrap(), Arch::new(arch))
                };
                let at = Situation {
                    graph: &graph,
                    cluster: &cluster,
                    now: "2026-11-18T13:00:00Z".parse().unwrap(),
                };
                let said = explain(
                    &at,
                    &version(from),
                    Some(&version("4.20.2")),
                    &Minors::default(),
                    &[],
                );
                let one = &said.candidates[0];
                if !one.verdict.is_offered() {
                    let platform = platform.unwrap_or("?");
                    let reasons: Vec<String> = one
                        .verdict
                        .reasons
                        .iter()
                        .map(|reason| format!("{} {}", reason.code().name, reason.text()))
                        .collect();
                    found.push((format!("{from} {platform} {arch}"), reasons.join("; ")));
                }
            }
        }
    }
    found
}

#[test]
fn what_is_written_is_read_and_stops_exactly_whom_it_names() {
    let expected: [&[&str]; 5] = [
        &["4.19.9 AWS amd64", "4.20.1 ? arm64"],
        &["4.19.9 AWS amd64", "4.19.9 ? arm64"],
        &["4.19.9 AWS amd64", "4.20.1 ? arm64"],
        &["4.19.9 AWS arm64", "4.20.1 ? arm64"],
        &["4.20.1 AWS amd64", "4.20.1 ? amd64"],
    ];
    let counts = [12, 6, 8, 6, 2];
    for ((scope, ends), count) in scopes().into_iter().zip(expected).zip(counts) {
        let declared = halt(scope.clone());
        let file = data::write_halt(&version("4.20.2"), &declared, None, Some("https://x/1"));
        let (read_back, findings) = read(&file, "1.1.0").unwrap();
        assert_eq!(findings, [], "{file}");
        let block = &read_back.blocks[0];
        assert_eq!(block.halt.as_deref(), Some(&declared), "{file}");
        let stopped = stopped(&file);
        let whom: Vec<&str> = stopped.iter().map(|(whom, _)| &**whom).collect();
        assert_eq!(whom.len(), count, "{whom:?}");
        assert_eq!([whom[0], whom[whom.len() - 1]], *ends);
        let said = &stopped[0].1;
        let expected = format!(
            "Halted halted for {scope} by watch at 2026-11-18 12:00Z: Nodes: \"NotReady\" # x \
             6 failed and 1 degraded of 36 known outcomes (41 attempts). At most 1 in 1,000 good releases looks so bad."
        );
        assert_eq!(*said, expected);
    }
}

#[test]
fn each_scope_has_a_file_of_its_own() {
    let paths: Vec<String> = scopes()
        .iter()
        .map(|scope| data::halt_path(&version("4.20.2"), scope))
        .collect();
    assert_eq!(
        paths,
        [
            "blocked-edges/4.20.2-halted.yaml",
            "blocked-edges/4.20.2-halted-from-4.19.yaml",
            "blocked-edges/4.20.2-halted-on-AWS.yaml",
            "blocked-edges/4.20.2-halted-with-arm64.yaml",
            "blocked-edges/4.20.2-halted-from-4.20-on-AWS-with-amd64.yaml",
        ]
    );
}

#[test]
fn a_halt_that_says_something_else_than_its_block_is_refused() {
    let good = "to: 4.20.2\nfrom: ^4[.]19[.]\nhalt:\n  by: alice\n  at: 2026-11-18T12:00:00Z\n  scope: {from: \"4.19\"}\n";
    assert!(read(good, "1.1.0").is_ok());
    for (from, to) in [
        ("from: ^4[.]19[.]", "from: ^4[.]18[.]"),
        (
            "from: ^4[.]19[.]",
            "from: ^4[.]19[.]\nclusters: {platforms: [AWS]}",
        ),
        ("  by: alice\n", ""),
        ("by: alice", "by: 5"),
        ("at: 2026", "at: soon"),
        ("{from: \"4.19\"}", "{from: \"4\"}"),
        ("{from: \"4.19\"}", "{minor: \"4.19\"}"),
        ("{from: \"4.19\"}", "{from: \"4.19\", platform: Nowhere}"),
        (
            "{from: \"4.19\"}",
            "{from: \"4.19\"}\n  evidence: {failed: 1}",
        ),
    ] {
        let file = good.replace(from, to);
        assert_ne!(file, good);
        assert!(read(&file, "1.1.0").is_err(), "{file}");
    }
}

#[test]
fn a_halt_stops_everybody_where_its_clusters_are_not_understood() {
    let scope = data::halt_scope(None, Some("AWS"), None).unwrap();
    let file = data::write_halt(&version("4.20.2"), &halt(scope), None, None);
    for (file, schema) in [
        (file.clone(), "1.0.0"),
        (format!("{file}whatever: 1\n"), "1.1.0"),
    ] {
        let (data, _) = read(&file, schema).unwrap();
        let block = &data.blocks[0];
        assert!(
            matches!(block.stops, Some(Audience::NotUnderstood(_))),
            "{:?}",
            block.stops
        );
    }
    let risk = format!(
        "{}matchingRules:\n- type: Always\n",
        data::write_halt(
            &version("4.20.2"),
            &halt(HaltScope::default()),
            None,
            Some("https://x/1")
        )
    );
    let (data, _) = read(&risk, "1.1.0").unwrap();
    assert_eq!(data.blocks[0].stops, Some(Audience::Everybody));
}

/// Of two hundred clusters on a release, how many are offered the fix now.
fn offered_the_fix(is_halted: bool, from: &str, now: &str) -> usize {
    let channel = "channels:\n- name: stable-4.20\n  phasedRollouts:\n  - duration: P10D\nversions:\n- name: 4.20.1\n  start: 2026-11-01T00:00Z\n- name: 4.20.2\n  start: 2026-11-16T00:00Z\n- name: 4.20.3\n  start: 2026-11-18T00:00Z\n  replaces: 4.20.2\n";
    let mut files = vec![
        SourceFile::new("version", &b"2.0.0"[..]),
        SourceFile::new("channels/stable-4.20.yaml", channel.as_bytes()),
    ];
    if is_halted {
        let text = data::write_halt(&version("4.20.2"), &halt(HaltScope::default()), None, None);
        let path = data::halt_path(&version("4.20.2"), &HaltScope::default());
        files.push(SourceFile::new(path, text.into_bytes()));
    }
    let (data, _) = data::read(&files).unwrap();
    let nodes: Vec<String> = ["4.20.1", "4.20.2", "4.20.3"]
        .iter()
        .map(|version| format!(r#"{{"version": "{version}", "payload": "{version}"}}"#))
        .collect();
    let text = format!(
        r#"{{"nodes": [{}], "edges": [[0, 1], [0, 2], [1, 2]]}}"#,
        nodes.join(",")
    );
    let (releases, _) = releases::read(&Place::file("r"), text.as_bytes()).unwrap();
    let (graph, _) = Graph::build(data, releases);
    let offered = (0..200).filter(|number| {
        let cluster = Cluster {
            id: ClusterId::new(&format!("cluster-{number}")).into(),
            ..Cluster::anonymous(ChannelName::new("stable-4.20").unwrap(), Arch::default())
        };
        let at = Situation {
            graph: &graph,
            cluster: &cluster,
            now: now.parse().unwrap(),
        };
        let to = version("4.20.3");
        let said = explain(&at, &version(from), Some(&to), &Minors::default(), &[]);
        said.candidates[0].verdict.is_offered()
    });
    offered.count()
}

#[test]
fn a_fix_reaches_those_who_were_hit_before_everybody_else() {
    let soon = "2026-11-18T00:01:00Z";
    assert_eq!(offered_the_fix(true, "4.20.2", soon), 200);
    assert_eq!(offered_the_fix(true, "4.20.1", soon), 0);
    // Nobody gets it before it has entered, and without a halt everybody waits for their turn.
    assert_eq!(offered_the_fix(true, "4.20.2", "2026-11-17T23:59:59Z"), 0);
    assert_eq!(offered_the_fix(false, "4.20.2", soon), 0);
    let later = offered_the_fix(true, "4.20.1", "2026-11-23T00:00:00Z");
    assert!((60..140).contains(&later), "{later}");
}
