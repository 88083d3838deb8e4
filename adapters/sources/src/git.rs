//! Reads a git repository with the `git` command: one revision, or the history of a folder.
//!
//! docs/decisions/0012 says why we use the command and not a library. We check out nothing, run nothing from the
//! repository and write nothing to it. The limits are those of a directory.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Component, Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use jiff::Timestamp;
use towpath_core::finding::{Finding, Place};
use towpath_formats::SourceFile;
use towpath_formats::signatures::SignedCopy;

use crate::Contents;
use crate::directory::{MAX_DIRECTORY_BYTES, MAX_ENTRIES};

/// The most commits of a history.
const MAX_COMMITS: usize = 200_000;
/// The most bytes that git may print.
const MAX_PRINTED_BYTES: u64 = 64 << 20;
/// The most file changes of a history.
const MAX_CHANGES: usize = 2_000_000;

/// Overrides a repository's own configuration: git runs no programs, fetches nothing, and prints histories in one format.
const SETTINGS: &[&str] = &[
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "diff.renames=false",
    "log.diffMerges=first-parent",
    "log.follow=false",
    "log.mailmap=false",
    "log.showRoot=true",
    "log.showSignature=false",
    "protocol.allow=never",
];

/// A folder of a repository.
#[derive(Debug, Clone)]
pub struct Git {
    folder: PathBuf,
}

/// The id of a file's content.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlobId(Arc<str>);

/// A commit of the first-parent history. A merge counts at the time of the merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    pub id: String,
    pub at: Timestamp,
    /// The changed files, by path below the folder; none for a removed file.
    pub changes: Vec<(String, Option<BlobId>)>,
}

/// Who makes a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    pub name: String,
    pub email: String,
}

impl Git {
    /// The repository that the folder is in.
    pub fn at(folder: &Path) -> Result<Self, Finding> {
        let git = Self {
            folder: folder.to_owned(),
        };
        git.run(&["rev-parse", "--git-dir"])
            .map_err(|finding| git.outside(finding))?;
        Ok(git)
    }

    /// The same in plain words where the folder is in no repository. Other problems stay as git tells them.
    fn outside(&self, finding: Finding) -> Finding {
        match finding.problem.contains("not a git repository") {
            true => Finding {
                problem: "this folder is not in a git repository".into(),
                remedy: "name a folder in one with --graph-data; or compare with a directory instead of a revision"
                    .into(),
                ..finding
            },
            false => finding,
        }
    }

    /// The commit of a revision.
    pub fn commit(&self, revision: &str) -> Result<String, Finding> {
        let name = format!("{revision}^{{commit}}");
        let found = self
            .run(&[
                "rev-parse",
                "--verify",
                "--quiet",
                "--end-of-options",
                &name,
            ])
            .map_err(|finding| {
                let problem = format!("{revision:?} is not a revision of this repository");
                Finding {
                    problem,
                    remedy: "name a commit, a branch or a tag; fetch it first".into(),
                    ..finding
                }
            })?;
        Ok(String::from_utf8_lossy(&found).trim().to_owned())
    }

    /// The wanted files below the folder in a revision.
    pub fn read(
        &self,
        revision: &str,
        wanted: fn(&str) -> bool,
    ) -> Result<Vec<SourceFile>, Finding> {
        let commit = self.commit(revision)?;
        let listed = self.run(&["ls-tree", "-r", "-z", "--long", &commit, "--", "."])?;
        self.listed(revision, &listed, wanted)?.whole()
    }

    /// The wanted files below a folder of a commit. An empty name is the whole tree.
    pub(crate) fn read_folder(
        &self,
        commit: &str,
        folder: &str,
        wanted: fn(&str) -> bool,
    ) -> Result<Contents, Finding> {
        let tree = format!("{commit}:{folder}");
        let listed = self
            .run(&["ls-tree", "-r", "-z", "--long", "--end-of-options", &tree])
            .map_err(|finding| {
                let problem = format!("there is no folder {folder:?} in {commit}");
                Finding {
                    problem,
                    remedy: "name the folder that holds the graph data".into(),
                    ..finding
                }
            })?;
        self.listed(commit, &listed, wanted)
    }

