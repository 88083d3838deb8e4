//! Strandings: who is stranded, put together by cause, so that a person sees one block and everything it does.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::{Audit, Cause, ClientClass, Goal};
use crate::domain::{Arch, BlockId, ChannelName, Graph, ReleaseId, Version};

/// Everybody whom one smallest set of blocks strands, or the want of edges where the set is empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stranding {
    /// The blocks. Without them there would be ways. None: there is no edge.
    pub blocks: BTreeSet<BlockId>,
    /// Whom, and where.
    pub spots: Vec<Spot>,
}

/// Releases that cannot get to one goal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spot {
    /// The channel.
    pub channel: ChannelName,
    /// The architecture.
    pub arch: Arch,
    /// For these clients.
    pub clients: BTreeSet<ClientClass>,
    /// Where they cannot get to.
    pub goal: ReleaseId,
    /// The releases, by version.
    pub releases: Vec<ReleaseId>,
}

/// Who was stranded before a change.
#[derive(Debug, Clone, Default)]
pub struct Baseline {
    stranded: BTreeSet<(ChannelName, Arch, ClientClass, Version, Goal)>,
    classes: BTreeSet<ClientClass>,
}

/// When files came to be: the last time that each was added.
pub type Arrivals = BTreeMap<String, Timestamp>;

/// Who is stranded, or only who was not so before. Those whom most blocks would have to go for come last.
pub fn strandings(graph: &Graph, audit: &Audit, base: Option<&Baseline>) -> Vec<Stranding> {
    type Where<'a> = (&'a ChannelName, &'a Arch, ReleaseId);
    let nothing = BTreeSet::new();
    let mut found: BTreeMap<&BTreeSet<BlockId>, BTreeMap<(usize, Where<'_>), Stranded>> = BTreeMap::new();
    for (number, section) in audit.sections.iter().enumerate() {
        let by_release = section.releases.iter().flat_map(|standing| {
            standing.outlooks().into_iter().map(move |(goal, outlook)| (standing.release, goal, outlook))
        });
        for (release, goal, outlook) in by_release {
            let Some(cause) = outlook.outcome.cause() else { continue };
            let blocks = match cause {
                Cause::Blocks { blocks, .. } => blocks,
                Cause::NoEdgeLeaves | Cause::NoEdgeReaches => &nothing,
            };
            let version = &graph.release(release).version;
            let key = |class: &ClientClass| (section.channel.clone(), section.arch.clone(), class.clone());
            let is_new = |class: &&ClientClass| {
                base.is_none_or(|base| base.knows_as_well(key(class), version, goal) == Before::NotStranded)
            };
            let clients: BTreeSet<ClientClass> = section.clients.iter().filter(is_new).cloned().collect();
            if !clients.is_empty() {
                let spot = (number, (&section.channel, &section.arch, outlook.goal));
                found.entry(blocks).or_default().entry(spot).or_default().add(clients, release);
            }
        }
    }
    let mut strandings: Vec<Stranding> = found
        .into_iter()
        .map(|(blocks, spots)| {
            let spots = spots.into_iter().flat_map(|((_, (channel, arch, goal)), stranded)| {
                let spot = move |(clients, releases): (BTreeSet<ClientClass>, BTreeSet<ReleaseId>)| Spot {
                    channel: channel.clone(),
                    arch: arch.clone(),
                    clients,
                    goal,
                    releases: releases.into_iter().collect(),
                };
                stranded.0.into_iter().map(spot)
            });
            Stranding { blocks: blocks.clone(), spots: spots.collect() }
        })
        .collect();
    // No block can be removed where there is no edge, so that is last.
    strandings.sort_by_key(|stranding| match stranding.blocks.len() {
        0 => usize::MAX,
        blocks => blocks,
    });
    strandings
}

/// Releases, by the clients they are stranded for.
#[derive(Default)]
struct Stranded(BTreeMap<BTreeSet<ClientClass>, BTreeSet<ReleaseId>>);

impl Stranded {
    fn add(&mut self, clients: BTreeSet<ClientClass>, release: ReleaseId) {
        self.0.entry(clients).or_default().insert(release);
    }
}

impl Stranding {
    /// Since when: the blocks have been together since the last of them came. None if nobody can say.
    pub fn since(&self, graph: &Graph, arrivals: &Arrivals) -> Option<Timestamp> {
        let came = |block: &BlockId| arrivals.get(&*graph.block(*block).origin.file).copied();
        let came: Option<Vec<Timestamp>> = self.blocks.iter().map(came).collect();
        came?.into_iter().max()
    }
}

/// How somebody stood before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    Stranded,
    NotStranded,
}

impl Baseline {
    /// Who is stranded in that audit.
    pub fn of(graph: &Graph, audit: &Audit) -> Self {
        let mut baseline = Self::default();
        for section in &audit.sections {
            baseline.classes.extend(section.clients.iter().cloned());
            for standing in &section.releases {
                let stranded = standing.outlooks().into_iter().filter(|(_, outlook)| outlook.outcome.cause().is_some());
                for ((goal, _), class) in stranded.flat_map(|one| section.clients.iter().map(move |class| (one, class)))
                {
                    let version = graph.release(standing.release).version.clone();
                    baseline.stranded.insert((
                        section.channel.clone(),
                        section.arch.clone(),
                        class.clone(),
                        version,
                        goal,
                    ));
                }
            }
        }
        baseline
    }

    /// A platform that no block named before was one among the others.
    fn knows_as_well(
        &self,
        (channel, arch, class): (ChannelName, Arch, ClientClass),
        version: &Version,
        goal: Goal,
    ) -> Before {
        let class = if self.classes.contains(&class) { class } else { ClientClass::OnAnother };
        match self.stranded.contains(&(channel, arch, class, version.clone(), goal)) {
            true => Before::Stranded,
            false => Before::NotStranded,
        }
    }
}
