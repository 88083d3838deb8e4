//! One GET over HTTP(S), with an end to everything: time, bytes, redirects.

use std::time::Duration;

use reqwest::Client;
use reqwest::header::ACCEPT;
use towpath_core::finding::{Finding, Place};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_REDIRECTS: usize = 4;

/// What a server answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// The status.
    pub status: u16,
    /// The body.
    pub body: Vec<u8>,
}

/// Gets what is at an address, up to so many bytes, in the form that is asked for.
pub async fn fetch(url: &str, accept: &str, max_bytes: usize) -> Result<Fetched, Finding> {
    let failed = |problem: String| {
        let remedy = "check the address, and that the service is up";
        Finding::error("http", Place::file(url), problem, remedy)
    };
    let is_tls = url.starts_with("https://");
    let client = client(is_tls).map_err(|error| failed(innermost(&error)))?;
    let mut response =
        client.get(url).header(ACCEPT, accept).send().await.map_err(|error| failed(innermost(&error)))?;
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| failed(innermost(&error)))? {
        if body.len() + chunk.len() > max_bytes {
            return Err(failed(format!("the answer is longer than {max_bytes} bytes")));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Fetched { status: response.status().as_u16(), body })
}

fn client(is_tls: bool) -> Result<Client, reqwest::Error> {
    // Fails if there is one already, which will do as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder()
        .user_agent(concat!("towpath/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::limited(MAX_REDIRECTS))
        .referer(false)
        .connect_timeout(CONNECT_TIMEOUT)
        .timeout(REQUEST_TIMEOUT);
    match is_tls {
        true => builder.build(),
        // The system's certificates are not needed, and where there are none, asking for them fails.
        false => builder.tls_certs_only([]).build(),
    }
}

/// What is really wrong stands at the end of a chain of errors.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    last.to_string()
}
