//! No path: how far the cluster gets, and what stops it.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::search::{Lasts, Search};
use super::search_space::SearchSpace;
use super::{Goal, Plan, Preference, Request, schedule};
use crate::graph::{Channel, ChannelName, Edge, Graph, ReleaseId, Situation};
use crate::rules::{Policy, Rule};
use crate::verdict::{Answer, Verdict};
use crate::version::{Minor, Succession};

/// The most barriers that are listed. The others are counted.
const MAX_BARRIERS: usize = 4;
/// The most barriers that are looked at to find some that differ.
const MAX_LOOKED_AT: usize = 50;

/// Why there is no path, for one cluster that asks or for one of those that a mirror is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoPath {
    /// There is no such channel, nor one of that stream.
    NoChannel(ChannelName),
    /// There is no release of the cluster's version for its architecture.
    FromUnknown,
    /// The cluster's release is in none of the channels.
    FromElsewhere(ReleaseId),
    /// The goal is not there.
    NoGoal {
        is: NoGoal,
        /// How far one gets: the best way to the newest release that is no newer than what was asked for. None if no update is offered.
        nearest: Option<Plan>,
    },
    /// All that is there, but no way leads to the goal.
    Stranded(Box<StrandedPath>),
}

/// Why there is no such goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoGoal {
    /// There is no release of that version for the cluster's architecture.
    Unknown,
    /// It is in none of the channels.
    Elsewhere(ReleaseId),
    /// The channels hold nothing that it could be.
    NothingThere,
}

impl NoPath {
    /// The stable name, for machines.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoChannel(_) => "NoChannel",
            Self::FromUnknown => "FromUnknown",
            Self::FromElsewhere(_) => "FromNotInChannels",
            Self::NoGoal {
                is: NoGoal::Unknown,
                ..
            } => "GoalUnknown",
            Self::NoGoal {
                is: NoGoal::Elsewhere(_),
                ..
            } => "GoalNotInChannels",
            Self::NoGoal {
                is: NoGoal::NothingThere,
                ..
            } => "NothingInChannels",
            Self::Stranded(_) => "Stranded",
        }
    }
}

impl NoPath {
    /// The way as far as one gets, if one gets anywhere.
    pub fn nearest(&self) -> Option<&Plan> {
        match self {
            Self::NoGoal { nearest, .. } => nearest.as_ref(),
            Self::Stranded(stranded) => stranded.nearest.as_ref(),
            Self::NoChannel(_) | Self::FromUnknown | Self::FromElsewhere(_) => None,
        }
    }
}

/// How far one gets, and no farther.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StrandedPath {
    /// Where one wants to go.
    pub goal: ReleaseId,
    /// The way to the newest release that can be reached and is not newer than the goal, if there is any.
    pub nearest: Option<Plan>,
    /// The newest release of the goal's minor version that can be reached.
    pub of_goals_minor: Option<ReleaseId>,
    /// Updates that would lead on and are not for this cluster, the most promising first.
    pub barriers: Vec<PathBarrier>,
    /// How many more there are.
    pub more_barriers: usize,
    /// A way that opens if these risks are accepted, the fewest that will do.
    pub with_risks: Option<Plan>,
}

impl StrandedPath {
    /// Nothing is known but the goal.
    pub(crate) fn short_of(goal: ReleaseId) -> Self {
        Self {
            goal,
            nearest: None,
            of_goals_minor: None,
            barriers: Vec::new(),
            more_barriers: 0,
            with_risks: None,
        }
    }
}

/// An update that would lead on, and why it is not for this cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathBarrier {
    /// From a release that can be reached.
    pub from: ReleaseId,
    pub to: ReleaseId,
    /// What stands in the way.
    pub obstacle: Obstacle,
}

