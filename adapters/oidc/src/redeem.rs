//! Gets a person's token for a code that the page was given (RFC 6749, RFC 7636).
//!
//! The page asks us, because its content policy lets it ask nobody else. The code is worth nothing without the verifier, which
//! only that page has. The token is checked before the page gets it.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde::Deserialize;
use towpath_formats::oidc::{ClientAuth, CodeExchange, Expected, IssuedPerson, JwtProblem};
use towpath_http::{BodyLimit, HttpError, Method, Request, Url, clip, header, may_ask};

use crate::state::Facts;
use crate::{Issuer, NotKnown};

const MAX_ANSWER_BYTES: u64 = 256 << 10;
/// Where the page is when it comes back.
const LOGIN_PATH: &str = "/login";
const FORM: &str = "application/x-www-form-urlencoded";

/// A login that succeeded.
pub struct Login {
    pub token: String,
    pub person: IssuedPerson,
}

/// Why a login failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoginProblem {
    /// Nobody can log in with a browser here.
    NoLogin(String),
    /// What the page sent cannot be used.
    BadRequest(String),
    /// The issuer gives no token for it.
    Refused(String),
    Token(JwtProblem),
    /// Too many logins at once, or the issuer cannot be reached.
    Unavailable(String),
}

#[derive(Deserialize)]
struct TokenAnswer {
    id_token: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ErrorAnswer {
    error: String,
    error_description: String,
}

impl Issuer {
    /// The person's token for a code.
    pub async fn redeem(
        &self,
        exchange: &CodeExchange,
        now: Timestamp,
    ) -> Result<Login, LoginProblem> {
        let url = Url::parse(&exchange.redirect_uri).ok();
        if !url.is_some_and(|url| url.path() == LOGIN_PATH && may_ask(&url, true)) {
            let sentence = "the redirect URI is not the page's own, which ends in /login";
            return Err(LoginProblem::BadRequest(sentence.to_owned()));
        }
        let Some(client_id) = &self.options.client_id else {
            let sentence =
                "nobody can log in with a browser here; start the service with --oidc-client-id";
            return Err(LoginProblem::NoLogin(sentence.to_owned()));
        };
        let busy = || {
            LoginProblem::Unavailable(
                "too many people log in at once; try again in a few seconds".to_owned(),
            )
        };
        let _place = self.logins.try_acquire().map_err(|_| busy())?;
        let facts = self
            .facts()
            .ok_or_else(|| LoginProblem::from(self.unavailable()))?;
        let token = self.token_for(exchange, client_id, &facts).await?;
        let expected = Expected {
            issuer: self.options.issuer.clone(),
            audiences: [client_id.clone()].into(),
        };
        let claims = self.checked(&token, &expected, now).await?;
        // The token of another login, or of another client, is nobody's here.
        let is_of_client = claims.text("azp").is_none_or(|client| client == client_id);
        if claims.text("nonce") != Some(&exchange.nonce) || !is_of_client {
            return Err(LoginProblem::Token(JwtProblem::OtherLogin));
        }
        let person = self.options.people.person(&claims);
        let person = person.map_err(LoginProblem::Token)?;
        Ok(Login { token, person })
    }

    async fn token_for(
        &self,
        exchange: &CodeExchange,
        client_id: &str,
        facts: &Facts,
    ) -> Result<String, LoginProblem> {
        let request = self.request_for(exchange, client_id, facts)?;
        let away = |error: HttpError| LoginProblem::Unavailable(error.sentence("the issuer"));
        let answer = self
            .client
            .send_led_by(&self.url, request)
            .await
            .map_err(away)?;
        let status = answer.status().as_u16();
        let body = answer
            .body(BodyLimit::bytes(MAX_ANSWER_BYTES))
            .await
            .map_err(away)?;
        match status {
            200 => {
                let answer: Option<TokenAnswer> = serde_json::from_slice(&body).ok();
                let no_token =
                    "the issuer's answer has no id_token; have it answer the scope openid";
                let token = answer.and_then(|answer| answer.id_token);
                token.ok_or_else(|| LoginProblem::Refused(no_token.to_owned()))
            }
            400..=499 => {
                let said: ErrorAnswer = serde_json::from_slice(&body).unwrap_or_default();
                let said = clip(format!("{} {}", said.error, said.error_description).trim());
                Err(LoginProblem::Refused(format!(
                    "the issuer gives no token for this login ({status} {said}); log in again"
                )))
            }
            status => Err(LoginProblem::Unavailable(format!(
                "the issuer answered {status}; try again in a few seconds"
            ))),
        }
    }

    fn request_for(
        &self,
        exchange: &CodeExchange,
        client_id: &str,
        facts: &Facts,
    ) -> Result<Request, LoginProblem> {
        let no_place = || {
            LoginProblem::NoLogin(format!(
                "{} offers no login with PKCE (S256) for browsers",
                self.name()
            ))
        };
        let login = facts.addresses.login.as_ref().ok_or_else(no_place)?;
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.append_pair("grant_type", "authorization_code")
            .append_pair("code", &exchange.code)
            .append_pair("redirect_uri", &exchange.redirect_uri)
            .append_pair("code_verifier", &exchange.verifier);
        let mut request = Request::new(Method::POST, login.token.clone());
        match (self.secret()?, facts.client_auth) {
            (Some(secret), ClientAuth::Basic) => {
                request = request.authorization(basic(client_id, &secret));
            }
            (Some(secret), ClientAuth::Post) => {
                form.append_pair("client_id", client_id)
                    .append_pair("client_secret", &secret);
            }
            (None, _) => {
                form.append_pair("client_id", client_id);
            }
        }
        Ok(request
            .header(header::ACCEPT, "application/json")
            .body(FORM, form.finish()))
    }

    fn secret(&self) -> Result<Option<String>, LoginProblem> {
        let Some(file) = &self.secret else {
            return Ok(None);
        };
        let secret = file.read_or_last().map_err(|problem| {
            let path = file.path().display();
            LoginProblem::Unavailable(format!("--oidc-client-secret {path} {problem}"))
        })?;
        Ok(Some(secret.as_str().to_owned()))
    }
}

/// RFC 6749, 2.3.1: both are encoded as in a form first.
fn basic(client_id: &str, secret: &str) -> Option<header::HeaderValue> {
    let encoded = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let pair = STANDARD.encode(format!("{}:{}", encoded(client_id), encoded(secret)));
    let mut value = header::HeaderValue::from_str(&format!("Basic {pair}")).ok()?;
    value.set_sensitive(true);
    Some(value)
}

impl From<NotKnown> for LoginProblem {
    fn from(problem: NotKnown) -> Self {
        match problem {
            NotKnown::Token(problem) => Self::Token(problem),
            NotKnown::Unavailable(problem) => Self::Unavailable(problem),
        }
    }
}

impl LoginProblem {
    /// A stable word for answers.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::NoLogin(_) => "no_login",
            Self::BadRequest(_) => "invalid_body",
            Self::Refused(_) => "login_refused",
            Self::Token(problem) => problem.kind(),
            Self::Unavailable(_) => "unavailable",
        }
    }
}

impl fmt::Display for LoginProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoLogin(sentence)
            | Self::BadRequest(sentence)
            | Self::Refused(sentence)
            | Self::Unavailable(sentence) => f.write_str(sentence),
            Self::Token(problem) => problem.fmt(f),
        }
    }
}
