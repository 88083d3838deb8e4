//! Backup and restore. A backup is always an SQLite file, whichever database it comes from. So it can be read anywhere and
//! restored into both databases.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use futures_util::TryStreamExt;
use sqlx::any::AnyRow;
use sqlx::query::Query;
use sqlx::{Any, AssertSqlSafe, Row};

use crate::backend::Place;
use crate::private::with_suffix;
use crate::schema::{self, Kind, TABLES};
use crate::{Backend, Result, Store, StoreAddress, StoreError, Tx, check};

/// About how many values one statement writes. SQLite allows at most 32,766.
const VALUES_AT_ONCE: usize = 1_000;

impl Store {
    /// Writes a consistent snapshot to a new file, atomically. Other processes continue to work.
    pub async fn backup(&self, to: &Path) -> Result<()> {
        refuse_existing(to)?;
        let partial = partial_of(to)?;
        let result = self
            .write_backup(&partial)
            .await
            .and_then(|()| publish(&partial, to));
        // Gone already if all went well.
        let _ = fs::remove_file(&partial);
        let _ = fs::remove_file(with_suffix(&partial, "-journal"));
        result
    }

    /// Checks a backup, and restores it into an empty store.
    pub async fn restore(from: &Path, to: impl Into<StoreAddress>) -> Result<()> {
        if !from.is_file() {
            return Err(StoreError::Bad(format!(
                "{}: there is no such file",
                from.display()
            )));
        }
        let backup = Self::connect(Place::ReadOnlyFile(from.to_owned())).await?;
        let mut source = backup.snapshot().await?;
        let found = schema::found(&mut source).await?;
        if found > schema::KNOWN {
            return Err(StoreError::NewerSchema {
                found,
                known: schema::KNOWN,
            });
        }
        let problems = check::check(&mut source).await?;
        if let Some(first) = problems.first() {
            let problem = format!(
                "{} has {} problem(s), the first: {first}",
                from.display(),
                problems.len()
            );
            return Err(StoreError::Corrupt(problem));
        }
        let store = Self::open(to).await?;
        let mut target = store.write().await?;
        refuse_filled(&mut target).await?;
        copy(&mut source, &mut target).await?;
        target.commit().await?;
        drop(source);
        backup.close().await;
        store.close().await;
        Ok(())
    }

    async fn write_backup(&self, partial: &Path) -> Result<()> {
        let mut source = self.snapshot().await?;
        if source.backend == Backend::Postgres {
            sqlx::query("SET LOCAL statement_timeout = 0")
                .execute(source.on())
                .await?;
            sqlx::query("SET LOCAL idle_in_transaction_session_timeout = 0")
                .execute(source.on())
                .await?;
        }
        let backup = Self::connect(Place::BackupFile(partial.to_owned())).await?;
        schema::migrate(&backup).await?;
        let mut target = backup.write().await?;
        copy(&mut source, &mut target).await?;
        schema::need_all(&mut target).await?;
        target.commit().await?;
        backup.close().await;
        Ok(())
    }
}

/// Copies all tables into empty ones.
async fn copy(source: &mut Tx, target: &mut Tx) -> Result<()> {
    if target.backend == Backend::Postgres {
        sqlx::query("SET LOCAL idle_in_transaction_session_timeout = 0")
            .execute(target.on())
            .await?;
    }
    sqlx::query("DELETE FROM counters")
        .execute(target.on())
        .await?;
    // An old backup has fewer tables and columns. Tables that came since stay empty, columns have their defaults.
    let found = schema::found(source).await?;
    for (table, columns) in schema::tables_of(found) {
        let at_once = VALUES_AT_ONCE / columns.len();
        let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
        let text = format!("SELECT {} FROM {table}", names.join(", "));
        let mut rows = sqlx::query(AssertSqlSafe(text)).fetch(source.on());
        let mut batch = Vec::with_capacity(at_once);
        while let Some(row) = rows.try_next().await? {
            batch.push(row);
            if batch.len() == at_once {
                insert(target, table, &columns, &batch).await?;
                batch.clear();
            }
        }
        if !batch.is_empty() {
            insert(target, table, &columns, &batch).await?;
        }
    }
    if found < schema::since("bindings", "cluster") {
        sqlx::query(schema::BIND_LISTED)
            .execute(target.on())
            .await?;
    }
    // Changes are numbered by each database in its own way; a lease is nobody's, but its token goes on.
    for text in [
        "UPDATE clusters SET changed = 0",
        "UPDATE attempts SET changed = 0",
    ] {
        sqlx::query(text).execute(target.on()).await?;
    }
    sqlx::query("UPDATE leases SET owner = '', expires_ms = 0")
        .execute(target.on())
        .await?;
    Ok(())
}

