//! Limits how often one client asks, for everything but graphs and probes.
//!
//! A client is its token, if one of our keys made it, and else its address. So clusters behind one address do not share a
//! limit, and whoever invents tokens does not get a limit for each.

use std::net::IpAddr;

use http::{HeaderMap, StatusCode};
use sha2::{Digest, Sha256};
use towpath_core::access::SourceKind;
use towpath_core::rate::{Rate, Rates};

use crate::access::Caller;
use crate::places::Place;
use crate::refusal::{OrRefusal, Refusal, whole_seconds};
use crate::routes::Cost;
use crate::{Service, access, locked};

/// The default limit. A person at the page asks a few times a second at most, an agent a few times a minute.
pub const REQUESTS_PER_MINUTE: u32 = 1_200;
/// The most clients that are counted. Past that, those that have rested longest are forgotten.
const MAX_COUNTED_CLIENTS: usize = 100_000;

/// Refused for who they are.
const FOR_WHO_THEY_ARE: [StatusCode; 2] = [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN];

/// Whose requests are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Client {
    Address(IpAddr),
    /// The hash of a token.
    Token([u8; 32]),
    /// The hash of who an issuer or a Kubernetes API knows.
    Person([u8; 32]),
}

pub(crate) fn rates(per_minute: u32) -> Option<Rates<Client>> {
    Rate::per_minute(per_minute).map(|rate| Rates::new(rate, MAX_COUNTED_CLIENTS))
}

impl Service {
    /// Limits the requests of one client per minute; 0 for no limit.
    pub fn limit_requests(&self, per_minute: u32) {
        *locked(&self.request_rates) = rates(per_minute);
    }

    /// Counts a request of a client, if what it asks for is counted. A proxy that names no client is not limited.
    pub(crate) fn count_request(
        &self,
        cost: Option<Cost>,
        headers: &HeaderMap,
        address: Option<IpAddr>,
    ) -> OrRefusal<()> {
        if matches!(cost, Some(Cost::Graph | Cost::Probe)) {
            return Ok(());
        }
        let token = access::genuine_token(self, headers);
        let hashed = token.map(|token| Client::Token(Sha256::digest(token).into()));
        match hashed.or(address.map(Client::Address)) {
            Some(client) => self.count(client),
            None => Ok(()),
        }
    }

    /// Counts a request of somebody whom another one knows. Whose token it is, is known only once it was checked.
    pub(crate) fn count_person(&self, cost: Cost, caller: &Caller) -> OrRefusal<()> {
        let is_free = matches!(cost, Cost::Graph | Cost::Probe);
        match caller.identity().filter(|_| !is_free) {
            Some(identity) if identity.source.kind() != SourceKind::Token => {
                let who = format!("{}\0{}", identity.name, identity.source);
                self.count(Client::Person(Sha256::digest(who).into()))
            }
            _ => Ok(()),
        }
    }

    /// Counts a refused request, and logs one a minute: a stranger fills neither the log nor the store.
    pub(crate) fn count_refused(&self, endpoint: &str, refusal: &Refusal, place: &Place) {
        if !FOR_WHO_THEY_ARE.contains(&refusal.status) {
            return;
        }
        let kind = refusal.kind();
        self.metrics.refused(kind);
        if let Some(more) = locked(&self.refusals).came(self.started.elapsed()) {
            let from = place.origin();
            tracing::warn!(endpoint, kind, %from, "somebody was refused{more}");
        }
    }

    fn count(&self, client: Client) -> OrRefusal<()> {
        let taken = match &mut *locked(&self.request_rates) {
            Some(rates) => rates.take(&client, self.started.elapsed()),
            None => Ok(()),
        };
        taken.map_err(|wait| {
            self.metrics.request_limited(client.kind());
            let (seconds, kind) = (whole_seconds(wait), client.kind());
            let sentence = format!("this {kind} asks too often; ask again in {seconds} s");
            Refusal::new(StatusCode::TOO_MANY_REQUESTS, "too_many_requests", sentence)
                .with(seconds.into())
        })
    }
}

impl Client {
    pub(crate) const KINDS: [&'static str; 3] = ["address", "token", "person"];

    /// As the label of a metric, and as people say it.
    fn kind(self) -> &'static str {
        match self {
            Self::Address(_) => Self::KINDS[0],
            Self::Token(_) => Self::KINDS[1],
            Self::Person(_) => Self::KINDS[2],
        }
    }
}
