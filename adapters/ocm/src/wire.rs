//! The fields of the API's objects that we read. All are optional; [`crate::read`] checks the required ones.

use serde::Deserialize;
use serde_json::Value;

/// One page of a list.
#[derive(Debug, Deserialize)]
pub(crate) struct Page {
    pub(crate) total: Option<usize>,
    #[serde(default)]
    pub(crate) items: Vec<Value>,
}

/// An error answer of the API.
#[derive(Debug, Deserialize)]
pub(crate) struct Failure {
    pub(crate) reason: Option<String>,
}

/// A reference to another object.
#[derive(Debug, Deserialize)]
pub(crate) struct ObjectRef {
    pub(crate) id: Option<String>,
}

/// A feature that can be enabled.
#[derive(Debug, Deserialize)]
pub(crate) struct Switch {
    pub(crate) enabled: Option<bool>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Cluster {
    pub(crate) id: Option<String>,
    pub(crate) external_id: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) state: Option<String>,
    pub(crate) health_state: Option<String>,
    pub(crate) subscription: Option<ObjectRef>,
    pub(crate) organization: Option<ObjectRef>,
    pub(crate) cloud_provider: Option<ObjectRef>,
    pub(crate) version: Option<Version>,
    pub(crate) hypershift: Option<Switch>,
    pub(crate) aws: Option<Aws>,
    pub(crate) gcp: Option<Gcp>,
    pub(crate) multi_arch_enabled: Option<bool>,
    /// `stable-4.20`. Older APIs have only the version's `channel_group`.
    pub(crate) channel: Option<String>,
    /// The channels that it may be switched to. Some answers have it below `version`.
    pub(crate) available_channels: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Aws {
    pub(crate) sts: Option<Switch>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Gcp {
    pub(crate) authentication: Option<GcpAuthentication>,
}

/// `kind` is `WifConfig` where the cluster uses Workload Identity Federation.
#[derive(Debug, Deserialize)]
pub(crate) struct GcpAuthentication {
    pub(crate) kind: Option<String>,
}

/// `id` is `openshift-v4.14.1-candidate` where `raw_id` is `4.14.1`.
#[derive(Debug, Deserialize)]
pub(crate) struct Version {
    pub(crate) id: Option<String>,
    pub(crate) raw_id: Option<String>,
    pub(crate) channel_group: Option<String>,
    pub(crate) available_upgrades: Option<Vec<String>>,
    pub(crate) available_channels: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct NodePool {
    pub(crate) id: Option<String>,
    pub(crate) version: Option<Version>,
}

/// An upgrade policy of any kind. Some answers contain the state; others have it at `/state`.
#[derive(Debug, Deserialize)]
pub(crate) struct PolicyBody {
    pub(crate) id: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) next_run: Option<String>,
    pub(crate) schedule_type: Option<String>,
    pub(crate) upgrade_type: Option<String>,
    pub(crate) last_update_timestamp: Option<String>,
    pub(crate) state: Option<PolicyState>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct PolicyState {
    pub(crate) value: Option<String>,
    pub(crate) description: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct VersionGate {
    pub(crate) id: Option<String>,
    pub(crate) version_raw_id_prefix: Option<String>,
    pub(crate) label: Option<String>,
    pub(crate) sts_only: Option<bool>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct GateAgreement {
    pub(crate) version_gate: Option<ObjectRef>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct SubscriptionBody {
    pub(crate) organization_id: Option<String>,
    pub(crate) labels: Option<Vec<Label>>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Label {
    pub(crate) key: Option<String>,
    pub(crate) value: Option<String>,
    pub(crate) organization_id: Option<String>,
}
