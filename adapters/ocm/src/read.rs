//! Converts the API's objects into the core's. Pure, and strict about the fields that decisions need.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use towpath_core::cluster::{ClusterId, Platform};
use towpath_core::finding::{Finding, Place};
use towpath_core::fleet::{
    Binding, ClusterState, Health, Labels, Name, NodePool, Offer, Owner, Product, Upgrade,
    UpgradeId, UpgradeState, VersionGate,
};
use towpath_core::graph::ChannelName;
use towpath_core::version::{Arch, Minor, Version};

use crate::policies::Policy;
use crate::{ClusterRef, wire};

/// A cluster of the API, converted.
#[derive(Debug)]
pub(crate) enum Reading {
    /// A cluster of the fleet, with findings.
    Cluster(Box<ClusterState>, ClusterRef, Vec<Finding>),
    /// It is being installed or deleted.
    InBetween,
    /// It cannot be read.
    Wrong(Finding),
}

/// A subscription: a cluster's organisation and labels.
#[derive(Debug)]
pub(crate) struct Subscription {
    pub(crate) organisation: Name,
    pub(crate) labels: Labels,
}

/// Reads a cluster, without its node pools and gate agreements, which are separate requests.
pub(crate) fn cluster(
    wire: wire::Cluster,
    subscriptions: &BTreeMap<String, Subscription>,
    now: Timestamp,
) -> Reading {
    let health = match health(wire.state.as_deref(), wire.health_state.as_deref()) {
        Some(health) => health,
        None => return Reading::InBetween,
    };
    let label = wire
        .name
        .as_deref()
        .or(wire.id.as_deref())
        .unwrap_or("without a name")
        .to_owned();
    match understand(wire, health, subscriptions, now) {
        Ok((state, at, odd)) => {
            let odd = odd.into_iter().map(|problem| {
                let remedy = "ask whoever runs the API; the offer is left out";
                Finding::warning("ocm-offer", place(&label), problem, remedy)
            });
            Reading::Cluster(Box::new(state), at, odd.collect())
        }
        Err(problem) => Reading::Wrong(Finding::error(
            "ocm-cluster",
            place(&label),
            problem,
            "ask whoever runs the API; the cluster is left out until then",
        )),
    }
}

/// The place of findings about a cluster.
pub(crate) fn place(cluster: &str) -> Place {
    Place::file(format!("ocm: cluster {cluster}"))
}

fn understand(
    wire: wire::Cluster,
    health: Health,
    subscriptions: &BTreeMap<String, Subscription>,
    now: Timestamp,
) -> Result<(ClusterState, ClusterRef, Vec<String>), String> {
    let ocm_id = text(wire.id).ok_or("it has no id")?;
    let external_id = text(wire.external_id).ok_or("it has no external_id")?;
    let id = ClusterId::new(&external_id).ok_or("its external_id is too long")?;
    let name = text(wire.name).ok_or("it has no name")?;
    let subscription = wire
        .subscription
        .and_then(|link| subscriptions.get(&link.id?));
    let organisation = subscription
        .map(|subscription| subscription.organisation.clone())
        .or_else(|| {
            wire.organization
                .and_then(|link| text(link.id))
                .map(Name::from)
        })
        .ok_or("it has no subscription with an organisation")?;
    let told = wire.version.ok_or("it has no version")?;
    let version = version(&told)?;
    let (offers, odd) = offers(told.available_upgrades.unwrap_or_default(), &version);
    let hosted = wire
        .hypershift
        .and_then(|switch| switch.enabled)
        .unwrap_or(false);
    let of_group = told
        .channel_group
        .filter(|group| !group.is_empty())
        .and_then(|group| {
            ChannelName::new(&format!("{group}-{}.{}", version.major(), version.minor()))
        });
    let channel = text(wire.channel).and_then(|channel| ChannelName::new(&channel));
    let channel = channel.or(of_group);
    let told_channels = wire.available_channels.or(told.available_channels);
    let available_channels = told_channels.map(|channels| {
        let channels = channels.iter();
        channels
            .filter_map(|channel| ChannelName::new(channel))
            .collect()
    });
    let state = ClusterState {
        id,
        name: name.into(),
        organisation,
        binding: Binding::Bound,
        version,
        going_to: None,
        version_since: now,
        last_seen: now,
        health,
        channel,
        available_channels: available_channels.into(),
        arch: if wire.multi_arch_enabled == Some(true) {
            Arch::new("multi")
        } else {
            Arch::default()
        },
        platform: wire
            .cloud_provider
            .and_then(|link| Platform::new(&link.id?))
            .into(),
        labels: subscription
            .map(|subscription| subscription.labels.clone())
            .unwrap_or_default(),
        product: match hosted {
            true => Product::HostedControlPlane { pools: Vec::new() },
            false => Product::Standalone,
        },
        // What the API does not say is not known; a gate that asks for it holds.
        sts: wire.aws.and_then(|aws| aws.sts?.enabled).into(),
        wif: wire
            .gcp
            .and_then(|gcp| Some(gcp.authentication?.kind? == "WifConfig"))
            .into(),
        offers: offers.into(),
        acknowledged_gates: BTreeSet::new(),
    };
    Ok((
        state,
        ClusterRef {
            id: ocm_id.into(),
            hosted,
        },
        odd,
    ))
}

