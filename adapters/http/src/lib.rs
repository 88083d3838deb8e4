//! One HTTP client for all adapters: TLS, redirects, limits, CA files, token files.
//!
//! An adapter describes a [`Request`], the [`HttpClient`] sends it, and the [`Answer`] gives its body up to a limit.
//! The HTTP library and its errors stay inside this crate. An [`HttpError`] never holds an address, because an address may
//! hold a secret.

mod address;
mod answer;
mod certificates;
mod client;
mod error;
mod file;
mod identity;
mod reach;
mod request;
mod token;

pub use address::{BadAddress, base_address, is_loopback, is_same_origin, may_ask};
pub use answer::{Allowance, Answer, BodyLimit, Chunks, LeastRate};
pub use certificates::{Certificates, Trust};
pub use client::{HttpClient, HttpOptions, Redirects};
pub use error::{HttpError, clip};
pub use file::{FileStamp, read as read_file};
pub use identity::ClientIdentity;
pub use reach::may_lead;
pub use request::Request;
pub use reqwest::{Method, StatusCode, Url, header};
pub use token::{BearerToken, TokenFile};

/// A random number for the jitter of waits. It is not secret.
pub fn random_seed() -> u64 {
    use std::hash::BuildHasher;
    std::hash::RandomState::new().hash_one(())
}
