//! One cluster's Kubernetes API: what its objects say, and the few writes that the agent makes.
//!
//! [`Cluster::connect`] reads the configuration and begins to watch. From then on
//! - [`Cluster::objects`] is what is known right now: everything that `towpath ready` reads, as files that `formats::cluster_objects` takes. It asks nothing of
//!   the API; a quiet cluster costs its watches and nothing else;
//! - [`Cluster::changes`] wakes whoever waits, once for however many changes;
//! - [`Cluster::start_update`], [`Cluster::remember`], [`Cluster::publish`] and [`Cluster::tell`] write, each idempotent, each with an answer that says what was found;
//! - [`Elector`] holds the Lease that makes one of several agents the one that acts;
//! - [`Cluster::requests`] counts every request by verb and resource.
//!
//! Nothing is decided here and nothing is logged: what there is to say is in the answer. The clock is an argument of everything that is written. Objects
//! stay untyped; what nobody reads is dropped as it arrives.

mod answer;
mod cluster;
mod connect;
mod count;
mod door;
mod error;
mod event;
mod lease;
mod operator;
mod resource;
mod snapshot;
mod store;
mod subject;
mod trim;
mod update;
mod watch;

pub use cluster::{Changes, Cluster, NotRead};
pub use connect::{Access, Settings};
pub use count::{Requests, Verb};
pub use error::KubeError;
pub use event::{Event, Severity};
pub use lease::{Clock, Elector, Leadership, LeaseTerms};
pub use operator::{Condition, OPERATOR_NAME, OperatorStatus, OperatorVersion, Published, Status};
pub use snapshot::{Objects, SeenVersion, State};
pub use subject::Subject;
pub use update::{MAX_RECORD_BYTES, RECORD_ANNOTATION, Remembered, Started, Update};
