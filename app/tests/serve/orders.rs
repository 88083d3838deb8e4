//! Orders: what the fleet asks of a cluster comes sealed for that cluster, and for nobody else.

use serde_json::json;
use towpath_core::agent::OrdersUse;
use towpath_core::fleet::RiskEnd;
use towpath_formats::agent::stamp::Nonce;

use crate::agent::{Ground, ID, id, run, token};

#[test]
fn the_orders_have_the_risks_that_count_on_the_way_of_the_update() {
    let ground = Ground::new();
    let risk = |name: &str, until: &str| {
        format!("{{name: {name}, reason: known, owner: ada, until: {until}}}")
    };
    let risks = [
        risk("Later", "2126-01-31"),
        risk("Over", "2020-01-31"),
        risk("NotFixed", "fixed"),
    ];
    let policy = format!(
        "name: demo\norgId: demo\nupgradePolicyClusters:\n- name: s1\n  upgradePolicy:\n    workloads: [web]\n    schedule: \"* * * * *\"\n    acceptedRisks: [{}]\n",
        risks.join(", ")
    );
    std::fs::write(ground.path("policy/org.yaml"), policy).expect("it can be written");
    let list = |offers: &[&str]| {
        let list = json!({
            "clusters": [{"id": ID, "name": "s1", "organisation": "demo", "version": "4.20.0", "availableUpgrades": offers}],
            "upgrades": [{"cluster": ID, "to": "4.20.3", "state": "started", "startAt": "2026-11-16T00:00:00Z"}],
        });
        std::fs::write(ground.path("list.json"), list.to_string()).expect("it can be written");
    };
    list(&["4.20.3"]);
    let listed = ground.path("list.json").display().to_string();
    let towpath = ground.serve(&["--clusters", &listed]);
    let client = ground.client(towpath.address);
    let nonce = || Nonce::of([7; 32]);
    let orders = || run(client.orders(&id(), &nonce(), OrdersUse::Act)).expect("orders");
    let names = || {
        let update = orders().update.expect("the update");
        assert_eq!(update.to.to_string(), "4.20.3");
        let names = update.accepted.iter().map(|risk| risk.name.to_string());
        names.collect::<Vec<_>>()
    };
    assert_eq!(names(), ["Later", "NotFixed"]);
    let later = orders().update.expect("the update").accepted.remove(0);
    assert_eq!(later.owner.as_deref(), Some("ada"));
    assert!(matches!(later.until, RiskEnd::At(_)));
    // Once a release without the risk is offered, it is fixed.
    list(&["4.20.3", "4.20.4"]);
    towpath.until("the list is read", |_| names() == ["Later"]);
    // Somebody with another cluster's token learns nothing.
    let other = "aaaaaaaa-0000-4000-8000-000000000002";
    let stolen = token(&ground.path("keys"), other, "s2");
    let target = format!("/api/v1/clusters/{ID}/orders?nonce=AAAAAAAAAAAAAAAA");
    let bearer = format!("Bearer {}", stolen.trim());
    let refused = towpath.get_with(&target, &[("authorization", &bearer)]);
    assert_eq!(
        (refused.status, refused.kind()),
        (403, "wrong_cluster".to_owned())
    );
    assert_eq!(towpath.get(&target).status, 401);
}
