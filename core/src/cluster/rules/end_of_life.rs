//! End of life: an optional operator that nobody supports any more.
//!
//! No object of a cluster says so. The lifecycle data of the catalogues does, if somebody gives
//! it. So this is a note, and stops nothing.

use super::{StepQuestion, StepRule};
use crate::cluster::Fact;
use crate::verdict::{Code, Verdict};

static OPERATOR_ENDED: Code = Code::new(
    "OperatorEnded",
    "{operator} in {namespace} is no longer supported, since {ended}",
    "move to a supported version of {operator}, or replace it",
)
.by("oc -n {namespace} get subscriptions.operators.coreos.com")
.about("{namespace}/{operator}")
.with(&[
    ("operator", "cluster-logging.v5.8.1"),
    ("namespace", "openshift-logging"),
    ("ended", "2025-11-30"),
])
.note();

pub(super) static LIFECYCLES_NOT_GIVEN: Code = Code::new(
    "LifecyclesNotGiven",
    "nobody can tell which operators are at the end of their life: no object says it",
    "give the catalogue's lifecycle data with --lifecycles",
)
.by("opm render $(oc -n openshift-marketplace get catalogsource redhat-operators -o jsonpath={{.spec.image}}) | jq -s 'map(select(.schema==\"io.openshift.operators.lifecycles.v1alpha1\"))' > lifecycles.json")
.about("lifecycles of operators")
.note();

pub(super) static RULE: StepRule = StepRule::new(&[&OPERATOR_ENDED, &LIFECYCLES_NOT_GIVEN], judge);

fn judge(q: &StepQuestion<'_>) -> Verdict {
    match (q.step.is_first_minor(), &q.facts.health.ended_operators) {
        (false, _) => Verdict::recommend(),
        (true, Fact::Unknown) => Verdict::inform(LIFECYCLES_NOT_GIVEN.alone()),
        (true, Fact::Known(ended)) => ended
            .iter()
            .map(|one| {
                Verdict::inform(OPERATOR_ENDED.because([
                    ("operator", (&one.name).into()),
                    ("namespace", (&one.namespace).into()),
                    ("ended", (&one.ended).into()),
                ]))
            })
            .collect(),
    }
}
