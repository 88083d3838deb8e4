//! Answers about the fleet as JSON, the same on the command line and over HTTP. Field names are
//! stable.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use towpath_core::fleet::{
    ActiveUpgrade, AgentUpdate, AskedPreflights, CandidateWhy, ClusterIdx, Decision, FleetPlan,
    FleetPlanner, HistoryRow, Name, Next, Preflight, RuleId, Start, StartKind, StatusRow, Upgrade,
    Why,
};
use towpath_core::graph::ChannelName;
use towpath_core::simulate::{Forecast, IdleCluster, Outlook};

use crate::verdict::{days, reason, verdict};

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

/// What starts, what is on its way, and who waits for what; a limited number of entries of each.
pub fn plan(
    desk: &FleetPlanner,
    plan: &FleetPlan<'_>,
    expected: Option<&Outlook>,
    limit: Option<usize>,
) -> Value {
    let limit = limit.unwrap_or(usize::MAX);
    let mut told = decision(plan.decision);
    told["starts"] = plan
        .starts
        .iter()
        .take(limit)
        .map(|one| start(one))
        .collect();
    told["planned"] = upgrades(active(desk, plan.planned.iter().take(limit)));
    told["underWay"] = upgrades(active(desk, plan.under_way.iter().take(limit)));
    let starts = expected.map(Outlook::first_starts);
    let waiting = plan.waiting.iter().take(limit);
    told["waiting"] = waiting
        .map(|(member, best)| wait(desk, *member, best, starts.as_ref()))
        .collect();
    told["holds"] = holds(&plan.holds);
    told
}

/// Upgrades that are planned or run, with their clusters' names.
pub(super) fn active<'a>(
    desk: &'a FleetPlanner,
    upgrades: impl IntoIterator<Item = &'a ActiveUpgrade<'a>>,
) -> impl Iterator<Item = (&'a Upgrade, Option<&'a Name>)> {
    let named = |one: &'a ActiveUpgrade<'a>| {
        let name = &desk.roster().cluster(one.cluster).name;
        (one.upgrade, Some(name))
    };
    upgrades.into_iter().map(named)
}

