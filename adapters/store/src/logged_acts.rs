//! What people and programs did, in the chained log: who, how they were known, from where, before and after.
//!
//! Whatever changes something for somebody appends an entry in the same transaction. So there is no change without its entry, and no
//! entry without its change. What a stranger asks for and does not get is no change, and has none.
//!
//! An entry has a limit. What is before and after is left out if it is too large, with its size and its SHA-256.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use sqlx::AssertSqlSafe;
use towpath_core::fleet::Doer;
use towpath_core::hex;

use crate::decisions::{self, DECISION, NewEntry, StoredDecision};
use crate::rows::{checked, nanoseconds};
use crate::{Result, Store, StoreError, Tx, bounded};

/// The largest entry.
pub const MAX_ACT_BYTES: usize = 64 << 10;
/// The largest `about`, `before` or `after`.
const MAX_SIDE_BYTES: usize = 12 << 10;
/// The most entries that are read at once.
const MAX_PAGE: u32 = 1_000;
/// How the body of such an entry begins.
pub(crate) const ACT_BODY: &[u8] = b"{\"format\":1,\"act\":";
/// The kind in the table.
const KIND: &str = "act";

/// What somebody does.
#[derive(Debug, Clone)]
pub struct NewAct<'a> {
    /// One word: `pause`, `approve`, …
    pub act: &'static str,
    /// What it is done to.
    pub about: Value,
    pub before: Value,
    pub after: Value,
    pub by: &'a str,
    /// How the name is known, in words, if [`Store::acting_for`] does not say.
    pub known_by: &'a str,
    pub at: Timestamp,
    pub why: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    format: u32,
    act: &'a str,
    by: &'a str,
    known_by: &'a str,
    from: &'a str,
    why: &'a str,
    about: Value,
    before: Value,
    after: Value,
}

impl Store {
    /// The same store for somebody: the log then says how they are known, and from where.
    #[must_use]
    pub fn acting_for(&self, doer: Doer) -> Self {
        Self {
            inner: self.inner.clone(),
            doer: Some(doer.into()),
        }
    }

    /// Appends an act of which the store changes nothing else, before it is done. Returns its number.
    pub async fn log_act(&self, act: NewAct<'_>) -> Result<i64> {
        bounded(async {
            let mut tx = self.write().await?;
            let number = self.write_act(&mut tx, act).await?;
            tx.commit().await?;
            Ok(number)
        })
        .await
    }

    /// What was done after that entry, since and until those times, oldest first, up to a limit (a thousand at most).
    pub async fn logged_acts(
        &self,
        after: i64,
        since: Option<Timestamp>,
        until: Option<Timestamp>,
        limit: u32,
    ) -> Result<Vec<StoredDecision>> {
        let since = since.map_or(Ok(i64::MIN), nanoseconds)?;
        let until = until.map_or(Ok(i64::MAX), nanoseconds)?;
        let text = format!(
            "SELECT {DECISION} FROM decisions WHERE kind = '{KIND}' AND seq > $1 AND at >= $2 AND at < $3 ORDER BY seq LIMIT {}",
            limit.min(MAX_PAGE)
        );
        bounded(async {
            let query = sqlx::query(AssertSqlSafe(text)).bind(after);
            let query = query.bind(since).bind(until);
            let rows = query.fetch_all(&self.inner.reader).await?;
            rows.iter().map(decisions::decision).collect()
        })
        .await
    }

    /// Appends an act to the log, as the last thing of the transaction that does it.
    pub(crate) async fn write_act(&self, tx: &mut Tx, act: NewAct<'_>) -> Result<i64> {
        let doer = self.doer.as_deref();
        let at = nanoseconds(act.at)?;
        let body = written(act, doer)?;
        let entry = NewEntry {
            at,
            input: &[],
            packed: decisions::packed(&body)?,
            body: &body,
            kind: Some(KIND),
        };
        decisions::append(tx, entry).await
    }
}

fn written(act: NewAct<'_>, doer: Option<&Doer>) -> Result<Vec<u8>> {
    if act.by.is_empty() {
        return Err(StoreError::Bad("whoever acts has a name".into()));
    }
    let (known_by, from) = doer.map_or((act.known_by, ""), |doer| {
        (&*doer.actor.known_by, &*doer.from)
    });
    let body = Body {
        format: 1,
        act: act.act,
        by: checked(act.by)?,
        known_by: checked(known_by)?,
        from: checked(from)?,
        why: checked(act.why)?,
        about: side(act.about),
        before: side(act.before),
        after: side(act.after),
    };
    let body = serde_json::to_vec(&body).map_err(|error| StoreError::Bad(error.to_string()))?;
    match body.len() <= MAX_ACT_BYTES {
        true => Ok(body),
        false => Err(StoreError::Bad(format!(
            "what is to be written to the log has {} bytes, and at most {MAX_ACT_BYTES} are kept; give a shorter reason",
            body.len()
        ))),
    }
}

fn side(value: Value) -> Value {
    let text = value.to_string();
    match text.len() <= MAX_SIDE_BYTES {
        true => value,
        false => json!({
            "leftOut": "it is too large",
            "bytes": text.len(),
            "sha256": hex::encode(&Sha256::digest(text.as_bytes())),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn act(why: &str) -> NewAct<'_> {
        NewAct {
            act: "pause",
            about: json!({"organisation": "acme"}),
            before: Value::Null,
            after: json!({"sector": "x".repeat(MAX_SIDE_BYTES)}),
            by: "ada",
            known_by: "token",
            at: Timestamp::UNIX_EPOCH,
            why,
        }
    }

    #[test]
    fn an_entry_has_a_limit_and_says_what_it_leaves_out() {
        let body = written(act("etcd"), None).unwrap();
        assert!(body.starts_with(ACT_BODY));
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["about"], json!({"organisation": "acme"}));
        assert_eq!(body["after"]["bytes"], MAX_SIDE_BYTES + 13);
        assert_eq!(
            (&body["knownBy"], &body["from"]),
            (&json!("token"), &json!(""))
        );
        let long = "x".repeat(MAX_ACT_BYTES);
        let refused = written(act(&long), None).unwrap_err().to_string();
        assert!(refused.contains("give a shorter reason"), "{refused}");
    }
}
