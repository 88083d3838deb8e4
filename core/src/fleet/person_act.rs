//! What people did to a fleet: pauses, approvals, acknowledgements and cancelled upgrades. Each is kept with who, when, from where
//! and why, also after somebody has ended it.

use jiff::Timestamp;

use super::{Name, UpgradeId};
use crate::access::Identity;
use crate::cluster::ClusterId;
use crate::version::Version;

/// Who acts, and how that is known.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Actor {
    pub name: Name,
    /// In words: `token AbC…`, `a command on the store`, …
    pub known_by: Name,
}

impl From<&Identity> for Actor {
    fn from(identity: &Identity) -> Self {
        Self {
            name: identity.name.clone(),
            known_by: identity.source.to_string().into(),
        }
    }
}

/// Somebody who acts, and from where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doer {
    pub actor: Actor,
    /// The address of the client; `local` for a command on the store.
    pub from: Name,
}

impl Actor {
    /// What they say.
    pub fn says(&self, why: &str, at: Timestamp) -> Said {
        Said {
            by: self.name.clone(),
            known_by: self.known_by.clone(),
            at,
            why: why.into(),
        }
    }
}

/// Who said something, how that is known, when and why.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Said {
    pub by: Name,
    /// How the name was known, in words; empty: nobody recorded it.
    pub known_by: Name,
    pub at: Timestamp,
    pub why: Name,
}

/// What a person did.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PersonAct {
    pub what: ActKind,
    pub said: Said,
    /// Who ended it: resumed, withdrew, or lifted it.
    pub ended: Option<Said>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ActKind {
    /// No new upgrade starts there.
    Pause {
        organisation: Option<Name>,
        sector: Option<Name>,
    },
    Approval {
        organisation: Name,
        /// A cluster's name; none: all of the organisation.
        name: Option<Name>,
        version: Version,
    },
    Acknowledgement {
        cluster: ClusterId,
        gate: Name,
    },
    /// A planned upgrade that was called off. It is not planned again while this stands.
    Cancellation {
        cluster: ClusterId,
        pool: Option<Name>,
        version: Version,
        upgrade: UpgradeId,
    },
}
