//! The answer for people: a calm numbered list. What is usual is not said; what needs a hand is.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use jiff::SignedDuration;
use towpath_core::domain::{Answer, ChannelName, Fact, ReleaseId, Risk, RiskId, Version};
use towpath_core::finding::Place;
use towpath_core::plan::{
    Barrier, CatchUp, Certainty, Found, Goal, Hop, NoPath, Obstacle, Plan, Pools, RiskPolicy, Stranded, Times, pools,
};

use super::Told;
use crate::explain::text::{ahead, alike, described, listed, rounded_up, second, sentence};

/// Everything there is to say.
pub fn text(told: &Told<'_>) -> String {
    let mut text = head(told);
    match told.answer {
        Ok(found) => text.push_str(&ways(told, found)),
        Err(no_path) => text.push_str(&why_not(told, no_path)),
    }
    text
}

/// Who asks for what, and when.
fn head(told: &Told<'_>) -> String {
    let request = told.request;
    let goal = match told.answer {
        Ok(found) => told.graph.release(found.goal).version.to_string(),
        Err(NoPath::Stranded(stranded)) => told.graph.release(stranded.goal).version.to_string(),
        Err(_) => asked_goal(&request.goal),
    };
    let id = match &request.asker.id {
        Fact::Known(id) => format!("cluster {id}"),
        Fact::Unknown => "a cluster that does not tell its id".to_owned(),
    };
    let platform = match &request.asker.platform {
        Fact::Known(platform) => format!("on {platform}"),
        Fact::Unknown => "on an unknown platform".to_owned(),
    };
    let (via, arch, now) = (via(told), &request.asker.arch, second(request.now));
    format!("{} to {goal} through {via} ({arch}), {id}, {platform}, at {now}\n", request.from)
}

fn asked_goal(goal: &Goal) -> String {
    match goal {
        Goal::Version(version) => version.to_string(),
        Goal::NewestOf { major, minor } => format!("the newest {major}.{minor}"),
        Goal::Newest => "the newest release".to_owned(),
    }
}

/// The channels, streams as `eus-*`.
fn via(told: &Told<'_>) -> String {
    let shown = |name: &ChannelName| match told.graph.channel(name.as_str()) {
        Some(_) => name.to_string(),
        None => format!("{name}-*"),
    };
    told.request.via.iter().map(shown).collect::<Vec<_>>().join(", ")
}

fn ways(told: &Told<'_>, found: &Found) -> String {
    let mut text = String::new();
    if found.plans.iter().all(|plan| plan.hops.is_empty()) {
        return "It is there already.\n".to_owned();
    }
    for (number, plan) in (1..).zip(&found.plans) {
        if found.plans.len() > 1 {
            let _ = writeln!(text, "\nWay {number} of {}", found.plans.len());
        }
        text.push_str(&way(told, plan));
    }
    if found.certainty == Certainty::SearchLimit {
        text.push_str("\nThere are too many risks to weigh them all against each other; there may be a safer way.\n");
    }
    let risks = risks(told, &found.plans);
    if !risks.is_empty() {
        text.push_str("\nThe risks, which a cluster weighs itself:\n");
        risks.values().for_each(|(risk, origins)| text.push_str(&described(risk, origins)));
    }
    text
}

/// A plan: what it takes as a whole, then each hop.
fn way(told: &Told<'_>, plan: &Plan) -> String {
    let times = plan.times(told.request.now, told.lasts);
    let mut text = summary(told, plan, &times);
    let pools = pools(told.graph, plan);
    let mut channel: Option<&ChannelName> = None;
    for (number, hop) in plan.hops.iter().enumerate() {
        text.push_str(&paragraph(told, number, hop, times[number], channel, pools[number]));
        channel = Some(&hop.channel);
    }
    text
}

fn summary(told: &Told<'_>, plan: &Plan, times: &[Times]) -> String {
    let now = told.request.now;
    let hops = match plan.hops.len() {
        1 => "1 hop".to_owned(),
        many => format!("{many} hops"),
    };
    let waits = plan.hops.iter().filter(|hop| hop.opens > now).count();
    let open = match (waits, plan.hops.len()) {
        (0, 1) => "open now".to_owned(),
        (0, _) => "all of them open now".to_owned(),
        (waits, _) => format!("{waits} of them not open yet"),
    };
    let names: BTreeSet<&str> = plan.hops.iter().flat_map(|hop| &hop.risks).map(|id| name_of(told, *id)).collect();
    let risks = match names.len() {
        0 => "no risks".to_owned(),
        1 => "1 risk to weigh".to_owned(),
        many => format!("{many} risks to weigh"),
    };
    let work = plan.hops.iter().map(told.lasts).sum::<SignedDuration>();
    let there = times.last().map_or(now, |times| times.arrives);
    let there = second(rounded_up(there));
    let minutes = work.as_secs() / 60;
    format!("{hops}, {open}, {risks}. About {} of updates; there by {there} at the earliest.\n", hours(minutes))
}

