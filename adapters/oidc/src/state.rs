//! What is known of an issuer: its addresses and keys, since when, and what went wrong last.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use towpath_formats::oidc::{ClientAuth, IssuerKeys};

use crate::addresses::Addresses;

/// What an issuer said of itself.
#[derive(Debug)]
pub(crate) struct Facts {
    pub(crate) addresses: Addresses,
    pub(crate) client_auth: ClientAuth,
    pub(crate) keys: IssuerKeys,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    /// What was read last, and when.
    pub(crate) facts: Option<(Arc<Facts>, Instant)>,
    /// When it was last tried to read.
    pub(crate) tried: Option<Instant>,
    /// What went wrong, if the last try failed.
    pub(crate) problem: Option<String>,
    pub(crate) read: u64,
    pub(crate) failed: u64,
    /// Tokens that were checked, by what became of them.
    pub(crate) tokens: BTreeMap<&'static str, u64>,
}

/// How it goes with an issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuerHealth {
    pub issuer: String,
    /// How many keys there are, and how long ago they were read.
    pub keys: Option<(usize, Duration)>,
    /// Whether its tokens are taken: its keys are there, and not too old.
    pub is_open: bool,
    /// Why it could not be read the last time.
    pub problem: Option<String>,
    pub read: u64,
    pub failed: u64,
    /// Tokens that were checked, by `known` or the kind of the problem.
    pub tokens: BTreeMap<&'static str, u64>,
}

impl State {
    /// What was read, while it holds.
    pub(crate) fn facts(&self, hold: Duration, now: Instant) -> Option<Arc<Facts>> {
        let (facts, read_at) = self.facts.as_ref()?;
        (now.duration_since(*read_at) < hold).then(|| facts.clone())
    }

    pub(crate) fn health(&self, issuer: &str, hold: Duration, now: Instant) -> IssuerHealth {
        let keys = self.facts.as_ref();
        IssuerHealth {
            issuer: issuer.to_owned(),
            keys: keys.map(|(facts, at)| (facts.keys.count(), now.duration_since(*at))),
            is_open: self.facts(hold, now).is_some(),
            problem: self.problem.clone(),
            read: self.read,
            failed: self.failed,
            tokens: self.tokens.clone(),
        }
    }
}
