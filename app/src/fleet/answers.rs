//! Answers about the fleet, the same for the command line and over HTTP.

use std::collections::BTreeSet;

use anyhow::bail;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use towpath_core::fleet::RuleId;
use towpath_core::fleet::{
    CandidateWhy, Decision, FleetPlanner, HistoryRow, OfferBook, Start, StatusRow, history, status,
};
use towpath_core::fleet::{ClusterIdx, ClusterState, FleetInput, Name, NameClash};
use towpath_core::graph::Graph;
use towpath_core::simulate::{Assumptions, Forecast, forecast};
use towpath_core::verdict::Answer;
use towpath_core::version::Version;
use towpath_formats::fleet_json;
use towpath_formats::verdict::verdict;
use towpath_web::Filter;

use super::facts::is_called;

/// The furthest that a forecast looks.
pub(crate) const MAX_DAYS: u32 = 366;

/// Whether a filter means something.
pub(crate) fn check(filter: &Filter) -> anyhow::Result<()> {
    match &filter.held_by {
        Some(rule) if RuleId::named(rule).is_none() => {
            bail!(
                "there is no rule {rule:?}; the rules are {}",
                super::text::rule_names()
            )
        }
        _ => Ok(()),
    }
}

/// Whether a cluster is among those asked about.
pub(crate) fn is_meant(
    desk: &FleetPlanner,
    member: ClusterIdx,
    filter: &Filter,
    now: Timestamp,
) -> bool {
    let (state, policy) = (desk.roster().cluster(member), desk.roster().policy(member));
    let organisation = filter
        .organisation
        .as_ref()
        .is_none_or(|only| *state.organisation == **only);
    let sector = filter
        .sector
        .as_ref()
        .is_none_or(|only| policy.sector.as_deref() == Some(only.as_str()));
    let workload = filter
        .workload
        .as_ref()
        .is_none_or(|only| policy.workloads.contains(only.as_str()));
    let cluster = filter
        .cluster
        .as_ref()
        .is_none_or(|only| is_called(state, only));
    let held = || {
        let holds = |only: &String| {
            desk.held_by(member, now)
                .iter()
                .any(|code| code.name() == only)
        };
        filter.held_by.as_ref().is_none_or(holds)
    };
    organisation && sector && workload && cluster && held()
}

/// What starts now, of those asked about.
pub(crate) fn starts<'a>(
    desk: &FleetPlanner,
    decision: &'a Decision,
    filter: &Filter,
) -> Vec<&'a Start> {
    let meant = |start: &&Start| {
        let member = desk.roster().find(start.cluster.as_str());
        member.is_some_and(|member| is_meant(desk, member, filter, decision.at))
    };
    decision.starts.iter().filter(meant).collect()
}

/// Clusters that could go further and do not start, each with the candidate that is expected first, else held least.
pub(crate) fn waiting(
    desk: &FleetPlanner,
    decision: &Decision,
    filter: &Filter,
) -> Vec<(ClusterIdx, CandidateWhy)> {
    let starting: BTreeSet<&str> = decision
        .starts
        .iter()
        .map(|start| start.cluster.as_str())
        .collect();
    let members = desk.roster().in_order().iter().copied();
    let meant = members.filter(|member| {
        let id = desk.roster().cluster(*member).id.as_str();
        !starting.contains(id) && is_meant(desk, *member, filter, decision.at)
    });
    meant
        .filter_map(|member| best(desk, member, decision.at).map(|best| (member, best)))
        .collect()
}

/// The candidate that is expected first, else held least.
pub(crate) fn best(
    desk: &FleetPlanner,
    member: ClusterIdx,
    now: Timestamp,
) -> Option<CandidateWhy> {
    let rank = |candidate: &CandidateWhy| match candidate.verdict.answer {
        Answer::Recommend | Answer::RecommendUnless(_) => (0, Timestamp::MIN, 0),
        Answer::Wait { until: Some(until) } => (1, until, 0),
        Answer::Wait { until: None } => (2, Timestamp::MIN, candidate.verdict.reasons.len()),
        Answer::Refuse => (3, Timestamp::MIN, candidate.verdict.reasons.len()),
    };
    desk.why(member, now)
        .candidates
        .into_iter()
        .min_by_key(rank)
}

/// The whole plan as JSON.
pub(crate) fn plan_json(desk: &FleetPlanner, decision: &Decision, filter: &Filter) -> Value {
    let mut plan = fleet_json::decision(decision);
    let limit = filter.limit.unwrap_or(usize::MAX);
    plan["starts"] = starts(desk, decision, filter)
        .into_iter()
        .take(limit)
        .map(fleet_json::start)
        .collect();
    let waits = waiting(desk, decision, filter);
    plan["waiting"] = waits
        .iter()
        .take(limit)
        .map(|(member, best)| wait_json(desk, *member, best))
        .collect();
    plan
}

/// A cluster that waits, and what it waits for.
pub(crate) fn wait_json(desk: &FleetPlanner, member: ClusterIdx, best: &CandidateWhy) -> Value {
    let state = desk.roster().cluster(member);
    json!({
        "cluster": state.id.as_str(), "name": state.name, "organisation": state.organisation,
        "from": state.version.to_string(), "to": best.to.to_string(), "verdict": verdict(&best.verdict),
    })
}

