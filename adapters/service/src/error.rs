//! What can go wrong between us and the service.

use std::time::Duration;

use towpath_http::HttpError;

/// Why something could not be had of the service. No message has a token or the query of an address in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ServiceError {
    /// Somebody has to change something here.
    #[error("{place} {problem}; {remedy}")]
    BadConfig {
        place: String,
        problem: String,
        remedy: String,
    },
    /// The service could not be asked, or its answer did not arrive.
    #[error("{what}: {problem}; check that the service is up and can be reached from here")]
    Away { what: &'static str, problem: String },
    #[error("{what}: the service answers {status}: {said}")]
    Refused {
        what: &'static str,
        status: u16,
        /// What it says about it.
        said: String,
        /// How long it asks us to wait.
        after: Option<Duration>,
    },
    /// It answered, and the answer is not what was asked for.
    #[error("{what}: {problem}")]
    BadAnswer {
        what: &'static str,
        /// What is wrong with it.
        problem: String,
    },
}

impl ServiceError {
    pub(crate) fn away(what: &'static str, error: &HttpError) -> Self {
        let problem = error.sentence("the service");
        Self::Away { what, problem }
    }
}
