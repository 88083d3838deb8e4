//! Answers about the fleet as JSON, the same on the command line and over HTTP. Field names are
//! stable.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use towpath_core::fleet::{
    AgentUpdate, CandidateWhy, ClusterIdx, ClusterRow, Decision, FleetPlan, FleetPlanner,
    HistoryRow, Name, Next, RuleId, Start, StartKind, StatusRow, Upgrade, Why,
};
use towpath_core::graph::ChannelName;
use towpath_core::simulate::Forecast;
use towpath_core::verdict::Days;

use crate::verdict::verdict;

/// What is to be done now.
pub fn decision(decision: &Decision) -> Value {
    json!({
        "at": decision.at.to_string(),
        "starts": decision.starts.iter().map(start).collect::<Vec<_>>(),
        "cancels": decision.cancels.iter().map(|cancel| json!({"upgrade": cancel.upgrade.0, "verdict": verdict(&cancel.verdict)})).collect::<Vec<_>>(),
        "begins": decision.begins.iter().map(|upgrade| upgrade.0).collect::<Vec<_>>(),
        "ended": decision.ended.iter().map(|ended| json!({"upgrade": ended.upgrade.0, "state": ended.state.code(), "note": ended.note})).collect::<Vec<_>>(),
        "overdue": decision.overdue.iter().map(|overdue| json!({"upgrade": overdue.upgrade.0, "since": overdue.since.to_string()})).collect::<Vec<_>>(),
    })
}

/// What would start now, and who waits for what; a limited number of entries of each.
pub fn plan(desk: &FleetPlanner, plan: &FleetPlan<'_>, limit: Option<usize>) -> Value {
    let limit = limit.unwrap_or(usize::MAX);
    let mut told = decision(plan.decision);
    told["starts"] = plan
        .starts
        .iter()
        .take(limit)
        .map(|one| start(one))
        .collect();
    let waiting = plan.waiting.iter().take(limit);
    told["waiting"] = waiting
        .map(|(member, best)| wait(desk, *member, best))
        .collect();
    told
}

/// A cluster that waits, and what it waits for.
pub(super) fn wait(desk: &FleetPlanner, member: ClusterIdx, best: &CandidateWhy) -> Value {
    let state = desk.roster().cluster(member);
    let told = json!({
        "cluster": state.id.as_str(), "name": state.name, "organisation": state.organisation,
        "from": state.version.to_string(), "to": best.to.to_string(), "verdict": verdict(&best.verdict),
    });
    over_channel(told, best.channel.as_ref())
}

/// How many clusters each rule holds.
pub fn holds(counts: &BTreeMap<RuleId, u64>) -> Value {
    let named = counts.iter().map(|(code, count)| (code.name(), count));
    json!(named.collect::<BTreeMap<_, _>>())
}

fn start(start: &Start) -> Value {
    let kind = match &start.kind {
        StartKind::Cluster => "cluster",
        StartKind::ControlPlane => "controlPlane",
        StartKind::NodePool(_) => "nodePool",
    };
    let told = json!({
        "cluster": start.cluster.as_str(),
        "name": start.name,
        "organisation": start.organisation,
        "sector": start.sector,
        "kind": kind,
        "nodePool": start.pool(),
        "from": start.from.to_string(),
        "to": start.to.to_string(),
        "at": start.at.to_string(),
        "mutexes": start.locks.iter().map(|lock| &lock.mutex).collect::<Vec<_>>(),
    });
    over_channel(told, start.channel.as_ref())
}

/// Adds the channel that the cluster is switched to, if it is.
fn over_channel(mut told: Value, channel: Option<&ChannelName>) -> Value {
    if let Some(channel) = channel {
        told["channel"] = channel.as_str().into();
    }
    told
}

/// Why a cluster does, or does not, go where it could.
pub fn why(desk: &FleetPlanner, member: ClusterIdx, why: &Why) -> Value {
    let (state, policy) = (desk.roster().cluster(member), desk.roster().policy(member));
    json!({
        "cluster": state.id.as_str(),
        "name": state.name,
        "organisation": state.organisation,
        "sector": policy.sector,
        "workloads": policy.workloads,
        "version": state.version.to_string(),
        "verdict": verdict(&why.cluster),
        "candidates": why.candidates.iter().map(|candidate| over_channel(json!({
            "to": candidate.to.to_string(),
            "verdict": verdict(&candidate.verdict),
        }), candidate.channel.as_ref())).collect::<Vec<_>>(),
    })
}

