//! The lease: it lets one scheduler act at a time.
//!
//! Only the database's clock counts, so replicas may have wrong clocks. An expired lease stays valid until another
//! scheduler takes it. From then on every transaction refuses its token.
//!
//! If the database's clock was ahead and was corrected, a lease may end far in the future. So a lease that ends more than
//! two terms ahead counts as expired.

use std::time::Duration;

use sqlx::Row;

use crate::rows::checked;
use crate::{Result, Store, StoreError, Tx, bounded};

/// The right to act, until another scheduler takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    pub name: String,
    /// The holder. A restarted process is another owner and needs another name.
    pub owner: String,
    /// Grows with every change of owner.
    pub token: i64,
    /// How far ahead the previous holder's lease ended, if that was too far: then the database's clock was set back.
    pub taken_ahead: Option<Duration>,
}

/// A lease ends at most this many terms ahead.
const TERMS_AHEAD: i64 = 2;

impl Store {
    /// Takes the lease if it is free or expired, or renews it; none if another owner holds it.
    pub async fn acquire(&self, name: &str, owner: &str, ttl: Duration) -> Result<Option<Lease>> {
        if name.is_empty() || owner.is_empty() {
            return Err(StoreError::Bad("a lease needs a name and an owner".into()));
        }
        let (name, owner) = (checked(name)?, checked(owner)?);
        let ttl_ms = i64::try_from(ttl.as_millis())
            .map_err(|_| StoreError::Bad("the lease is too long".into()))?;
        bounded(async {
            let mut tx = self.write().await?;
            let taken_ahead = ahead_of_terms(&mut tx, name, owner, ttl_ms).await?;
            // Whoever is ahead has been looked at, and is locked.
            let is_ahead = i64::from(taken_ahead.is_some());
            let take = tx.sql(
                "INSERT INTO leases (name, owner, token, expires_ms, term_ms) VALUES ($1, $2, 1, {now_ms} + $3, $4) \
                 ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, expires_ms = excluded.expires_ms, \
                 term_ms = excluded.term_ms, \
                 token = leases.token + CASE WHEN leases.owner = excluded.owner THEN 0 ELSE 1 END \
                 WHERE leases.owner = excluded.owner OR leases.expires_ms <= {now_ms} OR $5 <> 0 RETURNING token",
            );
            let query = sqlx::query(take).bind(name).bind(owner).bind(ttl_ms).bind(ttl_ms).bind(is_ahead);
            let row = query.fetch_optional(tx.on()).await?;
            let Some(row) = row else { return Ok(None) };
            let token = row.try_get(0)?;
            tx.commit().await?;
            Ok(Some(Lease { name: name.to_owned(), owner: owner.to_owned(), token, taken_ahead }))
        })
        .await
    }

    /// Gives the lease up, so that another can take it at once. Returns whether it was still held.
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

    /// The current holder by the database's clock, if any.
    pub async fn holder(&self, name: &str) -> Result<Option<Lease>> {
        let text = self.backend().sql(&format!(
            "SELECT owner, token FROM leases WHERE name = $1 AND expires_ms > {{now_ms}} \
             AND (term_ms = 0 OR expires_ms - {{now_ms}} <= {TERMS_AHEAD} * term_ms)"
        ));
        let row = sqlx::query(text)
            .bind(name)
            .fetch_optional(&self.inner.reader)
            .await?;
        let Some(row) = row else { return Ok(None) };
        Ok(Some(Lease {
            name: name.to_owned(),
            owner: row.try_get(0)?,
            token: row.try_get(1)?,
            taken_ahead: None,
        }))
    }

    /// Begins a transaction for the holder of the lease. Nobody can take the lease until it ends.
    pub(crate) async fn act(&self, lease: &Lease) -> Result<Tx> {
        let mut tx = self.write().await?;
        let text =
            tx.sql("SELECT token FROM leases WHERE name = $1 AND owner = $2 AND token = $3 {lock}");
        let query = sqlx::query(text)
            .bind(lease.name.as_str())
            .bind(lease.owner.as_str())
            .bind(lease.token);
        match query.fetch_optional(tx.on()).await? {
            Some(_) => Ok(tx),
            None => Err(StoreError::Fenced),
        }
    }
}

/// How far ahead another owner's lease ends, if that is too far. Locks the row if there is one. Older programs stored no
/// term; then ours counts.
async fn ahead_of_terms(
    tx: &mut Tx,
    name: &str,
    owner: &str,
    ttl_ms: i64,
) -> Result<Option<Duration>> {
    let text =
        tx.sql("SELECT owner, expires_ms - {now_ms}, term_ms FROM leases WHERE name = $1 {lock}");
    let Some(row) = sqlx::query(text).bind(name).fetch_optional(tx.on()).await? else {
        return Ok(None);
    };
    let (holder, ahead_ms, term_ms): (String, i64, i64) =
        (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
    let term_ms = if term_ms > 0 { term_ms } else { ttl_ms };
    let is_ahead = holder != owner && ahead_ms > term_ms.saturating_mul(TERMS_AHEAD);
    Ok(u64::try_from(ahead_ms)
        .ok()
        .filter(|_| is_ahead)
        .map(Duration::from_millis))
}
