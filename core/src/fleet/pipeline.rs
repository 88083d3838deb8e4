//! The sectors of each organisation as a pipeline: what runs, what soaks until when, who is held by what, and what comes next.
//!
//! It is folded from numbers, so that a fleet of 100,000 clusters is told at once. Only what comes next is looked up with words,
//! for a few clusters of each sector.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::{ClusterIdx, Decision, Filter, FleetPlanner, Next, expected_next};
use crate::fleet::roster::{CellIdx, ClassIdx, OrganisationIdx, SectorIdx, VersionIdx};
use crate::fleet::rules::RuleSet;
use crate::fleet::{Name, Roster, RuleId, UpgradeState};
use crate::version::Version;

/// The clusters of a sector that are asked when they are expected to start, in the order of a pass.
const ASKED: usize = 20;

/// A sector of an organisation; or its clusters that are in none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PipelineSector {
    pub organisation: Name,
    pub sector: Option<Name>,
    /// The sectors that must be on a version first.
    pub depends_on: Vec<Name>,
    pub clusters: u32,
    pub versions: BTreeMap<Version, u32>,
    /// What its clusters wait for to soak, highest version first.
    pub soaking: Vec<SectorSoak>,
    /// How many clusters each rule holds.
    pub held: BTreeMap<RuleId, u32>,
    pub planned: u32,
    pub under_way: u32,
    /// What starts next; if nothing is about to, what is expected first of the clusters that a pass looks at first.
    pub next: Option<Next>,
}

/// A version that clusters of a sector wait for to soak with a workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectorSoak {
    pub version: Version,
    pub workload: Name,
    pub have_seconds: i64,
    /// The most that one of them needs.
    pub need_seconds: i64,
    /// How many clusters add to it.
    pub adding: u32,
    /// How many clusters wait for it.
    pub waiting: u32,
    /// When it is enough for all of them, if those that add to it go on.
    pub expected: Option<Timestamp>,
}

/// Where a cluster stands: its organisation, and its sector if it is in one.
type Place = (OrganisationIdx, Option<SectorIdx>);

#[derive(Default)]
struct Sums {
    versions: BTreeMap<VersionIdx, u32>,
    soaking: BTreeMap<(VersionIdx, CellIdx), Waiting>,
    held: BTreeMap<RuleId, u32>,
    planned: u32,
    under_way: u32,
    next: Option<Next>,
    first: Vec<ClusterIdx>,
}

#[derive(Default)]
struct Waiting {
    need: i64,
    clusters: u32,
}

impl Filter {
    /// The sectors that are asked about: by organisation, and there those first that others depend on. The first organisations after
    /// one, and whether there are more.
    pub fn pipeline(
        &self,
        desk: &FleetPlanner,
        decision: &Decision,
        after: Option<&str>,
        limit: usize,
    ) -> (Vec<PipelineSector>, bool) {
        let (roster, now) = (desk.roster(), decision.at);
        let mut sums: BTreeMap<Place, Sums> = BTreeMap::new();
        for member in self.members(desk, now) {
            let class = roster.class_of(member);
            let sum = sums.entry((class.organisation, class.sector)).or_default();
            sum.add(desk, member, now);
        }
        let id = |organisation: OrganisationIdx| &*roster.organisations[organisation].id;
        let asked: BTreeSet<&str> = sums.keys().map(|place| id(place.0)).collect();
        let asked = asked
            .into_iter()
            .filter(|id| after.is_none_or(|after| *id > after));
        let asked: Vec<&str> = asked.take(limit.saturating_add(1)).collect();
        let (has_more, shown) = (asked.len() > limit, &asked[..asked.len().min(limit)]);
        sums.retain(|place, _| shown.contains(&id(place.0)));
        self.add_empty(roster, &mut sums);
        for (member, start) in desk.pending_starts(decision) {
            let class = roster.class_of(member);
            let sum = sums.get_mut(&(class.organisation, class.sector));
            if let Some(sum) = sum.filter(|_| self.is_meant(desk, member, now)) {
                sum.comes(Next {
                    at: start.at,
                    cluster: start.name.clone(),
                    id: start.cluster.clone(),
                    to: start.to.clone(),
                    starts: true,
                });
            }
        }
        let rank = ranks(roster);
        let told = |(place, sum): (Place, Sums)| {
            let row = sum.told(desk, place, now);
            let rank = place.1.map_or(usize::MAX, |sector| rank[sector.at()]);
            ((row.organisation.clone(), rank, row.sector.clone()), row)
        };
        let mut rows: Vec<_> = sums.into_iter().map(told).collect();
        rows.sort_by(|(a, _), (b, _)| a.cmp(b));
        (rows.into_iter().map(|(_, row)| row).collect(), has_more)
    }

    /// Sectors without clusters on which others depend: without them the pipeline has a gap.
    fn add_empty(&self, roster: &Roster, sums: &mut BTreeMap<Place, Sums>) {
        if self.sector.is_some() {
            return;
        }
        let mut ahead: Vec<Place> = sums.keys().copied().collect();
        while let Some((organisation, sector)) = ahead.pop() {
            let before = sector.map(|sector| &*roster.sectors[sector].depends_on);
            for before in before.unwrap_or_default() {
                let place = (organisation, Some(*before));
                if let std::collections::btree_map::Entry::Vacant(entry) = sums.entry(place) {
                    entry.insert(Sums::default());
                    ahead.push(place);
                }
            }
        }
    }
}

