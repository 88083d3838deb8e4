//! The tables and their migrations.
//!
//! A migration is a list of statements. It never changes after a release; new ones are added at the end. All run in one
//! transaction under a lock: if many replicas start at once, one migrates and the others wait.
//!
//! A store says two things: which migrations it has had, and how many of them a program must know to use it. So the program
//! before this one runs on a store that this one has migrated, as long as migrations only add.
//!
//! Times are nanoseconds since 1970, so that they are exact. Lists and sets are JSON.

use sqlx::Row;

use crate::{Backend, Result, Store, StoreError, Tx};

/// The newest schema that this program knows.
pub(crate) const KNOWN: i64 = MIGRATIONS.len() as i64;

/// How many migrations a program must know to use a store with all of them. What came later only adds tables.
const NEEDED: i64 = 9;

/// The key of the lock under which PostgreSQL migrates: "towpath" in ASCII.
const MIGRATION_LOCK: i64 = 0x0074_6f77_7061_7468;

const MIGRATIONS: &[&[&str]] = &[
    FIRST,
    AGENTS,
    BOUNDS,
    IMPORTED,
    CHANNELS,
    PREFLIGHTS,
    ATTEMPTS,
    HALTS,
    WATCHES,
    REVOCATIONS,
    ACTS,
    HEADS,
];

const FIRST: &[&str] = &[
    // A cluster, its last report, and its newest span, which reaches from span_from to last_seen on its version and in its
    // health. A cluster that was forgotten keeps its row, for the ledger.
    "CREATE TABLE clusters (id KEY PRIMARY KEY, organisation TEXT NOT NULL, name TEXT NOT NULL, version TEXT NOT NULL, \
     version_since BIGINT NOT NULL, last_seen BIGINT NOT NULL, healthy BIGINT NOT NULL, span_from BIGINT, \
     facts TEXT NOT NULL, body TEXT NOT NULL, workloads TEXT NOT NULL, gone BIGINT NOT NULL, changed BIGINT NOT NULL)",
    "CREATE INDEX clusters_changed ON clusters (changed)",
    // The spans before the newest.
    "CREATE TABLE spans (cluster KEY NOT NULL, from_at BIGINT NOT NULL, until_at BIGINT NOT NULL, version TEXT NOT NULL, \
     healthy BIGINT NOT NULL, PRIMARY KEY (cluster, from_at))",
    "CREATE VIEW all_spans AS SELECT cluster, from_at, until_at, version, healthy FROM spans \
     UNION ALL SELECT id, span_from, last_seen, version, healthy FROM clusters WHERE span_from IS NOT NULL",
    "CREATE TABLE upgrades (id BIGINT PRIMARY KEY, cluster KEY NOT NULL, pool TEXT, from_version TEXT NOT NULL, \
     to_version TEXT NOT NULL, state TEXT NOT NULL, owner TEXT NOT NULL, start_at BIGINT NOT NULL, \
     changed_at BIGINT NOT NULL, failures BIGINT NOT NULL, note TEXT)",
    "CREATE UNIQUE INDEX upgrades_active ON upgrades (cluster) WHERE state IN ('planned', 'started')",
    "CREATE INDEX upgrades_of ON upgrades (cluster, id)",
    "CREATE INDEX upgrades_failed ON upgrades (cluster, id) WHERE state = 'failed'",
    // What active upgrades hold.
    "CREATE TABLE locks (upgrade BIGINT NOT NULL REFERENCES upgrades (id), mutex KEY NOT NULL, cluster KEY NOT NULL, \
     sector TEXT, PRIMARY KEY (upgrade, mutex))",
    "CREATE INDEX locks_mutex ON locks (mutex)",
    // Nowhere in particular is an empty text, so that a place is there once.
    "CREATE TABLE pauses (organisation KEY NOT NULL, sector KEY NOT NULL, by_whom TEXT NOT NULL, at BIGINT NOT NULL, \
     why TEXT NOT NULL, PRIMARY KEY (organisation, sector))",
    "CREATE TABLE approvals (organisation KEY NOT NULL, cluster KEY NOT NULL, version KEY NOT NULL, \
     by_whom TEXT NOT NULL, at BIGINT NOT NULL, PRIMARY KEY (organisation, cluster, version))",
    "CREATE TABLE acknowledgements (cluster KEY NOT NULL, gate KEY NOT NULL, by_whom TEXT NOT NULL, at BIGINT NOT NULL, \
     PRIMARY KEY (cluster, gate))",
    "CREATE TABLE leases (name KEY PRIMARY KEY, owner TEXT NOT NULL, token BIGINT NOT NULL, expires_ms BIGINT NOT NULL)",
    "CREATE TABLE decisions (seq BIGINT PRIMARY KEY, at BIGINT NOT NULL, inputs TEXT NOT NULL, bytes BIGINT NOT NULL, \
     body BLOB NOT NULL, prev BLOB NOT NULL, hash BLOB NOT NULL)",
    "CREATE TABLE parts (digest KEY PRIMARY KEY, bytes BIGINT NOT NULL, body BLOB NOT NULL)",
    "CREATE TABLE counters (name KEY PRIMARY KEY, value BIGINT NOT NULL)",
    "INSERT INTO counters (name, value) VALUES ('changes', 1), ('upgrades', 0), ('decisions', 0)",
];

