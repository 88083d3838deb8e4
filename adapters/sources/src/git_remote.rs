//! A git repository elsewhere: one revision of it, fetched into a mirror of our own.
//!
//! Only the newest commit of one name is fetched, and only its tree is read. The mirror is no state: it is made anew at every start, after every failure
//! and now and then, so that nothing that a killed git leaves behind (locks, halves of packs) can be in the way for long.

use std::fs;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process_group, prlimit};
use towpath_core::finding::{Finding, Place};

use crate::Contents;
use crate::git::Git;
use crate::shown::{hide_secrets, without_credentials};

/// How long fetching may take.
const FETCH_TIMEOUT: Duration = Duration::from_secs(120);
/// How often a fetch that goes on is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// The largest file that git may write: a pack of graph data has a few megabytes.
const MAX_PACK_BYTES: u64 = 1 << 30;
/// After so many fetches the mirror is made anew; each leaves a pack.
const MAX_FETCHES: usize = 200;
/// How much of what git complains is read.
const MAX_COMPLAINT_BYTES: u64 = 64 << 10;
/// What the fetched commit is called in the mirror.
const FETCHED: &str = "refs/towpath/fetched";

/// A repository, and the revision of it that is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitRemote {
    /// `https://…`, `file://…` or `http://…`.
    pub url: String,
    /// A branch, a tag or a commit; `HEAD` for what the repository shows first.
    pub revision: String,
    /// The folder with the graph data; empty for the whole.
    pub folder: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetch {
    pub commit: String,
    pub committed_at: Timestamp,
    pub contents: Contents,
}

/// A mirror of a repository elsewhere.
pub struct GitMirror {
    remote: GitRemote,
    folder: PathBuf,
    ca_file: Option<PathBuf>,
    fetches: usize,
    /// How long git may take.
    patience: Duration,
    /// What was read last, by commit.
    known: Option<Fetch>,
    /// Where the mirror is, if it goes with us.
    _temporary: Option<tempfile::TempDir>,
}

