//! Verifies our own tokens: their key, their expiry, and that nobody revoked them.
//!
//! People's tokens have keys of their own, so who can make a cluster's token cannot make a person's.
//! [`towpath_formats::fleet::token`] has the format. Tokens of the first version (`tpc_`, `tpr_`) name no organisation and
//! never expire. They are accepted only before `--accept-unbound-tokens-until`, and a cluster that reports with one stays
//! unbound. Those of administrators (`tpa_`) name nobody, so they are not accepted at all.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::Mac;
use http::StatusCode;
use jiff::Timestamp;
use towpath_core::access::{Grants, Reach, RevokedTokens, Role};
use towpath_core::cluster::ClusterId;
use towpath_core::moment::ShownTime;
use towpath_formats::fleet::token::{self, Claims, Enrolment, Grant, Key};

/// The shortest key, in characters.
const MIN_KEY_CHARACTERS: usize = 32;
const MAX_KEY_BYTES: usize = 1024;
/// The most keys: each check of a token of the first version tries all of them.
const MAX_KEYS: usize = 8;

const CLUSTER: &str = "tpc_";
const ADMIN: &str = "tpa_";
const RELOAD: &str = "tpr_";

/// The keys of one file: the first signs, all verify.
#[derive(Clone)]
pub struct TokenKeys {
    keys: Vec<Key>,
}

/// The keys of a service. None of them is in both files.
#[derive(Debug, Clone, Default)]
pub struct AccessKeys {
    /// Of the tokens of clusters and pipelines.
    machines: Option<TokenKeys>,
    /// Of the tokens of people.
    people: Option<TokenKeys>,
    /// Tokens of the first version are accepted until then.
    unbound_until: Option<Timestamp>,
}

/// The claimed purpose of a token of the first version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holder {
    Cluster,
    Admin,
    Reload,
}

/// A parsed token that is not verified yet. It is secret: nothing prints it.
pub(crate) enum Token {
    /// A token with claims.
    Second(Box<token::Token>),
    /// A token of the first version.
    First { holder: Holder, code: [u8; 32] },
    /// Has our prefix, but is invalid.
    Malformed(String),
}

/// A cluster with a verified token.
pub(crate) struct Speaker {
    /// The token's text: a secret that only the cluster and we share.
    pub(crate) token: String,
    /// What the token says; none if it has only the id.
    pub(crate) claims: Option<Claims>,
}

impl Speaker {
    /// Its enrolled identity; none if the token has only the id.
    pub(crate) fn enrolment(self) -> Option<Enrolment> {
        match self.claims?.grant {
            Grant::Cluster(enrolment) => Some(enrolment),
            Grant::Person(_) | Grant::Reload => None,
        }
    }
}

/// Why a token is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TokenProblem {
    Malformed(String),
    /// There are no keys that could have made it.
    NoKeys(&'static str),
    UnknownKey,
    Forged,
    Ended(Timestamp),
    Revoked,
    /// Nobody knows yet which tokens are revoked.
    RevocationsUnknown,
    /// It is of the first version.
    Unbound,
    /// It is for something else.
    WrongRole,
    WrongCluster,
}

impl TokenKeys {
    /// Parses a key file: one key per line; empty lines and lines that begin with `#` are ignored. Errors name the line and
    /// never show a key.
    pub fn parse(text: &str) -> Result<Self, String> {
        let lines = text
            .lines()
            .map(str::trim)
            .enumerate()
            .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let mut keys: Vec<(usize, &str)> = Vec::new();
        for (number, line) in lines.map(|(index, line)| (index + 1, line)) {
            if line.chars().count() < MIN_KEY_CHARACTERS || line.len() > MAX_KEY_BYTES {
                let rule = format!("{MIN_KEY_CHARACTERS} characters to {MAX_KEY_BYTES} bytes");
                return Err(format!(
                    "line {number}: a key has {rule}; make one with `openssl rand -base64 48`"
                ));
            }
            if let Some((first, _)) = keys.iter().find(|(_, known)| *known == line) {
                return Err(format!(
                    "line {number}: the same key as in line {first}; remove one of them"
                ));
            }
            keys.push((number, line));
        }
        match keys.len() {
            0 => Err("there is no key; make one with `openssl rand -base64 48`".to_owned()),
            1..=MAX_KEYS => Ok(Self {
                keys: keys.into_iter().map(|(_, key)| Key::new(key)).collect(),
            }),
            count => Err(format!(
                "there are {count} keys; at most {MAX_KEYS} are allowed: remove the last ones"
            )),
        }
    }

    /// Makes a token with the first key, or says what is wrong with its claims.
    pub fn issue(&self, claims: &Claims) -> Result<String, String> {
        self.keys[0]
            .sign(claims)
            .map_err(|problem| problem.to_string())
    }

