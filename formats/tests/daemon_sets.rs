//! DaemonSets as a cluster prints them: what the adviser and the duration model make of them, and those in waves.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the finding")]

use expect_test::expect;
use jiff::Timestamp;
use serde_json::{Value, json};
use towpath_core::duration::MaxUnavailable;
use towpath_core::nodes::{DaemonOwner, UpdateStrategy};
use towpath_formats::SourceFile;
use towpath_formats::cluster::objects::{self, ClusterObjects};
use towpath_formats::daemon_sets::{
    Going, WaveObjects, WaveRecord, WaveSet, WaveStatus, has_asked, read_waves,
};

fn read(text: &str) -> ClusterObjects {
    let file = SourceFile::new("daemonsets.yaml", text.as_bytes());
    objects::read(&[file], Timestamp::UNIX_EPOCH).unwrap().0
}

const SETS: &str = "
apiVersion: apps/v1
kind: DaemonSetList
items:
- metadata: {name: multus, namespace: openshift-multus, ownerReferences: [{kind: Network, name: cluster, controller: true, uid: u}]}
  spec: {updateStrategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 1}}}
  status: {desiredNumberScheduled: 250, updatedNumberScheduled: 250}
- metadata: {name: network-metrics-daemon, namespace: openshift-multus}
  spec: {updateStrategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 33%}}}
  status: {desiredNumberScheduled: 250}
- metadata: {name: tuned, namespace: openshift-cluster-node-tuning-operator}
  spec: {updateStrategy: {type: OnDelete}}
  status: {desiredNumberScheduled: 250}
- metadata: {name: agent, namespace: shop}
  spec:
    minReadySeconds: 20
    updateStrategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 0, maxSurge: 10%}}
    template:
      spec:
        initContainers: [{image: 'r.example/init:1', imagePullPolicy: IfNotPresent}]
        containers: [{image: 'r.example/agent:latest', imagePullPolicy: Always, ports: [{containerPort: 80}, {containerPort: 90, hostPort: 9100}]}]
  status: {desiredNumberScheduled: 247, updatedNumberScheduled: 100, numberUnavailable: 2}
---
apiVersion: v1
kind: Node
metadata: {name: m1, labels: {node-role.kubernetes.io/master: ''}}
status: {nodeInfo: {kubeletVersion: v1.29.6}}
---
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfigPool
metadata: {name: master}
spec: {nodeSelector: {matchLabels: {node-role.kubernetes.io/master: ''}}}
";

#[test]
fn daemonsets_are_read_and_those_of_the_payload_are_in_the_shape() {
    let cluster = read(SETS);
    let sets = cluster.daemon_sets.known().unwrap();
    let owners: Vec<&DaemonOwner> = sets.iter().map(|set| &set.owner).collect();
    assert_eq!(
        owners,
        [
            &DaemonOwner::Operator("Network cluster".into()),
            &DaemonOwner::Operator("openshift-multus".into()),
            &DaemonOwner::Operator("openshift-cluster-node-tuning-operator".into()),
            &DaemonOwner::People,
        ]
    );
    let agent = &sets[3];
    let tenth = MaxUnavailable::Percent(10);
    let surge = UpdateStrategy::Rolling {
        max_unavailable: None,
        max_surge: Some(tenth),
    };
    assert_eq!((agent.strategy, agent.at_once()), (surge, Some(tenth)));
    assert_eq!(
        (
            agent.desired,
            agent.updated,
            agent.unavailable,
            agent.min_ready_seconds
        ),
        (247, 100, 2, 20)
    );
    assert_eq!(
        (&agent.host_ports[..], agent.pulled_always.len()),
        (&[9_100][..], 1)
    );
    let shape = cluster.shape.unwrap();
    let shaped: Vec<(String, MaxUnavailable, Option<String>)> = shape
        .daemon_sets
        .unwrap()
        .into_iter()
        .map(|set| (set.name, set.max_unavailable, set.operator))
        .collect();
    let operator = Some("openshift-multus".to_owned());
    assert_eq!(
        shaped,
        [
            (
                "openshift-multus/multus".to_owned(),
                MaxUnavailable::Count(1),
                operator.clone()
            ),
            (
                "openshift-multus/network-metrics-daemon".to_owned(),
                MaxUnavailable::Percent(33),
                operator
            ),
        ]
    );
}

#[test]
fn without_daemonsets_nothing_is_known_of_them() {
    let (_, rest) = SETS.split_once("---").unwrap();
    let cluster = read(rest);
    assert!(cluster.daemon_sets.known().is_none());
    assert_eq!(cluster.shape.unwrap().daemon_sets, None);
}

