//! What is wrong is named, with what to write instead: place, problem, remedy. No name of an inner part, no code of a library.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What a command says on both channels, and its exit code.
fn told(folder: &Path, arguments: &[&str]) -> (String, Option<i32>) {
    let done = Command::new(env!("CARGO_BIN_EXE_towpath"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("towpath runs");
    let text = String::from_utf8([done.stdout, done.stderr].concat()).expect("text");
    (text, done.status.code())
}

/// A folder with the example's files, and some that are not what they should be.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let demo = folder.path().join("demo");
    let (text, code) = told(folder.path(), &["example", demo.to_str().expect("UTF-8")]);
    assert_eq!(code, Some(0), "{text}");
    for (name, text) in [
        ("text.txt", "hello\n"),
        ("empty.json", ""),
        ("list.json", "[]"),
    ] {
        std::fs::write(folder.path().join(name), text).expect("it can be written");
    }
    folder
}

fn scenario(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../scenarios")
        .join(name)
}

#[test]
fn what_is_wrong_is_named_with_what_to_write() {
    let folder = folder();
    let explained =
        "explain --channel stable-4.20 --from 4.20.1 --graph-data demo/graph-data --releases";
    let text = format!("{explained} text.txt");
    let empty = format!("{explained} empty.json");
    for (command, expected) in [
        (
            "explain --channel stable-4.20 --from 4.20",
            "\"4.20\" is not a version: a release has three numbers, as in 4.20.3",
        ),
        (
            "path v4.19.16 4.20.3",
            "\"v4.19.16\" is not a version: leave out the v",
        ),
        (
            "duration estimate latest 4.20.3",
            "\"latest\" is not a version: a release has three numbers, as in 4.20.3",
        ),
        (
            &*text,
            "text.txt: this is not JSON; give a graph in JSON, with nodes and edges: `towpath releases scrape` writes one",
        ),
        (
            &*empty,
            "empty.json: the file is empty; give a graph in JSON",
        ),
        (
            "graph diff main --graph-data demo/graph-data --releases demo/releases.json",
            "demo/graph-data: this folder is not in a git repository; name a folder in one with --graph-data",
        ),
        (
            "graph rollouts --graph-data demo --releases demo/releases.json",
            "version: the file `version` is missing, so this is no graph data; name the directory that holds version, channels/ and blocked-edges/",
        ),
        (
            "fleet plan --fleet text.txt",
            "text.txt: this is a file, and a directory belongs here; name the directory",
        ),
        (
            "mirror --clusters demo --to 4.20.3",
            "demo: this is a directory, and a file belongs here; name the file",
        ),
        (
            "fleet check --store sqlite:text.txt",
            "sqlite:text.txt: the file is not an SQLite database; check the address",
        ),
        (
            "fleet run --once --fleet demo/fleet --store sqlite:no/such/fleet.db",
            "sqlite:no/such/fleet.db: the file cannot be made",
        ),
        (
            "fleet token --keys nope --reload",
            "the file of keys nope cannot be read: No such file or directory (os error 2); make one with `(umask 077; openssl rand -base64 48 > nope)`",
        ),
        (
            "config --config text.txt",
            "`towpath config --default` prints one to start from",
        ),
        (
            "releases scrape https://quay.io/a/b",
            "has a scheme; leave it out, as in quay.io/path/name",
        ),
        (
            "agent --once --dry-run --kubeconfig nope",
            "nope: there is no such file; give a kubeconfig that kubectl accepts",
        ),
        (
            "example text.txt",
            "text.txt is a file; name a directory that does not exist yet",
        ),
        (
            "path 4.19.16 4.20.3 --graph demo/releases.json",
            "name the file after its channel, as in stable-4.20.json",
        ),
        (
            "explain --channel stable-4.20 --from 4.20.1 --server localhost:8080",
            "--server \"localhost:8080\" is not an address; write http://localhost:8080",
        ),
        (
            "duration estimate 4.14.30 4.16.10",
            "from 4.14.30 to 4.16.10 it skips a minor version, which no cluster accepts; put a release of 4.15 between them: `towpath path` finds one",
        ),
    ] {
        let words: Vec<&str> = command.split(' ').collect();
        let (text, code) = told(folder.path(), &words);
        assert!(text.contains(expected), "{command}: {text}");
        assert_eq!(code, Some(2), "{command}: {text}");
    }
}

#[test]
fn an_update_that_skips_a_minor_version_says_so_and_how_to_find_the_way() {
    let folder = scenario("mirror");
    let question = "explain --channel eus-4.16 --from 4.14.1 --to 4.16.3 --graph-data graph-data --releases releases.json --now 2026-11-16T12:00Z";
    let (text, code) = told(&folder, &question.split(' ').collect::<Vec<_>>());
    assert_eq!(code, Some(1), "{text}");
    assert!(
        text.contains("skips 4.15") && text.contains("[UpdateSkipsMinor]"),
        "{text}"
    );
    let command = text.lines().last().unwrap_or_default().trim();
    assert_eq!(
        command,
        "towpath path 4.14.1 4.16.3 --via eus --graph-data graph-data --releases releases.json --now 2026-11-16T12:00Z"
    );
    let (text, code) = told(&folder, &command.split(' ').skip(1).collect::<Vec<_>>());
    assert_eq!(code, Some(0), "{text}");
}

#[test]
fn mirror_and_path_give_the_same_reason() {
    let folder = folder();
    for command in ["path 4.19.16 4.20.3", "mirror 4.19.16 4.20.3"] {
        let (text, code) = told(folder.path(), &command.split(' ').collect::<Vec<_>>());
        assert!(text.contains("[PlatformUnknown]"), "{command}: {text}");
        assert_eq!(code, Some(1), "{command}: {text}");
    }
}

#[test]
fn a_scheduler_that_is_stopped_says_what_goes_on() {
    let folder = folder();
    let mut child = Command::new(env!("CARGO_BIN_EXE_towpath"))
        .args([
            "fleet",
            "run",
            "--fleet",
            "demo/fleet",
            "--clusters",
            "demo/clusters.json",
        ])
        .args(["--store", "sqlite:fleet.db"])
        .current_dir(folder.path())
        .stderr(Stdio::piped())
        .spawn()
        .expect("towpath runs");
    let mut lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
    let mut said = lines.by_ref().map_while(Result::ok);
    let first = said.find(|line| line.contains("pass"));
    assert!(first.is_some(), "it makes a pass");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it runs");
    let rest: Vec<String> = said.collect();
    let rest = rest.join("\n");
    assert!(child.wait().expect("it ends").success(), "{rest}");
    let expected = "stopping: no further pass; upgrades that have started continue";
    assert!(rest.contains(expected), "{rest}");
    assert!(!rest.contains("connection"), "{rest}");
}
