//! Paused control plane: pools of workers may skip updates, the control plane's own may not.
//!
//! A paused `master` pool leaves the nodes of the control plane with an old kubelet, an old system and certificates that nobody renews. The
//! first update that changes the minor version is refused; patches before it are told. What follows is judged as if the pool ran.

use super::{inform, not_given, refuse};
use crate::domain::readiness::{Facts, Pool};
use crate::domain::ready_reason::{ObjectKind, ReadyReason};
use crate::domain::way::Step;
use crate::domain::{Fact, Verdict};

pub(super) fn judge(step: Step<'_>, facts: &Facts) -> Verdict {
    let pools = match (step.is_minor(), &facts.pools) {
        (false, Fact::Unknown) => return Verdict::recommend(),
        (true, Fact::Unknown) => return not_given(ObjectKind::MachineConfigPool),
        (_, Fact::Known(pools)) => pools,
    };
    let is_after_a_minor_update = step.earlier().any(Step::is_minor);
    match pools
        .iter()
        .find(|pool| pool.is_paused && pool.is_of_control_plane())
    {
        Some(Pool { name, .. }) if step.is_first_minor() => {
            refuse(ReadyReason::ControlPlanePaused { pool: name.clone() })
        }
        Some(Pool { name, .. }) if !is_after_a_minor_update => {
            inform(ReadyReason::ControlPlaneStays { pool: name.clone() })
        }
        _ => Verdict::recommend(),
    }
}