const AGENTS: &[&str] = &[
    // What agents tell of updates. One that failed and then completed is there twice.
    "CREATE TABLE agent_updates (cluster KEY NOT NULL, to_version KEY NOT NULL, started_at BIGINT NOT NULL, \
     outcome KEY NOT NULL, why TEXT NOT NULL, took_seconds BIGINT, automatic BIGINT NOT NULL, \
     PRIMARY KEY (cluster, to_version, started_at, outcome))",
    // The names of each cluster's last reports.
    "CREATE TABLE report_ids (cluster KEY PRIMARY KEY, ids TEXT NOT NULL)",
];

const BOUNDS: &[&str] = &[
    // The time of the report that told of the update, so that an answer can leave out what came after its snapshot.
    "ALTER TABLE agent_updates ADD COLUMN reported_at BIGINT NOT NULL DEFAULT 0",
    // How long the holder's term is: one that lies further ahead was written by a clock that was ahead. 0: not known.
    "ALTER TABLE leases ADD COLUMN term_ms BIGINT NOT NULL DEFAULT 0",
    // The healthy time of spans that are no longer kept one by one.
    "CREATE TABLE soak_sums (cluster KEY NOT NULL, version TEXT NOT NULL, from_at BIGINT NOT NULL, \
     until_at BIGINT NOT NULL, nanoseconds BIGINT NOT NULL, PRIMARY KEY (cluster, version))",
    // From when to when somebody in charge said which organisation and name a cluster has. Time outside of that is nobody's soak.
    "CREATE TABLE bindings (cluster KEY NOT NULL, since BIGINT NOT NULL, until_at BIGINT, PRIMARY KEY (cluster, since))",
    "CREATE UNIQUE INDEX bindings_open ON bindings (cluster) WHERE until_at IS NULL",
    BIND_LISTED,
    // Spans that count as soak, and how much of each does.
    "CREATE VIEW bound_spans AS SELECT s.cluster, s.version, s.from_at, s.until_at, \
     CASE WHEN b.until_at IS NULL OR b.until_at > s.until_at THEN s.until_at ELSE b.until_at END - \
     CASE WHEN b.since > s.from_at THEN b.since ELSE s.from_at END AS nanoseconds \
     FROM all_spans s JOIN bindings b ON b.cluster = s.cluster AND b.since <= s.until_at \
     AND (b.until_at IS NULL OR b.until_at >= s.from_at) WHERE s.healthy <> 0",
    "CREATE VIEW soak_times AS SELECT cluster, version, nanoseconds FROM bound_spans \
     UNION ALL SELECT cluster, version, nanoseconds FROM soak_sums",
    "CREATE INDEX spans_until ON spans (until_at)",
    // What an API refused is looked for in every pass, by its time.
    "CREATE INDEX upgrades_refused ON upgrades (changed_at) WHERE state = 'refused'",
    // The last entry of a chain that is no longer there.
    "CREATE TABLE checkpoints (name KEY PRIMARY KEY, seq BIGINT NOT NULL, hash BLOB NOT NULL, at BIGINT NOT NULL)",
];

const IMPORTED: &[&str] = &[
    // Soak that another system has counted, without what Towpath had counted itself when it was imported.
    "CREATE TABLE imported_soak (organisation KEY NOT NULL, workload KEY NOT NULL, version KEY NOT NULL, \
     seconds BIGINT NOT NULL, at BIGINT NOT NULL, PRIMARY KEY (organisation, workload, version))",
    // What the last list of clusters told besides the clusters.
    "CREATE TABLE kept_lists (name KEY PRIMARY KEY, body TEXT NOT NULL, at BIGINT NOT NULL)",
];