impl Sums {
    fn add(&mut self, desk: &FleetPlanner, member: ClusterIdx, now: Timestamp) {
        let roster = desk.roster();
        let entry = roster.member(member);
        *self.versions.entry(entry.version).or_default() += 1;
        for rule in desk.held_by(member, now) {
            *self.held.entry(rule).or_default() += 1;
        }
        match entry.upgrade.map(|upgrade| &roster.upgrades[upgrade]) {
            Some(upgrade) if upgrade.state == UpgradeState::Planned => {
                self.planned += 1;
                self.comes(Next {
                    at: upgrade.start_at,
                    cluster: entry.state.name.clone(),
                    id: entry.state.id.clone(),
                    to: upgrade.to.clone(),
                    starts: true,
                });
            }
            Some(_) => self.under_way += 1,
            None if self.first.len() < ASKED => self.first.push(member),
            None => {}
        }
        self.add_soak(roster, member, entry.class);
    }

    fn add_soak(&mut self, roster: &Roster, member: ClusterIdx, class: ClassIdx) {
        let class = &roster.classes[class];
        let Some(need) = class.soak_seconds else {
            return;
        };
        for candidate in &roster.member(member).candidates {
            let held = RuleSet(candidate.holds);
            if !held.has_soak() || held.has_blocked() {
                continue;
            }
            for cell in &class.cells {
                if roster.cells[*cell].seconds[candidate.version] < need {
                    let waiting = self.soaking.entry((candidate.version, *cell)).or_default();
                    waiting.need = waiting.need.max(need);
                    waiting.clusters += 1;
                }
            }
        }
    }

    fn comes(&mut self, next: Next) {
        self.next = self.next.take().into_iter().chain([next]).min();
    }

    fn told(self, desk: &FleetPlanner, place: Place, now: Timestamp) -> PipelineSector {
        let (roster, (organisation, sector)) = (desk.roster(), place);
        let name = |sector: &SectorIdx| roster.sectors[*sector].name.clone();
        let soak = |(&(version, cell), waiting): (&(VersionIdx, CellIdx), &Waiting)| {
            sector_soak(roster, version, cell, waiting, now)
        };
        let expected = || {
            let first = self.first.iter();
            let expected = first.filter_map(|member| expected_next(desk, *member, now));
            expected.min()
        };
        let before = sector.map(|sector| &*roster.sectors[sector].depends_on);
        PipelineSector {
            organisation: roster.organisations[organisation].id.clone(),
            sector: sector.as_ref().map(name),
            depends_on: before.unwrap_or_default().iter().map(name).collect(),
            clusters: self.versions.values().sum(),
            soaking: self.soaking.iter().rev().map(soak).collect(),
            next: self.next.clone().or_else(expected),
            versions: self
                .versions
                .into_iter()
                .map(|(version, count)| (roster.version(version).clone(), count))
                .collect(),
            held: self.held,
            planned: self.planned,
            under_way: self.under_way,
        }
    }
}

fn sector_soak(
    roster: &Roster,
    version: VersionIdx,
    cell: CellIdx,
    waiting: &Waiting,
    now: Timestamp,
) -> SectorSoak {
    let have_seconds = roster.cells[cell].seconds[version];
    let adding = roster.soaking(cell, version);
    // Rounded up: at that second there is enough.
    let missing = (waiting.need - have_seconds).max(0) as u64;
    let seconds = (adding > 0).then(|| missing.div_ceil(adding.into()));
    let after = |seconds: u64| {
        let seconds = i64::try_from(seconds).ok()?;
        now.checked_add(SignedDuration::from_secs(seconds)).ok()
    };
    SectorSoak {
        version: roster.version(version).clone(),
        workload: roster.cells[cell].workload.clone(),
        have_seconds,
        need_seconds: waiting.need,
        adding,
        waiting: waiting.clusters,
        expected: seconds.and_then(after),
    }
}

/// How many sectors come before each, along the longest way. A circle is an error of the policy, and ends the way.
fn ranks(roster: &Roster) -> Vec<usize> {
    let sectors: Vec<&[SectorIdx]> = roster
        .sectors
        .iter()
        .map(|sector| &*sector.depends_on)
        .collect();
    let mut ranks = vec![0; sectors.len()];
    let mut changed: BTreeSet<usize> = (0..sectors.len()).collect();
    // A way without a circle is no longer than there are sectors.
    for _ in 0..sectors.len() {
        if changed.is_empty() {
            break;
        }
        changed.clear();
        for (at, before) in sectors.iter().enumerate() {
            let rank = before.iter().map(|sector| ranks[sector.at()] + 1).max();
            let rank = rank.unwrap_or(0).min(sectors.len());
            if ranks[at] != rank {
                ranks[at] = rank;
                changed.insert(at);
            }
        }
    }
    ranks
}
