//! One way in: every command reads graph data and releases as `serve` does, and says when they are the example's.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const NOON: &str = "2026-11-16T12:00:00Z";

fn towpath(arguments: &[&str]) -> Output {
    towpath_with(&[], arguments)
}

fn towpath_with(environment: &[(&str, &str)], arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_towpath"))
        .args(arguments)
        .envs(environment.iter().copied())
        .current_dir(std::env::temp_dir())
        .output()
        .expect("it runs")
}

fn words(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

fn answer(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// Commands that answer about the example when nothing is named.
const WITH_EXAMPLE: [&str; 16] = [
    "ready",
    "path 4.19.16 4.20.3 --platform GCP",
    "explain --channel stable-4.20 --from 4.20.1",
    "mirror 4.19.16 4.20.3 --platform GCP",
    "mirror --to 4.20.3 --partial",
    "graph lint",
    "graph audit",
    "graph rollouts",
    "graph show stable-4.20",
    "releases show 4.20.3",
    "fleet plan",
    "fleet status",
    "fleet why shop-eu",
    "fleet history",
    "fleet forecast --days 1",
    "fleet lint",
];

#[test]
fn the_first_line_says_that_it_is_about_the_example() {
    for command in WITH_EXAMPLE {
        let told = towpath(&command.split(' ').collect::<Vec<_>>());
        let first = words(&told.stderr).lines().next().unwrap_or_default();
        assert!(
            first.starts_with("towpath: this uses the built-in example; name "),
            "{command}: {told:?}"
        );
        assert_ne!(told.status.code(), Some(2), "{command}: {told:?}");
    }
}

#[test]
fn an_answer_for_machines_says_that_it_is_about_the_example() {
    for command in WITH_EXAMPLE {
        let json: Vec<&str> = command.split(' ').chain(["-o", "json"]).collect();
        let told = answer(&towpath(&json));
        assert_eq!(told["example"], true, "{command}: {told}");
    }
}

/// A folder with the example's data, as one's own.
struct Site(tempfile::TempDir);

impl Site {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let demo = folder.path().join("demo");
        let done = towpath(&["example", demo.to_str().expect("text")]);
        assert!(done.status.success(), "{done:?}");
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join("demo").join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().expect("text").to_owned()
    }

    /// Asks with one's own data, or with addresses of it.
    fn ask(&self, graph_data: &str, releases: &str, arguments: &[&str]) -> Output {
        let own = ["--graph-data", graph_data, "--releases", releases];
        towpath(&[arguments, &own].concat())
    }

    /// Graph data in which 4.20.3 and 4.20.4 have always been.
    fn plain(&self) -> String {
        let folder = self.path("plain");
        std::fs::create_dir_all(folder.join("channels")).expect("a folder");
        let channel = "name: stable-4.20\nversions:\n- 4.20.3\n- 4.20.4\n";
        std::fs::write(folder.join("channels/stable-4.20.yaml"), channel).expect("a channel");
        std::fs::write(folder.join("version"), "1.1.0\n").expect("a version");
        self.text("plain")
    }
}

#[test]
fn ones_own_data_has_no_such_mark() {
    let site = Site::new();
    let (data, releases) = (site.text("graph-data"), site.text("releases.json"));
    for command in [
        "graph lint",
        "graph audit",
        "graph rollouts",
        "graph show stable-4.20",
        "releases show 4.20.3",
    ] {
        let json: Vec<&str> = command.split(' ').chain(["--output", "json"]).collect();
        let told = site.ask(&data, &releases, &json);
        assert_eq!(words(&told.stderr), "", "{command}");
        assert_eq!(answer(&told).get("example"), None, "{command}");
    }
}

#[test]
fn nobodys_data_is_joined_with_the_examples() {
    let site = Site::new();
    let (data, releases) = (site.text("graph-data"), site.text("releases.json"));
    let [data, releases] = [&*data, &*releases];
    let path = ["path", "4.19.16", "4.20.3"];
    let explain = ["explain", "--channel", "stable-4.20", "--from", "4.20.1"];
    let missing_releases: [&[&str]; 7] = [
        &["graph", "audit", data],
        &["graph", "audit", "--graph-data", data],
        &["graph", "rollouts", "--graph-data", data],
        &["releases", "show", "4.20.3", "--graph-data", data],
        &[&path[..], &["--graph-data", data]].concat(),
        &[&explain[..], &["--graph-data", data]].concat(),
        &["mirror", "4.19.16", "4.20.3", "--graph-data", data],
    ];
    let missing_data: [&[&str]; 6] = [
        &["graph", "audit", "--releases", releases],
        &["graph", "lint", "--releases", releases],
        &["graph", "rollouts", "--releases", releases],
        &[&path[..], &["--releases", releases]].concat(),
        &[&explain[..], &["--releases", releases]].concat(),
        &["mirror", "4.19.16", "4.20.3", "--releases", releases],
    ];
    let missing = |flag, all: &[&[&str]]| {
        for arguments in all {
            let told = towpath(arguments);
            assert_eq!(told.status.code(), Some(2), "{arguments:?}: {told:?}");
            assert!(
                words(&told.stderr).contains(flag),
                "{arguments:?}: {told:?}"
            );
            assert_eq!(words(&told.stdout), "", "{arguments:?}");
        }
    };
    missing("add --releases", &missing_releases);
    missing("add --graph-data", &missing_data);
    let own = ["--graph-data", data, "--releases", releases];
    missing("--clusters FILE", &[&[&["mirror"], &own[..]].concat()]);
    let fleet: [&[&str]; 3] = [
        &["fleet", "plan", "--clusters", "clusters.json"],
        &["fleet", "status", "--store", "sqlite:nowhere.db"],
        &[&["fleet", "plan"], &own[..]].concat(),
    ];
    missing("add --fleet", &fleet);
}

#[test]
fn an_address_is_read_by_every_command() {
    let site = Site::new();
    let (data, releases) = (site.path("graph-data"), site.text("releases.json"));
    git(&data, &["init", "-q", "-b", "main"]);
    git(&data, &["add", "-A"]);
    git(&data, &["commit", "-q", "-m", "all"]);
    let address = format!("git+file://{}#main", data.display());
    let directory = data.to_str().expect("text");
    for command in [
        "path 4.19.16 4.20.3 --platform GCP",
        "explain --channel stable-4.20 --from 4.20.1",
        "mirror 4.19.16 4.20.3 --platform GCP",
        "graph lint",
        "graph rollouts",
        "graph show stable-4.20",
        "releases show 4.20.3",
        "fleet lint --fleet FLEET",
    ] {
        let fleet = site.text("fleet");
        let command = command.replace("FLEET", &fleet);
        let at_noon: Vec<&str> = command.split(' ').chain(["--now", NOON]).collect();
        let [remote, local] =
            [&*address, directory].map(|data| site.ask(data, &releases, &at_noon));
        assert_eq!(words(&remote.stdout), words(&local.stdout), "{command}");
        assert_eq!(words(&remote.stderr), "", "{command}");
    }
    // What changes nothing has no difference, whichever way it is named.
    let told = site.ask(
        &address,
        &releases,
        &["graph", "diff", directory, "--exit-code"],
    );
    assert!(told.status.success(), "{told:?}");
    let told = site.ask(&address, &releases, &["graph", "diff", "main"]);
    assert_eq!(told.status.code(), Some(2), "{told:?}");
    assert!(words(&told.stderr).contains("by its address"), "{told:?}");
}

#[test]
fn what_cannot_be_read_is_told_with_place_problem_and_remedy() {
    let site = Site::new();
    let gone = format!("git+file://{}", site.text("gone"));
    let told = site.ask(&gone, &site.text("releases.json"), &["graph", "rollouts"]);
    assert_eq!((told.status.code(), words(&told.stdout)), (Some(2), ""));
    let said = words(&told.stderr);
    assert!(
        said.contains("gone") && said.contains(": ") && said.contains(';'),
        "{said}"
    );
}

#[test]
fn the_environment_means_one_thing() {
    let site = Site::new();
    let environment = [
        ("TOWPATH_GRAPH_DATA", site.text("graph-data")),
        ("TOWPATH_RELEASES", site.text("releases.json")),
        ("TOWPATH_NOW", "2026-11-16".to_owned()),
    ];
    let environment: Vec<(&str, &str)> = environment
        .iter()
        .map(|(name, value)| (*name, &**value))
        .collect();
    for command in [
        "graph lint",
        "graph audit",
        "graph rollouts",
        "graph show stable-4.20",
        "releases show 4.20.3",
    ] {
        let told = towpath_with(&environment, &command.split(' ').collect::<Vec<_>>());
        assert_eq!(words(&told.stderr), "", "{command}");
    }
    let file = site.path("towpath.yaml");
    let text = format!(
        "graphData: {}\nreleases: {}\n",
        environment[0].1, environment[1].1
    );
    std::fs::write(&file, text).expect("a file");
    let told = towpath(&["graph", "audit", "--config", file.to_str().expect("text")]);
    assert_eq!(words(&told.stderr), "");
}

/// A release file with one payload exchanged.
fn exchanged(site: &Site) -> String {
    let mut graph: Value =
        serde_json::from_slice(&std::fs::read(site.path("releases.json")).expect("releases"))
            .expect("JSON");
    for node in graph["nodes"].as_array_mut().expect("nodes") {
        if node["version"] == "4.20.4+amd64" {
            node["payload"] = json!(format!(
                "registry.example.com/ocp/release@sha256:{:064x}",
                7
            ));
        }
    }
    std::fs::write(site.path("other.json"), graph.to_string()).expect("releases");
    site.text("other.json")
}

#[test]
fn no_path_leads_to_what_the_service_leaves_out() {
    let site = Site::new();
    let (data, releases) = (site.plain(), site.text("releases.json"));
    let path = ["path", "4.20.3", "4.20.4", "--output", "json"];
    let found = |more: &[&str]| {
        let told = site.ask(&data, &releases, &[&path[..], more].concat());
        assert_eq!(words(&told.stderr), "", "{more:?}");
        (told.status.code(), answer(&told)["found"].clone())
    };
    assert_eq!(found(&[]), (Some(0), json!(true)));
    // Two sources that do not agree what 4.20.4 is.
    let disputed = found(&["--releases", &exchanged(&site)]);
    assert_eq!(disputed, (Some(1), json!(false)));
    // A keyring of somebody who signed none of them.
    let keyring = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/keys/fuzz.asc");
    let keyring = keyring.to_str().expect("text");
    let store = site.text("fleet");
    let unsigned = found(&["--keyring", keyring, "--signatures", &store]);
    assert_eq!(unsigned, (Some(1), json!(false)));
    let warned = [
        "--keyring",
        keyring,
        "--signatures",
        &store,
        "--signature-policy",
        "warn",
    ];
    assert_eq!(found(&warned), (Some(0), json!(true)));
}

#[test]
fn a_copy_that_the_service_refuses_is_refused_beside_what_it_kept() {
    let site = Site::new();
    let (data, releases, state) = (site.plain(), site.text("releases.json"), site.text("state"));
    let blocks = site.path("plain/blocked-edges");
    std::fs::create_dir(&blocks).expect("a folder");
    for patch in 0..4 {
        let block = format!("to: 4.20.4\nfrom: 4[.]20[.]{patch}[+].*\n");
        std::fs::write(blocks.join(format!("{patch}.yaml")), block).expect("a block");
    }
    let mut service = Command::new(env!("CARGO_BIN_EXE_towpath"))
        .args(["serve", "--listen", "127.0.0.1:0", "--log", "error"])
        .args([
            "--graph-data",
            &data,
            "--releases",
            &releases,
            "--state",
            &state,
        ])
        .spawn()
        .expect("it runs");
    let kept = site.path("state/current");
    let deadline = Instant::now() + Duration::from_secs(120);
    while !kept.exists() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(50));
    }
    service.kill().expect("it is ours");
    service.wait().expect("it ends");
    std::fs::remove_dir_all(&blocks).expect("all blocks go");

    let path = ["path", "4.20.3", "4.20.4", "--output", "json"];
    let plain = site.ask(&data, &releases, &path);
    assert_eq!(answer(&plain)["found"], true, "{plain:?}");
    let beside = site.ask(
        &data,
        &releases,
        &[&path[..], &["--state", &state]].concat(),
    );
    assert_eq!(answer(&beside)["found"], false, "{beside:?}");
    assert!(words(&beside.stderr).contains("are gone"), "{beside:?}");
}

