//! Signatures of releases: who signed a payload, or why its signature does not count.
//!
//! There is no cryptography here. `formats` looks at the bytes and returns one of these.

use std::fmt;

use jiff::Timestamp;

use crate::hex;
use crate::moment::ShownTime;

/// The digest by which a payload is pulled, and which is signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PayloadDigest([u8; 32]);

/// What is done about releases that are not verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum SignaturePolicy {
    Require,
    /// They stay, and somebody is told.
    Warn,
    #[default]
    Off,
}

/// What is known of the signatures of a payload.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum SignatureVerdict {
    /// A key of the keyring signed this digest.
    Verified(Signer),
    /// There are signatures, and none of them counts; this one came nearest.
    Refused(Refusal),
    Missing,
    /// A store could not be asked, so there may be one; with what went wrong.
    NotKnown(String),
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Signer {
    /// The fingerprint of the primary key, in upper-case hexadecimals.
    pub fingerprint: String,
    /// Whose key that is, in its own words.
    pub user_id: String,
    pub signed_at: Timestamp,
    /// Until when the signature counts, if it says so.
    pub until: Option<Timestamp>,
}

/// Why a signature does not count. In the order of the checks, so that the greatest came nearest.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refusal {
    /// It is larger than any signature is, as it came or unpacked.
    TooLarge {
        /// The most that is taken.
        limit_bytes: usize,
    },
    /// It is not a signed OpenPGP message.
    NotOpenPgp {
        problem: String,
    },
    /// It is a signature of something else than data: of text, of a key.
    NotOfData,
    /// It must not be taken without understanding all of it, and we do not.
    NotUnderstood {
        /// What we do not understand.
        what: String,
    },
    /// No key in the keyring made it.
    UnknownKey {
        /// The key that it names.
        issuer: String,
    },
    /// Its hash can be forged.
    WeakHash {
        hash: String,
    },
    /// The key that it names did not sign this.
    BadSignature {
        key: String,
    },
    /// The key is for other uses.
    MayNotSign {
        key: String,
    },
    KeyRevoked {
        key: String,
    },
    /// It was made before the key was.
    KeyNotYetValid {
        key: String,
        /// Since when there is the key.
        since: Timestamp,
    },
    /// The key had expired when it was made.
    KeyExpired {
        key: String,
        at: Timestamp,
    },
    /// It was made in the future.
    FromTheFuture {
        at: Timestamp,
    },
    /// It said itself until when it counts.
    Expired {
        at: Timestamp,
    },
    /// What is signed is not the statement that container signatures make.
    NotAStatement {
        /// What is wrong with it.
        problem: String,
    },
    /// What is signed is a statement of another kind.
    OtherKind {
        kind: String,
    },
    /// What is signed is another image.
    OtherDigest {
        digest: String,
    },
}

impl PayloadDigest {
    /// Reads `sha256:` and 64 hexadecimals in lower case.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix("sha256:")?;
        if digits.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return None;
        }
        hex::decode(digits).map(Self)
    }

    /// The digest in a pull spec, `registry/release@sha256:…`; a tag may mean another image tomorrow.
    pub fn of_pull_spec(payload: &str) -> Option<Self> {
        payload
            .rsplit_once('@')
            .and_then(|(_, digest)| Self::parse(digest))
    }

    /// The 64 hexadecimals.
    pub fn hex(&self) -> String {
        hex::encode(&self.0)
    }
}

impl fmt::Display for PayloadDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.hex())
    }
}

impl SignaturePolicy {
    pub fn name(self) -> &'static str {
        match self {
            Self::Require => "require",
            Self::Warn => "warn",
            Self::Off => "off",
        }
    }
}

impl SignatureVerdict {
    /// A stable name for machines.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Verified(_) => "verified",
            Self::Refused(refusal) => refusal.code(),
            Self::Missing => "no-signature",
            Self::NotKnown(_) => "signature-not-known",
        }
    }

    /// What to do if it is not verified.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Verified(_) => "nothing",
            Self::Refused(Refusal::UnknownKey { .. }) => {
                "add the signer's key to the keyring if you trust it"
            }
            Self::Refused(_) => {
                "find out who put this signature there, and do not install the release"
            }
            Self::Missing => "copy its signature into a store, or leave the release out",
            Self::NotKnown(_) => "see that the signature store can be reached",
        }
    }
}

