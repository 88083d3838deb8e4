//! What people decide: pauses, approvals, acknowledgements. Here is what holds; [`crate::acts`] keeps who said so.

use jiff::Timestamp;
use serde_json::{Value, json};
use sqlx::Row;
use sqlx::any::AnyRow;
use towpath_core::cluster::ClusterId;
use towpath_core::fleet::{Approval, Name, Pause, Said};
use towpath_core::version::Version;

use crate::acts::{self, ACKNOWLEDGEMENT, APPROVAL, ActSubject, PAUSE, Words};
use crate::claims::lock_starts;
use crate::reports::number_change;
use crate::rows::{self, checked, time};
use crate::{Backend, Result, Store, StoreError, Tx, bounded};

/// A gate that a person has acknowledged for a cluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Acknowledgement {
    pub cluster: ClusterId,
    pub gate: Name,
    pub by: Name,
    pub at: Timestamp,
}

/// What withdrawing came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WithdrawOutcome {
    /// It was taken back: who had said so.
    Withdrawn(Vec<Said>),
    /// There is no such thing. Nothing changed.
    Nothing,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum History {
    Kept,
    LeftOut,
}

impl Store {
    /// Pauses new starts. After this returns, no claim there succeeds. What holds of a place is its newest pause; all are kept.
    pub async fn pause(&self, pause: &Pause, known_by: &str) -> Result<()> {
        let place = ActSubject {
            kind: PAUSE,
            organisation: place(pause.organisation.as_deref())?,
            sector: place(pause.sector.as_deref())?,
            ..ActSubject::default()
        };
        let words = Words::new(&pause.by, known_by, pause.at, &pause.why)?;
        match self.write_pause(&place, &words, History::Kept).await {
            // A full disk may have room for the pause, and none for the history. A log that is damaged takes no entry. A pause is the
            // safe side.
            Err(StoreError::Unavailable(_)) if self.backend() == Backend::Sqlite => {
                self.write_pause(&place, &words, History::LeftOut).await
            }
            Err(StoreError::Corrupt(_)) => self.write_pause(&place, &words, History::LeftOut).await,
            written => written,
        }
    }

    async fn write_pause(
        &self,
        place: &ActSubject<'_>,
        words: &Words<'_>,
        history: History,
    ) -> Result<()> {
        bounded(async {
            let mut tx = self.write().await?;
            // A claim that has the lock commits first; the next one sees this pause.
            lock_starts(&mut tx).await?;
            let before = match history {
                History::Kept => adopt_pause(&mut tx, place).await?,
                History::LeftOut => None,
            };
            let text = "INSERT INTO pauses (organisation, sector, by_whom, at, why) VALUES ($1, $2, $3, $4, $5) \
                        ON CONFLICT (organisation, sector) DO UPDATE SET by_whom = excluded.by_whom, at = excluded.at, \
                        why = excluded.why";
            let query = sqlx::query(text).bind(place.organisation).bind(place.sector);
            let query = query.bind(words.by).bind(words.at).bind(words.why);
            query.execute(tx.on()).await?;
            if history == History::Kept {
                acts::begin(&mut tx, place, None, words).await?;
                let sides = [about(place), held(before.as_ref()), holds(words)];
                self.write_act(&mut tx, words.act("pause", sides)).await?;
            }
            tx.commit().await
        })
        .await
    }

    /// Removes the pause of exactly this place, and returns how many there were. Wider pauses stay.
    pub async fn resume(
        &self,
        organisation: Option<&str>,
        sector: Option<&str>,
        said: &Said,
    ) -> Result<u64> {
        let place = ActSubject {
            kind: PAUSE,
            organisation: place(organisation)?,
            sector: place(sector)?,
            ..ActSubject::default()
        };
        let words = Words::of(said)?;
        bounded(async {
            let mut tx = self.write().await?;
            lock_starts(&mut tx).await?;
            let before = adopt_pause(&mut tx, &place).await?;
            let text = "DELETE FROM pauses WHERE organisation = $1 AND sector = $2";
            let query = sqlx::query(text)
                .bind(place.organisation)
                .bind(place.sector);
            let lifted = query.execute(tx.on()).await?.rows_affected();
            acts::end(&mut tx, &place, &words).await?;
            if lifted > 0 {
                let sides = [about(&place), held(before.as_ref()), Value::Null];
                self.write_act(&mut tx, words.act("resume", sides)).await?;
            }
            tx.commit().await?;
            Ok(lifted)
        })
        .await
    }

