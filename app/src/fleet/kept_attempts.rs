//! A copy of the store's attempts: it follows what changes, and reads everything now and then.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use towpath_core::cluster::ClusterId;
use towpath_core::feedback::{Attempt, Followed, KEPT_FOR, TimeLimits};
use towpath_core::version::Version;
use towpath_store::{ChangeMark, Store};

/// What was pruned is noticed then, and time limits are learned anew.
const REREAD: Duration = Duration::from_secs(3600);

#[derive(Default)]
pub(super) struct KeptAttempts {
    known: BTreeMap<ClusterId, BTreeMap<Version, Followed>>,
    mark: ChangeMark,
    read: Option<Instant>,
    limits: Arc<TimeLimits>,
}

impl KeptAttempts {
    /// Reads what has changed since the last time.
    pub(super) async fn follow(&mut self, store: &Store) -> towpath_store::Result<()> {
        let is_due = self.read.is_none_or(|read| read.elapsed() >= REREAD);
        let mark = if is_due {
            ChangeMark::default()
        } else {
            self.mark
        };
        let changes = store.attempts_changed_since(mark).await?;
        if is_due {
            self.known.clear();
            self.read = Some(Instant::now());
        }
        self.mark = changes.mark;
        for followed in changes.attempts {
            let of_cluster = self.known.entry(followed.cluster.clone()).or_default();
            of_cluster.insert(followed.evidence.to.clone(), followed);
        }
        if is_due {
            let known = self.known.values().flat_map(BTreeMap::values);
            self.limits = Arc::new(TimeLimits::learn(known));
        }
        Ok(())
    }

    /// Those that are kept, as they stand now.
    pub(super) fn attempts(&self, now: Timestamp) -> impl Iterator<Item = Attempt> + '_ {
        let oldest = now.checked_sub(KEPT_FOR).unwrap_or(Timestamp::MIN);
        let is_kept = move |followed: &&Followed| {
            followed
                .evidence
                .first_at()
                .is_some_and(|first| first >= oldest)
        };
        let known = self.known.values().flat_map(BTreeMap::values);
        known
            .filter(is_kept)
            .filter_map(move |followed| followed.attempt(now))
    }

    /// How long updates that start now may take.
    pub(super) fn limits(&self) -> Arc<TimeLimits> {
        self.limits.clone()
    }
}
