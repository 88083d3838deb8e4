//! Orders: what the fleet asks of one cluster. The update that it has started, with the risks that its policy accepts, and a preflight.

use std::collections::BTreeSet;

use jiff::Timestamp;
use towpath_core::agent::{ChannelOrder, FleetOrders, OrderedUpdate, OrdersUse, PreflightOrder};
use towpath_core::cluster::ClusterId;
use towpath_core::fleet::preflight::may_run;
use towpath_core::fleet::{ClusterState, Name, Offer, Preflight, Upgrade, UpgradeState};
use towpath_core::version::{Arch, Version};
use towpath_formats::agent::orders;
use towpath_store::Store;
use towpath_web::FleetAnswer;

use super::published_fleet::{DecidedFleet, GraphHandle};

/// What the last decision says about a cluster.
pub(super) struct KnownCluster {
    version: Version,
    arch: Arch,
    update: Option<OrderedUpdate>,
    may_run_preflight: bool,
}

/// None if no policy is about the cluster.
pub(super) fn known(
    published: &DecidedFleet,
    cluster: &ClusterId,
    now: Timestamp,
) -> Option<KnownCluster> {
    let roster = published.planner.roster();
    let member = roster.find(cluster.as_str())?;
    let (state, policy) = (roster.cluster(member), roster.policy(member));
    let started = roster.upgrades().iter().find(|upgrade| {
        upgrade.cluster == *cluster
            && upgrade.state == UpgradeState::Started
            && upgrade.pool.is_none()
    });
    let update = started.map(|upgrade| {
        let names = roster.accepted_risks(member, &upgrade.to, now);
        let accepted = policy.accepted_risks.iter();
        let accepted = accepted.filter(|risk| names.contains(&risk.name));
        OrderedUpdate {
            to: upgrade.to.clone(),
            channel: channel(state, upgrade, &names),
            accepted: accepted.cloned().collect(),
        }
    });
    Some(KnownCluster {
        version: state.version.clone(),
        arch: state.arch.clone(),
        update,
        may_run_preflight: may_run(policy, now),
    })
}

/// The channel that the update needs, while the cluster is not in it, its agent sets channels, and the graph still offers the
/// update there.
fn channel(
    state: &ClusterState,
    upgrade: &Upgrade,
    accepted: &BTreeSet<Name>,
) -> Option<ChannelOrder> {
    let to = upgrade.channel.as_ref().filter(|_| state.sets_channels())?;
    let is_free = |offer: &Offer| match &offer.objection {
        None => true,
        Some(objection) => !objection.risks.is_empty() && objection.risks.is_subset(accepted),
    };
    let mut offers = state.offers.iter();
    let is_offered = offers.any(|offer| {
        offer.version == upgrade.to && offer.channel.as_ref() == Some(to) && is_free(offer)
    });
    is_offered.then(|| ChannelOrder {
        from: state.channel.clone(),
        to: to.clone(),
    })
}

/// The orders, as they are sealed. A preflight that is told to somebody who acts counts as running.
pub(super) async fn answer(
    store: &Store,
    graph: &GraphHandle,
    (cluster, purpose): (&ClusterId, OrdersUse),
    known: Option<KnownCluster>,
    now: Timestamp,
) -> FleetAnswer {
    let Some(known) = known else {
        return FleetAnswer::Json(orders::write(&FleetOrders::default()));
    };
    let told = match (known.may_run_preflight, purpose) {
        (true, OrdersUse::Act) => store.tell_preflight(cluster, &known.version, now).await,
        (true, OrdersUse::Look) => store.next_preflight(cluster, now).await,
        (false, _) => Ok(None),
    };
    match told {
        Ok(told) => {
            let preflight = told.map(|told| order(told, graph, &known.arch));
            let update = known.update;
            FleetAnswer::Json(orders::write(&FleetOrders { update, preflight }))
        }
        Err(error) => FleetAnswer::Unavailable(error.to_string()),
    }
}

/// With the image of the release, if the graph has it.
fn order(told: Preflight, graph: &GraphHandle, arch: &Arch) -> PreflightOrder {
    let release = graph.graph().and_then(|graph| {
        let found = graph.find(&told.version, arch)?;
        Some(graph.release(found))
    });
    PreflightOrder {
        id: told.id,
        version: told.version,
        image: release.map(|release| (*release.payload).into()),
    }
}
