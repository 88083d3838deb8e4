//! Checks the stored data for damage.
//!
//! It finds damage in SQLite's file, unreadable rows, contradictory spans, locks and numbers, and changed decisions and
//! inputs, which have hashes. It cannot find a plausible change of other values (another name, an existing version),
//! because these have no hash. PostgreSQL checks its own pages (`data_checksums`).

use futures_util::TryStreamExt;
use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row};

use crate::attempts::{ATTEMPT, followed};
use crate::rows::{
    self, CLUSTER, CLUSTER_BEFORE_BINDINGS, Interner, SPAN, UPGRADE, UPGRADE_BEFORE_CHANNELS,
};
use crate::{Backend, Result, Store, Tx, acts, decisions, halts, schema};

/// The most problems that one query reports.
const MAX_PROBLEMS: usize = 100;

/// Queries that must return nothing. The first column names the cluster or row.
const NEVER: &[(&str, &str)] = &[
    (
        "spans of the cluster overlap",
        "SELECT DISTINCT cluster FROM (SELECT cluster, from_at, MAX(until_at) OVER (PARTITION BY cluster ORDER BY from_at, \
         until_at ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM all_spans) AS s WHERE before > from_at",
    ),
    (
        "a span of the cluster ends before it begins",
        "SELECT DISTINCT cluster FROM all_spans WHERE until_at < from_at",
    ),
    (
        "the cluster has no span",
        "SELECT id FROM clusters WHERE span_from IS NULL",
    ),
    (
        "the cluster has more than one active upgrade",
        "SELECT cluster FROM upgrades WHERE state IN ('planned', 'started') GROUP BY cluster HAVING COUNT(*) > 1",
    ),
    (
        "a lock is held by an upgrade of the cluster that is not active",
        "SELECT l.cluster FROM locks l LEFT JOIN upgrades u ON u.id = l.upgrade AND u.state IN ('planned', 'started') \
         WHERE u.id IS NULL",
    ),
    (
        "a lock is held for the cluster by another's upgrade",
        "SELECT l.cluster FROM locks l JOIN upgrades u ON u.id = l.upgrade WHERE u.cluster <> l.cluster",
    ),
    (
        "the cluster has soaked longer than it was watched",
        "SELECT DISTINCT cluster FROM soak_sums WHERE nanoseconds < 0 OR nanoseconds > until_at - from_at",
    ),
    (
        "the upgrade has a number that was not given out",
        "SELECT CAST(id AS TEXT) FROM upgrades WHERE id > (SELECT value FROM counters WHERE name = 'upgrades')",
    ),
    (
        "an attempt of the cluster is from before it was first seen",
        "SELECT DISTINCT cluster FROM attempts WHERE first_at > started_at OR first_at > failed_at OR first_at > completed_at \
         OR first_at > degraded_at",
    ),
    (
        "an attempt of the cluster has half a start",
        "SELECT DISTINCT cluster FROM attempts WHERE (started_at IS NULL) <> (from_version IS NULL)",
    ),
    (
        "an attempt of the cluster may take no time at all",
        "SELECT DISTINCT cluster FROM attempts WHERE limit_seconds <= 0",
    ),
    (
        "the halt was undone by fewer than two people",
        "SELECT CAST(id AS TEXT) FROM halts WHERE undone_at IS NOT NULL \
         AND (first_undo_by IS NULL OR undone_by IS NULL OR first_undo_by = undone_by)",
    ),
    (
        "the act of a person has a number that was not given out",
        "SELECT CAST(seq AS TEXT) FROM acts WHERE COALESCE(ended_seq, seq) > \
         COALESCE((SELECT value FROM counters WHERE name = 'acts'), 0)",
    ),
    (
        "the act of a person ended before it began",
        "SELECT CAST(seq AS TEXT) FROM acts WHERE ended_seq <= seq",
    ),
    (
        "the same upgrade is cancelled twice",
        "SELECT cluster FROM acts WHERE kind = 'cancellation' AND ended_seq IS NULL GROUP BY cluster, pool, version HAVING COUNT(*) > 1",
    ),
];

impl Store {
    /// Looks for damage in one consistent snapshot. Returns problems for people; empty is good.
    pub async fn check(&self) -> Result<Vec<String>> {
        check(&mut self.snapshot().await?).await
    }
}

