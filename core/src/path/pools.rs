//! Pools: through which hops may the worker pools stay paused?
//!
//! Between two minor versions with extended update support the control plane can go ahead. Pools are
//! paused on the first, before its patches, stay paused through those between, and catch up once on
//! the second. That works while the kubelets are not too old for what the control plane runs. Elsewhere, pools update
//! with each hop. Which minor versions those are, and how old kubelets may be, the table says.

use super::Plan;
use crate::cluster::way::{NotAWay, Stop, Way, Workers};
use crate::duration::Rollout;
use crate::graph::{Graph, ReleaseId};
use crate::version::{Minor, Minors};

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
    let hops = plan.hops.iter().map(|hop| hop.to);
    let releases: Vec<ReleaseId> = std::iter::once(plan.from).chain(hops).collect();
    schedule(graph, &releases, minors)
}

/// The same of a way, release by release.
pub(super) fn schedule(graph: &Graph, releases: &[ReleaseId], minors: &Minors) -> Vec<Pools> {
    let hops = releases.len().saturating_sub(1);
    let mut pools = vec![Pools::GoAlong; hops];
    let mut at = 0;
    while at < hops {
        let on = releases[at];
        let end = at + stretch(graph, &releases[at..], minors);
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

/// How often a pool of workers is updated when a plan is carried out, and so how often its nodes reboot. At the end, all pools
/// are unpaused.
pub fn rollouts(schedule: &[Pools], now: Rollout) -> usize {
    let (mut is_paused, mut is_behind, mut count) = (now == Rollout::Paused, false, 0);
    for pools in schedule {
        match pools {
            Pools::GoAlong if is_paused => is_behind = true,
            Pools::GoAlong => count += 1,
            Pools::MayStayPaused { catch_up, .. } => {
                let catches_up = *catch_up == CatchUp::AfterThisHop;
                (is_paused, is_behind) = (!catches_up, !catches_up);
                count += usize::from(catches_up);
            }
        }
    }
    count + usize::from(is_behind)
}

impl Plan {
    /// The same as a way for a cluster, with what the schedule has worker pools do.
    pub fn way(&self, graph: &Graph, minors: &Minors) -> Result<Way, NotAWay> {
        let version = |id: ReleaseId| graph.release(id).version.clone();
        let stops = self.hops.iter().map(|hop| Stop::Release(version(hop.to)));
        let workers = pools(graph, self, minors).into_iter().map(Workers::from);
        let way = Way::new(version(self.from), stops.collect(), minors)?;
        Ok(way.with_workers(workers.collect()))
    }
}

impl From<Pools> for Workers {
    fn from(pools: Pools) -> Self {
        match pools {
            Pools::GoAlong => Self::AsTheyAre,
            Pools::MayStayPaused { catch_up, .. } => match catch_up {
                CatchUp::Later => Self::HeldBack,
                CatchUp::AfterThisHop => Self::CatchUpAfter,
            },
        }
    }
}

/// Through how many hops pools that are paused on the first release can stay so: up to the last release within the next minor
/// version with extended update support, if the way gets there and kubelets are young enough all the way. Else none.
fn stretch(graph: &Graph, releases: &[ReleaseId], minors: &Minors) -> usize {
    let mut versions = releases.iter().map(|id| &graph.release(*id).version);
    let workers = match versions.next() {
        Some(workers) if minors.is_eus(Minor::of(workers)) => workers,
        _ => return 0,
    };
    let ahead: Vec<Minor> = versions
        .take_while(|version| minors.lets_lag(workers, version))
        .map(Minor::of)
        .collect();
    let is_next = |minor: &&Minor| **minor > Minor::of(workers) && minors.is_eus(**minor);
    let next = ahead.iter().find(is_next);
    next.map_or(0, |next| {
        ahead.iter().take_while(|minor| *minor <= next).count()
    })
}
