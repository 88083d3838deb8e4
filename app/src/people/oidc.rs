//! An OIDC issuer, as the web server asks it.

use std::sync::Arc;

use jiff::Timestamp;
use towpath_core::access::{Grants, Identity, Source};
use towpath_formats::oidc::{self, CodeExchange};
use towpath_oidc::{Issuer, IssuerOptions, LoginProblem, NotKnown};
use towpath_web::{
    Authenticator, IssuerHealth, LoggedIn, LoginOffer, LoginProvider, LoginRefusal, NotRecognised,
    Person, Recognition, Redemption,
};

/// People whom an issuer knows.
pub(super) struct OidcPeople {
    issuer: Arc<Issuer>,
}

impl OidcPeople {
    /// Follows the issuer from now on.
    pub(super) fn start(options: IssuerOptions) -> anyhow::Result<Arc<Self>> {
        let issuer = Issuer::new(options).map_err(anyhow::Error::msg)?;
        let name = issuer.name().to_owned();
        let tell = move |read: Result<&str, &str>| match read {
            Ok(_) => tracing::info!(issuer = name, "the issuer's keys can be read again"),
            Err(problem) => {
                tracing::warn!(
                    issuer = name,
                    "the issuer cannot be read; its last keys hold for a while: {problem}"
                );
            }
        };
        tokio::spawn(issuer.clone().follow(tell));
        Ok(Arc::new(Self { issuer }))
    }
}

impl Authenticator for OidcPeople {
    fn recognise<'a>(&'a self, token: &'a str, now: Timestamp) -> Recognition<'a> {
        Box::pin(async move {
            let known = self.issuer.person(token, now).await?;
            let person = known.map(|person| self.person(person));
            Some(person.map_err(|problem| match problem {
                NotKnown::Token(problem) => NotRecognised::Refused {
                    kind: problem.kind(),
                    sentence: problem.to_string(),
                },
                NotKnown::Unavailable(sentence) => NotRecognised::Unavailable(sentence),
            }))
        })
    }
}

impl OidcPeople {
    fn person(&self, person: oidc::IssuedPerson) -> Person {
        Person {
            identity: Identity {
                name: person.name.into(),
                source: Source::Oidc {
                    issuer: self.issuer.name().into(),
                    subject: person.subject.into(),
                },
            },
            groups: person.groups.into_iter().map(Into::into).collect(),
            grants: Grants::default(),
            ends: Some(person.ends),
        }
    }
}

impl LoginProvider for OidcPeople {
    fn offer(&self) -> Option<LoginOffer> {
        let places = self.issuer.login_places()?;
        Some(LoginOffer {
            client_id: places.client_id,
            scope: places.scope,
            authorization: places.authorization,
            end_session: places.end_session,
        })
    }

    fn health(&self) -> IssuerHealth {
        let health = self.issuer.health();
        IssuerHealth {
            issuer: health.issuer,
            keys: health.keys,
            is_open: health.is_open,
            problem: health.problem,
            read: health.read,
            failed: health.failed,
            tokens: health.tokens,
        }
    }

    fn redeem(&self, exchange: CodeExchange, now: Timestamp) -> Redemption<'_> {
        Box::pin(async move {
            let login = self.issuer.redeem(&exchange, now).await;
            let login = login.map_err(refusal)?;
            Ok(LoggedIn {
                token: login.token,
                name: login.person.name,
                ends: login.person.ends,
            })
        })
    }
}

fn refusal(problem: LoginProblem) -> LoginRefusal {
    let (kind, sentence) = (problem.kind(), problem.to_string());
    match problem {
        LoginProblem::NoLogin(_) => LoginRefusal::NoLogin(sentence),
        LoginProblem::BadRequest(_) => LoginRefusal::BadRequest(sentence),
        LoginProblem::Unavailable(_) => LoginRefusal::Unavailable(sentence),
        LoginProblem::Refused(_) | LoginProblem::Token(_) => {
            LoginRefusal::Refused { kind, sentence }
        }
    }
}