/// Adds what became of the cluster's updates; none if nobody could be asked.
pub fn with_updates(mut why: Value, updates: Option<&[AgentUpdate]>) -> Value {
    why["updates"] = json!(updates.map(agent_updates));
    why
}

/// What became of a cluster's updates, in its agent's words.
fn agent_updates(updates: &[AgentUpdate]) -> Value {
    let one = |update: &AgentUpdate| {
        json!({
            "to": update.to.to_string(),
            "outcome": update.outcome.code(),
            "why": update.why,
            "startedAt": update.started_at.to_string(),
            "tookSeconds": update.took.map(|took| took.as_secs()),
            "automatic": update.is_automatic,
        })
    };
    updates.iter().map(one).collect()
}

/// The status, row by row.
pub fn status(rows: &[StatusRow]) -> Value {
    let next = |next: &Next| {
        json!({
            "at": next.at.to_string(), "cluster": next.cluster, "to": next.to.to_string(), "starts": next.starts,
        })
    };
    let row = |row: &StatusRow| {
        json!({
            "organisation": row.organisation,
            "sector": row.sector,
            "workload": row.workload,
            "versions": row.versions.iter().map(|(version, count)| (version.to_string(), json!(count))).collect::<serde_json::Map<_, _>>(),
            "soaking": row.soaking.iter().map(|(version, (have, need))| json!({
                "version": version.to_string(), "haveSeconds": have, "needSeconds": need,
            })).collect::<Vec<_>>(),
            "underWay": row.under_way.iter().map(|(cluster, to, state)| json!({
                "cluster": cluster, "to": to.to_string(), "state": state.code(),
            })).collect::<Vec<_>>(),
            "next": row.next.as_ref().map(next),
            "held": row.held.iter().map(|(code, count)| (code.name().to_owned(), json!(count))).collect::<serde_json::Map<_, _>>(),
        })
    };
    rows.iter().map(row).collect()
}

/// Each cluster with its policy.
pub fn clusters(rows: &[ClusterRow]) -> Value {
    let row = |row: &ClusterRow| {
        json!({
            "cluster": row.name,
            "id": row.id.as_str(),
            "organisation": row.organisation,
            "version": row.version.to_string(),
            "channel": row.channel.as_ref().map(ToString::to_string),
            "schedule": row.schedule,
            "sector": row.sector,
            "mutexes": row.mutexes,
            "soakDays": row.soak_days,
            "workloads": row.workloads,
            "soaking": row.soaking.iter().map(ToString::to_string).collect::<Vec<_>>(),
        })
    };
    rows.iter().map(row).collect()
}

pub fn history(rows: &[HistoryRow]) -> Value {
    let row = |row: &HistoryRow| {
        json!({
            "organisation": row.organisation,
            "version": row.version.to_string(),
            "workload": row.workload,
            "soakDays": Days(row.seconds).to_string(),
            "soakSeconds": row.seconds,
            "clusters": row.clusters,
        })
    };
    rows.iter().map(row).collect()
}

/// What will start, if nothing fails.
pub fn forecast(forecasts: &[Forecast]) -> Value {
    let one = |one: &Forecast| {
        let told = json!({
            "at": one.at.to_string(),
            "cluster": one.cluster,
            "organisation": one.organisation,
            "sector": one.sector,
            "nodePool": one.pool,
            "from": one.from.to_string(),
            "to": one.to.to_string(),
        });
        over_channel(told, one.channel.as_ref())
    };
    forecasts.iter().map(one).collect()
}

pub fn upgrades<'a>(upgrades: impl IntoIterator<Item = (&'a Upgrade, Option<&'a Name>)>) -> Value {
    let one = |(upgrade, name): (&Upgrade, Option<&Name>)| {
        let told = json!({
            "id": upgrade.id.0,
            "cluster": upgrade.cluster.as_str(),
            "name": name,
            "nodePool": upgrade.pool,
            "from": upgrade.from.to_string(),
            "to": upgrade.to.to_string(),
            "state": upgrade.state.code(),
            "owner": upgrade.owner.code(),
            "startAt": upgrade.start_at.to_string(),
            "changedAt": upgrade.changed_at.to_string(),
            "failures": upgrade.failures,
            "note": upgrade.note,
        });
        over_channel(told, upgrade.channel.as_ref())
    };
    upgrades.into_iter().map(one).collect()
}
