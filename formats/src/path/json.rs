//! A path as JSON. Field names are stable.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use towpath_core::cluster::health::KnownGate;
use towpath_core::graph::{Graph, ReleaseId, Risk};
use towpath_core::path::{
    CatchUp, Certainty, NoGoal, NoPath, Obstacle, PathBarrier, Plan, Pools, RiskPolicy,
    StrandedPath,
};

use super::commands::{HopCommands, PlanCommands, commands};
use super::{PathReport, ShapeIs};
use crate::cluster::ready::json as ready;
use crate::duration::{estimate, spread_json};
use crate::graph::cincinnati;
use crate::graph::explain::json::known;
use crate::verdict::{reasons, share, verdict};
use crate::words::platform_warning;

/// Everything there is to say.
pub fn json(told: &PathReport<'_>) -> Value {
    let request = told.request;
    let (plans, goal, no_path) = match told.answer {
        Ok(found) => (&found.plans[..], Some(found.goal), Value::Null),
        Err(no_path) => (&[][..], goal_of(no_path), why_not(told, no_path)),
    };
    let certainty = match told.answer {
        Ok(found) if found.certainty == Certainty::SearchLimit => "searchLimit",
        Ok(_) | Err(_) => "best",
    };
    let risks = plans
        .iter()
        .flat_map(|plan| &plan.hops)
        .flat_map(|hop| &hop.risks)
        .map(|id| told.graph.risk(*id));
    let risks: BTreeMap<&str, &Risk> = risks.map(|risk| (risk.name.as_str(), risk)).collect();
    json!({
        "at": request.now.to_string(),
        "arch": request.asker.arch.as_str(),
        "id": known(&request.asker.id).map(|id| id.as_str()),
        "platform": known(&request.asker.platform).map(|platform| platform.as_str()),
        "warnings": platform_warning(&request.asker.platform).into_iter().collect::<Vec<_>>(),
        "from": request.from.to_string(),
        "asked": request.goal.to_string(),
        "to": goal.map(|goal| version(told, goal)),
        "via": request.via.iter().map(|name| name.as_str()).collect::<Vec<_>>(),
        "prefer": request.prefer.name(),
        "takes": taken(&request.risks),
        "found": told.answer.is_ok(),
        "certainty": certainty,
        "shape": match told.shape {
            ShapeIs::Given => "given",
            ShapeIs::Assumed => "assumed",
        },
        "paths": plans.iter().enumerate().map(|(number, plan)| judged(told, number, plan)).collect::<Vec<_>>(),
        "noPath": no_path,
        "fleet": told.fleet.map(verdict),
        "risks": risks.values().map(|risk| cincinnati::risk(risk)).collect::<Vec<_>>(),
    })
}

fn taken(policy: &RiskPolicy) -> Value {
    match policy {
        RiskPolicy::Never => json!({"risks": "never"}),
        RiskPolicy::Unknown => json!({"risks": "unknown"}),
        RiskPolicy::Accepted(names) => json!({"risks": "accepted", "names": names}),
        RiskPolicy::Any => json!({"risks": "any"}),
    }
}

fn goal_of(no_path: &NoPath) -> Option<ReleaseId> {
    match no_path {
        NoPath::Stranded(stranded) => Some(stranded.goal),
        NoPath::NoGoal {
            is: NoGoal::Elsewhere(goal),
            ..
        } => Some(*goal),
        _ => None,
    }
}

/// A path, and what there is to say about it on the cluster.
fn judged(told: &PathReport<'_>, number: usize, plan: &Plan) -> Value {
    let mut path = path(told, plan);
    let readiness = told
        .cluster
        .as_ref()
        .and_then(|cluster| cluster.judged.get(number));
    if let Some(readiness) = readiness {
        path["readiness"] = ready::readiness(readiness);
    }
    let PlanCommands { hops, after } = commands(told, plan, readiness);
    for (hop, commands) in hops.into_iter().enumerate() {
        let HopCommands { gates, look, run } = commands;
        let value = &mut path["hops"][hop];
        value["commands"] = run.into();
        value["look"] = look.into();
        value["acknowledgements"] = gates.iter().map(gate).collect();
    }
    path["commandsAfter"] = after.into();
    path
}

fn gate(gate: &KnownGate) -> Value {
    json!({
        "gate": &*gate.name,
        "description": &*gate.description,
        "only": gate.only.as_deref(),
        "since": gate.since.as_ref().map(ToString::to_string),
        "verified": gate.is_verified,
        "command": gate.command(),
    })
}

