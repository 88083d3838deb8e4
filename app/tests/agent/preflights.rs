//! Preflights that the fleet asks for: the agent has the cluster run them, clears them, and reports.

use serde_json::{Value, json};
use towpath_testing_kube::wait_for;
use towpath_testing_services::Towpath;

use crate::reports::Fleet;
use crate::site::{CLUSTER, Site};

/// A service whose graph has the site's images, with the cluster in its list, asked for a preflight of 4.20.3.
async fn asked(site: &Site, fleet: &Fleet<'_>) -> Towpath {
    let releases = site.path("data/releases.json");
    let mut graph: Value = serde_json::from_slice(&std::fs::read(&releases).unwrap()).unwrap();
    for node in graph["nodes"].as_array_mut().unwrap() {
        if node["version"] == "4.20.3+amd64" {
            node["payload"] = site.pull_spec("4.20.3").into();
        }
    }
    std::fs::write(&releases, graph.to_string()).unwrap();
    let list = json!({"clusters": [{
        "id": CLUSTER, "name": "shop", "organisation": "demo", "version": "4.20.1", "channel": "stable-4.20",
        "availableUpgrades": ["4.20.3"],
    }]});
    std::fs::write(site.path("list.json"), list.to_string()).unwrap();
    let service = fleet.serve_with(&["--clusters", &site.path("list.json").display().to_string()]);
    let ask = json!({"version": "4.20.3", "cluster": "shop"});
    service.until("the fleet is asked", |service| {
        fleet.post(service, "/api/v1/fleet/preflight", &ask).status == 200
    });
    service
}

async fn desired(site: &Site) -> Value {
    site.api.cluster_version().await["spec"]["desiredUpdate"].clone()
}

fn outcome(service: &Towpath) -> String {
    let answer = service.get("/api/v1/fleet/preflights").json();
    let listed = &answer["preflights"];
    let why = service.get("/api/v1/clusters/shop/why").json();
    let state = |value: &Value| value["state"].as_str().unwrap_or_default().to_owned();
    match state(&listed[0]) == state(&why["preflights"][0]) {
        true => format!("{} {}", state(&listed[0]), listed[0]["risks"]),
        false => "not yet the same in both".to_owned(),
    }
}

async fn run(finds: &[&str], expected: &str) {
    let mut site = Site::new().await;
    site.gates(finds).await;
    site.opt_in("true");
    site.offer(&[]);
    site.step().await;
    let fleet = Fleet::new(&site);
    let service = asked(&site, &fleet).await;
    let options = fleet.options();
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let looked = site.dry_run(&options);
    assert!(
        looked.out.contains("The fleet's preflight of 4.20.3: yes"),
        "{}{}",
        looked.out,
        looked.err
    );
    // The page of a cluster follows the store with the next pass.
    service.until("a dry run takes no turn", |service| {
        outcome(service) == "asked []"
    });
    let _agent = site.agent(&options);
    let preflight =
        json!({"version": "4.20.3", "image": site.pull_spec("4.20.3"), "mode": "Preflight"});
    wait_for("the cluster is asked", || async {
        (desired(&site).await == preflight).then_some(())
    })
    .await;
    site.step().await;
    wait_for("the agent has seen it run", || async {
        let object = site.api.cluster_version().await;
        let record = object["metadata"]["annotations"]["towpath.dev/agent-record"].to_string();
        record.contains("\\\"seen\\\":true").then_some(())
    })
    .await;
    site.step().await;
    wait_for("the request is cleared", || async {
        (desired(&site).await["mode"] == Value::Null).then_some(())
    })
    .await;
    assert_eq!(desired(&site).await.get("version"), None);
    service.until("the outcome is known", |service| {
        outcome(service) == expected
    });
    assert!(site.event("PreflightEnded").is_some());
    assert_eq!(site.history().await, ["4.20.1 Completed"]);
}

#[tokio::test]
async fn a_preflight_that_finds_nothing_has_passed() {
    run(&[], "passed []").await;
}

#[tokio::test]
async fn a_preflight_that_finds_risks_has_failed() {
    run(&["OldDriver"], "failed [\"OldDriver\"]").await;
}

#[tokio::test]
async fn a_cluster_without_preflights_says_so_and_is_not_touched() {
    let site = Site::new().await;
    site.opt_in("true");
    site.offer(&[]);
    site.step().await;
    let fleet = Fleet::new(&site);
    let service = asked(&site, &fleet).await;
    let options = fleet.options();
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let _agent = site.agent(&options);
    service.until("the outcome is known", |service| {
        outcome(service) == "unsupported []"
    });
    assert_eq!(desired(&site).await, Value::Null);
}
