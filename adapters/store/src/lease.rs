//! The lease: one scheduler at a time, and the others can tell.
//!
//! Only the database's clock counts, so the clocks of replicas may say what they like. A lease that has run out is still
//! good until somebody else takes it; from then on its token is refused in every transaction.

use std::time::Duration;

use sqlx::Row;

use crate::rows::checked;
use crate::{Result, Store, StoreError, Tx, bounded};

/// The right to act, as long as nobody else has taken it over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// What it is for.
    pub name: String,
    /// Who holds it. A process that is started anew is another owner and needs another name.
    pub owner: String,
    /// Grows with every change of owner.
    pub token: i64,
}

impl Store {
    /// Takes the lease if it is free or has run out, or renews it; none if somebody else holds it.
    pub async fn acquire(&self, name: &str, owner: &str, ttl: Duration) -> Result<Option<Lease>> {
        if name.is_empty() || owner.is_empty() {
            return Err(StoreError::Bad("a lease needs a name and an owner".into()));
        }
        let (name, owner) = (checked(name)?, checked(owner)?);
        let ttl_ms = i64::try_from(ttl.as_millis()).map_err(|_| StoreError::Bad("the lease is too long".into()))?;
        bounded(async {
            let mut tx = self.write().await?;
            let take = tx.sql(
                "INSERT INTO leases (name, owner, token, expires_ms) VALUES ($1, $2, 1, {now_ms} + $3) \
                 ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, expires_ms = excluded.expires_ms, \
                 token = leases.token + CASE WHEN leases.owner = excluded.owner THEN 0 ELSE 1 END \
                 WHERE leases.owner = excluded.owner OR leases.expires_ms <= {now_ms} RETURNING token",
            );
            let row = sqlx::query(take).bind(name).bind(owner).bind(ttl_ms).fetch_optional(tx.on()).await?;
            let Some(row) = row else { return Ok(None) };
            let token = row.try_get(0)?;
            tx.commit().await?;
            Ok(Some(Lease { name: name.to_owned(), owner: owner.to_owned(), token }))
        })
        .await
    }

    /// Gives the lease up, so that another can take it at once. Whether it was still held.
    pub async fn release(&self, lease: &Lease) -> Result<bool> {
        bounded(async {
            let mut tx = self.write().await?;
            let text = "UPDATE leases SET owner = '', expires_ms = 0 WHERE name = $1 AND owner = $2 AND token = $3";
            let query = sqlx::query(text).bind(lease.name.as_str()).bind(lease.owner.as_str()).bind(lease.token);
            let released = query.execute(tx.on()).await?.rows_affected();
            tx.commit().await?;
            Ok(released > 0)
        })
        .await
    }

    /// Who holds the lease, if anybody does by the database's clock.
    pub async fn holder(&self, name: &str) -> Result<Option<Lease>> {
        let text = self.backend().sql("SELECT owner, token FROM leases WHERE name = $1 AND expires_ms > {now_ms}");
        let row = sqlx::query(text).bind(name).fetch_optional(&self.inner.reader).await?;
        let Some(row) = row else { return Ok(None) };
        Ok(Some(Lease { name: name.to_owned(), owner: row.try_get(0)?, token: row.try_get(1)? }))
    }

    /// A transaction that only the holder of the lease gets, and in which nobody can take it away.
    pub(crate) async fn act(&self, lease: &Lease) -> Result<Tx> {
        let mut tx = self.write().await?;
        let text = tx.sql("SELECT token FROM leases WHERE name = $1 AND owner = $2 AND token = $3 {lock}");
        let query = sqlx::query(text).bind(lease.name.as_str()).bind(lease.owner.as_str()).bind(lease.token);
        match query.fetch_optional(tx.on()).await? {
            Some(_) => Ok(tx),
            None => Err(StoreError::Fenced),
        }
    }
}
