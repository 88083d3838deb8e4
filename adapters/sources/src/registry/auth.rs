//! Authentication to registries. We send credentials only when asked: a name and password, or a token from the
//! registry's token service.
//!
//! A token is kept for one repository until it expires. Requests that are refused at the same time share one new token.
//! The auth file is read again whenever a registry asks, because passwords change while we run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tokio::sync::Mutex;
use towpath_core::finding::{Finding, Place};
use towpath_formats::sources::docker_auth::{self, AuthFile, Credential};
use towpath_formats::sources::oci::{Challenge, Repository, challenges, read_token};
use towpath_http::header::{HeaderMap, HeaderValue, WWW_AUTHENTICATE};
use towpath_http::{HttpClient, Method, Request, Url, clip, may_lead};

use super::failure::Failure;
use super::options::RegistryLimits;
use crate::directory::read_file;

/// Tokens are not used this shortly before they expire.
const LAST_MOMENTS: Duration = Duration::from_secs(10);
const MAX_AUTH_FILE_BYTES: u64 = 4 << 20;
const LONGEST: Duration = Duration::from_secs(24 * 3_600);

/// Our credentials, and the tokens in use.
#[derive(Debug)]
pub(super) struct Auth {
    file: Option<PathBuf>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    credentials: AuthFile,
    held: BTreeMap<Repository, AuthorizationHeader>,
}

#[derive(Debug)]
struct AuthorizationHeader {
    header: HeaderValue,
    until: Option<Instant>,
}

pub(super) struct Door<'a> {
    pub(super) http: &'a HttpClient,
    pub(super) limits: &'a RegistryLimits,
    /// The registry's address.
    pub(super) registry: &'a Url,
}

impl Auth {
    /// Reads the auth file. Without one, we are anonymous.
    pub(super) fn new(file: Option<PathBuf>) -> Result<Self, Finding> {
        let credentials = file
            .as_deref()
            .map(credentials)
            .transpose()?
            .unwrap_or_default();
        Ok(Self {
            file,
            state: Mutex::new(State {
                credentials,
                held: BTreeMap::new(),
            }),
        })
    }

    /// The header that worked last time, unless it has expired.
    pub(super) async fn header(&self, repository: &Repository) -> Option<HeaderValue> {
        let state = self.state.lock().await;
        state
            .held
            .get(repository)
            .filter(|held| held.is_good())
            .map(|held| held.header.clone())
    }

    /// The header to send to a registry that refused us with these headers.
    pub(super) async fn answer(
        &self,
        repository: &Repository,
        asked: &HeaderMap,
        refused: Option<&HeaderValue>,
        door: &Door<'_>,
    ) -> Result<HeaderValue, Failure> {
        let mut state = self.state.lock().await;
        let another = state
            .held
            .get(repository)
            .filter(|held| held.is_good() && Some(&held.header) != refused);
        if let Some(held) = another {
            return Ok(held.header.clone());
        }
        // A file that is just being written is read the next time; until then, what it said before counts.
        if let Some(Ok(newest)) = self.file.as_deref().map(credentials) {
            state.credentials = newest;
        }
        let credential = state.credentials.credential_for(repository);
        let texts = asked
            .get_all(WWW_AUTHENTICATE)
            .iter()
            .filter_map(|value| value.to_str().ok());
        let challenges: Vec<Challenge> = texts.flat_map(challenges).collect();
        let bearer = challenges
            .iter()
            .find(|challenge| matches!(challenge, Challenge::Bearer { .. }));
        let held = match (bearer.or(challenges.first()), credential) {
            (Some(Challenge::Bearer { .. }), Some(Credential::Bearer(token))) => {
                AuthorizationHeader::for_ever(&format!("Bearer {token}"))?
            }
            (
                Some(Challenge::Bearer {
                    realm,
                    service,
                    scope,
                }),
                credential,
            ) => {
                let usual = format!("repository:{}:pull", repository.path());
                let wanted = [
                    ("service", service.as_deref()),
                    ("scope", Some(scope.as_deref().unwrap_or(&usual))),
                ];
                door.fetch(realm, &wanted, credential).await?
            }
            (Some(Challenge::Basic), Some(Credential::Basic { user, password })) => {
                AuthorizationHeader::for_ever(&basic(user, password))?
            }
            _ => return Err(unknown(&state.credentials, repository)),
        };
        if Some(&held.header) == refused {
            return Err(unauthorised(
                "the registry does not accept our credentials",
                "log in again, and name the new file",
            ));
        }
        let header = held.header.clone();
        state.held.insert(repository.clone(), held);
        Ok(header)
    }
}

fn credentials(file: &Path) -> Result<AuthFile, Finding> {
    docker_auth::read(
        &Place::file(file.display().to_string()),
        &read_file(file, MAX_AUTH_FILE_BYTES)?,
    )
}

fn unknown(credentials: &AuthFile, repository: &Repository) -> Failure {
    match credentials.needs_helper(repository) {
        true => unauthorised(
            "the auth file names a credential helper for it, and helpers are not run",
            "write the credentials into a file with `podman login --authfile`",
        ),
        false => unauthorised(
            "the registry asks for credentials, and the auth file has none for it",
            "name a file that has them with --registry-auth-file",
        ),
    }
}

