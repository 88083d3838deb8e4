//! Kubernetes APIs: one cluster's own, for the agent, and an ACM hub's, for the fleet.
//!
//! [`Cluster::connect`] reads the configuration and begins to watch. From then on
//! - [`Cluster::objects`] returns what is known right now, as files that `formats::cluster_objects` reads.
//!   It sends no request: an idle cluster costs only its watches;
//! - [`Cluster::changes`] wakes a waiting task, once for many changes;
//! - [`Cluster::start_update`], [`Cluster::remember`], [`Cluster::publish`] and [`Cluster::tell`] write.
//!   Each is idempotent and returns what it found;
//! - [`Elector`] holds the Lease, so that only one of several agents acts;
//! - [`Cluster::requests`] counts every request by verb and resource.
//!
//! [`look`] reads a cluster once instead, for `towpath ready`. It needs no watch and writes nothing.
//! [`look_at_nodes`] does the same for `towpath nodes plan`. [`Reboots`] carries out `towpath nodes run`.
//! [`look_at_daemon_sets`] does the same for `towpath daemonsets`. [`DaemonSets`] replaces pods of those that have opted in to waves.
//! [`Hub`] reads the clusters of an ACM hub, and has ClusterCurators upgrade them.
//! [`Reviewer`] asks an API whose token somebody shows, for the service.
//!
//! This crate decides nothing and logs nothing. Callers pass the clock to every write.
//! Objects stay untyped; fields that nobody reads are dropped on arrival.

mod acm;
mod answer;
mod channel;
mod cluster;
mod connect;
mod count;
mod daemon_sets;
mod door;
mod error;
mod event;
mod lease;
mod list;
mod look;
mod nodes;
mod operator;
mod preflight;
mod resource;
mod reviewer;
mod snapshot;
mod store;
mod subject;
mod trim;
mod update;
mod watch;

pub use acm::{
    CurateOutcome, CuratedUpgrade, CuratorPlace, CuratorProgress, Hub, HubFleet,
    UPGRADE_ANNOTATION, WithdrawOutcome,
};
pub use channel::ChannelWrite;
pub use cluster::{Changes, Cluster, UnreadSubjects};
pub use connect::{Access, Settings};
pub use count::{Requests, Verb};
pub use daemon_sets::{DaemonSets, SetWrite};
pub use error::KubeError;
pub use event::{Event, Severity};
pub use lease::{Clock, Elector, Leadership, LeaseTerms};
pub use look::{LookedAt, look, look_at_daemon_sets, look_at_nodes};
pub use nodes::{EvictOutcome, NodeWrite, Reboots};
pub use operator::{
    Condition, OPERATOR_NAME, OperatorStatus, OperatorVersion, PublishOutcome, Status,
};
pub use preflight::AskOutcome;
pub use reviewer::{Account, NotReviewed, Reviewer};
pub use snapshot::{Objects, SeenVersion, State};
pub use subject::Subject;
pub use update::{
    MAX_RECORD_BYTES, RECORD_ANNOTATION, RecordOutcome, RiskChange, StartOutcome, Update,
};