#[test]
fn a_form_that_a_command_does_not_have_is_refused() {
    for command in [
        "fleet plan -o markdown",
        "path 1.0.0 2.0.0 -o sarif",
        "graph lint -o markdown",
    ] {
        let told = towpath(&command.split(' ').collect::<Vec<_>>());
        assert_eq!(told.status.code(), Some(2), "{command}");
        assert!(
            words(&told.stderr).contains("possible values: text, json"),
            "{told:?}"
        );
    }
    let told = towpath(&["fleet", "history", "-o", "markdown"]);
    assert!(
        told.status.success() && words(&told.stdout).contains("|---"),
        "{told:?}"
    );
}

#[test]
fn a_platform_that_openshift_does_not_have_is_warned_of_and_opens_nothing() {
    let explain = |platform: &str, output: &str| {
        let question = "explain --channel fast-4.20 --from 4.20.1 --now 2026-11-16T12:00Z";
        let mut arguments: Vec<&str> = question.split(' ').collect();
        arguments.extend(["--platform", platform, "--output", output]);
        towpath(&arguments)
    };
    let offered = |platform: &str| -> Vec<Value> {
        let told = answer(&explain(platform, "json"));
        let candidates = told["candidates"].as_array().expect("candidates");
        let offered = candidates.iter().filter(|one| one["offered"] == true);
        offered.map(|one| one["to"].clone()).collect()
    };
    assert!(offered("GCP").len() > offered("AWS").len());
    assert_eq!(offered("Amazon"), offered("AWS"));
    let warning = "Amazon is not a platform of OpenShift";
    let told = explain("Amazon", "text");
    assert!(words(&told.stdout).contains(&format!("warning: {warning}")));
    let warnings = answer(&explain("Amazon", "json"))["warnings"].clone();
    assert!(warnings[0].as_str().expect("a text").starts_with(warning));
    assert_eq!(answer(&explain("aws", "json"))["warnings"], json!([]));
    for command in ["path 4.19.16 4.20.3", "mirror 4.19.16 4.20.3"] {
        let arguments = command.split(' ').chain(["--platform", "Amazon"]);
        let told = towpath(&arguments.collect::<Vec<_>>());
        let all = [words(&told.stdout), words(&told.stderr)].concat();
        assert!(all.contains(warning), "{command}: {all}");
    }
}

