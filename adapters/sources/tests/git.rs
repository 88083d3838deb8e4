//! Revisions and histories of real repositories.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so")]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use towpath_sources::Git;

fn git(folder: &Path, seconds: i64, arguments: &[&str]) {
    towpath_testing_services::git(folder, &format!("@{seconds} +0000"), arguments);
}

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// `data/` is the folder we look at; a file beside it is none of our business.
fn repository() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path();
    git(folder, 0, &["init", "-q", "-b", "main"]);
    write(folder, "data/channels/a.yaml", "one\n");
    write(folder, "beside", "x");
    git(folder, 0, &["add", "."]);
    git(folder, 1_000, &["commit", "-q", "-m", "first"]);
    git(folder, 1_000, &["checkout", "-q", "-b", "side"]);
    write(folder, "data/channels/b c.yaml", "two\n");
    git(folder, 0, &["add", "."]);
    git(folder, 2_000, &["commit", "-q", "-m", "second"]);
    git(folder, 2_000, &["checkout", "-q", "main"]);
    git(
        folder,
        3_000,
        &["merge", "-q", "--no-ff", "-m", "merge", "side"],
    );
    fs::remove_file(folder.join("data/channels/a.yaml")).unwrap();
    git(folder, 4_000, &["commit", "-q", "-a", "-m", "gone"]);
    root
}

#[test]
fn a_revision_is_read_as_it_was() {
    let root = repository();
    let git = Git::at(&root.path().join("data")).unwrap();
    let read = |revision| -> Vec<(String, String)> {
        let files = git
            .read(revision, |path| path.starts_with("channels/"))
            .unwrap();
        files
            .into_iter()
            .map(|file| (file.path, String::from_utf8_lossy(&file.bytes).into_owned()))
            .collect()
    };
    let (a, b) = (
        ("channels/a.yaml".into(), "one\n".into()),
        ("channels/b c.yaml".into(), "two\n".into()),
    );
    assert_eq!(read("HEAD"), std::slice::from_ref(&b));
    assert_eq!(read("HEAD~1"), [a.clone(), b]);
    assert_eq!(read("HEAD~2"), [a]);
}

#[test]
fn a_merge_counts_when_it_was_made() {
    let root = repository();
    let git = Git::at(&root.path().join("data")).unwrap();
    let history = git.history("HEAD", &["channels"]).unwrap();
    let told: Vec<_> = history
        .iter()
        .flat_map(|commit| {
            commit
                .changes
                .iter()
                .map(|(path, blob)| (commit.at.as_second(), path.as_str(), blob.is_some()))
        })
        .collect();
    assert_eq!(
        told,
        [
            (1_000, "channels/a.yaml", true),
            (3_000, "channels/b c.yaml", true),
            (4_000, "channels/a.yaml", false)
        ]
    );
    let blobs = history
        .iter()
        .flat_map(|commit| &commit.changes)
        .filter_map(|(_, blob)| blob.as_ref());
    let contents: Vec<Vec<u8>> = git
        .blobs(blobs)
        .unwrap()
        .into_values()
        .map(|bytes| bytes.to_vec())
        .collect();
    assert_eq!(contents.len(), 2);
    assert!(contents.contains(&b"two\n".to_vec()));
}

#[test]
fn what_is_not_there_is_told() {
    let root = repository();
    let told = |finding: towpath_core::finding::Finding| (finding.code, finding.problem);
    let git = Git::at(root.path()).unwrap();
    let (code, problem) = told(git.read("nobody", |_| true).unwrap_err());
    assert_eq!(
        (code, problem.as_str()),
        ("git", "\"nobody\" is not a revision of this repository")
    );
    // An option is not a revision.
    assert_eq!(
        told(git.read("--all", |_| true).unwrap_err()).1,
        "\"--all\" is not a revision of this repository"
    );
    let elsewhere = tempfile::tempdir().unwrap();
    assert_eq!(
        told(Git::at(elsewhere.path()).unwrap_err()).1,
        "this folder is not in a git repository"
    );
}

/// Runs git and gives back what it printed.
fn printed(folder: &Path, arguments: &[&str], input: &str) -> String {
    let mut child = Command::new("git");
    child
        .arg("-C")
        .arg(folder)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = child.spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    String::from_utf8(child.wait_with_output().unwrap().stdout)
        .unwrap()
        .trim()
        .to_owned()
}

#[test]
fn a_tree_that_leads_elsewhere_is_refused() {
    let root = repository();
    let folder = root.path();
    let blob = printed(folder, &["hash-object", "-w", "--stdin"], "x");
    let inner = printed(
        folder,
        &["mktree"],
        &format!("100644 blob {blob}\tpwned.txt\n"),
    );
    let outer = printed(folder, &["mktree"], &format!("040000 tree {inner}\t..\n"));
    let commit = printed(
        folder,
        &[
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@e",
            "commit-tree",
            &outer,
            "-m",
            "x",
        ],
        "",
    );
    let refused = Git::at(folder)
        .unwrap()
        .read(&commit, |_| true)
        .unwrap_err();
    assert!(
        refused.problem.contains("is not a path below the folder"),
        "{refused}"
    );
}

#[test]
fn a_repository_does_not_choose_what_is_run_or_how_its_history_is_told() {
    let root = repository();
    let folder = root.path();
    let marker = folder.join("ran");
    let script = folder.join("evil.sh");
    fs::write(&script, format!("#!/bin/sh\ntouch {}\n", marker.display())).unwrap();
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let untouched = Git::at(folder).unwrap().history("HEAD", &["data"]).unwrap();
    for (name, value) in [
        ("log.showSignature", "true"),
        ("gpg.program", script.to_str().unwrap()),
        ("core.fsmonitor", script.to_str().unwrap()),
        ("log.showRoot", "false"),
    ] {
        git(folder, 0, &["config", name, value]);
    }
    // A commit that claims to be signed.
    let signed = printed(folder, &["cat-file", "commit", "HEAD"], "");
    let signed = signed.replacen(
        "\n\n",
        "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n -----END PGP SIGNATURE-----\n\n",
        1,
    );
    let commit = printed(
        folder,
        &["hash-object", "-t", "commit", "-w", "--stdin"],
        &format!("{signed}\n"),
    );
    let told = Git::at(folder)
        .unwrap()
        .history(&commit, &["data"])
        .unwrap();
    assert!(!marker.exists(), "a program of the repository's was run");
    let changes = |history: &[towpath_sources::Commit]| {
        history
            .iter()
            .map(|one| one.changes.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(changes(&told), changes(&untouched));
}

#[test]
fn what_is_not_in_the_clone_is_told() {
    let root = repository();
    let folder = root.path();
    let blob = printed(folder, &["rev-parse", "HEAD:data/channels/b c.yaml"], "");
    fs::remove_file(
        folder
            .join(".git/objects")
            .join(&blob[..2])
            .join(&blob[2..]),
    )
    .unwrap();
    let refused = Git::at(folder).unwrap().read("HEAD", |_| true).unwrap_err();
    assert!(
        refused.problem.contains("is not in this clone") || refused.code == "git",
        "{refused}"
    );
}

#[test]
fn a_link_is_refused() {
    let root = repository();
    std::os::unix::fs::symlink("b c.yaml", root.path().join("data/channels/link.yaml")).unwrap();
    git(root.path(), 0, &["add", "."]);
    git(root.path(), 5_000, &["commit", "-q", "-m", "link"]);
    let refused = Git::at(root.path())
        .unwrap()
        .read("HEAD", |_| true)
        .unwrap_err();
    assert!(refused.problem.contains("is a link"), "{refused}");
}
