//! TLS: the certificate of this service, and the clients' certificates that it accepts. All of it can be replaced while we serve.
//!
//! New connections get the newest parts, and those that are open keep theirs. A part that cannot be used changes nothing:
//! the one before stays, and `/readyz` and a metric say why. Files are not read here; the app brings their bytes.

mod client;
mod health;
mod required;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use jiff::Timestamp;
use rustls::RootCertStore;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer, UnixTime};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, ServerConfig, WebPkiClientVerifier};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::time_provider::TimeProvider;
use tokio_rustls::TlsAcceptor;
use towpath_formats::certificate::{CertificateFacts, RevocationListFacts};

pub(crate) use client::{BadCertificate, PeerCertificate};
pub(crate) use health::TlsCollector;
pub(crate) use required::{NO_CERTIFICATE, OTHER_CLUSTER, check};

use crate::{Clock, locked};

/// What can be replaced by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TlsPart {
    /// The certificate of this service, with its chain, and its key.
    Certificate,
    /// The authorities that sign clients' certificates.
    ClientCa,
    /// The clients' certificates that were revoked.
    ClientCrl,
}

/// The content of the files of one part, in PEM.
#[derive(Clone, Copy)]
pub enum TlsBytes<'a> {
    Certificate { chain: &'a [u8], key: &'a [u8] },
    ClientCa(&'a [u8]),
    ClientCrl(&'a [u8]),
}

/// TLS as it is now.
pub struct Tls {
    clock: Clock,
    provider: Arc<CryptoProvider>,
    parts: Mutex<Parts>,
    current: ArcSwap<Current>,
    /// What is wrong with the newest files of a part.
    problems: Mutex<BTreeMap<TlsPart, String>>,
    /// How often each part was replaced, and how often it could not be.
    pub(crate) changes: Mutex<BTreeMap<(TlsPart, bool), u64>>,
}

/// The last good parts.
#[derive(Clone)]
struct Parts {
    certificate: Certificate,
    clients: Option<Clients>,
}

#[derive(Clone)]
struct Certificate {
    key: Arc<CertifiedKey>,
    facts: CertificateFacts,
}

#[derive(Clone)]
struct Clients {
    authorities: Arc<RootCertStore>,
    revoked: Option<Revoked>,
}

#[derive(Clone)]
struct Revoked {
    lists: Vec<CertificateRevocationListDer<'static>>,
    /// When the first of them needs a successor.
    ends: Timestamp,
}

/// What connections use.
struct Current {
    acceptor: TlsAcceptor,
    verifier: Option<Arc<dyn ClientCertVerifier>>,
}

impl Tls {
    /// With a certificate and its key; if clients may have certificates, with their authorities, and the revoked ones.
    pub fn new(
        (chain, key): (&[u8], &[u8]),
        client_ca: Option<&[u8]>,
        client_crl: Option<&[u8]>,
        clock: Clock,
    ) -> Result<Arc<Self>, (TlsPart, String)> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let of = |part: TlsPart| move |problem: String| (part, problem);
        let certificate =
            Certificate::read(chain, key, &provider).map_err(of(TlsPart::Certificate))?;
        let clients = client_ca.map(|authorities| {
            let revoked = client_crl.map(Revoked::read).transpose();
            Ok::<_, (TlsPart, String)>(Clients {
                authorities: authorities_of(authorities).map_err(of(TlsPart::ClientCa))?,
                revoked: revoked.map_err(of(TlsPart::ClientCrl))?,
            })
        });
        let parts = Parts {
            certificate,
            clients: clients.transpose()?,
        };
        let current = parts.current(&provider, &clock);
        let current = current.map_err(of(TlsPart::ClientCa))?;
        Ok(Arc::new(Self {
            clock,
            provider,
            parts: Mutex::new(parts),
            current: ArcSwap::from_pointee(current),
            problems: Mutex::default(),
            changes: Mutex::default(),
        }))
    }

    /// Uses this from the next connection on; clients' certificates are checked against it from the next request on.
    /// If it cannot be used, nothing changes.
    pub fn replace(&self, bytes: TlsBytes<'_>) -> Result<(), String> {
        let replaced = self.try_replace(bytes);
        match &replaced {
            Ok(()) => drop(locked(&self.problems).remove(&bytes.part())),
            Err(problem) => drop(locked(&self.problems).insert(bytes.part(), problem.clone())),
        }
        self.count(bytes.part(), replaced.is_ok());
        replaced
    }

    /// The files of a part could not be read.
    pub fn unreadable(&self, part: TlsPart, problem: String) {
        locked(&self.problems).insert(part, problem);
        self.count(part, false);
    }

    /// When the certificate begins and ends.
    pub fn certificate(&self) -> CertificateFacts {
        locked(&self.parts).certificate.facts.clone()
    }

    /// When the first list of revoked certificates needs a successor.
    pub fn revocation_ends(&self) -> Option<Timestamp> {
        let parts = locked(&self.parts);
        Some(parts.clients.as_ref()?.revoked.as_ref()?.ends)
    }

    /// Whether clusters need a certificate.
    pub(crate) fn asks_clients(&self) -> bool {
        self.current.load().verifier.is_some()
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        self.current.load().acceptor.clone()
    }

    fn try_replace(&self, bytes: TlsBytes<'_>) -> Result<(), String> {
        let mut current = locked(&self.parts);
        let mut parts = current.clone();
        match (bytes, &mut parts.clients) {
            (TlsBytes::Certificate { chain, key }, _) => {
                let certificate = Certificate::read(chain, key, &self.provider)?;
                certificate.may_replace(&parts.certificate, (self.clock)())?;
                parts.certificate = certificate;
            }
            (TlsBytes::ClientCa(pem), Some(clients)) => clients.authorities = authorities_of(pem)?,
            (TlsBytes::ClientCrl(pem), Some(clients)) => {
                clients.revoked = Some(Revoked::read(pem)?);
            }
            (TlsBytes::ClientCa(_) | TlsBytes::ClientCrl(_), None) => {
                return Err("clients need no certificates here".to_owned());
            }
        }
        let new = parts.current(&self.provider, &self.clock)?;
        *current = parts;
        self.current.store(Arc::new(new));
        Ok(())
    }

    fn count(&self, part: TlsPart, is_good: bool) {
        *locked(&self.changes).entry((part, is_good)).or_default() += 1;
    }
}

