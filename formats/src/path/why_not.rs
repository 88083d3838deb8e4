//! Why there is no path, as text: how far the cluster gets, what stops it there, and what could
//! help.

use std::collections::BTreeSet;
use std::fmt::Write;

use towpath_core::graph::{ChannelName, Graph, Release, ReleaseId, RiskId, channels_entered};
use towpath_core::path::{
    Goal, NoGoal, NoPath, Obstacle, PathBarrier, Plan, RiskPolicy, StrandedPath,
};
use towpath_core::verdict::Answer;
use towpath_core::version::Version;

use super::PathReport;
use super::text::{name_of, version, versions, via};
use crate::graph::explain::text::{listed, no_channel};
use crate::verdict::point;
use crate::words::counted;

/// Everything there is to say.
pub(super) fn why_not(told: &PathReport<'_>, no_path: &NoPath) -> String {
    let (request, graph) = (told.request, told.graph);
    let arch = &request.asker.arch;
    let elsewhere = |id: ReleaseId| {
        let entered = channels_entered(graph.release(id), request.now);
        let names: Vec<&str> = entered.map(ChannelName::as_str).collect();
        match names.is_empty() {
            true => format!("{} is in no channel.\n", version(told, id)),
            false => {
                format!(
                    "{} is not in {}, but in {}.\n",
                    version(told, id),
                    via(told),
                    listed(names.into_iter())
                )
            }
        }
    };
    let unknown = |wanted: &Version| {
        let same = graph
            .releases()
            .iter()
            .rev()
            .filter(|one| one.arch == *arch && one.version.same_minor(wanted));
        let names: Vec<String> = same.map(|one| one.version.to_string()).collect();
        let others = match names.is_empty() {
            true => format!(", nor any other {}.{}", wanted.major(), wanted.minor()),
            false => format!("; there are {}", listed(names.iter().map(String::as_str))),
        };
        format!(
            "{wanted} is not in {}: there is no such release for {arch}{others}.\n",
            via(told)
        )
    };
    match (no_path, &request.goal) {
        (NoPath::NoChannel(name), _) => no_channel(name, graph),
        (NoPath::FromUnknown, _) => unknown(&request.from),
        (NoPath::FromElsewhere(id), _) => elsewhere(*id),
        (NoPath::NoGoal { is, nearest }, goal) => match (is, goal) {
            (NoGoal::Elsewhere(id), _) => elsewhere(*id) + &how_far(told, nearest.as_ref()),
            (_, Goal::Version(wanted)) => unknown(wanted) + &how_far(told, nearest.as_ref()),
            (_, Goal::NewestOf { major, minor }) => {
                let others = holding(told, *major, *minor);
                let none = format!(
                    "There is no {major}.{minor} for {arch} in {}{others}.\n",
                    via(told)
                );
                none + &how_far(told, nearest.as_ref())
            }
            (_, Goal::Newest) => format!("There is no release for {arch} in {}.\n", via(told)),
        },
        (NoPath::Stranded(stranded), _) => stranded_text(told, stranded),
    }
}

/// How far one gets all the same.
fn how_far(told: &PathReport<'_>, nearest: Option<&Plan>) -> String {
    let Some(plan) = nearest else {
        return "No update towards it is offered at all.\n".to_owned();
    };
    let (hops, far) = (
        counted(plan.hops.len(), "hop"),
        plan.hops.last().map(|hop| version(told, hop.to)),
    );
    far.map_or_else(String::new, |far| {
        format!(
            "The nearest release that can be reached is {far}, in {hops}: {}.\n",
            versions(told, plan)
        )
    })
}

/// The channels that hold releases of a minor version, if any do.
fn holding(told: &PathReport<'_>, major: u64, minor: u64) -> String {
    let is_meant = |release: &&Release| {
        let version = &release.version;
        release.arch == told.request.asker.arch
            && (version.major(), version.minor()) == (major, minor)
    };
    let meant = told.graph.releases().iter().filter(is_meant);
    let entered = meant.flat_map(|release| channels_entered(release, told.request.now));
    let names: BTreeSet<&str> = entered.map(ChannelName::as_str).collect();
    match names.is_empty() {
        true => String::new(),
        false => format!(", but in {}", listed(names.into_iter())),
    }
}

