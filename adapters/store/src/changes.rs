//! Which clusters have changed since a mark.
//!
//! Transactions get their numbers before they commit, and may commit in another order. So the highest number seen is not
//! a safe mark: a smaller one may commit later. The mark is a number below which every transaction has ended:
//!
//! - PostgreSQL: a change carries its transaction's number. The mark is the oldest transaction that was still running
//!   at the time of the read (`pg_snapshot_xmin`): all below it have ended, and their changes were visible.
//! - SQLite: there is one writer at a time, so a counter follows the order of commits. The mark is the next number.
//!
//! Changes at or above the mark are returned again. A long transaction causes repetition, never a gap.
//! A mark ahead of the database (after a fail-over that lost transactions) starts from the beginning.
//! If a fail-over loses transactions and then passes the mark, this module cannot notice. So a program that keeps a copy of the
//! fleet reads all of it now and then.

use sqlx::Row;

use crate::clusters::{DepartedCluster, StoredCluster, changed_since};
use crate::{Backend, Result, Store, Tx};

/// A position in the changes. The default has seen nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChangeMark(i64);

#[derive(Debug, Clone, PartialEq)]
pub struct Changes {
    /// Clusters that are new or may have changed.
    pub clusters: Vec<StoredCluster>,
    pub forgotten: Vec<DepartedCluster>,
    pub mark: ChangeMark,
}

impl Store {
    /// The changes since the mark. It may repeat changes, but never misses any.
    pub async fn clusters_changed_since(&self, mark: ChangeMark) -> Result<Changes> {
        let mut tx = self.snapshot().await?;
        let next = next_mark(&mut tx).await?;
        let (clusters, forgotten) = changed_since(&mut tx, Some(mark.within(next))).await?;
        Ok(Changes {
            clusters,
            forgotten,
            mark: next,
        })
    }
}

impl ChangeMark {
    /// Where to read from. A mark ahead of the database is from before a fail-over: then from the beginning.
    pub(crate) fn within(self, next: Self) -> i64 {
        if self.0 > next.0 { 0 } else { self.0 }
    }
}

/// The mark of a snapshot.
pub(crate) async fn next_mark(tx: &mut Tx) -> Result<ChangeMark> {
    let next = match tx.backend {
        Backend::Sqlite => "SELECT value + 1 FROM counters WHERE name = 'changes'",
        Backend::Postgres => {
            "SELECT CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS TEXT) AS BIGINT)"
        }
    };
    Ok(ChangeMark(
        sqlx::query(next).fetch_one(tx.on()).await?.try_get(0)?,
    ))
}
