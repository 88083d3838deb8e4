//! `towpath fleet run` with an OCM-style API: clusters and their labels come from there, upgrades are scheduled and cancelled there.

use std::path::{Path, PathBuf};
use std::process::Command;

use jiff::Timestamp;
use towpath_testing_services::ocm::{OcmDouble, TOKEN, cluster};

/// The API, and a folder with a policy that only blocks something.
struct World {
    double: OcmDouble,
    folder: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let world = Self {
            double: OcmDouble::start(at("12:00")),
            folder: tempfile::tempdir().expect("a folder"),
        };
        std::fs::write(world.path("token"), TOKEN).expect("written");
        std::fs::create_dir(world.path("fleet")).expect("a folder");
        world.policy("");
        let labels = [
            ("sre-capabilities.aus.soak-days", "0"),
            ("sre-capabilities.aus.workloads", "web"),
            ("sre-capabilities.aus.schedule", "* * * * *"),
            ("sre-capabilities.aus.mutexes", "m"),
        ];
        for name in ["a", "b"] {
            world.double.add(
                "org",
                &labels,
                cluster(name, "4.12.1", &["4.12.2", "4.12.3"]),
            );
        }
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn policy(&self, more: &str) {
        std::fs::write(
            self.path("fleet/org.yaml"),
            format!("name: org\norgId: org\n{more}"),
        )
        .expect("written");
    }

    fn towpath(&self, arguments: &[&str]) -> String {
        let done = Command::new(env!("CARGO_BIN_EXE_towpath"))
            .args(arguments)
            .output()
            .expect("towpath runs");
        assert!(done.status.success(), "{done:?}");
        String::from_utf8(done.stdout).expect("text")
    }

    /// One pass at that time of the day.
    fn pass(&self, clock: &str) -> String {
        self.pass_with(clock, &[])
    }

    fn pass_with(&self, clock: &str, more: &[&str]) -> String {
        self.double.set_now(at(clock));
        let (url, now) = (self.double.url(), at(clock).to_string());
        let (fleet, token, store) = (self.path("fleet"), self.path("token"), self.store());
        let options = [
            "fleet",
            "run",
            "--once",
            "--rehearse",
            "--fleet",
            text(&fleet),
            "--store",
            &store,
            "--now",
            &now,
        ];
        let api = ["--ocm", &url, "--ocm-token", text(&token)];
        self.towpath(&[&options[..], &api, more].concat())
    }

    /// A command that only looks, at that time of the day.
    fn look(&self, command: &str, clock: &str) -> String {
        let (url, now) = (self.double.url(), at(clock).to_string());
        let (fleet, token) = (self.path("fleet"), self.path("token"));
        let options = ["--fleet", text(&fleet), "--now", &now, "--ocm", &url];
        let command: Vec<&str> = command.split(' ').collect();
        self.towpath(&[&command[..], &options[..], &["--ocm-token", text(&token)]].concat())
    }

    fn store(&self) -> String {
        format!("sqlite:{}", self.path("fleet.db").display())
    }

