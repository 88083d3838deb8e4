//! Pools that reboot calmly, as a cluster prints them: who belongs to them, how far each node is, and what is written back.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the finding")]

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use towpath_core::duration::MaxUnavailable;
use towpath_core::nodes::run::{
    Cordon, NodeAct, NodeMark, NodeUpdate, RebootPace, RebootRecord, SetAside, no_pool_beside,
    undone,
};
use towpath_formats::nodes::run::{
    CONDITION, PoolObjects, PoolStatus, RebootPool, changed_conditions, is_ours, node_changes,
    pods_of, read_pool, read_record, waiting_since, written_record,
};

const WANTED: &str = "rendered-worker-2b";

fn pool(name: &str, selector: Value, configuration: &str) -> Value {
    json!({
        "metadata": {"name": name, "uid": "u", "resourceVersion": "7", "annotations": {"towpath.dev/reboots": "true"}},
        "spec": {"nodeSelector": selector, "configuration": {"name": configuration}, "maxUnavailable": "100%"},
    })
}

fn role(name: &str) -> Value {
    let label = format!("node-role.kubernetes.io/{name}");
    json!({"matchLabels": {label: ""}})
}

/// A node with these labels, at this configuration.
fn node(name: &str, labels: &[&str], current: &str) -> Value {
    let labels: BTreeMap<&str, &str> = labels.iter().map(|label| (*label, "")).collect();
    json!({
        "metadata": {
            "name": name, "resourceVersion": "9", "labels": labels, "creationTimestamp": "2026-01-01T00:00:00Z",
            "annotations": {
                "machineconfiguration.openshift.io/currentConfig": current,
                "machineconfiguration.openshift.io/desiredConfig": current,
                "machineconfiguration.openshift.io/state": "Done",
            },
        },
        "spec": {},
        "status": {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]},
    })
}

const WORKER: &str = "node-role.kubernetes.io/worker";
const HANDED: &str = "towpath.dev/reboot";

fn objects(nodes: Vec<Value>) -> PoolObjects {
    PoolObjects {
        pools: vec![
            pool("worker", role("worker"), WANTED),
            pool("master", role("master"), "rendered-master-1"),
            pool(
                "infra",
                json!({"matchExpressions": [{"key": "infra", "operator": "Exists"}]}),
                "rendered-infra-1",
            ),
            pool(
                "towpath-reboot",
                json!({"matchLabels": {HANDED: ""}}),
                "rendered-towpath-reboot-2b",
            ),
        ],
        nodes,
        budgets: Vec::new(),
    }
}

fn read(objects: &PoolObjects) -> RebootPool {
    read_pool(objects, "worker").unwrap()
}

#[test]
fn a_node_belongs_to_the_pool_that_the_operator_would_give_it_to() {
    let objects = objects(vec![
        node("plain", &[WORKER], "rendered-worker-1a"),
        node(
            "compact",
            &[WORKER, "node-role.kubernetes.io/master"],
            "rendered-master-1",
        ),
        node("infra", &[WORKER, "infra"], "rendered-infra-1"),
        node("handed", &[WORKER, HANDED], "rendered-worker-1a"),
        node("both", &[WORKER, HANDED, "infra"], "rendered-infra-1"),
        node("other", &[], "rendered-worker-1a"),
    ]);
    let pool = read(&objects);
    let names: Vec<&str> = pool.view.nodes.iter().map(|node| &*node.name).collect();
    assert_eq!(names, ["handed", "plain"]);
    assert_eq!(pool.view.blocked, None);
    assert!(pool.view.nodes[0].is_handed);
}

#[test]
fn nodes_go_by_zone_and_the_oldest_first_unless_somebody_says_otherwise() {
    let mut nodes = Vec::new();
    for (name, zone, created) in [
        ("a", "z2", "2026-01-01T00:00:00Z"),
        ("b", "z1", "2026-01-03T00:00:00Z"),
        ("c", "z1", "2026-01-02T00:00:00Z"),
        ("d", "z3", "2026-01-01T00:00:00Z"),
    ] {
        let mut node = node(name, &[WORKER], "rendered-worker-1a");
        node["metadata"]["labels"]["topology.kubernetes.io/zone"] = zone.into();
        node["metadata"]["creationTimestamp"] = created.into();
        nodes.push(node);
    }
    let mut objects = objects(nodes);
    let order = |objects: &PoolObjects| -> String {
        let pool = read(objects);
        pool.view.nodes.iter().map(|node| &*node.name).collect()
    };
    assert_eq!(order(&objects), "cbad");
    objects.pools[0]["metadata"]["annotations"]["towpath.dev/reboots-order"] = "d, a,gone".into();
    assert_eq!(order(&objects), "dacb");
}