fn set(annotations: Value) -> Value {
    json!({
        "metadata": {
            "name": "agent", "namespace": "shop", "uid": "u1", "resourceVersion": "7", "generation": 3, "annotations": annotations,
        },
        "spec": {"updateStrategy": {"type": "OnDelete"}},
        "status": {"observedGeneration": 3, "desiredNumberScheduled": 3},
    })
}

fn node(name: &str, taints: Value) -> Value {
    json!({
        "metadata": {"name": name, "labels": {
            "topology.kubernetes.io/zone": "a", "kubernetes.io/arch": "arm64",
            "node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/infra": "",
        }},
        "spec": {"taints": taints},
        "status": {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]},
    })
}

fn pod(name: &str, node: &str, ready: bool) -> Value {
    json!({
        "metadata": {
            "name": name, "uid": format!("uid-{name}"), "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"controller-revision-hash": "one"}, "ownerReferences": [{"uid": "u1"}],
        },
        "spec": {"nodeName": node, "tolerations": [{"key": "dedicated", "operator": "Equal", "value": "infra", "effect": "NoSchedule"}]},
        "status": {"conditions": [{"type": "Ready", "status": if ready { "True" } else { "False" }, "lastTransitionTime": "2026-01-01T00:01:00Z"}]},
    })
}

fn revision(hash: &str, number: i64) -> Value {
    json!({
        "metadata": {"name": format!("agent-{hash}"), "labels": {"controller-revision-hash": hash}, "ownerReferences": [{"uid": "u1"}]},
        "revision": number, "data": {"spec": {"template": {"$patch": "replace"}}},
    })
}

fn opted_in() -> WaveObjects {
    WaveObjects {
        daemon_set: set(json!({"towpath.dev/waves": "true"})),
        revisions: vec![revision("two", 2), revision("one", 1)],
        pods: vec![pod("p1", "n1", true), pod("p2", "n2", false)],
        nodes: vec![
            node("n1", json!([])),
            node("n2", json!([])),
            node("n3", json!([])),
        ],
    }
}

fn seen(objects: &WaveObjects) -> WaveSet {
    read_waves(objects).unwrap().unwrap()
}

#[test]
fn what_is_seen_of_a_set_in_waves() {
    let set = seen(&opted_in());
    let view = set.view.unwrap();
    assert_eq!(&*view.wanted, "two");
    // The controller counts three, and two have pods: the third waits for one.
    assert_eq!(view.nodes.len(), 3);
    let first = &view.nodes[0];
    assert_eq!(
        (&*first.zone, &*first.arch, &*first.pool, first.is_ready),
        ("a", "arm64", "infra,worker", true)
    );
    let ready: Vec<bool> = view
        .pods
        .iter()
        .map(|pod| pod.ready_since.is_some())
        .collect();
    assert_eq!(ready, [true, false]);
    assert_eq!(&*set.pods["p1"], "uid-p1");
    assert!(set.templates.contains_key("one"));
}

#[test]
fn pods_of_others_do_not_count_and_one_that_waits_names_its_node() {
    let mut objects = opted_in();
    let mut stranger = pod("p9", "n3", true);
    stranger["metadata"]["ownerReferences"][0]["uid"] = "u2".into();
    let mut waiting = pod("p3", "", false);
    waiting["spec"]["affinity"] = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n3"]}]}],
    }}});
    waiting["status"]["containerStatuses"] =
        json!([{"state": {"waiting": {"reason": "ImagePullBackOff"}}}]);
    waiting["metadata"]["deletionTimestamp"] = "2026-01-01T00:02:00Z".into();
    objects.pods.extend([stranger, waiting]);
    let view = seen(&objects).view.unwrap();
    let last = view.pods.last().unwrap();
    assert_eq!((view.pods.len(), &*last.node), (3, "n3"));
    assert_eq!(
        (last.broken.as_deref(), last.is_leaving),
        (Some("ImagePullBackOff"), true)
    );
}

