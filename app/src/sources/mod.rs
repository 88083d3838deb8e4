//! Sources: each is read on its own thread, one more thread makes graphs of the newest good copies.
//!
//! A source that fails costs the others nothing. What is served changes when a copy does, or when one has become too old.

pub(crate) mod address;
mod images;
mod intake;
mod reader;
mod settings;
mod verification;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use towpath_core::domain::{Graph, SignaturePolicy};
use towpath_core::finding::{Finding, Place};
use towpath_core::intake::{Ages, Freshness, Objection};
use towpath_sources::{Copies, Watch};
use towpath_web::{ReloadRequest, Service, Woken};

use address::{Location, SourceSpec};
use intake::{Intake, Taken};
pub(crate) use reader::Access;
use reader::{Read, Reader};
use verification::{Verification, Verified};

use crate::signatures::Go;

/// How many findings of one attempt are logged; `/readyz` has more.
const MAX_LOGGED: usize = 20;
/// Sources that change together are taken in together, if they come within this time.
const TOGETHER: Duration = Duration::from_millis(25);
/// However many come, somebody looks after this.
const PATIENCE: Duration = Duration::from_millis(500);
/// How long after a read that failed the next one is made, at first; then twice as long, up to the source's interval.
const FIRST_RETRY: Duration = Duration::from_secs(5);
/// That a source is as it was is written down this often: a restart must not take it for older than it is.
const CONFIRM_EVERY: SignedDuration = SignedDuration::from_secs(60);
/// The longest wait between two looks at the clock.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// Everything about sources that is configured.
#[derive(Debug, Clone)]
pub(crate) struct SourceSettings {
    pub(crate) specs: Vec<SourceSpec>,
    /// Where the newest good copies are kept; none: nowhere.
    pub(crate) state: Option<PathBuf>,
    pub(crate) ages: Ages,
    pub(crate) max_shrink_percent: u8,
    /// What is always allowed, by source.
    pub(crate) allow: BTreeMap<String, BTreeSet<Objection>>,
    pub(crate) access: Access,
    /// Whose signatures count, if any have to.
    pub(crate) signatures: Option<SignatureSettings>,
}

/// Whose signatures count, and where they are.
#[derive(Debug, Clone)]
pub(crate) struct SignatureSettings {
    pub(crate) policy: SignaturePolicy,
    pub(crate) stores: Vec<String>,
    pub(crate) keyring: Vec<PathBuf>,
}

impl SourceSettings {
    /// Whether nothing was configured.
    pub(crate) fn is_example(&self) -> bool {
        self.specs.iter().any(|spec| spec.location == Location::Example)
    }

    /// Whether another service tells us of channels.
    pub(crate) fn has_upstream(&self) -> bool {
        self.specs.iter().any(|spec| matches!(spec.location, Location::Upstream { .. }))
    }
}

/// The graph of all sources as they are now, for commands that look once.
pub(crate) fn read_once(settings: &SourceSettings, now: Timestamp) -> Result<Graph, Vec<Finding>> {
    let mut intake = Intake::new(settings);
    for (number, spec) in settings.specs.iter().enumerate() {
        let read = Reader::new(spec, &settings.access, None).and_then(|mut reader| reader.read(now));
        intake.take(number, read, now);
    }
    if let Some(mut verifier) = verification::verifier(settings)? {
        let runtime = reader::runtime().map_err(|finding| vec![finding])?;
        intake.verified(runtime.block_on(verifier.verdicts(&intake.payloads(), now, &mut |_| Go::On)).0);
    }
    match intake.is_complete() {
        true => Ok(intake.graph().0),
        false => Err(intake.problems()),
    }
}

/// What the thread that makes graphs is told.
enum Message {
    Read {
        source: usize,
        outcome: Result<Read, Finding>,
    },
    Allow {
        source: usize,
        allowed: Vec<Objection>,
    },
    Verified(Verified),
    /// Somebody wants everything looked at.
    Woken,
}

/// Wakes the readers.
pub(crate) struct Wakers {
    names: Vec<String>,
    wakers: Vec<Box<dyn Fn() + Send + Sync>>,
    messages: Sender<Message>,
}

