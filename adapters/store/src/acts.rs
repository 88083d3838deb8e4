//! The history of what people did: who, how they were known, when and why; and who ended it.
//!
//! A row stands until it is ended. `pauses`, `approvals` and `acknowledgements` have what holds now, once for each place: rules
//! read them, and so do programs that know no history. Whatever such a program wrote gets its row here before it is replaced or
//! removed. A cancellation holds as long as its row stands.
//!
//! Rows are numbered by one counter, also when they end. So a start can tell what was withdrawn after its decision.

use jiff::Timestamp;
use serde_json::{Value, json};
use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row};
use towpath_core::cluster::ClusterId;
use towpath_core::fleet::{
    ActKind, Approval, CancelledUpgrade, Name, Pause, PersonAct, Said, TakenBack, UpgradeId,
    WithdrawnAcknowledgement, WithdrawnApproval,
};
use towpath_core::version::Version;

use crate::people::{named, read_pauses};
use crate::rows::{self, checked, damaged, nanoseconds, time};
use crate::{NewAct, Result, Store, StoreError, Tx, bounded};

/// The most ended acts, and the most withdrawals, that are read at once: the newest.
const MAX_READ: u32 = 10_000;

/// Up to where people's acts are known: what has a higher number came later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct ActMark(i64);

/// What an act is about, as it is stored: '' where there is none.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ActSubject<'a> {
    pub(crate) kind: &'static str,
    pub(crate) organisation: &'a str,
    pub(crate) sector: &'a str,
    /// An approval's cluster by name, others' by id.
    pub(crate) cluster: &'a str,
    pub(crate) pool: &'a str,
    pub(crate) version: &'a str,
    pub(crate) gate: &'a str,
}

pub(crate) const PAUSE: &str = "pause";
pub(crate) const APPROVAL: &str = "approval";
pub(crate) const ACKNOWLEDGEMENT: &str = "acknowledgement";
pub(crate) const CANCELLATION: &str = "cancellation";

const SAME_PLACE: &str = "kind = $1 AND organisation = $2 AND sector = $3 AND cluster = $4 AND pool = $5 AND version = $6 AND gate = $7";

impl Store {
    /// What people did, newest first: all that stands, and the newest of what was ended.
    pub async fn acts(&self) -> Result<Vec<PersonAct>> {
        let mut tx = self.snapshot().await?;
        let mut acts = Vec::new();
        for rest in [
            "ended_seq IS NULL ORDER BY seq".to_owned(),
            format!("ended_seq IS NOT NULL ORDER BY ended_seq DESC LIMIT {MAX_READ}"),
        ] {
            let text = format!("SELECT {COLUMNS} FROM acts WHERE {rest}");
            let rows = sqlx::query(AssertSqlSafe(text)).fetch_all(tx.on()).await?;
            for row in &rows {
                acts.push(act(row)?);
            }
        }
        let standing = standing(&mut tx).await?;
        drop(tx);
        // A program that knows no history may have resumed a pause: then nobody knows who did. Or it made one.
        acts.retain(|act| {
            let is_recorded = |(what, _): &(ActKind, _)| *what == act.what;
            act.ended.is_some()
                || matches!(act.what, ActKind::Cancellation { .. })
                || standing.iter().any(is_recorded)
        });
        for (what, said) in standing {
            let is_it =
                |act: &PersonAct| act.ended.is_none() && act.what == what && act.said.at == said.at;
            if !acts.iter().any(is_it) {
                let ended = None;
                acts.push(PersonAct { what, said, ended });
            }
        }
        acts.sort_by(|a, b| (b.said.at, &a.what).cmp(&(a.said.at, &b.what)));
        Ok(acts)
    }

