//! The thread that makes graphs: it takes in copies of sources, serves the graph made of all of them, saves them, and logs what has changed.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use towpath_core::finding::{Finding, Severity};
use towpath_core::intake::Freshness;
use towpath_core::lint::empty_rings;
use towpath_sources::Copies;
use towpath_web::{ChangedWindows, Service};

use super::intake::Intake;
use super::reader::SourceReading;
use super::source::CopyOutcome;
use super::verification::Verification;
use super::{Message, SourceSettings, log_findings};
use crate::signatures::Keys;

/// Sources that change together are taken in together, if they come within this time.
const TOGETHER: Duration = Duration::from_millis(25);
/// However many come, somebody looks after this.
const PATIENCE: Duration = Duration::from_millis(500);
/// That a source is as it was is written down this often: a restart must not take it for older than it is.
const CONFIRM_EVERY: SignedDuration = SignedDuration::from_secs(60);
/// The longest wait between two looks at the clock.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// Makes graphs.
pub(super) struct Maker {
    intake: Intake,
    copies: Option<Copies>,
    verification: Option<Verification>,
    service: Arc<Service>,
    sources: usize,
    /// Which have been read at least once, be it without success.
    asked: BTreeSet<usize>,
    /// What was read of sources before anybody could say what is verified of the copies that were kept.
    held: BTreeMap<usize, SourceReading>,
    kept_at: Option<Timestamp>,
    /// What was last said, so that it is said once.
    logged: LoggedState,
}

#[derive(Default)]
struct LoggedState {
    problems: Vec<Finding>,
    freshness: BTreeMap<String, Freshness>,
    keeping: Option<Finding>,
    /// Source and name.
    stricter: BTreeSet<(String, String)>,
    changed_windows: BTreeMap<String, ChangedWindows>,
}

impl Maker {
    /// One that serves at once what was kept.
    pub(super) fn new(
        settings: &SourceSettings,
        keys: Option<Keys>,
        copies: Option<Copies>,
        verification: Option<Verification>,
        service: Arc<Service>,
    ) -> Self {
        let mut maker = Self {
            intake: Intake::new(settings).with_keys(keys),
            copies,
            verification,
            service,
            sources: settings.specs.len(),
            asked: BTreeSet::new(),
            held: BTreeMap::new(),
            kept_at: None,
            logged: LoggedState::default(),
        };
        maker.restore();
        maker
    }

    /// Serves what was served before, before any source has been asked.
    fn restore(&mut self) {
        let Some((copies, mut findings)) = self.copies.as_mut().map(Copies::load) else {
            return;
        };
        findings.extend(self.intake.restore(copies, self.service.now()));
        log_findings(&findings);
        if self.intake.is_complete() {
            tracing::info!("serving the saved copies until the sources have been read");
            self.settle(&[]);
        }
        self.service.sources(self.intake.health());
    }

    /// Takes in what it is told, until nobody can tell it anything any more.
    pub(super) fn run(mut self, inbox: &Receiver<Message>, first_load: &tokio::sync::Notify) {
        let mut is_first = true;
        loop {
            let taken = match inbox.recv_timeout(self.patience()) {
                Ok(message) => self.take_flock(message, inbox),
                Err(RecvTimeoutError::Timeout) => Vec::new(),
                Err(RecvTimeoutError::Disconnected) => return,
            };
            self.settle(&taken);
            if is_first && (self.asked.len() == self.sources || self.service.snapshot().is_some()) {
                is_first = false;
                first_load.notify_one();
                yield_to_requests();
            }
        }
    }

    /// Until a source becomes too old.
    fn patience(&self) -> Duration {
        let now = self.service.now();
        let until = self
            .intake
            .next_change(now)
            .map(|at| now.duration_until(at));
        let until = until
            .and_then(|until| Duration::try_from(until).ok())
            .unwrap_or(MAX_WAIT);
        until.clamp(Duration::from_millis(1), MAX_WAIT)
    }

    /// Takes a message, and those that come right behind it.
    fn take_flock(&mut self, first: Message, inbox: &Receiver<Message>) -> Vec<CopyOutcome> {
        let began = Instant::now();
        let mut taken = self.take(first);
        while began.elapsed() < PATIENCE {
            let Ok(message) = inbox.recv_timeout(TOGETHER) else {
                break;
            };
            taken.extend(self.take(message));
        }
        taken
    }

