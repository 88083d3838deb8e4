//! Removed APIs: an update that removes an API in use is refused; from the start of the way, everybody on it is told.
//!
//! The cluster's own word on when an API goes (`status.removedInRelease`) comes before our table. The platform's own clients do not
//! count: they are updated with it.

use super::platform_namespaces::is_of_platform;
use super::removals::removal;
use super::{inform, not_given, refuse};
use crate::domain::readiness::{ApiUse, ApiUser, Facts};
use crate::domain::ready_reason::{ObjectKind, ReadyReason, RemovedApi};
use crate::domain::way::Step;
use crate::domain::{Fact, Minor, Verdict};

pub(super) fn judge(step: Step<'_>, facts: &Facts) -> Verdict {
    match (&facts.apis, step.is_minor()) {
        (Fact::Unknown, false) => Verdict::recommend(),
        (Fact::Unknown, true) => not_given(ObjectKind::ApiRequestCount),
        (Fact::Known(apis), _) => apis
            .iter()
            .filter_map(|api| in_use(api, facts))
            .map(|removed| judge_api(step, removed))
            .collect(),
    }
}

fn judge_api(step: Step<'_>, removed: RemovedApi) -> Verdict {
    let removing = step
        .way()
        .steps()
        .find(|step| removes(*step, removed.removed_in));
    match removing {
        Some(at) if at.index() == step.index() => refuse(ReadyReason::ApiRemoved(removed)),
        Some(at) if at.index() > step.index() => inform(ReadyReason::ApiRemovedLater {
            at: at.to().to_string().into(),
            removed,
        }),
        _ => Verdict::recommend(),
    }
}

/// Whether the Kubernetes after a step lacks what the one before it had. Where nobody knows which Kubernetes that is, the kubelets' rule
/// refuses.
fn removes(step: Step<'_>, removed_in: Minor) -> bool {
    let kubernetes = step
        .begins_in()
        .kubernetes()
        .zip(step.to_minor().kubernetes());
    kubernetes.is_some_and(|(from, to)| from < removed_in && removed_in <= to)
}

/// An API that goes some day and that somebody uses who is not the platform itself.
fn in_use(api: &ApiUse, facts: &Facts) -> Option<RemovedApi> {
    let listed = removal(&api.api);
    let removed_in = api
        .removed_in
        .or(listed.map(|removal| removal.removed_in))?;
    let mut users: Vec<ApiUser> = api
        .users
        .iter()
        .filter(|user| user.requests > 0 && !is_platform(&user.name, facts))
        .cloned()
        .collect();
    users.sort_by(|a, b| b.requests.cmp(&a.requests).then_with(|| a.cmp(b)));
    let is_used = !users.is_empty() || api.unnamed_requests > 0;
    is_used.then(|| RemovedApi {
        api: api.api.clone(),
        removed_in,
        replacement: listed
            .and_then(|removal| removal.replacement)
            .map(Into::into),
        users,
        unnamed_requests: api.unnamed_requests,
    })
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
    match &facts.operators {
        Fact::Known(operators) => operators.iter().any(|operator| {
            &*operator.namespace == namespace && &*operator.name != "packageserver"
        }),
        Fact::Unknown => false,
    }
}
