//! The fleet's door: reports come in, and people ask what is planned and why.
//!
//! It reads requests, checks tokens, and writes answers. What a fleet is, and where it is kept, only the desk behind it
//! knows. A desk may be slow, so it works on the server's runtime and never on a thread that answers graphs.

mod answer;
mod metrics;
pub(crate) mod query;
pub(crate) mod receive;
pub(crate) mod stamp;
mod tokens;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use jiff::Timestamp;
use towpath_core::cluster::ClusterId;
use towpath_core::finding::Finding;
use towpath_core::fleet::Authority;
use towpath_core::fleet::Filter;
use towpath_core::version::Version;
use towpath_formats::fleet::report::Report;

pub(crate) use answer::{MAX_ANSWERS, answer, check_token, may_ask_about, sight, sight_of};
pub use metrics::{ClusterCount, FleetMetrics, RemainingSoak};
pub(crate) use metrics::{FleetCollector, ReportResults};
pub(crate) use tokens::Purpose;
pub use tokens::TokenKeys;

/// What the app does behind the fleet API.
pub trait FleetApi: Send + Sync + 'static {
    /// Answers. This is called, and its future is run, on the runtime that [`Server::serve`](crate::Server::serve) was
    /// called on; what computes for long belongs on a blocking thread.
    fn answer(&self, request: FleetRequest) -> Pin<Box<dyn Future<Output = FleetAnswer> + Send>>;
}

/// What somebody who may wants of the fleet.
#[derive(Debug, Clone, PartialEq)]
pub enum FleetRequest {
    /// A cluster says how it is.
    Report {
        /// Which; its token was checked.
        cluster: ClusterId,
        /// Whether its token names the organisation and name that the report is for.
        authority: Authority,
        report: Box<Report>,
        /// The same, as it was sent.
        body: Arc<str>,
        /// When it arrived, by this service's clock.
        received: Timestamp,
    },
    Status(Filter),
    Plan(Filter),
    /// What is planned, under way, or over.
    Upgrades(Filter),
    /// How many clusters are held back, by rule.
    Holds(Filter),
    /// Why a cluster does not upgrade, or does.
    Why {
        cluster: String,
        version: Option<Version>,
    },
    /// How long which version has run where.
    History(Filter),
    /// What will come if nothing fails.
    Forecast {
        /// For so many days.
        days: u32,
        filter: Filter,
    },
    Pause {
        /// Only here; everywhere if none.
        organisation: Option<String>,
        sector: Option<String>,
        by: String,
        why: String,
    },
    /// Let new starts happen again.
    Resume {
        /// The pause that was set for this organisation; the one for all if none.
        organisation: Option<String>,
        /// The pause that was set for this sector.
        sector: Option<String>,
    },
    /// A person consents to a version.
    Approve {
        organisation: String,
        /// … or only this cluster of it.
        cluster: Option<String>,
        version: Version,
        by: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FleetAnswer {
    /// This JSON: 200, and 202 for a report.
    Json(String),
    /// There is no such cluster, organisation, sector: 404, with a sentence.
    NotFound(String),
    /// It was understood and is not done: 422.
    Refused {
        kind: &'static str,
        /// What to do about it.
        sentence: String,
    },
    /// Whoever asks may not do that: 403.
    Forbidden {
        kind: &'static str,
        /// What to do about it.
        sentence: String,
    },
    /// Not now, because the store is away: 503, to be tried again.
    Unavailable(String),
}

/// A fleet, to be served.
pub struct Fleet {
    pub desk: Arc<dyn FleetApi>,
    /// The keys that tokens are made with; without any, reports and changes are refused.
    pub keys: Option<TokenKeys>,
    /// Who may look at it.
    pub reads: Reads,
}

/// Who may look at the fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reads {
    /// Who has a reader's or an administrator's token. Where there are no keys to check one with, anybody.
    #[default]
    WithToken,
    /// Anybody, keys or no keys.
    Open,
}

/// What somebody is shown of what we know of the fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sight {
    /// All that there is to the question.
    Whole,
    /// Nothing that names an organisation, a sector, a cluster or a workload, and nothing that a cluster reported.
    Nameless,
}

/// How the fleet's parts are, for `/readyz`. Shown to anybody but the findings, whose texts only those get who may read the
/// fleet: it must hold no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetHealth {
    /// Why the store cannot be reached; none if it can.
    pub store_problem: Option<String>,
    /// Why no pass could be made, where the store is not at fault.
    pub pass_problem: Option<String>,
    pub checked_at: Timestamp,
    /// When the fleet was last decided about, here or by another replica.
    pub last_pass: Option<Timestamp>,
    /// Whether this replica is the one that starts upgrades.
    pub is_scheduler: bool,
    /// What is wrong with the policy files, and with whom they select; errors first.
    pub findings: Vec<Finding>,
}

impl fmt::Debug for Fleet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fleet")
            .field("keys", &self.keys)
            .finish_non_exhaustive()
    }
}
