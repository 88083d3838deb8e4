//! The login: where the bearer token of each request comes from.
//!
//! Either somebody else renews a file with the token, or we get tokens from a token service, with a service account's secret or with a
//! person's offline token. Access tokens of the real service live 15 minutes, so we renew them in time, and when the API rejects one.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Deserialize;
use tokio::sync::Mutex;
use towpath_http::{
    BadAddress, BearerToken, BodyLimit, HttpClient, Method, Request, TokenFile, Url, base_address,
    clip,
};

use crate::OcmError;

/// The longest token or secret; real ones have about 2 KiB.
const MAX_BYTES: u64 = 64 << 10;
/// The longest answer of a token service.
const MAX_ANSWER_BYTES: u64 = 1 << 20;
/// The client that offline tokens are made for.
const OFFLINE_CLIENT: &str = "cloud-services";
/// How long a token lives if the service does not say.
const USUAL_LIFE: Duration = Duration::from_secs(300);

/// How we log in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Login {
    /// A file with nothing but a bearer token. It is read for each request, so a new token is used at once.
    Bearer(PathBuf),
    /// A service account.
    ClientCredentials {
        token_url: String,
        client_id: String,
        secret_file: PathBuf,
    },
    /// A person's offline token, in a file.
    OfflineToken { token_url: String, file: PathBuf },
}

impl Login {
    /// The token service of the real API.
    pub const TOKEN_URL: &str =
        "https://sso.redhat.com/auth/realms/redhat-external/protocol/openid-connect/token";

    /// The file with the secret.
    pub fn file(&self) -> &Path {
        match self {
            Self::Bearer(file)
            | Self::ClientCredentials {
                secret_file: file, ..
            }
            | Self::OfflineToken { file, .. } => file,
        }
    }
}

impl<P: Into<PathBuf>> From<P> for Login {
    fn from(file: P) -> Self {
        Self::Bearer(file.into())
    }
}

/// A login in use.
pub(crate) struct Session {
    secret: TokenFile,
    /// None if the secret is the token itself.
    service: Option<TokenService>,
}

struct TokenService {
    url: Url,
    /// The fields of a request besides the secret, and the secret's own.
    fields: Vec<(&'static str, String)>,
    secret_field: &'static str,
    current: Mutex<Option<AccessToken>>,
}

struct AccessToken {
    token: BearerToken,
    renew_at: Instant,
    ends_at: Instant,
}

/// What a token service answers, as far as it concerns us.
#[derive(Deserialize)]
struct TokenAnswer {
    access_token: Option<String>,
    expires_in: Option<u64>,
    error: Option<String>,
    error_description: Option<String>,
}

impl Session {
    /// Fails if the file cannot be read, or the address cannot be used.
    pub(crate) fn new(login: Login, allow_http: bool) -> Result<Self, OcmError> {
        let secret = TokenFile::new(login.file(), MAX_BYTES);
        let service = |url: &str, fields, secret_field| {
            Ok::<_, OcmError>(TokenService {
                url: base_address(url, allow_http).map_err(|problem| bad_url(url, &problem))?,
                fields,
                secret_field,
                current: Mutex::new(None),
            })
        };
        let service = match login {
            Login::Bearer(_) => None,
            Login::ClientCredentials {
                token_url,
                client_id,
                ..
            } => {
                let grant = ("grant_type", "client_credentials".to_owned());
                let fields = vec![grant, ("client_id", client_id)];
                Some(service(&token_url, fields, "client_secret")?)
            }
            Login::OfflineToken { token_url, .. } => {
                let grant = ("grant_type", "refresh_token".to_owned());
                let fields = vec![grant, ("client_id", OFFLINE_CLIENT.to_owned())];
                Some(service(&token_url, fields, "refresh_token")?)
            }
        };
        let session = Self { secret, service };
        session
            .secret
            .read()
            .map_err(|problem| session.unread(problem))?;
        Ok(session)
    }

    /// How the token service is reached, if there is one.
    pub(crate) fn scheme(&self) -> Option<&str> {
        let service = self.service.as_ref();
        service.map(|service| service.url.scheme())
    }

