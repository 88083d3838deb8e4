//! Clusters as last reported, and their time on versions.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::TryStreamExt;
use jiff::Timestamp;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Row};
use towpath_core::cluster::ClusterId;
use towpath_core::fleet::{ClusterState, Name, Span};
use towpath_core::version::Version;

use crate::reports::number_change;
use crate::rows::{self, CLUSTER, Interner, SPAN, checked};
use crate::{NewAct, Result, Store, Tx, bounded, revocations};

/// A cluster as last reported, with its last known workloads.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredCluster {
    /// Its last state, with the offers of the list that it was last seen in, and with all acknowledged gates.
    pub state: ClusterState,
    /// Its last known workloads.
    pub workloads: BTreeSet<Name>,
}

/// A cluster that was forgotten. Its time on versions still counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DepartedCluster {
    pub id: ClusterId,
    /// The organisation it belonged to.
    pub organisation: Name,
    /// What was last known to run on it.
    pub workloads: BTreeSet<Name>,
}

impl Store {
    /// All clusters that were not forgotten, by id.
    pub async fn clusters(&self) -> Result<Vec<StoredCluster>> {
        let mut tx = self.snapshot().await?;
        Ok(changed_since(&mut tx, None).await?.0)
    }

    /// The cluster, unless it is unknown or was forgotten.
    pub async fn cluster(&self, id: &ClusterId) -> Result<Option<StoredCluster>> {
        let mut names = Interner::default();
        let text = format!("SELECT {CLUSTER}, workloads FROM clusters WHERE id = $1 AND gone = 0");
        let row = sqlx::query(AssertSqlSafe(text))
            .bind(id.as_str())
            .fetch_optional(&self.inner.reader)
            .await?;
        let Some(row) = row else { return Ok(None) };
        let mut state = rows::cluster(&row, &mut names)?;
        let gates = "SELECT gate FROM acknowledgements WHERE cluster = $1";
        for gate in sqlx::query(gates)
            .bind(id.as_str())
            .fetch_all(&self.inner.reader)
            .await?
        {
            state
                .acknowledged_gates
                .insert(rows::text(&gate, 0)?.into());
        }
        Ok(Some(StoredCluster {
            state,
            workloads: rows::names(&rows::text(&row, 9)?, &mut names)?,
        }))
    }

    /// The cluster's last report, unchanged.
    pub async fn last_report(&self, id: &ClusterId) -> Result<Option<String>> {
        let text = "SELECT body FROM clusters WHERE id = $1 AND gone = 0";
        let row = sqlx::query(text)
            .bind(id.as_str())
            .fetch_optional(&self.inner.reader)
            .await?;
        row.map(|row| rows::text(&row, 0)).transpose()
    }

    /// The clusters that were forgotten, by id.
    pub async fn departed(&self) -> Result<Vec<DepartedCluster>> {
        let mut tx = self.snapshot().await?;
        let mut names = Interner::default();
        let text = "SELECT id, organisation, workloads FROM clusters WHERE gone <> 0 ORDER BY id";
        sqlx::query(text)
            .fetch_all(tx.on())
            .await?
            .iter()
            .map(|row| departed(row, &mut names))
            .collect()
    }

    /// Stores the workloads of clusters, for when no policy names them any more. Unknown clusters are skipped.
    pub async fn remember_workloads(
        &self,
        workloads: &[(ClusterId, BTreeSet<Name>)],
    ) -> Result<()> {
        let mut list = BTreeMap::new();
        for (id, workloads) in workloads {
            checked(id.as_str())?;
            list.insert(id.as_str(), rows::json_of_names(workloads).to_string());
        }
        let list = json!(list.into_iter().collect::<Vec<_>>()).to_string();
        bounded(async {
            let mut tx = self.write().await?;
            // Others lock clusters in this order, too.
            let lock = tx.sql(
                "SELECT clusters.id FROM clusters JOIN (SELECT value->>0 AS id, value->>1 AS workloads FROM {rows}) AS r \
                 ON clusters.id = r.id WHERE clusters.workloads <> r.workloads ORDER BY clusters.id {lock}",
            );
            let lock = sqlx::AssertSqlSafe(lock.0.replace("FOR UPDATE", "FOR UPDATE OF clusters"));
            if sqlx::query(lock).bind(list.as_str()).fetch_all(tx.on()).await?.is_empty() {
                return Ok(());
            }
            number_change(&mut tx).await?;
            let update = "UPDATE clusters SET workloads = r.workloads, changed = {change} \
                 FROM (SELECT value->>0 AS id, value->>1 AS workloads FROM {rows}) AS r \
                 WHERE clusters.id = r.id AND clusters.workloads <> r.workloads";
            tx.execute(update, &list).await?;
            tx.commit().await
        })
        .await
    }

