//! Writes to a hub: have a ClusterCurator upgrade a cluster, or take that back.

use jiff::Timestamp;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use towpath_core::version::Version;

use super::Hub;
use super::curator::{Curator, CuratorPlace, CuratorProgress, UPGRADE_ANNOTATION};
use crate::answer::within;
use crate::count::Verb;
use crate::error::KubeError;
use crate::resource::{CLUSTER_CURATORS, Call};

const FIELD_MANAGER: &str = "towpath-fleet";
/// How long the hub's job watches an upgrade before it calls it failed, in minutes. The hub's own default of two hours is less than
/// many upgrades take.
const MONITOR_MINUTES: u32 = 360;

/// An upgrade to carry out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CuratedUpgrade<'a> {
    pub version: &'a Version,
    /// The one node pool to upgrade; none: the cluster, or its hosted control plane.
    pub pool: Option<&'a str>,
    /// The channel to switch to first.
    pub channel: Option<&'a str>,
    /// The time of the start. It tells a second attempt from the first.
    pub start_at: Timestamp,
}

/// The outcome of [`Hub::curate`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CurateOutcome {
    /// We have asked for it.
    Now,
    /// We had asked for it before.
    Before(CuratorProgress),
    /// Somebody else's curation is open, or the curator cannot be used again. Nothing was written.
    InTheWay(String),
    /// The curator has changed since we looked. Nothing was written; look again.
    Conflict,
    /// The API refused the write.
    Refused(String),
}

/// The outcome of [`Hub::withdraw`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WithdrawOutcome {
    Now,
    /// There is nothing of ours to take back.
    NothingToDo,
    /// Its job runs. It is too late.
    Running,
    /// The curator has changed since we looked. Nothing was written; look again.
    Conflict,
}

impl CuratedUpgrade<'_> {
    /// How our annotation names it.
    pub(crate) fn mark(&self) -> String {
        let pool = self.pool.map(|pool| format!(" {pool}")).unwrap_or_default();
        format!("{}{pool} {}", self.version, self.start_at)
    }

    /// What of a curator's spec is the upgrade's. The rest (hooks, credentials, timeouts) belongs to people.
    fn spec(&self, place: &CuratorPlace) -> Value {
        let kind = match (place.is_hosted, self.pool) {
            (_, Some(_)) => Some("NodePools"),
            (true, None) => Some("ControlPlane"),
            (false, None) => None,
        };
        json!({
            "desiredCuration": "upgrade",
            "upgrade": {
                "desiredUpdate": self.version.to_string(),
                // The hub ignores it for node pools.
                "channel": self.channel.filter(|_| self.pool.is_none()),
                "upgradeType": kind,
                "nodePoolNames": self.pool.map(|pool| [pool]),
            },
        })
    }
}

impl Hub {
    /// Has a cluster's curator upgrade it, unless somebody else's curation is open. An idle curator keeps its hooks.
    pub async fn curate(
        &self,
        place: &CuratorPlace,
        upgrade: &CuratedUpgrade<'_>,
    ) -> Result<CurateOutcome, KubeError> {
        let annotations = json!({ UPGRADE_ANNOTATION: upgrade.mark() });
        let written = match self.curator(place).await? {
            Some(there) if there.mark.as_deref() == Some(&*upgrade.mark()) => {
                return Ok(CurateOutcome::Before(there.progress));
            }
            Some(there) => {
                if let Some(obstacle) = there.obstacle() {
                    return Ok(CurateOutcome::InTheWay(obstacle));
                }
                // The hub starts nothing over the outcome of a failed attempt at the same version.
                let patch = json!({
                    "metadata": { "resourceVersion": there.resource_version, "annotations": annotations },
                    "spec": upgrade.spec(place),
                    "status": null,
                });
                self.patch(place, &patch).await
            }
            None => {
                let mut spec = without_nulls(upgrade.spec(place));
                spec["upgrade"]["monitorTimeout"] = MONITOR_MINUTES.into();
                self.create(place, annotations, spec).await
            }
        };
        match written {
            Ok(()) => Ok(CurateOutcome::Now),
            Err(KubeError::Answer { code: 409, .. }) => Ok(CurateOutcome::Conflict),
            Err(KubeError::Answer {
                code: 400 | 422,
                message,
                ..
            }) => Ok(CurateOutcome::Refused(message)),
            Err(other) => Err(other),
        }
    }

