//! Starting an update, and writing down what must not be forgotten: both on the ClusterVersion, in one write.
//!
//! The record is an annotation of the ClusterVersion and not an object of its own, because only so the start of an update and the memory of it are one write: an agent
//! that is killed has done both or neither. Both name the resource version that was seen, so whatever happened in between makes them fail: another agent's start, a
//! person's choice, a step of the cluster-version operator.

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::answer::within;
use crate::cluster::Cluster;
use crate::count::Verb;
use crate::error::KubeError;
use crate::resource::{CLUSTER_VERSIONS, Call};

/// Where the record is kept.
pub const RECORD_ANNOTATION: &str = "towpath.dev/agent-record";
/// The longest record. All annotations of an object together have at most 256 KiB.
pub const MAX_RECORD_BYTES: usize = 16 << 10;
/// The only ClusterVersion.
const VERSION: &str = "version";
const FIELD_MANAGER: &str = "towpath-agent";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Update<'a> {
    pub version: &'a str,
    /// The release's image, by digest.
    pub image: &'a str,
    /// What is written down with it.
    pub record: &'a str,
}

/// What became of a start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Started {
    /// It is asked for, and written down.
    Started,
    /// The ClusterVersion has changed since it was seen: nothing was done. Look again.
    Conflict,
    /// The API does not want it: nothing was done.
    Refused(String),
}

/// What became of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remembered {
    Written,
    /// The ClusterVersion has changed since it was seen: nothing was done. Look again.
    Conflict,
}

impl Cluster {
    /// Asks for an update, if the ClusterVersion is still as it was seen. What a person once forced is not forced again, and the architecture that they once asked for, which an image may not stand beside, is that of the image.
    ///
    /// After [`KubeError::Unanswered`] nobody knows whether it was done; doing it again with the same resource version cannot do it twice.
    pub async fn start_update(
        &self,
        seen_resource_version: &str,
        update: Update<'_>,
    ) -> Result<Started, KubeError> {
        check(update.record)?;
        let patch = json!({
            "metadata": {
                "resourceVersion": seen_resource_version,
                "annotations": { RECORD_ANNOTATION: update.record },
            },
            "spec": { "desiredUpdate": { "version": update.version, "image": update.image, "architecture": null, "force": null } },
        });
        match self.patch_version(&patch).await {
            Ok(()) => Ok(Started::Started),
            Err(KubeError::Answer { code: 409, .. }) => Ok(Started::Conflict),
            Err(KubeError::Answer {
                code: 400 | 422,
                message,
                ..
            }) => Ok(Started::Refused(message)),
            Err(other) => Err(other),
        }
    }

    /// Writes a record down, if the ClusterVersion is still as it was seen.
    pub async fn remember(
        &self,
        seen_resource_version: &str,
        record: &str,
    ) -> Result<Remembered, KubeError> {
        check(record)?;
        let patch = json!({
            "metadata": { "resourceVersion": seen_resource_version, "annotations": { RECORD_ANNOTATION: record } },
        });
        match self.patch_version(&patch).await {
            Ok(()) => Ok(Remembered::Written),
            Err(KubeError::Answer { code: 409, .. }) => Ok(Remembered::Conflict),
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