impl Wakers {
    /// Lets everybody look.
    pub(crate) fn wake_all(&self) {
        // If nobody listens any more there is nothing to be looked at.
        let _ = self.messages.send(Message::Woken);
        self.wakers.iter().for_each(|wake| wake());
    }

    /// Lets those look who are meant.
    pub(crate) fn wake(&self, wanted: &ReloadRequest) -> Woken {
        let is_meant = |name: &String| wanted.source.as_ref().is_none_or(|source| source == name);
        let meant: Vec<usize> = (0..self.names.len()).filter(|number| is_meant(&self.names[*number])).collect();
        if meant.is_empty() {
            return Woken::NoSuchSource(self.names.clone());
        }
        // If nobody listens any more there is nothing to be looked at.
        let _ = self.messages.send(Message::Woken);
        for number in &meant {
            if !wanted.allow.is_empty() {
                tracing::warn!(source = self.names[*number], allowed = ?wanted.allow, "the next copy is allowed more");
                // If nobody listens any more there is nobody to allow it.
                let _ = self.messages.send(Message::Allow { source: *number, allowed: wanted.allow.clone() });
            }
            (self.wakers[*number])();
        }
        Woken::Sources(meant.into_iter().map(|number| self.names[number].clone()).collect())
    }
}

/// Starts to read, and to make graphs; tells when the first attempt is over.
pub(crate) fn start(
    settings: &SourceSettings,
    service: Arc<Service>,
    first_load: Arc<tokio::sync::Notify>,
) -> anyhow::Result<Wakers> {
    let copies =
        settings.state.as_deref().map(Copies::open).transpose().map_err(|finding| anyhow::anyhow!("{finding}"))?;
    if copies.is_none() && !settings.is_example() {
        tracing::info!(
            "copies of the sources are kept in memory alone; --state DIR makes a restart independent of them"
        );
    }
    let (messages, inbox) = channel();
    let mut wakers: Vec<Box<dyn Fn() + Send + Sync>> = Vec::new();
    let mut readers = Vec::new();
    for (number, spec) in settings.specs.iter().enumerate() {
        let paths: Vec<PathBuf> = match &spec.location {
            Location::Path(path) => vec![path.clone()],
            _ => Vec::new(),
        };
        let watch = Watch::new(&paths, spec.every);
        wakers.push(Box::new(watch.waker()));
        let scratch = copies.as_ref().map(|copies| copies.scratch(&spec.name));
        readers.push(Reading { number, spec: spec.clone(), access: settings.access.clone(), scratch, watch });
    }
    let verification = verification::start(settings, &messages, &service)?;
    let maker = Maker::new(settings, copies, verification, service.clone());
    std::thread::Builder::new().name("reload".into()).spawn(move || maker.run(&inbox, &first_load))?;
    for reading in readers {
        let (messages, service) = (messages.clone(), service.clone());
        let name = format!("read {}", reading.spec.name);
        std::thread::Builder::new().name(name).spawn(move || reading.run(&messages, &service))?;
    }
    let names = settings.specs.iter().map(|spec| spec.name.to_string()).collect();
    Ok(Wakers { names, wakers, messages })
}

/// One source, read again and again.
struct Reading {
    number: usize,
    spec: SourceSpec,
    access: Access,
    scratch: Option<PathBuf>,
    watch: Watch,
}

impl Reading {
    fn run(mut self, messages: &Sender<Message>, service: &Service) {
        let mut reader = None;
        let (mut failures, mut chance) = (0, seed(&self.spec));
        loop {
            let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| self.read(&mut reader, service.now())));
            let outcome = outcome.unwrap_or_else(|_| {
                reader = None;
                Err(own_mistake(&self.spec))
            });
            failures = if outcome.is_ok() { 0 } else { failures + 1 };
            if messages.send(Message::Read { source: self.number, outcome }).is_err() {
                return;
            }
            self.watch.wait_at_most(pause(self.spec.every, failures, &mut chance));
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
        _ => FIRST_RETRY.saturating_mul(1 << (failures - 1).min(16)).min(every),
    };
    *chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    let tenth = u64::try_from(wait.as_micros() / 10).unwrap_or(u64::MAX).max(1);
    wait - Duration::from_micros((*chance >> 33) % tenth)
}

