//! What all commands have in common: how answers fit a terminal, colours, standard input, times, lengths of time, the version.

use std::io::{Read, Write};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

const BINARY: &str = env!("CARGO_BIN_EXE_towpath");
const NOW: [&str; 2] = ["--now", "2026-11-16T12:00Z"];

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(BINARY);
    command.args(arguments).stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> Output {
    command(arguments).output().expect("it runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

/// Runs a command in a terminal of so many columns, and returns what it shows.
fn on_terminal(columns: u16, environment: &str, arguments: &[&str]) -> String {
    let line = format!(
        "stty cols {columns}; {environment} '{BINARY}' {} 2>/dev/null",
        arguments.join(" ")
    );
    let shown = Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .env("TERM", "xterm")
        .env_remove("NO_COLOR")
        .stdin(Stdio::null())
        .output()
        .expect("script of util-linux");
    text(&shown.stdout).replace('\r', "")
}

/// Without escape sequences for colours.
fn plain(text: &str) -> String {
    let parts = text.split("\x1b[");
    let rest = |(number, part): (usize, &str)| match number {
        0 => part.to_owned(),
        _ => part.split_once('m').expect("a colour").1.to_owned(),
    };
    parts.enumerate().map(rest).collect()
}

fn with_now<'a>(command: &[&'a str]) -> Vec<&'a str> {
    command.iter().copied().chain(NOW).collect()
}

const ANSWERS: [&[&str]; 7] = [
    &["fleet", "status"],
    &["fleet", "plan"],
    &["fleet", "history"],
    &["fleet", "clusters"],
    &["explain", "--channel", "stable-4.20", "--from", "4.20.1"],
    &["path", "4.19.16", "4.20.3", "--platform", "GCP"],
    &["graph", "rollouts"],
];

#[test]
fn nothing_is_wider_than_the_terminal_and_no_word_is_cut() {
    for command in ANSWERS {
        let command = with_now(command);
        let piped = text(&run(&command).stdout);
        for columns in [40, 80, 120, 200] {
            let shown = plain(&on_terminal(columns, "", &command));
            for line in shown.lines() {
                let is_long = |word: &str| word.chars().count() + 16 > usize::from(columns);
                let is_whole_word = line.split_whitespace().any(is_long);
                // A command stays on one line, so that it can be copied.
                let is_whole = is_whole_word || line.contains(" $ ");
                assert!(
                    line.chars().count() <= usize::from(columns) || is_whole,
                    "{command:?} at {columns}: {line:?}"
                );
            }
            // A row of a table may become several lines, and an empty cell may be left out; a bar is drawn in another way.
            let is_word = |word: &&str| word.chars().any(char::is_alphabetic);
            let cut: Vec<&str> = piped
                .split_whitespace()
                .filter(is_word)
                .filter(|word| !shown.split_whitespace().any(|other| other == *word))
                .collect();
            let is_head = |word: &&str| word.chars().all(|c| c.is_ascii_uppercase());
            let cut: Vec<&str> = cut.into_iter().filter(|word| !is_head(word)).collect();
            assert_eq!(cut, Vec::<&str>::new(), "{command:?} at {columns}\n{shown}");
        }
    }
}

#[test]
fn a_terminal_that_does_not_know_its_width_gets_what_a_file_gets() {
    for command in ANSWERS.iter().filter(|command| command[0] != "graph") {
        let command = with_now(command);
        let piped = text(&run(&command).stdout);
        assert_eq!(plain(&on_terminal(0, "", &command)), piped, "{command:?}");
        let narrow = on_terminal(1, "", &command);
        let lines = narrow.lines().filter(|line| !line.trim().is_empty());
        let letters = lines.filter(|line| line.trim().chars().count() == 1);
        assert_eq!(letters.count(), 0, "one letter a line: {narrow}");
    }
}