/// What stands in the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// What the rules say in this channel. Offered, with risks: they are not to be taken.
    Rules {
        channel: ChannelName,
        /// The answer, and every reason.
        verdict: Verdict,
    },
    /// None of the channels holds both, but these do.
    NoChannelHoldsBoth(Vec<ChannelName>),
    /// It leaves out a minor version, which clusters refuse: these, or none if no sequence of updates leads there.
    LeavesOut(Vec<Minor>),
}

/// Looks around where the way ends.
pub(super) fn stranded(
    space: &SearchSpace<'_>,
    channels: &[&Channel],
    request: &Request,
    [start, goal]: [u32; 2],
    lasts: &Lasts<'_>,
) -> NoPath {
    let reached = reached(space, start, |release| space.out(release));
    let near = (0..=goal)
        .rev()
        .find(|release| reached.contains(release))
        .filter(|near| *near > start);
    let nearest = near.and_then(|near| best(space, [start, near], lasts));
    let version = |release: u32| &space.graph.release(space.id(release)).version;
    let of_goals_minor = reached
        .iter()
        .rev()
        .find(|release| version(**release).same_minor(version(goal)));
    let (barriers, more_barriers) = barriers(space, channels, request, &reached, goal);
    NoPath::Stranded(Box::new(StrandedPath {
        goal: space.id(goal),
        nearest,
        of_goals_minor: of_goals_minor.map(|release| space.id(*release)),
        barriers,
        more_barriers,
        with_risks: with_risks(space, request, [start, goal], lasts),
    }))
}

/// The way to the newest release that can be reached and is no newer than what was asked for.
pub(super) fn farthest(
    space: &SearchSpace<'_>,
    request: &Request,
    start: u32,
    lasts: &Lasts<'_>,
) -> Option<Plan> {
    let reached = reached(space, start, |release| space.out(release));
    let is_within = |release: &&u32| {
        let version = &space.graph.release(space.id(**release)).version;
        match &request.goal {
            Goal::Version(wanted) => version <= wanted,
            Goal::NewestOf { major, minor } => {
                (version.major(), version.minor()) <= (*major, *minor)
            }
            Goal::Newest => true,
        }
    };
    let far = reached
        .iter()
        .rev()
        .find(is_within)
        .filter(|far| **far > start)?;
    best(space, [start, *far], lasts)
}

/// The path with the fewest hops, whatever the preference. It only shows how far the cluster gets.
fn best(space: &SearchSpace<'_>, [start, end]: [u32; 2], lasts: &Lasts<'_>) -> Option<Plan> {
    let search = Search::new(space, end, Preference::FewestHops, lasts);
    let way = search.best(start)?;
    Some(schedule::plan(space, &way, lasts))
}

/// All that can be reached over such steps.
fn reached<'g>(
    space: &SearchSpace<'_>,
    start: u32,
    steps: impl Fn(u32) -> &'g [crate::graph::GraphStep],
) -> BTreeSet<u32> {
    let mut seen = vec![false; space.count as usize];
    seen[start as usize] = true;
    let mut waiting = vec![start];
    while let Some(at) = waiting.pop() {
        for step in steps(at) {
            if !std::mem::replace(&mut seen[step.release as usize], true) {
                waiting.push(step.release);
            }
        }
    }
    (0..space.count)
        .filter(|release| seen[*release as usize])
        .collect()
}

