//! The rows of the roster's tables, and the numbers by which they find each other.

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::Finding;
use crate::fleet::{
    ClusterState, Exclusion, GateScope, LeftAlone, MaintenanceWindow, Name, NameClash, Offer,
    Parallel, Schedule, Schedules, Upgrade, UpgradePolicy, VersionGate,
};
use crate::graph::Pattern;
use crate::table::{Idx, Table};
use crate::version::{Minor, Version};

pub(crate) type VersionIdx = Idx<Version>;
pub(crate) type OrganisationIdx = Idx<OrganisationEntry>;
pub(crate) type ClassIdx = Idx<Class>;
pub type ClusterIdx = Idx<ClusterEntry>;
pub(crate) type CellIdx = Idx<SoakCell>;
pub(crate) type SectorIdx = Idx<SectorEntry>;
pub(crate) type CrowdIdx = Idx<Crowd>;
pub(crate) type MutexIdx = Idx<MutexEntry>;
pub(crate) type PatternIdx = Idx<PatternEntry>;
pub(crate) type CalendarIdx = Idx<CalendarEntry>;
pub(crate) type UpgradeIdx = Idx<Upgrade>;

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
    pub(crate) organisation: OrganisationIdx,
    pub(crate) policy: UpgradePolicy,
    pub(crate) problems: Vec<Finding>,
    /// Its clusters are left alone: nothing starts there, no sector waits for them, and their time is not credited.
    pub(crate) left_alone: Option<LeftAlone>,
    pub(crate) sector: Option<SectorIdx>,
    pub(crate) cells: Vec<CellIdx>,
    pub(crate) soak_seconds: Option<i64>,
    pub(crate) mutexes: Vec<MutexIdx>,
    pub(crate) patterns: Vec<PatternIdx>,
    pub(crate) calendar: CalendarIdx,
    /// The crowds that must be on a version first.
    pub(crate) after: Vec<CrowdIdx>,
    /// The versions that inherited data allows: the cell it is about, and the highest version.
    pub(crate) ceilings: Vec<(Option<CellIdx>, VersionIdx)>,
    pub(crate) pin: Option<VersionIdx>,
    pub(crate) members: Vec<ClusterIdx>,
}

/// A cluster that a policy is about.
#[derive(Debug, Clone)]
pub struct ClusterEntry {
    pub(crate) state: ClusterState,
    /// What is wrong with its name. One whose name is taken has the class of an empty policy.
    pub(crate) clash: Option<NameClash>,
    pub(crate) class: ClassIdx,
    pub(crate) version: VersionIdx,
    /// Its own id, where somebody else declares that as a mutex.
    pub(crate) itself: Option<MutexIdx>,
    /// Its upgrade that is planned or under way.
    pub(crate) upgrade: Option<UpgradeIdx>,
    /// Its newest failed upgrade, while it is below where that went.
    pub(crate) failed: Option<UpgradeIdx>,
    /// Whether it has one at all.
    pub(crate) has_failed: bool,
    /// The versions that the API refused lately, each with its newest refused upgrade.
    pub(crate) refused: Vec<(VersionIdx, UpgradeIdx)>,
    /// What it could go to, highest first.
    pub(crate) candidates: Box<[Candidate]>,
}

/// A version that a cluster could go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) version: VersionIdx,
    /// Its place among the cluster's offers.
    pub(crate) offer: Idx<Offer>,
    /// The rules that held it when it was last judged, as bits.
    pub(crate) holds: u32,
}

/// How long a workload has run on each version in an organisation.
#[derive(Debug, Clone)]
pub(crate) struct SoakCell {
    pub(crate) organisation: OrganisationIdx,
    pub(crate) workload: Name,
    /// Inherited days included.
    pub(crate) seconds: Table<Version, i64>,
    /// The organisation's own alone.
    pub(crate) own_seconds: Table<Version, i64>,
    /// How many healthy clusters of the organisation are on it.
    pub(crate) soaking: Table<Version, u32>,
    /// Cells of other organisations that inherit from this one.
    pub(crate) heirs: Vec<CellIdx>,
    /// Cells of other organisations that this one inherits from.
    pub(crate) donors: Vec<CellIdx>,
    pub(crate) classes: Vec<ClassIdx>,
}

#[derive(Debug, Clone)]
pub(crate) struct SectorEntry {
    pub(crate) name: Name,
    pub(crate) max_parallel: Option<Parallel>,
    pub(crate) max_failures: Option<u32>,
    pub(crate) straggler_days: Option<u32>,
    pub(crate) depends_on: Vec<SectorIdx>,
    /// How many of its clusters declare each mutex: those that are bound, and all.
    pub(crate) with_mutex: BTreeMap<MutexIdx, (u32, u32)>,
}

/// The clusters of a sector that have a workload.
#[derive(Debug, Clone)]
pub(crate) struct Crowd {
    pub(crate) sector: SectorIdx,
    pub(crate) cell: CellIdx,
    /// Those that count, by version, lowest first: the bound ones, or all if none is bound.
    pub(crate) members: BTreeSet<(VersionIdx, ClusterIdx)>,
    /// The first of them.
    pub(crate) lowest: (VersionIdx, ClusterIdx),
    /// Classes that come after it.
    pub(crate) followers: Vec<ClassIdx>,
}

#[derive(Debug, Clone)]
pub(crate) struct MutexEntry {
    pub(crate) name: Name,
    /// None: shared between organisations.
    pub(crate) organisation: Option<OrganisationIdx>,
    /// Clusters whose upgrade holds it.
    pub(crate) holders: BTreeSet<ClusterIdx>,
    /// How many of them are in each sector.
    pub(crate) in_sector: BTreeMap<SectorIdx, u32>,
}

#[derive(Debug, Clone)]
pub(crate) struct PatternEntry {
    pub(crate) pattern: Pattern,
    /// Whether it is the organisation's.
    pub(crate) of_organisation: bool,
    pub(crate) blocks: Table<Version, bool>,
}

/// A schedule with its windows and exclusions.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CalendarEntry {
    pub(crate) schedule: Option<Schedule>,
    pub(crate) windows: Vec<MaintenanceWindow>,
    pub(crate) exclusions: Vec<Exclusion>,
}

#[derive(Debug, Clone)]
pub(crate) struct GateEntry {
    pub(crate) gate: VersionGate,
    /// None: it does not say which, so it stands before every minor version.
    pub(crate) before: Option<Minor>,
    pub(crate) scope: GateScope,
}

impl ClusterEntry {
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

impl CalendarEntry {
    pub(crate) fn schedules(&self) -> Schedules<'_> {
        Schedules {
            schedule: self.schedule.as_ref(),
            windows: &self.windows,
            exclusions: &self.exclusions,
        }
    }
}

impl GateEntry {
    pub(crate) fn stands_before(&self, minor: Minor) -> bool {
        self.before.is_none_or(|before| before == minor)
    }
}
