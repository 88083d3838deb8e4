//! A laptop asks the service, with a token: the same words as where the store is.

use std::process::Command;

use serde_json::{Value, json};

use crate::fleet::{Fleet, PROD, on, text};
use towpath_testing_services::Towpath;

const NOON: &str = "2026-11-16T12:00:00Z";
const STAGE: &str = "aaaaaaaa-0000-4000-8000-000000000001";

/// A service with two clusters, and what a laptop needs to ask it.
struct Laptop {
    fleet: Fleet,
    towpath: Towpath,
}

impl Laptop {
    fn new() -> Self {
        let fleet = Fleet::new();
        let towpath = fleet.serve_closed(&fleet.sqlite(), &["--now", NOON]);
        for role in ["read", "admin"] {
            fleet.write(role, &fleet.token(&[&format!("--{role}")]));
        }
        for (id, name) in [(STAGE, "s1"), (PROD, "p1")] {
            let reported = fleet.report(&towpath, id, &on(name, "4.20.1"));
            assert_eq!(reported.status, 202, "{name}");
        }
        let laptop = Self { fleet, towpath };
        laptop.until("the stage cluster is planned", |laptop| {
            laptop.asked("fleet upgrades -o json")["entries"][0]["state"] == "planned"
        });
        laptop
    }

    fn until(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        self.towpath.until(what, |_| is_so(self));
    }

    fn run(&self, command: &str, more: &[&str]) -> (i32, String, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_towpath"))
            .args(command.split(' '))
            .args(more)
            .current_dir(self.fleet.path(""))
            .output()
            .expect("it runs");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        let code = output.status.code().expect("it ends");
        (code, text(output.stdout), text(output.stderr))
    }

    /// Asks the service with a token of this role.
    fn ask_as(&self, role: &str, command: &str) -> (i32, String, String) {
        let (server, token) = (
            format!("http://{}", self.towpath.address),
            self.fleet.path(role),
        );
        self.run(
            command,
            &["--server", &server, "--token-file", text(&token)],
        )
    }

    fn ask(&self, command: &str) -> (i32, String, String) {
        self.ask_as("read", command)
    }

    fn asked(&self, command: &str) -> Value {
        let (_, told, problem) = self.ask(command);
        serde_json::from_str(&told)
            .unwrap_or_else(|error| panic!("{command}: {error}: {told}{problem}"))
    }

    /// Looks at the same files and the same store.
    fn look(&self, command: &str) -> (i32, String, String) {
        let data = Towpath::files(&self.fleet.path("data"));
        let data: Vec<&str> = data.iter().map(String::as_str).collect();
        let (policy, store) = (self.fleet.path("policy"), self.fleet.sqlite());
        let files = ["--fleet", text(&policy), "--store", &store, "--now", NOON];
        self.run(command, &[&files[..], &data].concat())
    }
}

#[test]
fn a_laptop_reads_the_same_words_as_where_the_store_is() {
    let laptop = Laptop::new();
    for command in [
        "fleet plan",
        "fleet plan --days 0",
        "fleet plan --sector prod",
        "fleet status",
        "fleet clusters",
        "fleet clusters --held-by soak",
        "fleet clusters --search P --sort seen",
        "fleet history",
        "fleet history --output markdown",
        "fleet forecast --days 3",
        "fleet why p1",
        "fleet why p1 4.20.3",
        "fleet why s1 4.20.1",
        "fleet clusters -o json --limit 1",
        "fleet why p1 -o json",
    ] {
        let here = laptop.look(command);
        let there = laptop.ask(command);
        assert_eq!(
            (there.0, &there.1),
            (here.0, &here.1),
            "{command}: {}{}",
            there.2,
            here.2
        );
    }
    let store = laptop.fleet.sqlite();
    for command in [
        "fleet upgrades",
        "fleet upgrades --cluster s1",
        "fleet upgrades -o json",
    ] {
        let here = laptop.run(command, &["--store", &store]);
        assert_eq!(laptop.ask(command).1, here.1, "{command}");
    }
    // As JSON, what comes in pages is put together: the same entries, in the order of the pages.
    let names = |facts: &Value| -> Vec<String> {
        let entries = facts.as_array().expect("a list").iter();
        let mut names: Vec<String> = entries.map(|one| one["name"].to_string()).collect();
        names.sort();
        names
    };
    for (command, list) in [
        ("fleet plan -o json", "waiting"),
        ("fleet plan -o json", "planned"),
        ("fleet forecast -o json", "starts"),
    ] {
        let here: Value = serde_json::from_str(&laptop.look(command).1).expect("JSON");
        let there = laptop.asked(command);
        assert!(!names(&here[list]).is_empty(), "{command}: {here}");
        assert_eq!(names(&there[list]), names(&here[list]), "{command}");
    }
    let rows = |command: &str| {
        let told = laptop.asked(command);
        let list = told["entries"].as_array().or(told["clusters"].as_array());
        list.expect("a list").len()
    };
    assert_eq!(
        (rows("fleet status -o json"), rows("fleet clusters -o json")),
        (2, 2)
    );
}

