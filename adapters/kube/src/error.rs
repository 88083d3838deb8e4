//! Errors of the Kubernetes API, each with the place, the problem and the remedy.

use crate::resource::Call;

/// Why a read or a write failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KubeError {
    /// The configuration cannot be used.
    #[error("{place}: {problem}; {remedy}")]
    Configuration {
        /// The file, or a name for another source.
        place: String,
        problem: String,
        remedy: &'static str,
    },
    /// The API rejects our credentials.
    #[error(
        "{call}: the API does not accept our credentials ({message}); renew the token or the certificate"
    )]
    Unauthorized { call: String, message: String },
    /// Our role lacks a permission.
    #[error("{call}: forbidden; let our role {verb} {resource} (the API said: {message})")]
    Forbidden {
        call: String,
        /// The verb that the role lacks.
        verb: &'static str,
        /// The resource as roles name it, with its group after a dot.
        resource: String,
        message: String,
    },
    /// The object does not exist.
    #[error("{call}: not found ({message})")]
    NotFound { call: String, message: String },
    /// The API refused the request.
    #[error("{call}: the API answered {code}: {message}")]
    Answer {
        call: String,
        code: u16,
        message: String,
    },
    /// There was no answer. A write may have been done: read the object again.
    #[error("{call}: no answer: {problem}; check that the API server is up and reachable")]
    Unanswered { call: String, problem: String },
    /// An answer exceeds one of our limits.
    #[error("{call}: {problem}; this is a limit of Towpath: please report it")]
    TooLarge { call: String, problem: String },
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

    /// Turns the result of a call into ours.
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

    /// The causes of an error that did not come from the API, outermost first.
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
/// The longest text of the API that we repeat, in bytes.
const MAX_SAID: usize = 1_000;

fn shortened(text: &str) -> String {
    let plain = text
        .chars()
        .map(|sign| if sign.is_control() { ' ' } else { sign });
    let short: String = plain.take(MAX_SAID).collect();
    short.trim().to_owned()
}
