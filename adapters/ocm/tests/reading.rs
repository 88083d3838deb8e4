//! Reading a fleet: what the API tells becomes the core's types, and what it tells wrongly becomes findings.

mod support;

use serde_json::{Value, json};
use towpath_core::cluster::Fact;
use towpath_core::fleet::{Health, Owner, Product, UpgradeState};

use support::{at, classic, findings, hosted, names, now, world, world_with};
use towpath_testing_services::ocm::{Fault, cluster};

fn policy(version: &str) -> Value {
    json!({"version": version, "schedule_type": "manual", "next_run": "2026-01-05T13:00:00Z"})
}

#[tokio::test]
async fn a_cluster_as_it_is_told() {
    let world = world();
    let mut told = cluster("a", "4.12.1", &["4.13.0", "4.12.2"]);
    told["aws"]["sts"]["enabled"] = true.into();
    world
        .double
        .add("org-1", &[("sre-capabilities.aus.workloads", "web")], told);
    world
        .double
        .label_organisation("org-1", "sre-capabilities.aus.blocked-versions", "rc");
    world
        .double
        .label_organisation("org-1", "something.else", "x");

    let fleet = world.fleet().await.unwrap();
    let [a] = &*fleet.clusters else {
        panic!("{fleet:?}")
    };
    assert_eq!(
        (a.id.as_str(), &*a.name, &*a.organisation),
        ("uuid-a", "a", "org-1")
    );
    assert_eq!(
        (a.version.to_string(), a.channel.as_ref().unwrap().as_str()),
        ("4.12.1".to_owned(), "stable-4.12")
    );
    assert_eq!(
        (a.version_since, a.last_seen, &a.health),
        (now(), now(), &Health::Healthy)
    );
    assert_eq!(
        (a.arch.as_str(), &a.sts, &a.product),
        ("amd64", &Fact::Known(true), &Product::Standalone)
    );
    assert!(matches!(&a.platform, Fact::Known(platform) if platform.is_named("AWS")));
    assert_eq!(a.labels["sre-capabilities.aus.workloads"], "web");
    let offers: Vec<_> = a
        .offers
        .iter()
        .map(|offer| (offer.version.to_string(), offer.objection.is_none()))
        .collect();
    assert_eq!(
        offers,
        [("4.12.2".to_owned(), true), ("4.13.0".to_owned(), true)]
    );
    assert_eq!(fleet.handles[&a.id], classic("a"));
    assert_eq!(fleet.organisations["org-1"].len(), 1);
    assert_eq!(
        fleet.organisations["org-1"]["sre-capabilities.aus.blocked-versions"],
        "rc"
    );
    assert_eq!((findings(&fleet), fleet.upgrades.len()), (String::new(), 0));
}

#[tokio::test]
async fn what_the_api_does_not_say_of_sts_and_wif_is_not_known() {
    let world = world();
    let told = |name: &str, aws: Value, gcp: Value| {
        let mut told = cluster(name, "4.12.1", &[]);
        (told["aws"], told["gcp"]) = (aws, gcp);
        world.double.add("org", &[], told);
    };
    told("a", json!({"sts": {"enabled": false}}), Value::Null);
    told("b", json!({}), Value::Null);
    told(
        "c",
        Value::Null,
        json!({"authentication": {"kind": "WifConfig", "id": "w"}}),
    );
    told(
        "d",
        Value::Null,
        json!({"authentication": {"kind": "ServiceAccount"}}),
    );
    told("e", Value::Null, json!({"project_id": "p"}));
    let fleet = world.fleet().await.unwrap();
    let facts: Vec<_> = fleet
        .clusters
        .iter()
        .map(|cluster| (cluster.sts.clone(), cluster.wif.clone()))
        .collect();
    let (yes, no, unknown) = (Fact::Known(true), Fact::Known(false), Fact::Unknown);
    let expected = [
        (no.clone(), unknown.clone()),
        (unknown.clone(), unknown.clone()),
        (unknown.clone(), yes),
        (unknown.clone(), no),
        (unknown.clone(), unknown),
    ];
    assert_eq!(facts, expected);
}