#[test]
fn how_far_the_operator_is_with_a_node() {
    let update = |current: &str, desired: &str, state: &str| {
        let mut node = node("n", &[WORKER], current);
        let all = &mut node["metadata"]["annotations"];
        all["machineconfiguration.openshift.io/desiredConfig"] = desired.into();
        all["machineconfiguration.openshift.io/state"] = state.into();
        all["machineconfiguration.openshift.io/reason"] = "disk".into();
        read(&objects(vec![node])).view.nodes.remove(0).update
    };
    let (old, new, beside) = ("rendered-worker-1a", WANTED, "rendered-towpath-reboot-2b");
    assert_eq!(update(old, old, "Done"), NodeUpdate::Waiting);
    assert_eq!(update(old, beside, "Working"), NodeUpdate::Working);
    assert_eq!(update(old, beside, "Done"), NodeUpdate::Working);
    assert_eq!(update(beside, beside, "Done"), NodeUpdate::Done);
    // The operator gives it the other name, and nothing else changes.
    assert_eq!(update(beside, new, "Working"), NodeUpdate::Done);
    assert_eq!(
        update(old, beside, "Degraded"),
        NodeUpdate::Failed("disk".into())
    );
    assert_eq!(update("", "", ""), NodeUpdate::Working);
}

#[test]
fn a_cordon_is_ours_only_with_our_note_and_a_stale_note_goes() {
    let mut nodes = Vec::new();
    for (name, is_cordoned, has_note) in [
        ("mine", true, true),
        ("others", true, false),
        ("stale", false, true),
    ] {
        let mut node = node(name, &[WORKER], "rendered-worker-1a");
        if is_cordoned {
            node["spec"]["unschedulable"] = true.into();
        }
        if has_note {
            node["metadata"]["annotations"]["towpath.dev/cordoned-for"] = "worker".into();
        }
        nodes.push(node);
    }
    let pool = read(&objects(nodes));
    let cordons: Vec<Option<Cordon>> = pool.view.nodes.iter().map(|node| node.cordon).collect();
    assert_eq!(cordons, [Some(Cordon::Ours), Some(Cordon::Others), None]);
    let changes = node_changes(&pool, &[]);
    assert_eq!(changes.len(), 1);
    assert_eq!(
        (&*changes[0].0, &changes[0].1["metadata"]["annotations"]),
        ("stale", &json!({"towpath.dev/cordoned-for": null}))
    );
}

/// Taints of others stay, and what a step wants of a node is one write.
#[test]
fn a_node_is_written_to_once_over_what_was_read() {
    let mut one = node("n", &[WORKER], "rendered-worker-1a");
    let other = json!({"key": "gpu", "value": "x", "effect": "NoSchedule"});
    one["spec"]["taints"] = json!([other, {"key": HANDED, "effect": "PreferNoSchedule"}]);
    let pool = read(&objects(vec![one]));
    assert_eq!(pool.view.nodes[0].mark, NodeMark::Avoid);
    let name: towpath_core::fleet::Name = "n".into();
    let handed = node_changes(&pool, &[NodeAct::HandOver(name.clone())]);
    let expected = json!({
        "metadata": {
            "resourceVersion": "9", "annotations": {"towpath.dev/cordoned-for": null}, "labels": {HANDED: ""},
        },
        "spec": {"unschedulable": null, "taints": [other, {"key": HANDED, "effect": "NoSchedule"}]},
    });
    assert_eq!(handed, [(name.clone(), expected)]);
    let acts = [
        NodeAct::Mark(name.clone(), NodeMark::None),
        NodeAct::TakeBack(name.clone()),
        NodeAct::Pause(false),
    ];
    let back = node_changes(&pool, &acts);
    let expected = json!({
        "metadata": {"resourceVersion": "9", "labels": {HANDED: null}}, "spec": {"taints": [other]},
    });
    assert_eq!(back, [(name, expected)]);
}