    /// How far an upgrade of ours is now. None: the hub has nothing of it.
    pub async fn progress(
        &self,
        place: &CuratorPlace,
        upgrade: &CuratedUpgrade<'_>,
    ) -> Result<Option<CuratorProgress>, KubeError> {
        let there = self.curator(place).await?;
        let ours = there.filter(|there| there.mark.as_deref() == Some(&*upgrade.mark()));
        Ok(ours.map(|there| there.progress))
    }

    /// Takes an upgrade of ours back, if its job has not begun.
    pub async fn withdraw(
        &self,
        place: &CuratorPlace,
        upgrade: &CuratedUpgrade<'_>,
    ) -> Result<WithdrawOutcome, KubeError> {
        let ours = self.curator(place).await?;
        let ours = ours.filter(|there| there.mark.as_deref() == Some(&*upgrade.mark()));
        let seen = match ours {
            None => return Ok(WithdrawOutcome::NothingToDo),
            Some(there) => match there.progress {
                CuratorProgress::Waiting => there.resource_version,
                CuratorProgress::Running => return Ok(WithdrawOutcome::Running),
                _ => return Ok(WithdrawOutcome::NothingToDo),
            },
        };
        let patch = json!({
            "metadata": { "resourceVersion": seen, "annotations": { UPGRADE_ANNOTATION: null } },
            "spec": { "desiredCuration": null },
        });
        match self.patch(place, &patch).await {
            Ok(()) => Ok(WithdrawOutcome::Now),
            Err(KubeError::Answer { code: 409, .. }) => Ok(WithdrawOutcome::Conflict),
            Err(other) => Err(other),
        }
    }

    async fn curator(&self, place: &CuratorPlace) -> Result<Option<Curator>, KubeError> {
        let api = CLUSTER_CURATORS.api(&self.client, Some(&place.namespace));
        let (limit, call) = (self.settings.request, call(Verb::Get, place));
        let found = within(limit, &call, api.get_opt(&place.name)).await?;
        let value = found.and_then(|found| serde_json::to_value(found).ok());
        Ok(value.as_ref().and_then(Curator::read))
    }

    async fn patch(&self, place: &CuratorPlace, patch: &Value) -> Result<(), KubeError> {
        let api = CLUSTER_CURATORS.api(&self.client, Some(&place.namespace));
        let parameters = PatchParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let patch = Patch::Merge(patch);
        let patched = api.patch(&place.name, &parameters, &patch);
        let (limit, call) = (self.settings.request, call(Verb::Patch, place));
        within(limit, &call, patched).await.map(drop)
    }

    async fn create(
        &self,
        place: &CuratorPlace,
        annotations: Value,
        spec: Value,
    ) -> Result<(), KubeError> {
        let api = CLUSTER_CURATORS.api(&self.client, Some(&place.namespace));
        let call = call(Verb::Create, place);
        let object = serde_json::from_value(json!({
            "apiVersion": CLUSTER_CURATORS.api_version(),
            "kind": CLUSTER_CURATORS.kind,
            "metadata": { "name": place.name, "namespace": place.namespace, "annotations": annotations },
            "spec": spec,
        }));
        let object = object.map_err(|error| KubeError::unanswered(&call, &error))?;
        let parameters = PostParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PostParams::default()
        };
        let created = api.create(&parameters, &object);
        within(self.settings.request, &call, created)
            .await
            .map(drop)
    }
}

/// A new object has no fields that are null.
fn without_nulls(mut spec: Value) -> Value {
    if let Some(fields) = spec["upgrade"].as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    spec
}

fn call(verb: Verb, place: &CuratorPlace) -> Call<'_> {
    let call = Call::new(verb, &CLUSTER_CURATORS).of(&place.name);
    call.within(Some(&place.namespace))
}
