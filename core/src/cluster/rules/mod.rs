//! What blocks updates on a cluster. Each file is one rule: a step and the cluster's facts in, a
//! verdict out.
//!
//! No rule ever stops a patch. A rule refuses when it lacks a fact, and names that fact, because
//! an update cannot be undone once it has begun.

mod admin_acks;
mod alerts;
pub(crate) mod budgets;
mod container_runtime;
mod end_of_life;
mod etcd_members;
mod failing;
mod gates_ahead;
mod install_plans;
mod kubelet_skew;
mod minor_versions;
mod network_type;
pub(crate) mod node_room;
mod operators;
mod paused_control_plane;
mod platform_namespaces;
mod pools;
mod removals;
mod removed_apis;
mod update_in_progress;
mod upgradeable;

pub use kubelet_skew::{PoolStanding, standings};
pub(crate) use minor_versions::unknown;
pub(crate) use platform_namespaces::is_of_platform;
pub use removals::{OPENSHIFT_REMOVALS, REMOVALS, Removal, removal};
pub use removed_apis::{API_REMOVED, API_REMOVED_LATER};

use crate::cluster::health::ClusterHealth;
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

/// What the agent does not watch, and only `ready` asks for.
static HEALTH: Policy<Steps> = Policy(&[
    &alerts::RULE,
    &budgets::RULE,
    &container_runtime::RULE,
    &end_of_life::RULE,
    &etcd_members::RULE,
    &gates_ahead::RULE,
    &install_plans::RULE,
    &network_type::RULE,
    &node_room::RULE,
    &pools::RULE,
]);

/// What the rules say about a step that the agent asks, too.
pub fn judge(step: Step<'_>, facts: &Facts) -> Verdict {
    CLUSTER.judge(&StepQuestion { step, facts })
}

/// What all rules say about a step.
pub(super) fn judge_all(step: Step<'_>, facts: &Facts) -> Verdict {
    let question = StepQuestion { step, facts };
    CLUSTER.judge(&question).and(HEALTH.judge(&question))
}

/// Every kind of reason of the cluster's rules.
pub fn cluster_codes() -> Vec<&'static Code> {
    let rules = CLUSTER.codes().into_iter().chain(HEALTH.codes());
    rules
        .chain([&OBJECTS_NOT_GIVEN, &OBJECTS_GIVEN_IN_PART])
        .collect()
}

/// Whether a reason is only that something is not known.
pub(super) fn is_unjudged(code: &Code) -> bool {
    let unknown = [
        &OBJECTS_NOT_GIVEN,
        &OBJECTS_GIVEN_IN_PART,
        &end_of_life::LIFECYCLES_NOT_GIVEN,
    ];
    unknown.contains(&code)
}

/// Objects that a rule asks about were not given.
static OBJECTS_NOT_GIVEN: Code = Code::new(
    "ObjectsNotGiven",
    "nobody can tell without these objects: {kind}",
    "give the {kind} too",
)
.by("{how}")
.about("{kind}")
.with(&[
    ("kind", "Nodes"),
    ("how", "oc get nodes -o yaml > nodes.yaml"),
]);

/// Not all objects of a kind were given, so what stands in the way may be among the others.
static OBJECTS_GIVEN_IN_PART: Code = Code::new(
    "ObjectsGivenInPart",
    "only some of these objects were given: {kind}",
    "give all {kind}; a must-gather has those of the platform's namespaces",
)
.by("{how}")
.about("{kind}")
.with(&[
    ("kind", "Pods"),
    ("how", "oc get pods --all-namespaces -o yaml > pods.yaml"),
]);

pub(crate) fn partly_given(health: &ClusterHealth, kind: ObjectKind) -> Verdict {
    match health.partly.contains(&kind) {
        true => Verdict::refuse(OBJECTS_GIVEN_IN_PART.because([
            ("kind", Value::text(kind)),
            ("how", Value::Command(kind.command())),
        ])),
        false => Verdict::recommend(),
    }
}

pub(crate) fn not_given(kind: ObjectKind) -> Verdict {
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
