//! The next step of a run, from what is seen and remembered.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::hold::{bad_sign, gives_up, holds, holds_all, room};
use super::undo::{let_go, undo_step};
use super::view::{NodeMark, NodeUpdate, RebootView, RebootedNode};
use super::{NodeAct, RebootProgress, RebootRecord, RebootSettings, RebootStep, SetAside};
use crate::fleet::Name;
use crate::verdict::Reason;

/// The longest that a node is left alone is so many times [`RebootSettings::again_after`].
const MOST_DOUBLINGS: u32 = 4;

pub fn next_reboot_step(
    view: &RebootView,
    settings: &RebootSettings,
    record: Option<&RebootRecord>,
    now: Timestamp,
) -> RebootStep {
    let mut record = remembered(view, settings, record, now);
    record.stopped = record
        .stopped
        .take()
        .or_else(|| bad_sign(view, settings, &record, now));
    if let Some(why) = record.stopped.clone() {
        return stop(view, record, why);
    }
    if view.updated() == view.nodes.len() {
        return finish(view, record);
    }
    if let Some(why) = &view.blocked {
        return running(view, record, let_go(view), vec![why.clone()]);
    }
    forward(view, settings, record, now)
}

/// What is remembered, where it is about this configuration; else a run begins. What an unfinished run has begun stays known.
fn remembered(
    view: &RebootView,
    settings: &RebootSettings,
    record: Option<&RebootRecord>,
    now: Timestamp,
) -> RebootRecord {
    let mut record = match record {
        Some(record) if record.to == view.wanted => record.clone(),
        other => RebootRecord {
            to: view.wanted.clone(),
            started: now,
            was_paused: other.map_or(view.is_paused, |old| old.was_paused),
            began: other.map_or_else(BTreeMap::new, |old| old.began.clone()),
            refused: BTreeMap::new(),
            handed: other.map_or_else(BTreeMap::new, |old| old.handed.clone()),
            set_aside: BTreeMap::new(),
            stopped: None,
        },
    };
    let is_there = |name: &Name| view.nodes.iter().any(|node| node.name == *name);
    record.began.retain(|name, _| is_there(name));
    record.handed.retain(|name, _| is_there(name));
    record.set_aside.retain(|name, _| is_there(name));
    forget_old(view, settings, &mut record, now);
    record
}

/// The record stays small: when a node began that is done matters only to the pace.
fn forget_old(
    view: &RebootView,
    settings: &RebootSettings,
    record: &mut RebootRecord,
    now: Timestamp,
) {
    let within = settings
        .pace
        .map_or(SignedDuration::ZERO, |pace| pace.within);
    let is_done = |name: &Name| {
        let mut nodes = view.nodes.iter();
        nodes.any(|node| node.name == *name && node.is_updated())
    };
    let is_old = |at: &Timestamp| now.duration_since(*at) >= within;
    record
        .began
        .retain(|name, at| !(is_done(name) && is_old(at)));
    record.set_aside.retain(|name, _| !is_done(name));
    record.refused.retain(|name, _| !is_done(name));
}

fn forward(
    view: &RebootView,
    settings: &RebootSettings,
    mut record: RebootRecord,
    now: Timestamp,
) -> RebootStep {
    // Nothing is handed over before the operator stops taking nodes in an order of its own.
    if !view.is_paused {
        return running(view, record, vec![NodeAct::Pause(true)], Vec::new());
    }
    let mut acts = marks(view, settings, &record);
    acts.extend(taken_back(view));
    let mut reasons = Vec::new();
    let beginning = view.beginning(&record, now);
    // Others may have gone since.
    let mut still = view.rounded_down(settings.at_most_away);
    still = still.saturating_sub(view.away());
    let view = &view.with_cordoned(&beginning);
    for node in view.nodes.iter().filter(|node| node.is_draining()) {
        if beginning.contains(&node.name) {
            if still > 0 {
                still -= 1;
                record.began.insert(node.name.clone(), now);
                acts.push(NodeAct::Cordon(node.name.clone()));
                acts.extend(evictions(node));
            }
            continue;
        }
        drain(node, settings, &mut record, &mut acts, &mut reasons, now);
    }
    note_handed(view, &mut record, now);
    begin(view, settings, &mut record, &mut acts, &mut reasons, now);
    running(view, record, acts, reasons)
}

/// Puts each node's mark right. A node that is back is open at once; one that was handed over stays closed until then. While a pod
/// waits, the others are only avoided: it may fit nowhere else.
fn marks(view: &RebootView, settings: &RebootSettings, record: &RebootRecord) -> Vec<NodeAct> {
    let is_due = |after| view.updated() >= after;
    let has_room = view.waiting_since(record.started).is_none();
    let is_hard = has_room && settings.harden_after.is_some_and(is_due);
    let wanted = |node: &RebootedNode| match (node.is_out(), node.is_updated(), is_hard) {
        (true, _, _) | (false, false, true) => NodeMark::KeepOut,
        (false, true, _) => NodeMark::None,
        (false, false, false) => NodeMark::Avoid,
    };
    let nodes = view.nodes.iter();
    let wrong = nodes.filter(|node| node.mark != wanted(node));
    wrong
        .map(|node| NodeAct::Mark(node.name.clone(), wanted(node)))
        .collect()
}

/// Nodes that are back belong to their own pool again.
fn taken_back(view: &RebootView) -> impl Iterator<Item = NodeAct> + '_ {
    let back = view
        .nodes
        .iter()
        .filter(|node| node.is_handed && !node.is_out());
    back.map(|node| NodeAct::TakeBack(node.name.clone()))
}

