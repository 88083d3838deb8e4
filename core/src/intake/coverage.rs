//! What blocks do, before and after: how many edges they keep from how many kinds of clients.
//!
//! Counting files says little. A block that was rewritten to match nothing is still a file, and
//! one block can do the work of ten. So a copy of graph data is measured by its effect on the
//! edges that release sources declare now. A kind of client is a platform that some block names,
//! any other platform, or an unknown one.

use std::collections::{BTreeMap, BTreeSet};

use super::Return;
use super::change::{WeighedRisk, is_as_strict, weighed};
use crate::cluster::Platform;
use crate::graph::{Audience, Block, Releases};
use crate::version::Version;

/// What two sets of blocks do to the same edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coverage {
    /// Blocks in effect: on an edge, or about a release that no edge leads to yet. Before.
    pub blocks_before: usize,
    pub blocks_after: usize,
    /// Edges under blocks, counted once for each kind of client that is kept from them. Before.
    pub edges_before: usize,
    pub edges_after: usize,
    /// Those of `edges_before` that are under less afterwards.
    pub edges_loosened: usize,
    /// How many of `edges_before` the block covers that covers most.
    pub edges_of_largest_block: usize,
    /// Whether anything may come back, also for releases that no edge leads to yet.
    pub returns: Return,
}

impl Coverage {
    /// Of the blocks in force and those that would take their place, on the edges of these sources.
    pub fn of(before: &[&Block], after: &[&Block], sources: &[&Releases]) -> Self {
        let blocks: Vec<&Block> = before.iter().chain(after).copied().collect();
        let mut survey = Survey::new(&blocks, before.len());
        sources.iter().for_each(|releases| survey.walk(releases));
        survey.finish()
    }
}

/// How strictly a kind of client is kept from an edge, from least to most. Clients take no edge of whose risk they know, without looking, that it concerns them.
#[derive(Debug, PartialEq, Eq)]
enum Strictness<'a> {
    Weighed(BTreeSet<WeighedRisk<'a>>),
    RiskForEverybody,
    Stopped,
}

impl Strictness<'_> {
    fn is_free(&self) -> bool {
        matches!(self, Self::Weighed(risks) if risks.is_empty())
    }

    fn is_at_least(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Stopped, _) => true,
            (Self::RiskForEverybody, other) => *other != Self::Stopped,
            (Self::Weighed(risks), Self::Weighed(others)) => others.is_subset(risks),
            (Self::Weighed(_), _) => false,
        }
    }
}

/// What a set of blocks on an edge amounts to.
#[derive(Clone, Copy)]
struct Tally {
    before: usize,
    after: usize,
    loosened: usize,
}

struct Survey<'a> {
    /// Those before, then those after.
    blocks: &'a [&'a Block],
    count_before: usize,
    by_target: BTreeMap<&'a Version, Vec<usize>>,
    /// `None` is a platform that no block names; the last one is an unknown platform.
    clients: Vec<Client<'a>>,
    tallies: BTreeMap<Vec<usize>, Tally>,
    /// Of each block, whether an edge leads to its release, and on how many it is.
    met: Vec<Met>,
    sum: Tally,
}

#[derive(Clone, Copy)]
enum Client<'a> {
    On(&'a Platform),
    OnAnother,
    Unknown,
}

#[derive(Clone, Copy, Default)]
struct Met {
    edges_into_its_release: usize,
    covered: usize,
}

