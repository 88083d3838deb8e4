//! First contact: a cluster that may be the fleet's sees no edge until a pass has placed it.

use std::process::Command;

use crate::fleet::{Fleet, offered, on, text};
use towpath_testing_services::{Towpath, edges};

const NAMED: &str = "bbbbbbbb-0000-4000-8000-000000000001";
const STRANGER: &str = "bbbbbbbb-0000-4000-8000-000000000002";

/// Names one cluster by its id. Nothing may start before 1 January, nor before thirty days of soak.
const BY_ID: &str = r#"
name: demo
orgId: demo
upgradePolicyClusters:
- name: shop
  id: bbbbbbbb-0000-4000-8000-000000000001
  upgradePolicy: {workloads: [web], schedule: "0 0 1 1 *", conditions: {soakDays: 30}}
"#;

fn fleet(policy: &str) -> Fleet {
    let fleet = Fleet::new();
    fleet.write("policy/org.yaml", policy);
    fleet
}

/// Serves, and makes no second pass while a test runs. The first may be still to come.
fn with_one_pass(fleet: &Fleet) -> Towpath {
    let (policy, keys, store) = (fleet.path("policy"), fleet.path("keys"), fleet.sqlite());
    let people = fleet.path("people-keys");
    let options = [
        "--fleet",
        text(&policy),
        "--store",
        &store,
        "--token-keys",
        text(&keys),
        "--people-keys",
        text(&people),
    ];
    let once = [
        "--now",
        "2026-11-16T12:00:00Z",
        "--pass-every",
        "3600s",
        "--open-reads",
    ];
    Towpath::serve_folder(&fleet.path("data"), &[&options[..], &once].concat())
}

fn a_pass_was_made(towpath: &Towpath) -> bool {
    !towpath.get("/readyz").json()["fleet"]["lastPass"].is_null()
}

/// What `towpath explain --server` says, as codes of reasons.
fn reasons(towpath: &Towpath, id: &str) -> Vec<String> {
    let server = format!("http://{}", towpath.address);
    let asked = [
        "explain",
        "--channel",
        "stable-4.20",
        "--from",
        "4.20.1",
        "--output",
        "json",
        "--id",
        id,
    ];
    let output = Command::new(env!("CARGO_BIN_EXE_towpath"))
        .args(asked)
        .args(["--server", &server])
        .output();
    let told: serde_json::Value =
        serde_json::from_slice(&output.expect("towpath runs").stdout).expect("JSON");
    let candidates = told["candidates"].as_array().expect("candidates").iter();
    let reasons = candidates
        .flat_map(|candidate| candidate["reasons"].as_array().cloned().unwrap_or_default());
    let mut codes: Vec<String> = reasons
        .map(|reason| reason["code"].as_str().expect("a code").to_owned())
        .collect();
    codes.sort();
    codes.dedup();
    codes
}

fn held_answers(towpath: &Towpath) -> u64 {
    let metrics = towpath.get("/metrics").text();
    let line = metrics
        .lines()
        .find_map(|line| line.strip_prefix("towpath_graph_not_enrolled_total "));
    line.and_then(|number| number.parse().ok())
        .expect("a counter")
}

#[test]
fn a_cluster_that_a_policy_names_sees_no_edge_before_nor_right_after_its_first_report() {
    let fleet = fleet(BY_ID);
    let towpath = with_one_pass(&fleet);
    assert_eq!(offered(&towpath, NAMED), [""; 0], "the very first request");
    towpath.until("a pass was made", a_pass_was_made);
    assert_eq!(
        offered(&towpath, NAMED),
        [""; 0],
        "after a pass that does not know it"
    );
    let before = held_answers(&towpath);
    let graph = towpath.graph(&format!("channel=stable-4.20&id={NAMED}"));
    assert_eq!(edges(&graph), [""; 0]);
    assert_eq!(graph["conditionalEdges"], serde_json::json!([]));
    assert!(
        graph["nodes"].as_array().expect("nodes").len() > 2,
        "its releases are there"
    );
    assert_eq!(held_answers(&towpath), before + 1);
    assert!(
        reasons(&towpath, NAMED).contains(&"NotEnrolled".to_owned()),
        "{:?}",
        reasons(&towpath, NAMED)
    );
    assert_eq!(
        fleet.report(&towpath, NAMED, &on("shop", "4.20.1")).status,
        202
    );
    assert_eq!(
        offered(&towpath, NAMED),
        [""; 0],
        "right after its first report"
    );
    // Every policy tells its cluster's id, so this one is nobody's.
    assert!(offered(&towpath, STRANGER).len() > 2);
    assert_eq!(held_answers(&towpath), before + 2);
    drop(towpath);

    let towpath = fleet.serve(&fleet.sqlite(), &["--now", "2026-11-16T12:01:00Z"]);
    assert_eq!(offered(&towpath, NAMED), [""; 0], "once its policy decides");
    assert!(reasons(&towpath, NAMED).contains(&"FleetHolds".to_owned()));
}