/// Other for each source and each process.
fn seed(spec: &SourceSpec) -> u64 {
    spec.name
        .bytes()
        .fold(u64::from(std::process::id()), |seed, byte| seed.wrapping_mul(31).wrapping_add(u64::from(byte)))
}

fn own_mistake(spec: &SourceSpec) -> Finding {
    let problem = "reading it ended in a mistake of towpath's own";
    let remedy = "the log has the details; please report them";
    Finding::error("internal", Place::file(spec.name.clone()), problem, remedy)
}

/// Makes graphs.
struct Maker {
    intake: Intake,
    copies: Option<Copies>,
    verification: Option<Verification>,
    service: Arc<Service>,
    sources: usize,
    /// Which have been read at least once, be it without success.
    asked: BTreeSet<usize>,
    kept_at: Option<Timestamp>,
    /// What was last said, so that it is said once.
    told: Told,
}

#[derive(Default)]
struct Told {
    problems: Vec<Finding>,
    freshness: BTreeMap<String, Freshness>,
    keeping: Option<Finding>,
}

impl Maker {
    fn new(
        settings: &SourceSettings,
        copies: Option<Copies>,
        verification: Option<Verification>,
        service: Arc<Service>,
    ) -> Self {
        let mut maker = Self {
            intake: Intake::new(settings),
            copies,
            verification,
            service,
            sources: settings.specs.len(),
            asked: BTreeSet::new(),
            kept_at: None,
            told: Told::default(),
        };
        maker.restore();
        maker
    }

    /// Serves what was served before, before any source has been asked.
    fn restore(&mut self) {
        let Some((copies, mut findings)) = self.copies.as_ref().map(Copies::load) else { return };
        findings.extend(self.intake.restore(copies, self.service.now()));
        log_findings(&findings);
        if self.intake.is_complete() {
            tracing::info!("serving what was kept, until the sources have been read");
            self.settle(&[]);
        }
        self.service.sources(self.intake.health());
    }

    fn run(mut self, inbox: &Receiver<Message>, first_load: &tokio::sync::Notify) {
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
        let until = self.intake.next_change(now).map(|at| now.duration_until(at));
        let until = until.and_then(|until| Duration::try_from(until).ok()).unwrap_or(MAX_WAIT);
        until.clamp(Duration::from_millis(1), MAX_WAIT)
    }

    /// Takes a message, and those that come right behind it.
    fn take_flock(&mut self, first: Message, inbox: &Receiver<Message>) -> Vec<Taken> {
        let began = Instant::now();
        let mut taken = Vec::from_iter(self.take(first));
        while began.elapsed() < PATIENCE {
            let Ok(message) = inbox.recv_timeout(TOGETHER) else { break };
            taken.extend(self.take(message));
        }
        taken
    }

    fn take(&mut self, message: Message) -> Option<Taken> {
        match message {
            Message::Read { source, outcome } => {
                self.asked.insert(source);
                let now = self.service.now();
                let taken = std::panic::catch_unwind(AssertUnwindSafe(|| self.intake.take(source, outcome, now)));
                Some(taken.unwrap_or_else(|_| {
                    self.intake.demote(now);
                    Taken::Failed
                }))
            }
            Message::Allow { source, allowed } => {
                self.intake.allow_once(source, &allowed);
                None
            }
            Message::Woken => {
                self.verification.as_mut()?.ask_again();
                None
            }
            Message::Verified(verified) => {
                log_findings(&verified.warnings);
                self.verification.as_mut()?.answered();
                self.intake.verified(verified.verdicts);
                None
            }
        }
    }

