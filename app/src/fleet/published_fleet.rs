//! The fleet as it was last decided on: the scheduler publishes it, and the fleet API answers from it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::Notify;
use towpath_core::cluster::{ClusterId, Group};
use towpath_core::feedback::TimeLimits;
use towpath_core::finding::Finding;
use towpath_core::fleet::{
    AgentOutcome, Decision, FleetInput, FleetPlanner, FleetPolicy, Minimum, Name, UnknownClusters,
    rings_without_clusters,
};
use towpath_core::graph::Graph;
use towpath_formats::words::counted;
use towpath_web::{Enrolment, Service, Snapshot};

use super::outcomes_query::PublishedQuery;
use crate::feedback::PublishedWatch;

/// What was last decided, for whoever asks.
#[derive(Default)]
pub(crate) struct PublishedFleet {
    published: RwLock<Option<Arc<RwLock<DecidedFleet>>>>,
    /// How long updates that start now may take.
    limits: RwLock<Option<Arc<TimeLimits>>>,
    /// What clusters have told of updates since this process began.
    pub(crate) outcomes: OutcomeCounts,
    /// What the watch last said.
    pub(crate) watch: Arc<PublishedWatch>,
    /// How asking Prometheus for outcomes goes.
    pub(crate) outcomes_query: PublishedQuery,
    /// Told when reports were written.
    pub(crate) reports_came: Notify,
}

/// How often each outcome of an update was told, each update once.
#[derive(Default)]
pub(crate) struct OutcomeCounts([AtomicU64; AgentOutcome::ALL.len()]);

impl OutcomeCounts {
    /// One more.
    pub(crate) fn count(&self, outcome: AgentOutcome) {
        self.0[outcome as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// How many there were.
    pub(crate) fn all(&self) -> BTreeMap<AgentOutcome, u64> {
        AgentOutcome::ALL
            .map(|outcome| (outcome, self.0[outcome as usize].load(Ordering::Relaxed)))
            .into()
    }
}

/// A state of the fleet, and what was decided on it.
pub(crate) struct DecidedFleet {
    pub(crate) planner: FleetPlanner,
    pub(crate) decision: Decision,
    pub(crate) policy: Arc<FleetPolicy>,
    pub(crate) inherited: BTreeMap<Name, Minimum>,
    pub(crate) is_scheduler: bool,
    /// Whether a cluster that no policy is about may be in a file that could not be read.
    pub(crate) is_partial: bool,
    /// What clusters see that nobody knows.
    pub(crate) unknown_clusters: UnknownClusters,
    /// Ids that the files name, besides those in the policy: of policies without an organisation, …
    pub(crate) strays: BTreeSet<ClusterId>,
    /// … and of entries of the list that were left out.
    pub(crate) left_out: BTreeSet<ClusterId>,
}

/// Where the graph comes from.
#[derive(Clone)]
pub(crate) enum GraphSource {
    /// There is none: clusters bring their offers.
    None,
    /// One that was read once.
    Fixed(Arc<Graph>),
    /// Whatever is being served.
    Served(Arc<Service>),
}

impl GraphSource {
    /// The service that it is served by, if it is.
    pub(crate) fn service(&self) -> Option<&Arc<Service>> {
        match self {
            Self::Served(service) => Some(service),
            Self::None | Self::Fixed(_) => None,
        }
    }
}

/// A graph that is being held while it is used.
pub(crate) enum GraphHandle {
    None,
    Fixed(Arc<Graph>),
    Served(Arc<Snapshot>),
}

impl GraphHandle {
    /// The graph itself.
    pub(crate) fn graph(&self) -> Option<&Graph> {
        match self {
            Self::None => None,
            Self::Fixed(graph) => Some(graph),
            Self::Served(snapshot) => Some(snapshot.graph()),
        }
    }

    /// The rings of the graph that nobody is in, whom the fleet or the service's lookup file knows.
    pub(crate) fn rings_without_clusters(&self, input: &FleetInput) -> Vec<Finding> {
        let of = |graph, others: &dyn Fn(&Group) -> bool| {
            rings_without_clusters(graph, &input.policy, &input.clusters, others)
        };
        match self {
            Self::None => Vec::new(),
            Self::Fixed(graph) => of(graph, &|_| false),
            Self::Served(snapshot) => {
                of(snapshot.graph(), &|group| snapshot.knows_somebody_in(group))
            }
        }
    }

    /// A name for this very graph.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::None => "none",
            Self::Fixed(_) => "fixed",
            Self::Served(snapshot) => &snapshot.digest,
        }
    }
}

