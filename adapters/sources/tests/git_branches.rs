//! Proposals to a real bare repository, by several replicas, over and over.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the finding")]

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use jiff::Timestamp;
use towpath_formats::SourceFile;
use towpath_sources::{Author, GitBranches, GitProposal, GitRemote, ProposalOutcome};
use towpath_testing_services::git;

const PATH: &str = "blocked-edges/4.20.4-halted.yaml";

/// A bare repository that others push to, with a clone of theirs.
struct Repository(tempfile::TempDir);

impl Repository {
    fn new() -> Self {
        let repository = Self(tempfile::tempdir().unwrap());
        for name in ["bare.git", "work"] {
            fs::create_dir(repository.path(name)).unwrap();
        }
        git(
            &repository.path("bare.git"),
            "@1700000000 +0000",
            &["init", "-q", "--bare", "-b", "main"],
        );
        repository.git(&["init", "-q", "-b", "main"]);
        repository.git(&[
            "remote",
            "add",
            "origin",
            repository.path("bare.git").to_str().unwrap(),
        ]);
        repository.push("data/version", "2.0.0\n", "main");
        repository
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn git(&self, arguments: &[&str]) {
        git(&self.path("work"), "@1700000000 +0000", arguments);
    }

    /// Somebody commits a file and pushes it to a branch.
    fn push(&self, path: &str, text: &str, branch: &str) {
        let file = self.path("work").join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", "x"]);
        self.git(&["push", "-q", "origin", &format!("HEAD:refs/heads/{branch}")]);
    }

    /// What git prints of the bare repository.
    fn printed(&self, arguments: &[&str]) -> String {
        let done = Command::new("git")
            .arg("-C")
            .arg(self.path("bare.git"))
            .args(arguments)
            .output()
            .unwrap();
        assert!(done.status.success(), "{done:?}");
        String::from_utf8(done.stdout).unwrap()
    }

    fn branches(&self) -> GitBranches {
        let remote = GitRemote {
            url: format!("file://{}", self.path("bare.git").display()),
            revision: "main".to_owned(),
            folder: "data".to_owned(),
        };
        let author = Author {
            name: "Towpath".to_owned(),
            email: "towpath@example.com".to_owned(),
        };
        GitBranches::new(remote, "halts", author, None).unwrap()
    }
}

fn proposal(text: &str) -> GitProposal {
    GitProposal {
        name: "4.20.4-halted".to_owned(),
        file: SourceFile::new(PATH, text.as_bytes()),
        message: "Halt 4.20.4 for all clusters\n\n6 of 36 failed.\n\nTowpath-Halt: 7/x\n"
            .to_owned(),
        at: Timestamp::from_second(1_700_000_100).unwrap(),
    }
}

#[test]
fn a_proposal_is_one_commit_on_a_branch_of_its_own_however_often_it_is_made() {
    let repository = Repository::new();
    let mut branches = repository.branches();
    let proposed = branches.propose(&proposal("to: 4.20.4\n")).unwrap();
    let ProposalOutcome::Pushed(commit) = proposed else {
        panic!("{proposed:?}");
    };
    let tip = repository.printed(&["rev-parse", "halts/4.20.4-halted"]);
    assert_eq!(tip.trim(), commit);
    let shown = repository.printed(&[
        "show",
        "--format=%an <%ae> %at%n%B",
        "--stat",
        "halts/4.20.4-halted",
    ]);
    for part in [
        "Towpath <towpath@example.com> 1700000100",
        "6 of 36 failed.",
        "Towpath-Halt: 7/x",
        "1 file changed",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let file = repository.printed(&["show", &format!("halts/4.20.4-halted:data/{PATH}")]);
    assert_eq!(file, "to: 4.20.4\n");
    assert_eq!(
        repository.printed(&["rev-parse", "halts/4.20.4-halted^"]),
        repository.printed(&["rev-parse", "main"])
    );

    // Again, by another replica, and after the base has moved.
    assert_eq!(
        branches.propose(&proposal("to: 4.20.4\n")).unwrap(),
        ProposalOutcome::Stands
    );
    repository.push("data/other", "x", "main");
    assert_eq!(
        repository
            .branches()
            .propose(&proposal("to: 4.20.4\n"))
            .unwrap(),
        ProposalOutcome::Stands
    );
    assert_eq!(
        repository
            .printed(&["rev-parse", "halts/4.20.4-halted"])
            .trim(),
        commit
    );

    // Once people have merged it, there is nothing to propose, also if the branch is gone.
    repository.push(&format!("data/{PATH}"), "to: 4.20.4\n", "main");
    repository.git(&["push", "-q", "origin", ":refs/heads/halts/4.20.4-halted"]);
    assert_eq!(
        branches.propose(&proposal("to: 4.20.4\n")).unwrap(),
        ProposalOutcome::InBase
    );
    assert_eq!(
        repository.printed(&["for-each-ref", "refs/heads/halts"]),
        ""
    );
}

#[test]
fn a_branch_with_other_content_is_left_and_reported() {
    let repository = Repository::new();
    repository.push(
        &format!("data/{PATH}"),
        "something else\n",
        "halts/4.20.4-halted",
    );
    let before = repository.printed(&["rev-parse", "halts/4.20.4-halted"]);
    let mut branches = repository.branches();
    for _ in 0..2 {
        let refused = branches
            .propose(&proposal("to: 4.20.4\n"))
            .unwrap_err()
            .to_string();
        assert!(
            refused.contains(
                "the branch halts/4.20.4-halted is there with other content; it is left as it is"
            ),
            "{refused}"
        );
        assert_eq!(
            repository.printed(&["rev-parse", "halts/4.20.4-halted"]),
            before
        );
    }
    // Other proposals are not held up by it.
    let other = GitProposal {
        name: "4.20.5-halted".to_owned(),
        ..proposal("to: 4.20.5\n")
    };
    let outcome = branches.propose(&GitProposal {
        file: SourceFile::new(
            "blocked-edges/4.20.5-halted.yaml",
            b"to: 4.20.5\n".as_slice(),
        ),
        ..other
    });
    assert!(
        matches!(outcome, Ok(ProposalOutcome::Pushed(_))),
        "{outcome:?}"
    );
}

#[test]
fn a_branch_that_comes_in_between_is_not_overwritten() {
    let repository = Repository::new();
    // The server itself refuses the first push, as if somebody had been quicker.
    let hook = repository.path("bare.git/hooks/pre-receive");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\necho no pushes today >&2\nexit 1\n").unwrap();
    Command::new("chmod").arg("+x").arg(&hook).status().unwrap();
    let mut branches = repository.branches();
    let refused = branches
        .propose(&proposal("to: 4.20.4\n"))
        .unwrap_err()
        .to_string();
    assert!(refused.contains("git push failed"), "{refused}");
    fs::remove_file(&hook).unwrap();
    repository.push(
        &format!("data/{PATH}"),
        "to: 4.20.4\n",
        "halts/4.20.4-halted",
    );
    let theirs = repository.printed(&["rev-parse", "halts/4.20.4-halted"]);
    assert_eq!(
        branches.propose(&proposal("to: 4.20.4\n")).unwrap(),
        ProposalOutcome::Stands
    );
    assert_eq!(
        repository.printed(&["rev-parse", "halts/4.20.4-halted"]),
        theirs
    );
}

#[test]
fn a_repository_that_is_away_is_told_without_its_secrets() {
    let repository = Repository::new();
    let mut branches = repository.branches();
    fs::rename(repository.path("bare.git"), repository.path("away")).unwrap();
    let told = branches.propose(&proposal("x")).unwrap_err();
    assert!(told.problem.contains("git fetch failed"), "{told}");
    fs::rename(repository.path("away"), repository.path("bare.git")).unwrap();
    assert!(matches!(
        branches.propose(&proposal("x")),
        Ok(ProposalOutcome::Pushed(_))
    ));
    let remote = GitRemote {
        url: "https://me:s3cr3t-t0ken@127.0.0.1:1/x.git".to_owned(),
        revision: "main".to_owned(),
        folder: String::new(),
    };
    let author = Author {
        name: "a".to_owned(),
        email: "b".to_owned(),
    };
    let mut branches = GitBranches::new(remote, "halts", author, None).unwrap();
    let told = branches.propose(&proposal("x")).unwrap_err().to_string();
    assert!(!told.contains("s3cr3t"), "{told}");
}
