//! The fleet's HTTP API: clusters report, and people ask what is planned and why.
//!
//! It parses requests, checks tokens and writes answers. The app implements [`FleetApi`] and knows the fleet. Its answers
//! may be slow, so they run on the server's runtime and never on a thread that answers graphs.

mod answer;
mod aus_metrics;
mod metrics;
pub(crate) mod query;
mod reach;
pub(crate) mod receive;
pub(crate) mod stamp;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use jiff::Timestamp;
use towpath_core::agent::OrdersUse;
use towpath_core::cluster::ClusterId;
use towpath_core::feedback::HaltScope;
use towpath_core::finding::Finding;
use towpath_core::fleet::{Actor, Authority, ClusterSort, Filter, MatrixBy};
use towpath_core::version::Version;
use towpath_formats::fleet::report::Report;

pub(crate) use answer::{MAX_ANSWERS, answer, no_fleet};
pub use aus_metrics::{AusCluster, AusMetrics, AusOrganisation, AusRemaining, AusSoak};
pub use metrics::{Bounded, ClusterCount, FleetMetrics, RemainingSoak};
pub(crate) use metrics::{FleetCollector, ReportResults};

use crate::ReloadRequest;
use crate::access::Admitted;

/// The app's side of the fleet API.
pub trait FleetApi: Send + Sync + 'static {
    /// Answers a request, on the runtime that [`Server::serve`](crate::Server::serve) was called on. Long computations belong
    /// on a blocking thread. Whether `caller` may touch the one cluster that a request names, it checks itself.
    fn answer(
        &self,
        request: FleetRequest,
        caller: Admitted,
        form: FleetForm,
    ) -> Pin<Box<dyn Future<Output = FleetAnswer> + Send>>;
}

/// How an answer is to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FleetForm {
    #[default]
    Json,
    /// For people.
    Text {
        /// The columns of their terminal, if they have one.
        width: Option<u16>,
    },
    /// A table for documents; only the history has one.
    Markdown,
}

/// An authorised request to the fleet.
#[derive(Debug, Clone, PartialEq)]
pub enum FleetRequest {
    /// A cluster's report.
    Report {
        /// The cluster, whose token was checked.
        cluster: ClusterId,
        /// Whether its token names the organisation and name that the report is for.
        authority: Authority,
        report: Box<Report>,
        /// The report as received.
        body: Arc<str>,
        /// When it arrived, by this service's clock.
        received: Timestamp,
    },
    Status(Filter),
    Plan {
        filter: Filter,
        /// How far to look ahead for those whose time no rule can tell; none: not at all.
        days: Option<u32>,
    },
    /// Each cluster with its policy, if it has one.
    Clusters {
        filter: Filter,
        sort: ClusterSort,
    },
    /// The sectors of each organisation as a pipeline.
    Sectors(Filter),
    /// Which versions run where.
    Matrix {
        by: MatrixBy,
        filter: Filter,
    },
    /// When clusters may start.
    Calendar {
        filter: Filter,
        from: Option<Timestamp>,
        until: Option<Timestamp>,
    },
    /// What people did.
    Acts {
        filter: Filter,
        /// Only what still holds.
        standing: bool,
    },
    /// What the watch says about releases that are rolled out, or about one.
    Watch {
        release: Option<Version>,
    },
    /// The decision log, newest first.
    Decisions {
        /// Only those before this number.
        before: Option<i64>,
        limit: Option<usize>,
    },
    /// One decision of the log, made again.
    Decision {
        number: i64,
        /// Explain this cluster at the time of the decision.
        cluster: Option<String>,
    },
    /// Planned, running and ended upgrades.
    Upgrades(Filter),
    /// How many clusters are held back, by rule.
    Holds(Filter),
    /// One cluster whole.
    Cluster {
        cluster: String,
    },
    /// Why a cluster does, or does not, upgrade.
    Why {
        cluster: String,
        version: Option<Version>,
    },
    /// How long each version has run, and where.
    History(Filter),
    /// A forecast of starts, if nothing fails.
    Forecast {
        /// The length of the forecast.
        days: u32,
        /// When it begins; none: now.
        from: Option<Timestamp>,
        filter: Filter,
    },
    Pause {
        /// Only here; none for everywhere.
        organisation: Option<String>,
        sector: Option<String>,
        actor: Actor,
        why: String,
    },
    /// Resume new starts.
    Resume {
        /// The pause of this organisation; none for the global pause.
        organisation: Option<String>,
        /// The pause of this sector.
        sector: Option<String>,
        actor: Actor,
        why: String,
    },
    /// Let cancelled upgrades of a cluster be planned again.
    Lift {
        /// Its name or id.
        cluster: String,
        /// Only the upgrade to this version.
        version: Option<Version>,
        actor: Actor,
        why: String,
    },
    /// Halts in the store, standing and undone.
    Halts,
    /// Halt a release in every replica at once.
    Halt {
        release: Version,
        scope: HaltScope,
        why: String,
        /// The name of who does it.
        by: String,
    },
    /// One of two acts that undo a halt.
    UndoHalt {
        halt: i64,
        /// The name of who does it.
        by: String,
    },
    /// Approve a version.
    Approve {
        organisation: String,
        /// … or only this cluster of it.
        cluster: Option<String>,
        version: Version,
        actor: Actor,
        why: String,
    },
    /// Take an approval back.
    WithdrawApproval {
        organisation: String,
        /// The one that was for this cluster alone.
        cluster: Option<String>,
        version: Version,
        actor: Actor,
        why: String,
    },
    /// Take an acknowledgement back.
    WithdrawAcknowledgement {
        gate: String,
        /// Its name or id.
        cluster: String,
        actor: Actor,
        why: String,
    },
    /// Cancel one planned upgrade.
    Cancel {
        which: UpgradeChoice,
        actor: Actor,
        why: String,
    },
    /// Acknowledge a gate for a cluster.
    Acknowledge {
        gate: String,
        /// Its name or id.
        cluster: String,
        actor: Actor,
        why: String,
    },
    /// What the fleet asks of a cluster.
    Orders {
        /// The cluster, whose token was checked.
        cluster: ClusterId,
        purpose: OrdersUse,
    },
    /// Ask clusters for a preflight.
    Preflight {
        version: Version,
        filter: Filter,
        /// How many may run at once.
        at_once: u32,
        actor: Actor,
    },
    /// What became of preflights.
    Preflights(Filter),
    /// Forget a cluster that no longer exists.
    Forget {
        /// Its name or id.
        cluster: String,
        actor: Actor,
    },
    /// Tokens that were revoked.
    Revocations,
    /// Ends tokens before their time.
    Revoke {
        which: RevokeWhich,
        why: String,
        by: String,
    },
    /// Record the clusters and the soak of a list.
    Import {
        /// The list as received.
        list: Arc<str>,
        actor: Actor,
    },
    /// What people and programs did, oldest first, from the chained log.
    AuditLog {
        /// Only entries after this number.
        after: i64,
        since: Option<Timestamp>,
        until: Option<Timestamp>,
        limit: Option<usize>,
    },
    /// Somebody overrules the checks of a source. It is written down before it is done.
    Overrule {
        reload: ReloadRequest,
        actor: Actor,
    },
}

