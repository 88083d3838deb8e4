//! Gates ahead: acknowledgements that releases on the way will ask for.
//!
//! A cluster shows the gates of the release that it runs. Those of later releases are known from a
//! table. They are notes: whether the release on the way really has the gate is seen when the
//! cluster is there, and then the rule of admin acknowledgements holds. The table ends somewhere; from there on, nobody knows.

use super::{StepQuestion, StepRule};
use crate::cluster::health::KnownGate;
use crate::cluster::way::Step;
use crate::verdict::{Code, Reason, Verdict};
use crate::version::Minor;

static ADMIN_ACK_AHEAD: Code = Code::new(
    "AdminAckAhead",
    "OpenShift {minor} is known to ask for {gate} before {to}[, from {since} on][ ({only})][; {doubt}]: {description}",
    "read what {gate} is about; it can be acknowledged in advance",
)
.by("oc -n openshift-config patch configmap admin-acks --type=merge -p '{{\"data\":{{\"{gate}\":\"true\"}}}}'")
.checked_by("oc -n openshift-config get configmap admin-acks -o yaml")
.about("{gate}")
.with(&[
    ("gate", "ack-4.8-kube-1.22-api-removals-in-4.9"),
    ("minor", "4.8"),
    ("to", "4.9"),
    ("since", "4.8.14"),
    ("only", "on vSphere"),
    ("doubt", "nobody has verified that"),
    ("description", "Kubernetes 1.22 removes APIs"),
])
.note();

static ADMIN_ACKS_NOT_KNOWN: Code = Code::new(
    "AdminAcksNotKnown",
    "nobody knows yet which acknowledgements OpenShift {minor} and later ask for before the next minor version",
    "look again when the cluster is at {minor}: it shows its gates then",
)
.by("oc -n openshift-config-managed get configmap admin-gates -o yaml")
.with(&[("minor", "4.22")])
.note();

pub(super) static RULE: StepRule = StepRule::new(&[&ADMIN_ACK_AHEAD, &ADMIN_ACKS_NOT_KNOWN], judge);

fn judge(q: &StepQuestion<'_>) -> Verdict {
    if !q.step.is_minor() {
        return Verdict::recommend();
    }
    let known = q.facts.health.known_gates.iter();
    let ahead: Verdict = known
        .filter(|gate| gate.keeps_in == q.step.begins_in() && is_ahead(q, gate))
        .map(|gate| Verdict::inform(reason(q, gate)))
        .collect();
    ahead.and(not_known(q))
}

/// Of the release that it runs, the cluster speaks for itself. What it shows or has acknowledged is not ahead.
fn is_ahead(q: &StepQuestion<'_>, gate: &KnownGate) -> bool {
    let gates = q.facts.gates.known();
    let is_shown = gates.is_some_and(|gates| gates.contains_key(&gate.name));
    let acks = q.facts.acks.known();
    let is_acknowledged = acks.is_some_and(|acks| acks.contains(&gate.name));
    let from = q.step.way().from();
    let comes_later = gate.since.as_ref().is_some_and(|since| from < since);
    (q.step.index() > 0 || comes_later) && !is_shown && !is_acknowledged
}

fn reason(q: &StepQuestion<'_>, gate: &KnownGate) -> Reason {
    let doubt = (!gate.is_verified).then_some("nobody has verified that");
    ADMIN_ACK_AHEAD.because([
        ("gate", (&gate.name).into()),
        ("minor", q.step.begins_in().into()),
        ("to", q.step.to_minor().into()),
        ("since", gate.since.as_ref().into()),
        ("only", gate.only.as_ref().into()),
        ("doubt", doubt.into()),
        ("description", (&gate.description).into()),
    ])
}

/// The first minor update after what the table has says that nobody knows; the later ones need not say it again.
fn not_known(q: &StepQuestion<'_>) -> Verdict {
    let gates = q.facts.health.known_gates.iter();
    let last = gates.map(|gate| gate.keeps_in).max();
    let is_beyond =
        |step: Step<'_>| step.is_minor() && last.is_some_and(|last| last < step.begins_in());
    match is_beyond(q.step) && !q.step.earlier().any(is_beyond) {
        true => {
            let minor: Minor = q.step.begins_in();
            Verdict::inform(ADMIN_ACKS_NOT_KNOWN.because([("minor", minor.into())]))
        }
        false => Verdict::recommend(),
    }
}
