//! What `ready` reads of pods, budgets, pools, plans and alerts, and of a must-gather.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the finding")]

use towpath_core::cluster::Fact;
use towpath_core::cluster::health::{Amount, ClusterHealth, Pod};
use towpath_core::cluster::objects::ObjectKind;
use towpath_core::finding::Finding;
use towpath_formats::SourceFile;
use towpath_formats::cluster::objects::{self, ClusterObjects};

fn read(files: &[(&str, &str)]) -> Result<ClusterObjects, Vec<Finding>> {
    let files: Vec<SourceFile> = files
        .iter()
        .map(|(path, text)| SourceFile::new(*path, text.as_bytes()))
        .collect();
    objects::read(&files, "2026-11-18T08:30Z".parse().unwrap()).map(|(objects, _)| objects)
}

fn health(path: &str, text: &str) -> ClusterHealth {
    read(&[(path, text)]).unwrap().facts.health
}

fn pod(spec: &str, more: &str) -> Pod {
    let text = format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: p, namespace: shop{more}}}\nspec: {spec}\nstatus: {{phase: Running, conditions: [{{type: Ready, status: 'True'}}]}}\n"
    );
    health("a.yaml", &text).pods.known().unwrap()[0].clone()
}

#[test]
fn a_pod_asks_for_what_the_scheduler_keeps_for_it() {
    let asked = |spec: &str| {
        let requests = pod(spec, "").requests;
        (
            requests.cpu_milli,
            requests.memory_bytes >> 20,
            requests.pods,
        )
    };
    let container = |cpu: &str, memory: &str| {
        format!("{{resources: {{requests: {{cpu: {cpu}, memory: {memory}}}}}}}")
    };
    let two = format!(
        "[{}, {}]",
        container("500m", "1Gi"),
        container("1", "512Mi")
    );
    assert_eq!(asked(&format!("{{containers: {two}}}")), (1_500, 1_536, 1));
    // The largest that runs before them counts if it is larger than all of them.
    let before = format!("[{}]", container("2", "100Mi"));
    assert_eq!(
        asked(&format!("{{containers: {two}, initContainers: {before}}}")),
        (2_000, 1_536, 1)
    );
    // One that goes on beside them is added to them.
    let sidecar = "[{restartPolicy: Always, resources: {requests: {cpu: 100m}}}]";
    assert_eq!(
        asked(&format!("{{containers: {two}, initContainers: {sidecar}}}")),
        (1_600, 1_536, 1)
    );
    assert_eq!(
        asked(&format!("{{containers: {two}, overhead: {{cpu: 250m}}}}")),
        (1_750, 1_536, 1)
    );
    assert_eq!(asked("{containers: [{}]}"), (0, 0, 1));
}

#[test]
fn who_made_a_pod_is_told_as_people_know_it() {
    let owner = |kind: &str, name: &str, labels: &str| {
        let more = format!(
            ", labels: {{{labels}}}, ownerReferences: [{{kind: {kind}, name: {name}, controller: true}}]"
        );
        let pod = pod("{containers: []}", &more);
        (pod.owner.unwrap().to_string(), pod.stays)
    };
    let told = |name: &str, stays: bool| (name.to_owned(), stays);
    assert_eq!(
        owner("ReplicaSet", "web-5f6d", "pod-template-hash: 5f6d"),
        told("Deployment web", false)
    );
    assert_eq!(
        owner("StatefulSet", "db", ""),
        told("StatefulSet db", false)
    );
    assert_eq!(owner("DaemonSet", "log", ""), told("DaemonSet log", true));
    assert_eq!(owner("Node", "m1", ""), told("Node m1", true));
}

#[test]
fn counts_of_a_budget_that_are_not_there_are_unknown_and_not_zero() {
    let budget = |spec: &str, status: &str| {
        let text = format!(
            "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {{name: b, namespace: shop}}\nspec: {spec}\n{status}"
        );
        health("a.yaml", &text).budgets.known().unwrap()[0].clone()
    };
    let silent = budget("{maxUnavailable: 1, selector: {}}", "");
    assert_eq!(
        (&silent.allowed, &silent.expected),
        (&Fact::Unknown, &Fact::Unknown)
    );
    // The API writes zeros before anybody has counted.
    let zeros = "disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0";
    let early = budget("{maxUnavailable: 1}", &format!("status: {{{zeros}}}\n"));
    let counted = format!("status: {{{zeros}, observedGeneration: 1}}\n");
    let counted = budget("{maxUnavailable: 1}", &counted);
    assert_eq!(
        (early.allowed, counted.allowed),
        (Fact::Unknown, Fact::Known(0))
    );
    let told = budget(
        "{minAvailable: 50%, selector: {matchExpressions: [{key: app, operator: In, values: [a, b]}]}}",
        "status: {disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1, expectedPods: 2}\n",
    );
    assert_eq!(told.min_available, Some(Amount::Percent(50)));
    assert_eq!(
        (&told.allowed, &told.expected),
        (&Fact::Known(0), &Fact::Known(2))
    );
    let counts = |app: &str| told.counts(&pod("{}", &format!(", labels: {{app: {app}}}")));
    assert_eq!([counts("a"), counts("b"), counts("c")], [true, true, false]);
    // No selector selects nothing; an empty one selects all pods of the namespace.
    let none = budget("{maxUnavailable: 1}", "");
    assert!(!none.counts(&pod("{}", "")) && silent.counts(&pod("{}", "")));
}

