//! Starts an update and writes the agent's record, both in one write to the ClusterVersion.
//!
//! The record is an annotation of the ClusterVersion, so that an agent that is killed has done both or neither.
//! Each write names the resource version that was read. It fails if anything changed in between: another agent's start,
//! a person's choice, or a step of the cluster-version operator.

use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};

use crate::answer::within;
use crate::cluster::Cluster;
use crate::count::Verb;
use crate::error::KubeError;
use crate::resource::{CLUSTER_VERSIONS, Call};

/// The annotation that holds the record.
pub const RECORD_ANNOTATION: &str = "towpath.dev/agent-record";
/// The longest record. Kubernetes allows 256 KiB for all annotations of an object.
pub const MAX_RECORD_BYTES: usize = 16 << 10;
/// The only ClusterVersion.
const VERSION: &str = "version";
const FIELD_MANAGER: &str = "towpath-agent";

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Update<'a> {
    pub version: &'a str,
    /// The release's image, by digest.
    pub image: &'a str,
    /// The record to write with it.
    pub record: &'a str,
    pub risks: RiskChange<'a>,
}

/// A change of the risks that the cluster accepts (`spec.desiredUpdate.acceptRisks`), by name. All other entries stay as they are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RiskChange<'a> {
    pub add: &'a [&'a str],
    pub remove: &'a [&'a str],
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartOutcome {
    /// The update is requested and recorded.
    Started,
    /// The same, but the API has dropped the risks to accept: it does not have that field.
    StartedWithoutRisks,
    /// The ClusterVersion has changed since it was read. Nothing was done; read it again.
    Conflict,
    /// The API refused the write. Nothing was done.
    Refused(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordOutcome {
    Written,
    /// The ClusterVersion has changed since it was read. Nothing was done; read it again.
    Conflict,
}

impl Cluster {
    /// Requests an update, if the ClusterVersion is unchanged since it was read. Clears an earlier `force`, `mode` and
    /// `architecture`: the API does not allow an architecture beside an image, and a left-over mode would make it a preflight.
    ///
    /// After [`KubeError::Unanswered`] the write may have been done. Repeating it with the same resource version is safe.
    pub async fn start_update(
        &self,
        seen_resource_version: &str,
        update: Update<'_>,
    ) -> Result<StartOutcome, KubeError> {
        let mut target = json!({
            "version": update.version, "image": update.image, "architecture": null, "force": null, "mode": null,
        });
        if update.risks != RiskChange::default() {
            let Some(risks) = self.risks_after(seen_resource_version, update.risks) else {
                return Ok(StartOutcome::Conflict);
            };
            target["acceptRisks"] = risks;
        }
        let patch = patch(seen_resource_version, update.record, Some(target))?;
        match self.patch_version(&patch, DryRun::No).await {
            Ok(written) if has_risks(&written, update.risks.add) => Ok(StartOutcome::Started),
            Ok(_) => Ok(StartOutcome::StartedWithoutRisks),
            Err(KubeError::Answer { code: 409, .. }) => Ok(StartOutcome::Conflict),
            Err(KubeError::Answer {
                code: 400 | 422,
                message,
                ..
            }) => Ok(StartOutcome::Refused(message)),
            Err(other) => Err(other),
        }
    }

    /// Writes a record, if the ClusterVersion is unchanged since it was read.
    pub async fn remember(
        &self,
        seen_resource_version: &str,
        record: &str,
    ) -> Result<RecordOutcome, KubeError> {
        let patch = patch(seen_resource_version, record, None)?;
        recorded(self.patch_version(&patch, DryRun::No).await)
    }

    /// Writes a record, and takes back risks that the cluster accepts, if the ClusterVersion is unchanged since it was read.
    pub async fn take_back_risks(
        &self,
        seen_resource_version: &str,
        record: &str,
        names: &[&str],
    ) -> Result<RecordOutcome, KubeError> {
        let change = RiskChange {
            add: &[],
            remove: names,
        };
        let Some(risks) = self.risks_after(seen_resource_version, change) else {
            return Ok(RecordOutcome::Conflict);
        };
        let target = json!({ "acceptRisks": risks });
        let patch = patch(seen_resource_version, record, Some(target))?;
        recorded(self.patch_version(&patch, DryRun::No).await)
    }

    /// The accepted risks after a change, or null if there are none: the API does not allow an empty list. What others put there is
    /// taken as it is. None if the watched copy is not the one that was judged.
    fn risks_after(&self, seen_resource_version: &str, change: RiskChange<'_>) -> Option<Value> {
        let seen = self.objects().version?;
        let seen = (seen.resource_version == seen_resource_version).then_some(seen)?;
        let object: Value = serde_json::from_str(&seen.json).ok()?;
        let there = object.pointer("/spec/desiredUpdate/acceptRisks");
        let mut risks = there.and_then(Value::as_array).cloned().unwrap_or_default();
        risks.retain(|risk| !change.remove.contains(&name_of(risk)));
        let new = change.add.iter().filter(|name| {
            let mut there = risks.iter();
            there.all(|risk| name_of(risk) != **name)
        });
        let new: Vec<Value> = new.map(|name| json!({ "name": name })).collect();
        risks.extend(new);
        match risks.is_empty() {
            true => Some(Value::Null),
            false => Some(risks.into()),
        }
    }

    pub(crate) async fn patch_version(
        &self,
        patch: &Value,
        dry_run: DryRun,
    ) -> Result<DynamicObject, KubeError> {
        let api = CLUSTER_VERSIONS.api(&self.client, None);
        let parameters = PatchParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            dry_run: dry_run == DryRun::Yes,
            ..PatchParams::default()
        };
        let patch = Patch::Merge(patch);
        within(
            self.settings.request,
            &call(),
            api.patch(VERSION, &parameters, &patch),
        )
        .await
    }
}

/// Whether the API only says what it would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DryRun {
    Yes,
    No,
}

