//! Removed APIs: an update that removes an API in use is refused. Every earlier update carries a
//! note about it.
//!
//! The cluster's own word on when an API goes (`status.removedInRelease`) comes before our table.
//! The platform's own clients do not count: they are updated with the platform.

use super::platform_namespaces::is_of_platform;
use super::removals::removal;
use super::{StepQuestion, StepRule, not_given};
use crate::cluster::Fact;
use crate::cluster::objects::{ApiUse, ApiUser, Facts, ObjectKind};
use crate::cluster::way::Step;
use crate::verdict::{Code, Reason, Value, Verdict};
use crate::version::Minor;

/// An API is in use that the update removes.
pub static API_REMOVED: Code = Code::new(
    "ApiRemoved",
    "{api} goes in Kubernetes {removedIn}[ ({doubt})] and is in use[: {users}][; {unnamedRequests|request|requests} of users whose names were not kept]",
    "move [{users.name} ]off {api}[, to {replacement}]",
)
.by("oc get apirequestcounts {api} -o yaml")
.checked_by("oc get apirequestcounts {api} -o yaml")
.about("{api}")
.steadily("{api} goes in Kubernetes {removedIn} and is in use[ by {users.name}]")
.with(FACTS);

/// An API is in use that a later update of the way removes. Nothing is refused for that.
pub static API_REMOVED_LATER: Code = Code::new(
    "ApiRemovedLater",
    "later, at {at}: {api} goes in Kubernetes {removedIn}[ ({doubt})] and is in use[: {users}][; {unnamedRequests|request|requests} of users whose names were not kept]",
    "nothing yet; its users have to move before that update",
)
.steadily("later, at {at}: {api} goes in Kubernetes {removedIn} and is in use[ by {users.name}]")
.with(FACTS)
.note();

const FACTS: &[(&str, &str)] = &[
    ("api", "ingresses.v1beta1.extensions"),
    ("removedIn", "1.22"),
    ("doubt", "nobody has verified that"),
    ("replacement", "networking.k8s.io/v1"),
    (
        "users",
        "system:serviceaccount:ci:deployer (helm/v3.4), 40 requests in a day",
    ),
    ("users.name", "system:serviceaccount:ci:deployer"),
    ("unnamedRequests", "3"),
    ("at", "4.9.59"),
];

pub(super) static RULE: StepRule = StepRule::new(&[&API_REMOVED, &API_REMOVED_LATER], judge);

fn judge(q: &StepQuestion<'_>) -> Verdict {
    match (&q.facts.apis, q.step.is_minor()) {
        (Fact::Unknown, false) => Verdict::recommend(),
        (Fact::Unknown, true) => not_given(ObjectKind::ApiRequestCount),
        (Fact::Known(apis), _) => apis
            .iter()
            .filter_map(|api| RemovedApi::in_use(api, q.facts))
            .map(|removed| judge_api(q.step, &removed))
            .collect(),
    }
}

fn judge_api(step: Step<'_>, removed: &RemovedApi<'_>) -> Verdict {
    let mut steps = step.way().steps();
    match steps.find(|step| removes(*step, removed.removed_in)) {
        Some(at) if at.index() == step.index() => {
            Verdict::refuse(removed.reason(&API_REMOVED, None))
        }
        Some(at) if at.index() > step.index() => {
            Verdict::inform(removed.reason(&API_REMOVED_LATER, Some(at)))
        }
        _ => Verdict::recommend(),
    }
}

/// Whether the Kubernetes after a step lacks what the one before it had, or may lack it, because nobody has verified which one
/// that is. Where nobody knows at all, other rules refuse.
fn removes(step: Step<'_>, removed_in: Minor) -> bool {
    let kubernetes = step.kubernetes_before().zip(step.kubernetes_after());
    step.is_minor()
        && kubernetes.is_some_and(|(from, to)| {
            (from.minor < removed_in || !from.is_verified)
                && (removed_in <= to.minor || !to.is_verified)
        })
}

/// An API that goes some day and that somebody uses who is not the platform itself.
struct RemovedApi<'a> {
    api: &'a ApiUse,
    /// The Kubernetes that no longer has it.
    removed_in: Minor,
    /// Whether the cluster, a person or a verified row says so.
    is_verified: bool,
    replacement: Option<&'a str>,
    /// Who uses it; those who do so most come first.
    users: Vec<&'a ApiUser>,
}

impl<'a> RemovedApi<'a> {
    fn in_use(api: &'a ApiUse, facts: &Facts) -> Option<Self> {
        let listed = removal(&api.api);
        let removed_in = api
            .removed_in
            .or(listed.map(|removal| removal.removed_in))?;
        let is_counted = |user: &&ApiUser| user.requests > 0 && !is_platform(&user.name, facts);
        let mut users: Vec<&ApiUser> = api.users.iter().filter(is_counted).collect();
        users.sort_by(|a, b| b.requests.cmp(&a.requests).then_with(|| a.cmp(b)));
        let is_used = !users.is_empty() || api.unnamed_requests > 0;
        is_used.then(|| Self {
            api,
            removed_in,
            is_verified: api.removed_in.is_some() || listed.is_some_and(|one| one.is_verified),
            replacement: api
                .replacement
                .as_deref()
                .or(listed.and_then(|removal| removal.replacement)),
            users,
        })
    }

    fn reason(&self, code: &'static Code, at: Option<Step<'_>>) -> Reason {
        let unnamed = Some(self.api.unnamed_requests).filter(|requests| *requests > 0);
        let doubt = (!self.is_verified).then_some("nobody has verified that");
        code.because([
            ("doubt", doubt.into()),
            ("at", at.map(|step| Value::text(step.to())).into()),
            ("api", Value::text(&self.api.api)),
            ("removedIn", self.removed_in.into()),
            ("replacement", self.replacement.into()),
            (
                "users",
                Value::list(self.users.iter().map(|user| thing(user))),
            ),
            ("unnamedRequests", unnamed.into()),
        ])
    }
}

fn thing(user: &ApiUser) -> Value {
    Value::Thing {
        text: user.to_string().into(),
        fields: vec![
            ("name", (&user.name).into()),
            ("agent", user.agent.as_ref().into()),
            ("requests", user.requests.into()),
            ("lastHour", user.last.into()),
        ],
    }
}

/// Whether a user belongs to the platform, which is updated as a whole.
///
/// `system:…` does, but for `system:admin`, `system:anonymous`, and service accounts outside the payload's namespaces. A namespace that an
/// optional operator is installed in is not the platform's, whatever its name.
fn is_platform(user: &str, facts: &Facts) -> bool {
    let Some(name) = user.strip_prefix("system:") else {
        return false;
    };
    let account = name
        .strip_prefix("serviceaccount:")
        .map(|account| account.split(':').next().unwrap_or(account));
    match account {
        None => !matches!(name, "admin" | "anonymous"),
        Some(namespace) => is_of_platform(namespace) && !has_operators(namespace, facts),
    }
}

/// The package server is the platform's own, though it is installed like an operator.
fn has_operators(namespace: &str, facts: &Facts) -> bool {
    let mut operators = facts.operators.known().into_iter().flatten();
    operators
        .any(|operator| &*operator.namespace == namespace && &*operator.name != "packageserver")
}