impl fmt::Display for SignatureVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Verified(signer) => write!(f, "signed by {signer}"),
            Self::Refused(refusal) => refusal.fmt(f),
            Self::Missing => f.write_str("there is no signature for it"),
            Self::NotKnown(problem) => write!(
                f,
                "whether there is a signature is not known now: {problem}"
            ),
        }
    }
}

impl fmt::Display for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} ({}) at {}",
            self.fingerprint, self.user_id, self.signed_at
        )
    }
}

impl Refusal {
    /// A stable name for machines.
    pub fn code(&self) -> &'static str {
        match self {
            Self::TooLarge { .. } => "signature-too-large",
            Self::NotOpenPgp { .. } => "not-openpgp",
            Self::NotOfData => "not-of-data",
            Self::UnknownKey { .. } => "unknown-key",
            Self::NotUnderstood { .. } => "signature-not-understood",
            Self::WeakHash { .. } => "weak-hash",
            Self::BadSignature { .. } => "bad-signature",
            Self::MayNotSign { .. } => "key-may-not-sign",
            Self::KeyNotYetValid { .. } => "key-not-yet-valid",
            Self::KeyExpired { .. } => "key-expired",
            Self::KeyRevoked { .. } => "key-revoked",
            Self::FromTheFuture { .. } => "signature-from-the-future",
            Self::Expired { .. } => "signature-expired",
            Self::NotAStatement { .. } => "not-a-statement",
            Self::OtherKind { .. } => "other-kind",
            Self::OtherDigest { .. } => "other-digest",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { limit_bytes } => {
                write!(f, "its signature is larger than {limit_bytes} bytes")
            }
            Self::NotOpenPgp { problem } => write!(
                f,
                "its signature is not a signed OpenPGP message: {problem}"
            ),
            Self::NotOfData => f.write_str("its signature is not a signature of data"),
            Self::UnknownKey { issuer } => write!(
                f,
                "it was signed with {issuer}, which is not in the keyring"
            ),
            Self::NotUnderstood { what } => {
                write!(
                    f,
                    "its signature requires something that we do not understand: {what}"
                )
            }
            Self::WeakHash { hash } => {
                write!(f, "its signature is made with {hash}, which can be forged")
            }
            Self::BadSignature { key } => {
                write!(
                    f,
                    "its signature names key {key}, and that key did not make it"
                )
            }
            Self::MayNotSign { key } => {
                write!(f, "it was signed with key {key}, which is not for signing")
            }
            Self::KeyNotYetValid { key, since } => {
                write!(
                    f,
                    "it was signed before key {key} was made at {}",
                    ShownTime(*since)
                )
            }
            Self::KeyExpired { key, at } => {
                write!(
                    f,
                    "it was signed after key {key} expired at {}",
                    ShownTime(*at)
                )
            }
            Self::KeyRevoked { key } => write!(f, "it was signed with key {key}, which is revoked"),
            Self::FromTheFuture { at } => {
                write!(
                    f,
                    "its signature is dated in the future: {}",
                    ShownTime(*at)
                )
            }
            Self::Expired { at } => write!(f, "its signature expired at {}", ShownTime(*at)),
            Self::NotAStatement { problem } => {
                write!(
                    f,
                    "the signed data is not a statement about an image: {problem}"
                )
            }
            Self::OtherKind { kind } => {
                write!(f, "the signed statement is of another kind: {kind:?}")
            }
            Self::OtherDigest { digest } => {
                write!(f, "the signed statement is about another image: {digest}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_read_from_a_pull_spec() {
        let hex = "0da6316466d60a3a4535d5fed3589feb0391989982fba59d47d4c729912d6363";
        let digest =
            PayloadDigest::of_pull_spec(&format!("quay.io/o/release@sha256:{hex}")).unwrap();
        assert_eq!(
            (digest.hex(), digest.to_string()),
            (hex.to_owned(), format!("sha256:{hex}"))
        );
        for wrong in [
            "quay.io/o/release:4.9.7".to_owned(),
            format!("quay.io/o/release@sha256:{}", &hex[1..]),
            format!("quay.io/o/release@sha256:{}", hex.to_uppercase()),
            format!("quay.io/o/release@sha512:{hex}"),
            format!("sha256:{hex}"),
            format!("release@sha256:+{}", &hex[1..]),
            String::new(),
        ] {
            assert_eq!(PayloadDigest::of_pull_spec(&wrong), None, "{wrong}");
        }
    }
}