    /// The commit or the annotated tag of a revision, as it was signed. A tag that was asked for by name has to have that name.
    pub fn signed(&self, revision: &str, name: &str) -> Result<SignedCopy, Finding> {
        let commit = self.commit(revision)?;
        let id = self.run(&[
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            revision,
        ])?;
        let id = String::from_utf8_lossy(&id).trim().to_owned();
        if id == commit {
            let object = self.run(&["cat-file", "commit", &id])?.into();
            return Ok(SignedCopy::Commit { id, object });
        }
        let is_id = matches!(name.len(), 40 | 64) && name.bytes().all(|b| b.is_ascii_hexdigit());
        let wanted = name.strip_prefix("refs/tags/").unwrap_or(name);
        Ok(SignedCopy::Tag {
            wanted: (!is_id).then(|| wanted.to_owned()),
            object: self.run(&["cat-file", "tag", &id])?.into(),
            commit,
        })
    }

    /// The time of a commit.
    pub(crate) fn committed_at(&self, commit: &str) -> Result<Timestamp, Finding> {
        let seconds = self.run(&[
            "log",
            "--max-count=1",
            "--format=%ct",
            "--end-of-options",
            commit,
        ])?;
        let seconds = String::from_utf8_lossy(&seconds).trim().parse().ok();
        seconds
            .and_then(|seconds| Timestamp::from_second(seconds).ok())
            .ok_or_else(|| self.odd("log"))
    }

    fn listed(
        &self,
        revision: &str,
        listed: &[u8],
        wanted: fn(&str) -> bool,
    ) -> Result<Contents, Finding> {
        let (mut files, mut unread, mut bytes) = (Vec::new(), Vec::new(), 0u64);
        for entry in listed
            .split(|byte| *byte == 0)
            .filter(|entry| !entry.is_empty())
        {
            let entry = String::from_utf8_lossy(entry);
            let (about, path) = entry.split_once('\t').ok_or_else(|| self.odd("ls-tree"))?;
            let [mode, kind, blob, size] = fields(about).ok_or_else(|| self.odd("ls-tree"))?;
            if kind != "blob" || !wanted(path) {
                continue;
            }
            match self.readable(revision, mode, path, size) {
                Ok(size) => {
                    bytes = bytes.saturating_add(size);
                    files.push((path.to_owned(), BlobId(blob.into())));
                }
                Err(finding) => unread.push(finding),
            }
        }
        if bytes > MAX_DIRECTORY_BYTES || files.len() + unread.len() > MAX_ENTRIES {
            let problem = format!(
                "{revision} has {} files with {bytes} bytes",
                files.len() + unread.len()
            );
            let remedy = "point at the graph data alone";
            return Err(Finding::error("too-large", self.place(), problem, remedy));
        }
        let blobs = self.blobs(files.iter().map(|(_, blob)| blob))?;
        let content = |blob: &BlobId| blobs.get(blob).cloned().ok_or_else(|| self.odd("cat-file"));
        let files: Result<_, Finding> = files
            .into_iter()
            .map(|(path, blob)| {
                Ok(SourceFile {
                    bytes: content(&blob)?,
                    path,
                })
            })
            .collect();
        Ok(Contents {
            files: files?,
            unread,
        })
    }

    /// The size of a file, or why it cannot be read.
    fn readable(&self, revision: &str, mode: &str, path: &str, size: &str) -> Result<u64, Finding> {
        let refused = |problem: String, remedy: &str| {
            Err(Finding::error("git", self.place(), problem, remedy))
        };
        if !is_plain(path) {
            let problem = format!("{path:?} of {revision} is not a path below the folder");
            return refused(problem, "do not use this repository as it is");
        }
        if mode == "120000" {
            let problem =
                format!("{path} of {revision} is a link, which only a working tree can follow");
            return refused(problem, "commit the file itself");
        }
        size.parse().or_else(|_| {
            let remedy =
                "fetch everything first: `git fetch --refetch --filter=blob:limit=1g`, or clone without a filter";
            refused(format!("{path} of {revision} is not in this clone"), remedy)
        })
    }

