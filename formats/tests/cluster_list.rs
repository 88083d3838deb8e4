//! Lists of clusters, in JSON and YAML, and policies in labels.

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use jiff::Timestamp;
use towpath_core::cluster::Fact;
use towpath_core::finding::{Finding, Place};
use towpath_core::fleet::VersionGate;
use towpath_formats::SourceFile;
use towpath_formats::fleet::cluster_list::{self, ClusterList, labels};
use towpath_formats::fleet::policy;

const LIST: &str = r#"{
 "organisations": [{"id": "o", "name": "one"}],
 "clusters": [
  {"id": "2", "name": "b", "organisation": "o", "version": "4.12.1", "channel": "stable-4.12", "arch": "arm64",
   "platform": "AWS", "healthy": false, "unhealthyReason": "etcd", "lastSeen": "2026-05-11T00:00:00Z",
   "versionSince": "2026-05-01T00:00:00Z", "hostedControlPlane": true, "sts": true,
   "nodePools": [{"id": "n", "version": "4.12.0"}], "acknowledgedGates": ["g"], "labels": {"tier": "dev"}},
  {"id": "1", "organisation": "o", "version": "4.12.1", "availableUpgrades": ["4.13.2", "4.12.2"]}],
 "versionGates": [{"id": "g", "versionPrefix": "4.13", "label": "api.openshift.com/gate-ocp"}],
 "upgrades": [{"cluster": "1", "to": "4.12.2", "state": "scheduled", "startAt": "2026-05-12T02:00Z"}],
 "inherited": {"o": {"version": "4.12.0", "ofWorkload": {"web": "4.12.1"}}},
 "soak": [{"organisation": "o", "workload": "web", "version": "4.12.1", "days": 1.5}]
}
"#;

#[test]
fn a_good_list() {
    let (list, findings) = read(LIST);
    assert_eq!(findings, vec![]);
    let ids: Vec<&str> = list
        .clusters
        .iter()
        .map(|cluster| cluster.id.as_str())
        .collect();
    assert_eq!(ids, ["1", "2"], "by organisation and id");
    let [one, two] = &list.clusters[..] else {
        panic!("two clusters")
    };
    assert_eq!(
        (&*one.name, one.last_seen, one.version_since),
        ("1", now(), now())
    );
    let offers: Vec<String> = one
        .offers
        .iter()
        .map(|offer| offer.version.to_string())
        .collect();
    assert_eq!(offers, ["4.12.2", "4.13.2"]);
    assert!(
        !two.health.is_healthy()
            && two.sts == Fact::Known(true)
            && two.acknowledged_gates.contains("g")
    );
    assert_eq!(
        (&two.wif, &one.sts),
        (&Fact::Unknown, &Fact::Unknown),
        "what is not said is not known"
    );
    assert_eq!(
        list.upgrades[0].start_at.to_string(),
        "2026-05-12T02:00:00Z"
    );
    assert_eq!(list.soak[0].seconds, 129_600);
    assert_eq!(list.inherited["o"].of_workload["web"].to_string(), "4.12.1");
    assert_eq!(list.origins[1].to_string(), "list:4:3");
}

#[test]
fn the_same_in_yaml_and_as_a_bare_list() {
    let yaml = "clusters:\n- {id: x, organisation: o, version: 4.12.1}\nsoak:\n- {organisation: o, workload: w, version: 4.12.1, days: 2}\n";
    let (list, findings) = read(yaml);
    assert_eq!(
        (findings, list.clusters.len(), list.soak[0].seconds),
        (vec![], 1, 172_800)
    );
    let bare = r#" [{"id": "x", "organisation": "o", "version": "4.12.1"}]"#;
    assert_eq!(read(bare).0.clusters, list.clusters);
    assert_eq!(
        read("- {id: x, organisation: o, version: 4.12.1}")
            .0
            .clusters,
        list.clusters
    );
}

