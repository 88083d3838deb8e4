//! Pruning: removes old data without changing any decision.
//!
//! - **Spans** are kept in detail for a while; then only their sum stays, by cluster and version. Soak is a sum, so it does
//!   not change. A cluster with too many spans has the oldest summed up at once, so a flood of reports costs few rows.
//! - **Sums** of versions below every cluster's version are removed: a cluster only needs the soak of higher versions.
//! - **Decisions** are verified and then removed, oldest first. A checkpoint keeps the hash of the last removed one, so that
//!   the chain can be verified from there. The newest decision always stays.
//! - **Attempts** are removed once what is known of them is older than is taken from reports. So none comes back.
//! - **Halts** that were undone are removed. Those that stand always stay.
//! - **Acts of people** that were ended are removed. So are cancellations of versions that their cluster has passed. What holds
//!   stays.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::json;
use sqlx::{AssertSqlSafe, Row};
use towpath_core::version::Version;

use crate::decisions::{self, ChainCheckpoint};
use crate::reports::WriteFailure;
use crate::rows::{self, nanoseconds};
use crate::{Backend, Lease, Result, Store, StoreError, Tx, bounded};

/// How many spans of a cluster are kept in detail, besides the newest, …
const MAX_SPANS: i64 = 256;
/// … and how many more may accumulate before they are summed up.
const SPANS_SLACK: i64 = 64;
/// How many versions of a cluster have a sum: the most recent ones.
const MAX_SUMS: i64 = 1_000;
/// How many clusters are summed up in one transaction.
const CLUSTERS_AT_ONCE: u32 = 5_000;
/// How many decisions are removed in one transaction.
const DECISIONS_AT_ONCE: u32 = 100;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retention {
    /// The current time. A decision with a later time was made by a clock that was ahead. It counts as old as the next decision
    /// with a plausible time, and is removed with that one.
    pub now: Timestamp,
    /// Older spans and decisions are removed.
    pub before: Timestamp,
    /// Attempts that were first seen earlier are removed.
    pub attempts_before: Timestamp,
    /// The lowest version that any cluster runs. Nobody needs the soak of lower versions. None: all sums stay.
    pub oldest_needed: Option<Version>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PruningCounts {
    /// Spans that were summed up or dropped.
    pub spans: u64,
    /// Sums of versions that nobody needs.
    pub sums: u64,
    pub decisions: u64,
    pub attempts: u64,
    /// Halts that were undone long ago.
    pub halts: u64,
    /// What people did and somebody ended long ago.
    pub acts: u64,
    /// The new checkpoint of the chain, if decisions were removed.
    pub checkpoint: Option<ChainCheckpoint>,
}

/// The times that pruning depends on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PruningTimes {
    /// The time that the last pruning used.
    pub last: Option<Timestamp>,
    /// The time of the oldest decision, …
    pub oldest_decision: Option<Timestamp>,
    /// … and the latest time of any decision.
    pub latest_decision: Option<Timestamp>,
}

impl Store {
    /// Reads the times that pruning depends on.
    pub async fn pruning_times(&self) -> Result<PruningTimes> {
        let mut tx = self.snapshot().await?;
        let times = [
            "SELECT at FROM checkpoints WHERE name = 'pruning'",
            "SELECT at FROM decisions ORDER BY seq LIMIT 1",
            "SELECT at FROM decisions ORDER BY at DESC LIMIT 1",
        ];
        let mut found = [None; 3];
        for (place, text) in found.iter_mut().zip(times) {
            let row = sqlx::query(text).fetch_optional(tx.on()).await?;
            *place = row.map(|row| row.try_get(0)).transpose()?.map(rows::time);
        }
        let [last, oldest_decision, latest_decision] = found;
        Ok(PruningTimes {
            last,
            oldest_decision,
            latest_decision,
        })
    }