#[test]
fn what_nobody_has_is_404_over_http() {
    let laptop = Laptop::new();
    let bearer = format!("Bearer {}", laptop.fleet.token(&["--read"]));
    let token = [("authorization", bearer.as_str())];
    for path in [
        "plan", "status", "clusters", "holds", "history", "forecast", "upgrades", "sectors",
        "matrix", "calendar",
    ] {
        for filter in ["org=nope", "sector=nope", "workload=nope", "cluster=nope"] {
            let target = format!("/api/v1/fleet/{path}?{filter}");
            assert_eq!(
                laptop.towpath.get_with(&target, &token).status,
                404,
                "{target}"
            );
        }
    }
    let (code, _, problem) = laptop.ask("fleet plan --org nope");
    assert!(
        code == 2 && problem.contains("there are: demo"),
        "{problem}"
    );
    let (code, _, problem) = laptop.ask("fleet why nobody");
    assert!(
        code == 2 && problem.contains("there is no cluster nobody"),
        "{problem}"
    );
    let server = format!("http://{}", laptop.towpath.address);
    let (code, _, problem) = laptop.run("fleet plan", &["--server", &server]);
    assert!(code == 2 && problem.contains("--token-file"), "{problem}");
    let (code, _, problem) = laptop.ask("fleet plan --fleet policy");
    assert!(
        code == 2 && problem.contains("cannot be used with '--server'"),
        "{problem}"
    );
}

#[test]
fn a_laptop_acts_with_an_administrators_token() {
    let laptop = Laptop::new();
    let act = |command: &str| {
        let (code, told, problem) = laptop.ask_as("admin", command);
        assert_eq!(code, 0, "{command}: {problem}");
        told
    };
    let pause = "fleet pause --org demo --sector prod --why INC-1";
    let (code, _, problem) = laptop.ask(pause);
    assert!(code == 2 && problem.contains("403"), "{problem}");
    assert!(act(pause).starts_with("Paused in sector prod of organisation demo."));
    laptop.until("the pause holds", |laptop| {
        laptop.ask("fleet why p1").1.contains("INC-1")
    });
    assert_eq!(
        act("fleet resume --org demo --sector prod"),
        "New upgrades may start again in sector prod of organisation demo.\n"
    );
    let approved = act("fleet approve 4.20.3 --org demo --cluster p1 -o json");
    let approved: Value = serde_json::from_str(&approved).expect("JSON");
    assert_eq!(
        (&approved["kind"], &approved["clusters"]),
        (&json!("approved"), &json!(1))
    );
    for (refused, problem) in [
        ("fleet resume", "there is no pause of the whole fleet"),
        (
            "fleet approve 4.20.33 --org demo",
            "nobody knows a version 4.20.33",
        ),
        ("fleet acknowledge gate-1 --cluster p1", "there is no gate"),
        ("fleet forget nobody", "no cluster has the name or id"),
        ("fleet pause --org nope --why INC-1", "no cluster is there"),
    ] {
        let (code, _, told) = laptop.ask_as("admin", refused);
        assert!(
            code == 2 && told.contains("404") && told.contains(problem),
            "{refused}: {told}"
        );
    }
    // A list that is longer than one request may be is sent in parts.
    let cluster = |number: usize| json!({"id": format!("many-{number}"), "name": format!("c{number}"), "organisation": "demo", "version": "4.20.1", "channel": "stable-4.20"});
    let clusters: Vec<Value> = (0..600).map(cluster).collect();
    let soak = json!([{"organisation": "demo", "workload": "web", "version": "4.20.2", "days": 2}]);
    laptop.fleet.write(
        "list.json",
        &json!({"clusters": clusters, "soak": soak}).to_string(),
    );
    let imported = act("fleet import list.json");
    assert!(
        imported.starts_with(
            "600 clusters recorded, 600 of them new or changed.\n2.0 soak days recorded"
        ),
        "{imported}"
    );
    let forgotten = act("fleet forget many-7");
    assert!(
        forgotten.starts_with("c7 (many-7) is forgotten."),
        "{forgotten}"
    );
}