#[test]
fn an_empty_selector_of_an_old_budget_selects_nothing() {
    let counts = |version: &str, selector: &str| {
        let text = format!(
            "apiVersion: {version}\nkind: PodDisruptionBudget\nmetadata: {{name: b, namespace: shop}}\nspec: {{maxUnavailable: 1, selector: {selector}}}\n"
        );
        let budget = health("a.yaml", &text).budgets.known().unwrap()[0].clone();
        budget.counts(&pod("{}", ", labels: {app: a}"))
    };
    assert!(counts("policy/v1", "{}"));
    assert!(!counts("policy/v1beta1", "{}"));
    // One that says something means the same in both.
    for version in ["policy/v1", "policy/v1beta1"] {
        assert!(counts(version, "{matchLabels: {app: a}}"));
    }
}

#[test]
fn a_pool_says_whether_it_is_degraded_or_updating() {
    let state = |conditions: &str| {
        let text = format!(
            "kind: MachineConfigPool\nmetadata: {{name: worker}}\nstatus: {{machineCount: 3, updatedMachineCount: 1, conditions: [{conditions}]}}\n"
        );
        health("a.yaml", &text).pools.known().unwrap()[0].clone()
    };
    let fine = state("{type: Updated, status: 'True'}, {type: Degraded, status: 'False'}");
    assert_eq!(
        (fine.degraded, fine.is_updating),
        (Fact::Known(None), Fact::Known(false))
    );
    let broken = state(
        "{type: Updated, status: 'False'}, {type: Degraded, status: 'True', message: ''}, {type: NodeDegraded, status: 'True', message: 'Node w1 is reporting'}",
    );
    assert_eq!(
        (broken.degraded, broken.is_updating, broken.updated_nodes),
        (
            Fact::Known(Some("Node w1 is reporting".into())),
            Fact::Known(true),
            Fact::Known(1)
        )
    );
    let silent = state("");
    assert_eq!(
        (silent.degraded, silent.is_updating),
        (Fact::Unknown, Fact::Unknown)
    );
}

#[test]
fn of_the_install_plans_of_a_namespace_the_newest_counts() {
    let plan = |name: &str, generation: u32, approved: bool, phase: &str| {
        format!(
            "---\napiVersion: operators.coreos.com/v1alpha1\nkind: InstallPlan\nmetadata: {{name: {name}, namespace: logging}}\nspec: {{approved: {approved}, generation: {generation}, clusterServiceVersionNames: [log.v{generation}]}}\nstatus: {{phase: {phase}}}\n"
        )
    };
    let waiting = |text: &str| -> Vec<String> {
        let plans = health("a.yaml", text).install_plans;
        let plans = plans.known().unwrap().iter();
        plans
            .map(|one| format!("{} {}", one.name, one.operators.join(",")))
            .collect()
    };
    let old = plan("install-a", 1, false, "RequiresApproval");
    assert_eq!(waiting(&old), ["install-a log.v1"]);
    let newer = old.clone() + &plan("install-b", 2, true, "Complete");
    assert_eq!(waiting(&newer), [""; 0]);
    let newest = newer + &plan("install-c", 3, false, "RequiresApproval");
    assert_eq!(waiting(&newest), ["install-c log.v3"]);
}

