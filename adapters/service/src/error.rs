//! Errors between the agent and the service.

use std::time::Duration;

use towpath_http::HttpError;

/// Why a request failed. No message contains a token or the query of an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ServiceError {
    /// The configuration must change.
    #[error("{place} {problem}; {remedy}")]
    BadConfig {
        place: String,
        problem: String,
        remedy: String,
    },
    /// The request or its answer did not arrive.
    #[error("{what}: {problem}; check that the service is up and reachable from here")]
    Away { what: &'static str, problem: String },
    /// The same, while newer certificates cannot be used.
    #[error("{away}; newer certificates are not used: {unused}")]
    Unrenewed {
        away: Box<ServiceError>,
        unused: String,
    },
    #[error("{what}: the service answers {status}: {said}")]
    Refused {
        what: &'static str,
        status: u16,
        /// The service's explanation.
        said: String,
        /// How long it asks us to wait.
        after: Option<Duration>,
    },
    /// The answer is invalid.
    #[error("{what}: {problem}")]
    BadAnswer { what: &'static str, problem: String },
}

impl ServiceError {
    pub(crate) fn away(what: &'static str, error: &HttpError) -> Self {
        let problem = error.sentence("the service");
        Self::Away { what, problem }
    }
}
