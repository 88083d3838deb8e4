//! Converts a hub's objects into the core's. Pure, and strict about what decisions need.
//!
//! A ManagedCluster tells id, version, platform and health. Its ManagedClusterInfo tells channel and available updates. A
//! cluster that cannot be understood is a finding, and is left out.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;
use towpath_core::cluster::{ClusterId, Fact, Platform};
use towpath_core::finding::{Finding, Place};
use towpath_core::fleet::{
    Binding, ClusterState, Health, Labels, Offer, Owner, Product, Upgrade, UpgradeId, UpgradeState,
};
use towpath_core::graph::ChannelName;
use towpath_core::version::{Arch, Version};

use super::act::CuratedUpgrade;
use super::curator::{Curator, CuratorPlace, CuratorProgress};
use super::hosted::{self, HostedCluster};
use super::{condition, info, items, text};

/// The label that names a cluster's set. ACM puts a cluster without one into the set `default`.
const CLUSTER_SET: &str = "cluster.open-cluster-management.io/clusterset";
/// The label that names an architecture, because a hub does not know it.
const ARCH: &str = "towpath.dev/arch";
/// The version of a cluster that does not tell its own: everybody who may have to wait for it waits.
const LOWEST: &str = "0.0.0";

/// The fleet as the hub reports it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HubFleet {
    /// The clusters, by id. The hub does not say since when they run their version, so it is set to now.
    pub clusters: Vec<ClusterState>,
    /// What curators do now, whoever asked for it. Their ids count from 0 and are valid only here.
    pub upgrades: Vec<Upgrade>,
    /// Where the curator of each cluster is, or would be.
    pub places: BTreeMap<ClusterId, CuratorPlace>,
    /// Clusters that could not be understood, as far as the hub tells of them: unhealthy, on the lowest version if they do not
    /// tell theirs, and with ids that are valid only here. Others may have to wait for them.
    pub unread: Vec<ClusterState>,
    /// Objects that could not be understood.
    pub findings: Vec<Finding>,
    curators: BTreeMap<(String, String), Curator>,
}

/// What a hub has.
pub(super) struct Lists {
    pub(super) clusters: Vec<Value>,
    pub(super) curators: Vec<Value>,
    pub(super) infos: Vec<Value>,
    pub(super) hosted: Vec<Value>,
    pub(super) pools: Vec<Value>,
}

impl HubFleet {
    /// How far an upgrade of ours was when the hub was read. None: the hub has nothing of it.
    pub fn progress(
        &self,
        place: &CuratorPlace,
        upgrade: &CuratedUpgrade<'_>,
    ) -> Option<&CuratorProgress> {
        let curator = self.curator(place)?;
        let is_ours = curator.mark.as_deref() == Some(&*upgrade.mark());
        is_ours.then_some(&curator.progress)
    }

    /// Why an upgrade could not be asked of the cluster's curator when the hub was read.
    pub fn in_the_way(&self, place: &CuratorPlace, upgrade: &CuratedUpgrade<'_>) -> Option<String> {
        let curator = self.curator(place)?;
        let is_ours = curator.mark.as_deref() == Some(&*upgrade.mark());
        curator.obstacle().filter(|_| !is_ours)
    }

    fn curator(&self, place: &CuratorPlace) -> Option<&Curator> {
        self.curators
            .get(&(place.namespace.clone(), place.name.clone()))
    }
}

