//! Updates that agents report. Each is stored once, even if it is reported again.
//!
//! The names of the last reports are kept as well, so that a repeated report is recognised.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use sqlx::Row;
use towpath_core::cluster::ClusterId;
use towpath_core::fleet::{AgentOutcome, AgentUpdate};

use crate::reports::{ClusterReport, WriteFailure};
use crate::rows::{self, damaged, nanoseconds, time};
use crate::{Result, Store, Tx};

/// How many report names are kept for each cluster.
const LAST_REPORTS: usize = 16;
/// How many outcomes are kept for each cluster: the newest.
const MAX_UPDATES: i64 = 256;

impl Store {
    /// The outcomes of a cluster's updates that were reported up to this time, newest first.
    ///
    /// Pass the time of the cluster state that you show: then no update is newer than the version beside it.
    pub async fn agent_updates(
        &self,
        cluster: &ClusterId,
        until: Timestamp,
    ) -> Result<Vec<AgentUpdate>> {
        let text = "SELECT to_version, outcome, why, started_at, took_seconds, automatic FROM agent_updates \
                    WHERE cluster = $1 AND reported_at <= $2 ORDER BY started_at DESC, to_version, outcome";
        let until = nanoseconds(until)?;
        let rows = sqlx::query(text)
            .bind(cluster.as_str())
            .bind(until)
            .fetch_all(&self.inner.reader)
            .await?;
        rows.iter().map(update).collect()
    }
}

fn update(row: &sqlx::any::AnyRow) -> Result<AgentUpdate> {
    let (outcome, took): (String, Option<i64>) = (rows::text(row, 1)?, row.try_get(4)?);
    let automatic: i64 = row.try_get(5)?;
    Ok(AgentUpdate {
        to: rows::version(&rows::text(row, 0)?)?,
        outcome: AgentOutcome::of_code(&outcome)
            .ok_or_else(|| damaged("the outcome of an update", &outcome))?,
        why: rows::text(row, 2)?.into(),
        started_at: time(row.try_get(3)?),
        took: took.map(SignedDuration::from_secs),
        is_automatic: automatic != 0,
    })
}

/// Whether a report is new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrival {
    First,
    Again,
}

/// The updates in a batch of reports. Use it while the rows of the clusters are locked.
#[derive(Default)]
pub(crate) struct ReportedUpdates<'a> {
    /// The names of each cluster's last reports, oldest first.
    last: BTreeMap<&'a str, VecDeque<String>>,
    is_new: BTreeSet<&'a str>,
    updates: Vec<(&'a ClusterReport, &'a AgentUpdate)>,
}

