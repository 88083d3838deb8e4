//! Building a roster: names get numbers, policies become classes, sectors become crowds.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Calendar, Candidate, Class, Crowd, Entries, GateEntry, Member, MutexEntry, OrganisationEntry,
    PatternEntry, Roster, SectorEntry, SoakCell, entries::Wanted,
};
use crate::fleet::{
    ClusterState, FleetInput, FleetPolicy, Gate, LeftAlone, Name, NameClash, Offer, Organisation,
    Product, UpgradePolicy, UpgradeState, name_clashes,
};
use crate::graph::Pattern;
use crate::version::Version;

const SECONDS_PER_DAY: i64 = 86_400;

impl Roster {
    /// Numbers everything. Clusters without a policy are left out.
    pub fn new(input: FleetInput) -> Self {
        let versions = versions(&input);
        let finals = versions
            .iter()
            .enumerate()
            .filter_map(|(at, version)| Some((packed(version)?, at as u32)));
        let roster = Self {
            finals: finals.collect(),
            versions,
            ..Self::default()
        };
        let mut builder = Builder {
            roster,
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
        let numbered = builder.roster.members.iter().enumerate();
        builder.roster.by_id = numbered
            .map(|(number, member)| (member.state.id.clone(), number as u32))
            .collect();
        builder.soak(&input.soak, &input.policy);
        builder.crowds();
        builder.ceilings(&input.policy, &input.inherited);
        let mut roster = builder.roster;
        (0..roster.members.len() as u32).for_each(|member| roster.count_soaking(member, true));
        roster.gates = input.gates.into_iter().map(gate).collect();
        roster.pauses = input.pauses;
        let keyed = |approval: crate::fleet::Approval| {
            (
                (
                    approval.organisation.clone(),
                    approval.cluster.clone(),
                    approval.version.clone(),
                ),
                approval,
            )
        };
        roster.approvals = input.approvals.into_iter().map(keyed).collect();
        for upgrade in input.upgrades {
            roster.add_upgrade(upgrade);
        }
        roster.order = roster.sorted_by_turn();
        roster
    }
}

/// Every version there is, in order.
fn versions(input: &FleetInput) -> Vec<Version> {
    let mut all = Seen::default();
    // Clusters often share their list of offers: look once at each.
    let mut last: Option<*const Offer> = None;
    for state in &input.clusters {
        all.add(&state.version);
        if last.replace(state.offers.as_ptr()) != Some(state.offers.as_ptr()) {
            state
                .offers
                .iter()
                .for_each(|offer| all.add(&offer.version));
        }
        if let Product::HostedControlPlane { pools } = &state.product {
            pools.iter().for_each(|pool| all.add(&pool.version));
        }
    }
    let soaked = input.soak.iter().map(|sum| &sum.version);
    let upgrades = input
        .upgrades
        .iter()
        .flat_map(|upgrade| [&upgrade.from, &upgrade.to]);
    let lowest = input
        .inherited
        .values()
        .flat_map(|minimum| minimum.version.iter().chain(minimum.of_workload.values()));
    let pins = input
        .policy
        .organisations
        .values()
        .flat_map(policies_of)
        .filter_map(|policy| policy.pin.as_ref());
    soaked
        .chain(upgrades)
        .chain(lowest)
        .chain(pins)
        .for_each(|version| all.add(version));
    all.sorted()
}

/// Versions that were seen. There are few of them and they are seen often, so that is made cheap.
#[derive(Default)]
struct Seen<'a> {
    finals: BTreeMap<u64, &'a Version>,
    others: BTreeSet<&'a Version>,
}

impl<'a> Seen<'a> {
    fn add(&mut self, version: &'a Version) {
        match packed(version) {
            Some(key) => drop(self.finals.entry(key).or_insert(version)),
            None => drop(self.others.insert(version)),
        }
    }

    fn sorted(self) -> Vec<Version> {
        let all: BTreeSet<&Version> = self.finals.into_values().chain(self.others).collect();
        all.into_iter().cloned().collect()
    }
}

/// A final release's version as one number, in the order of versions; none for what does not fit.
pub(super) fn packed(version: &Version) -> Option<u64> {
    let fits = version.major() < 1 << 16 && version.minor() < 1 << 24 && version.patch() < 1 << 24;
    let is_final = version.pre_release().is_empty();
    (fits && is_final).then(|| version.major() << 48 | version.minor() << 24 | version.patch())
}