    /// What the API has: cluster, version, state.
    fn scheduled(&self) -> Vec<(String, String, String)> {
        self.double
            .policies()
            .into_iter()
            .map(|(cluster, _, version, state)| (cluster, version, state))
            .collect()
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

fn at(clock: &str) -> Timestamp {
    format!("2026-01-05T{clock}:00Z").parse().expect("a time")
}

#[test]
fn upgrades_are_scheduled_one_by_one_and_followed_to_their_end() {
    let world = World::new();
    assert!(
        world.pass("12:00").contains("1 planned"),
        "the mutex lets one through"
    );
    assert_eq!(
        world.scheduled(),
        [("ocm-a".into(), "4.12.3".into(), "pending".into())]
    );
    assert!(
        world.pass("12:01").contains("0 planned"),
        "nothing is scheduled twice"
    );
    assert_eq!(world.scheduled().len(), 1);
    world.double.advance("policy-1", "started");
    assert!(world.pass("12:08").contains("1 began"));
    world.double.advance("policy-1", "completed");
    assert!(world.pass("13:00").contains("1 ended"));
    assert!(
        world.pass("13:01").contains("1 planned"),
        "the mutex is free again"
    );
    assert_eq!(world.scheduled()[1].0, "ocm-b");
    assert!(
        world
            .towpath(&["fleet", "replay", "--store", &world.store()])
            .contains("0 different")
    );
}

#[test]
fn a_version_that_gets_blocked_cancels_what_is_planned_there() {
    let world = World::new();
    world.pass("12:00");
    world.policy("blockedVersions: ['^4\\.12\\.3$']\n");
    let told = world.pass("12:01");
    assert!(told.contains("1 cancelled"), "{told}");
    world.pass("12:02");
    let left = world.scheduled();
    assert!(
        left.iter().all(|(_, version, _)| version == "4.12.2"),
        "{left:?}"
    );
}

/// A person cancels one upgrade: it is taken back there, is not scheduled again, and another cluster gets its turn.
#[test]
fn an_upgrade_that_a_person_cancels_is_taken_back_there() {
    let world = World::new();
    assert!(world.pass("12:00").contains("1 planned"));
    let store = world.store();
    world.towpath(&["fleet", "cancel", "1", "--why", "INC-1", "--store", &store]);
    let told = world.pass("12:01");
    assert!(told.contains("1 cancelled"), "{told}");
    let of_it = || {
        let scheduled = world.scheduled().into_iter();
        scheduled
            .filter(|(cluster, version, _)| (&**cluster, &**version) == ("ocm-a", "4.12.3"))
            .count()
    };
    assert_eq!(of_it(), 0, "{:?}", world.scheduled());
    world.pass("12:20");
    assert_eq!(of_it(), 0, "it is not scheduled again");
}

#[test]
fn an_upgrade_of_somebody_else_is_left_alone_and_counts() {
    let world = World::new();
    let content = serde_json::json!({"version": "4.12.2", "schedule_type": "manual", "upgrade_type": "OSD",
        "next_run": "2026-01-05T12:30:00Z"});
    world.double.add_policy("ocm-b", None, "scheduled", content);
    let told = world.pass("12:00");
    assert!(told.contains("0 planned"), "b holds the mutex: {told}");
    assert_eq!(world.scheduled().len(), 1);
}

#[test]
fn after_a_refusal_the_next_lower_version_is_scheduled() {
    let world = World::new();
    world.double.remove("ocm-a");
    world.double.remove("ocm-b");
    let labels = [
        ("sre-capabilities.aus.soak-days", "0"),
        ("sre-capabilities.aus.workloads", "web"),
        ("sre-capabilities.aus.schedule", "* * * * *"),
    ];
    world.double.add(
        "org",
        &labels,
        cluster("c", "4.12.1", &["4.12.2", "4.13.0"]),
    );
    // It concerns no cluster of AWS, and this API wants an agreement all the same.
    world
        .double
        .add_gate("w1", "4.13", "api.openshift.com/gate-wif");
    assert!(world.pass("12:00").contains("1 planned"));
    assert_eq!(world.scheduled(), [], "the API refuses 4.13.0");
    assert!(world.pass("12:01").contains("1 planned"));
    assert_eq!(
        world.scheduled(),
        [("ocm-c".into(), "4.12.2".into(), "pending".into())],
        "patches do not starve"
    );
    let told = world.towpath(&["fleet", "upgrades", "--store", &world.store()]);
    assert!(
        told.contains("refused") && told.contains("missing version gate agreements"),
        "{told}"
    );
    assert!(
        world
            .towpath(&["fleet", "replay", "--store", &world.store()])
            .contains("0 different")
    );
}

#[test]
fn a_gate_of_a_label_that_nobody_knows_is_not_tried() {
    let world = World::new();
    world.double.remove("ocm-a");
    world.double.remove("ocm-b");
    let labels = [
        ("sre-capabilities.aus.soak-days", "0"),
        ("sre-capabilities.aus.workloads", "web"),
        ("sre-capabilities.aus.schedule", "* * * * *"),
    ];
    world
        .double
        .add("org", &labels, cluster("c", "4.12.1", &["4.13.0"]));
    world
        .double
        .add_gate("i1", "4.13", "api.openshift.com/gate-ingress");
    assert!(world.pass("12:00").contains("0 planned"));
    assert_eq!(world.double.count("POST", "/upgrade_policies"), 0);
}

#[test]
fn a_gate_that_the_policy_approves_is_agreed_to_before_the_upgrade_is_scheduled() {
    let world = World::new();
    world.double.remove("ocm-a");
    world.double.remove("ocm-b");
    world
        .double
        .add_gate("g1", "4.13", "api.openshift.com/gate-ocp");
    let labels = [
        ("sre-capabilities.aus.soak-days", "0"),
        ("sre-capabilities.aus.workloads", "web"),
        ("sre-capabilities.aus.schedule", "* * * * *"),
    ];
    let approves = (
        "sre-capabilities.aus.version-gate-approvals",
        "api.openshift.com/gate-ocp",
    );
    world
        .double
        .add("org", &labels, cluster("closed", "4.12.1", &["4.13.0"]));
    world.double.add(
        "org",
        &[&labels[..], &[approves]].concat(),
        cluster("open", "4.12.1", &["4.13.0"]),
    );
    let told = world.pass("12:00");
    assert!(told.contains("1 planned"), "{told}");
    assert_eq!(
        world.scheduled(),
        [("ocm-open".into(), "4.13.0".into(), "pending".into())]
    );
}

#[test]
fn every_command_that_looks_reads_the_api_and_changes_nothing_there() {
    let world = World::new();
    for (command, told) in [
        ("fleet plan", "a"),
        ("fleet status", "org"),
        ("fleet why a", "4.12.3"),
        ("fleet forecast --days 1", "4.12.3"),
        ("fleet history", "web"),
        ("fleet lint", "1 organisation"),
    ] {
        let text = world.look(command, "12:00");
        assert!(text.contains(told), "{command}: {text}");
    }
    let plan: serde_json::Value =
        serde_json::from_str(&world.look("fleet plan -o json", "12:00")).expect("JSON");
    assert_eq!(plan["starts"][0]["to"], "4.12.3", "{plan}");
    assert_eq!(world.double.count("POST", "/upgrade_policies"), 0);
}

#[test]
fn what_run_has_planned_stands_in_a_plan_that_reads_the_api() {
    let world = World::new();
    assert!(world.pass("12:00").contains("1 planned"));
    let plan = format!("fleet plan -o json --store {}", world.store());
    let plan: serde_json::Value = serde_json::from_str(&world.look(&plan, "12:01")).expect("JSON");
    assert_eq!(plan["cancels"], serde_json::json!([]), "{plan}");
}

#[test]
fn an_exported_list_tells_what_the_api_tells() {
    let world = World::new();
    world
        .double
        .add_gate("g1", "4.13", "api.openshift.com/gate-ocp");
    let content = serde_json::json!({"version": "4.12.2", "schedule_type": "manual", "upgrade_type": "OSD",
        "next_run": "2026-01-05T12:30:00Z"});
    world.double.add_policy("ocm-b", None, "scheduled", content);
    let (url, token, list) = (
        world.double.url(),
        world.path("token"),
        world.path("list.json"),
    );
    let now = at("12:00").to_string();
    let export = [
        "fleet",
        "export",
        "--ocm",
        &url,
        "--ocm-token",
        text(&token),
    ];
    let exported = world.towpath(&[&export[..], &["--now", &now]].concat());
    std::fs::write(&list, exported).expect("written");
    let fleet = world.path("fleet");
    let plan = ["fleet", "plan", "-o", "json", "--now", &now];
    let from_list = world.towpath(
        &[
            &plan[..],
            &["--fleet", text(&fleet), "--clusters", text(&list)],
        ]
        .concat(),
    );
    // A list has no numbers of others' upgrades, nor what the API notes about them.
    let told = |text: &str| {
        let mut plan: serde_json::Value = serde_json::from_str(text).expect("JSON");
        for upgrade in plan["planned"].as_array_mut().expect("a list") {
            let upgrade = upgrade.as_object_mut().expect("an upgrade");
            upgrade.remove("id");
            upgrade.remove("note");
        }
        plan
    };
    let from_api = world.look("fleet plan -o json", "12:00");
    assert_eq!(told(&from_list), told(&from_api));
    assert!(from_list.contains("MutexHeld"), "b holds it: {from_list}");
}

#[test]
fn an_upgrade_that_is_given_up_is_cancelled_there_and_lets_others_through() {
    let world = World::new();
    world.pass("12:00");
    assert!(world.pass("12:08").contains("1 began"));
    let told = world.pass("15:00");
    assert!(told.contains("1 ended"), "it never began there: {told}");
    world.pass("15:01");
    assert_eq!(
        world.scheduled(),
        [("ocm-b".into(), "4.12.3".into(), "pending".into())],
        "a waits no longer, and b has the mutex"
    );
}

#[test]
fn what_was_given_up_and_completes_later_is_no_failure() {
    let world = World::new();
    world.pass("12:00");
    world.pass("12:08");
    world.pass("15:00");
    let upgrades = ["fleet", "upgrades", "--store", &world.store()];
    assert!(world.towpath(&upgrades).contains("failed"));
    let labels = [
        ("sre-capabilities.aus.soak-days", "0"),
        ("sre-capabilities.aus.workloads", "web"),
        ("sre-capabilities.aus.schedule", "* * * * *"),
    ];
    world
        .double
        .add("org", &labels, cluster("a", "4.12.3", &["4.12.4"]));
    assert!(world.pass("15:30").contains("1 ended"));
    let told = world.towpath(&upgrades);
    assert!(told.contains("completed later all the same"), "{told}");
    assert!(
        !told.contains(" failed "),
        "no upgrade has that state: {told}"
    );
    assert!(world.pass("15:31").contains("0 ended"), "it is said once");
    assert!(
        world
            .towpath(&["fleet", "replay", "--store", &world.store()])
            .contains("0 different")
    );
}

#[test]
fn a_service_account_logs_in_and_half_a_login_is_refused() {
    let world = World::new();
    world.double.open_token_service("towpath", "s3cret", 900);
    std::fs::write(world.path("secret"), "s3cret\n").expect("written");
    let (url, secret, token) = (
        world.double.url(),
        world.path("secret"),
        world.path("token"),
    );
    let token_url = format!("{url}/token");
    let account = ["--ocm-client-id", "towpath", "--ocm-token-url", &token_url];
    let secret = ["--ocm-client-secret", text(&secret)];
    let token = ["--ocm-token", text(&token)];
    let export = ["fleet", "export", "--ocm", &url];
    let exported = world.towpath(&[&export[..], &account, &secret].concat());
    assert!(exported.contains("uuid-a"), "{exported}");
    for (login, problem) in [
        (
            account.to_vec(),
            "--ocm-client-id needs --ocm-client-secret",
        ),
        (secret.to_vec(), "--ocm-client-secret needs --ocm-client-id"),
        (
            [&account[..], &secret, &token].concat(),
            "more than one login",
        ),
        (
            [&token[..], &account[2..]].concat(),
            "--ocm-token-url is not used",
        ),
        (Vec::new(), "--ocm needs a login"),
    ] {
        let refused = Command::new(env!("CARGO_BIN_EXE_towpath"))
            .args([&export[..], &login].concat())
            .output()
            .expect("towpath runs");
        let told = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{login:?}");
        assert!(told.contains(problem), "{login:?}: {told}");
    }
}

/// The commands of the manual's section, in order, with where their output goes.
fn commands_of_the_manual() -> Vec<(Vec<String>, Option<String>)> {
    let manual = include_str!("../../docs/fleet-from-aus.md");
    let section = manual
        .split("## Going over, step by step")
        .nth(1)
        .and_then(|rest| rest.split("\n## ").next())
        .expect("the section");
    let lines = section
        .lines()
        .filter_map(|line| line.strip_prefix("$ towpath "));
    let command = |line: &str| {
        let (line, file) = match line.split_once(" > ") {
            Some((line, file)) => (line, Some(file.to_owned())),
            None => (line, None),
        };
        // Words, and one text in quotes at the end.
        let (plain, quoted) = line.split_once(" \"").unwrap_or((line, ""));
        let quoted = quoted.strip_suffix('"').map(str::to_owned);
        let words = plain.split(' ').map(str::to_owned).chain(quoted);
        (words.collect(), file)
    };
    lines.map(command).collect()
}

#[test]
fn the_way_from_aus_is_as_the_manual_says() {
    let world = World::new();
    let labels = [
        ("sre-capabilities.aus.soak-days", "4"),
        ("sre-capabilities.aus.workloads", "web"),
        ("sre-capabilities.aus.schedule", "* * * * *"),
    ];
    world.double.set_now(Timestamp::now());
    world.double.remove("ocm-a");
    world.double.remove("ocm-b");
    world
        .double
        .add("acme", &labels, cluster("c", "4.12.1", &["4.12.2"]));
    std::fs::write(world.path("fleet/org.yaml"), "name: acme\norgId: acme\n").expect("written");
    let state = r#"{"check_in": "2026-01-05T12:00:00", "versions": {"4.12.2": {"workloads": {"web": {"soak_days": 5.0, "reporting": []}}}}}"#;
    std::fs::write(world.path("acme.json"), state).expect("written");
    let commands = commands_of_the_manual();
    assert!(commands.len() > 10, "{commands:?}");
    let mut told = Vec::new();
    for (words, file) in commands {
        let done = Command::new(env!("CARGO_BIN_EXE_towpath"))
            .args(&words)
            .current_dir(world.folder.path())
            .env("TOWPATH_FLEET", "fleet")
            .env("TOWPATH_OCM", world.double.url())
            .env("TOWPATH_OCM_TOKEN", "token")
            .output()
            .expect("towpath runs");
        assert!(done.status.success(), "{words:?}: {done:?}");
        let text = String::from_utf8(done.stdout).expect("text");
        if let Some(file) = file {
            std::fs::write(world.path(&file), &text).expect("written");
        }
        told.push((words.join(" "), text));
    }
    let all = |command: &str| -> Vec<&str> {
        let of = told.iter().filter(|(words, _)| words == command);
        of.map(|(_, text)| text.as_str()).collect()
    };
    let plans = all("fleet plan");
    assert!(plans[0].contains("Nothing starts now"), "{}", plans[0]);
    assert!(plans[1].contains("1 upgrade starts in "), "{}", plans[1]);
    let passes = all("fleet run --once");
    assert!(passes[0].contains("1 planned"), "{}", passes[0]);
    assert!(passes[1].contains("1 cancelled"), "{}", passes[1]);
    assert_eq!(world.scheduled(), [], "nothing of ours is left there");
}

/// A graph in which 4.21.3 and what follows it are in the next minor's channel alone.
fn write_graph(world: &World) {
    let write = |name: &str, text: &str| {
        let path = world.path(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("written");
    };
    write("graph-data/version", "2.0.0\n");
    let channel = |minor: &str, versions: &[&str]| {
        let versions: String = versions
            .iter()
            .map(|version| format!("- {{name: {version}, start: 2025-01-01T00:00Z}}\n"))
            .collect();
        format!("channels:\n- name: stable-{minor}\nversions:\n{versions}")
    };
    write(
        "graph-data/channels/4.20.yaml",
        &channel("4.20", &["4.20.1", "4.20.2"]),
    );
    let next = channel("4.21", &["4.20.1", "4.20.2", "4.21.3", "4.21.4"]);
    write("graph-data/channels/4.21.yaml", &next);
    let node = |version: &str, digit: char, from: &str| {
        let digest = digit.to_string().repeat(64);
        format!(
            r#"{{"version": "{version}", "payload": "registry.example.com/release@sha256:{digest}", "metadata": {{"io.openshift.upgrades.graph.previous.add": "{from}"}}}}"#
        )
    };
    let nodes = [
        node("4.20.1", '1', ""),
        node("4.20.2", '2', "4.20.1"),
        node("4.21.3", '3', "4.20.1,4.20.2"),
        node("4.21.4", '4', "4.21.3"),
    ];
    let releases = format!(
        r#"{{"nodes": [{}], "edges": [[0, 1], [0, 2], [1, 2], [2, 3]]}}"#,
        nodes.join(", ")
    );
    write("releases.json", &releases);
}

#[test]
fn a_cluster_that_follows_stable_is_switched_to_the_next_channel_before_its_upgrade() {
    let world = World::new();
    write_graph(&world);
    for name in ["ocm-a", "ocm-b"] {
        world.double.remove(name);
    }
    let policy = |channel: &str| {
        format!(
            "upgradePolicyClusters:\n- name: shop\n  upgradePolicy: {{workloads: [web], schedule: '* * * * *', {channel} conditions: {{soakDays: 0}}}}\n"
        )
    };
    let mut shop = cluster("shop", "4.20.2", &[]);
    shop["channel"] = "stable-4.20".into();
    shop["version"]["available_channels"] = serde_json::json!(["stable-4.20"]);
    shop["in_channel"] = serde_json::json!({"stable-4.21": ["4.21.3"]});
    world.double.add("org", &[], shop.clone());
    let graph = || {
        let (data, releases) = (world.path("graph-data"), world.path("releases.json"));
        ["--graph-data", text(&data), "--releases", text(&releases)].map(str::to_owned)
    };
    let pass = |clock: &str| {
        let graph = graph();
        world.pass_with(clock, &graph.each_ref().map(String::as_str))
    };
    let why = |clock: &str| world.look(&format!("fleet why shop {}", graph().join(" ")), clock);

    world.policy(&policy(""));
    assert!(
        pass("12:00").contains("0 planned"),
        "a policy lets nobody be switched by itself"
    );
    assert!(
        why("12:00").contains("no newer version is available"),
        "{}",
        why("12:00")
    );

    world.policy(&policy("channel: {follow: stable},"));
    assert!(pass("12:01").contains("0 planned"));
    let held = why("12:01");
    let reason = "it is only in stable-4.21, which is not available to the cluster";
    assert!(
        held.contains("4.21.3 over stable-4.21") && held.contains(reason),
        "{held}"
    );

    shop["version"]["available_channels"] = serde_json::json!(["stable-4.20", "stable-4.21"]);
    world.double.add("org", &[], shop);
    let planned = world.look(&format!("fleet plan {}", graph().join(" ")), "12:02");
    assert!(planned.contains("4.21.3 over stable-4.21"), "{planned}");
    let ahead = world.look(
        &format!("fleet forecast --days 2 {}", graph().join(" ")),
        "12:02",
    );
    let switched = ahead.find("4.21.3 over stable-4.21").expect("a switch");
    assert!(
        ahead[switched..].contains("4.21.4"),
        "it stays in the new channel: {ahead}"
    );
    assert!(pass("12:02").contains("1 planned"));
    let scheduled = [("ocm-shop".into(), "4.21.3".into(), "pending".into())];
    assert_eq!(
        world.scheduled(),
        scheduled,
        "OCM takes it only in the new channel"
    );
    assert!(pass("12:03").contains("0 cancelled"));
    let upgrades = world.towpath(&["fleet", "upgrades", "--store", &world.store()]);
    assert!(upgrades.contains("4.21.3 over stable-4.21"), "{upgrades}");
    let replayed = world.towpath(&["fleet", "replay", "--store", &world.store()]);
    assert!(replayed.contains("0 different"), "{replayed}");
}

#[test]
fn a_channel_that_is_followed_without_a_graph_is_a_warning() {
    let world = World::new();
    world.policy("upgradePolicyDefaults:\n- name: all\n  matchLabels: {}\n  upgradePolicy: {workloads: [web], schedule: '* * * * *', channel: {follow: stable}, conditions: {soakDays: 0}}\n");
    let (url, fleet, token) = (world.double.url(), world.path("fleet"), world.path("token"));
    let done = Command::new(env!("CARGO_BIN_EXE_towpath"))
        .args([
            "fleet",
            "plan",
            "--fleet",
            text(&fleet),
            "--now",
            "2026-01-05T12:00:00Z",
        ])
        .args(["--ocm", &url, "--ocm-token", text(&token)])
        .output()
        .expect("towpath runs");
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(said.contains("[channel-not-followed]"), "{said}");
}
