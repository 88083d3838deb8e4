//! Mutexes: who holds which, and how many clusters of a sector may hold one at once.

use super::{ClusterIdx, MutexIdx, Roster, SectorIdx};

impl Roster {
    /// The limit of parallel upgrades for a mutex in a sector.
    pub(crate) fn limit(&self, sector: SectorIdx, mutex: MutexIdx) -> Option<u32> {
        let sector = &self.sectors[sector];
        // Clusters that nobody vouches for must not raise a limit.
        let clusters = sector
            .with_mutex
            .get(&mutex)
            .map_or(0, |(bound, all)| if *bound > 0 { *bound } else { *all });
        sector.max_parallel.map(|parallel| parallel.limit(clusters))
    }

    /// The mutexes that an upgrade of the cluster takes.
    pub(crate) fn mutexes_of(&self, member: ClusterIdx) -> impl Iterator<Item = MutexIdx> + '_ {
        let declared = self.class_of(member).mutexes.iter().copied();
        declared.chain(self.member(member).itself)
    }

    pub(crate) fn take_mutexes(&mut self, member: ClusterIdx) {
        let sector = self.class_of(member).sector;
        for mutex in self.mutexes_of(member).collect::<Vec<_>>() {
            let entry = &mut self.mutexes[mutex];
            if let (true, Some(sector)) = (entry.holders.insert(member), sector) {
                *entry.in_sector.entry(sector).or_default() += 1;
            }
        }
    }

    pub(crate) fn give_mutexes_back(&mut self, member: ClusterIdx) {
        let sector = self.class_of(member).sector;
        for mutex in self.mutexes_of(member).collect::<Vec<_>>() {
            let entry = &mut self.mutexes[mutex];
            if let (true, Some(count)) = (
                entry.holders.remove(&member),
                sector.and_then(|sector| entry.in_sector.get_mut(&sector)),
            ) {
                *count -= 1;
            }
        }
    }
}