/// One pass over a node that is being drained: it goes on, is handed over, or comes back.
fn drain(
    node: &RebootedNode,
    settings: &RebootSettings,
    record: &mut RebootRecord,
    acts: &mut Vec<NodeAct>,
    reasons: &mut Vec<Reason>,
    now: Timestamp,
) {
    let name = node.name.clone();
    // It was given up, and whoever wrote that did not come to uncordon it.
    let aside = record.set_aside.get(&name);
    if let Some(aside) = aside.filter(|aside| aside.until > now) {
        reasons.push(aside.why.clone());
        acts.push(NodeAct::Uncordon(name));
        return;
    }
    if node.pods.is_empty() {
        record.refused.remove(&name);
        record.handed.insert(name.clone(), now);
        acts.push(NodeAct::HandOver(name));
        return;
    }
    match node.is_refused() {
        true => drop(record.refused.entry(name.clone()).or_insert(now)),
        false => drop(record.refused.remove(&name)),
    }
    if let Some(why) = gives_up(node, settings, record, now) {
        set_aside(&name, why.clone(), settings, record, now);
        acts.push(NodeAct::Uncordon(name));
        reasons.push(why);
        return;
    }
    acts.extend(evictions(node));
}

fn evictions(node: &RebootedNode) -> impl Iterator<Item = NodeAct> + '_ {
    let staying = node.pods.iter().filter(|pod| !pod.is_leaving);
    staying.map(|pod| NodeAct::Evict {
        node: node.name.clone(),
        namespace: pod.namespace.clone(),
        pod: pod.name.clone(),
    })
}

fn set_aside(
    name: &Name,
    why: Reason,
    settings: &RebootSettings,
    record: &mut RebootRecord,
    now: Timestamp,
) {
    let times = record
        .set_aside
        .get(name)
        .map_or(1, |before| before.times.saturating_add(1));
    let doublings = (times - 1).min(MOST_DOUBLINGS);
    let wait = settings.again_after.checked_mul(1 << doublings);
    let until = now
        .checked_add(wait.unwrap_or(settings.again_after))
        .unwrap_or(Timestamp::MAX);
    record
        .set_aside
        .insert(name.clone(), SetAside { until, times, why });
    record.refused.remove(name);
}

/// A node that was handed over by one who died before it could be seen counts from now on.
fn note_handed(view: &RebootView, record: &mut RebootRecord, now: Timestamp) {
    for node in view.nodes.iter().filter(|node| node.is_out()) {
        record.handed.entry(node.name.clone()).or_insert(now);
    }
    let is_back = |name: &Name| {
        let mut own = view.nodes.iter().filter(|node| node.name == *name);
        own.any(|node| node.is_updated() && node.is_well())
    };
    record.handed.retain(|name, _| !is_back(name));
}

/// Begins with as many nodes as may, in their order.
fn begin(
    view: &RebootView,
    settings: &RebootSettings,
    record: &mut RebootRecord,
    acts: &mut Vec<NodeAct>,
    reasons: &mut Vec<Reason>,
    now: Timestamp,
) {
    let held = holds_all(view, settings, record, now);
    let mut room = match held.is_empty() {
        true => room(view, settings, record, now),
        false => 0,
    };
    reasons.extend(held);
    for node in &view.nodes {
        if node.is_handed || node.is_draining() {
            continue;
        }
        if let Some(why) = holds(node, record, now) {
            reasons.push(why);
            continue;
        }
        if node.update != NodeUpdate::Waiting {
            continue;
        }
        if room == 0 {
            continue;
        }
        room -= 1;
        record.began.insert(node.name.clone(), now);
        acts.push(NodeAct::Cordon(node.name.clone()));
        acts.extend(evictions(node));
    }
}

fn running(
    view: &RebootView,
    record: RebootRecord,
    acts: Vec<NodeAct>,
    reasons: Vec<Reason>,
) -> RebootStep {
    let (updated, of) = (view.updated(), view.nodes.len());
    let is_moving = view
        .nodes
        .iter()
        .any(|node| node.is_draining() || node.is_out());
    let progress = match is_moving || !acts.is_empty() {
        true => RebootProgress::Running {
            updated,
            away: view.away(),
            of,
        },
        false => RebootProgress::Held { updated, of },
    };
    RebootStep {
        record,
        acts,
        progress,
        reasons,
    }
}

/// Takes back what nobody has acted on, and begins nothing. The pool stays paused: a person decides how it goes on.
fn stop(view: &RebootView, record: RebootRecord, why: Reason) -> RebootStep {
    let progress = RebootProgress::Stopped {
        why: why.clone(),
        updated: view.updated(),
        of: view.nodes.len(),
    };
    RebootStep {
        acts: let_go(view),
        record,
        progress,
        reasons: vec![why],
    }
}

/// Every node is updated: everything is put back, the pool at last.
fn finish(view: &RebootView, record: RebootRecord) -> RebootStep {
    let acts = undo_step(view, Some(&record));
    let is_out = view.nodes.iter().any(RebootedNode::is_out);
    let progress = match (acts.len(), is_out) {
        (0, false) => RebootProgress::Done,
        (left, _) => RebootProgress::Finishing { left },
    };
    RebootStep {
        record,
        acts,
        progress,
        reasons: Vec::new(),
    }
}