    /// The history of these paths below the folder, oldest first.
    pub fn history(&self, revision: &str, paths: &[&str]) -> Result<Vec<Commit>, Finding> {
        let commit = self.commit(revision)?;
        let limit = format!("--max-count={MAX_COMMITS}");
        let format = "--format=%x01%H %ct";
        let mut arguments = vec![
            "log",
            "--first-parent",
            "-m",
            "--raw",
            "-z",
            "--no-abbrev",
            "--no-renames",
            "--relative",
        ];
        arguments.extend([&limit, format, &commit, "--"]);
        arguments.extend(paths);
        let mut commits = self
            .commits(&self.run(&arguments)?)
            .ok_or_else(|| self.odd("log"))?;
        if commits.len() == MAX_COMMITS
            || commits
                .iter()
                .map(|commit| commit.changes.len())
                .sum::<usize>()
                > MAX_CHANGES
        {
            let problem =
                format!("the history has more than {MAX_COMMITS} commits or {MAX_CHANGES} changes");
            let remedy = "look at a shorter history";
            return Err(Finding::error("too-large", self.place(), problem, remedy));
        }
        commits.reverse();
        Ok(commits)
    }

    /// The contents of these blobs.
    pub fn blobs<'a>(
        &self,
        wanted: impl Iterator<Item = &'a BlobId>,
    ) -> Result<BTreeMap<BlobId, Arc<[u8]>>, Finding> {
        let wanted: std::collections::BTreeSet<&BlobId> = wanted.collect();
        let mut child = self
            .command(&["cat-file", "--batch"])
            .stdin(Stdio::piped())
            .spawn()
            .map_err(|e| self.no_git(&e))?;
        let (mut asks, answers) = (child.stdin.take(), child.stdout.take());
        let found = std::thread::scope(|scope| {
            let names = wanted.clone();
            // git answers while it is asked: whoever only asks fills the pipe.
            scope.spawn(move || {
                let Some(mut asks) = asks.take() else { return };
                for blob in names {
                    // If git has gone, the answers will say so.
                    let _ = writeln!(asks, "{}", blob.0);
                }
            });
            answers.and_then(|answers| read_blobs(&mut BufReader::new(answers), &wanted))
        });
        self.end(child, "cat-file")?;
        found.ok_or_else(|| self.odd("cat-file"))
    }

    /// Parses `git log --raw -z`: `\x01<commit> <time>`, then for each file `:<modes> <blobs> <status>` and its path.
    fn commits(&self, bytes: &[u8]) -> Option<Vec<Commit>> {
        let mut commits: Vec<Commit> = Vec::new();
        let mut tokens = bytes
            .split(|byte| *byte == 0)
            .map(|token| token.trim_ascii_start())
            .filter(|t| !t.is_empty());
        while let Some(token) = tokens.next() {
            let text = String::from_utf8_lossy(token);
            if let Some(head) = text.strip_prefix('\x01') {
                let [id, seconds] = fields(head)?;
                let at = Timestamp::from_second(seconds.parse().ok()?).ok()?;
                commits.push(Commit {
                    id: id.to_owned(),
                    at,
                    changes: Vec::new(),
                });
            } else {
                let [_, _, _, blob, status] = fields(text.strip_prefix(':')?)?;
                let path = String::from_utf8_lossy(tokens.next()?).into_owned();
                let blob = (status != "D").then(|| BlobId(blob.into()));
                commits.last_mut()?.changes.push((path, blob));
            }
        }
        Some(commits)
    }

    /// Runs git and returns its output, up to a limit: a few objects can produce endless lists.
    pub(crate) fn run(&self, arguments: &[&str]) -> Result<Vec<u8>, Finding> {
        let spawned = self.command(arguments).stdin(Stdio::null()).spawn();
        let mut child = spawned.map_err(|error| self.no_git(&error))?;
        let mut printed = Vec::new();
        if let Some(stdout) = child.stdout.as_mut() {
            let read = stdout.take(MAX_PRINTED_BYTES + 1).read_to_end(&mut printed);
            read.map_err(|error| self.no_git(&error))?;
        }
        if printed.len() as u64 > MAX_PRINTED_BYTES {
            // It would print on; whether it has ended by itself does not matter.
            let _ = child.kill();
            let _ = child.wait();
            let problem = format!(
                "git {} prints more than {MAX_PRINTED_BYTES} bytes",
                arguments[0]
            );
            let remedy = "point at the graph data alone";
            return Err(Finding::error("too-large", self.place(), problem, remedy));
        }
        self.end(child, arguments[0]).map(|()| printed)
    }

    /// Runs git with more environment and an input, and returns its one line of output.
    pub(crate) fn answer(
        &self,
        arguments: &[&str],
        environment: &[(&str, String)],
        input: &[u8],
    ) -> Result<String, Finding> {
        let mut command = self.command(arguments);
        for (name, value) in environment {
            command.env(name, value);
        }
        let spawned = command.stdin(Stdio::piped()).spawn();
        let mut child = spawned.map_err(|error| self.no_git(&error))?;
        if let Some(mut stdin) = child.stdin.take() {
            // If git has gone, its end will say why.
            let _ = stdin.write_all(input);
        }
        let output = child.wait_with_output();
        let output = output.map_err(|error| self.no_git(&error))?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
            false => Err(self.failed(arguments[0], &output.stderr)),
        }
    }

    fn end(&self, child: Child, what: &str) -> Result<(), Finding> {
        let output = child
            .wait_with_output()
            .map_err(|error| self.no_git(&error))?;
        if output.status.success() {
            Ok(())
        } else {
            Err(self.failed(what, &output.stderr))
        }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        Self::command_in(&self.folder, arguments)
    }

    /// The git command with safe settings: no prompts, no programs, and no fetching except what the caller allows.
    pub(crate) fn command_in(folder: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        command
            .arg("-C")
            .arg(folder)
            .args(["--no-pager", "--literal-pathspecs"]);
        command
            .args(SETTINGS.iter().flat_map(|setting| ["-c", setting]))
            .args(arguments);
        // The repository that the folder is in, whoever calls us; and no questions.
        for name in [
            "GIT_DIR",
            "GIT_WORK_TREE",
            "GIT_INDEX_FILE",
            "GIT_OBJECT_DIRECTORY",
        ] {
            command.env_remove(name);
        }
        command
            .env("GIT_NO_LAZY_FETCH", "1")
            // Else somebody's refs/replace could put another commit in the place of the one that is named.
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("LC_ALL", "C");
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn place(&self) -> Place {
        Place::file(self.folder.display().to_string())
    }

    fn no_git(&self, error: &std::io::Error) -> Finding {
        let problem = format!("the `git` command cannot be run: {error}");
        let remedy = "install git, or point at a directory instead of a revision";
        Finding::error("git", self.place(), problem, remedy)
    }

    fn failed(&self, what: &str, said: &[u8]) -> Finding {
        let said = String::from_utf8_lossy(said);
        let said = said
            .lines()
            .next()
            .unwrap_or("it did not say why")
            .trim_start_matches("fatal: ");
        let problem = format!("git {what} failed: {said}");
        let remedy = "point at a folder of a git repository";
        Finding::error("git", self.place(), problem, remedy)
    }

    fn odd(&self, what: &str) -> Finding {
        let problem = format!("git {what} printed something unexpected");
        Finding::error("git", self.place(), problem, "use git 2.30 or later")
    }
}

