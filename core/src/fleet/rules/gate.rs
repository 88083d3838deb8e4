//! Version gates: a minor version that somebody has to acknowledge before a cluster enters it.
//!
//! Patches within the cluster's minor version pass. If a version's gate is closed, the next lower
//! version is considered. A gate with an unknown label holds like any other. If nobody knows
//! whether a gate concerns the cluster, it holds too.

use super::StartRule;
use crate::fleet::GateConcern;
use crate::fleet::roster::{GateEntry, StartQuestion, VersionIdx};
use crate::verdict::{Code, Value, Verdict};
use crate::version::Minor;

static GATE_CLOSED: Code = Code::new(
    "GateClosed",
    "gate {gate} ({label}) has not been acknowledged[, and nobody knows whether the cluster uses {unsure}][; {by} withdrew it at {at}: {why}]",
    "acknowledge it with `towpath fleet acknowledge`, once it is true",
)
.with(&[
    ("gate", "gate-1"),
    ("label", "api.openshift.com/gate-sts"),
    ("unsure", "STS"),
    ("by", "ada"),
    ("at", "2026-11-16 12:00Z"),
    ("why", "INC-1"),
]);

pub(super) static RULE: StartRule =
    StartRule::new(&[&GATE_CLOSED], judge).holding(|q| closed(q).is_some());

fn judge(q: &StartQuestion<'_>) -> Verdict {
    let refuse = |entry: &GateEntry| {
        let is_unsure = entry.scope.concerns(&q.member.state) == GateConcern::Unknown;
        let taken_back = &q.roster.taken_back;
        let withdrawn = taken_back.acknowledgement(&q.member.state.id, &entry.gate.id);
        let facts = [
            ("gate", (&entry.gate.id).into()),
            ("label", (&entry.gate.label).into()),
            ("unsure", is_unsure.then(|| entry.scope.name()).into()),
            ("by", withdrawn.map(|one| &one.by).into()),
            ("at", withdrawn.map(|one| Value::from(one.at)).into()),
            ("why", withdrawn.map(|one| &one.why).into()),
        ];
        Verdict::refuse(GATE_CLOSED.because(facts))
    };
    closed(q).map(refuse).into_iter().collect()
}

fn closed<'a>(q: &StartQuestion<'a>) -> Option<&'a GateEntry> {
    if q.roster.gates.is_empty() {
        return None;
    }
    let minor = |version: VersionIdx| Minor::of(q.roster.version(version));
    let (from, to) = (minor(q.member.version), minor(q.candidate?.version));
    q.roster.gates.iter().find(|entry| {
        from < to && entry.stands_before(to) && concerns(q, entry) && !is_open(q, entry)
    })
}

fn concerns(q: &StartQuestion<'_>, entry: &GateEntry) -> bool {
    match entry.scope.concerns(&q.member.state) {
        GateConcern::Concerned | GateConcern::Unknown => true,
        GateConcern::Unconcerned => false,
    }
}

fn is_open(q: &StartQuestion<'_>, entry: &GateEntry) -> bool {
    q.member.state.acknowledged_gates.contains(&entry.gate.id)
        || q.class.policy.gate_approvals.contains(&entry.gate.label)
}