#[test]
fn a_node_that_gets_no_new_pod_keeps_its_own() {
    for (taint, stays, nodes) in [
        (
            json!({"key": "dedicated", "value": "infra", "effect": "NoSchedule"}),
            true,
            3,
        ),
        (
            json!({"key": "dedicated", "value": "gpu", "effect": "PreferNoSchedule"}),
            true,
            3,
        ),
        // Left out: the controller counts three others.
        (
            json!({"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}),
            false,
            3,
        ),
        // Lost: it counts against the limit, though the controller does not count it.
        (
            json!({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}),
            true,
            4,
        ),
    ] {
        let mut objects = opted_in();
        objects.nodes[1] = node("n2", json!([taint.clone()]));
        let view = seen(&objects).view.unwrap();
        let is_there = view.pods.iter().any(|pod| &*pod.name == "p2");
        assert_eq!((is_there, view.nodes.len()), (stays, nodes), "{taint}");
    }
}

#[test]
fn while_counts_differ_or_nobody_has_seen_the_template_nothing_is_done() {
    let mut objects = opted_in();
    objects.daemon_set["status"]["desiredNumberScheduled"] = 1.into();
    let reason = seen(&objects).view.unwrap_err();
    assert_eq!(reason.code().name, "WavesCountsDiffer");
    objects.daemon_set["status"]["observedGeneration"] = 2.into();
    assert_eq!(
        seen(&objects).view.unwrap_err().code().name,
        "WavesNotObserved"
    );
}

#[test]
fn what_is_written_comes_back() {
    let mut objects = opted_in();
    let rollout = towpath_core::nodes::next_step(
        &seen(&objects).view.unwrap(),
        &Default::default(),
        None,
        Timestamp::UNIX_EPOCH,
    )
    .record;
    let going = Going {
        until: Timestamp::UNIX_EPOCH,
        pods: ["p1".into()].into(),
    };
    let record = WaveRecord {
        rollout,
        going: Some(going),
    };
    let annotations =
        json!({"towpath.dev/waves": "true", "towpath.dev/waves-record": record.written()});
    objects.daemon_set["metadata"]["annotations"] = annotations;
    let set = seen(&objects);
    assert_eq!(set.record.as_ref(), Some(&record));
    let reason = towpath_core::nodes::counts_differ(1, 2);
    let status: Value = serde_json::from_str(&WaveStatus::of(&reason).written()).unwrap();
    assert_eq!(status["code"], "WavesCountsDiffer");
}

#[test]
fn every_wrong_annotation_is_refused() {
    let mut objects = opted_in();
    objects.daemon_set = set(json!({
        "towpath.dev/waves": "maybe", "towpath.dev/waves-soak": "25h", "towpath.dev/waves-patience": "1s",
        "towpath.dev/waves-at-most-away": "0", "towpath.dev/waves-record": "{}", "towpath.dev/waves-sok": "1m",
    }));
    let told: String = read_waves(&objects)
        .unwrap_err()
        .iter()
        .map(|finding| format!("{finding}\n"))
        .collect();
    expect![[r#"
        DaemonSet shop/agent: annotation towpath.dev/waves-sok: there is no such setting; correct the name: docs/daemonsets.md has all of them
        DaemonSet shop/agent: annotation towpath.dev/waves: "maybe" is neither true nor false; write "true" or "false"
        DaemonSet shop/agent: annotation towpath.dev/waves-at-most-away: "0" is not a number of nodes; write a number from 1, or a share from 1% to 100%
        DaemonSet shop/agent: annotation towpath.dev/waves-soak: "25h" is no time that it can be; write it as in 90s or 10m: a soak of up to 24h, a patience from 10s to 24h
        DaemonSet shop/agent: annotation towpath.dev/waves-patience: "1s" is no time that it can be; write it as in 90s or 10m: a soak of up to 24h, a patience from 10s to 24h
        DaemonSet shop/agent: annotation towpath.dev/waves-record: our own record cannot be read: missing field `to` at line 1 column 2; remove the annotation if every pod is well: then the rollout begins anew
    "#]].assert_eq(&told);
    assert!(has_asked(&objects.daemon_set));
    assert!(!has_asked(&set(json!({"towpath.dev/waves-record": "{}"}))));

    objects.daemon_set = set(json!({"towpath.dev/waves": "true"}));
    objects.daemon_set["spec"]["updateStrategy"]["type"] = "RollingUpdate".into();
    let told: String = read_waves(&objects)
        .unwrap_err()
        .iter()
        .map(|finding| format!("{finding}\n"))
        .collect();
    expect![[r#"
        DaemonSet shop/agent: it has opted in to waves, and its updateStrategy is not OnDelete: the controller replaces its pods; set spec.updateStrategy to {type: OnDelete}, or remove the annotation
    "#]].assert_eq(&told);
    objects.daemon_set = set(json!({"towpath.dev/waves": "false"}));
    assert!(read_waves(&objects).unwrap().is_none());
}