/// A cluster that waits, what it waits for, and its first start in the forecast.
pub(super) fn wait(
    desk: &FleetPlanner,
    member: ClusterIdx,
    best: &CandidateWhy,
    starts: Option<&BTreeMap<&str, &Forecast>>,
) -> Value {
    let state = desk.roster().cluster(member);
    let start = starts.and_then(|starts| starts.get(state.id.as_str()));
    let expected =
        start.map(|start| json!({"at": start.at.to_string(), "to": start.to.to_string()}));
    let told = json!({
        "cluster": state.id.as_str(), "name": state.name, "organisation": state.organisation,
        "from": state.version.to_string(), "to": best.to.to_string(), "verdict": verdict(&best.verdict),
        "expected": expected,
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
pub fn why(desk: &FleetPlanner, decision: &Decision, member: ClusterIdx, why: &Why) -> Value {
    let (state, policy) = (desk.roster().cluster(member), desk.roster().policy(member));
    let starting = desk.start_of(decision, member);
    json!({
        "cluster": state.id.as_str(),
        "name": state.name,
        "organisation": state.organisation,
        "sector": policy.sector,
        "workloads": policy.workloads,
        "version": state.version.to_string(),
        "verdict": verdict(&why.cluster),
        "start": starting.map(start),
        "nothing": why.nothing.as_ref().map(reason),
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

/// Adds the cluster's preflights, and what became of them.
pub fn with_preflights<'a>(
    mut why: Value,
    preflights: impl IntoIterator<Item = &'a Preflight>,
) -> Value {
    why["preflights"] = preflights.into_iter().map(preflight).collect();
    why
}

/// Whom a preflight was asked of.
pub fn preflights_asked(asked: &AskedPreflights) -> Value {
    json!({
        "kind": "asked",
        "clusters": asked.preflights.len(),
        "notOffered": asked.not_offered,
        "unsupported": asked.unsupported,
    })
}

/// Preflights of many clusters, each with the cluster's name if it is known.
pub fn preflights<'a>(
    preflights: impl IntoIterator<Item = (&'a Preflight, Option<&'a Name>)>,
) -> Value {
    let one = |(of, name): (&Preflight, Option<&Name>)| {
        let mut told = preflight(of);
        told["cluster"] = of.cluster.as_str().into();
        told["name"] = json!(name);
        told
    };
    let preflights: Vec<Value> = preflights.into_iter().map(one).collect();
    json!({ "preflights": preflights })
}

fn preflight(preflight: &Preflight) -> Value {
    json!({
        "version": preflight.version.to_string(),
        "from": preflight.from.to_string(),
        "state": preflight.state.code(),
        "why": preflight.why,
        "risks": preflight.risks,
        "at": preflight.at.to_string(),
        "by": preflight.by,
    })
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
    let row = |row: &StatusRow| {
        json!({
            "organisation": row.organisation,
            "sector": row.sector,
            "workload": row.workload,
            "versions": row.versions.iter().map(|(version, count)| (version.to_string(), json!(count))).collect::<serde_json::Map<_, _>>(),
            "soaking": row.soaking.iter().map(|(version, (have, need))| json!({
                "version": version.to_string(), "haveSeconds": have, "needSeconds": need,
            })).collect::<Vec<_>>(),
            "underWay": row.under_way.iter().map(|(id, name, to, state)| json!({
                "cluster": id.as_str(), "name": name, "to": to.to_string(), "state": state.code(),
            })).collect::<Vec<_>>(),
            "next": row.next.as_ref().map(next_start),
            "held": row.held.iter().map(|(code, count)| (code.name().to_owned(), json!(count))).collect::<serde_json::Map<_, _>>(),
        })
    };
    rows.iter().map(row).collect()
}

/// What starts next, or is expected to.
pub(super) fn next_start(next: &Next) -> Value {
    json!({
        "at": next.at.to_string(), "cluster": next.id.as_str(), "name": next.cluster, "to": next.to.to_string(), "starts": next.starts,
    })
}

pub fn history(rows: &[HistoryRow]) -> Value {
    let row = |row: &HistoryRow| {
        json!({
            "organisation": row.organisation,
            "version": row.version.to_string(),
            "workload": row.workload,
            "soakDays": days(row.seconds),
            "soakSeconds": row.seconds,
            "clusters": row.clusters,
        })
    };
    rows.iter().map(row).collect()
}

/// What will start, if nothing fails, and who starts nothing; a limited number of entries of each.
pub fn forecast(outlook: &Outlook, limit: Option<usize>) -> Value {
    let limit = limit.unwrap_or(usize::MAX);
    let one = |one: &Forecast| {
        let told = json!({
            "at": one.at.to_string(),
            "cluster": one.id.as_str(),
            "name": one.cluster,
            "organisation": one.organisation,
            "sector": one.sector,
            "nodePool": one.pool,
            "from": one.from.to_string(),
            "to": one.to.to_string(),
        });
        over_channel(told, one.channel.as_ref())
    };
    let idle = |one: &IdleCluster| {
        json!({
            "cluster": one.id.as_str(),
            "name": one.name,
            "organisation": one.organisation,
            "sector": one.sector,
            "from": one.version.to_string(),
            "to": one.to.as_ref().map(ToString::to_string),
            "verdict": verdict(&one.verdict),
        })
    };
    json!({
        "starts": outlook.starts.iter().take(limit).map(one).collect::<Vec<_>>(),
        "idle": outlook.idle.iter().take(limit).map(idle).collect::<Vec<_>>(),
        "idleLeftOut": outlook.idle.len().saturating_sub(limit),
    })
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
