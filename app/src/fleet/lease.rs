//! Keeps the lease between and during passes, so that it can be short: when a scheduler dies, another takes over within
//! seconds, however far apart passes are.
//!
//! A scheduler whose passes fail or hang lets the lease go, so that another can act.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::task::JoinHandle;
use towpath_core::repeats::Repeats;
use towpath_store::{Lease, Result, Store};

/// The lease's name in the store.
pub(super) const SCHEDULER_LEASE: &str = "scheduler";
/// How long the lease lasts without being renewed.
const TERM: Duration = Duration::from_secs(8);
/// How often it is renewed, or tried for. Together with the term: 12 seconds until another has it.
const RENEW_EVERY: Duration = Duration::from_secs(4);
/// A pass hangs if it takes longer than this, and longer than three intervals between passes.
const LONGEST_PASS: Duration = Duration::from_mins(5);

/// One scheduler's hold on the lease.
pub(super) struct LeaseKeeper {
    store: Store,
    owner: String,
    /// Until when the lease is renewed, or tried for.
    wanted_until: Arc<Mutex<Instant>>,
    patience: Duration,
    /// Whether the lease was ours when it was last asked for.
    is_ours: Arc<AtomicBool>,
    taken: Arc<Notify>,
    task: JoinHandle<()>,
}

impl LeaseKeeper {
    /// A keeper that wants nothing before the first pass begins.
    pub(super) fn new(store: Store, owner: String, pass_every: Duration) -> Self {
        let wanted_until = Arc::new(Mutex::new(Instant::now()));
        let (is_ours, taken) = (Arc::new(AtomicBool::new(false)), Arc::new(Notify::new()));
        let task = tokio::spawn(keep(
            store.clone(),
            owner.clone(),
            wanted_until.clone(),
            is_ours.clone(),
            taken.clone(),
        ));
        Self {
            store,
            owner,
            wanted_until,
            patience: (pass_every * 3).max(LONGEST_PASS),
            is_ours,
            taken,
            task,
        }
    }

    /// A pass begins: takes the lease, unless another scheduler has it.
    pub(super) async fn acquire(&self) -> Result<Option<Lease>> {
        self.want_until(Instant::now() + self.patience);
        let lease = self
            .store
            .acquire(SCHEDULER_LEASE, &self.owner, TERM)
            .await?;
        self.is_ours.store(lease.is_some(), Ordering::Relaxed);
        Ok(lease)
    }

    /// The pass failed: whoever can do better may have the lease.
    pub(super) fn pass_failed(&self) {
        self.want_until(Instant::now());
    }

    fn want_until(&self, until: Instant) {
        *self
            .wanted_until
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = until;
    }

    /// Told when the lease was taken over between two passes.
    pub(super) fn taken(&self) -> Arc<Notify> {
        self.taken.clone()
    }

    /// Ends the keeping; the lease is not renewed after that.
    pub(super) async fn stop(&mut self) {
        self.task.abort();
        // It ends by being aborted, which is an error to nobody.
        let _ = (&mut self.task).await;
    }
}

impl Drop for LeaseKeeper {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A name for this process among those that hold leases.
pub(crate) fn new_owner() -> String {
    let now = jiff::Timestamp::now().as_nanosecond();
    format!("{}-{now}", std::process::id())
}

/// Lets another replica have a lease at once, if this owner holds it.
pub(crate) async fn give_back(store: &Store, name: &str, owner: &str) {
    if let Ok(Some(lease)) = store.holder(name).await
        && lease.owner == owner
        && let Err(error) = store.release(&lease).await
    {
        tracing::debug!(%error, "the lease {name} could not be given back; it ends by itself");
    }
}

async fn keep(
    store: Store,
    owner: String,
    wanted_until: Arc<Mutex<Instant>>,
    is_ours: Arc<AtomicBool>,
    taken: Arc<Notify>,
) {
    let (mut failures, began) = (Repeats::default(), Instant::now());
    loop {
        tokio::time::sleep(RENEW_EVERY).await;
        let until = *wanted_until.lock().unwrap_or_else(PoisonError::into_inner);
        if until <= Instant::now() {
            continue;
        }
        match store.acquire(SCHEDULER_LEASE, &owner, TERM).await {
            Ok(lease) => {
                let was_ours = is_ours.swap(lease.is_some(), Ordering::Relaxed);
                if lease.is_some() && !was_ours {
                    taken.notify_one();
                }
            }
            Err(error) => {
                if let Some(more) = failures.came(began.elapsed()) {
                    tracing::warn!(%error, "the lease could not be renewed; another scheduler may take over{more}");
                }
            }
        }
    }
}
