//! A path as text: a calm numbered list. It leaves out the usual and says what needs a person.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use jiff::Timestamp;
use towpath_core::cluster::health::KnownGate;
use towpath_core::cluster::{Fact, ReadyHop};
use towpath_core::duration::{Estimate, Seconds, Spread};
use towpath_core::finding::Place;
use towpath_core::graph::{ChannelName, ReleaseId, Risk, RiskId};
use towpath_core::path::{
    CatchUp, Certainty, FoundPaths, Goal, Hop, NoPath, Plan, Pools, TimedHop, TimedPlan,
};
use towpath_core::version::{Minor, Version};

use super::commands::{HopCommands, PlanCommands, commands};
use super::why_not::why_not;
use super::{PathReport, ShapeIs};
use crate::cluster::ready::UnreadKinds;
use crate::cluster::ready::text::{self as ready, LOOK_AGAIN, looked_at};
use crate::duration::{described as described_shape, spread_text};
use crate::graph::explain::text::{ahead, described, rounded_up};
use crate::room::Room;
use crate::verdict::line;
use crate::words::{
    counted, joined, no_such_risks, on_platform, plain, plain_lines, platform_warning, second,
    wrapped,
};

/// Everything there is to say.
pub fn text(told: &PathReport<'_>, room: Room) -> String {
    let mut text = first_line(told) + &head(told);
    text.push_str(&no_such_risks(told.graph, &told.request.risks));
    match told.answer {
        Ok(found) => text.push_str(&ways(told, found)),
        Err(no_path) => text.push_str(&why_not(told, no_path)),
    }
    for reason in told.held().into_iter().flat_map(|held| &held.reasons) {
        text.push_str(&wrapped("The fleet holds it: ", &line(reason)));
        text.push_str(&wrapped("  ", &reason.help()));
    }
    room.fit(&plain_lines(&text))
}

/// The way itself, if there is one.
fn first_line(told: &PathReport<'_>) -> String {
    let best = told
        .answer
        .as_ref()
        .ok()
        .and_then(|found| found.plans.first());
    best.filter(|plan| !plan.hops.is_empty())
        .map_or_else(String::new, |plan| arrows(told, plan) + "\n")
}

fn arrows(told: &PathReport<'_>, plan: &Plan) -> String {
    let all = std::iter::once(plan.from).chain(plan.hops.iter().map(|hop| hop.to));
    let all: Vec<String> = all.map(|id| version(told, id).to_string()).collect();
    all.join(" → ")
}

/// Who asks for what, and when.
fn head(told: &PathReport<'_>) -> String {
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
    let warning = platform_warning(&request.asker.platform)
        .map_or_else(String::new, |warning| wrapped("warning: ", &warning));
    let platform = on_platform(&request.asker.platform);
    let (via, arch, now) = (via(told), &request.asker.arch, second(request.now));
    let looked_at = told
        .cluster
        .as_ref()
        .map_or_else(String::new, |cluster| looked_at(cluster.objects));
    format!(
        "{} to {goal} through {via} ({arch}), {id}, {platform}, at {now}\n{warning}{looked_at}",
        request.from
    )
}

fn asked_goal(goal: &Goal) -> String {
    match goal {
        Goal::Version(version) => version.to_string(),
        Goal::NewestOf { major, minor } => format!("the newest {major}.{minor}"),
        Goal::Newest => "the newest release".to_owned(),
    }
}

/// The channels, streams as `eus-*`.
pub(super) fn via(told: &PathReport<'_>) -> String {
    let shown = |name: &ChannelName| match told.graph.channel(name.as_str()) {
        Some(_) => name.to_string(),
        None => format!("{name}-*"),
    };
    joined(told.request.via.iter().map(shown), "")
}

fn ways(told: &PathReport<'_>, found: &FoundPaths) -> String {
    let mut text = String::new();
    if found.plans.iter().all(|plan| plan.hops.is_empty()) {
        return "It is there already.\n".to_owned();
    }
    for (number, plan) in found.plans.iter().enumerate() {
        if found.plans.len() > 1 {
            let (way, all) = (number + 1, found.plans.len());
            let _ = writeln!(text, "\nWay {way} of {all}: {}", arrows(told, plan));
        }
        text.push_str(&way(told, number, plan));
    }
    if found.certainty == Certainty::SearchLimit {
        text.push_str("\nThere are too many risks to weigh them all against each other; there may be a safer way.\n");
    }
    let risks = risks(told, &found.plans);
    if !risks.is_empty() {
        text.push_str("\nThe risks, which a cluster weighs itself:\n");
        risks
            .values()
            .for_each(|(risk, origins)| text.push_str(&described(risk, origins)));
    }
    text.push_str(&unverified(told, found));
    text.push_str(&times_are_for(told, found));
    if let Some(cluster) = &told.cluster {
        // All ways are of one cluster; what the longest lacks, the others lack at most.
        let longest = cluster.judged.iter().max_by_key(|one| one.unjudged().len());
        let nothing_unread = UnreadKinds::new();
        let unjudged = longest.map(|one| ready::unjudged(one, &nothing_unread));
        text.push_str(&unjudged.unwrap_or_default());
        text.push_str(&wrapped("", LOOK_AGAIN));
    }
    text
}

