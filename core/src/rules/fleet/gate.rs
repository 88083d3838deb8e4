//! Gates: a minor version that somebody has to acknowledge before it is entered.
//!
//! Patches within the cluster's minor version pass. A version whose gate is closed leaves the next lower one to be considered.

use crate::domain::fleet::Hold;
use crate::domain::fleet::roster::{Candidate, GateEntry, Post};

pub(super) fn judge(post: &Post<'_>, candidate: &Candidate) -> Option<Hold> {
    let minor = |version: u32| {
        let version = post.roster.version(version);
        (version.major(), version.minor())
    };
    if post.roster.gates.is_empty() {
        return None;
    }
    let (from, to) = (minor(post.member.version), minor(candidate.version));
    let closed = |entry: &GateEntry| from < to && entry.before == to && concerns(post, entry) && !is_open(post, entry);
    post.roster.gates.iter().position(closed).map(|gate| Hold::Gate(gate as u32))
}

fn concerns(post: &Post<'_>, entry: &GateEntry) -> bool {
    match entry.sts_only {
        true => post.member.state.sts,
        false => true,
    }
}

fn is_open(post: &Post<'_>, entry: &GateEntry) -> bool {
    post.member.state.acknowledged_gates.contains(&entry.gate.id)
        || post.class.policy.gate_approvals.contains(&entry.gate.label)
}
