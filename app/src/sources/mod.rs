//! Sources: one thread reads each source (`source_thread`), one more thread makes graphs of the newest good copies (`maker`).
//!
//! Commands that run once read the same sources through the same intake (`once`), without threads.
//!
//! A source that fails does not hold up the others. The served graph changes when a copy changes, or when one has become too old.

pub(crate) mod address;
mod answered;
mod halts;
mod halts_overlay;
mod images;
mod intake;
mod maker;
mod once;
mod reader;
mod seals;
mod settings;
mod source;
mod source_thread;
mod stricter;
mod update_service;
mod verification;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use towpath_core::finding::{Finding, escaped};
use towpath_core::intake::{Ages, CopyObjection};
use towpath_core::signatures::SignaturePolicy;
use towpath_core::version::Version;
use towpath_sources::{Copies, Watch};
use towpath_web::{ReloadRequest, Service, WakeOutcome};

use crate::cli::failure;
use crate::followed_files::FollowedFiles;
pub(crate) use address::check_plain_http;
use address::{Location, SourceSpec};
pub(crate) use answered::GraphArgs;
pub(crate) use halts::HaltsFeed;
pub(crate) use halts_overlay::HaltsOverlay;
use maker::Maker;
pub(crate) use once::Sources;
pub(crate) use reader::Access;
use reader::SourceReading;
use source_thread::SourceThread;
use verification::VerificationReport;

/// How often the files of keyrings are looked at.
const KEYRINGS_EVERY: std::time::Duration = std::time::Duration::from_millis(250);
/// How many findings of one attempt are logged; `/readyz` has more.
const MAX_LOGGED: usize = 20;

/// Everything about sources that is configured.
#[derive(Debug, Clone)]
pub(crate) struct SourceSettings {
    pub(crate) specs: Vec<SourceSpec>,
    /// Where the newest good copies are kept; none: nowhere.
    pub(crate) state: Option<PathBuf>,
    pub(crate) ages: Ages,
    pub(crate) max_shrink_percent: u8,
    /// What is always allowed, by source.
    pub(crate) allow: BTreeMap<String, BTreeSet<CopyObjection>>,
    pub(crate) windows: WindowGuard,
    pub(crate) access: Access,
    /// Whose signatures count, if any have to.
    pub(crate) signatures: Option<SignatureSettings>,
    /// Whose signatures count for graph data, if it has to be signed.
    pub(crate) seals: Option<SealSettings>,
}

/// Whose signatures count for graph data.
#[derive(Debug, Clone)]
pub(crate) struct SealSettings {
    pub(crate) keyring: Vec<PathBuf>,
    /// Where signatures of images are.
    pub(crate) stores: Vec<String>,
    /// Whether the keyring is not that of the releases.
    pub(crate) has_own_keyring: bool,
}

/// What becomes of graph data that changes a window.
#[derive(Debug, Clone, Default)]
pub(crate) struct WindowGuard {
    /// Refuse it; else it is only told.
    pub(crate) refuse: bool,
    /// Releases whose windows may be changed as one likes.
    pub(crate) allowed_releases: BTreeSet<Version>,
}

/// What a command cannot do without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    GraphDataAndReleases,
    /// Releases are welcome.
    GraphData,
    /// Graph data is welcome.
    Releases,
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
        self.specs
            .iter()
            .any(|spec| spec.location == Location::Example)
    }

    /// Whether there is git, if a source needs it. Without it no copy would ever be refreshed, so the service does not start.
    pub(crate) fn check_git(&self) -> anyhow::Result<()> {
        let mut specs = self.specs.iter();
        let Some(spec) = specs.find(|spec| matches!(spec.location, Location::Git(_))) else {
            return Ok(());
        };
        let path = std::env::var_os("PATH").unwrap_or_default();
        if std::env::split_paths(&path).any(|folder| folder.join("git").is_file()) {
            return Ok(());
        }
        anyhow::bail!(
            "{} {}: there is no `git` command here; in a container, use the image whose tag ends in -git; elsewhere, install git",
            spec.role.flag(),
            spec.shown()
        )
    }

    /// The file with the object that names the sources, if there is one.
    pub(crate) fn update_service(&self) -> Option<&Path> {
        self.specs.iter().find_map(|spec| match &spec.location {
            Location::UpdateService(file) => Some(file.as_path()),
            _ => None,
        })
    }

    /// Whether another service tells us of channels.
    pub(crate) fn has_upstream(&self) -> bool {
        self.specs
            .iter()
            .any(|spec| matches!(spec.location, Location::Upstream { .. }))
    }
}

/// What the thread that makes graphs is told.
enum Message {
    Read {
        source: usize,
        outcome: Box<Result<SourceReading, Finding>>,
    },
    Allow {
        source: usize,
        allowed: Vec<CopyObjection>,
    },
    Discard {
        source: usize,
        names: Vec<String>,
    },
    Verified(VerificationReport),
    /// Somebody wants everything looked at.
    Woken,
}

/// One for each source.
type ReaderWakers = Arc<Vec<Box<dyn Fn() + Send + Sync>>>;

/// Wakes the readers.
pub(crate) struct Wakers {
    names: Vec<String>,
    wakers: ReaderWakers,
    messages: Sender<Message>,
    halts: Option<HaltsFeed>,
}

impl Wakers {
    /// Where the halts of a store go, if they are a source. There is one.
    pub(crate) fn take_halts(&mut self) -> Option<HaltsFeed> {
        self.halts.take()
    }

    /// Lets everybody look.
    pub(crate) fn wake_all(&self) {
        // If nobody listens any more there is nothing to be looked at.
        let _ = self.messages.send(Message::Woken);
        self.wakers.iter().for_each(|wake| wake());
    }

