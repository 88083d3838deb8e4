//! What clusters report becomes outcomes of releases: in the API, in metrics, and on the command line.

use std::process::Command;

use serde_json::{Value, json};
use towpath_service::ReportOutcome;

use crate::agent::{Ground, id, run};

const NOW: &str = "2026-11-16T12:00:00Z";

/// A report of the cluster that is on its way to 4.20.4.
fn leaving(name: &str, is_failing: bool) -> Vec<u8> {
    let failing = if is_failing { "True" } else { "False" };
    json!({
        "id": name, "at": "2026-11-16T11:30:00Z", "name": "s1", "organisation": "demo", "version": "4.20.3",
        "desired": "4.20.4", "channel": "stable-4.20", "platform": "AWS", "arch": "amd64",
        "history": [
            {"version": "4.20.4", "state": "Partial", "startedTime": "2026-11-16T11:00:00Z"},
            {"version": "4.20.3", "state": "Completed", "startedTime": "2026-11-01T10:00:00Z",
             "completionTime": "2026-11-01T11:00:00Z"},
        ],
        "conditions": [
            {"type": "Available", "status": "True"},
            {"type": "Progressing", "status": "True"},
            {"type": "Failing", "status": failing},
        ],
    })
    .to_string()
    .into_bytes()
}

fn outcomes(told: &Value) -> Option<Value> {
    let rows = told["rollouts"].as_array()?;
    let row = rows.iter().find(|row| row["to"] == "4.20.4")?;
    Some(row["outcomes"].clone()).filter(|outcomes| !outcomes.is_null())
}

fn printed(arguments: &[&str]) -> String {
    let done = Command::new(env!("CARGO_BIN_EXE_towpath"))
        .args(arguments)
        .output()
        .expect("towpath runs");
    assert!(done.status.success(), "{done:?}");
    String::from_utf8(done.stdout).expect("text")
}

#[test]
fn a_report_shows_as_an_outcome_everywhere() {
    let ground = Ground::new();
    let towpath = ground.serve(&["--now", NOW]);
    let told = towpath.get("/api/v1/rollouts").json();
    assert_eq!(outcomes(&told), None, "nobody has reported");
    let client = ground.client(towpath.address);
    for (name, is_failing) in [("r1", false), ("r1", false), ("r2", true), ("r3", false)] {
        let sent = run(client.report(&id(), &leaving(name, is_failing)));
        assert_eq!(sent, ReportOutcome::Sent);
    }
    towpath.until("the failure is counted", |t| {
        let told = t.get("/api/v1/rollouts").json();
        outcomes(&told).is_some_and(|outcomes| outcomes["failed"] == 1)
    });
    let told = towpath.get("/api/v1/rollouts?to=4.20.4").json();
    let of_release = outcomes(&told).expect("outcomes");
    let counts = ["started", "underWay", "done", "failed", "degraded"].map(|key| &of_release[key]);
    assert_eq!(counts, [1, 0, 0, 1, 0], "once, and it stays failed");
    assert_eq!(
        of_release["classes"][0]["fromMinor"], "4.20",
        "{of_release}"
    );
    assert!(told["outcomesAt"].is_string());
    let rows = told["rollouts"].as_array().expect("rows");
    assert!(!rows.is_empty() && rows.iter().all(|row| row["to"] == "4.20.4"));
    // Whether the release has begun by then depends on the day on which the example is written: then it has a label of its own.
    let metrics = towpath.get("/metrics").text();
    let failed = |line: &&str| {
        line.starts_with("towpath_rollout_clusters{") && line.ends_with("outcome=\"failed\"} 1")
    };
    assert_eq!(metrics.lines().filter(failed).count(), 1, "{metrics}");

    let server = format!("http://{}", towpath.address);
    let there = printed(&["rollouts", "show", "4.20.4", "--server", &server]);
    let store = format!("sqlite:{}", ground.path("fleet.db").display());
    let (data, releases) = (
        ground.path("data/graph-data"),
        ground.path("data/releases.json"),
    );
    let [data, releases] = [&data, &releases].map(|path| path.to_str().expect("UTF-8"));
    let here = printed(&[
        "rollouts",
        "show",
        "4.20.4",
        "--store",
        &store,
        "--graph-data",
        data,
        "--releases",
        releases,
        "--now",
        NOW,
    ]);
    assert_eq!(there, here);
    assert!(
        here.contains("Outcomes of 1 cluster as of 2026-11-16 12:00Z")
            && here.contains("from 4.20 on AWS, amd64"),
        "{here}"
    );
    let nobody = printed(&[
        "rollouts",
        "show",
        "4.20.4",
        "--graph-data",
        data,
        "--releases",
        releases,
        "--now",
        NOW,
    ]);
    assert!(
        nobody.contains("No outcomes: clusters report to a service with a fleet"),
        "{nobody}"
    );
}