impl Lists {
    pub(super) fn fleet(&self, now: Timestamp) -> HubFleet {
        let curators = self.curators.iter().filter_map(Curator::read);
        let key = |curator: &Curator| (curator.namespace.clone(), curator.name.clone());
        let mut fleet = HubFleet {
            curators: curators.map(|curator| (key(&curator), curator)).collect(),
            ..HubFleet::default()
        };
        let infos: BTreeMap<&str, &Value> = self
            .infos
            .iter()
            .filter_map(|info| Some((text(info, "/metadata/name")?, info)))
            .collect();
        let hosted = hosted::by_cluster(&self.hosted, &self.pools);
        let mut by_id = BTreeMap::<ClusterId, Vec<(ClusterState, CuratorPlace)>>::new();
        for object in &self.clusters {
            let name = text(object, "/metadata/name").unwrap_or("without a name");
            let info = infos.get(name).copied().unwrap_or(&Value::Null);
            match cluster(object, name, info, &hosted, now) {
                Ok(Some((state, place, odd))) => {
                    let odd = odd.into_iter().map(|problem| {
                        let remedy = "correct it on the hub; it is left out until then";
                        Finding::warning("acm-part", place_of(name), problem, remedy)
                    });
                    fleet.findings.extend(odd);
                    by_id
                        .entry(state.id.clone())
                        .or_default()
                        .push((state, place));
                }
                Ok(None) => {}
                Err(problem) => {
                    fleet.unread.extend(unread(object, name, &problem, now));
                    fleet.findings.push(Finding::error(
                        "acm-cluster",
                        place_of(name),
                        problem,
                        "see why it does not report to the hub; nothing starts there until then, and sectors that come later wait",
                    ));
                }
            }
        }
        for (id, mut same) in by_id {
            match (same.pop(), same.is_empty()) {
                (Some((state, place)), true) => fleet.take(state, place, now),
                (Some((state, place)), false) => {
                    let problem =
                        format!("{} ManagedClusters say that they are {id}", same.len() + 1);
                    fleet.findings.push(Finding::error(
                        "acm-same-id",
                        place_of(&state.name),
                        problem.clone(),
                        "detach the wrong ones; nothing starts there until then, and sectors that come later wait",
                    ));
                    same.push((state, place));
                    let all = same.into_iter();
                    let all = all.filter_map(|(state, _)| disputed(state, &problem));
                    fleet.unread.extend(all);
                }
                (None, _) => {}
            }
        }
        fleet.findings.sort();
        fleet
    }
}

impl HubFleet {
    /// Adds a cluster, with what its curators do.
    fn take(&mut self, mut state: ClusterState, place: CuratorPlace, now: Timestamp) {
        let is_of_it = |curator: &&Curator| {
            curator.namespace == place.namespace && (!place.is_hosted || curator.name == place.name)
        };
        let open = self.curators.values().filter(is_of_it);
        let open = open.filter(|curator| curator.progress.is_open());
        let upgrade = |id: usize, state: &ClusterState, to: Version| Upgrade {
            id: UpgradeId(id as i64),
            cluster: state.id.clone(),
            pool: None,
            from: state.version.clone(),
            to,
            channel: None,
            state: UpgradeState::Started,
            owner: Owner::Other,
            start_at: now,
            changed_at: now,
            failures: 0,
            note: None,
        };
        let mut is_curated = false;
        for curator in open {
            if curator
                .curation
                .as_deref()
                .is_some_and(|it| it != "upgrade")
            {
                let why = curator.doing().into();
                state.health = Health::Unhealthy { why };
                continue;
            }
            let to: Option<Version> = curator.to.as_ref().and_then(|to| to.parse().ok());
            if curator.pool.is_none() && curator.progress == CuratorProgress::Running {
                state.going_to = to.clone().filter(|to| *to > state.version);
            }
            let highest = state.offers.iter().map(|offer| &offer.version).max();
            // A version that is not known counts as the highest, so that the upgrade is not taken for finished.
            let to = to.unwrap_or_else(|| highest.unwrap_or(&state.version).clone());
            is_curated |= curator.pool.is_none();
            self.upgrades.push(Upgrade {
                pool: curator.pool.as_deref().map(Into::into),
                state: match curator.progress {
                    CuratorProgress::Waiting => UpgradeState::Planned,
                    _ => UpgradeState::Started,
                },
                note: Some(curator.doing().into()),
                ..upgrade(self.upgrades.len(), &state, to)
            });
        }
        // Somebody updates it without a curator: on the cluster itself, or by its HostedCluster.
        if let (false, Some(to)) = (is_curated, state.going_to.clone()) {
            self.upgrades.push(Upgrade {
                note: Some("the cluster is being updated, and no ClusterCurator does it".into()),
                ..upgrade(self.upgrades.len(), &state, to)
            });
        }
        self.places.insert(state.id.clone(), place);
        self.clusters.push(state);
    }
}

