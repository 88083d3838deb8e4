//! The updates that clusters can take by now, over several channels at once.
//!
//! An edge is a step if some channel holds both its ends by now and no block stops it. A rollout
//! does not matter here: its window ends, and a mirror needs the release before that.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::cluster::Cluster;
use crate::graph::{Channel, ChannelName, Graph, ReleaseId, RiskId};
use crate::path::search_space::{SearchSpace, SearchTerms};
use crate::path::{Asker, Budget, Hop, Plan, RiskPolicy, StepGraphs, UncachedStepGraphs};
use crate::version::Minors;

/// The updates that can be taken.
#[derive(Debug, Clone, Default)]
pub struct ReachableGraph {
    /// The releases that have entered the channels.
    members: BTreeSet<ReleaseId>,
    /// By release, and by target within it.
    steps: BTreeMap<ReleaseId, BTreeMap<ReleaseId, ReachableStep>>,
}

/// One update that can be taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReachableStep {
    /// What the cluster has to weigh.
    pub risks: BTreeSet<RiskId>,
    /// The channels that have it, in the order in which channels are shown, each with when it is offered there.
    pub channels: Vec<(ChannelName, Timestamp)>,
}

/// What a way must keep to.
#[derive(Debug, Clone, Copy, Default)]
pub struct Limits<'a> {
    /// Only through these releases, if any are given.
    pub within: Option<&'a BTreeSet<ReleaseId>>,
    /// Never over a step that has one of these risks.
    pub without: Option<&'a BTreeSet<RiskId>>,
}

/// The best ways to one target.
#[derive(Debug, Clone)]
pub struct ShortestPaths<'a> {
    ways: &'a ReachableGraph,
    limits: Limits<'a>,
    /// The releases from which there is a way, each with its hops.
    left: BTreeMap<ReleaseId, usize>,
}

impl ReachableGraph {
    /// What a cluster can take, whatever channel it follows now: its architecture, id and platform count.
    pub fn of(
        graph: &Graph,
        channels: &[ChannelName],
        cluster: &Cluster,
        taken: &RiskPolicy,
        minors: &Minors,
        now: Timestamp,
    ) -> Self {
        let unlimited = Budget::unlimited();
        Self::within(
            graph,
            (&UncachedStepGraphs, &unlimited),
            channels,
            cluster,
            (taken, minors),
            now,
        )
    }