/// The cluster's health; none if it is not installed. Unknown health counts as healthy, as in AUS.
fn health(state: Option<&str>, health_state: Option<&str>) -> Option<Health> {
    let unhealthy = |why: String| Some(Health::Unhealthy { why: why.into() });
    match (state, health_state) {
        (Some("installing" | "pending" | "validating" | "waiting" | "uninstalling"), _) => None,
        (Some("ready"), Some("unhealthy")) => unhealthy("OCM says that it is unhealthy".to_owned()),
        (Some("ready"), _) => Some(Health::Healthy),
        (Some(other), _) => unhealthy(format!("its state in OCM is {other:?}")),
        (None, _) => unhealthy("OCM does not report its state".to_owned()),
    }
}

fn offers(available: Vec<String>, current: &Version) -> (Vec<Offer>, Vec<String>) {
    let (mut versions, mut odd) = (BTreeSet::new(), Vec::new());
    for text in available {
        match text.parse::<Version>() {
            Ok(version) if version > *current => drop(versions.insert(version)),
            Ok(version) => odd.push(format!(
                "{version} is offered to it, but is not above {current}"
            )),
            Err(error) => odd.push(format!("an offer cannot be read: {error}")),
        }
    }
    (versions.into_iter().map(Offer::free).collect(), odd)
}

/// Parses a version, plain or as `openshift-v4.14.1-candidate`.
fn version(told: &wire::Version) -> Result<Version, String> {
    let from_id = || {
        let id = told.id.as_deref()?.strip_prefix("openshift-v")?;
        let suffix = told
            .channel_group
            .as_deref()
            .map(|group| format!("-{group}"))
            .unwrap_or_default();
        Some(id.strip_suffix(&*suffix).unwrap_or(id))
    };
    let plain = told
        .raw_id
        .as_deref()
        .filter(|raw| !raw.is_empty())
        .or_else(from_id)
        .ok_or("it has no version")?;
    plain
        .parse()
        .map_err(|e: towpath_core::version::number::NotAVersion| e.to_string())
}

pub(crate) fn pool(wire: wire::NodePool) -> Result<NodePool, String> {
    let id = text(wire.id).ok_or("a node pool has no id")?;
    let told = wire
        .version
        .ok_or_else(|| format!("node pool {id} has no version"))?;
    let version = version(&told).map_err(|problem| format!("node pool {id}: {problem}"))?;
    Ok(NodePool {
        id: id.into(),
        version,
    })
}

