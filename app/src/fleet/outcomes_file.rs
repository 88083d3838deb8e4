//! The file of `--outcomes`: whoever has the lease reads it when it has changed, and writes what it tells into the store.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use jiff::Timestamp;
use towpath_core::feedback::TimeLimits;
use towpath_core::finding::{Finding, Place};
use towpath_formats::fleet::attempts;
use towpath_store::{Lease, MAX_TESTIMONIES, Store};

use crate::input::read_input;

/// It is read again then, too: what was in the future may have come.
const REREAD: Duration = Duration::from_secs(3600);

pub(super) struct OutcomesFile {
    path: PathBuf,
    /// When it was read, its time then, and its size.
    read: Option<(Instant, Option<SystemTime>, u64)>,
    findings: Vec<Finding>,
}

impl OutcomesFile {
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            path,
            read: None,
            findings: Vec::new(),
        }
    }

    /// Reads it if it has changed.
    pub(super) async fn record(
        &mut self,
        store: &Store,
        lease: &Lease,
        limits: &Arc<TimeLimits>,
        now: Timestamp,
    ) -> anyhow::Result<()> {
        let known = std::fs::metadata(&self.path).ok();
        let (written_at, size) = known.map_or((None, 0), |file| (file.modified().ok(), file.len()));
        let is_same = |(read, at, of): &(Instant, Option<SystemTime>, u64)| {
            (*at, *of) == (written_at, size) && read.elapsed() < REREAD
        };
        if self.read.as_ref().is_some_and(is_same) {
            return Ok(());
        }
        let place = Place::file(self.path.display().to_string());
        let (told, findings) = tokio::task::block_in_place(|| {
            match read_input(&self.path, attempts::MAX_BYTES as u64) {
                Ok(bytes) => attempts::read(&place, &bytes, limits, now),
                Err(finding) => (Vec::new(), vec![finding]),
            }
        });
        let mut changed = 0;
        for batch in told.chunks(MAX_TESTIMONIES) {
            changed += store.record_testimonies(lease, batch).await?;
        }
        tracing::debug!(
            attempts = told.len(),
            changed,
            "the file of outcomes was read"
        );
        if findings != self.findings {
            for finding in &findings {
                tracing::warn!("{finding}");
            }
        }
        self.findings = findings;
        self.read = Some((Instant::now(), written_at, size));
        Ok(())
    }

    pub(super) fn findings(&self) -> &[Finding] {
        &self.findings
    }
}
