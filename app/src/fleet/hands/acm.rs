//! Has the ClusterCurators of an ACM hub upgrade clusters, and reads clusters from there.
//!
//! A hub has no calendar. So a plan waits in the store until its time, and the curator is written once the upgrade has started.

use anyhow::{Context, bail};
use jiff::Timestamp;
use tokio::sync::OnceCell;
use towpath_core::fleet::{Name, Upgrade, UpgradeState};
use towpath_core::graph::ChannelName;
use towpath_kube::{
    CurateOutcome, CuratedUpgrade, CuratorPlace, CuratorProgress, Hub, HubFleet, KubeError,
    WithdrawOutcome,
};

use super::{ASKED, CarriedOut, Hands, HandsProblem, HandsReading, Reply};
use crate::config::AcmSettings;

pub(super) struct AcmHands {
    settings: AcmSettings,
    hub: OnceCell<Hub>,
    /// The hub as it was last read.
    fleet: HubFleet,
}

impl AcmHands {
    pub(super) fn new(settings: AcmSettings) -> Self {
        Self {
            settings,
            hub: OnceCell::new(),
            fleet: HubFleet::default(),
        }
    }

    async fn hub(&self) -> Result<&Hub, KubeError> {
        let connect = || Hub::connect(&self.settings.access, towpath_kube::Settings::default());
        self.hub.get_or_try_init(connect).await
    }

    async fn read_hub(&mut self, now: Timestamp) -> anyhow::Result<HandsReading> {
        let read = async { self.hub().await?.fleet(now).await };
        let fleet = read
            .await
            .context("the fleet cannot be read from the ACM hub")?;
        let reading = HandsReading {
            clusters: fleet.clusters.clone(),
            unread: fleet.unread.clone(),
            upgrades: fleet.upgrades.clone(),
            findings: fleet.findings.clone(),
            ..HandsReading::default()
        };
        self.fleet = fleet;
        Ok(reading)
    }

    fn place(&self, upgrade: &Upgrade) -> Option<&CuratorPlace> {
        self.fleet.places.get(&upgrade.cluster)
    }

    async fn start(&self, upgrade: &Upgrade) -> Result<CarriedOut, HandsProblem> {
        let unknown = || HandsProblem::Failed("the hub does not know the cluster".to_owned());
        let (wanted, place) = (curated(upgrade), self.place(upgrade).ok_or_else(unknown)?);
        match (upgrade.state, self.fleet.progress(place, &wanted)) {
            (UpgradeState::Planned, _) => match self.fleet.in_the_way(place, &wanted) {
                Some(doing) => Err(HandsProblem::Refused(doing)),
                None => Ok(CarriedOut::Nothing),
            },
            (_, Some(CuratorProgress::Failed(said))) => Err(HandsProblem::Failed(said.clone())),
            (_, Some(_)) => Ok(CarriedOut::Asked),
            (_, None) if upgrade.note.as_deref() == Some(ASKED) => {
                let progress = async { self.hub().await?.progress(place, &wanted).await };
                removed(place, progress.await)
            }
            (_, None) => {
                let curate = async { self.hub().await?.curate(place, &wanted).await };
                outcome(curate.await)
            }
        }
    }

    async fn withdraw(&self, upgrade: &Upgrade) -> anyhow::Result<()> {
        let Some(place) = self.place(upgrade) else {
            return Ok(());
        };
        let withdraw = async { self.hub().await?.withdraw(place, &curated(upgrade)).await };
        match withdraw.await.context("an upgrade cannot be taken back")? {
            WithdrawOutcome::Now | WithdrawOutcome::NothingToDo => Ok(()),
            WithdrawOutcome::Running => bail!("the job of its ClusterCurator runs already"),
            WithdrawOutcome::Conflict => bail!("its ClusterCurator has just changed"),
        }
    }
}

impl Hands for AcmHands {
    fn flag(&self) -> &'static str {
        "acm"
    }

    fn read(&mut self, now: Timestamp) -> Reply<'_, anyhow::Result<HandsReading>> {
        Box::pin(self.read_hub(now))
    }

    fn carry_out<'a>(
        &'a self,
        upgrade: &'a Upgrade,
        _gates: &'a [Name],
    ) -> Reply<'a, Result<CarriedOut, HandsProblem>> {
        Box::pin(self.start(upgrade))
    }

    fn cancel<'a>(&'a self, upgrade: &'a Upgrade) -> Reply<'a, anyhow::Result<()>> {
        Box::pin(self.withdraw(upgrade))
    }
}

fn curated(upgrade: &Upgrade) -> CuratedUpgrade<'_> {
    CuratedUpgrade {
        version: &upgrade.to,
        pool: upgrade.pool.as_deref(),
        channel: upgrade.channel.as_ref().map(ChannelName::as_str),
        start_at: upgrade.start_at,
    }
}

/// A curator that has changed is looked at again in the next pass.
fn outcome(written: Result<CurateOutcome, KubeError>) -> Result<CarriedOut, HandsProblem> {
    match written {
        Ok(CurateOutcome::Before(CuratorProgress::Failed(said))) => Err(HandsProblem::Failed(said)),
        Ok(CurateOutcome::Now | CurateOutcome::Before(_)) => Ok(CarriedOut::Asked),
        Ok(CurateOutcome::Conflict) => Ok(CarriedOut::Nothing),
        Ok(CurateOutcome::InTheWay(why) | CurateOutcome::Refused(why)) => {
            Err(HandsProblem::Refused(why))
        }
        Err(error) => Err(problem(error)),
    }
}

/// A request that the hub had and has no longer was taken back by a person, whose choice comes first: it is not written again.
fn removed(
    place: &CuratorPlace,
    progress: Result<Option<CuratorProgress>, KubeError>,
) -> Result<CarriedOut, HandsProblem> {
    match progress.map_err(problem)? {
        Some(_) => Ok(CarriedOut::Asked),
        None => Err(HandsProblem::Failed(format!(
            "somebody deleted ClusterCurator {}/{}, or our request in it",
            place.namespace, place.name
        ))),
    }
}

fn problem(error: KubeError) -> HandsProblem {
    match error {
        error @ (KubeError::Configuration { .. }
        | KubeError::Unauthorized { .. }
        | KubeError::Unanswered { .. }) => HandsProblem::AboutUs(error.into()),
        error => HandsProblem::Failed(error.to_string()),
    }
}
