//! Upgradeable: the cluster-version operator, or an operator that it manages, says that the minor
//! version must not change now.
//!
//! Today's condition is about the next minor version, so the rule refuses only the first update
//! that changes it. A missing condition means upgradeable. `Unknown` does not.

use super::{StepQuestion, StepRule, first_line, not_given};
use crate::cluster::Fact;
use crate::cluster::objects::{ObjectKind, Objection};
use crate::verdict::{Code, Verdict};

static NOT_UPGRADEABLE: Code = Code::new(
    "NotUpgradeable",
    "{by} is not upgradeable: {reason}: {message}",
    "settle what {by} says: {reason}: {message}",
)
.checked_by("oc adm upgrade")
.about("{by}")
.with(&[
    ("by", "ClusterOperator machine-config"),
    ("reason", "PoolUpdating"),
    ("message", "One or more machine config pools are updating"),
]);

pub(super) static RULE: StepRule = StepRule::new(&[&NOT_UPGRADEABLE], judge);

fn judge(q: &StepQuestion<'_>) -> Verdict {
    if !q.step.is_first_minor() {
        return Verdict::recommend();
    }
    let said = [
        (&q.facts.objections, ObjectKind::ClusterVersion),
        (&q.facts.operator_objections, ObjectKind::ClusterOperator),
    ];
    said.into_iter()
        .map(|(objections, kind)| judge_kind(objections, kind))
        .collect()
}

fn judge_kind(objections: &Fact<Vec<Objection>>, kind: ObjectKind) -> Verdict {
    match objections {
        Fact::Unknown => not_given(kind),
        Fact::Known(objections) => objections.iter().map(refuse).collect(),
    }
}

fn refuse(objection: &Objection) -> Verdict {
    Verdict::refuse(NOT_UPGRADEABLE.because([
        ("by", (&objection.by).into()),
        ("reason", (&objection.reason).into()),
        ("message", first_line(&objection.message)),
    ]))
}
