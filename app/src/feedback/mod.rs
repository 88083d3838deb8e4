//! Feedback: the watch over releases that are rolled out, beside the fleet's scheduler.
//!
//! Every replica reads the attempts and judges, so that each can answer. Only the one that holds the watch's lease writes decisions
//! down and acts. While the store is unavailable nothing is decided, and halts that stand stay.

mod args;
mod proposals;
mod published_watch;
#[cfg(test)]
mod tests;
mod watcher;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use tokio::task::JoinHandle;
use towpath_core::feedback::{Mode, WatchDecision};
use towpath_core::finding::Place;
use towpath_core::repeats::Repeats;
use towpath_core::version::Version;
use towpath_formats::feedback as told;
use towpath_formats::feedback::policy::{self, FeedbackFile, MAX_BYTES};
use towpath_formats::room::Room;
use towpath_sources::read_file;
use towpath_store::Store;
use towpath_web::{Clock, FleetAnswer, FleetForm, Service};

pub(crate) use self::args::FeedbackArgs;
pub(crate) use self::published_watch::PublishedWatch;
pub(crate) use self::watcher::Watcher;
use crate::cli::failure;
use crate::fleet::lease::give_back;
use crate::fleet::published_fleet::{GraphSource, PublishedFleet};
use crate::sources::Access;

/// How often it is looked for attempts that another replica has written.
const LOOK_EVERY: Duration = Duration::from_millis(400);
/// Reports come in crowds: this long after one, those beside it are there too.
const GATHER: Duration = Duration::from_millis(50);

/// The feedback policy of a file, or the built-in one.
pub(crate) fn read(path: Option<&Path>) -> anyhow::Result<FeedbackFile> {
    let Some(path) = path else {
        return Ok(FeedbackFile::default());
    };
    let bytes = read_file(path, MAX_BYTES as u64)?;
    policy::read(&Place::file(path.display().to_string()), &bytes)
        .map_err(|findings| failure(&findings))
}

/// In a few words, for the log: `channels are in the mode observe, 2 named in the mode propose`.
fn in_words(file: &FeedbackFile) -> String {
    let counts = Mode::ALL.map(|mode| {
        let channels = file.policy.channels.values();
        (
            mode,
            channels.filter(|settings| settings.mode == mode).count(),
        )
    });
    let named = counts.iter().filter(|(_, count)| *count > 0);
    let named: String = named
        .map(|(mode, count)| format!(", {count} named in the mode {}", mode.code()))
        .collect();
    format!(
        "channels are in the mode {}{named}",
        file.policy.default.mode.code()
    )
}

/// What the watch last said, about one release or about all.
pub(crate) fn answer(
    watch: &PublishedWatch,
    release: Option<&Version>,
    form: FleetForm,
) -> Result<FleetAnswer, FleetAnswer> {
    let (decisions, at) = match watch.last() {
        Some((decisions, at)) => (decisions, Some(at)),
        None if release.is_none() => (Arc::default(), None),
        None => {
            let sentence =
                "the watch has not looked at the attempts yet; try again in a few seconds";
            return Err(FleetAnswer::Unavailable(sentence.to_owned()));
        }
    };
    let is_wanted = |one: &&WatchDecision| release.is_none_or(|of| one.watched.release == *of);
    let wanted: Vec<&WatchDecision> = decisions.iter().filter(is_wanted).collect();
    if let (Some(release), true) = (release, wanted.is_empty()) {
        let sentence = format!(
            "{release} is not watched: it has entered no channel in the last 90 days, and no cluster has tried it"
        );
        return Err(FleetAnswer::NotFound(sentence));
    }
    Ok(match form {
        FleetForm::Json => FleetAnswer::Json(told::json(&wanted, at).to_string()),
        FleetForm::Text { width } => {
            let room = Room {
                width,
                ..Room::default()
            };
            FleetAnswer::Text(told::all_text(&wanted, at, room))
        }
        FleetForm::Markdown => FleetAnswer::Text(told::all_text(&wanted, at, Room::default())),
    })
}

/// A watch that runs in the background.
pub(crate) struct BackgroundWatch {
    work: JoinHandle<()>,
    store: Store,
    owner: String,
}

impl BackgroundWatch {
    /// Starts watching.
    pub(crate) fn start(
        store: Store,
        file: FeedbackFile,
        service: Arc<Service>,
        fleet: Arc<PublishedFleet>,
        access: &Access,
        clock: Clock,
    ) -> anyhow::Result<Self> {
        tracing::info!("the watch begins: {}", in_words(&file));
        let graph = GraphSource::Served(service.clone());
        let watcher = Watcher::new(store.clone(), file, graph, fleet.watch.clone(), access)
            .context("the watch cannot start")?;
        let owner = watcher.owner().to_owned();
        let work = tokio::spawn(watch_on(watcher, service, fleet, clock));
        Ok(Self { work, store, owner })
    }

    /// Ends, and lets another replica take over at once.
    pub(crate) async fn stop(self) {
        self.work.abort();
        // It ends by being aborted, which is an error to nobody.
        let _ = self.work.await;
        give_back(&self.store, watcher::LEASE, &self.owner).await;
    }
}

/// Looks for ever. Each look shows in this replica's metrics at once, whoever holds the lease.
async fn watch_on(
    mut watcher: Watcher,
    service: Arc<Service>,
    fleet: Arc<PublishedFleet>,
    clock: Clock,
) {
    let (mut failures, began) = (Repeats::default(), Instant::now());
    let mut shown = None;
    loop {
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {}
            () = fleet.reports_came.notified() => tokio::time::sleep(GATHER).await,
        }
        if let Err(error) = watcher.pass(clock()).await {
            fleet.watch.pass_failed();
            if let Some(more) = failures.came(began.elapsed()) {
                tracing::error!(
                    "the watch could not look at the attempts; nothing is decided, and halts stay: {error:#}{more}"
                );
            }
        }
        let metrics = fleet.watch.metrics();
        if shown.as_ref() != Some(&metrics) {
            service.watch_metrics(metrics.clone());
            shown = Some(metrics);
        }
    }
}