#[tokio::test]
async fn all_pages_are_read() {
    let world = world_with(|config| config.limits.page_size = 2);
    for name in ["a", "b", "c", "d", "e"] {
        world.double.add("org", &[], cluster(name, "4.12.1", &[]));
    }
    assert_eq!(names(&world.fleet().await.unwrap()), "a b c d e");
    assert_eq!(world.double.count("GET", "/clusters"), 3);
}

#[tokio::test]
async fn an_api_that_gives_smaller_pages_than_asked_is_read_to_the_end() {
    let world = world();
    world.double.set_max_page_size(2);
    for name in ["a", "b", "c"] {
        world.double.add("org", &[], cluster(name, "4.12.1", &[]));
    }
    assert_eq!(names(&world.fleet().await.unwrap()), "a b c");
}

/// The first page of a list of three, of which the others have gone when the second page is asked for.
const MOVING: &str = r#"{"page":1,"size":1,"total":3,"items":[{"id":"x"}]}"#;

#[tokio::test]
async fn a_list_that_moves_while_it_is_read_is_read_again() {
    let world = world();
    world.double.add("org", &[], cluster("a", "4.12.1", &[]));
    world
        .double
        .fail("GET", "order=id+asc&page=1", 1, Fault::Instead(MOVING));
    assert_eq!(names(&world.fleet().await.unwrap()), "a");
}

#[tokio::test]
async fn a_list_that_always_moves_is_not_taken_for_the_fleet() {
    let world = world();
    world
        .double
        .fail("GET", "order=id+asc&page=1", 100, Fault::Instead(MOVING));
    let error = world.fleet().await.unwrap_err();
    assert_eq!(
        (error.kind(), world.double.count("GET", "/v1/clusters")),
        ("incomplete-list", 8)
    );
}

#[tokio::test]
async fn a_list_that_goes_in_circles_has_an_end() {
    let world = world();
    world
        .double
        .fail("GET", "/v1/clusters", 1_000, Fault::Instead(MOVING));
    let error = world.fleet().await.unwrap_err();
    assert_eq!(
        (error.kind(), world.double.count("GET", "/v1/clusters")),
        ("incomplete-list", 8)
    );
}

#[tokio::test]
async fn pages_have_an_end() {
    let world = world_with(|config| (config.limits.pages, config.limits.page_size) = (2, 1));
    for name in ["a", "b", "c"] {
        world.double.add("org", &[], cluster(name, "4.12.1", &[]));
    }
    let error = world.fleet().await.unwrap_err();
    assert_eq!(error.kind(), "too-large");
    assert!(error.to_string().contains("more than 2 pages"), "{error}");
}

#[tokio::test]
async fn what_cannot_be_understood_is_a_finding_and_the_rest_goes_on() {
    let world = world();
    let broken = |name: &str, field: &str, value: Value| {
        let mut told = cluster(name, "4.12.1", &[]);
        *told.pointer_mut(field).unwrap() = value;
        world.double.add("org", &[], told);
    };
    world.double.add("org", &[], cluster("good", "4.12.1", &[]));
    broken("bad-version", "/version/raw_id", json!("four"));
    broken("no-uuid", "/external_id", json!(""));
    broken("odd-type", "/hypershift/enabled", json!("perhaps"));
    broken("no-org", "/subscription", json!({"id": null}));
    broken("twin-1", "/external_id", json!("uuid-twin"));
    broken("twin-2", "/external_id", json!("uuid-twin"));
    broken(
        "odd-offer",
        "/version/available_upgrades",
        json!(["4.12.2", "next"]),
    );
    broken("installing", "/state", json!("installing"));
    broken("asleep", "/state", json!("hibernating"));
    broken("not-ours", "/managed", json!(false));

    let fleet = world.fleet().await.unwrap();
    assert_eq!(names(&fleet), "asleep good odd-offer");
    assert!(!fleet.clusters[0].health.is_healthy());
    assert_eq!(fleet.clusters[2].offers.len(), 1);
    let told = findings(&fleet);
    for (code, place) in [
        ("ocm-cluster", "bad-version: \"four\" is not a version"),
        ("ocm-cluster", "no-uuid: it has no external_id"),
        ("ocm-cluster", "ocm-odd-type: invalid type"),
        ("ocm-cluster", "no-org: it has no subscription"),
        (
            "ocm-same-id",
            "twin-2: 2 clusters say that they are uuid-twin",
        ),
        ("ocm-offer", "odd-offer: an offer cannot be read"),
    ] {
        assert!(
            told.contains(&format!("{code}: ocm: cluster {place}")),
            "{place} is not in\n{told}"
        );
    }
    assert_eq!(fleet.findings.len(), 6, "{told}");
}

