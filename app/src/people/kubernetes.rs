//! Service accounts of a Kubernetes API, as the web server asks for them.

use std::sync::Arc;

use jiff::Timestamp;
use tokio::runtime::Handle;
use towpath_core::access::{Grants, Identity, Reach, Role, Source};
use towpath_formats::oidc::Unverified;
use towpath_kube::{Account, NotReviewed, Reviewer};
use towpath_web::{Authenticator, NotRecognised, Person, Recognition};

use crate::config::KubernetesSettings;

/// What the subject of a service account's token begins with.
const SERVICE_ACCOUNT: &str = "system:serviceaccount:";
/// The log's name for the API.
const API: &str = "the Kubernetes API";

/// Accounts that an API knows.
pub(super) struct Accounts {
    reviewer: Arc<Reviewer>,
    /// Connections belong to the threads that ask others, not to those that answer.
    runtime: Handle,
    /// The OIDC issuer. Its tokens are its own to check.
    issuer: Option<String>,
}

impl Accounts {
    pub(super) async fn connect(
        settings: &KubernetesSettings,
        issuer: Option<String>,
    ) -> anyhow::Result<Self> {
        let roles = Role::OF_PEOPLE.iter().map(|role| role.name()).collect();
        let reviewer = Reviewer::connect(&settings.access, &settings.audience, roles).await?;
        Ok(Self {
            reviewer: Arc::new(reviewer),
            runtime: Handle::current(),
            issuer,
        })
    }

    /// Whether a token says that it is a service account's. Nothing else is shown to the API.
    fn takes(&self, token: &str) -> bool {
        let read = Unverified::has_shape(token).then(|| Unverified::parse(token));
        let Some(Ok(read)) = read else {
            return false;
        };
        let is_account = read
            .subject()
            .is_some_and(|subject| subject.starts_with(SERVICE_ACCOUNT));
        is_account && (self.issuer.is_none() || read.issuer() != self.issuer.as_deref())
    }
}

impl Authenticator for Accounts {
    fn recognise<'a>(&'a self, token: &'a str, _: Timestamp) -> Recognition<'a> {
        Box::pin(async move {
            if !self.takes(token) {
                return None;
            }
            let (reviewer, token) = (self.reviewer.clone(), token.to_owned());
            let asking = self
                .runtime
                .spawn(async move { reviewer.account(&token).await });
            let failed = |_| {
                let sentence = format!("{API} could not be asked; try again in a few seconds");
                NotRecognised::Unavailable(sentence)
            };
            Some(match asking.await.map_err(failed) {
                Ok(Ok(account)) => Ok(person(&account)),
                Ok(Err(problem)) => Err(not_recognised(problem)),
                Err(unavailable) => Err(unavailable),
            })
        })
    }
}

fn person(account: &Account) -> Person {
    let role = |name: &&str| Some((Role::of_people(name)?, Reach::Everywhere));
    Person {
        identity: Identity {
            name: account.name.as_str().into(),
            source: Source::Kubernetes {
                api: API.into(),
                uid: account.uid.as_str().into(),
            },
        },
        groups: account
            .groups
            .iter()
            .map(|group| group.as_str().into())
            .collect(),
        grants: account.roles.iter().filter_map(role).collect::<Grants>(),
        ends: None,
    }
}

fn not_recognised(problem: NotReviewed) -> NotRecognised {
    match problem {
        NotReviewed::Refused(said) => NotRecognised::Refused {
            kind: "refused_account",
            sentence: format!(
                "{API} does not take this token of a service account ({said}); use one that was made for this service's audience (--kubernetes-audience), and has not ended"
            ),
        },
        NotReviewed::Unavailable(sentence) => NotRecognised::Unavailable(sentence),
    }
}
