//! The answer for machines. Field names are stable.

use serde_json::{Value, json};
use towpath_core::decide::{Readiness, ReadyHop};
use towpath_core::domain::readiness::ApiUser;
use towpath_core::domain::ready_reason::{Lag, ReadyReason, RemovedApi, Task};
use towpath_core::domain::{Fact, Minor};
use towpath_core::rules::ready::PoolStanding;

use super::ToldReady;

/// Everything there is to say.
pub fn json(told: &ToldReady<'_>) -> Value {
    let id = match &told.cluster.id {
        Fact::Known(id) => Some(id.as_str()),
        Fact::Unknown => None,
    };
    let objects: serde_json::Map<String, Value> = told
        .cluster
        .counts
        .iter()
        .map(|(kind, count)| (kind.as_str().to_owned(), json!(count)))
        .collect();
    let mut value = readiness(told.readiness);
    value["at"] = told.now.to_string().into();
    value["id"] = id.into();
    value["from"] = told.way.from().to_string().into();
    value["objects"] = objects.into();
    value["ignoredObjects"] = told.cluster.ignored.into();
    value
}

/// What there is to say about a way.
pub(crate) fn readiness(readiness: &Readiness) -> Value {
    let last = readiness.hops.last().map(|hop| hop.to.as_str());
    let before = readiness
        .hops
        .iter()
        .flat_map(|hop| hop.tasks.iter().map(|one| task("before", &hop.to, one)));
    let after = readiness
        .paused_at_the_end
        .iter()
        .map(|pool| Task::unpause(pool));
    let after = after.map(|one| task("after", last.unwrap_or_default(), &one));
    json!({
        "ready": readiness.is_ready(),
        "tasks": before.chain(after).collect::<Vec<_>>(),
        "hops": readiness.hops.iter().map(hop).collect::<Vec<_>>(),
    })
}

fn task(when: &str, to: &str, task: &Task) -> Value {
    json!({"when": when, "hop": to, "text": task.text, "command": task.command})
}

fn hop(hop: &ReadyHop) -> Value {
    json!({
        "from": hop.from,
        "to": hop.to,
        "minor": hop.enters.is_some(),
        "kubernetes": hop.enters.and_then(Minor::kubernetes).map(|minor| minor.to_string()),
        "ready": hop.is_ready(),
        "reasons": hop.reasons().map(reason).collect::<Vec<_>>(),
        "pools": hop.pools.iter().map(pool).collect::<Vec<_>>(),
    })
}

fn reason(reason: &ReadyReason) -> Value {
    let mut value =
        json!({"code": reason.code(), "refuses": !reason.is_note(), "text": reason.to_string()});
    match reason {
        ReadyReason::ApiRemoved(removed) | ReadyReason::ApiRemovedLater { removed, .. } => {
            value["api"] = api(removed)
        }
        ReadyReason::Operators { operators, .. } => {
            let one = |one: &towpath_core::domain::ready_reason::OperatorLimit| json!({"name": &*one.name, "namespace": &*one.namespace, "says": &*one.says});
            value["operators"] = operators.iter().map(one).collect();
        }
        ReadyReason::KubeletTooOld {
            pool,
            nodes,
            kubelet,
            needed,
            ..
        } => {
            value["pool"] = json!(pool.as_deref());
            value["nodes"] = nodes.iter().map(|node| &**node).collect();
            value["kubelet"] = json!(kubelet.to_string());
            value["needed"] = json!(needed.to_string());
        }
        _ => {}
    }
    value
}

fn api(removed: &RemovedApi) -> Value {
    let user = |user: &ApiUser| {
        json!({
            "name": &*user.name,
            "agent": user.agent.as_deref(),
            "requests": user.requests,
            "lastHour": user.last.map(|last| last.to_string()),
        })
    };
    json!({
        "name": removed.api.to_string(),
        "removedIn": removed.removed_in.to_string(),
        "replacement": removed.replacement.as_deref(),
        "users": removed.users.iter().map(user).collect::<Vec<_>>(),
        "unnamedRequests": removed.unnamed_requests,
    })
}

fn pool(standing: &PoolStanding) -> Value {
    json!({
        "name": standing.pool.as_deref(),
        "state": match standing.lag {
            Lag::Paused => "paused",
            Lag::Behind => "running",
            Lag::NoPool => "unknown",
        },
        "nodes": standing.nodes.len(),
        "kubelet": standing.kubelet.map(|kubelet| kubelet.to_string()),
        "behind": standing.behind,
        "limit": standing.limit,
    })
}
