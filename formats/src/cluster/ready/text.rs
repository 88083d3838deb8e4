//! Whether a cluster is ready, as text for three in the morning: the summary, then what to do in
//! order, then each update. What could not be judged comes last, with the commands that get it.

use std::collections::BTreeSet;

use towpath_core::cluster::objects::Lag;
use towpath_core::cluster::rules::PoolStanding;
use towpath_core::cluster::{Fact, Readiness, ReadyHop, Task};
use towpath_core::verdict::Reason;

use super::{ReadyReport, UnreadKinds};
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
    text.push_str(&in_vain(told.readiness));
    text.push_str(&unjudged(told.readiness, told.unread));
    if told.readiness.hops.len() > 1 {
        text.push_str(&format!("\n{}", wrapped("", LOOK_AGAIN)));
    }
    room.fit(&text)
}

/// Names that somebody accepts and that nothing has: misspelt, or settled since.
fn in_vain(readiness: &Readiness) -> String {
    let names = readiness.accepted_in_vain.iter();
    let lines = names.map(|name| {
        let name = plain(name);
        format!("\nNothing is {name}; accepting it changes nothing.\n")
    });
    lines.collect()
}

/// What could not be judged, said once, and one block of commands to copy.
pub(crate) fn unjudged(readiness: &Readiness, unread: &UnreadKinds) -> String {
    let unjudged = readiness.unjudged();
    if unjudged.is_empty() {
        return String::new();
    }
    let name = |reason: &Reason| reason.object().unwrap_or_else(|| reason.text());
    let is_unread = |reason: &&&Reason| unread.contains_key(&name(reason));
    let names = joined(unjudged.iter().map(|reason| name(reason)), "");
    let mut text = format!("\n{}", wrapped("Not judged: ", &format!("{names}.")));
    for reason in unjudged.iter().filter(is_unread) {
        let why = unread.get(&name(reason)).map_or("", String::as_str);
        let line = format!("{} cannot be read: {}", name(reason), plain(why));
        text.push_str(&wrapped("  - ", &line));
    }
    let missing = unjudged.iter().filter(|reason| !is_unread(reason));
    let commands: Vec<String> = missing.filter_map(|reason| reason.command()).collect();
    if !commands.is_empty() {
        text.push_str("To get what is missing:\n");
    }
    for command in commands {
        text.push_str(&format!("  {}\n", plain(&command)));
    }
    text
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
    let mut reasons = hops.iter().flat_map(ReadyHop::judged_reasons);
    let has_notes = reasons.any(|reason| reason.code().is_note);
    match (hops.iter().find(|hop| !hop.is_ready()), hops.len()) {
        (None, _) if has_notes => {
            "Ready: nothing stands in the way, but read the notes.\n".to_owned()
        }
        (None, _) => "Ready: nothing stands in the way.\n".to_owned(),
        (Some(_), _) if !readiness.has_objections() => {
            "Not ready: nothing that was found stands in the way, but not everything could be judged.\n".to_owned()
        }
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
        let commands = [("$", &task.command), ("check: $", &task.check)];
        let commands = commands.iter().filter_map(|(mark, command)| {
            let command = command
                .as_ref()
                .filter(|_| task.check != task.command || *mark == "$")?;
            Some(format!("         {mark} {}\n", plain(command)))
        });
        text.extend(commands);
    };
    for hop in readiness.hops.iter().filter(|hop| !hop.tasks.is_empty()) {
        text.push_str(&format!("  before {}\n", hop.to));
        hop.tasks.iter().for_each(|task| add(&mut text, task));
    }
    if let (Some(last), false) = (readiness.hops.last(), readiness.after.is_empty()) {
        text.push_str(&format!("  after {}\n", last.to));
        readiness.after.iter().for_each(|task| add(&mut text, task));
    }
    match text.is_empty() {
        true => text,
        false => format!("\nTo do, in order:\n{text}"),
    }
}

fn paragraph(number: usize, hop: &ReadyHop, noted: &mut BTreeSet<String>) -> String {
    let kubernetes = match (hop.enters, hop.kubernetes) {
        (None, _) => " (a patch)".to_owned(),
        (Some(_), Some(ships)) => format!(" (Kubernetes {})", ships.minor),
        (Some(_), None) => String::new(),
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
pub(crate) fn word(hop: &ReadyHop) -> &'static str {
    match (hop.is_ready(), hop.has_objections()) {
        (true, _) => "ready",
        (false, true) => "not ready",
        (false, false) => "not judged",
    }
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
    let (notes, objections): (Vec<_>, Vec<_>) = hop
        .judged_reasons()
        .partition(|reason| reason.code().is_note);
    let notes = notes
        .into_iter()
        .map(line)
        .filter(|note| noted.insert(note.clone()));
    let mut points: Vec<String> = objections.into_iter().map(line).chain(notes).collect();
    let accepted = hop.accepted.iter();
    points.extend(accepted.map(|reason| format!("accepted: {}", line(reason))));
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
