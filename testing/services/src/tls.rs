//! An authority that makes certificates and revokes them, and an HTTP client over TLS that hides nothing.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyIdMethod, KeyPair, KeyUsagePurpose, RevokedCertParams,
    SerialNumber, date_time_ymd,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned, SupportedProtocolVersion,
};

use crate::Response;

/// How long a test waits for bytes.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long ago certificates began.
const BEFORE: Duration = Duration::from_secs(60 * 60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// An authority of one's own.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    next: AtomicU64,
}

/// A certificate, its key and its number.
pub struct Leaf {
    pub certificate: String,
    pub key: String,
    pub serial: u64,
}

impl Authority {
    pub fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().unwrap();
        Self {
            issuer: CertifiedIssuer::self_signed(params, key).unwrap(),
            next: AtomicU64::new(1),
        }
    }

    pub fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// A certificate for this name and this machine that ends then.
    pub fn leaf(&self, name: &str, ends_in: Duration) -> Leaf {
        let serial = self.next.fetch_add(1, Ordering::Relaxed);
        let names = [name, "localhost", "127.0.0.1"].map(str::to_owned);
        let mut params = CertificateParams::new(names.to_vec()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.serial_number = Some(SerialNumber::from(serial));
        params.not_before = date_time_ymd(1970, 1, 1) + (now() - BEFORE);
        params.not_after = date_time_ymd(1970, 1, 1) + (now() + ends_in);
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        let key = KeyPair::generate().unwrap();
        Leaf {
            certificate: params.signed_by(&key, &*self.issuer).unwrap().pem(),
            key: key.serialize_pem(),
            serial,
        }
    }

    /// The list of the certificates that are revoked.
    pub fn revocations(&self, serials: &[u64]) -> String {
        let at = date_time_ymd(1970, 1, 1) + now();
        let revoked = |serial: &u64| RevokedCertParams {
            serial_number: SerialNumber::from(*serial),
            revocation_time: at,
            reason_code: None,
            invalidity_date: None,
        };
        let list = CertificateRevocationListParams {
            this_update: at - DAY,
            next_update: at + DAY,
            crl_number: SerialNumber::from(self.next.fetch_add(1, Ordering::Relaxed)),
            issuing_distribution_point: None,
            revoked_certs: serials.iter().map(revoked).collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        list.signed_by(&*self.issuer).unwrap().pem().unwrap()
    }
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap()
}

/// A connection over TLS that stays open.
pub struct TlsClient(StreamOwned<ClientConnection, TcpStream>);

impl TlsClient {
    /// Trusts this authority, and shows that certificate.
    pub fn config(
        authority: &Authority,
        leaf: Option<&Leaf>,
        versions: &[&'static SupportedProtocolVersion],
    ) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        let pem = authority.pem();
        let root = CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
        roots.add(root).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .unwrap()
            .with_root_certificates(roots);
        Arc::new(match leaf {
            None => builder.with_no_client_auth(),
            Some(leaf) => {
                let chain =
                    vec![CertificateDer::from_pem_slice(leaf.certificate.as_bytes()).unwrap()];
                let key = PrivateKeyDer::from_pem_slice(leaf.key.as_bytes()).unwrap();
                builder.with_client_auth_cert(chain, key).unwrap()
            }
        })
    }

    pub fn connect(address: SocketAddr, config: &Arc<ClientConfig>) -> io::Result<Self> {
        let name = ServerName::try_from("localhost").unwrap();
        let connection = ClientConnection::new(config.clone(), name).map_err(io::Error::other)?;
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(Self(StreamOwned::new(connection, stream)))
    }

    /// Asks on this connection, which stays open.
    pub fn get(&mut self, target: &str, headers: &[(&str, &str)]) -> io::Result<Response> {
        let headers: String = headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}\r\n"))
            .collect();
        let request = format!("GET {target} HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n");
        self.0.write_all(request.as_bytes())?;
        self.0.flush()?;
        Response::try_read(&mut self.0, false)
    }

    /// The certificate of the service, once there was an answer.
    pub fn certificate(&self) -> Vec<u8> {
        let shown = self.0.conn.peer_certificates();
        shown
            .unwrap_or_default()
            .first()
            .map_or(Vec::new(), |one| one.to_vec())
    }

    /// What was agreed on.
    pub fn connection(&self) -> &ClientConnection {
        &self.0.conn
    }
}