impl<'a> Survey<'a> {
    fn new(blocks: &'a [&'a Block], count_before: usize) -> Self {
        let mut by_target: BTreeMap<&Version, Vec<usize>> = BTreeMap::new();
        let mut platforms: BTreeSet<&Platform> = BTreeSet::new();
        for (number, block) in blocks.iter().enumerate() {
            by_target.entry(&block.to.version).or_default().push(number);
            if let Some(Audience::Platforms(named)) = &block.stops {
                platforms.extend(named);
            }
        }
        let clients = platforms
            .into_iter()
            .map(Client::On)
            .chain([Client::OnAnother, Client::Unknown])
            .collect();
        let met = vec![Met::default(); blocks.len()];
        let sum = Tally {
            before: 0,
            after: 0,
            loosened: 0,
        };
        Self {
            blocks,
            count_before,
            by_target,
            clients,
            tallies: BTreeMap::new(),
            met,
            sum,
        }
    }

    fn walk(&mut self, declared: &Releases) {
        let releases = &declared.releases;
        let names: Vec<String> = releases
            .iter()
            .map(|release| format!("{}+{}", release.version, release.arch))
            .collect();
        for edge in &declared.edges {
            let (from, to) = (edge.from as usize, edge.to as usize);
            let (Some(name), Some(to)) = (names.get(from), releases.get(to)) else {
                continue;
            };
            let Some(numbers) = self.by_target.get(&to.version) else {
                continue;
            };
            let mut found = Vec::new();
            for number in numbers
                .iter()
                .copied()
                .filter(|number| self.blocks[*number].to.means(&to.arch))
            {
                self.met[number].edges_into_its_release += 1;
                if self.blocks[number].from.finds(name) {
                    found.push(number);
                }
            }
            if !found.is_empty() {
                self.add(found);
            }
        }
    }

    fn add(&mut self, found: Vec<usize>) {
        for number in &found {
            let kept = self
                .clients
                .iter()
                .filter(|client| !strictness(&[self.blocks[*number]], **client).is_free());
            self.met[*number].covered += kept.count();
        }
        let tally = match self.tallies.get(&found) {
            Some(known) => *known,
            None => {
                let tally = self.tally(&found);
                self.tallies.insert(found, tally);
                tally
            }
        };
        self.sum.before += tally.before;
        self.sum.after += tally.after;
        self.sum.loosened += tally.loosened;
    }

    fn tally(&self, found: &[usize]) -> Tally {
        let split = found.partition_point(|number| *number < self.count_before);
        let blocks = |numbers: &[usize]| {
            numbers
                .iter()
                .map(|number| self.blocks[*number])
                .collect::<Vec<_>>()
        };
        let (before, after) = (blocks(&found[..split]), blocks(&found[split..]));
        let mut tally = Tally {
            before: 0,
            after: 0,
            loosened: 0,
        };
        for client in &self.clients {
            let (was, is) = (strictness(&before, *client), strictness(&after, *client));
            tally.before += usize::from(!was.is_free());
            tally.after += usize::from(!is.is_free());
            tally.loosened += usize::from(!is.is_at_least(&was));
        }
        tally
    }

    fn finish(self) -> Coverage {
        let (before, after) = self.blocks.split_at(self.count_before);
        let (met_before, met_after) = self.met.split_at(self.count_before);
        let in_effect = |met: &[Met]| {
            met.iter()
                .filter(|met| met.covered > 0 || met.edges_into_its_release == 0)
                .count()
        };
        let waiting = before
            .iter()
            .zip(met_before)
            .filter(|(_, met)| met.edges_into_its_release == 0);
        let mut waiting = waiting.map(|(block, _)| *block);
        let all_wait_on = waiting.all(|block| after.iter().any(|now| is_as_strict(now, block)));
        let returns = match self.sum.loosened == 0 && all_wait_on {
            true => Return::Nothing,
            false => Return::Something,
        };
        Coverage {
            blocks_before: in_effect(met_before),
            blocks_after: in_effect(met_after),
            edges_before: self.sum.before,
            edges_after: self.sum.after,
            edges_loosened: self.sum.loosened,
            edges_of_largest_block: met_before.iter().map(|met| met.covered).max().unwrap_or(0),
            returns,
        }
    }
}

fn strictness<'a>(blocks: &[&'a Block], client: Client<'_>) -> Strictness<'a> {
    let stops = |block: &&&Block| match (&block.stops, client) {
        (None, _) => false,
        (Some(Audience::Platforms(named)), Client::On(platform)) => named.contains(platform),
        (Some(Audience::Platforms(_)), Client::OnAnother) => false,
        (Some(Audience::Platforms(_)), Client::Unknown) => true,
        (Some(Audience::Everybody | Audience::NotUnderstood(_) | Audience::Disputed(_)), _) => true,
    };
    let risks = || blocks.iter().filter_map(|block| block.risk.as_ref());
    match (
        blocks.iter().find(stops),
        risks().any(|risk| risk.is_for_everybody()),
    ) {
        (Some(_), _) => Strictness::Stopped,
        (None, true) => Strictness::RiskForEverybody,
        (None, false) => Strictness::Weighed(risks().map(weighed).collect()),
    }
}
