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
//! PostgreSQL gives the numbers of transactions that left no trace again after a crash or a failover. A change could then be below
//! a mark that nobody has seen it under. So a mark knows which server process it is of, by the time when that was started. A mark of
//! another one starts from the beginning, and so does a mark ahead of the database.

use sqlx::Row;

use crate::clusters::{DepartedCluster, StoredCluster, changed_since};
use crate::{Backend, Result, Store, Tx};

/// A position in the changes. The default has seen nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChangeMark {
    next: i64,
    /// When the server was started, in microseconds; 0 for SQLite.
    server: i64,
}

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
    /// Where to read from. A mark of another server, or ahead of the database, is from before a failover: then from the beginning.
    pub(crate) fn within(self, next: Self) -> i64 {
        match self.server == next.server && self.next <= next.next {
            true => self.next,
            false => 0,
        }
    }
}

/// The mark of a snapshot.
pub(crate) async fn next_mark(tx: &mut Tx) -> Result<ChangeMark> {
    let next = match tx.backend {
        Backend::Sqlite => {
            "SELECT value + 1, CAST(0 AS BIGINT) FROM counters WHERE name = 'changes'"
        }
        Backend::Postgres => {
            "SELECT CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS TEXT) AS BIGINT), \
             CAST(EXTRACT(EPOCH FROM pg_postmaster_start_time()) * 1000000 AS BIGINT)"
        }
    };
    let row = sqlx::query(next).fetch_one(tx.on()).await?;
    Ok(ChangeMark {
        next: row.try_get(0)?,
        server: row.try_get(1)?,
    })
}