fn place_of(cluster: &str) -> Place {
    Place::file(format!("acm: cluster {cluster}"))
}

/// What is known of a ManagedCluster that cannot be understood.
fn unread(object: &Value, name: &str, problem: &str, now: Timestamp) -> Option<ClusterState> {
    let labels = labels(object);
    let mut claims = items(object, "/status/clusterClaims").iter();
    let version = claims.find(|claim| claim["name"] == "version.openshift.io");
    let version = version.and_then(|claim| text(claim, "/value")?.parse().ok());
    let organisation = labels.get(CLUSTER_SET).map_or("default", String::as_str);
    Some(ClusterState {
        id: unread_id(name)?,
        name: name.into(),
        organisation: organisation.into(),
        binding: Binding::Bound,
        going_to: None,
        version: version.or_else(|| LOWEST.parse().ok())?,
        version_since: now,
        last_seen: now,
        health: unread_health(problem),
        channel: None,
        arch: Arch::default(),
        platform: Fact::Unknown,
        product: Product::Standalone,
        sts: Fact::Unknown,
        wif: Fact::Unknown,
        offers: Vec::new().into(),
        acknowledged_gates: Default::default(),
        available_channels: Fact::Unknown,
        labels,
    })
}

/// A cluster whose id another has, too.
fn disputed(state: ClusterState, problem: &str) -> Option<ClusterState> {
    Some(ClusterState {
        id: unread_id(&state.name)?,
        going_to: None,
        health: unread_health(problem),
        offers: Vec::new().into(),
        ..state
    })
}

fn unread_health(problem: &str) -> Health {
    let why = format!("it cannot be read from the hub: {problem}").into();
    Health::Unhealthy { why }
}

/// No real id has a colon and a name of Kubernetes.
fn unread_id(name: &str) -> Option<ClusterId> {
    ClusterId::as_recorded(&format!("acm:{name}"))
}

type ClusterReading = (ClusterState, CuratorPlace, Vec<String>);

