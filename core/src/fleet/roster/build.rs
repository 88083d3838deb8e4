//! Building a roster: names get numbers, and policies become classes.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    CalendarEntry, CalendarIdx, CellIdx, Class, ClassIdx, ClusterEntry, Entries, GateEntry,
    MutexEntry, MutexIdx, OrganisationEntry, OrganisationIdx, PatternEntry, PatternIdx, Roster,
    SectorEntry, SectorIdx, SoakCell, entries::WantedPolicy,
};
use crate::cluster::ClusterId;
use crate::fleet::{
    Approval, ClusterState, FleetInput, FleetPolicy, LeftAlone, Name, NameClash, Preflight,
    UpgradePolicy, VersionGate, name_clashes,
};
use crate::graph::Pattern;
use crate::table::{Idx, Table};
use crate::version::Version;

const SECONDS_PER_DAY: i64 = 86_400;

impl Roster {
    /// Numbers everything. Clusters without a policy are left out.
    pub fn new(input: FleetInput) -> Self {
        let mut builder = Builder {
            roster: Self::of_versions(&input),
            ..Builder::default()
        };
        builder.organisations(&input.policy);
        let entries = Entries::new(&input.policy);
        let mut clashes = name_clashes(&input.clusters);
        let nothing = UpgradePolicy::default();
        for state in input.clusters {
            let clash = clashes.remove(&state.id);
            builder.member(&entries, state, clash, &nothing);
        }
        let numbered = builder.roster.members.numbered();
        builder.roster.by_id = numbered
            .map(|(number, member)| (member.state.id.clone(), number))
            .collect();
        builder.soak(&input.soak, &input.policy);
        builder.crowds();
        builder.clusters_as_mutexes();
        builder.ceilings(&input.policy, &input.inherited);
        let mut roster = builder.roster;
        for member in roster.members.numbers() {
            roster.count_soaking(member, true);
        }
        roster.gates = input.gates.into_iter().map(gate).collect();
        roster.pauses = input.pauses;
        roster.minors = input.minors;
        roster.approvals = keyed(input.approvals);
        roster.taken_back = input.taken_back.into();
        roster.preflights = preflights_keyed(input.preflights);
        for upgrade in input.upgrades {
            roster.add_upgrade(upgrade);
        }
        roster.order = roster.sorted_by_turn();
        roster
    }
}

/// Approvals by organisation, cluster and version.
pub(super) fn keyed(approvals: Vec<Approval>) -> BTreeMap<super::ApprovalKey, Approval> {
    let key = |a: &Approval| (a.organisation.clone(), a.cluster.clone(), a.version.clone());
    approvals.into_iter().map(|a| (key(&a), a)).collect()
}

/// Preflights by cluster and version.
pub(super) fn preflights_keyed(
    preflights: Vec<Preflight>,
) -> BTreeMap<ClusterId, BTreeMap<Version, Preflight>> {
    let mut keyed: BTreeMap<ClusterId, BTreeMap<Version, Preflight>> = BTreeMap::new();
    for one in preflights {
        let of_cluster = keyed.entry(one.cluster.clone()).or_default();
        of_cluster.insert(one.version.clone(), one);
    }
    keyed
}

fn gate(gate: VersionGate) -> GateEntry {
    GateEntry {
        before: gate.before(),
        scope: gate.scope(),
        gate,
    }
}

/// The roster so far, and what has which number in it.
#[derive(Default)]
pub(super) struct Builder {
    pub(super) roster: Roster,
    pub(super) organisations: BTreeMap<Name, OrganisationIdx>,
    classes: BTreeMap<(OrganisationIdx, UpgradePolicy, bool, Option<LeftAlone>), ClassIdx>,
    /// The same by where the policy stands: clusters of one entry need not compare policies.
    class_of_entry: BTreeMap<(OrganisationIdx, *const UpgradePolicy, bool), ClassIdx>,
    cells: BTreeMap<(OrganisationIdx, Name), CellIdx>,
    pub(super) sectors: BTreeMap<(OrganisationIdx, Name), SectorIdx>,
    mutexes: BTreeMap<(Option<OrganisationIdx>, Name), MutexIdx>,
    patterns: BTreeMap<(Pattern, bool), PatternIdx>,
    calendars: BTreeMap<CalendarEntry, CalendarIdx>,
    /// Patterns of an organisation, and the mutexes that it shares.
    of_organisation: Table<OrganisationEntry, (Vec<PatternIdx>, BTreeSet<Name>)>,
}

