//! Whether a cluster is ready, as JSON. Field names are stable.

use serde_json::{Value, json};
use towpath_core::cluster::objects::Lag;
use towpath_core::cluster::rules::PoolStanding;
use towpath_core::cluster::{Fact, Readiness, ReadyHop, Task};
use towpath_core::verdict::Reason;

use super::ReadyReport;
use crate::verdict;

/// Everything there is to say.
pub fn json(told: &ReadyReport<'_>) -> Value {
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
    value["unread"] = json!(told.unread);
    value
}

/// What there is to say about a way.
pub(crate) fn readiness(readiness: &Readiness) -> Value {
    let last = readiness.hops.last().map(|hop| hop.to.as_str());
    let before = readiness
        .hops
        .iter()
        .flat_map(|hop| hop.tasks.iter().map(|one| task("before", &hop.to, one)));
    let after = readiness.after.iter();
    let after = after.map(|one| task("after", last.unwrap_or_default(), one));
    json!({
        "ready": readiness.is_ready(),
        "tasks": before.chain(after).collect::<Vec<_>>(),
        "hops": readiness.hops.iter().map(hop).collect::<Vec<_>>(),
        "unjudged": readiness.unjudged().into_iter().map(unjudged).collect::<Vec<_>>(),
        "acceptedInVain": readiness.accepted_in_vain,
    })
}

fn unjudged(reason: &Reason) -> Value {
    json!({
        "code": reason.code().name,
        "what": reason.object(),
        "text": reason.text(),
        "command": reason.command(),
    })
}

fn task(when: &str, to: &str, task: &Task) -> Value {
    json!({"when": when, "hop": to, "text": task.text, "command": task.command, "check": task.check})
}

fn hop(hop: &ReadyHop) -> Value {
    json!({
        "from": hop.from,
        "to": hop.to,
        "minor": hop.enters.is_some(),
        "kubernetes": hop.kubernetes.map(|ships| ships.minor.to_string()),
        "ready": hop.is_ready(),
        "answer": hop.verdict.answer.word(),
        "reasons": verdict::reasons(&hop.verdict.reasons),
        "accepted": verdict::reasons(&hop.accepted),
        "pools": hop.pools.iter().map(pool).collect::<Vec<_>>(),
    })
}

fn pool(standing: &PoolStanding) -> Value {
    json!({
        "name": standing.pool.as_deref(),
        "state": match standing.lag {
            Lag::Paused => "paused",
            Lag::Behind => "running",
            Lag::NodePool => "nodePool",
            Lag::NoPool => "unknown",
        },
        "nodes": standing.nodes.len(),
        "kubelet": standing.kubelet.map(|kubelet| kubelet.to_string()),
        "behind": standing.behind,
        "limit": standing.limit,
    })
}
