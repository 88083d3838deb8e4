//! Proposed halts on their way to people: into a directory, or to a webhook. Each once; what fails is tried again, ever more rarely.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use towpath_core::feedback::{Assessment, Halt};
use towpath_core::retry::Backoff;
use towpath_formats::SourceFile;
use towpath_formats::feedback::policy::ProposalDestination;
use towpath_formats::feedback::{proposal, scope_words};
use towpath_http::{HttpClient, HttpOptions, Method, Request, Url, base_address};

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
}

enum Destination {
    Directory(String),
    Webhook(HttpClient, Url),
}

impl Proposals {
    pub(super) fn new(destination: Option<ProposalDestination>) -> anyhow::Result<Self> {
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
        };
        Ok(Self {
            destination,
            failures: 0,
            failed_at: None,
        })
    }

    /// Whether the next may be tried: not too soon after a failure.
    pub(super) fn is_ready(&self) -> bool {
        let wait = BACKOFF.wait(self.failures);
        self.failed_at.is_none_or(|last| last.elapsed() >= wait)
    }

    /// Whether one failed and is to be tried again by now.
    pub(super) fn is_due(&self) -> bool {
        self.failed_at.is_some() && self.is_ready()
    }

    /// Whether it is where it belongs.
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
