//! Graph data that changes a window while clusters are in it: told, or refused; blocks come through in any case.

use std::fs;

use towpath_testing_services::{Towpath, edges};

use crate::sources::{Site, source};

const CHANNELS: &str = "graph-data/channels/4.20.yaml";
/// A quarter of its window is over.
const EDGE: &str = "4.20.3 -> 4.20.4";
const OTHER_EDGE: &str = "4.20.0 -> 4.20.1";
/// As many clusters as lost an edge without a word.
const CLUSTERS: u32 = 254;

fn site() -> Site {
    let site = Site::new();
    // No block hides anything.
    for file in fs::read_dir(site.path("graph-data/blocked-edges")).expect("blocks") {
        fs::remove_file(file.expect("a block").path()).expect("it goes");
    }
    site.repository();
    site
}

fn change(site: &Site, from: &str, to: &str) {
    let path = site.path(CHANNELS);
    let text = fs::read_to_string(&path).expect("channels");
    assert!(text.contains(from), "{text}");
    fs::write(path, text.replacen(from, to, 1)).expect("written");
}

fn serve(site: &Site, options: &[&str]) -> Towpath {
    site.serve(
        &site.text("graph-data"),
        &site.text("releases.json"),
        options,
    )
}

/// The clusters that see the edge now.
fn shown(towpath: &Towpath) -> Vec<u32> {
    let sees = |number: &u32| {
        let id = format!("00000000-0000-4000-8000-{number:012}");
        let query = format!("channel=stable-4.20&platform=GCP&id={id}");
        edges(&towpath.graph(&query)).contains(&EDGE.to_owned())
    };
    (0..CLUSTERS).filter(sees).collect()
}

fn changes(towpath: &Towpath, result: &str) -> u64 {
    let metrics = towpath.get("/metrics").text();
    let name = format!(
        "towpath_source_window_changes_total{{source=\"graph-data\",result=\"{result}\"}} "
    );
    let value = metrics.lines().find_map(|line| line.strip_prefix(&name));
    value.and_then(|value| value.parse().ok()).expect("counted")
}

/// What `/readyz` and `/api/v1/rollouts` say, which is the same.
fn told(towpath: &Towpath) -> serde_json::Value {
    let ready = source(towpath, "graph-data")["changedWindows"].clone();
    towpath.until("both say it", |t| {
        t.get("/api/v1/rollouts").json()["changedWindows"] == serde_json::json!([ready])
    });
    ready
}

#[test]
fn a_changed_window_is_taken_and_told_everywhere() {
    let site = site();
    let towpath = serve(&site, &[]);
    let before = shown(&towpath);
    assert!(before.len() > 20, "a quarter of {CLUSTERS}: {before:?}");
    let rollouts = towpath.get("/api/v1/rollouts").json();
    assert_eq!(rollouts["changedWindows"], serde_json::json!([]));
    change(&site, "P4D", "P8D");
    site.commit(1);
    site.read(&towpath, "graph-data", "changed");
    let logged = towpath.log_line("new graph data changes windows");
    assert_eq!(logged["level"], "WARN");
    let finding = towpath.log_line("the window of 4.20.4 in stable-4.20 was");
    assert_eq!(
        (finding["level"].as_str(), finding["code"].as_str()),
        (Some("WARN"), Some("rollout-loses"))
    );
    towpath.until("it is served", |t| shown(t).len() < before.len());
    assert_eq!(
        (changes(&towpath, "taken"), changes(&towpath, "refused")),
        (1, 0)
    );
    let told = told(&towpath);
    assert_eq!(told["result"], "taken");
    let sentence = told["sentences"][0].as_str().unwrap();
    assert!(
        sentence.contains("would lose what they have been shown"),
        "{sentence}"
    );
    // The next copy changes nothing about windows, so what was said before stays; one that does takes its place.
    fs::write(site.block(), "to: 4.20.1\nfrom: .*\n").unwrap();
    site.commit(2);
    site.read(&towpath, "graph-data", "changed");
    towpath.until("it stays", |t| {
        source(t, "graph-data")["changedWindows"]["at"] == told["at"]
    });
    change(&site, "P8D", "P1D");
    site.commit(3);
    site.read(&towpath, "graph-data", "changed");
    towpath.until("too many gain it at once", |t| {
        let told = source(t, "graph-data")["changedWindows"]["sentences"][0].clone();
        told.as_str().is_some_and(|told| told.contains("at once"))
    });
    assert_eq!(changes(&towpath, "taken"), 2);
}