    /// Stores the time that pruning uses now.
    pub async fn keep_pruning_time(&self, lease: &Lease, at: Timestamp) -> Result<()> {
        bounded(async {
            let mut tx = self.act(lease).await?;
            let text = "INSERT INTO checkpoints (name, seq, hash, at) VALUES ('pruning', 0, $1, $2) \
                        ON CONFLICT (name) DO UPDATE SET at = excluded.at";
            sqlx::query(text)
                .bind(Vec::new())
                .bind(nanoseconds(at)?)
                .execute(tx.on())
                .await?;
            tx.commit().await
        })
        .await
    }

    /// Prunes a bounded amount. When it removes nothing, nothing is left to prune.
    pub async fn prune(&self, lease: &Lease, keep: &Retention) -> Result<PruningCounts> {
        let spans = bounded(self.sum_up_old_spans(lease, keep)).await?;
        let sums = match &keep.oldest_needed {
            Some(oldest) => bounded(self.drop_sums_below(lease, oldest, keep)).await?,
            None => 0,
        };
        let (decisions, checkpoint) = bounded(self.drop_old_decisions(lease, keep)).await?;
        let attempts = bounded(self.drop_old_attempts(lease, keep)).await?;
        let halts = bounded(self.drop_old_halts(lease, keep)).await?;
        let acts = bounded(self.drop_old_acts(lease, keep)).await?;
        Ok(PruningCounts {
            spans,
            sums,
            decisions,
            attempts,
            halts,
            acts,
            checkpoint,
        })
    }

    async fn drop_old_attempts(&self, lease: &Lease, keep: &Retention) -> Result<u64> {
        let before = nanoseconds(keep.attempts_before)?;
        let mut tx = self.act(lease).await?;
        let text = format!(
            "SELECT DISTINCT cluster FROM attempts WHERE first_at < $1 ORDER BY cluster LIMIT {CLUSTERS_AT_ONCE}"
        );
        let found = sqlx::query(AssertSqlSafe(text))
            .bind(before)
            .fetch_all(tx.on())
            .await?;
        let ids: Vec<[String; 1]> = found
            .iter()
            .map(|row| Ok([rows::text(row, 0)?]))
            .collect::<Result<_>>()?;
        if ids.is_empty() {
            return Ok(0);
        }
        let ids = json!(ids).to_string();
        // Reports lock their clusters in this order, too, before they write attempts.
        let lock =
            "SELECT id FROM clusters WHERE id IN (SELECT value->>0 FROM {rows}) ORDER BY id {lock}";
        tx.fetch(lock, &ids).await?;
        let delete = format!(
            "DELETE FROM attempts WHERE cluster IN (SELECT value->>0 FROM {{rows}}) AND first_at < {before}"
        );
        let dropped = tx.execute(&delete, &ids).await?;
        tx.commit().await?;
        Ok(dropped)
    }

    async fn drop_old_halts(&self, lease: &Lease, keep: &Retention) -> Result<u64> {
        let before = nanoseconds(keep.before)?;
        let mut tx = self.act(lease).await?;
        let dropped = crate::halts::drop_undone(&mut tx, before).await?;
        tx.commit().await?;
        Ok(dropped)
    }

    async fn drop_old_acts(&self, lease: &Lease, keep: &Retention) -> Result<u64> {
        let before = nanoseconds(keep.before)?;
        let mut tx = self.act(lease).await?;
        let dropped = crate::acts::drop_ended(&mut tx, before).await?;
        tx.commit().await?;
        Ok(dropped)
    }

    async fn sum_up_old_spans(&self, lease: &Lease, keep: &Retention) -> Result<u64> {
        let before = nanoseconds(keep.before)?;
        let mut tx = self.act(lease).await?;
        let text = format!(
            "SELECT DISTINCT cluster FROM spans WHERE until_at < $1 ORDER BY cluster LIMIT {CLUSTERS_AT_ONCE}"
        );
        let found = sqlx::query(AssertSqlSafe(text))
            .bind(before)
            .fetch_all(tx.on())
            .await?;
        let ids: Vec<[String; 1]> = found
            .iter()
            .map(|row| Ok([rows::text(row, 0)?]))
            .collect::<Result<_>>()?;
        if ids.is_empty() {
            return Ok(0);
        }
        let ids = json!(ids).to_string();
        // Reports lock their clusters in this order, too, before they sum up spans.
        let lock =
            "SELECT id FROM clusters WHERE id IN (SELECT value->>0 FROM {rows}) ORDER BY id {lock}";
        tx.fetch(lock, &ids).await?;
        let old = format!(
            "SELECT cluster, from_at FROM spans WHERE cluster IN (SELECT value->>0 FROM {{rows}}) AND until_at < {before}"
        );
        let summed_up = sum_up(&mut tx, &ids, &old).await?;
        tx.commit().await?;
        Ok(summed_up)
    }

