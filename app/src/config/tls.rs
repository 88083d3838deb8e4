//! How connections are protected: by TLS, by a proxy that is named, or not at all where somebody said so.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::bail;
use towpath_core::finding::{Finding, Place};
use towpath_web::PlainHttp;

use super::{ServeOptions, Settings};

/// The files of TLS.
#[derive(Debug, Clone)]
pub(crate) struct TlsSettings {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
    /// Clusters need certificates of these authorities.
    pub(crate) client_ca: Option<PathBuf>,
    pub(crate) client_crl: Option<PathBuf>,
}

impl ServeOptions {
    pub(super) fn tls_settings(&self) -> anyhow::Result<Option<TlsSettings>> {
        let (certificate, key) = match (self.tls_cert.clone(), self.tls_key.clone()) {
            (Some(certificate), Some(key)) => (certificate, key),
            (Some(_), None) => bail!("--tls-cert needs the certificate's key; add --tls-key FILE"),
            (None, Some(_)) => bail!("--tls-key needs the key's certificate; add --tls-cert FILE"),
            (None, None) if self.client_ca.is_some() || self.client_crl.is_some() => bail!(
                "--client-ca and --client-crl are about clients over TLS; add --tls-cert FILE and --tls-key FILE"
            ),
            (None, None) => return Ok(None),
        };
        if self.client_ca.is_none() && self.client_crl.is_some() {
            bail!(
                "--client-crl needs the authorities of clients' certificates; add --client-ca FILE"
            );
        }
        if self.insecure_http == Some(true) {
            bail!("with --tls-cert nothing is served over plain HTTP; remove --insecure-http");
        }
        Ok(Some(TlsSettings {
            certificate,
            key,
            client_ca: self.client_ca.clone(),
            client_crl: self.client_crl.clone(),
        }))
    }
}

impl TlsSettings {
    /// Each file with its flag.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let client_ca = self.client_ca.iter().map(|path| ("--client-ca", path));
        let client_crl = self.client_crl.iter().map(|path| ("--client-crl", path));
        [("--tls-cert", &self.certificate), ("--tls-key", &self.key)]
            .into_iter()
            .chain(client_ca)
            .chain(client_crl)
            .map(|(flag, path)| (flag, path.as_path()))
    }
}

impl Settings {
    /// Whether other machines could send tokens in the clear without anybody having said that they may.
    pub(crate) fn check_transport(&self) -> anyhow::Result<()> {
        let is_protected = self.tls.is_some() || self.trusted_proxies.is_some();
        if self.listen.ip().is_loopback() || is_protected || self.insecure_http {
            return Ok(());
        }
        let listen = self.listen;
        bail!(
            "--listen {listen}: other machines would send their tokens over plain HTTP, where the network can read them; add --tls-cert FILE and --tls-key FILE, name the proxies that end TLS with --trusted-proxies CIDR, or allow it with --insecure-http"
        )
    }

    /// Who is answered over plain HTTP.
    pub(crate) fn plain_http(&self) -> PlainHttp {
        match self.listen.ip().is_loopback() || self.insecure_http {
            true => PlainHttp::Everybody,
            false => PlainHttp::Proxies,
        }
    }

    /// What is unsafe in these settings, although somebody may want it.
    pub(crate) fn unsafe_setup(&self) -> Vec<Finding> {
        let is_open = self.tls.is_none() && !self.listen.ip().is_loopback() && self.insecure_http;
        let open = is_open.then(|| plain_http(self.listen));
        let store = self.fleet.as_ref().map(super::FleetSettings::store_address);
        let store = store.and_then(|store| Some(unverified_store(&store.unverified_host()?)));
        open.into_iter().chain(store).collect()
    }
}

fn plain_http(listen: SocketAddr) -> Finding {
    let problem =
        "other machines send their tokens over plain HTTP, where the network can read them";
    let remedy = "add --tls-cert FILE and --tls-key FILE, and remove --insecure-http";
    let place = Place::file(format!("--listen {listen}"));
    Finding::warning("plain-http", place, problem, remedy)
}

fn unverified_store(host: &str) -> Finding {
    let problem = format!(
        "nobody checks that {host} is the PostgreSQL server that it says it is, so another machine on the way could read and change the fleet"
    );
    let remedy = "add ?sslmode=verify-full&sslrootcert=FILE to the address of --store";
    Finding::warning(
        "store-not-verified",
        Place::file("--store"),
        problem,
        remedy,
    )
}
