//! An ACM hub: its clusters are read, and its ClusterCurators upgrade them. The ClusterCurator's definition is the real one where
//! `TOWPATH_REAL_DATA` names it.

use serde_json::{Value, json};
use towpath_core::cluster::ClusterId;
use towpath_core::fleet::{Health, Owner, Product, UpgradeState};
use towpath_core::version::Version;
use towpath_kube::{
    Access, CurateOutcome, CuratedUpgrade, CuratorPlace, CuratorProgress, Hub, HubFleet,
    UPGRADE_ANNOTATION, WithdrawOutcome,
};
use towpath_testing_kube::{ADMIN_TOKEN, KubeApi};

use crate::support::{settings, time};

const ID: &str = "0cd7ee3d-0000-4000-8000-00000000000a";
const NOON: &str = "2026-01-05T12:00:00Z";

async fn hub(api: &KubeApi) -> Hub {
    api.make_hub().await;
    let access = Access::Kubeconfig {
        path: Some(api.kubeconfig("admin", ADMIN_TOKEN)),
        context: None,
    };
    Hub::connect(&access, settings()).await.unwrap()
}

async fn fleet(hub: &Hub) -> HubFleet {
    hub.fleet(time(NOON)).await.unwrap()
}

fn place(name: &str) -> CuratorPlace {
    CuratorPlace {
        namespace: name.to_owned(),
        name: name.to_owned(),
        is_hosted: false,
    }
}

fn version(text: &str) -> Version {
    text.parse().unwrap()
}

fn to(version: &Version) -> CuratedUpgrade<'_> {
    CuratedUpgrade {
        version,
        pool: None,
        channel: None,
        start_at: time(NOON),
    }
}

/// The condition that the hub's controller writes.
fn job(status: &str, reason: &str, message: &str) -> Value {
    json!({"status": {"conditions": [{
        "type": "clustercurator-job", "status": status, "reason": reason, "message": message, "lastTransitionTime": NOON,
    }]}})
}

