//! Sets the cluster's channel, and writes the agent's record with it.

use serde_json::json;

use crate::cluster::Cluster;
use crate::error::KubeError;
use crate::update::{DryRun, patch};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChannelWrite {
    /// The channel is set and recorded.
    Set,
    /// The ClusterVersion has changed since it was read. Nothing was done; read it again.
    Conflict,
    /// The API refused the write. Nothing was done.
    Refused(String),
}

impl Cluster {
    /// Sets the channel, if the ClusterVersion is unchanged since it was read. What is requested stays as it is.
    pub async fn set_channel(
        &self,
        seen_resource_version: &str,
        record: &str,
        channel: &str,
    ) -> Result<ChannelWrite, KubeError> {
        let mut patch = patch(seen_resource_version, record, None)?;
        patch["spec"] = json!({ "channel": channel });
        match self.patch_version(&patch, DryRun::No).await {
            Ok(_) => Ok(ChannelWrite::Set),
            Err(KubeError::Answer { code: 409, .. }) => Ok(ChannelWrite::Conflict),
            Err(KubeError::Answer {
                code: 400 | 422,
                message,
                ..
            }) => Ok(ChannelWrite::Refused(message)),
            Err(other) => Err(other),
        }
    }
}
