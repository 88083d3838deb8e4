//! A signed token (a JWT, RFC 7519) of an issuer: read first, believed only once a key of the issuer has verified it.
//!
//! What its header says of keys and addresses (`jwk`, `jku`, `x5u`, `x5c`) is not read. `alg` is only compared with the
//! algorithm of the key.

use std::collections::BTreeSet;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use towpath_core::moment::ShownTime;

use super::claims::JwtClaims;
use super::keys::{Algorithm, IssuerKeys};
use crate::read::Unique;

/// The longest token, in characters. One with two hundred groups has about 10,000, and a request's head has 16 KiB.
pub const MAX_CHARACTERS: usize = 12 << 10;
/// How far the clocks of issuer and service may differ.
pub const LEEWAY: SignedDuration = SignedDuration::from_secs(60);
/// What a token may say that it is, without case. A logout token is signed by the same keys and is no login.
const KINDS: [&str; 3] = ["jwt", "at+jwt", "application/at+jwt"];

/// Whose tokens are taken, and for whom they must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// Compared to the letter.
    pub issuer: String,
    /// A token must be for one of these.
    pub audiences: BTreeSet<String>,
}

/// A token that was read. Nothing that it says may be believed.
pub struct Unverified<'t> {
    message: &'t [u8],
    signature: Vec<u8>,
    algorithm: Option<Algorithm>,
    key: Option<String>,
    claims: JwtClaims,
}

/// Why a token makes nobody known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JwtProblem {
    Malformed(String),
    /// The issuer has no key of this name (any more).
    UnknownKey,
    /// Its header names another algorithm than the key has.
    WrongAlgorithm,
    Forged,
    OtherIssuer,
    OtherAudience,
    Ended(Timestamp),
    Early(Timestamp),
    /// It was not made for this login.
    OtherLogin,
    /// It does not say who it is, in words that we take.
    Nameless(String),
}

impl<'t> Unverified<'t> {
    /// Whether a text has the shape of such a token: three parts. Ours have another one.
    pub fn has_shape(text: &str) -> bool {
        text.starts_with("ey") && text.split('.').count() == 3
    }

    pub fn parse(text: &'t str) -> Result<Self, JwtProblem> {
        if text.len() > MAX_CHARACTERS {
            let problem = format!("it has more than {MAX_CHARACTERS} characters");
            return Err(JwtProblem::Malformed(problem));
        }
        let parts: Vec<&str> = text.splitn(4, '.').collect();
        let [header, claims, signature] = parts[..] else {
            return Err(JwtProblem::malformed("it does not have three parts"));
        };
        let bytes = |part: &str| {
            let wrong = |_| JwtProblem::malformed("a part of it is not base64url");
            URL_SAFE_NO_PAD.decode(part).map_err(wrong)
        };
        let (algorithm, key) = header_of(&bytes(header)?)?;
        Ok(Self {
            message: &text.as_bytes()[..header.len() + 1 + claims.len()],
            signature: bytes(signature)?,
            algorithm,
            key,
            claims: JwtClaims::read(&bytes(claims)?)?,
        })
    }

    /// Who it says made it: to find the issuer to ask.
    pub fn issuer(&self) -> Option<&str> {
        self.claims.text("iss")
    }

    /// Of whom it says that it is: to find out whom to ask.
    pub fn subject(&self) -> Option<&str> {
        self.claims.text("sub")
    }

    /// What it says, if it is the issuer's, for us, and counts now.
    pub fn verify(
        self,
        keys: &IssuerKeys,
        expected: &Expected,
        now: Timestamp,
    ) -> Result<JwtClaims, JwtProblem> {
        if self.claims.text("iss") != Some(&expected.issuer) {
            return Err(JwtProblem::OtherIssuer);
        }
        let named = keys.named(self.key.as_deref());
        if named.is_empty() {
            return Err(JwtProblem::UnknownKey);
        }
        let fitting = named
            .into_iter()
            .filter(|key| Some(key.algorithm) == self.algorithm);
        let mut fitting = fitting.peekable();
        if fitting.peek().is_none() {
            return Err(JwtProblem::WrongAlgorithm);
        }
        if !fitting.any(|key| key.has_signed(self.message, &self.signature)) {
            return Err(JwtProblem::Forged);
        }
        let mut audiences = self.claims.audiences().into_iter();
        if !audiences.any(|audience| expected.audiences.contains(audience)) {
            return Err(JwtProblem::OtherAudience);
        }
        if self.claims.value("events").is_some() {
            return Err(JwtProblem::malformed(
                "it tells of an event, it is no login",
            ));
        }
        check_times(&self.claims, now)?;
        Ok(self.claims)
    }
}