    pub async fn pauses(&self) -> Result<Vec<Pause>> {
        read_pauses(&mut self.snapshot().await?).await
    }

    /// Stores an approval. What holds of a place and version is its newest approval; all are kept.
    pub async fn approve(&self, approval: &Approval, known_by: &str, why: &str) -> Result<()> {
        let version = approval.version.to_string();
        let place = approval_place(
            &approval.organisation,
            approval.cluster.as_deref(),
            &version,
        )?;
        let words = Words::new(&approval.by, known_by, approval.at, why)?;
        bounded(async {
            let mut tx = self.write().await?;
            let before = adopt_approval(&mut tx, &place).await?;
            let text = "INSERT INTO approvals (organisation, cluster, version, by_whom, at) \
                        VALUES ($1, $2, $3, $4, $5) ON CONFLICT (organisation, cluster, version) \
                        DO UPDATE SET by_whom = excluded.by_whom, at = excluded.at";
            let query = sqlx::query(text)
                .bind(place.organisation)
                .bind(place.cluster)
                .bind(place.version)
                .bind(words.by)
                .bind(words.at);
            query.execute(tx.on()).await?;
            acts::begin(&mut tx, &place, None, &words).await?;
            let sides = [about(&place), held(before.as_ref()), holds(&words)];
            self.write_act(&mut tx, words.act("approve", sides)).await?;
            tx.commit().await
        })
        .await
    }

    /// Takes the approvals of exactly this place and version back, whoever gave them. Others stay. After this returns, no start that
    /// was decided before it and needs them succeeds.
    pub async fn withdraw_approval(
        &self,
        organisation: &str,
        cluster: Option<&str>,
        version: &Version,
        said: &Said,
    ) -> Result<WithdrawOutcome> {
        let version = version.to_string();
        let place = approval_place(organisation, cluster, &version)?;
        let words = Words::of(said)?;
        bounded(async {
            let mut tx = self.write().await?;
            // A start that has the lock commits first; the next one sees this.
            lock_starts(&mut tx).await?;
            let before = adopt_approval(&mut tx, &place).await?;
            let text =
                "DELETE FROM approvals WHERE organisation = $1 AND cluster = $2 AND version = $3";
            let query = sqlx::query(text).bind(place.organisation);
            let query = query.bind(place.cluster).bind(place.version);
            if query.execute(tx.on()).await?.rows_affected() == 0 {
                return Ok(WithdrawOutcome::Nothing);
            }
            let given = acts::end(&mut tx, &place, &words).await?;
            let sides = [about(&place), held(before.as_ref()), Value::Null];
            self.write_act(&mut tx, words.act("withdraw-approval", sides))
                .await?;
            tx.commit().await?;
            Ok(WithdrawOutcome::Withdrawn(given))
        })
        .await
    }

    /// The approvals, by place and version.
    pub async fn approvals(&self) -> Result<Vec<Approval>> {
        read_approvals(&mut self.snapshot().await?).await
    }

    /// Stores that a person has acknowledged a gate for a cluster. What holds is the first acknowledgement; all are kept.
    pub async fn acknowledge_gate(
        &self,
        cluster: &ClusterId,
        gate: &str,
        said: &Said,
    ) -> Result<()> {
        let place = acknowledgement_place(cluster, gate)?;
        let words = Words::of(said)?;
        bounded(async {
            let mut tx = self.write().await?;
            let before = adopt_acknowledgement(&mut tx, &place).await?;
            let text = "INSERT INTO acknowledgements (cluster, gate, by_whom, at) VALUES ($1, $2, $3, $4) \
                        ON CONFLICT (cluster, gate) DO NOTHING";
            let query = sqlx::query(text).bind(place.cluster).bind(place.gate);
            query.bind(words.by).bind(words.at).execute(tx.on()).await?;
            acts::begin(&mut tx, &place, None, &words).await?;
            touch(&mut tx, place.cluster).await?;
            let sides = [about(&place), held(before.as_ref()), holds(&words)];
            self.write_act(&mut tx, words.act("acknowledge", sides)).await?;
            tx.commit().await
        })
        .await
    }

