//! The agent's side of the service against a real one: stamps that prove the graph's age, and reports that outlive an outage.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;
use towpath_core::cluster::ClusterId;
use towpath_core::retry::Backoff;
use towpath_formats::agent::stamp::Nonce;
use towpath_service::{
    Bounds, Event, Outbox, Pace, Queue, ReportOutcome, Sender, ServiceClient, ServiceConfig,
    SystemClock,
};

use towpath_testing_services::{Towpath, example};

pub(crate) const ID: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const KEYS: &str = "0123456789abcdef0123456789abcdef0123456789abcdef\n";
/// How long anything may take before a test gives up on it.
const PATIENCE: Duration = Duration::from_secs(60);

/// A folder with data, a policy, keys and the cluster's token.
pub(crate) struct Ground(tempfile::TempDir);

impl Ground {
    pub(crate) fn new() -> Self {
        let ground = Self(tempfile::tempdir().expect("a folder"));
        example(&ground.path("data"));
        std::fs::create_dir(ground.path("policy")).expect("a folder");
        let policy = "name: demo\norgId: demo\nupgradePolicyClusters:\n- name: s1\n  upgradePolicy: {workloads: [web], schedule: \"* * * * *\", conditions: {soakDays: 0}}\n";
        std::fs::write(ground.path("policy/org.yaml"), policy).expect("it can be written");
        std::fs::write(ground.path("keys"), KEYS).expect("it can be written");
        std::fs::write(ground.path("token"), token(&ground.path("keys"), ID, "s1"))
            .expect("it can be written");
        ground
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn client(&self, address: std::net::SocketAddr) -> ServiceClient {
        let mut config = ServiceConfig::new(format!("http://{address}"), self.path("token"));
        config.environment_proxy = false;
        ServiceClient::new(config).expect("a client")
    }

    /// With a fleet that has just been decided about.
    pub(crate) fn serve(&self, more: &[&str]) -> Towpath {
        self.serve_at("127.0.0.1:0", more)
    }

    fn serve_at(&self, address: &str, more: &[&str]) -> Towpath {
        let (policy, keys, data) = (
            self.path("policy"),
            self.path("keys"),
            self.path("data/graph-data"),
        );
        let (store, releases) = (
            format!("sqlite:{}", self.path("fleet.db").display()),
            self.path("data/releases.json"),
        );
        let options = [
            "--fleet",
            text(&policy),
            "--store",
            &store,
            "--token-keys",
            text(&keys),
            "--pass-every",
            "1s",
        ];
        let graph = [
            "--graph-data",
            text(&data),
            "--releases",
            text(&releases),
            "--open-reads",
        ];
        let towpath = Towpath::serve_at(address, &[&options[..], &graph, more].concat());
        towpath.until("a pass was made", |t| {
            !t.get("/readyz").json()["fleet"]["lastPass"].is_null()
        });
        towpath
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

pub(crate) fn token(keys: &Path, id: &str, name: &str) -> String {
    printed(&[
        "fleet",
        "token",
        "--keys",
        text(keys),
        "--cluster",
        id,
        "--org",
        "demo",
        "--name",
        name,
    ])
}

fn printed(arguments: &[&str]) -> String {
    let done = Command::new(env!("CARGO_BIN_EXE_towpath"))
        .args(arguments)
        .output()
        .expect("towpath runs");
    assert!(done.status.success(), "{done:?}");
    String::from_utf8(done.stdout).expect("text")
}

pub(crate) fn run<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        tokio::time::timeout(PATIENCE, work)
            .await
            .expect("it ends in time")
    })
}

pub(crate) fn id() -> ClusterId {
    ClusterId::new(ID).expect("an id")
}

/// A report of that name and time, which tells that an update to that version completed.
fn report(name: &str, at: &str, version: &str) -> Vec<u8> {
    let updates = json!([{"to": version, "outcome": "completed", "startedAt": at, "tookSeconds": 60, "automatic": true}]);
    json!({"id": name, "at": at, "name": "s1", "organisation": "demo", "version": version, "updates": updates})
        .to_string()
        .into_bytes()
}

