//! `towpath graph audit` in a git repository: since when, and what is new.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so")]

use std::fs;
use std::path::Path;
use std::process::Command;

use towpath_testing_services::git;

fn commit(folder: &Path, date: &str) {
    git(folder, date, &["add", "."]);
    git(folder, date, &["commit", "-q", "-m", "a change"]);
}

/// What the command prints, and its exit code.
fn audit(folder: &Path, arguments: &[&str]) -> (String, Option<i32>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_towpath"));
    command.args([
        "graph",
        "audit",
        "data",
        "--releases",
        "releases.json",
        "--now",
        "2026-01-05T00:00Z",
    ]);
    let done = command
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    (
        String::from_utf8(done.stdout).unwrap() + &String::from_utf8(done.stderr).unwrap(),
        done.status.code(),
    )
}

#[test]
fn a_repository_tells_since_when_and_what_is_new() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path();
    let write = |path: &str, text: &str| {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let nodes = ["4.9.0", "4.9.1", "4.9.2"]
        .map(|version| format!(r#"{{"version":"{version}","payload":"p/{version}"}}"#));
    write(
        "releases.json",
        &format!(r#"{{"nodes":[{}],"edges":[[0,1],[1,2]]}}"#, nodes.join(",")),
    );
    write("data/version", "1.1.0\n");
    write(
        "data/channels/stable-4.9.yaml",
        "name: stable-4.9\nversions: [4.9.0, 4.9.1, 4.9.2]\n",
    );
    git(folder, "", &["init", "-q", "-b", "main"]);
    commit(folder, "2025-11-01T10:00:00Z");
    write("data/blocked-edges/4.9.2-a.yaml", "to: 4.9.2\nfrom: .*\n");
    commit(folder, "2025-12-01T10:00:00Z");
    write(
        "data/blocked-edges/4.9.2-a.yaml",
        "to: 4.9.2\nfrom: 4[.]9[.].*\n",
    );
    commit(folder, "2025-12-02T10:00:00Z");

    let (text, code) = audit(folder, &[]);
    assert!(
        text.contains("blocked-edges/4.9.2-a.yaml, since 2025-12-01 10:00Z"),
        "{text}"
    );
    assert_eq!(code, Some(0));
    assert_eq!(audit(folder, &["--exit-code"]).1, Some(1));
    let json: serde_json::Value =
        serde_json::from_str(&audit(folder, &["--output", "json"]).0).unwrap();
    assert_eq!(json["stranded"][0]["since"], "2025-12-01T10:00:00Z");

    assert_eq!(
        audit(folder, &["--base", "HEAD"]),
        ("Nothing is newly stranded since HEAD.\n".into(), Some(0))
    );
    let (text, code) = audit(folder, &["--base", "HEAD~2"]);
    assert!(
        text.contains("4.9.0 and 4.9.1 cannot get\n      to 4.9.2 in stable-4.9\n"),
        "{text}"
    );
    assert_eq!(code, Some(1));

    write("data/blocked-edges/4.9.1-b.yaml", "to: 4.9.1\nfrom: .*\n");
    let (text, _) = audit(folder, &[]);
    assert!(
        text.contains("+ blocked-edges/4.9.2-a.yaml, not committed yet"),
        "{text}"
    );
    let (text, code) = audit(folder, &["--base", "nobody"]);
    assert!(
        text.contains("\"nobody\" is not a revision of this repository"),
        "{text}"
    );
    assert_eq!(code, Some(2));
}
