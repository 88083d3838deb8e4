//! What a plan of nodes reads of pods, nodes and volumes, and what it says about them.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the finding")]

use std::collections::BTreeMap;

use expect_test::expect;
use towpath_core::cluster::health::{Is, NodeState, Pod};
use towpath_core::cluster::placement::{Domain, TaintEffect};
use towpath_core::duration::{Ground, Machines, Parameters};
use towpath_core::nodes::{Model, PlanRequest, blockers, plan};
use towpath_formats::SourceFile;
use towpath_formats::cluster::objects::{self, ClusterObjects};
use towpath_formats::nodes::plan::{PlanReport, drawing, json, text};
use towpath_formats::room::Room;

const EXAMPLE: &str = include_str!("../../examples/nodes/objects.yaml");

fn now() -> jiff::Timestamp {
    "2026-11-18T08:30Z".parse().unwrap()
}

fn read(text: &str) -> ClusterObjects {
    let file = SourceFile::new("objects.yaml", text.as_bytes());
    objects::read(&[file], now()).unwrap().0
}

fn pod(spec: &str) -> Pod {
    let text = format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: p, namespace: shop}}\nspec: {spec}\n"
    );
    read(&text).facts.health.pods.known().unwrap()[0].clone()
}

fn node(more: &str, spec: &str) -> NodeState {
    let text = format!("apiVersion: v1\nkind: Node\nmetadata: {{name: w1{more}}}\nspec: {spec}\n");
    read(&text).facts.health.nodes.known().unwrap()[0].clone()
}

/// Each of the three forms.
fn told(text_of: &str, request: &PlanRequest) -> (String, serde_json::Value, String) {
    let cluster = read(text_of);
    let model = Model::of(&cluster.facts.health).unwrap();
    let (machines, parameters) = (Machines::on(Ground::Cloud), Parameters::usual());
    let plan = plan(model, request, &machines, &parameters).unwrap();
    let verdict = blockers(&plan, &cluster.facts.health);
    let report = PlanReport {
        cluster: &cluster,
        plan: &plan,
        verdict: &verdict,
        node_takes: machines.node_time(&parameters),
        seed: request.seed,
        now: now(),
        unread: &BTreeMap::new(),
    };
    (
        text(&report, Room::default()),
        json(&report),
        drawing(&report),
    )
}

#[test]
fn where_a_pod_may_run_is_read() {
    let read = pod(
        "{nodeSelector: {disk: ssd}, tolerations: [{key: gpu, operator: Exists, effect: NoSchedule}, {key: a, value: b}], \
          volumes: [{name: x, persistentVolumeClaim: {claimName: data}}, {name: y, emptyDir: {}}], \
          containers: [{ports: [{containerPort: 80}, {containerPort: 443, hostPort: 443}]}], \
          affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: arch, operator: In, values: [amd64]}]}]}}, \
          podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}]}}}",
    )
    .placement;
    assert_eq!(read.labels.get("disk").map(|value| &**value), Some("ssd"));
    assert_eq!(read.terms.len(), 1);
    assert_eq!(read.tolerations[0].value, None);
    assert_eq!(read.tolerations[1].value.as_deref(), Some("b"));
    assert_eq!(
        read.claims.iter().map(|claim| &**claim).collect::<Vec<_>>(),
        ["data"]
    );
    assert_eq!(read.host_ports.iter().copied().collect::<Vec<_>>(), [443]);
    assert_eq!(read.apart_from[0].within, Domain::Host);
    assert!(read.others.is_empty(), "{:?}", read.others);
}

