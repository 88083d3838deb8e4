//! Disruption budgets: a PodDisruptionBudget that allows no eviction stops the drain of every
//! node that has one of its pods.
//!
//! Two budgets that count the same pod lock each other: the API refuses to evict such a pod
//! whatever both allow. A budget without a status is unknown, not at its limit.

use super::{StepQuestion, StepRule, not_given, partly_given};
use crate::cluster::Fact;
use crate::cluster::health::{Amount, ClusterHealth, DisruptionBudget, Pod};
use crate::cluster::objects::ObjectKind;
use crate::cluster::way::Step;
use crate::verdict::{Code, Value, Verdict};

static BUDGET_ALLOWS_NOTHING: Code = Code::new(
    "BudgetAllowsNothing",
    "PodDisruptionBudget {budget} of {namespace} never allows an eviction: {setting}[; it counts {pods}][ of {owners}]",
    "let {budget} of {namespace} allow one eviction: {fix}",
)
.by("oc -n {namespace} edit poddisruptionbudget {budget}")
.checked_by("oc -n {namespace} get poddisruptionbudget {budget}")
.about("{namespace}/{budget}")
.with(&EXAMPLE);

static BUDGET_AT_LIMIT: Code = Code::new(
    "BudgetAtLimit",
    "PodDisruptionBudget {budget} of {namespace} allows no eviction now[: {healthy} of {expected} pods are healthy][, and it needs {desired}][; it counts {pods}][ of {owners}]",
    "bring the pods of {budget} in {namespace} back to health, or add a replica",
)
.by("oc -n {namespace} describe poddisruptionbudget {budget}")
.checked_by("oc -n {namespace} get poddisruptionbudget {budget}")
.about("{namespace}/{budget}")
.with(&EXAMPLE);

static BUDGETS_LOCK_EACH_OTHER: Code = Code::new(
    "BudgetsLockEachOther",
    "pod {pod} of {namespace}[ ({owners})] is counted by {count} PodDisruptionBudgets ({budgets}), and the API evicts no such pod",
    "remove all but one of {budgets} in {namespace}, or narrow their selectors",
)
.by("oc -n {namespace} get poddisruptionbudgets -o wide")
.checked_by("oc -n {namespace} get poddisruptionbudgets")
.about("{namespace}/{pod}")
.with(&EXAMPLE);

static BUDGET_UNKNOWN: Code = Code::new(
    "BudgetUnknown",
    "PodDisruptionBudget {budget} of {namespace} does not say how many evictions it allows",
    "give {budget} of {namespace} with its `status`; a budget that stays without one is not handled by anybody",
)
.by("oc -n {namespace} get poddisruptionbudget {budget} -o yaml")
.checked_by("oc -n {namespace} get poddisruptionbudget {budget}")
.about("{namespace}/{budget}")
.with(&EXAMPLE);

static DRAIN_MAY_STALL: Code = Code::new(
    "DrainMayStall",
    "{what}: a patch is not refused for it, and its nodes cannot be drained until it is settled",
    "settle it before the nodes are updated",
)
.with(&[(
    "what",
    "PodDisruptionBudget db of shop never allows an eviction: maxUnavailable is 0",
)])
.note();

const EXAMPLE: [(&str, &str); 12] = [
    ("budget", "db"),
    ("namespace", "shop"),
    ("setting", "minAvailable is 3, and it counts 3 pods"),
    ("fix", "lower minAvailable to 2, or add a replica"),
    ("pods", "db-0, db-1, db-2"),
    ("owners", "StatefulSet db"),
    ("healthy", "2"),
    ("expected", "3"),
    ("desired", "2"),
    ("pod", "db-0"),
    ("count", "2"),
    ("budgets", "all, db"),
];

/// What budgets have against a drain.
pub(crate) static DRAIN_CODES: [&Code; 4] = [
    &BUDGET_ALLOWS_NOTHING,
    &BUDGET_AT_LIMIT,
    &BUDGETS_LOCK_EACH_OTHER,
    &BUDGET_UNKNOWN,
];

pub(super) static RULE: StepRule = StepRule::new(
    &[
        &BUDGET_ALLOWS_NOTHING,
        &BUDGET_AT_LIMIT,
        &BUDGETS_LOCK_EACH_OTHER,
        &BUDGET_UNKNOWN,
        &DRAIN_MAY_STALL,
    ],
    judge,
);

fn judge(q: &StepQuestion<'_>) -> Verdict {
    let health = &q.facts.health;
    let is_after_a_minor_update = q.step.earlier().any(Step::is_minor);
    match (&health.budgets, q.step.is_minor()) {
        _ if is_after_a_minor_update => Verdict::recommend(),
        (Fact::Unknown, true) => not_given(ObjectKind::PodDisruptionBudget),
        (Fact::Unknown, false) => Verdict::recommend(),
        (Fact::Known(budgets), true) => {
            let others = partly_given(health, ObjectKind::PodDisruptionBudget);
            judge_all(budgets, health).and(others)
        }
        // What is refused later is told before a patch: its nodes are drained, too.
        (Fact::Known(budgets), false) => judge_all(budgets, health)
            .reasons
            .iter()
            .map(|reason| {
                let what = ("what", reason.text().as_str().into());
                Verdict::inform(DRAIN_MAY_STALL.because([what]))
            })
            .collect(),
    }
}

