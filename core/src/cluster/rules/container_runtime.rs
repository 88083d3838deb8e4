//! Container runtime: OpenShift 5 brings nodes with RHEL 10, which has no runc.
//!
//! A pool that is configured for runc gets no new nodes then, and the machine-config operator
//! refuses to move it to the stream `rhel-10`. Pools stay on their stream until somebody moves
//! them, so RHEL 10 itself is a note.

use super::{StepQuestion, StepRule, not_given};
use crate::cluster::Fact;
use crate::cluster::health::ClusterHealth;
use crate::cluster::objects::ObjectKind;
use crate::fleet::Name;
use crate::verdict::{Code, Value, Verdict};

/// The first major version whose new nodes have RHEL 10.
const WITH_RHEL_10: u64 = 5;

static RUNC_CONFIGURED: Code = Code::new(
    "RuncConfigured",
    "{kind} {name} sets the container runtime runc, and new nodes of OpenShift {to} have RHEL 10, without it",
    "move to crun: remove runc from {kind} {name}, and wait until its pool is updated",
)
.by("oc get {kind} {name} -o yaml")
.checked_by("oc get {kind} {name} -o yaml")
.about("{kind}/{name}")
.with(&[
    ("kind", "containerruntimeconfig"),
    ("name", "set-runc"),
    ("to", "5.0"),
]);

static RHEL_10_AHEAD: Code = Code::new(
    "Rhel10Ahead",
    "new nodes of OpenShift {to} have RHEL 10[; pools of the cluster are on {stream}][; these name a stream of their own: {pools}]",
    "check that processors (x86-64-v3), drivers and agents of the nodes work with RHEL 10",
)
.by("oc get osimagestreams,machineconfigpools -o yaml")
.with(&[("to", "5.0"), ("stream", "rhel-9"), ("pools", "infra (rhel-10)")])
.note();

pub(super) static RULE: StepRule = StepRule::new(&[&RUNC_CONFIGURED, &RHEL_10_AHEAD], judge);

fn judge(q: &StepQuestion<'_>) -> Verdict {
    let (from, to) = (q.step.begins_in(), q.step.to_minor());
    if from.major >= WITH_RHEL_10 || to.major < WITH_RHEL_10 {
        return Verdict::recommend();
    }
    let health = &q.facts.health;
    let of = [
        (
            &health.runc_configs,
            ObjectKind::ContainerRuntimeConfig,
            "containerruntimeconfig",
        ),
        (
            &health.runc_machine_configs,
            ObjectKind::MachineConfig,
            "machineconfig",
        ),
    ];
    let runc: Verdict = of
        .into_iter()
        .map(|(names, given, kind)| match names {
            Fact::Unknown => not_given(given),
            Fact::Known(names) => names
                .iter()
                .map(|name| refuse(kind, name, Value::text(to)))
                .collect(),
        })
        .collect();
    runc.and(rhel_10(&q.facts.health, Value::text(to)))
}

fn rhel_10(health: &ClusterHealth, to: Value) -> Verdict {
    let pools = health.pools.known().into_iter().flatten();
    let pools = pools.filter_map(|pool| {
        let stream = pool.stream.as_ref()?;
        Some(Value::text(format!("{} ({stream})", pool.name)))
    });
    Verdict::inform(RHEL_10_AHEAD.because([
        ("to", to),
        ("stream", health.default_stream.known().into()),
        ("pools", Value::list(pools)),
    ]))
}

fn refuse(kind: &str, name: &Name, to: Value) -> Verdict {
    Verdict::refuse(RUNC_CONFIGURED.because([
        ("kind", kind.into()),
        ("name", name.into()),
        ("to", to),
    ]))
}
