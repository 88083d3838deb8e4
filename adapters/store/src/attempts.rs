//! Attempts: what is known of each cluster's update to each release, from reports, lists and measurements.
//!
//! What follows from a report is written in the report's own transaction, while its cluster's row is locked. The core decides
//! what follows ([`follow`]); a report without news writes nothing here.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::TryStreamExt;
use jiff::SignedDuration;
use serde_json::{Value, json};
use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row};
use towpath_core::cluster::{ClusterId, Fact, Platform};
use towpath_core::feedback::{
    Followed, MAX_OF_CLUSTER, Testimony, UpdateEvidence, UpdateStart, follow,
};
use towpath_core::fleet::Name;
use towpath_core::version::{Arch, Version};

use crate::changes::{ChangeMark, next_mark};
use crate::reports::{WriteFailure, number_change};
use crate::rows::{self, Interner, damaged, nanoseconds, storable, time};
use crate::{Lease, Result, Store, StoreError, Tx, bounded};

/// The most testimonies that one call takes.
pub const MAX_TESTIMONIES: usize = 10_000;

/// The columns that [`followed`] reads, in its order.
pub(crate) const ATTEMPT: &str = "cluster, to_version, organisation, platform, arch, from_version, started_at, failed_at, \
     completed_at, degraded_at, limit_seconds";

#[derive(Debug, Clone, PartialEq)]
pub struct AttemptChanges {
    /// What is known of updates that are new, or better known than before.
    pub attempts: Vec<Followed>,
    pub mark: ChangeMark,
}

impl Store {
    /// All that is known of updates, by cluster and release.
    pub async fn attempts(&self) -> Result<Vec<Followed>> {
        let all = self.attempts_changed_since(ChangeMark::default()).await?;
        Ok(all.attempts)
    }

    /// What has changed since the mark. It may repeat changes, but never misses any. It does not tell what was pruned: a copy
    /// leaves out what is older than [`KEPT_FOR`](towpath_core::feedback::KEPT_FOR) by itself.
    pub async fn attempts_changed_since(&self, mark: ChangeMark) -> Result<AttemptChanges> {
        let mut tx = self.snapshot().await?;
        let next = next_mark(&mut tx).await?;
        let text = format!(
            "SELECT {ATTEMPT} FROM attempts WHERE changed >= $1 ORDER BY cluster, to_version"
        );
        let mut names = Interner::default();
        let mut rows = sqlx::query(AssertSqlSafe(text))
            .bind(mark.within(next))
            .fetch(tx.on());
        let mut attempts = Vec::new();
        while let Some(row) = rows.try_next().await? {
            attempts.push(followed(&row, &mut names)?);
        }
        Ok(AttemptChanges {
            attempts,
            mark: next,
        })
    }

    /// Writes what a measurement tells of clusters' updates, all or none. Returns how many attempts it changed. Needs the lease,
    /// so that one replica at a time does it.
    pub async fn record_testimonies(&self, lease: &Lease, told: &[Testimony]) -> Result<u64> {
        if told.len() > MAX_TESTIMONIES {
            return Err(StoreError::Bad(format!(
                "{} testimonies at once; {MAX_TESTIMONIES} is the limit",
                told.len()
            )));
        }
        let told: Vec<Testimony> = told.iter().filter(|one| is_fit(one)).cloned().collect();
        bounded(async {
            let mut tx = self.act(lease).await?;
            let ids: BTreeSet<[&str; 1]> = told.iter().map(|one| [one.cluster.as_str()]).collect();
            // Reports lock their clusters in this order, too.
            let lock =
                "SELECT id FROM clusters WHERE id IN (SELECT value->>0 FROM {rows}) ORDER BY id {lock}";
            tx.fetch(lock, &json!(ids).to_string()).await?;
            let changed = write(&mut tx, &told).await.map_err(|failure| match failure {
                WriteFailure::Race(error) => error.into(),
                WriteFailure::Other(error) => error,
                WriteFailure::NewClusters => damaged("a locked cluster", "it is gone"),
            })?;
            tx.commit().await?;
            Ok(changed)
        })
        .await
    }
}

/// Whether it can be stored.
fn is_fit(told: &Testimony) -> bool {
    let texts = [
        told.cluster.as_str(),
        &told.organisation,
        told.arch.as_str(),
    ];
    let is_in_range = |one: &UpdateEvidence| {
        let start = one.start.as_ref().map(|start| start.at);
        [start, one.failed_at, one.completed_at, one.degraded_at]
            .into_iter()
            .flatten()
            .all(|at| nanoseconds(at).is_ok())
    };
    texts.into_iter().all(storable) && told.evidence.iter().all(is_in_range)
}

