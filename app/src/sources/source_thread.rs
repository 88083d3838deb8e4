//! The thread that reads one source at intervals.

use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::time::Duration;

use jiff::Timestamp;
use towpath_core::finding::{Finding, Place};
use towpath_core::retry::{Backoff, Jitter};
use towpath_sources::Watch;
use towpath_web::Service;

use super::Message;
use super::address::SourceSpec;
use super::reader::{Access, Reader, SourceReading};

/// How long after a read that failed the next one is made, at first; then twice as long, up to the source's interval.
const FIRST_RETRY: Duration = Duration::from_secs(5);

/// A source, and what it takes to read it.
pub(super) struct SourceThread {
    pub(super) number: usize,
    pub(super) spec: SourceSpec,
    pub(super) access: Access,
    pub(super) scratch: Option<PathBuf>,
    pub(super) watch: Watch,
}

impl SourceThread {
    /// Reads until nobody listens any more.
    pub(super) fn run(mut self, messages: &Sender<Message>, service: &Service) {
        let mut reader = None;
        let (mut failures, jitter) = (0_u32, Jitter::new(seed(&self.spec)));
        loop {
            let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| {
                self.read(&mut reader, service.now())
            }));
            let outcome = outcome.unwrap_or_else(|_| {
                reader = None;
                Err(own_mistake(&self.spec))
            });
            failures = match outcome.is_ok() {
                true => 0,
                false => failures.saturating_add(1),
            };
            if messages
                .send(Message::Read {
                    source: self.number,
                    outcome: Box::new(outcome),
                })
                .is_err()
            {
                return;
            }
            self.watch
                .wait_at_most(pause(self.spec.every, failures, &jitter));
        }
    }

    fn read(&self, reader: &mut Option<Reader>, now: Timestamp) -> Result<SourceReading, Finding> {
        let mut ready = match reader.take() {
            Some(ready) => ready,
            None => Reader::new(&self.spec, &self.access, self.scratch.as_deref())?,
        };
        let read = ready.read(now);
        *reader = Some(ready);
        read
    }
}

/// How long until the next read: the source's interval, or less after a failure; and a tenth of it by chance, so that replicas do not ask all at once.
fn pause(every: Duration, failures: u32, jitter: &Jitter) -> Duration {
    let backoff = Backoff {
        first: FIRST_RETRY,
        longest: every,
    };
    let wait = match failures {
        0 => every,
        failures => backoff.wait(failures),
    };
    wait - jitter.up_to(wait / 10)
}

/// Other for each source and each process.
fn seed(spec: &SourceSpec) -> u64 {
    spec.name
        .bytes()
        .fold(u64::from(std::process::id()), |seed, byte| {
            seed.wrapping_mul(31).wrapping_add(u64::from(byte))
        })
}

fn own_mistake(spec: &SourceSpec) -> Finding {
    let problem = "reading it failed because of a bug in Towpath";
    let remedy = "the log has the details; please report them";
    Finding::error("internal", Place::file(spec.name.clone()), problem, remedy)
}
