//! The roster: the fleet with numbers instead of names, so that a pass over it compares integers.
//!
//! Versions are numbered in their order, so the higher number is the higher version. Clusters with
//! equal policies form a *class*. The clusters of a sector that share a workload are a *crowd*.
//! The soak of a workload in an organisation is a *cell*. A roster is built from a
//! [`FleetInput`](super::FleetInput) and follows small changes ([`Roster::seen`]). It decides
//! nothing.

mod build;
mod ceilings;
mod crowds;
mod entries;
mod follow;
mod mutexes;
mod order;
mod question;
mod rows;
mod soak;
mod upgrades;
mod versions;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::sorting::groups_of;
use super::taken_back::TakenBackIndex;
use super::{
    Approval, ClusterState, FleetInput, FleetPolicy, GateConcern, KnownFleet, LeftAlone, Minimum,
    Name, NameClash, Pause, Preflight, Upgrade, UpgradePolicy,
};
use crate::cluster::{ClusterId, Groups};
use crate::finding::Finding;
use crate::table::Table;
use crate::version::{Minor, Minors, Version};

pub(crate) use entries::Entries;
pub use entries::origin_of;
pub use follow::FollowUp;
pub(crate) use question::StartQuestion;
pub(crate) use rows::{
    CalendarEntry, CalendarIdx, Candidate, CellIdx, Class, ClassIdx, Crowd, CrowdIdx, GateEntry,
    MutexEntry, MutexIdx, OrganisationEntry, OrganisationIdx, PatternEntry, PatternIdx,
    SectorEntry, SectorIdx, SoakCell, UpgradeIdx, VersionIdx,
};
pub use rows::{ClusterEntry, ClusterIdx};

#[derive(Debug, Clone, Default)]
pub struct Roster {
    pub(crate) versions: Table<Version>,
    /// Final releases as one number each, with the version's number: looked up without comparing texts.
    finals: Vec<(u64, VersionIdx)>,
    pub(crate) organisations: Table<OrganisationEntry>,
    pub(crate) classes: Table<Class>,
    pub(crate) members: Table<ClusterEntry>,
    /// The clusters in the order in which they are looked at.
    pub(crate) order: Vec<ClusterIdx>,
    pub(crate) cells: Table<SoakCell>,
    pub(crate) sectors: Table<SectorEntry>,
    pub(crate) crowds: Table<Crowd>,
    pub(crate) mutexes: Table<MutexEntry>,
    pub(crate) patterns: Table<PatternEntry>,
    pub(crate) calendars: Table<CalendarEntry>,
    pub(crate) gates: Vec<GateEntry>,
    pub(crate) upgrades: Table<Upgrade>,
    pub(crate) pauses: Vec<Pause>,
    pub(crate) approvals: BTreeMap<ApprovalKey, Approval>,
    pub(crate) taken_back: TakenBackIndex,
    pub(crate) preflights: BTreeMap<ClusterId, BTreeMap<Version, Preflight>>,
    /// Failed upgrades that have not been made good, by sector and version.
    pub(crate) failures: BTreeMap<(SectorIdx, VersionIdx), u32>,
    pub(crate) by_id: BTreeMap<ClusterId, ClusterIdx>,
    pub(crate) minors: Option<Minors>,
    /// Clusters that no policy is about: they are known, and left alone.
    pub(crate) unmanaged: BTreeMap<Name, ClusterState>,
}

/// Organisation, cluster's name (none: all) and version.
type ApprovalKey = (Name, Option<Name>, Version);

impl Roster {
    /// How many clusters it is about.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether it is about none.
    pub fn is_empty(&self) -> bool {
        self.members.rows().is_empty()
    }

    /// The number of the cluster with that id.
    pub fn find(&self, id: &str) -> Option<ClusterIdx> {
        self.by_id.get(id).copied()
    }

    /// The numbers of the clusters, as they were given.
    pub fn numbers(&self) -> impl Iterator<Item = ClusterIdx> + use<> {
        self.members.numbers()
    }

    /// The clusters, with their policies, in no particular order.
    pub fn clusters(&self) -> impl Iterator<Item = (&ClusterState, &UpgradePolicy)> {
        self.members
            .iter()
            .map(|member| (&member.state, &self.classes[member.class].policy))
    }

    /// How each cluster with a policy is sorted. Of a policy with a mistake nobody knows what it would say.
    pub fn groups(&self) -> impl Iterator<Item = (&ClusterState, Option<Groups>)> {
        self.members.iter().map(|member| {
            let class = &self.classes[member.class];
            let is_known = class.problems.is_empty();
            let groups = is_known.then(|| groups_of(&member.state, &class.policy));
            (&member.state, groups)
        })
    }

    /// Whether a policy is about this organisation.
    pub fn has_organisation(&self, id: &str) -> bool {
        self.organisations.rows().iter().any(|one| *one.id == *id)
    }