#[test]
fn a_drain_moves_what_the_operator_would_move() {
    let pod = |name: &str, owner: &str, phase: &str| {
        json!({
            "metadata": {"name": name, "namespace": "shop", "uid": name, "labels": {"app": "db"}, "ownerReferences": [{"kind": owner}]},
            "status": {"phase": phase},
        })
    };
    let mut bare = pod("bare", "ReplicaSet", "Running");
    bare["metadata"]["ownerReferences"] = json!([]);
    let mut leaving = pod("leaving", "ReplicaSet", "Running");
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    let mut mirror = pod("mirror", "ReplicaSet", "Running");
    mirror["metadata"]["annotations"] = json!({"kubernetes.io/config.mirror": "x"});
    let pods = [
        pod("db", "ReplicaSet", "Running"),
        bare,
        leaving,
        mirror,
        pod("log", "DaemonSet", "Running"),
        pod("etcd", "Node", "Running"),
        pod("job", "Job", "Succeeded"),
    ];
    let mut objects = objects(Vec::new());
    objects.budgets = vec![json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "db", "namespace": "shop"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "db"}}},
        "status": {"observedGeneration": 1, "disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1},
    })];
    let pods = pods_of(&pods, &read(&objects).budgets);
    let told: Vec<(&str, bool, Option<&str>)> = pods
        .iter()
        .map(|one| (&*one.pod.name, one.pod.is_leaving, one.held_by.as_deref()))
        .collect();
    let held = Some("shop/db");
    assert_eq!(
        told,
        [
            ("db", false, held),
            ("bare", false, held),
            ("leaving", true, None)
        ]
    );
}

#[test]
fn a_pod_waits_since_the_scheduler_refused_it() {
    let pod = |reason: &str, node: &str| {
        json!({"spec": {"nodeName": node}, "status": {"conditions": [{
            "type": "PodScheduled", "status": "False", "reason": reason, "lastTransitionTime": "2026-01-01T00:00:00Z",
        }]}})
    };
    let since: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    let pods = [
        pod("Unschedulable", ""),
        pod("Unschedulable", "n"),
        pod("", ""),
        json!({}),
    ];
    assert_eq!(waiting_since(&pods), [since]);
}

#[test]
fn a_record_is_read_as_it_was_written() {
    let at: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    let why = no_pool_beside(&"worker".into(), "towpath.dev/reboot=", Some("pool.yaml"));
    let record = RebootRecord {
        to: WANTED.into(),
        started: at,
        was_paused: true,
        began: [("a".into(), at)].into(),
        refused: [("a".into(), at)].into(),
        handed: [("b".into(), at)].into(),
        set_aside: [(
            "c".into(),
            SetAside {
                until: at,
                times: 2,
                why: why.clone(),
            },
        )]
        .into(),
        stopped: Some(why),
    };
    assert_eq!(read_record(&written_record(&record)), Ok(record));
    for (wrong, expected) in [
        ("{", "EOF"),
        (
            r#"{"to":"x","started":"soon","wasPaused":true}"#,
            "\"soon\" is no time",
        ),
        (
            r#"{"to":"x","started":"2026-01-01T00:00:00Z","wasPaused":true,"more":1}"#,
            "unknown field",
        ),
        (
            r#"{"to":"x","started":"2026-01-01T00:00:00Z","wasPaused":true,"stopped":{"code":"Gone","facts":{}}}"#,
            "there is no reason \"Gone\"",
        ),
        (&" ".repeat(200_000), "longer than"),
    ] {
        let problem = read_record(wrong).unwrap_err();
        assert!(problem.contains(expected), "{problem}");
    }
}

