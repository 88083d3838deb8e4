//! The fleet's status per organisation, sector and workload: what runs, what soaks, what is under
//! way, and what comes next.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::dispatch::{Decision, FleetPlanner};
use crate::cluster::ClusterId;
use crate::fleet::{ClusterIdx, Name, RuleId, UpgradeState};
use crate::verdict::Answer;
use crate::version::Version;

/// The clusters of a sector that have a workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusRow {
    pub organisation: Name,
    /// The sector; none for clusters without one.
    pub sector: Option<Name>,
    pub workload: Name,
    pub versions: BTreeMap<Version, u32>,
    /// Versions that somebody here waits for to soak: how long they have, and the most that somebody needs, in seconds.
    pub soaking: BTreeMap<Version, (i64, i64)>,
    /// Upgrades that are planned or under way: the cluster by id and name, where to, how far.
    pub under_way: Vec<(ClusterId, Name, Version, UpgradeState)>,
    pub next: Option<Next>,
    /// How many clusters wait, by what for.
    pub held: BTreeMap<RuleId, u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Next {
    /// When; first, so that the earliest comes first.
    pub at: Timestamp,
    pub cluster: Name,
    pub id: ClusterId,
    pub to: Version,
    /// Whether it starts now, or is only expected.
    pub starts: bool,
}

/// The status of those members of the fleet that are meant, after a decision.
pub fn status(
    desk: &FleetPlanner,
    decision: &Decision,
    is_meant: &dyn Fn(ClusterIdx) -> bool,
) -> Vec<StatusRow> {
    let mut rows: BTreeMap<(Name, Option<Name>, Name), StatusRow> = BTreeMap::new();
    let starts: BTreeMap<&str, _> = desk
        .pending_starts(decision)
        .map(|(_, start)| (start.cluster.as_str(), start))
        .collect();
    let active = desk
        .roster()
        .upgrades()
        .iter()
        .filter(|upgrade| upgrade.state.is_active());
    let active: BTreeMap<&str, _> = active
        .map(|upgrade| (upgrade.cluster.as_str(), upgrade))
        .collect();
    for member in desk
        .roster()
        .in_order()
        .iter()
        .filter(|member| is_meant(**member))
    {
        let (state, policy) = (
            desk.roster().cluster(*member),
            desk.roster().policy(*member),
        );
        let held = desk.held_by(*member, decision.at);
        let next = match starts.get(state.id.as_str()) {
            Some(start) => Some(Next {
                at: start.at,
                cluster: state.name.clone(),
                id: state.id.clone(),
                to: start.to.clone(),
                starts: true,
            }),
            None => expected_next(desk, *member, decision.at),
        };
        for workload in &policy.workloads {
            let key = (
                state.organisation.clone(),
                policy.sector.clone(),
                workload.clone(),
            );
            let row = rows.entry(key).or_insert_with(|| StatusRow {
                organisation: state.organisation.clone(),
                sector: policy.sector.clone(),
                workload: workload.clone(),
                versions: BTreeMap::new(),
                soaking: BTreeMap::new(),
                under_way: Vec::new(),
                next: None,
                held: BTreeMap::new(),
            });
            *row.versions.entry(state.version.clone()).or_default() += 1;
            if let Some(upgrade) = active.get(state.id.as_str()) {
                row.under_way.push((
                    state.id.clone(),
                    state.name.clone(),
                    upgrade.to.clone(),
                    upgrade.state,
                ));
            }
            for (version, have, need) in desk.soak_of(*member, workload) {
                let most = row.soaking.entry(version).or_insert((have, need));
                most.1 = most.1.max(need);
            }
            count(&mut row.held, &held);
            row.next = row.next.take().into_iter().chain(next.clone()).min();
        }
    }
    rows.into_values().collect()
}

fn count(counts: &mut BTreeMap<RuleId, u32>, held: &BTreeSet<RuleId>) {
    for code in held {
        *counts.entry(*code).or_default() += 1;
    }
}

/// The first version that a cluster is expected to be let to, by what can be said now.
pub(super) fn expected_next(
    desk: &FleetPlanner,
    member: ClusterIdx,
    now: Timestamp,
) -> Option<Next> {
    let state = desk.roster().cluster(member);
    let why = desk.why(member, now);
    let opens = why
        .candidates
        .into_iter()
        .filter_map(|candidate| match candidate.verdict.answer {
            Answer::Wait { until: Some(at) } => Some(Next {
                at,
                cluster: state.name.clone(),
                id: state.id.clone(),
                to: candidate.to,
                starts: false,
            }),
            _ => None,
        });
    opens.min_by(|a, b| (a.at, &b.to).cmp(&(b.at, &a.to)))
}