const CHANNELS: &[&str] = &[
    // The channel that the cluster is switched to for an upgrade.
    "ALTER TABLE upgrades ADD COLUMN channel TEXT",
];

const PREFLIGHTS: &[&str] = &[
    // What clusters were asked to check, and what became of it: the newest of each cluster and version.
    "CREATE TABLE preflights (cluster KEY NOT NULL, version KEY NOT NULL, from_version TEXT NOT NULL, request TEXT NOT NULL, \
     by_whom TEXT NOT NULL, state TEXT NOT NULL, why TEXT NOT NULL, risks TEXT NOT NULL, at BIGINT NOT NULL, \
     at_once BIGINT NOT NULL, PRIMARY KEY (cluster, version))",
];

const ATTEMPTS: &[&str] = &[
    // What is known of each cluster's update to each release. Without a start it is not counted. first_at is the earliest of its
    // times.
    "CREATE TABLE attempts (cluster KEY NOT NULL, to_version KEY NOT NULL, organisation TEXT NOT NULL, platform TEXT, \
     arch TEXT NOT NULL, from_version TEXT, started_at BIGINT, failed_at BIGINT, completed_at BIGINT, degraded_at BIGINT, \
     limit_seconds BIGINT, first_at BIGINT NOT NULL, changed BIGINT NOT NULL, PRIMARY KEY (cluster, to_version))",
    "CREATE INDEX attempts_changed ON attempts (changed)",
    "CREATE INDEX attempts_first ON attempts (first_at)",
];

const HALTS: &[&str] = &[
    // Files of graph data that every replica adds to its own. Each has one standing halt at most.
    "CREATE TABLE halts (id BIGINT PRIMARY KEY, release TEXT NOT NULL, path KEY NOT NULL, body TEXT NOT NULL, \
     by_whom TEXT NOT NULL, why TEXT NOT NULL, at BIGINT NOT NULL, evidence TEXT NOT NULL, first_undo_by TEXT, \
     first_undo_at BIGINT, undone_by TEXT, undone_at BIGINT)",
    "CREATE UNIQUE INDEX halts_standing ON halts (path) WHERE undone_at IS NULL",
];

const WATCHES: &[&str] = &[
    // What a watch last said about each release.
    "CREATE TABLE watch_answers (release KEY PRIMARY KEY, body TEXT NOT NULL, at BIGINT NOT NULL)",
];

const REVOCATIONS: &[&str] = &[
    // Which tokens end before their time. Without made_before it is one token; with it, all of somebody's that are older.
    "CREATE TABLE revocations (kind KEY NOT NULL, name KEY NOT NULL, made_before BIGINT, by_whom TEXT NOT NULL, \
     at BIGINT NOT NULL, why TEXT NOT NULL, PRIMARY KEY (kind, name))",
];

const ACTS: &[&str] = &[
    // What people did, and who ended it. '' where an act has no such place. Numbers grow, also when acts end.
    "CREATE TABLE acts (seq BIGINT PRIMARY KEY, kind KEY NOT NULL, organisation KEY NOT NULL, sector KEY NOT NULL, \
     cluster KEY NOT NULL, pool KEY NOT NULL, version KEY NOT NULL, gate KEY NOT NULL, upgrade BIGINT, by_whom TEXT NOT NULL, \
     known_by TEXT NOT NULL, at BIGINT NOT NULL, why TEXT NOT NULL, ended_seq BIGINT, ended_by TEXT, ended_known_by TEXT, \
     ended_at BIGINT, ended_why TEXT)",
    "CREATE INDEX acts_of ON acts (kind, cluster, version)",
    "CREATE INDEX acts_ended ON acts (ended_seq)",
];

const HEADS: &[&str] = &[
    // What an entry of the log is: nothing for a decision, 'act' for what somebody did.
    "ALTER TABLE decisions ADD COLUMN kind TEXT",
    "CREATE INDEX decisions_of_kind ON decisions (kind, seq) WHERE kind IS NOT NULL",
    // Heads of the log that were signed: the newest signature for each entry. Entries up to `pruned` were gone by then.
    "CREATE TABLE log_heads (seq BIGINT PRIMARY KEY, hash BLOB NOT NULL, pruned BIGINT NOT NULL, at BIGINT NOT NULL, \
     key_name TEXT NOT NULL, signature BLOB NOT NULL)",
];

