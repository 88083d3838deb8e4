//! Changes on disk, good and bad, while it serves.

use std::fs;
use std::path::Path;

use rustix::process::Signal;
use towpath_testing_services::{Towpath, edges, example};

const BLOCK: &str = "graph-data/blocked-edges/4.20.1-new.yaml";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    example(folder.path());
    folder
}

fn offers(towpath: &Towpath, edge: &str) -> bool {
    edges(&towpath.graph("channel=fast-4.20&platform=GCP")).contains(&edge.to_owned())
}

fn write(folder: &Path, text: &str) {
    fs::write(folder.join(BLOCK), text).expect("the block is written");
}

#[test]
fn a_block_reaches_every_answer_and_goes_again() {
    let folder = folder();
    let towpath = Towpath::serve_folder(folder.path(), &[]);
    assert!(offers(&towpath, "4.20.0 -> 4.20.1"));
    write(folder.path(), "to: 4.20.1\nfrom: .*\n");
    towpath.until("the block holds", |t| !offers(t, "4.20.0 -> 4.20.1"));
    fs::remove_file(folder.path().join(BLOCK)).unwrap();
    towpath.until("the block is gone", |t| offers(t, "4.20.0 -> 4.20.1"));
}

#[test]
fn a_bad_file_keeps_the_last_good_graph_and_is_seen() {
    let folder = folder();
    let towpath = Towpath::serve_folder(folder.path(), &[]);
    let before = towpath
        .get("/api/upgrades_info/graph?channel=stable-4.20")
        .body;
    write(folder.path(), "to: 4.20.1\nfrom: '('\n");
    let logged = towpath.log_line("`from` is not a regular expression");
    assert_eq!(
        (logged["place"].as_str(), logged["level"].as_str()),
        (Some("blocked-edges/4.20.1-new.yaml:2:7"), Some("ERROR"))
    );
    assert!(
        logged["remedy"]
            .as_str()
            .is_some_and(|remedy| remedy.contains("correct it"))
    );
    let readiness = towpath.get("/readyz");
    assert_eq!(readiness.status, 200);
    let readiness = readiness.json();
    assert_eq!(readiness["status"], "ready, serving the last good graph");
    assert_eq!(readiness["lastReload"]["result"], "failed");
    assert_eq!(readiness["lastReload"]["findings"][0]["code"], "bad-regex");
    let metrics = towpath.get("/metrics").text();
    assert!(
        metrics.contains("towpath_last_reload_success 0")
            && metrics.contains("towpath_reloads_total{result=\"failed\"} 1"),
        "{metrics}"
    );
    assert_eq!(
        towpath
            .get("/api/upgrades_info/graph?channel=stable-4.20")
            .body,
        before
    );
    write(folder.path(), "to: 4.20.1\nfrom: .*\n");
    towpath.until("the corrected block holds", |t| {
        !offers(t, "4.20.0 -> 4.20.1")
    });
    assert_eq!(towpath.get("/readyz").json()["status"], "ready");
}

#[test]
fn every_kind_of_mistake_keeps_the_last_good_graph() {
    let folder = folder();
    let towpath = Towpath::serve_folder(folder.path(), &[]);
    let bad = [
        ("graph-data/version", "3.0.0"),
        ("graph-data/blocked-edges/a.yaml", "to: 4.20.1\n"),
        ("graph-data/blocked-edges/a.txt", "to: 4.20.1\nfrom: .*\n"),
        (
            "graph-data/channels/b.yaml",
            "channels: [{name: fast-4.20}]\n",
        ),
        ("releases.json", "{\"nodes\":["),
        (
            "releases.json",
            "{\"nodes\":[{\"version\":\"4.20.1\",\"payload\":\"x\"}],\"edges\":[[0,7]]}",
        ),
    ];
    for (number, (path, text)) in bad.into_iter().enumerate() {
        let path = folder.path().join(path);
        let good = fs::read(&path).ok();
        fs::write(&path, text).unwrap();
        towpath.until("the mistake was found", |t| {
            t.get("/readyz").json()["lastReload"]["result"] == "failed"
        });
        assert!(
            offers(&towpath, "4.20.0 -> 4.20.1"),
            "after mistake {number}"
        );
        match good {
            Some(good) => fs::write(&path, good).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        towpath.until("it is well again", |t| {
            t.get("/readyz").json()["lastReload"]["result"] == "unchanged"
        });
    }
}

#[test]
fn a_start_without_a_valid_graph_is_not_ready_and_says_why() {
    let folder = folder();
    write(folder.path(), "to: 4.20.1\nfrom: [\n");
    let (data, releases) = (
        folder.path().join("graph-data"),
        folder.path().join("releases.json"),
    );
    let towpath = Towpath::serve(&[
        "--graph-data",
        data.to_str().expect("UTF-8"),
        "--releases",
        releases.to_str().expect("UTF-8"),
    ]);
    towpath.log_line("the graph could not be loaded");
    let readiness = towpath.get("/readyz");
    assert_eq!(
        (
            readiness.status,
            towpath.get("/livez").status,
            towpath.get("/metrics").status
        ),
        (503, 200, 200)
    );
    let readiness = readiness.json();
    assert_eq!(readiness["status"], "not ready: no graph could be loaded");
    assert!(
        readiness["lastReload"]["findings"][0]["place"]
            .as_str()
            .unwrap()
            .starts_with("blocked-edges/4.20.1-new.yaml:")
    );
    let refused = towpath.get("/api/upgrades_info/graph?channel=fast-4.20");
    assert_eq!(
        (refused.status, refused.kind().as_str()),
        (503, "not_ready")
    );
    fs::remove_file(folder.path().join(BLOCK)).unwrap();
    towpath.until("it is ready", |t| t.get("/readyz").status == 200);
}

#[test]
fn a_hangup_looks_at_once() {
    let towpath = Towpath::serve(&["--poll-every", "3600s"]);
    towpath.until("it is ready", |t| t.get("/readyz").status == 200);
    let unchanged = |t: &Towpath| {
        t.get("/metrics")
            .text()
            .contains("towpath_reloads_total{result=\"unchanged\"} 1")
    };
    assert!(!unchanged(&towpath));
    towpath.signal(Signal::HUP);
    towpath.until("it has looked", unchanged);
}

#[test]
fn no_request_fails_while_graphs_are_replaced() {
    let folder = folder();
    let towpath = Towpath::serve_folder(folder.path(), &[]);
    let changed = |t: &Towpath| {
        let metrics = t.get("/metrics").text();
        let line = metrics
            .lines()
            .find(|line| line.starts_with("towpath_reloads_total{result=\"changed\"}"))
            .unwrap()
            .to_owned();
        line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()
    };
    for number in 0..10 {
        let before = changed(&towpath);
        write(
            folder.path(),
            &format!("# {number}\nto: 4.20.1\nfrom: 4[.]19[.].*\n"),
        );
        // Each turn of the wait is a request that must be answered whole, whichever graph it meets.
        towpath.until("the new graph is served", |t| {
            assert_eq!(
                t.graph("channel=fast-4.20&platform=GCP")["nodes"]
                    .as_array()
                    .unwrap()
                    .len(),
                7
            );
            changed(t) > before
        });
    }
}