    /// Takes the acknowledgements of a gate for a cluster back, whoever gave them. What the cluster itself or its API tells stays.
    pub async fn withdraw_acknowledgement(
        &self,
        cluster: &ClusterId,
        gate: &str,
        said: &Said,
    ) -> Result<WithdrawOutcome> {
        let place = acknowledgement_place(cluster, gate)?;
        let words = Words::of(said)?;
        bounded(async {
            let mut tx = self.write().await?;
            lock_starts(&mut tx).await?;
            let before = adopt_acknowledgement(&mut tx, &place).await?;
            let text = "DELETE FROM acknowledgements WHERE cluster = $1 AND gate = $2";
            let query = sqlx::query(text).bind(place.cluster).bind(place.gate);
            if query.execute(tx.on()).await?.rows_affected() == 0 {
                return Ok(WithdrawOutcome::Nothing);
            }
            let given = acts::end(&mut tx, &place, &words).await?;
            touch(&mut tx, place.cluster).await?;
            let sides = [about(&place), held(before.as_ref()), Value::Null];
            let act = words.act("withdraw-acknowledgement", sides);
            self.write_act(&mut tx, act).await?;
            tx.commit().await?;
            Ok(WithdrawOutcome::Withdrawn(given))
        })
        .await
    }

    /// The acknowledgements, by cluster and gate.
    pub async fn acknowledgements(&self) -> Result<Vec<Acknowledgement>> {
        read_acknowledgements(&mut self.snapshot().await?).await
    }
}

fn approval_place<'a>(
    organisation: &'a str,
    cluster: Option<&'a str>,
    version: &'a str,
) -> Result<ActSubject<'a>> {
    Ok(ActSubject {
        kind: APPROVAL,
        organisation: checked(organisation)?,
        cluster: place(cluster)?,
        version,
        ..ActSubject::default()
    })
}

fn acknowledgement_place<'a>(cluster: &'a ClusterId, gate: &'a str) -> Result<ActSubject<'a>> {
    Ok(ActSubject {
        kind: ACKNOWLEDGEMENT,
        cluster: checked(cluster.as_str())?,
        gate: checked(gate)?,
        ..ActSubject::default()
    })
}

async fn adopt_pause(tx: &mut Tx, place: &ActSubject<'_>) -> Result<Option<Held>> {
    let text = "SELECT by_whom, at, why FROM pauses WHERE organisation = $1 AND sector = $2";
    let query = sqlx::query(text)
        .bind(place.organisation)
        .bind(place.sector);
    let holding = holding(query.fetch_optional(tx.on()).await?)?;
    acts::adopt(tx, place, holding.as_ref()).await?;
    Ok(holding)
}

async fn adopt_approval(tx: &mut Tx, place: &ActSubject<'_>) -> Result<Option<Held>> {
    let text = "SELECT by_whom, at, CAST('' AS TEXT) FROM approvals WHERE organisation = $1 AND cluster = $2 AND version = $3";
    let query = sqlx::query(text).bind(place.organisation);
    let query = query.bind(place.cluster).bind(place.version);
    let holding = holding(query.fetch_optional(tx.on()).await?)?;
    acts::adopt(tx, place, holding.as_ref()).await?;
    Ok(holding)
}

async fn adopt_acknowledgement(tx: &mut Tx, place: &ActSubject<'_>) -> Result<Option<Held>> {
    let text = "SELECT by_whom, at, CAST('' AS TEXT) FROM acknowledgements WHERE cluster = $1 AND gate = $2";
    let query = sqlx::query(text).bind(place.cluster).bind(place.gate);
    let holding = holding(query.fetch_optional(tx.on()).await?)?;
    acts::adopt(tx, place, holding.as_ref()).await?;
    Ok(holding)
}

