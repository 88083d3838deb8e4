//! Rings over real connections: canaries first, and nobody gets into a ring by asking.

use std::fs;
use std::path::Path;

use serde_json::Value;
use towpath_testing_services::{Towpath, edges, example};

use crate::fleet::{Fleet, PROD, STAGE, offered, on, text};

const EDGE: &str = "4.20.3 -> 4.20.4";

/// All canaries at once; early clusters in the second half of the first day; everybody else in the two days after it.
const CHANNELS: &str = "\
channels:
- name: stable-4.20
  rings:
  - {name: canaries, sector: stage}
  - {name: early, label: {tier: dev}}
  phasedRollouts:
  - duration: P2D
    after: P1D
    rings:
    - {name: canaries, duration: P0D}
    - {name: early, after: PT12H, duration: PT12H}
versions:
- {name: 4.20.3, start: 2026-10-01T00:00Z}
- {name: 4.20.4, start: 2026-11-16T00:00Z}
";

/// The example's releases with these channels and without a block.
fn with_rings(folder: &Path, channels: &str) {
    let data = folder.join("graph-data");
    for file in fs::read_dir(data.join("blocked-edges")).expect("blocks") {
        fs::remove_file(file.expect("a block").path()).expect("it goes");
    }
    for file in fs::read_dir(data.join("channels")).expect("channels") {
        fs::remove_file(file.expect("a file").path()).expect("it goes");
    }
    fs::write(data.join("channels/4.20.yaml"), channels).expect("written");
    fs::write(data.join("version"), "2.1.0\n").expect("written");
}

fn sees(towpath: &Towpath, query: &str) -> bool {
    edges(&towpath.graph(&format!("channel=stable-4.20&{query}"))).contains(&EDGE.to_owned())
}

