//! What an audit finds for each release.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::edge_access::{ClientAccess, EdgeAccess};
use super::search::{self, NextReleases};
use super::search_space::ChannelSteps;
use crate::graph::{BlockId, ChannelName, ClientClass, ReleaseId, RiskId};
use crate::version::Arch;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Audit {
    /// When the releases looked at had entered their channels.
    pub at: Timestamp,
    /// By channel, architecture and clients.
    pub sections: Vec<Section>,
}

/// What holds in one channel, on one architecture, for clients that are alike there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    pub channel: ChannelName,
    pub arch: Arch,
    pub clients: BTreeSet<ClientClass>,
    /// Every release that has entered, by version.
    pub releases: Vec<ReleaseReport>,
}

/// A release, and how it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReleaseReport {
    pub release: ReleaseId,
    /// On the way to the newest release of its minor version.
    pub minor: Reachability,
    /// On the way to the channel's head.
    pub head: Reachability,
}

/// Where a release should be able to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AuditGoal {
    /// The newest release of its minor version.
    Minor,
    /// The newest release of the channel.
    Head,
}

/// What becomes of a release that wants to go somewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reachability {
    pub goal: ReleaseId,
    pub outcome: GoalOutcome,
}

/// Whether there is a way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GoalOutcome {
    /// There is, and this is one.
    Way(CertifiedWay),
    /// There is none.
    Stranded(StrandingCause),
}

/// A certificate: a way on which clients recommend each step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertifiedWay {
    /// From the release itself to the goal.
    pub releases: Vec<ReleaseId>,
    /// What clients have to weigh on it. With none, the way is plain.
    pub risks: BTreeSet<RiskId>,
}

/// Why there is no way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StrandingCause {
    /// These blocks; there is no smaller set whose removal would give a way.
    Blocks {
        blocks: BTreeSet<BlockId>,
        /// The way that there would be without them.
        way: Vec<ReleaseId>,
    },
    /// No edge in the channel leaves the release, blocked or not.
    NoEdgeLeaves,
    /// Edges leave it, and none of them leads to the goal, blocked or not.
    NoEdgeReaches,
}

/// How well off a release is, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// A way on which every step is recommended.
    Plain,
    /// A way on which clients have risks to weigh.
    Conditional,
    Stranded,
}

/// How many releases of a section are how well off, each by the worse of its two goals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    pub plain: usize,
    /// With ways that clients have to weigh.
    pub conditional: usize,
    pub stranded: usize,
}

impl ReleaseReport {
    /// Both goals, and whether there is a way.
    pub fn goals(&self) -> [(AuditGoal, &Reachability); 2] {
        [
            (AuditGoal::Minor, &self.minor),
            (AuditGoal::Head, &self.head),
        ]
    }
}

impl GoalOutcome {
    pub fn grade(&self) -> Grade {
        match self {
            Self::Way(way) if way.risks.is_empty() => Grade::Plain,
            Self::Way(_) => Grade::Conditional,
            Self::Stranded(_) => Grade::Stranded,
        }
    }

    /// Why there is no way, if there is none.
    pub fn cause(&self) -> Option<&StrandingCause> {
        match self {
            Self::Way(_) => None,
            Self::Stranded(cause) => Some(cause),
        }
    }
}

impl Grade {
    pub fn code(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Conditional => "conditional",
            Self::Stranded => "stranded",
        }
    }
}

impl Section {
    /// Whether every release has a plain way to its goals.
    pub fn is_plain(&self) -> bool {
        self.tally().plain == self.releases.len()
    }

    /// How many releases stand how.
    pub fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        for report in &self.releases {
            match report
                .minor
                .outcome
                .grade()
                .max(report.head.outcome.grade())
            {
                Grade::Plain => tally.plain += 1,
                Grade::Conditional => tally.conditional += 1,
                Grade::Stranded => tally.stranded += 1,
            }
        }
        tally
    }
}

pub(super) fn release_reports(
    space: &ChannelSteps<'_>,
    goals: &[[u32; 2]],
    access: &ClientAccess,
) -> Vec<ReleaseReport> {
    let mut found: BTreeMap<(u32, u32), Reachability> = BTreeMap::new();
    let mut by_goal: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for (from, goals) in space.members.iter().zip(goals) {
        for goal in goals {
            by_goal.entry(*goal).or_default().insert(*from);
        }
    }
    for (goal, members) in by_goal {
        let plain = search::plain(space, access, goal);
        // Only where a plain way does not do.
        let any = members.iter().any(|from| plain[*from as usize].is_none());
        let any = if any {
            search::any(space, access, goal)
        } else {
            NextReleases::new()
        };
        for from in members {
            let outcome = outcome(space, access, from, [&plain, &any]);
            found.insert(
                (from, goal),
                Reachability {
                    goal: space.steps.id(goal),
                    outcome,
                },
            );
        }
    }
    let reachability = |from: u32, goal: u32| found[&(from, goal)].clone();
    let report = |(from, [minor, head]): (&u32, &[u32; 2])| ReleaseReport {
        release: space.steps.id(*from),
        minor: reachability(*from, *minor),
        head: reachability(*from, *head),
    };
    space.members.iter().zip(goals).map(report).collect()
}

fn outcome(
    space: &ChannelSteps<'_>,
    access: &ClientAccess,
    from: u32,
    [plain, any]: [&NextReleases; 2],
) -> GoalOutcome {
    let releases = |way: &[u32]| way.iter().map(|member| space.steps.id(*member)).collect();
    if let Some(way) = search::way(plain, from) {
        return GoalOutcome::Way(CertifiedWay {
            releases: releases(&way),
            risks: BTreeSet::new(),
        });
    }
    let Some(way) = search::way(any, from) else {
        let none_leaves = space.steps.out(from).is_empty();
        return GoalOutcome::Stranded(if none_leaves {
            StrandingCause::NoEdgeLeaves
        } else {
            StrandingCause::NoEdgeReaches
        });
    };
    let (mut blocks, mut risks) = (BTreeSet::new(), BTreeSet::new());
    let pairs = way.windows(2);
    for step in pairs.filter_map(|ends| space.steps.between(ends[0], ends[1])) {
        match access.through(step.blocks) {
            EdgeAccess::Plain => {}
            EdgeAccess::Conditional(more) => risks.extend(more),
            EdgeAccess::Stopped(more) => blocks.extend(more),
            EdgeAccess::Closed => {}
        }
    }
    match blocks.is_empty() {
        true => GoalOutcome::Way(CertifiedWay {
            releases: releases(&way),
            risks,
        }),
        false => GoalOutcome::Stranded(StrandingCause::Blocks {
            blocks,
            way: releases(&way),
        }),
    }
}
