//! Halts: files of graph data that every replica adds to its own until two people have undone them.
//!
//! A halt is kept with who made it, and who undid it. It is never deleted while it stands. One release has at most one standing
//! halt for a scope, whose file's path names both. All changes lock one counter, so its value says whether anything changed.

use jiff::Timestamp;
use serde_json::{Value, json};
use sqlx::Row;
use sqlx::any::AnyRow;
use towpath_core::version::Version;

use crate::rows::{self, checked, nanoseconds, time};
use crate::{NewAct, Result, Store, StoreError, Tx, bounded};

/// The most halts that stand at once.
pub const MAX_STANDING_HALTS: i64 = 1_000;
/// The longest file of a halt, in bytes.
const MAX_BODY_BYTES: usize = 64 << 10;
/// How many halts a list has: those that stand, and the newest of the others.
const MAX_LISTED: i64 = 2_000;

/// A halt to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewHalt {
    pub release: Version,
    /// Where its file belongs. It names the release and the scope.
    pub path: String,
    /// The file.
    pub body: String,
    /// The name of a token, or `watch`.
    pub by: String,
    pub why: String,
    pub at: Timestamp,
    /// The digest of the evidence; empty if a person halts.
    pub evidence: String,
}

/// A halt, standing or undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredHalt {
    pub id: i64,
    pub halt: NewHalt,
    /// The first of two people who want it undone.
    pub first_undo: Option<Undo>,
    /// The second. Then it stands no more.
    pub undone: Option<Undo>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undo {
    pub by: String,
    pub at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HaltOutcome {
    Made(StoredHalt),
    /// The release was halted already for this scope. Nothing changed.
    Stands(StoredHalt),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UndoOutcome {
    /// There is no such halt.
    Unknown,
    /// It is noted. Somebody else must say so too.
    First(StoredHalt),
    /// The same person said so before. Nothing changed.
    Again(StoredHalt),
    Undone(StoredHalt),
    /// It was undone before. Nothing changed.
    Already(StoredHalt),
}

/// Whether halts have changed: another value, other halts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HaltMark(i64);

impl Store {
    /// Halts a release, unless it is halted already for this scope.
    pub async fn halt(&self, halt: &NewHalt) -> Result<HaltOutcome> {
        for text in [&halt.path, &halt.body, &halt.by, &halt.why, &halt.evidence] {
            checked(text)?;
        }
        if halt.body.len() > MAX_BODY_BYTES || halt.by.is_empty() {
            let problem = "a halt has a name, and a file of at most 64 KiB";
            return Err(StoreError::Bad(problem.into()));
        }
        bounded(async {
            let mut tx = self.write().await?;
            let id = lock_halts(&mut tx).await?;
            let text = format!("SELECT {COLUMNS} FROM halts WHERE path = $1 AND undone_at IS NULL");
            let known = sqlx::query(sqlx::AssertSqlSafe(text)).bind(&halt.path);
            if let Some(row) = known.fetch_optional(tx.on()).await? {
                return Ok(HaltOutcome::Stands(stored(&row)?));
            }
            let standing = "SELECT COUNT(*) FROM halts WHERE undone_at IS NULL";
            let standing: i64 = sqlx::query(standing).fetch_one(tx.on()).await?.try_get(0)?;
            if standing >= MAX_STANDING_HALTS {
                return Err(StoreError::Bad(format!(
                    "{MAX_STANDING_HALTS} halts stand already; undo some, or block the release in the graph data"
                )));
            }
            let text = "INSERT INTO halts (id, release, path, body, by_whom, why, at, evidence) \
                        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
            let query = sqlx::query(text)
                .bind(id)
                .bind(halt.release.to_string())
                .bind(&halt.path)
                .bind(&halt.body)
                .bind(&halt.by)
                .bind(&halt.why)
                .bind(nanoseconds(halt.at)?)
                .bind(&halt.evidence);
            query.execute(tx.on()).await?;
            let act = NewAct {
                act: "halt",
                about: json!({"release": halt.release.to_string(), "path": halt.path}),
                before: Value::Null,
                after: json!({"halt": id, "body": halt.body}),
                by: &halt.by,
                known_by: "",
                at: halt.at,
                why: &halt.why,
            };
            self.write_act(&mut tx, act).await?;
            tx.commit().await?;
            Ok(HaltOutcome::Made(StoredHalt {
                id,
                halt: halt.clone(),
                first_undo: None,
                undone: None,
            }))
        })
        .await
    }

    /// Notes that somebody wants a halt undone. The second person of another name undoes it.
    pub async fn undo_halt(&self, id: i64, by: &str, at: Timestamp) -> Result<UndoOutcome> {
        let (by, at_ns) = (checked(by)?, nanoseconds(at)?);
        if by.is_empty() {
            return Err(StoreError::Bad("who undoes a halt has a name".into()));
        }
        bounded(async {
            let mut tx = self.write().await?;
            lock_halts(&mut tx).await?;
            let text = format!("SELECT {COLUMNS} FROM halts WHERE id = $1");
            let query = sqlx::query(sqlx::AssertSqlSafe(text)).bind(id);
            let Some(row) = query.fetch_optional(tx.on()).await? else {
                return Ok(UndoOutcome::Unknown);
            };
            let mut known = stored(&row)?;
            let before = undos(&known);
            let this = Undo {
                by: by.to_owned(),
                at,
            };
            let (text, outcome) = match (&known.first_undo, &known.undone) {
                (_, Some(_)) => return Ok(UndoOutcome::Already(known)),
                (Some(first), None) if first.by == by => return Ok(UndoOutcome::Again(known)),
                (None, None) => {
                    known.first_undo = Some(this);
                    let text =
                        "UPDATE halts SET first_undo_by = $1, first_undo_at = $2 WHERE id = $3";
                    (text, UndoOutcome::First(known))
                }
                (Some(_), None) => {
                    known.undone = Some(this);
                    let text = "UPDATE halts SET undone_by = $1, undone_at = $2 WHERE id = $3";
                    (text, UndoOutcome::Undone(known))
                }
            };
            let query = sqlx::query(text).bind(by).bind(at_ns).bind(id);
            query.execute(tx.on()).await?;
            if let UndoOutcome::First(known) | UndoOutcome::Undone(known) = &outcome {
                let act = NewAct {
                    act: "undo-halt",
                    about: json!({"halt": id, "release": known.halt.release.to_string(), "path": known.halt.path}),
                    before,
                    after: undos(known),
                    by,
                    known_by: "",
                    at,
                    why: "",
                };
                self.write_act(&mut tx, act).await?;
            }
            tx.commit().await?;
            Ok(outcome)
        })
        .await
    }

    /// The halts that stand, in the order of their paths, and the mark that they belong to.
    pub async fn standing_halts(&self) -> Result<(HaltMark, Vec<StoredHalt>)> {
        bounded(async {
            let mut tx = self.snapshot().await?;
            let mark = mark(&mut tx).await?;
            let text = format!("SELECT {COLUMNS} FROM halts WHERE undone_at IS NULL ORDER BY path");
            let rows = sqlx::query(sqlx::AssertSqlSafe(text));
            let rows = rows.fetch_all(tx.on()).await?;
            let halts: Vec<StoredHalt> = rows.iter().map(stored).collect::<Result<_>>()?;
            Ok((mark, halts))
        })
        .await
    }

    /// Halts that stand, then the newest of those that were undone.
    pub async fn halts(&self) -> Result<Vec<StoredHalt>> {
        bounded(async {
            let text = format!(
                "SELECT {COLUMNS} FROM halts \
                 ORDER BY CASE WHEN undone_at IS NULL THEN 0 ELSE 1 END, id DESC LIMIT {MAX_LISTED}"
            );
            let rows = sqlx::query(sqlx::AssertSqlSafe(text));
            let rows = rows.fetch_all(&self.inner.reader).await?;
            rows.iter().map(stored).collect()
        })
        .await
    }

    /// Another value means that halts may have changed. It reads one row.
    pub async fn halt_mark(&self) -> Result<HaltMark> {
        bounded(async {
            let text = "SELECT value FROM counters WHERE name = 'halts'";
            let row = sqlx::query(text).fetch_optional(&self.inner.reader).await?;
            let value = row.map(|row| row.try_get(0)).transpose()?;
            Ok(HaltMark(value.unwrap_or(0)))
        })
        .await
    }
}

/// Who has said so far that a halt is to be undone, for the log.
fn undos(known: &StoredHalt) -> Value {
    let told = |undo: &Option<Undo>| {
        undo.as_ref()
            .map(|undo| json!({"by": undo.by, "at": undo.at.to_string()}))
    };
    json!({"firstUndo": told(&known.first_undo), "undone": told(&known.undone)})
}

async fn mark(tx: &mut Tx) -> Result<HaltMark> {
    let text = "SELECT value FROM counters WHERE name = 'halts'";
    let row = sqlx::query(text).fetch_optional(tx.on()).await?;
    let value = row.map(|row| row.try_get(0)).transpose()?;
    Ok(HaltMark(value.unwrap_or(0)))
}

/// Nobody else changes halts until this transaction ends. The number is used for a new halt; a backup of an older schema lacks
/// the counter.
async fn lock_halts(tx: &mut Tx) -> Result<i64> {
    let text = "INSERT INTO counters (name, value) VALUES ('halts', 1) \
                ON CONFLICT (name) DO UPDATE SET value = counters.value + 1";
    sqlx::query(text).execute(tx.on()).await?;
    let text = "SELECT value FROM counters WHERE name = 'halts'";
    Ok(sqlx::query(text).fetch_one(tx.on()).await?.try_get(0)?)
}

/// Removes halts that were undone before that time.
pub(crate) async fn drop_undone(tx: &mut Tx, before: i64) -> Result<u64> {
    let text = "DELETE FROM halts WHERE undone_at IS NOT NULL AND undone_at < $1";
    let dropped = sqlx::query(text).bind(before).execute(tx.on()).await?;
    Ok(dropped.rows_affected())
}

/// The columns that [`stored`] reads, in its order.
pub(crate) const COLUMNS: &str = "id, release, path, body, by_whom, why, at, evidence, \
     first_undo_by, first_undo_at, undone_by, undone_at";

pub(crate) fn stored(row: &AnyRow) -> Result<StoredHalt> {
    let undo = |by: usize| -> Result<Option<Undo>> {
        let (name, at): (Option<String>, Option<i64>) = (row.try_get(by)?, row.try_get(by + 1)?);
        match (name, at) {
            (Some(by), Some(at)) => Ok(Some(Undo { by, at: time(at) })),
            (None, None) => Ok(None),
            _ => Err(StoreError::Corrupt(
                "an undo of a halt lacks its name or its time".into(),
            )),
        }
    };
    Ok(StoredHalt {
        id: row.try_get(0)?,
        halt: NewHalt {
            release: rows::version(&rows::text(row, 1)?)?,
            path: rows::text(row, 2)?,
            body: rows::text(row, 3)?,
            by: rows::text(row, 4)?,
            why: rows::text(row, 5)?,
            at: time(row.try_get(6)?),
            evidence: rows::text(row, 7)?,
        },
        first_undo: undo(8)?,
        undone: undo(10)?,
    })
}
