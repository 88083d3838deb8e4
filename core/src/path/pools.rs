//! Pools: through which hops may the worker pools stay paused?
//!
//! Between two minor versions with extended update support the control plane can go ahead. Pools are
//! paused on the first, before its patches, stay paused through those between, and catch up once on
//! the second. That works while the kubelets are not too old for what the control plane runs. Elsewhere, pools update
//! with each hop. Which minor versions those are, and how old kubelets may be, the table says.

use super::Plan;
use crate::graph::{Graph, ReleaseId};
use crate::version::{Minor, Minors, Version};

/// What worker pools do during a hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pools {
    /// They are updated along with the control plane.
    GoAlong,
    /// They may stay paused on this release.
    MayStayPaused {
        /// The release that their nodes stay on.
        on: ReleaseId,
        /// When they are to catch up.
        catch_up: CatchUp,
    },
}

/// When paused pools are to be updated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CatchUp {
    Later,
    /// When this hop is done, before the next.
    AfterThisHop,
}

/// What worker pools do during each hop of a plan, if they are paused wherever that saves them an update.
pub fn pools(graph: &Graph, plan: &Plan, minors: &Minors) -> Vec<Pools> {
    let mut pools = vec![Pools::GoAlong; plan.hops.len()];
    let mut at = 0;
    while at < plan.hops.len() {
        let on = plan.hops[at].from;
        let end = stretch(graph, plan, at, minors);
        for (number, pool) in pools.iter_mut().enumerate().take(end).skip(at) {
            let catch_up = if number + 1 == end {
                CatchUp::AfterThisHop
            } else {
                CatchUp::Later
            };
            *pool = Pools::MayStayPaused { on, catch_up };
        }
        at = end.max(at + 1);
    }
    pools
}

/// Where the pools that are paused before hop `begin` have to catch up: after the last hop within the next minor version with
/// extended update support, if the plan gets there and kubelets are young enough all the way. Else at once.
fn stretch(graph: &Graph, plan: &Plan, begin: usize, minors: &Minors) -> usize {
    let version = |id: ReleaseId| &graph.release(id).version;
    let workers = version(plan.hops[begin].from);
    let on = Minor::of(workers);
    if !minors.is_eus(on) {
        return begin;
    }
    let ahead = plan.hops[begin..].iter().map(|hop| version(hop.to));
    let ahead: Vec<&Version> = ahead
        .take_while(|version| minors.lets_lag(workers, version))
        .collect();
    let is_next =
        |version: &&&Version| Minor::of(version) > on && minors.is_eus(Minor::of(version));
    let Some(next) = ahead.iter().find(is_next).map(|version| Minor::of(version)) else {
        return begin;
    };
    let within = ahead
        .iter()
        .take_while(|version| Minor::of(version) <= next);
    begin + within.count()
}
