//! A thousand reports that are forged, late, repeated and out of order: outcomes, the watch, halts and the log stay as they were.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use towpath_testing_services::Towpath;

use crate::fleet::{Fleet, post};

const CLUSTERS: usize = 10;
/// Of each of the four kinds.
const TIMES: usize = 250;

/// The time that many minutes before another one.
fn ago(now: Timestamp, minutes: i64) -> String {
    let at = now - SignedDuration::from_mins(minutes);
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn name(number: usize) -> String {
    format!("c{number}")
}

/// What a cluster tells of its update to 4.20.4: under way, complete, or failing.
fn report(now: Timestamp, number: usize, id: &str, minutes: i64, state: &str) -> Value {
    let is_complete = state == "complete";
    let mut update = json!({
        "version": "4.20.4", "startedTime": ago(now, 180),
        "state": if is_complete { "Completed" } else { "Partial" },
    });
    if is_complete {
        update["completionTime"] = json!(ago(now, 90));
    }
    let failing = if state == "failing" { "True" } else { "False" };
    let progressing = if is_complete { "False" } else { "True" };
    json!({
        "id": id, "at": ago(now, minutes), "name": name(number), "organisation": organisation(number),
        "version": if is_complete { "4.20.4" } else { "4.20.3" }, "desired": "4.20.4",
        "channel": "stable-4.20", "platform": "AWS", "arch": "amd64",
        "history": [
            update,
            {"version": "4.20.3", "state": "Completed", "startedTime": "2026-01-01T10:00:00Z",
             "completionTime": "2026-01-01T11:00:00Z"},
        ],
        "conditions": [
            {"type": "Available", "status": "True"},
            {"type": "Progressing", "status": progressing},
            {"type": "Failing", "status": failing},
        ],
    })
}

fn organisation(number: usize) -> String {
    format!("org{}", number % 5)
}

fn send(towpath: &Towpath, number: usize, token: &str, report: &Value) -> u16 {
    let path = format!("/api/v1/clusters/{}/report", name(number));
    post(towpath, &path, token, report).status
}

/// All that people would see of it, without the times of looking.
fn seen(towpath: &Towpath) -> Value {
    let watch = towpath.get("/api/v1/fleet/watch?version=4.20.4").json();
    let mut release = watch["releases"][0].clone();
    release.as_object_mut().expect("a release").remove("at");
    let rollouts = towpath.get("/api/v1/rollouts?to=4.20.4").json();
    let decisions = towpath.get("/api/v1/fleet/decisions").json();
    let of_watch = decisions["decisions"].as_array().expect("decisions").iter();
    let of_watch = of_watch.filter(|one| one.to_string().contains("watch"));
    json!({
        "watch": release,
        "outcomes": rollouts["rollouts"][0]["outcomes"],
        "halts": towpath.get("/api/v1/rollouts/halts").json(),
        "decisions": of_watch.count(),
    })
}

fn counted(towpath: &Towpath) -> [u64; 4] {
    let told = towpath.get("/api/v1/rollouts?to=4.20.4").json();
    let outcomes = &told["rollouts"][0]["outcomes"];
    ["started", "underWay", "done", "failed"].map(|key| outcomes[key].as_u64().unwrap_or_default())
}

#[test]
fn a_thousand_forged_late_repeated_and_reordered_reports_change_nothing() {
    let (fleet, now) = (Fleet::new(), Timestamp::now());
    fleet.write("feedback.yaml", "default: {mode: enforce}\n");
    let feedback = fleet.path("feedback.yaml");
    let feedback = feedback.to_str().expect("UTF-8");
    let more = ["--feedback", feedback, "--reports-per-minute", "0"];
    let towpath = fleet.serve(&fleet.sqlite(), &more);
    let token = |number: usize| {
        let (name, organisation) = (name(number), organisation(number));
        fleet.token(&["--cluster", &name, "--org", &organisation, "--name", &name])
    };
    let tokens: Vec<String> = (0..CLUSTERS).map(token).collect();
    let truth = |number: usize| {
        let state = if number == 0 { "failing" } else { "complete" };
        report(now, number, "truth", 60, state)
    };
    for (number, token) in tokens.iter().enumerate() {
        assert_eq!(send(&towpath, number, token, &truth(number)), 202);
    }
    towpath.until("all count", |t| counted(t) == [10, 0, 9, 1]);
    towpath.until("the watch has looked", |t| {
        let watch = t.get("/api/v1/fleet/watch?version=4.20.4");
        watch.status == 200 && watch.json()["releases"][0]["scopes"][0]["known"] == 10
    });
    let before = seen(&towpath);
    assert_eq!(before["halts"], json!({"halts": []}));

    // The four kinds in turns; which cluster it is moves in steps of its own, so no order repeats.
    let mut refused = 0;
    for turn in 0..TIMES {
        let number = turn * 7 % CLUSTERS;
        let other = (number + 1 + turn % (CLUSTERS - 1)) % CLUSTERS;
        let failing = report(now, number, &format!("forged-{turn}"), 30, "failing");
        let by_another = send(&towpath, number, &tokens[other], &failing);
        let mut broken = tokens[number].clone();
        broken.pop();
        let by_nobody = send(&towpath, number, &broken, &failing);
        refused += usize::from(by_another == 403) + usize::from(by_nobody == 401);
        let again = send(&towpath, number, &tokens[number], &truth(number));
        let late = report(now, number, &format!("late-{turn}"), 150, "under way");
        let late = send(&towpath, number, &tokens[number], &late);
        assert_eq!((again / 100, late / 100), (2, 2), "turn {turn}");
    }
    assert_eq!(refused, 2 * TIMES, "no forged report was taken");
    // What comes after them is written after them.
    let last = report(now, 1, "last", 60, "complete");
    assert_eq!(send(&towpath, 1, &tokens[1], &last), 202);
    // A scheduling pass and several looks of the watch.
    for _ in 0..5 {
        assert_eq!(seen(&towpath), before);
        std::thread::sleep(std::time::Duration::from_millis(400));
    }
}
