//! Tokens that were revoked: one by its serial, or all of a person or a cluster that were made before an instant.
//!
//! A revocation is never deleted, because a backup may be restored while its token is still good. All changes count up one
//! counter, so its value says whether anything changed.

use jiff::Timestamp;
use serde_json::{Value, json};
use sqlx::Row;
use sqlx::any::AnyRow;
use towpath_core::access::{Revocation, Revoked};
use towpath_core::cluster::ClusterId;

use crate::rows::{self, checked, nanoseconds, time};
use crate::{NewAct, Result, Store, StoreError, Tx, bounded};

/// The most revocations of a store.
pub const MAX_REVOCATIONS: i64 = 200_000;

/// Whether revocations have changed: another value, other revocations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RevocationMark(i64);

impl Store {
    /// Ends tokens. A later time replaces an earlier one, and never the other way round.
    pub async fn revoke(&self, revocation: &Revocation) -> Result<()> {
        bounded(async {
            let mut tx = self.write().await?;
            let before = write(&mut tx, revocation).await?;
            self.write_act(&mut tx, act(revocation, before)).await?;
            tx.commit().await
        })
        .await
    }

    /// All revocations, the newest first, and the mark that they belong to.
    pub async fn revocations(&self) -> Result<(RevocationMark, Vec<Revocation>)> {
        bounded(async {
            let mut tx = self.snapshot().await?;
            let text = "SELECT value FROM counters WHERE name = 'revocations'";
            let row = sqlx::query(text).fetch_optional(tx.on()).await?;
            let mark = row.map(|row| row.try_get(0)).transpose()?.unwrap_or(0);
            let text = "SELECT kind, name, made_before, by_whom, at, why FROM revocations ORDER BY at DESC, kind, name";
            let rows = sqlx::query(text).fetch_all(tx.on()).await?;
            let all: Vec<Revocation> = rows.iter().map(stored).collect::<Result<_>>()?;
            Ok((RevocationMark(mark), all))
        })
        .await
    }

    /// Another value means that revocations may have changed. It reads one row.
    pub async fn revocation_mark(&self) -> Result<RevocationMark> {
        bounded(async {
            let text = "SELECT value FROM counters WHERE name = 'revocations'";
            let row = sqlx::query(text).fetch_optional(&self.inner.reader).await?;
            let value = row.map(|row| row.try_get(0)).transpose()?;
            Ok(RevocationMark(value.unwrap_or(0)))
        })
        .await
    }
}

/// Ends the tokens of a cluster that were made before it was forgotten.
pub(crate) async fn end_tokens(
    tx: &mut Tx,
    cluster: &ClusterId,
    by: &str,
    at: Timestamp,
) -> Result<()> {
    let revocation = Revocation {
        revoked: Revoked::Cluster {
            id: cluster.clone(),
            made_before: at,
        },
        by: by.into(),
        at,
        why: "the cluster was forgotten".into(),
    };
    write(tx, &revocation).await?;
    Ok(())
}

/// What somebody revoked, for the log.
fn act(revocation: &Revocation, before: Option<Timestamp>) -> NewAct<'_> {
    let (about, after) = match &revocation.revoked {
        Revoked::Serial(serial) => (json!({"serial": serial}), json!({"revoked": true})),
        Revoked::Person { name, made_before } => (
            json!({"person": name}),
            json!({"tokensMadeBefore": made_before.to_string()}),
        ),
        Revoked::Cluster { id, made_before } => (
            json!({"cluster": id.as_str()}),
            json!({"tokensMadeBefore": made_before.to_string()}),
        ),
    };
    NewAct {
        act: "revoke",
        about,
        before: before.map_or(Value::Null, |at| json!({"revokedAt": at.to_string()})),
        after,
        by: &revocation.by,
        known_by: "",
        at: revocation.at,
        why: &revocation.why,
    }
}

/// Writes a revocation, and says when the same was revoked before.
async fn write(tx: &mut Tx, revocation: &Revocation) -> Result<Option<Timestamp>> {
    let Revocation {
        revoked,
        by,
        at,
        why,
    } = revocation;
    let (kind, name, made_before) = match revoked {
        Revoked::Serial(serial) => ("serial", &**serial, None),
        Revoked::Person { name, made_before } => ("person", &**name, Some(*made_before)),
        Revoked::Cluster { id, made_before } => ("cluster", id.as_str(), Some(*made_before)),
    };
    let made_before = made_before.map(nanoseconds).transpose()?;
    let (name, by, why) = (checked(name)?, checked(by)?, checked(why)?);
    // Nobody else revokes until this transaction ends. A backup of an older schema lacks the counter.
    let text = "INSERT INTO counters (name, value) VALUES ('revocations', 1) \
                ON CONFLICT (name) DO UPDATE SET value = counters.value + 1";
    sqlx::query(text).execute(tx.on()).await?;
    let text = "SELECT COUNT(*) FROM revocations";
    let there: i64 = sqlx::query(text).fetch_one(tx.on()).await?.try_get(0)?;
    if there >= MAX_REVOCATIONS {
        return Err(StoreError::Bad(format!(
            "{MAX_REVOCATIONS} tokens are revoked already; change the key, and hand out new tokens"
        )));
    }
    let text = "SELECT at FROM revocations WHERE kind = $1 AND name = $2";
    let known = sqlx::query(text).bind(kind).bind(name);
    let known = known.fetch_optional(tx.on()).await?;
    let before = known.map(|row| row.try_get(0).map(time)).transpose()?;
    let text = "INSERT INTO revocations (kind, name, made_before, by_whom, at, why) VALUES ($1, $2, $3, $4, $5, $6) \
                ON CONFLICT (kind, name) DO UPDATE SET made_before = excluded.made_before, by_whom = excluded.by_whom, \
                at = excluded.at, why = excluded.why WHERE excluded.made_before > revocations.made_before";
    let query = sqlx::query(text)
        .bind(kind)
        .bind(name)
        .bind(made_before)
        .bind(by)
        .bind(nanoseconds(*at)?)
        .bind(why);
    query.execute(tx.on()).await?;
    Ok(before)
}

fn stored(row: &AnyRow) -> Result<Revocation> {
    let (kind, name) = (rows::text(row, 0)?, rows::text(row, 1)?);
    let made_before: Option<i64> = row.try_get(2)?;
    let made_before = made_before.map(time);
    let revoked = match (&*kind, made_before) {
        ("serial", None) => Revoked::Serial(name.into()),
        ("person", Some(made_before)) => Revoked::Person {
            name: name.into(),
            made_before,
        },
        ("cluster", Some(made_before)) => Revoked::Cluster {
            id: rows::id(&name)?,
            made_before,
        },
        // A service that does not understand it would let a token through.
        _ => {
            return Err(StoreError::Corrupt(
                "a revocation has an unknown kind, or lacks its time".into(),
            ));
        }
    };
    Ok(Revocation {
        revoked,
        by: rows::text(row, 3)?.into(),
        at: time(row.try_get(4)?),
        why: rows::text(row, 5)?.into(),
    })
}