    /// The cluster's detailed spans, oldest first, even if it was forgotten. Older spans exist only as sums.
    pub async fn spans(&self, cluster: &ClusterId) -> Result<Vec<Span>> {
        let text = format!("SELECT {SPAN} FROM all_spans WHERE cluster = $1 ORDER BY from_at");
        let rows = sqlx::query(AssertSqlSafe(text))
            .bind(cluster.as_str())
            .fetch_all(&self.inner.reader)
            .await?;
        rows.iter().map(rows::span).collect()
    }

    /// The seconds that each cluster ran each version while healthy and bound, forgotten clusters included.
    pub async fn soak_totals(&self) -> Result<Vec<(ClusterId, Version, i64)>> {
        let mut tx = self.snapshot().await?;
        let text = totals("");
        let mut rows = sqlx::query(AssertSqlSafe(text)).fetch(tx.on());
        let mut totals = Vec::new();
        while let Some(row) = rows.try_next().await? {
            totals.push(total(&row)?);
        }
        Ok(totals)
    }

    /// The same, for these clusters only.
    pub async fn soak_totals_of(
        &self,
        clusters: &[ClusterId],
    ) -> Result<Vec<(ClusterId, Version, i64)>> {
        let ids: BTreeSet<[&str; 1]> = clusters.iter().map(|id| [id.as_str()]).collect();
        let text = totals("WHERE cluster IN (SELECT value->>0 FROM {rows})");
        let text = self.backend().sql(&text);
        let rows = sqlx::query(text)
            .bind(json!(ids).to_string())
            .fetch_all(&self.inner.reader)
            .await?;
        rows.iter().map(total).collect()
    }

    /// Forgets a cluster but keeps its time on versions, and ends its tokens. Returns whether the cluster was known.
    pub async fn forget(&self, cluster: &ClusterId, by: &str, at: Timestamp) -> Result<bool> {
        bounded(async {
            let mut tx = self.write().await?;
            number_change(&mut tx).await?;
            let update = tx.sql(
                "UPDATE clusters SET gone = 1, facts = '{}', body = '', changed = {change} \
                 WHERE id IN ($1, $2) AND gone = 0",
            );
            let older = cluster.in_upper_case();
            let there = "SELECT organisation, name, version FROM clusters WHERE id IN ($1, $2) AND gone = 0 ORDER BY id";
            let there = sqlx::query(there).bind(cluster.as_str()).bind(&*older);
            let before = match there.fetch_optional(tx.on()).await? {
                Some(row) => json!({
                    "organisation": rows::text(&row, 0)?,
                    "name": rows::text(&row, 1)?,
                    "version": rows::text(&row, 2)?,
                }),
                None => Value::Null,
            };
            let forgotten = sqlx::query(update).bind(cluster.as_str()).bind(&*older).execute(tx.on()).await?.rows_affected();
            // What it has soaked while it was bound stays; if it comes back, it has to be bound again.
            let unbind = "UPDATE bindings SET until_at = (SELECT last_seen FROM clusters WHERE id = bindings.cluster) \
                          WHERE cluster IN ($1, $2) AND until_at IS NULL";
            sqlx::query(unbind).bind(cluster.as_str()).bind(&*older).execute(tx.on()).await?;
            // Also if it was forgotten before: a token may have been made since.
            revocations::end_tokens(&mut tx, cluster, by, at).await?;
            let act = NewAct {
                act: "forget",
                about: json!({"cluster": cluster.as_str()}),
                before,
                after: json!({"tokensMadeBefore": at.to_string()}),
                by,
                known_by: "",
                at,
                why: "",
            };
            self.write_act(&mut tx, act).await?;
            tx.commit().await?;
            Ok(forgotten > 0)
        })
        .await
    }
}

