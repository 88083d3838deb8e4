//! One HTTP client for all adapters: TLS, redirects, limits, CA files, token files.
//!
//! Nothing here knows what is asked or who asks. An adapter describes a [`Request`], the [`HttpClient`] sends it, and the
//! [`Answer`] gives its body up to a limit. The library underneath stays in this crate, and so do its errors: an
//! [`HttpError`] never holds an address, because an address may hold a secret.

mod address;
mod answer;
mod certificates;
mod client;
mod error;
mod file;
mod reach;
mod request;
mod token;

pub use address::{BadAddress, base_address, is_loopback, is_same_origin, may_ask};
pub use answer::{Allowance, Answer, BodyLimit, Chunks, LeastRate};
pub use certificates::{Certificates, Trust};
pub use client::{HttpClient, HttpOptions, Redirects};
pub use error::{HttpError, clip};
pub use reach::may_lead;
pub use request::Request;
pub use reqwest::{Method, StatusCode, Url, header};
pub use token::{BearerToken, TokenFile};

/// A number by chance, for the jitter of waits. It is no secret.
pub fn random_seed() -> u64 {
    use std::hash::BuildHasher;
    std::hash::RandomState::new().hash_one(())
}