#[tokio::test]
async fn policies_are_upgrades_and_follow_their_states() {
    let world = world();
    world
        .double
        .add("org", &[], cluster("a", "4.12.1", &["4.12.2"]));
    let id = world
        .double
        .add_policy("ocm-a", None, "pending", policy("4.12.2"));
    for (word, state, going) in [
        ("pending", UpgradeState::Planned, false),
        ("scheduled", UpgradeState::Planned, false),
        ("started", UpgradeState::Started, true),
        ("delayed", UpgradeState::Started, true),
        ("failed", UpgradeState::Failed, false),
        ("cancelled", UpgradeState::Cancelled, false),
        ("completed", UpgradeState::Finished, false),
    ] {
        world.double.advance(&id, word);
        let fleet = world.fleet().await.unwrap();
        let [upgrade] = &*fleet.upgrades else {
            panic!("{word}: {fleet:?}")
        };
        assert_eq!(
            (upgrade.state, upgrade.owner, upgrade.start_at),
            (state, Owner::Other, at("13:00:00")),
            "{word}"
        );
        assert_eq!(
            (upgrade.cluster.as_str(), upgrade.to.to_string()),
            ("uuid-a", "4.12.2".to_owned())
        );
        assert_eq!(fleet.clusters[0].going_to.is_some(), going, "{word}");
        assert_eq!(*fleet.policies[&upgrade.id].id, *id);
    }
    assert_eq!(
        world.fleet().await.unwrap().clusters[0].version.to_string(),
        "4.12.2",
        "it is there"
    );
}

#[tokio::test]
async fn only_what_we_made_is_ours() {
    let world = world();
    for name in ["a", "b"] {
        world
            .double
            .add("org", &[], cluster(name, "4.12.1", &["4.12.2"]));
        world
            .double
            .add_policy(&format!("ocm-{name}"), None, "pending", policy("4.12.2"));
    }
    let fleet = world.fleet_with(&[&"policy-2".into()]).await;
    let owners: Vec<_> = fleet
        .upgrades
        .iter()
        .map(|upgrade| (upgrade.cluster.as_str(), upgrade.owner))
        .collect();
    assert_eq!(
        owners,
        [("uuid-a", Owner::Other), ("uuid-b", Owner::Towpath)]
    );
}

#[tokio::test]
async fn hosted_clusters_have_node_pools_with_upgrades_of_their_own() {
    let world = world();
    world
        .double
        .add("org", &[], cluster("h", "4.14.2", &["4.14.3"]));
    world
        .double
        .host("ocm-h", &[("workers-2", "4.14.1"), ("workers-1", "4.14.2")]);
    world
        .double
        .add_policy("ocm-h", None, "scheduled", policy("4.14.3"));
    world
        .double
        .add_policy("ocm-h", Some("workers-2"), "started", policy("4.14.2"));

    let fleet = world.fleet().await.unwrap();
    assert_eq!(fleet.handles[&fleet.clusters[0].id], hosted("h"));
    let Product::HostedControlPlane { pools } = &fleet.clusters[0].product else {
        panic!("{fleet:?}")
    };
    let pools: Vec<_> = pools
        .iter()
        .map(|pool| format!("{} {}", pool.id, pool.version))
        .collect();
    assert_eq!(pools, ["workers-1 4.14.2", "workers-2 4.14.1"]);
    let upgrades: Vec<_> = fleet
        .upgrades
        .iter()
        .map(|u| {
            format!(
                "{:?} {} -> {} {}",
                u.pool.as_deref(),
                u.from,
                u.to,
                u.state.code()
            )
        })
        .collect();
    assert_eq!(
        upgrades,
        [
            "None 4.14.2 -> 4.14.3 planned",
            "Some(\"workers-2\") 4.14.1 -> 4.14.2 started"
        ]
    );
    assert_eq!(
        fleet.clusters[0].going_to, None,
        "a node pool's way is not the cluster's"
    );
    assert_eq!(
        world.double.count("GET", "/state"),
        0,
        "hosted ones have the state inside"
    );
}

