//! Who a service account is, by the Kubernetes API: its token goes to TokenReview, its roles to SubjectAccessReview.
//!
//! A token must be made for our audience: one that a pod shows to the API itself, or to another service, is not taken. A role
//! is the permission to `use` the `roles` of `towpath.dev` with that name. There are no such objects; RBAC needs none.
//!
//! Answers are kept for a minute at most, also those that say no. Nothing is kept of an API that does not answer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::api::{Api, PostParams};
use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;

use crate::answer::within;
use crate::connect::{self, Access, Settings};
use crate::count::{Counter, Verb};
use crate::error::KubeError;
use crate::resource::{Call, SUBJECT_ACCESS_REVIEWS, TOKEN_REVIEWS};

/// How long an answer counts. An account that is deleted, or loses a role, is known no longer than this.
const KEPT_FOR: Duration = Duration::from_secs(60);
/// The most answers that are kept.
const MAX_KEPT: usize = 4_096;
/// Reviews that are under way at once.
const AT_ONCE: usize = 16;
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// The names of service accounts begin so.
const SERVICE_ACCOUNT: &str = "system:serviceaccount:";
/// What RBAC names: `use` the `roles` of this group.
const ROLE_GROUP: &str = "towpath.dev";
const ROLE_RESOURCE: &str = "roles";
const ROLE_VERB: &str = "use";

/// Asks an API who somebody is.
pub struct Reviewer {
    client: kube::Client,
    settings: Settings,
    audience: String,
    /// The roles that RBAC may give, by name.
    roles: Vec<&'static str>,
    kept: Mutex<Kept>,
    places: Semaphore,
}

/// A service account that the API knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// `system:serviceaccount:NAMESPACE:NAME`
    pub name: String,
    /// What no later account of that name gets.
    pub uid: String,
    pub groups: BTreeSet<String>,
    /// The roles that RBAC gives it.
    pub roles: BTreeSet<&'static str>,
}

/// Why an account is not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotReviewed {
    /// The API does not accept the token, and why.
    Refused(String),
    /// The API could not be asked.
    Unavailable(String),
}

type Reviewed = Result<Arc<Account>, String>;

/// Answers, by the hash of the token.
#[derive(Debug, Default)]
struct Kept {
    answers: BTreeMap<[u8; 32], (Instant, Reviewed)>,
}

impl Reviewer {
    /// Reads the configuration. Sends no request.
    pub async fn connect(
        access: &Access,
        audience: &str,
        roles: Vec<&'static str>,
    ) -> Result<Self, KubeError> {
        let settings = Settings {
            request: REQUEST_TIMEOUT,
            ..Settings::default()
        };
        Ok(Self {
            client: connect::client(access, &settings, &Counter::default()).await?,
            settings,
            audience: audience.to_owned(),
            roles,
            kept: Mutex::default(),
            places: Semaphore::new(AT_ONCE),
        })
    }

    /// Whose token it is.
    pub async fn account(&self, token: &str) -> Result<Arc<Account>, NotReviewed> {
        let hash = Sha256::digest(token).into();
        if let Some(known) = self.kept(|kept, now| kept.find(&hash, now)) {
            return known.map_err(NotReviewed::Refused);
        }
        let busy = "too many tokens are being reviewed; try again in a few seconds";
        let _place = self
            .places
            .try_acquire()
            .map_err(|_| NotReviewed::Unavailable(busy.to_owned()))?;
        let reviewed = self.review(token).await;
        let reviewed = reviewed.map_err(|error| {
            NotReviewed::Unavailable(format!(
                "the Kubernetes API cannot say whose token this is: {error}"
            ))
        })?;
        self.kept(|kept, now| kept.keep(hash, reviewed.clone(), now));
        reviewed.map_err(NotReviewed::Refused)
    }

    async fn review(&self, token: &str) -> Result<Reviewed, KubeError> {
        let api: Api<TokenReview> = Api::all(self.client.clone());
        let review = TokenReview {
            spec: TokenReviewSpec {
                token: Some(token.to_owned()),
                audiences: Some(vec![self.audience.clone()]),
            },
            ..TokenReview::default()
        };
        let (call, how) = (
            Call::new(Verb::Create, &TOKEN_REVIEWS),
            PostParams::default(),
        );
        let answered = within(self.settings.request, &call, api.create(&how, &review)).await?;
        let status = answered.status.unwrap_or_default();
        let said = status.error.filter(|said| !said.is_empty());
        let user = status.user.unwrap_or_default();
        let name = user.username.clone().unwrap_or_default();
        // An API that knows no audiences would take a token for itself.
        let is_for_us = status
            .audiences
            .iter()
            .flatten()
            .any(|one| *one == self.audience);
        let refused = match (status.authenticated == Some(true), is_for_us) {
            (false, _) => said.unwrap_or_else(|| "it does not accept it".to_owned()),
            (true, false) => format!("it is not for the audience {:?}", self.audience),
            (true, true) if !name.starts_with(SERVICE_ACCOUNT) => {
                "it is not of a service account".to_owned()
            }
            (true, true) => {
                let roles = self.roles_of(&user).await?;
                return Ok(Ok(Arc::new(Account {
                    name,
                    uid: user.uid.unwrap_or_default(),
                    groups: user.groups.unwrap_or_default().into_iter().collect(),
                    roles,
                })));
            }
        };
        Ok(Err(refused))
    }

