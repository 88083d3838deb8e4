//! The roster: the fleet with numbers for names, so that a pass over it compares integers.
//!
//! Versions are numbered in their order, so the higher number is the higher version. Clusters with equal policies form a
//! *class*; the clusters of a sector that share a workload are a *crowd*; the soak of a workload in an organisation is a
//! *cell*. A roster is built from a [`FleetInput`](super::FleetInput) and follows small changes ([`Roster::seen`]); it decides
//! nothing.

mod build;
mod entries;
mod follow;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::{
    Approval, ClusterState, Exclusion, FleetInput, FleetPolicy, GateConcern, GateScope, LeftAlone,
    MaintenanceWindow, Minimum, Name, NameClash, Pause, Schedule, Schedules, SoakSum, Upgrade,
    UpgradePolicy,
};
use crate::cluster::ClusterId;
use crate::finding::Finding;
use crate::graph::Pattern;
use crate::version::{Minor, Version};

pub(crate) use entries::Entries;
pub use follow::Followed;

#[derive(Debug, Clone, Default)]
pub struct Roster {
    pub(crate) versions: Vec<Version>,
    /// Final releases as one number each, with the version's number: looked up without comparing texts.
    finals: Vec<(u64, u32)>,
    pub(crate) organisations: Vec<OrganisationEntry>,
    pub(crate) classes: Vec<Class>,
    pub(crate) members: Vec<Member>,
    /// The members in the order in which they are looked at.
    pub(crate) order: Vec<u32>,
    pub(crate) cells: Vec<SoakCell>,
    pub(crate) sectors: Vec<SectorEntry>,
    pub(crate) crowds: Vec<Crowd>,
    pub(crate) mutexes: Vec<MutexEntry>,
    pub(crate) patterns: Vec<PatternEntry>,
    pub(crate) calendars: Vec<Calendar>,
    pub(crate) gates: Vec<GateEntry>,
    pub(crate) upgrades: Vec<Upgrade>,
    pub(crate) pauses: Vec<Pause>,
    /// By organisation, cluster's name (none: all) and version.
    pub(crate) approvals: BTreeMap<(Name, Option<Name>, Version), Approval>,
    /// Failed upgrades that have not been made good, by sector and version.
    pub(crate) failures: BTreeMap<(u32, u32), u32>,
    pub(crate) by_id: BTreeMap<ClusterId, u32>,
    /// Clusters that no policy is about: they are known, and left alone.
    pub(crate) unmanaged: BTreeMap<Name, ClusterState>,
}

#[derive(Debug, Clone)]
pub(crate) struct OrganisationEntry {
    pub(crate) id: Name,
    pub(crate) name: Name,
    pub(crate) disabled: bool,
    /// Organisations that inherit from this one.
    pub(crate) has_heirs: bool,
}

/// Clusters of one organisation that want the same.
#[derive(Debug, Clone)]
pub(crate) struct Class {
    pub(crate) organisation: u32,
    pub(crate) policy: UpgradePolicy,
    pub(crate) problems: Vec<Finding>,
    /// Its clusters are left alone: nothing starts there, no sector waits for them, and their time is not credited.
    pub(crate) left_alone: Option<LeftAlone>,
    pub(crate) sector: Option<u32>,
    pub(crate) cells: Vec<u32>,
    pub(crate) soak_seconds: Option<i64>,
    pub(crate) mutexes: Vec<u32>,
    pub(crate) patterns: Vec<u32>,
    pub(crate) calendar: u32,
    /// The crowds that must be on a version first.
    pub(crate) after: Vec<u32>,
    /// The versions that inherited data allows: the cell it is about, and the highest version.
    pub(crate) ceilings: Vec<(Option<u32>, u32)>,
    pub(crate) pin: Option<u32>,
    pub(crate) members: Vec<u32>,
}

#[derive(Debug, Clone)]
pub(crate) struct Member {
    pub(crate) state: ClusterState,
    /// What is wrong with its name. One whose name is taken has the class of an empty policy.
    pub(crate) clash: Option<NameClash>,
    pub(crate) class: u32,
    pub(crate) version: u32,
    /// Its own id, where somebody else declares that as a mutex.
    pub(crate) itself: Option<u32>,
    /// Its upgrade that is planned or under way.
    pub(crate) upgrade: Option<u32>,
    /// Its newest failed upgrade, while it is below where that went.
    pub(crate) failed: Option<u32>,
    /// Whether it has one at all.
    pub(crate) has_failed: bool,
    /// The versions that the API refused lately, each with its newest refused upgrade.
    pub(crate) refused: Vec<(u32, u32)>,
    /// What it could go to, highest first.
    pub(crate) candidates: Box<[Candidate]>,
}

