//! InstallPlans: an optional operator waits for somebody to approve its next version.
//!
//! What waits may be the version that supports the next OpenShift. Somebody has to approve it or
//! decide against it before the minor version changes.

use super::{StepQuestion, StepRule, not_given, partly_given};
use crate::cluster::Fact;
use crate::cluster::health::InstallPlan;
use crate::cluster::objects::ObjectKind;
use crate::verdict::{Code, Value, Verdict};

static INSTALL_PLAN_WAITS: Code = Code::new(
    "InstallPlanWaits",
    "InstallPlan {plan} of {namespace} waits for approval[: it would install {operators}]",
    "approve InstallPlan {plan} of {namespace}, or decide that the operator stays as it is",
)
.by("oc -n {namespace} patch installplan {plan} --type=merge -p '{{\"spec\":{{\"approved\":true}}}}'")
.checked_by("oc -n {namespace} get installplan {plan}")
.about("{namespace}/{plan}")
.with(&[
    ("plan", "install-x7k2p"),
    ("namespace", "openshift-logging"),
    ("operators", "cluster-logging.v6.2.0"),
]);

pub(super) static RULE: StepRule = StepRule::new(&[&INSTALL_PLAN_WAITS], judge);

fn judge(q: &StepQuestion<'_>) -> Verdict {
    let health = &q.facts.health;
    match (q.step.is_first_minor(), &health.install_plans) {
        (false, _) => Verdict::recommend(),
        (true, Fact::Unknown) => not_given(ObjectKind::InstallPlan),
        (true, Fact::Known(plans)) => plans
            .iter()
            .map(waits)
            .chain([partly_given(health, ObjectKind::InstallPlan)])
            .collect(),
    }
}

fn waits(plan: &InstallPlan) -> Verdict {
    Verdict::refuse(INSTALL_PLAN_WAITS.because([
        ("plan", (&plan.name).into()),
        ("namespace", (&plan.namespace).into()),
        ("operators", Value::list(&plan.operators)),
    ]))
}
