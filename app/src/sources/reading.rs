//! One source, read again and again on a thread of its own.

use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::time::Duration;

use jiff::Timestamp;
use towpath_core::finding::{Finding, Place};
use towpath_sources::Watch;
use towpath_web::Service;

use super::Message;
use super::address::SourceSpec;
use super::reader::{Access, Read, Reader};

/// How long after a read that failed the next one is made, at first; then twice as long, up to the source's interval.
const FIRST_RETRY: Duration = Duration::from_secs(5);

/// A source, and what it takes to read it.
pub(super) struct Reading {
    pub(super) number: usize,
    pub(super) spec: SourceSpec,
    pub(super) access: Access,
    pub(super) scratch: Option<PathBuf>,
    pub(super) watch: Watch,
}

impl Reading {
    /// Reads until nobody listens any more.
    pub(super) fn run(mut self, messages: &Sender<Message>, service: &Service) {
        let mut reader = None;
        let (mut failures, mut chance) = (0, seed(&self.spec));
        loop {
            let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| {
                self.read(&mut reader, service.now())
            }));
            let outcome = outcome.unwrap_or_else(|_| {
                reader = None;
                Err(own_mistake(&self.spec))
            });
            failures = if outcome.is_ok() { 0 } else { failures + 1 };
            if messages
                .send(Message::Read {
                    source: self.number,
                    outcome,
                })
                .is_err()
            {
                return;
            }
            self.watch
                .wait_at_most(pause(self.spec.every, failures, &mut chance));
        }
    }

    fn read(&self, reader: &mut Option<Reader>, now: Timestamp) -> Result<Read, Finding> {
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
fn pause(every: Duration, failures: u32, chance: &mut u64) -> Duration {
    let wait = match failures {
        0 => every,
        _ => FIRST_RETRY
            .saturating_mul(1 << (failures - 1).min(16))
            .min(every),
    };
    *chance = chance
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    let tenth = u64::try_from(wait.as_micros() / 10)
        .unwrap_or(u64::MAX)
        .max(1);
    wait - Duration::from_micros((*chance >> 33) % tenth)
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
    let problem = "reading it ended in a mistake of towpath's own";
    let remedy = "the log has the details; please report them";
    Finding::error("internal", Place::file(spec.name.clone()), problem, remedy)
}