#[test]
fn what_is_not_simulated_is_named() {
    let named = |spec: &str| {
        let others = pod(spec).placement.others;
        others
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("; ")
    };
    let preferred = "preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1}]";
    let required = "requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: rack}]";
    for (spec, expected) in [
        ("{containers: []}", ""),
        (
            "{containers: [{resources: {requests: {cpu: 1, ephemeral-storage: 1Gi}}}]}",
            "",
        ),
        (
            "{containers: [{resources: {requests: {nvidia.com/gpu: 1}}}]}",
            "extended resources",
        ),
        (
            "{topologySpreadConstraints: [{whenUnsatisfiable: DoNotSchedule}]}",
            "topology spread constraints that must hold",
        ),
        (
            &format!("{{affinity: {{nodeAffinity: {{{preferred}}}}}}}"),
            "preferred affinities",
        ),
        (
            &format!("{{affinity: {{podAffinity: {{{required}}}}}}}"),
            "pod affinity",
        ),
        (
            &format!("{{affinity: {{podAntiAffinity: {{{required}}}}}}}"),
            "pod anti-affinity over other domains or namespaces",
        ),
    ] {
        assert_eq!(named(spec), expected, "{spec}");
    }
}

#[test]
fn a_node_affinity_that_is_not_understood_is_met_by_no_node() {
    let term = |conditions: &str| {
        let spec = format!(
            "{{affinity: {{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: [{conditions}]}}}}}}}}"
        );
        let placement = pod(&spec).placement;
        (
            placement.selects(&node("", "{}").labels),
            placement.others.len(),
        )
    };
    assert_eq!(
        term("{matchExpressions: [{key: cpus, operator: Gt, values: ['4']}]}"),
        (false, 1)
    );
    assert_eq!(
        term("{matchFields: [{key: metadata.name, operator: In, values: [w1]}]}"),
        (false, 1)
    );
    assert_eq!(
        term("{matchExpressions: [{key: gpu, operator: DoesNotExist}]}"),
        (true, 0)
    );
}

#[test]
fn taints_age_and_zone_of_a_node_are_read() {
    let read = node(
        ", creationTimestamp: '2026-01-02T03:04:05Z', labels: {topology.kubernetes.io/zone: a}",
        "{taints: [{key: gpu, effect: PreferNoSchedule}, {key: odd, effect: Odd}, {key: node.kubernetes.io/unschedulable, effect: NoSchedule}]}",
    );
    let effects: Vec<TaintEffect> = read.taints.iter().map(|taint| taint.effect).collect();
    // An effect that nobody knows keeps pods away.
    assert_eq!(
        effects,
        [TaintEffect::PreferNoSchedule, TaintEffect::NoSchedule]
    );
    assert_eq!(
        read.created_at,
        Some("2026-01-02T03:04:05Z".parse().unwrap())
    );
    assert_eq!(read.labels.len(), 1);
}

#[test]
fn a_volume_reaches_the_nodes_of_its_affinity_or_of_its_old_label() {
    let volume = |more: &str| {
        let text = format!("apiVersion: v1\nkind: PersistentVolume\nmetadata: {{name: v{more}\n");
        let health = read(&text).facts.health;
        health.volumes.known().unwrap()[0].clone()
    };
    let bound = volume(
        "}\nspec: {claimRef: {namespace: shop, name: data}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [a]}]}]}}}",
    );
    assert_eq!(bound.claim, Some(("shop".into(), "data".into())));
    assert_eq!(bound.terms[0][0].is, Is::In(["a".into()].into()));
    let old = volume(", labels: {failure-domain.beta.kubernetes.io/zone: a__b}}\nspec: {}");
    assert_eq!(old.terms[0][0].is, Is::In(["a".into(), "b".into()].into()));
    assert!(volume("}\nspec: {}").terms.is_empty());
}