    async fn roles_of(&self, user: &UserInfo) -> Result<BTreeSet<&'static str>, KubeError> {
        let asked = self.roles.iter().map(|role| self.may_use(user, role));
        let answers = try_join_all(asked).await?;
        let roles = self.roles.iter().zip(answers);
        Ok(roles
            .filter(|(_, may)| *may)
            .map(|(role, _)| *role)
            .collect())
    }

    async fn may_use(&self, user: &UserInfo, role: &str) -> Result<bool, KubeError> {
        let api: Api<SubjectAccessReview> = Api::all(self.client.clone());
        let text = |text: &str| Some(text.to_owned());
        let review = SubjectAccessReview {
            spec: SubjectAccessReviewSpec {
                user: user.username.clone(),
                uid: user.uid.clone(),
                groups: user.groups.clone(),
                extra: user.extra.clone(),
                resource_attributes: Some(ResourceAttributes {
                    group: text(ROLE_GROUP),
                    resource: text(ROLE_RESOURCE),
                    name: text(role),
                    verb: text(ROLE_VERB),
                    ..ResourceAttributes::default()
                }),
                ..SubjectAccessReviewSpec::default()
            },
            ..SubjectAccessReview::default()
        };
        let call = Call::new(Verb::Create, &SUBJECT_ACCESS_REVIEWS);
        let how = PostParams::default();
        let answered = within(self.settings.request, &call, api.create(&how, &review)).await?;
        Ok(answered
            .status
            .is_some_and(|status| status.allowed && status.denied != Some(true)))
    }

    fn kept<T>(&self, look: impl FnOnce(&mut Kept, Instant) -> T) -> T {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        look(&mut kept, Instant::now())
    }
}

impl Kept {
    fn find(&self, hash: &[u8; 32], now: Instant) -> Option<Reviewed> {
        let (at, answer) = self.answers.get(hash)?;
        (now.duration_since(*at) < KEPT_FOR).then(|| answer.clone())
    }

    /// Those that count no more go first, then the oldest of those that say no: whoever invents tokens pushes nobody out.
    fn keep(&mut self, hash: [u8; 32], answer: Reviewed, now: Instant) {
        if self.answers.len() >= MAX_KEPT {
            self.answers
                .retain(|_, (at, _)| now.duration_since(*at) < KEPT_FOR);
        }
        if self.answers.len() >= MAX_KEPT {
            let order =
                |(_, (at, answer)): &(&[u8; 32], &(Instant, Reviewed))| (answer.is_ok(), *at);
            let first = self.answers.iter().min_by_key(order).map(|(hash, _)| *hash);
            first.and_then(|first| self.answers.remove(&first));
        }
        self.answers.insert(hash, (now, answer));
    }
}

impl std::fmt::Debug for Reviewer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reviewer").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(name: &str) -> Reviewed {
        Ok(Arc::new(Account {
            name: name.to_owned(),
            uid: String::new(),
            groups: BTreeSet::new(),
            roles: BTreeSet::new(),
        }))
    }

    fn hash(number: usize) -> [u8; 32] {
        Sha256::digest(number.to_be_bytes()).into()
    }

    #[test]
    fn an_answer_counts_for_a_minute() {
        let (mut kept, now) = (Kept::default(), Instant::now());
        kept.keep(hash(1), account("a"), now);
        kept.keep(hash(2), Err("no".to_owned()), now);
        let at = |seconds: u64| now + Duration::from_secs(seconds);
        assert_eq!(kept.find(&hash(1), at(59)), Some(account("a")));
        assert_eq!(kept.find(&hash(2), at(59)), Some(Err("no".to_owned())));
        assert_eq!(kept.find(&hash(1), at(60)), None);
        assert_eq!(kept.find(&hash(3), at(0)), None);
    }

    #[test]
    fn invented_tokens_push_no_known_account_out() {
        let (mut kept, now) = (Kept::default(), Instant::now());
        kept.keep(hash(0), account("a"), now);
        for number in 1..2 * MAX_KEPT {
            kept.keep(hash(number), Err("no".to_owned()), now);
            assert!(kept.answers.len() <= MAX_KEPT);
        }
        assert_eq!(kept.find(&hash(0), now), Some(account("a")));
        let later = now + KEPT_FOR;
        kept.keep(hash(9_999), account("b"), later);
        assert_eq!(kept.answers.len(), 1, "what counts no more goes");
    }
}