    fn take(&mut self, message: Message) -> Vec<CopyOutcome> {
        match message {
            Message::Read { source, outcome } => {
                self.asked.insert(source);
                match *outcome {
                    Ok(read) if self.is_too_early() && self.intake.needs_verdicts(source) => {
                        self.held.insert(source, read);
                        Vec::new()
                    }
                    outcome => vec![self.take_in(source, outcome)],
                }
            }
            Message::Allow { source, allowed } => {
                self.intake.allow_once(source, &allowed, self.service.now());
                Vec::new()
            }
            Message::Discard { source, names } => {
                let discarded = self.intake.discard_stricter(source, &names);
                tracing::warn!(
                    ?names,
                    discarded,
                    "stricter parts of refused copies were discarded"
                );
                Vec::new()
            }
            Message::Woken => {
                log_findings(&self.intake.read_keyring_again(self.service.now()));
                self.verification
                    .iter_mut()
                    .for_each(Verification::ask_again);
                Vec::new()
            }
            Message::Verified(verified) => {
                log_findings(&verified.warnings);
                self.verification
                    .iter_mut()
                    .for_each(Verification::answered);
                self.intake.verified(verified.verdicts, self.service.now());
                let held = std::mem::take(&mut self.held);
                held.into_iter()
                    .map(|(source, read)| self.take_in(source, Ok(read)))
                    .collect()
            }
        }
    }

    fn take_in(&mut self, source: usize, outcome: Result<SourceReading, Finding>) -> CopyOutcome {
        let now = self.service.now();
        let taken =
            std::panic::catch_unwind(AssertUnwindSafe(|| self.intake.take(source, outcome, now)));
        taken.unwrap_or_else(|_| {
            self.intake.broke(source, now);
            CopyOutcome::Failed
        })
    }

    /// Whether nobody has looked at signatures yet, and somebody has to.
    fn is_too_early(&self) -> bool {
        self.verification
            .as_ref()
            .is_some_and(|verification| !verification.has_answered())
    }

    /// Serves what there is to serve now, keeps it, and says what has changed.
    fn settle(&mut self, taken: &[CopyOutcome]) {
        let now = self.service.now();
        self.intake.judge_seals(now);
        if self.intake.is_complete()
            && let Some(verification) = &mut self.verification
        {
            verification.ask(self.intake.payloads());
        }
        if self.intake.is_complete() && self.may_make() {
            let served = self
                .service
                .snapshot()
                .map(|snapshot| snapshot.digest.clone());
            let is_new =
                self.intake.has_news() || served.as_deref() != Some(&*self.intake.digest(now));
            match is_new {
                true => self.make(now),
                false
                    if taken.contains(&CopyOutcome::Unchanged)
                        && self.intake.problems().is_empty() =>
                {
                    self.service.unchanged()
                }
                false => {}
            }
            self.keep(now, is_new);
        }
        let problems = self.intake.problems();
        let has_asked = self.asked.len() == self.sources || self.service.snapshot().is_some();
        if has_asked
            && !problems.is_empty()
            && (taken.contains(&CopyOutcome::Failed) || taken.contains(&CopyOutcome::Changed))
        {
            self.service.failed(problems.clone());
        }
        self.service.sources(self.intake.health());
        self.tell(problems, has_asked, now);
    }

    /// Whether a graph can be made: the first one has to wait for signatures, or it would be without releases.
    fn may_make(&self) -> bool {
        self.service.snapshot().is_some() || !self.is_too_early()
    }

    fn make(&mut self, now: Timestamp) {
        let made = std::panic::catch_unwind(AssertUnwindSafe(|| self.intake.snapshot(now)));
        let Ok((snapshot, mut warnings)) = made else {
            self.intake.demote(now);
            self.service.failed(self.intake.problems());
            return;
        };
        let graph = snapshot.graph();
        // With a fleet, its passes know who is in a ring.
        if !self.service.enrolment().is_started() {
            let empty = empty_rings(graph, |group| snapshot.knows_somebody_in(group));
            warnings.extend(empty);
        }
        let (releases, edges, channels) = (
            graph.releases().len(),
            graph.edges().len(),
            graph.channels().len(),
        );
        let (digest, warned) = (&snapshot.digest, warnings.len());
        tracing::info!(
            releases,
            edges,
            channels,
            digest,
            warnings = warned,
            "a graph was loaded"
        );
        log_findings(&warnings);
        self.service.replace(snapshot, warnings);
        self.intake.promote(now);
    }