impl Parts {
    fn current(&self, provider: &Arc<CryptoProvider>, clock: &Clock) -> Result<Current, String> {
        let told = |error: rustls::Error| error.to_string();
        let verifier = self
            .clients
            .as_ref()
            .map(|clients| clients.verifier(provider));
        let verifier = verifier.transpose()?;
        let time = Arc::new(TimeOfClock(clock.clone()));
        let builder = ServerConfig::builder_with_details(provider.clone(), time)
            .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])
            .map_err(told)?;
        let builder = match &verifier {
            Some(verifier) => builder.with_client_cert_verifier(verifier.clone()),
            None => builder.with_no_client_auth(),
        };
        let key = SingleCertAndKey::from(self.certificate.key.clone());
        let mut config = builder.with_cert_resolver(Arc::new(key));
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        if verifier.is_some() {
            // A resumed session would not show its certificate again.
            config.session_storage = Arc::new(NoServerSessionStorage {});
            config.send_tls13_tickets = 0;
        }
        Ok(Current {
            acceptor: TlsAcceptor::from(Arc::new(config)),
            verifier,
        })
    }
}

impl Certificate {
    fn read(chain: &[u8], key: &[u8], provider: &CryptoProvider) -> Result<Self, String> {
        let certificates = CertificateDer::pem_slice_iter(chain).collect::<Result<Vec<_>, _>>();
        let certificates =
            certificates.map_err(|error| format!("the certificate cannot be read: {error}"))?;
        let first = certificates
            .first()
            .ok_or("there is no certificate in the file")?;
        let facts = CertificateFacts::read(first).ok_or("the certificate cannot be read")?;
        let key = PrivateKeyDer::from_pem_slice(key)
            .map_err(|_| "there is no private key in the key's file".to_owned())?;
        let key =
            CertifiedKey::from_der(certificates, key, provider).map_err(|error| match error {
                rustls::Error::InconsistentKeys(_) => {
                    "the key is not that of the certificate".to_owned()
                }
                error => format!("certificate and key cannot be used: {error}"),
            })?;
        Ok(Self {
            key: Arc::new(key),
            facts,
        })
    }

