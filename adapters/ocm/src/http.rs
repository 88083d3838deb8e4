//! Requests with limits on time, bytes, pages and attempts.
//!
//! Reads are retried when that may help. Writes are sent once. Redirects are never followed.

use std::collections::BTreeSet;

use serde::de::DeserializeOwned;
use serde_json::Value;
use towpath_core::retry::Jitter;
use towpath_http::header::LOCATION;
use towpath_http::{
    Answer, BearerToken, BodyLimit, Certificates, HttpClient, HttpError, HttpOptions, Method,
    Request, StatusCode, Trust, Url, clip,
};

use crate::login::Session;
use crate::{Limits, OcmConfig, OcmError, Sleep, wire};

/// A client of one API.
#[derive(Debug)]
pub(crate) struct Http {
    client: HttpClient,
    base: Url,
    session: Session,
    pub(crate) limits: Limits,
    sleep: Sleep,
    jitter: Jitter,
}

/// A path of the API: `/api/clusters_mgmt/v1/clusters/…`.
#[derive(Debug, Clone)]
pub(crate) struct Path(String);

/// An item of a list, or why it cannot be understood.
#[derive(Debug)]
pub(crate) struct Item<T> {
    /// Its id, if it has one that can be read.
    pub(crate) id: Option<String>,
    pub(crate) content: Result<T, String>,
}

impl Http {
    pub(crate) fn new(config: OcmConfig) -> Result<Self, OcmError> {
        let base = config.checked_url()?;
        let session = Session::new(config.login.clone(), config.allow_http)?;
        let is_tls = [Some(base.scheme()), session.scheme()].map(|scheme| scheme != Some("http"));
        let client = client(&config, is_tls)?;
        Ok(Self {
            client,
            base,
            session,
            limits: config.limits,
            sleep: config.sleep,
            jitter: Jitter::new(config.jitter_seed),
        })
    }

    /// All items of a list, each once. A list that changes during the read is read again.
    pub(crate) async fn list<T: DeserializeOwned>(
        &self,
        path: &Path,
        query: &[(&str, &str)],
    ) -> Result<Vec<Item<T>>, OcmError> {
        let mut readings = 1;
        loop {
            match self.list_once(path, query).await {
                Err(OcmError::IncompleteList { .. }) if readings < self.limits.retry.attempts => {
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

    /// Reads one object, with retries.
    pub(crate) async fn get<T: DeserializeOwned>(
        &self,
        path: &Path,
        query: &[(&str, &str)],
    ) -> Result<T, OcmError> {
        let mut failures = 0;
        loop {
            let error = match self.once(Method::GET, path, query, None).await {
                Ok(body) => return decode(&format!("GET {}", path.0), &body),
                Err(error) => error,
            };
            failures += 1;
            let asked = match &error {
                OcmError::Busy { retry_after, .. } => *retry_after,
                error if error.is_passing() => None,
                _ => return Err(error),
            };
            match self.limits.retry.wait(failures, asked, &self.jitter) {
                Some(wait) => self.sleep.wait(wait).await,
                None => return Err(error),
            }
        }
    }

    /// Creates an object, in one attempt.
    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        path: &Path,
        body: &Value,
    ) -> Result<T, OcmError> {
        let answer = self.once(Method::POST, path, &[], Some(body)).await?;
        decode(&format!("POST {}", path.0), &answer)
    }

    /// Changes a part of an object, in one attempt.
    pub(crate) async fn patch<T: DeserializeOwned>(
        &self,
        path: &Path,
        body: &Value,
    ) -> Result<T, OcmError> {
        let answer = self.once(Method::PATCH, path, &[], Some(body)).await?;
        decode(&format!("PATCH {}", path.0), &answer)
    }

    /// Deletes an object, in one attempt.
    pub(crate) async fn delete(&self, path: &Path) -> Result<(), OcmError> {
        self.once(Method::DELETE, path, &[], None).await.map(drop)
    }

    /// One request. A second one only if the token was rejected and there is a new one: then nothing was done yet.
    async fn once(
        &self,
        method: Method,
        path: &Path,
        query: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Result<Vec<u8>, OcmError> {
        let what = format!("{method} {}", path.0);
        let url = self.url(path, query);
        let token = self.session.token(&self.client).await?;
        let first = self
            .exchange(&what, method.clone(), url.clone(), &token, body)
            .await;
        if !matches!(first, Err(OcmError::Unauthorised { .. })) {
            return first;
        }
        match self.session.other_than(&token, &self.client).await? {
            None => first,
            Some(fresh) => self.exchange(&what, method, url, &fresh, body).await,
        }
    }

    async fn exchange(
        &self,
        what: &str,
        method: Method,
        url: Url,
        token: &BearerToken,
        body: Option<&Value>,
    ) -> Result<Vec<u8>, OcmError> {
        let mut request = Request::new(method, url).authorization(Some(token.header()));
        if let Some(body) = body {
            request = request.body("application/json", body.to_string());
        }
        let answer = self.client.send(request).await;
        let answer = answer.map_err(|error| self.failed(what, error))?;
        let (status, retry_after) = (answer.status(), answer.retry_after());
        if status.is_redirection() {
            return Err(OcmError::Redirected {
                what: what.to_owned(),
                to: clip(answer.header(LOCATION).unwrap_or("somewhere")),
            });
        }
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

    async fn body(&self, what: &str, answer: Answer) -> Result<Vec<u8>, OcmError> {
        let limit = BodyLimit::bytes(self.limits.response_bytes as u64);
        let body = answer.body(limit).await;
        body.map_err(|error| self.failed(what, error))
    }

    fn failed(&self, what: &str, error: HttpError) -> OcmError {
        let what = what.to_owned();
        match error {
            HttpError::ConnectTimeout => OcmError::Timeout {
                what,
                limit: self.limits.connect_timeout,
            },
            HttpError::Timeout => OcmError::Timeout {
                what,
                limit: self.limits.request_timeout,
            },
            HttpError::Unreachable(problem) => OcmError::Unreachable { what, problem },
            HttpError::CutShort(problem) => OcmError::CutShort { what, problem },
            HttpError::TooLong(_) => OcmError::TooLarge {
                what,
                limit: self.limits.response_bytes,
                unit: "bytes",
            },
            error => OcmError::CutShort {
                what,
                problem: error.sentence("the API"),
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

/// A client for the API and the token service, each of which may use TLS.
fn client(config: &OcmConfig, is_tls: [bool; 2]) -> Result<HttpClient, OcmError> {
    let trust = match &config.ca_file {
        Some(file) => {
            Trust::Only(
                Certificates::read(file).map_err(|problem| OcmError::BadConfig {
                    place: file.display().to_string(),
                    problem,
                    remedy: "name a file with certificates in PEM form".to_owned(),
                })?,
            )
        }
        None => Trust::usual(is_tls.contains(&true)),
    };
    let client = HttpClient::new(&HttpOptions {
        trust,
        https_only: !is_tls.contains(&false),
        environment_proxy: config.environment_proxy,
        connect_timeout: config.limits.connect_timeout,
        request_timeout: Some(config.limits.request_timeout),
        idle_connections: config.limits.concurrency,
        ..HttpOptions::default()
    });
    client.map_err(|problem| OcmError::BadConfig {
        place: "HTTP client".to_owned(),
        problem,
        remedy: "check ca_file, and that this system has CA certificates".to_owned(),
    })
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
