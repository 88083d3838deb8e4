//! Pools: through which hops may the worker pools stay paused?
//!
//! Between two even minor versions the control plane can go ahead: pools are paused on the first, stay so through the odd one
//! between them, and catch up once, on the second. That holds as long as kubelets are not too old for the API server, which
//! OpenShift takes to be one Kubernetes minor on an odd version and two on an even one. Elsewhere, pools go along.

use super::Plan;
use crate::domain::{Graph, ReleaseId, Version};

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
    /// After a later hop.
    Later,
    /// When this hop is done, before the next.
    AfterThisHop,
}

/// What worker pools do during each hop of a plan, if they are paused wherever that saves them an update.
pub fn pools(graph: &Graph, plan: &Plan) -> Vec<Pools> {
    let version = |id: ReleaseId| &graph.release(id).version;
    let mut pools = vec![Pools::GoAlong; plan.hops.len()];
    let mut at = 0;
    while at < plan.hops.len() {
        let on = plan.hops[at].from;
        let end = if leaves_minor(version(on), version(plan.hops[at].to)) { stretch(graph, plan, at) } else { at };
        for (number, pool) in pools.iter_mut().enumerate().take(end).skip(at) {
            let catch_up = if number + 1 == end { CatchUp::AfterThisHop } else { CatchUp::Later };
            *pool = Pools::MayStayPaused { on, catch_up };
        }
        at = end.max(at + 1);
    }
    pools
}

/// Where the pools that are paused before hop `begin` have to catch up: after the last hop within the next even minor version, if
/// the plan gets there and kubelets are young enough all the way. Else at once.
fn stretch(graph: &Graph, plan: &Plan, begin: usize) -> usize {
    let workers = &graph.release(plan.hops[begin].from).version;
    if !workers.minor().is_multiple_of(2) {
        return begin;
    }
    let versions = plan.hops[begin..].iter().map(|hop| &graph.release(hop.to).version);
    let within = |version: &&Version| version.minor() <= workers.minor() + 2 && may_lag(workers, version);
    let ahead: Vec<&Version> = versions.take_while(within).collect();
    match ahead.last() {
        Some(last) if last.minor() == workers.minor() + 2 => begin + ahead.len(),
        _ => begin,
    }
}

fn leaves_minor(from: &Version, to: &Version) -> bool {
    !from.same_minor(to)
}

/// Whether kubelets of one version may run with an API server of another.
fn may_lag(workers: &Version, control_plane: &Version) -> bool {
    let lag = kubernetes_minor(control_plane)
        .zip(kubernetes_minor(workers))
        .and_then(|(api, kubelet)| api.checked_sub(kubelet));
    let most = if control_plane.minor().is_multiple_of(2) { 2 } else { 1 };
    lag.is_some_and(|lag| lag <= most)
}

/// The Kubernetes minor version in an OpenShift version: 4.1 has 1.13, 4.2 has 1.14, 4.3 has 1.16, then one each. None is known
/// beyond 4.
fn kubernetes_minor(version: &Version) -> Option<u64> {
    match (version.major(), version.minor()) {
        (4, minor @ 1..=2) => Some(minor + 12),
        (4, minor @ 3..) => Some(minor + 13),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kubelets_may_lag_by_one_on_odd_and_two_on_even_versions() {
        let lag = |workers: &str, api: &str| may_lag(&workers.parse().unwrap(), &api.parse().unwrap());
        assert!(lag("4.8.57", "4.9.59") && lag("4.8.57", "4.10.67") && lag("4.9.1", "4.10.0"));
        assert!(!lag("4.8.57", "4.11.0") && !lag("4.7.1", "4.9.0"));
        // 1.14 to 1.16, and to 1.17.
        assert!(!lag("4.2.0", "4.3.0") && !lag("4.2.0", "4.4.0"));
        assert!(!lag("4.10.0", "4.9.0") && !lag("4.22.0", "5.0.0"));
    }
}
