//! Upgrades: reading them, and changing their state.

use jiff::Timestamp;
use sqlx::{AssertSqlSafe, Row};
use towpath_core::cluster::ClusterId;
use towpath_core::fleet::{Upgrade, UpgradeId, UpgradeState};

use crate::claims::{ClaimOutcome, Lock, Refusal, Start, StartPlace, Stops, lock_starts, put};
use crate::rows::{self, UPGRADE, checked, nanoseconds};
use crate::{Lease, Result, Store, StoreError, bounded};

/// The most upgrades that are read as recent.
const MAX_RECENT: u32 = 10_000;

/// The most refusals that are returned at once.
const MAX_REFUSALS: u32 = 100_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpgradeSelection {
    /// Planned and running upgrades, oldest first.
    Active,
    /// All upgrades of a cluster, oldest first.
    Of(ClusterId),
    /// This many of the newest, newest first.
    Recent(u32),
    /// This many before that one, newest first.
    Before(UpgradeId, u32),
}

impl Store {
    pub async fn upgrades(&self, which: &UpgradeSelection) -> Result<Vec<Upgrade>> {
        let before;
        let (rest, cluster, limit) = match which {
            UpgradeSelection::Active => (
                "WHERE $1 = '' AND state IN ('planned', 'started') ORDER BY id",
                "",
                0,
            ),
            UpgradeSelection::Of(cluster) => {
                ("WHERE cluster = $1 ORDER BY id", cluster.as_str(), 0)
            }
            UpgradeSelection::Recent(limit) => (
                "WHERE $1 = '' ORDER BY id DESC",
                "",
                (*limit).min(MAX_RECENT),
            ),
            UpgradeSelection::Before(id, limit) => {
                before = format!("WHERE $1 = '' AND id < {} ORDER BY id DESC", id.0);
                (before.as_str(), "", (*limit).clamp(1, MAX_RECENT))
            }
        };
        let limit = if limit > 0 {
            format!(" LIMIT {limit}")
        } else {
            String::new()
        };
        let text = format!("SELECT {UPGRADE} FROM upgrades {rest}{limit}");
        let rows = sqlx::query(AssertSqlSafe(text))
            .bind(cluster)
            .fetch_all(&self.inner.reader)
            .await?;
        rows.iter().map(rows::upgrade).collect()
    }

    /// The upgrade with this number.
    pub async fn upgrade(&self, id: UpgradeId) -> Result<Option<Upgrade>> {
        let text = format!("SELECT {UPGRADE} FROM upgrades WHERE id = $1");
        let row = sqlx::query(AssertSqlSafe(text))
            .bind(id.0)
            .fetch_optional(&self.inner.reader)
            .await?;
        row.as_ref().map(rows::upgrade).transpose()
    }

    /// The newest failed upgrade of each cluster that has had no success since.
    pub async fn newest_failures(&self) -> Result<Vec<Upgrade>> {
        let text = format!(
            "SELECT {UPGRADE} FROM upgrades WHERE state = 'failed' AND id IN \
             (SELECT MAX(id) FROM upgrades WHERE state IN ('failed', 'finished') GROUP BY cluster) ORDER BY id"
        );
        let rows = sqlx::query(AssertSqlSafe(text))
            .fetch_all(&self.inner.reader)
            .await?;
        rows.iter().map(rows::upgrade).collect()
    }

    /// Upgrades refused since then, limited to the newest.
    pub async fn refusals(&self, since: Timestamp) -> Result<Vec<Upgrade>> {
        let text = format!(
            "SELECT {UPGRADE} FROM upgrades WHERE state = 'refused' AND changed_at > $1 ORDER BY id DESC LIMIT {MAX_REFUSALS}"
        );
        let query = sqlx::query(AssertSqlSafe(text)).bind(nanoseconds(since)?);
        let rows = query.fetch_all(&self.inner.reader).await?;
        rows.iter().rev().map(rows::upgrade).collect()
    }

