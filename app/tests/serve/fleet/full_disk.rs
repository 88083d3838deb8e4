//! A disk that is full for a while: nothing starts, everything says so, and it goes on by itself when there is room again.
//!
//! The disk is a limit on the size of files, which the process would not survive if it did not catch SIGXFSZ.

use std::os::unix::fs::PermissionsExt;

use super::*;

/// Nothing can be written to any file.
const FULL: &str = "--fsize=1:";
/// There is room again.
const ROOM: &str = "--fsize=unlimited:";

fn set_limit(towpath: &Towpath, limit: &str) {
    let pid = towpath.child.id().to_string();
    let done = Command::new("prlimit")
        .args(["--pid", &pid, limit])
        .output()
        .expect("util-linux has prlimit");
    assert!(done.status.success(), "{done:?}");
}

fn last_pass(towpath: &Towpath) -> Value {
    towpath.get("/readyz").json()["fleet"]["lastPass"].clone()
}

fn problem(towpath: &Towpath) -> String {
    towpath.get("/readyz").json()["fleet"]["problem"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn a_disk_that_was_full_holds_up_nobody_once_there_is_room() {
    let fleet = Fleet::new();
    let mut towpath = fleet.serve(&fleet.sqlite(), &[]);
    let (admin, everywhere) = (fleet.token(&["--admin"]), json!({"why": "INC-1"}));
    assert_eq!(
        fleet.report(&towpath, STAGE, &on("s1", "4.20.1")).status,
        202
    );
    for round in 0..2 {
        set_limit(&towpath, FULL);
        towpath.until("a pass fails", |t| problem(t).contains("not available"));
        for _ in 0..3 {
            let refused = fleet.report(&towpath, PROD, &on("p1", "4.20.1"));
            assert_eq!(refused.status, 503, "{round}: {}", refused.text());
            let refused = post(&towpath, "/api/v1/fleet/pause", &admin, &everywhere);
            assert_eq!(refused.status, 503, "{round}: {}", refused.text());
            assert!(!refused.header("retry-after").is_empty(), "{refused:?}");
        }
        assert_eq!(towpath.get("/readyz").status, 200);
        set_limit(&towpath, ROOM);
        let paused = post(&towpath, "/api/v1/fleet/pause", &admin, &everywhere);
        assert_eq!(paused.status, 200, "{round}: {}", paused.text());
        assert_eq!(
            fleet.report(&towpath, PROD, &on("p1", "4.20.1")).status,
            202,
            "{round}"
        );
        let before = last_pass(&towpath);
        towpath.until("passes are made again", |t| {
            problem(t).is_empty() && last_pass(t) != before
        });
        towpath.until("the pause holds", |t| {
            t.get("/api/v1/fleet/holds").json()["pause"] != json!(null)
        });
    }
    towpath.signal(rustix::process::Signal::TERM);
    assert!(towpath.child.wait().expect("it ends").success());
    let file = fleet.path("fleet.db");
    assert!(
        !fleet.path("fleet.db-wal").exists(),
        "a clean stop leaves nothing in the journal"
    );
    assert_eq!(
        file.metadata().expect("the store").permissions().mode() & 0o777,
        0o600
    );
    assert_eq!(
        run(&["fleet", "check", "--store", &fleet.sqlite()]),
        "The store is in order.\n"
    );
    assert!(!fleet.path("fleet.db-wal").exists(), "nor does a command");
}

#[test]
fn who_starts_while_the_disk_is_full_holds_clusters_and_goes_on_when_there_is_room() {
    let fleet = Fleet::new();
    let state = fleet.path("state");
    // What is halted is in the copies.
    let towpath = fleet.serve(&fleet.sqlite(), &["--state", text(&state)]);
    assert_eq!(
        fleet.report(&towpath, STAGE, &on("s1", "4.20.1")).status,
        202
    );
    drop(towpath);
    let (policy, keys, store, data) = (
        fleet.path("policy"),
        fleet.path("keys"),
        fleet.sqlite(),
        fleet.path("data"),
    );
    let (graph, releases) = (data.join("graph-data"), data.join("releases.json"));
    let mut full = Command::new("prlimit");
    full.args([FULL, env!("CARGO_BIN_EXE_towpath")]);
    let options = [
        [
            "--fleet",
            text(&policy),
            "--store",
            &store,
            "--token-keys",
            text(&keys),
            "--pass-every",
            "1s",
        ],
        [
            "--graph-data",
            text(&graph),
            "--releases",
            text(&releases),
            "--poll-every",
            "1s",
            "--state",
            text(&state),
        ],
    ];
    let towpath = Towpath::serve_by(full, "127.0.0.1:0", options.as_flattened());
    towpath.until("it serves graphs", |t| t.get("/readyz").status == 200);
    towpath.until("it says what is wrong", |t| {
        problem(t).contains("not available")
    });
    assert!(
        edges(&towpath.graph("channel=stable-4.20")).len() > 2,
        "clients without an id see the graph"
    );
    assert_eq!(
        offered(&towpath, STAGE),
        [""; 0],
        "a cluster that may be managed waits until that is known"
    );
    assert_eq!(
        fleet.report(&towpath, STAGE, &on("s1", "4.20.1")).status,
        503
    );
    set_limit(&towpath, ROOM);
    towpath.until("a pass is made", |t| {
        problem(t).is_empty() && !last_pass(t).is_null()
    });
    towpath.until("reports are taken", |t| {
        fleet.report(t, STAGE, &on("s1", "4.20.1")).status == 202
    });
}
