//! The pace of a plan: how long each hop takes on a cluster of a given shape, and when the next
//! can follow.
//!
//! A hop's time is that of the control plane. Worker pools go on beside it and after it. A hop to
//! another minor version waits for the pools, because their kubelets would be too old, unless they
//! stay paused through it.

use jiff::{SignedDuration, Timestamp};

use super::schedule::later;
use super::{CatchUp, Plan, Pools, Request, pools, rollouts};
use crate::duration::{
    ControlPlane, ControlPlaneTimes, Estimate, Ground, Machines, Parameters, Rollout, Seconds,
    Shape, Spread, hop_duration,
};
use crate::graph::{Graph, ReleaseId};
use crate::version::Version;

/// How fast a cluster goes.
#[derive(Debug, Clone, PartialEq)]
pub struct Pace {
    pub shape: Shape,
    /// What estimates are made with.
    pub parameters: Parameters,
}

/// A hop of a plan, with its times. All times are for estimates that come true as they are likely.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimedHop {
    /// As soon as it is offered, and nothing before it has to be waited for.
    pub taken: Timestamp,
    /// Once the control plane is updated.
    pub arrives: Timestamp,
    /// Once worker pools are updated too that are not paused then.
    pub settled: Timestamp,
    pub pools: Pools,
    /// How long it takes. Pools that stay paused are not in it.
    pub estimate: Estimate,
    /// How long worker pools take that catch up after it.
    pub catch_up: Option<Spread>,
}

/// A plan with its times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimedPlan {
    pub hops: Vec<TimedHop>,
    /// All control planes, one after the other.
    pub control_planes: Spread,
    /// The same, with the worker pools that have to be waited for.
    pub total: Spread,
    /// How often each pool of the cluster's shape is updated, and so how often its nodes reboot.
    pub rollouts: Vec<(String, usize)>,
    /// The same of a pool that runs now.
    pub worker_rollouts: usize,
}

impl Pace {
    /// For an unknown cluster: a control plane of three nodes in a cloud. Worker pools are not
    /// guessed.
    pub fn usual() -> Self {
        let control_plane = ControlPlane {
            nodes: 3,
            machines: Machines::on(Ground::Cloud),
        };
        let shape = Shape {
            control_plane,
            pools: Vec::new(),
            daemon_sets: None,
        };
        Self {
            shape,
            parameters: Parameters::usual(),
        }
    }

    /// How long the control plane is likely to take from one release to another.
    pub fn lasts<'a>(
        &'a self,
        graph: &'a Graph,
    ) -> impl Fn(ReleaseId, ReleaseId) -> SignedDuration + 'a {
        let times = ControlPlaneTimes::new(&self.shape, &self.parameters);
        let version = |id: ReleaseId| &graph.release(id).version;
        move |from, to| span(times.of(version(from), version(to)).likely)
    }
}

impl Plan {
    /// When each hop of the answer to a request is taken by a cluster that begins at its time and goes on as soon as it can.
    pub fn timed(&self, graph: &Graph, request: &Request, pace: &Pace) -> TimedPlan {
        let version = |id: ReleaseId| &graph.release(id).version;
        let (paused, running) = (
            with_pools(&pace.shape, Rollout::Paused),
            with_pools(&pace.shape, Rollout::Runs),
        );
        let schedule = pools(graph, self, &request.minors);
        let mut timed = TimedPlan {
            hops: Vec::new(),
            control_planes: Spread::default(),
            total: Spread::default(),
            rollouts: Vec::new(),
            worker_rollouts: rollouts(&schedule, Rollout::Runs),
        };
        let pools = pace.shape.pools.iter();
        timed.rollouts = pools
            .map(|pool| (pool.name.clone(), rollouts(&schedule, pool.rollout)))
            .collect();
        // Once pools have caught up, none is paused.
        let (mut ready, mut shape) = (request.now, &pace.shape);
        for (number, (hop, pools)) in self.hops.iter().zip(schedule.iter().copied()).enumerate() {
            let (from, to) = (version(hop.from), version(hop.to));
            let on = |shape: &Shape| hop_duration(from, to, shape, &pace.parameters);
            let (estimate, catch_up) = match pools {
                Pools::GoAlong => (on(shape), None),
                Pools::MayStayPaused {
                    catch_up: CatchUp::Later,
                    ..
                } => (on(&paused), None),
                Pools::MayStayPaused {
                    catch_up: CatchUp::AfterThisHop,
                    ..
                } => (on(&paused), Some(on(&running).workers)),
            };
            let taken = ready.max(hop.opens);
            let arrives = later(taken, span(estimate.control_plane.likely));
            let total = estimate.total.then(catch_up.unwrap_or_default());
            let settled = later(taken, span(total.likely));
            let next = self.hops.get(number + 1);
            // Pools that are updating are waited for before another minor version, and before they are paused.
            let is_pause = pools == Pools::GoAlong
                && schedule
                    .get(number + 1)
                    .is_some_and(|next| *next != Pools::GoAlong);
            let waits = is_pause
                || catch_up.is_some()
                || next.is_none_or(|next| leaves_minor(version(next.from), version(next.to)));
            ready = if waits { settled } else { arrives };
            if catch_up.is_some() {
                shape = &running;
            }
            timed.control_planes = timed.control_planes.then(estimate.control_plane);
            timed.total = timed
                .total
                .then(if waits { total } else { estimate.control_plane });
            timed.hops.push(TimedHop {
                taken,
                arrives,
                settled,
                pools,
                estimate,
                catch_up,
            });
        }
        timed
    }
}

impl TimedPlan {
    /// When the last control plane is there, and when everything is.
    pub fn ends(&self) -> Option<(Timestamp, Timestamp)> {
        self.hops.last().map(|hop| (hop.arrives, hop.settled))
    }
}

/// The same cluster, with all pools of worker nodes paused, or none.
fn with_pools(shape: &Shape, rollout: Rollout) -> Shape {
    let mut shape = shape.clone();
    shape
        .pools
        .iter_mut()
        .for_each(|pool| pool.rollout = rollout);
    shape
}

fn leaves_minor(from: &Version, to: &Version) -> bool {
    !from.same_minor(to)
}

fn span(seconds: Seconds) -> SignedDuration {
    SignedDuration::from_secs(i64::try_from(seconds).unwrap_or(i64::MAX))
}
