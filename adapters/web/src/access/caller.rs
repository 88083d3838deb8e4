//! Who sent a request.

use std::borrow::Cow;
use std::sync::Arc;

use http::request::Parts;
use http::{HeaderMap, StatusCode, header};
use jiff::Timestamp;
use towpath_core::access::{Grants, Identity, RevokedTokens, Source};
use towpath_core::cluster::ClusterId;
use towpath_formats::fleet::token::{Claims, Grant};

use super::admit::admitted_reader;
use super::keys::{Holder, Speaker, Token, TokenProblem};
use super::{Access, NotRecognised};
use crate::Service;
use crate::fleet::{Sight, query};
use crate::refusal::{OrRefusal, Refusal};

/// The longest name of a person, in bytes: as long as in a token.
const MAX_NAME_BYTES: usize = 256;
const NO_TOKEN: &str = "send Authorization: Bearer and a token";
const NO_KEYS: &str = "no key is configured to check tokens with; start the service with --token-keys for clusters and pipelines, and --people-keys for people";

/// Who sent a request.
#[derive(Debug, Clone, Default)]
pub(crate) enum Caller {
    /// Somebody without a token.
    #[default]
    Nobody,
    /// Somebody whose token is not taken, and why.
    Refused(Refusal),
    Known(Arc<Known>),
}

/// Somebody who was recognised.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) identity: Identity,
    pub(crate) grants: Grants,
}

impl Caller {
    /// The caller of a request that was [introduced](Service::introduce).
    pub(crate) fn of(head: &Parts) -> Self {
        head.extensions.get().cloned().unwrap_or_default()
    }

    pub(crate) fn identity(&self) -> Option<&Identity> {
        match self {
            Self::Known(known) => Some(&known.identity),
            Self::Nobody | Self::Refused(_) => None,
        }
    }

    /// Somebody who was recognised, or the refusal of everybody else.
    pub(crate) fn known(&self, service: &Service) -> OrRefusal<&Known> {
        match self {
            Self::Known(known) => Ok(known),
            Self::Refused(refusal) => Err(refusal.clone()),
            Self::Nobody => Err(absent(service)),
        }
    }
}

impl Service {
    /// The head of a request with its caller in it.
    pub(crate) async fn introduce<'a>(&self, head: &'a Parts) -> Cow<'a, Parts> {
        let Some(token) = bearer_text(&head.headers) else {
            return Cow::Borrowed(head);
        };
        let caller = self.caller(token).await;
        let mut head = head.clone();
        head.extensions.insert(caller);
        Cow::Owned(head)
    }

    async fn caller(&self, token: &str) -> Caller {
        let (access, now) = (&self.access, self.now());
        let known = match Token::parse(token) {
            Some(token) => access.holder(&token, now).map_err(not_taken),
            None => access.recognised(token, now).await,
        };
        match known {
            Ok(known) => Caller::Known(Arc::new(known)),
            Err(refusal) => Caller::Refused(refusal),
        }
    }
}

impl Access {
    /// Whether there is no way to recognise anybody.
    fn knows_nobody(&self) -> bool {
        self.keys.load().are_none() && self.authenticators.load().is_empty()
    }

    /// What is revoked. A token that may have been revoked is not taken.
    fn revoked(&self) -> Result<Arc<RevokedTokens>, TokenProblem> {
        let revoked = self.all_revoked.load_full();
        revoked.ok_or(TokenProblem::RevocationsUnknown)
    }

    /// The cluster with this id, if the token is its own.
    fn speaker(
        &self,
        token: &Token,
        id: &ClusterId,
        now: Timestamp,
    ) -> Result<Speaker, TokenProblem> {
        let keys = self.keys.load();
        keys.speaker(token, id, &*self.revoked()?, now)
    }

    /// The holder of one of our own tokens.
    fn holder(&self, token: &Token, now: Timestamp) -> Result<Known, TokenProblem> {
        let keys = self.keys.load();
        match token {
            Token::Malformed(problem) => Err(TokenProblem::Malformed(problem.clone())),
            Token::Second(token) => {
                let claims = keys.genuine(token, &*self.revoked()?, now)?;
                Ok(Known {
                    identity: identity(claims),
                    grants: claims.grant.grants(),
                })
            }
            Token::First { holder, code } => Ok(Known {
                grants: keys.unbound(*holder, code, now)?,
                identity: Identity {
                    name: holder.name().into(),
                    source: Source::Token { serial: "".into() },
                },
            }),
        }
    }

    /// The person whom one of the authenticators knows.
    async fn recognised(&self, token: &str, now: Timestamp) -> OrRefusal<Known> {
        let authenticators = self.authenticators.load_full();
        for authenticator in authenticators.iter() {
            let person = match authenticator.recognise(token, now).await {
                None => continue,
                Some(recognised) => recognised.map_err(not_recognised)?,
            };
            if !is_name(&person.identity.name) {
                let sentence = "the token names nobody, or with a name that cannot be logged; ask whoever made it for a name of 1 to 256 bytes on one line";
                return Err(unauthorized("unnamed_token", sentence));
            }
            let policy = self.policy.load();
            return Ok(Known {
                grants: policy.grants(&person.identity, &person.groups),
                identity: person.identity,
            });
        }
        Err(not_taken(TokenProblem::Malformed(
            Token::FOREIGN.to_owned(),
        )))
    }
}

