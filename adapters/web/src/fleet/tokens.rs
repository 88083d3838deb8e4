//! Verifies tokens: their key, their purpose and their expiry.
//!
//! [`towpath_formats::fleet::token`] has the format. Tokens of the first version (`tpc_`, `tpa_`, `tpr_`) name no
//! organisation and never expire. They are accepted only before `--accept-unbound-tokens-until`, and a cluster that reports
//! with one stays unbound.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::Mac;
use http::StatusCode;
use jiff::Timestamp;
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

/// The keys of tokens: the first signs, all verify.
#[derive(Clone)]
pub struct TokenKeys {
    keys: Vec<Key>,
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
    /// Its enrolled identity; none if the token has only the id.
    pub(crate) enrolment: Option<Enrolment>,
}

/// The purpose that a request needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Admin,
    /// Read the fleet.
    Read,
    /// Reload sources.
    Reload,
}

/// Why a token is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TokenProblem {
    Malformed(String),
    UnknownKey,
    Forged,
    Ended(Timestamp),
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
                unbound_until: None,
            }),
            count => Err(format!(
                "there are {count} keys; at most {MAX_KEYS} are allowed: remove the last ones"
            )),
        }
    }

    /// Also accepts tokens of the first version, until then.
    pub fn accepting_unbound_until(self, until: Option<Timestamp>) -> Self {
        Self {
            unbound_until: until,
            ..self
        }
    }

    /// Makes a token with the first key, or says what is wrong with its claims.
    pub fn issue(&self, claims: &Claims) -> Result<String, String> {
        self.keys[0]
            .sign(claims)
            .map_err(|problem| problem.to_string())
    }

    /// The cluster with this id, if the token is its own.
    pub(crate) fn speaker(
        &self,
        token: &Token,
        id: &ClusterId,
        now: Timestamp,
    ) -> Result<Speaker, TokenProblem> {
        match token {
            Token::Malformed(problem) => Err(TokenProblem::Malformed(problem.clone())),
            Token::Second(token) => match &self.genuine(token, now)?.grant {
                Grant::Cluster(enrolment) if enrolment.id == *id => Ok(Speaker {
                    token: token.text().to_owned(),
                    enrolment: Some(enrolment.clone()),
                }),
                Grant::Cluster(_) => Err(TokenProblem::WrongCluster),
                Grant::Admin | Grant::NamedAdmin(_) | Grant::Reload | Grant::Read => {
                    Err(TokenProblem::WrongRole)
                }
            },
            Token::First { holder, code } => {
                self.takes_unbound(now)?;
                let parts: [&[u8]; 2] = [b"towpath/v1/cluster/", id.as_str().as_bytes()];
                match (*holder == Holder::Cluster) & self.fits(code, &parts) {
                    true => Ok(Speaker {
                        token: holder.text(code),
                        enrolment: None,
                    }),
                    false => Err(TokenProblem::WrongRole),
                }
            }
        }
    }

    /// Whether the token is for this.
    pub(crate) fn permits(
        &self,
        token: &Token,
        purpose: Purpose,
        now: Timestamp,
    ) -> Result<(), TokenProblem> {
        let permitted = match token {
            Token::Malformed(problem) => return Err(TokenProblem::Malformed(problem.clone())),
            Token::Second(token) => match (&self.genuine(token, now)?.grant, purpose) {
                (Grant::Admin | Grant::NamedAdmin(_), _) => true,
                (Grant::Read, purpose) => purpose == Purpose::Read,
                (Grant::Reload, purpose) => purpose == Purpose::Reload,
                (Grant::Cluster(_), _) => false,
            },
            Token::First { holder, code } => {
                self.takes_unbound(now)?;
                let admin = (*holder == Holder::Admin) & self.fits(code, &[b"towpath/v1/admin"]);
                let reload = (*holder == Holder::Reload) & self.fits(code, &[b"towpath/v1/reload"]);
                admin | (reload & (purpose == Purpose::Reload))
            }
        };
        permitted.then_some(()).ok_or(TokenProblem::WrongRole)
    }

    /// In whose name an administrator's token is; none if it has no name.
    pub(crate) fn person(
        &self,
        token: &Token,
        now: Timestamp,
    ) -> Result<Option<String>, TokenProblem> {
        self.permits(token, Purpose::Admin, now)?;
        Ok(match token {
            Token::Second(token) => match &token.claims().grant {
                Grant::NamedAdmin(name) => Some(name.clone()),
                Grant::Cluster(_) | Grant::Admin | Grant::Reload | Grant::Read => None,
            },
            Token::First { .. } | Token::Malformed(_) => None,
        })
    }

    /// Whether one of these keys made this token, and it has not ended.
    pub(crate) fn has_made(&self, token: &token::Token, now: Timestamp) -> bool {
        self.genuine(token, now).is_ok()
    }

    /// The claims of a token, if one of these keys signed it and it has not expired.
    fn genuine<'a>(
        &self,
        token: &'a token::Token,
        now: Timestamp,
    ) -> Result<&'a Claims, TokenProblem> {
        let key = self
            .keys
            .iter()
            .find(|key| key.id() == token.key())
            .ok_or(TokenProblem::UnknownKey)?;
        if !key.has_made(token) {
            return Err(TokenProblem::Forged);
        }
        match token.claims().end > now {
            true => Ok(token.claims()),
            false => Err(TokenProblem::Ended(token.claims().end)),
        }
    }

    fn takes_unbound(&self, now: Timestamp) -> Result<(), TokenProblem> {
        match self.unbound_until.is_some_and(|until| now < until) {
            true => Ok(()),
            false => Err(TokenProblem::Unbound),
        }
    }

    /// Tries every key in constant time, so that the time reveals nothing.
    fn fits(&self, code: &[u8; 32], parts: &[&[u8]]) -> bool {
        self.keys.iter().fold(false, |fits, key| {
            fits | key.code_of(parts).verify_slice(code).is_ok()
        })
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

    /// The token's text. Each code has only one spelling, so this equals the original text.
    fn text(self, code: &[u8; 32]) -> String {
        format!("{}{}", self.prefix(), URL_SAFE_NO_PAD.encode(code))
    }
}

