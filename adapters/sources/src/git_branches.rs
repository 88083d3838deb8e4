//! Proposals as branches of a git repository: one new file, as one commit on the newest base, pushed under a name of its own.
//!
//! Nothing is ever pushed by force, and nothing that is there is changed: a branch with our file stands, and a branch with anything
//! else is left and reported. So a proposal can be made again at any time, by any replica, and there is still one.

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use towpath_core::finding::{Finding, Place};
use towpath_formats::SourceFile;

use crate::git::{Author, Git};
use crate::git_remote::{FETCHED, GitMirror, GitRemote};
use crate::shown::without_credentials;

/// How long each conversation with the server may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// The refs of branches with proposals, in the mirror.
const PROPOSED: &str = "refs/towpath/proposed";

/// A repository that gets branches.
pub struct GitBranches {
    mirror: GitMirror,
    folder: String,
    prefix: String,
    author: Author,
}

/// What is proposed.
#[derive(Debug, Clone)]
pub struct GitProposal {
    /// The branch's name behind the prefix.
    pub name: String,
    /// Its path is below the folder of the graph data.
    pub file: SourceFile,
    pub message: String,
    pub at: Timestamp,
}

/// What became of a proposal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProposalOutcome {
    /// A new branch, with this commit.
    Pushed(String),
    /// The branch was there already, with this very file.
    Stands,
    /// The base has a file at this path: there is nothing to propose.
    InBase,
}

impl GitBranches {
    /// The remote's revision is the base, and its folder is where graph data lies.
    pub fn new(
        remote: GitRemote,
        prefix: &str,
        author: Author,
        ca_file: Option<&Path>,
    ) -> Result<Self, Finding> {
        let (folder, prefix) = (remote.folder.clone(), prefix.to_owned());
        let mirror = GitMirror::temporary(remote, ca_file)?.with_patience(PATIENCE);
        Ok(Self {
            mirror,
            folder,
            prefix,
            author,
        })
    }

    /// Proposes, unless that has been done.
    pub fn propose(&mut self, proposal: &GitProposal) -> Result<ProposalOutcome, Finding> {
        let proposed = self.try_to(proposal);
        // A fetch does not tell of branches that are gone. Halts are seldom, so each begins with an empty mirror.
        self.mirror.begin_anew();
        proposed.map_err(|finding| self.mirror.of_the_repository(finding))
    }

    fn try_to(&mut self, proposal: &GitProposal) -> Result<ProposalOutcome, Finding> {
        // In one command with the base: git fails if a pattern alone matches nothing.
        let branches = format!("+refs/heads/{}/*:{PROPOSED}/*", self.prefix);
        let git = self.mirror.fetch(&[&branches])?;
        let path = match self.folder.as_str() {
            "" => proposal.file.path.clone(),
            folder => format!("{folder}/{}", proposal.file.path),
        };
        if git.file(FETCHED, &path)?.is_some() {
            return Ok(ProposalOutcome::InBase);
        }
        let known = format!("{PROPOSED}/{}", proposal.name);
        if git.has(&known)? {
            return match git.file(&known, &path)? {
                Some(there) if there == *proposal.file.bytes => Ok(ProposalOutcome::Stands),
                _ => Err(self.is_taken(proposal)),
            };
        }
        let commit = git.commit_file(
            FETCHED,
            (&path, &proposal.file.bytes),
            &proposal.message,
            &self.author,
            proposal.at,
        )?;
        self.push(&commit, &proposal.name)?;
        Ok(ProposalOutcome::Pushed(commit))
    }

    /// Without force: a branch that has come meanwhile stays as it is.
    fn push(&self, commit: &str, name: &str) -> Result<(), Finding> {
        let to = format!("{commit}:refs/heads/{}/{name}", self.prefix);
        let options = ["--quiet", "--no-verify", "--no-follow-tags", "--no-signed"];
        self.mirror.converse("push", &options, &["source", &to])
    }

    fn is_taken(&self, proposal: &GitProposal) -> Finding {
        let place = Place::file(without_credentials(&self.mirror.remote().url));
        let branch = format!("{}/{}", self.prefix, proposal.name);
        let problem =
            format!("the branch {branch} is there with other content; it is left as it is");
        let remedy = "look at that branch, and delete or rename it";
        Finding::error("git", place, problem, remedy)
    }
}

impl Git {
    /// Whether there is such a ref.
    fn has(&self, reference: &str) -> Result<bool, Finding> {
        let listed = self.run(&["for-each-ref", "--format=%(refname)", reference])?;
        let listed = String::from_utf8_lossy(&listed);
        Ok(listed.lines().any(|line| line == reference))
    }

    /// The content of a file of a revision. None: there is no such file.
    fn file(&self, revision: &str, path: &str) -> Result<Option<Vec<u8>>, Finding> {
        let commit = self.commit(revision)?;
        let listed = self.run(&["ls-tree", "-z", "--full-tree", &commit, "--", path])?;
        let listed = String::from_utf8_lossy(&listed);
        let about = listed.split('\t').next().filter(|about| !about.is_empty());
        let Some(about) = about else { return Ok(None) };
        match about.split(' ').collect::<Vec<_>>()[..] {
            [_, "blob", blob] => self.run(&["cat-file", "blob", blob]).map(Some),
            // A folder or a submodule in its place is no file of ours.
            _ => Ok(Some(Vec::new())),
        }
    }

    /// A commit of one more file on top of a revision.
    fn commit_file(
        &self,
        base: &str,
        (path, bytes): (&str, &[u8]),
        message: &str,
        author: &Author,
        at: Timestamp,
    ) -> Result<String, Finding> {
        let base = self.commit(base)?;
        let index = tempfile::NamedTempFile::new().map_err(|error| {
            let problem = format!("no temporary file can be created: {error}");
            Finding::error(
                "unwritable",
                Place::file("temporary files"),
                problem,
                "set TMPDIR",
            )
        })?;
        // git wants to make it itself.
        let index: PathBuf = index.path().with_extension("index");
        let made = self.commit_with(&base, (path, bytes), message, (author, at), &index);
        let _ = std::fs::remove_file(&index);
        made
    }

    fn commit_with(
        &self,
        base: &str,
        (path, bytes): (&str, &[u8]),
        message: &str,
        (author, at): (&Author, Timestamp),
        index: &Path,
    ) -> Result<String, Finding> {
        let blob = self.answer(
            &["hash-object", "-w", "--no-filters", "--stdin"],
            &[],
            bytes,
        )?;
        let own = [("GIT_INDEX_FILE", index.display().to_string())];
        self.answer(&["read-tree", base], &own, &[])?;
        let entry = format!("100644,{blob},{path}");
        self.answer(&["update-index", "--add", "--cacheinfo", &entry], &own, &[])?;
        let tree = self.answer(&["write-tree"], &own, &[])?;
        let date = format!("@{} +0000", at.as_second());
        let who = [
            ("GIT_AUTHOR_NAME", author.name.clone()),
            ("GIT_AUTHOR_EMAIL", author.email.clone()),
            ("GIT_AUTHOR_DATE", date.clone()),
            ("GIT_COMMITTER_NAME", author.name.clone()),
            ("GIT_COMMITTER_EMAIL", author.email.clone()),
            ("GIT_COMMITTER_DATE", date),
        ];
        let commit = ["commit-tree", "--no-gpg-sign", "-p", base, "-F", "-", &tree];
        self.answer(&commit, &who, message.as_bytes())
    }
}