/// Writes what follows from these testimonies, in order, and returns how many attempts it changed. The rows of their clusters are
/// locked.
pub(crate) async fn write(tx: &mut Tx, told: &[Testimony]) -> Result<u64, WriteFailure> {
    let mut known = read(tx, told).await?;
    let mut changed: BTreeSet<(ClusterId, Version)> = BTreeSet::new();
    for one in told {
        let of_cluster = known.entry(one.cluster.clone()).or_default();
        for followed in follow(of_cluster, one) {
            let to = followed.evidence.to.clone();
            changed.insert((one.cluster.clone(), to.clone()));
            of_cluster.insert(to, followed);
        }
    }
    if changed.is_empty() {
        return Ok(0);
    }
    let dropped: Vec<(ClusterId, Version)> = known.values_mut().flat_map(limit).collect();
    let mut list: Vec<Value> = Vec::with_capacity(changed.len());
    for (cluster, to) in &changed {
        let followed = known.get(cluster).and_then(|attempts| attempts.get(to));
        list.extend(followed.map(row).transpose()?);
    }
    number_change(tx).await?;
    let upsert = format!(
        "INSERT INTO attempts ({ATTEMPT}, first_at, changed) SELECT value->>0, value->>1, value->>2, value->>3, value->>4, \
         value->>5, CAST(value->>6 AS BIGINT), CAST(value->>7 AS BIGINT), CAST(value->>8 AS BIGINT), \
         CAST(value->>9 AS BIGINT), CAST(value->>10 AS BIGINT), CAST(value->>11 AS BIGINT), {{change}} FROM {{rows}} \
         WHERE true ON CONFLICT (cluster, to_version) DO UPDATE SET organisation = excluded.organisation, \
         platform = excluded.platform, arch = excluded.arch, from_version = excluded.from_version, \
         started_at = excluded.started_at, failed_at = excluded.failed_at, completed_at = excluded.completed_at, \
         degraded_at = excluded.degraded_at, limit_seconds = excluded.limit_seconds, first_at = excluded.first_at, \
         changed = excluded.changed"
    );
    tx.execute(&upsert, &json!(list).to_string()).await?;
    if !dropped.is_empty() {
        let list: Vec<_> = dropped
            .iter()
            .map(|(cluster, to)| (cluster.as_str(), to.to_string()))
            .collect();
        let delete = "DELETE FROM attempts WHERE (cluster, to_version) IN (SELECT value->>0, value->>1 FROM {rows})";
        tx.execute(delete, &json!(list).to_string()).await?;
    }
    Ok(changed.len() as u64)
}

async fn read(
    tx: &mut Tx,
    told: &[Testimony],
) -> Result<BTreeMap<ClusterId, BTreeMap<Version, Followed>>, WriteFailure> {
    let ids: BTreeSet<[&str; 1]> = told.iter().map(|one| [one.cluster.as_str()]).collect();
    let mut known: BTreeMap<ClusterId, BTreeMap<Version, Followed>> = BTreeMap::new();
    if ids.is_empty() {
        return Ok(known);
    }
    let select = format!(
        "SELECT {ATTEMPT} FROM attempts WHERE cluster IN (SELECT value->>0 FROM {{rows}}) ORDER BY cluster, to_version"
    );
    let mut names = Interner::default();
    for row in tx.fetch(&select, &json!(ids).to_string()).await? {
        let followed = followed(&row, &mut names)?;
        let of_cluster = known.entry(followed.cluster.clone()).or_default();
        of_cluster.insert(followed.evidence.to.clone(), followed);
    }
    Ok(known)
}

/// Takes away the oldest of a cluster that has too many.
fn limit(of_cluster: &mut BTreeMap<Version, Followed>) -> Vec<(ClusterId, Version)> {
    let excess = of_cluster.len().saturating_sub(MAX_OF_CLUSTER);
    if excess == 0 {
        return Vec::new();
    }
    let mut by_age: Vec<_> = of_cluster.values().collect();
    by_age.sort_by_key(|followed| (followed.evidence.first_at(), &followed.evidence.to));
    let oldest = by_age.into_iter().take(excess);
    let oldest: Vec<_> = oldest
        .map(|followed| (followed.cluster.clone(), followed.evidence.to.clone()))
        .collect();
    for (_, to) in &oldest {
        of_cluster.remove(to);
    }
    oldest
}

fn row(followed: &Followed) -> Result<Value> {
    let evidence = &followed.evidence;
    let at = |time: Option<jiff::Timestamp>| time.map(nanoseconds).transpose();
    Ok(json!([
        followed.cluster.as_str(),
        evidence.to.to_string(),
        &*followed.organisation,
        followed.platform.known().map(Platform::as_str),
        followed.arch.as_str(),
        evidence.start.as_ref().map(|start| start.from.to_string()),
        at(evidence.start.as_ref().map(|start| start.at))?,
        at(evidence.failed_at)?,
        at(evidence.completed_at)?,
        at(evidence.degraded_at)?,
        followed.limit.map(|limit| limit.as_secs()),
        at(evidence.first_at())?.unwrap_or_default(),
    ]))
}

pub(crate) fn followed(row: &AnyRow, names: &mut Interner) -> Result<Followed> {
    let version = |text: Option<Name>| text.map(|text| rows::version(&text)).transpose();
    let at = |column: usize| -> Result<Option<jiff::Timestamp>> {
        Ok(row.try_get::<Option<i64>, _>(column)?.map(time))
    };
    let (from, started_at) = (version(rows::optional(row, 5)?)?, at(6)?);
    let platform = rows::optional(row, 3)?;
    let platform = platform
        .map(|name| Platform::new(&name).ok_or_else(|| damaged("a platform", &name)))
        .transpose()?;
    let limit: Option<i64> = row.try_get(10)?;
    Ok(Followed {
        cluster: rows::id(&rows::text(row, 0)?)?,
        organisation: names.name(&rows::text(row, 2)?),
        platform: Fact::from(platform),
        arch: Arch::new(names.name(&rows::text(row, 4)?)),
        evidence: UpdateEvidence {
            to: rows::version(&rows::text(row, 1)?)?,
            start: match (started_at, from) {
                (Some(at), Some(from)) => Some(UpdateStart { at, from }),
                (None, None) => None,
                _ => return Err(damaged("an attempt", "it has half a start")),
            },
            failed_at: at(7)?,
            completed_at: at(8)?,
            degraded_at: at(9)?,
        },
        limit: limit.map(SignedDuration::from_secs),
    })
}
