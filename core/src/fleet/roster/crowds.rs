//! Crowds: the clusters of a sector that share a workload, and the sectors that wait for them.

use std::collections::{BTreeMap, BTreeSet};

use super::build::Builder;
use super::{
    CellIdx, Class, ClassIdx, ClusterIdx, Crowd, CrowdIdx, Roster, SectorEntry, SectorIdx,
    VersionIdx,
};
use crate::table::{Idx, Table};

impl Builder {
    /// Who is in which crowd, and after which crowds each class comes.
    pub(super) fn crowds(&mut self) {
        let unplaced = self.unplaced();
        let roster = &mut self.roster;
        let mut numbers: BTreeMap<(SectorIdx, CellIdx), CrowdIdx> = BTreeMap::new();
        let mut gathered: Table<Crowd, Vec<(VersionIdx, ClusterIdx)>> = Table::default();
        let placed = roster.classes.numbered().flat_map(|(number, class)| {
            let cells = class.cells.iter();
            let places = class.sector.into_iter().flat_map(move |sector| {
                let cells = cells.clone();
                cells.map(move |cell| (sector, *cell))
            });
            places.map(move |place| (number, place))
        });
        for (class, (sector, cell)) in placed.chain(unplaced) {
            let crowd = *numbers.entry((sector, cell)).or_insert_with(|| {
                gathered.push(Vec::new());
                roster.crowds.push(Crowd {
                    sector,
                    cell,
                    members: BTreeSet::new(),
                    lowest: (Idx::FIRST, Idx::FIRST),
                    followers: Vec::new(),
                })
            });
            let members = roster.classes[class].members.iter();
            gathered[crowd].extend(members.map(|at| (roster.members[*at].version, *at)));
        }
        for (crowd, members) in roster.crowds.iter_mut().zip(gathered.iter_mut()) {
            // A cluster that nobody vouches for holds nobody back where there are others to wait for.
            let is_bound = |(_, member): &(VersionIdx, ClusterIdx)| {
                roster.members[*member].state.binding.is_bound()
            };
            if members.iter().any(is_bound) {
                members.retain(is_bound);
            }
            crowd.members = members.drain(..).collect();
            crowd.lowest = *crowd.members.first().expect("a crowd has members");
        }
        for number in roster.classes.numbers() {
            let Class {
                sector: Some(sector),
                cells,
                ..
            } = &roster.classes[number]
            else {
                continue;
            };
            let after: BTreeSet<CrowdIdx> = cells
                .iter()
                .flat_map(|cell| crowds_before(&roster.sectors, &numbers, *sector, *cell))
                .collect();
            after
                .iter()
                .for_each(|crowd| roster.crowds[*crowd].followers.push(number));
            roster.classes[number].after = after.into_iter().collect();
        }
    }
}

/// Mistakes that cost a cluster neither its sector nor its workloads.
const HARMLESS: [&str; 2] = ["bad-schedule", "bad-pattern"];

impl Builder {
    /// Clusters with a mistake in their policy that may have cost them their sector or their workloads. Nobody knows where they
    /// belong, so they count in every sector of their organisation, or with every workload: else a misspelt `sector` in an early
    /// sector would let the later ones go ahead.
    fn unplaced(&self) -> Vec<(ClassIdx, (SectorIdx, CellIdx))> {
        let roster = &self.roster;
        let mut places = Vec::new();
        for (number, class) in roster.classes.numbered() {
            let has = |code: &str| class.problems.iter().any(|problem| problem.code == code);
            let mut problems = class.problems.iter();
            let is_doubtful = problems.any(|problem| !HARMLESS.contains(&problem.code));
            let lacks_sector = class.sector.is_none() || has("unknown-sector");
            let lacks_workloads = class.cells.is_empty() || has("unknown-workload");
            if !is_doubtful || class.left_alone.is_some() || !(lacks_sector || lacks_workloads) {
                continue;
            }
            let sectors = self.sectors.iter().filter(|((organisation, _), sector)| {
                *organisation == class.organisation
                    && (lacks_sector || class.sector == Some(**sector))
            });
            for (_, sector) in sectors {
                let cells = roster.cells.numbered().filter(|(number, cell)| {
                    cell.organisation == class.organisation
                        && (lacks_workloads || class.cells.contains(number))
                });
                places.extend(cells.map(|(cell, _)| (number, (*sector, cell))));
            }
        }
        places
    }
}

/// The crowds before a sector, for a workload: a sector that has clusters with it stands for all that come before it; one
/// that has none is replaced by those.
fn crowds_before(
    sectors: &Table<SectorEntry>,
    crowds: &BTreeMap<(SectorIdx, CellIdx), CrowdIdx>,
    sector: SectorIdx,
    cell: CellIdx,
) -> BTreeSet<CrowdIdx> {
    let (mut found, mut seen) = (BTreeSet::new(), BTreeSet::from([sector]));
    let mut open: Vec<SectorIdx> = sectors[sector].depends_on.clone();
    while let Some(next) = open.pop() {
        if seen.insert(next) {
            match crowds.get(&(next, cell)) {
                Some(crowd) => drop(found.insert(*crowd)),
                None => open.extend(&sectors[next].depends_on),
            }
        }
    }
    found
}

impl Roster {
    /// A cluster went to another version: those who come after its crowds are judged again where that lets them go on.
    pub(super) fn move_in_crowds(
        &mut self,
        member: ClusterIdx,
        before: VersionIdx,
        after: VersionIdx,
        again: &mut BTreeSet<ClusterIdx>,
    ) {
        let class = self.class_of(member);
        let (Some(sector), cells) = (class.sector, class.cells.clone()) else {
            return;
        };
        for crowd in self
            .crowds
            .iter_mut()
            .filter(|crowd| crowd.sector == sector && cells.contains(&crowd.cell))
        {
            if !crowd.members.remove(&(before, member)) {
                continue;
            }
            crowd.members.insert((after, member));
            let lowest = *crowd.members.first().expect("it has at least this one");
            let risen = std::mem::replace(&mut crowd.lowest, lowest).0 != lowest.0;
            if risen {
                for follower in &crowd.followers {
                    again.extend(&self.classes[*follower].members);
                }
            }
        }
    }
}
