//! May this cluster's minor version change now? The agent tells the cluster, and the cluster
//! enforces it.
//!
//! The rules are those of `ready`, except what the cluster's own operators say. The cluster checks
//! that itself. It also takes our answer into account, so reading it back would make our answer
//! its own reason. Failing operators are left out too: operators fail for a moment during every
//! update, and this condition would change each time. The agent checks them before it starts an
//! update.

use std::collections::BTreeSet;

use crate::cluster::Fact;
use crate::cluster::objects::Facts;
use crate::cluster::rules::{MaxSkew, judge};
use crate::cluster::way::{Stop, Way};
use crate::verdict::{Reason, Verdict};
use crate::version::Minor;

/// Whether the minor version may change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpgradeableGate {
    /// What stands in the way of the next minor version.
    pub next: Verdict,
    /// What will stand in the way to the target, and can be seen to by then.
    pub later: BTreeSet<Reason>,
}

/// Judges the next minor version, and looks ahead to the target's. None if nobody knows what the cluster runs.
///
/// During an update nodes and API servers are between two releases. The next minor version is that after the release the
/// cluster is on its way to: seen from the one it leaves, every node that is done would be ahead.
pub fn gate(target: Option<Minor>, facts: &Facts, max_skew: MaxSkew) -> Option<UpgradeableGate> {
    let current = facts.heads_for()?.clone();
    let facts = Facts {
        objections: Fact::Known(Vec::new()),
        operator_objections: Fact::Known(Vec::new()),
        failures: Fact::Known(Vec::new()),
        operator_failures: Fact::Known(Vec::new()),
        ..facts.clone()
    };
    let verdict = |way: &Way| -> Verdict {
        way.steps()
            .map(|step| judge(step, &facts, max_skew))
            .collect()
    };
    let next = verdict(&Way::to_next_minor(current.clone()));
    let ahead =
        target.and_then(|target| Way::through_every_minor(current, Stop::Minor(target)).ok());
    let later = ahead.map(|way| verdict(&way).reasons).unwrap_or_default();
    let later = later
        .into_iter()
        .filter(|reason| !next.reasons.contains(reason))
        .collect();
    Some(UpgradeableGate { next, later })
}

impl UpgradeableGate {
    /// Whether the minor version may change.
    pub fn is_open(&self) -> bool {
        self.next.is_offered()
    }

    /// What stands in the way of the next minor version. Notes do not.
    pub fn objections(&self) -> impl Iterator<Item = &Reason> {
        self.next.objections()
    }
}