impl GitMirror {
    /// A mirror in a folder that is its own, whatever is in there.
    pub fn new(remote: GitRemote, folder: &Path, ca_file: Option<&Path>) -> Self {
        let ca_file =
            ca_file.map(|path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned()));
        Self {
            remote,
            folder: folder.to_owned(),
            ca_file,
            fetches: MAX_FETCHES,
            patience: FETCH_TIMEOUT,
            known: None,
            _temporary: None,
        }
    }

    /// With another limit on how long fetching may take.
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// A mirror that is gone when we are.
    pub fn temporary(remote: GitRemote, ca_file: Option<&Path>) -> Result<Self, Finding> {
        let temporary = tempfile::tempdir().map_err(|error| {
            let problem = format!("there is no place for a mirror: {error}");
            Finding::error(
                "unwritable",
                Place::file("temporary files"),
                problem,
                "set TMPDIR, or give --state",
            )
        })?;
        let mirror = Self::new(remote, &temporary.path().join("mirror"), ca_file);
        Ok(Self {
            _temporary: Some(temporary),
            ..mirror
        })
    }

    /// Fetches, and reads what is wanted of the revision.
    pub fn read(&mut self, wanted: fn(&str) -> bool) -> Result<Fetch, Finding> {
        let read = self.fetch().and_then(|git| self.read_fetched(&git, wanted));
        let read = read.map_err(|finding| self.of_the_repository(finding));
        if read.is_err() {
            // Whatever it was, the next attempt shall not find its traces.
            self.fetches = MAX_FETCHES;
        }
        read
    }

    fn fetch(&mut self) -> Result<Git, Finding> {
        if self.fetches >= MAX_FETCHES {
            self.make_anew()?;
        }
        self.fetches += 1;
        let what = format!("+{}:{FETCHED}", self.remote.revision);
        let arguments = [
            "fetch",
            "--quiet",
            "--depth=1",
            "--no-tags",
            "--no-recurse-submodules",
            "--end-of-options",
        ];
        let mut command = Git::command_in(&self.folder, &arguments);
        command.args(["source", &what]);
        self.run(command, "fetch")?;
        Git::at(&self.folder)
    }

    fn make_anew(&mut self) -> Result<(), Finding> {
        let unusable = |error: std::io::Error| {
            let place = Place::file(self.folder.display().to_string());
            Finding::error(
                "unwritable",
                place,
                format!("it cannot be written: {error}"),
                "check the path of --state",
            )
        };
        match fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(unusable(error));
            }
            _ => fs::create_dir_all(&self.folder).map_err(unusable)?,
        }
        self.run(
            Git::command_in(
                &self.folder,
                &["init", "--quiet", "--bare", "--template=", "."],
            ),
            "init",
        )?;
        self.fetches = 0;
        Ok(())
    }

    fn read_fetched(&mut self, git: &Git, wanted: fn(&str) -> bool) -> Result<Fetch, Finding> {
        let commit = git.commit(FETCHED)?;
        if let Some(known) = self.known.as_ref().filter(|known| known.commit == commit) {
            return Ok(known.clone());
        }
        let committed_at = git.committed_at(&commit)?;
        let mut contents = git.read_folder(&commit, &self.remote.folder, wanted)?;
        let unread = std::mem::take(&mut contents.unread).into_iter();
        contents.unread = unread
            .map(|finding| self.of_the_repository(finding))
            .collect();
        let fetch = Fetch {
            commit,
            committed_at,
            contents,
        };
        self.known = Some(fetch.clone());
        Ok(fetch)
    }

    /// Runs git to its end, or to the end of our patience.
    fn run(&self, mut command: Command, what: &str) -> Result<(), Finding> {
        self.configure(&mut command);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .process_group(0);
        let mut child = command
            .spawn()
            .map_err(|error| self.failed(format!("the `git` command cannot be run: {error}")))?;
        let group = Pid::from_child(&child);
        // Its helpers, which do the writing, inherit the limit.
        let limit = Rlimit {
            current: Some(MAX_PACK_BYTES),
            maximum: Some(MAX_PACK_BYTES),
        };
        if let Err(error) = prlimit(Some(group), Resource::Fsize, limit) {
            tracing::debug!(%error, "what git writes could not be limited");
        }
        let complaint = child.stderr.take().map(|stderr| {
            std::thread::spawn(move || {
                let mut text = Vec::new();
                let _ = stderr.take(MAX_COMPLAINT_BYTES).read_to_end(&mut text);
                String::from_utf8_lossy(&text).into_owned()
            })
        });
        let ended = wait(&mut child, self.patience);
        // The helpers too, however git ended: one that waits for a server would wait on, and hold the pipe that we read.
        let _ = kill_process_group(group, Signal::KILL);
        let _ = child.wait();
        let complaint = complaint
            .and_then(|reading| reading.join().ok())
            .unwrap_or_default();
        match ended {
            Some(true) => Ok(()),
            Some(false) => Err(self.failed(format!(
                "git {what} failed: {}",
                said(&complaint, &self.remote)
            ))),
            None => Err(self.failed(format!(
                "git {what} did not end within {} s",
                self.patience.as_secs_f32()
            ))),
        }
    }

    /// What holds for git here. The address goes by the environment: arguments can be seen by everybody on the machine.
    fn configure(&self, command: &mut Command) {
        let mut settings = vec![
            ("remote.source.url", self.remote.url.clone()),
            ("protocol.https.allow", "always".into()),
            ("protocol.file.allow", "always".into()),
            ("gc.auto", "0".into()),
            ("maintenance.auto", "false".into()),
            ("fetch.writeCommitGraph", "false".into()),
            ("http.lowSpeedLimit", "1000".into()),
            ("http.lowSpeedTime", "20".into()),
            ("core.askPass", "true".into()),
        ];
        // Else a server could send us from TLS to plain HTTP.
        if self.remote.url.starts_with("http://") {
            settings.push(("protocol.http.allow", "always".into()));
        }
        if let Some(ca_file) = &self.ca_file {
            settings.push(("http.sslCAInfo", ca_file.display().to_string()));
        }
        command.env("GIT_CONFIG_COUNT", settings.len().to_string());
        for (number, (key, value)) in settings.into_iter().enumerate() {
            command
                .env(format!("GIT_CONFIG_KEY_{number}"), key)
                .env(format!("GIT_CONFIG_VALUE_{number}"), value);
        }
        command
            .env_remove("GIT_ALLOW_PROTOCOL")
            .env_remove("GIT_PROTOCOL_FROM_USER")
            .env_remove("GIT_ASKPASS");
    }

    /// Nobody looks into our mirror: what is wrong in it is wrong in the repository.
    fn of_the_repository(&self, finding: Finding) -> Finding {
        let is_in_mirror = *finding.place.file == *self.folder.display().to_string();
        match is_in_mirror && finding.code != "unwritable" {
            true => Finding {
                place: Place::file(without_credentials(&self.remote.url)),
                ..finding
            },
            false => finding,
        }
    }

    fn failed(&self, problem: String) -> Finding {
        let place = Place::file(without_credentials(&self.remote.url));
        let remedy = "check the address and the revision, and that the server is up and lets us in";
        Finding::error("git", place, problem, remedy)
    }
}

/// Whether it ended well; none if it did not end in time.
fn wait(child: &mut Child, patience: Duration) -> Option<bool> {
    let began = Instant::now();
    while began.elapsed() < patience {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status.success()),
            Ok(None) => std::thread::sleep(LOOK_EVERY),
            Err(_) => return Some(false),
        }
    }
    None
}

/// The line that says most, without what is secret.
fn said(complaint: &str, remote: &GitRemote) -> String {
    let lines = || {
        complaint
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
    };
    let line = lines()
        .find(|line| line.starts_with("fatal: "))
        .or_else(|| lines().next());
    let line = line.map_or("it did not say why", |line| {
        line.trim_start_matches("fatal: ")
    });
    hide_secrets(line, &remote.url)
}