/// Whom a token names.
fn identity(claims: &Claims) -> Identity {
    let name = match &claims.grant {
        Grant::Cluster(enrolment) => &enrolment.name,
        Grant::Reload => Holder::Reload.name(),
        Grant::Person(person) => &person.name,
    };
    Identity {
        name: name.into(),
        source: Source::Token {
            serial: claims.serial.as_str().into(),
        },
    }
}

fn is_name(name: &str) -> bool {
    (1..=MAX_NAME_BYTES).contains(&name.len()) && !name.contains(char::is_control)
}

/// Checks that the caller may see this cluster: readers of the fleet and the cluster itself may. Otherwise it refuses.
pub(crate) fn may_ask_about(service: &Service, head: &Parts, id: &ClusterId) -> OrRefusal<()> {
    if service.fleet.load().is_none() {
        return Ok(());
    }
    let is_its_own = bearer(&head.headers)
        .is_some_and(|token| service.access.speaker(&token, id, service.now()).is_ok());
    match is_its_own {
        true => Ok(()),
        false => admitted_reader(service, &Caller::of(head)),
    }
}

/// The same check without a refusal: other callers get an answer without the cluster's data.
pub(crate) fn sight_of(service: &Service, head: &Parts, id: &ClusterId) -> Sight {
    may_ask_about(service, head, id).map_or(Sight::Nameless, |()| Sight::Whole)
}

/// How much of the whole fleet the caller sees.
pub(crate) fn sight(service: &Service, caller: &Caller) -> Sight {
    admitted_reader(service, caller).map_or(Sight::Nameless, |()| Sight::Whole)
}

/// The cluster in the path, if the caller has its token.
pub(crate) fn speaking(
    service: &Service,
    cluster: &str,
    headers: &HeaderMap,
) -> OrRefusal<(ClusterId, Speaker)> {
    let token = bearer(headers).ok_or_else(|| absent(service))?;
    let name = query::named(cluster).map_err(Refusal::invalid_params)?;
    let id = ClusterId::new(&name)
        .ok_or_else(|| Refusal::invalid_params("the cluster's id is too long".to_owned()))?;
    let speaker = service.access.speaker(&token, &id, service.now());
    Ok((id, speaker.map_err(not_taken)?))
}

/// The token of a request, if one of our keys made it and it counts.
pub(crate) fn genuine_token(service: &Service, headers: &HeaderMap) -> Option<String> {
    let Token::Second(token) = bearer(headers)? else {
        return None;
    };
    let (keys, revoked) = (service.access.keys.load(), service.access.revoked().ok()?);
    let genuine = keys.genuine(&token, &revoked, service.now());
    genuine.is_ok().then(|| token.text().to_owned())
}

/// The cluster that a token claims to be of.
pub(crate) enum ClaimedCluster {
    Id(String),
    /// A token of the first version does not say.
    Unsaid,
}

/// The cluster that the token of a request claims, valid or not; none if it is no cluster's.
pub(crate) fn claimed_cluster(headers: &HeaderMap) -> Option<ClaimedCluster> {
    match bearer(headers)? {
        Token::Second(token) => match &token.claims().grant {
            Grant::Cluster(enrolment) => Some(ClaimedCluster::Id(enrolment.id.as_str().to_owned())),
            Grant::Person(_) | Grant::Reload => None,
        },
        Token::First { holder, .. } => {
            (holder == Holder::Cluster).then_some(ClaimedCluster::Unsaid)
        }
        Token::Malformed(_) => None,
    }
}

/// The token of a request, valid or not.
fn bearer(headers: &HeaderMap) -> Option<Token> {
    let token = bearer_text(headers)?;
    let foreign = || Token::Malformed(Token::FOREIGN.to_owned());
    Some(Token::parse(token).unwrap_or_else(foreign))
}

fn bearer_text(headers: &HeaderMap) -> Option<&str> {
    let credentials = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok());
    let bearer = credentials
        .and_then(|text| text.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    let token = bearer.map(|(_, token)| token.trim());
    token.filter(|token| !token.is_empty())
}

/// The refusal of a request without a token.
fn absent(service: &Service) -> Refusal {
    match service.access.knows_nobody() {
        true => Refusal::new(StatusCode::FORBIDDEN, "no_token_key", NO_KEYS),
        false => unauthorized("no_token", NO_TOKEN),
    }
}

fn unauthorized(kind: &'static str, sentence: impl Into<String>) -> Refusal {
    Refusal::new(StatusCode::UNAUTHORIZED, kind, sentence)
}

fn not_taken(problem: TokenProblem) -> Refusal {
    Refusal::new(problem.status(), problem.kind(), problem.to_string())
}

fn not_recognised(problem: NotRecognised) -> Refusal {
    match problem {
        NotRecognised::Refused { kind, sentence } => unauthorized(kind, sentence),
        NotRecognised::Unavailable(sentence) => {
            Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", sentence)
        }
    }
}
