//! Requests and answers, with an end to everything: time, bytes, pages, attempts.
//!
//! Reads are tried again when that may help; what changes something is sent once. Redirects are never followed.

use std::collections::BTreeSet;
use std::error::Error;

use jiff::Timestamp;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, LOCATION, RETRY_AFTER};
use reqwest::{Certificate, Client, Method, Response, StatusCode, Url};
use serde::de::DeserializeOwned;
use serde_json::Value;
use towpath_core::retry::{Jitter, retry_after};

use crate::retry;
use crate::token::Token;
use crate::{Limits, OcmConfig, OcmError, Sleep, wire};

/// The most of what the API says that is passed on to people.
const MAX_REASON_CHARS: usize = 300;

/// A connection to one API.
#[derive(Debug)]
pub(crate) struct Http {
    client: Client,
    base: Url,
    token: Token,
    pub(crate) limits: Limits,
    sleep: Sleep,
    jitter: Jitter,
}

/// A place in the API: `/api/clusters_mgmt/v1/clusters/…`.
#[derive(Debug, Clone)]
pub(crate) struct Path(String);

/// An item of a list: what it is, or why it cannot be understood.
#[derive(Debug)]
pub(crate) struct Item<T> {
    /// Its id, if it has one that can be read.
    pub(crate) id: Option<String>,
    pub(crate) content: Result<T, String>,
}

impl Http {
    pub(crate) fn new(config: OcmConfig) -> Result<Self, OcmError> {
        let base = config.checked_url()?;
        Ok(Self {
            client: client(&config, base.scheme() == "https")?,
            base,
            token: Token::new(config.token_file)?,
            limits: config.limits,
            sleep: config.sleep,
            jitter: Jitter::new(config.jitter_seed),
        })
    }

    /// All items of a list, each once. A list that changes while it is read is read again.
    pub(crate) async fn list<T: DeserializeOwned>(
        &self,
        path: &Path,
        query: &[(&str, &str)],
    ) -> Result<Vec<Item<T>>, OcmError> {
        let mut readings = 1;
        loop {
            match self.list_once(path, query).await {
                Err(OcmError::IncompleteList { .. }) if readings < self.limits.attempts => {
                    readings += 1
                }
                end => return end,
            }
        }
    }

    async fn list_once<T: DeserializeOwned>(
        &self,
        path: &Path,
        query: &[(&str, &str)],
    ) -> Result<Vec<Item<T>>, OcmError> {
        let what = || format!("GET {}", path.0);
        let size = self.limits.page_size;
        let (mut items, mut seen) = (Vec::new(), BTreeSet::new());
        // The most it was ever said to have: where one goes away, those behind it move up, and one of them is not seen.
        let mut most = None;
        for number in 1..=self.limits.pages {
            let (number, size_text) = (number.to_string(), size.to_string());
            let paging = [("page", &*number), ("size", &*size_text)];
            let page: wire::Page = self.get(path, &[query, &paging].concat()).await?;
            let (got, before) = (page.items.len(), items.len());
            if got > size {
                let problem = format!("a page of {got} items, where {size} were asked for");
                return Err(OcmError::BadAnswer {
                    what: what(),
                    problem,
                });
            }
            // Where one is added, those behind it move down, and one of them is seen twice.
            items.extend(
                page.items
                    .into_iter()
                    .map(Item::read)
                    .filter(|item| item.is_new(&mut seen)),
            );
            most = most.max(page.total);
            match most {
                Some(total) if items.len() >= total => return Ok(items),
                None if got < size => return Ok(items),
                _ if items.len() == before => {
                    let total = most.unwrap_or(before + 1);
                    return Err(OcmError::IncompleteList {
                        what: what(),
                        total,
                        seen: before,
                    });
                }
                _ => {}
            }
        }
        Err(OcmError::TooLarge {
            what: what(),
            limit: self.limits.pages,
            unit: "pages",
        })
    }

    /// Reads one thing, more than once if need be.
    pub(crate) async fn get<T: DeserializeOwned>(
        &self,
        path: &Path,
        query: &[(&str, &str)],
    ) -> Result<T, OcmError> {
        let mut attempt = 0;
        loop {
            let error = match self.once(Method::GET, path, query, None).await {
                Ok(body) => return decode(&format!("GET {}", path.0), &body),
                Err(error) => error,
            };
            match retry::wait(&error, attempt, &self.limits, &self.jitter) {
                Some(wait) => self.sleep.wait(wait).await,
                None => return Err(error),
            }
            attempt += 1;
        }
    }

