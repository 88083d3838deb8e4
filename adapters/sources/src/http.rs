//! GET over HTTP(S), with an end to everything: time, bytes, redirects.
//!
//! Plain HTTP is asked for by name: what comes that way can be anybody's. On this machine's own address nothing is on the way, and it may be used.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::{
    ACCEPT, AUTHORIZATION, ETAG, HeaderMap, HeaderName, HeaderValue, IF_MODIFIED_SINCE,
    IF_NONE_MATCH, LAST_MODIFIED,
};
use reqwest::{Client, Response, Url};
use towpath_core::finding::{Finding, Place};

use crate::redirects::{Clients, NoAnswer};
use crate::shown::without_credentials;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a server may say nothing.
const READ_TIMEOUT: Duration = Duration::from_secs(15);
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_REDIRECTS: usize = 4;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    pub status: u16,
    pub body: Vec<u8>,
}

/// Whom to trust, and on what ways.
#[derive(Debug, Clone, Default)]
pub struct HttpAccess {
    /// Certificates of authorities, besides those of the system, in PEM.
    pub ca: Option<Vec<u8>>,
    /// Whether plain HTTP will do, also to other machines.
    pub plain_http: bool,
}

/// A client that is used again and again.
#[derive(Debug, Clone)]
pub struct Http {
    clients: Clients,
    plain_http: bool,
}

/// What a server said of an answer, to be told to it the next time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Validators {
    etag: Option<String>,
    last_modified: Option<String>,
}

/// What is at an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Got {
    Unchanged,
    Body {
        bytes: Vec<u8>,
        validators: Validators,
    },
}

impl Validators {
    /// When the answer was last modified, as far as the server tells.
    pub fn made_at(&self) -> Option<Timestamp> {
        let text = self.last_modified.as_deref()?;
        jiff::fmt::rfc2822::parse(text)
            .ok()
            .map(|at| at.timestamp())
    }

    fn of(headers: &HeaderMap) -> Self {
        let text = |name: HeaderName| Some(headers.get(name)?.to_str().ok()?.to_owned());
        Self {
            etag: text(ETAG),
            last_modified: text(LAST_MODIFIED),
        }
    }
}

impl Http {
    /// A client, unless the authorities cannot be read.
    pub fn new(access: &HttpAccess) -> Result<Self, Finding> {
        let wrong = |problem: String| {
            let remedy = "give a file of PEM certificates with --ca-file";
            Finding::error("bad-ca", Place::file("--ca-file"), problem, remedy)
        };
        let plain_http = access.plain_http;
        let certificates = match &access.ca {
            Some(pem) => reqwest::Certificate::from_pem_bundle(pem)
                .map_err(|error| wrong(innermost(&error)))?,
            None => Vec::new(),
        };
        if access.ca.is_some() && certificates.is_empty() {
            return Err(wrong("there is no certificate in it".into()));
        }
        let careful = || builder().read_timeout(READ_TIMEOUT);
        let trusting = || {
            certificates
                .iter()
                .cloned()
                .fold(careful(), |builder, ca| builder.tls_certs_merge([ca]))
        };
        let clients = Clients::new(trusting).or_else(|error| match access.ca {
            // Without the system's certificates plain HTTP still works; TLS says then what is missing.
            None => Clients::new(|| careful().tls_certs_only([])).map_err(|_| error),
            Some(_) => Err(error),
        });
        Ok(Self {
            clients: clients.map_err(|error| wrong(innermost(&error)))?,
            plain_http,
        })
    }

    /// Gets what is at an address, up to so many bytes, unless it is what it was.
    pub async fn get(
        &self,
        url: &str,
        accept: &str,
        known: &Validators,
        max_bytes: usize,
    ) -> Result<Got, Finding> {
        self.get_within(url, accept, known, max_bytes, &Allowance::new(max_bytes))
            .await
    }

    /// The same, where several answers share what they may take.
    pub(crate) async fn get_within(
        &self,
        url: &str,
        accept: &str,
        known: &Validators,
        max_bytes: usize,
        together: &Allowance,
    ) -> Result<Got, Finding> {
        let failed = |problem: String| failed(url, problem);
        let parsed = Url::parse(url).map_err(|error| failed(error.to_string()))?;
        if !may_go(&parsed, self.plain_http) {
            return Err(plain(url));
        }
        let mut headers = headers(ACCEPT, accept);
        if let Some(etag) = &known.etag {
            headers.extend(self::headers(IF_NONE_MATCH, etag));
        } else if let Some(last_modified) = &known.last_modified {
            headers.extend(self::headers(IF_MODIFIED_SINCE, last_modified));
        }
        let may_go = |url: &Url| may_go(url, self.plain_http);
        let answer = self
            .clients
            .get(parsed, &headers, MAX_REDIRECTS, may_go)
            .await;
        let response = answer.map_err(|why| failed(sentence(why)))?;
        match response.status().as_u16() {
            304 if *known != Validators::default() => Ok(Got::Unchanged),
            200 => {
                let validators = Validators::of(response.headers());
                let bytes = body(response, max_bytes, together).await.map_err(failed)?;
                Ok(Got::Body { bytes, validators })
            }
            status @ (401 | 403) => Err(failed(format!(
                "the server answered {status}: it wants other credentials"
            ))),
            status => Err(failed(format!("the server answered {status}"))),
        }
    }
}

/// Whether an address may be asked: over TLS, or because it was allowed, or because it is this machine's own.
fn may_go(url: &Url, plain_http: bool) -> bool {
    match url.scheme() {
        "https" => true,
        "http" => plain_http || is_loopback(url.host_str().unwrap_or_default()),
        _ => false,
    }
}

/// Whether a host is this machine.
pub fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || address
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