/// The algorithm, if it is one of ours, and the name of the key.
fn header_of(bytes: &[u8]) -> Result<(Option<Algorithm>, Option<String>), JwtProblem> {
    let wrong = |_| JwtProblem::malformed("its header is not JSON with each name once");
    let Unique(header) = serde_json::from_slice::<Unique<Value>>(bytes).map_err(wrong)?;
    let text = |name: &str| match header.get(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str())),
        Some(_) => Err(JwtProblem::Malformed(format!(
            "the {name:?} of its header is no text"
        ))),
    };
    if header.contains_key("crit") {
        return Err(JwtProblem::malformed(
            "its header asks for an extension that is not known here",
        ));
    }
    let is_known = |kind: &str| KINDS.iter().any(|known| kind.eq_ignore_ascii_case(known));
    if text("typ")?.is_some_and(|kind| !is_known(kind)) {
        return Err(JwtProblem::malformed("it says that it is no login"));
    }
    let algorithm =
        text("alg")?.ok_or_else(|| JwtProblem::malformed("its header has no \"alg\""))?;
    Ok((Algorithm::named(algorithm), text("kid")?.map(str::to_owned)))
}

fn check_times(claims: &JwtClaims, now: Timestamp) -> Result<(), JwtProblem> {
    let end = claims.time("exp")?;
    let end = end.ok_or_else(|| JwtProblem::malformed("it has no end (\"exp\")"))?;
    if now.duration_since(end) >= LEEWAY {
        return Err(JwtProblem::Ended(end));
    }
    for name in ["nbf", "iat"] {
        match claims.time(name)? {
            Some(begin) if begin.duration_since(now) > LEEWAY => {
                return Err(JwtProblem::Early(begin));
            }
            _ => {}
        }
    }
    Ok(())
}

impl JwtProblem {
    pub(super) fn malformed(problem: &str) -> Self {
        Self::Malformed(problem.to_owned())
    }

    /// A stable word for answers and metrics.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "malformed_token",
            Self::UnknownKey => "unknown_key",
            Self::WrongAlgorithm => "wrong_algorithm",
            Self::Forged => "forged_token",
            Self::OtherIssuer => "other_issuer",
            Self::OtherAudience => "other_audience",
            Self::Ended(_) => "ended_token",
            Self::Early(_) => "early_token",
            Self::OtherLogin => "other_login",
            Self::Nameless(_) => "nameless_token",
        }
    }
}

impl fmt::Display for JwtProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(problem) => write!(
                f,
                "the token cannot be read: {problem}; copy it whole, or log in again"
            ),
            Self::UnknownKey => f.write_str(
                "the token was signed with a key that its issuer does not have (any more); log in again",
            ),
            Self::WrongAlgorithm => f.write_str(
                "the token names another algorithm than its issuer's key has; get one from the issuer",
            ),
            Self::Forged => {
                f.write_str("the token was not signed by its issuer, or was changed; log in again")
            }
            Self::OtherIssuer => f.write_str(
                "the token is of an issuer that this service does not know; get one from the issuer of --oidc-issuer",
            ),
            Self::OtherAudience => f.write_str(
                "the token is for another service; get one for a client or audience of this service (--oidc-client-id, --oidc-audience)",
            ),
            Self::Ended(end) => write!(f, "the token ended at {}; log in again", ShownTime(*end)),
            Self::Early(begin) => write!(
                f,
                "the token counts only from {}; compare the clocks of issuer and service",
                ShownTime(*begin)
            ),
            Self::OtherLogin => {
                f.write_str("the token was made for another login; log in again")
            }
            Self::Nameless(problem) => f.write_str(problem),
        }
    }
}