/// The minor versions on the way that towpath does not know for sure.
fn unverified(told: &PathReport<'_>, found: &FoundPaths) -> String {
    let minors: BTreeSet<Minor> = found
        .plans
        .iter()
        .flat_map(|plan| told.unverified(plan))
        .collect();
    match minors.is_empty() {
        true => String::new(),
        false => {
            let names = joined(minors, "");
            let text = format!(
                "Nobody has verified all that towpath knows about OpenShift {names}, so the strictest reading counts. \
                 --minors FILE confirms it."
            );
            format!("\n{}", wrapped("", &text))
        }
    }
}

/// A plan: what it takes as a whole, what to do on the cluster, then each hop.
fn way(told: &PathReport<'_>, number: usize, plan: &Plan) -> String {
    let timed = plan.timed(told.graph, told.request, told.pace);
    let judged = told
        .cluster
        .as_ref()
        .and_then(|cluster| cluster.judged.get(number));
    let mut text = summary(told, plan) + &duration(told, plan, &timed);
    if let Some(readiness) = judged {
        text.push_str(&(ready::answer(readiness) + &ready::to_do(readiness)));
    }
    // What is only told is told once.
    let (mut channel, mut noted) = (None, BTreeSet::new());
    let held_on = told.held_on(&timed);
    let PlanCommands { hops, after } = commands(told, plan, judged);
    for (number, (hop, timed)) in plan.hops.iter().zip(&timed.hops).enumerate() {
        let mut paragraph = Paragraph::new(told, number, hop);
        paragraph.release(told, hop, channel);
        paragraph.times(told, hop, timed);
        paragraph.pools(told, timed, held_on[number]);
        if let Some(hop) = judged.and_then(|readiness| readiness.hops.get(number)) {
            paragraph.cluster(hop, &mut noted);
        }
        if let Some(HopCommands { gates, look, run }) = hops.get(number) {
            // Of a cluster that was looked at, its notes tell.
            let gates = gates.iter().filter(|_| judged.is_none());
            gates.for_each(|gate| paragraph.gate(gate));
            paragraph.run("look", look);
            paragraph.run("run", run);
        }
        text.push_str(&paragraph.text);
        channel = Some(&hop.channel);
    }
    if !after.is_empty() {
        let mut paragraph = Paragraph {
            text: "\nAt the end\n".to_owned(),
        };
        paragraph.run("run", &after);
        text.push_str(&paragraph.text);
    }
    text
}

fn summary(told: &PathReport<'_>, plan: &Plan) -> String {
    let waits = plan
        .hops
        .iter()
        .filter(|hop| hop.opens > told.request.now)
        .count();
    let open = match (waits, plan.hops.len()) {
        (0, 1) => "open now".to_owned(),
        (0, _) => "all of them open now".to_owned(),
        (waits, _) => format!("{waits} of them not open yet"),
    };
    let names: BTreeSet<&str> = plan
        .hops
        .iter()
        .flat_map(|hop| &hop.risks)
        .map(|id| name_of(told, *id))
        .collect();
    let risks = match names.len() {
        0 => "no risks".to_owned(),
        many => format!("{} to weigh", counted(many, "risk")),
    };
    format!("{}, {open}, {risks}.\n", counted(plan.hops.len(), "hop"))
}

/// How long it takes as a whole. The control plane first; worker pools are told of where somebody has told us of them.
fn duration(told: &PathReport<'_>, plan: &Plan, timed: &TimedPlan) -> String {
    let Some((arrives, settled)) = timed.ends() else {
        return String::new();
    };
    let shown = |at: Timestamp| second(rounded_up(at));
    let (control_planes, arrives) = (spread_text(timed.control_planes), shown(arrives));
    let control_plane = format!(
        "The control plane takes {control_planes}, and is there by {arrives} if it goes on at once{}",
        waiting(plan, timed)
    );
    let workers = match told.shape {
        ShapeIs::Assumed => String::new(),
        ShapeIs::Given => format!(
            "; with worker pools {}, by {}",
            spread_text(timed.total),
            shown(settled)
        ),
    };
    let text = format!("{control_plane}{workers}. {}", rollouts(told, timed));
    wrapped("", &text)
}