pub(crate) async fn check(tx: &mut Tx) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    if tx.backend == Backend::Sqlite {
        integrity(tx, &mut problems).await?;
    }
    if tx.backend == Backend::Postgres {
        // A large fleet may take its time here, and nobody waits for it.
        sqlx::query("SET LOCAL statement_timeout = 0")
            .execute(tx.on())
            .await?;
    }
    // A backup may be older; what came since is not looked at here. A newer program may have added tables.
    let versions = schema::versions(tx).await?;
    let found = schema::usable(versions).map(|found| found.min(schema::KNOWN));
    let found = found.unwrap_or(schema::KNOWN + 1);
    if !(1..=schema::KNOWN).contains(&found) {
        problems.push(format!("the schema is {found}, not {}", schema::KNOWN));
        return Ok(problems);
    }
    let is_there = |query: &str| {
        let lacks = |table: &str, column: &str| {
            found < schema::since(table, column) && query.contains(&format!("FROM {table}"))
        };
        !lacks("soak_sums", "cluster")
            && !lacks("attempts", "cluster")
            && !lacks("halts", "id")
            && !lacks("acts", "seq")
    };
    for (what, query) in NEVER.iter().filter(|(_, query)| is_there(query)) {
        let rows = sqlx::query(*query).fetch_all(tx.on()).await?;
        for row in rows.iter().take(MAX_PROBLEMS) {
            problems.push(format!("{}: {what}", row.try_get::<String, _>(0)?));
        }
    }
    readable(tx, found, &mut problems).await?;
    problems.extend(decisions::verify(tx).await?.problems);
    Ok(problems)
}

/// Reads every cluster, upgrade and span as normal use does.
async fn readable(tx: &mut Tx, found: i64, problems: &mut Vec<String>) -> Result<()> {
    let mut names = Interner::default();
    let cluster = |row: &AnyRow| {
        rows::cluster(row, &mut names)?;
        rows::names(&rows::text(row, 9)?, &mut Interner::default()).map(drop)
    };
    let columns = if found < schema::since("bindings", "cluster") {
        CLUSTER_BEFORE_BINDINGS
    } else {
        CLUSTER
    };
    read_all(
        tx,
        &format!("SELECT {columns}, workloads FROM clusters WHERE gone = 0"),
        problems,
        cluster,
    )
    .await?;
    if found >= schema::since("halts", "id") {
        let columns = halts::COLUMNS;
        let query = format!("SELECT {columns} FROM halts");
        read_all(tx, &query, problems, |row: &AnyRow| {
            halts::stored(row).map(drop)
        })
        .await?;
    }
    if found >= schema::since("acts", "seq") {
        let query = format!("SELECT {} FROM acts", acts::COLUMNS);
        read_all(tx, &query, problems, |row: &AnyRow| {
            acts::act(row).map(drop)
        })
        .await?;
    }
    let upgrade = |row: &AnyRow| rows::upgrade(row).map(drop);
    let columns = if found < schema::since("upgrades", "channel") {
        UPGRADE_BEFORE_CHANNELS
    } else {
        UPGRADE
    };
    read_all(
        tx,
        &format!("SELECT {columns} FROM upgrades"),
        problems,
        upgrade,
    )
    .await?;
    read_all(
        tx,
        &format!("SELECT {SPAN} FROM all_spans"),
        problems,
        |row: &AnyRow| rows::span(row).map(drop),
    )
    .await?;
    if found < schema::since("attempts", "cluster") {
        return Ok(());
    }
    read_all(
        tx,
        &format!("SELECT {ATTEMPT} FROM attempts"),
        problems,
        |row: &AnyRow| followed(row, &mut Interner::default()).map(drop),
    )
    .await
}

async fn read_all(
    tx: &mut Tx,
    query: &str,
    problems: &mut Vec<String>,
    mut read: impl FnMut(&AnyRow) -> Result<()>,
) -> Result<()> {
    let mut found = sqlx::query(AssertSqlSafe(query.to_owned())).fetch(tx.on());
    let mut told = 0;
    while let Some(row) = found.try_next().await? {
        if let Err(error) = read(&row) {
            problems.push(error.to_string());
            told += 1;
        }
        if told == MAX_PROBLEMS {
            break;
        }
    }
    Ok(())
}

/// Runs SQLite's own integrity check.
async fn integrity(tx: &mut Tx, problems: &mut Vec<String>) -> Result<()> {
    for row in sqlx::query("PRAGMA integrity_check(100)")
        .fetch_all(tx.on())
        .await?
    {
        let line: String = row.try_get(0)?;
        problems.extend((line != "ok").then(|| format!("integrity: {line}")));
    }
    let foreign = "SELECT \"table\" FROM pragma_foreign_key_check LIMIT 100";
    for row in sqlx::query(foreign).fetch_all(tx.on()).await? {
        problems.push(format!(
            "integrity: a row of {} has no row it belongs to",
            row.try_get::<String, _>(0)?
        ));
    }
    Ok(())
}
