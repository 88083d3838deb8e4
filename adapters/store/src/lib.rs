//! The fleet's persistent state: one SQLite file, or PostgreSQL for many replicas.
//!
//! This is the only crate with SQL. It decides nothing: the scheduler decides what may start, and the store checks it again
//! in the transaction that writes it.
//!
//! The same SQL serves both databases; [`backend`] has the few differences. Lists are passed as one JSON array, so that a
//! batch is one statement with one argument.
//!
//! **Lock order.** SQLite has one writer at a time. In PostgreSQL these rows are locks, always taken in this order:
//!
//! 1. the lease: every act of the scheduler locks it and compares its token. So a scheduler that lost the lease can do
//!    nothing, and acts of one lease run one after the other;
//! 2. the counter of upgrades: [`Store::claim`], [`Store::begin`], [`Store::adopt`], [`Store::transition`], [`Store::pause`],
//!    [`Store::withdraw_approval`] and [`Store::cancel`] lock it, so they run one after the other even under different leases.
//!    A claim reads what people did after it has the row. So once `pause` has returned, no claim that it covers can succeed;
//! 3. the counter of people's acts;
//! 4. the counter of halts, or of revocations;
//! 5. the counter of entries of the log: whatever appends one has all its other locks by then.
//!
//! Reports lock none of these. They lock the rows of their clusters, in the order of their ids.
//!
//! **Lost answers.** If a write fails, nothing was written, unless the connection broke during the commit: then the result
//! is unknown. Reports can be sent again; a scheduler first reads the active upgrades.

mod acts;
mod agent_updates;
mod attempts;
mod backend;
mod backup;
mod cancel;
mod changes;
mod check;
mod claims;
mod clusters;
mod decisions;
mod error;
mod halts;
mod imported_soak;
mod kept_list;
mod lease;
mod log_heads;
mod logged_acts;
mod password;
mod people;
mod preflights;
mod private;
mod prune;
mod reports;
mod revocations;
mod rows;
mod schema;
mod upgrades;
mod watch_answers;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use sqlx::any::AnyRow;
use sqlx::{Any, AnyConnection, AnyPool, Transaction};
use towpath_core::fleet::Doer;

pub use acts::ActMark;
pub use attempts::{AttemptChanges, MAX_TESTIMONIES};
pub use backend::Backend;
pub use cancel::{CancelOutcome, CancelWhich};
pub use changes::{ChangeMark, Changes};
pub use claims::{Claim, ClaimOutcome, Lock, Need, Refusal, Start, StartPlace};
pub use clusters::{DepartedCluster, StoredCluster};
pub use decisions::{ChainCheckpoint, ChainState, InputPart, MAX_PART_BYTES, StoredDecision};
pub use error::{Result, StoreError};
pub use halts::{
    HaltMark, HaltOutcome, MAX_STANDING_HALTS, NewHalt, StoredHalt, Undo, UndoOutcome,
};
pub use lease::Lease;
pub use log_heads::LogStretch;
pub use logged_acts::{MAX_ACT_BYTES, NewAct};
pub use password::StoreAddress;
pub use people::{Acknowledgement, WithdrawOutcome};
pub use prune::{PruningCounts, PruningTimes, Retention};
pub use reports::{BatchOutcome, ClusterReport, MAX_BATCH, RecordOutcome};
pub use revocations::{MAX_REVOCATIONS, RevocationMark};
pub use upgrades::UpgradeSelection;
pub use watch_answers::KeptAnswer;

use backend::Place;
use error::is_refused_password;

/// The timeout of a short call. The server's own timeout is a little shorter.
const CALL_LIMIT: Duration = Duration::from_secs(30);

/// The fleet's state. Clones share connections.
#[derive(Debug, Clone)]
pub struct Store {
    inner: Arc<Inner>,
    /// For whom it is used: [`Store::acting_for`].
    doer: Option<Arc<Doer>>,
}

#[derive(Debug)]
struct Inner {
    place: Place,
    /// SQLite: the only connection that writes. PostgreSQL: the same pool as for reading.
    writer: AnyPool,
    reader: AnyPool,
}

/// A transaction, and the database it runs on.
struct Tx {
    inner: Transaction<'static, Any>,
    backend: Backend,
}

impl Store {
    /// Opens the store at `sqlite:PATH`, `sqlite::memory:` or `postgres://…`, and brings its schema up to date.
    ///
    /// A schema newer than this program is left alone and refused.
    pub async fn open(address: impl Into<StoreAddress>) -> Result<Self> {
        let store = Self::connect(Place::try_from(address.into())?).await?;
        store.migrated().await
    }

    /// Opens a store that exists already. A mistyped address makes no new one.
    pub async fn open_existing(address: impl Into<StoreAddress>) -> Result<Self> {
        let place = Place::try_from(address.into())?;
        let missing = StoreError::Missing(place.to_string());
        // SQLite would write into an empty file.
        if let Place::File(path) = &place
            && std::fs::metadata(path).map_or(true, |known| known.is_file() && known.len() == 0)
        {
            return Err(missing);
        }
        let store = Self::connect(place).await?;
        if schema::found(&mut store.snapshot().await?).await? == 0 {
            store.close().await;
            return Err(missing);
        }
        store.migrated().await
    }

    async fn migrated(self) -> Result<Self> {
        schema::migrate(&self).await?;
        if let Place::File(path) = &self.inner.place {
            private::close(path);
        }
        Ok(self)
    }

    pub fn backend(&self) -> Backend {
        self.inner.place.backend()
    }