/// How often the nodes of each worker pool reboot.
fn rollouts(told: &PathReport<'_>, timed: &TimedPlan) -> String {
    let times = |count: usize| match count {
        0 => "not at all".to_owned(),
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        more => format!("{more} times"),
    };
    match (told.shape, timed.rollouts.is_empty()) {
        _ if told.is_hosted() => {
            "Its node pools are updated one by one, when you say so.".to_owned()
        }
        (ShapeIs::Given, false) => {
            let pools = timed.rollouts.iter();
            let pools = pools.map(|(pool, count)| format!("{pool} {}", times(*count)));
            format!("Its pools reboot: {}.", joined(pools, ""))
        }
        _ => format!("Worker nodes reboot {}.", times(timed.worker_rollouts)),
    }
}

/// How much of the time until then the control plane waits for worker pools; nothing if it does not.
fn waiting(plan: &Plan, timed: &TimedPlan) -> String {
    let pairs = timed.hops.windows(2).zip(plan.hops.iter().skip(1));
    let waits = pairs.map(|(pair, next)| {
        pair[1]
            .taken
            .duration_since(pair[0].arrives.max(next.opens))
            .as_secs()
    });
    let likely: Seconds = waits
        .map(|seconds| Seconds::try_from(seconds).unwrap_or(0))
        .sum();
    match likely {
        0 => String::new(),
        _ => {
            let waits = spread_text(Spread {
                low: likely,
                likely,
                high: likely,
            });
            format!(", {waits} of that spent waiting for worker pools")
        }
    }
}

/// What is said of one hop.
struct Paragraph {
    text: String,
}

impl Paragraph {
    fn new(told: &PathReport<'_>, number: usize, hop: &Hop) -> Self {
        let (from, to) = (version(told, hop.from), version(told, hop.to));
        Self {
            text: format!("\n{:>2}. {from} -> {to}\n", number + 1),
        }
    }

    fn line(&mut self, name: &str, value: &str) {
        let _ = writeln!(self.text, "    {name:<8} {}", plain(value));
    }

    /// What is updated to, in which channel, with which risks.
    fn release(&mut self, told: &PathReport<'_>, hop: &Hop, before: Option<&ChannelName>) {
        match before {
            Some(before) if *before == hop.channel => {
                self.line("channel", &format!("{}, as before", hop.channel))
            }
            Some(before) => self.line(
                "channel",
                &format!("{}; change it from {before} first", hop.channel),
            ),
            None => self.line("channel", hop.channel.as_str()),
        }
        if let Some(between) = told.skipped(hop) {
            let without = match between.is_empty() {
                true => String::new(),
                false => format!(", without {}", joined(between, "")),
            };
            self.line("skips", &format!("a minor version{without}; clusters may"));
        }
        let release = told.graph.release(hop.to);
        self.line("payload", &release.payload);
        if let Some(url) = release.metadata.get("url") {
            self.line("errata", url);
        }
        if !hop.risks.is_empty() {
            let names: BTreeSet<&str> = hop.risks.iter().map(|id| name_of(told, *id)).collect();
            self.line("risks", &joined(names, ""));
        }
    }

    /// When it opens, and how long it takes.
    fn times(&mut self, told: &PathReport<'_>, hop: &Hop, timed: &TimedHop) {
        let now = told.request.now;
        if hop.opens > now {
            let opens = rounded_up(hop.opens);
            self.line(
                "opens",
                &format!("{}, {}", second(opens), ahead(now, opens)),
            );
        }
        if timed.taken > hop.opens && hop.opens > now {
            self.line("take it", &second(rounded_up(timed.taken)));
        }
        let control_plane = spread_text(timed.estimate.control_plane);
        let goes_along = timed.pools == Pools::GoAlong && !timed.estimate.pools.is_empty();
        match (told.shape, goes_along) {
            (ShapeIs::Given, true) => {
                let (workers, total) = (
                    spread_text(timed.estimate.workers),
                    spread_text(timed.estimate.total),
                );
                self.line(
                    "takes",
                    &format!("{control_plane}; worker pools {workers}, all in all {total}"),
                );
            }
            (ShapeIs::Given, false) | (ShapeIs::Assumed, _) => self.line("takes", &control_plane),
        }
    }