#[test]
fn alerts_are_read_from_what_prometheus_answers() {
    let answer = |data: &str| format!(r#"{{"status": "success", "data": {data}}}"#);
    let alert = |state: &str, severity: &str| {
        format!(
            r#"{{"state": "{state}", "labels": {{"alertname": "Full", "severity": "{severity}", "namespace": "shop", "openShiftUpdatePrecheck": "true"}}, "annotations": {{"summary": "It is full.", "runbook_url": "https://example.com/r"}}}}"#
        )
    };
    let told = |text: &str| {
        let alerts = health("alerts.json", text).alerts;
        let alerts = alerts.known().unwrap().iter();
        alerts
            .map(|one| {
                format!(
                    "{} {} {} {}",
                    one.name, one.is_critical, one.is_precheck, one.summary
                )
            })
            .collect::<Vec<_>>()
    };
    let (fires, waits) = (alert("firing", "critical"), alert("pending", "critical"));
    let list = format!(r#"{{"alerts": [{fires}, {waits}]}}"#);
    assert_eq!(told(&answer(&list)), ["Full true true It is full."]);
    // As a must-gather keeps them.
    let rules = format!(r#"{{"groups": [{{"rules": [{{"alerts": [{fires}]}}, {{}}]}}]}}"#);
    assert_eq!(told(&answer(&rules)), ["Full true true It is full."]);
    assert_eq!(told(&answer(r#"{"alerts": []}"#)), [""; 0]);
    let failed = r#"{"status": "error", "errorType": "timeout", "error": "it took too long"}"#;
    let findings = read(&[("alerts.json", failed)]).unwrap_err();
    assert_eq!(findings[0].code, "no-alerts");
    let both = [("a.json", &*answer(&list)), ("b.json", &answer(&list))];
    assert_eq!(read(&both).unwrap_err()[0].code, "given-twice");
}

/// Longhorn has Nodes, Knative has Subscriptions, and the network operator has a Network of its own.
#[test]
fn a_kind_of_another_group_is_not_ours() {
    let node = |group: &str| {
        let text = format!("apiVersion: {group}/v1\nkind: Node\nmetadata: {{name: n}}\n");
        let objects = read(&[("a.yaml", &text)]).unwrap();
        (objects.facts.nodes == Fact::Unknown, objects.ignored)
    };
    assert_eq!(node("longhorn.io"), (true, 1));
    let network = |group: &str| {
        let text = format!(
            "apiVersion: {group}/v1\nkind: Network\nmetadata: {{name: cluster}}\nstatus: {{networkType: OpenShiftSDN}}\n"
        );
        health("a.yaml", &text).network
    };
    assert_eq!(network("operator.openshift.io"), Fact::Unknown);
    assert_eq!(
        network("config.openshift.io"),
        Fact::Known("OpenShiftSDN".into())
    );
}

#[test]
fn the_agents_own_cluster_operator_is_no_reason_of_its_own() {
    let operator = "kind: ClusterOperator\nmetadata: {name: towpath}\nstatus:\n  conditions:\n  - {type: Upgradeable, status: 'False', reason: KubeletTooOld, message: M}\n  - {type: Degraded, status: 'True', reason: R, message: M}\n";
    let version = "kind: ClusterVersion\nmetadata: {name: version}\nstatus:\n  conditions:\n  - {type: Upgradeable, status: 'False', reason: KubeletTooOld, message: 'Cluster operator towpath should not be upgraded between minor versions: M'}\n";
    let facts = read(&[("co.yaml", operator), ("cv.yaml", version)])
        .unwrap()
        .facts;
    for said in [
        facts.objections,
        facts.operator_objections,
        facts.operator_failures,
    ] {
        assert_eq!(said, Fact::Known(vec![]));
    }
}

#[test]
fn of_a_must_gather_two_prints_of_one_object_are_one_and_the_newer_counts() {
    let pool = |version: u32, paused: bool, uid: &str| {
        format!(
            "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfigPool\nmetadata: {{name: worker, uid: {uid}, resourceVersion: '{version}'}}\nspec: {{paused: {paused}}}\n"
        )
    };
    let at = |name: &str| {
        format!("mg/image/cluster-scoped-resources/machineconfiguration.openshift.io/{name}")
    };
    let both = |first: &str, second: &str| {
        read(&[
            (&at("machineconfigpools.yaml"), first),
            (&at("machineconfigpools/worker.yaml"), second),
        ])
        .map(|objects| objects.facts.pools.known().unwrap()[0].is_paused)
    };
    let (older, newer) = (pool(9, false, "u"), pool(10, true, "u"));
    assert_eq!(both(&older, &newer), Ok(true));
    assert_eq!(both(&newer, &older), Ok(true));
    let other = pool(10, true, "another");
    assert_eq!(both(&older, &other).unwrap_err()[0].code, "given-twice");
}

#[test]
fn a_must_gather_has_a_part_of_what_is_in_namespaces() {
    let version =
        "apiVersion: config.openshift.io/v1\nkind: ClusterVersion\nmetadata: {name: version}\n";
    let pods = "apiVersion: v1\nkind: PodList\nitems:\n- metadata: {name: etcd-m1, namespace: openshift-etcd}\n";
    let events = "apiVersion: v1\nkind: EventList\nitems:\n- metadata: {name: e}\n";
    let files = [
        (
            "mg/cluster-scoped-resources/config.openshift.io/clusterversions/version.yaml",
            version,
        ),
        ("mg/namespaces/openshift-etcd/core/pods.yaml", pods),
        ("mg/namespaces/openshift-etcd/core/events.yaml", events),
        ("mg/etcd_info/member_list.json", "{\"members\": []}"),
    ];
    let health = read(&files).unwrap().facts.health;
    assert_eq!(health.pods.known().map(Vec::len), Some(1));
    let partly: Vec<_> = health.partly.into_iter().collect();
    assert_eq!(
        partly,
        [
            ObjectKind::ClusterServiceVersion,
            ObjectKind::Pod,
            ObjectKind::PodDisruptionBudget,
            ObjectKind::InstallPlan,
        ]
    );
    // A directory of objects is whole, and what is no object there is a mistake.
    let plain = read(&[("pods.yaml", pods)]).unwrap().facts.health;
    assert!(plain.partly.is_empty());
    assert!(read(&[("member_list.json", "{\"members\": []}")]).is_err());
}

#[test]
fn an_operator_has_ended_when_its_last_phase_has() {
    let operator = r#"{"kind": "ClusterServiceVersion", "metadata": {"name": "cluster-logging.v5.8.1", "namespace": "logging",
        "annotations": {"olm.properties": "[{\"type\": \"olm.package\", \"value\": {\"packageName\": \"cluster-logging\", \"version\": \"5.8.1\"}}]"}}}"#;
    let entry = |last: &str| {
        format!(
            r#"[{{"schema": "io.openshift.operators.lifecycles.v1alpha1", "package": "cluster-logging", "versions": [
            {{"name": "5.8", "phases": [{{"name": "Full", "startDate": "2023-01-01", "endDate": "2024-01-01"}}, {{"name": "Maintenance", "startDate": "2024-01-02", "endDate": "{last}"}}]}}]}}]"#
        )
    };
    let ended = |last: &str| {
        let files = [("csv.json", operator), ("lifecycles.json", &*entry(last))];
        let ended = read(&files).unwrap().facts.health.ended_operators;
        ended.known().unwrap().len()
    };
    assert_eq!(
        [ended("2026-11-17"), ended("2026-11-18"), ended("")],
        [1, 0, 0]
    );
    assert_eq!(health("csv.json", operator).ended_operators, Fact::Unknown);
    let wrong = [("lifecycles.json", &*entry("soon"))];
    assert_eq!(read(&wrong).unwrap_err()[0].code, "bad-time");
}

