//! The result in sentences. Each line is a comment, so that it can go above any list.

use std::collections::BTreeSet;
use std::fmt::Write;

use jiff::Timestamp;
use towpath_core::graph::{ChannelName, Release, ReleaseId, RiskId};
use towpath_core::mirror::smallest::SizeProof;
use towpath_core::mirror::{Need, Presence, Traveller};
use towpath_core::path::{NoGoal, NoPath, PathBarrier, Plan, RiskPolicy};

use super::{Completeness, MirrorReport};
use crate::path::barrier;
use crate::words::{counted, first_names, minute, no_such_risks, plain};

/// The most names that are listed. The others are counted.
const MAX_NAMES: usize = 6;

/// Everything there is to say, above a list.
pub fn comments(told: &MirrorReport<'_>) -> String {
    let mut text = no_such_risks(told.graph, &told.wish.taken);
    // They are in this order, so clusters on one release stand together.
    let groups = told
        .mirror
        .stuck
        .chunk_by(|(a, _), (b, _)| (&a.arch, &a.version) == (&b.arch, &b.version));
    groups.for_each(|group| text.push_str(&stuck(told, group)));
    if !told.mirror.stuck.is_empty() {
        text.push_str(match told.completeness {
            Completeness::Whole => {
                "Nothing is listed, because a list would not be whole. --partial lists what the others need.\n"
            }
            Completeness::Partial => "THIS LIST IS NOT WHOLE. It has only what the others need.\n",
        });
    }
    if told.mirror.stuck.is_empty() || told.completeness == Completeness::Partial {
        told.mirror
            .plans
            .iter()
            .for_each(|plan| text.push_str(&way(told, plan)));
        text.push_str(&around(told));
        text.push_str(&total(told));
    }
    text.lines()
        .fold(String::new(), |all, line| all + "# " + &plain(line) + "\n")
}

/// A way, hop by hop.
fn way(told: &MirrorReport<'_>, plan: &Plan) -> String {
    let start = told.graph.release(plan.from);
    let who: Vec<&str> = told
        .wish
        .travellers
        .iter()
        .filter(|who| {
            who.version == start.version && who.arch == start.arch && !who.name.is_empty()
        })
        .map(|who| who.name.as_str())
        .collect();
    let who = if who.is_empty() {
        String::new()
    } else {
        format!(" ({})", listed(who.into_iter()))
    };
    let hops = match plan.hops.len() {
        0 => "is there already".to_owned(),
        1 => "1 hop".to_owned(),
        many => format!("{many} hops"),
    };
    let mut text = format!(
        "{} to {} on {}{who}: {hops}\n",
        start.version, told.wish.target, start.arch
    );
    text.push_str(&hops_of(told, plan));
    text
}

fn hops_of(told: &MirrorReport<'_>, plan: &Plan) -> String {
    let mut text = String::new();
    for hop in &plan.hops {
        let risks = match hop.risks.is_empty() {
            true => String::new(),
            false => format!(", unless {} applies", names(told, &hop.risks, " or ")),
        };
        let opens = match hop.opens > told.now {
            true => format!(", offered to everybody from {}", minute(hop.opens)),
            false => String::new(),
        };
        let (from, to) = (told.version(hop.from), told.version(hop.to));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {from} -> {to} in {}{risks}{opens}", hop.channel);
    }
    text
}

fn around(told: &MirrorReport<'_>) -> String {
    let mut text = String::new();
    for branch in &told.mirror.branches {
        let risks = names(told, &branch.applying, " and ");
        let (from, verb) = (
            told.version(branch.from),
            if branch.applying.len() == 1 {
                "applies"
            } else {
                "apply"
            },
        );
        text.push_str(&match &branch.way {
            Some(way) => format!("If {risks} {verb}, from {from} on:\n{}", hops_of(told, way)),
            None => format!("If {risks} {verb}, there is no way on from {from}.\n"),
        });
    }
    text
}

/// How much there is to do, and whether less would.
fn total(told: &MirrorReport<'_>) -> String {
    let missing = told.mirror.missing().count();
    let there: Vec<&Need> = told
        .mirror
        .needs
        .iter()
        .filter(|need| need.place == Presence::There)
        .collect();
    let there = match there.len() {
        0 => String::new(),
        _ => format!(
            " There already: {}.",
            listed(there.iter().map(|need| told.version(need.release)))
        ),
    };
    let mut text = match missing {
        0 => format!("No release is missing.{there}\n"),
        1 => format!("1 release to mirror.{there}\n"),
        many => format!("{many} releases to mirror.{there}\n"),
    };
    for (arch, proof) in &told.mirror.proofs {
        if let SizeProof::GaveUp { at_least } = proof {
            let _ = writeln!(
                text,
                "The search for the smallest set of {arch} gave up: these are the best ways together, and at least {at_least} missing releases are needed."
            );
        }
    }
    text
}

