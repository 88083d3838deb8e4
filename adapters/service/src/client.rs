//! Requests to the service and its answers, with an end to everything. Each is made once; whoever calls tries again.

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Certificate, Client, RequestBuilder, Response, StatusCode, Url};
use serde::Deserialize;
use towpath_core::domain::ClusterId;
use towpath_core::domain::automatic::Stamp;
use towpath_core::retry::retry_after;
use towpath_formats::stamp::{self, Nonce};
use towpath_formats::token::Claims;

use crate::error::{clip, innermost};
use crate::token::Token;
use crate::{Limits, ServiceConfig, ServiceError};

/// What is asked, as messages say it.
const STAMP: &str = "a stamp";
const REPORT: &str = "a report";

/// A connection to one service.
#[derive(Debug)]
pub struct ServiceClient {
    client: Client,
    base: Url,
    token_file: PathBuf,
    limits: Limits,
}

/// What became of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answered {
    Sent,
    /// The service will never take it.
    Refused {
        why: String,
    },
    /// It has to be sent again.
    Later {
        why: String,
        /// How long the service asks us to wait.
        after: Option<Duration>,
    },
}

#[derive(Deserialize)]
struct Told {
    kind: String,
    #[serde(default)]
    value: String,
}

impl ServiceClient {
    /// A client; it looks at the address, the certificates and the token, and asks nobody.
    pub fn new(config: ServiceConfig) -> Result<Self, ServiceError> {
        let base = config.checked_url()?;
        Token::read(&config.token_file)?;
        let client = client(&config, base.scheme() == "https")?;
        Ok(Self {
            client,
            base,
            token_file: config.token_file,
            limits: config.limits,
        })
    }

    /// What the token says that is in the file now; nothing, if it is of the first version.
    pub fn claims(&self) -> Result<Option<Claims>, ServiceError> {
        Ok(Token::read(&self.token_file)?.claims().cloned())
    }

    /// How old the service's graph is, proved to be from the service and from after this call.
    pub async fn stamp(&self, cluster: &ClusterId, nonce: &Nonce) -> Result<Stamp, ServiceError> {
        let token = Token::read(&self.token_file)?.of(cluster, &self.token_file)?;
        let mut url = self.url(cluster, "stamp");
        url.query_pairs_mut().append_pair("nonce", nonce.as_str());
        let (answer, after) = self.send(STAMP, &token, self.client.get(url)).await?;
        let status = answer.status();
        let bytes = body(STAMP, answer, stamp::MAX_BYTES).await?;
        match status {
            StatusCode::OK => {
                stamp::read(&bytes, token.as_str(), cluster, nonce).map_err(|problem| {
                    ServiceError::BadAnswer {
                        what: STAMP,
                        problem,
                    }
                })
            }
            status => Err(ServiceError::Refused {
                what: STAMP,
                status: status.as_u16(),
                said: said(status, &bytes),
                after,
            }),
        }
    }

    /// Brings a report to the service.
    pub async fn report(&self, cluster: &ClusterId, report: &[u8]) -> Answered {
        match self.try_report(cluster, report).await {
            Ok(answered) => answered,
            Err(error) => Answered::Later {
                why: error.to_string(),
                after: None,
            },
        }
    }

    async fn try_report(
        &self,
        cluster: &ClusterId,
        report: &[u8],
    ) -> Result<Answered, ServiceError> {
        let token = Token::read(&self.token_file)?.of(cluster, &self.token_file)?;
        let request = self.client.post(self.url(cluster, "report"));
        let request = request
            .header(CONTENT_TYPE, "application/json")
            .body(report.to_vec());
        let (answer, after) = self.send(REPORT, &token, request).await?;
        let status = answer.status();
        let bytes = body(REPORT, answer, self.limits.answer_bytes).await;
        let why = |bytes: &[u8]| {
            format!(
                "the service answers {}: {}",
                status.as_u16(),
                said(status, bytes)
            )
        };
        match status.as_u16() {
            // Whoever else answers for it has not taken the report.
            200..=299
                if told(bytes.as_deref().unwrap_or_default())
                    .is_some_and(|told| told.kind == "accepted") =>
            {
                Ok(Answered::Sent)
            }
            200..=299 => {
                let problem =
                    "the answer is not that of a Towpath service; check its address".to_owned();
                bytes.and(Err(ServiceError::BadAnswer {
                    what: REPORT,
                    problem,
                }))
            }
            // No token that the cluster will get makes this report right.
            403 if told(bytes.as_deref().unwrap_or_default())
                .is_some_and(|told| told.kind == "not_as_bound") =>
            {
                Ok(Answered::Refused {
                    why: why(&bytes.unwrap_or_default()),
                })
            }
            400 | 413 | 415 | 422 => Ok(Answered::Refused {
                why: why(&bytes.unwrap_or_default()),
            }),
            _ => Ok(Answered::Later {
                why: why(&bytes.unwrap_or_default()),
                after,
            }),
        }
    }

