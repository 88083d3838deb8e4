//! Seals of graph data: who signed a copy, or why nobody did whose word counts.
//!
//! There is no cryptography here. `formats` looks at the bytes and returns one of these.

use std::fmt;

use super::signature::{Refusal, Signer};

/// A signature that counts for a copy of graph data. It can be judged again by another keyring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphSeal {
    /// What is signed: a commit, a tag, an archive, an image.
    pub what: String,
    /// The fingerprint of the key that made the signature; that of the signer is the primary key's.
    pub key: String,
    pub signer: Signer,
}

/// Why a copy of graph data is not sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SealRefusal {
    /// Nobody signed it.
    Unsigned { what: String },
    /// It is signed in a way that we do not read.
    OtherScheme { what: String, scheme: &'static str },
    /// It does not look as git writes it.
    Malformed { what: String, problem: &'static str },
    /// A tag of another name stands in the place of the wanted one.
    OtherTag { is: String, wanted: String },
    /// It is signed, and the signature does not count.
    Signature { what: String, refusal: Refusal },
}

impl SealRefusal {
    /// A stable name for machines.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unsigned { .. } => "unsigned-graph-data",
            Self::OtherScheme { .. } => "other-signature-scheme",
            Self::Malformed { .. } => "bad-signed-object",
            Self::OtherTag { .. } => "other-tag",
            Self::Signature { refusal, .. } => refusal.code(),
        }
    }

    /// What to do about it.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Unsigned { .. } => {
                "sign it with a key of the keyring, and find out who put it there"
            }
            Self::OtherScheme { .. } => {
                "sign with OpenPGP: in git, `git config gpg.format openpgp`"
            }
            Self::Malformed { .. } => "make the commit or the tag again with git",
            Self::OtherTag { .. } => "find out who moved the tag; tag the wanted commit again",
            Self::Signature {
                refusal: Refusal::UnknownKey { .. },
                ..
            } => "add the signer's key to the keyring if you trust it",
            Self::Signature { .. } => {
                "have it signed again by a key that counts, and find out who put it there"
            }
        }
    }
}

impl fmt::Display for SealRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsigned { what } => write!(f, "{what} is not signed"),
            Self::OtherScheme { what, scheme } => {
                write!(
                    f,
                    "{what} is signed with {scheme}; only OpenPGP signatures count"
                )
            }
            Self::Malformed { what, problem } => write!(f, "{what}: {problem}"),
            Self::OtherTag { is, wanted } => {
                write!(f, "the tag {wanted:?} leads to the signed tag {is:?}")
            }
            Self::Signature { what, refusal } => write!(f, "{what}: {refusal}"),
        }
    }
}
