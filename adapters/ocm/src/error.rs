//! Errors of the OCM client: what was asked, what happened, and what to do next.

use std::time::Duration;

use towpath_core::version::Version;

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OcmError {
    /// The configuration cannot be used.
    #[error("{place}: {problem}; {remedy}")]
    BadConfig {
        place: String,
        problem: String,
        remedy: String,
    },
    /// The file with the token cannot be used.
    #[error("{file}: {problem}; write a bearer token into it, and nothing else")]
    TokenFile { file: String, problem: String },
    /// The token service gives us no token.
    #[error(
        "{url}: no token for the API: {problem}; check the client's id, the secret and the address"
    )]
    Login {
        url: String,
        problem: String,
        /// Whether the token service is only away, or busy.
        is_passing: bool,
    },
    /// An id that is not safe in an address.
    #[error("{id:?} is not a valid id; use one that the API lists")]
    BadId { id: String },
    /// The API rejects the token.
    #[error(
        "{what}: the API rejects our token (401); renew the token, or the secret that it is made from"
    )]
    Unauthorised { what: String },
    /// The token lacks a permission.
    #[error("{what}: forbidden (403: {reason}); give the token's account the role it needs")]
    Forbidden { what: String, reason: String },
    #[error("{what}: not found (404: {reason}); list the fleet again")]
    NotFound { what: String, reason: String },
    /// The API refuses the request.
    #[error("{what}: refused ({status}: {reason}); retrying will not help: change the request")]
    Refused {
        what: String,
        status: u16,
        reason: String,
    },
    /// Another upgrade policy is in the way.
    #[error("{what}: {there} is in its way; wait until it is done, or cancel it first")]
    Conflict {
        what: String,
        /// A description of the other policy.
        there: String,
        /// The other policy, if known.
        policy: Option<String>,
        /// Its target version, if known.
        version: Option<Version>,
    },
    /// The upgrade is already running.
    #[error(
        "{what}: it is already {state}, and a running upgrade cannot be cancelled; wait for its end"
    )]
    AlreadyStarted {
        what: String,
        /// The API's word for it.
        state: String,
    },
    /// Too many requests, and the API asks for a longer wait than ours.
    #[error("{what}: the API asks for fewer requests (429); ask again {}", later(*.retry_after))]
    Busy {
        what: String,
        /// The wait that the API asks for.
        retry_after: Option<Duration>,
    },
    /// The API failed.
    #[error("{what}: the API failed ({status}: {reason}); ask again later")]
    Server {
        what: String,
        status: u16,
        reason: String,
    },
    #[error("{what}: no answer in {} ms; check the network and the API, or raise the timeout", limit.as_millis())]
    Timeout { what: String, limit: Duration },
    #[error(
        "{what}: no connection ({problem}); check the address, the network and the certificates"
    )]
    Unreachable { what: String, problem: String },
    /// The connection ended in the middle of an answer.
    #[error("{what}: the answer was cut short ({problem}); ask again")]
    CutShort { what: String, problem: String },
    #[error("{what}: more than {limit} {unit}; raise the limit if this is right")]
    TooLarge {
        what: String,
        limit: usize,
        /// `bytes` or `pages`.
        unit: &'static str,
    },
    /// A list changed while it was read.
    #[error(
        "{what}: the list has {total} items, but {seen} arrived; it changed during the read, so read it again"
    )]
    IncompleteList {
        what: String,
        /// How many there should be.
        total: usize,
        seen: usize,
    },
    /// The API redirects. We do not follow, to protect the token.
    #[error(
        "{what}: redirected to {to}, and redirects are not followed; set base_url to the API's own address"
    )]
    Redirected { what: String, to: String },
    /// The answer is invalid.
    #[error(
        "{what}: the answer is not what this API gives ({problem}); check that base_url is an OCM-style API"
    )]
    BadAnswer { what: String, problem: String },
    /// The answer to a change was lost, and the change cannot be seen.
    #[error(
        "{what}: the answer was lost ({lost}) and the change is not visible; try again, which is safe"
    )]
    Unconfirmed {
        what: String,
        /// The [`OcmError::kind`] of what went wrong.
        lost: &'static str,
    },
}

impl OcmError {
    /// The stable name: for metrics and machines.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::BadConfig { .. } => "bad-config",
            Self::TokenFile { .. } => "token-file",
            Self::Login { .. } => "login",
            Self::BadId { .. } => "bad-id",
            Self::Unauthorised { .. } => "unauthorised",
            Self::Forbidden { .. } => "forbidden",
            Self::NotFound { .. } => "not-found",
            Self::Refused { .. } => "refused",
            Self::Conflict { .. } => "conflict",
            Self::AlreadyStarted { .. } => "already-started",
            Self::Busy { .. } => "busy",
            Self::Server { .. } => "server",
            Self::Timeout { .. } => "timeout",
            Self::Unreachable { .. } => "unreachable",
            Self::CutShort { .. } => "cut-short",
            Self::TooLarge { .. } => "too-large",
            Self::IncompleteList { .. } => "incomplete-list",
            Self::Redirected { .. } => "redirected",
            Self::BadAnswer { .. } => "bad-answer",
            Self::Unconfirmed { .. } => "unconfirmed",
        }
    }

    /// Whether the API understood the request and refused it.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused { .. })
    }

    /// Whether retrying a read may help.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Self::Busy { .. }
            | Self::Server { .. }
            | Self::Timeout { .. }
            | Self::Unreachable { .. }
            | Self::CutShort { .. } => true,
            Self::Login { is_passing, .. } => *is_passing,
            Self::BadConfig { .. }
            | Self::TokenFile { .. }
            | Self::BadId { .. }
            | Self::Unauthorised { .. }
            | Self::Forbidden { .. }
            | Self::NotFound { .. }
            | Self::Refused { .. }
            | Self::Conflict { .. }
            | Self::AlreadyStarted { .. }
            | Self::TooLarge { .. }
            | Self::IncompleteList { .. }
            | Self::Redirected { .. }
            | Self::BadAnswer { .. }
            | Self::Unconfirmed { .. } => false,
        }
    }

    /// Whether a write may have taken effect despite this error.
    pub(crate) fn leaves_a_doubt(&self) -> bool {
        match self {
            Self::Busy { .. } => false,
            // The answer came and was good, or was about to be; what it said is not known.
            Self::BadAnswer { .. } | Self::TooLarge { .. } => true,
            _ => self.is_passing(),
        }
    }

    /// Whether the error concerns the API as a whole, and not one request.
    pub fn is_about_us(&self) -> bool {
        matches!(
            self,
            Self::BadConfig { .. }
                | Self::TokenFile { .. }
                | Self::Login { .. }
                | Self::Unauthorised { .. }
                | Self::Redirected { .. }
        )
    }
}

fn later(retry_after: Option<Duration>) -> String {
    retry_after.map_or_else(
        || "later".to_owned(),
        |wait| format!("in {} s", wait.as_secs()),
    )
}
