//! For tests only: the services that Towpath uses, real or as doubles, and a running Towpath.
//!
//! | what | for |
//! |---|---|
//! | [`Towpath`] | the real binary as a server, and a small HTTP client for it |
//! | [`registry`] | Debian's docker-registry, a double with faults on demand, and images for both |
//! | [`ocm`] | a double of an OCM-style fleet API |
//! | [`OidcProvider`] | npm's oidc-provider: a real issuer that people log in to |
//! | [`scripted`] | an HTTP server that sends scripted bytes |
//! | [`Authority`], [`TlsClient`] | certificates, and a client over TLS |
//! | [`schema`] | the schemas of what commands print and the service answers |
//! | [`Signer`] | signs releases with GnuPG |
//! | [`Shell`], [`page_parts`] | the commands of a page, typed as a reader would |
//! | [`git`] | commits at a time that a test chooses |
//!
//! It is a crate because the tests of several adapters and of the app need it. Of our crates it depends only on formats.

// Nothing of this ships: what goes wrong here is a test that fails, with the reason.
#![allow(clippy::unwrap_used, clippy::missing_panics_doc, clippy::print_stdout)]

mod git;
pub mod ocm;
mod oidc;
mod page;
pub mod registry;
pub mod schema;
pub mod scripted;
mod shell;
mod signer;
mod tls;
mod towpath;

pub use git::git;
pub use oidc::OidcProvider;
pub use page::{PagePart, TypedCommand, page_parts, tell_story};
pub use shell::Shell;
pub use signer::{Signer, gpg};
pub use tls::{Authority, Leaf, TlsClient};
pub use towpath::{Response, Towpath, binary, edges, example, with_descriptors};