    async fn drop_sums_below(
        &self,
        lease: &Lease,
        oldest: &Version,
        keep: &Retention,
    ) -> Result<u64> {
        let before = nanoseconds(keep.before)?;
        let mut tx = self.act(lease).await?;
        let text = "SELECT DISTINCT version FROM soak_sums WHERE until_at < $1";
        let mut below = Vec::new();
        for row in sqlx::query(text).bind(before).fetch_all(tx.on()).await? {
            let version = rows::text(&row, 0)?;
            if rows::version(&version)? < *oldest {
                below.push([version]);
            }
        }
        if below.is_empty() {
            return Ok(0);
        }
        let text = format!(
            "DELETE FROM soak_sums WHERE until_at < {before} AND version IN (SELECT value->>0 FROM {{rows}})"
        );
        let dropped = tx.execute(&text, &json!(below).to_string()).await?;
        tx.commit().await?;
        Ok(dropped)
    }

    async fn drop_old_decisions(
        &self,
        lease: &Lease,
        keep: &Retention,
    ) -> Result<(u64, Option<ChainCheckpoint>)> {
        let (before, now) = (nanoseconds(keep.before)?, nanoseconds(keep.now)?);
        let mut tx = self.act(lease).await?;
        let kept = "SELECT COALESCE(MIN(seq), 0) FROM decisions WHERE at >= $1 AND at <= $2";
        let latest = now.saturating_add(now.saturating_sub(before));
        let kept: i64 = sqlx::query(kept)
            .bind(before)
            .bind(latest)
            .fetch_one(tx.on())
            .await?
            .try_get(0)?;
        let newest: i64 = sqlx::query("SELECT COALESCE(MAX(seq), 0) FROM decisions")
            .fetch_one(tx.on())
            .await?
            .try_get(0)?;
        // A decision of 2036 is not old because a later one is of now.
        let oldest: i64 = sqlx::query("SELECT COALESCE(MAX(seq), 0) FROM decisions WHERE at < $1")
            .bind(before)
            .fetch_one(tx.on())
            .await?
            .try_get(0)?;
        let last = (if kept > 0 { kept } else { newest } - 1).min(oldest);
        let known = decisions::read_checkpoint(&mut tx).await?;
        let stretch =
            decisions::follow_stretch(&mut tx, known.as_ref(), last, DECISIONS_AT_ONCE).await?;
        if let Some(problem) = stretch.problems.first() {
            return Err(StoreError::Corrupt(format!(
                "{problem}, so no decision is pruned"
            )));
        }
        let Some((seq, hash)) = stretch.last else {
            return Ok((0, None));
        };
        let checkpoint = ChainCheckpoint {
            seq,
            hash,
            at: keep.now,
        };
        let text = "INSERT INTO checkpoints (name, seq, hash, at) VALUES ('decisions', $1, $2, $3) \
                    ON CONFLICT (name) DO UPDATE SET seq = excluded.seq, hash = excluded.hash, at = excluded.at";
        sqlx::query(text)
            .bind(seq)
            .bind(hash.to_vec())
            .bind(now)
            .execute(tx.on())
            .await?;
        let gone = sqlx::query("DELETE FROM decisions WHERE seq <= $1")
            .bind(seq)
            .execute(tx.on())
            .await?;
        drop_parts(&mut tx, &stretch.named).await?;
        tx.commit().await?;
        Ok((gone.rows_affected(), Some(checkpoint)))
    }
}

