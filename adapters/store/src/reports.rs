//! Records reports of clusters, in batches.
//!
//! A batch is one transaction of a few statements, whatever its size. A cluster's newest span is in the cluster's own row,
//! so that a report without news costs one update.
//!
//! Rows are locked in the order of their ids, so that batches cannot deadlock. If a batch has new clusters, it starts again
//! and inserts empty rows before it locks any. So two batches with the same new cluster create it once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use sqlx::Row;
use towpath_core::cluster::ClusterId;
use towpath_core::feedback::{HistoryStep, Testimony, TimeLimits, Told};
use towpath_core::fleet::{
    AgentOutcome, AgentUpdate, Authority, BoundIdentity, ClusterState, Name, NotAsBound,
    Observation, PreflightResult, Span, SpanChange, observe, observe_late,
};
use towpath_core::version::Version;

use crate::agent_updates::{Arrival, ReportedUpdates, are_fit};
use crate::attempts;
use crate::error::is_race;
use crate::preflights::write_results;
use crate::prune::limit_spans;
use crate::rows::{self, Facts, nanoseconds, storable, time};
use crate::{Backend, Result, Store, StoreError, Tx, bounded};

/// The most reports that one call takes.
pub const MAX_BATCH: usize = 10_000;
/// How often a batch that lost a race is retried.
const MAX_TRIES: u32 = 5;

/// A report, parsed and as received.
#[derive(Debug, Clone)]
pub struct ClusterReport {
    /// The parsed state. Only a list has offers; those are stored. A report has none: then the graph says.
    pub state: ClusterState,
    /// Whether it may bind the cluster to its organisation and name.
    pub authority: Authority,
    /// As received, for people.
    pub body: Arc<str>,
    /// Its name, so that a repeated report is recognised.
    pub id: Option<Name>,
    pub updates: Vec<AgentUpdate>,
    /// What became of preflights.
    pub preflights: Vec<PreflightResult>,
    /// The versions that it has run or tried to, newest first.
    pub history: Vec<HistoryStep>,
    /// Whether the cluster says that an update of it fails.
    pub is_failing: bool,
    /// How long updates that start now may take.
    pub limits: Arc<TimeLimits>,
    /// Earlier time does not count as soak, because the report arrived too late. None: all time counts.
    pub counts_from: Option<Timestamp>,
}

/// The outcome of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchOutcome {
    pub recorded: Vec<RecordOutcome>,
    /// The new outcomes of updates.
    pub outcomes: Vec<AgentOutcome>,
}

/// The outcome of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordOutcome {
    /// It extends the cluster's newest span.
    Extended,
    /// A new span begins: the cluster is new, has another version or health, or was silent for too long.
    Began,
    /// It is a repetition, or not newer than the stored state, and changed nothing. Its updates are still stored, once.
    Nothing,
    /// Its organisation or name differs from the cluster's binding. It changed nothing.
    NotAsBound,
    /// It cannot be stored: a name has a NUL, or a time is out of range.
    Unfit,
}

impl Store {
    /// Records reports, in order, all or none. Time between two reports of a cluster counts up to the allowance.
    ///
    /// Repeating a report changes nothing.
    pub async fn record(
        &self,
        reports: &[ClusterReport],
        allowance: SignedDuration,
    ) -> Result<Vec<RecordOutcome>> {
        Ok(self.record_all(reports, allowance).await?.recorded)
    }

    /// Like [`Store::record`], and returns which outcomes of updates are new.
    pub async fn record_all(
        &self,
        reports: &[ClusterReport],
        allowance: SignedDuration,
    ) -> Result<BatchOutcome> {
        if reports.len() > MAX_BATCH {
            return Err(StoreError::Bad(format!(
                "{} reports at once; {MAX_BATCH} is the limit",
                reports.len()
            )));
        }
        let fit: Vec<&ClusterReport> = reports.iter().filter(|report| report.is_fit()).collect();
        if fit.is_empty() {
            return Ok(BatchOutcome {
                recorded: vec![RecordOutcome::Unfit; reports.len()],
                outcomes: Vec::new(),
            });
        }
        let written = bounded(self.record_fit(&fit, allowance)).await?;
        let mut recorded = written.recorded.into_iter();
        let outcome = |report: &ClusterReport| match report.is_fit() {
            true => recorded.next().unwrap_or(RecordOutcome::Nothing),
            false => RecordOutcome::Unfit,
        };
        Ok(BatchOutcome {
            recorded: reports.iter().map(outcome).collect(),
            outcomes: written.outcomes,
        })
    }