fn explained(towpath: &Towpath, query: &str) -> String {
    let question = "/api/v1/explain?channel=stable-4.20&from=4.20.3&to=4.20.4&format=text";
    let said = towpath.get(&format!("{question}&{query}")).text();
    // Lines are folded.
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn canaries_get_it_first_and_nobody_gets_into_a_ring_by_asking() {
    let folder = tempfile::tempdir().expect("a folder");
    example(folder.path());
    with_rings(folder.path(), CHANNELS);
    let lookup = folder.path().join("clusters.csv");
    let known = "canary,GCP,sector=stage\nearly,,label:tier=dev\nprod,GCP,sector=prod\nplain,GCP\n";
    fs::write(&lookup, known).expect("written");
    let at = |now: &str| {
        let options = ["--now", now, "--platforms", text(&lookup)];
        Towpath::serve_folder(folder.path(), &options)
    };
    let before = at("2026-11-15T23:59:59Z");
    assert!(!sees(&before, "id=canary"), "the release has not entered");
    drop(before);

    let noon = at("2026-11-16T12:00:00Z");
    assert!(sees(&noon, "id=canary"), "all canaries have it");
    for other in ["id=early", "id=prod", "id=plain", "id=unknown", ""] {
        assert!(!sees(&noon, other), "{other}");
    }
    // What a client makes up about itself, or leaves out, changes nothing.
    for claim in [
        "ring=canaries",
        "sector=stage",
        "groups=stage",
        "label=tier=dev",
        "label:tier=dev",
    ] {
        assert!(!sees(&noon, &format!("id=plain&{claim}")), "{claim}");
        assert!(!sees(&noon, claim), "{claim}");
        let asked = format!("/api/v1/explain?channel=stable-4.20&from=4.20.3&id=plain&{claim}");
        assert_eq!(noon.get(&asked).status, 400, "{claim}");
    }
    let said = explained(&noon, "id=canary");
    assert!(
        said.contains("in ring canaries (sector stage), which goes first"),
        "{said}"
    );
    let said = explained(&noon, "id=early");
    assert!(
        said.contains("in ring early (label tier=dev), which has it from"),
        "{said}"
    );
    let said = explained(&noon, "id=prod");
    assert!(
        said.contains("canaries, early go first, and this cluster is in no ring"),
        "{said}"
    );
    let said = explained(&noon, "id=plain");
    assert!(
        said.contains("nobody knows a ring of this cluster"),
        "{said}"
    );

    let rows = noon.get("/api/v1/rollouts").json()["rollouts"].clone();
    let told = |row: &Value| {
        let word = |field: &str| row[field].as_str().unwrap_or("-").to_owned();
        [word("whose"), word("ring"), word("start"), word("end")].join(" ")
    };
    let rows: Vec<String> = rows.as_array().expect("rows").iter().map(told).collect();
    assert_eq!(
        rows,
        [
            "ring early 2026-11-16T12:00:00Z 2026-11-17T00:00:00Z",
            "everybodyElse - 2026-11-17T00:00:00Z 2026-11-19T00:00:00Z",
        ]
    );
    drop(noon);

    let next_day = at("2026-11-17T00:00:00Z");
    assert!(sees(&next_day, "id=canary") && sees(&next_day, "id=early"));
    assert!(!sees(&next_day, "id=prod") && !sees(&next_day, ""));
    drop(next_day);

    let last = at("2026-11-18T23:59:59Z");
    assert!(!sees(&last, ""), "without an id only at the end");
    drop(last);
    let end = at("2026-11-19T00:00:00Z");
    assert!(sees(&end, "") && sees(&end, "id=prod") && sees(&end, "id=plain"));
}

/// The planner goes by the same rings as the graph: the fleet starts what only canaries are offered.
#[test]
fn a_sector_of_the_fleet_is_a_ring_and_a_ring_without_clusters_is_found() {
    let fleet = Fleet::new();
    let channels = CHANNELS
        .replace(
            "  phasedRollouts:",
            "  - {name: mistyped, sector: satge}\n  phasedRollouts:",
        )
        .replace(
            "duration: PT12H}",
            "duration: PT12H}\n    - {name: mistyped, after: P1D, duration: P2D}",
        );
    with_rings(&fleet.path("data"), &channels);
    let noon = ["--now", "2026-11-16T12:00:00Z"];
    let towpath = fleet.serve(&fleet.sqlite(), &noon);
    for (id, name) in [(STAGE, "s1"), (PROD, "p1")] {
        let reported = fleet.report(&towpath, id, &on(name, "4.20.3"));
        assert_eq!(reported.status, 202, "{name}");
    }
    towpath.until("the canary's update is planned", |t| {
        let upgrades = t.get("/api/v1/fleet/upgrades").json();
        let entries = upgrades["entries"].as_array().cloned().unwrap_or_default();
        entries.len() == 1 && entries[0]["name"] == "s1" && entries[0]["to"] == "4.20.4"
    });
    towpath.until("explain knows the sectors", |t| {
        explained(t, &format!("id={STAGE}")).contains("in ring canaries (sector stage)")
            && explained(t, &format!("id={PROD}")).contains("this cluster is in no ring")
    });
    let why = towpath.get("/api/v1/clusters/p1/why").json().to_string();
    assert!(why.contains("RolloutAfterRings"), "{why}");
    towpath.until("the ring that nobody is in is told", |t| {
        let findings = t.get("/readyz").json()["fleet"]["findings"].clone();
        findings["kinds"]["empty-ring"] == 2 && findings.to_string().contains("ring mistyped")
    });
    drop(towpath);

    let towpath = fleet.serve(&fleet.sqlite(), &["--now", "2026-11-16T12:10:00Z"]);
    towpath.until("its edge is shown, and to nobody else", |t| {
        offered(t, STAGE) == [EDGE] && offered(t, PROD).is_empty()
    });
}

/// Without a fleet and without a file that sorts clusters, nobody would ever go first. The log and `/readyz` say so.
#[test]
fn rings_that_nobody_can_be_in_are_told() {
    let folder = tempfile::tempdir().expect("a folder");
    example(folder.path());
    with_rings(folder.path(), CHANNELS);
    let towpath = Towpath::serve_folder(folder.path(), &["--now", "2026-11-16T12:00:00Z"]);
    let logged = towpath.log_line("nobody is known to be in ring canaries of stable-4.20");
    assert_eq!(
        (logged["level"].as_str(), logged["code"].as_str()),
        (Some("WARN"), Some("empty-ring"))
    );
    let findings = towpath.get("/readyz").json()["lastReload"]["findings"].to_string();
    assert!(findings.contains("ring early"), "{findings}");
}

/// What a service does that knows less than the repository: so one of 2.0.0 treats data of 2.1.0, and this one what comes after 2.1.0.
#[test]
fn data_of_a_newer_schema_is_refused_as_a_whole_and_its_blocks_hold() {
    let folder = tempfile::tempdir().expect("a folder");
    example(folder.path());
    with_rings(
        folder.path(),
        &CHANNELS.replace("2026-11-16T00:00Z", "2026-11-01T00:00Z"),
    );
    let options = ["--now", "2026-11-16T12:00:00Z", "--refresh-every", "1s"];
    let towpath = Towpath::serve_folder(folder.path(), &options);
    assert!(sees(&towpath, "id=x"));
    let data = folder.path().join("graph-data");
    // A field that this service does not know could have held the release.
    let newer = CHANNELS.replace(
        "start: 2026-11-16T00:00Z",
        "start: 2026-11-01T00:00Z, paused: true",
    );
    fs::write(data.join("channels/4.20.yaml"), newer).expect("written");
    fs::write(data.join("version"), "2.2.0\n").expect("written");
    towpath.until("it is refused", |t| {
        let ready = t.get("/readyz").json().to_string();
        ready.contains("unknown-schema") && ready.contains("this towpath reads schema")
    });
    assert!(sees(&towpath, "id=x"), "the last good graph stays");
    fs::write(data.join("blocked-edges/b.yaml"), "to: 4.20.4\nfrom: .*\n").expect("written");
    towpath.until("a new block of it holds", |t| !sees(t, "id=x"));
    let metrics = towpath.get("/metrics").text();
    assert!(
        metrics.contains("towpath_last_reload_success 0"),
        "it is not taken"
    );
}
