//! The halts of a store as a source: files of graph data that are added to the others.
//!
//! One number in the store says whether halts have changed. It is asked for a few times a second, and only if it is another one
//! are the halts read. Requests for graphs never wait for that. While the store is away the last copy stays in force, also over a
//! restart if copies are kept (`--state`). Without the store and without a copy nothing is served: what is halted is not known.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use towpath_core::finding::{Finding, Place};
use towpath_formats::SourceFile;
use towpath_store::{HaltMark, Store, StoredHalt};

use super::Message;
use super::reader::SourceReading;

/// The name of this source.
pub(crate) const NAME: &str = "halts";
/// How often the store is asked whether halts have changed.
pub(super) const POLL_EVERY: Duration = Duration::from_millis(250);
/// All halts are read again after this time, whatever the number says: a restored database may have any.
pub(super) const CONFIRM_EVERY: Duration = Duration::from_secs(60);
/// How often it is told that the store cannot be asked.
const COMPLAIN_EVERY: Duration = Duration::from_secs(5);
/// Halts are written alike in every schema from 1.1.0 on.
pub(super) const SCHEMA: &str = "1.1.0";

/// Where the halts of a store go.
pub(crate) struct HaltsFeed {
    pub(super) source: usize,
    pub(super) messages: Sender<Message>,
    pub(super) woken: Arc<Notify>,
}

impl HaltsFeed {
    /// The store could not be asked. What is known stays in force.
    pub(crate) fn failed(&self, problem: &str) {
        let remedy = "bring the store back; until then the halts that are known stay in force";
        let finding = Finding::error("unreadable", Place::file(NAME), problem, remedy);
        self.tell(Err(finding));
    }

    /// Services without the store do not hear of halts. Those with it do.
    pub(super) fn not_passed_on(&self, problem: &str) {
        let remedy = "make the folder writable; until then halt there by hand";
        let finding = Finding::error("unwritable", Place::file(NAME), problem, remedy);
        self.tell(Err(finding));
    }

    /// Passes on the halts of the store whenever they have changed, for ever.
    pub(crate) async fn follow(&self, store: &Store) {
        let mut known: Option<(HaltMark, Instant)> = None;
        let mut complained: Option<Instant> = None;
        loop {
            match self.look(store, known).await {
                Ok(now) => (known, complained) = (Some(now), None),
                Err(problem) => {
                    known = None;
                    if complained.is_none_or(|at| at.elapsed() >= COMPLAIN_EVERY) {
                        complained = Some(Instant::now());
                        self.failed(&problem);
                    }
                }
            }
            tokio::select! {
                () = tokio::time::sleep(POLL_EVERY) => {}
                () = self.woken.notified() => known = None,
            }
        }
    }

    async fn look(
        &self,
        store: &Store,
        known: Option<(HaltMark, Instant)>,
    ) -> Result<(HaltMark, Instant), String> {
        if let Some((mark, at)) = known
            && at.elapsed() < CONFIRM_EVERY
            && store.halt_mark().await.map_err(|error| error.to_string())? == mark
        {
            return Ok((mark, at));
        }
        let standing = store.standing_halts().await;
        let (mark, halts) = standing.map_err(|error| error.to_string())?;
        self.tell(Ok(SourceReading::of(files(&halts))));
        Ok((mark, Instant::now()))
    }

    fn tell(&self, outcome: Result<SourceReading, Finding>) {
        let source = self.source;
        // If nobody listens any more, nothing is served.
        let _ = self.messages.send(Message::Read {
            source,
            outcome: Box::new(outcome),
        });
    }
}

fn files(halts: &[StoredHalt]) -> Vec<SourceFile> {
    let version = SourceFile::new("version", SCHEMA.as_bytes());
    let file = |one: &StoredHalt| SourceFile::new(one.halt.path.clone(), one.halt.body.as_bytes());
    std::iter::once(version)
        .chain(halts.iter().map(file))
        .collect()
}