    /// Makes something, in one attempt.
    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        path: &Path,
        body: &Value,
    ) -> Result<T, OcmError> {
        let answer = self.once(Method::POST, path, &[], Some(body)).await?;
        decode(&format!("POST {}", path.0), &answer)
    }

    /// Takes something away, in one attempt.
    pub(crate) async fn delete(&self, path: &Path) -> Result<(), OcmError> {
        self.once(Method::DELETE, path, &[], None).await.map(drop)
    }

    /// One exchange; a second one only if the token was refused and there is a new one. (Then nothing was done yet.)
    async fn once(
        &self,
        method: Method,
        path: &Path,
        query: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Result<Vec<u8>, OcmError> {
        let what = format!("{method} {}", path.0);
        let url = self.url(path, query);
        let token = self.token.header();
        let first = self
            .exchange(&what, method.clone(), url.clone(), &token, body)
            .await;
        match first {
            Err(OcmError::Unauthorised { .. }) => match self.token.renewed(&token)? {
                Some(fresh) => self.exchange(&what, method, url, &fresh, body).await,
                None => first,
            },
            _ => first,
        }
    }

    async fn exchange(
        &self,
        what: &str,
        method: Method,
        url: Url,
        token: &HeaderValue,
        body: Option<&Value>,
    ) -> Result<Vec<u8>, OcmError> {
        let mut request = self
            .client
            .request(method, url)
            .header(AUTHORIZATION, token);
        if let Some(body) = body {
            request = request
                .header(CONTENT_TYPE, "application/json")
                .body(body.to_string());
        }
        let answer = request.send().await.map_err(|e| self.failed(what, &e))?;
        let (status, headers) = (answer.status(), answer.headers().clone());
        if status.is_redirection() {
            let to = headers
                .get(LOCATION)
                .and_then(|to| to.to_str().ok())
                .unwrap_or("somewhere");
            return Err(OcmError::Redirected {
                what: what.to_owned(),
                to: clip(to),
            });
        }
        let retry_after = headers
            .get(RETRY_AFTER)
            .and_then(|value| value.to_str().ok())
            .and_then(|value| retry_after(value, Timestamp::now()));
        let body = self.body(what, answer).await;
        match status.is_success() {
            true => body,
            // What it says of a failure is welcome, but it is a failure without it too.
            false => Err(refusal(
                what,
                status,
                retry_after,
                &body.unwrap_or_default(),
            )),
        }
    }

    async fn body(&self, what: &str, mut answer: Response) -> Result<Vec<u8>, OcmError> {
        let limit = self.limits.response_bytes;
        let too_large = || OcmError::TooLarge {
            what: what.to_owned(),
            limit,
            unit: "bytes",
        };
        if answer
            .content_length()
            .is_some_and(|told| told > limit as u64)
        {
            return Err(too_large());
        }
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(|e| self.failed(what, &e))? {
            if body.len() + chunk.len() > limit {
                return Err(too_large());
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    fn failed(&self, what: &str, error: &reqwest::Error) -> OcmError {
        let what = what.to_owned();
        match (error.is_timeout(), error.is_connect()) {
            (true, true) => OcmError::Timeout {
                what,
                limit: self.limits.connect_timeout,
            },
            (true, false) => OcmError::Timeout {
                what,
                limit: self.limits.request_timeout,
            },
            (false, true) => OcmError::Unreachable {
                what,
                problem: innermost(error),
            },
            (false, false) => OcmError::CutShort {
                what,
                problem: innermost(error),
            },
        }
    }

    fn url(&self, path: &Path, query: &[(&str, &str)]) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!(
            "{}{}",
            self.base.path().trim_end_matches('/'),
            path.0
        ));
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        url
    }
}

impl Path {
    /// Below `/api/clusters_mgmt/v1`. Each part must be a plain id, so that none leads elsewhere.
    pub(crate) fn clusters_mgmt(parts: &[&str]) -> Result<Self, OcmError> {
        Self::of("/api/clusters_mgmt/v1", parts)
    }

    /// Below `/api/accounts_mgmt/v1`.
    pub(crate) fn accounts_mgmt(parts: &[&str]) -> Result<Self, OcmError> {
        Self::of("/api/accounts_mgmt/v1", parts)
    }

    pub(crate) fn join(&self, part: &str) -> Result<Self, OcmError> {
        Self::of(&self.0, &[part])
    }

    fn of(base: &str, parts: &[&str]) -> Result<Self, OcmError> {
        let mut path = base.to_owned();
        for part in parts {
            let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
            if part.is_empty() || part.len() > 128 || !part.bytes().all(plain) {
                return Err(OcmError::BadId { id: clip(part) });
            }
            path = format!("{path}/{part}");
        }
        Ok(Self(path))
    }
}

impl<T: DeserializeOwned> Item<T> {
    fn read(item: Value) -> Self {
        let id = item.get("id").and_then(Value::as_str).map(str::to_owned);
        Self {
            id,
            content: serde_json::from_value(item).map_err(|e| clip(&e.to_string())),
        }
    }

    fn is_new(&self, seen: &mut BTreeSet<String>) -> bool {
        self.id.as_ref().is_none_or(|id| seen.insert(id.clone()))
    }
}

fn client(config: &OcmConfig, tls: bool) -> Result<Client, OcmError> {
    // Fails if there is one already, which will do as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let limits = &config.limits;
    let mut builder = Client::builder()
        .user_agent(concat!("towpath/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .https_only(!config.allow_http)
        .connect_timeout(limits.connect_timeout)
        .timeout(limits.request_timeout)
        .pool_max_idle_per_host(limits.concurrency);
    if !config.environment_proxy {
        builder = builder.no_proxy();
    }
    match (&config.ca_file, tls) {
        (Some(file), _) => builder = builder.tls_certs_only(certificates(file)?),
        (None, true) => {}
        // The system's certificates are not needed, and where there are none, asking for them fails.
        (None, false) => builder = builder.tls_certs_only([]),
    }
    builder.build().map_err(|e| OcmError::BadConfig {
        place: "HTTP client".to_owned(),
        problem: innermost(&e),
        remedy: "check ca_file, and that this system has CA certificates".to_owned(),
    })
}

fn certificates(file: &std::path::Path) -> Result<Vec<Certificate>, OcmError> {
    let wrong = |problem: String| OcmError::BadConfig {
        place: file.display().to_string(),
        problem,
        remedy: "name a file with certificates in PEM form".to_owned(),
    };
    let pem = std::fs::read(file).map_err(|e| wrong(format!("cannot be read: {e}")))?;
    let certificates = Certificate::from_pem_bundle(&pem).map_err(|e| wrong(innermost(&e)))?;
    match certificates.is_empty() {
        true => Err(wrong("has no certificate in it".to_owned())),
        false => Ok(certificates),
    }
}

fn refusal(
    what: &str,
    status: StatusCode,
    retry_after: Option<std::time::Duration>,
    body: &[u8],
) -> OcmError {
    let what = what.to_owned();
    let told = serde_json::from_slice::<wire::Failure>(body)
        .ok()
        .and_then(|failure| failure.reason);
    let reason = clip(told.as_deref().unwrap_or("no reason given"));
    match status.as_u16() {
        401 => OcmError::Unauthorised { what },
        403 => OcmError::Forbidden { what, reason },
        404 => OcmError::NotFound { what, reason },
        409 => OcmError::Conflict {
            what,
            there: reason,
            policy: None,
            version: None,
        },
        429 => OcmError::Busy { what, retry_after },
        status @ 500.. => OcmError::Server {
            what,
            status,
            reason,
        },
        status => OcmError::Refused {
            what,
            status,
            reason,
        },
    }
}

fn decode<T: DeserializeOwned>(what: &str, body: &[u8]) -> Result<T, OcmError> {
    serde_json::from_slice(body).map_err(|e| OcmError::BadAnswer {
        what: what.to_owned(),
        problem: clip(&e.to_string()),
    })
}

/// What went wrong first, without the address (which is said already).
fn innermost(error: &dyn Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    clip(&error.to_string())
}

/// Foreign text for people: one line, not too long.
fn clip(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(MAX_REASON_CHARS)
        .collect()
}
