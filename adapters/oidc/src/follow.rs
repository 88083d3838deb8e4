//! Reads the issuer's description and keys: at intervals, and when somebody wants them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use towpath_formats::oidc::{Discovery, IssuerKeys, MAX_KEYS_BYTES};
use towpath_http::{BodyLimit, HttpError, Request, Url};

use crate::Issuer;
use crate::addresses::Addresses;
use crate::state::Facts;

/// The first wait after a failure. It doubles up to the interval.
const FIRST_WAIT: Duration = Duration::from_secs(5);
const DESCRIPTION: &str = ".well-known/openid-configuration";

impl Issuer {
    /// Reads for ever. Each problem is told once, and when it is over.
    pub async fn follow(self: Arc<Self>, tell: impl Fn(Result<&str, &str>) + Send) {
        let (times, mut failures, mut told) = (self.options.times, 0, None);
        loop {
            let read = self.read().await;
            let problem = self.note(read);
            failures = if problem.is_some() { failures + 1 } else { 0 };
            if problem != told {
                tell(problem.as_deref().map_or_else(|| Ok(self.name()), Err));
            }
            told = problem;
            let wait = match failures {
                0 => times.read_every,
                failures => FIRST_WAIT
                    .saturating_mul(1 << failures.min(10))
                    .min(times.read_every),
            };
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = self.wanted.notified() => tokio::time::sleep(self.rest()).await,
            }
        }
    }

    /// How long to wait until it may be read again.
    fn rest(&self) -> Duration {
        let tried = self.state().tried;
        let since = tried.map_or(Duration::MAX, |tried| tried.elapsed());
        self.options.times.at_least_between.saturating_sub(since)
    }

    /// Keeps what was read, or why it was not: what was read before stays. Returns the problem.
    fn note(&self, read: Result<Facts, String>) -> Option<String> {
        let now = Instant::now();
        let mut state = self.state();
        state.tried = Some(now);
        let problem = match read {
            Ok(facts) => {
                state.facts = Some((Arc::new(facts), now));
                state.read += 1;
                None
            }
            Err(problem) => {
                state.failed += 1;
                Some(problem)
            }
        };
        state.problem.clone_from(&problem);
        drop(state);
        self.tries.send_modify(|tries| *tries += 1);
        problem
    }

    async fn read(&self) -> Result<Facts, String> {
        let issuer = &self.options.issuer;
        let place = format!("{}/{DESCRIPTION}", issuer.trim_end_matches('/'));
        let place = Url::parse(&place).map_err(|problem| format!("{place}: {problem}"))?;
        let bytes = self.get(&place, Discovery::MAX_BYTES).await?;
        let description =
            Discovery::read(&bytes, issuer).map_err(|problem| format!("{place} {problem}"))?;
        let addresses = Addresses::of(&self.url, &self.options.hosts, &description)
            .map_err(|problem| format!("{place} {problem}"))?;
        let bytes = self.get(&addresses.keys, MAX_KEYS_BYTES).await?;
        let keys =
            IssuerKeys::read(&bytes).map_err(|problem| format!("{} {problem}", addresses.keys))?;
        if keys.count() == 0 {
            let reasons = keys.unused().join("; ");
            return Err(format!(
                "{} has no key to check tokens with: {reasons}",
                addresses.keys
            ));
        }
        Ok(Facts {
            client_auth: description.client_auth,
            addresses,
            keys,
        })
    }

    /// Redirects are not followed: the issuer says where its things are.
    async fn get(&self, url: &Url, most: usize) -> Result<Vec<u8>, String> {
        let wrong = |error: HttpError| format!("{url}: {}", error.sentence("the issuer"));
        let request = Request::get(url.clone());
        let answer = self.client.send_led_by(&self.url, request).await;
        let answer = answer.map_err(wrong)?;
        let status = answer.status();
        if status != 200 {
            return Err(format!("{url}: the issuer answered {}", status.as_u16()));
        }
        answer
            .body(BodyLimit::bytes(most as u64))
            .await
            .map_err(wrong)
    }
}
