//! The agent's side of a Towpath service: it asks for stamps and brings reports, and keeps them while the service is away.
//!
//! A report goes into the [`Outbox`], which has a [`Queue`] on disk or in memory, and the [`Sender`] brings one after the other to the service. It leaves
//! the queue when the service has taken or refused it, and not before: an answer that was lost means that it is sent again under the same id, which the
//! service knows. What is in a report, and when there is one, others decide.

mod client;
mod config;
mod error;
mod folder;
mod outbox;
mod pace;
mod queue;
mod random;
mod sender;
mod token;

pub use client::{Answered, ServiceClient};
pub use config::{Limits, ServiceConfig};
pub use error::ServiceError;
pub use outbox::Outbox;
pub use pace::Pace;
pub use queue::{Bounds, Queue, Queued};
pub use random::random;
pub use sender::{Clock, Door, Event, Sender, SystemClock};
