//! Preflights: the cluster checks a release, and does not update to it.
//!
//! An API without the field `mode` would drop it, and the rest of the request would be an update. So the API is asked with
//! a dry run first. Only an API that keeps the mode gets the request.

use kube::api::DynamicObject;
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::error::KubeError;
use crate::update::{DryRun, RecordOutcome, Update, patch, recorded};

const PREFLIGHT: &str = "Preflight";

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AskOutcome {
    /// The preflight is requested and recorded.
    Asked,
    /// The API does not have preflights. Nothing was done.
    Unsupported,
    /// The ClusterVersion has changed since it was read. Nothing was done; read it again.
    Conflict,
    /// The API refused the write. Nothing was done.
    Refused(String),
}

impl Cluster {
    /// Requests a preflight, if the API has them and the ClusterVersion is unchanged since it was read.
    pub async fn ask_preflight(
        &self,
        seen_resource_version: &str,
        release: Update<'_>,
    ) -> Result<AskOutcome, KubeError> {
        let target = json!({
            "version": release.version, "image": release.image, "architecture": null, "force": null, "mode": PREFLIGHT,
        });
        let patch = patch(seen_resource_version, release.record, Some(target))?;
        for dry_run in [DryRun::Yes, DryRun::No] {
            match self.patch_version(&patch, dry_run).await {
                Ok(kept) if is_preflight(&kept) => {}
                Ok(_) if dry_run == DryRun::Yes => return Ok(AskOutcome::Unsupported),
                // The API has changed between the two. Without its mode it would be an update.
                Ok(written) => {
                    let written = written.metadata.resource_version.unwrap_or_default();
                    self.clear_preflight(&written, release.record).await?;
                    return Ok(AskOutcome::Unsupported);
                }
                Err(KubeError::Answer { code: 409, .. }) => return Ok(AskOutcome::Conflict),
                Err(KubeError::Answer {
                    code: 400 | 422,
                    message,
                    ..
                }) => return Ok(AskOutcome::Refused(message)),
                Err(other) => return Err(other),
            }
        }
        Ok(AskOutcome::Asked)
    }

    /// Ends a preflight, and writes a record. The whole target goes: without its mode it would be an update. Accepted risks stay.
    pub async fn clear_preflight(
        &self,
        seen_resource_version: &str,
        record: &str,
    ) -> Result<RecordOutcome, KubeError> {
        let nothing = json!({
            "version": null, "image": null, "architecture": null, "force": null, "mode": null,
        });
        let patch = patch(seen_resource_version, record, Some(nothing))?;
        recorded(self.patch_version(&patch, DryRun::No).await)
    }
}

fn is_preflight(object: &DynamicObject) -> bool {
    let mode = object.data.pointer("/spec/desiredUpdate/mode");
    mode.and_then(Value::as_str) == Some(PREFLIGHT)
}
