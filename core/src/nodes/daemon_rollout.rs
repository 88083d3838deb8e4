//! A DaemonSet in waves: canaries first, then one, two, four, … pods at once, and back at the first bad one.
//!
//! The DaemonSet has `updateStrategy: OnDelete`, so a node gets the new revision when its pod is deleted. What is remembered is
//! where the rollout goes, where it goes back to, and which nodes are canaries. All else is read off the pods, so whoever takes
//! the next step may have died in the middle of the last one.
//!
//! - **Canaries**: one node of each zone, architecture and pool. They have to be ready for a while.
//! - **Waves**: 1, 2, 4, … at once, up to the limit. From then on the next pod goes as soon as one is ready.
//! - **A bad pod** (broken, or not ready in time, on a node that is well): the revision goes back, and nobody tries it again.
//! - **The limit** counts every node without a ready pod, whoever caused it.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::daemons::{DaemonPod, DaemonSettings, DaemonView};
use crate::fleet::Name;

/// What is remembered of a rollout, on the DaemonSet itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RolloutRecord {
    /// The revision that it goes to, or went to last.
    pub to: Name,
    /// The revision that ran on every node before. None: nobody has seen one, so it cannot go back.
    pub back_to: Option<Name>,
    pub canaries: BTreeSet<Name>,
    /// Why it went back, and then nobody tries this revision again.
    pub failed: Option<Name>,
}

/// What to do next. The record is written before anything else is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DaemonStep {
    pub record: RolloutRecord,
    /// Set the DaemonSet's template back to that of this revision.
    pub roll_back_to: Option<Name>,
    /// Delete these pods.
    pub delete: Vec<Name>,
    pub progress: DaemonProgress,
}

/// How far a rollout is, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DaemonProgress {
    Canaries {
        ready: usize,
        of: usize,
    },
    Soaking {
        until: Timestamp,
    },
    Waves {
        updated: usize,
        of: usize,
    },
    /// As many nodes are without a ready pod as may be, and all of them for reasons of their own.
    Held {
        away: usize,
        limit: usize,
    },
    RollingBack {
        why: Name,
        left: usize,
    },
    /// It failed, and every pod is as it was.
    RolledBack {
        why: Name,
    },
    /// It failed, and there is nothing to go back to. A person has to decide.
    Stuck {
        why: Name,
    },
    Done,
}

/// The next step, from what is seen and remembered.
pub fn next_step(
    view: &DaemonView,
    settings: &DaemonSettings,
    record: Option<&RolloutRecord>,
    now: Timestamp,
) -> DaemonStep {
    let record = remembered(view, record);
    if let Some(why) = record.failed.clone() {
        return back(view, settings, record, why);
    }
    if let Some((pod, why)) = view.bad(&record.to, settings, now) {
        let why: Name = format!("{} on {}: {why}", pod.name, pod.node).into();
        let record = RolloutRecord {
            failed: Some(why.clone()),
            ..record
        };
        return back(view, settings, record, why);
    }
    forward(view, settings, record, now)
}

/// What is remembered, where it is about this revision; else a rollout begins.
fn remembered(view: &DaemonView, record: Option<&RolloutRecord>) -> RolloutRecord {
    let is_going_back = |record: &&RolloutRecord| {
        record.failed.is_some() && record.back_to.as_ref() == Some(&view.wanted)
    };
    match record {
        Some(record) if record.to == view.wanted || is_going_back(&record) => record.clone(),
        _ => RolloutRecord {
            to: view.wanted.clone(),
            back_to: record.map_or_else(|| usual(view), |record| last_good(view, record)),
            canaries: view.canaries(),
            failed: None,
        },
    }
}

/// A revision that came to its end is good; else what it would have gone back to.
fn last_good(view: &DaemonView, record: &RolloutRecord) -> Option<Name> {
    let is_new_here = |pod: &DaemonPod| pod.revision == record.to;
    let was_everywhere =
        record.failed.is_none() && !view.pods.is_empty() && view.pods.iter().all(is_new_here);
    match was_everywhere {
        true => Some(record.to.clone()),
        false => record.back_to.clone().filter(|good| *good != view.wanted),
    }
}

