//! Schedules upgrades in an OCM-style API, and reads clusters from there.
//!
//! A start is claimed in the store first and scheduled in the API afterwards. If Towpath dies in between, the next pass finds a plan that the API
//! does not have, and schedules it again. That is idempotent.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;
use jiff::Timestamp;
use towpath_core::cluster::ClusterId;
use towpath_core::finding::{Finding, Place};
use towpath_core::fleet::{Name, Owner, Upgrade, UpgradeId, UpgradeState};
use towpath_core::version::Version;
use towpath_formats::fleet::cluster_list::{ClusterList, ListedOrganisation};
use towpath_ocm::{ClusterRef, Ocm, OcmConfig, OcmError, PolicyRef};
use towpath_store::{Lease, Store};

use crate::config::{FleetSettings, OcmSettings};

pub(crate) struct OcmScheduler {
    ocm: Ocm,
    handles: BTreeMap<ClusterId, ClusterRef>,
    /// What the API has planned or runs, whoever made it.
    policies: BTreeMap<(ClusterId, Option<Name>), (Version, PolicyRef)>,
}

impl OcmScheduler {
    /// The API that the settings name, if they do.
    pub(crate) fn of(settings: &FleetSettings) -> anyhow::Result<Option<Self>> {
        settings.ocm.as_ref().map(Self::new).transpose()
    }

    pub(crate) fn new(settings: &OcmSettings) -> anyhow::Result<Self> {
        let ocm = Ocm::new(OcmConfig::new(&*settings.url, settings.login.clone()));
        let ocm = ocm.context("the OCM-style API cannot be used")?;
        Ok(Self {
            ocm,
            handles: BTreeMap::new(),
            policies: BTreeMap::new(),
        })
    }

    /// Reads the fleet from the API into a list, and says what is wrong with it. The clusters of the list itself give way.
    pub(crate) async fn read(
        &mut self,
        now: Timestamp,
        list: &mut ClusterList,
    ) -> anyhow::Result<Vec<Finding>> {
        let given_way = given_way(list);
        let fleet = self
            .ocm
            .fleet(now, &BTreeSet::new())
            .await
            .context("the fleet cannot be read from the OCM-style API")?;
        let active = |upgrade: &Upgrade| upgrade.state.is_active();
        let mut policies = BTreeMap::new();
        for upgrade in fleet.upgrades.iter().filter(|upgrade| active(upgrade)) {
            if let Some(policy) = fleet.policies.get(&upgrade.id) {
                let place = (upgrade.cluster.clone(), upgrade.pool.clone());
                policies.insert(place, (upgrade.to.clone(), policy.clone()));
            }
        }
        (self.policies, self.handles) = (policies, fleet.handles);
        list.origins = vec![Place::file("ocm"); fleet.clusters.len()];
        list.clusters = fleet.clusters;
        list.gates = fleet.gates;
        list.upgrades = fleet.upgrades.into_iter().filter(active).collect();
        let known: BTreeSet<Name> = list
            .organisations
            .iter()
            .map(|organisation| organisation.id.clone())
            .collect();
        let new = fleet
            .organisations
            .into_iter()
            .filter(|(id, _)| !known.contains(id));
        list.organisations
            .extend(new.map(|(id, labels)| ListedOrganisation {
                name: id.clone(),
                id,
                labels,
                origin: Place::file("ocm"),
            }));
        let mut findings = fleet.findings;
        findings.extend(given_way);
        Ok(findings)
    }

    /// Schedules plans of ours that the API does not have. One that it refuses is kept as refused, and one that it could not be
    /// asked for has failed; what follows from either is the core's to say.
    pub(crate) async fn schedule(
        &self,
        store: &Store,
        lease: &Lease,
        upgrades: &[Upgrade],
        gates: &BTreeMap<UpgradeId, Vec<Name>>,
        now: Timestamp,
    ) -> anyhow::Result<()> {
        let planned = |upgrade: &&Upgrade| {
            upgrade.state == UpgradeState::Planned && upgrade.owner == Owner::Towpath
        };
        for upgrade in upgrades.iter().filter(planned) {
            if self
                .policies
                .contains_key(&(upgrade.cluster.clone(), upgrade.pool.clone()))
            {
                continue;
            }
            let gates = gates.get(&upgrade.id).map_or(&[][..], Vec::as_slice);
            let created = match self.handles.get(&upgrade.cluster) {
                Some(handle) => match self.create(handle, upgrade, gates).await {
                    Ok(()) => Ok(()),
                    // No upgrade has failed because we could not log in. The plan stays.
                    Err(error) if error.is_about_us() => return Err(error.into()),
                    Err(error) => {
                        let ended = if error.is_refusal() {
                            upgrade.after_refusal()
                        } else {
                            UpgradeState::Failed
                        };
                        Err((ended, error.to_string()))
                    }
                },
                None => Err((
                    UpgradeState::Failed,
                    "the API does not know the cluster".to_owned(),
                )),
            };
            if let Err((ended, problem)) = created {
                tracing::error!(
                    upgrade = upgrade.id.0,
                    problem,
                    "an upgrade could not be scheduled"
                );
                store
                    .transition(lease, upgrade.id, upgrade.state, ended, now, Some(&problem))
                    .await?;
            }
        }
        Ok(())
    }

    async fn create(
        &self,
        handle: &ClusterRef,
        upgrade: &Upgrade,
        gates: &[Name],
    ) -> Result<(), OcmError> {
        if upgrade.pool.is_none() {
            for gate in gates {
                match self.ocm.agree(handle, gate).await {
                    // It may not concern the cluster. If it does, the API refuses the upgrade and says so.
                    Err(error) if error.is_refusal() => tracing::warn!(gate = &**gate, "{error}"),
                    agreed => drop(agreed?),
                }
            }
        }
        self.ocm
            .create(
                handle,
                upgrade.pool.as_deref(),
                &upgrade.to,
                upgrade.start_at,
            )
            .await
            .map(drop)
    }

    /// Cancels a plan of ours.
    pub(crate) async fn cancel(&self, upgrade: &Upgrade) -> anyhow::Result<()> {
        // One to another version is somebody else's, who has replaced ours.
        match self
            .policies
            .get(&(upgrade.cluster.clone(), upgrade.pool.clone()))
        {
            Some((to, policy)) if *to == upgrade.to => {
                self.ocm
                    .cancel(policy)
                    .await
                    .context("a plan cannot be cancelled")?;
            }
            Some(_) | None => {}
        }
        Ok(())
    }
}

/// A warning if the list has clusters of its own: the API's count, and a list's soak and inherited versions.
fn given_way(list: &ClusterList) -> Option<Finding> {
    let (first, clusters) = (list.origins.first()?, list.clusters.len());
    let problem = format!(
        "the {clusters} clusters of this list do not count: --ocm tells which clusters there are"
    );
    let remedy = "remove --clusters or --ocm; the list's `soak` and `inherited` count beside --ocm";
    let place = Place::file(first.file.clone());
    Some(Finding::warning("clusters-twice", place, problem, remedy))
}