/// A ManagedCluster; none if it is no OpenShift.
fn cluster(
    object: &Value,
    name: &str,
    info: &Value,
    hosted: &BTreeMap<String, HostedCluster>,
    now: Timestamp,
) -> Result<Option<ClusterReading>, String> {
    let claim = |wanted: &str| {
        let mut claims = items(object, "/status/clusterClaims").iter();
        let found = claims.find(|claim| claim["name"] == wanted)?;
        text(found, "/value")
    };
    let labels = labels(object);
    let label = |name: &str| labels.get(name).map(String::as_str);
    let version = match (claim("version.openshift.io"), label("vendor")) {
        (Some(version), _) => version,
        (None, Some("OpenShift")) => return Err("it has no claim version.openshift.io".to_owned()),
        (None, _) => return Ok(None),
    };
    let version = version
        .parse::<Version>()
        .map_err(|error| format!("claim version.openshift.io: {error}"))?;
    let id = claim("id.openshift.io")
        .or(label("clusterID"))
        .ok_or("it has no claim id.openshift.io")?;
    let hosted = hosted.get(id);
    let id = ClusterId::new(id).ok_or("its claim id.openshift.io is too long")?;
    let ocp = |field: &str| format!("/status/distributionInfo/ocp/{field}");
    let mut odd = Vec::new();
    let (channel, told): (Option<&str>, Vec<&str>) = match hosted {
        Some(hosted) => (
            hosted.channel.as_deref(),
            hosted.offers.iter().map(String::as_str).collect(),
        ),
        None => (
            text(info, &ocp("channel")),
            items(info, &ocp("availableUpdates"))
                .iter()
                .filter_map(Value::as_str)
                .collect(),
        ),
    };
    let offers: Vec<Offer> = told
        .into_iter()
        .filter_map(|offer| match offer.parse::<Version>() {
            Ok(to) => Some(to).filter(|to| *to > version),
            Err(error) => {
                odd.push(format!("an available update cannot be read: {error}"));
                None
            }
        })
        .map(Offer::free)
        .collect();
    let (going_to, unknown) = match hosted {
        Some(hosted) => {
            let ends = hosted.desired.iter().chain(&hosted.under_way);
            let told = text(info, &ocp("desiredVersion")).into_iter();
            let desired = told.chain(ends.map(String::as_str));
            let desired = desired.filter_map(|to| to.parse::<Version>().ok());
            (desired.filter(|to| *to > version).max(), None)
        }
        None => {
            let updates = info::updates(info, &version);
            (updates.going_to, updates.unknown)
        }
    };
    let product = hosted.map_or(Product::Standalone, |hosted| Product::HostedControlPlane {
        pools: hosted.pools.clone(),
    });
    let unread = hosted.iter().flat_map(|hosted| &hosted.unread);
    let unread: Vec<String> = unread
        .map(|pool| format!("node pool {pool} does not tell its version"))
        .collect();
    // An update whose goal is not ahead is seen by its history alone.
    let unfinished = hosted.and_then(|hosted| hosted.under_way.as_deref());
    let unfinished = unfinished
        .filter(|_| going_to.is_none())
        .map(|_| "the newest update of its HostedCluster is not complete".to_owned());
    // Node pools go first, and nobody knows whether this one has to.
    let first = unread.first().or(unfinished.as_ref());
    let health = match first.or(unknown.as_ref()) {
        Some(why) if health(object, info).is_healthy() => Health::Unhealthy {
            why: why.as_str().into(),
        },
        _ => health(object, info),
    };
    odd.extend(unread);
    let place = match hosted {
        Some(hosted) => hosted.place.clone(),
        None => CuratorPlace {
            namespace: name.to_owned(),
            name: name.to_owned(),
            is_hosted: false,
        },
    };
    let state = ClusterState {
        id,
        name: name.into(),
        organisation: label(CLUSTER_SET).unwrap_or("default").into(),
        binding: Binding::Bound,
        going_to,
        version,
        version_since: now,
        last_seen: now,
        health,
        channel: channel.and_then(ChannelName::new),
        arch: label(ARCH).map_or_else(Arch::default, Arch::new),
        platform: claim("platform.open-cluster-management.io")
            .and_then(Platform::new)
            .into(),
        product,
        // A hub tells neither.
        sts: Fact::Unknown,
        wif: Fact::Unknown,
        offers: offers.into(),
        acknowledged_gates: Default::default(),
        available_channels: Fact::Unknown,
        labels,
    };
    Ok(Some((state, place, odd)))
}

fn labels(object: &Value) -> Labels {
    let labels = object
        .pointer("/metadata/labels")
        .and_then(Value::as_object);
    let labels = labels.into_iter().flatten();
    labels
        .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
        .collect()
}

/// Well is who is available to the hub, and whose last update did not fail.
fn health(object: &Value, info: &Value) -> Health {
    let available = condition(object, "ManagedClusterConditionAvailable");
    let is_available = available.is_some_and(|available| available["status"] == "True");
    let is_accepted = object.pointer("/spec/hubAcceptsClient") == Some(&Value::Bool(true));
    let failed = "/status/distributionInfo/ocp/upgradeFailed";
    let why = match (is_accepted, is_available) {
        (false, _) => "the hub has not accepted it".to_owned(),
        (true, false) => {
            let message = available.and_then(|available| text(available, "/message"));
            let message = message.unwrap_or("it has not told");
            format!("it is not available to the hub: {message}")
        }
        (true, true) if info.pointer(failed) == Some(&Value::Bool(true)) => {
            "the hub says that its last update failed".to_owned()
        }
        (true, true) => return Health::Healthy,
    };
    Health::Unhealthy { why: why.into() }
}