#[tokio::test]
async fn an_automatic_policy_counts_before_it_has_chosen() {
    let world = world();
    world
        .double
        .add("org", &[], cluster("a", "4.12.1", &["4.12.2", "4.12.3"]));
    world.double.add_policy(
        "ocm-a",
        None,
        "pending",
        json!({"schedule_type": "automatic", "schedule": "0 3 * * *"}),
    );
    world.double.add_policy(
        "ocm-a",
        None,
        "pending",
        json!({"upgrade_type": "ADDON", "version": "1.0.0"}),
    );
    let fleet = world.fleet().await.unwrap();
    let [upgrade] = &*fleet.upgrades else {
        panic!("{fleet:?}")
    };
    assert_eq!(
        (upgrade.state, upgrade.to.to_string()),
        (UpgradeState::Planned, "4.12.3".to_owned())
    );
    assert_eq!(upgrade.note.as_deref(), Some("Upgrade is pending."));
    assert_eq!(findings(&fleet), "");
}

#[tokio::test]
async fn a_policy_that_cannot_be_read_counts_and_is_a_finding() {
    let world = world();
    world
        .double
        .add("org", &[], cluster("a", "4.12.1", &["4.12.2"]));
    world
        .double
        .add_policy("ocm-a", None, "meditating", policy("4.12.2"));
    let fleet = world.fleet().await.unwrap();
    assert_eq!(fleet.upgrades[0].state, UpgradeState::Started);
    assert!(
        findings(&fleet).contains("its state \"meditating\" is unknown"),
        "{}",
        findings(&fleet)
    );
}

#[tokio::test]
async fn a_policy_without_a_state_counts_unless_it_is_gone() {
    for (missing, upgrades) in [("policy-1/state", 1), ("policy-1", 0)] {
        let world = world();
        world
            .double
            .add("org", &[], cluster("a", "4.12.1", &["4.12.2"]));
        world
            .double
            .add_policy("ocm-a", None, "pending", policy("4.12.2"));
        world.double.fail("GET", missing, 2, Fault::Status(404));
        let fleet = world.fleet().await.unwrap();
        assert_eq!(
            (fleet.upgrades.len(), fleet.findings.len()),
            (upgrades, upgrades),
            "{missing}: {fleet:?}"
        );
        assert!(
            fleet
                .upgrades
                .iter()
                .all(|upgrade| upgrade.state == UpgradeState::Started)
        );
    }
}

#[tokio::test]
async fn other_organisations_are_not_asked_about() {
    let world = world_with(|config| config.organisations = Some(["ours".into()].into()));
    world.double.add("ours", &[], cluster("a", "4.12.1", &[]));
    world.double.add("theirs", &[], cluster("b", "4.12.1", &[]));
    assert_eq!(names(&world.fleet().await.unwrap()), "a");
    assert_eq!(world.double.count("GET", "ocm-b/upgrade_policies"), 0);
}

#[tokio::test]
async fn gates_and_who_has_agreed() {
    let world = world();
    world
        .double
        .add_gate("gate-13", "4.13", "api.openshift.com/gate-ocp");
    world
        .double
        .add_gate("sts-13", "4.13", "api.openshift.com/gate-sts");
    world
        .double
        .add("org", &[], cluster("ahead", "4.12.1", &["4.13.0"]));
    world
        .double
        .add("org", &[], cluster("patches", "4.12.1", &["4.12.2"]));
    world.ocm.agree(&classic("ahead"), "gate-13").await.unwrap();
    let before = world.double.count("GET", "/gate_agreements");

    let fleet = world.fleet().await.unwrap();
    let gates: Vec<_> = fleet
        .gates
        .iter()
        .map(|g| format!("{} {} {}", g.id, g.version_prefix, g.label))
        .collect();
    assert_eq!(
        gates,
        [
            "gate-13 4.13 api.openshift.com/gate-ocp",
            "sts-13 4.13 api.openshift.com/gate-sts"
        ]
    );
    assert_eq!(
        fleet.clusters[0]
            .acknowledged_gates
            .iter()
            .map(|id| &**id)
            .collect::<Vec<_>>(),
        ["gate-13"]
    );
    assert!(fleet.clusters[1].acknowledged_gates.is_empty());
    assert_eq!(
        world.double.count("GET", "/gate_agreements"),
        before + 1,
        "asked only where a gate stands ahead"
    );
}