impl Token {
    /// The problem of a `Bearer` value that is not one of our tokens.
    pub(crate) fn foreign() -> Self {
        Self::Malformed("it is not a token of `towpath fleet token`".to_owned())
    }

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
            Self::Malformed(_) | Self::UnknownKey | Self::Forged | Self::Ended(_) => {
                StatusCode::UNAUTHORIZED
            }
            Self::Unbound | Self::WrongRole | Self::WrongCluster => StatusCode::FORBIDDEN,
        }
    }

    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "malformed_token",
            Self::UnknownKey => "unknown_key",
            Self::Forged => "forged_token",
            Self::Ended(_) => "ended_token",
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
mod tests {
    use super::*;

    const OLD: &str = "0123456789abcdef0123456789abcdef";
    const NEW: &str = "fedcba9876543210fedcba9876543210";
    /// Tokens of the first version, made with the old key. From Python:
    /// base64.urlsafe_b64encode(hmac.new(key, message, "sha256").digest()).rstrip(b"=")
    const FIRST_CLUSTER: &str = "tpc_xLqZEoMr6ozXZmZ9yGQrqH36zDnH_CKzejYJSYPzCNw";
    const FIRST_ADMIN: &str = "tpa_rmimqpTqXgaEcd5_iWRkVCz39JuXZ5NKFTuKSUXKi-c";