async fn insert(
    target: &mut Tx,
    table: &str,
    columns: &[(&str, Kind)],
    rows: &[AnyRow],
) -> Result<()> {
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    let mut text = format!("INSERT INTO {table} ({}) VALUES ", names.join(", "));
    for row in 0..rows.len() {
        let values: Vec<String> = (1..=columns.len())
            .map(|at| format!("${}", row * columns.len() + at))
            .collect();
        text += if row == 0 { "(" } else { ", (" };
        text += &values.join(", ");
        text += ")";
    }
    let mut query = sqlx::query(AssertSqlSafe(text));
    for row in rows {
        for (at, (_, kind)) in columns.iter().enumerate() {
            query = bind(query, row, at, *kind)?;
        }
    }
    query.execute(target.on()).await?;
    Ok(())
}

type AnyQuery<'q> = Query<'q, Any, sqlx::any::AnyArguments>;

fn bind<'q>(query: AnyQuery<'q>, row: &AnyRow, at: usize, kind: Kind) -> Result<AnyQuery<'q>> {
    Ok(match kind {
        Kind::Text => query.bind(row.try_get::<Option<String>, _>(at)?),
        Kind::Int => query.bind(row.try_get::<Option<i64>, _>(at)?),
        Kind::Blob => query.bind(row.try_get::<Option<Vec<u8>>, _>(at)?),
    })
}

/// Refuses a store that is not empty: a restore overwrites nothing.
async fn refuse_filled(target: &mut Tx) -> Result<()> {
    // Nobody else may fill it meanwhile.
    crate::claims::lock_starts(target).await?;
    for (table, _) in TABLES.iter().filter(|(table, _)| *table != "counters") {
        let text = format!("SELECT COUNT(*) FROM {table}");
        let count: i64 = sqlx::query(AssertSqlSafe(text))
            .fetch_one(target.on())
            .await?
            .try_get(0)?;
        if count > 0 {
            return Err(StoreError::Bad(format!(
                "the store is not empty (it has {count} {table}); restore into a new one"
            )));
        }
    }
    Ok(())
}

fn refuse_existing(to: &Path) -> Result<()> {
    match to.symlink_metadata() {
        Ok(_) => Err(StoreError::Bad(format!(
            "{} exists already; a backup overwrites nothing",
            to.display()
        ))),
        Err(_) => Ok(()),
    }
}

/// The temporary file of a backup, beside it and named after the process.
fn partial_of(to: &Path) -> Result<PathBuf> {
    let name = to
        .file_name()
        .ok_or_else(|| StoreError::Bad(format!("{} names no file", to.display())))?;
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        return Err(StoreError::Bad(format!(
            "{}: there is no directory {}; make it first",
            to.display(),
            folder.display()
        )));
    }
    let mut partial = std::ffi::OsString::from(".");
    partial.push(name);
    partial.push(format!(".{}.partial", std::process::id()));
    let partial = to.with_file_name(partial);
    // What an earlier process of this number has left behind.
    let _ = fs::remove_file(&partial);
    Ok(partial)
}

/// Syncs the finished file and moves it into place, without overwriting another.
fn publish(partial: &Path, to: &Path) -> Result<()> {
    let failed =
        |error: io::Error| StoreError::Bad(format!("{} cannot be written: {error}", to.display()));
    File::open(partial)
        .and_then(|file| file.sync_all())
        .map_err(failed)?;
    match fs::hard_link(partial, to) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(failed(error)),
        // Not every file system has links; then nothing but the look before it keeps two backups apart.
        Err(_) => refuse_existing(to).and_then(|()| fs::rename(partial, to).map_err(failed))?,
        Ok(()) => {}
    }
    let directory = to
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    File::open(directory)
        .and_then(|directory| directory.sync_all())
        .map_err(failed)
}