    /// The token for a request.
    pub(crate) async fn token(&self, client: &HttpClient) -> Result<BearerToken, OcmError> {
        let secret = self.secret.read_or_last();
        let secret = secret.map_err(|problem| self.unread(problem))?;
        let Some(service) = &self.service else {
            return Ok(secret);
        };
        let mut current = service.current.lock().await;
        let known = current.as_ref();
        if let Some(known) = known.filter(|known| Instant::now() < known.renew_at) {
            return Ok(known.token.clone());
        }
        match service.renew(client, &secret, &mut current).await {
            // The old one lasts a little longer than we use it, so that a service that is away for a moment does no harm.
            Err(error) if error.is_passing() => match current.as_ref() {
                Some(known) if Instant::now() < known.ends_at => Ok(known.token.clone()),
                _ => Err(error),
            },
            renewed => renewed,
        }
    }

    /// Another token than the one that the API has rejected, if there is one.
    pub(crate) async fn other_than(
        &self,
        rejected: &BearerToken,
        client: &HttpClient,
    ) -> Result<Option<BearerToken>, OcmError> {
        let secret = self.secret.read();
        let secret = secret.map_err(|problem| self.unread(problem))?;
        let token = match &self.service {
            None => secret,
            Some(service) => {
                let mut current = service.current.lock().await;
                match &*current {
                    Some(known) if known.token != *rejected => known.token.clone(),
                    _ => service.renew(client, &secret, &mut current).await?,
                }
            }
        };
        Ok((token != *rejected).then_some(token))
    }

    fn unread(&self, problem: String) -> OcmError {
        OcmError::TokenFile {
            file: self.secret.path().display().to_string(),
            problem,
        }
    }
}

impl TokenService {
    async fn renew(
        &self,
        client: &HttpClient,
        secret: &BearerToken,
        current: &mut Option<AccessToken>,
    ) -> Result<BearerToken, OcmError> {
        let failed = |problem: String, is_passing: bool| OcmError::Login {
            url: address(&self.url),
            problem: clip(&problem),
            is_passing,
        };
        let mut form = self.url.clone();
        form.query_pairs_mut()
            .extend_pairs(&self.fields)
            .append_pair(self.secret_field, secret.as_str());
        let body = form.query().unwrap_or_default().to_owned();
        let request = Request::new(Method::POST, self.url.clone())
            .body("application/x-www-form-urlencoded", body);
        let answer = client.send(request).await;
        let answer = answer.map_err(|error| failed(error.sentence("the token service"), true))?;
        let status = answer.status();
        let body = answer.body(BodyLimit::bytes(MAX_ANSWER_BYTES)).await;
        let body = body.map_err(|error| failed(error.sentence("the token service"), true))?;
        let told: Option<TokenAnswer> = serde_json::from_slice(&body).ok();
        let (true, Some(told)) = (status.is_success(), &told) else {
            let why = told.and_then(|told| told.error_description.or(told.error));
            let why = why.map(|why| format!(": {why}")).unwrap_or_default();
            let is_passing = status.is_server_error() || status.as_u16() == 429;
            return Err(failed(
                format!("it answers {}{why}", status.as_u16()),
                is_passing,
            ));
        };
        let text = told.access_token.as_deref().unwrap_or_default();
        let token = BearerToken::parse(text).map_err(|problem| {
            failed(format!("the `access_token` of its answer {problem}"), false)
        })?;
        let life = told.expires_in.map_or(USUAL_LIFE, Duration::from_secs);
        let (life, now) = (life.min(Duration::from_secs(86_400)), Instant::now());
        // Before it ends: a request that is on its way needs it for a while.
        *current = Some(AccessToken {
            token: token.clone(),
            renew_at: now + life * 4 / 5,
            ends_at: now + life,
        });
        Ok(token)
    }
}

/// An address without what may be secret in it.
fn address(url: &Url) -> String {
    format!("{}{}", url.origin().ascii_serialization(), url.path())
}

fn bad_url(url: &str, problem: &BadAddress) -> OcmError {
    let place = match url.contains(['@', '?', '#']) {
        // There may be a password in it.
        true => "token_url".to_owned(),
        false => format!("token_url {url:?}"),
    };
    OcmError::BadConfig {
        place,
        problem: problem.to_string(),
        remedy: format!("write it as in {}", Login::TOKEN_URL),
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("secret", &self.secret.path())
            .finish_non_exhaustive()
    }
}
