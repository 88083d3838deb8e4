//! How long workloads have run on versions: credited, inherited, and added up.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::build::Builder;
use super::{CellIdx, ClusterIdx, FollowUp, OrganisationIdx, Roster, SoakCell, VersionIdx};
use crate::fleet::{FleetPolicy, Name, SoakSum};
use crate::table::Table;
use crate::version::Version;

impl Builder {
    pub(super) fn soak(&mut self, sums: &[SoakSum], policy: &FleetPolicy) {
        for sum in sums {
            let Some(organisation) = self.organisations.get(&sum.organisation).copied() else {
                continue;
            };
            let cell = self.cell(organisation, &sum.workload);
            let version = self.roster.known_version(&sum.version);
            let cell = &mut self.roster.cells[cell];
            cell.seconds[version] += sum.seconds;
            cell.own_seconds[version] += sum.seconds;
        }
        let own = self.roster.cells.iter().map(|cell| cell.seconds.clone());
        let own: Table<SoakCell, Table<Version, i64>> = own.collect();
        for heir in policy.organisations.values() {
            let number = self.organisations[&heir.id];
            let donors: BTreeSet<OrganisationIdx> = heir
                .inherits_from
                .iter()
                .filter_map(|id| self.organisations.get(id))
                .copied()
                .collect();
            for (donor, seconds) in own.numbered() {
                let SoakCell {
                    organisation,
                    workload,
                    ..
                } = &self.roster.cells[donor];
                if donors.contains(organisation) {
                    let workload = workload.clone();
                    let cell = self.cell(number, &workload);
                    self.roster.cells[donor].heirs.push(cell);
                    self.roster.cells[cell].donors.push(donor);
                    let sum = &mut self.roster.cells[cell].seconds;
                    sum.iter_mut()
                        .zip(seconds.iter())
                        .for_each(|(sum, more)| *sum += more);
                }
            }
        }
    }
}

impl Roster {
    /// The days of each workload on each version in each organisation, inherited ones included.
    pub fn soak(&self) -> impl Iterator<Item = (&Name, &Name, &Version, i64)> {
        self.cells
            .iter()
            .flat_map(|cell| self.seconds_of(cell, &cell.seconds))
    }

    /// The organisations' own soak, as an input has it.
    pub fn own_soak(&self) -> Vec<SoakSum> {
        let sums = self
            .cells
            .iter()
            .flat_map(|cell| self.seconds_of(cell, &cell.own_seconds));
        let sum =
            |(organisation, workload, version, seconds): (&Name, &Name, &Version, i64)| SoakSum {
                organisation: organisation.clone(),
                workload: workload.clone(),
                version: version.clone(),
                seconds,
            };
        sums.map(sum).collect()
    }

    fn seconds_of<'a>(
        &'a self,
        cell: &'a SoakCell,
        seconds: &'a Table<Version, i64>,
    ) -> impl Iterator<Item = (&'a Name, &'a Name, &'a Version, i64)> {
        let organisation = &self.organisations[cell.organisation].id;
        let soaked = seconds.iter().zip(self.versions.iter());
        soaked
            .filter(|(seconds, _)| **seconds > 0)
            .map(move |(seconds, version)| (organisation, &cell.workload, version, *seconds))
    }

    /// How many clusters are adding to a cell's soak on a version, those of inherited data included.
    pub(crate) fn soaking(&self, cell: CellIdx, version: VersionIdx) -> u32 {
        let donors = self.cells[cell].donors.iter().copied();
        [cell]
            .into_iter()
            .chain(donors)
            .map(|cell| self.cells[cell].soaking[version])
            .sum()
    }

    /// Counts, or no longer counts, a healthy cluster where it adds to the soak.
    pub(super) fn count_soaking(&mut self, member: ClusterIdx, counts: bool) {
        let of = &self.members[member];
        if of.adds_soak() {
            for cell in &self.classes[of.class].cells {
                let soaking = &mut self.cells[*cell].soaking[of.version];
                *soaking = if counts { *soaking + 1 } else { *soaking - 1 };
            }
        }
    }

    /// Adds soak to a cell and to those that inherit it. Clusters are judged again whose need is met by that.
    pub(super) fn credit(
        &mut self,
        cell: CellIdx,
        version: VersionIdx,
        seconds: i64,
        again: &mut BTreeSet<ClusterIdx>,
    ) {
        let heirs = self.cells[cell].heirs.clone();
        self.cells[cell].own_seconds[version] += seconds;
        for cell in heirs.into_iter().chain([cell]) {
            let have = &mut self.cells[cell].seconds[version];
            let before = std::mem::replace(have, *have + seconds);
            let after = *have;
            let met = |need: i64| before < need && need <= after;
            for class in &self.cells[cell].classes {
                let class = &self.classes[*class];
                if class.soak_seconds.is_some_and(met) {
                    again.extend(&class.members);
                }
            }
        }
    }

    /// Every healthy cluster has run this many seconds more on its version, and has reported it.
    pub fn time_passes(&mut self, seconds: i64, now: Timestamp) -> FollowUp {
        let mut credits: BTreeMap<(CellIdx, VersionIdx), i64> = BTreeMap::new();
        for member in self.members.iter_mut() {
            member.state.last_seen = now;
            if member.adds_soak() {
                for cell in &self.classes[member.class].cells {
                    *credits.entry((*cell, member.version)).or_default() += seconds;
                }
            }
        }
        let mut again = BTreeSet::new();
        for ((cell, version), seconds) in credits {
            self.credit(cell, version, seconds, &mut again);
        }
        FollowUp::Judge(again)
    }
}
