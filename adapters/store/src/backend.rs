//! The differences between the two databases: connecting, and a few words of SQL.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::str::FromStr as _;
use std::sync::Once;
use std::time::Duration;

use sqlx::any::{AnyConnectOptions, AnyPoolOptions};
use sqlx::{AnyConnection, AnyPool, AssertSqlSafe, ConnectOptions, Connection, Executor};

use crate::error::is_busy;
use crate::{Result, StoreAddress, StoreError, password, private};

/// How long to wait for a connection before the database counts as unavailable.
const ACQUIRE_LIMIT: Duration = Duration::from_secs(3);
/// How soon to retry a file that another process has locked.
const BUSY_PAUSE: Duration = Duration::from_millis(5);
/// Connections to PostgreSQL per process.
const POSTGRES_CONNECTIONS: u32 = 8;
/// Connections that read an SQLite file.
const SQLITE_READERS: u32 = 4;

/// PostgreSQL's session settings. Statements time out before their caller does. A process that hangs in a transaction
/// loses its locks. A confirmed commit is on disk. Every call is planned again, because a plan from empty tables
/// would scan full ones.
const POSTGRES_SESSION: &str = "SET statement_timeout = '25s'; SET lock_timeout = '10s'; \
     SET idle_in_transaction_session_timeout = '15s'; SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; \
     SET tcp_keepalives_count = 3; SET client_min_messages = 'warning'; SET synchronous_commit = 'on'; \
     SET plan_cache_mode = 'force_custom_plan'";
/// SQLite's session settings. A confirmed commit is on disk.
const SQLITE_SESSION: &str = "PRAGMA busy_timeout = 10000; PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL; PRAGMA cache_size = -32000";

/// The database that holds the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Backend {
    /// A local file.
    Sqlite,
    /// A server, for many replicas.
    Postgres,
}

impl Backend {
    /// How many parallel writers are useful.
    pub fn writers(self) -> usize {
        match self {
            Self::Sqlite => 1,
            Self::Postgres => 2,
        }
    }

    /// The stable name: for logs and metrics.
    pub fn code(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        }
    }

    /// Translates SQL for this database.
    ///
    /// `{rows}` turns `$1`, a JSON array, into rows with one column `value`. `{lock}` locks the rows that a query reads.
    /// `{now_ms}` is the database's clock. `{change}` is the number of the running transaction.
    pub(crate) fn sql(self, text: &str) -> AssertSqlSafe<String> {
        let [rows, lock, now_ms, change] = match self {
            Self::Sqlite => [
                "json_each($1) AS j",
                "",
                "CAST((julianday('now') - 2440587.5) * 86400000 AS BIGINT)",
                "(SELECT value FROM counters WHERE name = 'changes')",
            ],
            Self::Postgres => [
                // The planner would read a plain cast, all of it, to make its plan; concat it leaves alone.
                "jsonb_array_elements(CAST(concat($1, '') AS jsonb)) AS j(value)",
                "FOR UPDATE",
                "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)",
                "CAST(CAST(pg_current_xact_id() AS TEXT) AS BIGINT)",
            ],
        };
        let text = text
            .replace("{rows}", rows)
            .replace("{lock}", lock)
            .replace("{now_ms}", now_ms);
        AssertSqlSafe(text.replace("{change}", change))
    }

    /// Translates a table definition for this database. `KEY` is a text that is compared by its bytes.
    pub(crate) fn definition(self, text: &str) -> AssertSqlSafe<String> {
        AssertSqlSafe(match self {
            Self::Sqlite => text
                .replace(" KEY", " TEXT")
                .replace("PRIMARY TEXT", "PRIMARY KEY"),
            Self::Postgres => text
                .replace(" KEY", " TEXT COLLATE \"C\"")
                .replace("PRIMARY TEXT COLLATE \"C\"", "PRIMARY KEY")
                .replace(" BLOB", " BYTEA"),
        })
    }

    pub(crate) fn begin_write(self) -> &'static str {
        match self {
            Self::Sqlite => "BEGIN IMMEDIATE",
            // Each statement sees what was committed before it: what is read after a lock is what the lock protects.
            Self::Postgres => "BEGIN ISOLATION LEVEL READ COMMITTED",
        }
    }

    pub(crate) fn begin_read(self) -> &'static str {
        match self {
            Self::Sqlite => "BEGIN",
            // Reading a million clusters takes longer than a short call may.
            Self::Postgres => {
                "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY; SET LOCAL statement_timeout = '5min'"
            }
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// In memory.
    Memory,
    /// A file, with its journal beside it.
    File(PathBuf),
    /// A single file without a journal: a backup that is being written.
    BackupFile(PathBuf),
    /// A read-only file: a backup.
    ReadOnlyFile(PathBuf),
    /// A server. Its password may be in a file.
    Postgres {
        url: String,
        password_file: Option<PathBuf>,
    },
}

