//! `towpath fleet run --acm`: clusters come from an ACM hub, and its ClusterCurators upgrade them. The hub is a real API server, and the
//! ClusterCurator's definition is the real one where `TOWPATH_REAL_DATA` names it.

use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::{Value, json};
use towpath_testing_kube::{ADMIN_TOKEN, KubeApi};

const ID: &str = "0cd7ee3d-0000-4000-8000-00000000000a";
const POLICY: &str = "name: acme\norgId: acme\nupgradePolicyDefaults:\n- name: all\n  matchLabels: {vendor: OpenShift}\n  upgradePolicy: {workloads: [web], schedule: '* * * * *', conditions: {soakDays: 0}}\n";

/// A hub with one cluster, and a policy for it.
struct World {
    api: KubeApi,
    folder: tempfile::TempDir,
}

impl World {
    async fn new() -> Self {
        let api = KubeApi::start().await;
        api.make_hub().await;
        api.put_managed_cluster("shop", ID, "4.20.1", "stable-4.20", &["4.20.2"])
            .await;
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("fleet")).expect("a folder");
        std::fs::write(folder.path().join("fleet/acme.yaml"), POLICY).expect("written");
        Self { api, folder }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_towpath"));
        command.args(arguments).output().expect("towpath runs")
    }

    fn towpath(&self, arguments: &[&str]) -> String {
        let done = self.run(arguments);
        assert!(done.status.success(), "{done:?}");
        String::from_utf8(done.stdout).expect("text")
    }

    /// A command at that time of the day.
    fn at(&self, clock: &str, command: &[&str]) -> String {
        let now = format!("2026-01-05T{clock}:00Z");
        let kubeconfig: PathBuf = self.api.kubeconfig("admin", ADMIN_TOKEN);
        let kubeconfig = kubeconfig.display().to_string();
        let (fleet, store) = (
            self.path("fleet"),
            format!("sqlite:{}", self.path("fleet.db")),
        );
        let options = ["--fleet", &fleet, "--store", &store, "--now", &now];
        self.towpath(&[command, &options, &["--acm", &kubeconfig]].concat())
    }

    fn pass(&self, clock: &str) -> String {
        self.at(clock, &["fleet", "run", "--once", "--rehearse"])
    }

    fn upgrades(&self) -> Value {
        let store = format!("sqlite:{}", self.path("fleet.db"));
        let text = self.towpath(&["fleet", "upgrades", "--store", &store, "--output", "json"]);
        let told: Value = serde_json::from_str(&text).expect("JSON");
        told["entries"].clone()
    }

    async fn curator(&self) -> Value {
        self.api.curator("shop", "shop").await
    }

    async fn job(&self, status: &str, reason: &str, message: &str) {
        let condition = json!({
            "type": "clustercurator-job", "status": status, "reason": reason, "message": message,
            "lastTransitionTime": "2026-01-05T12:10:00Z",
        });
        let status = json!({"status": {"conditions": [condition]}});
        self.api.change_curator("shop", "shop", status).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_curator_upgrades_the_cluster_when_its_time_has_come() {
    let world = World::new().await;
    assert!(world.pass("12:00").contains("1 planned"));
    assert_eq!(world.curator().await, Value::Null, "a hub has no calendar");
    assert!(world.pass("12:08").contains("1 began"));
    let made = world.curator().await;
    assert_eq!(made["spec"]["desiredCuration"], "upgrade", "{made}");
    assert_eq!(made["spec"]["upgrade"]["desiredUpdate"], "4.20.2");
    world.job("False", "Job_has_finished", "x").await;
    let running = world.curator().await;
    world.pass("12:09");
    assert_eq!(world.curator().await, running, "nothing is asked for twice");
    world
        .api
        .put_managed_cluster("shop", ID, "4.20.2", "stable-4.20", &[])
        .await;
    assert!(world.pass("13:00").contains("1 ended"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_fails_is_an_upgrade_that_failed_and_says_why() {
    let world = World::new().await;
    world.pass("12:00");
    world.pass("12:08");
    let said = "x DesiredCuration: upgrade Version (4.20.2;;) Failed - prehook check";
    world.job("True", "Job_failed", said).await;
    world.pass("12:20");
    let upgrades = world.upgrades().to_string();
    assert!(
        upgrades.contains("failed") && upgrades.contains("prehook check"),
        "{upgrades}"
    );
    assert!(world.pass("12:21").contains("0 planned"), "it backs off");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_curator_that_a_person_deletes_is_not_written_again() {
    let world = World::new().await;
    world.pass("12:00");
    assert!(world.pass("12:08").contains("1 began"));
    world.pass("12:09");
    world.api.delete_curator("shop", "shop").await;
    world.pass("12:10");
    assert_eq!(world.curator().await, Value::Null);
    let upgrades = world.upgrades().to_string();
    assert!(
        upgrades.contains("failed")
            && upgrades.contains("somebody deleted ClusterCurator shop/shop"),
        "{upgrades}"
    );
    assert!(world.pass("12:20").contains("0 planned"), "it backs off");
    assert_eq!(world.curator().await, Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_elses_upgrade_holds_the_cluster_and_is_left_alone() {
    let world = World::new().await;
    let theirs = json!({"desiredCuration": "upgrade", "upgrade": {"desiredUpdate": "4.20.3"}});
    world.api.put_curator("shop", "shop", theirs.clone()).await;
    let before = world.curator().await;
    assert!(world.pass("12:00").contains("0 planned"));
    let why = world.at("12:00", &["fleet", "why", "shop"]);
    assert!(why.contains("its upgrade to 4.20.3 is planned"), "{why}");
    assert_eq!(world.curator().await, before);

    // One that comes while ours waits for its time: ours gives way.
    world
        .api
        .change_curator("shop", "shop", json!({"spec": {"desiredCuration": null}}))
        .await;
    assert!(world.pass("12:10").contains("1 planned"));
    world
        .api
        .change_curator("shop", "shop", json!({"spec": theirs}))
        .await;
    let before = world.curator().await;
    world.pass("12:18");
    assert_eq!(world.curator().await, before);
    let upgrades = world.upgrades().to_string();
    assert!(
        upgrades.contains("refused") && upgrades.contains("4.20.3"),
        "{upgrades}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_cannot_be_understood_holds_the_sectors_after_its_own() {
    let world = World::new().await;
    let policy = "name: acme\norgId: acme\nsectors: [{name: early}, {name: late, dependencies: [{name: early}]}]\nupgradePolicyClusters:\n\
        - {name: shop, upgradePolicy: {workloads: [web], schedule: '* * * * *', conditions: {soakDays: 0, sector: late}}}\n\
        - {name: first, upgradePolicy: {workloads: [web], schedule: '* * * * *', conditions: {soakDays: 0, sector: early}}}\n";
    std::fs::write(world.folder.path().join("fleet/acme.yaml"), policy).expect("written");
    world
        .api
        .put(json!({
            "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster", "spec": {"hubAcceptsClient": true},
            "metadata": {"name": "first", "labels": {"vendor": "OpenShift", "cluster.open-cluster-management.io/clusterset": "acme"}},
        }))
        .await;
    let kubeconfig = world.api.kubeconfig("admin", ADMIN_TOKEN);
    let (fleet, kubeconfig) = (world.path("fleet"), kubeconfig.display().to_string());
    let plan = world.run(&["fleet", "plan", "--fleet", &fleet, "--acm", &kubeconfig]);
    let [told, aside] = [&plan.stdout, &plan.stderr].map(|text| String::from_utf8_lossy(text));
    assert_eq!(plan.status.code(), Some(1), "{told}{aside}");
    assert!(told.contains("sector early comes first"), "{told}");
    assert!(
        aside.contains("acm-cluster") && aside.contains("1 cluster cannot be read"),
        "{aside}"
    );
    assert!(world.pass("12:00").contains("0 planned"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_hubs_fleet_is_exported_and_two_apis_at_once_are_refused() {
    let world = World::new().await;
    let kubeconfig = world.api.kubeconfig("admin", ADMIN_TOKEN);
    let kubeconfig = kubeconfig.display().to_string();
    let list = world.towpath(&["fleet", "export", "--acm", &kubeconfig]);
    assert!(list.contains(ID) && list.contains("stable-4.20"), "{list}");
    let both = ["--ocm", "https://ocm.example", "--ocm-token", "t"];
    let refused = world.run(&[&["fleet", "export", "--acm", &kubeconfig], &both[..]].concat());
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        said.contains("--ocm and --acm both tell which clusters there are"),
        "{said}"
    );
}
