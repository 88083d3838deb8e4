//! The certificate authorities that a client trusts.

use std::path::Path;

use reqwest::{Certificate, ClientBuilder};

use crate::error::innermost;
use crate::file;

const MAX_FILE_BYTES: u64 = 16 << 20;

/// Certificates of authorities, at least one.
#[derive(Debug, Clone)]
pub struct Certificates(Vec<Certificate>);

#[derive(Debug, Clone)]
pub enum Trust {
    System,
    SystemAnd(Certificates),
    Only(Certificates),
    /// For plain HTTP. Loading the system's certificates would fail where there are none.
    Nobody,
}

impl Certificates {
    /// Parses PEM. The error text follows the file's name.
    pub fn from_pem(pem: &[u8]) -> Result<Self, String> {
        let certificates = Certificate::from_pem_bundle(pem)
            .map_err(|error| format!("cannot be read: {}", innermost(&error)))?;
        match certificates.is_empty() {
            true => Err("has no certificate in it".to_owned()),
            false => Ok(Self(certificates)),
        }
    }

    /// Reads a PEM file.
    pub fn read(path: &Path) -> Result<Self, String> {
        Self::from_pem(&file::read(path, MAX_FILE_BYTES)?)
    }
}

impl Trust {
    /// The default where no certificates are given.
    pub fn usual(is_tls: bool) -> Self {
        match is_tls {
            true => Self::System,
            false => Self::Nobody,
        }
    }

    pub(crate) fn apply(&self, builder: ClientBuilder) -> ClientBuilder {
        match self {
            Self::System => builder,
            Self::SystemAnd(certificates) => builder.tls_certs_merge(certificates.0.clone()),
            Self::Only(certificates) => builder.tls_certs_only(certificates.0.clone()),
            Self::Nobody => builder.tls_certs_only([]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_certificates_is_not_taken() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ca.pem");
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            Certificates::read(&path).map(|_| ())
        };
        assert_eq!(read("text"), Err("has no certificate in it".to_owned()));
        assert!(read("-----BEGIN CERTIFICATE-----\n%\n-----END CERTIFICATE-----").is_err());
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        assert_eq!(read(&made.cert.pem()), Ok(()));
        std::fs::remove_file(&path).unwrap();
        let problem = Certificates::read(&path).unwrap_err();
        assert!(problem.starts_with("cannot be read: "), "{problem}");
    }
}