/// A version that a member could go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) version: u32,
    /// Its place among the cluster's offers.
    pub(crate) offer: u32,
    /// The rules that held it when it was last judged, as bits.
    pub(crate) holds: u32,
}

/// How long a workload has run on each version in an organisation.
#[derive(Debug, Clone)]
pub(crate) struct SoakCell {
    pub(crate) organisation: u32,
    pub(crate) workload: Name,
    /// By version; inherited days included.
    pub(crate) seconds: Vec<i64>,
    /// By version; the organisation's own alone.
    pub(crate) own_seconds: Vec<i64>,
    /// By version; how many healthy clusters of the organisation are on it.
    pub(crate) soaking: Vec<u32>,
    /// Cells of other organisations that inherit from this one.
    pub(crate) heirs: Vec<u32>,
    /// Cells of other organisations that this one inherits from.
    pub(crate) donors: Vec<u32>,
    pub(crate) classes: Vec<u32>,
}

#[derive(Debug, Clone)]
pub(crate) struct SectorEntry {
    pub(crate) name: Name,
    pub(crate) max_parallel: Option<super::Parallel>,
    pub(crate) max_failures: Option<u32>,
    pub(crate) straggler_days: Option<u32>,
    pub(crate) depends_on: Vec<u32>,
    /// How many of its clusters declare each mutex: those that are bound, and all.
    pub(crate) with_mutex: BTreeMap<u32, (u32, u32)>,
}

/// The clusters of a sector that have a workload.
#[derive(Debug, Clone)]
pub(crate) struct Crowd {
    pub(crate) sector: u32,
    pub(crate) cell: u32,
    /// Those that count, by version, lowest first: the bound ones, or all if none is bound.
    pub(crate) members: BTreeSet<(u32, u32)>,
    /// The first of them.
    pub(crate) lowest: (u32, u32),
    /// Classes that come after it.
    pub(crate) followers: Vec<u32>,
}

#[derive(Debug, Clone)]
pub(crate) struct MutexEntry {
    pub(crate) name: Name,
    /// None: shared between organisations.
    pub(crate) organisation: Option<u32>,
    /// Members whose upgrade holds it.
    pub(crate) holders: BTreeSet<u32>,
    /// How many of them are in each sector.
    pub(crate) in_sector: BTreeMap<u32, u32>,
}

#[derive(Debug, Clone)]
pub(crate) struct PatternEntry {
    pub(crate) pattern: Pattern,
    /// Whether it is the organisation's.
    pub(crate) of_organisation: bool,
    pub(crate) blocks: Vec<bool>,
}

/// A schedule with its windows and exclusions.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Calendar {
    pub(crate) schedule: Option<Schedule>,
    pub(crate) windows: Vec<MaintenanceWindow>,
    pub(crate) exclusions: Vec<Exclusion>,
}

#[derive(Debug, Clone)]
pub(crate) struct GateEntry {
    pub(crate) gate: super::Gate,
    /// None: it does not say which, so it stands before every minor version.
    pub(crate) before: Option<Minor>,
    pub(crate) scope: GateScope,
}

impl GateEntry {
    pub(crate) fn stands_before(&self, minor: Minor) -> bool {
        self.before.is_none_or(|before| before == minor)
    }
}

impl Roster {
    /// How many clusters it is about.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether it is about none.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The number of the cluster with that id.
    pub fn find(&self, id: &str) -> Option<u32> {
        self.by_id.get(id).copied()
    }

    /// The clusters, with their policies, in no particular order.
    pub fn clusters(&self) -> impl Iterator<Item = (&ClusterState, &UpgradePolicy)> {
        self.members
            .iter()
            .map(|member| (&member.state, &self.classes[member.class as usize].policy))
    }

    /// Clusters that no policy is about.
    pub fn unmanaged(&self) -> impl Iterator<Item = &ClusterState> {
        self.unmanaged.values()
    }

    /// The cluster of that number.
    pub fn cluster(&self, member: u32) -> &ClusterState {
        &self.member(member).state
    }