#[test]
fn settings_are_read_and_the_limit_is_the_pools_own() {
    let mut objects = objects(Vec::new());
    objects.pools[0]["spec"]["maxUnavailable"] = 3.into();
    let own = &mut objects.pools[0]["metadata"]["annotations"];
    own["towpath.dev/reboots-pace"] = "30%/10m".into();
    own["towpath.dev/reboots-harden-after"] = "2".into();
    own["towpath.dev/reboots-back-within"] = "1h".into();
    let settings = read(&objects).settings;
    assert_eq!(settings.at_most_away, MaxUnavailable::Count(3));
    let pace = RebootPace {
        nodes: MaxUnavailable::Percent(30),
        within: SignedDuration::from_mins(10),
    };
    assert_eq!(settings.pace, Some(pace));
    assert_eq!(settings.harden_after, Some(2));
    assert_eq!(settings.back_within, SignedDuration::from_hours(1));
}

#[test]
fn two_pools_beside_one_are_one_too_many() {
    let mut objects = objects(Vec::new());
    assert!(is_ours(&objects.pools[0]) && !is_ours(&json!({})));
    let told = json!({"status": {"conditions": [{"type": CONDITION, "status": "False"}]}});
    assert!(is_ours(&told));
    assert!(read_pool(&objects, "gone").is_err());
    let second = pool(
        "second",
        json!({"matchLabels": {HANDED: ""}}),
        "rendered-second-2b",
    );
    objects.pools.push(second);
    let code = |objects: &PoolObjects| read(objects).view.blocked.unwrap().code().name;
    assert_eq!(code(&objects), "PoolBesideUnfit");
    objects.pools.truncate(3);
    assert_eq!(code(&objects), "PoolBesideMissing");
    objects.pools[0]["spec"]["configuration"] = Value::Null;
    assert_eq!(code(&objects), "PoolNotRendered");
}

#[test]
fn what_is_told_can_be_read_back() {
    let why = no_pool_beside(&"worker".into(), "towpath.dev/reboot=", Some("pool.yaml"));
    let status = PoolStatus::of(&why, std::slice::from_ref(&why));
    assert_eq!(PoolStatus::read(&status.written()), Some(status.clone()));
    assert!(status.tells("PoolBesideMissing") && !status.tells("RebootsDone"));
    assert_eq!(PoolStatus::read("x"), None);
}

/// A custom pool lets go of nodes that are handed over, and has a pool beside of its own.
fn with_infra(selector: Value, nodes: Vec<Value>) -> PoolObjects {
    let mut objects = objects(nodes);
    objects.pools[2]["spec"]["nodeSelector"] = selector;
    objects.pools[2]["spec"]["configuration"]["name"] = "rendered-infra-2b".into();
    let beside = json!({"matchLabels": {HANDED: "infra"}});
    objects.pools.push(pool(
        "towpath-reboot-infra",
        beside,
        "rendered-towpath-reboot-infra-2b",
    ));
    objects
}

