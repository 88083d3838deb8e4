//! Requests to the service, with limits. Each is sent once; the caller retries.

use std::time::Duration;

use serde::Deserialize;
use towpath_core::agent::{FleetOrders, OrdersUse, Stamp};
use towpath_core::cluster::ClusterId;
use towpath_formats::agent::orders;
use towpath_formats::agent::stamp::{self, Nonce};
use towpath_formats::fleet::token::Claims;
use towpath_http::{
    Answer, BodyLimit, HttpError, Method, Request, StatusCode, TokenFile, Url, clip,
};

use crate::current_client::CurrentClient;
use crate::token::{self, Token};
use crate::{Limits, ServiceConfig, ServiceError};

/// Names of requests in messages.
const STAMP: &str = "a stamp";
const ORDERS: &str = "orders";
const REPORT: &str = "a report";

/// A client of one service.
#[derive(Debug)]
pub struct ServiceClient {
    client: CurrentClient,
    base: Url,
    pub(crate) token_file: TokenFile,
    pub(crate) limits: Limits,
}

/// What the service did with a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReportOutcome {
    Sent,
    /// The service will never accept it.
    Refused {
        why: String,
    },
    /// Send it again later.
    Later {
        why: String,
        /// How long the service asks us to wait.
        after: Option<Duration>,
    },
}

#[derive(Deserialize)]
struct ErrorBody {
    kind: String,
    #[serde(default)]
    value: String,
}

impl ServiceClient {
    /// Checks the address, the certificates and the token. Sends no request.
    pub fn new(config: ServiceConfig) -> Result<Self, ServiceError> {
        let base = config.checked_url()?;
        let token_file = TokenFile::new(&config.token_file, token::MAX_BYTES);
        Token::read(&token_file)?;
        let (limits, is_tls) = (config.limits, base.scheme() == "https");
        Ok(Self {
            client: CurrentClient::new(config, is_tls)?,
            base,
            token_file,
            limits,
        })
    }

    /// The claims of the current token. Tokens of the first version have none.
    pub fn claims(&self) -> Result<Option<Claims>, ServiceError> {
        Ok(Token::read(&self.token_file)?.claims().cloned())
    }

    /// What the fleet asks of the cluster, proved fresh and from the service. A service of before, or without a fleet, asks for nothing.
    /// One of before does not know a dry run, and refuses the question instead of acting on it.
    pub async fn orders(
        &self,
        cluster: &ClusterId,
        nonce: &Nonce,
        purpose: OrdersUse,
    ) -> Result<FleetOrders, ServiceError> {
        let read =
            |bytes: &[u8], token: &Token| orders::read(bytes, token.as_str(), cluster, nonce);
        let mut url = self.url(cluster, "orders");
        if purpose == OrdersUse::Look {
            url.query_pairs_mut().append_pair("dry-run", "true");
        }
        let asked = self.ask((ORDERS, url, orders::MAX_BYTES), cluster, nonce, read);
        match asked.await {
            Err(ServiceError::Refused { status: 404, .. }) => Ok(FleetOrders::default()),
            asked => asked,
        }
    }

    /// How old the service's graph is, proved fresh and from the service.
    pub async fn stamp(&self, cluster: &ClusterId, nonce: &Nonce) -> Result<Stamp, ServiceError> {
        let read = |bytes: &[u8], token: &Token| stamp::read(bytes, token.as_str(), cluster, nonce);
        let url = self.url(cluster, "stamp");
        self.ask((STAMP, url, stamp::MAX_BYTES), cluster, nonce, read)
            .await
    }

    /// Asks for something that is sealed for this cluster and this question.
    async fn ask<T>(
        &self,
        (what, mut url, most_bytes): (&'static str, Url, usize),
        cluster: &ClusterId,
        nonce: &Nonce,
        read: impl FnOnce(&[u8], &Token) -> Result<T, String>,
    ) -> Result<T, ServiceError> {
        let token = Token::read(&self.token_file)?.of(cluster)?;
        url.query_pairs_mut().append_pair("nonce", nonce.as_str());
        let (answer, after) = self.send(what, &token, Request::get(url)).await?;
        let status = answer.status();
        let bytes = body(what, answer, most_bytes).await?;
        match status {
            StatusCode::OK => {
                let wrong = |problem| ServiceError::BadAnswer { what, problem };
                read(&bytes, &token).map_err(wrong)
            }
            status => Err(ServiceError::Refused {
                what,
                status: status.as_u16(),
                said: said(status, &bytes),
                after,
            }),
        }
    }

    /// Sends a report.
    pub async fn report(&self, cluster: &ClusterId, report: &[u8]) -> ReportOutcome {
        match self.try_report(cluster, report).await {
            Ok(answered) => answered,
            Err(error) => ReportOutcome::Later {
                why: error.to_string(),
                after: None,
            },
        }
    }

    async fn try_report(
        &self,
        cluster: &ClusterId,
        report: &[u8],
    ) -> Result<ReportOutcome, ServiceError> {
        let token = Token::read(&self.token_file)?.of(cluster)?;
        let request = Request::new(Method::POST, self.url(cluster, "report"));
        let request = request.body("application/json", report);
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
                Ok(ReportOutcome::Sent)
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
                Ok(ReportOutcome::Refused {
                    why: why(&bytes.unwrap_or_default()),
                })
            }
            400 | 413 | 415 | 422 => Ok(ReportOutcome::Refused {
                why: why(&bytes.unwrap_or_default()),
            }),
            _ => Ok(ReportOutcome::Later {
                why: why(&bytes.unwrap_or_default()),
                after,
            }),
        }
    }

    /// Sends a request; returns the answer's head, and the wait that the service asks for.
    pub(crate) async fn send(
        &self,
        what: &'static str,
        token: &Token,
        request: Request,
    ) -> Result<(Answer, Option<Duration>), ServiceError> {
        let request = request.authorization(Some(token.header()));
        let (client, unused) = self.client.get();
        let sent = client.send(request).await;
        let answer = sent.map_err(|error| {
            let away = ServiceError::away(what, &error);
            match unused {
                None => away,
                Some(unused) => ServiceError::Unrenewed {
                    away: Box::new(away),
                    unused,
                },
            }
        })?;
        let after = answer.retry_after();
        Ok((answer, after))
    }

    pub(crate) fn url(&self, cluster: &ClusterId, last: &str) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut parts) = url.path_segments_mut() {
            parts
                .pop_if_empty()
                .extend(["api", "v1", "clusters", cluster.as_str(), last]);
        }
        url
    }
}

/// Reads a whole answer, within the limit.
pub(crate) async fn body(
    what: &'static str,
    answer: Answer,
    limit: usize,
) -> Result<Vec<u8>, ServiceError> {
    let bytes = answer.body(BodyLimit::bytes(limit as u64)).await;
    bytes.map_err(|error| match error {
        HttpError::TooLong(limit) => ServiceError::BadAnswer {
            what,
            problem: format!(
                "the answer is larger than {limit} bytes; check the service's address"
            ),
        },
        error => ServiceError::away(what, &error),
    })
}

fn told(bytes: &[u8]) -> Option<ErrorBody> {
    serde_json::from_slice(bytes).ok()
}

/// The service's explanation, if it is in our error format.
pub(crate) fn said(status: StatusCode, bytes: &[u8]) -> String {
    match (status.is_redirection(), told(bytes)) {
        (true, _) => {
            "it redirects, and we send the token nowhere else; use the address that it redirects to"
                .to_owned()
        }
        (false, Some(told)) => clip(&format!("{} ({})", told.value, told.kind)),
        (false, None) => "no reason given".to_owned(),
    }
}
