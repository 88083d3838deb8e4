//! Who somebody is, and how that is known.

use std::fmt;

use crate::fleet::Name;

/// Somebody who was recognised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// What the log calls them. Two names are two people.
    pub name: Name,
    pub source: Source,
}

/// How an identity is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A token of `towpath fleet token`.
    Token { serial: Name },
    /// A token of an OIDC issuer. The subject is its own name for the person, which nobody else gets.
    Oidc { issuer: Name, subject: Name },
    /// A token that a Kubernetes API has checked.
    Kubernetes { api: Name, uid: Name },
    /// Runs a command that opens the store itself. The name is the operating system's user.
    Store,
}

/// A source without which one it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SourceKind {
    Token,
    Oidc,
    Kubernetes,
    Store,
}

impl Source {
    pub fn kind(&self) -> SourceKind {
        match self {
            Self::Token { .. } => SourceKind::Token,
            Self::Oidc { .. } => SourceKind::Oidc,
            Self::Kubernetes { .. } => SourceKind::Kubernetes,
            Self::Store => SourceKind::Store,
        }
    }
}

impl SourceKind {
    pub const ALL: [Self; 4] = [Self::Token, Self::Oidc, Self::Kubernetes, Self::Store];

    pub fn name(self) -> &'static str {
        match self {
            Self::Token => "token",
            Self::Oidc => "oidc",
            Self::Kubernetes => "kubernetes",
            Self::Store => "store",
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Token { serial } => write!(f, "token {serial}"),
            Self::Oidc { issuer, subject } => write!(f, "OIDC issuer {issuer}, subject {subject}"),
            Self::Kubernetes { api, uid } => write!(f, "{api}, account {uid}"),
            Self::Store => f.write_str("a command on the store"),
        }
    }
}
