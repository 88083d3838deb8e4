//! The fleet beside the graph: clusters report, see what they may take, and people ask and pause.

mod full_disk;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use towpath_testing_services::{Response, Towpath, edges, example};

pub(crate) const STAGE: &str = "aaaaaaaa-0000-4000-8000-000000000001";
pub(crate) const PROD: &str = "aaaaaaaa-0000-4000-8000-000000000002";

/// A folder with the example's graph, a policy for two clusters, and keys.
pub(crate) struct Fleet(tempfile::TempDir);

impl Fleet {
    pub(crate) fn new() -> Self {
        let fleet = Self(tempfile::tempdir().expect("a folder"));
        example(&fleet.path("data"));
        std::fs::create_dir(fleet.path("policy")).expect("a folder");
        fleet.write(
            "policy/org.yaml",
            r#"
name: demo
orgId: demo
sectors: [{name: stage}, {name: prod, dependencies: [{name: stage}]}]
upgradePolicyClusters:
- name: s1
  upgradePolicy: {workloads: [web], schedule: "* * * * *", conditions: {soakDays: 0, sector: stage}}
- name: p1
  upgradePolicy: {workloads: [web], schedule: "* * * * *", conditions: {soakDays: 1, sector: prod}}
"#,
        );
        fleet.write("keys", "0123456789abcdef0123456789abcdef0123456789abcdef\n");
        fleet.write(
            "people-keys",
            "of people: 0123456789abcdef0123456789abcdef\n",
        );
        fleet
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("it can be written");
    }

    /// Serves, decides every second, and waits for the first decision.
    pub(crate) fn serve(&self, store: &str, more: &[&str]) -> Towpath {
        self.serve_closed(store, &[&["--open-reads"], more].concat())
    }

    /// The same, where only who has a token may look at the fleet.
    pub(crate) fn serve_closed(&self, store: &str, more: &[&str]) -> Towpath {
        self.serve_every("1s", store, more)
    }

    /// The same, with that much time between passes.
    fn serve_every(&self, every: &str, store: &str, more: &[&str]) -> Towpath {
        let (policy, keys) = (self.path("policy"), self.path("keys"));
        let people = self.path("people-keys");
        let options = [
            "--fleet",
            text(&policy),
            "--store",
            store,
            "--token-keys",
            text(&keys),
            "--people-keys",
            text(&people),
            "--pass-every",
            every,
        ];
        let towpath = Towpath::serve_folder(&self.path("data"), &[&options, more].concat());
        towpath.until("a pass was made", |t| {
            !t.get("/readyz").json()["fleet"]["lastPass"].is_null()
        });
        towpath
    }

    pub(crate) fn sqlite(&self) -> String {
        format!("sqlite:{}", self.path("fleet.db").display())
    }

    /// A token. A person's is ada's, unless the arguments name somebody.
    pub(crate) fn token(&self, arguments: &[&str]) -> String {
        let (keys, people) = (self.path("keys"), self.path("people-keys"));
        let files = ["--keys", text(&keys), "--people-keys", text(&people)];
        let is_nameless = !arguments
            .iter()
            .any(|one| ["--name", "--reload", "--store", "--server"].contains(one));
        let name = if is_nameless {
            &["--name", "ada"][..]
        } else {
            &[]
        };
        run(&[&["fleet", "token"], &files[..], arguments, name].concat())
            .trim()
            .to_owned()
    }

    pub(crate) fn cluster_token(&self, id: &str, name: &str) -> String {
        self.token(&["--cluster", id, "--org", "demo", "--name", name])
    }

