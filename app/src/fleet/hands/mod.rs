//! Hands: an API that manages the fleet's clusters, tells which there are, and carries out upgrades. OCM and ACM are two.
//!
//! A start is claimed in the store first and carried out in the API afterwards. If Towpath dies in between, the next pass finds an
//! upgrade that the API does not have, and carries it out again. That is idempotent. Hands decide nothing.

mod acm;
mod ocm;

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;

use jiff::Timestamp;
use towpath_core::finding::{Finding, Place};
use towpath_core::fleet::{
    ClusterState, Labels, Name, Owner, Upgrade, UpgradeId, UpgradeState, VersionGate,
};
use towpath_formats::fleet::cluster_list::{ClusterList, ListedOrganisation};
use towpath_store::{Lease, Store};

use self::acm::AcmHands;
use self::ocm::OcmHands;
use crate::config::HandsSettings;

pub(crate) type Reply<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// An API that manages clusters.
pub(crate) trait Hands: Send + Sync {
    /// The flag that names it, without dashes.
    fn flag(&self) -> &'static str;

    /// Reads the fleet.
    fn read(&mut self, now: Timestamp) -> Reply<'_, anyhow::Result<HandsReading>>;

    /// Carries out a planned or started upgrade of ours, as far as the API can in that state. Repeating it changes nothing.
    fn carry_out<'a>(
        &'a self,
        upgrade: &'a Upgrade,
        gates: &'a [Name],
    ) -> Reply<'a, Result<CarriedOut, HandsProblem>>;

    /// Takes an upgrade of ours back. It is an error if it has begun there.
    fn cancel<'a>(&'a self, upgrade: &'a Upgrade) -> Reply<'a, anyhow::Result<()>>;
}

/// What the API tells.
#[derive(Debug, Default)]
pub(crate) struct HandsReading {
    pub(crate) clusters: Vec<ClusterState>,
    /// Clusters that could not be understood. They start nothing, and others wait for them.
    pub(crate) unread: Vec<ClusterState>,
    /// What is planned or runs, whoever asked for it.
    pub(crate) upgrades: Vec<Upgrade>,
    /// None: the API has no gates, and those of a list count.
    pub(crate) gates: Option<Vec<VersionGate>>,
    pub(crate) organisations: BTreeMap<Name, Labels>,
    pub(crate) findings: Vec<Finding>,
}

/// What is to be remembered of an upgrade that was carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CarriedOut {
    Nothing,
    /// The API has this upgrade. If it is gone later, a person has removed it.
    Asked,
}

/// The note of a started upgrade that the API has.
pub(crate) const ASKED: &str = "the API was asked for it";

/// Why an upgrade was not carried out.
#[derive(Debug)]
pub(crate) enum HandsProblem {
    /// We could not be heard. No upgrade has failed because of that, and the plan stays.
    AboutUs(anyhow::Error),
    /// The API does not take it. Nothing has happened to the cluster.
    Refused(String),
    Failed(String),
}

/// The API that the settings name, if they do.
pub(crate) fn hands_of(settings: Option<&HandsSettings>) -> anyhow::Result<Option<Box<dyn Hands>>> {
    Ok(match settings {
        None => None,
        Some(HandsSettings::Ocm(ocm)) => Some(Box::new(OcmHands::new(ocm)?)),
        Some(HandsSettings::Acm(acm)) => Some(Box::new(AcmHands::new(acm.clone()))),
    })
}

/// Reads the fleet from the API into a list, and says what is wrong with it. The clusters of the list itself give way.
pub(crate) async fn read_into(
    hands: &mut dyn Hands,
    now: Timestamp,
    list: &mut ClusterList,
) -> anyhow::Result<Vec<Finding>> {
    let (given_way, origin) = (given_way(hands.flag(), list), Place::file(hands.flag()));
    let read = hands.read(now).await?;
    list.origins = vec![origin.clone(); read.clusters.len()];
    list.clusters = read.clusters;
    list.not_understood = read.unread;
    list.gates = read
        .gates
        .unwrap_or_else(|| std::mem::take(&mut list.gates));
    list.upgrades = read.upgrades;
    let known: BTreeSet<Name> = list
        .organisations
        .iter()
        .map(|organisation| organisation.id.clone())
        .collect();
    let new = read
        .organisations
        .into_iter()
        .filter(|(id, _)| !known.contains(id));
    list.organisations
        .extend(new.map(|(id, labels)| ListedOrganisation {
            name: id.clone(),
            id,
            labels,
            origin: origin.clone(),
        }));
    let mut findings = read.findings;
    findings.extend(given_way);
    Ok(findings)
}

/// Has the API carry out what is ours. An upgrade that it refuses is kept as refused, and one that it could not be asked for, or that
/// failed there, has failed. What follows from either is the core's to say.
pub(crate) async fn carry_out(
    hands: &dyn Hands,
    store: &Store,
    lease: &Lease,
    upgrades: &[Upgrade],
    gates: &BTreeMap<UpgradeId, Vec<Name>>,
    now: Timestamp,
) -> anyhow::Result<()> {
    let is_ours = |upgrade: &&Upgrade| upgrade.state.is_active() && upgrade.owner == Owner::Towpath;
    for upgrade in upgrades.iter().filter(is_ours) {
        let gates = gates.get(&upgrade.id).map_or(&[][..], Vec::as_slice);
        let (ended, problem) = match (hands.carry_out(upgrade, gates).await, upgrade.state) {
            (Ok(CarriedOut::Asked), state) if upgrade.note.as_deref() != Some(ASKED) => {
                store.note(lease, upgrade.id, state, ASKED).await?;
                continue;
            }
            (Ok(_), _) => continue,
            (Err(HandsProblem::AboutUs(error)), _) => return Err(error),
            (Err(HandsProblem::Refused(problem)), UpgradeState::Planned) => {
                (upgrade.after_refusal(), problem)
            }
            (Err(HandsProblem::Refused(problem) | HandsProblem::Failed(problem)), _) => {
                (UpgradeState::Failed, problem)
            }
        };
        tracing::error!(
            upgrade = upgrade.id.0,
            problem,
            "an upgrade could not be carried out"
        );
        store
            .transition(lease, upgrade.id, upgrade.state, ended, now, Some(&problem))
            .await?;
    }
    Ok(())
}

/// A warning if the list has clusters of its own: the API's count, and a list's soak and inherited versions.
fn given_way(flag: &str, list: &ClusterList) -> Option<Finding> {
    let (first, clusters) = (list.origins.first()?, list.clusters.len());
    let problem = format!(
        "the {clusters} clusters of this list do not count: --{flag} tells which clusters there are"
    );
    let remedy = format!(
        "remove --clusters or --{flag}; the list's `soak` and `inherited` count beside --{flag}"
    );
    let place = Place::file(first.file.clone());
    Some(Finding::warning("clusters-twice", place, problem, remedy))
}
