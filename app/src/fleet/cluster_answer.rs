//! One cluster whole, for the fleet API: from the last decision, and from the store while it can be reached.

use jiff::Timestamp;
use towpath_core::cluster::ClusterId;
use towpath_core::fleet::{
    BadQuestion, ClusterIdx, ClusterState, Filter, FleetPlanner, find_cluster, find_unmanaged,
    origin_of,
};
use towpath_formats::fleet::cluster::{self, MAX_UPGRADES, Records, Subject};
use towpath_formats::fleet::standing;
use towpath_store::{Result, Store, UpgradeSelection};
use towpath_web::FleetForm;

use super::answers::{Made, not_found, room};
use super::published_fleet::DecidedFleet;
use towpath_web::FleetAnswer;

/// The cluster of that name or id: its number if a policy is about it, and its state.
pub(super) fn found<'a>(
    planner: &'a FleetPlanner,
    name: &str,
) -> std::result::Result<(Option<ClusterIdx>, &'a ClusterState), BadQuestion> {
    match find_cluster(planner, name) {
        Ok(member) => Ok((Some(member), planner.roster().cluster(member))),
        Err(problem) => find_unmanaged(planner, name)
            .map(|state| (None, state))
            .ok_or(problem),
    }
}

/// What the store keeps of a cluster, until it was last seen by the last pass.
pub(super) async fn records(store: &Store, id: &ClusterId, seen: Timestamp) -> Result<Records> {
    let mut upgrades = store.upgrades(&UpgradeSelection::Of(id.clone())).await?;
    upgrades.reverse();
    upgrades.truncate(MAX_UPGRADES);
    Ok(Records {
        spans: store.spans(id).await?,
        report: store.last_report(id).await?,
        upgrades,
        updates: store.agent_updates(id, seen).await?,
        acts: store.acts().await?,
    })
}

/// Everything about a cluster. Of what people decided, only what concerns it.
pub(super) fn answer(
    published: &DecidedFleet,
    name: &str,
    records: Option<Records>,
    form: FleetForm,
) -> std::result::Result<Made, FleetAnswer> {
    let planner = &published.planner;
    let (member, state) = found(planner, name).map_err(not_found)?;
    let concerned = Filter {
        cluster: Some(state.id.to_string()),
        ..Filter::default()
    };
    let records = records.map(|mut records| {
        let acts = std::mem::take(&mut records.acts);
        // About a cluster without a policy nobody has decided anything.
        records.acts = standing::meant(acts, planner, &concerned).unwrap_or_default();
        records
    });
    let subject = Subject {
        desk: planner,
        decision: &published.decision,
        state,
        member,
        place: origin_of(&published.policy, state),
    };
    Ok(match room(form, None) {
        None => Made::Json(cluster::json(subject, records.as_ref())),
        Some(room) => Made::Text(cluster::text(subject, records.as_ref(), room)),
    })
}
