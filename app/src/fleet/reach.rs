//! Whether a caller whose role is for some organisations may touch the one cluster that a request names.

use towpath_core::access::{NotPermitted, Target};
use towpath_core::cluster::ClusterId;
use towpath_core::fleet::{Name, UpgradeId};
use towpath_web::{Admitted, FleetAnswer, FleetRequest, UpgradeChoice};

use super::acts::NotDone;
use super::cluster_answer;
use super::fleet_backend::{BUSY, FleetBackend, looked, worked};

/// The request, about the cluster by its id: nobody can mean one cluster here and another one later.
///
/// A cluster that nobody knows is refused like one of another organisation, so that nobody learns which there are.
pub(super) async fn checked(
    fleet: &FleetBackend,
    mut request: FleetRequest,
    caller: &Admitted,
) -> Result<FleetRequest, FleetAnswer> {
    // Whoever may do it everywhere may also name a cluster that nobody knows.
    if caller.may(Target::Everywhere).is_ok() {
        return Ok(request);
    }
    if let FleetRequest::Cancel {
        which: UpgradeChoice::Number(number),
        ..
    } = &request
    {
        upgrade_checked(fleet, *number, caller).await?;
        return Ok(request);
    }
    let Some(called) = request.cluster_asked() else {
        return Ok(request);
    };
    let owner = owner(fleet, called).await?;
    let target = owner
        .as_ref()
        .map_or(Target::Everywhere, |(_, organisation)| {
            Target::Organisation(organisation)
        });
    caller
        .may(target)
        .map_err(|refusal| forbidden(&refusal, called))?;
    if let Some((id, _)) = owner {
        *called = id.to_string();
    }
    Ok(request)
}

/// An upgrade that nobody knows is refused like one of another organisation.
async fn upgrade_checked(
    fleet: &FleetBackend,
    number: i64,
    caller: &Admitted,
) -> Result<(), FleetAnswer> {
    let upgrade = fleet.store.upgrade(UpgradeId(number)).await;
    let owner = match upgrade.map_err(NotDone::Store)? {
        Some(upgrade) => owner(fleet, upgrade.cluster.as_str()).await?,
        None => None,
    };
    let target = owner
        .as_ref()
        .map_or(Target::Everywhere, |(_, organisation)| {
            Target::Organisation(organisation)
        });
    caller
        .may(target)
        .map_err(|refusal| FleetAnswer::Forbidden {
            kind: refusal.kind(),
            sentence: format!(
                "your role is not for upgrade {number}: there is none in your organisation"
            ),
        })
}

/// The cluster of that name or id, and its organisation; none if nobody or more than one is called so.
async fn owner(
    fleet: &FleetBackend,
    called: &str,
) -> Result<Option<(ClusterId, Name)>, FleetAnswer> {
    let (published_fleet, name) = (fleet.published_fleet.clone(), called.to_owned());
    let known = worked(&fleet.questions, BUSY, move || {
        looked(&published_fleet, |published| {
            let found = cluster_answer::found(&published.planner, &name).ok();
            Ok(found.map(|(_, state)| (state.id.clone(), state.organisation.clone())))
        })
    });
    let known = known.await?;
    // It may have come after the last pass.
    match (known, ClusterId::new(called)) {
        (None, Some(id)) => {
            let stored = fleet.store.cluster(&id).await.map_err(NotDone::Store)?;
            Ok(stored.map(|stored| (stored.state.id, stored.state.organisation)))
        }
        (known, _) => Ok(known),
    }
}

/// The same for a cluster elsewhere and for one that is not there.
fn forbidden(refusal: &NotPermitted, called: &str) -> FleetAnswer {
    FleetAnswer::Forbidden {
        kind: refusal.kind(),
        sentence: format!(
            "your role is not for a cluster {called:?}: there is none in your organisation, or there is more than one"
        ),
    }
}
