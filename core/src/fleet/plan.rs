//! The plan: what starts in a part of the fleet, what is planned or under way already, and who waits for what.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    CandidateWhy, ClusterIdx, Decision, Filter, FleetPlanner, RuleId, Start, Upgrade, UpgradeState,
    best_candidate,
};

/// What would be done now in a part of the fleet.
pub struct FleetPlan<'a> {
    pub decision: &'a Decision,
    /// What would be planned now, each with the time at which it starts.
    pub starts: Vec<&'a Start>,
    /// Upgrades that are planned already, by their time.
    pub planned: Vec<ActiveUpgrade<'a>>,
    /// Upgrades that run, by when they began.
    pub under_way: Vec<ActiveUpgrade<'a>>,
    /// Clusters that could go further, do not start and are not on their way: each with the candidate that is expected first, else
    /// held least.
    pub waiting: Vec<(ClusterIdx, CandidateWhy)>,
    /// How many of those that wait each rule holds; a cluster may be held by several.
    pub holds: BTreeMap<RuleId, u64>,
}

/// An upgrade that is planned or runs.
#[derive(Debug, Clone, Copy)]
pub struct ActiveUpgrade<'a> {
    pub upgrade: &'a Upgrade,
    pub cluster: ClusterIdx,
}

impl<'a> ActiveUpgrade<'a> {
    /// All that are planned or run, of clusters that have a policy, by their time.
    pub fn all(desk: &'a FleetPlanner) -> Vec<Self> {
        let upgrades = desk.roster().upgrades().iter();
        let active = upgrades.filter(|upgrade| upgrade.state.is_active());
        let mut active: Vec<Self> = active
            .filter_map(|upgrade| {
                let cluster = desk.roster().find(upgrade.cluster.as_str())?;
                Some(Self { upgrade, cluster })
            })
            .collect();
        active.sort_by_key(|one| (one.upgrade.start_at, one.upgrade.id));
        active
    }

    pub fn is_planned(&self) -> bool {
        self.upgrade.state == UpgradeState::Planned
    }
}

impl Filter {
    pub fn plan<'a>(&self, desk: &'a FleetPlanner, decision: &'a Decision) -> FleetPlan<'a> {
        let now = decision.at;
        let meant: BTreeSet<ClusterIdx> = self.members(desk, now).collect();
        let starts: Vec<(ClusterIdx, &Start)> = desk.pending_starts(decision).collect();
        let active = ActiveUpgrade::all(desk);
        let busy: BTreeSet<ClusterIdx> = starts
            .iter()
            .map(|(member, _)| *member)
            .chain(active.iter().map(|one| one.cluster))
            .collect();
        let (planned, under_way) = active
            .into_iter()
            .filter(|one| meant.contains(&one.cluster))
            .partition(ActiveUpgrade::is_planned);
        let idle = self
            .members(desk, now)
            .filter(|member| !busy.contains(member));
        let waiting: Vec<(ClusterIdx, CandidateWhy)> = idle
            .filter_map(|member| Some((member, best_candidate(desk, member, now)?)))
            .collect();
        let mut holds = BTreeMap::new();
        for rule in waiting
            .iter()
            .flat_map(|(member, _)| desk.held_by(*member, now))
        {
            *holds.entry(rule).or_default() += 1;
        }
        let is_meant =
            |(member, start): (ClusterIdx, &'a Start)| meant.contains(&member).then_some(start);
        FleetPlan {
            decision,
            starts: starts.into_iter().filter_map(is_meant).collect(),
            planned,
            under_way,
            waiting,
            holds,
        }
    }
}