    /// Up to where people's acts are known now.
    pub async fn act_mark(&self) -> Result<ActMark> {
        let text = "SELECT value FROM counters WHERE name = 'acts'";
        let row = sqlx::query(text).fetch_optional(&self.inner.reader).await?;
        let value = row.map(|row| row.try_get(0)).transpose()?;
        Ok(ActMark(value.unwrap_or(0)))
    }

    /// What people have taken back and nobody has given again.
    pub async fn taken_back(&self) -> Result<TakenBack> {
        let mut tx = self.snapshot().await?;
        let mut taken_back = TakenBack::default();
        let withdrawn = format!(
            "SELECT {COLUMNS} FROM acts WHERE kind IN ('{APPROVAL}', '{ACKNOWLEDGEMENT}') AND ended_seq IS NOT NULL \
             AND NOT EXISTS (SELECT 1 FROM approvals a WHERE acts.kind = '{APPROVAL}' AND a.organisation = acts.organisation \
             AND a.cluster = acts.cluster AND a.version = acts.version) \
             AND NOT EXISTS (SELECT 1 FROM acknowledgements a WHERE acts.kind = '{ACKNOWLEDGEMENT}' AND a.cluster = acts.cluster \
             AND a.gate = acts.gate) ORDER BY ended_seq DESC LIMIT {MAX_READ}"
        );
        let cancelled = format!(
            "SELECT {COLUMNS} FROM acts WHERE kind = '{CANCELLATION}' AND ended_seq IS NULL ORDER BY seq"
        );
        for text in [withdrawn, cancelled] {
            let rows = sqlx::query(AssertSqlSafe(text)).fetch_all(tx.on()).await?;
            for row in &rows {
                note(act(row)?, &mut taken_back);
            }
        }
        // Several people may have approved one thing; it was withdrawn once.
        taken_back.sort();
        taken_back.approvals.dedup();
        taken_back.acknowledgements.dedup();
        Ok(taken_back)
    }

    /// Lifts cancellations of a cluster, of one version or of all, so that it may be planned again. Returns those that were lifted.
    pub async fn lift(
        &self,
        cluster: &ClusterId,
        version: Option<&Version>,
        said: &Said,
    ) -> Result<Vec<CancelledUpgrade>> {
        let words = Words::of(said)?;
        bounded(async {
            let mut tx = self.write().await?;
            let cancelled = standing_cancellations(&mut tx, &[cluster]).await?;
            let is_meant = |one: &CancelledUpgrade| version.is_none_or(|only| *only == one.version);
            let lifted: Vec<CancelledUpgrade> = cancelled.into_iter().filter(is_meant).collect();
            for one in &lifted {
                let version = one.version.to_string();
                let place = ActSubject {
                    kind: CANCELLATION,
                    cluster: cluster.as_str(),
                    pool: one.pool.as_deref().unwrap_or_default(),
                    version: &version,
                    ..ActSubject::default()
                };
                end(&mut tx, &place, &words).await?;
            }
            if !lifted.is_empty() {
                let told = |one: &CancelledUpgrade| {
                    let (version, pool) = (one.version.to_string(), &one.pool);
                    json!({"version": version, "pool": pool, "by": one.by, "at": one.at.to_string(), "why": one.why})
                };
                let before: Vec<Value> = lifted.iter().map(told).collect();
                let sides = [json!({"cluster": cluster.as_str()}), before.into(), Value::Null];
                self.write_act(&mut tx, words.act("lift", sides)).await?;
            }
            tx.commit().await?;
            Ok(lifted)
        })
        .await
    }
}

fn note(act: PersonAct, taken_back: &mut TakenBack) {
    match (act.what, act.ended) {
        (
            ActKind::Approval {
                organisation,
                name,
                version,
            },
            Some(ended),
        ) => taken_back.approvals.push(WithdrawnApproval {
            organisation,
            cluster: name,
            version,
            by: ended.by,
            at: ended.at,
            why: ended.why,
        }),
        (ActKind::Acknowledgement { cluster, gate }, Some(ended)) => {
            taken_back.acknowledgements.push(WithdrawnAcknowledgement {
                cluster,
                gate,
                by: ended.by,
                at: ended.at,
                why: ended.why,
            });
        }
        (
            ActKind::Cancellation {
                cluster,
                pool,
                version,
                ..
            },
            None,
        ) => taken_back.upgrades.push(CancelledUpgrade {
            cluster,
            pool,
            version,
            by: act.said.by,
            at: act.said.at,
            why: act.said.why,
        }),
        _ => {}
    }
}

