//! Claims: upgrade starts, checked again and written in one transaction.
//!
//! The scheduler decides on an earlier snapshot, so a claim checks the same conditions on the current data. Claims lock the
//! lease's row and then the counter of upgrades, so they run one after the other. Pauses, cancellations, withdrawals, active
//! upgrades and locks change only under that counter, so they stay true until the commit. Versions may change at any time; checking them avoids
//! starting an upgrade that has already happened.
//!
//! A call is one transaction for all its claims, in order: each sees the locks of earlier ones. On an error, none is written.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::json;
use sqlx::Row;
use towpath_core::cluster::ClusterId;
use towpath_core::fleet::{
    CancelledUpgrade, Name, Owner, Pause, TakenBack, Upgrade, UpgradeId, UpgradeState,
};
use towpath_core::graph::ChannelName;
use towpath_core::version::Version;

use crate::acts::{standing_cancellations, withdrawn_since};
use crate::people::read_pauses;
use crate::rows::{self, checked, nanoseconds};
use crate::{ActMark, Lease, Result, Store, StoreError, Tx, bounded};

/// The most claims in one call, and the most locks and needs of one claim.
const MAX_CLAIMS: usize = 10_000;
const MAX_LOCKS: usize = 1_000;

/// The upgrade to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    pub cluster: ClusterId,
    pub pool: Option<Name>,
    pub from: Version,
    pub to: Version,
    /// The channel that the cluster is switched to.
    pub channel: Option<ChannelName>,
    pub start_at: Timestamp,
}

/// Where a start would be: what people did there stops it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartPlace {
    pub organisation: Name,
    pub sector: Option<Name>,
    /// The cluster's name, by which it is approved.
    pub name: Name,
    /// What people had done when it was decided. A consent to it that was withdrawn since then stops it.
    pub known: ActMark,
}

/// A start and its conditions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The upgrade to start.
    pub start: Start,
    pub place: StartPlace,
    /// The mutexes that it holds until it ends.
    pub takes: Vec<Lock>,
    /// The limits on other holders.
    pub needs: Vec<Need>,
}

/// A mutex that an upgrade holds.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lock {
    /// Its key: equal keys are one mutex, in all organisations.
    pub mutex: Name,
    /// The sector of the cluster that holds it.
    pub sector: Option<Name>,
}

/// How many others may hold a mutex.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Need {
    pub mutex: Name,
    /// Only holders in this sector are counted; none: all of them.
    pub within_sector: Option<Name>,
    /// The most other clusters that may already hold it.
    pub at_most: u32,
}

/// The outcome of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimOutcome {
    /// The upgrade is planned and holds its locks.
    Started(UpgradeId),
    /// Something has changed since the decision.
    Refused(Refusal),
}

/// Why a claim was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// A person has paused new starts there.
    Paused(Pause),
    /// The cluster has an active upgrade.
    UnderWay(UpgradeId),
    /// Too many others hold a mutex.
    Held {
        mutex: Name,
        /// How many others hold it.
        holders: u32,
        /// One of them: the first by id.
        holder: ClusterId,
    },
    /// The cluster is no longer on the version that the upgrade starts from.
    Moved { version: Version },
    /// The cluster is not known, or was forgotten.
    Unknown,
    /// A person has cancelled this upgrade.
    Cancelled { by: Name },
    /// A person has withdrawn an approval or an acknowledgement since it was decided.
    Withdrawn { by: Name },
}

impl Refusal {
    /// The stable name: for metrics and JSON.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Paused(_) => "paused",
            Self::UnderWay(_) => "under-way",
            Self::Held { .. } => "held",
            Self::Moved { .. } => "moved",
            Self::Unknown => "unknown",
            Self::Cancelled { .. } => "cancelled",
            Self::Withdrawn { .. } => "withdrawn",
        }
    }
}

