//! Strandings: stranded releases grouped by cause, so that a person sees one block and everything
//! it does.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::{Audit, AuditGoal, Section, StrandingCause};
use crate::graph::{BlockId, ChannelName, ClientClass, Graph, ReleaseId};
use crate::version::{Arch, Version};

/// All releases that one cause strands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stranding {
    /// What is in the way.
    pub barrier: Barrier,
    pub spots: Vec<StrandedReleases>,
}

/// What stands between releases and their goal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Barrier {
    /// The smallest set of blocks without which there would be a way.
    Blocks(BTreeSet<BlockId>),
    /// No edge leads there, though some leave.
    NoEdgeReaches,
    NoEdgeLeaves,
}

/// Releases that cannot get to one goal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StrandedReleases {
    pub channel: ChannelName,
    pub arch: Arch,
    pub clients: BTreeSet<ClientClass>,
    /// Where they cannot get to.
    pub goal: ReleaseId,
    pub releases: Vec<ReleaseId>,
}

/// Who was stranded before a change.
#[derive(Debug, Clone, Default)]
pub struct Baseline {
    stranded: BTreeSet<Key>,
    classes: BTreeSet<ClientClass>,
}

/// When files came to be: the last time that each was added.
pub type Arrivals = BTreeMap<String, Timestamp>;

/// Who is stranded, or only who was not so before. One block that could be removed comes before two; want of edges comes last.
pub fn strandings(graph: &Graph, audit: &Audit, base: Option<&Baseline>) -> Vec<Stranding> {
    let mut found: BTreeMap<Barrier, BTreeMap<Whose, BTreeSet<ReleaseId>>> = BTreeMap::new();
    for (section, part) in audit.sections.iter().enumerate() {
        for report in &part.releases {
            for (goal, reachability) in report.goals() {
                let Some(cause) = reachability.outcome.cause() else {
                    continue;
                };
                let version = &graph.release(report.release).version;
                let was = |class: &ClientClass| {
                    base.map(|base| base.of_client(part, class, version, goal))
                };
                let clients = part
                    .clients
                    .iter()
                    .filter(|class| was(class) != Some(Before::Stranded))
                    .cloned();
                let whose = Whose {
                    section,
                    goal: reachability.goal,
                    clients: clients.collect(),
                };
                if !whose.clients.is_empty() {
                    let spots = found.entry(Barrier::of(cause)).or_default();
                    spots.entry(whose).or_default().insert(report.release);
                }
            }
        }
    }
    let spot = |(whose, releases): (Whose, BTreeSet<ReleaseId>)| StrandedReleases {
        channel: audit.sections[whose.section].channel.clone(),
        arch: audit.sections[whose.section].arch.clone(),
        clients: whose.clients,
        goal: whose.goal,
        releases: releases.into_iter().collect(),
    };
    let stranding = |(barrier, spots): (Barrier, BTreeMap<Whose, BTreeSet<ReleaseId>>)| Stranding {
        barrier,
        spots: spots.into_iter().map(spot).collect(),
    };
    let mut strandings: Vec<Stranding> = found.into_iter().map(stranding).collect();
    strandings
        .sort_by_key(|stranding| stranding.barrier.blocks().map_or(usize::MAX, BTreeSet::len));
    strandings
}

/// Whose releases are put together.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Whose {
    section: usize,
    goal: ReleaseId,
    clients: BTreeSet<ClientClass>,
}

impl Barrier {
    fn of(cause: &StrandingCause) -> Self {
        match cause {
            StrandingCause::Blocks { blocks, .. } => Self::Blocks(blocks.clone()),
            StrandingCause::NoEdgeReaches => Self::NoEdgeReaches,
            StrandingCause::NoEdgeLeaves => Self::NoEdgeLeaves,
        }
    }

    /// The stable name: `blocks`, `noEdgeReaches` or `noEdgeLeaves`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Blocks(_) => "blocks",
            Self::NoEdgeReaches => "noEdgeReaches",
            Self::NoEdgeLeaves => "noEdgeLeaves",
        }
    }

    /// The blocks, if it is made of them.
    pub fn blocks(&self) -> Option<&BTreeSet<BlockId>> {
        match self {
            Self::Blocks(blocks) => Some(blocks),
            Self::NoEdgeReaches | Self::NoEdgeLeaves => None,
        }
    }

    /// Since when it stands: since the last of its blocks came. None if nobody can say.
    pub fn since(&self, graph: &Graph, arrivals: &Arrivals) -> Option<Timestamp> {
        let came = |block: &BlockId| arrivals.get(&*graph.block(*block).origin.file).copied();
        let came: Option<Vec<Timestamp>> = self.blocks()?.iter().map(came).collect();
        came?.into_iter().max()
    }
}

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
            for report in &section.releases {
                let version = &graph.release(report.release).version;
                let stranded = report
                    .goals()
                    .into_iter()
                    .filter(|(_, reachability)| reachability.outcome.cause().is_some());
                for (goal, _) in stranded {
                    let keys = section
                        .clients
                        .iter()
                        .map(|class| key(section, class, version, goal));
                    baseline.stranded.extend(keys);
                }
            }
        }
        baseline
    }

    /// How a client stood. One on a platform that no block named then was among the others.
    fn of_client(
        &self,
        section: &Section,
        class: &ClientClass,
        version: &Version,
        goal: AuditGoal,
    ) -> Before {
        let class = if self.classes.contains(class) {
            class
        } else {
            &ClientClass::OnAnother
        };
        match self.stranded.contains(&key(section, class, version, goal)) {
            true => Before::Stranded,
            false => Before::NotStranded,
        }
    }
}

/// What tells one who is stranded from another, in any graph.
type Key = (ChannelName, Arch, ClientClass, Version, AuditGoal);

fn key(section: &Section, class: &ClientClass, version: &Version, goal: AuditGoal) -> Key {
    (
        section.channel.clone(),
        section.arch.clone(),
        class.clone(),
        version.clone(),
        goal,
    )
}
