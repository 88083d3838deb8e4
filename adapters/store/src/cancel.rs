//! Cancelling one planned upgrade. The counter of upgrades decides between a cancellation and a start: whoever has it first wins.
//!
//! The upgrade stays planned until the next pass calls it off, also at the API that manages the cluster, and frees its mutexes.
//! It cannot start any more.

use serde_json::json;
use sqlx::AssertSqlSafe;
use towpath_core::cluster::ClusterId;
use towpath_core::fleet::{CancelledUpgrade, Owner, Said, Upgrade, UpgradeId, UpgradeState};

use crate::acts::{self, ActSubject, CANCELLATION, Words, standing_cancellations};
use crate::claims::lock_starts;
use crate::rows::{self, UPGRADE};
use crate::{Result, Store, bounded};

/// Which upgrade.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CancelWhich {
    /// The one of this cluster that is planned or under way.
    Of(ClusterId),
    Number(UpgradeId),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CancelOutcome {
    /// It will not start.
    Cancelled(Upgrade),
    /// Somebody has cancelled it before. Nothing changed.
    Again(Upgrade, CancelledUpgrade),
    /// It is under way, or over, or somebody else's. Nothing changed.
    TooLate(Upgrade),
    /// There is no such upgrade.
    Nothing,
}

impl Store {
    /// Cancels a planned upgrade. After this returns, it does not start, and the same is not planned again until a person lifts it.
    pub async fn cancel(&self, which: &CancelWhich, said: &Said) -> Result<CancelOutcome> {
        let words = Words::of(said)?;
        bounded(async {
            let mut tx = self.write().await?;
            lock_starts(&mut tx).await?;
            let (rest, id, cluster) = match which {
                CancelWhich::Of(cluster) => (
                    "$1 = 0 AND cluster = $2 AND state IN ('planned', 'started')",
                    0,
                    cluster.as_str(),
                ),
                CancelWhich::Number(UpgradeId(id)) => ("id = $1 AND $2 = ''", *id, ""),
            };
            let text = format!("SELECT {UPGRADE} FROM upgrades WHERE {rest}");
            let query = sqlx::query(AssertSqlSafe(text)).bind(id).bind(cluster);
            let Some(row) = query.fetch_optional(tx.on()).await? else {
                return Ok(CancelOutcome::Nothing);
            };
            let upgrade = rows::upgrade(&row)?;
            if (upgrade.state, upgrade.owner) != (UpgradeState::Planned, Owner::Towpath) {
                return Ok(CancelOutcome::TooLate(upgrade));
            }
            let mut before = standing_cancellations(&mut tx, &[&upgrade.cluster])
                .await?
                .into_iter();
            let is_it =
                |one: &CancelledUpgrade| one.pool == upgrade.pool && one.version == upgrade.to;
            if let Some(before) = before.find(is_it) {
                return Ok(CancelOutcome::Again(upgrade, before));
            }
            let version = upgrade.to.to_string();
            let place = ActSubject {
                kind: CANCELLATION,
                cluster: upgrade.cluster.as_str(),
                pool: upgrade.pool.as_deref().unwrap_or_default(),
                version: &version,
                ..ActSubject::default()
            };
            acts::begin(&mut tx, &place, Some(upgrade.id), &words).await?;
            let about = json!({
                "upgrade": upgrade.id.0,
                "cluster": upgrade.cluster.as_str(),
                "pool": upgrade.pool.as_deref(),
                "version": version,
            });
            let before =
                json!({"state": upgrade.state.code(), "startAt": upgrade.start_at.to_string()});
            let sides = [about, before, json!({"state": "cancelled"})];
            self.write_act(&mut tx, words.act("cancel", sides)).await?;
            tx.commit().await?;
            Ok(CancelOutcome::Cancelled(upgrade))
        })
        .await
    }
}
