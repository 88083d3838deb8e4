//! What can go wrong between us and the service.

use std::error::Error;
use std::time::Duration;

/// The most of what somebody else says that is passed on to people.
const MAX_CHARS: usize = 300;

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
    pub(crate) fn away(what: &'static str, error: &reqwest::Error) -> Self {
        let problem = match (error.is_timeout(), error.is_connect()) {
            (true, true) => "the service cannot be reached in time".to_owned(),
            (true, false) => "the service does not answer in time".to_owned(),
            (false, true) => format!("the service cannot be reached: {}", innermost(error)),
            (false, false) => format!("the answer is cut short: {}", innermost(error)),
        };
        Self::Away { what, problem }
    }
}

/// What went wrong first, without the address.
pub(crate) fn innermost(error: &dyn Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    clip(&error.to_string())
}

/// Foreign text for people: one line, not too long.
pub(crate) fn clip(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(MAX_CHARS)
        .collect()
}