    fn id(text: &str) -> ClusterId {
        ClusterId::new(text).unwrap()
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn noon() -> Timestamp {
        at("2026-11-16T12:00:00Z")
    }

    fn keys(text: &str) -> TokenKeys {
        TokenKeys::parse(text).unwrap()
    }

    fn of_cluster(name: &str) -> Grant {
        Grant::Cluster(Enrolment {
            organisation: "acme".into(),
            name: name.into(),
            id: id(name),
        })
    }

    fn made(by: &TokenKeys, grant: Grant) -> Token {
        let claims = Claims {
            grant,
            end: at("2026-11-16T12:00:01Z"),
            serial: "AAAAAAAAAAAAAAAA".into(),
        };
        Token::parse(&by.issue(&claims).unwrap()).unwrap()
    }

    #[test]
    fn a_token_is_for_one_thing() {
        let keys = keys(OLD);
        for (grant, expected) in [
            (Grant::Admin, [true, true, true, false]),
            (Grant::NamedAdmin("ada".into()), [true, true, true, false]),
            (Grant::Read, [false, true, false, false]),
            (Grant::Reload, [false, false, true, false]),
            (of_cluster("a"), [false, false, false, true]),
            (of_cluster("A"), [false; 4]),
        ] {
            let token = made(&keys, grant.clone());
            let may = |purpose| keys.permits(&token, purpose, noon()).is_ok();
            let speaks = keys.speaker(&token, &id("a"), noon()).is_ok();
            assert_eq!(
                [
                    may(Purpose::Admin),
                    may(Purpose::Read),
                    may(Purpose::Reload),
                    speaks
                ],
                expected,
                "{grant:?}"
            );
        }
        let problem = keys
            .speaker(&made(&keys, of_cluster("b")), &id("a"), noon())
            .err();
        assert_eq!(problem, Some(TokenProblem::WrongCluster));
    }

    #[test]
    fn a_token_ends_by_the_services_clock() {
        let keys = keys(OLD);
        let token = made(&keys, Grant::Admin);
        let end = at("2026-11-16T12:00:01Z");
        assert_eq!(keys.permits(&token, Purpose::Admin, noon()), Ok(()));
        assert_eq!(
            keys.permits(&token, Purpose::Admin, end),
            Err(TokenProblem::Ended(end))
        );
    }

    #[test]
    fn keys_are_rotated_by_putting_a_new_one_first() {
        let (old, both, new) = (
            keys(OLD),
            keys(&format!("# since May\n{NEW}\n\n  {OLD}  \n")),
            keys(NEW),
        );
        let made_before = made(&old, Grant::Admin);
        assert_eq!(both.permits(&made_before, Purpose::Admin, noon()), Ok(()));
        assert_eq!(
            new.permits(&made_before, Purpose::Admin, noon()),
            Err(TokenProblem::UnknownKey)
        );
        assert_eq!(
            new.permits(&made(&both, Grant::Admin), Purpose::Admin, noon()),
            Ok(()),
            "the first key signs"
        );
    }

    #[test]
    fn tokens_of_the_first_version_are_taken_until_a_day_that_was_named() {
        let (cluster, admin) = (
            Token::parse(FIRST_CLUSTER).unwrap(),
            Token::parse(FIRST_ADMIN).unwrap(),
        );
        let closed = keys(OLD);
        assert_eq!(
            closed.permits(&admin, Purpose::Admin, noon()),
            Err(TokenProblem::Unbound)
        );
        assert_eq!(
            closed.speaker(&cluster, &id("0f3a"), noon()).err(),
            Some(TokenProblem::Unbound)
        );
        let open = keys(OLD).accepting_unbound_until(Some(at("2026-11-16T12:00:01Z")));
        let speaker = open.speaker(&cluster, &id("0f3a"), noon()).unwrap();
        assert_eq!((&*speaker.token, speaker.enrolment), (FIRST_CLUSTER, None));
        assert_eq!(open.permits(&admin, Purpose::Admin, noon()), Ok(()));
        assert_eq!(
            open.permits(&admin, Purpose::Admin, at("2026-11-16T12:00:01Z")),
            Err(TokenProblem::Unbound)
        );
        assert!(
            open.speaker(&cluster, &id("0f3b"), noon()).is_err()
                && open.speaker(&admin, &id("0f3a"), noon()).is_err()
        );
        assert!(open.permits(&cluster, Purpose::Read, noon()).is_err());
        let relabelled = Token::parse(&FIRST_ADMIN.replace(ADMIN, CLUSTER)).unwrap();
        assert!(open.speaker(&relabelled, &id("0f3a"), noon()).is_err());
    }

    #[test]
    fn what_is_no_token() {
        let cut = &FIRST_ADMIN[..FIRST_ADMIN.len() - 1];
        for text in [
            "",
            "tpa_",
            "tpx_AAAA",
            cut,
            &format!("{FIRST_ADMIN}A"),
            &format!("{FIRST_ADMIN}="),
            &FIRST_ADMIN[4..],
        ] {
            assert!(Token::parse(text).is_none(), "{text}");
        }
        assert!(matches!(Token::parse("tp2_"), Some(Token::Malformed(_))));
    }

    #[test]
    fn a_key_file_is_refused_with_a_line_and_without_showing_keys() {
        for (text, expected) in [
            (String::new(), "there is no key"),
            ("# nothing\n".to_owned(), "there is no key"),
            (
                format!("{NEW}\n{}", &OLD[1..]),
                "line 2: a key has 32 characters",
            ),
            (
                format!("{OLD}\n#\n{OLD}"),
                "line 3: the same key as in line 1",
            ),
            (
                (0..9).map(|n| format!("{n}{OLD}\n")).collect(),
                "there are 9 keys",
            ),
        ] {
            let error = TokenKeys::parse(&text).unwrap_err();
            assert!(
                error.contains(expected) && !error.contains("abcdef"),
                "{error}"
            );
        }
        assert_eq!(format!("{:?}", keys(OLD)), "1 keys");
    }
}