/// How many clusters each rule holds, of those asked about.
pub(crate) fn holds(desk: &FleetPlanner, filter: &Filter, now: Timestamp) -> Value {
    let mut counts = std::collections::BTreeMap::<&str, u64>::new();
    for member in desk
        .roster()
        .in_order()
        .iter()
        .filter(|member| is_meant(desk, **member, filter, now))
    {
        for code in desk.held_by(*member, now) {
            *counts.entry(code.name()).or_default() += 1;
        }
    }
    json!(counts)
}

/// The cluster of that name or id.
pub(crate) fn find(desk: &FleetPlanner, name: &str) -> anyhow::Result<ClusterIdx> {
    let members = desk.roster().numbers();
    let named = members.filter(|member| is_called(desk.roster().cluster(*member), name));
    // Who only says that it has another's name is found by its id.
    let only_says_so = |member: ClusterIdx| {
        let is_taken = matches!(
            desk.roster().name_clash(member),
            Some(NameClash::Taken { .. })
        );
        is_taken && desk.roster().cluster(member).id.as_str() != name
    };
    let named: Vec<ClusterIdx> = named.filter(|member| !only_says_so(*member)).collect();
    match (
        &*named,
        desk.roster()
            .unmanaged()
            .any(|state| is_called(state, name)),
    ) {
        ([one], _) => Ok(*one),
        ([], true) => {
            bail!("{name} is known, but no policy is about it; name it in its organisation's file")
        }
        ([], false) => {
            bail!("there is no cluster {name}; `towpath fleet status` shows which there are")
        }
        (several, _) => {
            let ids: Vec<&str> = several
                .iter()
                .map(|member| desk.roster().cluster(*member).id.as_str())
                .collect();
            bail!(
                "{name} is the name of {} clusters; use an id: {}",
                several.len(),
                ids.join(", ")
            )
        }
    }
}

/// All candidates of a cluster, or one version of them.
pub(crate) fn candidates(
    desk: &FleetPlanner,
    member: ClusterIdx,
    version: Option<&Version>,
    now: Timestamp,
) -> anyhow::Result<towpath_core::fleet::Why> {
    let mut why = desk.why(member, now);
    if let Some(version) = version {
        why.candidates.retain(|candidate| candidate.to == *version);
        if why.candidates.is_empty() {
            let name = &desk.roster().cluster(member).name;
            bail!(
                "{version} is not available to {name}: no edge leads there from {}",
                desk.roster().cluster(member).version
            )
        }
    }
    Ok(why)
}

/// The rows of the status that were asked for.
pub(crate) fn status_rows(
    desk: &FleetPlanner,
    decision: &Decision,
    filter: &Filter,
) -> Vec<StatusRow> {
    let mut rows = status(desk, decision, &|member| {
        is_meant(desk, member, filter, decision.at)
    });
    rows.retain(|row| {
        filter
            .workload
            .as_ref()
            .is_none_or(|only| *row.workload == **only)
    });
    rows
}

/// The rows of the history that were asked for. Where clusters were chosen, rows that one of them is on.
pub(crate) fn history_rows(
    desk: &FleetPlanner,
    filter: &Filter,
    now: Timestamp,
) -> Vec<HistoryRow> {
    let mut rows = history(desk.roster());
    let chosen = filter.sector.is_some() || filter.cluster.is_some() || filter.held_by.is_some();
    let meant = chosen.then(|| meant_names(desk, filter, now));
    rows.retain_mut(|row| {
        let organisation = filter
            .organisation
            .as_ref()
            .is_none_or(|only| *row.organisation == **only);
        let workload = filter
            .workload
            .as_ref()
            .is_none_or(|only| *row.workload == **only);
        if let Some(meant) = &meant {
            row.clusters
                .retain(|name| meant.contains(&(row.organisation.clone(), name.clone())));
        }
        organisation && workload && (meant.is_none() || !row.clusters.is_empty())
    });
    rows.truncate(filter.limit.unwrap_or(usize::MAX));
    rows
}

/// The clusters that were asked about, by organisation and name.
pub(crate) fn meant_names(
    desk: &FleetPlanner,
    filter: &Filter,
    now: Timestamp,
) -> BTreeSet<(Name, Name)> {
    let meant = desk
        .roster()
        .in_order()
        .iter()
        .filter(|member| is_meant(desk, **member, filter, now));
    let name = |member: &ClusterIdx| {
        let state = desk.roster().cluster(*member);
        (state.organisation.clone(), state.name.clone())
    };
    meant.map(name).collect()
}

/// What will start over so many days from a decision on, of those asked about.
pub(crate) fn forecast_for(
    meant: &BTreeSet<(Name, Name)>,
    input: FleetInput,
    graph: Option<&Graph>,
    now: Timestamp,
    days: u32,
    progress: &mut dyn FnMut(Timestamp),
) -> anyhow::Result<Vec<Forecast>> {
    if !(1..=MAX_DAYS).contains(&days) {
        bail!("a forecast is for 1 to {MAX_DAYS} days");
    }
    let until = now + SignedDuration::from_hours(24 * i64::from(days));
    let offers = |state: &ClusterState, at: Timestamp| {
        graph.map(|graph| OfferBook::new(graph, at).offers(state))
    };
    let mut forecasts = forecast(
        input,
        now,
        until,
        &Assumptions::default(),
        &offers,
        progress,
    );
    forecasts.retain(|one| meant.contains(&(one.organisation.clone(), one.cluster.clone())));
    Ok(forecasts)
}