#[tokio::test]
async fn a_cluster_whose_upgrades_cannot_be_read_stays_and_is_not_touched() {
    let world = world();
    for name in ["a", "b"] {
        world.double.add("org", &[], cluster(name, "4.12.1", &[]));
    }
    world
        .double
        .fail("GET", "ocm-a/upgrade_policies", 100, Fault::Status(500));
    let fleet = world.fleet().await.unwrap();
    assert_eq!(names(&fleet), "a b");
    let unwell: Vec<_> = fleet
        .clusters
        .iter()
        .filter(|c| !c.health.is_healthy())
        .map(|c| &*c.name)
        .collect();
    assert_eq!((unwell, fleet.unread.len()), (vec!["a"], 1));
    assert!(
        findings(&fleet).starts_with("ocm-unread: ocm: cluster a: its upgrades could not be read")
    );
}

#[tokio::test]
async fn when_many_clusters_fail_it_is_the_api() {
    let world = world_with(|config| config.limits.failed_clusters = 2);
    for name in ["a", "b", "c", "d"] {
        world.double.add("org", &[], cluster(name, "4.12.1", &[]));
    }
    world
        .double
        .fail("GET", "upgrade_policies", 100, Fault::Status(503));
    assert_eq!(world.fleet().await.unwrap_err().kind(), "server");
}

#[tokio::test]
async fn a_cluster_that_goes_away_meanwhile_is_left_out() {
    let world = world();
    for name in ["a", "b"] {
        world.double.add("org", &[], cluster(name, "4.12.1", &[]));
    }
    world.double.fail("GET", "ocm-a", 2, Fault::Status(404));
    let fleet = world.fleet().await.unwrap();
    assert_eq!(
        (names(&fleet), fleet.findings[0].code),
        ("b".to_owned(), "ocm-gone")
    );
}

#[tokio::test]
async fn a_cluster_of_which_only_a_part_is_missing_stays() {
    let world = world();
    world.double.add("org", &[], cluster("a", "4.12.1", &[]));
    world
        .double
        .fail("GET", "ocm-a/upgrade_policies", 1, Fault::Status(404));
    let fleet = world.fleet().await.unwrap();
    assert_eq!(
        (names(&fleet), fleet.findings[0].code),
        ("a".to_owned(), "ocm-unread")
    );
    assert!(!fleet.clusters[0].health.is_healthy());
}

#[tokio::test]
async fn a_node_pool_that_goes_away_meanwhile_is_no_loss() {
    let world = world();
    world.double.add("org", &[], cluster("h", "4.14.2", &[]));
    world
        .double
        .host("ocm-h", &[("old", "4.14.1"), ("new", "4.14.2")]);
    world.double.fail(
        "GET",
        "node_pools/old/upgrade_policies",
        1,
        Fault::Status(404),
    );
    let fleet = world.fleet().await.unwrap();
    let Product::HostedControlPlane { pools } = &fleet.clusters[0].product else {
        panic!("{fleet:?}")
    };
    assert_eq!(
        (pools.len(), &*pools[0].id, findings(&fleet)),
        (1, "new", String::new())
    );
}

#[tokio::test]
async fn reading_can_be_handed_to_another_thread() {
    let world = world();
    world.double.add("org", &[], cluster("a", "4.12.1", &[]));
    let fleet = tokio::spawn(async move { world.fleet().await })
        .await
        .unwrap()
        .unwrap();
    assert_eq!(names(&fleet), "a");
}
