//! Fleet state that survives: one SQLite file, or PostgreSQL for many replicas.
//!
//! This is the only place that knows SQL, and it decides nothing: what may start was decided elsewhere, and is only
//! checked again here, in the transaction that writes it down.
//!
//! One text of SQL serves both databases; [`backend`] has the few words in which they differ. Lists go in as one JSON
//! array, so that a batch is one statement with one argument whatever its length.
//!
//! **Who waits for whom.** SQLite has one writer at a time. In PostgreSQL these rows are locks, always taken in this order:
//!
//! 1. the lease: every act of the scheduler takes it and compares its token, so a deposed scheduler can do nothing,
//!    whatever its clock says, and acts of one lease are serial;
//! 2. the counter of upgrades: whatever starts, ends or forbids starts takes it ([`Store::claim`], [`Store::adopt`],
//!    [`Store::transition`], [`Store::pause`]), so these are serial even under different leases. A claim reads the pauses
//!    after it has the row, so once `pause` has returned no claim that it covers can succeed;
//! 3. the counter of decisions.
//!
//! Reports take none of these. They lock the rows of their clusters, in the order of their ids.
//!
//! **When an answer is lost.** An error of a writing call means that nothing was written, except when the connection broke
//! during the commit itself: then nobody can know. Reports may simply be sent again; a scheduler reads what is under way
//! before it goes on.

mod agent_updates;
mod backend;
mod backup;
mod changes;
mod check;
mod claims;
mod clusters;
mod decisions;
mod error;
mod lease;
mod people;
mod reports;
mod rows;
mod schema;
mod upgrades;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use sqlx::{Any, AnyConnection, AnyPool, Transaction};

pub use backend::Backend;
pub use changes::{ChangeMark, Changes};
pub use claims::{Claim, Claimed, Lock, Need, Refusal, Start};
pub use clusters::{Departed, StoredCluster};
pub use decisions::{ChainState, InputPart, MAX_PART_BYTES, StoredDecision};
pub use error::{Result, StoreError};
pub use lease::Lease;
pub use people::Acknowledgement;
pub use reports::{MAX_BATCH, Recorded, Reported, Written};
pub use upgrades::Which;

use backend::Place;

/// The longest that a short call takes before it is given up. The server gives up its part a little earlier.
const CALL_LIMIT: Duration = Duration::from_secs(30);

/// Fleet state. Cheap to clone; clones share their connections.
#[derive(Debug, Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    backend: Backend,
    /// SQLite: the only connection that writes. PostgreSQL: the same connections as the readers'.
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
    pub async fn open(url: &str) -> Result<Self> {
        let store = Self::connect(&url.parse::<Place>()?).await?;
        schema::migrate(&store).await?;
        Ok(store)
    }

    /// Which database it is.
    pub fn backend(&self) -> Backend {
        self.inner.backend
    }

    /// Closes the connections. Without it they close when the last clone goes, but nobody waits for that.
    pub async fn close(&self) {
        self.inner.reader.close().await;
        self.inner.writer.close().await;
    }

    async fn connect(place: &Place) -> Result<Self> {
        let (writer, reader) = place.pools().await?;
        Ok(Self { inner: Arc::new(Inner { backend: place.backend(), writer, reader }) })
    }

    /// A transaction that writes.
    async fn write(&self) -> Result<Tx> {
        let inner = self.inner.writer.begin_with(self.backend().begin_write()).await?;
        Ok(Tx { inner, backend: self.backend() })
    }

    /// A transaction that sees one state of everything.
    async fn snapshot(&self) -> Result<Tx> {
        let inner = self.inner.reader.begin_with(self.backend().begin_read()).await?;
        Ok(Tx { inner, backend: self.backend() })
    }
}

impl Tx {
    fn on(&mut self) -> &mut AnyConnection {
        &mut self.inner
    }

    /// The text in this database's words.
    fn sql(&self, text: &str) -> sqlx::AssertSqlSafe<String> {
        self.backend.sql(text)
    }

    async fn commit(self) -> Result<()> {
        Ok(self.inner.commit().await?)
    }
}

/// Gives up a call that takes too long: a network that swallows packets says nothing by itself.
async fn bounded<T>(call: impl Future<Output = Result<T>>) -> Result<T> {
    match tokio::time::timeout(CALL_LIMIT, call).await {
        Ok(result) => result,
        Err(_) => Err(StoreError::Unavailable(format!("no answer from the database within {CALL_LIMIT:?}"))),
    }
}
