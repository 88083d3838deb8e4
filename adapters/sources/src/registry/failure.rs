//! Errors of registries, and the wait before a retry.

use std::time::Duration;

use towpath_core::finding::{Finding, Place};
use towpath_core::retry::{Jitter, Retry};
use towpath_http::HttpError;

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failure {
    /// A retry may help.
    Passing {
        problem: String,
        /// How long the registry asks us to wait.
        wait: Option<Duration>,
    },
    /// The content does not match its digest or size. A proxy may have damaged it, or it was pushed like that.
    Untrue(&'static str),
    /// A retry will not help; a person must act.
    Lasting {
        code: &'static str,
        problem: String,
        remedy: &'static str,
    },
}

impl Failure {
    pub(super) fn passing(problem: impl Into<String>) -> Self {
        Self::Passing {
            problem: problem.into(),
            wait: None,
        }
    }

    pub(super) fn too_large(what: &str, limit: u64) -> Self {
        let problem = format!("{what} is longer than {limit} bytes");
        Self::Lasting {
            code: "too-large",
            problem,
            remedy: "check that this is the right registry",
        }
    }

    /// Makes a finding.
    pub(super) fn finding(self, place: Place) -> Finding {
        match self {
            Self::Passing { problem, .. } => {
                let remedy = "check that the registry is up, and that it speaks TLS (else --plain-http), and try again";
                Finding::error("registry-unreachable", place, problem, remedy)
            }
            Self::Untrue(problem) => {
                Finding::error("bad-image", place, problem, "push the image again")
            }
            Self::Lasting {
                code,
                problem,
                remedy,
            } => Finding::error(code, place, problem, remedy),
        }
    }

    pub(super) fn problem(&self) -> &str {
        match self {
            Self::Passing { problem, .. } | Self::Lasting { problem, .. } => problem,
            Self::Untrue(problem) => problem,
        }
    }
}

impl From<HttpError> for Failure {
    fn from(error: HttpError) -> Self {
        let problem = error.sentence("the registry");
        match error {
            HttpError::Misled(_) | HttpError::NotSent(_) => lasting(problem),
            _ => Self::passing(problem),
        }
    }
}

pub(super) struct Attempts<'a> {
    pub(super) failed: u32,
    pub(super) retry: Retry,
    pub(super) jitter: &'a Jitter,
}

impl Attempts<'_> {
    /// Waits before another attempt, or returns the failure.
    pub(super) async fn pause(&mut self, failure: Failure) -> Result<(), Failure> {
        self.failed += 1;
        let wait = wait(&failure, self.failed, &self.retry, self.jitter).ok_or(failure)?;
        tokio::time::sleep(wait).await;
        Ok(())
    }
}

/// The wait after this many failed attempts; none if a retry is pointless.
fn wait(failure: &Failure, failed: u32, retry: &Retry, jitter: &Jitter) -> Option<Duration> {
    match failure {
        // All who were asked to wait so long do not come back at once.
        Failure::Passing {
            wait: asked @ Some(_),
            ..
        } => Some(retry.wait(failed, *asked, jitter)? + jitter.of(retry.backoff.first)),
        Failure::Passing { wait: None, .. } | Failure::Untrue(_) => {
            retry.wait(failed, None, jitter)
        }
        Failure::Lasting { .. } => None,
    }
}

pub(super) fn lasting(problem: String) -> Failure {
    Failure::Lasting {
        code: "http",
        problem,
        remedy: "check that this is a registry, and the right one",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RegistryLimits;

    #[test]
    fn the_registry_is_obeyed_up_to_a_limit_and_what_lasts_is_not_tried_again() {
        let (retry, jitter) = (RegistryLimits::default().retry, Jitter::new(7));
        let asked = |seconds| Failure::Passing {
            problem: String::new(),
            wait: Some(Duration::from_secs(seconds)),
        };
        let got = wait(&asked(30), 1, &retry, &jitter).unwrap();
        assert!(
            got >= Duration::from_secs(30) && got < Duration::from_secs(31),
            "{got:?}"
        );
        assert_eq!(wait(&asked(31), 1, &retry, &jitter), None);
        for failure in [Failure::passing(""), Failure::Untrue("")] {
            let got = wait(&failure, 2, &retry, &jitter).unwrap().as_millis();
            assert!((250..=500).contains(&got), "{got}");
            assert_eq!(wait(&failure, 4, &retry, &jitter), None, "the last attempt");
        }
        let lasting = Failure::too_large("it", 1);
        assert_eq!(wait(&lasting, 1, &retry, &jitter), None);
    }

    #[test]
    fn what_the_registry_does_on_purpose_lasts() {
        let misled = HttpError::Misled("redirects more than 5 times".to_owned());
        assert_eq!(
            Failure::from(misled),
            lasting("the registry redirects more than 5 times".to_owned())
        );
        assert_eq!(
            Failure::from(HttpError::Timeout),
            Failure::passing("the registry does not answer in time")
        );
    }
}
