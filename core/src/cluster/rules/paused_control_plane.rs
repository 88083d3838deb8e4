//! Paused control plane: worker pools may skip updates, the control plane's own pool may not.
//!
//! A paused `master` pool leaves control-plane nodes with an old kubelet, an old system and
//! certificates that nobody renews. The rule refuses the first update that changes the minor
//! version, and adds a note to the patches before it. Later updates are judged as if the pool was
//! not paused.

use super::{StepQuestion, StepRule, not_given};
use crate::cluster::Fact;
use crate::cluster::objects::{MachineConfigPool, ObjectKind};
use crate::cluster::way::Step;
use crate::verdict::{Code, Verdict};

static CONTROL_PLANE_PAUSED: Code = Code::new(
    "ControlPlanePaused",
    "pool {pool} is paused, and the control plane's nodes must not skip a minor version",
    "unpause pool {pool}, and wait until all nodes of the control plane are updated",
)
.by(MachineConfigPool::UNPAUSE)
.checked_by("oc get machineconfigpool {pool}")
.about("{pool}")
.with(&[("pool", "master")]);

static CONTROL_PLANE_STAYS: Code = Code::new(
    "ControlPlaneStays",
    "pool {pool} is paused: a patch leaves the control plane's nodes as they are, and the next minor update is refused",
    "unpause pool {pool}; nothing is refused before the next minor update",
)
.by(MachineConfigPool::UNPAUSE)
.with(&[("pool", "master")])
.note();

pub(super) static RULE: StepRule =
    StepRule::new(&[&CONTROL_PLANE_PAUSED, &CONTROL_PLANE_STAYS], judge);

fn judge(q: &StepQuestion<'_>) -> Verdict {
    let pools = match (q.step.is_minor(), &q.facts.pools) {
        (false, Fact::Unknown) => return Verdict::recommend(),
        (true, Fact::Unknown) => return not_given(ObjectKind::MachineConfigPool),
        (_, Fact::Known(pools)) => pools,
    };
    let is_after_a_minor_update = q.step.earlier().any(Step::is_minor);
    let mut paused = pools.iter();
    match paused.find(|pool| pool.is_paused && pool.is_of_control_plane()) {
        Some(MachineConfigPool { name, .. }) if q.step.is_first_minor() => {
            Verdict::refuse(CONTROL_PLANE_PAUSED.because([("pool", name.into())]))
        }
        Some(MachineConfigPool { name, .. }) if !is_after_a_minor_update => {
            Verdict::inform(CONTROL_PLANE_STAYS.because([("pool", name.into())]))
        }
        _ => Verdict::recommend(),
    }
}
