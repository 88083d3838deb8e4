//! Detours: what a cluster does if a risk on its path turns out to apply.
//!
//! A cluster finds out when it is about to take a hop. From there it needs a path without that
//! risk, because the risk applies to the other steps that carry it as well. Clients tell risks
//! apart by name, and so does this module. The detour may have risks of its own. Each of them gets
//! a detour in turn, which avoids every risk found so far.

use std::collections::BTreeSet;

use super::reachable_graph::{Limits, ReachableGraph};
use crate::graph::{Graph, ReleaseId, RiskId};
use crate::path::{Budget, Plan};

/// The most ways around that are followed.
pub const MAX_BRANCHES: usize = 1_000;

/// What a cluster does if risks apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// Where it is when it finds out.
    pub from: ReleaseId,
    /// What applies, found out here or before: of each name, the risk that was met.
    pub applying: BTreeSet<RiskId>,
    /// The way around; none if there is none: then it stays.
    pub way: Option<Plan>,
}

/// There are more ways around than anybody follows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the risks on the way have more than {MAX_BRANCHES} ways around; take fewer risks, or leave out the ways around"
)]
pub struct TooManyBranches;

/// The ways around every risk of these plans, and around theirs. A way through releases that are needed anyway comes first.
pub(super) fn branches(
    graph: &Graph,
    (ways, budget): (&ReachableGraph, &Budget<'_>),
    plans: &[Plan],
    target: ReleaseId,
    needed: &BTreeSet<ReleaseId>,
) -> Result<Vec<Branch>, TooManyBranches> {
    let (mut seen, mut branches) = (BTreeSet::new(), Vec::new());
    let all = ways.risks();
    let mut open: Vec<(Plan, BTreeSet<RiskId>)> = plans
        .iter()
        .rev()
        .map(|plan| (plan.clone(), [].into()))
        .collect();
    while let Some((plan, applying)) = open.pop() {
        if budget.end().is_some() {
            break;
        }
        for (from, risk) in plan
            .hops
            .iter()
            .flat_map(|hop| hop.risks.iter().map(|risk| (hop.from, *risk)))
        {
            let mut applying = applying.clone();
            let name = |id: &RiskId| graph.risk(*id).name.as_str();
            if !applying.iter().any(|known| name(known) == name(&risk)) {
                applying.insert(risk);
            }
            let names: BTreeSet<&str> = applying.iter().map(name).collect();
            if !seen.insert((from, names.clone())) {
                continue;
            }
            if branches.len() == MAX_BRANCHES {
                return Err(TooManyBranches);
            }
            // Each way around is looked for among all releases.
            budget.take(ways.members().len());
            let without: BTreeSet<RiskId> = all
                .iter()
                .filter(|id| names.contains(name(id)))
                .copied()
                .collect();
            let limits = Limits {
                within: None,
                without: Some(&without),
            };
            let way = ways.best(
                from,
                target,
                Limits {
                    within: Some(needed),
                    ..limits
                },
            );
            let way = way.or_else(|| ways.best(from, target, limits));
            open.extend(way.clone().map(|way| (way, applying.clone())));
            branches.push(Branch {
                from,
                applying,
                way,
            });
        }
    }
    branches.sort_by(|a, b| {
        (a.from, a.applying.len(), &a.applying).cmp(&(b.from, b.applying.len(), &b.applying))
    });
    Ok(branches)
}
