//! The certificate that a client shows, with its key.

use std::path::Path;

use reqwest::Identity;

use crate::error::innermost;
use crate::file;

const MAX_FILE_BYTES: u64 = 1 << 20;

/// A certificate with its chain, and its key. Nothing prints the key.
#[derive(Clone)]
pub struct ClientIdentity(pub(crate) Identity);

impl ClientIdentity {
    /// Reads both as PEM. The error names the file.
    pub fn read(certificate: &Path, key: &Path) -> Result<Self, String> {
        let read = |path: &Path| {
            let named = |problem: String| format!("{}: {problem}", path.display());
            file::read(path, MAX_FILE_BYTES).map_err(named)
        };
        let pem = [read(certificate)?, b"\n".to_vec(), read(key)?].concat();
        Identity::from_pem(&pem).map(Self).map_err(|error| {
            let (certificate, key) = (certificate.display(), key.display());
            format!(
                "{certificate}, {key}: cannot be used: {}",
                innermost(&error)
            )
        })
    }
}

impl std::fmt::Debug for ClientIdentity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ClientIdentity")
    }
}
