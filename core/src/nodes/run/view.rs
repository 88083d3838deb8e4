//! What is seen of a pool that is rebooted.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use super::RebootRecord;
use crate::duration::MaxUnavailable;
use crate::fleet::Name;
use crate::verdict::Reason;

/// A pool, its nodes, and what must be well beside them, all at one instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RebootView {
    pub pool: Name,
    pub is_paused: bool,
    /// The configuration that its nodes shall have.
    pub wanted: Name,
    /// In the order in which they shall go.
    pub nodes: Vec<RebootedNode>,
    /// Since when each pod waits that the scheduler has refused.
    pub waiting: Vec<Timestamp>,
    /// Why no node can be handed over now, if so.
    pub blocked: Option<Reason>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RebootedNode {
    pub name: Name,
    /// None: it is ready.
    pub unready_since: Option<Timestamp>,
    /// Who keeps new pods away with a cordon.
    pub cordon: Option<Cordon>,
    pub mark: NodeMark,
    /// It has the label of the pool beside.
    pub is_handed: bool,
    pub update: NodeUpdate,
    /// The pods that a drain has to move.
    pub pods: Vec<DrainedPod>,
    /// A budget that would refuse a pod of it now, as `namespace/name`.
    pub refused_by: Option<Name>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cordon {
    /// It has our note.
    Ours,
    /// Of the machine-config operator, or of a person.
    Others,
}

/// How far the machine-config operator is with a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodeUpdate {
    /// It has the old configuration, and nobody has begun.
    Waiting,
    Working,
    /// It has the wanted configuration, whichever pool it got that from.
    Done,
    /// The operator has given up, and says why.
    Failed(Name),
}

/// Our taint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeMark {
    None,
    /// Others are better: it has still to reboot.
    Avoid,
    /// No new pod comes.
    KeepOut,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrainedPod {
    pub namespace: Name,
    pub name: Name,
    /// It has been deleted, and is not gone yet.
    pub is_leaving: bool,
    /// What the API said when it was last asked to evict it, if it refused.
    pub refused: Option<Name>,
}

impl RebootedNode {
    pub fn is_updated(&self) -> bool {
        self.update == NodeUpdate::Done
    }

    pub fn is_ready(&self) -> bool {
        self.unready_since.is_none()
    }

    /// Whether pods can run and come, our marks aside.
    pub fn is_well(&self) -> bool {
        self.is_ready() && self.cordon.is_none()
    }

    /// We are moving its pods away.
    pub fn is_draining(&self) -> bool {
        self.cordon == Some(Cordon::Ours) && !self.is_handed
    }

    /// Handed over, and not back yet.
    pub(super) fn is_out(&self) -> bool {
        self.is_handed && !(self.is_updated() && self.is_well())
    }

    pub fn is_away(&self) -> bool {
        !self.is_well() || self.is_draining() || self.is_out()
    }

    /// Whether every pod that it still has was refused.
    pub(super) fn is_refused(&self) -> bool {
        let is_stuck = |pod: &DrainedPod| !pod.is_leaving && pod.refused.is_some();
        !self.pods.is_empty() && self.pods.iter().all(is_stuck)
    }
}

/// Whoever wrote the record has so much time to cordon the nodes that it names.
const BEGINNING: SignedDuration = SignedDuration::from_secs(60);

impl RebootView {
    /// Nodes that the record says have just begun, and that nobody has cordoned yet. Whoever wrote that is slow, or dead.
    pub(super) fn beginning(&self, record: &RebootRecord, now: Timestamp) -> BTreeSet<Name> {
        let is_beginning = |node: &&RebootedNode| {
            let began = record.began.get(&node.name);
            let is_fresh = began.is_some_and(|at| now.duration_since(*at) < BEGINNING);
            let aside = record.set_aside.get(&node.name);
            let is_given_up = aside.is_some_and(|aside| aside.until > now);
            let is_open = node.cordon.is_none() && !node.is_handed;
            is_fresh && !is_given_up && is_open && node.update == NodeUpdate::Waiting
        };
        let nodes = self.nodes.iter().filter(is_beginning);
        nodes.map(|node| node.name.clone()).collect()
    }

    /// What it looks like once they are cordoned. Else a second runner could begin with another node, and both would be away.
    pub(super) fn with_cordoned(&self, beginning: &BTreeSet<Name>) -> Self {
        let mut view = self.clone();
        for node in &mut view.nodes {
            if beginning.contains(&node.name) {
                node.cordon = Some(Cordon::Ours);
            }
        }
        view
    }

    pub fn updated(&self) -> usize {
        self.nodes.iter().filter(|node| node.is_updated()).count()
    }

    /// Every node that is away, whoever caused it.
    pub fn away(&self) -> usize {
        self.nodes.iter().filter(|node| node.is_away()).count()
    }

    /// Since when the pod waits that has waited longest, of those that began to wait later than this.
    pub(super) fn waiting_since(&self, started: Timestamp) -> Option<Timestamp> {
        let later = self.waiting.iter().filter(|since| **since >= started);
        later.min().copied()
    }

    pub(super) fn rounded_down(&self, most: MaxUnavailable) -> usize {
        let nodes = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        most.rounded_down(nodes) as usize
    }
}