/// What somebody said, ready to be stored.
pub(crate) struct Words<'a> {
    pub(crate) by: &'a str,
    pub(crate) known_by: &'a str,
    pub(crate) at: i64,
    pub(crate) why: &'a str,
}

impl<'a> Words<'a> {
    pub(crate) fn of(said: &'a Said) -> Result<Self> {
        Self::new(&said.by, &said.known_by, said.at, &said.why)
    }

    pub(crate) fn new(by: &'a str, known_by: &'a str, at: Timestamp, why: &'a str) -> Result<Self> {
        if by.is_empty() {
            return Err(StoreError::Bad("whoever acts has a name".into()));
        }
        Ok(Self {
            by: checked(by)?,
            known_by: checked(known_by)?,
            at: nanoseconds(at)?,
            why: checked(why)?,
        })
    }
}

impl<'a> Words<'a> {
    /// The same for the log: what it is done to, what was before, and what is after.
    pub(crate) fn act(&self, act: &'static str, [about, before, after]: [Value; 3]) -> NewAct<'a> {
        NewAct {
            act,
            about,
            before,
            after,
            by: self.by,
            known_by: self.known_by,
            at: time(self.at),
            why: self.why,
        }
    }
}

/// Writes down an act, which stands from now on.
pub(crate) async fn begin(
    tx: &mut Tx,
    place: &ActSubject<'_>,
    upgrade: Option<UpgradeId>,
    words: &Words<'_>,
) -> Result<()> {
    let seq = next(tx).await?;
    let text = "INSERT INTO acts (kind, organisation, sector, cluster, pool, version, gate, seq, upgrade, by_whom, known_by, at, why) \
                VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)";
    let query = bound(text, place).bind(seq).bind(upgrade.map(|id| id.0));
    let query = query.bind(words.by).bind(words.known_by);
    query
        .bind(words.at)
        .bind(words.why)
        .execute(tx.on())
        .await?;
    Ok(())
}

/// Ends the acts that stand at a place, and returns what they were.
pub(crate) async fn end(
    tx: &mut Tx,
    place: &ActSubject<'_>,
    words: &Words<'_>,
) -> Result<Vec<Said>> {
    let text =
        format!("SELECT {COLUMNS} FROM acts WHERE {SAME_PLACE} AND ended_seq IS NULL ORDER BY seq");
    let rows = bound(&text, place).fetch_all(tx.on()).await?;
    let ended = rows.iter().map(|row| act(row).map(|act| act.said));
    let ended: Vec<Said> = ended.collect::<Result<_>>()?;
    let seq = next(tx).await?;
    let text = format!(
        "UPDATE acts SET ended_seq = $8, ended_by = $9, ended_known_by = $10, ended_at = $11, ended_why = $12 \
         WHERE {SAME_PLACE} AND ended_seq IS NULL"
    );
    let query = bound(&text, place).bind(seq).bind(words.by);
    let query = query.bind(words.known_by).bind(words.at).bind(words.why);
    query.execute(tx.on()).await?;
    Ok(ended)
}

/// Writes down what holds at a place already, if a program wrote it that knows no history.
pub(crate) async fn adopt(
    tx: &mut Tx,
    place: &ActSubject<'_>,
    holding: Option<&(String, i64, String)>,
) -> Result<()> {
    let Some((by, at, why)) = holding else {
        return Ok(());
    };
    let text =
        format!("SELECT COUNT(*) FROM acts WHERE {SAME_PLACE} AND ended_seq IS NULL AND at = $8");
    let known = bound(&text, place).bind(*at).fetch_one(tx.on()).await?;
    if known.try_get::<i64, _>(0)? > 0 {
        return Ok(());
    }
    let (known_by, at) = ("", *at);
    let words = Words {
        by,
        known_by,
        at,
        why,
    };
    begin(tx, place, None, &words).await
}

fn bound<'q>(
    text: &str,
    place: &ActSubject<'q>,
) -> sqlx::query::Query<'q, sqlx::Any, sqlx::any::AnyArguments> {
    sqlx::query(AssertSqlSafe(text.to_owned()))
        .bind(place.kind)
        .bind(place.organisation)
        .bind(place.sector)
        .bind(place.cluster)
        .bind(place.pool)
        .bind(place.version)
        .bind(place.gate)
}