#[test]
fn colours_are_for_terminals_and_repeat_a_word() {
    let explain = with_now(&["explain", "--channel", "stable-4.20", "--from", "4.20.1"]);
    let shown = on_terminal(100, "", &explain);
    assert!(shown.contains("\x1b[31mno\x1b[0m"), "{shown}");
    assert!(shown.contains("\x1b[33mwait\x1b[0m"), "{shown}");
    for quiet in ["NO_COLOR=1", "TERM=dumb"] {
        let shown = on_terminal(100, quiet, &explain);
        assert!(!shown.contains('\x1b'), "{quiet}: {shown}");
        assert!(shown.contains("  no\n"), "the word stays: {shown}");
    }
    assert!(!text(&run(&explain).stdout).contains('\x1b'), "a pipe");
    let json = on_terminal(100, "", &[&explain[..], &["-o", "json"]].concat());
    assert!(!json.contains('\x1b'), "{json}");
    serde_json::from_str::<Value>(&json).expect("JSON on a terminal is as it is in a file");
}

#[test]
fn whoever_has_seen_enough_makes_no_error() {
    for command in [
        &["fleet", "plan"][..],
        &["fleet", "status", "-o", "json"],
        &["explain", "--channel", "stable-4.20", "--from", "4.20.1"],
        &["graph", "audit", "--output", "json"],
        &["graph", "lint"],
        &["graph", "rollouts"],
        &["releases", "show", "4.20.3"],
        &["path", "4.19.16", "4.20.3"],
        &["ready"],
        &["reason"],
        &["config", "--default"],
        &["duration", "estimate", "4.14.30", "4.15.20"],
    ] {
        let mut child = self::command(command)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it runs");
        drop(child.stdout.take());
        let ended = child.wait_with_output().expect("it ends");
        let told = text(&ended.stderr);
        assert_ne!(ended.status.code(), Some(2), "{command:?}: {told}");
        assert!(!told.contains("Broken pipe"), "{command:?}: {told}");
    }
}

/// Runs a command with this on its standard input.
fn fed(arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(BINARY)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut stdin = child.stdin.take().expect("a pipe");
    // A command that refuses its flags does not read.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    child.wait_with_output().expect("it ends")
}

#[test]
fn a_dash_is_standard_input() {
    let folder = tempfile::tempdir().expect("a folder");
    let demo = folder.path().join("demo");
    let demo = demo.to_str().expect("UTF-8");
    assert!(run(&["example", demo]).status.success());
    let path = |name: &str| format!("{demo}/{name}");
    let read = |name: &str| std::fs::read_to_string(path(name)).expect("it is there");
    let (fleet, data, releases) = (path("fleet"), path("graph-data"), path("releases.json"));

    let list = path("clusters.json");
    let plan = |list| {
        with_now(&[
            "fleet",
            "plan",
            "--fleet",
            &fleet,
            "-o",
            "json",
            "--clusters",
            list,
        ])
    };
    let from_file = run(&plan(&list));
    let from_stdin = fed(&plan("-"), &read("clusters.json"));
    assert!(from_file.status.success(), "{}", text(&from_file.stderr));
    assert_eq!(text(&from_stdin.stdout), text(&from_file.stdout));

    let show = |releases| {
        [
            "releases",
            "show",
            "4.20.3",
            "--releases",
            releases,
            "--graph-data",
            &data,
        ]
    };
    let shown = fed(&show("-"), &read("releases.json"));
    assert_eq!(text(&shown.stdout), text(&run(&show(&releases)).stdout));
    assert!(shown.status.success(), "{}", text(&shown.stderr));

    let version = r#"{"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"},
        "status": {"desired": {"version": "4.9.1"}, "history": [{"state": "Completed", "version": "4.9.1",
        "startedTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T01:00:00Z", "verified": true}]}}"#;
    let ready = fed(&["ready", "-"], version);
    assert!(text(&ready.stdout).contains("from 4.9.1"), "{ready:?}");

    let twice = fed(&["mirror", "--clusters", "-", "--have", "-"], "");
    assert_eq!(twice.status.code(), Some(2));
    assert!(
        text(&twice.stderr).contains("only one file can be -"),
        "{twice:?}"
    );
}

#[test]
fn lengths_of_time_are_written_alike() {
    let config = |arguments: &[&str]| run(&[&["config"], arguments].concat());
    for every in ["90s", "PT90S", "1m30s"] {
        let printed = text(&config(&["--refresh-every", every, "--poll-every", "P1D"]).stdout);
        assert!(printed.contains("refreshEvery: 1m 30s\n"), "{printed}");
        assert!(printed.contains("pollEvery: 1d\n"), "{printed}");
    }
    let told = |output: Output| text(&output.stderr);
    assert!(told(config(&["--refresh-every", "60"])).contains("\"60\" has no unit; write 60s"));
    let old = command(&["config"])
        .env("TOWPATH_PASS_SECONDS", "60")
        .output()
        .expect("it runs");
    assert_eq!(old.status.code(), Some(2));
    let expected = "TOWPATH_PASS_SECONDS is called TOWPATH_PASS_EVERY now; write 60s";
    assert!(told(old).contains(expected));
}