/// Parses `git cat-file --batch`: `<name> blob <bytes>`, the content, a line break.
fn read_blobs(
    answers: &mut impl BufRead,
    wanted: &std::collections::BTreeSet<&BlobId>,
) -> Option<BTreeMap<BlobId, Arc<[u8]>>> {
    let (mut found, mut total) = (BTreeMap::new(), 0u64);
    for blob in wanted {
        let mut head = String::new();
        answers.read_line(&mut head).ok()?;
        let [name, kind, bytes] = fields(&head)?;
        let bytes: u64 = bytes.parse().ok()?;
        total += bytes;
        if name != &*blob.0 || kind != "blob" || total > 16 * MAX_DIRECTORY_BYTES {
            return None;
        }
        let mut content = Vec::new();
        answers
            .by_ref()
            .take(bytes)
            .read_to_end(&mut content)
            .ok()?;
        answers.read_exact(&mut [0]).ok()?;
        found.insert((*blob).clone(), content.into());
    }
    Some(found)
}

/// Whether a path stays below the folder. git makes no other paths, but a crafted tree may have them.
fn is_plain(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    parts.all(|part| matches!(part, Component::Normal(name) if !name.eq_ignore_ascii_case(".git")))
}

fn fields<const N: usize>(text: &str) -> Option<[&str; N]> {
    text.split_whitespace().collect::<Vec<_>>().try_into().ok()
}
