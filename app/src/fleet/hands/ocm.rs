//! Schedules upgrades in an OCM-style API, and reads clusters from there.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;
use jiff::Timestamp;
use towpath_core::cluster::ClusterId;
use towpath_core::fleet::{Name, Upgrade, UpgradeState};
use towpath_core::version::Version;
use towpath_ocm::{ClusterRef, Ocm, OcmConfig, OcmError, PolicyRef};

use super::{CarriedOut, Hands, HandsProblem, HandsReading, Reply};
use crate::config::OcmSettings;

pub(super) struct OcmHands {
    ocm: Ocm,
    handles: BTreeMap<ClusterId, ClusterRef>,
    /// What the API has planned or runs, whoever made it.
    policies: BTreeMap<(ClusterId, Option<Name>), (Version, PolicyRef)>,
}

impl OcmHands {
    pub(super) fn new(settings: &OcmSettings) -> anyhow::Result<Self> {
        let ocm = Ocm::new(OcmConfig::new(&*settings.url, settings.login.clone()));
        let ocm = ocm.context("the OCM-style API cannot be used")?;
        Ok(Self {
            ocm,
            handles: BTreeMap::new(),
            policies: BTreeMap::new(),
        })
    }

    async fn read_api(&mut self, now: Timestamp) -> anyhow::Result<HandsReading> {
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
        Ok(HandsReading {
            clusters: fleet.clusters,
            unread: Vec::new(),
            upgrades: fleet.upgrades.into_iter().filter(active).collect(),
            gates: Some(fleet.gates),
            organisations: fleet.organisations,
            findings: fleet.findings,
        })
    }

    /// The API has a calendar, so a plan goes there at once.
    async fn schedule(
        &self,
        upgrade: &Upgrade,
        gates: &[Name],
    ) -> Result<CarriedOut, HandsProblem> {
        let is_there = self
            .policies
            .contains_key(&(upgrade.cluster.clone(), upgrade.pool.clone()));
        if upgrade.state != UpgradeState::Planned || is_there {
            return Ok(CarriedOut::Nothing);
        }
        let Some(handle) = self.handles.get(&upgrade.cluster) else {
            let problem = "the API does not know the cluster".to_owned();
            return Err(HandsProblem::Failed(problem));
        };
        match self.create(handle, upgrade, gates).await {
            Ok(()) => Ok(CarriedOut::Nothing),
            Err(error) if error.is_about_us() => Err(HandsProblem::AboutUs(error.into())),
            Err(error) if error.is_refusal() => Err(HandsProblem::Refused(error.to_string())),
            Err(error) => Err(HandsProblem::Failed(error.to_string())),
        }
    }

    async fn create(
        &self,
        handle: &ClusterRef,
        upgrade: &Upgrade,
        gates: &[Name],
    ) -> Result<(), OcmError> {
        // The API takes an upgrade only to a version of the cluster's channel.
        if let Some(channel) = &upgrade.channel {
            self.ocm.switch_channel(handle, channel).await?;
        }
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

    async fn cancel_there(&self, upgrade: &Upgrade) -> anyhow::Result<()> {
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

impl Hands for OcmHands {
    fn flag(&self) -> &'static str {
        "ocm"
    }

    fn read(&mut self, now: Timestamp) -> Reply<'_, anyhow::Result<HandsReading>> {
        Box::pin(self.read_api(now))
    }

    fn carry_out<'a>(
        &'a self,
        upgrade: &'a Upgrade,
        gates: &'a [Name],
    ) -> Reply<'a, Result<CarriedOut, HandsProblem>> {
        Box::pin(self.schedule(upgrade, gates))
    }

    fn cancel<'a>(&'a self, upgrade: &'a Upgrade) -> Reply<'a, anyhow::Result<()>> {
        Box::pin(self.cancel_there(upgrade))
    }
}
