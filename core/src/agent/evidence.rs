//! Evidence: what can be proved about an offer, no matter who made it.
//!
//! A signature covers an image's digest. The digest covers what the image declares: which release
//! it is, and which releases come before and after it. A stamp says how old the graph is. Only
//! somebody who shares a secret with the cluster can make one.

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::cluster::Fact;
use crate::fleet::Name;
use crate::signatures::SignatureVerdict;
use crate::version::{Arch, Version};

/// What is known of an offer, and of the release that it leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// Of the release that is offered.
    pub target: Witness,
    /// Of the release that the cluster runs.
    pub source: Witness,
}

/// An image: who signed it, and what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Witness {
    pub signature: SignatureVerdict,
    /// What it says of itself; not known if it could not be read.
    pub declared: Fact<ImageDeclaration>,
}

/// What an image says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImageDeclaration {
    /// Which release it is; as it is written, since it has to be the very same.
    pub version: Name,
    pub arch: Arch,
    /// From which releases one may come.
    pub previous: BTreeSet<Version>,
    /// To which releases one may go.
    pub next: BTreeSet<Version>,
}

/// How old a graph is, as its service stamped it for this cluster alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    /// When the oldest of its sources was last found to be good.
    pub good_at: Timestamp,
    /// When the stamp was made.
    pub stamped_at: Timestamp,
}

impl Witness {
    /// Nothing is known of it.
    pub fn absent(problem: &str) -> Self {
        Self {
            signature: SignatureVerdict::NotKnown(problem.to_owned()),
            declared: Fact::Unknown,
        }
    }

    /// What it says of itself, if that is signed.
    pub fn signed(&self) -> Option<&ImageDeclaration> {
        match (&self.signature, &self.declared) {
            (SignatureVerdict::Verified(_), Fact::Known(declared)) => Some(declared),
            _ => None,
        }
    }
}
