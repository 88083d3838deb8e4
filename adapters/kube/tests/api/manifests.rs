//! The manifests: what they allow is all that the adapter needs, and nothing else.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use towpath_kube::{
    Access, Clock, Condition, Elector, Event, Leadership, LeaseTerms, OperatorStatus,
    PublishOutcome, RecordOutcome, Severity, StartOutcome, Status, Update,
};
use towpath_testing_kube::KubeApi;

use crate::pod_security::violations;
use crate::support::*;

fn manifests(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../deploy/agent")
        .join(folder)
}

#[tokio::test]
async fn the_agents_role_is_enough_and_no_more() {
    let api = KubeApi::start().await;
    api.kubectl(&["apply", "-k", &manifests("").display().to_string()]);
    api.put(cluster_version()).await;
    let kubeconfig = api.kubeconfig(
        "agent",
        &api.token_of("towpath-agent", "towpath-agent").await,
    );
    let cluster = connect(
        &Access::Kubeconfig {
            path: Some(kubeconfig),
            context: None,
        },
        settings(),
    )
    .await;
    let read = cluster.read_once(Duration::from_secs(120)).await;
    assert_eq!(read, Ok(()), "{:?}", cluster.objects().states);
    let objects = until(&cluster, "everything is watched", all_current).await;

    let seen = objects.version.unwrap().resource_version;
    assert_eq!(
        cluster.remember(&seen, "one").await.unwrap(),
        RecordOutcome::Written
    );
    let newer = |objects: &towpath_kube::Objects| {
        objects
            .version
            .as_ref()
            .is_some_and(|new| new.resource_version != seen)
    };
    let seen = until(&cluster, "the record", newer)
        .await
        .version
        .unwrap()
        .resource_version;
    let update = Update {
        version: "4.9.2",
        image: DIGEST,
        record: "two",
        ..Update::default()
    };
    assert_eq!(
        cluster.start_update(&seen, update).await.unwrap(),
        StartOutcome::Started
    );
    let now = time("2026-01-01T00:00:00Z");
    let condition = Condition {
        status: Status::False,
        reason: "A".into(),
        message: "b".into(),
    };
    let status = OperatorStatus {
        conditions: [("Upgradeable".to_owned(), condition)].into(),
        versions: Vec::new(),
    };
    assert_eq!(
        cluster.publish(&status, now).await.unwrap(),
        PublishOutcome::Written
    );
    let event = Event {
        severity: Severity::Normal,
        reason: "A".into(),
        message: "b".into(),
    };
    cluster.tell(&event, now).await.unwrap();
    cluster.tell(&event, now).await.unwrap();
    let name = "towpath-agent".to_owned();
    let terms = LeaseTerms {
        namespace: name.clone(),
        name,
        holder: "pod".into(),
        term: Duration::from_secs(30),
    };
    let mut elector = Elector::new(terms);
    for seconds in [0, 10] {
        let clock = Clock {
            now,
            running: Duration::from_secs(seconds),
        };
        assert!(matches!(
            elector.try_to_hold(&cluster, clock).await.unwrap(),
            Leadership::Held { .. }
        ));
    }

    for forbidden in FORBIDDEN {
        let arguments: Vec<&str> = ["auth", "can-i"]
            .into_iter()
            .chain(forbidden.split(' '))
            .collect();
        let output = api.kubectl_as("agent", &arguments);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(
            said.trim(),
            "no",
            "{forbidden}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

const FORBIDDEN: [&str; 23] = [
    "create pods/eviction -A",
    "patch poddisruptionbudgets.policy -A",
    "patch nodes --subresource=status",
    "get secrets -n towpath-agent",
    "list secrets -A",
    "list pods -A",
    "create pods -n towpath-agent",
    "list configmaps -n openshift-config",
    "list configmaps -n kube-system",
    "patch configmaps/admin-acks -n openshift-config",
    "patch configmaps/admin-gates -n openshift-config-managed",
    "patch nodes",
    "delete nodes",
    "update clusterversions.config.openshift.io/version",
    "delete clusterversions.config.openshift.io/version",
    "patch clusterversions.config.openshift.io/version --subresource=status",
    "create clusterversions.config.openshift.io",
    "patch clusteroperators.config.openshift.io/etcd --subresource=status",
    "delete clusteroperators.config.openshift.io/towpath",
    "patch machineconfigpools.machineconfiguration.openshift.io",
    "create events -n kube-system",
    "update leases.coordination.k8s.io/other -n towpath-agent",
    "create clusterrolebindings.rbac.authorization.k8s.io",
];

#[tokio::test]
async fn the_deployment_is_hardened_and_the_alerts_can_be_read() {
    let api = KubeApi::start().await;
    let rendered =
        |folder: &str| api.kubectl(&["kustomize", &manifests(folder).display().to_string()]);
    let documents = |text: &str| -> Vec<Value> {
        text.split("\n---\n")
            .map(|document| serde_saphyr::from_str(document).unwrap())
            .collect()
    };
    let agent = documents(&rendered(""));
    let deployment = agent
        .iter()
        .find(|one| one["kind"] == "Deployment")
        .unwrap();
    let pod = &deployment["spec"]["template"]["spec"];
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    let container = &pod["containers"][0];
    assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
    assert_eq!(
        container["securityContext"]["allowPrivilegeEscalation"],
        false
    );
    assert_eq!(
        container["securityContext"]["capabilities"]["drop"][0],
        "ALL"
    );
    for part in ["livenessProbe", "readinessProbe"] {
        assert!(container[part]["httpGet"]["path"].is_string(), "{part}");
    }
    for limit in ["cpu", "memory"] {
        assert!(
            container["resources"]["limits"][limit].is_string(),
            "{limit}"
        );
    }
    let with_keyring = documents(&rendered("../agent-keyring-secret"));
    let deployment = with_keyring
        .iter()
        .find(|one| one["kind"] == "Deployment")
        .unwrap();
    let pod = &deployment["spec"]["template"]["spec"];
    assert_eq!(violations(pod), Vec::<String>::new());
    let has = |list: &Value, wanted: Value| list.as_array().unwrap().contains(&wanted);
    let keyring =
        serde_json::json!({"name": "keyring", "secret": {"secretName": "towpath-keyring"}});
    assert!(has(&pod["volumes"], keyring), "{pod}");
    let mount = serde_json::json!({"name": "keyring", "mountPath": "/etc/towpath-keyring", "readOnly": true});
    assert!(has(&pod["containers"][0]["volumeMounts"], mount), "{pod}");
    let flag = Value::from("--keyring=/etc/towpath-keyring/keyring.asc");
    assert!(has(&pod["containers"][0]["args"], flag), "{pod}");
    let monitoring = documents(&rendered("monitoring"));
    let rules = monitoring
        .iter()
        .find(|one| one["kind"] == "PrometheusRule")
        .unwrap();
    let alerts = rules["spec"]["groups"][0]["rules"].as_array().unwrap();
    assert_eq!(alerts.len(), 4);
    for alert in alerts {
        let expression = alert["expr"].as_str().unwrap();
        assert!(
            promql_parser::parser::parse(expression).is_ok(),
            "{expression}"
        );
        assert!(expression.contains("towpath_agent_"), "{expression}");
        assert!(
            alert["annotations"]["summary"].is_string() && alert["labels"]["severity"].is_string(),
            "{alert}"
        );
    }
}

/// What may change DaemonSets and nodes runs as restricted as the agent.
#[tokio::test]
async fn the_deployments_of_those_that_act_are_restricted() {
    let api = KubeApi::start().await;
    for name in ["daemonsets", "nodes"] {
        let folder = manifests("").join("..").join(name);
        let text = api.kubectl(&["kustomize", &folder.display().to_string()]);
        let documents: Vec<Value> = text
            .split("\n---\n")
            .map(|document| serde_saphyr::from_str(document).unwrap())
            .collect();
        let of_kind = |kind: &str| documents.iter().find(|one| one["kind"] == kind).unwrap();
        let pod = &of_kind("Deployment")["spec"]["template"]["spec"];
        assert_eq!(violations(pod), Vec::<String>::new(), "{name}");
        let labels = &of_kind("Namespace")["metadata"]["labels"];
        assert_eq!(labels["pod-security.kubernetes.io/enforce"], "restricted");
    }
}
