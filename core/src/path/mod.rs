//! Paths: how, and when, does a cluster get from one release to another?
//!
//! The search covers all channels that the cluster may use at once. The plan says which channel to
//! set for each hop. Every hop is offered to that cluster, in that channel, at the planned time.
//! The rules decide that, not this module.

mod alternatives;
mod budget;
mod no_path;
mod pace;
mod pools;
mod reboots;
mod request;
mod safest;
mod schedule;
mod scope;
mod search;
pub(crate) mod search_space;
mod step_graph;

use std::collections::BTreeSet;

use jiff::Timestamp;

pub use budget::{Budget, Unfinished};
pub use no_path::{NoGoal, NoPath, Obstacle, PathBarrier, StrandedPath};
pub use pace::{Pace, TimedHop, TimedPlan};
pub use pools::{CatchUp, Pools, pools, rollouts};
pub use request::{Asker, Goal, Preference, Request, RiskPolicy};
pub use scope::channels;
pub use search::{Certainty, Lasts};
pub use step_graph::{StepGraph, StepGraphSpec, StepGraphs, UncachedStepGraphs};

use crate::graph::{ChannelName, Graph, ReleaseId, RiskId};
use alternatives::PathQuestion;
use search::Search;
use search_space::SearchSpace;

/// A way from one release to another, hop by hop. No hops: it is there already.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Plan {
    /// The release it begins with.
    pub from: ReleaseId,
    /// The hops, each from where the one before it ends.
    pub hops: Vec<Hop>,
}

/// One update of a plan.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hop {
    /// The channel to be set for it.
    pub channel: ChannelName,
    pub from: ReleaseId,
    pub to: ReleaseId,
    /// What the cluster has to weigh.
    pub risks: BTreeSet<RiskId>,
    /// The earliest instant at which it is offered to the cluster that asks.
    pub opens: Timestamp,
}

/// The ways to a goal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundPaths {
    /// The goal, as a release.
    pub goal: ReleaseId,
    /// The ways, the best first. At least one.
    pub plans: Vec<Plan>,
    /// Whether they are known to be the best.
    pub certainty: Certainty,
}

impl FoundPaths {
    /// The first hop of the best way; none if the cluster is there already.
    pub fn first_hop(&self) -> Option<&Hop> {
        self.plans.first()?.hops.first()
    }
}

/// Finds the best ways, or says why there is none. `lasts` says how long each update takes.
pub fn paths(graph: &Graph, request: &Request, lasts: &Lasts<'_>) -> Result<FoundPaths, NoPath> {
    search(
        graph,
        &UncachedStepGraphs,
        request,
        lasts,
        &Budget::unlimited(),
    )
}

/// The same within a budget, with step graphs of this graph that somebody keeps.
pub fn paths_within(
    graph: &Graph,
    step_graphs: &dyn StepGraphs,
    request: &Request,
    lasts: &Lasts<'_>,
    budget: &Budget<'_>,
) -> Result<Result<FoundPaths, NoPath>, Unfinished> {
    let answer = search(graph, step_graphs, request, lasts, budget);
    budget.end().map_or(Ok(answer), Err)
}

fn search(
    graph: &Graph,
    step_graphs: &dyn StepGraphs,
    request: &Request,
    lasts: &Lasts<'_>,
    budget: &Budget<'_>,
) -> Result<FoundPaths, NoPath> {
    let channels = channels(graph, &request.via).map_err(NoPath::NoChannel)?;
    let start = scope::start(graph, &channels, request)?;
    let space = SearchSpace::new(graph, step_graphs, &channels, &request.terms(), budget);
    let start = space.number(start);
    let goal = scope::goal(graph, &channels, request).map_err(|is| NoPath::NoGoal {
        is,
        nearest: no_path::farthest(&space, request, start, lasts),
    })?;
    let ends = [start, space.number(goal)];
    let search = Search::new(&space, ends[1], request.prefer, lasts);
    let Some(best) = search.best(start) else {
        return Err(no_path::stranded(&space, &channels, request, ends, lasts));
    };
    let question = PathQuestion {
        graph,
        channels: &channels,
        request,
        lasts,
        budget,
        start: space.id(start),
        goal,
    };
    let count = request.ways.clamp(1, Request::MAX_WAYS);
    let (plans, certainty) = alternatives::best_plans(&question, &search, &best, count);
    Ok(FoundPaths {
        goal,
        plans,
        certainty,
    })
}