#[test]
fn the_streams_of_pools_are_read() {
    let text = "apiVersion: machineconfiguration.openshift.io/v1\nkind: OSImageStream\nmetadata: {name: cluster}\nspec: {defaultStream: rhel-10}\nstatus: {defaultStream: rhel-9}\n---\nkind: MachineConfigPool\nmetadata: {name: infra}\nspec: {osImageStream: {name: rhel-10}}\n";
    let health = health("a.yaml", text);
    assert_eq!(health.default_stream, Fact::Known("rhel-9".into()));
    let pools = health.pools.known().unwrap();
    assert_eq!(pools[0].stream.as_deref(), Some("rhel-10"));
}

#[test]
fn who_sets_runc_is_found() {
    let config = |runtime: &str| {
        format!(
            "---\napiVersion: machineconfiguration.openshift.io/v1\nkind: ContainerRuntimeConfig\nmetadata: {{name: set-{runtime}}}\nspec: {{containerRuntimeConfig: {{defaultRuntime: {runtime}}}}}\n"
        )
    };
    let machine_config = |name: &str| {
        format!(
            "---\napiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata: {{name: {name}}}\nspec: {{config: {{storage: {{files: [{{path: /etc/crio/crio.conf.d/99-runtime, contents: {{source: 'data:,default_runtime%20%3D%20%22runc%22'}}}}]}}}}}}\n"
        )
    };
    let text = config("runc")
        + &config("crun")
        + &machine_config("99-worker-runc")
        + &machine_config("rendered-worker-1");
    let health = health("a.yaml", &text);
    assert_eq!(health.runc_configs, Fact::Known(vec!["set-runc".into()]));
    assert_eq!(
        health.runc_machine_configs,
        Fact::Known(vec!["99-worker-runc".into()])
    );
}
