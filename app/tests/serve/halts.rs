//! Halts: one replica is told, every replica stops, and nothing but two people starts it again.

use serde_json::{Value, json};
use towpath_testing_postgres::Postgres;
use towpath_testing_services::{Response, Towpath, edges};

use crate::fleet::{Fleet, post, text};

/// One that is offered to everybody, …
const RELEASE: &str = "4.20.1";
/// … and one that is being rolled out.
const ROLLING: &str = "4.20.4";

/// A replica. With a state it serves its last copies while sources are away.
fn replica(fleet: &Fleet, store: &str, more: &[&str]) -> Towpath {
    let towpath = starting(fleet, store, more);
    towpath.until("it is ready", |t| t.get("/readyz").status == 200);
    towpath
}

fn starting(fleet: &Fleet, store: &str, more: &[&str]) -> Towpath {
    let (policy, keys) = (fleet.path("policy"), fleet.path("keys"));
    let people = fleet.path("people-keys");
    let files = Towpath::files(&fleet.path("data"));
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let options = [
        "--fleet",
        text(&policy),
        "--store",
        store,
        "--token-keys",
        text(&keys),
        "--people-keys",
        text(&people),
        "--open-reads",
    ];
    Towpath::serve(&[&files, &options[..], more].concat())
}

/// The edges into the release, for a client without an id.
fn edges_into(towpath: &Towpath) -> usize {
    let graph = towpath.graph("channel=stable-4.20");
    let into = |edge: &&String| edge.ends_with(RELEASE);
    edges(&graph).iter().filter(into).count()
}

fn is_halted(towpath: &Towpath) -> bool {
    edges_into(towpath) == 0
}

fn admin(fleet: &Fleet, name: &str) -> String {
    fleet.token(&["--admin", "--name", name])
}