/// Edges out of what can be reached, to where the goal can be reached from; if there are none, to anything between.
fn barriers(
    space: &SearchSpace<'_>,
    channels: &[&Channel],
    request: &Request,
    reached: &BTreeSet<u32>,
    goal: u32,
) -> (Vec<PathBarrier>, usize) {
    let beyond = self::reached(space, goal, |release| space.into(release));
    let leaving = reached.iter().flat_map(|from| {
        let edges = space.budget.of(space.graph.edges_from(space.id(*from)));
        let targets = edges.iter().map(|edge| (space.number(edge.to), *edge));
        targets
            .filter(|(to, _)| !reached.contains(to))
            .map(move |(to, edge)| (*from, to, edge))
    });
    let mut leaving: Vec<(u32, u32, Edge)> = leaving
        .filter(|(_, to, _)| *to <= goal || beyond.contains(to))
        .collect();
    if leaving.iter().any(|(_, to, _)| beyond.contains(to)) {
        leaving.retain(|(_, to, _)| beyond.contains(to));
    }
    // An edge within the channels says more than one that leads out of them; then the newest counts.
    leaving
        .sort_by_key(|(from, to, _)| (!space.is_held_together(*from, *to), Reverse((*from, *to))));
    let mut told: Vec<PathBarrier> = Vec::new();
    let mut targets: BTreeSet<ReleaseId> = BTreeSet::new();
    for (_, _, edge) in leaving.iter().take(MAX_LOOKED_AT) {
        // What is said once of a target, or in the same words of another, need not be said again.
        let is_new = told.len() < MAX_BARRIERS && targets.insert(edge.to);
        let barrier = is_new.then(|| barrier(space, channels, request, *edge));
        let known = |new: &PathBarrier| told.iter().any(|old| says_the_same(space.graph, old, new));
        told.extend(barrier.filter(|new| !known(new)));
    }
    let more = leaving.len() - told.len();
    (told, more)
}

/// Whether two barriers are the same, or the same risks: of one risk there are often many declarations.
fn says_the_same(graph: &Graph, old: &PathBarrier, new: &PathBarrier) -> bool {
    let risks = |barrier: &PathBarrier| match &barrier.obstacle {
        Obstacle::Rules {
            verdict:
                Verdict {
                    answer: Answer::RecommendUnless(risks),
                    ..
                },
            ..
        } => Some(
            risks
                .iter()
                .map(|id| graph.risk(*id).name.clone())
                .collect::<BTreeSet<String>>(),
        ),
        _ => None,
    };
    old.obstacle == new.obstacle || risks(old).is_some_and(|names| risks(new) == Some(names))
}

fn barrier(
    space: &SearchSpace<'_>,
    channels: &[&Channel],
    request: &Request,
    edge: Edge,
) -> PathBarrier {
    let holds_both = |channel: &Channel| {
        channel.membership(edge.from).is_some() && channel.membership(edge.to).is_some()
    };
    let minor = |id: ReleaseId| Minor::of(&space.graph.release(id).version);
    let succession = request.minors.succession(minor(edge.from), minor(edge.to));
    let obstacle = match (
        succession,
        channels.iter().find(|channel| holds_both(channel)),
    ) {
        (Succession::LeavesOut(between), _) => Obstacle::LeavesOut(between),
        (Succession::NoWay, _) => Obstacle::LeavesOut(Vec::new()),
        (_, Some(channel)) => {
            let cluster = request.asker.in_channel(&channel.name);
            let at = Situation {
                graph: space.graph,
                cluster: &cluster,
                now: request.now,
            };
            Obstacle::Rules {
                channel: channel.name.clone(),
                verdict: Policy::anywhere().judge(&at.about(edge)),
            }
        }
        (_, None) => {
            let all = space
                .graph
                .release(edge.to)
                .channels
                .iter()
                .map(|(name, _)| name);
            let both =
                all.filter(|name| space.graph.channel(name.as_str()).is_some_and(holds_both));
            Obstacle::NoChannelHoldsBoth(both.cloned().collect())
        }
    };
    PathBarrier {
        from: edge.from,
        to: edge.to,
        obstacle,
    }
}

/// The way with the fewest risks, were all of them accepted.
fn with_risks(
    space: &SearchSpace<'_>,
    request: &Request,
    [start, goal]: [u32; 2],
    lasts: &Lasts<'_>,
) -> Option<Plan> {
    let space = space.with_all_risks(&request.asker);
    let search = Search::new(&space, goal, Preference::Safest, lasts);
    let way = search.best(start)?;
    Some(schedule::plan(&space, &way, lasts))
}
