//! What has changed since one last looked.
//!
//! Numbers that are given out before a commit do not show in the order of commits: one that looks in between would miss
//! the smaller number. So a mark is not the highest number seen, but one below which everything has been decided:
//!
//! - PostgreSQL: a change carries its transaction's number. The mark is the oldest transaction that was still running when
//!   one looked (`pg_snapshot_xmin`): all below it have ended, and what they committed was visible.
//! - SQLite: one writer at a time, so a counter in the transaction has the order of commits. The mark is the next number.
//!
//! Changes at or above the mark are told again. A transaction that runs for long, in any database of the server, makes for
//! repetition, never for a gap.
//! A mark that lies ahead of the database (a replica took over that had not got everything) starts from the beginning.
//! A fail-over that loses transactions and then overtakes the mark unseen can not be noticed here; whoever keeps
//! a copy of the fleet reads all of it now and then.

use sqlx::Row;

use crate::clusters::{Departed, StoredCluster, changed_since};
use crate::{Backend, Result, Store};

/// How far one has looked. The default has seen nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChangeMark(i64);

#[derive(Debug, Clone, PartialEq)]
pub struct Changes {
    /// Clusters that are new or changed, or may be.
    pub clusters: Vec<StoredCluster>,
    pub forgotten: Vec<Departed>,
    pub mark: ChangeMark,
}

impl Store {
    /// What has changed since the mark. It may tell what was told before; it never leaves out anything.
    pub async fn clusters_changed_since(&self, mark: ChangeMark) -> Result<Changes> {
        let mut tx = self.snapshot().await?;
        let next = match tx.backend {
            Backend::Sqlite => "SELECT value + 1 FROM counters WHERE name = 'changes'",
            Backend::Postgres => {
                "SELECT CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS TEXT) AS BIGINT)"
            }
        };
        let next = ChangeMark(sqlx::query(next).fetch_one(tx.on()).await?.try_get(0)?);
        let since = if mark.0 > next.0 { 0 } else { mark.0 };
        let (clusters, forgotten) = changed_since(&mut tx, Some(since)).await?;
        Ok(Changes {
            clusters,
            forgotten,
            mark: next,
        })
    }
}
