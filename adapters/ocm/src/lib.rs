//! An OCM-style fleet API (OpenShift Cluster Manager: `clusters_mgmt` and `accounts_mgmt`, version 1) as a source of clusters,
//! and as a place where upgrades are scheduled and called off.
//!
//! [`Ocm::fleet`] reads everything at once into the core's types. [`Ocm::create`], [`Ocm::cancel`] and [`Ocm::agree`] carry
//! out what was decided elsewhere: each is idempotent and says what it found. Nothing is decided here, nothing is kept between
//! calls but the token, and nothing is logged: what there is to say is in the answer.
//!
//! What cannot be undone is never sent twice. After a request whose answer was lost, the API is asked what is there now.

use std::collections::BTreeSet;

use towpath_core::fleet::Name;

mod act;
mod config;
mod error;
mod fleet;
mod http;
mod policies;
mod read;
mod wire;

pub use act::{Agreed, Cancelled, ClusterRef, Created, PolicyRef};
pub use config::{Limits, OcmConfig, Sleep};
pub use error::OcmError;
pub use fleet::OcmFleet;

/// A client of the API. Cheap to share by reference; one per API.
#[derive(Debug)]
pub struct Ocm {
    http: http::Http,
    organisations: Option<BTreeSet<Name>>,
}

impl Ocm {
    /// The client, if the configuration can be one. Asks nothing of the API yet, but reads the token and the certificates.
    pub fn new(config: OcmConfig) -> Result<Self, OcmError> {
        let organisations = config.organisations.clone();
        Ok(Self {
            http: http::Http::new(config)?,
            organisations,
        })
    }
}
