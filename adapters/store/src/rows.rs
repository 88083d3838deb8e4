//! Converts rows into domain values and back. A value that cannot be read is reported as damage.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sqlx::Row;
use sqlx::any::AnyRow;
use towpath_core::cluster::{ClusterId, Fact, Platform};
use towpath_core::fleet::{
    Binding, ClusterState, Health, Labels, Name, NodePool, Offer, Owner, Product, Span, Upgrade,
    UpgradeId, UpgradeState,
};
use towpath_core::graph::ChannelName;
use towpath_core::version::{Arch, Version};

use crate::{Result, StoreError};

/// The facts of a cluster that need no column of their own.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Facts {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    going_to: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unhealthy: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    channel: Option<String>,
    #[serde(default)]
    arch: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    platform: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    labels: Labels,
    /// The node pools of a hosted control plane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pools: Option<Vec<(String, String)>>,
    /// From older versions, which did not distinguish "no" from "unknown": only `true` is meaningful.
    #[serde(default, skip_serializing)]
    sts: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    uses_sts: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    uses_wif: Option<bool>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    gates: Vec<String>,
    /// The versions that a list offered it. A report has none: then the graph says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    offers: Vec<String>,
}

impl Facts {
    pub(crate) fn of(state: &ClusterState) -> Self {
        Self {
            going_to: state.going_to.as_ref().map(Version::to_string),
            unhealthy: match &state.health {
                Health::Healthy => None,
                Health::Unhealthy { why } => Some(why.to_string()),
            },
            channel: state
                .channel
                .as_ref()
                .map(|channel| channel.as_str().to_owned()),
            arch: state.arch.as_str().to_owned(),
            platform: match &state.platform {
                Fact::Known(platform) => Some(platform.as_str().to_owned()),
                Fact::Unknown => None,
            },
            labels: state.labels.clone(),
            pools: match &state.product {
                Product::Standalone => None,
                Product::HostedControlPlane { pools } => Some(
                    pools
                        .iter()
                        .map(|pool| (pool.id.to_string(), pool.version.to_string()))
                        .collect(),
                ),
            },
            sts: false,
            uses_sts: known(&state.sts),
            uses_wif: known(&state.wif),
            gates: state
                .acknowledged_gates
                .iter()
                .map(|gate| gate.to_string())
                .collect(),
            offers: state
                .offers
                .iter()
                .filter(|offer| offer.objection.is_none())
                .map(|offer| offer.version.to_string())
                .collect(),
        }
    }
}

fn known(fact: &Fact<bool>) -> Option<bool> {
    match fact {
        Fact::Known(value) => Some(*value),
        Fact::Unknown => None,
    }
}

/// The columns that [`cluster`] reads, in its order.
pub(crate) const CLUSTER: &str = "id, organisation, name, version, version_since, last_seen, healthy, facts, \
     (SELECT COUNT(*) FROM bindings WHERE bindings.cluster = clusters.id AND bindings.until_at IS NULL)";

/// The same, for a store without bindings.
pub(crate) const CLUSTER_BEFORE_BINDINGS: &str =
    "id, organisation, name, version, version_since, last_seen, healthy, facts, CAST(0 AS BIGINT)";

/// A cluster's state. Names that many share are taken from the interner.
pub(crate) fn cluster(row: &AnyRow, names: &mut Interner) -> Result<ClusterState> {
    let facts: String = row.try_get(7)?;
    let facts: Facts =
        serde_json::from_str(&facts).map_err(|error| damaged("the facts of a cluster", error))?;
    let (healthy, bindings): (i64, i64) = (row.try_get(6)?, row.try_get(8)?);
    Ok(ClusterState {
        id: id(&text(row, 0)?)?,
        organisation: names.name(&text(row, 1)?),
        name: text(row, 2)?.into(),
        binding: if bindings > 0 {
            Binding::Bound
        } else {
            Binding::Unbound
        },
        version: version(&text(row, 3)?)?,
        going_to: facts.going_to.as_deref().map(version).transpose()?,
        version_since: time(row.try_get(4)?),
        last_seen: time(row.try_get(5)?),
        health: match healthy {
            0 => Health::Unhealthy {
                why: names.name(facts.unhealthy.as_deref().unwrap_or_default()),
            },
            _ => Health::Healthy,
        },
        channel: facts.channel.map(|name| channel(&name)).transpose()?,
        arch: Arch::new(names.name(&facts.arch)),
        platform: match facts.platform {
            None => Fact::Unknown,
            Some(name) => {
                Fact::Known(Platform::new(&name).ok_or_else(|| damaged("a platform", &name))?)
            }
        },
        labels: facts.labels,
        product: match facts.pools {
            None => Product::Standalone,
            Some(pools) => Product::HostedControlPlane {
                pools: pools
                    .into_iter()
                    .map(|(id, on)| {
                        Ok(NodePool {
                            id: id.into(),
                            version: version(&on)?,
                        })
                    })
                    .collect::<Result<_>>()?,
            },
        },
        sts: facts.uses_sts.or(facts.sts.then_some(true)).into(),
        wif: facts.uses_wif.into(),
        offers: names.offers(&facts.offers)?,
        acknowledged_gates: facts.gates.iter().map(|gate| names.name(gate)).collect(),
        // Who manages it tells that in every list.
        available_channels: Fact::Unknown,
    })
}