/// Migrates clusters from before bindings existed: those last seen in a list are bound, with all their time. Their rows
/// have a body that no report has.
pub(crate) const BIND_LISTED: &str = "INSERT INTO bindings (cluster, since, until_at) SELECT id, 0, NULL FROM clusters WHERE gone = 0 AND body = '{}'";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Int,
    Blob,
}

/// The tables with their columns, in an order that respects foreign keys. The first columns identify a row.
pub(crate) const TABLES: &[(&str, &[(&str, Kind)])] = {
    use Kind::{Blob, Int, Text};
    &[
        (
            "clusters",
            &[
                ("id", Text),
                ("organisation", Text),
                ("name", Text),
                ("version", Text),
                ("version_since", Int),
                ("last_seen", Int),
                ("healthy", Int),
                ("span_from", Int),
                ("facts", Text),
                ("body", Text),
                ("workloads", Text),
                ("gone", Int),
                ("changed", Int),
            ],
        ),
        (
            "spans",
            &[
                ("cluster", Text),
                ("from_at", Int),
                ("until_at", Int),
                ("version", Text),
                ("healthy", Int),
            ],
        ),
        (
            "upgrades",
            &[
                ("id", Int),
                ("cluster", Text),
                ("pool", Text),
                ("from_version", Text),
                ("to_version", Text),
                ("state", Text),
                ("owner", Text),
                ("start_at", Int),
                ("changed_at", Int),
                ("failures", Int),
                ("note", Text),
                ("channel", Text),
            ],
        ),
        (
            "locks",
            &[
                ("upgrade", Int),
                ("mutex", Text),
                ("cluster", Text),
                ("sector", Text),
            ],
        ),
        (
            "pauses",
            &[
                ("organisation", Text),
                ("sector", Text),
                ("by_whom", Text),
                ("at", Int),
                ("why", Text),
            ],
        ),
        (
            "approvals",
            &[
                ("organisation", Text),
                ("cluster", Text),
                ("version", Text),
                ("by_whom", Text),
                ("at", Int),
            ],
        ),
        (
            "acknowledgements",
            &[
                ("cluster", Text),
                ("gate", Text),
                ("by_whom", Text),
                ("at", Int),
            ],
        ),
        (
            "leases",
            &[
                ("name", Text),
                ("owner", Text),
                ("token", Int),
                ("expires_ms", Int),
                ("term_ms", Int),
            ],
        ),
        (
            "decisions",
            &[
                ("seq", Int),
                ("at", Int),
                ("inputs", Text),
                ("bytes", Int),
                ("body", Blob),
                ("prev", Blob),
                ("hash", Blob),
                ("kind", Text),
            ],
        ),
        ("parts", &[("digest", Text), ("bytes", Int), ("body", Blob)]),
        ("counters", &[("name", Text), ("value", Int)]),
        (
            "agent_updates",
            &[
                ("cluster", Text),
                ("to_version", Text),
                ("started_at", Int),
                ("outcome", Text),
                ("why", Text),
                ("took_seconds", Int),
                ("automatic", Int),
                ("reported_at", Int),
            ],
        ),
        ("report_ids", &[("cluster", Text), ("ids", Text)]),
        (
            "soak_sums",
            &[
                ("cluster", Text),
                ("version", Text),
                ("from_at", Int),
                ("until_at", Int),
                ("nanoseconds", Int),
            ],
        ),
        (
            "bindings",
            &[("cluster", Text), ("since", Int), ("until_at", Int)],
        ),
        (
            "checkpoints",
            &[("name", Text), ("seq", Int), ("hash", Blob), ("at", Int)],
        ),
        (
            "imported_soak",
            &[
                ("organisation", Text),
                ("workload", Text),
                ("version", Text),
                ("seconds", Int),
                ("at", Int),
            ],
        ),
        ("kept_lists", &[("name", Text), ("body", Text), ("at", Int)]),
        (
            "preflights",
            &[
                ("cluster", Text),
                ("version", Text),
                ("from_version", Text),
                ("request", Text),
                ("by_whom", Text),
                ("state", Text),
                ("why", Text),
                ("risks", Text),
                ("at", Int),
                ("at_once", Int),
            ],
        ),
        (
            "attempts",
            &[
                ("cluster", Text),
                ("to_version", Text),
                ("organisation", Text),
                ("platform", Text),
                ("arch", Text),
                ("from_version", Text),
                ("started_at", Int),
                ("failed_at", Int),
                ("completed_at", Int),
                ("degraded_at", Int),
                ("limit_seconds", Int),
                ("first_at", Int),
                ("changed", Int),
            ],
        ),
        (
            "halts",
            &[
                ("id", Int),
                ("release", Text),
                ("path", Text),
                ("body", Text),
                ("by_whom", Text),
                ("why", Text),
                ("at", Int),
                ("evidence", Text),
                ("first_undo_by", Text),
                ("first_undo_at", Int),
                ("undone_by", Text),
                ("undone_at", Int),
            ],
        ),
        (
            "watch_answers",
            &[("release", Text), ("body", Text), ("at", Int)],
        ),
        (
            "revocations",
            &[
                ("kind", Text),
                ("name", Text),
                ("made_before", Int),
                ("by_whom", Text),
                ("at", Int),
                ("why", Text),
            ],
        ),
        (
            "acts",
            &[
                ("seq", Int),
                ("kind", Text),
                ("organisation", Text),
                ("sector", Text),
                ("cluster", Text),
                ("pool", Text),
                ("version", Text),
                ("gate", Text),
                ("upgrade", Int),
                ("by_whom", Text),
                ("known_by", Text),
                ("at", Int),
                ("why", Text),
                ("ended_seq", Int),
                ("ended_by", Text),
                ("ended_known_by", Text),
                ("ended_at", Int),
                ("ended_why", Text),
            ],
        ),
        (
            "log_heads",
            &[
                ("seq", Int),
                ("hash", Blob),
                ("pruned", Int),
                ("at", Int),
                ("key_name", Text),
                ("signature", Blob),
            ],
        ),
    ]
};