    async fn record_fit(
        &self,
        reports: &[&ClusterReport],
        allowance: SignedDuration,
    ) -> Result<BatchOutcome> {
        let (mut tries, mut all_known) = (1, true);
        loop {
            match self.try_record(reports, allowance, all_known).await {
                Err(WriteFailure::NewClusters) if all_known => all_known = false,
                Err(WriteFailure::NewClusters) => {
                    return Err(rows::damaged("a locked cluster", "it is gone"));
                }
                Err(WriteFailure::Race(_)) if tries < MAX_TRIES => tries += 1,
                Err(WriteFailure::Race(error)) => return Err(error.into()),
                Err(WriteFailure::Other(error)) => return Err(error),
                Ok(written) => return Ok(written),
            }
        }
    }

    async fn try_record(
        &self,
        reports: &[&ClusterReport],
        allowance: SignedDuration,
        all_known: bool,
    ) -> Result<BatchOutcome, WriteFailure> {
        let ids: BTreeSet<[&str; 1]> = reports
            .iter()
            .map(|report| [report.state.id.as_str()])
            .collect();
        let ids = json!(ids).to_string();
        let mut tx = self.write().await?;
        if !all_known {
            make_room(&mut tx, &ids).await?;
        }
        let mut known = lock(&mut tx, ids).await?;
        let mut told = ReportedUpdates::read(&mut tx, reports).await?;
        let mut closed: Vec<Span> = Vec::new();
        let mut recorded = Vec::with_capacity(reports.len());
        let mut answers: Vec<&ClusterReport> = Vec::new();
        let mut testimonies: Vec<Testimony> = Vec::new();
        for report in reports {
            let at = known
                .get_mut(&report.state.id)
                .ok_or(WriteFailure::NewClusters)?;
            if at.bind(report).is_err() {
                recorded.push(RecordOutcome::NotAsBound);
                continue;
            }
            answers.push(report);
            recorded.push(match told.take(report) {
                Arrival::Again => RecordOutcome::Nothing,
                Arrival::First => {
                    // Also of one that came late: what it tells of updates is as true as before.
                    testimonies.push(at.testimony(report));
                    at.join(report, allowance, &mut closed)
                }
            });
        }
        known.retain(|_, known| known.report.is_some() || known.bound_from.is_some());
        if !known.is_empty() {
            number_change(&mut tx).await?;
            update(&mut tx, &known).await?;
            bind(&mut tx, &known).await?;
        }
        if !closed.is_empty() {
            keep(&mut tx, &closed).await?;
            limit_spans(
                &mut tx,
                &closed.iter().map(|span| [span.cluster.as_str()]).collect(),
            )
            .await?;
        }
        let outcomes = told.write(&mut tx).await?;
        write_results(&mut tx, &answers).await?;
        attempts::write(&mut tx, &testimonies).await?;
        tx.inner.commit().await?;
        Ok(BatchOutcome { recorded, outcomes })
    }
}

impl ClusterReport {
    /// From an administrator's list: without a report name and without updates.
    pub fn listed(state: ClusterState) -> Self {
        let (body, updates) = ("{}".into(), Vec::new());
        Self {
            state,
            authority: Authority::List,
            body,
            id: None,
            updates,
            preflights: Vec::new(),
            history: Vec::new(),
            is_failing: false,
            limits: Arc::default(),
            counts_from: None,
        }
    }

    /// The identity that the report claims. Without a name, the cluster's id is its name. A token always has a name.
    fn identity(&self) -> BoundIdentity {
        let is_said =
            self.authority == Authority::Token || *self.state.name != *self.state.id.as_str();
        let name = is_said.then(|| self.state.name.clone());
        BoundIdentity {
            organisation: self.state.organisation.clone(),
            name,
        }
    }

