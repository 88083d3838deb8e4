//! What can go wrong between us and the API: what was asked, what happened, and what to do next.

use std::time::Duration;

use towpath_core::version::Version;

/// Why the API did not give what was asked.
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
    /// An id that cannot stand in an address.
    #[error("{id:?} cannot be an id of the API; take it from what the API lists")]
    BadId { id: String },
    /// The token is not taken.
    #[error("{what}: the API does not take our token (401); renew the token file")]
    Unauthorised { what: String },
    /// The token does not reach so far.
    #[error(
        "{what}: not allowed to us (403: {reason}); give the token's account the role it needs"
    )]
    Forbidden { what: String, reason: String },
    /// It is not there.
    #[error("{what}: not there (404: {reason}); list the fleet again")]
    NotFound { what: String, reason: String },
    /// The API does not want it so.
    #[error(
        "{what}: refused ({status}: {reason}); the same request will be refused again, so change what it says"
    )]
    Refused {
        what: String,
        status: u16,
        reason: String,
    },
    /// Another upgrade stands where ours was to go.
    #[error("{what}: {there} stands in its way; wait until it is done, or cancel it first")]
    Conflict {
        what: String,
        /// What is there, for people.
        there: String,
        /// The policy that is there, if it can be seen.
        policy: Option<String>,
        /// The version it goes to, if that is known.
        version: Option<Version>,
    },
    /// What is to be cancelled runs already.
    #[error("{what}: it is {state} already, and what runs is not cancelled; wait for its end")]
    AlreadyStarted {
        what: String,
        /// The API's word for it.
        state: String,
    },
    /// Too many requests, for longer than we wait.
    #[error("{what}: the API asks for fewer requests (429); ask again {}", later(*.retry_after))]
    Busy {
        what: String,
        /// When it wants to be asked again, if it says.
        retry_after: Option<Duration>,
    },
    /// The API has a problem of its own.
    #[error("{what}: the API failed ({status}: {reason}); ask again later")]
    Server {
        what: String,
        status: u16,
        reason: String,
    },
    #[error("{what}: no answer in {} ms; look at the network and the API, or raise the timeout", limit.as_millis())]
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
        /// Of what: bytes or pages.
        unit: &'static str,
    },
    /// A list that moved while it was read.
    #[error(
        "{what}: the list has {total} items, and {seen} came; it changed while it was read, so read it again"
    )]
    IncompleteList {
        what: String,
        /// How many there should be.
        total: usize,
        seen: usize,
    },
    /// It wants us elsewhere. Nothing is sent there, the token least of all.
    #[error("{what}: redirected to {to}, which is not followed; set base_url to where the API is")]
    Redirected { what: String, to: String },
    /// An answer that does not mean anything to us.
    #[error(
        "{what}: the answer is not what this API gives ({problem}); check that base_url is an OCM-style API"
    )]
    BadAnswer { what: String, problem: String },
    /// The answer to a change was lost, and the change cannot be seen.
    #[error(
        "{what}: the answer was lost ({lost}) and it cannot be seen that it took effect; ask again, it does no harm"
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

    /// Whether the API understood what was asked and will not do it.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused { .. })
    }

    /// Whether the same read may well succeed in a moment.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Self::Busy { .. }
            | Self::Server { .. }
            | Self::Timeout { .. }
            | Self::Unreachable { .. }
            | Self::CutShort { .. } => true,
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

    /// Whether a change may have taken effect although it ended so.
    pub(crate) fn leaves_a_doubt(&self) -> bool {
        match self {
            Self::Busy { .. } => false,
            // The answer came and was good, or was about to be; what it said is not known.
            Self::BadAnswer { .. } | Self::TooLarge { .. } => true,
            _ => self.is_passing(),
        }
    }

    /// Whether it is about us and the API as a whole, whatever was asked.
    pub(crate) fn is_about_us(&self) -> bool {
        matches!(
            self,
            Self::BadConfig { .. }
                | Self::TokenFile { .. }
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
