//! What must be mirrored so that clusters reach a target.
//!
//! The answer is complete, or says which clusters are left out and why. It is never silently
//! shorter. A cluster's current release is needed only if another cluster passes through it.

pub mod branches;
pub mod entries;
pub mod reachable_graph;
pub mod smallest;

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use crate::cluster::{Cluster, Fact, Platform};
use crate::graph::{ChannelName, Graph, ReleaseId};
use crate::path::{
    Asker, Budget, Goal, NoGoal, NoPath, PathBarrier, Plan, Preference, Request, RiskPolicy,
    StepGraphs, StrandedPath, UncachedStepGraphs, Unfinished, paths_within,
};
use crate::version::{Arch, Minors, ReleaseName, Version};
use branches::{Branch, TooManyBranches, branches};
use reachable_graph::{Limits, ReachableGraph};
use smallest::{SizeProof, smallest};

#[derive(Debug, Clone)]
pub struct Wish {
    /// Who has to get there.
    pub travellers: Vec<Traveller>,
    pub target: Version,
    pub channels: Vec<ChannelName>,
    /// What the clusters run on. Unknown: whatever it is, they get there.
    pub platform: Fact<Platform>,
    /// Which updates with risks may be on a way.
    pub taken: RiskPolicy,
    /// Which minor version follows which.
    pub minors: Minors,
    pub choice: MirrorChoice,
    /// Whether what is needed if a risk applies is needed, too.
    pub branching: Branching,
    /// Whether what the clusters run is needed, too.
    pub start: MirrorStart,
    pub have: Have,
}

/// A cluster that has to get there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Traveller {
    /// The architecture of its payload.
    pub arch: Arch,
    pub version: Version,
    /// What it is called, for people; empty if it has no name.
    pub name: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MirrorChoice {
    /// Each cluster's best. If something is there already, those that need the fewest further releases.
    Best,
    /// Those that need the fewest releases together.
    Smallest,
}

/// Whether ways around risks are needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Branching {
    Ways,
    /// Also the ways around each risk.
    WaysAround,
}

/// Whether the releases that clusters run are needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MirrorStart {
    /// Not for their own sake: clusters have what they run.
    LeftOut,
    /// They are, too: to add nodes, or to go back.
    Included,
}

/// What is in a mirror already.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Have {
    /// By digest, such as `sha256:…`.
    pub digests: BTreeSet<String>,
    pub names: BTreeSet<ReleaseName>,
}

/// What has to be mirrored.
#[derive(Debug, Clone)]
pub struct Mirror {
    /// One way for each release and architecture that somebody runs, ordered by release.
    pub plans: Vec<Plan>,
    /// Who has none.
    pub stuck: Vec<(Traveller, NoPath)>,
    pub branches: Vec<Branch>,
    /// The releases that are needed, each once, ordered by architecture and version.
    pub needs: Vec<Need>,
    /// For each architecture: whether fewer would do.
    pub proofs: BTreeMap<Arch, SizeProof>,
}

/// A release that is needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    pub release: ReleaseId,
    /// A channel that holds it: that of the first hop to it.
    pub channel: ChannelName,
    pub purpose: Purpose,
    pub place: Presence,
}

/// What a release is needed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// Somebody's way leads through it.
    Way,
    /// Only a way around a risk does.
    WayAround,
    Start,
}

/// Whether a release is in the mirror.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    Missing,
    There,
}

/// Finds what has to be mirrored.
pub fn mirror(graph: &Graph, wish: &Wish, now: Timestamp) -> Result<Mirror, TooManyBranches> {
    search(
        graph,
        (&UncachedStepGraphs, &Budget::unlimited()),
        wish,
        now,
    )
}

/// The same within a budget, with step graphs of this graph that somebody keeps.
pub fn mirror_within(
    graph: &Graph,
    step_graphs: &dyn StepGraphs,
    wish: &Wish,
    now: Timestamp,
    budget: &Budget<'_>,
) -> Result<Result<Mirror, TooManyBranches>, Unfinished> {
    let answer = search(graph, (step_graphs, budget), wish, now);
    budget.end().map_or(Ok(answer), Err)
}