/// The revision that works on most nodes, if it is not the new one; where none works, the one that is on most. Of equals, the
/// first by name.
fn usual(view: &DaemonView) -> Option<Name> {
    let is_other = |pod: &&DaemonPod| pod.revision != view.wanted;
    let of = |pods: Vec<&DaemonPod>| {
        let revisions: BTreeSet<&Name> = pods.iter().map(|pod| &pod.revision).collect();
        let nodes = |revision: &&Name| pods.iter().filter(|pod| pod.revision == **revision).count();
        revisions.into_iter().rev().max_by_key(nodes).cloned()
    };
    let working = of(view.working().filter(is_other).collect());
    working.or_else(|| of(view.pods.iter().filter(is_other).collect()))
}

fn forward(
    view: &DaemonView,
    settings: &DaemonSettings,
    record: RolloutRecord,
    now: Timestamp,
) -> DaemonStep {
    let updated = view.has(&record.to);
    let is_canary = |name: &Name| record.canaries.contains(name);
    let outdated = view.outdated(&record.to);
    let step = |delete: Vec<Name>, progress: DaemonProgress| DaemonStep {
        record: record.clone(),
        roll_back_to: None,
        delete,
        progress,
    };
    if outdated.is_empty() && updated.len() == view.nodes.len() {
        return step(Vec::new(), DaemonProgress::Done);
    }
    // A canary that is gone, or not well any more, does not hold the others for ever.
    let canaries: BTreeSet<&Name> = view
        .nodes
        .iter()
        .filter(|node| node.is_ready && is_canary(&node.name))
        .map(|node| &node.name)
        .collect();
    let ready = canaries.intersection(&updated).count();
    let (limit, away) = (view.most_away(settings), view.away());
    let room = limit.saturating_sub(away);
    if ready < canaries.len() {
        let missing: Vec<&DaemonPod> = outdated
            .into_iter()
            .filter(|pod| is_canary(&pod.node))
            .collect();
        let delete = within(&missing, room);
        let progress = DaemonProgress::Canaries {
            ready,
            of: canaries.len(),
        };
        return step(delete, progress);
    }
    let soaked_at = view
        .working()
        .filter(|pod| pod.revision == record.to && canaries.contains(&pod.node))
        .filter_map(|pod| pod.ready_since)
        .max()
        .and_then(|since| since.checked_add(settings.soak).ok());
    let others = updated.len() - ready;
    // Soak is over once: what came later proves it, and a canary that was replaced does not begin it anew.
    if let Some(until) = soaked_at.filter(|until| *until > now && others == 0) {
        return step(Vec::new(), DaemonProgress::Soaking { until });
    }
    let room = room.min(wave(others).saturating_sub(view.under_way()));
    let delete = within(&outdated, room);
    let is_held = away >= limit && view.under_way() == 0 && !outdated.is_empty();
    let progress = match is_held {
        true => DaemonProgress::Held { away, limit },
        false => DaemonProgress::Waves {
            updated: updated.len(),
            of: view.nodes.len(),
        },
    };
    step(delete, progress)
}

/// How many may be away at once after so many have followed the canaries: 1, 2, 4, …
fn wave(followed: usize) -> usize {
    1 << (followed + 1).ilog2().min(30)
}

fn back(
    view: &DaemonView,
    settings: &DaemonSettings,
    record: RolloutRecord,
    why: Name,
) -> DaemonStep {
    let Some(good) = record.back_to.clone() else {
        return DaemonStep {
            record,
            roll_back_to: None,
            delete: Vec::new(),
            progress: DaemonProgress::Stuck { why },
        };
    };
    // Pods that are deleted before the template is back would come back bad.
    if view.wanted != good {
        let left = view.nodes.len() - view.has(&good).len();
        return DaemonStep {
            record,
            roll_back_to: Some(good),
            delete: Vec::new(),
            progress: DaemonProgress::RollingBack { why, left },
        };
    }
    let outdated = view.outdated(&good);
    let room = view.most_away(settings).saturating_sub(view.away());
    let left = view.nodes.len() - view.has(&good).len();
    let progress = match left {
        0 => DaemonProgress::RolledBack { why },
        left => DaemonProgress::RollingBack { why, left },
    };
    DaemonStep {
        delete: within(&outdated, room),
        record,
        roll_back_to: None,
        progress,
    }
}

/// Those that may be deleted now. One that does not work is away already.
fn within(outdated: &[&DaemonPod], mut room: usize) -> Vec<Name> {
    let mut delete = Vec::new();
    for pod in outdated {
        if pod.works() {
            if room == 0 {
                continue;
            }
            room -= 1;
        }
        delete.push(pod.name.clone());
    }
    delete
}