    /// The organisations, sectors and workloads of clusters that have a policy.
    pub(crate) fn names_in_use(&self) -> [BTreeSet<&str>; 3] {
        let mut names: [BTreeSet<&str>; 3] = Default::default();
        for class in self
            .classes
            .iter()
            .filter(|class| !class.members.is_empty())
        {
            names[0].insert(&self.organisations[class.organisation].id);
            names[1].extend(class.policy.sector.as_deref());
            names[2].extend(class.policy.workloads.iter().map(|workload| &**workload));
        }
        names
    }

    /// Clusters that no policy is about.
    pub fn unmanaged(&self) -> impl Iterator<Item = &ClusterState> {
        self.unmanaged.values()
    }

    /// The cluster of that number.
    pub fn cluster(&self, member: ClusterIdx) -> &ClusterState {
        &self.member(member).state
    }

    /// What the cluster of that number wants.
    pub fn policy(&self, member: ClusterIdx) -> &UpgradePolicy {
        &self.class_of(member).policy
    }

    /// Why the cluster of that number is left alone, if it is.
    pub fn left_alone(&self, member: ClusterIdx) -> Option<&LeftAlone> {
        self.class_of(member).left_alone.as_ref()
    }

    /// What is wrong with its policy.
    pub fn policy_problems(&self, member: ClusterIdx) -> &[Finding] {
        &self.class_of(member).problems
    }

    /// Its upgrade that is planned or runs.
    pub fn upgrade_of(&self, member: ClusterIdx) -> Option<&Upgrade> {
        let number = self.member(member).upgrade?;
        Some(&self.upgrades[number])
    }

    /// What is wrong with the name of the cluster of that number.
    pub fn name_clash(&self, member: ClusterIdx) -> Option<&NameClash> {
        self.member(member).clash.as_ref()
    }

    /// The numbers of the clusters, in the order in which they are looked at: by version, soak days, organisation, id.
    pub fn in_order(&self) -> &[ClusterIdx] {
        &self.order
    }

    /// The preflights of a cluster, by version.
    pub fn preflights(&self, cluster: &ClusterId) -> impl Iterator<Item = &Preflight> {
        let preflights = self.preflights.get(cluster).into_iter();
        preflights.flat_map(BTreeMap::values)
    }

    /// The upgrades it knows of.
    pub fn upgrades(&self) -> &[Upgrade] {
        self.upgrades.rows()
    }

    /// Every cluster and every gate, for what people name when they act.
    pub fn known(&self) -> KnownFleet {
        let members = self.members.iter().map(|member| &member.state);
        KnownFleet {
            clusters: members.chain(self.unmanaged.values()).cloned().collect(),
            gates: self.gates.iter().map(|entry| entry.gate.clone()).collect(),
        }
    }

    /// The input that this roster is of, now that it has followed changes; with the policy and the inherited data it was made with.
    pub fn input(&self, policy: &FleetPolicy, inherited: &BTreeMap<Name, Minimum>) -> FleetInput {
        let KnownFleet { clusters, gates } = self.known();
        FleetInput {
            policy: policy.clone(),
            clusters,
            upgrades: self.upgrades.rows().to_vec(),
            soak: self.own_soak(),
            gates,
            approvals: self.approvals.values().cloned().collect(),
            taken_back: self.taken_back.all(),
            preflights: self
                .preflights
                .values()
                .flat_map(BTreeMap::values)
                .cloned()
                .collect(),
            pauses: self.pauses.clone(),
            inherited: inherited.clone(),
            minors: self.minors.clone(),
        }
    }

    pub(crate) fn member(&self, member: ClusterIdx) -> &ClusterEntry {
        &self.members[member]
    }

    pub(crate) fn class_of(&self, member: ClusterIdx) -> &Class {
        &self.classes[self.member(member).class]
    }

    /// The names of the risks that the cluster's policy accepts on the way to a version, now.
    pub fn accepted_risks(
        &self,
        member: ClusterIdx,
        to: &Version,
        now: Timestamp,
    ) -> BTreeSet<Name> {
        StartQuestion::new(self, member, now).accepted_risks(to)
    }

    /// The ids of gates before a version that the cluster's policy approves and nobody has acknowledged.
    pub fn gates_approved_by_policy(&self, member: ClusterIdx, to: &Version) -> Vec<Name> {
        let (state, policy, to) = (self.cluster(member), self.policy(member), Minor::of(to));
        let ahead = Minor::of(&state.version) < to;
        let gates = self
            .gates
            .iter()
            .filter(|entry| ahead && entry.stands_before(to));
        let concerned =
            gates.filter(|entry| entry.scope.concerns(state) != GateConcern::Unconcerned);
        let open = concerned
            .map(|entry| &entry.gate)
            .filter(|gate| !state.acknowledged_gates.contains(&gate.id));
        open.filter(|gate| policy.gate_approvals.contains(&gate.label))
            .map(|gate| gate.id.clone())
            .collect()
    }
}