    fn genuine<'a>(&self, token: &'a token::Token) -> Result<&'a Claims, TokenProblem> {
        let mut keys = self.keys.iter();
        let key = keys
            .find(|key| key.id() == token.key())
            .ok_or(TokenProblem::UnknownKey)?;
        match key.has_made(token) {
            true => Ok(token.claims()),
            false => Err(TokenProblem::Forged),
        }
    }

    /// Tries every key in constant time, so that the time reveals nothing.
    fn fits(&self, code: &[u8; 32], parts: &[&[u8]]) -> bool {
        self.keys.iter().fold(false, |fits, key| {
            fits | key.code_of(parts).verify_slice(code).is_ok()
        })
    }
}

impl AccessKeys {
    /// Refuses a key that is in both files: whoever can make a cluster's token could make a person's with it.
    pub fn new(machines: Option<TokenKeys>, people: Option<TokenKeys>) -> Result<Self, String> {
        let of =
            |keys: &Option<TokenKeys>| keys.iter().flat_map(|keys| keys.keys.clone()).collect();
        let (first, second): (Vec<Key>, Vec<Key>) = (of(&machines), of(&people));
        let is_shared = |key: &Key| second.iter().any(|other| other.id() == key.id());
        match first.iter().find(|key| is_shared(key)) {
            Some(key) => Err(format!(
                "the key with the id {} is among the keys of machines and among those of people; make another one for people with `openssl rand -base64 48`",
                key.id().as_str()
            )),
            None => Ok(Self {
                machines,
                people,
                unbound_until: None,
            }),
        }
    }

    /// Also accepts tokens of the first version, until then.
    pub fn accepting_unbound_until(self, until: Option<Timestamp>) -> Self {
        Self {
            unbound_until: until,
            ..self
        }
    }

    /// Makes a token of a machine with the first key.
    pub(crate) fn reissue(&self, claims: &Claims) -> Result<String, String> {
        match &self.machines {
            Some(keys) => keys.issue(claims),
            None => Err("there are no keys of machines".to_owned()),
        }
    }

    /// Whether there are no keys at all.
    pub(crate) fn are_none(&self) -> bool {
        self.machines.is_none() && self.people.is_none()
    }

    /// The cluster with this id, if the token is its own.
    pub(crate) fn speaker(
        &self,
        token: &Token,
        id: &ClusterId,
        revoked: &RevokedTokens,
        now: Timestamp,
    ) -> Result<Speaker, TokenProblem> {
        match token {
            Token::Malformed(problem) => Err(TokenProblem::Malformed(problem.clone())),
            Token::Second(token) => {
                let claims = self.genuine(token, revoked, now)?;
                match &claims.grant {
                    Grant::Cluster(enrolment) if enrolment.id == *id => Ok(Speaker {
                        token: token.text().to_owned(),
                        claims: Some(claims.clone()),
                    }),
                    Grant::Cluster(_) => Err(TokenProblem::WrongCluster),
                    Grant::Person(_) | Grant::Reload => Err(TokenProblem::WrongRole),
                }
            }
            Token::First { holder, code } => {
                let keys = self.of_first_version(now)?;
                let parts: [&[u8]; 2] = [b"towpath/v1/cluster/", id.as_str().as_bytes()];
                match (*holder == Holder::Cluster) & keys.fits(code, &parts) {
                    true => Ok(Speaker {
                        token: holder.text(code),
                        claims: None,
                    }),
                    false => Err(TokenProblem::WrongRole),
                }
            }
        }
    }

    /// What the holder of a token of the first version may do.
    pub(crate) fn unbound(
        &self,
        holder: Holder,
        code: &[u8; 32],
        now: Timestamp,
    ) -> Result<Grants, TokenProblem> {
        let keys = self.of_first_version(now)?;
        let reload = (holder == Holder::Reload) & keys.fits(code, &[b"towpath/v1/reload"]);
        match (holder, reload) {
            (Holder::Admin, _) => Err(TokenProblem::Unbound),
            (_, true) => Ok(Grants::from_iter([(Role::Pipeline, Reach::Everywhere)])),
            (_, false) => Ok(Grants::default()),
        }
    }

