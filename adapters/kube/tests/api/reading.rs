//! Reading costs only watches, and gets every object once.

use std::time::Duration;

use serde_json::json;
use towpath_core::cluster::Fact;
use towpath_formats::cluster::objects::{self, Kind};
use towpath_kube::{Requests, Settings, State, Subject, Verb};
use towpath_testing_kube::{CRDS, Fields, KubeApi, wait_for};

use crate::support::*;

#[tokio::test]
async fn everything_that_ready_reads_is_read() {
    let api = KubeApi::start().await;
    api.put(cluster_version()).await;
    api.put(operator("etcd", "False")).await;
    api.put(operator("towpath", "False")).await;
    api.put(node("one")).await;
    api.put(pool("worker", true)).await;
    api.put(optional_operator("openshift-config", "logging.v5", false))
        .await;
    api.put(optional_operator("towpath-agent", "logging.v5", true))
        .await;
    api.put(json!({
        "apiVersion": "apiserver.openshift.io/v1", "kind": "APIRequestCount", "metadata": {"name": "ingresses.v1beta1.extensions"},
        "status": {"removedInRelease": "1.22", "requestCount": 7},
    }))
    .await;
    api.put(config_map(
        "openshift-config-managed",
        "admin-gates",
        json!({"ack-4.9-x": "read this"}),
    ))
    .await;
    api.put(config_map(
        "openshift-config-managed",
        "something-else",
        json!({}),
    ))
    .await;
    api.put(config_map(
        "openshift-config",
        "admin-acks",
        json!({"ack-4.9-x": "true"}),
    ))
    .await;

    let objects = cluster(&api).await.objects();
    assert!(all_current(&objects), "{:?}", objects.states);
    let (known, findings) = objects::read(&objects.files, time("2026-01-02T00:00:00Z")).unwrap();
    assert_eq!(findings, []);
    assert_eq!(
        known.counts.values().copied().collect::<Vec<_>>(),
        [1, 1, 1, 1, 1, 1, 2],
        "{:?}",
        known.counts
    );
    // What only `ready` asks for is not watched.
    assert_eq!(
        known.counts.keys().copied().collect::<Vec<_>>(),
        Kind::ALL[..7]
    );
    let facts = &known.facts;
    match (
        &facts.history,
        &facts.nodes,
        &facts.pools,
        &facts.operators,
        &facts.apis,
        &facts.gates,
        &facts.acks,
    ) {
        (
            Fact::Known(history),
            Fact::Known(nodes),
            Fact::Known(pools),
            Fact::Known(operators),
            Fact::Known(apis),
            Fact::Known(gates),
            Fact::Known(acks),
        ) => {
            let counts = [
                history.len(),
                nodes.len(),
                pools.len(),
                operators.len(),
                apis.len(),
                gates.len(),
                acks.len(),
            ];
            assert_eq!(counts, [1; 7]);
        }
        unknown => panic!("something is not known: {unknown:?}"),
    }
    assert_eq!(
        names(&objects, Subject::ClusterOperators),
        ["etcd"],
        "what the agent says itself is no fact"
    );
    let seen = objects.version.unwrap();
    let there = api.cluster_version().await;
    assert_eq!(
        seen.resource_version,
        there["metadata"]["resourceVersion"].as_str().unwrap()
    );
    assert_eq!(seen.record, None);
}

#[tokio::test]
async fn changes_wake_and_are_seen() {
    let api = KubeApi::start().await;
    api.put(cluster_version()).await;
    let cluster = cluster(&api).await;
    api.put(node("two")).await;
    until(&cluster, "a node comes", |objects| {
        names(objects, Subject::Nodes) == ["two"]
    })
    .await;
    api.kubectl(&["label", "node", "two", "zone=a"]);
    let zone = |objects: &towpath_kube::Objects| {
        file(objects, Subject::Nodes)["items"][0]["metadata"]["labels"]["zone"] == "a"
    };
    until(&cluster, "its label comes", zone).await;
    api.kubectl(&["delete", "node", "two", "--wait=false"]);
    until(&cluster, "it goes", |objects| {
        names(objects, Subject::Nodes).is_empty()
    })
    .await;
}

#[tokio::test]
async fn long_lists_are_read_page_by_page() {
    let api = KubeApi::start().await;
    for number in 0..120 {
        api.put(optional_operator(
            "openshift-config",
            &format!("operator-{number:03}"),
            false,
        ))
        .await;
    }
    let cluster = cluster(&api).await;
    assert_eq!(
        names(&cluster.objects(), Subject::ClusterServiceVersions).len(),
        120
    );
    assert_eq!(
        cluster.requests()[&(Verb::List, "clusterserviceversions".to_owned())],
        3
    );
}

#[tokio::test]
async fn a_kind_that_comes_later_is_read_then_and_one_that_goes_is_absent() {
    let api = KubeApi::start().await;
    let pools = CRDS
        .iter()
        .find(|crd| crd.kind == "MachineConfigPool")
        .unwrap();
    api.remove_kind(pools).await;
    let cluster = cluster(&api).await;
    let objects = cluster.objects();
    assert_eq!(objects.states[&Subject::MachineConfigPools], State::Absent);
    assert_eq!(
        file(&objects, Subject::MachineConfigPools),
        serde_json::Value::Null,
        "unknown, and not none"
    );

    api.add_kind(pools, Fields::Released).await;
    api.put(pool("worker", false)).await;
    until(&cluster, "pools come", |objects| {
        names(objects, Subject::MachineConfigPools) == ["worker"]
    })
    .await;

    api.remove_kind(pools).await;
    let is_absent = |objects: &towpath_kube::Objects| {
        objects.states[&Subject::MachineConfigPools] == State::Absent
    };
    until(&cluster, "pools go", is_absent).await;
}

#[tokio::test]
async fn a_quiet_cluster_costs_its_watches_alone() {
    let api = KubeApi::start().await;
    api.put(cluster_version()).await;
    let cluster = cluster_with(
        &api,
        Settings {
            watch: Duration::from_secs(1),
            ..settings()
        },
    )
    .await;
    let watches = |requests: &Requests| -> u64 {
        requests
            .iter()
            .filter(|((verb, _), _)| *verb == Verb::Watch)
            .map(|(_, count)| count)
            .sum()
    };
    let others = |requests: &Requests| -> Requests {
        requests
            .iter()
            .filter(|((verb, _), _)| *verb != Verb::Watch)
            .map(|(key, count)| (key.clone(), *count))
            .collect()
    };
    let before = cluster.requests();
    wait_for("each watch is asked for three times more", || async {
        cluster.objects();
        (watches(&cluster.requests()) >= watches(&before) + 27).then_some(())
    })
    .await;
    assert_eq!(others(&cluster.requests()), others(&before));
    // With the usual 290 s: 9 watches, 111 requests an hour.
    let per_hour = Subject::ALL.len() as u64 * 3_600 / Settings::default().watch.as_secs();
    assert_eq!(per_hour, 111);
}