    fn is_fit(&self) -> bool {
        let state = &self.state;
        [
            state.id.as_str(),
            &state.organisation,
            &state.name,
            state.arch.as_str(),
            &self.body,
        ]
        .into_iter()
        .all(storable)
            && are_fit(&self.updates)
            && self.preflights.iter().all(|one| storable(&one.why))
            && [state.version_since, state.last_seen]
                .into_iter()
                .all(|time| nanoseconds(time).is_ok())
    }
}

/// What is known of a cluster while a batch is recorded.
struct KnownCluster<'a> {
    newest: Option<Span>,
    version_since: Option<Timestamp>,
    /// Its name; empty if unknown.
    name: Name,
    /// The identity that it is bound to.
    bound_to: Option<BoundIdentity>,
    /// Since when it is bound, if this batch has bound it.
    bound_from: Option<Timestamp>,
    /// The last report that changed it.
    report: Option<&'a ClusterReport>,
}

impl<'a> KnownCluster<'a> {
    /// Binds the cluster to the report's identity, if the report has the authority.
    fn bind(&mut self, report: &ClusterReport) -> Result<(), NotAsBound> {
        let said = report.identity();
        let binding = report.authority.bind(self.bound_to.as_ref(), &said)?;
        // What only the cluster called itself is worth nothing once somebody in charge speaks.
        let known = Some(&self.name)
            .filter(|name| !name.is_empty() && (self.bound_to.is_some() || !binding.is_bound()));
        let name = said
            .name
            .or_else(|| known.cloned())
            .unwrap_or_else(|| report.state.id.as_str().into());
        if binding.is_bound() && self.bound_to.is_none() {
            // Time that was reported before counts for nobody, even if this report is older.
            let newest = self
                .newest
                .as_ref()
                .map_or(report.state.last_seen, |newest| newest.until);
            self.bound_from = Some(newest.max(report.state.last_seen));
        }
        self.bound_to = binding.is_bound().then(|| BoundIdentity {
            organisation: said.organisation,
            name: Some(name.clone()),
        });
        self.name = name;
        Ok(())
    }

    /// What the report tells of the cluster's updates. Whose the cluster is counts only on the word of somebody in charge.
    fn testimony(&self, report: &ClusterReport) -> Testimony {
        let state = &report.state;
        let told = Told {
            version: &state.version,
            desired: state.going_to.as_ref(),
            history: &report.history,
            is_failing: report.is_failing,
            is_healthy: state.health.is_healthy(),
            updates: &report.updates,
            at: state.last_seen,
        };
        let bound_to = self.bound_to.as_ref();
        Testimony {
            cluster: state.id.clone(),
            organisation: bound_to.map_or_else(Name::default, |to| to.organisation.clone()),
            platform: state.platform.clone(),
            arch: state.arch.clone(),
            evidence: told.evidence(),
            limits: report.limits.clone(),
        }
    }

    fn join(
        &mut self,
        report: &'a ClusterReport,
        allowance: SignedDuration,
        closed: &mut Vec<Span>,
    ) -> RecordOutcome {
        let state = &report.state;
        let seen = Observation {
            cluster: state.id.clone(),
            version: state.version.clone(),
            health: state.health.clone(),
            at: state.last_seen,
        };
        let is_long_ago = |span: &Span| report.counts_from.is_some_and(|from| span.until < from);
        // Nor does time count that a bound cluster tells of on nobody's word but its own.
        let is_claim = report.authority == Authority::Claim && self.bound_to.is_some();
        let came_late = is_claim || self.newest.as_ref().is_some_and(is_long_ago);
        let observed = match came_late {
            true => observe_late(self.newest.as_ref(), &seen),
            false => observe(self.newest.as_ref(), &seen, allowance),
        };
        let (span, recorded) = match observed {
            SpanChange::Nothing => return RecordOutcome::Nothing,
            SpanChange::Extended(span) => (span, RecordOutcome::Extended),
            SpanChange::Began(span) => {
                // One report alone lasts for no time. They come in flocks: late ones, and those of a cluster that flaps.
                closed.extend(
                    self.newest
                        .clone()
                        .filter(|newest| newest.from < newest.until),
                );
                (span, RecordOutcome::Began)
            }
        };
        let stays = self
            .newest
            .as_ref()
            .is_some_and(|newest| newest.version == state.version);
        self.version_since = match self.version_since {
            Some(since) if stays => Some(since),
            _ => Some(state.version_since.min(state.last_seen)),
        };
        self.newest = Some(span);
        self.report = Some(report);
        recorded
    }
}