/// Removes those of these inputs that no decision names any more. Inputs are written under the lease, so nobody is adding
/// one now.
async fn drop_parts(tx: &mut Tx, named: &BTreeSet<String>) -> Result<()> {
    let still = match tx.backend {
        Backend::Sqlite => "SELECT i.value->>1 FROM decisions, json_each(decisions.inputs) AS i",
        Backend::Postgres => {
            "SELECT i.value->>1 FROM decisions, jsonb_array_elements(CAST(inputs AS jsonb)) AS i(value)"
        }
    };
    let text = tx.sql(&format!(
        "DELETE FROM parts WHERE digest IN (SELECT value->>0 FROM {{rows}}) AND digest NOT IN ({still})"
    ));
    let list: Vec<[&str; 1]> = named.iter().map(|digest| [digest.as_str()]).collect();
    sqlx::query(text)
        .bind(json!(list).to_string())
        .execute(tx.on())
        .await?;
    Ok(())
}

/// Sums up the oldest spans of clusters that have too many. The caller has locked the clusters' rows.
pub(crate) async fn limit_spans(
    tx: &mut Tx,
    ids: &BTreeSet<[&str; 1]>,
) -> Result<(), WriteFailure> {
    let text = format!(
        "SELECT cluster FROM spans WHERE cluster IN (SELECT value->>0 FROM {{rows}}) \
         GROUP BY cluster HAVING COUNT(*) > {} ORDER BY cluster",
        MAX_SPANS + SPANS_SLACK
    );
    let found = tx.fetch(&text, &json!(ids).to_string()).await?;
    if found.is_empty() {
        return Ok(());
    }
    let ids: Vec<[String; 1]> = found
        .iter()
        .map(|row| Ok([rows::text(row, 0)?]))
        .collect::<Result<_>>()?;
    let ids = json!(ids).to_string();
    let excess = format!(
        "SELECT cluster, from_at FROM (SELECT cluster, from_at, ROW_NUMBER() OVER (PARTITION BY cluster \
         ORDER BY from_at DESC) AS place FROM spans WHERE cluster IN (SELECT value->>0 FROM {{rows}})) AS placed \
         WHERE place > {MAX_SPANS}"
    );
    sum_up(tx, &ids, &excess).await?;
    let text = format!(
        "DELETE FROM soak_sums WHERE (cluster, version) IN (SELECT cluster, version FROM (SELECT cluster, version, \
         ROW_NUMBER() OVER (PARTITION BY cluster ORDER BY until_at DESC, version) AS place FROM soak_sums \
         WHERE cluster IN (SELECT value->>0 FROM {{rows}})) AS placed WHERE place > {MAX_SUMS})"
    );
    tx.execute(&text, &ids).await?;
    Ok(())
}

/// Turns the chosen spans into sums, and returns how many there were. Unhealthy or unbound time is dropped: a binding
/// never applies to time that was reported before it.
async fn sum_up(tx: &mut Tx, ids: &str, chosen: &str) -> Result<u64, sqlx::Error> {
    let text = format!(
        "INSERT INTO soak_sums (cluster, version, from_at, until_at, nanoseconds) \
         SELECT cluster, version, MIN(from_at), MAX(until_at), CAST(SUM(nanoseconds) AS BIGINT) FROM bound_spans \
         WHERE nanoseconds > 0 AND (cluster, from_at) IN ({chosen}) GROUP BY cluster, version \
         ON CONFLICT (cluster, version) DO UPDATE SET \
         from_at = CASE WHEN excluded.from_at < soak_sums.from_at THEN excluded.from_at ELSE soak_sums.from_at END, \
         until_at = CASE WHEN excluded.until_at > soak_sums.until_at THEN excluded.until_at ELSE soak_sums.until_at END, \
         nanoseconds = soak_sums.nanoseconds + excluded.nanoseconds"
    );
    tx.execute(&text, ids).await?;
    let text = format!("DELETE FROM spans WHERE (cluster, from_at) IN ({chosen})");
    tx.execute(&text, ids).await
}