    /// What the cluster of that number wants.
    pub fn policy(&self, member: u32) -> &UpgradePolicy {
        &self.class_of(member).policy
    }

    /// What is wrong with the name of the cluster of that number.
    pub fn name_clash(&self, member: u32) -> Option<&NameClash> {
        self.member(member).clash.as_ref()
    }

    /// The numbers of the clusters, in the order in which they are looked at: by version, soak days, organisation, id.
    pub fn in_order(&self) -> &[u32] {
        &self.order
    }

    /// The upgrades it knows of.
    pub fn upgrades(&self) -> &[Upgrade] {
        &self.upgrades
    }

    /// The days of each workload on each version in each organisation, inherited ones included.
    pub fn soak(&self) -> impl Iterator<Item = (&Name, &Name, &Version, i64)> {
        self.cells.iter().flat_map(move |cell| {
            let organisation = &self.organisations[cell.organisation as usize].id;
            let seconds = cell
                .seconds
                .iter()
                .zip(&self.versions)
                .filter(|(seconds, _)| **seconds > 0);
            seconds.map(move |(seconds, version)| (organisation, &cell.workload, version, *seconds))
        })
    }

    /// The input that this roster is of, now that it has followed changes; with the policy and the inherited data it was made with.
    pub fn input(&self, policy: &FleetPolicy, inherited: &BTreeMap<Name, Minimum>) -> FleetInput {
        FleetInput {
            policy: policy.clone(),
            clusters: self
                .members
                .iter()
                .map(|member| &member.state)
                .chain(self.unmanaged.values())
                .cloned()
                .collect(),
            upgrades: self.upgrades.clone(),
            soak: self.own_soak(),
            gates: self.gates.iter().map(|entry| entry.gate.clone()).collect(),
            approvals: self.approvals.values().cloned().collect(),
            pauses: self.pauses.clone(),
            inherited: inherited.clone(),
        }
    }

    /// The organisations' own soak, as an input has it.
    pub fn own_soak(&self) -> Vec<SoakSum> {
        let sums = self.cells.iter().flat_map(|cell| {
            let own = cell
                .own_seconds
                .iter()
                .zip(&self.versions)
                .filter(|(seconds, _)| **seconds > 0);
            own.map(|(seconds, version)| SoakSum {
                organisation: self.organisations[cell.organisation as usize].id.clone(),
                workload: cell.workload.clone(),
                version: version.clone(),
                seconds: *seconds,
            })
        });
        sums.collect()
    }

    /// How many clusters are adding to a cell's soak on a version, those of inherited data included.
    pub(crate) fn soaking(&self, cell: u32, version: u32) -> u32 {
        let cells = [cell]
            .into_iter()
            .chain(self.cells[cell as usize].donors.iter().copied());
        cells
            .map(|cell| self.cells[cell as usize].soaking[version as usize])
            .sum()
    }

    /// Counts, or no longer counts, a healthy member where it adds to the soak.
    pub(crate) fn count_soaking(&mut self, member: u32, counts: bool) {
        let Member { class, version, .. } = &self.members[member as usize];
        if self.members[member as usize].adds_soak() {
            for cell in &self.classes[*class as usize].cells {
                let soaking = &mut self.cells[*cell as usize].soaking[*version as usize];
                *soaking = if counts { *soaking + 1 } else { *soaking - 1 };
            }
        }
    }

    pub(crate) fn member(&self, member: u32) -> &Member {
        &self.members[member as usize]
    }

    pub(crate) fn class_of(&self, member: u32) -> &Class {
        &self.classes[self.member(member).class as usize]
    }

    pub(crate) fn version(&self, version: u32) -> &Version {
        &self.versions[version as usize]
    }

    pub(crate) fn version_number(&self, version: &Version) -> Option<u32> {
        match build::packed(version) {
            Some(key) => self
                .finals
                .binary_search_by_key(&key, |(key, _)| *key)
                .ok()
                .map(|at| self.finals[at].1),
            None => self
                .versions
                .binary_search(version)
                .ok()
                .map(|at| at as u32),
        }
    }

