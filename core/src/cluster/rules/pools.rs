//! Pools: no pool is degraded or still updating when the minor version changes.
//!
//! The cluster-version operator does not look at pools other than `master`. A pool that is still
//! updating meets the next release half-way, and a degraded one does not follow at all. A paused
//! pool does not update; how far it may stay behind is the kubelet rule's matter.

use super::{StepQuestion, StepRule, first_line, not_given};
use crate::cluster::Fact;
use crate::cluster::health::PoolState;
use crate::cluster::objects::ObjectKind;
use crate::verdict::{Code, Verdict};

static POOL_DEGRADED: Code = Code::new(
    "PoolDegraded",
    "pool {pool} is degraded: {message}",
    "repair the nodes of pool {pool}: {message}",
)
.by("oc describe machineconfigpool {pool}")
.checked_by("oc get machineconfigpool {pool}")
.about("{pool}")
.with(&[
    ("pool", "worker"),
    ("message", "Node w1 is reporting: \"failed to drain node\""),
]);

static POOL_UPDATING: Code = Code::new(
    "PoolUpdating",
    "pool {pool} is still updating[: {updated} of {nodes} nodes are done]",
    "wait until all nodes of pool {pool} are updated",
)
.by("oc wait machineconfigpool/{pool} --for=condition=Updated --timeout=2h")
.checked_by("oc get machineconfigpool {pool}")
.about("{pool}")
.with(&[("pool", "worker"), ("updated", "3"), ("nodes", "12")]);

static POOL_STATE_UNKNOWN: Code = Code::new(
    "PoolStateUnknown",
    "pool {pool} does not say whether it is degraded or updating",
    "give the MachineConfigPools with their `status`: {pool} lacks conditions",
)
.by("oc get machineconfigpools -o yaml > machineconfigpools.yaml")
.checked_by("oc get machineconfigpool {pool}")
.about("{pool}")
.with(&[("pool", "worker")]);

pub(super) static RULE: StepRule = StepRule::new(
    &[&POOL_DEGRADED, &POOL_UPDATING, &POOL_STATE_UNKNOWN],
    judge,
);

fn judge(q: &StepQuestion<'_>) -> Verdict {
    match (q.step.is_first_minor(), &q.facts.health.pools) {
        (false, _) => Verdict::recommend(),
        (true, Fact::Unknown) => not_given(ObjectKind::MachineConfigPool),
        (true, Fact::Known(pools)) => pools.iter().map(judge_pool).collect(),
    }
}

fn judge_pool(pool: &PoolState) -> Verdict {
    let name = || ("pool", (&pool.name).into());
    let degraded = match &pool.degraded {
        Fact::Unknown => Verdict::refuse(POOL_STATE_UNKNOWN.because([name()])),
        Fact::Known(None) => Verdict::recommend(),
        Fact::Known(Some(message)) => {
            Verdict::refuse(POOL_DEGRADED.because([name(), ("message", first_line(message))]))
        }
    };
    let updating = match (pool.is_paused, &pool.is_updating) {
        (true, _) | (false, Fact::Known(false)) => Verdict::recommend(),
        (false, Fact::Unknown) => Verdict::refuse(POOL_STATE_UNKNOWN.because([name()])),
        (false, Fact::Known(true)) => Verdict::refuse(POOL_UPDATING.because([
            name(),
            ("updated", pool.updated_nodes.known().copied().into()),
            ("nodes", pool.nodes.known().copied().into()),
        ])),
    };
    degraded.and(updating)
}
