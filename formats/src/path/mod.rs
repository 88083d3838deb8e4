//! Paths: the HTTP query, and the answer as text and as JSON.
//!
//! The command line and the service answer with the same functions.

pub(crate) mod commands;
mod graph_files;
mod json;
mod request;
mod text;
mod why_not;

pub use graph_files::read_graphs;
pub(crate) use json::barrier as barrier_json;
pub use json::json;
pub use request::{PathRequest, Plain, read, via};
pub use text::text;
pub(crate) use why_not::barrier;

use std::collections::BTreeSet;

use towpath_core::cluster::Readiness;
use towpath_core::graph::{ExplainedRelease, Graph, ReleaseId, Situation, explain};
use towpath_core::path::{CatchUp, FoundPaths, Hop, NoPath, Pace, Plan, Pools, Request, TimedPlan};
use towpath_core::verdict::Verdict;
use towpath_core::version::{Minor, MinorFact, Succession};

use crate::cluster::objects::ClusterObjects;

/// What was asked, and what there is to say.
pub struct PathReport<'a> {
    pub graph: &'a Graph,
    pub request: &'a Request,
    /// The ways, or why there is none.
    pub answer: &'a Result<FoundPaths, NoPath>,
    /// How fast the cluster goes.
    pub pace: &'a Pace,
    /// Whether somebody has told us what it looks like.
    pub shape: ShapeIs,
    /// The cluster itself, if its objects were given.
    pub cluster: Option<PathCluster<'a>>,
    /// What the fleet says about the first hop, if the cluster is a fleet's.
    pub fleet: Option<&'a Verdict>,
}

impl PathReport<'_> {
    /// The minor versions that a hop leaves out; none if it leaves out none.
    fn skipped(&self, hop: &Hop) -> Option<Vec<Minor>> {
        let minor = |id: ReleaseId| Minor::of(&self.graph.release(id).version);
        let minors = &self.request.minors;
        match minors.succession(minor(hop.from), minor(hop.to)) {
            Succession::Skip(between) => Some(between),
            _ => None,
        }
    }

    /// The minor versions on a way that towpath does not know, or not for sure.
    fn unverified(&self, plan: &Plan) -> BTreeSet<Minor> {
        let minor = |id: ReleaseId| Minor::of(&self.graph.release(id).version);
        let minors = &self.request.minors;
        let is_hosted = self.is_hosted();
        // What nobody has verified about hosted control planes concerns nobody else.
        let concerns = |fact: MinorFact| fact != MinorFact::HostedKubeletSkew || is_hosted;
        let is_unsure = |minor: &Minor| {
            !minors.rows().contains_key(minor) || minors.unverified(*minor).any(concerns)
        };
        let ahead = plan
            .hops
            .iter()
            .filter(|hop| minor(hop.from) != minor(hop.to));
        ahead.map(|hop| minor(hop.to)).filter(is_unsure).collect()
    }

    /// What `explain` says of a hop, as of the time of the question.
    pub(crate) fn explained(&self, hop: &Hop) -> Option<ExplainedRelease> {
        let cluster = self.request.asker.in_channel(&hop.channel);
        let at = Situation {
            graph: self.graph,
            cluster: &cluster,
            now: self.request.now,
        };
        let version = |id: ReleaseId| &self.graph.release(id).version;
        let (from, to) = (version(hop.from), version(hop.to));
        let explanation = explain(&at, from, Some(to), &self.request.minors, &[]);
        explanation.candidates.into_iter().next()
    }

    /// Whether the cluster's control plane is known to be hosted.
    fn is_hosted(&self) -> bool {
        let cluster = self.cluster.as_ref();
        cluster.is_some_and(|cluster| cluster.objects.facts.is_hosted())
    }

    /// Why the fleet does not let the cluster take the first hop now.
    fn held(&self) -> Option<&Verdict> {
        self.fleet.filter(|verdict| !verdict.is_offered())
    }

    /// The release that pools which are held back stay on, hop by hop. None where a pool is paused already: it stays on what
    /// it was paused on, which no object says.
    fn held_on(&self, timed: &TimedPlan) -> Vec<Option<ReleaseId>> {
        let pools = self.cluster.as_ref();
        let pools = pools.and_then(|cluster| cluster.objects.facts.pools.known());
        let mut paused = pools.into_iter().flatten();
        let mut is_known = !paused.any(|pool| pool.is_paused && !pool.is_of_control_plane());
        let held_on = |hop: &towpath_core::path::TimedHop| match hop.pools {
            Pools::GoAlong => None,
            Pools::MayStayPaused { on, catch_up } => {
                let on = is_known.then_some(on);
                is_known |= catch_up == CatchUp::AfterThisHop;
                on
            }
        };
        timed.hops.iter().map(held_on).collect()
    }
}

/// Where a cluster's shape comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShapeIs {
    Given,
    /// Nobody has; it is small.
    Assumed,
}

/// What stands in the way on a cluster.
pub struct PathCluster<'a> {
    pub objects: &'a ClusterObjects,
    /// What there is to say about each of the ways.
    pub judged: &'a [Readiness],
}