    /// The ids of gates before a version that the cluster's policy approves and nobody has acknowledged.
    pub fn gates_approved_by_policy(&self, member: u32, to: &Version) -> Vec<Name> {
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

    fn turn(&self, member: u32) -> (u32, u32, u32, &str) {
        let (of, class) = (self.member(member), self.class_of(member));
        (
            of.version,
            class.policy.soak_days.unwrap_or(0),
            class.organisation,
            of.state.id.as_str(),
        )
    }

    /// All members by their turn. The numbers decide almost always, so ids are looked at last.
    fn sorted_by_turn(&self) -> Vec<u32> {
        let numbers = |(member, of): (usize, &Member)| {
            let class = &self.classes[of.class as usize];
            (
                of.version,
                class.policy.soak_days.unwrap_or(0),
                class.organisation,
                member as u32,
            )
        };
        let mut turns: Vec<(u32, u32, u32, u32)> =
            self.members.iter().enumerate().map(numbers).collect();
        let id = |member: u32| self.member(member).state.id.as_str();
        turns.sort_unstable_by(|a, b| {
            (a.0, a.1, a.2)
                .cmp(&(b.0, b.1, b.2))
                .then_with(|| id(a.3).cmp(id(b.3)))
        });
        turns.into_iter().map(|turn| turn.3).collect()
    }

    /// The limit of parallel upgrades for a mutex in a sector.
    pub(crate) fn limit(&self, sector: u32, mutex: u32) -> Option<u32> {
        let sector = &self.sectors[sector as usize];
        // Clusters that nobody vouches for must not raise a limit.
        let clusters = sector
            .with_mutex
            .get(&mutex)
            .map_or(0, |(bound, all)| if *bound > 0 { *bound } else { *all });
        sector.max_parallel.map(|parallel| parallel.limit(clusters))
    }

    /// The mutexes that an upgrade of the member takes.
    pub(crate) fn mutexes_of(&self, member: u32) -> impl Iterator<Item = u32> + '_ {
        self.class_of(member)
            .mutexes
            .iter()
            .copied()
            .chain(self.member(member).itself)
    }

    pub(crate) fn take_mutexes(&mut self, member: u32) {
        for mutex in self.mutexes_of(member).collect::<Vec<_>>() {
            let sector = self.class_of(member).sector;
            let entry = &mut self.mutexes[mutex as usize];
            if let (true, Some(sector)) = (entry.holders.insert(member), sector) {
                *entry.in_sector.entry(sector).or_default() += 1;
            }
        }
    }

    pub(crate) fn give_mutexes_back(&mut self, member: u32) {
        for mutex in self.mutexes_of(member).collect::<Vec<_>>() {
            let sector = self.class_of(member).sector;
            let entry = &mut self.mutexes[mutex as usize];
            if let (true, Some(count)) = (
                entry.holders.remove(&member),
                sector.and_then(|s| entry.in_sector.get_mut(&s)),
            ) {
                *count -= 1;
            }
        }
    }
}

impl Calendar {
    pub(crate) fn schedules(&self) -> Schedules<'_> {
        Schedules {
            schedule: self.schedule.as_ref(),
            windows: &self.windows,
            exclusions: &self.exclusions,
        }
    }
}

impl Member {
    /// Whether its time counts: it is well, it is bound, and nobody else has its name.
    pub(crate) fn adds_soak(&self) -> bool {
        self.state.health.is_healthy() && self.state.binding.is_bound() && self.clash.is_none()
    }
}

impl Candidate {
    /// Whether nothing but the cluster's own situation stands in its way.
    pub(crate) fn is_free(&self) -> bool {
        self.holds == 0
    }
}

/// May this cluster start, and go to this version, now? What a rule of the fleet looks at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StartQuestion<'a> {
    pub(crate) roster: &'a Roster,
    pub(crate) number: u32,
    pub(crate) member: &'a Member,
    pub(crate) class: &'a Class,
    /// The version; none where only the cluster is asked about.
    pub(crate) candidate: Option<&'a Candidate>,
    pub(crate) now: Timestamp,
}

impl<'a> StartQuestion<'a> {
    pub(crate) fn new(roster: &'a Roster, number: u32, now: Timestamp) -> Self {
        Self {
            roster,
            number,
            member: roster.member(number),
            class: roster.class_of(number),
            candidate: None,
            now,
        }
    }

    /// The same about a version.
    pub(crate) fn about(&self, candidate: &'a Candidate) -> Self {
        Self {
            candidate: Some(candidate),
            ..*self
        }
    }
}
