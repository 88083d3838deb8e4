//! A cluster's objects: how files are read, and what becomes of what is missing or wrong.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the finding")]

use expect_test::{Expect, expect};
use proptest::prelude::*;
use towpath_core::agent::OptIn;
use towpath_core::cluster::Fact;
use towpath_core::cluster::objects::{Facts, Objection, Progress};
use towpath_core::finding::Finding;
use towpath_formats::SourceFile;
use towpath_formats::cluster::objects::{self, ClusterObjects, Kind};

const NODE: &str = "kind: Node\nmetadata: {name: w1, labels: {node-role.kubernetes.io/worker: \"\"}}\nstatus: {nodeInfo: {kubeletVersion: v1.29.6+aba1e8d}}\n";
const POOL: &str = "kind: MachineConfigPool\nmetadata: {name: worker}\nspec: {paused: true, nodeSelector: {matchLabels: {node-role.kubernetes.io/worker: \"\"}}}\n";

#[test]
fn documents_lists_and_json_are_the_same() {
    let one = |path: &str, text: &str| read(&[(path, text)]).unwrap().facts;
    let documents = one("a.yaml", &format!("# two\n---\n{NODE}---\n{POOL}"));
    let indented = |text: &str| text.replace('\n', "\n  ").trim_end().to_owned();
    let list = one(
        "a.yaml",
        &format!(
            "kind: List\nitems:\n- {}\n- {}\n",
            indented(NODE),
            indented(POOL)
        ),
    );
    let json = r#"{"kind": "List", "items": [
        {"kind": "Node", "metadata": {"name": "w1", "labels": {"node-role.kubernetes.io/worker": ""}}, "status": {"nodeInfo": {"kubeletVersion": "v1.29.6+aba1e8d"}}},
        {"kind": "MachineConfigPool", "metadata": {"name": "worker"}, "spec": {"paused": true, "nodeSelector": {"matchLabels": {"node-role.kubernetes.io/worker": ""}}}}]}"#;
    assert_eq!(documents, list);
    assert_eq!(documents, one("a.json", json));
    assert_eq!(
        documents,
        one(
            "a.yaml",
            &format!("--- # a node\n{NODE}---\t# its pool\n{POOL}")
        )
    );
    assert_eq!(
        documents,
        read(&[("nodes.yaml", NODE), ("pools/worker.yml", POOL)])
            .unwrap()
            .facts
    );
    let Fact::Known(nodes) = documents.nodes else {
        panic!("nodes were given")
    };
    assert_eq!(nodes[0].pool, Fact::Known("worker".into()));
}

