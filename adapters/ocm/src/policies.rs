//! Upgrade policies of the API: their paths and their meaning.
//!
//! | of | below the cluster | `upgrade_type` |
//! |---|---|---|
//! | a cluster | `upgrade_policies` | `OSD` |
//! | a hosted control plane | `control_plane/upgrade_policies` | `ControlPlane` |
//! | a node pool | `node_pools/{id}/upgrade_policies` | `NodePool` |

use jiff::Timestamp;
use towpath_core::fleet::{Name, UpgradeState};
use towpath_core::version::Version;

use crate::http::{Http, Path};
use crate::{ClusterRef, OcmError, PolicyRef, wire};

#[derive(Debug, Clone)]
pub(crate) struct Policy {
    pub(crate) at: PolicyRef,
    /// None if it is automatic and has not chosen one yet, or if it cannot be read.
    pub(crate) version: Option<Version>,
    pub(crate) next_run: Option<Timestamp>,
    pub(crate) state: UpgradeState,
    /// The API's word for the state.
    pub(crate) state_word: String,
    pub(crate) changed_at: Option<Timestamp>,
    pub(crate) note: Option<String>,
    /// The parts that could not be understood.
    pub(crate) problem: Option<String>,
}

/// The policies of a cluster, or of one of its node pools, each with its state.
pub(crate) async fn list(
    http: &Http,
    cluster: &ClusterRef,
    pool: Option<&str>,
) -> Result<Vec<Policy>, OcmError> {
    let path = path(cluster, pool)?;
    let mut policies = Vec::new();
    for item in http.list::<wire::PolicyBody>(&path, &[]).await? {
        let bad = |problem: String| OcmError::BadAnswer {
            what: "an upgrade policy".to_owned(),
            problem,
        };
        let policy = item.content.map_err(bad)?;
        // Add-ons have upgrades of their own, which are no concern of the cluster's version.
        if policy.upgrade_type.as_deref() == Some("ADDON") {
            continue;
        }
        let id = policy
            .id
            .as_deref()
            .ok_or_else(|| bad("it has no id".to_owned()))?;
        let at = PolicyRef {
            cluster: cluster.clone(),
            pool: pool.map(Name::from),
            id: id.into(),
        };
        policies.extend(with_state(http, at, policy).await?);
    }
    Ok(policies)
}

