//! Signed heads of the log. The store keeps them, and knows no keys.
//!
//! A head is signed under the lease, so one replica signs at a time. Whoever signs first follows the log from what was signed
//! before ([`Store::log_since`]): a log that was made again is not signed.

use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row};
use towpath_core::fleet::log_head::NO_HASH;
use towpath_core::fleet::{LogHead, SignedHead};

use crate::decisions::{self, digest_of};
use crate::rows::{self, checked, nanoseconds, time};
use crate::{ChainCheckpoint, Lease, Result, Store, StoreError, bounded};

/// The most entries that are followed at once.
const MAX_FOLLOWED: u32 = 1_000;
/// The most signed heads that are read at once.
const MAX_PAGE: u32 = 1_000;
const COLUMNS: &str = "seq, hash, pruned, at, key_name, signature";

/// A part of the log that was followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogStretch {
    /// Its last entry. Its number is 0 if the log is empty.
    pub last: (i64, [u8; 32]),
    /// The last entry that was pruned; 0: none.
    pub pruned: i64,
    /// Whether the log ends there.
    pub is_whole: bool,
    /// What is wrong with it. Empty is good.
    pub problems: Vec<String>,
}

impl Store {
    /// Follows the log from an entry whose hash is known, up to a limit of entries. Without one it begins where the log does.
    pub async fn log_since(&self, known: Option<(i64, [u8; 32])>) -> Result<LogStretch> {
        bounded(async {
            let mut tx = self.snapshot().await?;
            let checkpoint = decisions::read_checkpoint(&mut tx).await?;
            let pruned = checkpoint.as_ref().map_or(0, |checkpoint| checkpoint.seq);
            let mut problems = Vec::new();
            // What was pruned since cannot be followed.
            let known = known.filter(|(seq, _)| *seq > pruned);
            if let Some((seq, hash)) = known {
                let text = "SELECT hash FROM decisions WHERE seq = $1";
                let row = sqlx::query(text).bind(seq).fetch_optional(tx.on()).await?;
                match row
                    .map(|row| digest_of(&row.try_get::<Vec<u8>, _>(0)?))
                    .transpose()?
                {
                    None => problems.push(format!("entry {seq} was signed, and is missing")),
                    Some(found) if found != hash => problems.push(format!(
                        "entry {seq} is another one than the one that was signed"
                    )),
                    Some(_) => {}
                }
            }
            let from = match known {
                Some((seq, hash)) => Some(ChainCheckpoint {
                    seq,
                    hash,
                    at: jiff::Timestamp::UNIX_EPOCH,
                }),
                None => checkpoint,
            };
            let followed =
                decisions::follow_stretch(&mut tx, from.as_ref(), i64::MAX, MAX_FOLLOWED);
            let stretch = followed.await?;
            problems.extend(stretch.problems);
            let begin = from.map_or((0, NO_HASH), |from| (from.seq, from.hash));
            let last = stretch.last.unwrap_or(begin);
            let newest = "SELECT COALESCE(MAX(seq), 0) FROM decisions";
            let newest: i64 = sqlx::query(newest).fetch_one(tx.on()).await?.try_get(0)?;
            Ok(LogStretch {
                is_whole: newest <= last.0,
                last,
                pruned,
                problems,
            })
        })
        .await
    }

    /// Keeps a signature of the log's head. A later one of the same head replaces it. Signatures of entries that were pruned go.
    pub async fn keep_signed_head(&self, lease: &Lease, signed: &SignedHead) -> Result<()> {
        let LogHead {
            sequence,
            hash,
            pruned,
            at,
        } = signed.head;
        let at = nanoseconds(at)?;
        bounded(async {
            let mut tx = self.act(lease).await?;
            let text = "SELECT hash FROM decisions WHERE seq = $1";
            let row = sqlx::query(text).bind(sequence).fetch_optional(tx.on()).await?;
            let there = row.map(|row| row.try_get::<Vec<u8>, _>(0)).transpose()?;
            if sequence > 0 && there.as_deref() != Some(&hash[..]) {
                return Err(StoreError::Bad(format!(
                    "entry {sequence} of the log is not the one that was signed"
                )));
            }
            let text = "INSERT INTO log_heads (seq, hash, pruned, at, key_name, signature) VALUES ($1, $2, $3, $4, $5, $6) \
                        ON CONFLICT (seq) DO UPDATE SET hash = excluded.hash, pruned = excluded.pruned, at = excluded.at, \
                        key_name = excluded.key_name, signature = excluded.signature";
            let query = sqlx::query(text).bind(sequence).bind(hash.to_vec()).bind(pruned).bind(at);
            let query = query.bind(checked(&signed.key)?).bind(signed.signature.clone());
            query.execute(tx.on()).await?;
            let text = "DELETE FROM log_heads WHERE seq < (SELECT COALESCE(MAX(seq), 0) FROM checkpoints WHERE name = 'decisions')";
            sqlx::query(text).execute(tx.on()).await?;
            tx.commit().await
        })
        .await
    }

    /// The signed heads after that entry, oldest first, up to a limit (a thousand at most).
    pub async fn signed_heads(&self, after: i64, limit: u32) -> Result<Vec<SignedHead>> {
        let text = format!(
            "SELECT {COLUMNS} FROM log_heads WHERE seq > $1 ORDER BY seq LIMIT {}",
            limit.min(MAX_PAGE)
        );
        bounded(async {
            let query = sqlx::query(AssertSqlSafe(text)).bind(after);
            let rows = query.fetch_all(&self.inner.reader).await?;
            rows.iter().map(signed).collect()
        })
        .await
    }

    /// The signed head of the highest entry.
    pub async fn newest_signed_head(&self) -> Result<Option<SignedHead>> {
        let text = format!("SELECT {COLUMNS} FROM log_heads ORDER BY seq DESC LIMIT 1");
        bounded(async {
            let query = sqlx::query(AssertSqlSafe(text));
            let row = query.fetch_optional(&self.inner.reader).await?;
            row.as_ref().map(signed).transpose()
        })
        .await
    }
}

fn signed(row: &AnyRow) -> Result<SignedHead> {
    Ok(SignedHead {
        head: LogHead {
            sequence: row.try_get(0)?,
            hash: digest_of(&row.try_get::<Vec<u8>, _>(1)?)?,
            pruned: row.try_get(2)?,
            at: time(row.try_get(3)?),
        },
        key: rows::text(row, 4)?,
        signature: row.try_get(5)?,
    })
}