#[test]
fn a_field_that_stands_there_twice_is_an_error() {
    let pool = "kind: MachineConfigPool\nmetadata: {name: worker}\nspec:\n  paused: true\n  paused: false\n";
    let json = r#"{"kind": "MachineConfigPool", "metadata": {"name": "worker"}, "spec": {"paused": true, "paused": false}}"#;
    check_findings(
        &[("a.yaml", pool)],
        expect![[r#"
        a.yaml:5:3: `paused` stands here twice: which of them is meant?; print the object again, with `oc get -o yaml`
    "#]],
    );
    check_findings(
        &[("b.json", json)],
        expect![[r#"
        b.json: `paused` stands here twice: which of them is meant?; print the object again, with `oc get -o yaml`
    "#]],
    );
}

#[test]
fn a_list_with_its_items_twice_is_an_error() {
    let indented = |text: &str| text.replace('\n', "\n  ").trim_end().to_owned();
    let list = format!(
        "kind: List\nitems:\n- {}\nitems:\n- {}\n",
        indented(NODE),
        indented(POOL)
    );
    check_findings(
        &[("a.yaml", &list)],
        expect![[r#"
        a.yaml:6:1: `items` stands here twice: which of them is meant?; print the object again, with `oc get -o yaml`
    "#]],
    );
    let json = r#"{"kind": "NodeList", "items": [], "metadata": {}, "items": [{"metadata": {"name": "w1", "name": "w2"}}]}"#;
    check_findings(
        &[("b.json", json)],
        expect![[r#"
        b.json: `items` stands here twice: which of them is meant?; print the object again, with `oc get -o yaml`
    "#]],
    );
    let once = json.replacen(r#""items": [], "#, "", 1);
    check_findings(
        &[("c.json", &once)],
        expect![[r#"
        c.json: `name` stands here twice: which of them is meant?; print the object again, with `oc get -o yaml`
    "#]],
    );
}

#[test]
fn how_a_cluster_stands() {
    let version = r#"{"kind": "ClusterVersion", "metadata": {"name": "version", "annotations": {"towpath.dev/automatic-updates": "true"}},
        "spec": {"desiredUpdate": {"version": "4.20.1", "image": "r@sha256:1"}},
        "status": {
            "desired": {"version": "4.20.1", "image": "r@sha256:1"},
            "history": [{"state": "Completed", "version": "4.20.1", "startedTime": "2026-11-06T10:00:00Z", "completionTime": "2026-11-06T11:00:00Z"}],
            "conditions": [{"type": "Progressing", "status": "False", "lastTransitionTime": "2026-11-06T11:00:00Z"}],
            "availableUpdates": [{"version": "4.20.2", "image": "r@sha256:2"}, {"version": "4.20.3", "image": "r@sha256:3"}],
            "conditionalUpdates": [
                {"release": {"version": "4.20.3", "image": "r@sha256:3"}, "conditions": [{"type": "Recommended", "status": "False", "reason": "SlowStart", "message": "it applies"}]},
                {"release": {"version": "4.20.4", "image": "r@sha256:4"}, "conditions": [{"type": "Recommended", "status": "True"}]},
                {"release": {"version": "4.20.5", "image": "r@sha256:5"}}]}}"#;
    let standing = read(&[("a.json", version)]).unwrap().standing;
    assert_eq!(standing.opt_in, OptIn::Wanted);
    assert_eq!(standing.current().unwrap().to_string(), "4.20.1");
    assert_eq!(
        standing.last_completed().unwrap().to_string(),
        "2026-11-06T11:00:00Z"
    );
    assert_eq!(standing.open_request(), None);
    assert_eq!(standing.conditions.len(), 1);
    let offers: Vec<_> = standing
        .offers
        .iter()
        .map(|offer| format!("{} {:?}", offer.version, offer.advice))
        .collect();
    let expected = [
        "4.20.2 Recommended",
        r#"4.20.3 NotRecommended { reason: "SlowStart", message: "it applies" }"#,
        "4.20.4 Recommended",
        r#"4.20.5 NotKnown { reason: "NotEvaluated", message: "its risks have not been weighed" }"#,
    ];
    assert_eq!(offers, expected);
}

/// A cluster behind the gates names risks once, and says whether each applies. One without lists them with the update.
#[test]
fn risks_that_apply_are_named_with_and_without_the_gates() {
    let recommended = |status: &str| {
        format!(
            r#""conditions": [{{"type": "Recommended", "status": "{status}", "reason": "R", "message": "m"}}]"#
        )
    };
    let (not, unknown, yes) = (
        recommended("False"),
        recommended("Unknown"),
        recommended("True"),
    );
    let applies = |name: &str, status: &str| {
        format!(
            r#"{{"name": "{name}", "message": "m", "conditions": [{{"type": "Applies", "status": "{status}", "reason": "R"}}]}}"#
        )
    };
    let risks = [
        applies("A", "True"),
        applies("B", "False"),
        applies("C", "Unknown"),
        r#"{"name": "D"}"#.to_owned(),
    ]
    .join(",");
    let version = format!(
        r#"{{"kind": "ClusterVersion", "metadata": {{"name": "version", "generation": 3}},
        "spec": {{"desiredUpdate": {{"acceptRisks": [{{"name": "A"}}, {{"name": "Z"}}]}}}},
        "status": {{"observedGeneration": 3, "conditionalUpdateRisks": [{risks}], "conditionalUpdates": [
            {{"release": {{"version": "4.20.2", "image": "r@2"}}, "riskNames": ["A", "B", "C", "D", "E"], {not}}},
            {{"release": {{"version": "4.20.3", "image": "r@3"}}, "risks": [{{"name": "A"}}, {{"name": "B"}}], {unknown}}},
            {{"release": {{"version": "4.20.4", "image": "r@4"}}, {not}}},
            {{"release": {{"version": "4.20.5", "image": "r@5"}}, "riskNames": ["B"], {yes}}}]}}}}"#
    );
    let standing = read(&[("a.json", &version)]).unwrap().standing;
    let named = |names: &std::collections::BTreeSet<std::sync::Arc<str>>| {
        names
            .iter()
            .map(|name| name.to_string())
            .collect::<Vec<_>>()
            .join(" ")
    };
    let offers: Vec<String> = standing
        .offers
        .iter()
        .map(|offer| format!("{}: {}", offer.version, named(&offer.risks)))
        .collect();
    // What nobody says anything about may apply. Without names there is nothing that could be accepted.
    assert_eq!(
        offers,
        ["4.20.2: A C D E", "4.20.3: A B", "4.20.4: ", "4.20.5: "]
    );
    assert_eq!(named(&standing.accepted_risks), "A Z");
    assert!(standing.is_observed);
    assert_eq!(standing.open_request(), None);
}

#[test]
fn a_preflight_is_no_request_to_update_and_another_mode_may_be_one() {
    let asked = |update: &str| {
        let version = format!(
            r#"{{"kind": "ClusterVersion", "metadata": {{"name": "version", "generation": 2}},
            "spec": {{"desiredUpdate": {update}}}, "status": {{"observedGeneration": 1}}}}"#
        );
        let standing = read(&[("a.json", &version)]).unwrap().standing;
        let version =
            |target: Option<&towpath_core::agent::UpdateTarget>| target.map(ToString::to_string);
        assert!(!standing.is_observed);
        (
            version(standing.open_request()),
            version(standing.preflight.as_ref()),
        )
    };
    let some = Some("4.21.0".to_owned());
    assert_eq!(asked(r#"{"version": "4.21.0"}"#), (some.clone(), None));
    assert_eq!(
        asked(r#"{"version": "4.21.0", "mode": "Preflight"}"#),
        (None, some.clone())
    );
    assert_eq!(
        asked(r#"{"version": "4.21.0", "mode": "Shadow"}"#),
        (some, None)
    );
}

#[test]
fn an_offer_that_is_none_is_left_out_and_told() {
    let version = "kind: ClusterVersion\nmetadata: {name: version}\nstatus:\n  availableUpdates:\n  - {version: oops, image: a}\n  - {version: 4.20.2}\n";
    let file = SourceFile {
        path: "a.yaml".into(),
        bytes: version.as_bytes().into(),
    };
    let (objects, warnings) = objects::read(&[file], "2022-08-01T08:30Z".parse().unwrap()).unwrap();
    let told: Vec<_> = warnings
        .iter()
        .map(|warning| (warning.code, warning.place.line))
        .collect();
    assert_eq!(
        (objects.standing.offers, told),
        (vec![], vec![("bad-offer", 5), ("bad-offer", 6)])
    );
}

#[test]
fn the_property_counts_before_the_annotation_and_nothing_is_no() {
    let opt_in = |spec: &str, annotation: &str| {
        let text = format!(
            "kind: ClusterVersion\nmetadata: {{name: version, annotations: {{towpath.dev/automatic-updates: {annotation}}}}}\nspec: {spec}\n"
        );
        read(&[("a.yaml", &text)]).unwrap().standing.opt_in
    };
    for (spec, annotation, expected) in [
        ("{}", "'true'", OptIn::Wanted),
        ("{}", "'false'", OptIn::NotWanted),
        ("{}", "'True'", OptIn::NotWanted),
        ("{automaticUpdates: true}", "'false'", OptIn::Wanted),
        ("{automaticUpdates: false}", "'true'", OptIn::NotWanted),
        ("{automaticUpdates: 'true'}", "'true'", OptIn::NotWanted),
    ] {
        assert_eq!(opt_in(spec, annotation), expected, "{spec} {annotation}");
    }
    let silent = read(&[(
        "a.yaml",
        "kind: ClusterVersion\nmetadata: {name: version}\n",
    )])
    .unwrap();
    assert_eq!(silent.standing.opt_in, OptIn::NotWanted);
}

#[test]
fn what_was_not_given_is_unknown() {
    let mut objects = read(&[("a.yaml", "kind: Secret\nmetadata: {name: p}\n")]).unwrap();
    // The table of gates is there without any object.
    objects.facts.health.known_gates.clear();
    assert_eq!((objects.facts, objects.ignored), (Facts::default(), 1));
}

#[test]
fn an_empty_list_is_known_by_its_kind_or_its_file() {
    let operators = |path: &str, text: &str| read(&[(path, text)]).unwrap().facts.operators;
    assert_eq!(
        operators("a.yaml", "kind: List\nitems: []\n"),
        Fact::Unknown
    );
    assert_eq!(
        operators("csv.yaml", "kind: List\nitems: []\n"),
        Fact::Known(vec![])
    );
    assert_eq!(
        operators("a.yaml", "kind: ClusterServiceVersionList\nitems: []\n"),
        Fact::Known(vec![])
    );
    assert_eq!(
        operators("nodes.yaml", "kind: List\nitems: []\n"),
        Fact::Unknown
    );
}

#[test]
fn history_counts_back_to_the_last_that_completed() {
    let version = "kind: ClusterVersion\nmetadata: {name: version}\nstatus:\n  history:\n  - {state: Partial, version: 4.7.9}\n  - {state: Partial, version: 4.7.5}\n  - {state: Completed, version: 4.6.8}\n  - {state: Completed, version: ''}\n";
    let Fact::Known(history) = read(&[("a.yaml", version)]).unwrap().facts.history else {
        panic!("it was given")
    };
    let told: Vec<_> = history
        .iter()
        .map(|entry| (entry.version.to_string(), entry.progress))
        .collect();
    let expected = [
        ("4.7.9", Progress::Partial),
        ("4.7.5", Progress::Partial),
        ("4.6.8", Progress::Completed),
    ];
    assert_eq!(
        told,
        expected.map(|(version, progress)| (version.to_owned(), progress))
    );
}

#[test]
fn an_api_may_name_the_openshift_that_removes_it() {
    for (said, meant) in [("1.22", 22), ("4.9", 22), ("4.16", 29)] {
        let object = format!(
            "kind: APIRequestCount\nmetadata: {{name: a.v1beta1.g}}\nstatus: {{removedInRelease: '{said}'}}\n"
        );
        let facts = read(&[("a.yaml", &object)]).unwrap().facts;
        let removed = facts.apis.known().unwrap()[0].removed_in.unwrap();
        assert_eq!((removed.major, removed.minor), (1, meant), "{said}");
    }
}

#[test]
fn what_is_broken_is_told_and_unknown_is_not_fine() {
    let version = "kind: ClusterVersion\nmetadata: {name: version}\nstatus:\n  conditions:\n  - {type: Failing, status: 'True', reason: Stuck, message: M}\n";
    let operator = "kind: ClusterOperator\nmetadata: {name: etcd}\nstatus:\n  conditions:\n  - {type: Degraded, status: Unknown}\n  - {type: Available, status: 'False', reason: Gone, message: M}\n";
    let facts = read(&[("cv.yaml", version), ("co.yaml", operator)])
        .unwrap()
        .facts;
    let told = |fact: &Fact<Vec<Objection>>| match fact {
        Fact::Known(failures) => failures
            .iter()
            .map(|one| format!("{}: {}", one.by, one.reason))
            .collect(),
        Fact::Unknown => vec!["unknown".to_owned()],
    };
    assert_eq!(told(&facts.failures), ["ClusterVersion is failing: Stuck"]);
    assert_eq!(
        told(&facts.operator_failures),
        [
            "ClusterOperator etcd is degraded: Unknown",
            "ClusterOperator etcd is not available: Gone"
        ]
    );
    let well = operator
        .replace("Unknown", "'False'")
        .replace("'False', reason: Gone", "'True', reason: Gone");
    let facts = read(&[("co.yaml", &well)]).unwrap().facts;
    assert_eq!(
        (told(&facts.failures), told(&facts.operator_failures)),
        (vec!["unknown".to_owned()], vec![])
    );
}

#[test]
fn a_cluster_version_need_not_repeat_its_operators() {
    let version = |message: &str| {
        format!(
            "kind: ClusterVersion\nmetadata: {{name: version}}\nstatus:\n  conditions:\n  - {{type: Upgradeable, status: 'False', reason: R, message: '{message}'}}\n"
        )
    };
    let operator = |status: &str| {
        format!(
            "kind: ClusterOperator\nmetadata: {{name: etcd}}\nstatus:\n  conditions:\n  - {{type: Upgradeable, status: '{status}', reason: Busy, message: M}}\n"
        )
    };
    let objections = |files: &[(&str, &str)]| {
        let facts = read(files).unwrap().facts;
        let told = [facts.objections, facts.operator_objections]
            .into_iter()
            .flat_map(|objections| match objections {
                Fact::Known(objections) => objections
                    .iter()
                    .map(|one| format!("{}: {}", one.by, one.reason))
                    .collect(),
                Fact::Unknown => vec!["unknown".to_owned()],
            });
        told.collect::<Vec<_>>()
    };
    let repeating = version("Cluster operator etcd should not be upgraded: Busy");
    let (no, unsure, yes) = (operator("False"), operator("Unknown"), operator("True"));
    assert_eq!(
        objections(&[("cv.yaml", &repeating)]),
        ["ClusterVersion: R", "unknown"]
    );
    assert_eq!(
        objections(&[("cv.yaml", &repeating), ("co.yaml", &no)]),
        ["ClusterOperator etcd: Busy"]
    );
    assert_eq!(
        objections(&[("cv.yaml", &repeating), ("co.yaml", &yes)]),
        ["ClusterVersion: R"]
    );
    let own = version("An administrator has to acknowledge");
    let both = ["ClusterVersion: R", "ClusterOperator etcd: Unknown Busy"];
    assert_eq!(objections(&[("cv.yaml", &own), ("co.yaml", &unsure)]), both);
    assert_eq!(
        objections(&[("co.yaml", &no)]),
        ["unknown", "ClusterOperator etcd: Busy"]
    );
}

#[test]
fn a_node_belongs_to_master_then_to_its_own_pool_then_to_worker() {
    let pool = |name: &str| {
        format!(
            "---\nkind: MachineConfigPool\nmetadata: {{name: {name}}}\nspec: {{nodeSelector: {{matchLabels: {{role/{name}: ''}}}}}}\n"
        )
    };
    let pools = ["worker", "infra", "master"].map(pool).concat();
    let of = |labels: &str, more: &str| {
        let node =
            format!("kind: Node\nmetadata: {{name: n, labels: {{{labels}}}}}\n{pools}{more}");
        let Fact::Known(nodes) = read(&[("a.yaml", &node)]).unwrap().facts.nodes else {
            panic!("it was given")
        };
        match &nodes[0].pool {
            Fact::Known(pool) => pool.to_string(),
            Fact::Unknown => "unknown".to_owned(),
        }
    };
    assert_eq!(of("role/worker: '', role/master: ''", ""), "master");
    assert_eq!(of("role/worker: '', role/infra: ''", ""), "infra");
    assert_eq!(of("role/worker: ''", ""), "worker");
    assert_eq!(of("os: windows", ""), "unknown");
    let clever = "---\nkind: MachineConfigPool\nmetadata: {name: clever}\nspec: {nodeSelector: {matchExpressions: [{key: a, operator: Exists}]}}\n";
    assert_eq!(of("role/worker: ''", clever), "unknown");
}

#[test]
fn an_operators_limits_are_minor_versions() {
    for (properties, expected) in [
        (r#"[]"#, "any"),
        (
            r#"[{"type":"olm.package","value":{"packageName":"a"}}]"#,
            "any",
        ),
        (
            r#"[{"type":"olm.maxOpenShiftVersion","value":"4.10"}]"#,
            "openshift to 4.10",
        ),
        (
            r#"[{"type":"olm.maxOpenShiftVersion","value":4.10}]"#,
            "openshift to 4.10",
        ),
        (
            r#"[{"type":"olm.maxOpenShiftVersion","value":"4.9.0"}]"#,
            "openshift to 4.9",
        ),
        (
            r#"[{"type":"olm.maxOpenShiftVersion","value":" v4.9"}]"#,
            "openshift to 4.9",
        ),
        (
            r#"[{"type":"olm.maxOpenShiftVersion","value":"4"}]"#,
            "openshift to 4.0",
        ),
        (
            r#"[{"type":"olm.maxOpenShiftVersion","value":"4.9.0.0"}]"#,
            "olm.maxOpenShiftVersion is \"4.9.0.0\", which is no minor version",
        ),
        (
            r#"[{"type":"towpath.minOpenShiftVersion","value":"4.6"}]"#,
            "openshift from 4.6",
        ),
        (
            r#"[{"type":"towpath.minKubeVersion","value":"1.19"},{"type":"towpath.maxKubeVersion","value":"1.22"}]"#,
            "kubernetes from 1.19 to 1.22",
        ),
        (
            r#"[{"type":"olm.maxKubeVersion","value":"1.25"},{"type":"towpath.maxKubeVersion","value":"1.27"}]"#,
            "kubernetes to 1.25",
        ),
        (
            r#"[{"type":"olm.maxOpenShiftVersion","value":"4.10.3"}]"#,
            "olm.maxOpenShiftVersion is \"4.10.3\", which is no minor version",
        ),
        (
            r#"[{"type":"olm.maxOpenShiftVersion"}]"#,
            "olm.maxOpenShiftVersion is , which is no minor version",
        ),
        (
            r#"[{"type":"olm.maxOpenShiftVersion","value":"4.9"},{"type":"olm.maxOpenShiftVersion","value":"4.9"}]"#,
            "olm.maxOpenShiftVersion twice",
        ),
        (
            r#"{"type":1}"#,
            "something in olm.properties that cannot be read",
        ),
    ] {
        let told = limits_told(serde_json::json!({ "olm.properties": properties }));
        assert_eq!(told, expected, "{properties}");
    }
}

/// OLM reads `operatorframework.io/properties` and nothing else, so an operator that only has that one has its limits too.
#[test]
fn the_annotation_that_olm_reads_counts_as_well() {
    let max = |minor: &str| format!(r#"[{{"type":"olm.maxOpenShiftVersion","value":"{minor}"}}]"#);
    let projected = |minor: &str| format!(r#"{{"properties":{}}}"#, max(minor));
    let told = |of_olm: &str, of_author: &str| {
        limits_told(
            serde_json::json!({"operatorframework.io/properties": of_olm, "olm.properties": of_author}),
        )
    };
    assert_eq!(
        limits_told(serde_json::json!({"operatorframework.io/properties": projected("4.9")})),
        "openshift to 4.9"
    );
    assert_eq!(told(&projected("4.9"), &max("4.9")), "openshift to 4.9");
    assert_eq!(told(&projected("4.9"), &max("4.10")), "openshift to 4.9");
    assert_eq!(told(&projected("4.10"), &max("4.9")), "openshift to 4.9");
    assert_eq!(told("{}", "[]"), "any");
    assert_eq!(
        told("{\"properties\":1}", "[]"),
        "something in operatorframework.io/properties that cannot be read"
    );
}

/// What an operator with such annotations allows.
fn limits_told(annotations: serde_json::Value) -> String {
    let object = serde_json::json!({"kind": "ClusterServiceVersion",
        "metadata": {"name": "a.v1", "namespace": "a", "annotations": annotations}});
    let Fact::Known(operators) = read(&[("a.json", &object.to_string())])
        .unwrap()
        .facts
        .operators
    else {
        panic!("it was given")
    };
    let range = |of: &str, range: towpath_core::cluster::objects::Range| {
        let end = |word: &str, minor: Option<_>| {
            minor.map(|minor: towpath_core::version::Minor| format!(" {word} {minor}"))
        };
        let ends: String = end("from", range.min)
            .into_iter()
            .chain(end("to", range.max))
            .collect();
        (!ends.is_empty()).then(|| format!("{of}{ends}"))
    };
    let operator = &operators[0];
    let told = range("openshift", operator.openshift)
        .into_iter()
        .chain(range("kubernetes", operator.kubernetes));
    let told: Vec<String> = told
        .chain(operator.problems.iter().map(ToString::to_string))
        .collect();
    if told.is_empty() {
        "any".to_owned()
    } else {
        told.join(", ")
    }
}

#[test]
fn copies_of_an_operator_are_left_out() {
    let copy = |namespace: &str, label: &str| {
        format!(
            "---\nkind: ClusterServiceVersion\nmetadata: {{name: mesh.v2, namespace: {namespace}, labels: {{{label}}}}}\n"
        )
    };
    let all =
        copy("a", "olm.copiedFrom: mesh") + &copy("mesh", "") + &copy("b", "olm.copiedFrom: mesh");
    let Fact::Known(operators) = read(&[("a.yaml", &all)]).unwrap().facts.operators else {
        panic!("it was given")
    };
    let namespaces: Vec<&str> = operators
        .iter()
        .map(|operator| &*operator.namespace)
        .collect();
    assert_eq!(namespaces, ["mesh"]);
}

/// At 08:30 the hour from 8 is today's, the one from 9 yesterday's.
#[test]
fn the_hours_of_the_last_day_find_their_dates() {
    let hour = |hour: usize| {
        let mut hours = vec!["{}".to_owned(); 24];
        hours[hour] = "{requestCount: 5, byNode: [{requestCount: 5, byUser: [{username: ada, userAgent: curl, requestCount: 3}]}]}".into();
        let text = format!(
            "kind: APIRequestCount\nmetadata: {{name: ingresses.v1beta1.extensions}}\nstatus:\n  requestCount: 5\n  last24h: [{}]\n",
            hours.join(", ")
        );
        let Fact::Known(apis) = read(&[("a.yaml", &text)]).unwrap().facts.apis else {
            panic!("it was given")
        };
        let user = &apis[0].users[0];
        assert_eq!(
            (apis[0].api.to_string().as_str(), apis[0].unnamed_requests),
            ("ingresses.v1beta1.extensions", 2)
        );
        format!("{user}")
    };
    assert_eq!(
        hour(8),
        "ada (curl), 3 requests in a day, last in the hour from 2022-08-01 08:00Z"
    );
    assert_eq!(
        hour(0),
        "ada (curl), 3 requests in a day, last in the hour from 2022-08-01 00:00Z"
    );
    assert_eq!(
        hour(9),
        "ada (curl), 3 requests in a day, last in the hour from 2022-07-31 09:00Z"
    );
}

#[test]
fn what_is_wrong_fails_the_load_with_its_place() {
    check_findings(
        &[("a.yaml", NODE), ("b.yaml", NODE)],
        expect![[r#"
        b.yaml:1:1: Node w1 is given twice, first at a.yaml:1:1; give the objects of one cluster, each once
    "#]],
    );
    check_findings(
        &[("a.yaml", "a: 1\n")],
        expect![[r#"
        a.yaml:1:1: this is not an object of a cluster: it has no `kind`; remove it, or give the object whole
    "#]],
    );
    check_findings(
        &[(
            "a.yaml",
            "kind: Secret\n---\nkind: Node\nmetadata: {name: n}\nstatus: {nodeInfo: {kubeletVersion: new}}\n",
        )],
        expect![[r#"
            a.yaml:5:37: "new" is not a kubelet's version; print the object again, with `oc get -o yaml`
        "#]],
    );
    check_findings(
        &[("a.yaml", "kind: Node\n---\nkind: Node\n  x: y: z\n")],
        expect![[r#"
        a.yaml:4:4: mapping values are not allowed in this context; correct the file
    "#]],
    );
    check_findings(
        &[("a.json", "{\"kind\":")],
        expect![[r#"
        a.json:1:8: the file is cut short; write it again
    "#]],
    );
    check_findings(
        &[(
            "a.yaml",
            "kind: ClusterVersion\nmetadata: {name: version}\nstatus:\n  history:\n  - {state: Done, version: 4.6.8}\n",
        )],
        expect![[r#"
            a.yaml:5:5: an update of the history is Completed or Partial, and not "Done"; print the object again, with `oc get -o yaml`
        "#]],
    );
    check_findings(
        &[(
            "a.yaml",
            "kind: APIRequestCount\nmetadata: {name: pods.v1}\nstatus: {removedInRelease: 1.20, requestCount: -1}\n",
        )],
        expect![[r#"
            a.yaml:3:28: `removedInRelease` is a text, and this is the number 1.2; put it in quotes
            a.yaml:3:48: a number of requests belongs here, and this is the number -1; print the object again, with `oc get -o yaml`
        "#]],
    );
}

#[test]
fn files_that_may_hold_objects() {
    for (path, expected) in [
        ("a.yaml", true),
        ("a/b.json", true),
        ("a/", true),
        ("a.txt", false),
        (".git/", false),
    ] {
        assert_eq!(objects::is_part(path), expected, "{path}");
    }
}

proptest! {
    #[test]
    fn nothing_panics(text in any::<Vec<u8>>(), words in proptest::collection::vec(word(), 0..40)) {
        for bytes in [text, words.concat().into_bytes()] {
            let file = |path: &str| SourceFile { path: path.into(), bytes: bytes.clone().into() };
            for path in ["a.yaml", "csv.json"] {
                let read = || objects::read(&[file(path)], "2022-08-01T08:30Z".parse().unwrap());
                prop_assert_eq!(read(), read());
                if let Err(findings) = read() {
                    prop_assert!(findings.iter().any(Finding::is_error));
                }
            }
        }
    }
}

fn word() -> impl Strategy<Value = String> {
    let words = [
        "kind: ",
        "Node",
        "List",
        "items",
        ":\n",
        "\n",
        "- ",
        "  ",
        "---\n",
        "metadata: {name: a}\n",
        "status:\n",
        "[",
        "]",
        "{",
        "}",
        "\"",
        "last24h",
        "history",
        "ClusterVersion",
        "APIRequestCount",
        "ClusterServiceVersion",
        "requestCount: 1",
        ", ",
        "1",
        "~",
    ];
    proptest::sample::select(words.to_vec()).prop_map(str::to_owned)
}

fn read(files: &[(&str, &str)]) -> Result<ClusterObjects, Vec<Finding>> {
    let files: Vec<SourceFile> = files
        .iter()
        .map(|(path, text)| SourceFile {
            path: (*path).to_owned(),
            bytes: text.as_bytes().into(),
        })
        .collect();
    objects::read(&files, "2022-08-01T08:30Z".parse().unwrap()).map(|(objects, findings)| {
        assert_eq!(findings, vec![]);
        objects
    })
}

fn check_findings(files: &[(&str, &str)], expected: Expect) {
    let findings = read(files).unwrap_err();
    expected.assert_eq(
        &findings
            .iter()
            .map(|finding| format!("{finding}\n"))
            .collect::<String>(),
    );
}

#[test]
fn objects_are_counted_by_kind() {
    let objects = read(&[("a.yaml", NODE), ("b.yaml", POOL)]).unwrap();
    assert_eq!(
        objects.counts.into_iter().collect::<Vec<_>>(),
        [(Kind::Node, 1), (Kind::MachineConfigPool, 1)]
    );
}

#[test]
fn the_lowest_kubernetes_of_an_operator_is_read() {
    let told = |lowest: &str| {
        let object = serde_json::json!({"kind": "ClusterServiceVersion",
            "metadata": {"name": "a.v1", "namespace": "a"}, "spec": {"minKubeVersion": lowest}});
        let facts = read(&[("a.json", &object.to_string())]).unwrap().facts;
        let operator = facts.operators.known().unwrap()[0].clone();
        let min = operator.kubernetes.min.map(|min| min.to_string());
        min.or_else(|| operator.problems.first().map(ToString::to_string))
    };
    assert_eq!(told("1.16.3").as_deref(), Some("1.16"));
    assert_eq!(told("v1.27").as_deref(), Some("1.27"));
    assert_eq!(told(""), None);
    assert_eq!(
        told("next").as_deref(),
        Some("minKubeVersion is \"next\", which is no version")
    );
}

#[test]
fn the_oldest_part_of_a_node_counts_and_parts_that_differ_are_told() {
    let told = |kubelet: &str, runtime: &str, system: &str| {
        let object = serde_json::json!({"kind": "Node", "metadata": {"name": "w1"},
            "status": {"nodeInfo": {"kubeletVersion": kubelet, "containerRuntimeVersion": runtime, "osImage": system}}});
        let file = SourceFile::new("a.json", object.to_string().into_bytes());
        let (objects, warnings) =
            objects::read(&[file], "2026-11-16T12:00Z".parse().unwrap()).unwrap();
        let kubelet = objects.facts.nodes.known().unwrap()[0]
            .kubelet
            .known()
            .unwrap()
            .to_string();
        let parts = warnings
            .iter()
            .filter(|warning| warning.code == "node-parts-differ")
            .count();
        (kubelet, parts)
    };
    let kubelet = "v1.29.6+aba1e8d";
    let system = "Red Hat Enterprise Linux CoreOS 416.94.202407251849-0";
    for (runtime, system, expected) in [
        (
            "cri-o://1.29.6-5.rhaos4.16.git940ae8b.el9",
            system,
            ("1.29", 0),
        ),
        ("cri-o://1.28.2-3.rhaos4.15", system, ("1.28", 1)),
        (
            "cri-o://1.29.6",
            "Red Hat Enterprise Linux CoreOS 414.92.202310210434-0 (Plow)",
            ("1.27", 1),
        ),
        (
            "cri-o://1.29.6",
            "Red Hat Enterprise Linux CoreOS 9.6.20250523-0 (Plow)",
            ("1.29", 0),
        ),
        ("containerd://2.0.1", "Ubuntu 24.04", ("1.29", 0)),
        (
            "cri-o://1.29.6",
            "Fedora CoreOS 41.20241122.3.0",
            ("1.29", 0),
        ),
    ] {
        let expected = (expected.0.to_owned(), expected.1);
        assert_eq!(
            told(kubelet, runtime, system),
            expected,
            "{runtime} {system}"
        );
    }
}