impl GraphSource {
    /// Who of the fleet sees what of that graph; none where it is not served.
    pub(crate) fn enrolment(&self) -> Option<&Enrolment> {
        match self {
            Self::None | Self::Fixed(_) => None,
            Self::Served(service) => Some(service.enrolment()),
        }
    }

    /// The graph as it is now.
    pub(crate) fn now(&self) -> GraphHandle {
        match self {
            Self::None => GraphHandle::None,
            Self::Fixed(graph) => GraphHandle::Fixed(graph.clone()),
            Self::Served(service) => service
                .snapshot()
                .map_or(GraphHandle::None, GraphHandle::Served),
        }
    }
}

impl PublishedFleet {
    /// What was last decided.
    pub(crate) fn published(&self) -> Option<Arc<RwLock<DecidedFleet>>> {
        self.published
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// How long updates that start now may take, as far as it is known.
    pub(crate) fn limits(&self) -> Arc<TimeLimits> {
        self.learned_limits().unwrap_or_default()
    }

    /// The same. None: no pass was made yet.
    pub(super) fn learned_limits(&self) -> Option<Arc<TimeLimits>> {
        let limits = self.limits.read().unwrap_or_else(PoisonError::into_inner);
        limits.clone()
    }

    pub(super) fn learned(&self, limits: Arc<TimeLimits>) {
        *self.limits.write().unwrap_or_else(PoisonError::into_inner) = Some(limits);
    }

    /// Puts up a new one.
    pub(crate) fn publish(&self, published: DecidedFleet) -> Arc<RwLock<DecidedFleet>> {
        let published = Arc::new(RwLock::new(published));
        *self
            .published
            .write()
            .unwrap_or_else(PoisonError::into_inner) = Some(published.clone());
        published
    }
}

/// How a pass went.
#[derive(Debug, Clone, Default)]
pub(crate) struct PassOutcome {
    pub(crate) at: Timestamp,
    pub(crate) is_scheduler: bool,
    /// How far ahead the lease's end lay that was taken from a scheduler whose clock was ahead.
    pub(crate) lease_taken_ahead: Option<Duration>,
    pub(crate) planned: usize,
    pub(crate) begun: usize,
    pub(crate) refused: usize,
    pub(crate) cancelled: usize,
    pub(crate) ended: usize,
    pub(crate) overdue: usize,
    pub(crate) clusters: usize,
    pub(crate) took: Duration,
}

impl fmt::Display for PassOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            planned,
            begun,
            ended,
            cancelled,
            refused,
            overdue,
            ..
        } = self;
        if let Some(ahead) = self.lease_taken_ahead {
            let hours = ahead.as_secs_f64() / 3600.0;
            writeln!(
                f,
                "Took over a lease that would have expired in {hours:.1} hours, which is longer than any lease lasts: a clock was ahead."
            )?;
        }
        write!(f, "A pass over {}: ", counted(self.clusters, "cluster"))?;
        match self.is_scheduler {
            true => writeln!(
                f,
                "{planned} planned, {begun} began, {ended} ended, {cancelled} cancelled, {refused} refused, {overdue} overdue."
            ),
            false => writeln!(f, "another scheduler is active, so this one did nothing."),
        }
    }
}
