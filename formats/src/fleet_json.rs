//! Answers about the fleet as JSON: the same from the command line and over HTTP. Field names are stable.

use serde_json::{Value, json};
use towpath_core::fleet::{AgentUpdate, ClusterIdx, Name, Upgrade};
use towpath_core::fleet::{
    Decision, FleetPlanner, HistoryRow, Next, Start, StartKind, StatusRow, Why,
};
use towpath_core::hex;
use towpath_core::simulate::Forecast;
use towpath_core::verdict::Days;

pub use crate::findings::json as findings;
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

/// The format of decisions in the log. The first had no number, and of a reason its code and its sentence.
const FORMAT: u64 = 2;

/// A decision as the log keeps it: with the digest of every verdict.
pub fn logged(decided: &Decision, desk: &FleetPlanner) -> Value {
    let digest = desk.digest(decided.at);
    let mut value = decision(decided);
    value["format"] = json!(FORMAT);
    value["clusters"] = json!(desk.roster().len());
    value["verdicts"] = json!(hex::encode(&digest));
    value
}

/// A decision that was made again, beside the one in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replay {
    /// Bit for bit the same.
    Same,
    /// The same, except that the first format has other words against cancelled plans. Those are not compared.
    SameButWords,
    Different,
}

/// Compares a decision that was made again with the one in the log, unless we do not speak that one's format.
pub fn replay(logged: &[u8], again: &Value) -> Result<Replay, String> {
    let or_different = |is_so: bool, replay| if is_so { replay } else { Replay::Different };
    let stored: Value = serde_json::from_slice(logged).map_err(|error| error.to_string())?;
    match &stored["format"] {
        Value::Null => {
            let is_so = without_words(stored) == without_words(again.clone());
            Ok(or_different(is_so, Replay::SameButWords))
        }
        format if *format == json!(FORMAT) => Ok(or_different(
            again.to_string().as_bytes() == logged,
            Replay::Same,
        )),
        other => Err(format!(
            "it has the format {other}, and this towpath speaks 1 and {FORMAT}"
        )),
    }
}

fn without_words(mut decision: Value) -> Value {
    if let Some(fields) = decision.as_object_mut() {
        fields.remove("format");
    }
    for cancel in decision["cancels"].as_array_mut().into_iter().flatten() {
        cancel["verdict"] = Value::Null;
    }
    decision
}

pub fn start(start: &Start) -> Value {
    let kind = match &start.kind {
        StartKind::Cluster => "cluster",
        StartKind::ControlPlane => "controlPlane",
        StartKind::NodePool(_) => "nodePool",
    };
    json!({
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
    })
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
        "candidates": why.candidates.iter().map(|candidate| json!({
            "to": candidate.to.to_string(),
            "verdict": verdict(&candidate.verdict),
        })).collect::<Vec<_>>(),
    })
}

/// What became of a cluster's updates, in its agent's words.
pub fn agent_updates(updates: &[AgentUpdate]) -> Value {
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
        json!({
            "at": one.at.to_string(),
            "cluster": one.cluster,
            "organisation": one.organisation,
            "sector": one.sector,
            "nodePool": one.pool,
            "from": one.from.to_string(),
            "to": one.to.to_string(),
        })
    };
    forecasts.iter().map(one).collect()
}

pub fn upgrades<'a>(upgrades: impl IntoIterator<Item = (&'a Upgrade, Option<&'a Name>)>) -> Value {
    let one = |(upgrade, name): (&Upgrade, Option<&Name>)| {
        json!({
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
        })
    };
    upgrades.into_iter().map(one).collect()
}
