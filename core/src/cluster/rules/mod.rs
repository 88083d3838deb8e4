//! What blocks updates on a cluster. Each file is one rule: a step and the cluster's facts in, a
//! verdict out.
//!
//! No rule ever stops a patch. A rule refuses when it lacks a fact, and names that fact, because
//! an update cannot be undone once it has begun.

mod admin_acks;
mod failing;
mod kubelet_skew;
mod minor_versions;
mod operators;
mod paused_control_plane;
mod platform_namespaces;
mod removals;
mod removed_apis;
mod update_in_progress;
mod upgradeable;

pub use kubelet_skew::{PoolStanding, standings};
pub(crate) use minor_versions::unknown;
pub use removals::{REMOVALS, Removal};
pub use removed_apis::{API_REMOVED, API_REMOVED_LATER};

use crate::cluster::objects::{Facts, ObjectKind};
use crate::cluster::way::Step;
use crate::rules::{PlainRule, Policy, Question, Rule};
use crate::verdict::{Code, Value, Verdict};

/// Questions about steps.
pub struct Steps;

impl Question for Steps {
    type At<'a> = StepQuestion<'a>;
}

type StepRule = PlainRule<Steps>;

/// What do the cluster's own objects have against this step of a way?
#[derive(Debug, Clone, Copy)]
pub struct StepQuestion<'a> {
    pub step: Step<'a>,
    pub facts: &'a Facts,
}

static CLUSTER: Policy<Steps> = Policy(&[
    &admin_acks::RULE,
    &failing::RULE,
    &kubelet_skew::RULE,
    &minor_versions::RULE,
    &operators::RULE,
    &paused_control_plane::RULE,
    &removed_apis::RULE,
    &update_in_progress::RULE,
    &upgradeable::RULE,
]);

/// What all rules say about a step.
pub fn judge(step: Step<'_>, facts: &Facts) -> Verdict {
    CLUSTER.judge(&StepQuestion { step, facts })
}

/// Every kind of reason of the cluster's rules.
pub fn cluster_codes() -> Vec<&'static Code> {
    CLUSTER
        .codes()
        .into_iter()
        .chain([&OBJECTS_NOT_GIVEN])
        .collect()
}

/// Objects that a rule asks about were not given.
static OBJECTS_NOT_GIVEN: Code = Code::new(
    "ObjectsNotGiven",
    "nobody can tell without these objects: {kind}",
    "give the {kind} too",
)
.by("{how}")
.with(&[
    ("kind", "Nodes"),
    ("how", "oc get nodes -o yaml > nodes.yaml"),
]);

fn not_given(kind: ObjectKind) -> Verdict {
    Verdict::refuse(OBJECTS_NOT_GIVEN.because([
        ("kind", Value::text(kind)),
        ("how", Value::Command(kind.command())),
    ]))
}

/// Messages of operators can be pages long; the first line says what it is about.
fn first_line(text: &str) -> Value {
    let mut lines = text.lines().map(str::trim);
    lines
        .find(|line| !line.is_empty())
        .unwrap_or("(it does not say why)")
        .into()
}