/// Locks the counter, so that acts are numbered in the order in which they are committed. A backup of an older schema lacks it.
async fn next(tx: &mut Tx) -> Result<i64> {
    let text = "INSERT INTO counters (name, value) VALUES ('acts', 1) \
                ON CONFLICT (name) DO UPDATE SET value = counters.value + 1";
    sqlx::query(text).execute(tx.on()).await?;
    let text = "SELECT value FROM counters WHERE name = 'acts'";
    Ok(sqlx::query(text).fetch_one(tx.on()).await?.try_get(0)?)
}

/// The cancellations of these clusters that stand.
pub(crate) async fn standing_cancellations(
    tx: &mut Tx,
    clusters: &[&ClusterId],
) -> Result<Vec<CancelledUpgrade>> {
    let ids: Vec<[&str; 1]> = clusters.iter().map(|id| [id.as_str()]).collect();
    let text = format!(
        "SELECT {COLUMNS} FROM acts WHERE kind = '{CANCELLATION}' AND ended_seq IS NULL \
         AND cluster IN (SELECT value->>0 FROM {{rows}}) ORDER BY seq"
    );
    let mut taken_back = TakenBack::default();
    for row in tx.fetch(&text, &json!(ids).to_string()).await? {
        note(act(&row)?, &mut taken_back);
    }
    Ok(taken_back.upgrades)
}

/// Approvals and acknowledgements that were withdrawn after the mark.
pub(crate) async fn withdrawn_since(tx: &mut Tx, mark: ActMark) -> Result<TakenBack> {
    let text = format!(
        "SELECT {COLUMNS} FROM acts WHERE ended_seq > $1 AND kind IN ('{APPROVAL}', '{ACKNOWLEDGEMENT}')"
    );
    let query = sqlx::query(AssertSqlSafe(text)).bind(mark.0);
    let mut taken_back = TakenBack::default();
    for row in query.fetch_all(tx.on()).await? {
        note(act(&row)?, &mut taken_back);
    }
    Ok(taken_back)
}

/// Removes acts that were ended before that time, and cancellations that can hold nothing any more: their cluster is forgotten, or
/// is on that version or a higher one.
pub(crate) async fn drop_ended(tx: &mut Tx, before: i64) -> Result<u64> {
    let text = "DELETE FROM acts WHERE ended_seq IS NOT NULL AND ended_at < $1";
    let query = sqlx::query(text).bind(before);
    let mut dropped = query.execute(tx.on()).await?.rows_affected();
    // A program that knows no history may have ended them.
    let unknown = "DELETE FROM acts WHERE ended_seq IS NULL AND at < $1 AND ( \
         (kind = 'pause' AND NOT EXISTS (SELECT 1 FROM pauses p WHERE p.organisation = acts.organisation AND p.sector = acts.sector)) \
         OR (kind = 'cancellation' AND NOT EXISTS (SELECT 1 FROM clusters c WHERE c.id = acts.cluster AND c.gone = 0)))";
    let query = sqlx::query(unknown).bind(before);
    dropped += query.execute(tx.on()).await?.rows_affected();
    let text = "SELECT a.seq, a.version, c.version FROM acts a JOIN clusters c ON c.id = a.cluster AND c.gone = 0 \
         WHERE a.kind = 'cancellation' AND a.ended_seq IS NULL AND a.pool = '' AND a.at < $1";
    for row in sqlx::query(text).bind(before).fetch_all(tx.on()).await? {
        let cancelled = rows::version(&rows::text(&row, 1)?)?;
        if cancelled <= rows::version(&rows::text(&row, 2)?)? {
            let query = sqlx::query("DELETE FROM acts WHERE seq = $1");
            let query = query.bind(row.try_get::<i64, _>(0)?);
            dropped += query.execute(tx.on()).await?.rows_affected();
        }
    }
    Ok(dropped)
}