#[test]
fn what_is_wrong_is_left_out() {
    check_edits(
        &[
            (r#""id": "2", "#, ""),
            (
                r#""version": "4.12.1", "channel""#,
                r#""version": "4.12", "channel""#,
            ),
            (r#""healthy": false"#, r#""healthy": "no""#),
            (r#""channel": "stable-4.12""#, r#""channel": "Stable 4.12""#),
            (r#""platform": "AWS""#, r#""platform": "A W S""#),
            (
                r#""lastSeen": "2026-05-11T00:00:00Z""#,
                r#""lastSeen": "yesterday""#,
            ),
            (r#"{"tier": "dev"}"#, r#"{"tier": 1}"#),
            (r#"{"id": "1""#, r#"{"id": "2""#),
            (r#"["4.13.2", "4.12.2"]"#, r#"["4.13.2", "4.12"]"#),
            (r#""cluster": "1""#, r#""cluster": "7""#),
            (r#""to": "4.12.2""#, r#""to": "soon""#),
            (r#""state": "scheduled""#, r#""state": "odd""#),
            (r#""days": 1.5"#, r#""days": -1"#),
            (r#""versionPrefix": "4.13", "#, ""),
            (r#""soak": ["#, r#""soak": 1, "saok": ["#),
            ("\n}", ""),
            (LIST, "hello"),
            (LIST, ""),
        ],
        expect![[r#"
            "id": "2", => (nothing)
                [missing-field] list:4:3: a cluster has no `id`; add `id`
                clusters [1], 1 upgrades
            "version": "4.12.1", "channel" => "version": "4.12", "channel"
                [bad-version] list:4:3: "4.12" is not a version: a release has three numbers, as in 4.12.3; write it as in 4.16.3
                clusters [1], 1 upgrades
            "healthy": false => "healthy": "no"
                [wrong-kind] list:4:3: healthy is true or false, and this is "no"; write `true` or `false`, without quotes
                clusters [1], 1 upgrades
            "channel": "stable-4.12" => "channel": "Stable 4.12"
                [bad-name] list:4:3: "Stable 4.12" cannot be a channel's name; use lower-case letters, digits, `-` and `.`
                clusters [1], 1 upgrades
            "platform": "AWS" => "platform": "A W S"
                [bad-name] list:4:3: "A W S" cannot be a platform's name; use letters, digits, `.`, `_` and `-`
                clusters [1], 1 upgrades
            "lastSeen": "2026-05-11T00:00:00Z" => "lastSeen": "yesterday"
                [bad-time] list:4:3: "yesterday" is not an RFC 3339 date-time, or there is no such day; write it as in 2026-05-12T00:00:00Z
                clusters [1], 1 upgrades
            {"tier": "dev"} => {"tier": 1}
                [wrong-kind] list:4:3: the value of a label is a text, and this is the number 1; put it in quotes
                clusters [1], 1 upgrades
            {"id": "1" => {"id": "2"
                [duplicate-cluster] list:8:3: cluster 2 stands here and at list:4:3; keep one of them; the first counts
                [unknown-cluster] warning: list:10:15: there is an upgrade of cluster 1, which is not in the list; add the cluster
                clusters [2], 0 upgrades
            ["4.13.2", "4.12.2"] => ["4.13.2", "4.12"]
                [bad-version] warning: list:8:3: "4.12" is not a version: a release has three numbers, as in 4.12.3; it is not offered; write it as in 4.16.3
                clusters [1, 2], 1 upgrades
            "cluster": "1" => "cluster": "7"
                [unknown-cluster] warning: list:10:15: there is an upgrade of cluster 7, which is not in the list; add the cluster
                clusters [1, 2], 0 upgrades
            "to": "4.12.2" => "to": "soon"
                [bad-version] list:10:15: "soon" is not a version: a release has three numbers, as in 4.20.3; write it as in 4.16.3
                clusters [1, 2], 1 upgrades
            "state": "scheduled" => "state": "odd"
                [unknown-state] warning: list:10:15: "odd" is not a state of an upgrade; it counts as started; write planned, started, finished, failed or cancelled
                clusters [1, 2], 1 upgrades
            "days": 1.5 => "days": -1
                [bad-number] list:12:11: the number -1 is not a number of days; write it as in 1.5
                clusters [1, 2], 1 upgrades
            "versionPrefix": "4.13", => (nothing)
                [missing-field] list:9:19: a gate has no `versionPrefix`; add it; until then the gate stands before every minor version
                clusters [1, 2], 1 upgrades
            "soak": [ => "soak": 1, "saok": [
                [wrong-kind] list: `soak` is a list, and this is something else; write the list again from its source
                [unknown-field] warning: list: a list of clusters has no part "saok"; it is ignored; correct its name, or remove it
                clusters [1, 2], 1 upgrades
            } => (nothing)
                [bad-json] list:13: the file is cut short; write it again
                clusters [], 0 upgrades
            (all) => hello
                [wrong-kind] list: this is not a list of clusters; write `clusters:` with a list
                clusters [], 0 upgrades
            (all) => (nothing)
                [bad-yaml] list: the file is empty; write it, or remove it
                clusters [], 0 upgrades
        "#]],
    );
}

#[test]
fn policies_in_labels() {
    let list = |extra: &str| {
        format!(
            "organisations:
- id: p
  labels:
    sre-capabilities.aus.blocked-versions: ^.*-rc\\..*$, ^4\\.13\\.0$
    sre-capabilities.aus.sector-deps.prod: stage
    sre-capabilities.aus.sector-max-parallel-upgrades.prod: 50%
    sre-capabilities.aus.version-data.inherit: q
- {{id: q, labels: {{sre-capabilities.aus.version-data.publish: p}}}}
clusters:
- id: '1'
  name: stage-1
  organisation: p
  version: 4.12.1
  labels:
    sre-capabilities.aus.workloads: web, batch
    sre-capabilities.aus.schedule: 0 10 * * 1-5
    sre-capabilities.aus.soak-days: '0'
    sre-capabilities.aus.sector: stage
- id: '2'
  name: prod-1
  organisation: p
  version: 4.12.1
  labels:
    sre-capabilities.aus.workloads: web
    sre-capabilities.aus.schedule: 0 10 * * 1-5
    sre-capabilities.aus.soak-days: '3'
    sre-capabilities.aus.mutexes: m1,m2
    sre-capabilities.aus.sector: prod
{extra}"
        )
    };
    let with = |extra: &str, files: &[SourceFile]| {
        let (list, findings) = read(&list(extra));
        assert_eq!(findings, vec![]);
        let mut read = policy::read(files);
        let findings = labels::policies(&list, &mut read);
        (read.policy, findings)
    };
    let (policy, findings) = with("", &[]);
    assert_eq!(findings, vec![]);
    let organisation = &policy.organisations["p"];
    assert_eq!(organisation.blocked_versions.len(), 2);
    assert!(organisation.inherits_from.contains("q"));
    assert_eq!(organisation.sectors["prod"].depends_on, ["stage".into()]);
    let prod = &organisation.clusters[0];
    assert_eq!(
        (
            &*prod.name,
            prod.policy.soak_days,
            prod.policy.mutexes.len()
        ),
        ("prod-1", Some(3), 2)
    );
    let prod_of_labels = prod.policy.clone();
    // Where there is a file too, the file counts; and what is wrong there holds back those with labels.
    let file = SourceFile {
        path: "p.yml".into(),
        bytes: ORGANISATION.as_bytes().into(),
    };
    let (policy, findings) = with("", &[file]);
    let organisation = &policy.organisations["p"];
    let names: Vec<(&str, bool)> = organisation
        .clusters
        .iter()
        .map(|entry| (&*entry.name, entry.problems.is_empty()))
        .collect();
    assert_eq!(names, [("prod-1", false), ("stage-1", false)]);
    assert_eq!(
        organisation.clusters[0].policy, prod_of_labels,
        "labels mean the same as files"
    );
    expect![[r#"
        it says
            [unknown-workload] list:10:3: there is no workload "batch" in this organisation; correct its name, or allow it; there are: web
            [two-policies] warning: list:2:3: organisation "p" has a policy in a file and in its labels; the file counts; remove one of them
            [one-sided-inheritance] warning: list:8:3: version data is published to "p", which does not say so too; it has no effect; add `inheritVersionData` with "q" there, or remove this
            [two-policies] warning: list:19:3: cluster "prod-1" has a policy in a file and in its labels; the file counts; remove one of them
    "#]].assert_eq(&format!("it says\n{}", said(&findings)));
    let bad = "- id: '3'
  organisation: p
  version: 4.12.1
  labels: {sre-capabilities.aus.workloads: '', sre-capabilities.aus.sector: prd, sre-capabilities.aus.soakdays: '1'}
- id: '4'
  organisation: new
  version: 4.12.1
  labels: {sre-capabilities.aus.workloads: w, sre-capabilities.aus.schedule: '* * * * *', sre-capabilities.aus.soak-days: '5'}
";
    let (policy, findings) = with(bad, &[]);
    assert_eq!(&*policy.organisations["new"].clusters[0].name, "4");
    let held: Vec<&str> = policy.organisations["p"]
        .clusters
        .iter()
        .filter(|c| !c.problems.is_empty())
        .map(|c| &*c.name)
        .collect();
    assert_eq!(held, ["3"]);
    expect![[r#"
        it says
            [missing-field] list:29:3: an upgrade policy has no `schedule`; add `schedule: "0 10 * * 1-5"`, or the like
            [missing-field] list:29:3: there are no workloads; name at least one: soak days count per workload
            [unknown-field] list:29:3: a cluster has no label "sre-capabilities.aus.soakdays"; correct its name, or remove it
            [unknown-sector] list:29:3: there is no sector "prd" in this organisation; correct its name, or declare it; there are: prod, stage
            [no-first-cluster] warning: list:33:3: workload "w" can never start: none of its clusters has soakDays 0; give one of its clusters `soakDays: 0`, so that the others have something to wait for
    "#]].assert_eq(&format!("it says\n{}", said(&findings)));
}

/// With a pattern that is none, which concerns everybody.
const ORGANISATION: &str = r"orgId: p
blockedVersions: ['[']
upgradePolicyAllowedWorkloads: [web]
sectors: [{name: stage}, {name: prod, maxParallelUpgrades: 50%, dependencies: [stage]}]
upgradePolicyClusters:
- name: prod-1
  upgradePolicy:
    workloads: [web]
    schedule: 0 10 * * 1-5
    conditions: {soakDays: 3, mutexes: [m1, m2], sector: prod}
";

/// Which gates a list with this part has: id, minor version that it stands before, label; and how many errors were found.
fn gates(part: &str) -> (Vec<(String, bool, String)>, usize) {
    let (list, findings) = read(&format!("{{\"clusters\": [], \"versionGates\": {part}}}"));
    let yaml = read(&format!("clusters: []\nversionGates: {part}\n"));
    assert_eq!(yaml.0.gates, list.gates, "JSON and YAML are read alike");
    let told = |gate: &VersionGate| {
        (
            gate.id.to_string(),
            gate.before().is_none(),
            gate.label.to_string(),
        )
    };
    let errors = findings.iter().filter(|finding| finding.is_error()).count();
    (list.gates.iter().map(told).collect(), errors)
}

#[test]
fn a_gate_that_is_not_understood_holds() {
    let ocp = "api.openshift.com/gate-ocp";
    let entry =
        |id: &str, prefix: &str, label: &str| gates(&format!("[{{{id}{prefix}{label} \"x\": 1}}]"));
    let (id, prefix) = ("\"id\": \"g\",", "\"versionPrefix\": \"4.21\",");
    let label = &*format!("\"label\": \"{ocp}\",");
    let one = |id: &str, before_all: bool, label: &str, errors: usize| {
        (vec![(id.to_owned(), before_all, label.to_owned())], errors)
    };
    assert_eq!(entry(id, prefix, label), one("g", false, ocp, 0));
    for no_label in ["", "\"label\": null,", "\"label\": \"\",", "\"label\": 7,"] {
        assert_eq!(
            entry(id, prefix, no_label),
            one("g", false, VersionGate::NO_LABEL, 1),
            "{no_label}"
        );
    }
    for no_prefix in ["", "\"versionPrefix\": \"\",", "\"versionPrefix\": 4.21,"] {
        assert_eq!(
            entry(id, no_prefix, label),
            one("g", true, ocp, 1),
            "{no_prefix}"
        );
    }
    for no_id in ["", "\"id\": \"\",", "\"id\": null,"] {
        assert_eq!(
            entry(no_id, prefix, label),
            one(VersionGate::NO_ID, false, ocp, 1),
            "{no_id}"
        );
    }
    for (part, errors) in [("[\"g\"]", 1), ("\"g\"", 2), ("{\"id\": \"g\"}", 2)] {
        assert_eq!(
            gates(part),
            one(VersionGate::NO_ID, true, VersionGate::NO_LABEL, errors),
            "{part}"
        );
    }
    assert_eq!(gates("null"), (vec![], 0));
    assert_eq!(
        read("{").0.gates,
        [VersionGate::of(None, None, None)],
        "no part of it was read"
    );
}

#[test]
fn a_hundred_thousand_clusters() {
    let mut text = "{\"clusters\": [".to_owned();
    for number in 0..100_000 {
        let comma = if number == 0 { "" } else { ",\n" };
        let _ = write!(
            text,
            r#"{comma}{{"id": "id-{number}", "name": "c-{number}", "organisation": "o-{}", "version": "4.12.{}",
            "channel": "stable-4.12", "availableUpgrades": ["4.12.30", "4.12.31", "4.13.1"], "labels": {{"tier": "dev"}}}}"#,
            number % 10,
            number % 30,
        );
    }
    text += "]}";
    let (list, findings) = read(&text);
    assert_eq!((list.clusters.len(), findings), (100_000, vec![]));
}

fn now() -> Timestamp {
    "2026-05-12T00:00:00Z".parse().expect("good")
}

fn read(text: &str) -> (ClusterList, Vec<Finding>) {
    cluster_list::read(&Place::file("list"), text.as_bytes(), now())
}

/// The good list with one edit each: what is said, and what is left.
fn check_edits(edits: &[(&str, &str)], expected: Expect) {
    let mut table = String::new();
    for (before, after) in edits {
        assert!(
            LIST.contains(before),
            "{before:?} does not stand in the good list"
        );
        let before_shown = if *before == LIST {
            "(all)"
        } else {
            before.trim()
        };
        let after_shown = if after.is_empty() { "(nothing)" } else { after };
        let _ = writeln!(table, "{before_shown} => {after_shown}");
        let (list, findings) = read(&LIST.replacen(before, after, 1));
        table += &said(&findings);
        let clusters: Vec<&str> = list
            .clusters
            .iter()
            .map(|cluster| cluster.id.as_str())
            .collect();
        let _ = writeln!(
            table,
            "    clusters [{}], {} upgrades",
            clusters.join(", "),
            list.upgrades.len()
        );
    }
    expected.assert_eq(&table);
}

fn said(findings: &[Finding]) -> String {
    let severity = |finding: &Finding| if finding.is_error() { "" } else { "warning: " };
    findings
        .iter()
        .map(|finding| format!("    [{}] {}{finding}\n", finding.code, severity(finding)))
        .collect()
}

#[test]
fn a_list_that_is_written_reads_as_it_was() {
    let (list, _) = read(LIST);
    let (again, findings) = read(&cluster_list::json(&list).to_string());
    assert_eq!(findings, vec![]);
    let placeless = |list: ClusterList| ClusterList {
        origins: Vec::new(),
        organisations: Vec::new(),
        ..list
    };
    assert_eq!(again.organisations.len(), list.organisations.len());
    assert_eq!(placeless(again), placeless(list));
}
