//! Seals: an HMAC-SHA256 over what the service says to one cluster, keyed by the cluster's token.
//!
//! Only the service that made the token and the cluster that has it can make one. The cluster picks
//! the nonce, so an old answer does not pass for a new one.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use towpath_core::cluster::ClusterId;

use super::stamp::Nonce;

/// What is sealed: for which purpose, for whom, and what is said.
pub(super) struct Sealed<'a> {
    purpose: &'a str,
    cluster: &'a ClusterId,
    nonce: &'a Nonce,
    /// As it is written. No part but the last may have a line break in it.
    parts: &'a [&'a str],
}

impl<'a> Sealed<'a> {
    pub(super) fn new(
        purpose: &'a str,
        cluster: &'a ClusterId,
        nonce: &'a Nonce,
        parts: &'a [&'a str],
    ) -> Self {
        Self {
            purpose,
            cluster,
            nonce,
            parts,
        }
    }

    /// The code, as it is sent.
    pub(super) fn code(&self, token: &str) -> String {
        URL_SAFE_NO_PAD.encode(self.mac(token).finalize().into_bytes())
    }

    /// Whether that is its code; else a sentence.
    pub(super) fn check(&self, token: &str, code: &str) -> Result<(), String> {
        let purpose = self.purpose;
        let wrong = || {
            let remedy = "the service must have the key that the token was made with, and the id must be the cluster's own";
            format!(
                "the answer ({purpose}) was not made for this cluster and its token, or was changed on its way; {remedy}"
            )
        };
        let told = URL_SAFE_NO_PAD.decode(code).map_err(|_| wrong())?;
        let mac = self.mac(token);
        mac.verify_slice(&told).map_err(|_| wrong())
    }

    fn mac(&self, token: &str) -> Hmac<Sha256> {
        let mac: Hmac<Sha256> =
            Hmac::new_from_slice(token.as_bytes()).expect("HMAC takes keys of any length");
        let Self {
            purpose,
            cluster,
            nonce,
            parts,
        } = self;
        let parts = parts.join("\n");
        let text = format!(
            "towpath/v1/{purpose}\n{cluster}\n{}\n{parts}",
            nonce.as_str()
        );
        mac.chain_update(text)
    }
}

/// Whether an answer is to our own question; else a sentence.
pub(super) fn check_nonce(purpose: &str, answered: &str, nonce: &Nonce) -> Result<(), String> {
    match answered == nonce.as_str() {
        true => Ok(()),
        false => Err(format!(
            "the answer ({purpose}) is to another question than ours; somebody may have kept it from before"
        )),
    }
}