/// A patch over the state that was judged: the record, and `desiredUpdate` if that is to change.
pub(crate) fn patch(
    seen_resource_version: &str,
    record: &str,
    desired_update: Option<Value>,
) -> Result<Value, KubeError> {
    check(record)?;
    let mut patch = json!({
        "metadata": { "resourceVersion": seen_resource_version, "annotations": { RECORD_ANNOTATION: record } },
    });
    if let Some(desired_update) = desired_update {
        patch["spec"] = json!({ "desiredUpdate": desired_update });
    }
    Ok(patch)
}

pub(crate) fn recorded(
    written: Result<DynamicObject, KubeError>,
) -> Result<RecordOutcome, KubeError> {
    match written {
        Ok(_) => Ok(RecordOutcome::Written),
        Err(KubeError::Answer { code: 409, .. }) => Ok(RecordOutcome::Conflict),
        Err(other) => Err(other),
    }
}

/// Whether the API has kept these risks.
fn has_risks(written: &DynamicObject, names: &[&str]) -> bool {
    let kept = written.data.pointer("/spec/desiredUpdate/acceptRisks");
    let kept = kept
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice);
    let is_kept = |name: &&str| kept.iter().any(|risk| name_of(risk) == *name);
    names.iter().all(is_kept)
}

fn name_of(risk: &Value) -> &str {
    risk.get("name").and_then(Value::as_str).unwrap_or_default()
}

fn call() -> Call<'static> {
    Call::new(Verb::Patch, &CLUSTER_VERSIONS).of(VERSION)
}

fn check(record: &str) -> Result<(), KubeError> {
    match record.len() <= MAX_RECORD_BYTES {
        true => Ok(()),
        false => Err(KubeError::TooLarge {
            call: call().to_string(),
            problem: format!(
                "a record has at most {MAX_RECORD_BYTES} bytes, and this one has {}",
                record.len()
            ),
        }),
    }
}
