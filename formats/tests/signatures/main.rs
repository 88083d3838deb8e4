//! Signatures of releases: who signed, or why it does not count; keyrings; and what cannot be forged.
#![allow(clippy::unwrap_used)]

mod declared;
mod flips;
mod forge;
mod gnupg;
mod keyrings;
mod merging;
mod refusals;