/// What holds now, as every program reads it.
async fn standing(tx: &mut Tx) -> Result<Vec<(ActKind, Said)>> {
    let said = |by: Name, at: Timestamp, why: Name| Said {
        by,
        known_by: "".into(),
        at,
        why,
    };
    let mut standing = Vec::new();
    for pause in read_pauses(tx).await? {
        let Pause {
            organisation,
            sector,
            by,
            at,
            why,
        } = pause;
        let what = ActKind::Pause {
            organisation,
            sector,
        };
        standing.push((what, said(by, at, why)));
    }
    for approval in crate::people::read_approvals(tx).await? {
        let Approval {
            organisation,
            cluster,
            version,
            by,
            at,
        } = approval;
        let what = ActKind::Approval {
            organisation,
            name: cluster,
            version,
        };
        standing.push((what, said(by, at, "".into())));
    }
    for one in crate::people::read_acknowledgements(tx).await? {
        let what = ActKind::Acknowledgement {
            cluster: one.cluster,
            gate: one.gate,
        };
        standing.push((what, said(one.by, one.at, "".into())));
    }
    Ok(standing)
}

/// The columns that [`act`] reads, in its order.
pub(crate) const COLUMNS: &str = "kind, organisation, sector, cluster, pool, version, gate, upgrade, by_whom, known_by, at, why, \
     ended_by, ended_known_by, ended_at, ended_why";

pub(crate) fn act(row: &AnyRow) -> Result<PersonAct> {
    let text = |at: usize| rows::text(row, at);
    let kind = text(0)?;
    let what = match &*kind {
        PAUSE => ActKind::Pause {
            organisation: named(text(1)?),
            sector: named(text(2)?),
        },
        APPROVAL => ActKind::Approval {
            organisation: text(1)?.into(),
            name: named(text(3)?),
            version: rows::version(&text(5)?)?,
        },
        ACKNOWLEDGEMENT => ActKind::Acknowledgement {
            cluster: rows::id(&text(3)?)?,
            gate: text(6)?.into(),
        },
        CANCELLATION => ActKind::Cancellation {
            cluster: rows::id(&text(3)?)?,
            pool: named(text(4)?),
            version: rows::version(&text(5)?)?,
            upgrade: UpgradeId(row.try_get(7)?),
        },
        other => return Err(damaged("the kind of an act", other)),
    };
    let ended = match (
        rows::optional(row, 12)?,
        rows::optional(row, 13)?,
        row.try_get(14)?,
        rows::optional(row, 15)?,
    ) {
        (Some(by), Some(known_by), Some(at), Some(why)) => Some(Said {
            by,
            known_by,
            at: time(at),
            why,
        }),
        (None, None, None, None) => None,
        _ => return Err(damaged("the end of an act", kind)),
    };
    let said = Said {
        by: text(8)?.into(),
        known_by: text(9)?.into(),
        at: time(row.try_get(10)?),
        why: text(11)?.into(),
    };
    Ok(PersonAct { what, said, ended })
}
