//! The fleet: its policies, its clusters, and the upgrades under way.
//!
//! [`FleetInput`] is all that a decision depends on, except the time. It is plain data, so that it
//! can be stored with the decision and read again.

mod absence;
pub mod accepted_risk;
mod agenda;
pub mod agent_update;
pub mod binding;
mod calendar;
mod channel;
mod clusters;
mod coverage;
mod dispatch;
pub mod enrolment;
mod filter;
mod history;
mod holds;
mod known;
mod ledger;
pub mod log_head;
mod matrix;
pub mod names;
mod offers;
pub mod person_act;
mod pipeline;
mod plan;
mod plans;
pub mod policy;
pub mod preflight;
mod retention;
pub mod roster;
pub(crate) mod rules;
pub mod schedule;
pub mod soak;
mod sorting;
pub mod state;
mod status;
pub mod taken_back;
pub mod upgrade;
mod why;

pub(crate) use absence::ABSENCE_CODES;
pub use agenda::{AgendaKey, AgendaQuestion, AgendaRow, AgendaSpan, SpanKind};
pub use channel::{CHANNEL_GROUPS, ChannelFollowers};
pub use clusters::{
    ClusterKey, ClusterListing, ClusterPage, ClusterRow, ClusterSort, NoPolicy, SortValue,
};
pub use coverage::{COVERAGE_CODES, coverage};
pub use dispatch::{Decision, FleetPlanner, LockNeed, Start, StartKind, dispatch, sector_key};
pub use filter::{
    BadQuestion, Cursor, Filter, best_candidate, best_of, find_cluster, find_unmanaged,
};
pub use history::{HistoryRow, history};
pub use known::KnownFleet;
pub use ledger::{Ledger, Tenure, beyond_own, oldest_needed, told_once};
pub use matrix::{
    MATRIX_VERSIONS, Matrix, MatrixBy, MatrixCell, MatrixCells, MatrixPlace, MatrixRow,
};
pub use offers::OfferBook;
pub use pipeline::{PipelineSector, SectorSoak};
pub use plan::{ActiveUpgrade, FleetPlan};
pub(crate) use plans::PLAN_CODES;
pub use plans::{Cancellation, EXPECTED, GRACE, OverdueUpgrade, PUNCTUALITY, UpgradeEnd};
pub use retention::{PRUNING_STEP, pruning_clock};
pub use rules::{NOT_SOAKED, RuleId, fleet_codes};
use status::expected_next;
pub use status::{Next, StatusRow, status};
pub use why::{CandidateSoak, CandidateWhy, Why};

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::version::Minors;

pub use accepted_risk::{AcceptedRisk, RiskEnd};
pub use agent_update::{AgentOutcome, AgentUpdate};
pub use binding::{Authority, Binding, BoundIdentity, NotAsBound};
pub use enrolment::{UnknownClusters, UnplacedReason};
pub use log_head::{LogHead, SignedHead};
pub use names::{NameClash, name_clashes, name_findings};
pub use person_act::{ActKind, Actor, Doer, PersonAct, Said};
pub use policy::{
    ClusterPolicy, FleetPolicy, LeftAlone, Organisation, Parallel, PolicyDefault, Sector,
    UpgradePolicy,
};
pub use preflight::{
    AskedPreflights, Preflight, PreflightDemand, PreflightRequest, PreflightResult, PreflightState,
};
pub use roster::{ClusterIdx, FollowUp, Roster, origin_of};
pub use schedule::{Exclusion, MaintenanceWindow, NotASchedule, Schedule, Schedules, Zone};
pub use soak::{Observation, SoakSum, Span, SpanChange, observe, observe_late};
pub(crate) use sorting::Sorting;
pub use sorting::rings_without_clusters;
pub use state::{
    Approval, ClusterState, GateConcern, GateScope, GraphObjection, Health, Labels, Minimum,
    NodePool, Offer, Pause, Product, SETS_CHANNELS, VersionGate,
};
pub use taken_back::{CancelledUpgrade, TakenBack, WithdrawnAcknowledgement, WithdrawnApproval};
pub use upgrade::{Owner, Upgrade, UpgradeId, UpgradeState};

/// The name of a workload, a mutex, a sector, an organisation: a text whose only meaning is that others are equal to it.
pub type Name = Arc<str>;

/// All that a decision about the fleet depends on, besides the time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FleetInput {
    pub policy: FleetPolicy,
    /// What is known of the clusters, by organisation and id.
    pub clusters: Vec<ClusterState>,
    /// Upgrades that are planned or under way, the newest failed one of each cluster, and lately refused ones.
    pub upgrades: Vec<Upgrade>,
    /// How long releases have run healthily.
    pub soak: Vec<SoakSum>,
    /// Gates that stand before minor versions.
    pub gates: Vec<VersionGate>,
    pub approvals: Vec<Approval>,
    /// Withdrawn approvals and acknowledgements, and cancelled upgrades.
    pub taken_back: TakenBack,
    /// What became of preflights, one for each cluster and version.
    pub preflights: Vec<Preflight>,
    /// Where people have stopped new starts.
    pub pauses: Vec<Pause>,
    /// The lowest versions elsewhere, for organisations that inherit version data from where we do not look.
    pub inherited: BTreeMap<Name, Minimum>,
    /// Which minor version follows which. None in decisions from before anybody asked.
    pub minors: Option<Minors>,
}
