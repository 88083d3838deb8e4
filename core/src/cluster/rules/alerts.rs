//! Alerts: what fires now is looked at before the minor version changes.
//!
//! The cluster-version operator and `oc adm upgrade recommend` look at the same alerts: all that
//! are critical, those that somebody marked with the label `openShiftUpdatePrecheck: "true"`, and
//! a few that slow drains and node updates down.

use std::collections::{BTreeMap, BTreeSet};

use super::{StepQuestion, StepRule, first_line, not_given};
use crate::cluster::Fact;
use crate::cluster::health::Alert;
use crate::cluster::objects::ObjectKind;
use crate::fleet::Name;
use crate::verdict::{Code, Value, Verdict};

static CRITICAL_ALERT: Code = Code::new(
    "CriticalAlert",
    "the critical alert {alert} fires[ in {namespaces}]: {summary}",
    "settle {alert}[; its runbook is {runbook}]",
)
.by(FIRING)
.checked_by(FIRING)
.about("{alert}")
.with(&EXAMPLE);

static ALERT_BEFORE_UPDATE: Code = Code::new(
    "AlertBeforeUpdate",
    "the alert {alert} fires[ in {namespaces}], which {why}: {summary}",
    "settle {alert}[; its runbook is {runbook}]",
)
.by(FIRING)
.checked_by(FIRING)
.about("{alert}")
.with(&EXAMPLE);

/// The alerts that fire, as the cluster's own Prometheus has them.
const FIRING: &str = "oc -n openshift-monitoring exec -c prometheus prometheus-k8s-0 -- curl -s http://localhost:9090/api/v1/alerts";

const EXAMPLE: [(&str, &str); 5] = [
    ("alert", "KubePersistentVolumeFillingUp"),
    ("namespaces", "shop"),
    ("summary", "PersistentVolume is filling up."),
    ("runbook", "https://github.com/openshift/runbooks"),
    ("why", "may slow node drains"),
];

/// Alerts that are not critical and still slow an update down.
const SLOWING: [(&str, &str); 8] = [
    ("KubeContainerWaiting", NODES),
    ("KubeNodeNotReady", NODES),
    ("KubeNodeReadinessFlapping", NODES),
    ("KubeNodeUnreachable", NODES),
    ("KubeletHealthState", NODES),
    ("PodDisruptionBudgetAtLimit", "may slow node drains"),
    ("VMCannotBeEvicted", NODES),
    ("VirtHandlerDaemonSetRolloutFailing", NODES),
];

const NODES: &str = "may slow the update of nodes";

pub(super) static RULE: StepRule = StepRule::new(&[&CRITICAL_ALERT, &ALERT_BEFORE_UPDATE], judge);

fn judge(q: &StepQuestion<'_>) -> Verdict {
    match (q.step.is_first_minor(), &q.facts.health.alerts) {
        (false, _) => Verdict::recommend(),
        (true, Fact::Unknown) => not_given(ObjectKind::Alerts),
        (true, Fact::Known(alerts)) => by_name(alerts).values().map(|same| fires(same)).collect(),
    }
}

/// An alert fires once for each thing that it is about; it is told once.
fn by_name(alerts: &[Alert]) -> BTreeMap<&Name, Vec<&Alert>> {
    let mut by_name: BTreeMap<&Name, Vec<&Alert>> = BTreeMap::new();
    for alert in alerts {
        by_name.entry(&alert.name).or_default().push(alert);
    }
    by_name
}

fn fires(same: &[&Alert]) -> Verdict {
    let Some(first) = same.first() else {
        return Verdict::recommend();
    };
    let namespaces: BTreeSet<&Name> = same
        .iter()
        .filter_map(|one| one.namespace.as_ref())
        .collect();
    let facts = || {
        [
            ("alert", (&first.name).into()),
            ("namespaces", Value::list(namespaces.clone())),
            ("summary", first_line(&first.summary)),
            ("runbook", first.runbook.as_ref().into()),
        ]
    };
    let slowing = SLOWING.iter().find(|(name, _)| **name == *first.name);
    let is_precheck = same.iter().any(|one| one.is_precheck);
    let why = match (slowing, is_precheck) {
        (Some((_, why)), _) => Some(*why),
        (None, true) => Some("somebody marked as one to settle before updates"),
        (None, false) => None,
    };
    match (same.iter().any(|one| one.is_critical), why) {
        (true, _) => Verdict::refuse(CRITICAL_ALERT.because(facts())),
        (false, Some(why)) => {
            let [alert, namespaces, summary, runbook] = facts();
            let facts = [alert, namespaces, summary, runbook, ("why", why.into())];
            Verdict::refuse(ALERT_BEFORE_UPDATE.because(facts))
        }
        (false, None) => Verdict::recommend(),
    }
}