fn path(told: &PathReport<'_>, plan: &Plan) -> Value {
    let timed = plan.timed(told.graph, told.request, told.pace);
    let hops = plan.hops.iter().zip(&timed.hops).zip(told.held_on(&timed));
    let hops = hops.map(|((hop, timed), held_on)| {
        let release = told.graph.release(hop.to);
        let explained = told.explained(hop);
        let mut value = json!({
            "from": version(told, hop.from),
            "to": version(told, hop.to),
            "channel": hop.channel.as_str(),
            "payload": &*release.payload,
            "url": release.metadata.get("url").map(|url| &**url),
            "skips": told.skipped(hop).map(|between| between.iter().map(ToString::to_string).collect::<Vec<_>>()),
            "risks": hop.risks.iter().map(|id| told.graph.risk(*id).name.as_str()).collect::<BTreeSet<_>>(),
            "kind": explained.as_ref().map(|one| one.kind().name()),
            "share": explained.as_ref().and_then(|one| one.share).map(share),
            "reasons": explained.as_ref().map(|one| reasons(&one.verdict.reasons)),
            "opens": hop.opens.to_string(),
            "taken": timed.taken.to_string(),
            "arrives": timed.arrives.to_string(),
            "settled": timed.settled.to_string(),
            "pausedPools": paused(told, timed.pools, held_on),
            "duration": estimate(&timed.estimate),
        });
        if let Some(catch_up) = timed.catch_up {
            value["pausedPools"]["catchUpSeconds"] = spread_json(catch_up);
        }
        value
    });
    let hops: Vec<Value> = hops.collect();
    let (arrives, settled) = timed.ends().unwrap_or((told.request.now, told.request.now));
    json!({
        "hops": hops,
        "unverifiedMinors": told.unverified(plan).iter().map(ToString::to_string).collect::<Vec<_>>(),
        "arrives": arrives.to_string(),
        "settled": settled.to_string(),
        "controlPlaneSeconds": spread_json(timed.control_planes),
        "totalSeconds": spread_json(timed.total),
        "workerRollouts": timed.worker_rollouts,
        "poolRollouts": timed.rollouts.iter().map(|(pool, count)| json!({"pool": pool, "count": count})).collect::<Vec<_>>(),
    })
}

/// What pools other than the control plane's may do; null: they go along. They are held on a release; null: they are paused
/// already, on whatever they were paused on.
fn paused(told: &PathReport<'_>, pools: Pools, held_on: Option<ReleaseId>) -> Value {
    match pools {
        Pools::GoAlong => Value::Null,
        Pools::MayStayPaused { catch_up, .. } => json!({
            "on": held_on.map(|on| version(told, on)),
            "catchUp": match catch_up {
                CatchUp::Later => "later",
                CatchUp::AfterThisHop => "afterThisHop",
            },
        }),
    }
}

fn why_not(told: &PathReport<'_>, no_path: &NoPath) -> Value {
    let mut value = json!({"code": no_path.code()});
    match no_path {
        NoPath::FromElsewhere(id) => {
            value["otherChannels"] = channels_of(told, *id);
            nearest_value(told, None, &mut value);
        }
        NoPath::NoChannel(name) => value["channel"] = name.as_str().into(),
        NoPath::FromUnknown => {}
        NoPath::NoGoal { is, nearest } => {
            if let NoGoal::Elsewhere(id) = is {
                value["otherChannels"] = channels_of(told, *id);
            }
            nearest_value(told, nearest.as_ref(), &mut value);
        }
        NoPath::Stranded(stranded) => stranded_value(told, stranded, &mut value),
    }
    value
}

fn channels_of(told: &PathReport<'_>, release: ReleaseId) -> Value {
    told.graph
        .release(release)
        .channels
        .iter()
        .map(|(name, _)| name.as_str())
        .collect()
}

fn nearest_value(told: &PathReport<'_>, nearest: Option<&Plan>, value: &mut Value) {
    value["nearest"] = nearest
        .and_then(|plan| plan.hops.last())
        .map(|hop| version(told, hop.to))
        .into();
    value["pathToNearest"] = nearest.map_or(Value::Null, |plan| path(told, plan));
}

fn stranded_value(told: &PathReport<'_>, stranded: &StrandedPath, value: &mut Value) {
    nearest_value(told, stranded.nearest.as_ref(), value);
    value["newestOfGoalsMinor"] = stranded.of_goals_minor.map(|id| version(told, id)).into();
    value["barriers"] = stranded
        .barriers
        .iter()
        .map(|one| barrier(told.graph, one))
        .collect();
    value["moreBarriers"] = stranded.more_barriers.into();
    value["pathWithRisks"] = stranded
        .with_risks
        .as_ref()
        .map_or(Value::Null, |plan| path(told, plan));
}

/// An update that would lead on, and what stands in its way.
pub(crate) fn barrier(graph: &Graph, barrier: &PathBarrier) -> Value {
    let version = |id| graph.release(id).version.to_string();
    let mut value = json!({"from": version(barrier.from), "to": version(barrier.to)});
    match &barrier.obstacle {
        Obstacle::Rules { channel, verdict } => {
            value["channel"] = channel.as_str().into();
            value["reasons"] = reasons(&verdict.reasons);
        }
        Obstacle::NoChannelHoldsBoth(channels) => {
            value["heldTogetherBy"] = channels.iter().map(|name| name.as_str()).collect();
        }
        Obstacle::LeavesOut(between) => {
            value["leavesOut"] = between.iter().map(ToString::to_string).collect();
        }
    }
    value
}

fn version(told: &PathReport<'_>, id: ReleaseId) -> String {
    told.graph.release(id).version.to_string()
}
