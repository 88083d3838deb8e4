//! Upgradeable: the cluster-version operator, or an operator that it looks after, says that the minor version must not change now.
//!
//! What they say today is about the next minor version, so only the first update that changes it is refused. Saying nothing means
//! upgradeable; saying `Unknown` does not.

use super::{not_given, refuse};
use crate::domain::readiness::{Facts, Objection};
use crate::domain::ready_reason::{ObjectKind, ReadyReason};
use crate::domain::way::Step;
use crate::domain::{Fact, Verdict};

pub(super) fn judge(step: Step<'_>, facts: &Facts) -> Verdict {
    let told = [
        (&facts.objections, ObjectKind::ClusterVersion),
        (&facts.operator_objections, ObjectKind::ClusterOperator),
    ];
    match step.is_first_minor() {
        false => Verdict::recommend(),
        true => told
            .into_iter()
            .map(|(objections, kind)| judge_kind(objections, kind))
            .collect(),
    }
}

fn judge_kind(objections: &Fact<Vec<Objection>>, kind: ObjectKind) -> Verdict {
    match objections {
        Fact::Unknown => not_given(kind),
        Fact::Known(objections) => objections
            .iter()
            .map(|one| refuse(ReadyReason::from(one)))
            .collect(),
    }
}