#[test]
fn a_changed_window_is_refused_if_that_is_asked_for_and_its_blocks_hold() {
    let site = site();
    let towpath = serve(&site, &["--refuse-changed-windows"]);
    let before = shown(&towpath);
    assert!(before.len() > 20);
    change(&site, "P4D", "P8D");
    fs::write(site.block(), "to: 4.20.1\nfrom: .*\n").unwrap();
    site.commit(4);
    site.read(&towpath, "graph-data", "refused");
    towpath.until("the block of the refused copy holds", |t| {
        !edges(&t.graph("channel=fast-4.20&platform=GCP")).contains(&OTHER_EDGE.to_owned())
    });
    assert_eq!(shown(&towpath), before, "nobody loses the edge");
    let health = source(&towpath, "graph-data");
    assert_eq!(health["problem"]["kind"], "window-changed");
    let sentence = health["problem"]["sentence"].as_str().unwrap();
    for part in [
        "channels/4.20.yaml",
        "the window of 4.20.4 in stable-4.20 was",
        "--allow-window-change 4.20.4",
        r#"{"source":"graph-data","allow":["window"]}"#,
    ] {
        assert!(sentence.contains(part), "{part}: {sentence}");
    }
    assert_eq!(told(&towpath)["result"], "refused");
    // The same copy again is no news.
    site.read(&towpath, "graph-data", "refused");
    assert_eq!(
        (changes(&towpath, "taken"), changes(&towpath, "refused")),
        (0, 1)
    );
    assert_eq!(
        source(&towpath, "graph-data")["problem"]["sentence"],
        sentence,
        "what is told does not change with every read"
    );
    let allow = r#"{"source":"graph-data","allow":["window"]}"#;
    let admin = site.token("--admin");
    assert_eq!(site.reload_as(&admin, &towpath, allow).status, 202);
    towpath.until("it is taken", |t| shown(t).len() < before.len());
    assert_eq!(changes(&towpath, "taken"), 1);
}

#[test]
fn a_new_block_alone_is_taken_and_a_copy_that_goes_back_is_no_news() {
    let site = site();
    let towpath = serve(&site, &["--refuse-changed-windows"]);
    let before = shown(&towpath);
    fs::write(site.block(), "to: 4.20.1\nfrom: .*\n").unwrap();
    site.commit(5);
    site.read(&towpath, "graph-data", "changed");
    change(&site, "P4D", "P8D");
    site.commit(6);
    site.read(&towpath, "graph-data", "refused");
    // The one before comes back to its source, and all is well.
    change(&site, "P8D", "P4D");
    site.commit(7);
    site.read(&towpath, "graph-data", "unchanged");
    towpath.until("all is well", |t| {
        let health = source(t, "graph-data");
        health["problem"].is_null() && health["changedWindows"].is_null()
    });
    assert_eq!(shown(&towpath), before);
}

#[test]
fn what_is_allowed_by_name_is_taken() {
    let site = site();
    let towpath = serve(
        &site,
        &[
            "--refuse-changed-windows",
            "--allow-window-change",
            "4.20.4",
        ],
    );
    let before = shown(&towpath);
    change(&site, "P4D", "P8D");
    site.commit(8);
    towpath.until("it is served", |t| {
        site.reload(t, "{}");
        shown(t).len() < before.len()
    });
}

#[test]
fn what_changed_while_the_service_was_away_is_noticed_too() {
    let site = site();
    let state = site.text("state");
    let options = ["--state", &state, "--refuse-changed-windows"];
    let towpath = serve(&site, &options);
    let before = shown(&towpath);
    // A read that comes later is taken in after the first one was kept.
    site.read(&towpath, "graph-data", "unchanged");
    drop(towpath);
    change(&site, "P4D", "P8D");
    site.commit(9);
    let again = serve(&site, &options);
    again.until("it is refused", |t| {
        source(t, "graph-data")["problem"]["kind"] == "window-changed"
    });
    assert_eq!(shown(&again), before);
}