/// The columns that [`upgrade`] reads, in its order.
pub(crate) const UPGRADE: &str = "id, cluster, pool, from_version, to_version, state, owner, start_at, changed_at, failures, note, channel";

/// The same of a schema that has no channels.
pub(crate) const UPGRADE_BEFORE_CHANNELS: &str = "id, cluster, pool, from_version, to_version, state, owner, start_at, changed_at, failures, note, \
     CAST(NULL AS TEXT)";

pub(crate) fn upgrade(row: &AnyRow) -> Result<Upgrade> {
    let (state, owner) = (text(row, 5)?, text(row, 6)?);
    let failures: i64 = row.try_get(9)?;
    Ok(Upgrade {
        id: UpgradeId(row.try_get(0)?),
        cluster: id(&text(row, 1)?)?,
        pool: optional(row, 2)?,
        from: version(&text(row, 3)?)?,
        to: version(&text(row, 4)?)?,
        state: UpgradeState::of_code(&state)
            .ok_or_else(|| damaged("the state of an upgrade", &state))?,
        owner: Owner::of_code(&owner).ok_or_else(|| damaged("the owner of an upgrade", &owner))?,
        start_at: time(row.try_get(7)?),
        changed_at: time(row.try_get(8)?),
        failures: u32::try_from(failures)
            .map_err(|_| damaged("the failures of an upgrade", failures))?,
        note: optional(row, 10)?,
        channel: optional(row, 11)?.map(|text| channel(&text)).transpose()?,
    })
}

/// The columns that [`span`] reads, in its order.
pub(crate) const SPAN: &str = "cluster, from_at, until_at, version, healthy";

pub(crate) fn span(row: &AnyRow) -> Result<Span> {
    let healthy: i64 = row.try_get(4)?;
    Ok(Span {
        cluster: id(&text(row, 0)?)?,
        from: time(row.try_get(1)?),
        until: time(row.try_get(2)?),
        version: version(&text(row, 3)?)?,
        healthy: healthy != 0,
    })
}

/// A set of names, as JSON.
pub(crate) fn names(text: &str, names: &mut Interner) -> Result<BTreeSet<Name>> {
    let list: Vec<String> =
        serde_json::from_str(text).map_err(|error| damaged("a list of names", error))?;
    Ok(list.iter().map(|name| names.name(name)).collect())
}

pub(crate) fn json_of_names(names: &BTreeSet<Name>) -> serde_json::Value {
    names.iter().map(|name| &**name).collect::<Vec<_>>().into()
}

pub(crate) fn text(row: &AnyRow, column: usize) -> Result<String> {
    Ok(row.try_get(column)?)
}

fn channel(text: &str) -> Result<ChannelName> {
    ChannelName::new(text).ok_or_else(|| damaged("a channel", text))
}

pub(crate) fn optional(row: &AnyRow, column: usize) -> Result<Option<Name>> {
    let text: Option<String> = row.try_get(column)?;
    Ok(text.map(Name::from))
}

pub(crate) fn id(text: &str) -> Result<ClusterId> {
    ClusterId::new(text).ok_or_else(|| damaged("the id of a cluster", text))
}

pub(crate) fn version(text: &str) -> Result<Version> {
    text.parse().map_err(|error| damaged("a version", error))
}

/// Every `i64` of nanoseconds is a valid time.
pub(crate) fn time(nanoseconds: i64) -> Timestamp {
    Timestamp::from_nanosecond(i128::from(nanoseconds)).unwrap_or(Timestamp::MIN)
}

/// Nanoseconds of a time, for the years 1678 to 2262.
pub(crate) fn nanoseconds(time: Timestamp) -> Result<i64> {
    i64::try_from(time.as_nanosecond()).map_err(|_| {
        StoreError::Bad(format!(
            "{time} cannot be stored; times must lie between 1678 and 2262"
        ))
    })
}

/// PostgreSQL cannot store NUL. SQLite refuses it as well, so that its data can be moved there.
pub(crate) fn storable(text: &str) -> bool {
    !text.contains('\0')
}

/// The text, if it can be stored.
pub(crate) fn checked(text: &str) -> Result<&str> {
    match storable(text) {
        true => Ok(text),
        false => Err(StoreError::Bad(format!(
            "{text:?} has a NUL in it and cannot be stored"
        ))),
    }
}

pub(crate) fn damaged(what: &str, found: impl Display) -> StoreError {
    StoreError::Corrupt(format!("{what} cannot be read: {found}"))
}

/// Shares what is equal: names, and lists of offers.
#[derive(Debug, Default)]
pub(crate) struct Interner {
    names: BTreeSet<Name>,
    offers: BTreeMap<Vec<String>, Arc<[Offer]>>,
}

impl Interner {
    pub(crate) fn name(&mut self, text: &str) -> Name {
        if let Some(known) = self.names.get(text) {
            return known.clone();
        }
        let name = Name::from(text);
        self.names.insert(name.clone());
        name
    }

    fn offers(&mut self, versions: &[String]) -> Result<Arc<[Offer]>> {
        if let Some(known) = self.offers.get(versions) {
            return Ok(known.clone());
        }
        let offer = |text: &String| Ok(Offer::free(version(text)?));
        let offers: Arc<[Offer]> = versions.iter().map(offer).collect::<Result<_>>()?;
        self.offers.insert(versions.to_vec(), offers.clone());
        Ok(offers)
    }
}
