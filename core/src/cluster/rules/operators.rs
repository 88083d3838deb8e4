//! Operators: an optional operator may name the minor versions of OpenShift or Kubernetes that it
//! supports, both ends included.
//!
//! The rule names every operator that objects at once, so that nobody fixes one and then finds the
//! next. An operator that says nothing allows everything. One that we cannot understand allows
//! nothing.

use super::{StepQuestion, StepRule, not_given, partly_given};
use crate::cluster::Fact;
use crate::cluster::objects::{ObjectKind, Operator, Range};
use crate::verdict::{Code, Verdict};
use crate::version::{Minor, ShippedKubernetes};

static OPERATOR_INCOMPATIBLE: Code = Code::new(
    "OperatorIncompatible",
    "{operator} in {namespace} is not made for OpenShift {to}: it says {says}",
    "update {operator} in {namespace} (it says {says}) to a version for OpenShift {to}[, or better {goal}, where the way ends]",
)
.checked_by("oc -n {namespace} get clusterserviceversions")
.about("{namespace}/{operator}")
.with(&[
    ("operator", "logging.v5"),
    ("namespace", "openshift-logging"),
    ("says", "OpenShift 4.8 at most"),
    ("to", "4.9"),
    ("goal", "4.10"),
]);

pub(super) static RULE: StepRule = StepRule::new(&[&OPERATOR_INCOMPATIBLE], judge);

fn judge(q: &StepQuestion<'_>) -> Verdict {
    let operators = match (q.step.is_minor(), &q.facts.operators) {
        (false, _) => return Verdict::recommend(),
        (true, Fact::Unknown) => return not_given(ObjectKind::ClusterServiceVersion),
        (true, Fact::Known(operators)) => operators,
    };
    let (to, goal) = (q.step.to_minor(), q.step.way().goal());
    let refuse = |operator: &Operator| {
        let says = limit(operator, to, q.step.kubernetes_after())?;
        Some(Verdict::refuse(OPERATOR_INCOMPATIBLE.because([
            ("operator", (&operator.name).into()),
            ("namespace", (&operator.namespace).into()),
            ("says", says.as_str().into()),
            ("to", to.into()),
            ("goal", (goal > to).then_some(goal).into()),
        ])))
    };
    let others = partly_given(&q.facts.health, ObjectKind::ClusterServiceVersion);
    let refused = operators.iter().filter_map(refuse);
    refused.chain([others]).collect()
}

/// What an operator says if that is against the version; none if it is not.
fn limit(operator: &Operator, to: Minor, kubernetes: Option<ShippedKubernetes>) -> Option<String> {
    let outside = |range: Range, minor: Minor, of: &str| match (range.min, range.max) {
        _ if range.contains(minor) => None,
        (_, Some(max)) if max < minor => Some(format!("{of} {max} at most")),
        (Some(min), _) => Some(format!("{of} {min} at least")),
        _ => None,
    };
    let has_range = operator.kubernetes != Range::default();
    let not_sure =
        || "something about Kubernetes, and nobody knows for sure which one that is".to_owned();
    let of_kubernetes = match (has_range, kubernetes) {
        (true, Some(ships)) => outside(operator.kubernetes, ships.minor, "Kubernetes")
            .or_else(|| (!ships.is_verified).then(not_sure)),
        (true, None) => Some(not_sure()),
        (false, _) => None,
    };
    let problems = operator.problems.iter().map(ToString::to_string);
    let says: Vec<String> = problems
        .chain(outside(operator.openshift, to, "OpenShift"))
        .chain(of_kubernetes)
        .collect();
    (!says.is_empty()).then(|| says.join(", "))
}