    /// Lets those look who are meant.
    pub(crate) fn wake(&self, wanted: &ReloadRequest) -> WakeOutcome {
        let is_meant = |name: &String| wanted.source.as_ref().is_none_or(|source| source == name);
        let meant: Vec<usize> = (0..self.names.len())
            .filter(|number| is_meant(&self.names[*number]))
            .collect();
        if meant.is_empty() {
            return WakeOutcome::NoSuchSource(self.names.clone());
        }
        // If nobody listens any more there is nothing to be looked at.
        let _ = self.messages.send(Message::Woken);
        for number in &meant {
            if !wanted.allow.is_empty() {
                tracing::warn!(source = self.names[*number], allowed = ?wanted.allow, "the next copy may differ more");
                // If nobody listens any more there is nobody to allow it.
                let _ = self.messages.send(Message::Allow {
                    source: *number,
                    allowed: wanted.allow.clone(),
                });
            }
            if !wanted.discard.is_empty() {
                // If nobody listens any more there is nothing to be discarded.
                let _ = self.messages.send(Message::Discard {
                    source: *number,
                    names: wanted.discard.clone(),
                });
            }
            (self.wakers[*number])();
        }
        WakeOutcome::Sources(
            meant
                .into_iter()
                .map(|number| self.names[number].clone())
                .collect(),
        )
    }
}

/// Starts to read, and to make graphs; tells when the first attempt is over.
pub(crate) fn start(
    settings: &SourceSettings,
    service: Arc<Service>,
    first_load: Arc<tokio::sync::Notify>,
) -> anyhow::Result<Wakers> {
    let keyrings = followed_keyrings(settings);
    let copies = settings.state.as_deref().map(Copies::open).transpose()?;
    if copies.is_none() && !settings.is_example() {
        tracing::info!(
            "copies of the sources are only in memory; with --state DIR a restart does not need the sources"
        );
    }
    if let Some(file) = settings.update_service() {
        update_service::tell_unused(file);
    }
    let (messages, inbox) = channel();
    let mut wakers: Vec<Box<dyn Fn() + Send + Sync>> = Vec::new();
    let mut readers = Vec::new();
    let mut halts = None;
    for (number, spec) in settings.specs.iter().enumerate() {
        if let Location::Halts(_) = spec.location {
            // The fleet has the store, and reads them.
            let woken = Arc::new(tokio::sync::Notify::new());
            halts = Some(HaltsFeed {
                source: number,
                messages: messages.clone(),
                woken: woken.clone(),
            });
            wakers.push(Box::new(move || woken.notify_one()));
            continue;
        }
        let paths: Vec<PathBuf> = match &spec.location {
            Location::Path(path) | Location::UpdateService(path) => vec![path.clone()],
            _ => Vec::new(),
        };
        let watch = Watch::new(&paths, spec.every);
        wakers.push(Box::new(watch.waker()));
        let scratch = copies
            .as_ref()
            .and_then(|copies| copies.scratch(&spec.name));
        readers.push(SourceThread {
            number,
            spec: spec.clone(),
            access: settings.access.clone(),
            scratch,
            watch,
        });
    }
    let verification = verification::start(settings, &messages, &service)?;
    let keys = seals::keys(settings).map_err(|found| failure(&found))?;
    let maker = Maker::new(settings, keys, copies, verification, service.clone());
    std::thread::Builder::new()
        .name("reload".into())
        .spawn(move || maker.run(&inbox, &first_load))?;
    for reading in readers {
        let (messages, service) = (messages.clone(), service.clone());
        let name = format!("read {}", reading.spec.name);
        std::thread::Builder::new()
            .name(name)
            .spawn(move || reading.run(&messages, &service))?;
    }
    let names = settings
        .specs
        .iter()
        .map(|spec| spec.name.to_string())
        .collect();
    let wakers = Arc::new(wakers);
    if let Some(keyrings) = keyrings {
        follow(keyrings, &messages, &wakers)?;
    }
    Ok(Wakers {
        names,
        wakers,
        messages,
        halts,
    })
}

/// The files of all keyrings, if there are some.
fn followed_keyrings(settings: &SourceSettings) -> Option<FollowedFiles> {
    let of_releases = settings.signatures.iter().flat_map(|one| &one.keyring);
    let of_graph_data = settings.seals.iter().flat_map(|one| &one.keyring);
    let files: BTreeSet<PathBuf> = of_releases.chain(of_graph_data).cloned().collect();
    (!files.is_empty()).then(|| FollowedFiles::new(files.into_iter().collect()))
}

/// Has everybody look when a file of a keyring changes.
fn follow(
    mut followed: FollowedFiles,
    messages: &Sender<Message>,
    wakers: &ReaderWakers,
) -> anyhow::Result<()> {
    let (messages, wakers) = (messages.clone(), wakers.clone());
    std::thread::Builder::new()
        .name("keyrings".into())
        .spawn(move || {
            let mut is_heard = true;
            while is_heard {
                std::thread::sleep(KEYRINGS_EVERY);
                followed.look(std::time::Instant::now(), |_| {
                    tracing::info!("a keyring has changed and is read again");
                    is_heard = messages.send(Message::Woken).is_ok();
                    wakers.iter().for_each(|wake| wake());
                    // What is wrong with it is told by those who read it.
                    true
                });
            }
        })?;
    Ok(())
}

fn log_findings(findings: &[Finding]) {
    for finding in findings.iter().take(MAX_LOGGED) {
        let (place, code) = (finding.place.to_string(), finding.code);
        let (problem, remedy) = (escaped(&finding.problem), &*escaped(&finding.remedy));
        match finding.is_error() {
            true => tracing::error!(place, code, remedy, "{problem}"),
            false => tracing::warn!(place, code, remedy, "{problem}"),
        }
    }
}