fn halt(towpath: &Towpath, token: &str, release: &str) -> Value {
    let body = json!({"release": release, "why": "Nodes stay NotReady."});
    let answer = post(towpath, "/api/v1/rollouts/halt", token, &body);
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

fn undo(towpath: &Towpath, token: &str, id: &Value) -> Response {
    let path = format!("/api/v1/rollouts/halts/{id}/undo");
    post(towpath, &path, token, &json!({}))
}

/// Two replicas with one store: what one is told, both do, and only two people undo it.
fn two_replicas(store: impl Fn(&Fleet) -> String) {
    let fleet = Fleet::new();
    let store = &store(&fleet);
    let (one, other) = (replica(&fleet, store, &[]), replica(&fleet, store, &[]));
    assert!(!is_halted(&one) && !is_halted(&other));
    let (ada, bob) = (admin(&fleet, "ada"), admin(&fleet, "bob"));

    let signer = fleet.token(&["--role", "second-signer", "--name", "eve"]);
    let body = json!({"release": RELEASE, "why": "x"});
    let refused = post(&one, "/api/v1/rollouts/halt", &signer, &body);
    assert_eq!((refused.status, &*refused.kind()), (403, "no_role"));
    let nowhere = json!({"release": "4.99.1", "why": "x"});
    assert_eq!(
        post(&one, "/api/v1/rollouts/halt", &ada, &nowhere).status,
        404
    );

    let rolling = halt(&one, &ada, ROLLING);
    let rows = |name: &str| rolling[name].as_array().expect("rows").clone();
    assert!(!rows("before").is_empty() && rows("before").len() == rows("after").len());
    for row in rows("after") {
        let is_halt = |stop: &Value| stop["halt"]["by"] == "ada";
        let stops = row["blocked"].as_array().expect("blocks");
        assert!(stops.iter().any(is_halt), "{row}");
    }

    let told = halt(&one, &ada, RELEASE);
    assert_eq!(told["act"], "halted", "{told}");
    assert_eq!(halt(&other, &bob, RELEASE)["act"], "halted-before");
    one.until("the first one stops", is_halted);
    other.until("the second one stops", is_halted);
    assert!(other.get("/metrics").text().contains("towpath_halts 2"));
    let explained = other.get(&format!(
        "/api/v1/explain?channel=stable-4.20&from=4.20.0&to={RELEASE}"
    ));
    let explained = explained.text();
    assert!(
        explained.contains("Halted") && explained.contains("Nodes stay NotReady."),
        "{explained}"
    );

    let id = &told["halt"]["id"];
    for _ in 0..3 {
        let noted = undo(&other, &ada, id);
        assert_eq!(noted.status, 202, "{}", noted.text());
        assert_eq!(noted.json()["act"], "undo-noted");
    }
    let operator = fleet.token(&["--role", "operator", "--name", "eve"]);
    assert_eq!(undo(&one, &operator, id).status, 403);
    let listed = one.get("/api/v1/rollouts/halts").json();
    for halt in listed["halts"].as_array().expect("a list") {
        assert_eq!(halt["standing"], true, "{listed}");
    }
    assert!(
        is_halted(&one) && is_halted(&other),
        "one token never undoes"
    );

    let done = undo(&one, &bob, id);
    assert_eq!((done.status, &done.json()["act"]), (200, &json!("undone")));
    one.until("it is offered again", |t| !is_halted(t));
    other.until("the other offers it again", |t| !is_halted(t));
    assert_eq!(undo(&one, &bob, &json!(999)).status, 404);
}

#[test]
fn a_halt_through_one_replica_holds_in_all_and_two_people_undo_it() {
    two_replicas(|_| Postgres::shared().database());
}

#[test]
fn replicas_that_share_a_file_agree_as_well() {
    two_replicas(Fleet::sqlite);
}

#[test]
fn a_halt_survives_a_restart_without_the_store() {
    let fleet = Fleet::new();
    let (store, state) = (fleet.sqlite(), fleet.path("state"));
    let kept = ["--state", text(&state)];
    let towpath = replica(&fleet, &store, &kept);
    assert!(!is_halted(&towpath));
    let list = || std::fs::read(state.join("current")).unwrap_or_default();
    towpath.until("its copies are kept", |_| {
        String::from_utf8_lossy(&list()).contains("halts")
    });
    let before = list();
    halt(&towpath, &admin(&fleet, "ada"), RELEASE);
    towpath.until("it stops", is_halted);
    towpath.until("that is kept", |_| list() != before);
    drop(towpath);

    // What is there now is no store.
    let file = fleet.path("fleet.db");
    let moved = |from: &str, to: &str| {
        for end in ["", "-wal", "-shm"] {
            let [from, to] = [from, to].map(|name| fleet.path(&format!("{name}{end}")));
            // A clean stop leaves one file.
            let _ = std::fs::rename(from, to);
        }
    };
    moved("fleet.db", "away.db");
    std::fs::create_dir(&file).expect("a folder in its place");
    let towpath = replica(&fleet, &store, &kept);
    assert!(is_halted(&towpath), "the last copy is in force");
    drop(towpath);

    // Without a copy nobody knows what is halted, so nothing is served.
    let towpath = starting(&fleet, &store, &[]);
    towpath.until("it says what is missing", |t| {
        t.get("/readyz")
            .text()
            .contains("the halts that are known stay in force")
    });
    assert_eq!(towpath.get("/readyz").status, 503);
    assert_eq!(
        towpath
            .get("/api/upgrades_info/graph?channel=stable-4.20")
            .status,
        503
    );
    drop(towpath);

    std::fs::remove_dir(&file).expect("it is empty");
    moved("away.db", "fleet.db");
    assert!(is_halted(&replica(&fleet, &store, &[])));
}

#[test]
fn without_a_store_replicas_share_an_overlay() {
    let folder = Towpath::demo();
    let overlay = folder.path().join("overlay");
    let blocks = overlay.join("blocked-edges");
    std::fs::create_dir_all(&blocks).expect("a folder");
    std::fs::write(overlay.join("version"), "1.1.0\n").expect("a file");
    let options = ["--overlay", text(&overlay), "--poll-every", "1s"];
    let [one, other] = [(); 2].map(|()| Towpath::serve_folder(folder.path(), &options));
    assert!(!is_halted(&one) && !is_halted(&other));
    let file = "to: 4.20.1\nfrom: .*\nmessage: Nodes stay NotReady.\nhalt: {by: ada, at: 2026-11-18T11:00:00Z}\n";
    std::fs::write(blocks.join("4.20.1-halted.yaml"), file).expect("a file");
    for towpath in [&one, &other] {
        towpath.until("it stops", is_halted);
    }
    let path = format!("/api/v1/explain?channel=stable-4.20&from=4.20.0&to={RELEASE}");
    let explained = one.get(&path).text();
    assert!(
        explained.contains("overlay:blocked-edges/4.20.1-halted.yaml"),
        "{explained}"
    );
    // An overlay that is lost, or has something else in it, undoes nothing.
    std::fs::create_dir(overlay.join("channels")).expect("a folder");
    std::fs::write(overlay.join("channels/a.yaml"), "name: a\n").expect("a file");
    one.until("it is refused", |t| {
        t.get("/readyz").text().contains("not-an-overlay")
    });
    std::fs::rename(&overlay, folder.path().join("gone")).expect("it can be moved");
    one.until("it cannot be read", |t| {
        !t.get("/readyz").text().contains("not-an-overlay")
    });
    assert!(is_halted(&one));
}

/// A service with a store writes its halts where services without one read them.
#[test]
fn halts_of_a_store_reach_services_without_it_and_go_when_two_people_undo_them() {
    let (fleet, folder) = (Fleet::new(), Towpath::demo());
    let (store, overlay) = (fleet.sqlite(), folder.path().join("overlay"));
    let halts_to = ["--halts-to", text(&overlay)];
    std::fs::create_dir(&overlay).expect("a folder");
    let watching = replica(&fleet, &store, &halts_to);
    watching.until("it has written a version", |_| {
        overlay.join("version").exists()
    });
    let without = Towpath::serve_folder(folder.path(), &["--overlay", text(&overlay)]);
    assert!(!is_halted(&without));

    let (ada, bob) = (admin(&fleet, "ada"), admin(&fleet, "bob"));
    let told = halt(&watching, &ada, RELEASE);
    without.until("it stops", is_halted);
    let path = format!("/api/v1/explain?channel=stable-4.20&from=4.20.0&to={RELEASE}");
    let explained = without.get(&path).text();
    assert!(explained.contains("Nodes stay NotReady."), "{explained}");

    let id = &told["halt"]["id"];
    assert_eq!(undo(&watching, &ada, id).status, 202);
    drop(watching);
    assert!(
        is_halted(&without),
        "neither one person nor a death undoes it"
    );

    // A file that somebody removes is written again by whoever starts.
    let file = overlay.join(format!("blocked-edges/{RELEASE}-halted.yaml"));
    std::fs::remove_file(&file).expect("it is there");
    without.until("it is offered meanwhile", |t| !is_halted(t));
    let watching = replica(&fleet, &store, &halts_to);
    watching.until("it is there again", |_| file.exists());
    without.until("it stops", is_halted);

    assert_eq!(undo(&watching, &bob, id).status, 200);
    watching.until("the file goes", |_| !file.exists());
    without.until("it is offered again", |t| !is_halted(t));

    // A folder that goes is told, and not made again.
    std::fs::rename(&overlay, folder.path().join("gone")).expect("it can be moved");
    halt(&watching, &ada, RELEASE);
    watching.until("it says so", |t| {
        t.get("/readyz").text().contains("--halts-to")
    });
    watching.until("it stops all the same", is_halted);
    assert!(!overlay.exists());
}