#[test]
fn an_address_to_listen_on_has_short_forms() {
    for (typed, expected) in [
        (":8081", "0.0.0.0:8081"),
        ("localhost:8081", "127.0.0.1:8081"),
    ] {
        let printed = text(&run(&["config", "--listen", typed]).stdout);
        assert!(
            printed.starts_with(&format!("listen: \"{expected}\"\n")),
            "{printed}"
        );
    }
}

#[test]
fn all_interfaces_are_said_to_be_all() {
    let mut serve = command(&["serve", "--listen", ":0", "--insecure-http"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut stderr = serve.stderr.take().expect("a pipe");
    let (mut told, mut part) = (String::new(), [0; 1024]);
    while !told.contains("is every interface of this machine") {
        let read = stderr.read(&mut part).expect("a pipe");
        assert_ne!(read, 0, "it ended without saying it: {told}");
        told.push_str(&String::from_utf8_lossy(&part[..read]));
    }
    serve.kill().expect("it runs");
    serve.wait().expect("it ends");
}

#[test]
fn the_version_names_the_commit_and_its_day() {
    let printed = text(&run(&["--version"]).stdout);
    let version = env!("CARGO_PKG_VERSION");
    let git = Command::new("git")
        .args([
            "show",
            "-s",
            "--abbrev=12",
            "--format=%h %cd",
            "--date=format-local:%Y-%m-%d",
            "HEAD",
        ])
        .env("TZ", "UTC")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output();
    let expected = match git.ok().filter(|git| git.status.success()) {
        Some(git) => format!("towpath {version} ({})\n", text(&git.stdout).trim()),
        None => format!("towpath {version}\n"),
    };
    assert_eq!(printed, expected);
}

#[test]
fn now_can_be_a_time_of_day() {
    let asked = |now| {
        run(&[
            "explain",
            "--channel",
            "stable-4.20",
            "--from",
            "4.20.1",
            "--now",
            now,
        ])
    };
    let first = text(&asked("14:30").stdout);
    let line = first.lines().next().expect("a line");
    assert!(line.ends_with(" 14:30Z"), "{line}");
    assert_eq!(asked("25:00").status.code(), Some(2));
}

#[test]
fn every_shell_completes_every_command() {
    for shell in ["bash", "zsh", "fish"] {
        let script = text(&run(&["completions", shell]).stdout);
        for word in ["serve", "explain", "mirror", "graph-data"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    assert_eq!(run(&["completions", "cmd.exe"]).status.code(), Some(2));
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let pages = |name: &str| {
        let into = folder.path().join(name);
        let done = run(&["man", into.to_str().expect("UTF-8")]);
        assert!(done.status.success(), "{done:?}");
        let files = std::fs::read_dir(into).expect("it was made").map(|entry| {
            let path = entry.expect("an entry").path();
            (
                path.file_name()
                    .expect("a name")
                    .to_string_lossy()
                    .into_owned(),
                std::fs::read_to_string(&path).expect("text"),
            )
        });
        files.collect::<std::collections::BTreeMap<String, String>>()
    };
    let written = pages("one");
    assert_eq!(written, pages("other"), "the same bytes twice");
    for name in [
        "towpath.1",
        "towpath-serve.1",
        "towpath-graph-lint.1",
        "towpath-fleet-plan.1",
    ] {
        assert!(
            written.contains_key(name),
            "{name} is not among {:?}",
            written.keys()
        );
    }
    assert!(!written.contains_key("towpath-man.1"), "it is hidden");
    assert!(
        written["towpath-serve.1"].contains("towpath serve"),
        "it is named as it is typed"
    );
    assert!(
        written["towpath.1"].contains("Examples"),
        "it has the examples of --help"
    );
    // Nothing that is there is written over.
    let again = run(&["man", folder.path().join("one").to_str().expect("UTF-8")]);
    assert_eq!(again.status.code(), Some(2));
}
