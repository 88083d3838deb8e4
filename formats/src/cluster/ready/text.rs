//! Whether a cluster is ready, as text for three in the morning: the summary, then what to do in
//! order, then each update.

use std::collections::BTreeSet;

use towpath_core::cluster::objects::Lag;
use towpath_core::cluster::rules::PoolStanding;
use towpath_core::cluster::{Fact, Readiness, ReadyHop, Task};
use towpath_core::version::Minor;

use super::ReadyReport;
use crate::cluster::objects::ClusterObjects;
use crate::room::{Room, Tone, toned};
use crate::verdict::line;
use crate::words::{counted, joined, minute, plain, wrapped};

/// Everything there is to say.
pub fn text(told: &ReadyReport<'_>, room: Room) -> String {
    let mut text = head(told);
    text.push_str(&answer(told.readiness));
    text.push_str(&to_do(told.readiness));
    text.push_str("\nThe updates:\n");
    // What is only told is told once.
    let mut noted = BTreeSet::new();
    for (number, hop) in told.readiness.hops.iter().enumerate() {
        text.push_str(&paragraph(number, hop, &mut noted));
    }
    if told.readiness.hops.len() > 1 {
        text.push_str(&format!("\n{}", wrapped("", LOOK_AGAIN)));
    }
    room.fit(&text)
}

/// What is true of every look at a cluster that has more than one update before it.
pub(crate) const LOOK_AGAIN: &str = "This is the cluster as it was then. Look again after each update: gates and objections come with releases.";

/// Who goes where, and what was looked at.
fn head(told: &ReadyReport<'_>) -> String {
    let id = match &told.cluster.id {
        Fact::Known(id) => format!("cluster {}", plain(id.as_str())),
        Fact::Unknown => "a cluster without an id".to_owned(),
    };
    let hops = &told.readiness.hops;
    let to = hops.last().map_or("", |hop| hop.to.as_str());
    let now = minute(told.now);
    let text = format!(
        "{id}, from {} to {to} in {}, at {now}\n",
        told.way.from(),
        counted(hops.len(), "update")
    );
    text + &looked_at(told.cluster)
}

pub(crate) fn looked_at(cluster: &ClusterObjects) -> String {
    let seen = cluster.counts.iter();
    let seen = seen.map(|(kind, count)| counted(*count, kind.as_str()));
    wrapped("", &format!("Looked at: {}.", joined(seen, "nothing")))
}

/// Whether it is ready, in a sentence.
pub(crate) fn answer(readiness: &Readiness) -> String {
    let hops = &readiness.hops;
    let refused = hops.iter().filter(|hop| !hop.is_ready()).count();
    let mut reasons = hops.iter().flat_map(ReadyHop::reasons);
    let has_notes = reasons.any(|reason| reason.code().is_note);
    match (hops.iter().find(|hop| !hop.is_ready()), hops.len()) {
        (None, _) if has_notes => {
            "Ready: nothing stands in the way, but read the notes.\n".to_owned()
        }
        (None, _) => "Ready: nothing stands in the way.\n".to_owned(),
        (Some(hop), 1) => format!(
            "Not ready: something stands in the way of {} -> {}.\n",
            hop.from, hop.to
        ),
        (Some(first), all) => {
            let to = format!("{} -> {}", first.from, first.to);
            format!(
                "Not ready: something stands in the way of {refused} of {all} updates; the first of them is {to}.\n"
            )
        }
    }
}

/// What to do before which update, in order; and what is left to be done at the end.
pub(crate) fn to_do(readiness: &Readiness) -> String {
    let mut text = String::new();
    let mut number = 0;
    let mut add = |text: &mut String, task: &Task| {
        number += 1;
        text.push_str(&wrapped(&format!("  {number:>3}. "), &plain(&task.text)));
        task.command
            .iter()
            .for_each(|command| text.push_str(&format!("         $ {}\n", plain(command))));
    };
    for hop in readiness.hops.iter().filter(|hop| !hop.tasks.is_empty()) {
        text.push_str(&format!("  before {}\n", hop.to));
        hop.tasks.iter().for_each(|task| add(&mut text, task));
    }
    if let (Some(last), false) = (
        readiness.hops.last(),
        readiness.paused_at_the_end.is_empty(),
    ) {
        text.push_str(&format!("  after {}\n", last.to));
        readiness
            .paused_at_the_end
            .iter()
            .for_each(|pool| add(&mut text, &Task::unpause(pool)));
    }
    match text.is_empty() {
        true => text,
        false => format!("\nTo do, in order:\n{text}"),
    }
}

fn paragraph(number: usize, hop: &ReadyHop, noted: &mut BTreeSet<String>) -> String {
    let kubernetes = match hop.enters.map(Minor::kubernetes) {
        None => " (a patch)".to_owned(),
        Some(Some(minor)) => format!(" (Kubernetes {minor})"),
        Some(None) => String::new(),
    };
    let mut text = format!(
        "  {:>3}. {} -> {}{kubernetes}: {}\n",
        number + 1,
        hop.from,
        hop.to,
        toned_word(hop)
    );
    points(hop, noted)
        .iter()
        .for_each(|point| text.push_str(&wrapped("       - ", point)));
    text
}

/// Whether an update can be taken, in a word.
fn word(hop: &ReadyHop) -> &'static str {
    if hop.is_ready() { "ready" } else { "not ready" }
}

/// The same, in its colour.
pub(crate) fn toned_word(hop: &ReadyHop) -> String {
    let tone = if hop.is_ready() {
        Tone::Good
    } else {
        Tone::Bad
    };
    toned(tone, word(hop))
}

/// What there is to say about an update: what stands in its way, what is only told, unless it was before, and paused pools.
pub(crate) fn points(hop: &ReadyHop, noted: &mut BTreeSet<String>) -> Vec<String> {
    let (notes, objections): (Vec<_>, Vec<_>) =
        hop.reasons().partition(|reason| reason.code().is_note);
    let notes = notes
        .into_iter()
        .map(line)
        .filter(|note| noted.insert(note.clone()));
    let mut points: Vec<String> = objections.into_iter().map(line).chain(notes).collect();
    points.extend(hop.pools.iter().filter_map(staying));
    points
        .iter()
        .map(|point| plain(point).into_owned())
        .collect()
}

/// A paused pool that may stay so.
fn staying(standing: &PoolStanding) -> Option<String> {
    let (pool, kubelet, behind) = (standing.pool.as_ref()?, standing.kubelet?, standing.behind?);
    let stays = standing.lag == Lag::Paused && behind <= standing.limit;
    stays.then(|| {
        let (nodes, limit) = (counted(standing.nodes.len(), "node"), standing.limit);
        format!("pool {pool} may stay paused: {nodes} at Kubernetes {kubelet}, {behind} behind, the limit is {limit}")
    })
}
