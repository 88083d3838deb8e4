//! Preflights: what clusters were asked to check, and what became of it. One for each cluster and version: the newest.
//!
//! A cluster is told of its preflight when it asks for its orders. At most so many clusters of one request are told at once;
//! that is counted in the transaction that tells one more.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use sqlx::Row;
use sqlx::any::AnyRow;
use towpath_core::cluster::ClusterId;
use towpath_core::fleet::{Preflight, PreflightState};
use towpath_core::version::Version;

use crate::claims::lock_starts;
use crate::reports::{ClusterReport, WriteFailure};
use crate::rows::{self, checked, damaged, nanoseconds, time};
use crate::{NewAct, Result, Store, Tx, bounded};

/// A cluster that was told and says nothing no longer counts after this time: its agent may be gone.
const TOLD_FOR: SignedDuration = SignedDuration::from_hours(2);

/// The most clusters that an entry of the log names.
const MAX_NAMED: usize = 100;

const COLUMNS: &str = "cluster, version, from_version, request, by_whom, state, why, risks, at";

impl Store {
    /// Asks for preflights, all or none, at most `at_once` of them at a time. Replaces earlier ones of the same cluster and version.
    pub async fn ask_preflights(&self, asked: &[Preflight], at_once: u32) -> Result<()> {
        bounded(async {
            let mut tx = self.write().await?;
            let text = "INSERT INTO preflights (cluster, version, from_version, request, by_whom, state, why, risks, at, at_once) \
                        VALUES ($1, $2, $3, $4, $5, $6, '', '[]', $7, $8) ON CONFLICT (cluster, version) DO UPDATE SET \
                        from_version = excluded.from_version, request = excluded.request, by_whom = excluded.by_whom, \
                        state = excluded.state, why = '', risks = '[]', at = excluded.at, at_once = excluded.at_once";
            for preflight in asked {
                let query = sqlx::query(text)
                    .bind(checked(preflight.cluster.as_str())?)
                    .bind(preflight.version.to_string())
                    .bind(preflight.from.to_string())
                    .bind(checked(&preflight.id)?)
                    .bind(checked(&preflight.by)?)
                    .bind(PreflightState::Asked.code())
                    .bind(nanoseconds(preflight.at)?)
                    .bind(i64::from(at_once));
                query.execute(tx.on()).await?;
            }
            if let Some(first) = asked.first() {
                let clusters = asked.iter().map(|one| one.cluster.as_str());
                let clusters: Vec<&str> = clusters.take(MAX_NAMED).collect();
                let act = NewAct {
                    act: "preflight",
                    about: json!({"version": first.version.to_string(), "request": first.id}),
                    before: Value::Null,
                    after: json!({"clusters": clusters, "count": asked.len(), "atOnce": at_once}),
                    by: &first.by,
                    known_by: "",
                    at: first.at,
                    why: "",
                };
                self.write_act(&mut tx, act).await?;
            }
            tx.commit().await
        })
        .await
    }

    /// All preflights, by cluster and version.
    pub async fn preflights(&self) -> Result<Vec<Preflight>> {
        let text = format!("SELECT {COLUMNS} FROM preflights ORDER BY cluster, version");
        let rows = sqlx::query(sqlx::AssertSqlSafe(text));
        let rows = rows.fetch_all(&self.inner.reader).await?;
        rows.iter().map(preflight).collect()
    }

    /// The preflight that the cluster would be told to run now. Nothing changes.
    pub async fn next_preflight(
        &self,
        cluster: &ClusterId,
        now: Timestamp,
    ) -> Result<Option<Preflight>> {
        let since = nanoseconds(now - TOLD_FOR)?;
        let mut tx = self.snapshot().await?;
        Ok(match next(&mut tx, cluster, since).await? {
            Next::Nothing => None,
            Next::Told(preflight) | Next::Turn(preflight) => Some(preflight),
        })
    }

    /// The preflight that the cluster is to run now, if it is its turn. It counts as told from then on.
    pub async fn tell_preflight(
        &self,
        cluster: &ClusterId,
        on: &Version,
        now: Timestamp,
    ) -> Result<Option<Preflight>> {
        // Most clusters have none, and then nobody waits for anybody.
        let open =
            "SELECT COUNT(*) FROM preflights WHERE cluster = $1 AND state IN ('asked', 'running')";
        let open: i64 = sqlx::query(open)
            .bind(cluster.as_str())
            .fetch_one(&self.inner.reader)
            .await?
            .try_get(0)?;
        if open == 0 {
            return Ok(None);
        }
        let (at, since) = (nanoseconds(now)?, nanoseconds(now - TOLD_FOR)?);
        bounded(async {
            let mut tx = self.write().await?;
            lock_starts(&mut tx).await?;
            let asked = match next(&mut tx, cluster, since).await? {
                Next::Nothing => return Ok(None),
                Next::Told(told) => return Ok(Some(told)),
                Next::Turn(asked) => asked,
            };
            let update = "UPDATE preflights SET state = 'running', from_version = $1, at = $2 WHERE cluster = $3 AND version = $4";
            sqlx::query(update)
                .bind(on.to_string())
                .bind(at)
                .bind(cluster.as_str())
                .bind(asked.version.to_string())
                .execute(tx.on())
                .await?;
            tx.commit().await?;
            Ok(Some(Preflight {
                state: PreflightState::Running,
                from: on.clone(),
                at: now,
                ..asked
            }))
        })
        .await
    }
}

