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
use crate::cluster::rules::{judge, unknown};
use crate::cluster::way::{Stop, Way};
use crate::verdict::{Reason, Verdict};
use crate::version::{Minor, Minors, Version};

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
///
/// The cluster knows one condition for all minor versions that may be next. So all of them are judged, or those that lead to the
/// target.
pub fn gate(target: Option<Minor>, facts: &Facts, minors: &Minors) -> Option<UpgradeableGate> {
    let current = facts.heads_for()?.clone();
    let facts = Facts {
        objections: Fact::Known(Vec::new()),
        operator_objections: Fact::Known(Vec::new()),
        failures: Fact::Known(Vec::new()),
        operator_failures: Fact::Known(Vec::new()),
        ..facts.clone()
    };
    let verdict = |way: &Way| -> Verdict { way.steps().map(|step| judge(step, &facts)).collect() };
    let next = ways_to_next(target, &current, minors);
    let next = match next.is_empty() {
        true => unknown(Minor::of(&current)),
        false => next.iter().map(verdict).collect(),
    };
    let ahead = target.map(|target| {
        Way::ways_through_every_minor(current, &Stop::Minor(target), minors).unwrap_or_default()
    });
    let later = ahead.iter().flatten().flat_map(|way| verdict(way).reasons);
    let later = later
        .filter(|reason| !next.reasons.contains(reason))
        .collect();
    Some(UpgradeableGate { next, later })
}

/// To each minor version that may be next: those on the way to the target, or all if there is none.
fn ways_to_next(target: Option<Minor>, current: &Version, minors: &Minors) -> Vec<Way> {
    let all: Vec<Minor> = minors.next(Minor::of(current)).collect();
    let leads_on =
        |next: &Minor| target.is_some_and(|target| !minors.routes(*next, target).is_empty());
    let wanted: Vec<Minor> = all.iter().copied().filter(leads_on).collect();
    let next = if wanted.is_empty() { all } else { wanted };
    next.into_iter()
        .filter_map(|next| Way::new(current.clone(), vec![Stop::Minor(next)], minors).ok())
        .collect()
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