/// Inserts empty rows for new clusters.
async fn make_room(tx: &mut Tx, ids: &str) -> Result<(), WriteFailure> {
    let insert = "INSERT INTO clusters (id, organisation, name, version, version_since, last_seen, healthy, span_from, facts, body, \
         workloads, gone, changed) SELECT r.id, '', '', '', 0, 0, 0, NULL, '', '', '[]', 0, 0 \
         FROM (SELECT value->>0 AS id FROM {rows}) AS r \
         WHERE NOT EXISTS (SELECT 1 FROM clusters c WHERE c.id = r.id) ORDER BY r.id ON CONFLICT (id) DO NOTHING";
    tx.execute(insert, ids).await?;
    Ok(())
}

/// Locks the existing clusters in the order of their ids, and reads them.
async fn lock<'a>(
    tx: &mut Tx,
    ids: String,
) -> Result<BTreeMap<ClusterId, KnownCluster<'a>>, WriteFailure> {
    let select = "SELECT id, version, healthy, span_from, last_seen, version_since, organisation, name FROM clusters \
         WHERE id IN (SELECT value->>0 FROM {rows}) ORDER BY id {lock}";
    let rows = tx.fetch(select, &ids).await?;
    // Asked for once the rows are locked: whoever had them may just have bound some.
    let select = "SELECT cluster FROM bindings WHERE until_at IS NULL AND cluster IN (SELECT value->>0 FROM {rows})";
    let bound = tx.fetch(select, &ids).await?;
    let bound: BTreeSet<String> = bound
        .iter()
        .map(|row| rows::text(row, 0))
        .collect::<Result<_>>()?;
    let mut known = BTreeMap::new();
    for row in &rows {
        let id = rows::id(&rows::text(row, 0)?)?;
        let from: Option<i64> = row.try_get(3)?;
        let (organisation, name): (Name, Name) =
            (rows::text(row, 6)?.into(), rows::text(row, 7)?.into());
        let identity = || BoundIdentity {
            organisation,
            name: Some(name.clone()),
        };
        let bound_to = bound.contains(id.as_str()).then(identity);
        let unknown = KnownCluster {
            newest: None,
            version_since: None,
            name,
            bound_to,
            bound_from: None,
            report: None,
        };
        let entry = match from {
            None => unknown,
            Some(from) => {
                let (healthy, until, since): (i64, i64, i64) =
                    (row.try_get(2)?, row.try_get(4)?, row.try_get(5)?);
                let version: Version = rows::version(&rows::text(row, 1)?)?;
                let newest = Span {
                    cluster: id.clone(),
                    version,
                    healthy: healthy != 0,
                    from: time(from),
                    until: time(until),
                };
                KnownCluster {
                    newest: Some(newest),
                    version_since: Some(time(since)),
                    ..unknown
                }
            }
        };
        known.insert(id, entry);
    }
    Ok(known)
}

/// Gives the running transaction a number. PostgreSQL numbers its transactions itself.
pub(crate) async fn number_change(tx: &mut Tx) -> Result<(), sqlx::Error> {
    if tx.backend == Backend::Sqlite {
        sqlx::query("UPDATE counters SET value = value + 1 WHERE name = 'changes'")
            .execute(tx.on())
            .await?;
    }
    Ok(())
}