/// The clusters changed and forgotten since the mark. Without a mark: all clusters, and none forgotten.
pub(crate) async fn changed_since(
    tx: &mut Tx,
    since: Option<i64>,
) -> Result<(Vec<StoredCluster>, Vec<DepartedCluster>)> {
    let mut names = Interner::default();
    let mut gates: BTreeMap<ClusterId, Vec<Name>> = BTreeMap::new();
    let acknowledged = "SELECT cluster, gate FROM acknowledgements";
    for row in sqlx::query(acknowledged).fetch_all(tx.on()).await? {
        gates
            .entry(rows::id(&rows::text(&row, 0)?)?)
            .or_default()
            .push(names.name(&rows::text(&row, 1)?));
    }
    let filter = if since.is_some() {
        "changed >= $1"
    } else {
        "gone = 0 AND changed > $1"
    };
    let text =
        format!("SELECT {CLUSTER}, workloads, gone FROM clusters WHERE {filter} ORDER BY id");
    let mut rows = sqlx::query(AssertSqlSafe(text))
        .bind(since.unwrap_or(-1))
        .fetch(tx.on());
    let (mut clusters, mut gone) = (Vec::new(), Vec::new());
    while let Some(row) = rows.try_next().await? {
        let is_gone: i64 = row.try_get(10)?;
        let workloads = rows::names(&rows::text(&row, 9)?, &mut names)?;
        if is_gone != 0 {
            let (id, organisation) = (
                rows::id(&rows::text(&row, 0)?)?,
                names.name(&rows::text(&row, 1)?),
            );
            gone.push(DepartedCluster {
                id,
                organisation,
                workloads,
            });
            continue;
        }
        let mut state = rows::cluster(&row, &mut names)?;
        if let Some(more) = gates.get(&state.id) {
            state.acknowledged_gates.extend(more.iter().cloned());
        }
        clusters.push(StoredCluster { state, workloads });
    }
    one_of_each(&mut clusters);
    Ok((clusters, gone))
}

/// Older versions stored a UUID in upper and lower case as two clusters. The one reported last wins.
fn one_of_each(clusters: &mut Vec<StoredCluster>) {
    let last_seen = |stored: &StoredCluster| stored.state.last_seen;
    clusters.sort_by(|a, b| {
        let by_time = || last_seen(b).cmp(&last_seen(a));
        a.state.id.cmp(&b.state.id).then_with(by_time)
    });
    clusters.dedup_by(|later, first| later.state.id == first.state.id);
}

fn departed(row: &sqlx::any::AnyRow, names: &mut Interner) -> Result<DepartedCluster> {
    Ok(DepartedCluster {
        id: rows::id(&rows::text(row, 0)?)?,
        organisation: names.name(&rows::text(row, 1)?),
        workloads: rows::names(&rows::text(row, 2)?, names)?,
    })
}

/// The database computes the sums. A span counts from the time when its cluster was bound.
fn totals(filter: &str) -> String {
    format!(
        "SELECT cluster, version, CAST(SUM(nanoseconds) AS BIGINT) / 1000000000 FROM soak_times {filter} \
         GROUP BY cluster, version ORDER BY cluster, version"
    )
}

fn total(row: &sqlx::any::AnyRow) -> Result<(ClusterId, Version, i64)> {
    Ok((
        rows::id(&rows::text(row, 0)?)?,
        rows::version(&rows::text(row, 1)?)?,
        row.try_get(2)?,
    ))
}
