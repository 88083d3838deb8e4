//! A remote git repository: one revision of it, fetched into a local mirror.
//!
//! Only the newest commit of a revision is fetched, and only its tree is read. The mirror is not state: it is created
//! again at every start, after every failure, and now and then. So leftovers of a killed git (locks, partial packs)
//! do no lasting harm.

use std::fs;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process_group, prlimit};
use towpath_core::finding::{Finding, Place};
use towpath_formats::signatures::SignedCopy;

use crate::Contents;
use crate::git::Git;
use crate::shown::{hide_secrets, without_credentials};

/// How long fetching may take.
const FETCH_TIMEOUT: Duration = Duration::from_secs(120);
/// How often a running fetch is checked.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// The largest file that git may write: a pack of graph data has a few megabytes.
const MAX_PACK_BYTES: u64 = 1 << 30;
/// The mirror is created again after this many fetches, because each leaves a pack.
const MAX_FETCHES: usize = 200;
/// The most bytes of git's error output that we read.
const MAX_COMPLAINT_BYTES: u64 = 64 << 10;
/// Only the newest commit, and nothing beside it.
const NEWEST: [&str; 4] = [
    "--quiet",
    "--depth=1",
    "--no-tags",
    "--no-recurse-submodules",
];
/// The ref of the fetched commit in the mirror.
pub(crate) const FETCHED: &str = "refs/towpath/fetched";

/// A repository and the wanted revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitRemote {
    /// `https://…`, `file://…` or `http://…`.
    pub url: String,
    /// A branch, a tag or a commit; `HEAD` for the default branch.
    pub revision: String,
    /// The folder with the graph data; empty for the whole repository.
    pub folder: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetch {
    pub commit: String,
    pub committed_at: Timestamp,
    pub contents: Contents,
}

/// A local mirror of a remote repository.
pub struct GitMirror {
    remote: GitRemote,
    folder: PathBuf,
    ca_file: Option<PathBuf>,
    fetches: usize,
    /// How long git may take.
    patience: Duration,
    /// The contents last read, with their commit.
    known: Option<Fetch>,
    /// The temporary folder of the mirror, if it has one.
    _temporary: Option<tempfile::TempDir>,
}

impl GitMirror {
    /// A mirror in this folder, whose content it replaces.
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

    /// Sets the limit on the time of a fetch.
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// A mirror in a temporary folder.
    pub fn temporary(remote: GitRemote, ca_file: Option<&Path>) -> Result<Self, Finding> {
        let temporary = tempfile::tempdir().map_err(|error| {
            let problem = format!("no folder for a mirror can be created: {error}");
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

    /// Fetches, and reads the wanted files of the revision.
    pub fn read(&mut self, wanted: fn(&str) -> bool) -> Result<Fetch, Finding> {
        let read = self
            .fetch(&[])
            .and_then(|git| self.read_fetched(&git, wanted));
        let read = read.map_err(|finding| self.of_the_repository(finding));
        if read.is_err() {
            // Whatever it was, the next attempt shall not find its traces.
            self.begin_anew();
        }
        read
    }

    /// What was fetched last, as it was signed.
    pub fn signed(&mut self) -> Result<SignedCopy, Finding> {
        let signed =
            Git::at(&self.folder).and_then(|git| git.signed(FETCHED, &self.remote.revision));
        if signed.is_err() {
            self.begin_anew();
        }
        signed.map_err(|finding| self.of_the_repository(finding))
    }

    pub(crate) fn remote(&self) -> &GitRemote {
        &self.remote
    }

    /// The next fetch makes the mirror again.
    pub(crate) fn begin_anew(&mut self) {
        self.fetches = MAX_FETCHES;
    }

    /// Fetches the revision, and what these refspecs name.
    pub(crate) fn fetch(&mut self, more: &[&str]) -> Result<Git, Finding> {
        if self.fetches >= MAX_FETCHES {
            self.make_anew()?;
        }
        self.fetches += 1;
        let what = format!("+{}:{FETCHED}", self.remote.revision);
        let what = [&["source", &what], more].concat();
        self.converse("fetch", &NEWEST, &what)?;
        Git::at(&self.folder)
    }

    /// Runs a command of git that talks to the server.
    pub(crate) fn converse(
        &self,
        name: &str,
        options: &[&str],
        what: &[&str],
    ) -> Result<(), Finding> {
        let mut command = Git::command_in(&self.folder, &[name]);
        command.args(options).arg("--end-of-options").args(what);
        self.run(command, name)
    }

    fn make_anew(&mut self) -> Result<(), Finding> {
        let unusable = |error: std::io::Error| {
            let problem = format!("it cannot be written: {error}");
            let remedy = "check the path of --state";
            Finding::error("unwritable", &*self.folder, problem, remedy)
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

    /// Runs git, up to the time limit.
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

    /// The git command for the mirror. The address goes through the environment, because all users can see arguments.
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

    /// Findings name the remote repository and not our mirror.
    pub(crate) fn of_the_repository(&self, finding: Finding) -> Finding {
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

/// The exit status; none if it did not end in time.
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

/// The most useful line of git's output, without secrets.
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