impl TryFrom<StoreAddress> for Place {
    type Error = StoreError;

    fn try_from(StoreAddress { url, password_file }: StoreAddress) -> Result<Self> {
        let is_postgres = url.starts_with("postgres://") || url.starts_with("postgresql://");
        if let (false, Some(file)) = (is_postgres, &password_file) {
            let problem = format!("{} is given as the store's password file", file.display());
            return Err(StoreError::Bad(format!(
                "{problem}, but only postgres://… has a password; leave it out"
            )));
        }
        match url.strip_prefix("sqlite:") {
            Some(":memory:") => Ok(Self::Memory),
            Some(path) if !path.is_empty() => {
                Ok(Self::File(path.strip_prefix("//").unwrap_or(path).into()))
            }
            None if is_postgres => Ok(Self::Postgres { url, password_file }),
            // The text may hold a password: it is not repeated.
            _ => Err(StoreError::Bad(
                "a store is \"sqlite:PATH\" or \"postgres://USER@HOST/DATABASE\"".into(),
            )),
        }
    }
}

/// For messages. A password is never shown.
impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Memory => f.write_str("sqlite::memory:"),
            Self::File(path) | Self::BackupFile(path) | Self::ReadOnlyFile(path) => {
                write!(f, "sqlite:{}", path.display())
            }
            Self::Postgres { .. } => f.write_str("that PostgreSQL database"),
        }
    }
}

impl Place {
    pub(crate) fn backend(&self) -> Backend {
        match self {
            Self::Postgres { .. } => Backend::Postgres,
            _ => Backend::Sqlite,
        }
    }

    /// Opens one pool for writing and one for reading.
    pub(crate) async fn pools(&self) -> Result<(AnyPool, AnyPool)> {
        static DRIVERS: Once = Once::new();
        DRIVERS.call_once(sqlx::any::install_default_drivers);
        match self {
            Self::Postgres { .. } => {
                let pool = pool(
                    self.options()?,
                    POSTGRES_CONNECTIONS,
                    POSTGRES_SESSION.into(),
                    StuckConnection::Dropped,
                )
                .await?;
                Ok((pool.clone(), pool))
            }
            // Its data would go with the connection.
            Self::Memory => one_for_both(self.options()?, "", StuckConnection::Kept).await,
            Self::BackupFile(path) => {
                private::prepare(path)?;
                one_for_both(
                    self.options()?,
                    "PRAGMA journal_mode = DELETE",
                    StuckConnection::Dropped,
                )
                .await
            }
            Self::ReadOnlyFile(_) => {
                one_for_both(self.options()?, "", StuckConnection::Dropped).await
            }
            Self::File(path) => {
                private::prepare(path)?;
                let session = |more: &str| format!("{SQLITE_SESSION}; {more}");
                let writing = session("PRAGMA journal_mode = WAL");
                let writer = pool(self.options()?, 1, writing, StuckConnection::Dropped).await?;
                let reading = session("PRAGMA query_only = ON");
                let reader = pool(
                    options_of(&url_of(path, "rw"))?,
                    SQLITE_READERS,
                    reading,
                    StuckConnection::Dropped,
                )
                .await?;
                Ok((writer, reader))
            }
        }
    }

    pub(crate) fn has_password_file(&self) -> bool {
        matches!(
            self,
            Self::Postgres {
                password_file: Some(_),
                ..
            }
        )
    }

    /// The connection options, with the current password from the file.
    pub(crate) fn options(&self) -> Result<AnyConnectOptions> {
        match self {
            Self::Memory => options_of("sqlite::memory:"),
            Self::File(path) | Self::BackupFile(path) => options_of(&url_of(path, "rwc")),
            Self::ReadOnlyFile(path) => options_of(&url_of(path, "ro")),
            Self::Postgres {
                url,
                password_file: None,
            } => options_of(url),
            Self::Postgres {
                url,
                password_file: Some(file),
            } => password::add(options_of(url)?, file),
        }
    }
}