#[test]
fn a_stamp_proves_how_old_the_graph_is_without_a_fleet() {
    let ground = Ground::new();
    let keys = ground.path("keys");
    let before = Timestamp::now();
    let towpath = Towpath::serve_folder(&ground.path("data"), &["--token-keys", text(&keys)]);
    let client = ground.client(towpath.address);
    let stamp = run(client.stamp(&id(), &Nonce::of([7; 32]))).expect("a stamp");
    assert!(
        before <= stamp.good_at && stamp.good_at <= stamp.stamped_at,
        "{before} / {stamp:?}"
    );
    assert!(stamp.stamped_at <= Timestamp::now());
    let other = ClusterId::new("another").expect("an id");
    let refused = run(client.stamp(&other, &Nonce::of([7; 32]))).expect_err("it is not its token");
    assert!(
        refused.to_string().contains("has the token of cluster"),
        "{refused}"
    );
}

#[test]
fn a_report_of_the_agent_is_taken_once_and_shown() {
    let ground = Ground::new();
    let towpath = ground.serve(&["--now", "2026-11-16T12:00:00Z"]);
    let client = ground.client(towpath.address);
    let sent = report("r1", "2026-11-16T11:59:00Z", "4.20.1");
    for _ in 0..3 {
        assert_eq!(run(client.report(&id(), &sent)), ReportOutcome::Sent);
    }
    let refused = run(client.report(&id(), b"{}"));
    assert!(
        matches!(&refused, ReportOutcome::Refused { why } if why.contains("missing field")),
        "{refused:?}"
    );
    towpath.until("it is shown", |t| {
        t.get("/api/v1/clusters/s1/why").status == 200
    });
    let expected = json!([{
        "to": "4.20.1", "outcome": "completed", "why": "", "startedAt": "2026-11-16T11:59:00Z", "tookSeconds": 60,
        "automatic": true,
    }]);
    assert_eq!(
        towpath.get("/api/v1/clusters/s1/why").json()["updates"],
        expected
    );
    let (policy, store) = (
        ground.path("policy"),
        format!("sqlite:{}", ground.path("fleet.db").display()),
    );
    let noon = "2026-11-16T12:00:00Z";
    let told = printed(&[
        "fleet",
        "why",
        "s1",
        "--fleet",
        text(&policy),
        "--store",
        &store,
        "--now",
        noon,
    ]);
    let line = "  4.20.1  completed  began 2026-11-16 11:59Z, 1 min, by the agent\n";
    assert!(
        told.ends_with(&format!(
            "\n  its last updates, as its agent tells:\n{line}"
        )),
        "{told}"
    );
    towpath.until("it is counted once", |t| {
        t.get("/metrics")
            .text()
            .contains("towpath_fleet_agent_updates_total{outcome=\"completed\"} 1\n")
    });
}

#[test]
fn what_was_queued_through_an_outage_arrives_once_it_is_over() {
    let ground = Ground::new();
    // Nobody is there for six hours; the agent is killed once meanwhile.
    for hour in 4..=9 {
        let (mut queue, findings) =
            Queue::open(&ground.path("queue"), Bounds::default()).expect("a queue");
        assert_eq!(findings, []);
        let version = if hour < 7 { "4.20.1" } else { "4.20.2" };
        let at = format!("2026-11-16T0{hour}:00:00Z");
        assert_eq!(
            queue.push(
                &format!("r{hour}"),
                &report(&format!("r{hour}"), &at, version)
            ),
            []
        );
    }
    let (queue, _) = Queue::open(&ground.path("queue"), Bounds::default()).expect("a queue");
    let towpath = ground.serve(&["--now", "2026-11-16T12:00:00Z"]);
    let outbox = Outbox::new(queue);
    let door = (Arc::new(ground.client(towpath.address)), id());
    let pace = Pace {
        burst: 100,
        ..Pace::default()
    };
    let sender = Sender::new(outbox.clone(), door, SystemClock::default(), pace, 7);
    let events = run(async {
        let (told, mut events) = tokio::sync::mpsc::unbounded_channel();
        let sending = sender.run(move |event| drop(told.send(event)));
        let watching = async {
            let mut seen = Vec::new();
            while outbox.waiting() > 0 {
                seen.extend(events.recv().await);
            }
            seen
        };
        tokio::select! {
            () = sending => unreachable!("it sends for ever"),
            seen = watching => seen,
        }
    });
    let expected: Vec<Event> = (4..=9)
        .map(|hour| Event::Sent {
            id: format!("r{hour}").into(),
        })
        .collect();
    assert_eq!(events, expected);
    towpath.until("it is known", |t| {
        t.get("/api/v1/clusters/s1/why").json()["version"] == "4.20.2"
    });
    let why = towpath.get("/api/v1/clusters/s1/why").json();
    assert_eq!(why["updates"].as_array().map(Vec::len), Some(6), "{why}");
    let history = towpath.get("/api/v1/fleet/history").json();
    let soaked: i64 = history["entries"]
        .as_array()
        .expect("rows")
        .iter()
        .filter_map(|row| row["soakSeconds"].as_i64())
        .sum();
    assert_eq!(soaked, 0, "nobody watched: {history}");
    let late = report("r0", "2026-11-16T01:00:00Z", "4.20.0");
    assert_eq!(
        run(ground.client(towpath.address).report(&id(), &late)),
        ReportOutcome::Sent
    );
    towpath.until("what is later than the newest is kept", |t| {
        t.get("/api/v1/clusters/s1/why").json()["updates"]
            .as_array()
            .is_some_and(|updates| updates.len() == 7)
    });
    assert_eq!(
        towpath.get("/api/v1/clusters/s1/why").json()["version"],
        "4.20.2",
        "and takes nothing back"
    );
    drop(outbox);
    let (queue, _) = Queue::open(&ground.path("queue"), Bounds::default()).expect("a queue");
    assert!(queue.is_empty(), "each was sent once");
}

