//! A real repository that is pushed to while it is read.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the finding")]

use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use towpath_core::finding::Finding;
use towpath_sources::{Fetch, GitMirror, GitRemote};
use towpath_testing_services::git;

struct Repository {
    folder: tempfile::TempDir,
    seconds: u64,
}

impl Repository {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let repository = Self {
            folder,
            seconds: 1_700_000_000,
        };
        fs::create_dir(repository.work()).unwrap();
        repository.git(&["init", "-q", "-b", "main"]);
        repository
    }

    fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    fn git(&self, arguments: &[&str]) {
        git(&self.work(), &format!("@{} +0000", self.seconds), arguments);
    }

    fn commit(&mut self, path: &str, text: &str) {
        self.seconds += 60;
        let file = self.work().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", "x"]);
    }

    fn mirror(&self, revision: &str, folder: &str) -> GitMirror {
        let url = format!("file://{}", self.work().display());
        let remote = GitRemote {
            url,
            revision: revision.into(),
            folder: folder.into(),
        };
        GitMirror::new(
            remote,
            &self
                .folder
                .path()
                .join(format!("mirror-{revision}-{folder}")),
            None,
        )
    }
}

fn texts(fetch: &Fetch) -> Vec<(&str, &str)> {
    fetch
        .contents
        .files
        .iter()
        .map(|file| {
            (
                file.path.as_str(),
                std::str::from_utf8(&file.bytes).unwrap(),
            )
        })
        .collect()
}

fn read(mirror: &mut GitMirror) -> Result<Fetch, Finding> {
    mirror.read(|path| path != "README.md")
}

#[test]
fn each_push_is_seen_and_only_the_wanted_files() {
    let mut repository = Repository::new();
    repository.commit("README.md", "x");
    repository.commit("version", "1");
    let mut mirror = repository.mirror("main", "");
    let first = read(&mut mirror).unwrap();
    assert_eq!(texts(&first), [("version", "1")]);
    assert_eq!(first.committed_at.as_second(), 1_700_000_120);
    assert_eq!(read(&mut mirror).unwrap(), first);
    repository.commit("version", "2");
    let second = read(&mut mirror).unwrap();
    assert_eq!(texts(&second), [("version", "2")]);
    repository.git(&["reset", "-q", "--hard", "HEAD~1"]);
    let back = read(&mut mirror).unwrap();
    assert_eq!(back, first, "a push by force is seen as what it is");
}

#[test]
fn a_branch_a_tag_a_commit_and_a_folder() {
    let mut repository = Repository::new();
    repository.commit("data/version", "1");
    repository.git(&["tag", "v1"]);
    repository.git(&["branch", "other"]);
    repository.commit("data/version", "2");
    let of = |revision: &str, folder: &str| read(&mut repository.mirror(revision, folder)).unwrap();
    assert_eq!(texts(&of("HEAD", "data")), [("version", "2")]);
    assert_eq!(texts(&of("main", "data")), [("version", "2")]);
    assert_eq!(texts(&of("v1", "data")), [("version", "1")]);
    assert_eq!(texts(&of("other", "")), [("data/version", "1")]);
    let commit = of("v1", "").commit;
    assert_eq!(of(&commit, "").commit, commit);
    let wrong = read(&mut repository.mirror("main", "nowhere")).unwrap_err();
    assert!(
        wrong.problem.contains("there is no folder \"nowhere\""),
        "{wrong}"
    );
    assert!(
        wrong.place.file.starts_with("file:///"),
        "it names the repository, and not our mirror: {wrong}"
    );
}

#[test]
fn what_is_not_there_is_told_and_read_when_it_is_back() {
    let mut repository = Repository::new();
    repository.commit("version", "1");
    let mut mirror = repository.mirror("main", "");
    read(&mut mirror).unwrap();
    let away = repository.folder.path().join("away");
    fs::rename(repository.work(), &away).unwrap();
    let wrong = read(&mut mirror).unwrap_err();
    assert!(
        wrong.problem.starts_with("git fetch failed: ") && wrong.place.file.starts_with("file:///"),
        "{wrong}"
    );
    fs::rename(&away, repository.work()).unwrap();
    assert_eq!(texts(&read(&mut mirror).unwrap()), [("version", "1")]);
    assert!(
        read(&mut repository.mirror("nope", ""))
            .unwrap_err()
            .problem
            .contains("nope")
    );
}

#[test]
fn what_a_killed_git_left_behind_is_not_in_the_way() {
    let mut repository = Repository::new();
    repository.commit("version", "1");
    read(&mut repository.mirror("main", "")).unwrap();
    let leftover = repository.folder.path().join("mirror-main-");
    for lock in ["shallow.lock", "HEAD.lock", "config.lock"] {
        fs::write(leftover.join(lock), "").unwrap();
    }
    assert_eq!(
        texts(&read(&mut repository.mirror("main", "")).unwrap()),
        [("version", "1")]
    );
}

#[test]
fn other_ways_than_those_allowed_are_not_taken() {
    let folder = tempfile::tempdir().unwrap();
    for url in [
        "ext::sh -c id",
        "ssh://host/repo",
        "git://host/repo",
        "http::x",
    ] {
        let remote = GitRemote {
            url: url.into(),
            revision: "HEAD".into(),
            folder: String::new(),
        };
        let wrong = read(&mut GitMirror::new(
            remote,
            Path::new(&folder.path().join("m")),
            None,
        ))
        .unwrap_err();
        assert!(
            wrong.problem.contains("not allowed") || wrong.problem.contains("http"),
            "{url}: {wrong}"
        );
    }
}

#[test]
fn a_fetch_that_does_not_end_is_ended_with_its_helpers() {
    // Somebody who takes connections and never answers: git's helper waits for it.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!(
        "http://user:s3cret@{}/r.git?token=t0k3n",
        listener.local_addr().unwrap()
    );
    let folder = tempfile::tempdir().unwrap();
    let remote = GitRemote {
        url,
        revision: "main".into(),
        folder: String::new(),
    };
    let mirror = GitMirror::new(remote, &folder.path().join("mirror"), None);
    let finding = read(&mut mirror.with_patience(Duration::from_secs(2)))
        .unwrap_err()
        .to_string();
    assert!(
        finding.contains("git fetch did not end within 2 s"),
        "{finding}"
    );
    assert!(
        !finding.contains("s3cret") && !finding.contains("t0k3n"),
        "{finding}"
    );
    // Whoever was killed hangs up: the connections end, though nobody has answered.
    let (mut stream, _) = listener.accept().unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    let mut asked = Vec::new();
    stream.read_to_end(&mut asked).unwrap();
    assert!(
        asked.starts_with(b"GET /r.git"),
        "{}",
        String::from_utf8_lossy(&asked)
    );
}
