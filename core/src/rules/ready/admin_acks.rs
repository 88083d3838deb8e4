//! Admin acknowledgements: a gate `ack-4.8-…` stands before every update that leaves 4.8 for another minor version, until an administrator says `"true"`.
//!
//! Gates come with releases: those of later minor versions may not be known before a cluster gets there.

use super::{not_given, refuse};
use crate::domain::fleet::Name;
use crate::domain::readiness::Facts;
use crate::domain::ready_reason::{ObjectKind, ReadyReason};
use crate::domain::way::Step;
use crate::domain::{Fact, Minor, Verdict};

pub(super) fn judge(step: Step<'_>, facts: &Facts) -> Verdict {
    match (step.is_minor(), &facts.gates) {
        (false, _) => Verdict::recommend(),
        (true, Fact::Unknown) => not_given(ObjectKind::AdminGates),
        (true, Fact::Known(gates)) => gates
            .iter()
            .map(|(gate, description)| gate_before(step, facts, gate, description))
            .collect(),
    }
}

fn gate_before(step: Step<'_>, facts: &Facts, gate: &Name, description: &Name) -> Verdict {
    match (left_by(gate), is_acknowledged(facts, gate)) {
        (None, _) => refuse(ReadyReason::GateNotUnderstood { gate: gate.clone() }),
        (Some(minor), false) if minor == step.begins_in() => refuse(ReadyReason::AckRequired {
            gate: gate.clone(),
            description: description.clone(),
        }),
        (Some(_), _) => Verdict::recommend(),
    }
}

/// The minor version that a gate keeps clusters in.
fn left_by(gate: &str) -> Option<Minor> {
    let (minor, _) = gate.strip_prefix("ack-")?.split_once('-')?;
    Minor::parse(minor)
}

/// An acknowledgement that nobody has shown us is none.
fn is_acknowledged(facts: &Facts, gate: &str) -> bool {
    match &facts.acks {
        Fact::Known(acks) => acks.contains(gate),
        Fact::Unknown => false,
    }
}
