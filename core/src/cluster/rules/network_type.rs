//! Network type: OpenShift 4.17 and later do not have OpenShiftSDN.
//!
//! The migration to OVN-Kubernetes has to be done before that, so earlier updates of the way have
//! a note.

use super::{StepQuestion, StepRule, not_given};
use crate::cluster::Fact;
use crate::cluster::objects::ObjectKind;
use crate::cluster::way::Step;
use crate::verdict::{Code, Value, Verdict};
use crate::version::Minor;

/// The first minor version without OpenShiftSDN.
const WITHOUT_SDN: Minor = Minor::new(4, 17);

static NETWORK_NOT_SUPPORTED: Code = Code::new(
    "NetworkNotSupported",
    "the network is {network}, which OpenShift {to} does not have",
    "migrate the network to OVNKubernetes before OpenShift {to}",
)
.by("oc get network.operator.openshift.io cluster -o yaml")
.checked_by("oc get network.config.openshift.io cluster -o jsonpath={{.status.networkType}}")
.about("{network}")
.with(FACTS);

static NETWORK_ENDS_LATER: Code = Code::new(
    "NetworkEndsLater",
    "later, at {to}: the network is {network}, which OpenShift {to} does not have",
    "plan the migration to OVNKubernetes; it has to be done before {to}",
)
.with(FACTS)
.note();

const FACTS: &[(&str, &str)] = &[("network", "OpenShiftSDN"), ("to", "4.17")];

pub(super) static RULE: StepRule =
    StepRule::new(&[&NETWORK_NOT_SUPPORTED, &NETWORK_ENDS_LATER], judge);

fn judge(q: &StepQuestion<'_>) -> Verdict {
    let mut steps = q.step.way().steps();
    let Some(at) = steps.find(|step| drops_sdn(*step)) else {
        return Verdict::recommend();
    };
    let network = match (&q.facts.health.network, at.index() == q.step.index()) {
        (Fact::Unknown, true) => return not_given(ObjectKind::Network),
        (Fact::Unknown, false) => return Verdict::recommend(),
        (Fact::Known(network), _) => network,
    };
    let facts = || {
        [
            ("network", network.into()),
            ("to", Value::text(at.to_minor())),
        ]
    };
    match network.eq_ignore_ascii_case("OpenShiftSDN") {
        true if at.index() == q.step.index() => {
            Verdict::refuse(NETWORK_NOT_SUPPORTED.because(facts()))
        }
        true if at.index() > q.step.index() => Verdict::inform(NETWORK_ENDS_LATER.because(facts())),
        _ => Verdict::recommend(),
    }
}

fn drops_sdn(step: Step<'_>) -> bool {
    step.begins_in() < WITHOUT_SDN && WITHOUT_SDN <= step.to_minor()
}
