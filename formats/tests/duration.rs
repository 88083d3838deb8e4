//! Files about durations: shapes, histories, and parameters, read strictly and within limits.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the finding")]

use expect_test::{Expect, expect};
use proptest::prelude::*;
use towpath_core::cluster::{ClusterId, Fact};
use towpath_core::duration::{
    Figure, Ground, MaxUnavailable, MinorStep, NodeGrowth, Origin, OriginKind, Parameters, Rollout,
    Spread, fit,
};
use towpath_core::feedback::Attempt;
use towpath_core::finding::{Finding, Place};
use towpath_core::version::Arch;
use towpath_formats::SourceFile;
use towpath_formats::cluster::shape;
use towpath_formats::duration::update_history::{self, Histories, HistoryOmission};
use towpath_formats::duration::{read_parameters, write_parameters};

fn lines(findings: &[Finding]) -> String {
    findings
        .iter()
        .map(|finding| format!("{finding}\n"))
        .collect()
}

fn wrong_shape(text: &str, expected: Expect) {
    expected.assert_eq(&lines(
        &shape::read(&Place::file("shape.yaml"), text.as_bytes()).unwrap_err(),
    ));
}

fn histories(text: &str) -> Histories {
    update_history::read(
        &[SourceFile {
            path: "cv.yaml".to_owned(),
            bytes: text.as_bytes().into(),
        }],
        &[],
    )
}

#[test]
fn a_shape_is_read() {
    let text = "
on: metal
controlPlane: {nodes: 5, on: cloud}
pools:
  - name: worker
    nodes: 40
    maxUnavailable: 10%
    drain: {low: 5m, likely: 10m, high: 1h}
  - {name: infra, nodes: 3, maxUnavailable: 2, paused: true, on: cloud, reboot: 90s}
daemonSets:
  - {name: ovnkube-node, maxUnavailable: 10%, nodes: 43}
  - {name: node-ca}
";
    let shape = shape::read(&Place::file("shape.yaml"), text.as_bytes()).unwrap();
    assert_eq!(
        (
            shape.control_plane.nodes,
            shape.control_plane.machines.ground
        ),
        (5, Ground::Cloud)
    );
    let [worker, infra] = &shape.pools[..] else {
        panic!("two pools")
    };
    assert_eq!(
        (worker.machines.ground, worker.max_unavailable),
        (Ground::Metal, MaxUnavailable::Percent(10))
    );
    assert_eq!(worker.machines.drain, Some(Spread::new(300, 600, 3_600)));
    assert_eq!(
        (infra.rollout, infra.machines.reboot),
        (Rollout::Paused, Some(Spread::exactly(90)))
    );
    let sets = shape.daemon_sets.as_ref().unwrap();
    assert_eq!(
        (sets[0].nodes, sets[1].nodes, sets[1].max_unavailable),
        (Some(43), None, MaxUnavailable::Count(1))
    );
    assert_eq!(shape.nodes(), 48);
}

#[test]
fn json_is_a_shape_too() {
    let text = r#"{"pools": [{"name": "worker", "nodes": 7, "maxUnavailable": "50%"}]}"#;
    let shape = shape::read(&Place::file("shape.json"), text.as_bytes()).unwrap();
    assert_eq!(
        (
            shape.control_plane.nodes,
            shape.pools[0].at_once(),
            shape.daemon_sets
        ),
        (3, 3, None)
    );
}