fn policies_of(organisation: &Organisation) -> impl Iterator<Item = &UpgradePolicy> {
    let named = organisation.clusters.iter().map(|entry| &entry.policy);
    named.chain(organisation.defaults.iter().map(|entry| &entry.policy))
}

fn gate(gate: Gate) -> GateEntry {
    GateEntry {
        before: gate.before(),
        scope: gate.scope(),
        gate,
    }
}

#[derive(Default)]
struct Builder {
    roster: Roster,
    organisations: BTreeMap<Name, u32>,
    classes: BTreeMap<(u32, UpgradePolicy, bool, Option<LeftAlone>), u32>,
    /// The same by where the policy stands: clusters of one entry need not compare policies.
    class_of_entry: BTreeMap<(u32, *const UpgradePolicy, bool), u32>,
    cells: BTreeMap<(u32, Name), u32>,
    sectors: BTreeMap<(u32, Name), u32>,
    mutexes: BTreeMap<(Option<u32>, Name), u32>,
    patterns: BTreeMap<(Pattern, bool), u32>,
    calendars: BTreeMap<Calendar, u32>,
    /// Patterns of an organisation, and the mutexes that it shares.
    of_organisation: Vec<(Vec<u32>, BTreeSet<Name>)>,
}

impl Builder {
    fn organisations(&mut self, policy: &FleetPolicy) {
        for (number, organisation) in policy.organisations.values().enumerate() {
            let number = number as u32;
            self.organisations.insert(organisation.id.clone(), number);
            let has_heirs = policy
                .organisations
                .values()
                .any(|heir| heir.inherits_from.contains(&organisation.id));
            self.roster.organisations.push(OrganisationEntry {
                id: organisation.id.clone(),
                name: organisation.name.clone(),
                disabled: organisation.disabled,
                has_heirs,
            });
            let patterns = organisation
                .blocked_versions
                .iter()
                .map(|pattern| self.pattern(pattern, true))
                .collect();
            self.of_organisation
                .push((patterns, organisation.shared_mutexes.clone()));
            for sector in organisation.sectors.values() {
                let at = self.sector(number, &sector.name) as usize;
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

    fn sector(&mut self, organisation: u32, name: &Name) -> u32 {
        let sectors = &mut self.roster.sectors;
        *self
            .sectors
            .entry((organisation, name.clone()))
            .or_insert_with(|| {
                sectors.push(SectorEntry {
                    name: name.clone(),
                    max_parallel: None,
                    max_failures: None,
                    straggler_days: None,
                    depends_on: Vec::new(),
                    with_mutex: BTreeMap::new(),
                });
                sectors.len() as u32 - 1
            })
    }

    fn pattern(&mut self, pattern: &Pattern, of_organisation: bool) -> u32 {
        let Roster {
            patterns, versions, ..
        } = &mut self.roster;
        *self
            .patterns
            .entry((pattern.clone(), of_organisation))
            .or_insert_with(|| {
                let blocks = versions
                    .iter()
                    .map(|version| pattern.finds(&version.to_string()))
                    .collect();
                patterns.push(PatternEntry {
                    pattern: pattern.clone(),
                    of_organisation,
                    blocks,
                });
                patterns.len() as u32 - 1
            })
    }

    fn mutex(&mut self, organisation: u32, name: &Name) -> u32 {
        let shared = self.of_organisation[organisation as usize].1.contains(name);
        let organisation = (!shared).then_some(organisation);
        let mutexes = &mut self.roster.mutexes;
        *self
            .mutexes
            .entry((organisation, name.clone()))
            .or_insert_with(|| {
                mutexes.push(MutexEntry {
                    name: name.clone(),
                    organisation,
                    holders: BTreeSet::new(),
                    in_sector: BTreeMap::new(),
                });
                mutexes.len() as u32 - 1
            })
    }

    fn cell(&mut self, organisation: u32, workload: &Name) -> u32 {
        let Roster {
            cells, versions, ..
        } = &mut self.roster;
        *self
            .cells
            .entry((organisation, workload.clone()))
            .or_insert_with(|| {
                let (seconds, own_seconds) = (vec![0; versions.len()], vec![0; versions.len()]);
                let workload = workload.clone();
                cells.push(SoakCell {
                    organisation,
                    workload,
                    seconds,
                    own_seconds,
                    soaking: vec![0; versions.len()],
                    heirs: Vec::new(),
                    donors: Vec::new(),
                    classes: Vec::new(),
                });
                cells.len() as u32 - 1
            })
    }

    fn class(&mut self, organisation: u32, wanted: Wanted<'_>) -> u32 {
        let Wanted {
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

    fn class_of_policy(&mut self, organisation: u32, wanted: Wanted<'_>) -> u32 {
        let Wanted {
            policy,
            problems,
            left_alone,
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
        let number = self.roster.classes.len() as u32;
        let calendar = Calendar {
            schedule: policy.schedule.clone(),
            windows: policy.windows.clone(),
            exclusions: policy.exclusions.clone(),
        };
        let calendars = &mut self.roster.calendars;
        let calendar = *self.calendars.entry(calendar.clone()).or_insert_with(|| {
            calendars.push(calendar);
            calendars.len() as u32 - 1
        });
        let own = policy
            .blocked_versions
            .iter()
            .map(|pattern| self.pattern(pattern, false))
            .collect::<Vec<_>>();
        // What is left alone adds to no soak, and no sector waits for it: AUS does not even look at it.
        let workloads = policy.workloads.iter().filter(|_| left_alone.is_none());
        let cells: Vec<u32> = workloads
            .map(|workload| self.cell(organisation, workload))
            .collect();
        for cell in &cells {
            self.roster.cells[*cell as usize].classes.push(number);
        }
        let class = Class {
            organisation,
            policy: policy.clone(),
            problems: problems.to_vec(),
            left_alone: left_alone.cloned(),
            sector: policy
                .sector
                .as_ref()
                .map(|name| self.sector(organisation, name)),
            cells,
            soak_seconds: policy
                .soak_days
                .map(|days| i64::from(days) * SECONDS_PER_DAY),
            mutexes: policy
                .mutexes
                .iter()
                .map(|name| self.mutex(organisation, name))
                .collect(),
            patterns: [&*self.of_organisation[organisation as usize].0, &*own].concat(),
            calendar,
            after: Vec::new(),
            ceilings: Vec::new(),
            pin: policy
                .pin
                .as_ref()
                .and_then(|pin| self.roster.version_number(pin)),
            members: Vec::new(),
        };
        self.roster.classes.push(class);
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
            Some(NameClash::Taken { .. }) => Wanted {
                policy: nothing,
                problems: &[],
                left_alone: None,
            },
            Some(NameClash::Disputed { .. }) | None => wanted,
        };
        let class = self.class(self.organisations[&state.organisation], wanted);
        let number = self.roster.members.len() as u32;
        let version = self
            .roster
            .version_number(&state.version)
            .expect("every version has a number");
        let candidates = candidates(&self.roster, &state);
        self.roster.classes[class as usize].members.push(number);
        let Class {
            sector,
            mutexes,
            left_alone,
            ..
        } = &self.roster.classes[class as usize];
        if let (Some(sector), None) = (sector, left_alone) {
            let with_mutex = &mut self.roster.sectors[*sector as usize].with_mutex;
            for mutex in mutexes {
                let (bound, all) = with_mutex.entry(*mutex).or_default();
                *bound += u32::from(state.binding.is_bound());
                *all += 1;
            }
        }
        self.roster.members.push(Member {
            state,
            clash,
            class,
            version,
            itself: None,
            upgrade: None,
            failed: None,
            has_failed: false,
            refused: Vec::new(),
            candidates,
        });
    }

    fn soak(&mut self, sums: &[crate::fleet::SoakSum], policy: &FleetPolicy) {
        for sum in sums {
            let Some(organisation) = self.organisations.get(&sum.organisation).copied() else {
                continue;
            };
            let (cell, version) = (
                self.cell(organisation, &sum.workload),
                self.roster.version_number(&sum.version),
            );
            let version = version.expect("every version has a number") as usize;
            let cell = &mut self.roster.cells[cell as usize];
            cell.seconds[version] += sum.seconds;
            cell.own_seconds[version] += sum.seconds;
        }
        let own: Vec<Vec<i64>> = self
            .roster
            .cells
            .iter()
            .map(|cell| cell.seconds.clone())
            .collect();
        for heir in policy.organisations.values() {
            let number = self.organisations[&heir.id];
            let donors: BTreeSet<u32> = heir
                .inherits_from
                .iter()
                .filter_map(|id| self.organisations.get(id))
                .copied()
                .collect();
            for (donor, seconds) in own.iter().enumerate() {
                let SoakCell {
                    organisation,
                    workload,
                    ..
                } = &self.roster.cells[donor];
                if donors.contains(organisation) {
                    let workload = workload.clone();
                    let cell = self.cell(number, &workload);
                    self.roster.cells[donor].heirs.push(cell);
                    self.roster.cells[cell as usize].donors.push(donor as u32);
                    let sum = &mut self.roster.cells[cell as usize].seconds;
                    sum.iter_mut()
                        .zip(seconds)
                        .for_each(|(sum, more)| *sum += more);
                }
            }
        }
    }

    /// Who is in which crowd, and after which crowds each class comes.
    fn crowds(&mut self) {
        let roster = &mut self.roster;
        let mut numbers: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        let mut gathered: Vec<Vec<(u32, u32)>> = Vec::new();
        for class in &roster.classes {
            for cell in class.sector.iter().flat_map(|_| &class.cells) {
                let sector = class.sector.expect("it has one");
                let crowd = *numbers.entry((sector, *cell)).or_insert_with(|| {
                    let (members, followers) = (BTreeSet::new(), Vec::new());
                    roster.crowds.push(Crowd {
                        sector,
                        cell: *cell,
                        members,
                        lowest: (0, 0),
                        followers,
                    });
                    gathered.push(Vec::new());
                    roster.crowds.len() as u32 - 1
                });
                let members = class
                    .members
                    .iter()
                    .map(|member| (roster.members[*member as usize].version, *member));
                gathered[crowd as usize].extend(members);
            }
        }
        for (crowd, mut members) in roster.crowds.iter_mut().zip(gathered) {
            // A cluster that nobody vouches for holds nobody back where there are others to wait for.
            let is_bound = |(_, member): &(u32, u32)| {
                roster.members[*member as usize].state.binding.is_bound()
            };
            if members.iter().any(is_bound) {
                members.retain(is_bound);
            }
            crowd.members = members.into_iter().collect();
            crowd.lowest = *crowd.members.first().expect("a crowd has members");
        }
        for number in 0..roster.classes.len() {
            let Class {
                sector: Some(sector),
                cells,
                ..
            } = &roster.classes[number]
            else {
                continue;
            };
            let after: BTreeSet<u32> = cells
                .iter()
                .flat_map(|cell| crowds_before(&roster.sectors, &numbers, *sector, *cell))
                .collect();
            after
                .iter()
                .for_each(|crowd| roster.crowds[*crowd as usize].followers.push(number as u32));
            roster.classes[number].after = after.into_iter().collect();
        }
        // A mutex may be named after a cluster, which then holds it too.
        for ((organisation, name), mutex) in &self.mutexes {
            if let (Some(organisation), Some(member)) = (organisation, roster.find(name))
                && roster.class_of(member).organisation == *organisation
            {
                roster.members[member as usize].itself = Some(*mutex);
            }
        }
    }

    /// What inherited data allows, for classes that are in a sector.
    fn ceilings(
        &mut self,
        policy: &FleetPolicy,
        elsewhere: &BTreeMap<Name, crate::fleet::Minimum>,
    ) {
        for organisation in policy.organisations.values() {
            let given = elsewhere.get(&organisation.id);
            if organisation.inherits_from.is_empty() && given.is_none() {
                continue;
            }
            let number = self.organisations[&organisation.id];
            let (mut lowest, mut of_workload) = (None::<u32>, BTreeMap::<Name, u32>::new());
            let lower = |known: &mut Option<u32>, version: u32| {
                *known = Some(known.map_or(version, |v| v.min(version)))
            };
            let roster = &mut self.roster;
            let is_donor = |member: &&Member| {
                let class = &roster.classes[member.class as usize];
                class.left_alone.is_none()
                    && organisation
                        .inherits_from
                        .contains(&roster.organisations[class.organisation as usize].id)
            };
            let any_bound = roster
                .members
                .iter()
                .filter(is_donor)
                .any(|member| member.state.binding.is_bound());
            for member in roster.members.iter().filter(is_donor) {
                let class = &roster.classes[member.class as usize];
                // As in crowds: who is not bound counts only where nobody is.
                if !any_bound || member.state.binding.is_bound() {
                    lower(&mut lowest, member.version);
                    for workload in &class.policy.workloads {
                        let known = of_workload
                            .entry(workload.clone())
                            .or_insert(member.version);
                        *known = member.version.min(*known);
                    }
                }
            }
            if let Some(given) = given {
                given
                    .version
                    .iter()
                    .for_each(|v| lower(&mut lowest, roster.version_number(v).expect("numbered")));
                for (workload, version) in &given.of_workload {
                    let version = roster
                        .version_number(version)
                        .expect("every version has a number");
                    let known = of_workload.entry(workload.clone()).or_insert(version);
                    *known = version.min(*known);
                }
            }
            let Roster { classes, cells, .. } = roster;
            for class in classes
                .iter_mut()
                .filter(|class| class.organisation == number && class.sector.is_some())
            {
                let ceiling = |cell: &u32| match of_workload.get(&cells[*cell as usize].workload) {
                    Some(version) => Some((Some(*cell), *version)),
                    None => lowest.map(|version| (None, version)),
                };
                class.ceilings = class.cells.iter().filter_map(ceiling).collect();
            }
        }
    }
}

/// The crowds before a sector, for a workload: a sector that has clusters with it stands for all that come before it; one
/// that has none is replaced by those.
fn crowds_before(
    sectors: &[SectorEntry],
    crowds: &BTreeMap<(u32, u32), u32>,
    sector: u32,
    cell: u32,
) -> BTreeSet<u32> {
    let (mut found, mut seen) = (BTreeSet::new(), BTreeSet::from([sector]));
    let mut open: Vec<u32> = sectors[sector as usize].depends_on.clone();
    while let Some(next) = open.pop() {
        if seen.insert(next) {
            match crowds.get(&(next, cell)) {
                Some(crowd) => drop(found.insert(*crowd)),
                None => open.extend(&sectors[next as usize].depends_on),
            }
        }
    }
    found
}

/// The cluster's offers above its version, highest first, and each once.
pub(super) fn candidates(roster: &Roster, state: &ClusterState) -> Box<[Candidate]> {
    let numbered = state
        .offers
        .iter()
        .enumerate()
        .map(|(at, offer)| Candidate {
            version: roster
                .version_number(&offer.version)
                .expect("every version has a number"),
            offer: at as u32,
            holds: 0,
        });
    let above = roster
        .version_number(&state.version)
        .expect("every version has a number");
    let mut candidates: Vec<Candidate> = numbered
        .filter(|candidate| candidate.version > above)
        .collect();
    candidates.sort_by(|a, b| (b.version, a.offer).cmp(&(a.version, b.offer)));
    candidates.dedup_by_key(|candidate| candidate.version);
    candidates.into()
}

impl Roster {
    /// Keeps the newest refusal of a version.
    fn add_refusal(&mut self, member: u32, to: u32, at: u32) {
        let changed_at = |at: u32| {
            (
                self.upgrades[at as usize].changed_at,
                self.upgrades[at as usize].id,
            )
        };
        let known = self.members[member as usize]
            .refused
            .iter()
            .position(|(version, _)| *version == to);
        match known {
            Some(place)
                if changed_at(self.members[member as usize].refused[place].1) > changed_at(at) => {}
            Some(place) => self.members[member as usize].refused[place].1 = at,
            None => self.members[member as usize].refused.push((to, at)),
        }
    }

    /// Adds an upgrade: what is active holds its cluster's mutexes, what failed counts against the version, what was refused
    /// is not tried again for a while.
    pub(super) fn add_upgrade(&mut self, upgrade: crate::fleet::Upgrade) {
        let at = self.upgrades.len() as u32;
        let member = self.find(upgrade.cluster.as_str());
        self.upgrades.push(upgrade);
        let Some(member) = member else {
            return;
        };
        let upgrade = &self.upgrades[at as usize];
        if upgrade.state.is_active() {
            let first = self.members[member as usize].upgrade.is_none();
            self.members[member as usize].upgrade = Some(at);
            if first {
                self.take_mutexes(member);
            }
        } else if upgrade.state == UpgradeState::Failed {
            let of = &mut self.members[member as usize];
            of.has_failed = true;
            // A cluster that somebody brought there all the same is no failure any more.
            if of.state.version < upgrade.to {
                of.failed = Some(at);
                let to = self.version_number(&self.upgrades[at as usize].to);
                if let (Some(sector), Some(to)) = (self.class_of(member).sector, to) {
                    *self.failures.entry((sector, to)).or_default() += 1;
                }
            }
        } else if upgrade.state == UpgradeState::Refused
            && let Some(to) = self.version_number(&upgrade.to)
        {
            self.add_refusal(member, to, at);
        }
    }
}