#[test]
fn files_for_oc_mirror_go_into_a_directory_of_their_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let into = folder.path().join("imagesets");
    let mirror = |more: &[&str]| {
        let asked = [
            "mirror",
            "4.19.16",
            "4.20.3",
            "--platform",
            "GCP",
            "--with-start",
            "--output",
        ];
        towpath(&[&asked[..], more].concat())
    };
    let text = into.to_str().expect("UTF-8");
    let refused = mirror(&["oc-mirror-v2"]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(words(&refused.stderr).contains("name a directory for them with --into DIR"));
    let written = mirror(&["oc-mirror-v2", "--into", text]);
    assert_eq!(written.status.code(), Some(0), "{written:?}");
    let files = std::fs::read_dir(&into).expect("a folder").count();
    assert!(words(&written.stdout).starts_with(&format!("{files} files in ")) && files > 1);
    for (more, said) in [
        (["oc-mirror-v2", "--into", text], "there are files already"),
        (["text", "--into", text], "--into DIR is for"),
    ] {
        let refused = mirror(&more);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        assert!(words(&refused.stderr).contains(said), "{refused:?}");
    }
}

#[test]
fn a_time_can_be_a_day_or_a_distance() {
    for (now, code) in [("2026-11-16", 0), ("+2d", 0), ("-3h", 0), ("soon", 2)] {
        let told = towpath(&["graph", "rollouts", "--now", now]);
        assert_eq!(told.status.code(), Some(code), "{told:?}");
        assert!(
            code == 0 || words(&told.stderr).contains("+2d or -3h"),
            "{told:?}"
        );
    }
}

