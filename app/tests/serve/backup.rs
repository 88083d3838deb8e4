//! A rehearsal of docs/backup.md: a backup of a service that runs, the loss of its store, and the restore into the other kind of store.

use serde_json::{Value, json};
use towpath_testing_postgres::Postgres;
use towpath_testing_services::Towpath;

use crate::fleet::{Fleet, on, post, run, text};

const STAGE: &str = "aaaaaaaa-0000-4000-8000-000000000001";

/// What people did and what is known of clusters: all that nobody can tell a service again.
fn memory(towpath: &Towpath) -> [Value; 2] {
    let acts = towpath.get("/api/v1/fleet/acts").json();
    let clusters = towpath.get("/api/v1/fleet/clusters").json();
    let known = |cluster: &Value| json!([cluster["name"], cluster["version"], cluster["channel"]]);
    let clusters = clusters["clusters"]
        .as_array()
        .or(clusters["entries"].as_array());
    let clusters: Vec<Value> = clusters.expect("clusters").iter().map(known).collect();
    [acts, json!(clusters)]
}

fn rehearse(from: &str, to: &str, fleet: &Fleet) {
    let towpath = fleet.serve(from, &[]);
    let reported = fleet.report(&towpath, STAGE, &on("s1", "4.20.1"));
    assert_eq!(reported.status, 202, "{reported:?}");
    towpath.until("the cluster is known", |it| {
        memory(it)[1].to_string().contains("4.20.1")
    });
    let pause = json!({"organisation": "demo", "why": "INC-1"});
    let admin = fleet.token(&["--admin", "--name", "ada"]);
    assert_eq!(
        post(&towpath, "/api/v1/fleet/pause", &admin, &pause).status,
        200
    );
    let before = memory(&towpath);
    assert!(before[0].to_string().contains("INC-1"), "{before:?}");

    let file = fleet.path("fleet-backup.db");
    run(&["fleet", "backup", text(&file), "--store", from]);
    // The machine is gone, without a word.
    drop(towpath);
    run(&["fleet", "restore", text(&file), "--store", to]);
    run(&["fleet", "check", "--store", to]);
    let restored = fleet.serve(to, &[]);
    assert_eq!(memory(&restored), before);
    // It goes on: reports count, and people can act.
    let again = fleet.report(&restored, STAGE, &on("s1", "4.20.1"));
    assert_eq!(again.status, 202, "{again:?}");
    let resume = json!({"organisation": "demo"});
    assert_eq!(
        post(&restored, "/api/v1/fleet/resume", &admin, &resume).status,
        200
    );
}

#[test]
fn a_backup_of_sqlite_is_restored_into_postgresql() {
    let fleet = Fleet::new();
    rehearse(&fleet.sqlite(), &Postgres::shared().database(), &fleet);
}

#[test]
fn a_backup_of_postgresql_is_restored_into_sqlite() {
    let fleet = Fleet::new();
    rehearse(&Postgres::shared().database(), &fleet.sqlite(), &fleet);
}
