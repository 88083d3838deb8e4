//! A calm reboot of a pool: `towpath nodes run` takes one step after the other, and this says which.
//!
//! The machine-config operator has no hook for order. It does have pools: a pool that is paused starts no node, and a node belongs to
//! another pool as soon as it has that one's label. So the pool to be rebooted is paused, and nodes are handed over one by one to a
//! pool beside it, which is not paused and has the same configuration.
//!
//! - **A node is drained first**, cordoned and through the eviction API. A drain that does not move is given up: the node is uncordoned
//!   in the same pass, and tried again later. So no slot of the operator is ever held by a budget.
//! - **An empty node is handed over**: one write uncordons it, marks it so that no pod comes, and sets the label. When it is back, label
//!   and mark are taken away, so the pool beside never has more nodes than may be away.
//! - **The limit** counts every node that is away, whoever caused it; the pace counts what has begun within a time.
//! - **The first bad sign** ends it: nodes that are being drained come back, the marks are taken away, and the pool stays paused.
//! - **What a node is handed over to** may be unfit for a while, [`RebootView::blocked`]. Then nothing begins, and drains come back.
//! - **What is remembered** is written before anything is done. All else is read off the objects, so whoever takes the next step may
//!   have died in the middle of the last one.

mod hold;
mod step;
mod told;
mod undo;
mod view;

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::duration::MaxUnavailable;
use crate::fleet::Name;
use crate::verdict::Reason;

use hold::RUN_CODES;
pub use step::next_reboot_step;
pub(crate) use told::run_codes;
pub use told::{
    no_pool_beside, not_rendered, pool_beside_differs, pool_beside_unfit, pool_keeps_nodes,
    refused, undoing, undone,
};
pub use undo::undo_step;
pub use view::{Cordon, DrainedPod, NodeMark, NodeUpdate, RebootView, RebootedNode};

/// What a person wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RebootSettings {
    /// How many nodes may be away at once. A percentage rounds down, to at least one.
    pub at_most_away: MaxUnavailable,
    /// How many may begin within a time: "30 % in ten minutes".
    pub pace: Option<RebootPace>,
    /// From when on no pod is to come to nodes that are not updated yet: after so many are. None: never.
    pub harden_after: Option<usize>,
    /// A drain that was refused for so long is given up.
    pub refused_for: SignedDuration,
    /// A drain that takes longer is given up.
    pub drain_within: SignedDuration,
    /// A node that is handed over and not back after this time is a bad sign.
    pub back_within: SignedDuration,
    /// An updated node that is not ready for longer is a bad sign.
    pub lost_after: SignedDuration,
    /// A pod that waits longer for a node is a bad sign.
    pub pods_wait: SignedDuration,
    /// How long a node whose drain was given up is left alone; twice as long each further time.
    pub again_after: SignedDuration,
}

/// How many nodes may begin within a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RebootPace {
    /// A percentage rounds down, to at least one.
    pub nodes: MaxUnavailable,
    pub within: SignedDuration,
}

impl Default for RebootSettings {
    fn default() -> Self {
        Self {
            at_most_away: MaxUnavailable::Count(1),
            pace: None,
            harden_after: None,
            refused_for: SignedDuration::from_secs(60),
            drain_within: SignedDuration::from_mins(30),
            back_within: SignedDuration::from_mins(45),
            lost_after: SignedDuration::from_mins(2),
            pods_wait: SignedDuration::from_mins(10),
            again_after: SignedDuration::from_mins(5),
        }
    }
}

/// What is remembered of a run, on the pool itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RebootRecord {
    /// The configuration that it goes to.
    pub to: Name,
    /// Pods that have waited for a node since before are none of its doing.
    pub started: Timestamp,
    /// Whether the pool was paused before.
    pub was_paused: bool,
    /// When the last drain of a node began.
    pub began: BTreeMap<Name, Timestamp>,
    /// Since when every pod that a node still has is refused.
    pub refused: BTreeMap<Name, Timestamp>,
    /// When a node was handed over that is not back yet.
    pub handed: BTreeMap<Name, Timestamp>,
    pub set_aside: BTreeMap<Name, SetAside>,
    /// The first bad sign. From then on nothing begins.
    pub stopped: Option<Reason>,
}

/// A node whose drain was given up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetAside {
    pub until: Timestamp,
    /// How often it was tried.
    pub times: u32,
    pub why: Reason,
}

/// What to do next, in this order. The record is written first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RebootStep {
    pub record: RebootRecord,
    pub acts: Vec<NodeAct>,
    pub progress: RebootProgress,
    /// Why nodes that could begin do not.
    pub reasons: Vec<Reason>,
}

/// One write to the cluster. Each can be done twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodeAct {
    /// Set whether the pool that is rebooted is paused.
    Pause(bool),
    /// Cordon it, with a note that it was us.
    Cordon(Name),
    /// Uncordon it, and take the note away.
    Uncordon(Name),
    Evict {
        node: Name,
        namespace: Name,
        pod: Name,
    },
    Mark(Name, NodeMark),
    /// In one write: uncordon it, mark it [`NodeMark::KeepOut`], and give it the label of the pool beside.
    HandOver(Name),
    /// Take that label away.
    TakeBack(Name),
}

/// How far a run is, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RebootProgress {
    Running {
        updated: usize,
        away: usize,
        of: usize,
    },
    /// Nothing is under way, and nothing may begin; the reasons say why.
    Held {
        updated: usize,
        of: usize,
    },
    Stopped {
        why: Reason,
        updated: usize,
        of: usize,
    },
    /// Every node is updated; marks, labels and the pause are on their way off.
    Finishing {
        left: usize,
    },
    Done,
}