    /// The same within a budget, with step graphs of this graph that somebody keeps.
    pub fn within(
        graph: &Graph,
        (step_graphs, budget): (&dyn StepGraphs, &Budget<'_>),
        channels: &[ChannelName],
        cluster: &Cluster,
        (taken, minors): (&RiskPolicy, &Minors),
        now: Timestamp,
    ) -> Self {
        let mut channels: Vec<&Channel> = channels
            .iter()
            .filter_map(|name| graph.channel(name.as_str()))
            .collect();
        channels.sort_by(|a, b| a.name.display_order().cmp(&b.name.display_order()));
        channels.dedup_by(|a, b| a.name == b.name);
        let asker = Asker {
            id: cluster.id.clone(),
            platform: cluster.platform.clone(),
            groups: cluster.groups.clone(),
            arch: cluster.arch.clone(),
        };
        let terms = SearchTerms {
            asker: &asker,
            risks: taken,
            minors,
            now,
        };
        let space = SearchSpace::new(graph, step_graphs, &channels, &terms, budget);
        Self {
            members: (0..space.count)
                .filter(|release| space.has_entered(*release))
                .map(|release| space.id(release))
                .collect(),
            steps: (0..space.count)
                .map(|from| (space.id(from), steps(&space, from)))
                .filter(|(_, steps)| !steps.is_empty())
                .collect(),
        }
    }

    /// Whether the release has entered one of the channels.
    pub fn holds(&self, release: ReleaseId) -> bool {
        self.members.contains(&release)
    }

    /// The releases that have entered the channels.
    pub fn members(&self) -> &BTreeSet<ReleaseId> {
        &self.members
    }

    /// The steps from a release, by target.
    pub fn steps(&self, from: ReleaseId) -> impl Iterator<Item = (ReleaseId, &ReachableStep)> {
        self.steps
            .get(&from)
            .into_iter()
            .flatten()
            .map(|(to, step)| (*to, step))
    }

    /// All risks of the steps.
    pub fn risks(&self) -> BTreeSet<RiskId> {
        self.steps
            .values()
            .flat_map(BTreeMap::values)
            .flat_map(|step| &step.risks)
            .copied()
            .collect()
    }

    /// The best way: the fewest hops, and of several the newest releases, the first hop first.
    pub fn best(&self, from: ReleaseId, to: ReleaseId, limits: Limits<'_>) -> Option<Plan> {
        self.towards(to, limits).from(from)
    }

    /// The best ways to a target, to ask for several.
    pub fn towards<'a>(&'a self, to: ReleaseId, limits: Limits<'a>) -> ShortestPaths<'a> {
        ShortestPaths {
            ways: self,
            limits,
            left: self.hops_left(to, limits),
        }
    }

    /// The releases from which one gets to the target, each with the fewest hops.
    fn hops_left(&self, to: ReleaseId, limits: Limits<'_>) -> BTreeMap<ReleaseId, usize> {
        let mut into: BTreeMap<ReleaseId, Vec<ReleaseId>> = BTreeMap::new();
        for from in self.steps.keys() {
            let allowed = self
                .steps(*from)
                .filter(|(next, step)| limits.allow(*next, step));
            allowed.for_each(|(next, _)| into.entry(next).or_default().push(*from));
        }
        let (mut left, mut reached, mut hops) = (BTreeMap::from([(to, 0)]), vec![to], 0);
        while !reached.is_empty() {
            hops += 1;
            let before = reached
                .iter()
                .flat_map(|release| into.get(release).into_iter().flatten());
            let new: BTreeSet<ReleaseId> = before
                .filter(|release| !left.contains_key(release))
                .copied()
                .collect();
            left.extend(new.iter().map(|release| (*release, hops)));
            reached = new.into_iter().collect();
        }
        left
    }

    /// The releases that one gets to from a release, that one among them.
    pub fn reached(&self, from: ReleaseId) -> BTreeSet<ReleaseId> {
        let (mut reached, mut open) = (BTreeSet::from([from]), vec![from]);
        while let Some(here) = open.pop() {
            open.extend(
                self.steps(here)
                    .map(|(to, _)| to)
                    .filter(|to| reached.insert(*to)),
            );
        }
        reached
    }

    /// A route of steps as a plan, with as few changes of the channel as can be.
    fn plan(&self, route: &[ReleaseId]) -> Plan {
        let steps: Vec<&ReachableStep> = route
            .windows(2)
            .filter_map(|ends| self.steps.get(&ends[0])?.get(&ends[1]))
            .collect();
        let ends = route.windows(2).zip(&steps);
        let mut channel: Option<&ChannelName> = None;
        let hops = ends.enumerate().map(|(number, (ends, step))| {
            let stays = step.channels.iter().find(|(name, _)| Some(name) == channel);
            let (name, opens) = stays.unwrap_or_else(|| longest(&steps[number..]));
            channel = Some(name);
            Hop {
                channel: name.clone(),
                from: ends[0],
                to: ends[1],
                risks: step.risks.clone(),
                opens: *opens,
            }
        });
        Plan {
            from: route[0],
            hops: hops.collect(),
        }
    }
}

impl ShortestPaths<'_> {
    /// Whether there is a way from that release.
    pub fn has(&self, from: ReleaseId) -> bool {
        self.left.contains_key(&from)
    }

    /// The best way from that release.
    pub fn from(&self, from: ReleaseId) -> Option<Plan> {
        let mut route = vec![from];
        let mut hops = *self.left.get(&from)?;
        while hops > 0 {
            hops -= 1;
            let here = route[route.len() - 1];
            let steps = self
                .ways
                .steps(here)
                .filter(|(next, step)| self.limits.allow(*next, step));
            route.push(
                steps
                    .map(|(next, _)| next)
                    .filter(|next| self.left.get(next) == Some(&hops))
                    .max()?,
            );
        }
        Some(self.ways.plan(&route))
    }
}

impl Limits<'_> {
    fn allow(self, to: ReleaseId, step: &ReachableStep) -> bool {
        let inside = self.within.is_none_or(|within| within.contains(&to));
        inside
            && self
                .without
                .is_none_or(|without| step.risks.is_disjoint(without))
    }
}

/// The channel of the first step that goes on for the most steps; of several, the first that is shown.
fn longest<'a>(steps: &[&'a ReachableStep]) -> &'a (ChannelName, Timestamp) {
    let has = |step: &&&ReachableStep, name: &ChannelName| {
        step.channels.iter().any(|(other, _)| other == name)
    };
    let run = |name: &ChannelName| steps.iter().take_while(|step| has(step, name)).count();
    let best = steps[0]
        .channels
        .iter()
        .min_by_key(|(name, _)| Reverse(run(name)));
    best.expect("a step is in the channel that it was found in")
}

/// The steps from a release that can be taken in some channel that both ends have entered.
fn steps(space: &SearchSpace<'_>, from: u32) -> BTreeMap<ReleaseId, ReachableStep> {
    let step = |one: &crate::graph::GraphStep| {
        let openings = space.openings_by_now(from, one.release);
        let named = |(channel, opens)| (space.channel(channel).name.clone(), opens);
        let channels: Vec<(ChannelName, Timestamp)> = openings.map(named).collect();
        let risks = || space.risks(*one).iter().copied().collect();
        (!channels.is_empty()).then(|| {
            let step = ReachableStep {
                risks: risks(),
                channels,
            };
            (space.id(one.release), step)
        })
    };
    space.out(from).iter().filter_map(step).collect()
}