fn hours(minutes: i64) -> String {
    match (minutes / 60, minutes % 60) {
        (0, minutes) => format!("{minutes} min"),
        (hours, 0) => format!("{hours} h"),
        (hours, minutes) => format!("{hours} h {minutes} min"),
    }
}

fn paragraph(
    told: &Told<'_>,
    number: usize,
    hop: &Hop,
    times: Times,
    before: Option<&ChannelName>,
    pools: Pools,
) -> String {
    let (from, to) = (version(told, hop.from), told.graph.release(hop.to));
    let mut text = format!("\n{:>2}. {from} -> {}\n", number + 1, to.version);
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "    {name:<8} {value}");
    };
    match before {
        Some(before) if *before == hop.channel => line("channel", &format!("{}, as before", hop.channel)),
        Some(before) => line("channel", &format!("{}; change it from {before} first", hop.channel)),
        None => line("channel", hop.channel.as_str()),
    }
    line("payload", &to.payload);
    if let Some(url) = to.metadata.get("url") {
        line("errata", url);
    }
    if hop.opens > told.request.now {
        let (opens, now) = (rounded_up(hop.opens), told.request.now);
        line("opens", &format!("{}, {}", second(opens), ahead(now, opens)));
    }
    if times.taken > hop.opens && hop.opens > told.request.now {
        line("take it", &second(rounded_up(times.taken)));
    }
    if !hop.risks.is_empty() {
        let names: BTreeSet<&str> = hop.risks.iter().map(|id| name_of(told, *id)).collect();
        line("risks", &names.into_iter().collect::<Vec<_>>().join(", "));
    }
    if let Pools::MayStayPaused { on, catch_up } = pools {
        let then = match catch_up {
            CatchUp::Later => "",
            CatchUp::AfterThisHop => "; unpause them after this hop, and let them catch up",
        };
        line("pools", &format!("all but master may stay paused on {}{then}", version(told, on)));
    }
    text
}

/// Each risk once, with the places that declare it on the way.
fn risks<'a>(told: &'a Told<'_>, plans: &[Plan]) -> BTreeMap<&'a str, (&'a Risk, BTreeSet<&'a Place>)> {
    let mut risks: BTreeMap<&str, (&Risk, BTreeSet<&Place>)> = BTreeMap::new();
    for hop in plans.iter().flat_map(|plan| &plan.hops) {
        let Some(edge) = told.graph.edges_from(hop.from).iter().find(|edge| edge.to == hop.to) else { continue };
        for block in told.graph.blocks_on(*edge) {
            if let Some(id) = block.risk.filter(|id| hop.risks.contains(id)) {
                let risk = told.graph.risk(id);
                risks.entry(&risk.name).or_insert_with(|| (risk, BTreeSet::new())).1.insert(&block.origin);
            }
        }
    }
    risks
}

fn why_not(told: &Told<'_>, no_path: &NoPath) -> String {
    let (request, graph) = (told.request, told.graph);
    let arch = &request.asker.arch;
    let elsewhere = |id: ReleaseId| {
        let entered = graph.release(id).channels.iter().filter(|(_, start)| *start <= request.now);
        let names: Vec<&str> = entered.map(|(name, _)| name.as_str()).collect();
        match names.is_empty() {
            true => format!("{} is in no channel.\n", version(told, id)),
            false => {
                format!("{} is not in {}, but in {}.\n", version(told, id), via(told), listed(names.into_iter()))
            }
        }
    };
    let unknown = |wanted: &Version| {
        let same = graph.releases().iter().rev().filter(|one| one.arch == *arch && one.version.same_minor(wanted));
        let names: Vec<String> = same.map(|one| one.version.to_string()).collect();
        let others = match names.is_empty() {
            true => format!(", nor any other {}.{}", wanted.major(), wanted.minor()),
            false => format!("; there are {}", listed(names.iter().map(String::as_str))),
        };
        format!("{wanted} is not in {}: there is no such release for {arch}{others}.\n", via(told))
    };
    match (no_path, &request.goal) {
        (NoPath::NoChannel(name), _) => {
            let alike = alike(name, graph.channels().keys());
            format!("There is no channel {name}; there are {}.\n", listed(alike.iter().map(|name| name.as_str())))
        }
        (NoPath::FromUnknown, _) => unknown(&request.from),
        (NoPath::GoalUnknown, Goal::Version(wanted)) => unknown(wanted),
        (NoPath::FromElsewhere(id) | NoPath::GoalElsewhere(id), _) => elsewhere(*id),
        (NoPath::NothingThere | NoPath::GoalUnknown, goal) => match goal {
            Goal::NewestOf { major, minor } => format!("There is no {major}.{minor} for {arch} in {}.\n", via(told)),
            _ => format!("There is no release for {arch} in {}.\n", via(told)),
        },
        (NoPath::Stranded(stranded), _) => stranded_text(told, stranded),
    }
}