impl Store {
    /// Claims starts, in order, each if its conditions still hold.
    ///
    /// The version of a node pool is not checked: the store knows only the control plane's version.
    pub async fn claim(
        &self,
        lease: &Lease,
        claims: &[Claim],
        now: Timestamp,
    ) -> Result<Vec<ClaimOutcome>> {
        claims.iter().try_for_each(Claim::check)?;
        if claims.len() > MAX_CLAIMS {
            return Err(StoreError::Bad(format!(
                "{} claims at once; {MAX_CLAIMS} is the limit",
                claims.len()
            )));
        }
        bounded(async {
            let mut tx = self.act(lease).await?;
            let mut number = lock_starts(&mut tx).await?;
            let mut present = CurrentState::read(&mut tx, claims).await?;
            let mut claimed = Vec::with_capacity(claims.len());
            let mut new = Vec::new();
            for claim in claims {
                claimed.push(match present.refusal(claim) {
                    Some(refusal) => ClaimOutcome::Refused(refusal),
                    None => {
                        number += 1;
                        present.add(claim, UpgradeId(number));
                        new.push((claim, claim.planned(UpgradeId(number), now)));
                        ClaimOutcome::Started(UpgradeId(number))
                    }
                });
            }
            if !new.is_empty() {
                let list: Vec<_> = new
                    .iter()
                    .map(|(claim, upgrade)| (&claim.start, upgrade, claim.takes.as_slice()))
                    .collect();
                put(&mut tx, number, &list).await?;
                tx.commit().await?;
            }
            Ok(claimed)
        })
        .await
    }
}

impl Claim {
    fn check(&self) -> Result<()> {
        if self.takes.len() > MAX_LOCKS || self.needs.len() > MAX_LOCKS {
            return Err(StoreError::Bad(format!(
                "a claim has more than {MAX_LOCKS} locks"
            )));
        }
        let names = self
            .takes
            .iter()
            .flat_map(|lock| [Some(&lock.mutex), lock.sector.as_ref()]);
        names
            .chain([self.start.pool.as_ref()])
            .flatten()
            .try_for_each(|name| checked(name).map(drop))
    }

    fn planned(&self, id: UpgradeId, now: Timestamp) -> Upgrade {
        Upgrade {
            id,
            cluster: self.start.cluster.clone(),
            pool: self.start.pool.clone(),
            from: self.start.from.clone(),
            to: self.start.to.clone(),
            channel: self.start.channel.clone(),
            state: UpgradeState::Planned,
            owner: Owner::Towpath,
            start_at: self.start.start_at,
            changed_at: now,
            failures: 0,
            note: None,
        }
    }
}

/// What people did that stops starts.
pub(crate) struct Stops {
    pauses: Vec<Pause>,
    cancelled: Vec<CancelledUpgrade>,
    withdrawn: TakenBack,
}

impl Stops {
    /// The caller has the counter of upgrades, so this stays true until it commits.
    pub(crate) async fn read(tx: &mut Tx, clusters: &[&ClusterId], since: ActMark) -> Result<Self> {
        Ok(Self {
            pauses: read_pauses(tx).await?,
            cancelled: standing_cancellations(tx, clusters).await?,
            withdrawn: withdrawn_since(tx, since).await?,
        })
    }

    pub(crate) fn refusal(
        &self,
        place: &StartPlace,
        (cluster, pool, to): (&ClusterId, Option<&Name>, &Version),
    ) -> Option<Refusal> {
        let covers = |pause: &&Pause| pause.covers(&place.organisation, place.sector.as_deref());
        if let Some(pause) = self.pauses.iter().find(covers) {
            return Some(Refusal::Paused(pause.clone()));
        }
        let mut cancelled = self.cancelled.iter();
        let is_it = |one: &&CancelledUpgrade| {
            one.cluster == *cluster && one.pool.as_ref() == pool && one.version == *to
        };
        if let Some(CancelledUpgrade { by, .. }) = cancelled.find(is_it) {
            return Some(Refusal::Cancelled { by: by.clone() });
        }
        let mut approvals = self.withdrawn.approvals.iter();
        let approval = approvals.find(|one| {
            let of_cluster = one.cluster.as_ref().is_none_or(|name| *name == place.name);
            of_cluster && one.organisation == place.organisation && one.version == *to
        });
        let mut acknowledgements = self.withdrawn.acknowledgements.iter();
        let acknowledgement = acknowledgements.find(|one| one.cluster == *cluster);
        let by = approval.map(|one| &one.by);
        let by = by.or_else(|| acknowledgement.map(|one| &one.by))?;
        Some(Refusal::Withdrawn { by: by.clone() })
    }
}

