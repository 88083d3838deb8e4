//! The certificate of a client, and whether it still counts.
//!
//! The handshake checks it once. A connection may live for days, so requests of clusters check it again: against the
//! newest authorities and revocation lists, at the time of the request.

use std::sync::{Arc, Mutex};

use jiff::{SignedDuration, Timestamp};
use rustls::pki_types::CertificateDer;
use rustls::{CertificateError, Error};
use towpath_formats::certificate::CertificateFacts;

use super::{Current, Tls, unix_time};
use crate::locked;

/// A check counts for so long, unless something was replaced.
const COUNTS_FOR: SignedDuration = SignedDuration::from_secs(5);

/// A certificate that a client has shown and proved to own.
pub(crate) struct PeerCertificate {
    /// Its own first, then those between it and an authority.
    chain: Vec<CertificateDer<'static>>,
    names: Vec<String>,
    /// When it was last found to be good, and by what.
    good: Mutex<Option<(Timestamp, Arc<Current>)>>,
}

/// Why a client's certificate does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BadCertificate {
    Ended,
    NotBegun,
    Revoked,
    /// The revocation list is too old, or there is none of its issuer.
    NotKnownToBeGood,
    UnknownIssuer,
    Unusable,
}

impl PeerCertificate {
    /// None without a certificate, or with one that we cannot read.
    pub(crate) fn of(chain: Option<&[CertificateDer<'_>]>) -> Option<Self> {
        let chain: Vec<_> = chain?.iter().map(|one| one.clone().into_owned()).collect();
        let facts = CertificateFacts::read(chain.first()?)?;
        Some(Self {
            chain,
            names: facts.names,
            good: Mutex::default(),
        })
    }

    /// Whether it is for the cluster with this id.
    pub(crate) fn names(&self, id: &str) -> bool {
        self.names.iter().any(|name| name == id)
    }

    /// Whether it counts now.
    pub(crate) fn check(&self, tls: &Tls) -> Result<(), BadCertificate> {
        let (now, current) = ((tls.clock)(), tls.current.load_full());
        let was_good = |(at, by): &(Timestamp, Arc<Current>)| {
            Arc::ptr_eq(by, &current) && now.duration_since(*at).abs() < COUNTS_FOR
        };
        let mut good = locked(&self.good);
        if good.as_ref().is_some_and(was_good) {
            return Ok(());
        }
        *good = None;
        let verifier = current.verifier.as_ref();
        let (first, between) = self.chain.split_first().ok_or(BadCertificate::Unusable)?;
        let checked = verifier
            .ok_or(BadCertificate::Unusable)?
            .verify_client_cert(first, between, unix_time(now));
        checked.map_err(|error| BadCertificate::from(&error))?;
        *good = Some((now, current));
        Ok(())
    }
}

impl BadCertificate {
    pub(crate) const ALL: [Self; 6] = [
        Self::Ended,
        Self::NotBegun,
        Self::Revoked,
        Self::NotKnownToBeGood,
        Self::UnknownIssuer,
        Self::Unusable,
    ];

    /// As the label of a metric.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ended => "ended",
            Self::NotBegun => "not_begun",
            Self::Revoked => "revoked",
            Self::NotKnownToBeGood => "not_known_to_be_good",
            Self::UnknownIssuer => "unknown_issuer",
            Self::Unusable => "unusable",
        }
    }

    pub(crate) fn sentence(self) -> &'static str {
        match self {
            Self::Ended => "the client's certificate has ended; get a new one",
            Self::NotBegun => "the client's certificate is not valid yet; check the clocks",
            Self::Revoked => "the client's certificate was revoked; get a new one",
            Self::NotKnownToBeGood => {
                "nobody knows whether the client's certificate was revoked: the service needs a newer --client-crl"
            }
            Self::UnknownIssuer => {
                "the client's certificate is of no authority in --client-ca; get one from there"
            }
            Self::Unusable => "the client's certificate cannot be used; get another one",
        }
    }
}

impl From<&Error> for BadCertificate {
    fn from(error: &Error) -> Self {
        use CertificateError as Cause;
        let Error::InvalidCertificate(cause) = error else {
            return Self::Unusable;
        };
        match cause {
            Cause::Expired | Cause::ExpiredContext { .. } => Self::Ended,
            Cause::NotValidYet | Cause::NotValidYetContext { .. } => Self::NotBegun,
            Cause::Revoked => Self::Revoked,
            Cause::UnknownRevocationStatus
            | Cause::ExpiredRevocationList
            | Cause::ExpiredRevocationListContext { .. } => Self::NotKnownToBeGood,
            Cause::UnknownIssuer | Cause::BadSignature => Self::UnknownIssuer,
            _ => Self::Unusable,
        }
    }
}