#[test]
fn a_text_reads_like_the_manual() {
    let (text, _, _) = told(EXAMPLE, &PlanRequest::default());
    expect![[r#"
        cluster 7d0f7c52-3c0c-4a53-9a51-2f7e9a3a0b44: 7 nodes in 7 waves, at 2026-11-18 08:30Z
        Looked at: 1 ClusterVersion, 9 Nodes, 2 MachineConfigPools, 35 Pods, 3 PodDisruptionBudgets, 3
        PersistentVolumes.
        Blocked: 2 nodes cannot be drained.

        Pool master: 3 nodes, 23m (16m to 40m), at most 1 away at once
            1. master-2 in zone-c: no pod moves
            2. master-0 in zone-a: openshift-console/console-0 to master-2
            3. master-1 in zone-b: openshift-console/console-1 to master-0
               every node is then within 80 to 120 % of the mean load

        Pool worker: 4 nodes, 32m (22m to 55m), at most 1 away at once
            1. worker-0 in zone-a: shop/db-0 to worker-3, shop/cart-0 to worker-5, shop/cart-3 to worker-3, shop/web-0
               to worker-3; 4 to nodes that are not updated yet
            2. worker-1 in zone-b: shop/search-0 to worker-0, shop/db-1 to worker-4, shop/web-1 to worker-0; 1 to
               nodes that are not updated yet
            3. worker-2 in zone-c: shop/search-1 to worker-1, shop/web-2 to worker-1, shop/cart-1 to worker-1,
               shop/db-2 to worker-5; 1 to nodes that are not updated yet
            4. worker-5 in zone-c: 5 pods move, to worker-2
            -  worker-3 is held: these pods may not be evicted: billing/ledger-0
            -  worker-4 is held: these pods may not be evicted: billing/ledger-1
               at the end 5 pods move again, so that nodes are even: every node is then within 80 to 120 % of the mean
               load

        Pods: 16 move, 6 of them more than once (37 %). The bound is 5: what leaves the first nodes has to move again.
              Without a plan it is 7.
              Simulated with the default scheduler of Kubernetes 1.20 and seed 0; where pods really land differs a
              little.

        Time: P50 56m, P10 39m, P90 1h 32m. A wave lasts until its slowest node is back; a node takes 7m (5m to 15m).

        What stands in the way:
          - PodDisruptionBudget ledger of billing never allows an eviction: minAvailable is as many as there are pods;
            it counts ledger-0, ledger-1 of StatefulSet ledger [BudgetAllowsNothing]
            let ledger of billing allow one eviction: lower minAvailable by one, or add a replica
            $ oc -n billing edit poddisruptionbudget ledger
          - node worker-3 cannot be drained: these pods may not be evicted: billing/ledger-0 [DrainDoesNotEnd]
            settle what is said about their PodDisruptionBudgets, or make room for them; then plan again
            $ oc adm drain worker-3 --ignore-daemonsets --delete-emptydir-data --dry-run=server
          - node worker-4 cannot be drained: these pods may not be evicted: billing/ledger-1 [DrainDoesNotEnd]
            settle what is said about their PodDisruptionBudgets, or make room for them; then plan again
            $ oc adm drain worker-4 --ignore-daemonsets --delete-emptydir-data --dry-run=server
          - the drain of node worker-5 deletes pods that nothing makes again: billing/debug [PodsWithoutOwner]
            delete them if nobody needs them, or run them from a Deployment or a Job
            $ oc get pods --all-namespaces --field-selector spec.nodeName=worker-5
    "#]].assert_eq(&text);
}

#[test]
fn json_and_drawing_say_the_same_as_the_text() {
    let request = PlanRequest {
        surge: 1,
        ..PlanRequest::default()
    };
    let (text, json, drawing) = told(EXAMPLE, &request);
    let worker = &json["pools"][1];
    assert_eq!(worker["name"], "worker");
    assert_eq!(worker["added"], serde_json::json!(["surge-1"]));
    let again = json["pods"]["movedMoreThanOnce"].as_u64().unwrap();
    assert!(
        text.contains(&format!("{again} of them more than once")),
        "{text}"
    );
    assert!(
        drawing.contains(&format!("{again} of them more than once")),
        "{drawing}"
    );
    for wave in worker["waves"].as_array().unwrap() {
        let node = wave["nodes"][0].as_str().unwrap();
        assert!(text.contains(node) && drawing.contains(node), "{node}");
    }
    for reason in json["reasons"].as_array().unwrap() {
        let code = reason["code"].as_str().unwrap();
        assert!(text.contains(code), "{code}");
    }
}

#[test]
fn a_hostile_name_is_only_text() {
    let hostile = EXAMPLE.replace("worker-0", "<script>&\\u001b[31m");
    let (text, _, drawing) = told(&hostile, &PlanRequest::default());
    assert!(!drawing.contains("<script>") && drawing.contains("&lt;script&gt;"));
    assert!(!text.contains('\u{1b}') && !drawing.contains('\u{1b}'));
}
