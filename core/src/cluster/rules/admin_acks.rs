//! Admin acknowledgements: a gate `ack-4.8-…` refuses every update from 4.8 to another minor
//! version, until an administrator sets it to `"true"`.
//!
//! Gates come with releases. Gates of later minor versions may stay unknown until a cluster gets
//! there.

use super::{StepQuestion, StepRule, first_line, not_given};
use crate::cluster::Fact;
use crate::cluster::objects::{Facts, ObjectKind};
use crate::fleet::Name;
use crate::verdict::{Code, Verdict};
use crate::version::Minor;

static ADMIN_ACK_REQUIRED: Code = Code::new(
    "AdminAckRequired",
    "{gate} has not been acknowledged: {description}",
    "read what {gate} is about, and acknowledge it: {description}",
)
.by("oc -n openshift-config patch configmap admin-acks --type=merge -p '{{\"data\":{{\"{gate}\":\"true\"}}}}'")
.checked_by("oc -n openshift-config get configmap admin-acks -o yaml")
.about("{gate}")
.with(&[
    ("gate", "ack-4.8-kube-1.22-api-removals-in-4.9"),
    ("description", "Kubernetes 1.22 removes APIs"),
]);

/// A gate's name does not say which updates it is for, so it is for all.
static ADMIN_GATE_NOT_UNDERSTOOD: Code = Code::new(
    "AdminGateNotUnderstood",
    "the gate {gate} does not say which updates it is for",
    "find out who put {gate} into the gates; no gate has such a name",
)
.by("oc -n openshift-config-managed get configmap admin-gates -o yaml --show-managed-fields")
.checked_by("oc -n openshift-config-managed get configmap admin-gates -o yaml")
.about("{gate}")
.with(&[("gate", "ack-next")]);

pub(super) static RULE: StepRule =
    StepRule::new(&[&ADMIN_ACK_REQUIRED, &ADMIN_GATE_NOT_UNDERSTOOD], judge);

fn judge(q: &StepQuestion<'_>) -> Verdict {
    match (q.step.is_minor(), &q.facts.gates) {
        (false, _) => Verdict::recommend(),
        (true, Fact::Unknown) => not_given(ObjectKind::AdminGates),
        (true, Fact::Known(gates)) => gates
            .iter()
            .map(|(gate, description)| gate_before(q, gate, description))
            .collect(),
    }
}

fn gate_before(q: &StepQuestion<'_>, gate: &Name, description: &Name) -> Verdict {
    match (left_by(gate), is_acknowledged(q.facts, gate)) {
        (None, _) => Verdict::refuse(ADMIN_GATE_NOT_UNDERSTOOD.because([("gate", gate.into())])),
        (Some(minor), false) if minor == q.step.begins_in() => {
            Verdict::refuse(ADMIN_ACK_REQUIRED.because([
                ("gate", gate.into()),
                ("description", first_line(description)),
            ]))
        }
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
    facts.acks.known().is_some_and(|acks| acks.contains(gate))
}
