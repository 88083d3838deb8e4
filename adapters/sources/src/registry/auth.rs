//! Who we are to a registry: nothing until it asks, then a name and password, or a token that it sends us to fetch.
//!
//! A token is kept for as long as it is good and for one repository. Many requests that are refused at once fetch one token together.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use reqwest::{Client, Url};
use tokio::sync::Mutex;
use towpath_formats::docker_auth::{AuthFile, Credential};
use towpath_formats::oci::{Challenge, Repository, challenges, read_token};

use super::failure::{Failure, clip, retry_after};
use super::options::RegistryLimits;

/// A token is not used in its last moments, so that it does not end on the way.
const LAST_MOMENTS: Duration = Duration::from_secs(10);
const LONGEST: Duration = Duration::from_secs(24 * 3_600);

/// What registries have been told, and what they can be told.
#[derive(Debug)]
pub(super) struct Auth {
    credentials: AuthFile,
    held: Mutex<BTreeMap<Repository, Held>>,
}

#[derive(Debug)]
struct Held {
    header: HeaderValue,
    until: Option<Instant>,
}

/// How tokens are fetched.
pub(super) struct Door<'a> {
    pub(super) http: &'a Client,
    pub(super) limits: &'a RegistryLimits,
    pub(super) plain_http: bool,
}

impl Auth {
    pub(super) fn new(credentials: AuthFile) -> Self {
        Self { credentials, held: Mutex::default() }
    }

    /// What was good last time and still should be.
    pub(super) async fn header(&self, repository: &Repository) -> Option<HeaderValue> {
        let held = self.held.lock().await;
        held.get(repository).filter(|held| held.is_good()).map(|held| held.header.clone())
    }

    /// What to say to a registry that refused us with these headers.
    pub(super) async fn answer(
        &self,
        repository: &Repository,
        asked: &HeaderMap,
        refused: Option<&HeaderValue>,
        door: &Door<'_>,
    ) -> Result<HeaderValue, Failure> {
        let mut all = self.held.lock().await;
        let another = all.get(repository).filter(|held| held.is_good() && Some(&held.header) != refused);
        if let Some(held) = another {
            return Ok(held.header.clone());
        }
        let credential = self.credentials.credential_for(repository);
        let texts = asked.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
        let challenges: Vec<Challenge> = texts.flat_map(challenges).collect();
        let bearer = challenges.iter().find(|challenge| matches!(challenge, Challenge::Bearer { .. }));
        let held = match (bearer.or(challenges.first()), credential) {
            (Some(Challenge::Bearer { .. }), Some(Credential::Bearer(token))) => {
                Held::for_ever(&format!("Bearer {token}"))?
            }
            (Some(Challenge::Bearer { realm, service, scope }), credential) => {
                let usual = format!("repository:{}:pull", repository.path());
                let wanted = [("service", service.as_deref()), ("scope", Some(scope.as_deref().unwrap_or(&usual)))];
                door.fetch(realm, &wanted, credential).await?
            }
            (Some(Challenge::Basic), Some(Credential::Basic { user, password })) => {
                Held::for_ever(&basic(user, password))?
            }
            _ => return Err(self.unknown(repository)),
        };
        if Some(&held.header) == refused {
            return Err(unauthorised(
                "the registry does not accept our credentials",
                "log in anew, and name the new file",
            ));
        }
        let header = held.header.clone();
        all.insert(repository.clone(), held);
        Ok(header)
    }

    fn unknown(&self, repository: &Repository) -> Failure {
        match self.credentials.needs_helper(repository) {
            true => unauthorised(
                "the auth file names a credential helper for it, and helpers are not run",
                "write the credentials into a file with `podman login --authfile`",
            ),
            false => unauthorised(
                "the registry wants credentials, and there are none for it",
                "name a file that has them with --auth-file",
            ),
        }
    }
}

impl Held {
    fn is_good(&self) -> bool {
        self.until.is_none_or(|until| Instant::now() < until)
    }

    fn for_ever(text: &str) -> Result<Self, Failure> {
        Ok(Self { header: secret(text)?, until: None })
    }
}

impl Door<'_> {
    /// A token, from where the registry sends us. With what we are known by, if there is anything.
    async fn fetch(
        &self,
        realm: &str,
        wanted: &[(&str, Option<&str>)],
        credential: Option<&Credential>,
    ) -> Result<Held, Failure> {
        let mut url = self.realm(realm)?;
        let wanted = wanted.iter().filter_map(|(key, value)| value.map(|value| (*key, value)));
        let request = match credential {
            Some(Credential::Identity(token)) => {
                let fixed =
                    [("grant_type", "refresh_token"), ("client_id", "towpath"), ("refresh_token", token.as_str())];
                let form =
                    form_urlencoded::Serializer::new(String::new()).extend_pairs(fixed).extend_pairs(wanted).finish();
                self.http.post(url).header("content-type", "application/x-www-form-urlencoded").body(form)
            }
            credential => {
                url.query_pairs_mut().extend_pairs(wanted);
                match credential {
                    Some(Credential::Basic { user, password }) => {
                        self.http.get(url).header(AUTHORIZATION, secret(&basic(user, password))?)
                    }
                    _ => self.http.get(url),
                }
            }
        };
        let answer = request.timeout(self.limits.answer_timeout).send().await.map_err(|error| Failure::from(&error))?;
        let status = answer.status().as_u16();
        match status {
            200 => {}
            429 | 500.. => {
                let wait = answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
                let wait = wait.and_then(|text| retry_after(text, Timestamp::now()));
                return Err(Failure::Passing {
                    problem: format!("the registry's token service answered {status}"),
                    wait,
                });
            }
            _ => {
                let problem = format!("the registry's token service answered {status}");
                return Err(unauthorised(&problem, "check the credentials in the auth file"));
            }
        }
        let body = super::client::body(answer, "a token", self.limits.manifest_bytes).await?;
        let token =
            read_token(&body).map_err(|problem| unauthorised(problem, "look at the registry's token service"))?;
        let good_for = Duration::from_secs(token.seconds).min(LONGEST).saturating_sub(LAST_MOMENTS);
        Ok(Held { header: secret(&format!("Bearer {}", token.text))?, until: Some(Instant::now() + good_for) })
    }

    /// Where tokens are. A registry with TLS cannot send our credentials to a place without.
    fn realm(&self, realm: &str) -> Result<Url, Failure> {
        let url = Url::parse(realm).ok().filter(|url| url.has_host());
        match url {
            Some(url) if url.scheme() == "https" || (url.scheme() == "http" && self.plain_http) => Ok(url),
            _ => {
                let problem = format!("the registry sends us for a token to {:?}, where we do not go", clip(realm));
                Err(unauthorised(&problem, "look at the registry's configuration of its token service"))
            }
        }
    }
}

fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
}

/// A header that is shown in no log.
fn secret(text: &str) -> Result<HeaderValue, Failure> {
    let wrong = |_| unauthorised("the token cannot stand in a header", "log in anew, and name the new file");
    let mut value = HeaderValue::from_str(text).map_err(wrong)?;
    value.set_sensitive(true);
    Ok(value)
}

pub(super) fn unauthorised(problem: &str, remedy: &'static str) -> Failure {
    Failure::Lasting { code: "unauthorised", problem: problem.to_owned(), remedy }
}
