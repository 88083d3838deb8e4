//! The decision log and what people have decided, for the fleet API: read from the store, and only while it can be reached.

use std::sync::Arc;

use tokio::sync::Semaphore;
use towpath_core::fleet::{Filter, PersonAct, find_cluster};
use towpath_formats::fleet::log::{self, LogEntry, Repeated};
use towpath_formats::fleet::standing;
use towpath_store::{Store, StoreError, StoredDecision};
use towpath_web::{FleetAnswer, FleetForm};

use super::answers::{Made, check, made, not_found, room};
use super::fleet_backend::{looked, worked};
use super::published_fleet::PublishedFleet;
use super::replay;

/// The decisions of a page, if nobody says how many, …
const PAGE: usize = 50;
/// … and the most.
const MAX_PAGE: usize = 200;
/// The largest input of a decision that is made again for a question. A larger one needs the command line.
const MAX_INPUT_BYTES: u64 = 128 << 20;
const ONE_AT_A_TIME: &str = "another decision is being made again; try again in a few seconds";

/// What answers about the log need.
#[derive(Clone)]
pub(super) struct LogReader {
    pub(super) store: Store,
    /// Each replay takes a processor and memory for a while.
    replays: Arc<Semaphore>,
}

impl LogReader {
    pub(super) fn new(store: Store) -> Self {
        Self {
            store,
            replays: Arc::new(Semaphore::new(1)),
        }
    }

    /// The newest decisions before a number.
    pub(super) async fn decisions(
        self,
        before: Option<i64>,
        limit: Option<usize>,
        form: FleetForm,
    ) -> Result<FleetAnswer, FleetAnswer> {
        let limit = limit.unwrap_or(PAGE).min(MAX_PAGE);
        let before = before.unwrap_or(i64::MAX);
        let read = self.store.decisions_before(before, limit as u32);
        let decisions = read.await.map_err(unavailable)?;
        let pruned = self.store.chain_checkpoint().await.map_err(unavailable)?;
        let first = pruned.as_ref().map_or(1, |pruned| pruned.seq + 1);
        let next = decisions.last().map(|last| last.seq);
        let next = next.filter(|seq| *seq > first);
        let pruned = pruned.map(|pruned| (pruned.seq, pruned.at));
        let written = tokio::task::spawn_blocking(move || {
            let entries: Result<Vec<LogEntry>, String> =
                decisions.iter().map(replay::log_entry).collect();
            let entries = entries.map_err(FleetAnswer::Unavailable)?;
            Ok(match room(form, None) {
                None => Made::Json(log::list(&entries, next, pruned)),
                Some(room) => Made::Text(log::list_text(&entries, room)),
            }
            .written())
        });
        written.await.unwrap_or_else(|_| Err(unprepared()))
    }

    /// One decision, made again now.
    pub(super) async fn decision(
        self,
        number: i64,
        cluster: Option<String>,
        form: FleetForm,
    ) -> Result<FleetAnswer, FleetAnswer> {
        let stored = self.store.decision(number).await.map_err(unavailable)?;
        let Some(stored) = stored else {
            return Err(self.missing(number).await?);
        };
        let bytes = self.store.input_bytes(&stored).await.map_err(unavailable)?;
        let Ok(turn) = self.replays.clone().try_acquire_owned() else {
            return Err(FleetAnswer::Unavailable(ONE_AT_A_TIME.to_owned()));
        };
        let parts = match bytes <= MAX_INPUT_BYTES {
            true => replay::parts(&self.store, &stored)
                .await
                .map_err(|error| format!("{error:#}")),
            false => Err(format!(
                "its input has {} MiB, which is too much for an answer; use `towpath fleet replay --decision {number}`",
                bytes >> 20
            )),
        };
        let written = tokio::task::spawn_blocking(move || {
            let _until_it_is_done = turn;
            whole(&stored, parts, cluster.as_deref(), form)
        });
        written.await.unwrap_or_else(|_| Err(unprepared()))
    }

    /// Why there is no decision of that number.
    async fn missing(&self, number: i64) -> Result<FleetAnswer, FleetAnswer> {
        let pruned = self.store.chain_checkpoint().await.map_err(unavailable)?;
        let newest = self.store.newest_decision().await.map_err(unavailable)?;
        Ok(FleetAnswer::NotFound(match pruned {
            Some(pruned) if number <= pruned.seq => format!(
                "decision {number} was pruned: decisions up to {} are gone; --keep-for sets how long they are kept",
                pruned.seq
            ),
            _ if newest == 0 => format!("there is no decision {number}; the log is empty"),
            _ => format!("there is no decision {number}; the newest is {newest}"),
        }))
    }

    /// What people did, of those who are asked about; or what of it still holds.
    pub(super) async fn acts(
        self,
        questions: Arc<Semaphore>,
        published_fleet: Arc<PublishedFleet>,
        (filter, standing): (Filter, bool),
        form: FleetForm,
    ) -> Result<FleetAnswer, FleetAnswer> {
        let mut acts = self.store.acts().await.map_err(unavailable)?;
        acts.retain(|act: &PersonAct| !standing || act.ended.is_none());
        let made = worked(&questions, super::fleet_backend::BUSY, move || {
            looked(&published_fleet, |published| {
                check(published, &filter)?;
                let planner = &published.planner;
                let acts = standing::meant(acts, planner, &filter).map_err(not_found)?;
                made(
                    form,
                    &filter,
                    |room| standing::text(&acts, planner, room),
                    || standing::page(&acts, planner, &filter),
                )
            })
        });
        Ok(made.await?.written())
    }
}

/// Makes a decision again and tells of it.
fn whole(
    stored: &StoredDecision,
    parts: Result<Vec<(String, Vec<u8>)>, String>,
    cluster: Option<&str>,
    form: FleetForm,
) -> Result<FleetAnswer, FleetAnswer> {
    let entry = replay::log_entry(stored).map_err(FleetAnswer::Unavailable)?;
    let (result, fleet) = match replay::is_of_a_watch(stored) {
        true => (
            parts.and_then(|parts| replay::watch_made_again(stored, &parts)),
            None,
        ),
        false => match parts.and_then(|parts| replay::make_again(stored, &parts)) {
            Ok((planner, decision, again)) => {
                (log::replay(&stored.body, &again), Some((planner, decision)))
            }
            Err(problem) => (Err(problem), None),
        },
    };
    let cluster = match (cluster, &fleet) {
        (Some(name), Some((planner, _))) => Some(find_cluster(planner, name).map_err(not_found)?),
        _ => None,
    };
    let repeated = Repeated {
        result,
        made: fleet
            .as_ref()
            .map(|(planner, decision)| (planner, decision)),
        cluster,
    };
    Ok(match room(form, None) {
        None => Made::Json(log::whole(&entry, &repeated)),
        Some(_) => Made::Text(log::whole_text(&entry, &repeated)),
    }
    .written())
}

pub(super) fn unavailable(error: StoreError) -> FleetAnswer {
    FleetAnswer::Unavailable(error.to_string())
}

fn unprepared() -> FleetAnswer {
    FleetAnswer::Unavailable("the answer could not be prepared".into())
}
