//! GET over HTTP(S), with limits on time, bytes and redirects.
//!
//! Plain HTTP must be allowed explicitly, because anybody on the network can change it. To this machine it is always allowed.

use std::time::Duration;

use jiff::Timestamp;
use towpath_core::finding::{Finding, Place};
use towpath_http::header::{ACCEPT, ETAG, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED};
use towpath_http::{
    Allowance, Answer, BearerToken, BodyLimit, Certificates, HttpClient, HttpError, HttpOptions,
    Method, Redirects, Request, Trust, Url, may_ask,
};

use crate::shown::without_credentials;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a server may be silent.
const IDLE_TIMEOUT: Duration = Duration::from_secs(15);
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a service may take for an answer that it has to work for.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(90);
const MAX_REDIRECTS: usize = 4;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchResponse {
    pub status: u16,
    pub body: Vec<u8>,
}

/// Trust settings.
#[derive(Debug, Clone, Default)]
pub struct HttpAccess {
    /// Certificate authorities besides the system's, in PEM.
    pub ca: Option<Vec<u8>>,
    /// Allow plain HTTP to other machines.
    pub plain_http: bool,
}

/// A reusable client.
#[derive(Debug, Clone)]
pub struct Http {
    client: HttpClient,
    plain_http: bool,
}

/// `ETag` and `Last-Modified` of an answer, for the next request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Validators {
    etag: Option<String>,
    last_modified: Option<String>,
}

/// The outcome of a conditional GET.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GetOutcome {
    Unchanged,
    Body {
        bytes: Vec<u8>,
        validators: Validators,
    },
}

impl Validators {
    /// When the answer was last modified, if the server says so.
    pub fn made_at(&self) -> Option<Timestamp> {
        let text = self.last_modified.as_deref()?;
        jiff::fmt::rfc2822::parse(text)
            .ok()
            .map(|at| at.timestamp())
    }

    fn of(answer: &Answer) -> Self {
        Self {
            etag: answer.header(ETAG).map(str::to_owned),
            last_modified: answer.header(LAST_MODIFIED).map(str::to_owned),
        }
    }
}

impl Http {
    /// Fails if the certificate authorities cannot be read.
    pub fn new(access: &HttpAccess) -> Result<Self, Finding> {
        let wrong = |problem: String| {
            let remedy = "give a file of PEM certificates with --ca-file";
            Finding::error("bad-ca", Place::file("--ca-file"), problem, remedy)
        };
        let certificates = access.ca.as_deref().map(Certificates::from_pem).transpose();
        let certificates = certificates.map_err(|problem| wrong(format!("it {problem}")))?;
        let built = |trust: Trust| {
            HttpClient::new(&HttpOptions {
                trust,
                idle_timeout: Some(IDLE_TIMEOUT),
                ..options()
            })
        };
        let client = match certificates {
            Some(certificates) => built(Trust::SystemAnd(certificates)),
            // Without the system's certificates plain HTTP still works; TLS says then what is missing.
            None => {
                built(Trust::System).or_else(|problem| built(Trust::Nobody).map_err(|_| problem))
            }
        };
        Ok(Self {
            client: client.map_err(wrong)?,
            plain_http: access.plain_http,
        })
    }

    /// Gets an address, up to a size limit, unless the content is unchanged.
    pub async fn get(
        &self,
        url: &str,
        accept: &str,
        known: &Validators,
        max_bytes: usize,
    ) -> Result<GetOutcome, Finding> {
        self.get_within(
            url,
            accept,
            known,
            max_bytes,
            &Allowance::new(max_bytes as u64),
        )
        .await
    }

    /// Gets what is at an address, up to a size limit; none if the server says that there is nothing.
    pub async fn find(&self, url: &str, max_bytes: usize) -> Result<Option<Vec<u8>>, Finding> {
        let failed = |problem: String| failed(url, problem);
        let parsed = Url::parse(url).map_err(|error| failed(error.to_string()))?;
        if !may_ask(&parsed, self.plain_http) {
            return Err(plain(url));
        }
        let redirects = Redirects {
            most: MAX_REDIRECTS,
            plain_http: self.plain_http,
            sent: None,
        };
        let cannot = |error: HttpError| failed(error.sentence("it"));
        let request = Request::get(parsed).header(ACCEPT, "*/*");
        let answer = self.client.follow(request, redirects).await;
        let answer = answer.map_err(cannot)?;
        match answer.status().as_u16() {
            200 => {
                let body = answer.body(BodyLimit::bytes(max_bytes as u64)).await;
                body.map(Some).map_err(cannot)
            }
            404 | 410 => Ok(None),
            status => Err(failed(format!("the server answered {status}"))),
        }
    }

    pub(crate) fn allows_plain_http(&self) -> bool {
        self.plain_http
    }