/// What the budgets have against drains of nodes with these pods.
pub(crate) fn judge_all(budgets: &[DisruptionBudget], health: &ClusterHealth) -> Verdict {
    let each = budgets.iter().map(|budget| judge_budget(budget, health));
    each.chain([locks(budgets, health)]).collect()
}

fn judge_budget(budget: &DisruptionBudget, health: &ClusterHealth) -> Verdict {
    let pods: Option<Vec<&Pod>> = health.pods.known().map(|pods| {
        let counted = pods.iter().filter(|pod| budget.counts(pod));
        counted.filter(|pod| pod.is_evicted()).collect()
    });
    let expected = budget.expected.known().copied();
    let is_idle = match (&pods, health.partly.contains(&ObjectKind::Pod)) {
        (Some(pods), false) => pods.is_empty(),
        _ => expected == Some(0),
    };
    if is_idle {
        return Verdict::recommend();
    }
    let pods = pods.unwrap_or_default();
    let of = || {
        [
            ("budget", (&budget.name).into()),
            ("namespace", (&budget.namespace).into()),
            ("pods", Value::list(pods.iter().map(|pod| &pod.name))),
            ("owners", owners(&pods)),
        ]
    };
    if let Some((setting, fix)) = never(budget) {
        let [budget, namespace, pods, owners] = of();
        let (setting, fix) = (("setting", setting.into()), ("fix", fix.into()));
        let facts = [budget, namespace, pods, owners, setting, fix];
        return Verdict::refuse(BUDGET_ALLOWS_NOTHING.because(facts));
    }
    // Of how many it is a minimum decides whether it ever allows one.
    let is_vague = matches!(budget.min_available, Some(Amount::Count(_))) && expected.is_none();
    match &budget.allowed {
        Fact::Known(1..) if !is_vague => Verdict::recommend(),
        Fact::Unknown | Fact::Known(1..) => {
            let [budget, namespace, ..] = of();
            Verdict::refuse(BUDGET_UNKNOWN.because([budget, namespace]))
        }
        Fact::Known(_) => {
            let number = |fact: &Fact<u64>| fact.known().copied().into();
            let (healthy, desired) = (number(&budget.healthy), number(&budget.desired));
            let [budget, namespace, pods, owners] = of();
            Verdict::refuse(BUDGET_AT_LIMIT.because([
                budget,
                namespace,
                pods,
                owners,
                ("healthy", healthy),
                ("desired", desired),
                ("expected", expected.into()),
            ]))
        }
    }
}

/// Why a budget allows no eviction even if all its pods are healthy, and what to set instead.
fn never(budget: &DisruptionBudget) -> Option<(&'static str, &'static str)> {
    let expected = budget.expected.known().copied();
    match (budget.max_unavailable, budget.min_available, expected) {
        (Some(Amount::Count(0) | Amount::Percent(0)), _, _) => {
            Some(("maxUnavailable is 0", "set maxUnavailable to 1"))
        }
        (_, Some(Amount::Percent(100..)), _) => {
            Some(("minAvailable is 100%", "set maxUnavailable to 1 instead"))
        }
        (_, Some(Amount::Count(min)), Some(expected)) if min >= expected => Some((
            "minAvailable is as many as there are pods",
            "lower minAvailable by one, or add a replica",
        )),
        _ => None,
    }
}

fn owners(pods: &[&Pod]) -> Value {
    let owners: std::collections::BTreeSet<_> =
        pods.iter().filter_map(|pod| pod.owner.as_ref()).collect();
    Value::list(owners)
}

/// Pods that are counted more than once; one of each owner is named.
fn locks(budgets: &[DisruptionBudget], health: &ClusterHealth) -> Verdict {
    let pods = health.pods.known().into_iter().flatten();
    let mut seen = std::collections::BTreeSet::new();
    let mut verdicts = Vec::new();
    for pod in pods.filter(|pod| pod.is_evicted()) {
        let counting = budgets.iter().filter(|budget| budget.counts(pod));
        let names: Vec<_> = counting.map(|budget| &budget.name).collect();
        let is_new =
            pod.owner.is_none() || seen.insert((&pod.namespace, &pod.owner, names.clone()));
        if names.len() > 1 && is_new {
            verdicts.push(Verdict::refuse(BUDGETS_LOCK_EACH_OTHER.because([
                ("pod", (&pod.name).into()),
                ("namespace", (&pod.namespace).into()),
                ("owners", pod.owner.as_ref().into()),
                ("count", (names.len() as u64).into()),
                ("budgets", Value::list(names)),
            ])));
        }
    }
    verdicts.into_iter().collect()
}