/// Who said what holds at a place, when and why.
type Held = (String, i64, String);

/// What an act is about, for the log.
fn about(place: &ActSubject<'_>) -> Value {
    let mut about = serde_json::Map::new();
    for (name, value) in [
        ("organisation", place.organisation),
        ("sector", place.sector),
        ("cluster", place.cluster),
        ("version", place.version),
        ("gate", place.gate),
    ] {
        if !value.is_empty() {
            about.insert(name.to_owned(), value.into());
        }
    }
    about.into()
}

/// What held before.
fn held(held: Option<&Held>) -> Value {
    held.map_or(
        Value::Null,
        |(by, at, why)| json!({"by": by, "at": time(*at).to_string(), "why": why}),
    )
}

/// What holds from now on.
fn holds(words: &Words<'_>) -> Value {
    json!({"by": words.by, "at": time(words.at).to_string(), "why": words.why})
}

fn holding(row: Option<AnyRow>) -> Result<Option<Held>> {
    let read = |row: AnyRow| Ok((rows::text(&row, 0)?, row.try_get(1)?, rows::text(&row, 2)?));
    row.map(read).transpose()
}

/// The cluster counts as changed.
async fn touch(tx: &mut Tx, cluster: &str) -> Result<()> {
    number_change(tx).await?;
    let text = tx.sql("UPDATE clusters SET changed = {change} WHERE id = $1");
    sqlx::query(text).bind(cluster).execute(tx.on()).await?;
    Ok(())
}

pub(crate) async fn read_approvals(tx: &mut Tx) -> Result<Vec<Approval>> {
    let text = "SELECT organisation, cluster, version, by_whom, at FROM approvals ORDER BY organisation, cluster, version";
    let rows = sqlx::query(text).fetch_all(tx.on()).await?;
    let approval = |row: &AnyRow| {
        Ok(Approval {
            organisation: rows::text(row, 0)?.into(),
            cluster: named(rows::text(row, 1)?),
            version: rows::version(&rows::text(row, 2)?)?,
            by: rows::text(row, 3)?.into(),
            at: time(row.try_get(4)?),
        })
    };
    rows.iter().map(approval).collect()
}

pub(crate) async fn read_acknowledgements(tx: &mut Tx) -> Result<Vec<Acknowledgement>> {
    let text = "SELECT cluster, gate, by_whom, at FROM acknowledgements ORDER BY cluster, gate";
    let rows = sqlx::query(text).fetch_all(tx.on()).await?;
    let acknowledgement = |row: &AnyRow| {
        Ok(Acknowledgement {
            cluster: rows::id(&rows::text(row, 0)?)?,
            gate: rows::text(row, 1)?.into(),
            by: rows::text(row, 2)?.into(),
            at: time(row.try_get(3)?),
        })
    };
    rows.iter().map(acknowledgement).collect()
}

pub(crate) async fn read_pauses(tx: &mut Tx) -> Result<Vec<Pause>> {
    let text =
        "SELECT organisation, sector, by_whom, at, why FROM pauses ORDER BY organisation, sector";
    let rows = sqlx::query(text).fetch_all(tx.on()).await?;
    let pause = |row: &AnyRow| {
        Ok(Pause {
            organisation: named(rows::text(row, 0)?),
            sector: named(rows::text(row, 1)?),
            by: rows::text(row, 2)?.into(),
            at: time(row.try_get(3)?),
            why: rows::text(row, 4)?.into(),
        })
    };
    rows.iter().map(pause).collect()
}

/// The column value of a place. "Everywhere" is the empty text, so names may not be empty.
fn place(name: Option<&str>) -> Result<&str> {
    match name {
        Some("") => Err(StoreError::Bad(
            "an organisation, sector or cluster needs a name".into(),
        )),
        Some(name) => checked(name),
        None => Ok(""),
    }
}

pub(crate) fn named(text: String) -> Option<Name> {
    (!text.is_empty()).then(|| text.into())
}