/// What there is for a cluster to run.
enum Next {
    /// Nothing, or nothing yet.
    Nothing,
    /// It was told already, and lately.
    Told(Preflight),
    /// It is its turn.
    Turn(Preflight),
}

/// Those of a request that were told since then count as running.
async fn next(tx: &mut Tx, cluster: &ClusterId, since: i64) -> Result<Next> {
    // Who was told long ago has lost his turn: others may run since.
    let told = first(tx, cluster, PreflightState::Running).await?;
    let (asked, at_once) = match told {
        Some((told, _)) if nanoseconds(told.at)? > since => return Ok(Next::Told(told)),
        Some(told) => told,
        None => match first(tx, cluster, PreflightState::Asked).await? {
            Some(asked) => asked,
            None => return Ok(Next::Nothing),
        },
    };
    let running =
        "SELECT COUNT(*) FROM preflights WHERE request = $1 AND state = 'running' AND at > $2";
    let running: i64 = sqlx::query(running)
        .bind(&*asked.id)
        .bind(since)
        .fetch_one(tx.on())
        .await?
        .try_get(0)?;
    Ok(match running < at_once {
        true => Next::Turn(asked),
        false => Next::Nothing,
    })
}

/// The cluster's oldest preflight in a state, and how many of its request may run at once.
async fn first(
    tx: &mut Tx,
    cluster: &ClusterId,
    state: PreflightState,
) -> Result<Option<(Preflight, i64)>> {
    let text = format!(
        "SELECT {COLUMNS}, at_once FROM preflights WHERE cluster = $1 AND state = $2 ORDER BY at, version LIMIT 1"
    );
    let query = sqlx::query(sqlx::AssertSqlSafe(text));
    let query = query.bind(cluster.as_str()).bind(state.code());
    let row = query.fetch_optional(tx.on()).await?;
    row.map(|row| Ok((preflight(&row)?, row.try_get(9)?)))
        .transpose()
}

fn preflight(row: &AnyRow) -> Result<Preflight> {
    let (state, risks) = (rows::text(row, 5)?, rows::text(row, 7)?);
    let risks: Vec<String> =
        serde_json::from_str(&risks).map_err(|error| damaged("the risks of a preflight", error))?;
    Ok(Preflight {
        cluster: rows::id(&rows::text(row, 0)?)?,
        version: rows::version(&rows::text(row, 1)?)?,
        from: rows::version(&rows::text(row, 2)?)?,
        id: rows::text(row, 3)?.into(),
        by: rows::text(row, 4)?.into(),
        state: PreflightState::of_code(&state)
            .ok_or_else(|| damaged("the state of a preflight", &state))?,
        why: rows::text(row, 6)?.into(),
        risks: risks.into_iter().map(Into::into).collect(),
        at: time(row.try_get(8)?),
    })
}

/// Writes what clusters tell of their preflights. Only an open request is answered, and only once.
pub(crate) async fn write_results(
    tx: &mut Tx,
    reports: &[&ClusterReport],
) -> Result<(), WriteFailure> {
    let mut list = Vec::new();
    for report in reports {
        for result in &report.preflights {
            let risks: Vec<&str> = result.risks.iter().map(|name| &**name).collect();
            list.push(json!([
                report.state.id.as_str(),
                result.version.to_string(),
                &*result.id,
                result.state.code(),
                &*result.why,
                json!(risks).to_string(),
                nanoseconds(report.state.last_seen)?,
            ]));
        }
    }
    if list.is_empty() {
        return Ok(());
    }
    let update = "UPDATE preflights SET state = r.state, why = r.why, risks = r.risks, at = r.at \
         FROM (SELECT value->>0 AS cluster, value->>1 AS version, value->>2 AS request, value->>3 AS state, \
         value->>4 AS why, value->>5 AS risks, CAST(value->>6 AS BIGINT) AS at FROM {rows}) AS r \
         WHERE preflights.cluster = r.cluster AND preflights.version = r.version AND preflights.request = r.request \
         AND preflights.state IN ('asked', 'running')";
    tx.execute(update, &json!(list).to_string()).await?;
    Ok(())
}