    /// Gets an address with a token, and returns the answer whatever its status is. It follows no redirect.
    pub(crate) async fn ask(
        &self,
        url: Url,
        token: Option<&BearerToken>,
        patience: Duration,
        max_bytes: usize,
    ) -> Result<FetchResponse, String> {
        let request = Request::get(url)
            .header(ACCEPT, "application/json")
            .authorization(token.map(BearerToken::header))
            .timeout(patience);
        let cannot = |error: HttpError| error.sentence("it");
        let answer = self.client.send(request).await.map_err(cannot)?;
        let status = answer.status().as_u16();
        let body = answer.body(BodyLimit::bytes(max_bytes as u64)).await;
        Ok(FetchResponse {
            status,
            body: body.map_err(cannot)?,
        })
    }

    /// Gets an address, with a byte budget that several answers share.
    pub(crate) async fn get_within(
        &self,
        url: &str,
        accept: &str,
        known: &Validators,
        max_bytes: usize,
        together: &Allowance,
    ) -> Result<GetOutcome, Finding> {
        let failed = |problem: String| failed(url, problem);
        let parsed = Url::parse(url).map_err(|error| failed(error.to_string()))?;
        if !may_ask(&parsed, self.plain_http) {
            return Err(plain(url));
        }
        let request = Request::get(parsed).header(ACCEPT, accept);
        let request = match known {
            Validators {
                etag: Some(etag), ..
            } => request.header(IF_NONE_MATCH, etag),
            Validators {
                last_modified: Some(at),
                ..
            } => request.header(IF_MODIFIED_SINCE, at),
            _ => request,
        };
        let redirects = Redirects {
            most: MAX_REDIRECTS,
            plain_http: self.plain_http,
            sent: None,
        };
        let cannot = |error: HttpError| failed(error.sentence("it"));
        let answer = self.client.follow(request, redirects).await;
        let answer = answer.map_err(cannot)?;
        match answer.status().as_u16() {
            304 if *known != Validators::default() => Ok(GetOutcome::Unchanged),
            200 => {
                let validators = Validators::of(&answer);
                let limit = BodyLimit {
                    together: Some(together),
                    ..BodyLimit::bytes(max_bytes as u64)
                };
                let bytes = answer.body(limit).await.map_err(cannot)?;
                Ok(GetOutcome::Body { bytes, validators })
            }
            status @ (401 | 403) => Err(failed(format!(
                "the server answered {status}: it rejects our credentials"
            ))),
            status => Err(failed(format!("the server answered {status}"))),
        }
    }
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

/// Gets an address, or posts JSON to it, up to a size limit of the answer. A request with a token or a body follows no redirect, and with
/// a token it uses plain HTTP only to this machine. If authorities are given, it trusts them alone.
pub async fn fetch(
    url: &str,
    (token, authorities): (Option<&BearerToken>, Option<&Certificates>),
    posted: Option<&str>,
    max_bytes: usize,
) -> Result<FetchResponse, Finding> {
    let failed = |problem: String| failed(url, problem);
    let parsed = Url::parse(url).map_err(|error| failed(error.to_string()))?;
    if token.is_some() && !may_ask(&parsed, false) {
        let place = Place::file(without_credentials(url));
        let problem = "the token would go over plain HTTP, where the network can read it";
        return Err(Finding::error("plain-http", place, problem, "use https://"));
    }
    let usual = || Trust::usual(parsed.scheme() == "https");
    let client = HttpClient::new(&HttpOptions {
        trust: authorities.map_or_else(usual, |only| Trust::Only(only.clone())),
        request_timeout: Some(ANSWER_TIMEOUT),
        ..options()
    });
    let request = match posted {
        None => Request::get(parsed),
        Some(body) => Request::new(Method::POST, parsed).body("application/json", body),
    };
    let request = request
        .header(ACCEPT, "*/*")
        .authorization(token.map(BearerToken::header));
    let stays = token.is_some() || posted.is_some();
    let redirects = Redirects {
        most: if stays { 0 } else { MAX_REDIRECTS },
        plain_http: true,
        sent: None,
    };
    let cannot = |error: HttpError| failed(error.sentence("it"));
    let answer = client.map_err(failed)?.follow(request, redirects).await;
    let answer = answer.map_err(cannot)?;
    let status = answer.status().as_u16();
    let body = answer.body(BodyLimit::bytes(max_bytes as u64)).await;
    Ok(FetchResponse {
        status,
        body: body.map_err(cannot)?,
    })
}

fn options() -> HttpOptions {
    HttpOptions {
        connect_timeout: CONNECT_TIMEOUT,
        request_timeout: Some(REQUEST_TIMEOUT),
        ..HttpOptions::default()
    }
}