#[test]
fn a_file_tells_of_clusters_that_do_not_report() {
    let ground = Ground::new();
    let file = ground.path("attempts.jsonl");
    let line = |cluster: &str, more: &str| {
        format!(
            "{{\"cluster\": \"{cluster}\", \"organisation\": \"acme\", \"from\": \"4.20.3\", \"to\": \"4.20.4\", \
             \"platform\": \"GCP\", \"startedAt\": \"2026-11-16T10:00:00Z\"{more}}}\n"
        )
    };
    let done = ", \"completedAt\": \"2026-11-16T11:00:00Z\"";
    let lines = line("silent-1", done) + &line("silent-2", "") + "nonsense\n";
    std::fs::write(&file, lines).expect("it can be written");
    let path = file.to_str().expect("UTF-8");
    let towpath = ground.serve(&["--now", NOW, "--outcomes", path]);
    let counts = |t: &towpath_testing_services::Towpath| {
        let outcomes = outcomes(&t.get("/api/v1/rollouts").json());
        outcomes.map(|told| ["started", "underWay", "done"].map(|key| told[key].as_u64()))
    };
    towpath.until("the file counts", |t| {
        counts(t) == Some([Some(2), Some(1), Some(1)])
    });
    let ready = towpath.get("/readyz").text();
    assert!(ready.contains("bad-attempt"), "{ready}");
    let lines = line("silent-1", done) + &line("silent-2", done);
    std::fs::write(&file, lines).expect("it can be written");
    towpath.until("a change is read", |t| {
        counts(t) == Some([Some(2), Some(0), Some(2)])
    });
    let store = format!("sqlite:{}", ground.path("fleet.db").display());
    let check = ["duration", "check", "--store", &store];
    let done = Command::new(env!("CARGO_BIN_EXE_towpath"))
        .args(check)
        .output()
        .expect("towpath runs");
    let text = String::from_utf8(done.stdout).expect("text");
    assert_eq!(done.status.code(), Some(1), "two are too few: {text}");
    assert!(
        text.starts_with("2 completed updates in 2 updates of the store.\nInconclusive:"),
        "{text}"
    );
}

#[test]
fn power_cards_go_by_the_policy_of_who_watches() {
    let ground = Ground::new();
    let policy = ground.path("feedback.yaml");
    let text = "channels: {stable: {alpha: 1%, baseRate: 2%, delay: 90m}}\n";
    std::fs::write(&policy, text).expect("a policy");
    let policy = policy.to_str().expect("UTF-8").to_owned();
    let towpath = ground.serve(&["--now", NOW, "--feedback", &policy]);
    let server = format!("http://{}", towpath.address);
    let show = ["rollouts", "show", "4.20.4", "--fleet-size", "10000"];
    let there = printed(&[&show[..], &["--server", &server]].concat());
    assert!(
        there.contains("outcomes known after 1h 30m, at most 1 % false halts, base rate 2 %"),
        "{there}"
    );
    let told = towpath
        .get("/api/v1/rollouts?to=4.20.4&fleet-size=10000")
        .json();
    let card = &told["power"][0];
    assert_eq!(
        (&card["alpha"], &card["baseRate"]),
        (&json!(0.01), &json!(0.02)),
        "{told}"
    );
    assert!(
        card["stages"]
            .as_array()
            .is_some_and(|stages| stages.len() > 1),
        "{card}"
    );
    assert!(towpath.get("/api/v1/rollouts").json()["power"].is_null());
    assert_eq!(towpath.get("/api/v1/rollouts?fleet-size=0").status, 400);

    let (data, releases) = (
        ground.path("data/graph-data"),
        ground.path("data/releases.json"),
    );
    let [data, releases] = [&data, &releases].map(|path| path.to_str().expect("UTF-8"));
    let own = ["--graph-data", data, "--releases", releases, "--now", NOW];
    let cards = |text: &str| {
        let (_, cards) = text.split_once("\nPower card").expect("a card");
        cards.to_owned()
    };
    let here = printed(&[&show[..], &own, &["--feedback", &policy]].concat());
    assert_eq!(cards(&here), cards(&there));
    let later = printed(
        &[
            &show[..],
            &own,
            &["--feedback", &policy, "--feedback-latency", "2h"],
        ]
        .concat(),
    );
    assert!(
        later.contains("outcomes known after 2h, at most 1 %"),
        "{later}"
    );
    let built_in = printed(&[&show[..], &own].concat());
    assert!(
        built_in.contains("outcomes known after 4h, at most 0.1 %"),
        "{built_in}"
    );
}