    /// Serves what there is to serve now, keeps it, and says what has changed.
    fn settle(&mut self, taken: &[Taken]) {
        let now = self.service.now();
        if self.intake.is_complete()
            && let Some(verification) = &mut self.verification
        {
            verification.ask(self.intake.payloads());
        }
        if self.intake.is_complete() && self.may_make() {
            let served = self.service.snapshot().map(|snapshot| snapshot.digest.clone());
            let is_new = self.intake.has_news() || served.as_deref() != Some(&*self.intake.digest(now));
            match is_new {
                true => self.make(now),
                false if taken.contains(&Taken::Unchanged) && self.intake.problems().is_empty() => {
                    self.service.unchanged()
                }
                false => {}
            }
            self.keep(now, is_new);
        }
        let problems = self.intake.problems();
        let has_asked = self.asked.len() == self.sources || self.service.snapshot().is_some();
        if has_asked && !problems.is_empty() && (taken.contains(&Taken::Failed) || taken.contains(&Taken::Changed)) {
            self.service.failed(problems.clone());
        }
        self.service.sources(self.intake.health());
        self.tell(problems, has_asked, now);
    }

    /// Whether a graph can be made: the first one has to wait for signatures, or it would be without releases.
    fn may_make(&self) -> bool {
        self.service.snapshot().is_some() || self.verification.as_ref().is_none_or(Verification::has_answered)
    }

    fn make(&mut self, now: Timestamp) {
        let made = std::panic::catch_unwind(AssertUnwindSafe(|| self.intake.snapshot(now)));
        let Ok((snapshot, warnings)) = made else {
            self.intake.demote(now);
            self.service.failed(self.intake.problems());
            return;
        };
        let graph = snapshot.graph();
        let (releases, edges, channels) = (graph.releases().len(), graph.edges().len(), graph.channels().len());
        let (digest, warned) = (&snapshot.digest, warnings.len());
        tracing::info!(releases, edges, channels, digest, warnings = warned, "a graph was loaded");
        log_findings(&warnings);
        self.service.replace(snapshot, warnings);
        self.intake.promote();
    }

    fn keep(&mut self, now: Timestamp, is_new: bool) {
        // What was kept is all there is to serve after a restart: it goes only for something that is served.
        if !self.intake.is_promoted() {
            return;
        }
        if let Some(copies) = &self.copies {
            let is_due = self.kept_at.is_none_or(|kept_at| now.duration_since(kept_at) >= CONFIRM_EVERY);
            if !is_new && !is_due {
                return;
            }
            let kept = copies.keep(&self.intake.copies()).err();
            if let Some(finding) = kept.as_ref().filter(|finding| self.told.keeping.as_ref() != Some(finding)) {
                log_findings(std::slice::from_ref(finding));
            }
            self.kept_at = Some(now);
            self.told.keeping = kept;
        }
        if self.told.keeping.is_none() {
            self.intake.forget_bytes();
        }
    }

    /// One line for each change, and none for what stays.
    fn tell(&mut self, problems: Vec<Finding>, has_asked: bool, now: Timestamp) {
        if has_asked && problems != self.told.problems {
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
            self.told.problems = problems;
        }
        let freshness = self.intake.freshness(now);
        for (source, state) in &freshness {
            let before = self.told.freshness.get(source).copied().unwrap_or(Freshness::Fresh);
            match (before == *state, state) {
                (true, _) => {}
                (false, Freshness::Fresh) => tracing::info!(source, "the source is fresh again"),
                (false, Freshness::Degraded) => {
                    tracing::warn!(source, "the source has not been read for long: degraded")
                }
                (false, Freshness::Closed) => {
                    tracing::error!(source, "the source has not been read for too long: nothing is recommended");
                }
            }
        }
        self.told.freshness = freshness;
    }
}

fn log_findings(findings: &[Finding]) {
    for finding in findings.iter().take(MAX_LOGGED) {
        let (place, code, remedy) = (finding.place.to_string(), finding.code, &finding.remedy);
        match finding.is_error() {
            true => tracing::error!(place, code, remedy, "{}", finding.problem),
            false => tracing::warn!(place, code, remedy, "{}", finding.problem),
        }
    }
}

/// Loading anew must not take the processor from requests, nor wait for ever while they take all of it: of a busy core
/// this thread gets about a seventh.
fn yield_to_requests() {
    if let Err(error) = rustix::process::setpriority_process(None, 5) {
        tracing::debug!(%error, "the loading thread's priority could not be lowered");
    }
}