/// The number of what is known by a key; what is new gets a row.
fn number<K: Ord, T>(
    numbers: &mut BTreeMap<K, Idx<T>>,
    rows: &mut Table<T>,
    key: K,
    row: impl FnOnce() -> T,
) -> Idx<T> {
    *numbers.entry(key).or_insert_with(|| rows.push(row()))
}

impl Builder {
    fn organisations(&mut self, policy: &FleetPolicy) {
        for organisation in policy.organisations.values() {
            let has_heirs = policy
                .organisations
                .values()
                .any(|heir| heir.inherits_from.contains(&organisation.id));
            let number = self.roster.organisations.push(OrganisationEntry {
                id: organisation.id.clone(),
                name: organisation.name.clone(),
                disabled: organisation.disabled,
                has_heirs,
            });
            self.organisations.insert(organisation.id.clone(), number);
            let patterns = organisation
                .blocked_versions
                .iter()
                .map(|pattern| self.pattern(pattern, true))
                .collect();
            self.of_organisation
                .push((patterns, organisation.shared_mutexes.clone()));
            for sector in organisation.sectors.values() {
                let at = self.sector(number, &sector.name);
                let depends_on = sector
                    .depends_on
                    .iter()
                    .map(|name| self.sector(number, name))
                    .collect();
                let entry = &mut self.roster.sectors[at];
                entry.depends_on = depends_on;
                entry.max_parallel = sector.max_parallel;
                entry.max_failures = sector.max_failures;
                entry.straggler_days = sector.straggler_days;
            }
        }
    }

    fn sector(&mut self, organisation: OrganisationIdx, name: &Name) -> SectorIdx {
        let key = (organisation, name.clone());
        let row = || SectorEntry {
            name: name.clone(),
            max_parallel: None,
            max_failures: None,
            straggler_days: None,
            depends_on: Vec::new(),
            with_mutex: BTreeMap::new(),
        };
        number(&mut self.sectors, &mut self.roster.sectors, key, row)
    }

    fn pattern(&mut self, pattern: &Pattern, of_organisation: bool) -> PatternIdx {
        let Roster {
            patterns, versions, ..
        } = &mut self.roster;
        let key = (pattern.clone(), of_organisation);
        let row = || PatternEntry {
            pattern: pattern.clone(),
            of_organisation,
            blocks: versions
                .iter()
                .map(|version| pattern.finds(&version.to_string()))
                .collect(),
        };
        number(&mut self.patterns, patterns, key, row)
    }

    fn mutex(&mut self, organisation: OrganisationIdx, name: &Name) -> MutexIdx {
        let shared = self.of_organisation[organisation].1.contains(name);
        let organisation = (!shared).then_some(organisation);
        let key = (organisation, name.clone());
        let row = || MutexEntry {
            name: name.clone(),
            organisation,
            holders: BTreeSet::new(),
            in_sector: BTreeMap::new(),
        };
        number(&mut self.mutexes, &mut self.roster.mutexes, key, row)
    }

    pub(super) fn cell(&mut self, organisation: OrganisationIdx, workload: &Name) -> CellIdx {
        let Roster {
            cells, versions, ..
        } = &mut self.roster;
        let key = (organisation, workload.clone());
        let row = || SoakCell {
            organisation,
            workload: workload.clone(),
            seconds: Table::like(versions, 0),
            own_seconds: Table::like(versions, 0),
            soaking: Table::like(versions, 0),
            heirs: Vec::new(),
            donors: Vec::new(),
            classes: Vec::new(),
        };
        number(&mut self.cells, cells, key, row)
    }

    fn calendar(&mut self, policy: &UpgradePolicy) -> CalendarIdx {
        let calendar = CalendarEntry {
            schedule: policy.schedule.clone(),
            windows: policy.windows.clone(),
            exclusions: policy.exclusions.clone(),
        };
        let calendars = &mut self.roster.calendars;
        number(&mut self.calendars, calendars, calendar.clone(), || {
            calendar
        })
    }

