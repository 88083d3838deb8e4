//! What can go wrong between us and a registry, and how long to wait before it is tried again.

use std::time::Duration;

use towpath_core::finding::{Finding, Place};
use towpath_core::retry::Jitter;

use super::options::RegistryLimits;

const MAX_PROBLEM_CHARS: usize = 300;

/// Why something could not be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failure {
    /// It may be had in a moment.
    Passing {
        problem: String,
        /// How long the registry asks us to wait.
        wait: Option<Duration>,
    },
    /// It is not what was said of it. A proxy may have mangled it; if it comes so again and again, it was pushed so.
    Untrue(&'static str),
    /// Asking again will not help; somebody has to do something.
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

    /// As a finding at this place.
    pub(super) fn finding(self, place: Place) -> Finding {
        match self {
            Self::Passing { problem, .. } => {
                let remedy = "check that the registry is up, and that it speaks TLS (else --plain-http), and try again";
                Finding::error("registry-unreachable", place, problem, remedy)
            }
            Self::Untrue(problem) => {
                Finding::error("bad-image", place, problem, "push the image anew")
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

impl From<reqwest::Error> for Failure {
    fn from(error: reqwest::Error) -> Self {
        // Where a registry sends us for blobs, the query of the address is what lets us in.
        let error = error.without_url();
        Self::passing(match (error.is_timeout(), error.is_connect()) {
            (true, true) => "the registry cannot be reached in time".to_owned(),
            (true, false) => "the registry does not answer in time".to_owned(),
            (false, true) => format!("the registry cannot be reached: {}", innermost(&error)),
            (false, false) => format!("the answer is cut short: {}", innermost(&error)),
        })
    }
}

pub(super) struct Attempts<'a> {
    pub(super) made: u32,
    pub(super) limits: &'a RegistryLimits,
    pub(super) jitter: &'a Jitter,
}

impl Attempts<'_> {
    /// Waits, if another attempt is worth it; else it gives the failure back.
    pub(super) async fn pause(&mut self, failure: Failure) -> Result<(), Failure> {
        let wait = wait(&failure, self.made, self.limits, self.jitter).ok_or(failure)?;
        self.made += 1;
        tokio::time::sleep(wait).await;
        Ok(())
    }
}

/// The wait after a failed attempt (from 0); none if it is not worth trying again.
fn wait(
    failure: &Failure,
    attempt: u32,
    limits: &RegistryLimits,
    jitter: &Jitter,
) -> Option<Duration> {
    match failure {
        Failure::Passing { .. } | Failure::Untrue(_) if attempt + 1 >= limits.attempts => None,
        // Earlier than it asks for would be rude, and later than our limit is for the next time.
        Failure::Passing {
            wait: Some(asked), ..
        } => (*asked <= limits.longest_wait).then(|| *asked + jitter.of(limits.backoff)),
        Failure::Passing { wait: None, .. } | Failure::Untrue(_) => {
            Some(jitter.backoff(limits.backoff, limits.longest_wait, attempt))
        }
        Failure::Lasting { .. } => None,
    }
}

/// What went wrong first.
pub(super) fn innermost(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    clip(&error.to_string())
}

/// Foreign text for people: one line, not too long.
pub(super) fn clip(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(MAX_PROBLEM_CHARS)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_limit_and_the_registry_is_obeyed() {
        let limits = RegistryLimits {
            attempts: 40,
            ..RegistryLimits::default()
        };
        let jitter = Jitter::new(7);
        for (attempt, whole) in [(0, 250), (1, 500), (2, 1_000), (10, 30_000), (38, 30_000)] {
            let got = wait(&Failure::passing(""), attempt, &limits, &jitter)
                .unwrap()
                .as_millis();
            assert!((whole / 2..=whole).contains(&got), "{attempt}: {got}");
        }
        let asked = |seconds| Failure::Passing {
            problem: String::new(),
            wait: Some(Duration::from_secs(seconds)),
        };
        let got = wait(&asked(30), 0, &limits, &jitter).unwrap();
        assert!(
            got >= Duration::from_secs(30) && got < Duration::from_secs(31),
            "{got:?}"
        );
        assert_eq!(wait(&asked(31), 0, &limits, &jitter), None);
        assert_eq!(
            wait(&Failure::passing(""), 39, &limits, &jitter),
            None,
            "the last attempt"
        );
        assert_eq!(
            wait(&Failure::too_large("it", 1), 0, &limits, &jitter),
            None
        );
    }

    #[test]
    fn no_address_is_told() {
        let error = crate::http::tests::error_with_its_address("s3cret");
        assert!(
            error.to_string().contains("s3cret"),
            "it is worth hiding: {error}"
        );
        let Failure::Passing { problem, .. } = Failure::from(error) else {
            panic!("it may pass")
        };
        assert!(
            problem.starts_with("the answer is cut short: ") && !problem.contains("s3cret"),
            "{problem}"
        );
    }
}