fn stranded_text(told: &Told<'_>, stranded: &Stranded) -> String {
    let goal = version(told, stranded.goal);
    if *goal < told.request.from {
        return format!("There is no way to {goal}: it is older, and updates lead forward.\n");
    }
    let mut text = format!("There is no way to {goal}.\n");
    let hops = |count: usize| if count == 1 { "1 hop".to_owned() } else { format!("{count} hops") };
    match stranded.nearest.as_ref().and_then(|plan| Some((plan, plan.hops.last()?))) {
        Some((plan, last)) => {
            let (nearest, hops) = (version(told, last.to), hops(plan.hops.len()));
            let _ = writeln!(
                text,
                "The nearest release that can be reached is {nearest}, in {hops}: {}.",
                versions(told, plan)
            );
            if let Some(newest) = stranded.of_goals_minor.map(|id| version(told, id)).filter(|newest| *newest > nearest)
            {
                let _ = writeln!(text, "The newest {}.{} that can be reached is {newest}.", goal.major(), goal.minor());
            }
        }
        None => text.push_str("No update towards it is offered at all.\n"),
    }
    if !stranded.barriers.is_empty() {
        text.push_str("\nWhat stands in the way:\n");
        stranded.barriers.iter().for_each(|one| text.push_str(&barrier(told, one)));
        if stranded.more_barriers > 0 {
            let _ = writeln!(text, "\n{} more updates would lead on and are not offered.", stranded.more_barriers);
        }
    }
    if let Some(plan) = &stranded.with_risks {
        let not_taken = |risk: &&RiskId| !told.request.risks.takes(told.graph.risk(**risk));
        let names: BTreeSet<&str> =
            plan.hops.iter().flat_map(|hop| &hop.risks).filter(not_taken).map(|id| name_of(told, *id)).collect();
        let accepted = match &told.request.risks {
            RiskPolicy::Accepted(known) => known.iter().map(String::as_str).chain(names.iter().copied()).collect(),
            RiskPolicy::Never | RiskPolicy::Unknown | RiskPolicy::Any => all_names(told, plan),
        };
        let (names, accepted) = (joined(&names, ", "), joined(&accepted, ","));
        let _ = writeln!(
            text,
            "\nWhoever accepts {names} has a way in {}: {}.",
            hops(plan.hops.len()),
            versions(told, plan)
        );
        let _ = writeln!(text, "Read what each is about, then ask again with --risks accepted:{accepted}");
    }
    text
}

fn joined(names: &BTreeSet<&str>, between: &str) -> String {
    names.iter().copied().collect::<Vec<_>>().join(between)
}

fn all_names<'a>(told: &'a Told<'_>, plan: &Plan) -> BTreeSet<&'a str> {
    plan.hops.iter().flat_map(|hop| &hop.risks).map(|id| name_of(told, *id)).collect()
}

fn barrier(told: &Told<'_>, barrier: &Barrier) -> String {
    let mut text = format!("\n{} -> {}", version(told, barrier.from), version(told, barrier.to));
    match &barrier.obstacle {
        Obstacle::NoChannelHoldsBoth(channels) if channels.is_empty() => {
            text.push_str("\n    No channel holds both.\n");
        }
        Obstacle::NoChannelHoldsBoth(channels) => {
            let names = listed(channels.iter().map(ChannelName::as_str));
            let _ = writeln!(text, "\n    None of the channels holds both, but {names}.");
        }
        Obstacle::Rules { channel, verdict } => {
            let _ = writeln!(text, " in {channel}");
            if matches!(verdict.answer, Answer::RecommendUnless(_) | Answer::Wait { .. }) {
                text.push_str("    Only with risks, which are not to be taken.\n");
            }
            for reason in &verdict.reasons {
                let (sentence, places) = sentence(reason, told.request.now);
                let _ = writeln!(text, "    {sentence}");
                if !places.is_empty() {
                    let _ = writeln!(text, "      {}", places.join(", "));
                }
            }
        }
    }
    text
}

fn versions(told: &Told<'_>, plan: &Plan) -> String {
    let all = std::iter::once(plan.from).chain(plan.hops.iter().map(|hop| hop.to));
    all.map(|id| version(told, id).to_string()).collect::<Vec<_>>().join(" -> ")
}

fn version<'a>(told: &Told<'a>, id: ReleaseId) -> &'a Version {
    &told.graph.release(id).version
}

fn name_of<'a>(told: &Told<'a>, id: RiskId) -> &'a str {
    &told.graph.risk(id).name
}