/// The tables and columns of an older schema.
pub(crate) fn tables_of(
    schema: i64,
) -> impl Iterator<Item = (&'static str, Vec<(&'static str, Kind)>)> {
    let of_then = move |(table, columns): &(&'static str, &[(&'static str, Kind)])| {
        let had = |(column, _): &&(&'static str, Kind)| since(table, column) <= schema;
        (
            *table,
            columns.iter().filter(had).copied().collect::<Vec<_>>(),
        )
    };
    TABLES
        .iter()
        .map(of_then)
        .filter(|(_, columns)| !columns.is_empty())
}

/// The first schema that has the column.
pub(crate) fn since(table: &str, column: &str) -> i64 {
    match (table, column) {
        ("upgrades", "channel") => 5,
        ("preflights", _) => 6,
        ("attempts", _) => 7,
        ("halts", _) => 8,
        ("watch_answers", _) => 9,
        ("revocations", _) => 10,
        ("acts", _) => 11,
        ("decisions", "kind") | ("log_heads", _) => 12,
        ("imported_soak" | "kept_lists", _) => 4,
        ("agent_updates", "reported_at")
        | ("leases", "term_ms")
        | ("soak_sums" | "bindings" | "checkpoints", _) => 3,
        ("agent_updates" | "report_ids", _) => 2,
        _ => 1,
    }
}

/// Brings the schema up to date.
pub(crate) async fn migrate(store: &Store) -> Result<()> {
    // Most of the time there is nothing to do, and then nobody needs to wait for anybody.
    if usable(versions(&mut store.snapshot().await?).await?)? >= KNOWN {
        return Ok(());
    }
    let mut tx = store.write().await?;
    if tx.backend == Backend::Postgres {
        sqlx::query("SELECT pg_advisory_xact_lock($1)")
            .bind(MIGRATION_LOCK)
            .execute(tx.on())
            .await?;
    }
    let before = versions(&mut tx).await?;
    let found = usable(before)?;
    if found >= KNOWN {
        return Ok(());
    }
    if found == 0 {
        sqlx::query("CREATE TABLE towpath_schema (version BIGINT NOT NULL)")
            .execute(tx.on())
            .await?;
        sqlx::query("INSERT INTO towpath_schema (version) VALUES (0)")
            .execute(tx.on())
            .await?;
    }
    for migration in MIGRATIONS
        .iter()
        .skip(usize::try_from(found).unwrap_or_default())
    {
        for statement in *migration {
            let statement = tx.backend.definition(statement);
            sqlx::query(statement).execute(tx.on()).await?;
        }
    }
    if !has_newest(&mut tx).await? {
        let text = "ALTER TABLE towpath_schema ADD COLUMN newest BIGINT";
        sqlx::query(text).execute(tx.on()).await?;
    }
    sqlx::query("UPDATE towpath_schema SET version = $1, newest = $2")
        .bind(NEEDED)
        .bind(KNOWN)
        .execute(tx.on())
        .await?;
    tx.commit().await
}