#[tokio::test(flavor = "multi_thread")]
async fn the_hubs_clusters_are_read_with_channel_offers_and_health() {
    let api = KubeApi::start().await;
    let hub = hub(&api).await;
    api.put_managed_cluster("shop", ID, "4.20.1", "stable-4.20", &["4.20.3", "4.20.2"])
        .await;
    let silent = "0cd7ee3d-0000-4000-8000-00000000000b";
    api.put_managed_cluster("silent", silent, "4.20.1", "stable-4.20", &[])
        .await;
    let managed = "cluster.open-cluster-management.io/v1";
    api.put(json!({
        "apiVersion": managed, "kind": "ManagedCluster", "metadata": {"name": "silent"}, "spec": {"hubAcceptsClient": true},
        "status": {"conditions": [{"type": "ManagedClusterConditionAvailable", "status": "Unknown", "message": "no lease"}]},
    }))
    .await;
    api.put(json!({"apiVersion": managed, "kind": "ManagedCluster", "metadata": {"name": "kind"}, "spec": {}}))
        .await;
    api.put(json!({
        "apiVersion": managed, "kind": "ManagedCluster",
        "metadata": {"name": "new", "labels": {"vendor": "OpenShift"}}, "spec": {},
    }))
    .await;
    let fleet = fleet(&hub).await;
    let names: Vec<&str> = fleet.clusters.iter().map(|state| &*state.name).collect();
    assert_eq!(names, ["shop", "silent"], "one is no OpenShift");
    let shop = &fleet.clusters[0];
    let offers: Vec<String> = shop.offers.iter().map(|o| o.version.to_string()).collect();
    assert_eq!(offers, ["4.20.3", "4.20.2"]);
    assert_eq!(
        (
            &*shop.organisation,
            shop.channel.as_ref().map(|c| c.as_str())
        ),
        ("acme", Some("stable-4.20"))
    );
    assert_eq!((&shop.health, &shop.going_to), (&Health::Healthy, &None));
    let why = "it is not available to the hub: no lease".into();
    assert_eq!(fleet.clusters[1].health, Health::Unhealthy { why });
    let unread = &fleet.unread[0];
    assert_eq!(
        (
            &*unread.name,
            &*unread.organisation,
            unread.version.to_string()
        ),
        ("new", "default", "0.0.0".to_owned())
    );
    assert!(!unread.health.is_healthy(), "others wait for it");
    let findings: Vec<String> = fleet.findings.iter().map(ToString::to_string).collect();
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert!(
        findings[0].contains("acm: cluster new") && findings[0].contains("version.openshift.io")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_curator_is_made_followed_and_used_again() {
    let api = KubeApi::start().await;
    let hub = hub(&api).await;
    api.put_managed_cluster("shop", ID, "4.20.1", "stable-4.20", &["4.20.2"])
        .await;
    let (at, next) = (place("shop"), version("4.21.4"));
    let upgrade = CuratedUpgrade {
        channel: Some("stable-4.21"),
        ..to(&next)
    };
    assert_eq!(hub.curate(&at, &upgrade).await.unwrap(), CurateOutcome::Now);
    let made = api.curator("shop", "shop").await;
    assert_eq!(made["spec"]["desiredCuration"], "upgrade");
    assert_eq!(
        made["spec"]["upgrade"],
        json!({"desiredUpdate": "4.21.4", "channel": "stable-4.21", "monitorTimeout": 360})
    );
    let waiting = CurateOutcome::Before(CuratorProgress::Waiting);
    assert_eq!(hub.curate(&at, &upgrade).await.unwrap(), waiting, "once");

    api.change_curator("shop", "shop", job("False", "Job_has_finished", "x"))
        .await;
    let running = fleet(&hub).await;
    assert_eq!(running.clusters[0].going_to, Some(next.clone()));
    assert_eq!(
        running.progress(&at, &upgrade),
        Some(&CuratorProgress::Running)
    );
    let failed = "x DesiredCuration: upgrade Version (4.21.4;stable-4.21;) Failed - Timed out";
    api.change_curator("shop", "shop", job("True", "Job_failed", failed))
        .await;
    api.change_curator("shop", "shop", json!({"spec": {"desiredCuration": null}}))
        .await;
    let ended = fleet(&hub).await;
    let progress = CuratorProgress::Failed(failed.to_owned());
    assert_eq!(ended.progress(&at, &upgrade), Some(&progress));
    assert_eq!(ended.upgrades, [], "what has ended holds nobody");

    // The second attempt starts afresh: the hub would do nothing over the outcome of the first.
    let again = CuratedUpgrade {
        start_at: time("2026-01-06T12:00:00Z"),
        ..to(&next)
    };
    assert_eq!(hub.curate(&at, &again).await.unwrap(), CurateOutcome::Now);
    let made = api.curator("shop", "shop").await;
    assert_eq!(made["status"], Value::Null, "{made}");
    assert_eq!(
        made["spec"]["upgrade"]["channel"],
        Value::Null,
        "a channel is not left over"
    );
    assert_eq!(
        fleet(&hub).await.progress(&at, &again),
        Some(&CuratorProgress::Waiting)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_curator_keeps_its_hooks() {
    let api = KubeApi::start().await;
    let hub = hub(&api).await;
    api.put_managed_cluster("shop", ID, "4.20.1", "stable-4.20", &["4.20.2"])
        .await;
    let hooks = json!({"towerAuthSecret": "tower", "prehook": [{"name": "check", "type": "Job"}]});
    api.put_curator(
        "shop",
        "shop",
        json!({"upgrade": hooks, "install": {"jobMonitorTimeout": 7}}),
    )
    .await;
    let to_version = version("4.20.2");
    let outcome = hub.curate(&place("shop"), &to(&to_version)).await.unwrap();
    assert_eq!(outcome, CurateOutcome::Now);
    let spec = &api.curator("shop", "shop").await["spec"];
    assert_eq!(spec["upgrade"]["prehook"][0]["name"], "check");
    assert_eq!(spec["upgrade"]["desiredUpdate"], "4.20.2");
    assert_eq!(spec["install"]["jobMonitorTimeout"], 7);
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_elses_open_curation_is_never_overwritten_and_holds() {
    let api = KubeApi::start().await;
    let hub = hub(&api).await;
    api.put_managed_cluster("shop", ID, "4.20.1", "stable-4.20", &["4.20.2"])
        .await;
    let to_version = version("4.20.2");
    let theirs = json!({"desiredCuration": "upgrade", "upgrade": {"desiredUpdate": "4.20.3"}});
    api.put_curator("shop", "shop", theirs).await;
    let before = api.curator("shop", "shop").await;
    let doing = "ClusterCurator shop/shop upgrades it to 4.20.3";
    let outcome = hub.curate(&place("shop"), &to(&to_version)).await.unwrap();
    assert_eq!(outcome, CurateOutcome::InTheWay(doing.to_owned()));
    let withdrawn = hub
        .withdraw(&place("shop"), &to(&to_version))
        .await
        .unwrap();
    assert_eq!(withdrawn, WithdrawOutcome::NothingToDo);
    assert_eq!(api.curator("shop", "shop").await, before);
    let read = fleet(&hub).await;
    let upgrade = &read.upgrades[0];
    assert_eq!(
        (upgrade.owner, upgrade.state, upgrade.to.to_string()),
        (Owner::Other, UpgradeState::Planned, "4.20.3".to_owned())
    );
    let in_the_way = read.in_the_way(&place("shop"), &to(&to_version));
    assert_eq!(in_the_way.as_deref(), Some(doing));

    api.change_curator(
        "shop",
        "shop",
        json!({"spec": {"desiredCuration": "destroy"}}),
    )
    .await;
    let why = "ClusterCurator shop/shop has `desiredCuration: destroy`".into();
    assert_eq!(
        fleet(&hub).await.clusters[0].health,
        Health::Unhealthy { why }
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_given_up_is_withdrawn_unless_its_job_runs() {
    let api = KubeApi::start().await;
    let hub = hub(&api).await;
    api.put_managed_cluster("shop", ID, "4.20.1", "stable-4.20", &["4.20.2"])
        .await;
    let (at, to_version) = (place("shop"), version("4.20.2"));
    let upgrade = to(&to_version);
    hub.curate(&at, &upgrade).await.unwrap();
    assert_eq!(
        hub.withdraw(&at, &upgrade).await.unwrap(),
        WithdrawOutcome::Now
    );
    let left = api.curator("shop", "shop").await;
    assert_eq!(left["spec"]["desiredCuration"], Value::Null);
    assert_eq!(
        left["metadata"]["annotations"][UPGRADE_ANNOTATION],
        Value::Null
    );
    assert_eq!(
        hub.withdraw(&at, &upgrade).await.unwrap(),
        WithdrawOutcome::NothingToDo
    );
    hub.curate(&at, &upgrade).await.unwrap();
    api.change_curator(
        "shop",
        "shop",
        json!({"spec": {"curatorJob": "curator-job-x"}}),
    )
    .await;
    assert_eq!(
        hub.withdraw(&at, &upgrade).await.unwrap(),
        WithdrawOutcome::Running
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hosted_control_plane_goes_first_and_its_node_pools_follow() {
    let api = KubeApi::start().await;
    let hub = hub(&api).await;
    api.put_managed_cluster("hosted", ID, "4.20.2", "stable-4.20", &[])
        .await;
    api.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "clusters"}}))
        .await;
    let hypershift = "hypershift.openshift.io/v1beta1";
    api.put(json!({
        "apiVersion": hypershift, "kind": "HostedCluster", "metadata": {"name": "hosted", "namespace": "clusters"},
        "spec": {"clusterID": ID, "channel": "fast-4.20"},
        "status": {"version": {"availableUpdates": [{"version": "4.20.3"}]}},
    }))
    .await;
    api.put(json!({
        "apiVersion": hypershift, "kind": "NodePool", "metadata": {"name": "workers", "namespace": "clusters"},
        "spec": {"clusterName": "hosted"}, "status": {"version": "4.20.1"},
    }))
    .await;
    let read = fleet(&hub).await;
    let state = &read.clusters[0];
    assert!(
        matches!(&state.product, Product::HostedControlPlane { pools } if &*pools[0].id == "workers")
    );
    assert_eq!(
        state.channel.as_ref().map(|c| c.as_str()),
        Some("fast-4.20")
    );
    let at = &read.places[&ClusterId::new(ID).unwrap()];
    let (plane, pool) = (version("4.20.3"), version("4.20.2"));
    let of_pool = CuratedUpgrade {
        pool: Some("workers"),
        channel: Some("fast-4.20"),
        ..to(&pool)
    };
    assert_eq!(hub.curate(at, &of_pool).await.unwrap(), CurateOutcome::Now);
    let made = api.curator("clusters", "hosted").await;
    assert_eq!(
        made["spec"]["upgrade"],
        json!({"desiredUpdate": "4.20.2", "upgradeType": "NodePools", "nodePoolNames": ["workers"], "monitorTimeout": 360})
    );
    assert_eq!(
        fleet(&hub).await.upgrades[0].pool.as_deref(),
        Some("workers")
    );
    let done = job("True", "Job_has_finished", "x upgrade Version (4.20.2;;)");
    api.change_curator("clusters", "hosted", done).await;
    assert_eq!(
        hub.curate(at, &to(&plane)).await.unwrap(),
        CurateOutcome::Now
    );
    let spec = &api.curator("clusters", "hosted").await["spec"]["upgrade"];
    assert_eq!(
        (&spec["upgradeType"], &spec["nodePoolNames"]),
        (&json!("ControlPlane"), &Value::Null)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_of_a_hosted_control_plane_is_seen_in_its_status() {
    let api = KubeApi::start().await;
    let hub = hub(&api).await;
    api.put_managed_cluster("hosted", ID, "4.20.2", "stable-4.20", &["4.20.3"])
        .await;
    api.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "clusters"}}))
        .await;
    let image = "quay.example/release";
    let update = |state: &str, version: &str| json!({"state": state, "version": version, "image": image, "startedTime": NOON, "completionTime": null, "verified": false});
    let with = |desired: &str, history: Value| {
        json!({
            "apiVersion": "hypershift.openshift.io/v1beta1", "kind": "HostedCluster",
            "metadata": {"name": "hosted", "namespace": "clusters"}, "spec": {"clusterID": ID},
            "status": {"version": {"desired": {"version": desired, "image": image}, "history": history, "availableUpdates": [], "observedGeneration": 1}},
        })
    };
    for (desired, history, going_to, is_healthy) in [
        ("4.20.2", json!([update("Completed", "4.20.2")]), None, true),
        (
            "4.20.3",
            json!([update("Completed", "4.20.2")]),
            Some("4.20.3"),
            true,
        ),
        (
            "4.20.2",
            json!([update("Partial", "4.20.3")]),
            Some("4.20.3"),
            true,
        ),
        ("4.20.2", json!([update("Partial", "4.20.2")]), None, false),
    ] {
        api.put(with(desired, history.clone())).await;
        let read = fleet(&hub).await;
        let state = &read.clusters[0];
        let expected = going_to.map(version);
        assert_eq!(state.going_to, expected, "{desired} {history}");
        assert_eq!(state.health.is_healthy(), is_healthy, "{desired} {history}");
        assert_eq!(read.upgrades.len(), usize::from(expected.is_some()));
    }
}

/// Towpath makes two starts from one EUS minor to the next. Somebody else may have made one with an `intermediateUpdate`.
#[tokio::test(flavor = "multi_thread")]
async fn a_curator_with_an_intermediate_update_cannot_be_used_again() {
    let api = KubeApi::start().await;
    let hub = hub(&api).await;
    api.put_managed_cluster("shop", ID, "4.20.1", "eus-4.20", &[])
        .await;
    let at = place("shop");
    let upgrade =
        json!({"desiredUpdate": "4.22.1", "intermediateUpdate": "4.21.4", "channel": "eus-4.22"});
    let spec = json!({"desiredCuration": "upgrade", "upgrade": upgrade});
    api.put_curator("shop", "shop", spec).await;
    let done = job(
        "True",
        "Job_has_finished",
        "x upgrade Version (4.22.1;eus-4.22;)",
    );
    api.change_curator("shop", "shop", done).await;
    // The real definition has rules that refuse another version in such a curator.
    let patch = version("4.22.2");
    let why = "ClusterCurator shop/shop has the `intermediateUpdate` of an earlier upgrade, and the hub lets nobody change it; delete the ClusterCurator";
    let outcome = hub.curate(&at, &to(&patch)).await.unwrap();
    assert_eq!(outcome, CurateOutcome::InTheWay(why.to_owned()));
    let read = fleet(&hub).await;
    assert_eq!(read.in_the_way(&at, &to(&patch)).as_deref(), Some(why));
}