fn stranded_text(told: &PathReport<'_>, stranded: &StrandedPath) -> String {
    let goal = version(told, stranded.goal);
    if *goal < told.request.from {
        return format!("There is no way to {goal}: it is older, and updates lead forward.\n");
    }
    let mut text = format!("There is no way to {goal}.\n");
    let hops = |count: usize| counted(count, "hop");
    match stranded
        .nearest
        .as_ref()
        .and_then(|plan| Some((plan, plan.hops.last()?)))
    {
        Some((plan, last)) => {
            let (nearest, hops) = (version(told, last.to), hops(plan.hops.len()));
            let _ = writeln!(
                text,
                "The nearest release that can be reached is {nearest}, in {hops}: {}.",
                versions(told, plan)
            );
            if let Some(newest) = stranded
                .of_goals_minor
                .map(|id| version(told, id))
                .filter(|newest| *newest > nearest)
            {
                let _ = writeln!(
                    text,
                    "The newest {}.{} that can be reached is {newest}.",
                    goal.major(),
                    goal.minor()
                );
            }
        }
        None => text.push_str("No update towards it is offered at all.\n"),
    }
    if !stranded.barriers.is_empty() {
        text.push_str("\nWhat stands in the way:\n");
        stranded
            .barriers
            .iter()
            .for_each(|one| text.push_str(&barrier(told.graph, one)));
        if stranded.more_barriers > 0 {
            let more = counted(stranded.more_barriers, "more update");
            let _ = writeln!(
                text,
                "\n{more} would lead on and {} not offered.",
                if stranded.more_barriers == 1 {
                    "is"
                } else {
                    "are"
                }
            );
        }
    }
    if let Some(plan) = &stranded.with_risks {
        let not_taken = |risk: &&RiskId| !told.request.risks.takes(told.graph.risk(**risk));
        let names: BTreeSet<&str> = plan
            .hops
            .iter()
            .flat_map(|hop| &hop.risks)
            .filter(not_taken)
            .map(|id| name_of(told, *id))
            .collect();
        let accepted = match &told.request.risks {
            RiskPolicy::Accepted(known) => known
                .iter()
                .map(String::as_str)
                .chain(names.iter().copied())
                .collect(),
            RiskPolicy::Never | RiskPolicy::Unknown | RiskPolicy::Any => all_names(told, plan),
        };
        let (names, accepted) = (joined(&names, ", "), joined(&accepted, ","));
        let _ = writeln!(
            text,
            "\nIf you accept {names}, there is a way in {}: {}.",
            hops(plan.hops.len()),
            versions(told, plan)
        );
        let _ = writeln!(
            text,
            "Read what each is about, then ask again with --risks accepted:{accepted}"
        );
    }
    text
}

fn joined(names: &BTreeSet<&str>, between: &str) -> String {
    names.iter().copied().collect::<Vec<_>>().join(between)
}

fn all_names<'a>(told: &'a PathReport<'_>, plan: &Plan) -> BTreeSet<&'a str> {
    plan.hops
        .iter()
        .flat_map(|hop| &hop.risks)
        .map(|id| name_of(told, *id))
        .collect()
}

/// An update that would lead on, and what stands in its way.
pub(crate) fn barrier(graph: &Graph, barrier: &PathBarrier) -> String {
    let mut text = format!(
        "\n{} -> {}",
        graph.release(barrier.from).version,
        graph.release(barrier.to).version
    );
    match &barrier.obstacle {
        Obstacle::NoChannelHoldsBoth(channels) if channels.is_empty() => {
            text.push_str("\n    No channel holds both.\n");
        }
        Obstacle::NoChannelHoldsBoth(channels) => {
            let names = listed(channels.iter().map(ChannelName::as_str));
            let _ = writeln!(text, "\n    None of the channels holds both, but {names}.");
        }
        Obstacle::LeavesOut(between) if between.is_empty() => {
            text.push_str("\n    Clusters refuse it: no sequence of updates leads there.\n");
        }
        Obstacle::LeavesOut(between) => {
            let names: Vec<String> = between.iter().map(ToString::to_string).collect();
            let names = listed(names.iter().map(String::as_str));
            let _ = writeln!(text, "\n    Clusters refuse it: it leaves out {names}.");
        }
        Obstacle::Rules { channel, verdict } => {
            let _ = writeln!(text, " in {channel}");
            if matches!(
                verdict.answer,
                Answer::RecommendUnless(_) | Answer::Wait { .. }
            ) {
                text.push_str("    Only with risks, which are not to be taken.\n");
            }
            for reason in &verdict.reasons {
                text.push_str(&point("    - ", reason));
            }
        }
    }
    text
}