/// A gate and its problems. A gate that cannot be understood blocks. Without an id nobody can agree to it.
pub(crate) fn gate(
    id: Option<String>,
    content: Result<wire::VersionGate, String>,
) -> (VersionGate, Vec<String>) {
    let mut problems = Vec::new();
    let wire = content.unwrap_or_else(|problem| {
        problems.push(format!("{problem}; it blocks every minor version"));
        wire::VersionGate {
            id: id.clone(),
            version_raw_id_prefix: None,
            label: None,
            sts_only: None,
        }
    });
    let was_read = problems.is_empty();
    // Older answers have no label, but tell whom it is for.
    let label = text(wire.label).or(wire.sts_only.map(|sts_only| match sts_only {
        true => "api.openshift.com/gate-sts".to_owned(),
        false => "api.openshift.com/gate-ocp".to_owned(),
    }));
    let (id, prefix) = (text(wire.id).or(text(id)), text(wire.version_raw_id_prefix));
    let missing = [
        (
            id.is_none(),
            "it has no id, so nobody can agree to it, and it blocks",
        ),
        (
            prefix.is_none(),
            "it has no version_raw_id_prefix, so it applies to every minor version",
        ),
        (
            label.is_none(),
            "it has no label, so it applies to every cluster, and no policy can approve it",
        ),
    ];
    let missing = missing
        .iter()
        .filter(|(is_missing, _)| was_read && *is_missing);
    problems.extend(missing.map(|(_, problem)| (*problem).to_owned()));
    let gate = VersionGate::of(
        id.map(Name::from),
        prefix.map(Name::from),
        label.map(Name::from),
    );
    (gate, problems)
}

/// Reads a subscription; none if it has no organisation.
pub(crate) fn subscription(wire: wire::SubscriptionBody) -> Option<Subscription> {
    let label = |label: wire::Label| Some((label.key?, label.value.unwrap_or_default()));
    Some(Subscription {
        organisation: text(wire.organization_id)?.into(),
        labels: wire
            .labels
            .unwrap_or_default()
            .into_iter()
            .filter_map(label)
            .collect(),
    })
}

/// Whether this cluster's gate agreements matter now: it is offered a minor version that has a gate.
pub(crate) fn has_gate_ahead(cluster: &ClusterState, gates: &[VersionGate]) -> bool {
    let own = Minor::of(&cluster.version);
    let offered = cluster.offers.iter().map(|offer| Minor::of(&offer.version));
    // What it is offered in another channel, our graph says.
    let channels = cluster.available_channels.known().into_iter().flatten();
    let channels = channels.filter_map(|channel| {
        let (_, minor) = channel.as_str().rsplit_once('-')?;
        Minor::parse(minor).filter(|minor| *minor > own)
    });
    offered
        .chain(channels)
        .filter(|minor| *minor != own)
        .any(|minor| {
            gates
                .iter()
                .any(|gate| gate.before().is_none_or(|before| before == minor))
        })
}

/// The version that these policies are upgrading the cluster to right now.
pub(crate) fn going_to(policies: &[Policy]) -> Option<Version> {
    let runs = |policy: &&Policy| policy.at.pool.is_none() && policy.state == UpgradeState::Started;
    policies
        .iter()
        .find(runs)
        .and_then(|policy| policy.version.clone())
}

/// Converts a policy into an upgrade. An unknown version counts as the highest possible one, so that the upgrade is not
/// taken for finished and keeps its locks.
pub(crate) fn upgrade(
    id: UpgradeId,
    cluster: &ClusterState,
    policy: &Policy,
    owner: Owner,
    now: Timestamp,
) -> Upgrade {
    let pool = match (&policy.at.pool, &cluster.product) {
        (Some(id), Product::HostedControlPlane { pools }) => {
            pools.iter().find(|pool| pool.id == *id)
        }
        _ => None,
    };
    let furthest = match (
        pool,
        cluster.offers.iter().map(|offer| &offer.version).max(),
    ) {
        (None, Some(offer)) => offer,
        _ => &cluster.version,
    };
    Upgrade {
        id,
        cluster: cluster.id.clone(),
        pool: policy.at.pool.clone(),
        from: pool.map_or(&cluster.version, |pool| &pool.version).clone(),
        to: policy.version.as_ref().unwrap_or(furthest).clone(),
        channel: None,
        state: policy.state,
        owner,
        start_at: policy.next_run.unwrap_or(now),
        changed_at: policy.changed_at.unwrap_or(now),
        failures: u32::from(policy.state == UpgradeState::Failed),
        note: policy
            .problem
            .as_deref()
            .or(policy.note.as_deref())
            .map(Name::from),
    }
}

