//! Pools: through which hops may the worker pools stay paused?
//!
//! Between two even minor versions the control plane can go ahead. Pools are paused on the first,
//! stay paused through the odd one, and catch up once on the second. That works while the kubelets
//! are not too old: usually one Kubernetes minor on an odd version and two on an even one.
//! Elsewhere, pools update with each hop.

use super::Plan;
use super::pace::leaves_minor;
use crate::cluster::rules::MaxSkew;
use crate::graph::{Graph, ReleaseId};
use crate::version::{Minor, Version};

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
pub fn pools(graph: &Graph, plan: &Plan, max_skew: MaxSkew) -> Vec<Pools> {
    let version = |id: ReleaseId| &graph.release(id).version;
    let mut pools = vec![Pools::GoAlong; plan.hops.len()];
    let mut at = 0;
    while at < plan.hops.len() {
        let on = plan.hops[at].from;
        let end = if leaves_minor(version(on), version(plan.hops[at].to)) {
            stretch(graph, plan, at, max_skew)
        } else {
            at
        };
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

/// Where the pools that are paused before hop `begin` have to catch up: after the last hop within the next even minor version, if
/// the plan gets there and kubelets are young enough all the way. Else at once.
fn stretch(graph: &Graph, plan: &Plan, begin: usize, max_skew: MaxSkew) -> usize {
    let workers = &graph.release(plan.hops[begin].from).version;
    if !workers.minor().is_multiple_of(2) {
        return begin;
    }
    let versions = plan.hops[begin..]
        .iter()
        .map(|hop| &graph.release(hop.to).version);
    let next_even = workers.minor().saturating_add(2);
    let within = |version: &&Version| {
        version.minor() <= next_even && max_skew.allows(Minor::of(workers), Minor::of(version))
    };
    let ahead: Vec<&Version> = versions.take_while(within).collect();
    match ahead.last() {
        Some(last) if last.minor() == next_even && next_even.is_multiple_of(2) => {
            begin + ahead.len()
        }
        _ => begin,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kubelets_may_lag_by_one_on_odd_and_two_on_even_versions() {
        let minor = |text: &str| Minor::of(&text.parse().unwrap());
        let lag = |workers: &str, api: &str| MaxSkew::OpenShift.allows(minor(workers), minor(api));
        assert!(lag("4.8.57", "4.9.59") && lag("4.8.57", "4.10.67") && lag("4.9.1", "4.10.0"));
        assert!(!lag("4.8.57", "4.11.0") && !lag("4.7.1", "4.9.0"));
        // 1.14 to 1.16, and to 1.17.
        assert!(!lag("4.2.0", "4.3.0") && !lag("4.2.0", "4.4.0"));
        assert!(!lag("4.10.0", "4.9.0") && !lag("4.22.0", "5.0.0"));
    }
}
