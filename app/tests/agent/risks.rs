//! Accepted risks: they reach the cluster with the start, beside what others put there, and leave with the end of the update.

use serde_json::{Value, json};

use crate::reports::Fleet;
use crate::site::{CLUSTER, Site};

const ACCEPTS: &str = "atLeastBetween: PT0S\nacceptedRisks:\n- {name: SlowStart, reason: we can wait, owner: ada, until: 2126-01-31}\n";

async fn accepted(site: &Site) -> Value {
    site.api.cluster_version().await["spec"]["desiredUpdate"]["acceptRisks"].clone()
}

#[tokio::test]
async fn an_accepted_risk_reaches_the_cluster_with_the_start_and_leaves_with_its_end() {
    let mut site = Site::new().await;
    site.gates(&[]).await;
    site.opt_in("true");
    site.patch(&json!({"spec": {"desiredUpdate": {"acceptRisks": [{"name": "Theirs"}]}}}));
    site.offer_with_risk("4.20.1", "4.20.2", "SlowStart");
    site.step().await;
    let held = site.dry_run(&[]);
    assert!(
        held.code == 1 && held.out.contains("not accepted: SlowStart"),
        "{}{}",
        held.out,
        held.err
    );
    site.policy(&ACCEPTS.replace("2126", "2026"));
    assert_eq!(site.dry_run(&[]).code, 1, "that was long ago");
    site.policy(ACCEPTS);
    let started = site.once(&[]);
    assert_eq!(started.code, 0, "{}{}", started.out, started.err);
    assert!(started.out.contains("RisksAccepted"), "{}", started.out);
    let both = json!([{"name": "Theirs"}, {"name": "SlowStart"}]);
    assert_eq!(accepted(&site).await, both);
    assert_eq!(site.asked().await.unwrap().0, "4.20.2");
    // The operator would refuse a risk that nobody has accepted.
    site.until_history(&["4.20.2 Completed", "4.20.1 Completed"])
        .await;
    site.once(&[]);
    assert_eq!(accepted(&site).await, json!([{"name": "Theirs"}]));
}

#[tokio::test]
async fn a_cluster_without_the_field_is_told_so_and_updated_all_the_same() {
    let site = Site::new().await;
    site.opt_in("true");
    site.offer_with_risk("4.20.1", "4.20.2", "SlowStart");
    site.step().await;
    site.policy(ACCEPTS);
    let started = site.once(&[]);
    assert_eq!(started.code, 0, "{}{}", started.out, started.err);
    assert!(
        started.out.contains("The API dropped the risks"),
        "{}",
        started.out
    );
    let said = site.event("AcceptedRisksDropped").unwrap();
    assert!(said.contains("does not have that field"), "{said}");
    assert_eq!(accepted(&site).await, Value::Null);
    site.until_history(&["4.20.2 Completed"]).await;
}

#[tokio::test]
async fn an_open_preflight_is_no_request_and_its_mode_goes_with_a_start() {
    let mut site = Site::new().await;
    site.gates(&[]).await;
    site.opt_in("true");
    site.offer(&[("4.20.1", "4.20.2"), ("4.20.1", "4.20.3")]);
    let image = site.pull_spec("4.20.3");
    site.patch(&json!({"spec": {"desiredUpdate": {"version": "4.20.3", "image": image, "mode": "Preflight"}}}));
    site.step().await;
    assert_eq!(site.history().await, ["4.20.1 Completed"]);
    site.policy("atLeastBetween: PT0S\npin: \"4.20.2\"\n");
    let started = site.once(&[]);
    assert_eq!(started.code, 0, "{}{}", started.out, started.err);
    let asked = site.api.cluster_version().await["spec"]["desiredUpdate"].clone();
    assert_eq!(
        asked,
        json!({"version": "4.20.2", "image": site.pull_spec("4.20.2")})
    );
    site.until_history(&["4.20.2 Completed", "4.20.1 Completed"])
        .await;
}

/// The fleet has started the update, and its policy accepts the risk. The agent's own policy says nothing.
#[tokio::test]
async fn a_risk_that_the_fleet_accepts_reaches_the_cluster() {
    let mut site = Site::new().await;
    site.gates(&[]).await;
    site.opt_in("true");
    site.offer_with_risk("4.20.1", "4.20.2", "SlowStart");
    site.step().await;
    let fleet = Fleet::new(&site);
    let policy = |risks: &str| {
        let policy = format!(
            "name: demo\norgId: demo\nupgradePolicyClusters:\n- name: shop\n  upgradePolicy:\n    workloads: [web]\n    schedule: \"* * * * *\"\n    acceptedRisks: {risks}\n"
        );
        std::fs::write(site.path("fleet/org.yaml"), policy).unwrap();
    };
    let list = json!({
        "clusters": [{"id": CLUSTER, "name": "shop", "organisation": "demo", "version": "4.20.1", "availableUpgrades": ["4.20.2"]}],
        "upgrades": [{"cluster": CLUSTER, "to": "4.20.2", "state": "started", "startAt": "2026-11-16T00:00:00Z"}],
    });
    std::fs::write(site.path("list.json"), list.to_string()).unwrap();
    let options = fleet.options();
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let serve = || fleet.serve_with(&["--clusters", &site.path("list.json").display().to_string()]);
    policy("[{name: Other, reason: r, owner: ada, until: 2126-01-31}]");
    let service = serve();
    assert_eq!(site.dry_run(&options).code, 1);
    drop(service);
    policy("[{name: SlowStart, reason: r, owner: ada, until: 2126-01-31}]");
    let service = serve();
    service.until("the cluster is known", |service| {
        service.get("/api/v1/clusters/shop/why").status == 200
    });
    let started = site.once(&options);
    assert_eq!(started.code, 0, "{}{}", started.out, started.err);
    assert_eq!(accepted(&site).await, json!([{"name": "SlowStart"}]));
    site.until_history(&["4.20.2 Completed"]).await;
}
