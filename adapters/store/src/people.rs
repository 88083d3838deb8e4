//! What people decide: pauses, approvals, acknowledgements.

use jiff::Timestamp;
use sqlx::Row;
use sqlx::any::AnyRow;
use towpath_core::cluster::ClusterId;
use towpath_core::fleet::{Approval, Name, Pause};

use crate::claims::lock_starts;
use crate::reports::number_change;
use crate::rows::{self, checked, nanoseconds, time};
use crate::{Result, Store, StoreError, Tx, bounded};

/// A gate that a person has acknowledged for a cluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Acknowledgement {
    pub cluster: ClusterId,
    pub gate: Name,
    pub by: Name,
    pub at: Timestamp,
}

impl Store {
    /// Pauses new starts. After this returns, no claim there succeeds. Replaces a pause of the same place.
    pub async fn pause(&self, pause: &Pause) -> Result<()> {
        let (organisation, sector) = (
            place(pause.organisation.as_deref())?,
            place(pause.sector.as_deref())?,
        );
        let (by, why, at) = (
            checked(&pause.by)?,
            checked(&pause.why)?,
            nanoseconds(pause.at)?,
        );
        bounded(async {
            let mut tx = self.write().await?;
            // A claim that has the lock commits first; the next one sees this pause.
            lock_starts(&mut tx).await?;
            let text = "INSERT INTO pauses (organisation, sector, by_whom, at, why) VALUES ($1, $2, $3, $4, $5) \
                        ON CONFLICT (organisation, sector) DO UPDATE SET by_whom = excluded.by_whom, at = excluded.at, \
                        why = excluded.why";
            let query = sqlx::query(text).bind(organisation).bind(sector).bind(by).bind(at).bind(why);
            query.execute(tx.on()).await?;
            tx.commit().await
        })
        .await
    }

    /// Removes the pause of exactly this place, and returns how many there were. Wider pauses stay.
    pub async fn resume(&self, organisation: Option<&str>, sector: Option<&str>) -> Result<u64> {
        let (organisation, sector) = (place(organisation)?, place(sector)?);
        bounded(async {
            let mut tx = self.write().await?;
            lock_starts(&mut tx).await?;
            let text = "DELETE FROM pauses WHERE organisation = $1 AND sector = $2";
            let lifted = sqlx::query(text)
                .bind(organisation)
                .bind(sector)
                .execute(tx.on())
                .await?
                .rows_affected();
            tx.commit().await?;
            Ok(lifted)
        })
        .await
    }

    pub async fn pauses(&self) -> Result<Vec<Pause>> {
        read_pauses(&mut self.snapshot().await?).await
    }

    /// Stores an approval. Replaces one of the same place and version.
    pub async fn approve(&self, approval: &Approval) -> Result<()> {
        let cluster = place(approval.cluster.as_deref())?;
        let (organisation, by) = (checked(&approval.organisation)?, checked(&approval.by)?);
        let (version, at) = (approval.version.to_string(), nanoseconds(approval.at)?);
        bounded(async {
            let mut tx = self.write().await?;
            let text = "INSERT INTO approvals (organisation, cluster, version, by_whom, at) \
                        VALUES ($1, $2, $3, $4, $5) ON CONFLICT (organisation, cluster, version) \
                        DO UPDATE SET by_whom = excluded.by_whom, at = excluded.at";
            let query = sqlx::query(text)
                .bind(organisation)
                .bind(cluster)
                .bind(version)
                .bind(by)
                .bind(at);
            query.execute(tx.on()).await?;
            tx.commit().await
        })
        .await
    }

    /// The approvals, by place and version.
    pub async fn approvals(&self) -> Result<Vec<Approval>> {
        let text = "SELECT organisation, cluster, version, by_whom, at FROM approvals ORDER BY organisation, cluster, version";
        let rows = sqlx::query(text).fetch_all(&self.inner.reader).await?;
        let approval = |row: &AnyRow| {
            Ok(Approval {
                organisation: rows::text(row, 0)?.into(),
                cluster: named(rows::text(row, 1)?),
                version: rows::version(&rows::text(row, 2)?)?,
                by: rows::text(row, 3)?.into(),
                at: time(row.try_get(4)?),
            })
        };
        rows.iter().map(approval).collect()
    }

    /// Stores that a person has acknowledged a gate for a cluster. The first person is kept.
    pub async fn acknowledge_gate(
        &self,
        cluster: &ClusterId,
        gate: &str,
        by: &str,
        at: Timestamp,
    ) -> Result<()> {
        let (id, gate, by, at) = (
            checked(cluster.as_str())?,
            checked(gate)?,
            checked(by)?,
            nanoseconds(at)?,
        );
        bounded(async {
            let mut tx = self.write().await?;
            let text = "INSERT INTO acknowledgements (cluster, gate, by_whom, at) VALUES ($1, $2, $3, $4) \
                        ON CONFLICT (cluster, gate) DO NOTHING";
            sqlx::query(text).bind(id).bind(gate).bind(by).bind(at).execute(tx.on()).await?;
            number_change(&mut tx).await?;
            let touch = tx.sql("UPDATE clusters SET changed = {change} WHERE id = $1");
            sqlx::query(touch).bind(id).execute(tx.on()).await?;
            tx.commit().await
        })
        .await
    }

    /// The acknowledgements, by cluster and gate.
    pub async fn acknowledgements(&self) -> Result<Vec<Acknowledgement>> {
        let text = "SELECT cluster, gate, by_whom, at FROM acknowledgements ORDER BY cluster, gate";
        let rows = sqlx::query(text).fetch_all(&self.inner.reader).await?;
        let acknowledgement = |row: &AnyRow| {
            Ok(Acknowledgement {
                cluster: rows::id(&rows::text(row, 0)?)?,
                gate: rows::text(row, 1)?.into(),
                by: rows::text(row, 2)?.into(),
                at: time(row.try_get(3)?),
            })
        };
        rows.iter().map(acknowledgement).collect()
    }
}

pub(crate) async fn read_pauses(tx: &mut Tx) -> Result<Vec<Pause>> {
    let text =
        "SELECT organisation, sector, by_whom, at, why FROM pauses ORDER BY organisation, sector";
    let rows = sqlx::query(text).fetch_all(tx.on()).await?;
    let pause = |row: &AnyRow| {
        Ok(Pause {
            organisation: named(rows::text(row, 0)?),
            sector: named(rows::text(row, 1)?),
            by: rows::text(row, 2)?.into(),
            at: time(row.try_get(3)?),
            why: rows::text(row, 4)?.into(),
        })
    };
    rows.iter().map(pause).collect()
}

/// The column value of a place. "Everywhere" is the empty text, so names may not be empty.
fn place(name: Option<&str>) -> Result<&str> {
    match name {
        Some("") => Err(StoreError::Bad(
            "an organisation, sector or cluster needs a name".into(),
        )),
        Some(name) => checked(name),
        None => Ok(""),
    }
}

fn named(text: String) -> Option<Name> {
    (!text.is_empty()).then(|| text.into())
}