/// Which upgrade is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpgradeChoice {
    /// The one of the cluster with this name or id.
    Of(String),
    Number(i64),
}

/// Which tokens somebody revokes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RevokeWhich {
    /// The one with this serial.
    Serial(String),
    /// All of this person that were made until now.
    Person(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FleetAnswer {
    /// 200 with this JSON; 202 for a report.
    Json(String),
    /// 202 with this JSON: noted, and somebody else has to say so too.
    Accepted(String),
    /// 200 with this text.
    Text(String),
    /// 404: the cluster, organisation or sector does not exist.
    NotFound(String),
    /// 422: understood, but refused.
    Refused {
        kind: &'static str,
        sentence: String,
    },
    /// 403: the caller may not do that.
    Forbidden {
        kind: &'static str,
        sentence: String,
    },
    /// 503: the store is unavailable; try again.
    Unavailable(String),
}

/// A fleet and its access rules.
pub struct Fleet {
    pub desk: Arc<dyn FleetApi>,
    /// Who may read it.
    pub reads: Reads,
}

/// Who may read the fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reads {
    /// Whoever has a role that permits it.
    #[default]
    WithToken,
    /// Anybody.
    Open,
}

/// How much of the fleet a caller sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sight {
    /// Everything.
    Whole,
    /// No names of organisations, sectors, clusters or workloads, and nothing that a cluster reported.
    Nameless,
}

/// The fleet's health, for `/readyz`. Everybody sees it, so it must hold no secret. Only readers of the fleet see the texts
/// of findings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetHealth {
    /// Why the store is unreachable; none if it is reachable.
    pub store_problem: Option<String>,
    /// Why the last pass failed, apart from the store.
    pub pass_problem: Option<String>,
    pub checked_at: Timestamp,
    /// When any replica last decided about the fleet.
    pub last_pass: Option<Timestamp>,
    /// Whether this replica is the one that starts upgrades.
    pub is_scheduler: bool,
    /// Findings about the policy files and their selectors; errors first.
    pub findings: Vec<Finding>,
}

impl fmt::Debug for Fleet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fleet")
            .field("reads", &self.reads)
            .finish_non_exhaustive()
    }
}