/// Writes the new state of the clusters.
async fn update(
    tx: &mut Tx,
    known: &BTreeMap<ClusterId, KnownCluster<'_>>,
) -> Result<(), WriteFailure> {
    let mut list = Vec::with_capacity(known.len());
    for known in known.values() {
        let (Some(report), Some(span), Some(since)) =
            (known.report, &known.newest, known.version_since)
        else {
            continue;
        };
        let state = &report.state;
        list.push((
            state.id.as_str(),
            &*state.organisation,
            &*known.name,
            span.version.to_string(),
            nanoseconds(since)?,
            nanoseconds(span.until)?,
            i64::from(span.healthy),
            nanoseconds(span.from)?,
            serde_json::to_string(&Facts::of(state))
                .map_err(|error| StoreError::Bad(error.to_string()))?,
            &*report.body,
        ));
    }
    let list = serde_json::to_string(&list).map_err(|error| StoreError::Bad(error.to_string()))?;
    let update = "UPDATE clusters SET organisation = r.organisation, \
         name = r.name, version = r.version, \
         version_since = r.version_since, last_seen = r.last_seen, healthy = r.healthy, span_from = r.span_from, \
         facts = r.facts, body = r.body, gone = 0, changed = {change} \
         FROM (SELECT value->>0 AS id, value->>1 AS organisation, value->>2 AS name, value->>3 AS version, \
         CAST(value->>4 AS BIGINT) AS version_since, CAST(value->>5 AS BIGINT) AS last_seen, \
         CAST(value->>6 AS BIGINT) AS healthy, CAST(value->>7 AS BIGINT) AS span_from, value->>8 AS facts, \
         value->>9 AS body FROM {rows}) AS r WHERE clusters.id = r.id";
    tx.execute(update, &list).await?;
    Ok(())
}

/// Writes new bindings. The name is updated even if the report was too old to change anything else.
async fn bind(
    tx: &mut Tx,
    known: &BTreeMap<ClusterId, KnownCluster<'_>>,
) -> Result<(), WriteFailure> {
    let mut list = Vec::new();
    for (id, known) in known {
        if let (Some(from), Some(bound_to)) = (known.bound_from, &known.bound_to) {
            list.push((
                id.as_str(),
                nanoseconds(from)?,
                &*bound_to.organisation,
                &*known.name,
            ));
        }
    }
    if list.is_empty() {
        return Ok(());
    }
    let list = serde_json::to_string(&list).map_err(|error| StoreError::Bad(error.to_string()))?;
    let insert = "INSERT INTO bindings (cluster, since, until_at) SELECT value->>0, CAST(value->>1 AS BIGINT), NULL FROM {rows}";
    tx.execute(insert, &list).await?;
    let update = "UPDATE clusters SET organisation = r.organisation, name = r.name, changed = {change} \
         FROM (SELECT value->>0 AS id, value->>2 AS organisation, value->>3 AS name FROM {rows}) AS r \
         WHERE clusters.id = r.id";
    tx.execute(update, &list).await?;
    Ok(())
}

/// Stores spans that have ended.
async fn keep(tx: &mut Tx, closed: &[Span]) -> Result<(), WriteFailure> {
    let mut list = Vec::with_capacity(closed.len());
    for span in closed {
        let (from, until) = (nanoseconds(span.from)?, nanoseconds(span.until)?);
        list.push(json!([
            span.cluster.as_str(),
            from,
            until,
            span.version.to_string(),
            i64::from(span.healthy)
        ]));
    }
    let insert = "INSERT INTO spans (cluster, from_at, until_at, version, healthy) \
         SELECT value->>0, CAST(value->>1 AS BIGINT), CAST(value->>2 AS BIGINT), value->>3, CAST(value->>4 AS BIGINT) \
         FROM {rows}";
    tx.execute(insert, &json!(list).to_string()).await?;
    Ok(())
}

pub(crate) enum WriteFailure {
    /// Some clusters have no row yet.
    NewClusters,
    /// It lost a race and may be retried.
    Race(sqlx::Error),
    Other(StoreError),
}

impl From<sqlx::Error> for WriteFailure {
    fn from(error: sqlx::Error) -> Self {
        match is_race(&error) {
            true => Self::Race(error),
            false => Self::Other(error.into()),
        }
    }
}

impl From<StoreError> for WriteFailure {
    fn from(error: StoreError) -> Self {
        Self::Other(error)
    }
}
