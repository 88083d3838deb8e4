//! For tests alone: the services that Towpath talks to, real or doubled, and a running Towpath to talk to.
//!
//! | what | for |
//! |---|---|
//! | [`Towpath`] | the real binary, serving, and a small HTTP client that hides nothing |
//! | [`registry`] | Debian's docker-registry, a double that misbehaves as it is told, and images for both |
//! | [`ocm`] | a double of an OCM-style fleet API |
//! | [`scripted`] | an HTTP server that says what it is told to, byte by byte |
//! | [`Signer`] | somebody who signs releases, with GnuPG |
//! | [`git`] | commits at a time that a test chooses |
//!
//! This is a crate because the tests of several adapters and the app need it. Of ours it knows formats alone.

// Nothing of this ships: what goes wrong here is a test that fails, with the reason.
#![allow(clippy::unwrap_used, clippy::missing_panics_doc, clippy::print_stdout)]

mod git;
pub mod ocm;
pub mod registry;
pub mod scripted;
mod signer;
mod towpath;

pub use git::git;
pub use signer::{Signer, gpg};
pub use towpath::{Response, Towpath, binary, edges, example, with_descriptors};
