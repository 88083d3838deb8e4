//! Failing: a cluster that is broken today does not change its minor version.
//!
//! The rule refuses the first update that changes the minor version. A patch may be the cure, so
//! the rule only adds a note to the patches before it.

use super::{StepQuestion, StepRule, first_line, not_given};
use crate::cluster::Fact;
use crate::cluster::objects::{ObjectKind, Objection};
use crate::cluster::way::Step;
use crate::verdict::{Code, Value, Verdict};

static CLUSTER_FAILING: Code = Code::new(
    "ClusterFailing",
    "{by}: {reason}: {message}",
    "heal it, perhaps with a patch, before the minor version changes: {by}: {reason}",
)
.checked_by("oc get clusteroperators")
.about("{by}")
.with(&EXAMPLE);

static PATCH_WHILE_FAILING: Code = Code::new(
    "PatchWhileFailing",
    "{by}: {reason}: {message}; a patch may heal it, the next minor update is refused until it is healed",
    "look at it first: a patch that does not heal it can make it worse",
)
.with(&EXAMPLE)
.note();

const EXAMPLE: [(&str, &str); 3] = [
    ("by", "ClusterOperator etcd is degraded"),
    ("reason", "NodeController_MasterNodesReady"),
    (
        "message",
        "the control-plane node \"master-1\" is not ready",
    ),
];

pub(super) static RULE: StepRule = StepRule::new(&[&CLUSTER_FAILING, &PATCH_WHILE_FAILING], judge);

fn judge(q: &StepQuestion<'_>) -> Verdict {
    if q.step.earlier().any(Step::is_minor) {
        return Verdict::recommend();
    }
    let said = [
        (&q.facts.failures, ObjectKind::ClusterVersion),
        (&q.facts.operator_failures, ObjectKind::ClusterOperator),
    ];
    said.into_iter()
        .map(|(failures, kind)| match failures {
            Fact::Unknown if q.step.is_minor() => not_given(kind),
            Fact::Unknown => Verdict::recommend(),
            Fact::Known(failures) => failures.iter().map(|one| judge_one(q.step, one)).collect(),
        })
        .collect()
}

fn judge_one(step: Step<'_>, failure: &Objection) -> Verdict {
    let facts: [(&'static str, Value); 3] = [
        ("by", (&failure.by).into()),
        ("reason", (&failure.reason).into()),
        ("message", first_line(&failure.message)),
    ];
    match step.is_minor() {
        true => Verdict::refuse(CLUSTER_FAILING.because(facts)),
        false => Verdict::inform(PATCH_WHILE_FAILING.because(facts)),
    }
}