/// Marks a backup: a program that does not know all of its tables would lose them, and must refuse it.
pub(crate) async fn need_all(tx: &mut Tx) -> Result<()> {
    let text = "UPDATE towpath_schema SET version = newest";
    sqlx::query(text).execute(tx.on()).await?;
    Ok(())
}

/// What a store says of its schema.
#[derive(Clone, Copy)]
pub(crate) struct Versions {
    /// How many migrations a program must know.
    needed: i64,
    /// How many it has had. None: as many as a program must know.
    newest: Option<i64>,
}

/// How many migrations the store has had, if this program can use it.
pub(crate) fn usable(versions: Versions) -> Result<i64> {
    match versions.needed > KNOWN {
        true => Err(StoreError::NewerSchema {
            found: versions.needed,
            known: KNOWN,
        }),
        false => Ok(versions.newest.unwrap_or(versions.needed)),
    }
}

/// How many migrations the store has had; 0 if it has no schema.
pub(crate) async fn found(tx: &mut Tx) -> Result<i64> {
    let versions = versions(tx).await?;
    Ok(versions
        .newest
        .unwrap_or(versions.needed)
        .max(versions.needed))
}

pub(crate) async fn versions(tx: &mut Tx) -> Result<Versions> {
    let nothing = Versions {
        needed: 0,
        newest: None,
    };
    let exists = match tx.backend {
        Backend::Sqlite => {
            "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = 'towpath_schema'"
        }
        Backend::Postgres => "SELECT COUNT(*) WHERE to_regclass('towpath_schema') IS NOT NULL",
    };
    let exists: i64 = sqlx::query(exists).fetch_one(tx.on()).await?.try_get(0)?;
    match exists {
        0 => Ok(nothing),
        // Another replica may be making the table: PostgreSQL shows the table at once, and its row only to later snapshots.
        _ => {
            let newest = has_newest(tx).await?;
            let text = match newest {
                true => "SELECT version, newest FROM towpath_schema",
                false => "SELECT version FROM towpath_schema",
            };
            match sqlx::query(text).fetch_optional(tx.on()).await? {
                Some(row) => Ok(Versions {
                    needed: row.try_get(0)?,
                    newest: if newest { row.try_get(1)? } else { None },
                }),
                None => Ok(nothing),
            }
        }
    }
}

async fn has_newest(tx: &mut Tx) -> Result<bool> {
    let text = match tx.backend {
        Backend::Sqlite => {
            "SELECT COUNT(*) FROM pragma_table_info('towpath_schema') WHERE name = 'newest'"
        }
        Backend::Postgres => {
            "SELECT COUNT(*) FROM pg_attribute WHERE attrelid = to_regclass('towpath_schema') AND attname = 'newest' \
             AND NOT attisdropped"
        }
    };
    Ok(sqlx::query(text)
        .fetch_one(tx.on())
        .await?
        .try_get::<i64, _>(0)?
        > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_list_of_tables_is_the_schema() {
        let store = Store::open("sqlite::memory:").await.unwrap();
        let mut tx = store.snapshot().await.unwrap();
        let names = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rowid";
        let made: Vec<String> = sqlx::query(names)
            .fetch_all(tx.on())
            .await
            .unwrap()
            .iter()
            .map(|row| row.get(0))
            .collect();
        let listed: Vec<&str> = TABLES.iter().map(|(name, _)| *name).collect();
        let mut sorted = (made[1..].to_vec(), listed.clone());
        sorted.0.sort();
        sorted.1.sort();
        assert_eq!(sorted.0, sorted.1);
        for (table, columns) in TABLES {
            let text = format!("SELECT name FROM pragma_table_info('{table}') ORDER BY cid");
            let rows = sqlx::query(sqlx::AssertSqlSafe(text))
                .fetch_all(tx.on())
                .await
                .unwrap();
            let made: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
            assert_eq!(
                made,
                columns.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
                "{table}"
            );
        }
    }
}
