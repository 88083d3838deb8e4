//! Starts an update and writes the agent's record, both in one write to the ClusterVersion.
//!
//! The record is an annotation of the ClusterVersion, so that an agent that is killed has done both or neither.
//! Each write names the resource version that was read. It fails if anything changed in between: another agent's start,
//! a person's choice, or a step of the cluster-version operator.

use kube::api::{Patch, PatchParams};
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Update<'a> {
    pub version: &'a str,
    /// The release's image, by digest.
    pub image: &'a str,
    /// The record to write with it.
    pub record: &'a str,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartOutcome {
    /// The update is requested and recorded.
    Started,
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
    /// Requests an update, if the ClusterVersion is unchanged since it was read. Clears an earlier `force` and `architecture`:
    /// the API does not allow an architecture beside an image.
    ///
    /// After [`KubeError::Unanswered`] the write may have been done. Repeating it with the same resource version is safe.
    pub async fn start_update(
        &self,
        seen_resource_version: &str,
        update: Update<'_>,
    ) -> Result<StartOutcome, KubeError> {
        check(update.record)?;
        let patch = json!({
            "metadata": {
                "resourceVersion": seen_resource_version,
                "annotations": { RECORD_ANNOTATION: update.record },
            },
            "spec": { "desiredUpdate": { "version": update.version, "image": update.image, "architecture": null, "force": null } },
        });
        match self.patch_version(&patch).await {
            Ok(()) => Ok(StartOutcome::Started),
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
        check(record)?;
        let patch = json!({
            "metadata": { "resourceVersion": seen_resource_version, "annotations": { RECORD_ANNOTATION: record } },
        });
        match self.patch_version(&patch).await {
            Ok(()) => Ok(RecordOutcome::Written),
            Err(KubeError::Answer { code: 409, .. }) => Ok(RecordOutcome::Conflict),
            Err(other) => Err(other),
        }
    }

    async fn patch_version(&self, patch: &Value) -> Result<(), KubeError> {
        let api = CLUSTER_VERSIONS.api(&self.client, None);
        let parameters = PatchParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let patch = Patch::Merge(patch);
        within(
            self.settings.request,
            &call(),
            api.patch(VERSION, &parameters, &patch),
        )
        .await
        .map(|_| ())
    }
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
