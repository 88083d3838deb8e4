//! Writes to OCM: create an upgrade policy, cancel one, agree to a version gate.
//!
//! Each call reads first, writes once, and reads again if the answer was lost. Repeating a call is safe.

use jiff::Timestamp;
use serde_json::json;
use towpath_core::fleet::{Name, UpgradeState};
use towpath_core::graph::ChannelName;
use towpath_core::version::Version;

use crate::http::Path;
use crate::policies::{self, Policy};
use crate::{Ocm, OcmError, wire};

/// How the API addresses a cluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClusterRef {
    /// The API's own id, not the cluster's id.
    pub id: Name,
    /// Whether its control plane is hosted.
    pub hosted: bool,
}

/// How the API addresses an upgrade policy.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PolicyRef {
    pub cluster: ClusterRef,
    /// Set for a policy of one node pool.
    pub pool: Option<Name>,
    /// Its id. We recognise our own policies by it.
    pub id: Name,
}

/// The outcome of [`Ocm::create`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CreateOutcome {
    /// We created it.
    New(PolicyRef),
    /// A policy to the same version existed already. Anybody may have created it.
    AlreadyThere {
        policy: PolicyRef,
        /// When it starts, if known.
        next_run: Option<Timestamp>,
    },
}

/// The outcome of [`Ocm::cancel`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelOutcome {
    Now,
    /// It did not exist.
    AlreadyGone,
    /// It had already ended.
    Ended(UpgradeState),
}

/// The outcome of [`Ocm::switch_channel`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SwitchOutcome {
    Now,
    Before,
}

/// The outcome of [`Ocm::agree`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgreementOutcome {
    Now,
    Before,
}

impl CreateOutcome {
    /// The policy that exists now.
    pub fn policy(&self) -> &PolicyRef {
        match self {
            Self::New(policy) | Self::AlreadyThere { policy, .. } => policy,
        }
    }
}

impl Ocm {
    /// Schedules an upgrade of a cluster, or of one of its node pools.
    pub async fn create(
        &self,
        cluster: &ClusterRef,
        pool: Option<&str>,
        version: &Version,
        next_run: Timestamp,
    ) -> Result<CreateOutcome, OcmError> {
        let what = || match pool {
            Some(pool) => format!(
                "upgrade of node pool {pool} of cluster {} to {version}",
                cluster.id
            ),
            None => format!("upgrade of cluster {} to {version}", cluster.id),
        };
        if let Some(there) = self.in_the_way(&what(), cluster, pool, version).await? {
            return Ok(CreateOutcome::AlreadyThere {
                next_run: there.next_run,
                policy: there.at,
            });
        }
        // The API takes whole seconds; up, so that it is never earlier than asked.
        let next_run = whole_seconds_up(next_run);
        let mut body = json!({
            "schedule_type": "manual",
            "upgrade_type": policies::upgrade_type(cluster, pool),
            "version": version.to_string(),
            "next_run": next_run.to_string(),
            "cluster_id": &*cluster.id,
        });
        if let Some(pool) = pool {
            body["node_pool_id"] = pool.into();
        }
        let made = self
            .http
            .post::<wire::PolicyBody>(&policies::path(cluster, pool)?, &body)
            .await;
        let lost = match made {
            Ok(wire::PolicyBody { id: Some(id), .. }) => {
                return Ok(CreateOutcome::New(PolicyRef {
                    cluster: cluster.clone(),
                    pool: pool.map(Name::from),
                    id: id.into(),
                }));
            }
            Ok(_) => OcmError::BadAnswer {
                what: what(),
                problem: "the new policy has no id".to_owned(),
            },
            Err(error) => error,
        };
        let conflict = matches!(lost, OcmError::Conflict { .. });
        if !conflict && !lost.leaves_a_doubt() {
            return Err(lost);
        }
        let unconfirmed = OcmError::Unconfirmed {
            what: what(),
            lost: lost.kind(),
        };
        match self.in_the_way(&what(), cluster, pool, version).await {
            // Nobody else would have chosen the same second since we looked.
            Ok(Some(there)) if !conflict && there.next_run == Some(next_run) => {
                Ok(CreateOutcome::New(there.at))
            }
            Ok(Some(there)) => Ok(CreateOutcome::AlreadyThere {
                next_run: there.next_run,
                policy: there.at,
            }),
            Ok(None) if conflict => Err(lost),
            Ok(None) => Err(unconfirmed),
            Err(error @ OcmError::Conflict { .. }) => Err(error),
            Err(_) if conflict => Err(lost),
            Err(_) => Err(unconfirmed),
        }
    }

    /// Cancels an upgrade, unless it has begun.
    pub async fn cancel(&self, policy: &PolicyRef) -> Result<CancelOutcome, OcmError> {
        let what = || {
            format!(
                "cancelling upgrade policy {} of cluster {}",
                policy.id, policy.cluster.id
            )
        };
        let Some(there) = policies::find(&self.http, policy).await? else {
            return Ok(CancelOutcome::AlreadyGone);
        };
        match there.state {
            UpgradeState::Planned => {}
            UpgradeState::Started => {
                return Err(OcmError::AlreadyStarted {
                    what: what(),
                    state: there.state_word,
                });
            }
            ended => return Ok(CancelOutcome::Ended(ended)),
        }
        let path = policies::path(&policy.cluster, policy.pool.as_deref())?.join(&policy.id)?;
        let error = match self.http.delete(&path).await {
            Ok(()) => return Ok(CancelOutcome::Now),
            Err(OcmError::NotFound { .. }) => return Ok(CancelOutcome::AlreadyGone),
            Err(error) => error,
        };
        match policies::find(&self.http, policy).await {
            Ok(None) => Ok(CancelOutcome::Now),
            // It began after we looked.
            Ok(Some(now)) if now.state == UpgradeState::Started => Err(OcmError::AlreadyStarted {
                what: what(),
                state: now.state_word,
            }),
            _ if error.leaves_a_doubt() => Err(OcmError::Unconfirmed {
                what: what(),
                lost: error.kind(),
            }),
            _ => Err(error),
        }
    }