#[test]
fn a_hundred_agents_report_through_a_death_of_the_service_and_each_outcome_counts_once() {
    let ground = Ground::new();
    let name = |number: usize| format!("bbbbbbbb-0000-4000-8000-{number:012}");
    let entry = |number: usize| {
        let policy =
            "upgradePolicy: {workloads: [web], schedule: \"* * * * *\", conditions: {soakDays: 0}}";
        format!("- name: {}\n  {policy}\n", name(number))
    };
    let entries: String = (0..100).map(entry).collect();
    let policy = format!("name: demo\norgId: demo\nupgradePolicyClusters:\n{entries}");
    std::fs::write(ground.path("policy/org.yaml"), policy).expect("it can be written");
    let first = ground.serve(&[]);
    let address = first.address;
    let agents: Vec<(Arc<ServiceClient>, ClusterId, Arc<Outbox>)> = (0..100)
        .map(|number| {
            let name = name(number);
            let file = ground.path(&format!("token-{number}"));
            std::fs::write(&file, token(&ground.path("keys"), &name, &name))
                .expect("it can be written");
            let mut config = ServiceConfig::new(format!("http://{address}"), file);
            config.environment_proxy = false;
            let queue = Queue::open(&ground.path(&format!("queue-{number}")), Bounds::default())
                .expect("a queue")
                .0;
            let client = Arc::new(ServiceClient::new(config).expect("a client"));
            (
                client,
                ClusterId::new(&name).expect("an id"),
                Outbox::new(queue),
            )
        })
        .collect();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let sent = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    for (number, (client, id, outbox)) in agents.iter().enumerate() {
        let stamp = runtime
            .block_on(client.stamp(id, &Nonce::of([7; 32])))
            .expect("a stamp for each");
        assert!(stamp.good_at <= stamp.stamped_at);
        // Five reports each; all tell of the same update, as an agent does that is killed before it has written down that it told.
        for report in 0..5 {
            let updates = json!([{"to": "4.20.1", "outcome": "completed", "startedAt": "2026-11-16T11:00:00Z", "tookSeconds": 60, "automatic": true}]);
            let name = format!("{number}-{report}");
            let body = json!({"id": name, "organisation": "demo", "version": "4.20.1", "updates": updates}).to_string();
            assert_eq!(outbox.push(&name, body.as_bytes()), []);
        }
        let pace = Pace {
            burst: 100,
            backoff: Backoff {
                first: Duration::from_millis(100),
                ..Pace::default().backoff
            },
            ..Pace::default()
        };
        let door = (client.clone(), id.clone());
        let sender = Sender::new(
            outbox.clone(),
            door,
            SystemClock::default(),
            pace,
            number as u64,
        );
        let sent = sent.clone();
        runtime.spawn(sender.run(move |event| {
            if let Event::Sent { .. } = event {
                sent.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            }
        }));
    }
    first.until("some have arrived", |_| {
        sent.load(std::sync::atomic::Ordering::SeqCst) > 50
    });
    // Without a word, in the midst of it.
    drop(first);
    let second = ground.serve_at(&address.to_string(), &[]);
    second.until("all have arrived", |_| {
        agents.iter().all(|(_, _, outbox)| outbox.waiting() == 0)
    });
    for (_, id, _) in &agents {
        let target = format!("/api/v1/clusters/{}/why", id.as_str());
        second.until("the cluster is known", |t| t.get(&target).status == 200);
        let why = second.get(&target).json();
        assert_eq!(
            why["updates"].as_array().map(Vec::len),
            Some(1),
            "told five times, counted once: {why}"
        );
    }
}