fn options_of(url: &str) -> Result<AnyConnectOptions> {
    let options = AnyConnectOptions::from_str(url).map_err(|error| {
        StoreError::Bad(format!("the address of the store cannot be read: {error}"))
    })?;
    Ok(options.disable_statement_logging())
}

/// What to do with a connection that still counts a transaction that has ended.
///
/// SQLite ends a transaction by itself when the disk is full. Then sqlx's rollback fails, and it would refuse every later
/// transaction of that connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StuckConnection {
    Dropped,
    Kept,
}

/// One permanent connection for writing and reading.
async fn one_for_both(
    options: AnyConnectOptions,
    more: &str,
    stuck: StuckConnection,
) -> Result<(AnyPool, AnyPool)> {
    let pool = pool(options, 1, format!("{SQLITE_SESSION}; {more}"), stuck).await?;
    Ok((pool.clone(), pool))
}

async fn pool(
    options: AnyConnectOptions,
    connections: u32,
    session: String,
    stuck: StuckConnection,
) -> Result<AnyPool> {
    try_connection(&options, &session).await?;
    Ok(AnyPoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(ACQUIRE_LIMIT)
        .idle_timeout(None)
        .max_lifetime(None)
        .before_acquire(move |connection, _| {
            let usable = stuck == StuckConnection::Kept || !connection.is_in_transaction();
            Box::pin(std::future::ready(Ok(usable)))
        })
        .after_connect(move |connection, _| {
            let session = session.clone();
            Box::pin(async move { begin_session(connection, &session).await })
        })
        .connect_lazy_with(options))
}

/// Explains why a pool timed out: a pool only knows the timeout, but a single connection says what is wrong.
async fn try_connection(options: &AnyConnectOptions, session: &str) -> Result<()> {
    let attempt = async {
        let mut connection = options.connect().await?;
        begin_session(&mut connection, session).await?;
        connection.close().await
    };
    match tokio::time::timeout(ACQUIRE_LIMIT, attempt).await {
        Ok(result) => Ok(result?),
        Err(_) => Err(StoreError::Unavailable(format!(
            "no connection within {ACQUIRE_LIMIT:?}"
        ))),
    }
}

/// Retries while other processes switch the same new file to WAL: SQLite ignores its busy timeout then.
async fn begin_session(connection: &mut AnyConnection, session: &str) -> sqlx::Result<()> {
    let give_up = tokio::time::Instant::now() + ACQUIRE_LIMIT;
    for statement in session
        .split(';')
        .filter(|statement| !statement.trim().is_empty())
    {
        loop {
            match connection
                .execute(AssertSqlSafe(statement.to_owned()))
                .await
            {
                Err(error) if is_busy(&error) && tokio::time::Instant::now() < give_up => {
                    tokio::time::sleep(BUSY_PAUSE).await;
                }
                Err(error) => return Err(error),
                Ok(_) => break,
            }
        }
    }
    Ok(())
}

/// The path with special bytes escaped for sqlx.
fn url_of(path: &Path, mode: &str) -> String {
    let mut url = String::from("sqlite:");
    for &byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' => {
                url.push(char::from(byte))
            }
            _ => {
                let _ = write!(url, "%{byte:02X}");
            }
        }
    }
    url + "?mode=" + mode
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_told_apart() {
        for (url, expected) in [
            ("sqlite::memory:", Some(Place::Memory)),
            ("sqlite:/a/b.db", Some(Place::File("/a/b.db".into()))),
            ("sqlite:///a/b.db", Some(Place::File("/a/b.db".into()))),
            ("sqlite:b.db", Some(Place::File("b.db".into()))),
            (
                "postgres://h/d",
                Some(Place::Postgres {
                    url: "postgres://h/d".into(),
                    password_file: None,
                }),
            ),
            ("sqlite:", None),
            ("mysql://h/d", None),
            ("", None),
        ] {
            assert_eq!(
                Place::try_from(StoreAddress::from(url)).ok(),
                expected,
                "{url}"
            );
        }
        let address = StoreAddress {
            url: "sqlite:b.db".into(),
            password_file: Some("secret".into()),
        };
        let error = Place::try_from(address).unwrap_err().to_string();
        assert!(error.contains("only postgres://"), "{error}");
    }

    #[test]
    fn a_path_is_only_a_path() {
        assert_eq!(
            url_of(Path::new("/a b/x?mode=ro#%.db"), "rwc"),
            "sqlite:/a%20b/x%3Fmode%3Dro%23%25.db?mode=rwc"
        );
    }
}