/// The path is what the graph offers; whether the cluster may take it now, the fleet says.
#[test]
fn a_path_says_that_the_fleet_holds_the_cluster() {
    let laptop = Laptop::new();
    let path = format!("path 4.20.1 4.20.3 --id {PROD}");
    let (code, told, problem) = laptop.ask(&path);
    assert!(
        code == 0 && told.contains("The fleet holds it:") && told.contains("[FleetHolds]"),
        "{told}{problem}"
    );
    assert_eq!(
        laptop.asked(&format!("{path} -o json"))["fleet"]["answer"],
        "wait"
    );
    let server = format!("http://{}", laptop.towpath.address);
    let (_, told, _) = laptop.run(&path, &["--server", &server]);
    assert!(
        !told.contains("The fleet holds it"),
        "who may not read the fleet does not learn it: {told}"
    );
}

#[test]
fn a_service_lists_what_to_mirror_and_what_rolls_out() {
    let demo = Towpath::demo();
    let service = Towpath::serve_folder(demo.path(), &["--now", NOON]);
    let server = format!("http://{}", service.address);
    let files = Towpath::files(demo.path());
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let run = |command: &str, more: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_towpath"))
            .args(command.split(' '))
            .args(more)
            .output()
            .expect("it runs");
        let told = String::from_utf8(output.stdout).expect("text");
        (
            output.status.code(),
            told,
            String::from_utf8(output.stderr).expect("text"),
        )
    };
    for command in [
        "mirror 4.19.16 4.20.3 --platform GCP",
        "mirror 4.19.16 4.20.3 --platform GCP --with-start --output json",
        "mirror 4.20.1 4.20.2 --platform GCP --output oc-mirror-v2",
        "mirror 4.20.3 4.19.16 --platform GCP",
        "graph rollouts",
        "graph rollouts --output json",
    ] {
        let here = run(command, &[&["--now", NOON], &*files].concat());
        let there = run(command, &["--server", &server]);
        assert_eq!(
            (there.0, &there.1),
            (here.0, &here.1),
            "{command}: {}",
            there.2
        );
        let later = ["--now", "2026-11-20T00:00Z"];
        let here = run(command, &[&later, &*files].concat());
        let there = run(command, &[&later[..], &["--server", &server]].concat());
        assert_eq!(there.1, here.1, "{command} later: {}", there.2);
    }
    for (target, status, kind) in [
        ("/api/v1/mirror", 400, "missing_params"),
        (
            "/api/v1/mirror?from=4.19.16&to=4.20.3&chanel=x",
            400,
            "invalid_params",
        ),
        (
            "/api/v1/mirror?from=4.19.16&to=4.20.3&via=nope",
            422,
            "no_mirror",
        ),
        (
            "/api/v1/mirror?from=4.19.16&to=4.20.3&arch=nope",
            422,
            "no_mirror",
        ),
    ] {
        let answer = service.get(target);
        assert_eq!(
            (answer.status, answer.kind().as_str()),
            (status, kind),
            "{target}"
        );
    }
    let (code, _, problem) = run("mirror --clusters x.json", &["--server", &server]);
    assert!(
        code == Some(2) && problem.contains("'--clusters <FILE>' cannot be used with '--server'"),
        "{problem}"
    );
}