fn search(
    graph: &Graph,
    within: (&dyn StepGraphs, &Budget<'_>),
    wish: &Wish,
    now: Timestamp,
) -> Result<Mirror, TooManyBranches> {
    let mut answer = Mirror {
        plans: Vec::new(),
        stuck: Vec::new(),
        branches: Vec::new(),
        needs: Vec::new(),
        proofs: BTreeMap::new(),
    };
    let arches: BTreeSet<&Arch> = wish
        .travellers
        .iter()
        .map(|traveller| &traveller.arch)
        .collect();
    for arch in arches {
        let ways = ways(graph, within, wish, arch, &wish.taken, now);
        let target = graph
            .find(&wish.target, arch)
            .filter(|target| ways.holds(*target));
        let towards = target.map(|target| ways.towards(target, Limits::default()));
        let mut sources = BTreeSet::new();
        // Many clusters are on few releases, and all of them ask about the same ways with risks.
        let (mut whys, with_risks) = (BTreeMap::new(), OnceCell::new());
        for traveller in wish
            .travellers
            .iter()
            .filter(|traveller| traveller.arch == *arch)
        {
            let from = graph.find(&traveller.version, arch);
            let has_way =
                |from: &ReleaseId| towards.as_ref().is_some_and(|towards| towards.has(*from));
            match from.filter(has_way) {
                Some(from) => drop(sources.insert(from)),
                None => {
                    let way = |from| {
                        let ways = with_risks.get_or_init(|| {
                            self::ways(graph, within, wish, arch, &RiskPolicy::Any, now)
                        });
                        ways.best(from, target?, Limits::default())
                    };
                    let why = || no_path(graph, within, wish, &ways, traveller, now, way);
                    let why = whys.entry(&traveller.version).or_insert_with(why).clone();
                    answer.stuck.push((traveller.clone(), why));
                }
            }
        }
        if let Some(target) = target {
            let (plans, proof) = chosen(graph, wish, &ways, &sources, target);
            let needed: BTreeSet<ReleaseId> = plans
                .iter()
                .flat_map(|plan| &plan.hops)
                .map(|hop| hop.to)
                .collect();
            if wish.branching == Branching::WaysAround {
                answer.branches.extend(branches(
                    graph,
                    (&ways, within.1),
                    &plans,
                    target,
                    &needed,
                )?);
            }
            answer
                .proofs
                .extend(proof.map(|proof| (arch.clone(), proof)));
            answer.plans.extend(plans);
        }
    }
    answer.stuck.sort_by(|(a, _), (b, _)| a.cmp(b));
    answer.needs = needs(graph, &answer, wish);
    Ok(answer)
}

fn ways(
    graph: &Graph,
    within: (&dyn StepGraphs, &Budget<'_>),
    wish: &Wish,
    arch: &Arch,
    taken: &RiskPolicy,
    now: Timestamp,
) -> ReachableGraph {
    let Some(channel) = wish.channels.first().cloned() else {
        return ReachableGraph::default();
    };
    let cluster = Cluster {
        platform: wish.platform.clone(),
        ..Cluster::anonymous(channel, arch.clone())
    };
    ReachableGraph::within(
        graph,
        within,
        &wish.channels,
        &cluster,
        (taken, &wish.minors),
        now,
    )
}

/// Why nobody gets from a version to the target. `with_risks` finds the way over updates with any risks.
fn no_path(
    graph: &Graph,
    within: (&dyn StepGraphs, &Budget<'_>),
    wish: &Wish,
    ways: &ReachableGraph,
    traveller: &Traveller,
    now: Timestamp,
    with_risks: impl FnOnce(ReleaseId) -> Option<Plan>,
) -> NoPath {
    let no_goal = |is| NoPath::NoGoal { is, nearest: None };
    let Some(from) = graph.find(&traveller.version, &traveller.arch) else {
        return NoPath::FromUnknown;
    };
    let Some(goal) = graph.find(&wish.target, &traveller.arch) else {
        return no_goal(NoGoal::Unknown);
    };
    match (ways.holds(from), ways.holds(goal)) {
        (false, _) => NoPath::FromElsewhere(from),
        (true, false) => no_goal(NoGoal::Elsewhere(goal)),
        (true, true) => {
            let is_between = |release: &&ReleaseId| (from..=goal).contains(release);
            let reached = ways.reached(from);
            let nearest = reached.iter().rev().find(is_between);
            let nearest = nearest.and_then(|near| ways.best(from, *near, Limits::default()));
            let (barriers, more_barriers) = barriers(graph, within, wish, traveller, now);
            NoPath::Stranded(Box::new(StrandedPath {
                nearest: nearest.filter(|plan| !plan.hops.is_empty()),
                with_risks: with_risks(from).filter(|_| from < goal),
                barriers,
                more_barriers,
                ..StrandedPath::short_of(goal)
            }))
        }
    }
}

/// What stands in the way, as a plan of this cluster's path would say it; nothing where only a release is waited for.
fn barriers(
    graph: &Graph,
    (step_graphs, budget): (&dyn StepGraphs, &Budget<'_>),
    wish: &Wish,
    traveller: &Traveller,
    now: Timestamp,
) -> (Vec<PathBarrier>, usize) {
    let request = Request {
        from: traveller.version.clone(),
        goal: Goal::Version(wish.target.clone()),
        via: wish.channels.clone(),
        risks: wish.taken.clone(),
        prefer: Preference::FewestHops,
        ways: 1,
        asker: Asker {
            id: Fact::Unknown,
            platform: wish.platform.clone(),
            groups: Fact::Unknown,
            arch: traveller.arch.clone(),
        },
        minors: wish.minors.clone(),
        now,
    };
    let lasts = |_, _| SignedDuration::ZERO;
    match paths_within(graph, step_graphs, &request, &lasts, budget) {
        Ok(Err(NoPath::Stranded(stranded))) => (stranded.barriers, stranded.more_barriers),
        _ => (Vec::new(), 0),
    }
}

fn chosen(
    graph: &Graph,
    wish: &Wish,
    ways: &ReachableGraph,
    sources: &BTreeSet<ReleaseId>,
    target: ReleaseId,
) -> (Vec<Plan>, Option<SizeProof>) {
    let plans = |limits: Limits<'_>| -> Vec<Plan> {
        let towards = ways.towards(target, limits);
        sources
            .iter()
            .filter_map(|source| towards.from(*source))
            .collect()
    };
    match wish.choice {
        MirrorChoice::Best if wish.have == Have::default() => (plans(Limits::default()), None),
        MirrorChoice::Best | MirrorChoice::Smallest => {
            let have = ways
                .members()
                .iter()
                .filter(|id| wish.have.has(graph, **id))
                .copied()
                .collect();
            let found = smallest(ways, sources, target, &have);
            let within = Limits {
                within: Some(&found.releases),
                ..Limits::default()
            };
            (plans(within), Some(found.proof))
        }
    }
}

/// Each release that a way or a way around leads through, or begins with, once.
fn needs(graph: &Graph, answer: &Mirror, wish: &Wish) -> Vec<Need> {
    let around = answer
        .branches
        .iter()
        .filter_map(|branch| branch.way.as_ref());
    let through = |plan: &Plan, purpose| -> Vec<(ReleaseId, ChannelName, Purpose)> {
        plan.hops
            .iter()
            .map(|hop| (hop.to, hop.channel.clone(), purpose))
            .collect()
    };
    let starts = answer
        .plans
        .iter()
        .filter(|_| wish.start == MirrorStart::Included);
    let wanted = answer
        .plans
        .iter()
        .flat_map(|plan| through(plan, Purpose::Way));
    let wanted = wanted.chain(around.flat_map(|plan| through(plan, Purpose::WayAround)));
    let wanted =
        wanted.chain(starts.filter_map(|plan| {
            Some((plan.from, first_channel(graph, plan, wish)?, Purpose::Start))
        }));
    let mut needs: BTreeMap<ReleaseId, Need> = BTreeMap::new();
    for (release, channel, purpose) in wanted {
        let place = if wish.have.has(graph, release) {
            Presence::There
        } else {
            Presence::Missing
        };
        needs.entry(release).or_insert(Need {
            release,
            channel,
            purpose,
            place,
        });
    }
    needs.into_values().collect()
}

/// The channel that a plan begins in; of one without hops, the first that holds its release.
fn first_channel(graph: &Graph, plan: &Plan, wish: &Wish) -> Option<ChannelName> {
    let holds = |name: &&ChannelName| {
        graph
            .channel(name.as_str())
            .is_some_and(|it| it.membership(plan.from).is_some())
    };
    let first = plan.hops.first().map(|hop| &hop.channel);
    first.or_else(|| wish.channels.iter().find(holds)).cloned()
}

impl Mirror {
    /// What is not there yet.
    pub fn missing(&self) -> impl Iterator<Item = &Need> {
        self.needs
            .iter()
            .filter(|need| need.place == Presence::Missing)
    }
}

impl Have {
    /// Whether the release is there, by its name or its payload's digest.
    pub fn has(&self, graph: &Graph, id: ReleaseId) -> bool {
        let release = graph.release(id);
        let named = |arch: Option<Arch>| {
            self.names.contains(&ReleaseName {
                version: release.version.clone(),
                arch,
            })
        };
        let digest = release.payload.split_once('@').map(|(_, digest)| digest);
        named(None)
            || named(Some(release.arch.clone()))
            || digest.is_some_and(|digest| self.digests.contains(digest))
    }
}