    fn keep(&mut self, now: Timestamp, is_new: bool) {
        // What was kept is all there is to serve after a restart: it goes only for something that is served.
        if !self.intake.is_promoted() {
            return;
        }
        let is_due = is_new
            || self
                .kept_at
                .is_none_or(|kept_at| now.duration_since(kept_at) >= CONFIRM_EVERY);
        if let Some(copies) = self.copies.as_mut().filter(|_| is_due) {
            let kept = copies.keep(&self.intake.copies()).err();
            if let Some(finding) = kept
                .as_ref()
                .filter(|finding| self.logged.keeping.as_ref() != Some(finding))
            {
                log_findings(std::slice::from_ref(finding));
            }
            self.kept_at = Some(now);
            self.logged.keeping = kept;
        }
        // What could not be kept is kept with the bytes of the next read.
        if self.logged.keeping.is_none() {
            self.intake.forget_bytes();
        }
    }

    /// One line for each change, and none for what stays.
    fn tell(&mut self, problems: Vec<Finding>, has_asked: bool, now: Timestamp) {
        if has_asked && problems != self.logged.problems {
            match (problems.is_empty(), self.service.snapshot().is_some()) {
                (true, _) => tracing::info!("all sources can be read again"),
                (false, true) => {
                    tracing::error!(
                        findings = problems.len(),
                        "the graph could not be loaded; the last good graph stays"
                    );
                }
                (false, false) => {
                    tracing::error!(
                        findings = problems.len(),
                        "the graph could not be loaded; there is no graph to serve"
                    );
                }
            }
            log_findings(&problems);
            self.logged.problems = problems;
        }
        let stricter = self.intake.stricter();
        for (source, name) in stricter.difference(&self.logged.stricter) {
            tracing::warn!(source, name, "a block of a refused copy is in force");
        }
        for (source, name) in self.logged.stricter.difference(&stricter) {
            tracing::info!(
                source,
                name,
                "the block of a refused copy is no longer needed"
            );
        }
        self.logged.stricter = stricter;
        let changed = self.intake.changed_windows();
        for (source, change) in &changed {
            if self.logged.changed_windows.get(source) != Some(change) {
                tell_changed_windows(source, change);
            }
        }
        self.logged.changed_windows = changed;
        let freshness = self.intake.freshness(now);
        for (source, state) in &freshness {
            let before = self
                .logged
                .freshness
                .get(source)
                .copied()
                .unwrap_or(Freshness::Fresh);
            match (before == *state, state) {
                (true, _) => {}
                (false, Freshness::Fresh) => tracing::info!(source, "the source is fresh again"),
                (false, Freshness::Degraded) => {
                    tracing::warn!(source, "the source has not been read for long: degraded")
                }
                (false, Freshness::Closed) => {
                    tracing::error!(
                        source,
                        "the source has not been read for too long: nothing is recommended"
                    );
                }
            }
        }
        self.logged.freshness = freshness;
    }
}

/// Once for each copy. What is refused is logged with the problems.
fn tell_changed_windows(source: &str, change: &ChangedWindows) {
    if !change.taken {
        return;
    }
    tracing::warn!(
        source,
        findings = change.findings.len(),
        "new graph data changes windows, and clusters see it at once; --refuse-changed-windows would have kept the graph data before"
    );
    let warnings = change.findings.iter().cloned().map(|finding| Finding {
        severity: Severity::Warning,
        ..finding
    });
    log_findings(&warnings.collect::<Vec<_>>());
}

/// Loading anew must not take the processor from requests, nor wait for ever while they take all of it: of a busy core
/// this thread gets about a seventh.
fn yield_to_requests() {
    if let Err(error) = rustix::process::setpriority_process(None, 5) {
        tracing::debug!(%error, "the loading thread's priority could not be lowered");
    }
}