#[test]
fn a_custom_pool_is_rebooted_if_it_lets_go_of_its_nodes() {
    let mut handed = node("handed", &[WORKER, "infra"], "rendered-infra-1a");
    handed["metadata"]["labels"][HANDED] = "infra".into();
    let nodes = vec![
        node("i1", &[WORKER, "infra"], "rendered-infra-1a"),
        handed,
        node("plain", &[WORKER], "rendered-worker-1a"),
        node(
            "compact",
            &[WORKER, "infra", "node-role.kubernetes.io/master"],
            "rendered-master-1",
        ),
    ];
    let lets_go = json!({
        "matchLabels": {"infra": ""}, "matchExpressions": [{"key": HANDED, "operator": "DoesNotExist"}],
    });
    let names = |pool: &RebootPool| -> Vec<String> {
        pool.view
            .nodes
            .iter()
            .map(|node| node.name.to_string())
            .collect()
    };
    let objects = with_infra(lets_go, nodes.clone());
    let infra = read_pool(&objects, "infra").unwrap();
    assert_eq!(names(&infra), ["handed", "i1"]);
    assert_eq!(infra.view.blocked, None);
    // Its nodes get its own name in our label, so that they go to the pool beside that has its configuration.
    let changes = node_changes(&infra, &[NodeAct::HandOver("i1".into())]);
    assert_eq!(changes[0].1["metadata"]["labels"], json!({HANDED: "infra"}));
    assert_eq!(names(&read(&objects)), ["plain"]);
    // As it usually is, it would keep them: the operator takes no node of two custom pools.
    let keeps = with_infra(json!({"matchLabels": {"infra": ""}}), nodes.clone());
    let infra = read_pool(&keeps, "infra").unwrap();
    let blocked = infra.view.blocked.unwrap();
    assert_eq!(blocked.code().name, "PoolKeepsItsNodes");
    let command = blocked.command().unwrap();
    assert!(
        command.contains("patch machineconfigpool infra"),
        "{command}"
    );
    assert!(
        command.contains(r#"-p '{"spec":{"nodeSelector":{"matchExpressions":[{"key":"towpath.dev/reboot","operator":"DoesNotExist"}]}}}'"#),
        "{command}"
    );
    // The pool beside `worker` does not do for it.
    let mut alone = with_infra(
        json!({"matchLabels": {"infra": ""}, "matchExpressions": [{"key": HANDED, "operator": "DoesNotExist"}]}),
        nodes,
    );
    alone.pools.pop();
    let blocked = read_pool(&alone, "infra").unwrap().view.blocked.unwrap();
    assert_eq!(
        (blocked.code().name, blocked.command()),
        ("PoolBesideMissing", None)
    );
    assert!(
        blocked.text().contains("towpath.dev/reboot=infra"),
        "{}",
        blocked.text()
    );
}

#[test]
fn the_control_plane_and_pools_beside_are_refused() {
    let objects = objects(Vec::new());
    for (name, expected) in [
        ("master", "control plane"),
        ("towpath-reboot", "handed over to this pool"),
    ] {
        let findings = read_pool(&objects, name).unwrap_err();
        assert!(findings[0].problem.contains(expected), "{findings:?}");
    }
}

#[test]
fn a_condition_says_how_far_a_run_is_and_is_written_only_when_it_is_new() {
    let now: Timestamp = "2026-01-02T03:04:05.6Z".parse().unwrap();
    let others = vec![json!({"type": "Updated", "status": "False", "reason": "", "message": ""})];
    let why = no_pool_beside(&"worker".into(), "towpath.dev/reboot=", Some("pool.yaml"));
    let under_way = PoolStatus {
        code: "RebootsUnderWay".into(),
        text: "1 of 3 nodes have it".into(),
        ..PoolStatus::of(&why, std::slice::from_ref(&why))
    };
    let all = changed_conditions(&others, Some(&under_way), now).unwrap();
    assert_eq!(all[0], others[0]);
    let ours = &all[1];
    assert_eq!(
        (&ours["type"], &ours["status"]),
        (&json!(CONDITION), &json!("True"))
    );
    assert_eq!(ours["reason"], "RebootsUnderWay");
    let message = ours["message"].as_str().unwrap();
    assert!(
        message.starts_with("1 of 3 nodes have it; PoolBesideMissing: there is no pool"),
        "{message}"
    );
    assert_eq!(ours["lastTransitionTime"], "2026-01-02T03:04:06Z");
    // The same again is not written; another text keeps its time, another status does not.
    let later: Timestamp = "2026-01-02T04:00:00Z".parse().unwrap();
    assert_eq!(changed_conditions(&all, Some(&under_way), later), None);
    let further = PoolStatus {
        text: "2 of 3".into(),
        ..under_way.clone()
    };
    let all = changed_conditions(&all, Some(&further), later).unwrap();
    assert_eq!(all[1]["lastTransitionTime"], "2026-01-02T03:04:06Z");
    let stopped = PoolStatus {
        code: "RebootsStopped".into(),
        ..under_way.clone()
    };
    let all = changed_conditions(&all, Some(&stopped), later).unwrap();
    assert_eq!(
        (&all[1]["status"], &all[1]["lastTransitionTime"]),
        (&json!("False"), &json!("2026-01-02T04:00:00Z"))
    );
    // Nothing to tell: ours goes, the others stay, and then there is nothing to write.
    assert_eq!(changed_conditions(&all, None, later), Some(others.clone()));
    assert_eq!(changed_conditions(&others, None, later), None);
    // However many reasons there are, it stays short.
    let many = PoolStatus {
        reasons: vec![under_way.reasons[0].clone(); 100],
        ..PoolStatus::of(&undone(), &[])
    };
    let all = changed_conditions(&[], Some(&many), now).unwrap();
    let message = all[0]["message"].as_str().unwrap();
    assert!(
        message.len() < 2_100 && message.ends_with("; and more"),
        "{message}"
    );
}