    /// The head of the answer, and how long it asks us to wait.
    async fn send(
        &self,
        what: &'static str,
        token: &Token,
        request: RequestBuilder,
    ) -> Result<(Response, Option<Duration>), ServiceError> {
        let sent = request.header(AUTHORIZATION, token.header()).send().await;
        let answer = sent.map_err(|error| ServiceError::away(what, &error))?;
        let after = answer
            .headers()
            .get(RETRY_AFTER)
            .and_then(|value| value.to_str().ok());
        let after = after.and_then(|value| retry_after(value, Timestamp::now()));
        Ok((answer, after))
    }

    fn url(&self, cluster: &ClusterId, last: &str) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut parts) = url.path_segments_mut() {
            parts
                .pop_if_empty()
                .extend(["api", "v1", "clusters", cluster.as_str(), last]);
        }
        url
    }
}

/// An answer to its end, if it is no longer than it may be.
async fn body(
    what: &'static str,
    mut answer: Response,
    limit: usize,
) -> Result<Vec<u8>, ServiceError> {
    let too_large = || {
        let problem =
            format!("the answer is larger than {limit} bytes; check the service's address");
        ServiceError::BadAnswer { what, problem }
    };
    if answer
        .content_length()
        .is_some_and(|told| told > limit as u64)
    {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    while let Some(chunk) = answer
        .chunk()
        .await
        .map_err(|error| ServiceError::away(what, &error))?
    {
        if bytes.len() + chunk.len() > limit {
            return Err(too_large());
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

fn told(bytes: &[u8]) -> Option<Told> {
    serde_json::from_slice(bytes).ok()
}

/// What the service says about it, in its words if they are ours.
fn said(status: StatusCode, bytes: &[u8]) -> String {
    match (status.is_redirection(), told(bytes)) {
        (true, _) => {
            "it leads elsewhere, and a token goes nowhere else; give the address that it leads to"
                .to_owned()
        }
        (false, Some(told)) => clip(&format!("{} ({})", told.value, told.kind)),
        (false, None) => "no reason given".to_owned(),
    }
}

fn client(config: &ServiceConfig, tls: bool) -> Result<Client, ServiceError> {
    // Fails if there is one already, which will do as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let limits = &config.limits;
    let mut builder = Client::builder()
        .user_agent(concat!("towpath-agent/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .https_only(tls)
        .connect_timeout(limits.connect_timeout)
        .timeout(limits.request_timeout)
        .pool_max_idle_per_host(1);
    if !config.environment_proxy {
        builder = builder.no_proxy();
    }
    match (&config.ca_file, tls) {
        (Some(file), _) => builder = builder.tls_certs_only(certificates(file)?),
        (None, true) => {}
        // The system's certificates are not needed, and where there are none, asking for them fails.
        (None, false) => builder = builder.tls_certs_only([]),
    }
    builder.build().map_err(|error| ServiceError::BadConfig {
        place: "the HTTP client".to_owned(),
        problem: format!("cannot be made: {}", innermost(&error)),
        remedy: "check the CA file, and that this system has CA certificates".to_owned(),
    })
}

fn certificates(file: &Path) -> Result<Vec<Certificate>, ServiceError> {
    let wrong = |problem: String| ServiceError::BadConfig {
        place: format!("the CA file {}", file.display()),
        problem,
        remedy: "name a file with certificates in PEM form".to_owned(),
    };
    let pem = std::fs::read(file).map_err(|error| wrong(format!("cannot be read: {error}")))?;
    let certificates =
        Certificate::from_pem_bundle(&pem).map_err(|error| wrong(innermost(&error)))?;
    match certificates.is_empty() {
        true => Err(wrong("has no certificate in it".to_owned())),
        false => Ok(certificates),
    }
}