    pub(crate) fn report(&self, towpath: &Towpath, id: &str, report: &Value) -> Response {
        let token = self.cluster_token(id, report["name"].as_str().expect("a name"));
        post(
            towpath,
            &format!("/api/v1/clusters/{id}/report"),
            &token,
            report,
        )
    }
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

pub(crate) fn run(arguments: &[&str]) -> String {
    let done = Command::new(env!("CARGO_BIN_EXE_towpath"))
        .args(arguments)
        .output()
        .expect("towpath runs");
    assert!(done.status.success(), "{done:?}");
    String::from_utf8(done.stdout).expect("text")
}

pub(crate) fn post(towpath: &Towpath, target: &str, token: &str, body: &Value) -> Response {
    let body = body.to_string();
    let request = format!(
        "POST {target} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    Response::read(&mut towpath.send(request.as_bytes()), false)
}

pub(crate) fn on(name: &str, version: &str) -> Value {
    json!({"name": name, "organisation": "demo", "version": version, "channel": "stable-4.20", "platform": "GCP"})
}

pub(crate) fn offered(towpath: &Towpath, id: &str) -> Vec<String> {
    edges(&towpath.graph(&format!("channel=stable-4.20&id={id}")))
}

fn upgrade_state(towpath: &Towpath) -> String {
    towpath.get("/api/v1/fleet/upgrades").json()["entries"][0]["state"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

/// Where the file and the report disagree, explain says what the graph goes by. Without a policy, a report does not count.
#[test]
fn the_platform_that_is_explained_is_the_one_that_counts_for_the_graph() {
    const OTHER: &str = "aaaaaaaa-0000-4000-8000-000000000009";
    let fleet = Fleet::new();
    fleet.write("platforms.csv", &format!("{STAGE},AWS\n"));
    let lookup = fleet.path("platforms.csv");
    let noon = [
        "--now",
        "2026-11-16T12:00:00Z",
        "--platforms",
        text(&lookup),
    ];
    let towpath = fleet.serve(&fleet.sqlite(), &noon);
    for (id, name) in [(STAGE, "s1"), (PROD, "p1"), (OTHER, "x9")] {
        let reported = fleet.report(&towpath, id, &on(name, "4.20.1"));
        assert_eq!(reported.status, 202, "{name}");
    }
    let explained = |t: &Towpath, id: &str| {
        let question = format!("/api/v1/explain?channel=stable-4.20&from=4.20.1&id={id}");
        t.get(&question).json()["platform"].clone()
    };
    towpath.until("the reports count", |t| explained(t, PROD) == "GCP");
    assert_eq!(explained(&towpath, STAGE), "AWS", "the file comes first");
    let alone = Towpath::serve_folder(&fleet.path("data"), &noon);
    towpath.until("it is placed", |t| !offered(t, OTHER).is_empty());
    assert_eq!(explained(&towpath, OTHER), Value::Null);
    assert_eq!(offered(&towpath, OTHER), offered(&alone, OTHER));
}

#[test]
fn a_cluster_reports_is_planned_sees_its_edge_and_finishes() {
    let fleet = Fleet::new();
    let noon = "2026-11-16T12:00:00Z";
    let towpath = fleet.serve(&fleet.sqlite(), &["--now", noon]);
    assert_eq!(
        offered(&towpath, STAGE),
        [""; 0],
        "a policy that selects by name may be about it"
    );
    assert_eq!(
        fleet.report(&towpath, STAGE, &on("s1", "4.20.1")).status,
        202
    );
    assert_eq!(
        fleet.report(&towpath, PROD, &on("p1", "4.20.1")).status,
        202
    );
    towpath.until("the stage cluster is planned", |t| {
        upgrade_state(t) == "planned"
    });
    assert_eq!(
        offered(&towpath, STAGE),
        [""; 0],
        "it may take nothing before its time"
    );
    assert_eq!(offered(&towpath, PROD), [""; 0], "nor may production");
    towpath.until("the fleet says why", |t| {
        let told = t
            .get(&format!(
                "/api/v1/explain?channel=stable-4.20&from=4.20.1&id={PROD}&format=text"
            ))
            .text();
        told.contains("the fleet's policy does not let this cluster take")
    });
    let why = towpath.get("/api/v1/clusters/p1/why").json();
    let codes: Vec<&str> = why["candidates"][0]["verdict"]["reasons"]
        .as_array()
        .expect("reasons")
        .iter()
        .filter_map(|reason| reason["code"].as_str())
        .collect();
    assert!(
        codes.contains(&"SectorBehind") && codes.contains(&"NotSoaked"),
        "{why}"
    );
    let to = towpath.get("/api/v1/fleet/upgrades").json()["entries"][0]["to"]
        .as_str()
        .expect("a version")
        .to_owned();
    drop(towpath);

    // Ten minutes later, after a restart: it begins, and the cluster is shown exactly that edge.
    let towpath = fleet.serve(&fleet.sqlite(), &["--now", "2026-11-16T12:10:00Z"]);
    towpath.until("it began", |t| upgrade_state(t) == "started");
    towpath.until("its edge is shown", |t| {
        offered(t, STAGE) == [format!("4.20.1 -> {to}")]
    });
    assert_eq!(offered(&towpath, PROD), [""; 0]);
    drop(towpath);
    let towpath = fleet.serve(&fleet.sqlite(), &["--now", "2026-11-16T13:00:00Z"]);
    assert_eq!(fleet.report(&towpath, STAGE, &on("s1", &to)).status, 202);
    towpath.until("it is done", |t| {
        let upgrades = t.get("/api/v1/fleet/upgrades").json();
        upgrades["entries"]
            .as_array()
            .expect("a list")
            .iter()
            .any(|upgrade| upgrade["state"] == "finished")
    });
    drop(towpath);
    let store = fleet.sqlite();
    assert!(run(&["fleet", "replay", "--store", &store]).contains("0 different"));
    assert_eq!(
        run(&["fleet", "check", "--store", &store]),
        "The store is in order.\n"
    );
}

#[test]
fn a_cluster_writes_only_its_own_and_only_administrators_change_things() {
    let fleet = Fleet::new();
    let towpath = fleet.serve(&fleet.sqlite(), &[]);
    let report = on("s1", "4.20.1");
    let target = format!("/api/v1/clusters/{STAGE}/report");
    let (own, others) = (
        fleet.cluster_token(STAGE, "s1"),
        fleet.cluster_token(PROD, "p1"),
    );
    let admin = fleet.token(&["--admin"]);
    assert_eq!(post(&towpath, &target, "", &report).status, 401);
    assert_eq!(post(&towpath, &target, &others, &report).status, 403);
    assert_eq!(post(&towpath, &target, &own, &report).status, 202);
    let again = post(
        &towpath,
        &target,
        &own,
        &json!({"at": "2020-01-01T00:00:00Z", "organisation": "demo", "version": "4.20.0"}),
    );
    assert_eq!(
        again.json()["recorded"],
        "nothing",
        "what is older changes nothing"
    );
    let pause = json!({"organisation": "demo", "why": "INC-1"});
    assert_eq!(
        post(&towpath, "/api/v1/fleet/pause", &own, &pause).status,
        403
    );
    towpath.until("the cluster is seen", |t| {
        t.get("/api/v1/fleet/status").json()["entries"]
            .as_array()
            .is_some_and(|rows| !rows.is_empty())
    });
    let paused = post(&towpath, "/api/v1/fleet/pause", &admin, &pause);
    assert_eq!(
        (paused.status, paused.json()["clusters"].clone()),
        (200, json!(1))
    );
    let misspelt = json!({"organisation": "dmeo", "why": "INC-1"});
    let nobody = post(&towpath, "/api/v1/fleet/pause", &admin, &misspelt);
    assert_eq!(nobody.status, 404, "{}", nobody.json());
    for (organisation, cluster, status) in [
        ("dmeo", None, 404),
        ("demo", Some("nobody"), 404),
        ("demo", None, 200),
    ] {
        let approval =
            json!({"organisation": organisation, "cluster": cluster, "version": "4.20.2"});
        let answer = post(&towpath, "/api/v1/fleet/approve", &admin, &approval);
        assert_eq!(answer.status, status, "{approval}");
    }
    let act = |name: &str, body: serde_json::Value| {
        let answer = post(&towpath, &format!("/api/v1/fleet/{name}"), &admin, &body);
        (answer.status, answer.json())
    };
    let nobody = "22222222-0000-4000-8000-00000000ffff";
    let listed = json!({"clusters": [
        {"id": "listed", "name": "listed", "organisation": "demo", "version": "4.20.0"},
        {"id": "broken", "organisation": "demo", "version": "four"},
    ], "soak": [{"organisation": "demo", "workload": "web", "version": "4.20.1", "days": 2.5}]});
    assert_eq!(
        post(&towpath, "/api/v1/fleet/import", &own, &listed).status,
        403
    );
    let (status, imported) = act("import", listed);
    assert_eq!(
        (status, &imported["clusters"], &imported["soakDays"]),
        (200, &json!(1), &json!(2.5))
    );
    assert_eq!(imported["findings"][0]["code"], "bad-version", "{imported}");
    assert_eq!(act("import", json!({"nonsense": 1})).0, 422);
    towpath.until("a pass knows the listed cluster", |t| {
        t.get("/api/v1/clusters/listed/why").status == 404
            && act("acknowledge", json!({"gate": "g", "cluster": "listed"})).1["value"]
                .as_str()
                .is_some_and(|problem| problem.contains("there is no gate"))
    });
    for (cluster, status) in [(nobody, 404), ("listed", 200)] {
        let body = json!({"gate": "gate-1", "cluster": cluster});
        assert_eq!(act("acknowledge", body).0, 404, "nobody knows a gate");
        assert_eq!(act("forget", json!({"cluster": cluster})).0, status);
    }
    assert_eq!(
        act("forget", json!({"cluster": "listed"})).0,
        404,
        "it is gone"
    );
    assert_eq!(act("forget", json!({"name": "listed"})).0, 400);
    towpath.until("the pause holds", |t| {
        t.get("/api/v1/fleet/holds").json()["pause"] == 1
    });
    assert_eq!(
        towpath.get("/api/v1/fleet/plan?held-by=nonsense").status,
        422
    );
    assert_eq!(towpath.get("/api/v1/clusters/nobody/why").status, 404);
}

#[test]
fn a_store_that_is_away_stops_the_fleet_and_not_the_graph() {
    let fleet = Fleet::new();
    let (policy, data) = (fleet.path("policy"), fleet.path("data"));
    let (store, state) = (fleet.path("fleet.db"), fleet.path("state"));
    let address = fleet.sqlite();
    let options = [
        "--fleet",
        text(&policy),
        "--store",
        &address,
        "--state",
        text(&state),
    ];
    // What is halted must have been known once.
    let first = Towpath::serve_folder(&data, &options);
    let list = || std::fs::read(state.join("current")).unwrap_or_default();
    first.until("its copies are kept", |_| {
        String::from_utf8_lossy(&list()).contains("halts")
    });
    drop(first);
    for name in ["fleet.db-wal", "fleet.db-shm"] {
        let _ = std::fs::remove_file(fleet.path(name));
    }
    std::fs::remove_file(&store).expect("it can be removed");
    std::fs::create_dir(&store).expect("a folder in its place");
    let towpath = Towpath::serve_folder(&data, &options);
    towpath.until("it says that the store is away", |t| {
        t.get("/readyz").json()["fleet"]["problem"]
            .as_str()
            .is_some_and(|problem| !problem.is_empty())
    });
    assert_eq!(towpath.get("/readyz").status, 200);
    assert!(
        edges(&towpath.graph("channel=stable-4.20")).len() > 2,
        "graphs are served"
    );
    assert_eq!(
        offered(&towpath, STAGE),
        [""; 0],
        "a cluster that may be managed waits until that is known"
    );
    assert_eq!(towpath.get("/api/v1/fleet/plan").status, 503);
}

/// The next pass of the second one is an hour away.
#[test]
fn when_a_scheduler_is_killed_another_acts_long_before_its_next_pass() {
    let fleet = Fleet::new();
    let is_scheduler =
        |towpath: &Towpath| towpath.get("/readyz").json()["fleet"]["isScheduler"] == true;
    let first = fleet.serve_every("3600s", &fleet.sqlite(), &[]);
    first.until("the first one schedules", is_scheduler);
    let second = fleet.serve_every("3600s", &fleet.sqlite(), &[]);
    assert!(!is_scheduler(&second), "one at a time");
    drop(first);
    second.until("the second one schedules", is_scheduler);
}

#[test]
fn a_policy_that_breaks_keeps_its_last_meaning() {
    let fleet = Fleet::new();
    let towpath = fleet.serve(&fleet.sqlite(), &[]);
    assert_eq!(
        fleet.report(&towpath, PROD, &on("p1", "4.20.1")).status,
        202
    );
    towpath.until("production is managed", |t| offered(t, PROD).is_empty());
    fleet.write("policy/org.yaml", "name: [broken");
    let passes = |t: &Towpath| {
        let metrics = t.get("/metrics").text();
        let line = metrics
            .lines()
            .find_map(|line| line.strip_prefix("towpath_fleet_decisions_total "))
            .map(str::to_owned);
        line.and_then(|number| number.parse::<f64>().ok())
            .unwrap_or(0.0)
    };
    let before = passes(&towpath);
    towpath.until("two more passes were made", |t| passes(t) >= before + 2.0);
    assert_eq!(offered(&towpath, PROD), [""; 0], "it is still held");
}

#[test]
fn a_cluster_cannot_make_up_soak() {
    let fleet = Fleet::new();
    let noon: jiff::Timestamp = "2026-11-16T12:00:00Z".parse().expect("a time");
    let towpath = fleet.serve(&fleet.sqlite(), &["--now", &noon.to_string()]);
    for hours in (0..48).rev() {
        let mut report = on("s1", "4.20.1");
        report["at"] = json!((noon - jiff::SignedDuration::from_hours(hours)).to_string());
        assert_eq!(fleet.report(&towpath, STAGE, &report).status, 202);
    }
    towpath.until("the history knows the cluster", |t| {
        t.get("/api/v1/fleet/history").json()["entries"]
            .as_array()
            .is_some_and(|rows| !rows.is_empty())
    });
    let history = towpath.get("/api/v1/fleet/history").json();
    let seconds = history["entries"][0]["soakSeconds"]
        .as_i64()
        .expect("a number");
    assert!(seconds <= 3_600, "no more than the allowance: {history}");
}

#[test]
fn a_cluster_that_may_be_in_a_broken_file_is_held() {
    let fleet = Fleet::new();
    fleet.write("policy/p9.yaml", "name: [broken");
    let towpath = fleet.serve(&fleet.sqlite(), &[]);
    assert_eq!(
        fleet.report(&towpath, PROD, &on("p9", "4.20.1")).status,
        202
    );
    towpath.until("it is held", |t| offered(t, PROD).is_empty());
    std::fs::remove_file(fleet.path("policy/p9.yaml")).expect("it is there");
    fleet.write("policy/org.yaml", "name: demo\norgId: demo\n");
    towpath.until("without a policy it is free", |t| {
        offered(t, PROD).len() > 2
    });
}

#[test]
fn a_policy_in_a_folder_manages_its_cluster_and_readyz_shows_whom_no_policy_finds() {
    let fleet = Fleet::new();
    std::fs::create_dir_all(fleet.path("policy/teams/web")).expect("a folder");
    std::fs::rename(
        fleet.path("policy/org.yaml"),
        fleet.path("policy/teams/web/org.yaml"),
    )
    .expect("moved");
    let towpath = fleet.serve(&fleet.sqlite(), &["--now", "2026-11-16T12:00:00Z"]);
    let kinds = |t: &Towpath| t.get("/readyz").json()["fleet"]["findings"]["kinds"].clone();
    towpath.until("nobody can say whom it matches", |t| {
        kinds(t) == json!({"no-clusters": 1})
    });
    assert_eq!(
        fleet.report(&towpath, STAGE, &on("s1", "4.20.1")).status,
        202
    );
    towpath.until("its cluster is managed", |t| offered(t, STAGE).is_empty());
    towpath.until("p1 is not known", |t| {
        kinds(t) == json!({"matches-no-cluster": 1})
    });
    std::fs::remove_dir_all(fleet.path("policy/teams")).expect("it is there");
    towpath.until("a directory without a policy is an error", |t| {
        kinds(t) == json!({"no-policy": 1})
    });
}
