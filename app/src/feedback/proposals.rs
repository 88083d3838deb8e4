//! Proposed halts on their way to people: into a directory, to a webhook, or as a branch of a git repository. Each once; what fails is
//! tried again, ever more rarely.
//!
//! git may take a minute, which is longer than the watch's lease lasts. So it works beside the watch, one proposal at a time.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use tokio::task::JoinHandle;
use towpath_core::feedback::{Assessment, Halt};
use towpath_core::retry::Backoff;
use towpath_formats::SourceFile;
use towpath_formats::feedback::policy::{BranchDestination, ProposalDestination};
use towpath_formats::feedback::{proposal, scope_words};
use towpath_http::{HttpClient, HttpOptions, Method, Request, Url, base_address};
use towpath_sources::{Author, GitBranches, GitProposal, GitRemote, ProposalOutcome};

use crate::sources::{Access, check_plain_http};

const BACKOFF: Backoff = Backoff {
    first: Duration::from_secs(5),
    longest: Duration::from_mins(10),
};
/// How long a webhook may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where proposals go, and what came of the last.
pub(super) struct Proposals {
    destination: Option<Destination>,
    failures: u32,
    failed_at: Option<Instant>,
    /// What git works on.
    job: Option<Job>,
}

/// A proposal that git works on, by its id.
struct Job {
    id: String,
    work: JoinHandle<anyhow::Result<ProposalOutcome>>,
}

enum Destination {
    Directory(String),
    Webhook(HttpClient, Url),
    Branch(Arc<Mutex<GitBranches>>),
}

impl Proposals {
    pub(super) fn new(
        destination: Option<ProposalDestination>,
        access: &Access,
    ) -> anyhow::Result<Self> {
        let destination = match destination {
            None => None,
            Some(ProposalDestination::Directory(path)) => Some(Destination::Directory(path)),
            Some(ProposalDestination::Webhook(url)) => {
                let url = base_address(&url, false)
                    .map_err(|problem| anyhow!("the webhook: {problem}"))?;
                let client = HttpClient::new(&HttpOptions {
                    request_timeout: Some(PATIENCE),
                    ..HttpOptions::default()
                });
                Some(Destination::Webhook(
                    client.map_err(|problem| anyhow!(problem))?,
                    url,
                ))
            }
            Some(ProposalDestination::Branch(to)) => {
                Some(Destination::Branch(branches(to, access)?))
            }
        };
        Ok(Self {
            destination,
            failures: 0,
            failed_at: None,
            job: None,
        })
    }

    /// Whether the next may be tried: not too soon after a failure.
    pub(super) fn is_ready(&self) -> bool {
        let wait = BACKOFF.wait(self.failures);
        self.failed_at.is_none_or(|last| last.elapsed() >= wait)
    }

    /// Whether one failed and is to be tried again by now, or git is done with one.
    pub(super) fn is_due(&self) -> bool {
        let is_done = self.job.as_ref().is_some_and(|job| job.work.is_finished());
        is_done || (self.failed_at.is_some() && self.is_ready())
    }

    /// There is nothing to propose: another replica has done it, or nobody wants it any more.
    pub(super) fn nothing_left(&mut self) {
        (self.failures, self.failed_at) = (0, None);
        self.job.take_if(|job| job.work.is_finished());
    }

    /// Whether it is where it belongs by now.
    pub(super) async fn propose(&mut self, told: &Assessment, halt: &Halt, decision: i64) -> bool {
        let done = match &self.destination {
            None => Err(anyhow!("the feedback policy does not say where to")),
            Some(Destination::Directory(directory)) => {
                let file = proposal::file(told, halt);
                tokio::task::block_in_place(|| write(Path::new(directory), &file))
            }
            Some(Destination::Webhook(client, url)) => {
                post(
                    client,
                    url,
                    &proposal::message(told, halt, decision).to_string(),
                )
                .await
            }
            Some(Destination::Branch(branches)) => {
                let branches = branches.clone();
                match self.by_git(branches, told, halt, decision).await {
                    Some(done) => done,
                    None => return false,
                }
            }
        };
        let (release, scope) = (&told.release, scope_words(&halt.scope));
        match done {
            Ok(()) => {
                tracing::warn!(%release, decision, "a halt was proposed, for {scope}");
                (self.failures, self.failed_at) = (0, None);
                true
            }
            Err(error) => {
                self.failures = self.failures.saturating_add(1);
                self.failed_at = Some(Instant::now());
                let again = BACKOFF.wait(self.failures).as_secs();
                tracing::error!(%release, decision, "a halt for {scope} could not be proposed, and is tried again in {again} s: {error:#}");
                false
            }
        }
    }
}

