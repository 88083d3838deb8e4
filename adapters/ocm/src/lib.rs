//! A client of an OCM-style fleet API (OpenShift Cluster Manager: `clusters_mgmt` and `accounts_mgmt`, version 1).
//! It reads clusters, and schedules and cancels upgrades.
//!
//! [`Ocm::fleet`] reads everything into the core's types. [`Ocm::create`], [`Ocm::cancel`], [`Ocm::agree`] and [`Ocm::switch_channel`] carry out
//! decisions of the scheduler. Each is idempotent and returns what it found. The client decides nothing, logs nothing, and
//! keeps only the token between calls.
//!
//! Writes are never sent twice. If an answer is lost, the client reads what exists now.

use std::collections::BTreeSet;

use towpath_core::fleet::Name;

mod act;
mod config;
mod error;
mod fleet;
mod http;
mod login;
mod policies;
mod read;
mod wire;

pub use act::{
    AgreementOutcome, CancelOutcome, ClusterRef, CreateOutcome, PolicyRef, SwitchOutcome,
};
pub use config::{Limits, OcmConfig, Sleep};
pub use error::OcmError;
pub use fleet::OcmFleet;
pub use login::Login;

/// A client of the API. Share it by reference; one per API.
#[derive(Debug)]
pub struct Ocm {
    http: http::Http,
    organisations: Option<BTreeSet<Name>>,
}

impl Ocm {
    /// Reads the token and the certificates. Sends no request.
    pub fn new(config: OcmConfig) -> Result<Self, OcmError> {
        let organisations = config.organisations.clone();
        Ok(Self {
            http: http::Http::new(config)?,
            organisations,
        })
    }
}
