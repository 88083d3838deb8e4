//! Signs the head of the log, at intervals and when the scheduler stops.
//!
//! Only the holder of the scheduler's lease signs, in a transaction that checks the lease. Before it signs, it follows the log from
//! what was signed last: a log that was cut off or made again is not signed, and the metric and the log say so.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use towpath_core::fleet::{LogHead, SignedHead};
use towpath_core::hex;
use towpath_core::repeats::Repeats;
use towpath_formats::fleet::audit_log::keys::{LogKey, LogSigner};
use towpath_store::Store;
use towpath_web::{Clock, LogMetrics, Service};

use super::lease::SCHEDULER_LEASE;

/// How soon somebody looks again whether there is something to sign: a lease may have been taken over.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The most stretches of the log that are followed for one signature.
const MAX_STRETCHES: u32 = 1_000;
/// How long signing may take while the service stops.
const LAST_SIGNATURE: Duration = Duration::from_secs(3);

/// How the head of the log is signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogSigning {
    /// The file with the private key. It is read for each signature, so it may be changed.
    pub(crate) key: PathBuf,
    pub(crate) every: Duration,
}

impl LogSigning {
    pub(crate) fn signer(&self) -> anyhow::Result<LogSigner> {
        let path = self.key.display();
        let text = std::fs::read_to_string(&self.key)
            .with_context(|| format!("--log-key {path}: it cannot be read"))?;
        LogSigner::read(&text).map_err(|problem| anyhow::anyhow!("--log-key {path}: {problem}"))
    }
}

/// Whoever signs, beside the passes of a scheduler.
pub(super) struct BackgroundSigning {
    stop: Arc<Notify>,
    task: JoinHandle<()>,
}

impl BackgroundSigning {
    /// Begins. A key that cannot be used is told at once.
    pub(super) fn start(
        store: Store,
        signing: Option<LogSigning>,
        owner: String,
        clock: Clock,
        service: Option<Arc<Service>>,
    ) -> anyhow::Result<Self> {
        signing.as_ref().map(LogSigning::signer).transpose()?;
        let stop = Arc::new(Notify::new());
        let stopped = stop.clone();
        let task = tokio::spawn(async move {
            let mut head = HeadOfLog {
                store,
                signing,
                owner,
                clock,
                known: None,
                signed_at: None,
            };
            head.keep(service.as_deref(), &stopped).await;
        });
        Ok(Self { stop, task })
    }

    /// Signs once more, and ends. The lease must still be held.
    pub(super) async fn stop(self) {
        self.stop.notify_one();
        if tokio::time::timeout(LAST_SIGNATURE, self.task)
            .await
            .is_err()
        {
            tracing::warn!("the head of the log could not be signed in time before the end");
        }
    }
}

struct HeadOfLog {
    store: Store,
    signing: Option<LogSigning>,
    /// The name under which this process holds the lease.
    owner: String,
    clock: Clock,
    /// What this process signed last.
    known: Option<LogHead>,
    signed_at: Option<Instant>,
}

/// What became of a try to sign.
enum Signed {
    /// Somebody else signs, or nobody is to.
    NotOurs,
    NotDue,
    Done,
}

impl HeadOfLog {
    async fn keep(&mut self, service: Option<&Service>, stopped: &Notify) {
        let (mut failures, began) = (Repeats::default(), Instant::now());
        let mut signs = None;
        loop {
            let is_last = tokio::select! {
                () = tokio::time::sleep(LOOK_EVERY) => false,
                () = stopped.notified() => true,
            };
            match self.try_sign(is_last).await {
                Ok(Signed::NotOurs) => signs = None,
                Ok(Signed::NotDue) => {}
                Ok(Signed::Done) => signs = Some(true),
                Err(error) => {
                    signs = Some(false);
                    if let Some(more) = failures.came(began.elapsed()) {
                        tracing::error!("the head of the log was not signed: {error:#}{more}");
                    }
                }
            }
            if is_last {
                return;
            }
            if let Some(service) = service
                && let Ok(metrics) = self.metrics(signs).await
            {
                service.log_metrics(metrics);
            }
        }
    }

    async fn metrics(&self, signs: Option<bool>) -> towpath_store::Result<LogMetrics> {
        let signed = self.store.newest_signed_head().await?;
        Ok(LogMetrics {
            newest: self.store.newest_decision().await?,
            signed: signed.map(|signed| {
                let LogHead {
                    sequence, hash, at, ..
                } = signed.head;
                (sequence, beginning(&hash), at)
            }),
            signs,
        })
    }

    /// Signs, if it is due and this process holds the lease.
    async fn try_sign(&mut self, at_once: bool) -> anyhow::Result<Signed> {
        let Some(signing) = &self.signing else {
            return Ok(Signed::NotOurs);
        };
        let lease = self.store.holder(SCHEDULER_LEASE).await?;
        let Some(lease) = lease.filter(|lease| lease.owner == self.owner) else {
            return Ok(Signed::NotOurs);
        };
        let is_due = |at: Instant| at.elapsed() >= signing.every;
        if !at_once && !self.signed_at.is_none_or(is_due) {
            return Ok(Signed::NotDue);
        }
        let signer = signing.signer()?;
        let head = self.followed(&signer).await?;
        self.store
            .keep_signed_head(&lease, &signer.sign(head))
            .await?;
        (self.known, self.signed_at) = (Some(head), Some(Instant::now()));
        Ok(Signed::Done)
    }

    /// The head of the log, if it goes on from what was signed before.
    async fn followed(&self, signer: &LogSigner) -> anyhow::Result<LogHead> {
        let stored = self.store.newest_signed_head().await?;
        let stored = stored.filter(|signed| is_ours(signed, &signer.public()));
        let known = [self.known, stored.map(|signed| signed.head)];
        let known = known.into_iter().flatten().max_by_key(|head| head.sequence);
        let mut from = known.map(|head| (head.sequence, head.hash));
        for _ in 0..MAX_STRETCHES {
            let stretch = self.store.log_since(from).await?;
            if let Some(problem) = stretch.problems.first() {
                bail!(
                    "{problem}. The log was changed; keep a copy of the store, and run `towpath fleet replay` with the public key"
                );
            }
            if let (Some((sequence, _)), (last, _)) = (from, stretch.last)
                && last < sequence
                && stretch.pruned < sequence
            {
                bail!("entry {sequence} of the log was signed, and the log ends at entry {last}");
            }
            from = Some(stretch.last);
            if stretch.is_whole {
                let (sequence, hash) = stretch.last;
                return Ok(LogHead {
                    sequence,
                    hash,
                    pruned: stretch.pruned,
                    at: (self.clock)(),
                });
            }
        }
        bail!("the log is too long to be followed at once; it is tried again")
    }
}

/// A head of another key counts for nothing here: somebody may have put it there. Whoever changes keys begins anew.
fn is_ours(signed: &SignedHead, key: &LogKey) -> bool {
    signed.key == key.name && key.verifies(signed)
}

/// The first 48 bits, which a metric can hold.
fn beginning(hash: &[u8; 32]) -> u64 {
    let digits = &hex::encode(hash)[..12];
    u64::from_str_radix(digits, 16).unwrap_or_default()
}