/// Who on one release has no way, and why.
fn stuck(told: &MirrorReport<'_>, group: &[(Traveller, NoPath)]) -> String {
    let Some((who, why)) = group.first() else {
        return String::new();
    };
    let names = group
        .iter()
        .map(|(who, _)| who.name.as_str())
        .filter(|name| !name.is_empty());
    let names = Some(listed(names)).filter(|names| !names.is_empty());
    let names = names.map_or_else(String::new, |names| format!(" ({names})"));
    let mut text = format!(
        "No way for {} on {}{names}: {}\n",
        who.version,
        who.arch,
        sentence(told, who, why)
    );
    for one in barriers(why) {
        text.push_str(barrier(told.graph, one).trim_start());
    }
    text
}

/// What stands in the way, if that is known, and not only risks: which of them to accept is said in a sentence.
pub(super) fn barriers(why: &NoPath) -> &[PathBarrier] {
    match why {
        NoPath::Stranded(stranded) if stranded.with_risks.is_none() => &stranded.barriers,
        _ => &[],
    }
}

/// Why there is no way, and what would help.
pub(super) fn sentence(told: &MirrorReport<'_>, who: &Traveller, why: &NoPath) -> String {
    let (target, arch) = (&told.wish.target, &who.arch);
    match why {
        NoPath::NoChannel(name) => format!("there is no channel {name}."),
        NoPath::FromUnknown => format!("there is no such release for {arch}."),
        NoPath::FromElsewhere(id) => elsewhere(told, *id),
        NoPath::NoGoal {
            is: NoGoal::Elsewhere(id),
            ..
        } => elsewhere(told, *id),
        NoPath::NoGoal { .. } => format!("there is no release {target} for {arch}."),
        NoPath::Stranded(_) if *target < who.version => {
            format!("{target} is older, and updates lead forward.")
        }
        NoPath::Stranded(stranded) => {
            let nearest = stranded.nearest.as_ref().and_then(|plan| plan.hops.last());
            let how_far = match nearest {
                None if barriers(why).is_empty() => "no update leads on from it".to_owned(),
                None => "no update from it is offered".to_owned(),
                Some(hop) => {
                    let newest = &told.graph.release(hop.to).version;
                    format!("the newest that can be reached is {newest}")
                }
            };
            let remedy = match &stranded.with_risks {
                Some(plan) => accepting(told, plan),
                None if !barriers(why).is_empty() => String::new(),
                None => "; name more channels with --via".to_owned(),
            };
            format!("{how_far}{remedy}.")
        }
    }
}

/// The risks that have to be accepted for a way, and how.
fn accepting(told: &MirrorReport<'_>, plan: &Plan) -> String {
    let name = |id: &RiskId| told.graph.risk(*id).name.as_str();
    let risks: BTreeSet<&RiskId> = plan.hops.iter().flat_map(|hop| &hop.risks).collect();
    let not_taken = risks
        .iter()
        .filter(|id| !told.wish.taken.takes(told.graph.risk(***id)));
    let not_taken: BTreeSet<&str> = not_taken.map(|id| name(id)).collect();
    let mut accepted: BTreeSet<&str> = risks.into_iter().map(name).collect();
    if let RiskPolicy::Accepted(known) = &told.wish.taken {
        accepted.extend(known.iter().map(String::as_str));
    }
    let joined =
        |names: BTreeSet<&str>, between: &str| names.into_iter().collect::<Vec<_>>().join(between);
    let (not_taken, accepted) = (joined(not_taken, ", "), joined(accepted, ","));
    let hops = counted(plan.hops.len(), "hop");
    format!(
        "; if you accept {not_taken}, there is a way to {} in {hops}: --risks accepted:{accepted}",
        told.wish.target
    )
}

/// A release that has entered none of the channels.
fn elsewhere(told: &MirrorReport<'_>, id: ReleaseId) -> String {
    let Release {
        version, channels, ..
    } = told.graph.release(id);
    let later = |(name, _): &&(ChannelName, Timestamp)| told.wish.channels.contains(name);
    match (channels.as_slice(), channels.iter().find(later)) {
        ([], _) => format!("{version} is in no channel."),
        // Those that it has entered are none of these, so it enters this one later.
        (_, Some((name, start))) => format!("{version} enters {name} at {}.", minute(*start)),
        _ => format!(
            "{version} is not in {}, but in {}.",
            listed(told.wish.channels.iter()),
            listed(channels.iter().map(|(name, _)| name))
        ),
    }
}

fn names(told: &MirrorReport<'_>, risks: &BTreeSet<RiskId>, between: &str) -> String {
    risks
        .iter()
        .map(|risk| told.graph.risk(*risk).name.as_str())
        .collect::<Vec<_>>()
        .join(between)
}

fn listed(names: impl Iterator<Item = impl ToString>) -> String {
    first_names(names, MAX_NAMES)
}
