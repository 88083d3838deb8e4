//! A real Prometheus as the source of outcomes. Needs the commands `prometheus` and `promtool` (Debian: prometheus).

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use jiff::Timestamp;
use serde_json::Value;
use towpath_testing_services::Towpath;

use crate::agent::Ground;

const NOW: &str = "2026-11-16T12:00:00Z";

/// A Prometheus over a folder of blocks, ended when dropped.
struct Prometheus(Child);

impl Drop for Prometheus {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Prometheus {
    fn start(folder: &Path, port: u16) -> Self {
        let config = folder.join("prometheus.yml");
        std::fs::write(&config, "global: {}\n").expect("it can be written");
        let child = Command::new("prometheus")
            .arg(format!("--config.file={}", config.display()))
            .arg(format!(
                "--storage.tsdb.path={}",
                folder.join("blocks").display()
            ))
            .arg("--storage.tsdb.retention.time=100y")
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .arg("--log.level=error")
            .stdout(Stdio::null())
            .spawn();
        Self(child.expect("prometheus starts; install Debian's prometheus"))
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

/// A series of `cluster_version` that was there every five minutes between two times of day, with a time as its value.
fn series(id: &str, kind: &str, (from, to): (&str, &str), since: [&str; 2], value: &str) -> String {
    let seconds = |time: &str| {
        let at: Timestamp = format!("2026-11-{time}:00Z").parse().expect("a time");
        at.as_second()
    };
    let labels = format!(
        "_id=\"{id}\",type=\"{kind}\",from_version=\"{from}\",version=\"{to}\",image=\"i\",instance=\"x\""
    );
    let times = (seconds(since[0])..=seconds(since[1])).step_by(300);
    let value = seconds(value);
    let lines = times.map(|at| format!("cluster_version{{{labels}}} {value} {at}\n"));
    lines.collect()
}

/// What telemetry of some clusters looks like: c1 is done, c2 fails, c3 is under way, c4 has been stuck for days.
fn backfill(folder: &Path) {
    let up = ("4.20.3", "4.20.4");
    let samples = [
        series("c1", "updating", up, ["16T10:00", "16T10:55"], "16T10:00"),
        series("c1", "completed", up, ["16T11:00", "16T12:00"], "16T11:00"),
        series("c2", "updating", up, ["16T10:00", "16T12:00"], "16T10:00"),
        series("c2", "failure", up, ["16T10:30", "16T12:00"], "16T10:30"),
        series("c3", "updating", up, ["16T11:30", "16T12:00"], "16T11:30"),
        series("c4", "updating", up, ["16T00:00", "16T12:00"], "13T10:00"),
        series("c4", "failure", up, ["16T00:00", "16T12:00"], "13T11:00"),
    ];
    let at: Timestamp = NOW.parse().expect("a time");
    let provider = format!(
        "# TYPE cluster_infrastructure_provider gauge\ncluster_infrastructure_provider{{_id=\"c1\",type=\"GCP\",region=\"r\"}} 1 {}\n",
        at.as_second()
    );
    let text = format!(
        "# TYPE cluster_version gauge\n{}{provider}# EOF\n",
        samples.concat()
    );
    let file = folder.join("samples.txt");
    std::fs::write(&file, text).expect("it can be written");
    let done = Command::new("promtool")
        .args(["tsdb", "create-blocks-from", "openmetrics"])
        .args([&file, &folder.join("blocks")])
        .output()
        .expect("promtool runs; install Debian's prometheus");
    assert!(done.status.success(), "{done:?}");
}

fn row(towpath: &Towpath) -> Option<Value> {
    let told = towpath.get("/api/v1/rollouts?to=4.20.4").json();
    let row = told["rollouts"].as_array()?.first()?["outcomes"].clone();
    (!row.is_null()).then_some(row)
}

fn counts(towpath: &Towpath) -> Option<[u64; 4]> {
    let row = row(towpath)?;
    let count = |key: &str| row[key].as_u64().unwrap_or_default();
    Some(["started", "underWay", "done", "failed"].map(count))
}

fn findings(towpath: &Towpath) -> String {
    towpath.get("/readyz").json()["fleet"]["findings"].to_string()
}

#[test]
fn a_prometheus_tells_of_clusters_that_do_not_report() {
    let ground = Ground::new();
    let folder = ground.path("prometheus");
    std::fs::create_dir(&folder).expect("a folder");
    backfill(&folder);
    let port = free_port();
    let prometheus = Prometheus::start(&folder, port);
    let url = format!("http://127.0.0.1:{port}");
    let asking = [
        "--now",
        NOW,
        "--outcomes-prometheus",
        &url,
        "--outcomes-every",
        "1s",
    ];
    let towpath = ground.serve(&asking);
    towpath.until("it counts, and what is stuck for days does not", |t| {
        counts(t) == Some([3, 1, 1, 1])
    });
    let classes = row(&towpath).expect("a row")["classes"].to_string();
    assert!(classes.contains("GCP"), "{classes}");
    towpath.until("what was wrong at first is gone", |t| {
        !findings(t).contains("outcomes-query")
    });

    // It goes away: that is told, and what is known stays.
    drop(prometheus);
    towpath.until("it is told", |t| findings(t).contains("outcomes-query"));
    let told = findings(&towpath);
    assert!(
        told.contains("it last answered at 2026-11-16T12:00:00Z, and what it told then stays"),
        "{told}"
    );
    assert_eq!(counts(&towpath), Some([3, 1, 1, 1]));
    let metrics = towpath.get("/metrics").text();
    let failed = "towpath_outcomes_queries_total{result=\"failed\"} 0";
    assert!(!metrics.contains(failed), "{metrics}");
    assert!(metrics.contains("towpath_outcomes_query_last_success_timestamp_seconds 1794830400.0"));

    // It is back: nothing was counted twice.
    let _prometheus = Prometheus::start(&folder, port);
    towpath.until("it answers again", |t| {
        !findings(t).contains("outcomes-query")
    });
    assert_eq!(counts(&towpath), Some([3, 1, 1, 1]));
    drop(towpath);

    // What is asked wrongly is told with what helps. A store of its own: the lease of who was killed lasts a while.
    for (query, expected) in [
        (
            "cluster_version",
            "the label \\\"image\\\" is unknown; aggregate it away",
        ),
        (
            "cluster_version / on (_id) cluster_version",
            "Prometheus cannot execute the query",
        ),
        (
            "min by (_id) (nothing_of_that_name)",
            "the query has no series",
        ),
    ] {
        let ground = Ground::new();
        let towpath = ground.serve(&[&asking[..], &["--outcomes-query", query]].concat());
        towpath.until("the mistake is told", |t| findings(t).contains(expected));
    }
}

#[test]
fn a_query_that_cannot_be_asked_ends_the_start() {
    let ground = Ground::new();
    let policy = ground.path("policy");
    let (https, http) = (
        "https://prometheus.example.com",
        "http://prometheus.example.com",
    );
    for (url, query, expected) in [
        (https, "cluster_version{", "it is not PromQL"),
        (https, "cluster_version[1d]", "an instant vector is needed"),
        (http, "cluster_version", "in the clear"),
    ] {
        let done = Command::new(env!("CARGO_BIN_EXE_towpath"))
            .args(["serve", "--listen", "127.0.0.1:0", "--fleet"])
            .arg(&policy)
            .args(["--outcomes-prometheus", url, "--outcomes-query", query])
            .output()
            .expect("towpath runs");
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{said}");
        assert!(said.contains(expected), "{said}");
    }
}
