//! Gates ahead: acknowledgements that releases on the way will ask for.
//!
//! A cluster shows the gates of the release that it runs. Those of later minor versions are known
//! from a table. They are notes: whether the release on the way really has the gate is seen when
//! the cluster is there, and then the rule of admin acknowledgements holds.

use super::{StepQuestion, StepRule};
use crate::cluster::health::KnownGate;
use crate::verdict::{Code, Verdict};

static ADMIN_ACK_AHEAD: Code = Code::new(
    "AdminAckAhead",
    "OpenShift {minor} is known to ask for {gate} before {to}[ ({only})]: {description}",
    "read what {gate} is about; it can be acknowledged in advance",
)
.by("oc -n openshift-config patch configmap admin-acks --type=merge -p '{{\"data\":{{\"{gate}\":\"true\"}}}}'")
.checked_by("oc -n openshift-config get configmap admin-acks -o yaml")
.about("{gate}")
.with(&[
    ("gate", "ack-4.11-kube-1.25-api-removals-in-4.12"),
    ("minor", "4.11"),
    ("to", "4.12"),
    ("only", "on vSphere"),
    ("description", "Kubernetes 1.25 removes APIs"),
])
.note();

pub(super) static RULE: StepRule = StepRule::new(&[&ADMIN_ACK_AHEAD], judge);

fn judge(q: &StepQuestion<'_>) -> Verdict {
    // Of the release that it runs the cluster speaks for itself.
    if !q.step.is_minor() || q.step.index() == 0 {
        return Verdict::recommend();
    }
    let is_shown = |gate: &KnownGate| {
        let gates = q.facts.gates.known();
        gates.is_some_and(|gates| gates.contains_key(&gate.name))
    };
    let is_acknowledged = |gate: &KnownGate| {
        let acks = q.facts.acks.known();
        acks.is_some_and(|acks| acks.contains(&gate.name))
    };
    let known = q.facts.health.known_gates.iter();
    known
        .filter(|gate| gate.keeps_in == q.step.begins_in())
        .filter(|gate| !is_shown(gate) && !is_acknowledged(gate))
        .map(|gate| {
            Verdict::inform(ADMIN_ACK_AHEAD.because([
                ("gate", (&gate.name).into()),
                ("minor", q.step.begins_in().into()),
                ("to", q.step.to_minor().into()),
                ("only", gate.only.as_ref().into()),
                ("description", (&gate.description).into()),
            ]))
        })
        .collect()
}
