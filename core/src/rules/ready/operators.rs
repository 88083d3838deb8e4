//! Operators: optional ones say which minor versions of OpenShift or Kubernetes they are made for. Both ends count.
//!
//! One reason names all that stand in the way, so that nobody fixes one and finds the next. An operator that says nothing allows
//! everything; one that says something which cannot be understood allows nothing.

use super::{not_given, refuse};
use crate::domain::readiness::Facts;
use crate::domain::ready_reason::{ObjectKind, OperatorLimit, ReadyReason};
use crate::domain::way::Step;
use crate::domain::{Fact, Verdict};

pub(super) fn judge(step: Step<'_>, facts: &Facts) -> Verdict {
    let operators = match (step.is_minor(), &facts.operators) {
        (false, _) => return Verdict::recommend(),
        (true, Fact::Unknown) => return not_given(ObjectKind::ClusterServiceVersion),
        (true, Fact::Known(operators)) => operators,
    };
    let to = step.to_minor();
    let mut objecting: Vec<OperatorLimit> = operators
        .iter()
        .filter_map(|operator| OperatorLimit::of(operator, to, to.kubernetes()))
        .collect();
    objecting.sort();
    match objecting.is_empty() {
        true => Verdict::recommend(),
        false => refuse(ReadyReason::Operators {
            to,
            goal: step.way().goal(),
            operators: objecting,
        }),
    }
}