    /// Changes the state of an upgrade if it has the expected one; returns whether it had. An upgrade that ends releases its locks.
    ///
    /// A failure or refusal raises the failure count of the same cluster and version. Success resets it.
    pub async fn transition(
        &self,
        lease: &Lease,
        id: UpgradeId,
        expected: UpgradeState,
        to: UpgradeState,
        at: Timestamp,
        note: Option<&str>,
    ) -> Result<bool> {
        use UpgradeState::{Cancelled, Failed, Finished, Planned, Refused, Started};
        match (expected, to) {
            (Planned, Started | Finished | Failed | Cancelled | Refused)
            | (Started, Finished | Failed)
            // It was given up, and completed later.
            | (Failed, Finished) => {}
            _ => {
                let (from, to) = (expected.code(), to.code());
                return Err(StoreError::Bad(format!(
                    "an upgrade that is {from} cannot become {to}"
                )));
            }
        }
        let note = note.map(checked).transpose()?;
        let at = nanoseconds(at)?;
        bounded(async {
            let mut tx = self.act(lease).await?;
            lock_starts(&mut tx).await?;
            let failures = match to {
                Failed | Refused => "failures + 1",
                Finished => "0",
                _ => "failures",
            };
            let text = format!(
                "UPDATE upgrades SET state = $1, changed_at = $2, note = $3, failures = {failures} \
                 WHERE id = $4 AND state = $5"
            );
            let query = sqlx::query(AssertSqlSafe(text))
                .bind(to.code())
                .bind(at)
                .bind(note)
                .bind(id.0);
            if query
                .bind(expected.code())
                .execute(tx.on())
                .await?
                .rows_affected()
                == 0
            {
                return Ok(false);
            }
            if !to.is_active() {
                sqlx::query("DELETE FROM locks WHERE upgrade = $1")
                    .bind(id.0)
                    .execute(tx.on())
                    .await?;
            }
            tx.commit().await?;
            Ok(true)
        })
        .await
    }

    /// Notes something about an upgrade that stays in its state. Returns whether it was in that state.
    pub async fn note(
        &self,
        lease: &Lease,
        id: UpgradeId,
        expected: UpgradeState,
        note: &str,
    ) -> Result<bool> {
        let note = checked(note)?;
        bounded(async {
            let mut tx = self.act(lease).await?;
            let text = "UPDATE upgrades SET note = $1 WHERE id = $2 AND state = $3";
            let query = sqlx::query(text).bind(note).bind(id.0);
            let noted = query.bind(expected.code()).execute(tx.on()).await?;
            tx.commit().await?;
            Ok(noted.rows_affected() > 0)
        })
        .await
    }

    /// Starts a planned upgrade, unless a person has paused its cluster, cancelled it, or withdrawn a consent to it. Returns whether
    /// it started. After a pause or a cancellation has returned, nothing that it covers starts.
    pub async fn begin(
        &self,
        lease: &Lease,
        id: UpgradeId,
        place: &StartPlace,
        at: Timestamp,
    ) -> Result<bool> {
        let at = nanoseconds(at)?;
        bounded(async {
            let mut tx = self.act(lease).await?;
            lock_starts(&mut tx).await?;
            let text = format!("SELECT {UPGRADE} FROM upgrades WHERE id = $1");
            let row = sqlx::query(AssertSqlSafe(text)).bind(id.0);
            let Some(row) = row.fetch_optional(tx.on()).await? else {
                return Ok(false);
            };
            let upgrade = rows::upgrade(&row)?;
            let stops = Stops::read(&mut tx, &[&upgrade.cluster], place.known).await?;
            let start = (&upgrade.cluster, upgrade.pool.as_ref(), &upgrade.to);
            if stops.refusal(place, start).is_some() {
                return Ok(false);
            }
            let text = "UPDATE upgrades SET state = 'started', changed_at = $1 WHERE id = $2 AND state = 'planned'";
            let began = sqlx::query(text).bind(at).bind(id.0).execute(tx.on()).await?.rows_affected() > 0;
            tx.commit().await?;
            Ok(began)
        })
        .await
    }

    /// Records an upgrade that is already running, whoever started it. Its number is ignored, and it takes its locks even if
    /// they are held. A cluster with an active upgrade keeps that one.
    pub async fn adopt(
        &self,
        lease: &Lease,
        upgrade: &Upgrade,
        takes: &[Lock],
    ) -> Result<ClaimOutcome> {
        bounded(async {
            let mut tx = self.act(lease).await?;
            let number = lock_starts(&mut tx).await? + 1;
            let active =
                "SELECT id FROM upgrades WHERE cluster = $1 AND state IN ('planned', 'started')";
            let active = sqlx::query(active)
                .bind(upgrade.cluster.as_str())
                .fetch_optional(tx.on())
                .await?;
            if let Some(row) = active.filter(|_| upgrade.state.is_active()) {
                return Ok(ClaimOutcome::Refused(Refusal::UnderWay(UpgradeId(
                    row.try_get(0)?,
                ))));
            }
            let start = Start {
                cluster: upgrade.cluster.clone(),
                pool: upgrade.pool.clone(),
                from: upgrade.from.clone(),
                to: upgrade.to.clone(),
                channel: upgrade.channel.clone(),
                start_at: upgrade.start_at,
            };
            let new = Upgrade {
                id: UpgradeId(number),
                ..upgrade.clone()
            };
            let takes = if new.state.is_active() { takes } else { &[] };
            put(&mut tx, number, &[(&start, &new, takes)]).await?;
            tx.commit().await?;
            Ok(ClaimOutcome::Started(UpgradeId(number)))
        })
        .await
    }
}
