//! Gates: a minor version that somebody has to acknowledge before it is entered.
//!
//! Patches within the cluster's minor version pass. A version whose gate is closed leaves the next lower one to be considered.
//! A gate whose label we do not know holds like any other. Where nobody knows whether a gate concerns the cluster, it holds too.

use crate::domain::Minor;
use crate::domain::fleet::roster::{Candidate, GateEntry, Post};
use crate::domain::fleet::{GateConcern, Hold};

pub(super) fn judge(post: &Post<'_>, candidate: &Candidate) -> Option<Hold> {
    if post.roster.gates.is_empty() {
        return None;
    }
    let minor = |version: u32| Minor::of(post.roster.version(version));
    let (from, to) = (minor(post.member.version), minor(candidate.version));
    let closed = |entry: &GateEntry| {
        from < to && entry.stands_before(to) && holds(post, entry) && !is_open(post, entry)
    };
    post.roster
        .gates
        .iter()
        .position(closed)
        .map(|gate| Hold::Gate(gate as u32))
}

fn holds(post: &Post<'_>, entry: &GateEntry) -> bool {
    match entry.scope.concerns(&post.member.state) {
        GateConcern::Concerned | GateConcern::Unknown => true,
        GateConcern::Unconcerned => false,
    }
}

fn is_open(post: &Post<'_>, entry: &GateEntry) -> bool {
    post.member
        .state
        .acknowledged_gates
        .contains(&entry.gate.id)
        || post.class.policy.gate_approvals.contains(&entry.gate.label)
}