impl<'a> ReportedUpdates<'a> {
    /// Reads the names of known reports. Without named reports, it sends no query.
    pub(crate) async fn read(
        tx: &mut Tx,
        reports: &[&'a ClusterReport],
    ) -> Result<Self, WriteFailure> {
        let named = reports
            .iter()
            .filter(|report| report.id.is_some())
            .map(|report| report.state.id.as_str());
        let mut last: BTreeMap<&str, VecDeque<String>> =
            named.map(|cluster| (cluster, VecDeque::new())).collect();
        if !last.is_empty() {
            let clusters: Vec<[&str; 1]> = last.keys().map(|cluster| [*cluster]).collect();
            let select = "SELECT cluster, ids FROM report_ids WHERE cluster IN (SELECT value->>0 FROM {rows}) ORDER BY cluster";
            for row in tx.fetch(select, &json!(clusters).to_string()).await? {
                let (cluster, ids) = (rows::text(&row, 0)?, rows::text(&row, 1)?);
                let ids = serde_json::from_str(&ids)
                    .map_err(|error| damaged("the names of reports", error))?;
                if let Some(known) = last.get_mut(cluster.as_str()) {
                    *known = ids;
                }
            }
        }
        Ok(Self {
            last,
            ..Self::default()
        })
    }

    /// Adds a report, unless it is known.
    pub(crate) fn take(&mut self, report: &'a ClusterReport) -> Arrival {
        let cluster = report.state.id.as_str();
        if let (Some(id), Some(last)) = (&report.id, self.last.get_mut(cluster)) {
            if last.iter().any(|known| **known == **id) {
                return Arrival::Again;
            }
            last.push_back(id.to_string());
            while last.len() > LAST_REPORTS {
                last.pop_front();
            }
            self.is_new.insert(cluster);
        }
        self.updates
            .extend(report.updates.iter().map(|update| (report, update)));
        Arrival::First
    }

    /// Writes the updates. Returns the new outcomes.
    pub(crate) async fn write(&self, tx: &mut Tx) -> Result<Vec<AgentOutcome>, WriteFailure> {
        let of_new = self
            .last
            .iter()
            .filter(|(cluster, _)| self.is_new.contains(**cluster));
        let ids: Vec<(&str, String)> = of_new
            .map(|(cluster, ids)| (*cluster, json!(ids).to_string()))
            .collect();
        if !ids.is_empty() {
            let upsert = "INSERT INTO report_ids (cluster, ids) SELECT value->>0, value->>1 FROM {rows} WHERE true \
                 ON CONFLICT (cluster) DO UPDATE SET ids = excluded.ids";
            tx.execute(upsert, &json!(ids).to_string()).await?;
        }
        match self.updates.is_empty() {
            true => Ok(Vec::new()),
            false => self.write_updates(tx).await,
        }
    }

    async fn write_updates(&self, tx: &mut Tx) -> Result<Vec<AgentOutcome>, WriteFailure> {
        let mut list = Vec::with_capacity(self.updates.len());
        for (report, update) in &self.updates {
            list.push(json!([
                report.state.id.as_str(),
                update.to.to_string(),
                nanoseconds(update.started_at)?,
                update.outcome.code(),
                &*update.why,
                update.took.map(|took| took.as_secs()),
                i64::from(update.is_automatic),
                nanoseconds(report.state.last_seen)?,
            ]));
        }
        let insert = "INSERT INTO agent_updates (cluster, to_version, started_at, outcome, why, took_seconds, automatic, reported_at) \
             SELECT value->>0, value->>1, CAST(value->>2 AS BIGINT), value->>3, value->>4, CAST(value->>5 AS BIGINT), \
             CAST(value->>6 AS BIGINT), CAST(value->>7 AS BIGINT) FROM {rows} WHERE true \
             ON CONFLICT (cluster, to_version, started_at, outcome) DO NOTHING RETURNING outcome";
        let rows = tx.fetch(insert, &json!(list).to_string()).await?;
        let outcome = |row: &sqlx::any::AnyRow| -> Result<AgentOutcome> {
            let code = rows::text(row, 0)?;
            AgentOutcome::of_code(&code).ok_or_else(|| damaged("the outcome of an update", code))
        };
        let outcomes = rows.iter().map(outcome).collect::<Result<Vec<_>>>()?;
        let clusters: BTreeSet<[&str; 1]> = self
            .updates
            .iter()
            .map(|(report, _)| [report.state.id.as_str()])
            .collect();
        let clear_away = format!(
            "DELETE FROM agent_updates WHERE (cluster, to_version, started_at, outcome) IN \
             (SELECT cluster, to_version, started_at, outcome FROM (SELECT cluster, to_version, started_at, outcome, \
             ROW_NUMBER() OVER (PARTITION BY cluster ORDER BY started_at DESC, to_version, outcome) AS place \
             FROM agent_updates WHERE cluster IN (SELECT value->>0 FROM {{rows}})) AS placed WHERE place > {MAX_UPDATES})"
        );
        tx.execute(&clear_away, &json!(clusters).to_string())
            .await?;
        Ok(outcomes)
    }
}

pub(crate) fn are_fit(updates: &[AgentUpdate]) -> bool {
    updates
        .iter()
        .all(|update| rows::storable(&update.why) && nanoseconds(update.started_at).is_ok())
}
