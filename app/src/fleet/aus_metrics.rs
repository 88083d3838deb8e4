//! The fleet's numbers as AUS's dashboards want them: `serve --aus-metrics`.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use towpath_core::fleet::{
    CandidateSoak, ClusterIdx, Decision, Filter, FleetPlanner, FleetPolicy, Name, Organisation,
    Product, Upgrade, UpgradeId,
};
use towpath_web::{AusCluster, AusMetrics, AusOrganisation, AusRemaining, AusSoak};

use super::published_fleet::DecidedFleet;

/// All but the failed passes, which the loop counts.
pub(super) fn aus_metrics(published: &DecidedFleet, at: Timestamp) -> AusMetrics {
    let (planner, policy) = (&published.planner, &*published.policy);
    let roster = planner.roster();
    let rows = Filter::default().clusters(planner, at).into_iter();
    let clusters = rows.filter_map(|row| {
        let state = roster.cluster(roster.find(row.id.as_str())?);
        let organisation = policy.organisations.get(&row.organisation);
        let name = organisation.map_or(&row.organisation, |organisation| &organisation.name);
        Some(AusCluster {
            environment: environment(organisation),
            organisation_name: name.clone(),
            is_hosted: matches!(state.product, Product::HostedControlPlane { .. }),
            is_healthy: state.health.is_healthy(),
            row,
        })
    });
    AusMetrics {
        organisations: policy.organisations.values().map(organisation).collect(),
        clusters: clusters.collect(),
        remaining_soak: remaining_soak(planner, policy, &published.decision).collect(),
        failed_passes: 0,
    }
}

fn organisation(organisation: &Organisation) -> AusOrganisation {
    let of_clusters = organisation.clusters.iter().map(|entry| &entry.problems);
    let of_defaults = organisation.defaults.iter().map(|entry| &entry.problems);
    let problems = of_clusters.chain(of_defaults).flatten();
    AusOrganisation {
        id: organisation.id.clone(),
        environment: environment(Some(organisation)),
        errors: problems.filter(|problem| problem.is_error()).count() as u64,
    }
}

fn environment(organisation: Option<&Organisation>) -> Name {
    let told = organisation.and_then(|organisation| organisation.environment.clone());
    told.unwrap_or_else(|| "".into())
}

fn remaining_soak(
    planner: &FleetPlanner,
    policy: &FleetPolicy,
    decision: &Decision,
) -> impl Iterator<Item = AusSoak> {
    let roster = planner.roster();
    let overdue: BTreeSet<UpgradeId> = decision.overdue.iter().map(|one| one.upgrade).collect();
    let active = roster.upgrades().iter();
    let active = active.filter(|upgrade| upgrade.state.is_active() && upgrade.pool.is_none());
    let active: BTreeMap<&str, &Upgrade> = active
        .map(|upgrade| (upgrade.cluster.as_str(), upgrade))
        .collect();
    let of_member = move |member: &ClusterIdx| {
        let state = roster.cluster(*member);
        let (id, upgrade) = (state.id.as_str(), active.get(state.id.as_str()).copied());
        let is_late = upgrade.is_some_and(|upgrade| overdue.contains(&upgrade.id));
        let environment = environment(policy.organisations.get(&state.organisation));
        let candidates = planner.remaining_soak(*member).into_iter();
        candidates.map(move |candidate| AusSoak {
            environment: environment.clone(),
            cluster: id.into(),
            remaining: remaining(&candidate, upgrade, is_late),
            version: candidate.version,
        })
    };
    roster.in_order().iter().flat_map(of_member)
}

fn remaining(candidate: &CandidateSoak, upgrade: Option<&Upgrade>, is_late: bool) -> AusRemaining {
    match upgrade.filter(|upgrade| upgrade.to == candidate.version) {
        Some(upgrade) => AusRemaining::of_upgrade(upgrade.state, is_late),
        None if candidate.is_blocked => AusRemaining::Blocked,
        None => AusRemaining::Seconds(candidate.remaining_seconds),
    }
}