    /// The claims of a token, if one of the keys of its kind signed it, it has not expired, and nobody revoked it.
    pub(crate) fn genuine<'a>(
        &self,
        token: &'a token::Token,
        revoked: &RevokedTokens,
        now: Timestamp,
    ) -> Result<&'a Claims, TokenProblem> {
        let (keys, flag) = match token.claims().grant {
            Grant::Person(_) => (&self.people, "--people-keys"),
            Grant::Cluster(_) | Grant::Reload => (&self.machines, "--token-keys"),
        };
        let keys = keys.as_ref().ok_or(TokenProblem::NoKeys(flag))?;
        let claims = keys.genuine(token)?;
        match (claims.end > now, revoked.contain(claims.facts())) {
            (false, _) => Err(TokenProblem::Ended(claims.end)),
            (true, true) => Err(TokenProblem::Revoked),
            (true, false) => Ok(claims),
        }
    }

    /// The keys for tokens of the first version, while they are taken.
    fn of_first_version(&self, now: Timestamp) -> Result<&TokenKeys, TokenProblem> {
        let is_taken = self.unbound_until.is_some_and(|until| now < until);
        let keys = self.machines.as_ref().filter(|_| is_taken);
        keys.ok_or(TokenProblem::Unbound)
    }
}

impl Holder {
    fn prefix(self) -> &'static str {
        match self {
            Self::Cluster => CLUSTER,
            Self::Admin => ADMIN,
            Self::Reload => RELOAD,
        }
    }

    /// What its holder is called. Its token names nobody.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Cluster => "a cluster",
            Self::Admin => "an administrator",
            Self::Reload => "a pipeline",
        }
    }

    /// The token's text. Each code has only one spelling, so this equals the original text.
    fn text(self, code: &[u8; 32]) -> String {
        format!("{}{}", self.prefix(), URL_SAFE_NO_PAD.encode(code))
    }
}

impl Token {
    /// The problem of a `Bearer` value that is not one of our tokens.
    pub(crate) const FOREIGN: &str = "it is not a token of `towpath fleet token`";

    /// Parses the value after `Bearer`; none if it is not one of our tokens.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text.starts_with(token::PREFIX) {
            return Some(match token::Token::parse(text) {
                Ok(token) => Self::Second(Box::new(token)),
                Err(problem) => Self::Malformed(problem.to_string()),
            });
        }
        let holders = [Holder::Cluster, Holder::Admin, Holder::Reload];
        let (code, holder) = holders
            .into_iter()
            .find_map(|holder| Some((text.strip_prefix(holder.prefix())?, holder)))?;
        let code = URL_SAFE_NO_PAD.decode(code).ok()?.try_into().ok()?;
        Some(Self::First { holder, code })
    }
}

impl TokenProblem {
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Malformed(_)
            | Self::UnknownKey
            | Self::Forged
            | Self::Ended(_)
            | Self::Revoked => StatusCode::UNAUTHORIZED,
            Self::RevocationsUnknown => StatusCode::SERVICE_UNAVAILABLE,
            Self::NoKeys(_) | Self::Unbound | Self::WrongRole | Self::WrongCluster => {
                StatusCode::FORBIDDEN
            }
        }
    }

    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "malformed_token",
            Self::NoKeys(_) => "no_token_key",
            Self::UnknownKey => "unknown_key",
            Self::Forged => "forged_token",
            Self::Ended(_) => "ended_token",
            Self::Revoked => "revoked_token",
            Self::RevocationsUnknown => "unavailable",
            Self::Unbound => "unbound_token",
            Self::WrongRole => "wrong_token",
            Self::WrongCluster => "wrong_cluster",
        }
    }
}

impl fmt::Display for TokenProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(problem) => {
                write!(f, "the token cannot be read: {problem}; copy it whole, or make a new one with `towpath fleet token`")
            }
            Self::NoKeys(flag) => {
                write!(f, "no key is configured to check such a token with; start the service with {flag}")
            }
            Self::RevocationsUnknown => f.write_str(
                "the store has not been reached yet, and it knows which tokens are revoked; try again",
            ),
            Self::Revoked => f.write_str(
                "the token was revoked, or its cluster was forgotten; `towpath access tokens` says by whom and why, `towpath fleet token` makes a new one",
            ),
            Self::UnknownKey => f.write_str(
                "the token was made with a key that this service does not have (any more); make a new one with `towpath fleet token`",
            ),
            Self::Forged => f.write_str("the token was changed after it was made; `towpath fleet token` makes a new one"),
            Self::Ended(end) => write!(f, "the token ended at {}; make a new one with `towpath fleet token`", ShownTime(*end)),
            Self::Unbound => f.write_str(
                "tokens of the first version (tpc_, tpa_, tpr_) are not taken: make a new one with `towpath fleet token`; \
                 `--accept-unbound-tokens-until DATE` lets the service take them for a while",
            ),
            Self::WrongRole => {
                f.write_str("this token is not the one that is needed here; `towpath fleet token` makes it")
            }
            Self::WrongCluster => {
                f.write_str("this token is another cluster's; `towpath fleet token --cluster ID --org ID --name NAME` makes this one's")
            }
        }
    }
}

impl fmt::Debug for TokenKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} keys", self.keys.len())
    }
}

#[cfg(test)]
mod tests;