impl AuthorizationHeader {
    fn is_good(&self) -> bool {
        self.until.is_none_or(|until| Instant::now() < until)
    }

    fn for_ever(text: &str) -> Result<Self, Failure> {
        Ok(Self {
            header: secret(text)?,
            until: None,
        })
    }
}

impl Door<'_> {
    /// Fetches a token from the registry's token service, with our credentials if we have any.
    async fn fetch(
        &self,
        realm: &str,
        wanted: &[(&str, Option<&str>)],
        credential: Option<&Credential>,
    ) -> Result<AuthorizationHeader, Failure> {
        let mut url = self.realm(realm)?;
        let wanted = wanted
            .iter()
            .filter_map(|(key, value)| value.map(|value| (*key, value)));
        let request = match credential {
            Some(Credential::Identity(token)) => {
                let fixed = [
                    ("grant_type", "refresh_token"),
                    ("client_id", "towpath"),
                    ("refresh_token", token.as_str()),
                ];
                let form = form_urlencoded::Serializer::new(String::new())
                    .extend_pairs(fixed)
                    .extend_pairs(wanted)
                    .finish();
                Request::new(Method::POST, url).body("application/x-www-form-urlencoded", form)
            }
            credential => {
                url.query_pairs_mut().extend_pairs(wanted);
                let known_by = match credential {
                    Some(Credential::Basic { user, password }) => {
                        Some(secret(&basic(user, password))?)
                    }
                    _ => None,
                };
                Request::get(url).authorization(known_by)
            }
        };
        let request = request.timeout(self.limits.answer_timeout);
        let answer = self.http.send_led_by(self.registry, request).await?;
        let status = answer.status().as_u16();
        match status {
            200 => {}
            429 | 500.. => {
                return Err(Failure::Passing {
                    problem: format!("the registry's token service answered {status}"),
                    wait: answer.retry_after(),
                });
            }
            _ => {
                let problem = format!("the registry's token service answered {status}");
                return Err(unauthorised(
                    &problem,
                    "check the credentials in the auth file",
                ));
            }
        }
        let limit = self.limits.manifest_bytes;
        let body = super::client::body(answer, "a token", limit, self.limits).await?;
        let token = read_token(&body)
            .map_err(|problem| unauthorised(problem, "check the registry's token service"))?;
        let good_for = Duration::from_secs(token.seconds)
            .min(LONGEST)
            .saturating_sub(LAST_MOMENTS);
        Ok(AuthorizationHeader {
            header: secret(&format!("Bearer {}", token.text))?,
            until: Some(Instant::now() + good_for),
        })
    }

    /// The address of the token service, if we accept it.
    fn realm(&self, realm: &str) -> Result<Url, Failure> {
        match Url::parse(realm)
            .ok()
            .filter(|url| may_fetch_token(self.registry, url))
        {
            Some(url) => Ok(url),
            None => {
                let problem = format!(
                    "the registry names a token service that we refuse: {:?}",
                    clip(realm)
                );
                Err(unauthorised(
                    &problem,
                    "check how the registry configures its token service",
                ))
            }
        }
    }
}

/// Whether we may send credentials to that token service. Over plain HTTP, only to the registry's own host.
fn may_fetch_token(registry: &Url, realm: &Url) -> bool {
    let is_guarded = realm.scheme() == "https" || realm.host_str() == registry.host_str();
    is_guarded && may_lead(registry, realm)
}

fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
}

/// A header that no log shows.
fn secret(text: &str) -> Result<HeaderValue, Failure> {
    let wrong = |_| {
        unauthorised(
            "the token is not valid in a header",
            "log in again, and name the new file",
        )
    };
    let mut value = HeaderValue::from_str(text).map_err(wrong)?;
    value.set_sensitive(true);
    Ok(value)
}

pub(super) fn unauthorised(problem: &str, remedy: &'static str) -> Failure {
    Failure::Lasting {
        code: "unauthorised",
        problem: problem.to_owned(),
        remedy,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn in_the_clear_only_the_registrys_own_host_is_told_who_we_are() {
        for (registry, realm, expected) in [
            ("http://r.io:5000/", "http://r.io:5001/token", true),
            ("http://r.io:5000/", "https://auth.io/token", true),
            ("http://r.io:5000/", "http://auth.io/token", false),
            (
                "http://127.0.0.1:5000/",
                "http://127.0.0.1:5001/token",
                true,
            ),
            (
                "http://127.0.0.1:5000/",
                "http://localhost:5001/token",
                false,
            ),
            ("http://r.io:5000/", "https://127.0.0.1/token", false),
            ("https://r.io/", "http://r.io/token", false),
            ("https://r.io/", "https://auth.io/token", true),
        ] {
            assert_eq!(
                may_fetch_token(&url(registry), &url(realm)),
                expected,
                "{registry} {realm}"
            );
        }
    }
}