    fn class(&mut self, organisation: OrganisationIdx, wanted: WantedPolicy<'_>) -> ClassIdx {
        let WantedPolicy {
            policy, problems, ..
        } = wanted;
        let entry = (
            organisation,
            std::ptr::from_ref(policy),
            !problems.is_empty(),
        );
        if let Some(class) = self.class_of_entry.get(&entry) {
            return *class;
        }
        let class = self.class_of_policy(organisation, wanted);
        self.class_of_entry.insert(entry, class);
        class
    }

    fn class_of_policy(
        &mut self,
        organisation: OrganisationIdx,
        wanted: WantedPolicy<'_>,
    ) -> ClassIdx {
        let WantedPolicy {
            policy,
            problems,
            left_alone,
            ..
        } = wanted;
        let key = (
            organisation,
            policy.clone(),
            !problems.is_empty(),
            left_alone.cloned(),
        );
        if let Some(class) = self.classes.get(&key) {
            return *class;
        }
        let calendar = self.calendar(policy);
        let own = policy
            .blocked_versions
            .iter()
            .map(|pattern| self.pattern(pattern, false))
            .collect::<Vec<_>>();
        // What is left alone adds to no soak, and no sector waits for it: AUS does not even look at it.
        let workloads = policy.workloads.iter().filter(|_| left_alone.is_none());
        let cells: Vec<CellIdx> = workloads
            .map(|workload| self.cell(organisation, workload))
            .collect();
        let class = Class {
            organisation,
            policy: policy.clone(),
            problems: problems.to_vec(),
            left_alone: left_alone.cloned(),
            sector: policy
                .sector
                .as_ref()
                .map(|name| self.sector(organisation, name)),
            cells: cells.clone(),
            soak_seconds: policy
                .soak_days
                .map(|days| i64::from(days) * SECONDS_PER_DAY),
            mutexes: policy
                .mutexes
                .iter()
                .map(|name| self.mutex(organisation, name))
                .collect(),
            patterns: [&*self.of_organisation[organisation].0, &*own].concat(),
            calendar,
            after: Vec::new(),
            ceilings: Vec::new(),
            pin: policy
                .pin
                .as_ref()
                .and_then(|pin| self.roster.version_number(pin)),
            members: Vec::new(),
        };
        let number = self.roster.classes.push(class);
        for cell in cells {
            self.roster.cells[cell].classes.push(number);
        }
        self.classes.insert(key, number);
        number
    }

    fn member(
        &mut self,
        entries: &Entries<'_>,
        state: ClusterState,
        clash: Option<NameClash>,
        nothing: &UpgradePolicy,
    ) {
        let Some(wanted) = entries.of(&state) else {
            self.roster
                .unmanaged
                .insert(state.id.as_str().into(), state);
            return;
        };
        // A cluster whose name is taken gets no policy: it is known, it is held, and it is in nobody's way.
        let wanted = match clash {
            Some(NameClash::Taken { .. }) => WantedPolicy {
                policy: nothing,
                problems: &[],
                left_alone: None,
                origin: wanted.origin,
            },
            Some(NameClash::Disputed { .. }) | None => wanted,
        };
        let class = self.class(self.organisations[&state.organisation], wanted);
        let Class {
            sector,
            mutexes,
            left_alone,
            ..
        } = &self.roster.classes[class];
        if let (Some(sector), None) = (sector, left_alone) {
            let with_mutex = &mut self.roster.sectors[*sector].with_mutex;
            for mutex in mutexes {
                let (bound, all) = with_mutex.entry(*mutex).or_default();
                *bound += u32::from(state.binding.is_bound());
                *all += 1;
            }
        }
        let number = self.roster.members.push(ClusterEntry {
            clash,
            class,
            version: self.roster.known_version(&state.version),
            itself: None,
            upgrade: None,
            failed: None,
            has_failed: false,
            refused: Vec::new(),
            candidates: self
                .roster
                .candidates(&state, &self.roster.classes[class].policy),
            state,
        });
        self.roster.classes[class].members.push(number);
    }

    /// A mutex may be named after a cluster, which then holds it too.
    fn clusters_as_mutexes(&mut self) {
        let roster = &mut self.roster;
        for ((organisation, name), mutex) in &self.mutexes {
            if let (Some(organisation), Some(member)) = (organisation, roster.find(name))
                && roster.class_of(member).organisation == *organisation
            {
                roster.members[member].itself = Some(*mutex);
            }
        }
    }
}