/// The current data that the claims depend on.
struct CurrentState {
    stops: Stops,
    active: BTreeMap<ClusterId, UpgradeId>,
    versions: BTreeMap<ClusterId, Version>,
    /// Who holds a mutex, and in which sector.
    holders: BTreeMap<Name, BTreeSet<(ClusterId, Option<Name>)>>,
}

impl CurrentState {
    async fn read(tx: &mut Tx, claims: &[Claim]) -> Result<Self> {
        let ids: BTreeSet<[&str; 1]> = claims
            .iter()
            .map(|claim| [claim.start.cluster.as_str()])
            .collect();
        let ids = json!(ids).to_string();
        let mutexes: BTreeSet<[&str; 1]> = claims
            .iter()
            .flat_map(|c| &c.needs)
            .map(|need| [&*need.mutex])
            .collect();
        let clusters: Vec<&ClusterId> = claims.iter().map(|claim| &claim.start.cluster).collect();
        // What one claim does not know of is at worst in the way of another until the next pass.
        let since = claims.iter().map(|claim| claim.place.known).min();
        let mut present = Self {
            stops: Stops::read(tx, &clusters, since.unwrap_or_default()).await?,
            active: [].into(),
            versions: [].into(),
            holders: [].into(),
        };
        let text = "SELECT cluster, id FROM upgrades WHERE state IN ('planned', 'started') \
             AND cluster IN (SELECT value->>0 FROM {rows})";
        for row in tx.fetch(text, &ids).await? {
            present
                .active
                .insert(rows::id(&rows::text(&row, 0)?)?, UpgradeId(row.try_get(1)?));
        }
        let text = "SELECT id, version FROM clusters WHERE gone = 0 AND id IN (SELECT value->>0 FROM {rows})";
        for row in tx.fetch(text, &ids).await? {
            present.versions.insert(
                rows::id(&rows::text(&row, 0)?)?,
                rows::version(&rows::text(&row, 1)?)?,
            );
        }
        let text = "SELECT mutex, cluster, sector FROM locks WHERE mutex IN (SELECT value->>0 FROM {rows})";
        for row in tx.fetch(text, &json!(mutexes).to_string()).await? {
            let holder = (rows::id(&rows::text(&row, 1)?)?, rows::optional(&row, 2)?);
            present
                .holders
                .entry(rows::text(&row, 0)?.into())
                .or_default()
                .insert(holder);
        }
        Ok(present)
    }

    fn refusal(&self, claim: &Claim) -> Option<Refusal> {
        let (cluster, start) = (&claim.start.cluster, &claim.start);
        let stopped = (cluster, start.pool.as_ref(), &start.to);
        if let Some(refusal) = self.stops.refusal(&claim.place, stopped) {
            return Some(refusal);
        }
        if let Some(&id) = self.active.get(cluster) {
            return Some(Refusal::UnderWay(id));
        }
        match self.versions.get(cluster) {
            None => return Some(Refusal::Unknown),
            Some(version) if claim.start.pool.is_none() && *version != claim.start.from => {
                return Some(Refusal::Moved {
                    version: version.clone(),
                });
            }
            Some(_) => {}
        }
        claim.needs.iter().find_map(|need| self.held(need, cluster))
    }