fn text(value: Option<String>) -> Option<String> {
    value.filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_version_is_found_in_its_long_id_too() {
        for (told, expected) in [
            (
                json!({"raw_id": "4.14.1", "id": "openshift-v4.14.2"}),
                Some("4.14.1"),
            ),
            (json!({"id": "openshift-v4.14.1"}), Some("4.14.1")),
            (
                json!({"id": "openshift-v4.14.0-rc.1-candidate", "channel_group": "candidate"}),
                Some("4.14.0-rc.1"),
            ),
            (json!({"id": "4.14.1"}), None),
            (json!({}), None),
        ] {
            let got = version(&serde_json::from_value(told.clone()).unwrap()).ok();
            assert_eq!(got, expected.map(|text| text.parse().unwrap()), "{told}");
        }
    }

    #[test]
    fn a_gate_that_is_not_understood_holds() {
        let read = |told: serde_json::Value| {
            let id = told["id"].as_str().map(str::to_owned);
            let content = serde_json::from_value(told).map_err(|error| error.to_string());
            let (gate, problems) = gate(id, content);
            (
                format!("{} {:?} {}", gate.id, gate.before(), gate.label),
                problems.len(),
            )
        };
        let (ocp, sts) = ("api.openshift.com/gate-ocp", "api.openshift.com/gate-sts");
        let minor = towpath_core::version::Minor::parse("4.13");
        for (told, expected, problems) in [
            (
                json!({"id": "g", "version_raw_id_prefix": "4.13", "label": ocp}),
                format!("g {minor:?} {ocp}"),
                0,
            ),
            (
                json!({"id": "g", "version_raw_id_prefix": "4.13", "sts_only": true}),
                format!("g {minor:?} {sts}"),
                0,
            ),
            (
                json!({"id": "g", "version_raw_id_prefix": "4.13", "label": ""}),
                format!("g {minor:?} no label"),
                1,
            ),
            (
                json!({"id": "g", "version_raw_id_prefix": null, "label": ocp}),
                format!("g None {ocp}"),
                1,
            ),
            (
                json!({"version_raw_id_prefix": "4.13", "label": ocp}),
                format!("gate-without-an-id {minor:?} {ocp}"),
                1,
            ),
            (
                json!({"id": "g", "label": 7}),
                "g None no label".to_owned(),
                1,
            ),
            (
                json!("nothing at all"),
                "gate-without-an-id None no label".to_owned(),
                1,
            ),
        ] {
            assert_eq!(read(told.clone()), (expected, problems), "{told}");
        }
    }

    #[test]
    fn only_what_is_ready_is_healthy() {
        for (state, health_state, expected) in [
            (Some("ready"), None, Some(true)),
            (Some("ready"), Some("unknown"), Some(true)),
            (Some("ready"), Some("unhealthy"), Some(false)),
            (Some("hibernating"), Some("healthy"), Some(false)),
            (Some("error"), None, Some(false)),
            (Some("a word of tomorrow"), None, Some(false)),
            (None, None, Some(false)),
            (Some("installing"), None, None),
            (Some("uninstalling"), None, None),
        ] {
            let got = health(state, health_state).map(|health| health.is_healthy());
            assert_eq!(got, expected, "{state:?} {health_state:?}");
        }
    }

    #[test]
    fn an_offer_that_is_none_is_left_out_and_said() {
        let (offers, odd) = offers(
            ["4.9.3", "4.9.2", "4.9", "4.9.1"]
                .map(str::to_owned)
                .to_vec(),
            &"4.9.1".parse().unwrap(),
        );
        let versions: Vec<_> = offers
            .iter()
            .map(|offer| offer.version.to_string())
            .collect();
        assert_eq!((&*versions.join(" "), odd.len()), ("4.9.2 4.9.3", 2));
    }
}