#[test]
fn a_policy_by_name_holds_clusters_that_nobody_knows() {
    let by_name = BY_ID.replace("  id: bbbbbbbb-0000-4000-8000-000000000001\n", "");
    let fleet = fleet(&by_name);
    let towpath = fleet.serve(&fleet.sqlite(), &[]);
    let plain = Towpath::serve_folder(&fleet.path("data"), &[]);
    assert_eq!(offered(&towpath, STRANGER), [""; 0]);
    assert!(reasons(&towpath, STRANGER).contains(&"NotEnrolled".to_owned()));
    let anonymous = "/api/upgrades_info/graph?channel=stable-4.20";
    assert_eq!(
        towpath.get(anonymous).body,
        plain.get(anonymous).body,
        "clients without an id are served as ever"
    );
    assert_eq!(
        fleet
            .report(&towpath, STRANGER, &on("nobodys", "4.20.1"))
            .status,
        202
    );
    let own = format!("{anonymous}&id={STRANGER}");
    towpath.until("it is known that no policy is about it", |t| {
        t.get(&own).body == plain.get(&own).body
    });
    assert_eq!(
        fleet.report(&towpath, NAMED, &on("shop", "4.20.1")).status,
        202
    );
    assert_eq!(offered(&towpath, NAMED), [""; 0]);
    towpath.until("it is known whose it is", |t| {
        reasons(t, NAMED).contains(&"FleetHolds".to_owned())
    });
    assert_eq!(offered(&towpath, NAMED), [""; 0]);
}

#[test]
fn where_unknown_clusters_are_served_a_report_holds_its_cluster_before_it_is_acknowledged() {
    let by_name = BY_ID.replace("  id: bbbbbbbb-0000-4000-8000-000000000001\n", "");
    let fleet = fleet(&format!("{by_name}unknownClusters: serve\n"));
    let towpath = with_one_pass(&fleet);
    towpath.until("a pass was made", a_pass_was_made);
    assert!(
        offered(&towpath, NAMED).len() > 2,
        "nobody can know that it is called shop"
    );
    assert_eq!(
        fleet.report(&towpath, NAMED, &on("shop", "4.20.1")).status,
        202
    );
    assert_eq!(
        offered(&towpath, NAMED),
        [""; 0],
        "no pass has looked at it yet"
    );
    assert!(reasons(&towpath, NAMED).contains(&"NotEnrolled".to_owned()));
    assert!(
        offered(&towpath, STRANGER).len() > 2,
        "others are served still"
    );
}

#[test]
fn while_the_store_cannot_be_read_only_those_are_served_that_no_policy_is_about() {
    let fleet = fleet(BY_ID);
    let towpath = fleet.serve(&fleet.sqlite(), &[]);
    let unmanaged = "bbbbbbbb-0000-4000-8000-000000000003";
    assert_eq!(
        fleet
            .report(&towpath, unmanaged, &on("free", "4.20.1"))
            .status,
        202
    );
    towpath.until("it is known that no policy is about it", |t| {
        offered(t, unmanaged).len() > 2
    });
    assert!(offered(&towpath, STRANGER).len() > 2);
    // Nobody can read these.
    for file in ["fleet.db", "fleet.db-wal"] {
        fleet.write(file, &"not a database\n".repeat(1_000));
    }
    towpath.until("a cluster that nobody knows is held", |t| {
        offered(t, STRANGER).is_empty()
    });
    assert!(
        offered(&towpath, unmanaged).len() > 2,
        "this one is known, and nobody's"
    );
    assert!(
        edges(&towpath.graph("channel=stable-4.20")).len() > 2,
        "clients without an id are served as ever"
    );
    fleet.write("policy/more.yaml", &format!("name: shop\nspec: {{id: {unmanaged}}}\nocm: {{orgId: demo}}\nupgradePolicy: {{workloads: [web], schedule: \"0 0 1 1 *\"}}\n"));
    towpath.until("a policy that is read holds whom it names", |t| {
        offered(t, unmanaged).is_empty()
    });
    assert_eq!(towpath.get("/readyz").status, 200);
}

#[test]
fn while_part_of_the_policy_cannot_be_read_the_rest_is_and_unknown_clusters_are_held() {
    let fleet = fleet(BY_ID);
    let towpath = fleet.serve(&fleet.sqlite(), &["--now", "2026-11-16T12:00:00Z"]);
    assert!(offered(&towpath, STRANGER).len() > 2);
    let broken: [(&str, &dyn Fn()); 3] = [
        ("a dangling link", &|| {
            std::os::unix::fs::symlink("gone", fleet.path("policy/bad.yaml")).expect("a link");
        }),
        ("a link out", &|| {
            std::os::unix::fs::symlink(fleet.path("keys"), fleet.path("policy/bad.yaml"))
                .expect("a link");
        }),
        ("a whole directory that is gone", &|| {
            std::fs::rename(fleet.path("policy"), fleet.path("away")).expect("it can be moved");
        }),
    ];
    for (what, break_it) in broken {
        break_it();
        towpath.until(&format!("{what} is a finding"), |t| {
            let kinds = t.get("/readyz").json()["fleet"]["findings"]["kinds"].clone();
            kinds["unreadable"].is_u64() || kinds["link-outside"].is_u64()
        });
        towpath.until(&format!("{what} holds unknown clusters"), |t| {
            offered(t, STRANGER).is_empty()
        });
        assert_eq!(offered(&towpath, NAMED), [""; 0], "{what}");
        if fleet.path("policy").exists() {
            // The other files are read: this one names the stranger.
            fleet.write("policy/more.yaml", &format!("name: more\nspec: {{id: {STRANGER}}}\nocm: {{orgId: demo}}\nupgradePolicy: {{workloads: [web], schedule: \"0 0 1 1 *\"}}\n"));
            std::fs::remove_file(fleet.path("policy/bad.yaml")).expect("it can be removed");
            towpath.until("the finding has gone", |t| {
                !t.get("/readyz").text().contains("bad.yaml")
            });
            assert_eq!(offered(&towpath, STRANGER), [""; 0], "its policy was read");
            std::fs::remove_file(fleet.path("policy/more.yaml")).expect("it can be removed");
            towpath.until("it is nobody's again", |t| offered(t, STRANGER).len() > 2);
        }
    }
    std::fs::rename(fleet.path("away"), fleet.path("policy")).expect("it can be moved");
    towpath.until("it is nobody's again", |t| offered(t, STRANGER).len() > 2);
}
