//! Ceilings: the highest version that inherited data allows, for classes that are in a sector.

use std::collections::BTreeMap;

use super::build::Builder;
use super::{CellIdx, ClusterEntry, Roster, VersionIdx};
use crate::fleet::{FleetPolicy, Minimum, Name, Organisation};

/// The lowest versions that clusters elsewhere are on.
#[derive(Default)]
struct LowestVersions {
    of_all: Option<VersionIdx>,
    of_workload: BTreeMap<Name, VersionIdx>,
}

impl Builder {
    pub(super) fn ceilings(&mut self, policy: &FleetPolicy, elsewhere: &BTreeMap<Name, Minimum>) {
        for organisation in policy.organisations.values() {
            let given = elsewhere.get(&organisation.id);
            if organisation.inherits_from.is_empty() && given.is_none() {
                continue;
            }
            let number = self.organisations[&organisation.id];
            let mut lowest = LowestVersions::of_donors(&self.roster, organisation);
            if let Some(given) = given {
                lowest.add(&self.roster, given);
            }
            let Roster { classes, cells, .. } = &mut self.roster;
            for class in classes
                .iter_mut()
                .filter(|class| class.organisation == number && class.sector.is_some())
            {
                let ceiling = |cell: &CellIdx| {
                    let of_workload = lowest.of_workload.get(&cells[*cell].workload);
                    match of_workload {
                        Some(version) => Some((Some(*cell), *version)),
                        None => lowest.of_all.map(|version| (None, version)),
                    }
                };
                class.ceilings = class.cells.iter().filter_map(ceiling).collect();
            }
        }
    }
}

impl LowestVersions {
    /// Of the clusters of the organisations that this one inherits from.
    fn of_donors(roster: &Roster, heir: &Organisation) -> Self {
        let mut lowest = Self::default();
        let is_donor = |member: &&ClusterEntry| {
            let class = &roster.classes[member.class];
            let organisation = &roster.organisations[class.organisation].id;
            class.left_alone.is_none() && heir.inherits_from.contains(organisation)
        };
        let donors = || roster.members.iter().filter(is_donor);
        let any_bound = donors().any(|member| member.state.binding.is_bound());
        // As in crowds: who is not bound counts only where nobody is.
        for member in donors().filter(|member| !any_bound || member.state.binding.is_bound()) {
            lowest.lower(member.version);
            for workload in &roster.classes[member.class].policy.workloads {
                lowest.lower_workload(workload, member.version);
            }
        }
        lowest
    }

    fn add(&mut self, roster: &Roster, given: &Minimum) {
        if let Some(version) = &given.version {
            self.lower(roster.known_version(version));
        }
        for (workload, version) in &given.of_workload {
            self.lower_workload(workload, roster.known_version(version));
        }
    }

    fn lower(&mut self, version: VersionIdx) {
        self.of_all = Some(self.of_all.map_or(version, |known| known.min(version)));
    }

    fn lower_workload(&mut self, workload: &Name, version: VersionIdx) {
        let known = self.of_workload.entry(workload.clone()).or_insert(version);
        *known = version.min(*known);
    }
}