/// One header, unless it cannot be sent: what a server said of itself may be anything.
fn headers(name: HeaderName, value: &str) -> HeaderMap {
    HeaderValue::from_str(value)
        .map(|value| (name, value))
        .into_iter()
        .collect()
}

fn sentence(why: NoAnswer) -> String {
    match why {
        NoAnswer::Failed(error) => innermost(&error.without_url()),
        NoAnswer::Misled(problem) => problem.to_owned(),
    }
}

/// What several answers may take together, counted while they come.
#[derive(Debug)]
pub(crate) struct Allowance {
    bytes: usize,
    left: AtomicUsize,
}

impl Allowance {
    pub(crate) fn new(bytes: usize) -> Self {
        Self {
            bytes,
            left: AtomicUsize::new(bytes),
        }
    }

    /// Takes so much of it, or says that it is used up.
    pub(crate) fn take(&self, bytes: usize) -> Result<(), String> {
        let taken = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(bytes)
            });
        taken
            .map(|_| ())
            .map_err(|_| format!("the answers are longer than {} bytes together", self.bytes))
    }
}

async fn body(
    mut response: Response,
    max_bytes: usize,
    together: &Allowance,
) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    while let Some(chunk) = response
        .chunk()
        .await
        .map_err(|error| innermost(&error.without_url()))?
    {
        if body.len().saturating_add(chunk.len()) > max_bytes {
            return Err(format!("the answer is longer than {max_bytes} bytes"));
        }
        together.take(chunk.len())?;
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

fn plain(url: &str) -> Finding {
    let problem = "this is plain HTTP, which anybody on the way can read and change";
    Finding::error(
        "plain-http",
        Place::file(without_credentials(url)),
        problem,
        "use https://, or allow it with --plain-http",
    )
}

fn failed(url: &str, problem: String) -> Finding {
    let remedy = "check the address, and that the service is up";
    Finding::error(
        "http",
        Place::file(without_credentials(url)),
        problem,
        remedy,
    )
}

/// Gets what is at an address, up to so many bytes. A token goes to that address alone: no redirect is followed with one, and it is sent in the clear to this
/// machine only.
pub async fn fetch(url: &str, token: Option<&str>, max_bytes: usize) -> Result<Fetched, Finding> {
    let failed = |problem: String| failed(url, problem);
    let parsed = Url::parse(url).map_err(|error| failed(error.to_string()))?;
    let mut headers = headers(ACCEPT, "*/*");
    if let Some(token) = token {
        if !may_go(&parsed, false) {
            let place = Place::file(without_credentials(url));
            let problem = "a token would go over plain HTTP, where anybody on the way can read it";
            return Err(Finding::error("plain-http", place, problem, "use https://"));
        }
        let bearer = HeaderValue::from_str(&format!("Bearer {token}"));
        let mut bearer =
            bearer.map_err(|_| failed("the token cannot be sent in a header".to_owned()))?;
        bearer.set_sensitive(true);
        headers.insert(AUTHORIZATION, bearer);
    }
    let max_redirects = if token.is_some() { 0 } else { MAX_REDIRECTS };
    let clients = clients(parsed.scheme() == "https").map_err(|error| failed(innermost(&error)))?;
    let answer = clients.get(parsed, &headers, max_redirects, |_| true).await;
    let response = answer.map_err(|why| failed(sentence(why)))?;
    let status = response.status().as_u16();
    Ok(Fetched {
        status,
        body: body(response, max_bytes, &Allowance::new(max_bytes))
            .await
            .map_err(failed)?,
    })
}

fn clients(is_tls: bool) -> Result<Clients, reqwest::Error> {
    match is_tls {
        true => Clients::new(builder),
        // The system's certificates are not needed, and where there are none, asking for them fails.
        false => Clients::new(|| builder().tls_certs_only([])),
    }
}

fn builder() -> reqwest::ClientBuilder {
    // Fails if there is one already, which will do as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .user_agent(concat!("towpath/", env!("CARGO_PKG_VERSION")))
        .referer(false)
        .connect_timeout(CONNECT_TIMEOUT)
        .timeout(REQUEST_TIMEOUT)
}

/// What is really wrong stands at the end of a chain of errors.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    last.to_string()
}

#[cfg(test)]
pub(crate) mod tests {
    use std::io::{Read, Write};

    use super::*;

    /// An error of the HTTP library that has nothing to tell but its address, with this in its query.
    pub(crate) fn error_with_its_address(secret: &str) -> reqwest::Error {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!(
            "http://{}/?X-Amz-Signature={secret}",
            listener.local_addr().unwrap()
        );
        let answering = std::thread::spawn(move || {
            let (mut asked, _) = listener.accept().unwrap();
            let _ = asked.read(&mut [0; 4096]).unwrap();
            asked
                .write_all(b"HTTP/1.1 403 x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
                .unwrap();
        });
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let answer = runtime.block_on(async {
            builder()
                .tls_certs_only([])
                .build()
                .unwrap()
                .get(url)
                .send()
                .await
                .unwrap()
        });
        answering.join().unwrap();
        answer.error_for_status().unwrap_err()
    }

    #[test]
    fn plain_http_is_for_this_machine_or_by_leave() {
        for (url, anyway, allowed) in [
            ("https://example.com/", true, true),
            ("http://example.com/", false, true),
            ("http://127.0.0.1:80/", true, true),
            ("http://[::1]/", true, true),
            ("http://localhost/", true, true),
            ("http://localhost.example.com/", false, true),
            ("ftp://example.com/", false, false),
        ] {
            let url = Url::parse(url).unwrap();
            assert_eq!(
                (may_go(&url, false), may_go(&url, true)),
                (anyway, allowed),
                "{url}"
            );
        }
    }
}