impl Proposals {
    /// Has git propose, and says later what came of it. None: git is at work.
    async fn by_git(
        &mut self,
        branches: Arc<Mutex<GitBranches>>,
        told: &Assessment,
        halt: &Halt,
        decision: i64,
    ) -> Option<anyhow::Result<()>> {
        let id = proposal::id(told, halt, decision);
        match self.job.take() {
            Some(job) if !job.work.is_finished() => {
                self.job = Some(job);
                return None;
            }
            Some(job) if job.id == id => {
                let done = job.work.await.context("git was interrupted");
                return Some(done.flatten().map(|outcome| say(&outcome)));
            }
            // What came of another one shows in its branch.
            Some(_) | None => {}
        }
        let new = GitProposal {
            name: proposal::branch_name(&told.release, &halt.scope),
            file: proposal::file(told, halt),
            message: proposal::commit_message(told, halt, decision),
            at: halt.since,
        };
        let work = tokio::task::spawn_blocking(move || {
            let mut branches = branches.lock().unwrap_or_else(PoisonError::into_inner);
            let proposed = branches.propose(&new);
            proposed.map_err(|finding| anyhow!("{finding}"))
        });
        self.job = Some(Job { id, work });
        None
    }
}

fn say(outcome: &ProposalOutcome) {
    match outcome {
        ProposalOutcome::Pushed(commit) => tracing::info!(commit, "a branch was pushed"),
        ProposalOutcome::Stands => tracing::info!("the branch is there already"),
        ProposalOutcome::InBase => {
            tracing::info!("a halt is in the base already; it is left as it is");
        }
    }
}

/// The repository, reached as git sources are.
fn branches(to: BranchDestination, access: &Access) -> anyhow::Result<Arc<Mutex<GitBranches>>> {
    let plain_http = access.http.plain_http;
    check_plain_http(&to.repository, plain_http).context("the repository for proposals")?;
    let remote = GitRemote {
        url: to.repository,
        revision: to.base,
        folder: to.folder,
    };
    let author = Author {
        name: to.name,
        email: to.email,
    };
    let made = GitBranches::new(remote, &to.prefix, author, access.ca_file.as_deref());
    let made = made.map_err(|finding| anyhow!("{finding}"))?;
    Ok(Arc::new(Mutex::new(made)))
}

/// Writes a file whole, and never over another.
fn write(directory: &Path, file: &SourceFile) -> anyhow::Result<()> {
    let path = directory.join(&file.path);
    let cannot = || format!("{} cannot be written", path.display());
    match fs::read(&path) {
        Ok(there) if *there == *file.bytes => return Ok(()),
        // An earlier proposal, or a halt by hand: it halts the release as well.
        Ok(_) => {
            tracing::info!(path = %path.display(), "a halt is there already; it is left as it is");
            return Ok(());
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error).with_context(cannot),
    }
    let folder = path.parent().unwrap_or(directory);
    fs::create_dir_all(folder).with_context(cannot)?;
    // Not read as graph data: it is in no folder that is.
    let new = directory.join(".towpath-proposal.new");
    fs::write(&new, &file.bytes).with_context(cannot)?;
    fs::rename(&new, &path).with_context(cannot)
}

async fn post(client: &HttpClient, url: &Url, body: &str) -> anyhow::Result<()> {
    let request = Request::new(Method::POST, url.clone()).body("application/json", body);
    let server = url.host_str().unwrap_or_default().to_owned();
    let answer = client.send(request).await;
    let answer = answer.map_err(|error| anyhow!(error.sentence(&server)))?;
    match answer.status().is_success() {
        true => Ok(()),
        false => bail!("the webhook at {server} answers {}", answer.status()),
    }
}
