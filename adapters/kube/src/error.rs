//! What can go wrong at the API's door, each with the place, the problem and the remedy.

use crate::resource::Call;

/// Why something could not be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KubeError {
    /// The configuration says nothing that can be used.
    #[error("{place}: {problem}; {remedy}")]
    Configuration {
        /// The file, or what stands for it.
        place: String,
        /// What is wrong with it.
        problem: String,
        remedy: &'static str,
    },
    /// The API does not know who we are.
    #[error(
        "{call}: the API does not accept our credentials ({message}); renew the token or the certificate"
    )]
    Unauthorized { call: String, message: String },
    /// The role is too small.
    #[error("{call}: forbidden; let the agent's role {verb} {resource} (the API said: {message})")]
    Forbidden {
        call: String,
        /// The verb that the role lacks.
        verb: &'static str,
        /// The resource that it lacks it on, as roles name it, with its group after a dot.
        resource: String,
        message: String,
    },
    /// The API has no such thing.
    #[error("{call}: there is no such thing ({message})")]
    NotFound { call: String, message: String },
    /// There was an answer, and it was no.
    #[error("{call}: the API answered {code}: {message}")]
    Answer {
        call: String,
        code: u16,
        message: String,
    },
    /// There was no answer. Whether a write was done is not known: look again.
    #[error(
        "{call}: no answer: {problem}; look whether the API server is there and can be reached"
    )]
    Unanswered { call: String, problem: String },
    /// More than we are prepared to hold.
    #[error("{call}: {problem}; this is a limit of towpath's, tell us about your cluster")]
    TooLarge {
        call: String,
        /// What there is too much of.
        problem: String,
    },
}

impl KubeError {
    /// A stable word for metrics and logs.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Configuration { .. } => "configuration",
            Self::Unauthorized { .. } => "unauthorized",
            Self::Forbidden { .. } => "forbidden",
            Self::NotFound { .. } => "not-found",
            Self::Answer { .. } => "refused",
            Self::Unanswered { .. } => "unanswered",
            Self::TooLarge { .. } => "too-large",
        }
    }

    /// What became of a call.
    pub(crate) fn of(call: &Call<'_>, error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Self::answered(call, status.code, &status.message),
            other => Self::unanswered(call, &other),
        }
    }

    pub(crate) fn answered(call: &Call<'_>, code: u16, message: &str) -> Self {
        let (said, call_text) = (shortened(message), call.to_string());
        match code {
            401 => Self::Unauthorized {
                call: call_text,
                message: said,
            },
            403 => Self::Forbidden {
                call: call_text,
                verb: call.verb.as_str(),
                resource: call.target(),
                message: said,
            },
            404 => Self::NotFound {
                call: call_text,
                message: said,
            },
            code => Self::Answer {
                call: call_text,
                code,
                message: said,
            },
        }
    }

    /// The causes of an error that no API has sent, outermost first.
    pub(crate) fn unanswered(call: &Call<'_>, error: &dyn std::error::Error) -> Self {
        let mut words = vec![error.to_string()];
        let mut cause = error.source();
        while let Some(error) = cause.filter(|_| words.len() < MAX_CAUSES) {
            let text = error.to_string();
            if !words.iter().any(|known| known.contains(&text)) {
                words.push(text);
            }
            cause = error.source();
        }
        Self::Unanswered {
            call: call.to_string(),
            problem: shortened(&words.join(": ")),
        }
    }

    pub(crate) fn too_slow(call: &Call<'_>, seconds: u64) -> Self {
        Self::Unanswered {
            call: call.to_string(),
            problem: format!("nothing came within {seconds} s"),
        }
    }
}

const MAX_CAUSES: usize = 8;
/// So much of what an API says is repeated.
const MAX_SAID: usize = 1_000;

fn shortened(text: &str) -> String {
    let plain = text
        .chars()
        .map(|sign| if sign.is_control() { ' ' } else { sign });
    let short: String = plain.take(MAX_SAID).collect();
    short.trim().to_owned()
}