    /// A certificate that nobody accepts does not replace one that holds.
    fn may_replace(&self, old: &Self, now: Timestamp) -> Result<(), String> {
        match self.facts.holds_at(now) || !old.facts.holds_at(now) {
            true => Ok(()),
            false if self.facts.ends < now => {
                Err(format!("the new certificate ended at {}", self.facts.ends))
            }
            false => Err(format!(
                "the new certificate begins only at {}",
                self.facts.begins
            )),
        }
    }
}

impl Clients {
    fn verifier(
        &self,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Arc<dyn ClientCertVerifier>, String> {
        let mut builder =
            WebPkiClientVerifier::builder_with_provider(self.authorities.clone(), provider.clone())
                .allow_unauthenticated();
        if let Some(revoked) = &self.revoked {
            builder = builder
                .with_crls(revoked.lists.iter().cloned())
                .enforce_revocation_expiration();
        }
        let unusable = |error| format!("clients' certificates could not be checked: {error}");
        builder.build().map_err(unusable)
    }
}

impl Revoked {
    fn read(pem: &[u8]) -> Result<Self, String> {
        let lists = CertificateRevocationListDer::pem_slice_iter(pem);
        let lists = lists.collect::<Result<Vec<_>, _>>();
        let lists = lists.map_err(|error| format!("the list cannot be read: {error}"))?;
        let facts = lists.iter().map(|list| RevocationListFacts::read(list));
        let facts: Option<Vec<_>> = facts.collect();
        let ends =
            facts.ok_or("a list cannot be read, or does not say when the next one is due")?;
        let ends = ends.iter().map(|facts| facts.ends).min();
        let ends = ends.ok_or("there is no revocation list in the file")?;
        Ok(Self { lists, ends })
    }
}

fn authorities_of(pem: &[u8]) -> Result<Arc<RootCertStore>, String> {
    let unreadable = |error: &dyn fmt::Display| format!("an authority cannot be read: {error}");
    let mut authorities = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| unreadable(&error))?;
        let added = authorities.add(certificate);
        added.map_err(|error| unreadable(&error))?;
    }
    match authorities.is_empty() {
        true => Err("there is no certificate in the file".to_owned()),
        false => Ok(Arc::new(authorities)),
    }
}

impl TlsPart {
    pub const ALL: [Self; 3] = [Self::Certificate, Self::ClientCa, Self::ClientCrl];

    /// As the label of a metric.
    pub fn name(self) -> &'static str {
        match self {
            Self::Certificate => "certificate",
            Self::ClientCa => "client_ca",
            Self::ClientCrl => "client_crl",
        }
    }
}

impl TlsBytes<'_> {
    fn part(self) -> TlsPart {
        match self {
            Self::Certificate { .. } => TlsPart::Certificate,
            Self::ClientCa(_) => TlsPart::ClientCa,
            Self::ClientCrl(_) => TlsPart::ClientCrl,
        }
    }
}

/// Our clock, as the TLS library asks for it.
struct TimeOfClock(Clock);

impl fmt::Debug for TimeOfClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TimeOfClock")
    }
}

impl TimeProvider for TimeOfClock {
    fn current_time(&self) -> Option<UnixTime> {
        Some(unix_time((self.0)()))
    }
}

fn unix_time(at: Timestamp) -> UnixTime {
    let seconds = u64::try_from(at.as_second()).unwrap_or_default();
    UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds))
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls")
            .field("certificate", &self.certificate())
            .finish_non_exhaustive()
    }
}
