//! Refusals: a status, a stable kind and a sentence, with the header that the status asks for.

use std::time::Duration;

use http::{HeaderName, HeaderValue, Response, StatusCode, header};
use towpath_formats::graph::request::BadRequest;

use crate::body::{self, AnswerBody};

/// When a client may try again, in seconds.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("5");

#[derive(Debug, Clone)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    kind: &'static str,
    sentence: String,
    /// The value of its header, if it is not the default.
    value: Option<HeaderValue>,
}

pub(crate) type OrRefusal<T> = Result<T, Refusal>;

impl Refusal {
    pub(crate) fn new(status: StatusCode, kind: &'static str, sentence: impl Into<String>) -> Self {
        Self {
            status,
            kind,
            sentence: sentence.into(),
            value: None,
        }
    }

    pub(crate) fn invalid_params(sentence: String) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_params", sentence)
    }

    pub(crate) fn invalid_body(sentence: String) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_body", sentence)
    }

    /// Sets the value of the header that its status requires.
    pub(crate) fn with(self, value: HeaderValue) -> Self {
        Self {
            value: Some(value),
            ..self
        }
    }

    pub(crate) fn kind(&self) -> &'static str {
        self.kind
    }

    /// The same in an answer that is none.
    pub(crate) fn told(&self) -> serde_json::Value {
        serde_json::json!({"kind": self.kind, "value": self.sentence})
    }

    pub(crate) fn response(self) -> Response<AnswerBody> {
        let mut response = body::error(self.status, self.kind, &self.sentence);
        if let Some((name, usual)) = header_of(self.status) {
            response
                .headers_mut()
                .insert(name, self.value.unwrap_or(usual));
        }
        response
    }
}

impl From<BadRequest> for Refusal {
    fn from(bad: BadRequest) -> Self {
        let status = match bad {
            BadRequest::MissingParams(_) | BadRequest::InvalidParams(_) => StatusCode::BAD_REQUEST,
            BadRequest::Contradiction(_) => StatusCode::UNPROCESSABLE_ENTITY,
            BadRequest::NotThere(_) => StatusCode::NOT_FOUND,
        };
        Self::new(status, bad.kind(), bad.value())
    }
}

/// A wait, rounded up: who comes back early is refused again.
pub(crate) fn whole_seconds(wait: Duration) -> u64 {
    u64::try_from(wait.as_millis().div_ceil(1_000)).unwrap_or(u64::MAX)
}

/// The header that a status requires, and its default value.
fn header_of(status: StatusCode) -> Option<(HeaderName, HeaderValue)> {
    let fixed = HeaderValue::from_static;
    match status {
        StatusCode::UNAUTHORIZED => {
            Some((header::WWW_AUTHENTICATE, fixed("Bearer realm=\"towpath\"")))
        }
        StatusCode::METHOD_NOT_ALLOWED => Some((header::ALLOW, fixed(""))),
        StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS => {
            Some((header::RETRY_AFTER, RETRY_AFTER))
        }
        // What is left of the body would be taken for the next request.
        StatusCode::REQUEST_TIMEOUT | StatusCode::PAYLOAD_TOO_LARGE => {
            Some((header::CONNECTION, fixed("close")))
        }
        _ => None,
    }
}