    /// Closes the connections and waits for it. Dropping the last clone closes them without waiting.
    ///
    /// SQLite then writes its journal back into its one file, as far as other processes that have it open allow.
    pub async fn close(&self) {
        self.inner.reader.close().await;
        if let Place::File(_) = self.inner.place {
            // What cannot be written back now stays in the journal, and is read from there.
            let _ = sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)")
                .execute(&self.inner.writer)
                .await;
        }
        self.inner.writer.close().await;
    }

    async fn connect(place: Place) -> Result<Self> {
        let opened = place.pools().await;
        let (writer, reader) = opened.map_err(|error| match place.backend() {
            Backend::Sqlite => error.at(&place),
            // Its address may hold a password, and the server's own words name it.
            Backend::Postgres => error,
        })?;
        Ok(Self {
            inner: Arc::new(Inner {
                place,
                writer,
                reader,
            }),
            doer: None,
        })
    }

    async fn write(&self) -> Result<Tx> {
        self.transaction(&self.inner.writer, self.backend().begin_write())
            .await
    }

    /// A transaction on one consistent snapshot.
    async fn snapshot(&self) -> Result<Tx> {
        self.transaction(&self.inner.reader, self.backend().begin_read())
            .await
    }

    async fn transaction(&self, pool: &AnyPool, statement: &'static str) -> Result<Tx> {
        let inner = match pool.begin_with(statement).await {
            Err(error) if self.inner.place.has_password_file() && is_refused_password(&error) => {
                // The file may have another password by now. What is read elsewhere connects with it from here on.
                pool.set_connect_options(self.inner.place.options()?);
                pool.begin_with(statement).await?
            }
            begun => begun?,
        };
        Ok(Tx {
            inner,
            backend: self.backend(),
        })
    }
}

impl Tx {
    fn on(&mut self) -> &mut AnyConnection {
        &mut self.inner
    }

    /// Translates SQL for this database.
    fn sql(&self, text: &str) -> sqlx::AssertSqlSafe<String> {
        self.backend.sql(text)
    }

    /// Runs a statement on the `{rows}` of this JSON array, and says how many rows it changed.
    async fn execute(&mut self, text: &str, list: &str) -> sqlx::Result<u64> {
        let query = sqlx::query(self.sql(text)).bind(list);
        Ok(query.execute(self.on()).await?.rows_affected())
    }

    /// Reads with the `{rows}` of this JSON array.
    async fn fetch(&mut self, text: &str, list: &str) -> sqlx::Result<Vec<AnyRow>> {
        let query = sqlx::query(self.sql(text)).bind(list);
        query.fetch_all(self.on()).await
    }

    async fn commit(self) -> Result<()> {
        Ok(self.inner.commit().await?)
    }
}

/// Adds a timeout to a call, because a network that drops packets reports no error.
async fn bounded<T>(call: impl Future<Output = Result<T>>) -> Result<T> {
    match tokio::time::timeout(CALL_LIMIT, call).await {
        Ok(result) => result,
        Err(_) => Err(StoreError::Unavailable(format!(
            "no answer from the database within {CALL_LIMIT:?}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use towpath_core::fleet::Pause;

    use super::*;

    async fn write_much(store: &Store) -> Result<()> {
        let mut tx = store.write().await?;
        let text = "INSERT INTO parts (digest, bytes, body) VALUES (hex(randomblob(16)), 0, randomblob(1000000))";
        sqlx::query(text).execute(tx.on()).await?;
        tx.commit().await
    }

    /// SQLite rolls back by itself when the disk is full. sqlx then counted one transaction too many on the only writing
    /// connection, and refused all later ones, even when there was space again.
    #[tokio::test]
    async fn a_full_disk_is_over_when_there_is_room_again() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(&format!(
            "sqlite:{}",
            directory.path().join("full.db").display()
        ))
        .await
        .unwrap();
        let everywhere = |at: i64| Pause {
            organisation: None,
            sector: None,
            by: "ann".into(),
            at: Timestamp::from_second(at).unwrap(),
            why: "the disk was full".into(),
        };
        for round in 0..3 {
            // No more pages than there are; the limit lasts as long as the connection does.
            sqlx::query("PRAGMA max_page_count = 1")
                .execute(&store.inner.writer)
                .await
                .unwrap();
            let full = write_much(&store).await.unwrap_err();
            assert_eq!(full.code(), "unavailable", "{full}");
            store.pause(&everywhere(round), "token").await.unwrap();
            assert!(
                store
                    .acquire("scheduler", "me", Duration::from_secs(60))
                    .await
                    .unwrap()
                    .is_some()
            );
            write_much(&store).await.unwrap();
            assert_eq!(store.pauses().await.unwrap(), [everywhere(round)]);
        }
        assert_eq!(store.check().await.unwrap(), [""; 0]);
    }

    #[tokio::test]
    async fn a_clean_close_leaves_everything_in_one_file_that_is_its_owners() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("closed.db");
        let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
        let store = Store::open(&format!("sqlite:{}", path.display()))
            .await
            .unwrap();
        write_much(&store).await.unwrap();
        let journal = private::with_suffix(&path, "-wal");
        assert_eq!([mode(&path), mode(&journal)], [0o600; 2]);
        assert!(journal.metadata().unwrap().len() > 0);
        store.close().await;
        let left: Vec<_> = std::fs::read_dir(directory.path())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        assert_eq!(left, std::slice::from_ref(&path));
        // One that an earlier version made.
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        let store = Store::open(&format!("sqlite:{}", path.display()))
            .await
            .unwrap();
        assert_eq!(mode(&path), 0o600);
        // A group was let in on purpose.
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o660)).unwrap();
        store.close().await;
        let store = Store::open(&format!("sqlite:{}", path.display()))
            .await
            .unwrap();
        assert_eq!(mode(&path), 0o660);
        let backup = directory.path().join("backup.db");
        store.backup(&backup).await.unwrap();
        assert_eq!(mode(&backup), 0o600);
    }
}