    /// What worker pools do, and on which release they are held, if that is known.
    fn pools(&mut self, told: &PathReport<'_>, timed: &TimedHop, held_on: Option<ReleaseId>) {
        let Pools::MayStayPaused { catch_up, .. } = timed.pools else {
            return;
        };
        if told.is_hosted() {
            return;
        }
        let then = match (catch_up, told.shape, timed.catch_up) {
            (CatchUp::Later, _, _) => String::new(),
            (CatchUp::AfterThisHop, ShapeIs::Given, Some(takes)) if takes.high > 0 => {
                format!(
                    "; unpause them after this hop, and let them catch up: {}",
                    spread_text(takes)
                )
            }
            (CatchUp::AfterThisHop, _, _) => {
                "; unpause them after this hop, and let them catch up".to_owned()
            }
        };
        let on = held_on.map_or_else(String::new, |on| format!(" on {}", version(told, on)));
        self.line(
            "pools",
            &format!("all but master may stay paused{on}{then}"),
        );
    }

    /// An acknowledgement that is known to be needed, and the release from which on.
    fn gate(&mut self, gate: &KnownGate) {
        let since = gate.since.as_ref();
        let since = since.map_or_else(String::new, |since| format!(", from {since} on"));
        let only = gate.only.as_ref();
        let only = only.map_or_else(String::new, |only| format!(" ({only})"));
        let doubt = match gate.is_verified {
            true => "",
            false => "; nobody has verified that",
        };
        let (name, description) = (&gate.name, &gate.description);
        let text = format!("{name}{since}{only}{doubt}: {description}");
        self.text.push_str(&wrapped("    asks     ", &text));
    }

    /// Commands, one below the other, each on one line so that it can be copied.
    fn run(&mut self, name: &str, commands: &[String]) {
        for (number, command) in commands.iter().enumerate() {
            let name = if number == 0 { name } else { "" };
            self.line(name, &format!("$ {command}"));
        }
    }

    /// What stands in its way on the cluster.
    fn cluster(&mut self, hop: &ReadyHop, noted: &mut BTreeSet<String>) {
        self.line("cluster", &ready::toned_word(hop));
        for point in ready::points(hop, noted) {
            self.text.push_str(&wrapped("             - ", &point));
        }
    }
}

/// What the times are for, and what they are based on.
fn times_are_for(told: &PathReport<'_>, found: &FoundPaths) -> String {
    let mut bases: BTreeMap<String, String> = BTreeMap::new();
    for plan in &found.plans {
        for hop in plan.timed(told.graph, told.request, told.pace).hops {
            let Estimate { basis, origin, .. } = hop.estimate;
            bases.insert(
                basis.to_string(),
                format!(
                    "Based on {basis}: {} ({}).",
                    origin.note,
                    origin.kind.code()
                ),
            );
        }
    }
    let lines = match told.shape {
        ShapeIs::Assumed => {
            vec!["Estimates: likely (low to high), for a control plane alone; --nodes or --shape adds worker pools.".to_owned()]
        }
        ShapeIs::Given => {
            let shape = described_shape(&told.pace.shape);
            let first = format!("Estimates: likely (low to high), for {shape}");
            std::iter::once(first).chain(bases.into_values()).collect()
        }
    };
    lines
        .iter()
        .fold("\n".to_owned(), |text, line| text + &wrapped("", line))
}

/// Each risk once, with the places that declare it on the way.
fn risks<'a>(
    told: &'a PathReport<'_>,
    plans: &[Plan],
) -> BTreeMap<&'a str, (&'a Risk, BTreeSet<&'a Place>)> {
    let mut risks: BTreeMap<&str, (&Risk, BTreeSet<&Place>)> = BTreeMap::new();
    for hop in plans.iter().flat_map(|plan| &plan.hops) {
        let Some(edge) = told
            .graph
            .edges_from(hop.from)
            .iter()
            .find(|edge| edge.to == hop.to)
        else {
            continue;
        };
        for block in told.graph.blocks_on(*edge) {
            if let Some(id) = block.risk.filter(|id| hop.risks.contains(id)) {
                let risk = told.graph.risk(id);
                risks
                    .entry(&risk.name)
                    .or_insert_with(|| (risk, BTreeSet::new()))
                    .1
                    .insert(&block.origin);
            }
        }
    }
    risks
}

pub(super) fn versions(told: &PathReport<'_>, plan: &Plan) -> String {
    let all = std::iter::once(plan.from).chain(plan.hops.iter().map(|hop| hop.to));
    all.map(|id| version(told, id).to_string())
        .collect::<Vec<_>>()
        .join(" -> ")
}

pub(super) fn version<'a>(told: &PathReport<'a>, id: ReleaseId) -> &'a Version {
    &told.graph.release(id).version
}

pub(super) fn name_of<'a>(told: &PathReport<'a>, id: RiskId) -> &'a str {
    &told.graph.risk(id).name
}