    /// Switches a cluster to a channel. An API without channels has groups of them: there the minor version follows by itself.
    pub async fn switch_channel(
        &self,
        cluster: &ClusterRef,
        channel: &ChannelName,
    ) -> Result<SwitchOutcome, OcmError> {
        let path = Path::clusters_mgmt(&["clusters", &cluster.id])?;
        let now = self.http.get::<wire::Cluster>(&path, &[]).await?;
        let (is_there, body) = match &now.channel {
            Some(there) => (
                there == channel.as_str(),
                json!({ "channel": channel.as_str() }),
            ),
            None => {
                let group = now.version.and_then(|version| version.channel_group);
                (
                    group.as_deref() == Some(channel.stream()),
                    json!({ "version": { "channel_group": channel.stream() } }),
                )
            }
        };
        if is_there {
            return Ok(SwitchOutcome::Before);
        }
        let error = match self.http.patch::<serde_json::Value>(&path, &body).await {
            Ok(_) => return Ok(SwitchOutcome::Now),
            Err(error) if !error.leaves_a_doubt() => return Err(error),
            Err(error) => error,
        };
        match self.http.get::<wire::Cluster>(&path, &[]).await {
            Ok(wire::Cluster {
                channel: Some(there),
                ..
            }) if there == channel.as_str() => Ok(SwitchOutcome::Now),
            _ => Err(OcmError::Unconfirmed {
                what: format!("switching cluster {} to channel {channel}", cluster.id),
                lost: error.kind(),
            }),
        }
    }

    /// Agrees to a gate for a cluster, on a person's instruction.
    pub async fn agree(
        &self,
        cluster: &ClusterRef,
        gate: &str,
    ) -> Result<AgreementOutcome, OcmError> {
        if self.has_agreed(cluster, gate).await? {
            return Ok(AgreementOutcome::Before);
        }
        let body = json!({ "version_gate": { "id": gate } });
        let error = match self
            .http
            .post::<serde_json::Value>(&agreements(cluster)?, &body)
            .await
        {
            Ok(_) => return Ok(AgreementOutcome::Now),
            Err(error) => error,
        };
        let conflict = matches!(error, OcmError::Conflict { .. });
        if !conflict && !error.leaves_a_doubt() {
            return Err(error);
        }
        match (self.has_agreed(cluster, gate).await, conflict) {
            (Ok(true), true) => Ok(AgreementOutcome::Before),
            (Ok(true), false) => Ok(AgreementOutcome::Now),
            (_, true) => Err(error),
            (_, false) => {
                let what = format!("agreeing to gate {gate} for cluster {}", cluster.id);
                Err(OcmError::Unconfirmed {
                    what,
                    lost: error.kind(),
                })
            }
        }
    }

    /// The existing policy to that version. A policy to another version is a conflict.
    async fn in_the_way(
        &self,
        what: &str,
        cluster: &ClusterRef,
        pool: Option<&str>,
        version: &Version,
    ) -> Result<Option<Policy>, OcmError> {
        let there = policies::list(&self.http, cluster, pool).await?;
        let (same, other): (Vec<_>, Vec<_>) = there
            .into_iter()
            .filter(|p| p.state.is_active())
            .partition(|p| p.version.as_ref() == Some(version));
        match (same.into_iter().next(), other.into_iter().next()) {
            (Some(same), _) => Ok(Some(same)),
            (None, None) => Ok(None),
            (None, Some(other)) => Err(OcmError::Conflict {
                what: what.to_owned(),
                there: match &other.version {
                    Some(version) => format!("an upgrade to {version} ({})", other.state_word),
                    None => format!(
                        "an upgrade to a version that is not known ({})",
                        other.state_word
                    ),
                },
                policy: Some(other.at.id.to_string()),
                version: other.version,
            }),
        }
    }

    async fn has_agreed(&self, cluster: &ClusterRef, gate: &str) -> Result<bool, OcmError> {
        Ok(self
            .agreed_gates(cluster)
            .await?
            .iter()
            .any(|agreed| &**agreed == gate))
    }

    /// The gates that a cluster has agreed to.
    pub(crate) async fn agreed_gates(&self, cluster: &ClusterRef) -> Result<Vec<Name>, OcmError> {
        let items = self
            .http
            .list::<wire::GateAgreement>(&agreements(cluster)?, &[])
            .await?;
        // One that cannot be read is one that was not given.
        let gate = |agreement: wire::GateAgreement| agreement.version_gate?.id.map(Name::from);
        Ok(items
            .into_iter()
            .filter_map(|item| item.content.ok().and_then(gate))
            .collect())
    }
}

fn agreements(cluster: &ClusterRef) -> Result<Path, OcmError> {
    Path::clusters_mgmt(&["clusters", &cluster.id, "gate_agreements"])
}

fn whole_seconds_up(at: Timestamp) -> Timestamp {
    let up = i64::from(at.subsec_nanosecond() > 0);
    Timestamp::from_second(at.as_second().saturating_add(up)).unwrap_or(at)
}