fn git(folder: &Path, arguments: &[&str]) {
    let done = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(["-c", "user.name=t", "-c", "user.email=t@example.com"])
        .args(arguments)
        .output()
        .expect("git runs");
    assert!(done.status.success(), "{done:?}");
}

/// What is on this machine has to be there when the service starts; what comes from elsewhere may come later.
#[test]
fn what_can_never_work_ends_the_start_of_the_service() {
    let folder = tempfile::tempdir().unwrap();
    for (options, problem) in [
        ("--log inof", "--log: \"inof\" is not a level"),
        ("--log info,towpath_web=loud", "\"loud\" is not a level"),
        ("--fleet nope", "--fleet nope: there is no such file"),
        (
            "--fleet . --clusters nope.json",
            "--clusters nope.json: there is no such file",
        ),
        ("--fleet . --store mysql://x", "--store cannot be used"),
        ("--store mysql://x", "--store cannot be used"),
        (
            "--token-keys nope",
            "--token-keys nope: there is no such file",
        ),
        (
            "--graph-data nope --releases nope.json",
            "--graph-data nope: there is no such file",
        ),
    ] {
        let done = Command::new(env!("CARGO_BIN_EXE_towpath"))
            .args(["serve", "--listen", "127.0.0.1:0"])
            .args(options.split(' '))
            .current_dir(folder.path())
            .output()
            .unwrap();
        let told = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(2), "{options}: {told}");
        assert!(told.contains(problem), "{options}: {told}");
        assert!(done.stdout.is_empty(), "{options}: no happy banner");
        assert!(!told.contains("listening"), "{options}: {told}");
    }
}

#[test]
fn a_channel_a_release_or_an_architecture_that_there_is_not_is_no_success() {
    for (question, code) in [
        ("--channel stable-4.20 --from 4.20.1", 0),
        ("--channel nope --from 4.20.1", 1),
        ("--channel stable-4.20 --from 9.9.9", 1),
        ("--channel stable-4.20 --from 4.20.1 --arch foo", 1),
        ("--channel stable-4.20 --from 4.20.1 --to 9.9.9", 1),
    ] {
        let words: Vec<&str> = question.split(' ').collect();
        let done = towpath(&[&["explain", "--now", NOON][..], &words].concat());
        assert_eq!(done.status.code(), Some(code), "{question}: {done:?}");
    }
}

/// `towpath explain … | head -1`
#[test]
fn a_reader_who_has_seen_enough_is_no_error() {
    for command in [
        "explain --channel stable-4.20 --from 4.20.1",
        "graph audit --output json",
    ] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_towpath"))
            .args(command.split(' '))
            .args(["--now", NOON])
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let done = child.wait_with_output().unwrap();
        assert_eq!(done.status.code(), Some(0), "{command}: {done:?}");
        assert!(!words(&done.stderr).contains("pipe"), "{command}: {done:?}");
    }
}