    fn held(&self, need: &Need, cluster: &ClusterId) -> Option<Refusal> {
        let counts =
            |sector: &Option<Name>| need.within_sector.is_none() || *sector == need.within_sector;
        let others: BTreeSet<&ClusterId> = self
            .holders
            .get(&need.mutex)
            .into_iter()
            .flatten()
            .filter(|(holder, sector)| holder != cluster && counts(sector))
            .map(|(holder, _)| holder)
            .collect();
        let holders = u32::try_from(others.len()).unwrap_or(u32::MAX);
        let holder = others.first().filter(|_| holders > need.at_most)?;
        Some(Refusal::Held {
            mutex: need.mutex.clone(),
            holders,
            holder: (*holder).clone(),
        })
    }

    fn add(&mut self, claim: &Claim, id: UpgradeId) {
        let cluster = &claim.start.cluster;
        self.active.insert(cluster.clone(), id);
        for lock in &claim.takes {
            self.holders
                .entry(lock.mutex.clone())
                .or_default()
                .insert((cluster.clone(), lock.sector.clone()));
        }
    }
}

/// Locks the counter of upgrades, so that nobody else starts, ends or pauses upgrades. Returns the last upgrade's number.
pub(crate) async fn lock_starts(tx: &mut Tx) -> Result<i64> {
    let text = tx.sql("SELECT value FROM counters WHERE name = 'upgrades' {lock}");
    Ok(sqlx::query(text).fetch_one(tx.on()).await?.try_get(0)?)
}

/// Writes new upgrades, their locks and the counter. The failure count continues from the newest upgrade of the same
/// cluster, pool and version.
pub(crate) async fn put(tx: &mut Tx, last: i64, new: &[(&Start, &Upgrade, &[Lock])]) -> Result<()> {
    let (mut upgrades, mut locks) = (Vec::with_capacity(new.len()), BTreeMap::new());
    for (start, upgrade, takes) in new {
        upgrades.push(json!([
            upgrade.id.0,
            start.cluster.as_str(),
            start.pool.as_deref(),
            start.from.to_string(),
            start.to.to_string(),
            upgrade.state.code(),
            upgrade.owner.code(),
            nanoseconds(start.start_at)?,
            nanoseconds(upgrade.changed_at)?,
            upgrade.failures,
            upgrade.note.as_deref().map(checked).transpose()?,
            upgrade.channel.as_ref().map(ChannelName::as_str),
        ]));
        for lock in *takes {
            let row = json!([
                upgrade.id.0,
                &*lock.mutex,
                start.cluster.as_str(),
                lock.sector.as_deref()
            ]);
            locks.insert((upgrade.id, lock.mutex.clone()), row);
        }
    }
    let insert = "INSERT INTO upgrades (id, cluster, pool, from_version, to_version, state, owner, start_at, changed_at, failures, \
         note, channel) SELECT CAST(value->>0 AS BIGINT), value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, \
         CAST(value->>7 AS BIGINT), CAST(value->>8 AS BIGINT), CAST(value->>9 AS BIGINT) + COALESCE((SELECT u.failures \
         FROM upgrades u WHERE u.cluster = j.value->>1 AND COALESCE(u.pool, '') = COALESCE(j.value->>2, '') \
         AND u.to_version = j.value->>4 ORDER BY u.id DESC LIMIT 1), 0), value->>10, value->>11 FROM {rows}";
    tx.execute(insert, &json!(upgrades).to_string()).await?;
    if !locks.is_empty() {
        let insert = "INSERT INTO locks (upgrade, mutex, cluster, sector) \
             SELECT CAST(value->>0 AS BIGINT), value->>1, value->>2, value->>3 FROM {rows}";
        let list = json!(locks.into_values().collect::<Vec<_>>()).to_string();
        tx.execute(insert, &list).await?;
    }
    sqlx::query("UPDATE counters SET value = $1 WHERE name = 'upgrades'")
        .bind(last)
        .execute(tx.on())
        .await?;
    Ok(())
}
