//! One cluster as text: each version that it could go to, the reasons against it, and the last
//! updates.

use std::fmt::Write;

use towpath_core::fleet::{
    AgentUpdate, CandidateWhy, ClusterIdx, Decision, FleetPlanner, Preflight, Why,
};
use towpath_core::graph::ChannelName;
use towpath_core::verdict::{Answer, Verdict};
use towpath_core::version::Version;

use super::{helps, over_channel, sentences};
use crate::words::{joined, minute};

/// The most of a cluster's last updates that are listed.
const MAX_AGENT_UPDATES: usize = 5;

/// Why a cluster does, or does not, go where it could.
pub fn why(
    desk: &FleetPlanner,
    decision: &Decision,
    member: ClusterIdx,
    why: &Why,
    updates: &[AgentUpdate],
) -> String {
    let Why {
        cluster,
        candidates,
    } = why;
    let (state, policy) = (desk.roster().cluster(member), desk.roster().policy(member));
    let sector = policy
        .sector
        .as_ref()
        .map_or_else(String::new, |sector| format!(", sector {sector}"));
    let mut text = format!(
        "{} ({}{sector}) runs {} with {}\n",
        state.name,
        state.organisation,
        state.version,
        joined(&policy.workloads, "no workload"),
    );
    let start = decision
        .starts
        .iter()
        .find(|start| start.cluster == state.id);
    match (start, cluster.is_offered()) {
        (Some(start), _) => {
            let what = start
                .pool()
                .map_or_else(String::new, |pool| format!("node pool {pool} "));
            writeln!(
                text,
                "  starts {what}to {} at {}",
                over_channel(&start.to, start.channel.as_ref()),
                minute(start.at)
            )
            .expect("fits");
        }
        (None, true) => {}
        (None, false) => {
            writeln!(text, "  nothing starts on it now:").expect("fits");
            for sentence in sentences(cluster) {
                writeln!(text, "    {sentence}").expect("fits");
            }
        }
    }
    if candidates.is_empty() {
        text.push_str("  there is no newer version for it\n");
        return text + &preflights(desk, member) + &agent_updates(updates);
    }
    let rows: Vec<CandidateRow> = candidates
        .iter()
        .map(|candidate| {
            let is_start =
                start.is_some_and(|start| start.pool().is_none() && start.to == candidate.to);
            CandidateRow::new(candidate, is_start, start.is_some(), cluster)
        })
        .collect();
    let folded: Vec<(String, &CandidateRow)> = rows
        .chunk_by(|a, b| (a.answer, &a.told, a.channel) == (b.answer, &b.told, b.channel))
        .filter_map(|same| Some((names(same), same.first()?)))
        .collect();
    let width = folded.iter().map(|(name, _)| name.chars().count()).max();
    let width = width.unwrap_or(0);
    text.push('\n');
    for (name, CandidateRow { answer, told, .. }) in folded {
        let mut told = told.iter();
        let first = told.next().map_or("", String::as_str);
        writeln!(text, "  {name:width$}  {answer:6}  {first}").expect("fits");
        for sentence in told {
            writeln!(text, "  {:width$}          {sentence}", "").expect("fits");
        }
    }
    let own = candidates
        .iter()
        .flat_map(|candidate| &candidate.own.reasons);
    text + &helps(cluster.reasons.iter().chain(own))
        + &preflights(desk, member)
        + &agent_updates(updates)
}

/// The preflights of a cluster; nothing if it was asked for none.
fn preflights(desk: &FleetPlanner, member: ClusterIdx) -> String {
    let mut text = String::new();
    let roster = desk.roster();
    for preflight in roster.preflights(&roster.cluster(member).id) {
        if text.is_empty() {
            text.push_str("\n  its preflights:\n");
        }
        let Preflight {
            version,
            state,
            at,
            from,
            ..
        } = preflight;
        let (state, at) = (state.code(), minute(*at));
        let found = found(preflight);
        writeln!(text, "  {version}  {state:11}  {at}, from {from}{found}").expect("fits");
    }
    text
}

/// What a preflight has found, and what the cluster said.
fn found(preflight: &Preflight) -> String {
    let risks = match preflight.risks.is_empty() {
        true => String::new(),
        false => format!(", found {}", joined(&preflight.risks, "nothing")),
    };
    match preflight.why.is_empty() {
        true => risks,
        false => format!("{risks}: {}", preflight.why),
    }
}

/// What is said about one version. Versions about which the same is said stand together.
struct CandidateRow<'a> {
    to: &'a Version,
    /// The channel that it is reached over, if the cluster has to switch.
    channel: Option<&'a ChannelName>,
    answer: &'static str,
    told: Vec<String>,
}

impl<'a> CandidateRow<'a> {
    fn new(candidate: &'a CandidateWhy, is_start: bool, starts: bool, cluster: &Verdict) -> Self {
        let answer = match is_start {
            true => "starts",
            false => candidate.own.answer.word(),
        };
        let mut told = sentences(&candidate.own);
        if let Answer::Wait { until: Some(until) } = candidate.own.answer {
            told.push(format!("expected {}", minute(until)));
        }
        if told.is_empty() {
            told.push(free(answer, starts, cluster).to_owned());
        }
        Self {
            to: &candidate.to,
            channel: candidate.channel.as_ref(),
            answer,
            told,
        }
    }
}

/// The versions of some rows, highest first.
fn names(rows: &[CandidateRow<'_>]) -> String {
    let channel = rows.first().and_then(|row| row.channel);
    let versions = match rows {
        [] => String::new(),
        [one] => one.to.to_string(),
        [one, other] => format!("{}, {}", one.to, other.to),
        [first, .., last] => format!("{} … {} ({})", first.to, last.to, rows.len()),
    };
    over_channel(versions, channel)
}

/// What became of a cluster's last updates, in its agent's words; nothing if it has told of none.
fn agent_updates(updates: &[AgentUpdate]) -> String {
    let mut text = String::new();
    let shown = &updates[..updates.len().min(MAX_AGENT_UPDATES)];
    let width = shown
        .iter()
        .map(|update| update.to.to_string().len())
        .max()
        .unwrap_or(0);
    for update in shown {
        if text.is_empty() {
            text.push_str("\n  its last updates, as its agent tells:\n");
        }
        let took = update
            .took
            .map_or_else(String::new, |took| format!(", {} min", took.as_mins()));
        let by = if update.is_automatic {
            ", by the agent"
        } else {
            ""
        };
        let why = if update.why.is_empty() {
            String::new()
        } else {
            format!(": {}", update.why)
        };
        let (to, outcome, began) = (
            update.to.to_string(),
            update.outcome.code(),
            minute(update.started_at),
        );
        writeln!(
            text,
            "  {to:width$}  {outcome:9}  began {began}{took}{by}{why}"
        )
        .expect("fits");
    }
    text
}

/// What is said about a version that nothing is held against.
fn free(answer: &str, starts: bool, cluster: &Verdict) -> &'static str {
    match (answer, starts, cluster.is_offered()) {
        ("starts", _, _) => "nothing stands in its way",
        (_, true, _) => "nothing stands in its way, and a higher version is taken",
        (_, false, false) => "nothing stands in its way except what is said above",
        (_, false, true) => "nothing stands in its way",
    }
}