#[test]
fn every_problem_of_a_shape_has_its_place() {
    wrong_shape(
        "on: mars
controlPlane: {nodes: 0}
pools:
  - {name: worker, nodes: 40, maxUnavailable: 0}
  - {name: worker, nodes: 40, maxUnavailable: 101%}
  - {nodes: many, drain: 10}
  - {name: slow, nodes: 1, drain: {low: 5m, likely: 4m, high: 6m}, ready: soon, reboot: 40d}
  - {name: odd, nodes: 1, color: blue, paused: 'yes'}
",
        expect![[r#"
            shape.yaml:1:5: nodes are on "cloud" or on "metal", and not on "mars"; write one of them
            shape.yaml:2:23: nodes is a whole number, and this is the number 0; write a number from 1 to 100
            shape.yaml:4:47: the number 0 is not a number of nodes that may be away at once; write a number from 1 on, or a share from 1% to 100%
            shape.yaml:5:5: there are two pools "worker"; give each a name of its own
            shape.yaml:5:47: "101%" is not a number of nodes that may be away at once; write a number from 1 on, or a share from 1% to 100%
            shape.yaml:6:5: a pool has no `name`; give it one: `name: worker`
            shape.yaml:6:13: nodes is a whole number, and this is "many"; write a number from 0 to 20000
            shape.yaml:6:26: drain is the number 10, which is no duration; write it as in 90s, 15m or 1h 30m, up to 31 days
            shape.yaml:7:35: drain: low, likely and high are not in this order; put them in order
            shape.yaml:7:75: ready is "soon", which is no duration; write it as in 90s, 15m or 1h 30m, up to 31 days
            shape.yaml:7:89: reboot is "40d", which is no duration; write it as in 90s, 15m or 1h 30m, up to 31 days
            shape.yaml:8:27: a pool has no field "color"; correct its name, or remove it
            shape.yaml:8:48: paused is true or false, and this is "yes"; write `true` or `false`, without quotes
        "#]],
    );
    wrong_shape(
        "pools:\n  - {name: worker, nodes: 40, maxUnavailable: 0}\n",
        expect![[r#"
        shape.yaml:2:47: the number 0 is not a number of nodes that may be away at once; write a number from 1 on, or a share from 1% to 100%
    "#]],
    );
    wrong_shape(
        "- 3\n",
        expect![[r#"
        shape.yaml:1:1: a shape belongs here, and this is a list; write a mapping: `name: value`
    "#]],
    );
    wrong_shape(
        "",
        expect![[r#"
        shape.yaml: the file is empty; write it, or remove it
    "#]],
    );
}

/// A ClusterVersion with these entries: version, state, start and end on one day.
fn cluster_version(id: &str, entries: &[(&str, &str, &str, &str)]) -> String {
    let entry = |(version, state, start, end): &(&str, &str, &str, &str)| {
        let end = match *end {
            "" => "null".to_owned(),
            end => format!("\"2026-05-01T{end}:00Z\""),
        };
        format!(
            "  - {{state: {state}, startedTime: \"2026-05-01T{start}:00Z\", completionTime: {end}, version: \"{version}\"}}\n"
        )
    };
    let entries: String = entries.iter().map(entry).collect();
    format!(
        "apiVersion: config.openshift.io/v1\nkind: ClusterVersion\nspec: {{clusterID: {id}}}\nstatus:\n  history:\n{entries}"
    )
}

fn told(histories: &Histories) -> String {
    let mut text: String = histories
        .updates
        .iter()
        .map(|update| {
            format!(
                "{} {} to {} in {}s\n",
                update.cluster, update.from, update.to, update.seconds
            )
        })
        .collect();
    for (reason, count) in &histories.counts.left_out {
        text.push_str(&format!("left out: {count} {}\n", reason.noun(*count)));
    }
    text + &lines(&histories.findings)
}

#[test]
fn only_completed_updates_that_follow_a_completed_one_count() {
    let text = cluster_version(
        "a",
        &[
            ("4.16.2", "Partial", "20:00", ""),
            ("4.16.1", "Completed", "18:00", "19:30"),
            ("4.15.9", "Completed", "16:00", "17:00"),
            ("4.15.8", "Partial", "14:00", "14:30"),
            ("4.15.7", "Completed", "12:00", "13:00"),
            ("4.15.8", "Completed", "10:00", "11:00"),
            ("4.15.8", "Completed", "09:00", "09:10"),
            ("4.14.1", "Completed", "08:00", "08:30"),
        ],
    );
    expect![[r#"
        a 4.14.1 to 4.15.8 in 600s
        a 4.15.9 to 4.16.1 in 5400s
        left out: 1 installation
        left out: 2 unfinished updates
        left out: 1 update that began in the middle of another
        left out: 2 ways back or to the same release
    "#]]
    .assert_eq(&told(&histories(&text)));
}

#[test]
fn lists_documents_and_other_objects() {
    let one = cluster_version(
        "a",
        &[
            ("4.16.1", "Completed", "18:00", "19:30"),
            ("4.15.9", "Completed", "16:00", "17:00"),
        ],
    );
    let two = one.replace("clusterID: a", "clusterID: b");
    let json = r#"{"kind": "List", "items": [{"kind": "Node"}, {"kind": "ClusterVersion", "spec": {"clusterID": "c"},
        "status": {"history": [
          {"state": "Completed", "startedTime": "2026-05-02T10:00:00Z", "completionTime": "2026-05-02T11:00:00Z", "version": "4.16.2"},
          {"state": "Completed", "startedTime": "2026-05-01T10:00:00Z", "completionTime": "2026-05-01T11:00:00Z", "version": "4.16.1"}]}}]}"#;
    let file = |path: &str, text: &str| SourceFile {
        path: path.to_owned(),
        bytes: text.as_bytes().into(),
    };
    let documents = format!("---\n{one}---\nkind: Node\n--- # another\n{two}");
    let all = update_history::read(
        &[
            file("a.yaml", &documents),
            file("b.json", json),
            file("c.yaml", &one),
        ],
        &[],
    );
    assert_eq!((all.counts.cluster_versions, all.updates.len()), (4, 3));
    assert_eq!(
        all.counts.left_out[&HistoryOmission::Again],
        1,
        "a cluster that is there twice counts once"
    );
    assert!(all.findings.is_empty(), "{:?}", all.findings);
}

#[test]
fn what_a_store_has_seen_counts_once_and_files_come_first() {
    let file = cluster_version(
        "a",
        &[
            ("4.16.1", "Completed", "18:00", "19:30"),
            ("4.15.9", "Completed", "16:00", "17:00"),
        ],
    );
    let at = |hour: &str| format!("2026-05-02T{hour}:00Z").parse().unwrap();
    let attempt = |cluster: &str, [from, to]: [&str; 2], completed: Option<&str>| Attempt {
        cluster: ClusterId::new(cluster).unwrap(),
        organisation: "acme".into(),
        from: from.parse().unwrap(),
        to: to.parse().unwrap(),
        platform: Fact::Unknown,
        arch: Arch::default(),
        started_at: at("10:00"),
        completed_at: completed.map(at),
        ending: None,
    };
    let up = ["4.15.9", "4.16.1"];
    let attempts = [
        attempt("a", up, Some("11:00")),
        attempt("b", up, Some("11:15")),
        attempt("c", up, None),
        attempt("d", ["4.16.1", "4.15.9"], Some("11:00")),
        attempt("e", up, Some("09:00")),
    ];
    let files = [SourceFile::new("a.yaml", file.as_bytes())];
    let all = update_history::read(&files, &attempts);
    let updates: Vec<(&str, u64)> = all
        .updates
        .iter()
        .map(|update| (&*update.cluster, update.seconds))
        .collect();
    assert_eq!(updates, [("a", 90 * 60), ("b", 75 * 60)]);
    assert_eq!((all.counts.cluster_versions, all.counts.attempts), (1, 5));
    let left_out = [
        (HistoryOmission::Installation, 1),
        (HistoryOmission::Unfinished, 1),
        (HistoryOmission::NotForward, 1),
        (HistoryOmission::Again, 1),
        (HistoryOmission::Unreadable, 1),
    ];
    assert_eq!(all.counts.left_out, left_out.into());
}

#[test]
fn what_cannot_be_read_is_told_with_its_place() {
    let good = cluster_version(
        "a",
        &[
            ("4.16.1", "Completed", "18:00", "19:30"),
            ("4.15.9", "Completed", "16:00", "17:00"),
        ],
    );
    let bad = good
        .replace("18:00", "25:00")
        .replace("clusterID: a", "clusterID: b");
    let backwards = good
        .replace("19:30", "17:30")
        .replace("clusterID: a", "clusterID: c");
    expect![[r#"
        a 4.15.9 to 4.16.1 in 5400s
        left out: 3 installations
        left out: 2 unreadable entries
        cv.yaml:14:5: an entry of the history cannot be read: "2026-05-01T25:00:00Z" is not an RFC 3339 date-time, or there is no such day; there is nothing to do; it is left out
        cv.yaml:22:5: an entry of the history cannot be read: -1800 seconds is not a possible time for an update; there is nothing to do; it is left out
    "#]].assert_eq(&told(&histories(&format!("{good}---\n{bad}---\n{backwards}"))));
    expect![[r#"
        cv.yaml:1:7: unclosed bracket '['; correct the file
    "#]]
    .assert_eq(&told(&histories("kind: [\n")));
}

#[test]
fn parameters_come_back_as_they_were_written() {
    let mut parameters = Parameters::usual();
    let figure = |seconds: u64| Figure {
        spread: Spread::new(seconds, seconds + 59, seconds * 3),
        origin: Origin::new(OriginKind::Fitted, "12 \"completed\" updates: a\\b"),
    };
    parameters.steps.insert(
        MinorStep {
            from: (4, 9),
            to: (4, 10),
        },
        figure(3_000),
    );
    parameters.pairs.insert(
        ("4.9.1".parse().unwrap(), "4.10.0-rc.1".parse().unwrap()),
        figure(90_061),
    );
    parameters.growth = Some(NodeGrowth {
        permille: 412,
        up_to: 250,
        origin: Origin::new(OriginKind::Fitted, "60 completed updates"),
    });
    let text = write_parameters(&parameters);
    assert_eq!(
        read_parameters(&Place::file("p.yaml"), text.as_bytes()),
        Ok(parameters),
        "{text}"
    );
}

/// The nodes of a must-gather belong to its ClusterVersion, and those of a folder to the only one in it.
#[test]
fn the_nodes_beside_a_cluster_version_are_counted() {
    let history = |id: &str| {
        let updates = [
            ("4.16.1", "Completed", "18:00", "19:30"),
            ("4.15.9", "Completed", "16:00", "17:00"),
        ];
        cluster_version(id, &updates)
    };
    let node = |name: &str| format!("kind: Node\nmetadata: {{name: {name}}}\n");
    let file = |path: &str, text: &str| SourceFile::new(path, text.as_bytes());
    let gathered = "mg/quay/cluster-scoped-resources";
    let said = history("d").replacen(
        "spec: ",
        "metadata: {annotations: {towpath.dev/nodes: '250'}}\nspec: ",
        1,
    );
    let files = [
        file(
            &format!("{gathered}/config.openshift.io/clusterversions/version.yaml"),
            &history("a"),
        ),
        file(&format!("{gathered}/core/nodes/n1.yaml"), &node("n1")),
        file(&format!("{gathered}/core/nodes/n2.yaml"), &node("n2")),
        file(
            "both/b.yaml",
            &format!("{}---\n{}", history("b"), node("n1")),
        ),
        file("both/c.yaml", &history("c")),
        file("d/d.yaml", &said),
        file(
            "d/e.yaml",
            &history("e").replacen(
                "spec: ",
                "metadata: {annotations: {towpath.dev/nodes: many}}\nspec: ",
                1,
            ),
        ),
    ];
    let all = update_history::read(&files, &[]);
    let nodes: Vec<(&str, Option<u32>)> = all
        .updates
        .iter()
        .map(|update| (&*update.cluster, update.nodes))
        .collect();
    let expected = [
        ("a", Some(2)),
        ("b", Some(1)),
        ("c", None),
        ("d", Some(250)),
        ("e", None),
    ];
    assert_eq!(nodes, expected);
    expect![[r#"
        d/e.yaml:1:1: the annotation towpath.dev/nodes is "many", and not a number of nodes from 1 to 20000; write it as in towpath.dev/nodes: "250"
    "#]].assert_eq(&lines(&all.findings));
}

/// A must-gather has the operators beside the history.
#[test]
fn operators_that_came_to_rest_in_the_newest_update_are_told() {
    let history = |state: &str| {
        let updates = [
            ("4.16.1", state, "18:00", "19:30"),
            ("4.15.9", "Completed", "16:00", "17:00"),
        ];
        cluster_version("a", &updates)
    };
    let operator = |name: &str, status: &str, since: &str| {
        format!(
            "---\nkind: ClusterOperator\nmetadata: {{name: {name}}}\nstatus: {{conditions: [{{type: Progressing, status: '{status}', lastTransitionTime: '2026-05-01T{since}:00Z'}}]}}\n"
        )
    };
    let operators = [
        operator("etcd", "False", "18:09"),
        operator("etcd-again", "True", "18:10"),
        operator("marketplace", "False", "16:30"),
        operator("machine-config", "False", "19:30"),
        operator("console", "False", "19:31"),
    ]
    .concat();
    let rests = |state: &str| -> Vec<(String, u64, u64)> {
        let read = histories(&format!("{}{operators}", history(state)));
        let rests = read.rests.into_iter();
        rests
            .map(|rest| (rest.operator, rest.after, rest.of))
            .collect()
    };
    let expected = [
        ("etcd".to_owned(), 540, 5_400),
        ("machine-config".to_owned(), 5_400, 5_400),
    ];
    assert_eq!(rests("Completed"), expected);
    assert_eq!(rests("Partial"), [], "nobody knows when it will end");
}

#[test]
fn what_parameters_leave_out_is_as_usual() {
    let read = read_parameters(&Place::file("p.yaml"), b"nodes: {cloud: {drain: 20m}}\n").unwrap();
    let usual = Parameters::usual();
    assert_eq!(read.cloud.drain.spread, Spread::exactly(1_200));
    assert_eq!(
        (read.cloud.reboot, read.patch, read.wave),
        (usual.cloud.reboot, usual.patch, usual.wave)
    );
}

#[test]
fn every_problem_of_parameters_has_its_place() {
    let text = "controlPlane:
  patch: {low: 1h, likely: 30m, high: 2h}
  steps:
    - {from: 4.10, to: '4.11', low: 1h, likely: 1h, high: 2h}
    - {from: '4.10', to: '4.11', low: 1h, likely: 1h, high: 2h}
    - {from: '4.10', to: '4.11', low: 1h, likely: 1h, high: 2h}
    - {from: 'four', to: '4.11', low: 1h, likely: 1h, high: 2h}
    - {from: '4.10', to: '4.12', low: 1h, high: 2h}
wave: {r0: 9s, r1: -1s, beta: 1.5}
daemonSet: {maxUnavailable: 10%, origin: {kind: gossip}}
";
    let findings = read_parameters(&Place::file("p.yaml"), text.as_bytes()).unwrap_err();
    expect![[r#"
        p.yaml:2:10: patch: low, likely and high are not in this order; put them in order
        p.yaml:4:14: a minor version is a text, and this is the number 4.1; put it in quotes
        p.yaml:6:7: there are two figures with these ends; keep one of them
        p.yaml:7:14: "four" is no minor version; write it as in "4.16"
        p.yaml:8:7: a figure has no `likely`; give low, likely and high
        p.yaml:9:20: r1 is "-1s", which is no duration; write it as in 90s, 15m or 1h 30m, up to 31 days
        p.yaml:9:31: beta is a number from 0 to 1; write it as in 0.5
        p.yaml:10:49: "gossip" is not a kind of origin; write docs, measured, fitted or assumed
    "#]]
    .assert_eq(&lines(&findings));
}

proptest! {
    #[test]
    fn whatever_is_read_nothing_panics(text in "[a-zA-Z0-9:{}\\[\\]\\-, \n\"'%&*]{0,200}") {
        let place = Place::file("f");
        let _ = shape::read(&place, text.as_bytes());
        let _ = read_parameters(&place, text.as_bytes());
        let read = histories(&text);
        prop_assert!(fit(&read.updates, &Parameters::usual()).groups.len() <= 3 * read.updates.len());
    }

    #[test]
    fn a_history_with_one_line_lost_is_read_or_told(line in 0..8_usize) {
        let text = cluster_version("a", &[("4.16.1", "Completed", "18:00", "19:30"), ("4.15.9", "Completed", "16:00", "17:00")]);
        let kept: Vec<&str> = text.lines().enumerate().filter(|(at, _)| *at != line).map(|(_, line)| line).collect();
        let read = histories(&kept.join("\n"));
        prop_assert!(read.updates.len() <= 1);
    }
}
