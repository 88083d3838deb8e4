//! The agent's client of a Towpath service: it fetches stamps, sends reports, and queues them while the service is down.
//!
//! A report goes into the [`Outbox`], which has a [`Queue`] on disk or in memory. The [`Sender`] sends one after the other.
//! A report leaves the queue only when the service has accepted or refused it. If an answer is lost, the report is sent
//! again under the same id, which the service recognises. The caller decides when to report, and what.

mod client;
mod config;
mod current_client;
mod error;
mod folder;
mod outbox;
mod pace;
mod queue;
mod random;
mod renewal;
mod sender;
mod token;

pub use client::{ReportOutcome, ServiceClient};
pub use config::{Limits, ServiceConfig};
pub use error::ServiceError;
pub use outbox::Outbox;
pub use pace::Pace;
pub use queue::{Bounds, Queue, QueuedReport};
pub use random::random;
pub use renewal::NewToken;
pub use sender::{Clock, Door, Event, Sender, SystemClock};