/// One policy, if it exists.
pub(crate) async fn find(http: &Http, at: &PolicyRef) -> Result<Option<Policy>, OcmError> {
    let path = path(&at.cluster, at.pool.as_deref())?.join(&at.id)?;
    match http.get::<wire::PolicyBody>(&path, &[]).await {
        Ok(policy) => with_state(http, at.clone(), policy).await,
        Err(OcmError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The path to the policies of a cluster or of a node pool.
pub(crate) fn path(cluster: &ClusterRef, pool: Option<&str>) -> Result<Path, OcmError> {
    match (pool, cluster.hosted) {
        (Some(pool), _) => Path::clusters_mgmt(&[
            "clusters",
            &cluster.id,
            "node_pools",
            pool,
            "upgrade_policies",
        ]),
        (None, true) => {
            Path::clusters_mgmt(&["clusters", &cluster.id, "control_plane", "upgrade_policies"])
        }
        (None, false) => Path::clusters_mgmt(&["clusters", &cluster.id, "upgrade_policies"]),
    }
}

/// The API's `upgrade_type`.
pub(crate) fn upgrade_type(cluster: &ClusterRef, pool: Option<&str>) -> &'static str {
    match (pool, cluster.hosted) {
        (Some(_), _) => "NodePool",
        (None, true) => "ControlPlane",
        (None, false) => "OSD",
    }
}

async fn with_state(
    http: &Http,
    at: PolicyRef,
    policy: wire::PolicyBody,
) -> Result<Option<Policy>, OcmError> {
    let inside = policy
        .state
        .as_ref()
        .is_some_and(|state| state.value.is_some());
    if inside {
        return Ok(Some(read(at, policy)));
    }
    let itself = path(&at.cluster, at.pool.as_deref())?.join(&at.id)?;
    match http
        .get::<wire::PolicyState>(&itself.join("state")?, &[])
        .await
    {
        Ok(state) => {
            return Ok(Some(read(
                at,
                wire::PolicyBody {
                    state: Some(state),
                    ..policy
                },
            )));
        }
        Err(OcmError::NotFound { .. }) => {}
        Err(error) => return Err(error),
    }
    // Either it ended between the two questions, or it is one of which no state is known, and then it counts.
    match http.get::<wire::PolicyBody>(&itself, &[]).await {
        Ok(policy) => Ok(Some(read(at, policy))),
        Err(OcmError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn read(at: PolicyRef, policy: wire::PolicyBody) -> Policy {
    let (word, note) = policy
        .state
        .map_or((None, None), |state| (state.value, state.description));
    let word = word.unwrap_or_default();
    let known = state(&word);
    let version = policy
        .version
        .as_deref()
        .filter(|text| !text.is_empty())
        .map(str::parse::<Version>);
    let automatic = policy.schedule_type.as_deref() == Some("automatic");
    let next_run = policy.next_run.as_deref().map(str::parse::<Timestamp>);
    let problem = match (&known, &version, &next_run) {
        (None, ..) => Some(format!(
            "its state {word:?} is unknown, so it counts as running"
        )),
        (_, Some(Err(error)), _) => Some(error.to_string()),
        (_, None, _) if !automatic => Some("it has no version".to_owned()),
        (_, _, Some(Err(error))) => Some(format!("its next_run is not a time: {error}")),
        _ => None,
    };
    let note = note.filter(|text| !text.is_empty());
    let automatic_note = (automatic && version.is_none())
        .then(|| "automatic; it has not chosen a version yet".to_owned());
    Policy {
        at,
        version: version.and_then(Result::ok),
        next_run: next_run.and_then(Result::ok),
        // What is not understood is left alone and holds its mutexes.
        state: known.unwrap_or(UpgradeState::Started),
        state_word: word,
        changed_at: policy
            .last_update_timestamp
            .and_then(|text| text.parse().ok()),
        note: note.or(automatic_note),
        problem,
    }
}

fn state(word: &str) -> Option<UpgradeState> {
    match word {
        "pending" | "scheduled" => Some(UpgradeState::Planned),
        // A delayed one has begun and is waiting for something: it is too late to cancel it.
        "started" | "delayed" => Some(UpgradeState::Started),
        "completed" => Some(UpgradeState::Finished),
        "failed" => Some(UpgradeState::Failed),
        "cancelled" => Some(UpgradeState::Cancelled),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn policy(json: serde_json::Value) -> Policy {
        let cluster = ClusterRef {
            id: "c".into(),
            hosted: false,
        };
        read(
            PolicyRef {
                cluster,
                pool: None,
                id: "p".into(),
            },
            serde_json::from_value(json).unwrap(),
        )
    }

    #[test]
    fn an_automatic_policy_without_a_version_is_planned_and_no_problem() {
        let got = policy(json!({"schedule_type": "automatic", "state": {"value": "pending"}}));
        assert_eq!(
            (got.version, got.state, got.problem),
            (None, UpgradeState::Planned, None)
        );
        assert_eq!(
            got.note.as_deref(),
            Some("automatic; it has not chosen a version yet")
        );
    }

    #[test]
    fn what_cannot_be_read_is_said_and_holds() {
        for (json, problem) in [
            (
                json!({"version": "4.9.1", "state": {"value": "dreaming"}}),
                "its state \"dreaming\" is unknown",
            ),
            (
                json!({"version": "4.9", "state": {"value": "pending"}}),
                "\"4.9\" is not a version",
            ),
            (
                json!({"schedule_type": "manual", "state": {"value": "pending"}}),
                "it has no version",
            ),
            (
                json!({"version": "4.9.1", "next_run": "noon", "state": {"value": "pending"}}),
                "its next_run is not a time",
            ),
        ] {
            let got = policy(json);
            assert!(
                got.problem
                    .as_deref()
                    .unwrap_or_default()
                    .starts_with(problem),
                "{got:?}"
            );
            assert!(got.state.is_active());
        }
    }
}
