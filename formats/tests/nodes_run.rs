//! Pools that reboot calmly, as a cluster prints them: who belongs to them, how far each node is, and what is written back.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the finding")]

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use towpath_core::duration::MaxUnavailable;
use towpath_core::nodes::run::{
    Cordon, NodeAct, NodeMark, NodeUpdate, RebootPace, RebootRecord, SetAside, no_pool_beside,
};
use towpath_formats::nodes::run::{
    PoolObjects, PoolStatus, RebootPool, is_ours, node_changes, pods_of, read_pool, read_record,
    waiting_since, written_record,
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
    let why = no_pool_beside("towpath.dev/reboot");
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
fn only_the_pool_worker_can_go_and_two_beside_it_are_one_too_many() {
    let mut objects = objects(Vec::new());
    assert!(is_ours(&objects.pools[0]) && !is_ours(&json!({})));
    let findings = read_pool(&objects, "infra").unwrap_err();
    assert!(
        findings[0].to_string().contains("cannot be handed over"),
        "{findings:?}"
    );
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
    let why = no_pool_beside("towpath.dev/reboot");
    let status = PoolStatus::of(&why, std::slice::from_ref(&why));
    assert_eq!(PoolStatus::read(&status.written()), Some(status.clone()));
    assert!(status.tells("PoolBesideMissing") && !status.tells("RebootsDone"));
    assert_eq!(PoolStatus::read("x"), None);
}
