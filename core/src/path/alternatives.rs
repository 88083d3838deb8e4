//! Alternatives: the best path, and others that differ from it in a channel, a risk, the number of
//! hops or a minor version between. Another patch alone is no alternative.
//!
//! Each path that is taken is varied: without one of its channels, without one of its risks, and with one hop more or less. The best
//! variant that differs from all paths before it comes next.

use std::collections::BTreeSet;

use super::search::{Certainty, Cost, Lasts, Search};
use super::search_space::{SearchSpace, SearchTerms};
use super::{Budget, Plan, Request, RiskPolicy, UncachedStepGraphs, schedule};
use crate::graph::{Channel, ChannelName, Graph, ReleaseId, RiskId};
use crate::version::Minor;

/// The most variants that are searched for each path that is asked for.
const MAX_VARIANTS: usize = 8;

/// What is asked, as far as variants need it.
pub(super) struct PathQuestion<'a> {
    pub(super) graph: &'a Graph,
    pub(super) channels: &'a [&'a Channel],
    pub(super) request: &'a Request,
    pub(super) lasts: &'a Lasts<'a>,
    pub(super) budget: &'a Budget<'a>,
    pub(super) start: ReleaseId,
    pub(super) goal: ReleaseId,
}

/// A path, and what it was searched with.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    cost: Cost,
    look: Look,
    plan: Plan,
    limits: Limits,
}

/// What a search leaves out.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Limits {
    channels: BTreeSet<ChannelName>,
    risks: BTreeSet<String>,
    /// Exactly that many.
    hops: Option<usize>,
}

/// How people tell paths apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Look {
    hops: usize,
    risks: BTreeSet<String>,
    channels: Vec<ChannelName>,
    minors: BTreeSet<Minor>,
}

/// At most this many paths, the best first; and whether they are known to be the best.
pub(super) fn best_plans(
    question: &PathQuestion<'_>,
    search: &Search<'_>,
    best: &[u32],
    count: usize,
) -> (Vec<Plan>, Certainty) {
    let first = question.candidate(search, best, Limits::default());
    let mut certainty = search.certainty.get();
    let mut looks = BTreeSet::new();
    let mut searched = BTreeSet::from([Limits::default()]);
    let mut candidates = BTreeSet::from([first]);
    let mut plans = Vec::new();
    while let Some(next) = candidates.pop_first() {
        if !looks.insert(next.look.clone()) {
            continue;
        }
        plans.push(next.plan.clone());
        if plans.len() == count {
            break;
        }
        for limits in next.variants() {
            let is_new = searched.len() <= count * MAX_VARIANTS && searched.insert(limits.clone());
            if let Some((variant, of_variant)) = is_new.then(|| question.search(limits)).flatten() {
                certainty = certainty.max(of_variant);
                candidates.insert(variant);
            }
        }
    }
    (plans, certainty)
}

impl Candidate {
    /// What to leave out so that something else is found.
    fn variants(&self) -> Vec<Limits> {
        let (limits, hops) = (&self.limits, self.look.hops);
        let without_channel = self.look.channels.iter().map(|channel| {
            let mut limits = limits.clone();
            limits.channels.insert(channel.clone());
            limits
        });
        let without_risk = self.look.risks.iter().map(|risk| {
            let mut limits = limits.clone();
            limits.risks.insert(risk.clone());
            limits
        });
        let of_hops = [hops.saturating_sub(1), hops + 1].into_iter();
        let of_hops = of_hops.filter(|other| *other > 0).map(|other| Limits {
            hops: Some(other),
            ..limits.clone()
        });
        without_channel.chain(without_risk).chain(of_hops).collect()
    }
}

impl PathQuestion<'_> {
    fn search(&self, limits: Limits) -> Option<(Candidate, Certainty)> {
        let is_left = |channel: &&&Channel| !limits.channels.contains(&channel.name);
        let channels: Vec<&Channel> = self.channels.iter().filter(is_left).copied().collect();
        let holds = |id: ReleaseId| {
            let mut channels = channels.iter();
            channels.any(|channel| channel.membership(id).is_some())
        };
        if !holds(self.start) || !holds(self.goal) {
            return None;
        }
        let risks = self.risks_without(&limits.risks);
        let terms = SearchTerms {
            risks: &risks,
            ..self.request.terms()
        };
        let space = SearchSpace::new(
            self.graph,
            &UncachedStepGraphs,
            &channels,
            &terms,
            self.budget,
        );
        let [start, goal] = [self.start, self.goal].map(|id| space.number(id));
        let search = Search::new(&space, goal, self.request.prefer, self.lasts);
        let way = match limits.hops {
            None => search.best(start),
            Some(hops) => search.of_hops(start, hops),
        };
        let candidate = self.candidate(&search, &way?, limits);
        Some((candidate, search.certainty.get()))
    }

    fn candidate(&self, search: &Search<'_>, way: &[u32], limits: Limits) -> Candidate {
        let plan = schedule::plan(search.space, way, self.lasts);
        Candidate {
            cost: search.cost(way),
            look: self.look(&plan),
            plan,
            limits,
        }
    }

    fn look(&self, plan: &Plan) -> Look {
        let risks = plan.hops.iter().flat_map(|hop| &hop.risks);
        let mut channels: Vec<ChannelName> =
            plan.hops.iter().map(|hop| hop.channel.clone()).collect();
        channels.dedup();
        let minor = |id: ReleaseId| Minor::of(&self.graph.release(id).version);
        Look {
            hops: plan.hops.len(),
            risks: risks
                .map(|risk| self.graph.risk(*risk).name.clone())
                .collect(),
            channels,
            minors: plan.hops.iter().map(|hop| minor(hop.to)).collect(),
        }
    }

    /// The same policy without these risks. A name of which not every risk is taken is left out too.
    fn risks_without(&self, names: &BTreeSet<String>) -> RiskPolicy {
        let policy = &self.request.risks;
        if names.is_empty() {
            return policy.clone();
        }
        let all = (0..self.graph.risk_count()).map(|id| self.graph.risk(RiskId(id)));
        let refused: BTreeSet<&str> = all
            .clone()
            .filter(|risk| names.contains(&risk.name) || !policy.takes(risk))
            .map(|risk| risk.name.as_str())
            .collect();
        let taken = all.map(|risk| risk.name.as_str());
        let taken = taken.filter(|name| !refused.contains(name));
        RiskPolicy::Accepted(taken.map(str::to_owned).collect())
    }
}
