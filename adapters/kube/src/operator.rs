//! The agent's own ClusterOperator. It is written only when it has something new to say.

use std::collections::BTreeMap;

use jiff::{Timestamp, Unit};
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::answer::within;
use crate::cluster::Cluster;
use crate::count::Verb;
use crate::error::KubeError;
use crate::resource::{CLUSTER_OPERATORS, Call};
use crate::subject::Subject;

pub const OPERATOR_NAME: &str = "towpath";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorStatus {
    /// By type: `Available`, `Progressing`, `Degraded`, `Upgradeable`. Conditions of other types are removed.
    pub conditions: BTreeMap<String, Condition>,
    /// The versions of our parts.
    pub versions: Vec<OperatorVersion>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    pub status: Status,
    /// One word for programs.
    pub reason: String,
    /// A sentence for people.
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    True,
    False,
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorVersion {
    pub name: String,
    pub version: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PublishOutcome {
    /// The object already had this status, so nothing was written.
    Unchanged,
    Written,
}

impl Cluster {
    /// Writes the status of our ClusterOperator. Sends no request if the watched copy already has it.
    /// A condition keeps its last transition time while its status stays the same.
    pub async fn publish(
        &self,
        wanted: &OperatorStatus,
        now: Timestamp,
    ) -> Result<PublishOutcome, KubeError> {
        if self.is_published(wanted) {
            return Ok(PublishOutcome::Unchanged);
        }
        let api = CLUSTER_OPERATORS.api(&self.client, None);
        let get = Call::new(Verb::Get, &CLUSTER_OPERATORS).of(OPERATOR_NAME);
        let there = match within(self.settings.request, &get, api.get_opt(OPERATOR_NAME)).await? {
            Some(there) => there,
            None => self.create_operator(&api).await?,
        };
        let before = there.data.get("status").cloned().unwrap_or_default();
        if says(&before, wanted) {
            return Ok(PublishOutcome::Unchanged);
        }
        let patch = json!({
            "metadata": { "resourceVersion": there.metadata.resource_version },
            "status": status(&before, wanted, now),
        });
        let call = Call::new(Verb::Patch, &CLUSTER_OPERATORS)
            .of(OPERATOR_NAME)
            .part("status");
        let parameters = PatchParams {
            field_manager: Some("towpath-agent".to_owned()),
            ..PatchParams::default()
        };
        let patch = Patch::Merge(&patch);
        within(
            self.settings.request,
            &call,
            api.patch_status(OPERATOR_NAME, &parameters, &patch),
        )
        .await?;
        Ok(PublishOutcome::Written)
    }

    /// Whether the watched copy of our ClusterOperator already has this status.
    pub fn is_published(&self, wanted: &OperatorStatus) -> bool {
        self.watched_operator()
            .is_some_and(|object| says(&object["status"], wanted))
    }

    fn watched_operator(&self) -> Option<Value> {
        let subjects = self.store.subjects();
        let kept = subjects
            .get(&Subject::ClusterOperators)?
            .objects
            .get(&(String::new(), OPERATOR_NAME.to_owned()))?;
        serde_json::from_str(&kept.json).ok()
    }

    async fn create_operator(&self, api: &Api<DynamicObject>) -> Result<DynamicObject, KubeError> {
        let object = json!({
            "apiVersion": CLUSTER_OPERATORS.api_version(),
            "kind": CLUSTER_OPERATORS.kind,
            "metadata": { "name": OPERATOR_NAME },
            "spec": {},
        });
        let call = Call::new(Verb::Create, &CLUSTER_OPERATORS).of(OPERATOR_NAME);
        let object: DynamicObject =
            serde_json::from_value(object).map_err(|error| KubeError::unanswered(&call, &error))?;
        within(
            self.settings.request,
            &call,
            api.create(&PostParams::default(), &object),
        )
        .await
    }
}

/// Whether a status is exactly the wanted one.
fn says(status: &Value, wanted: &OperatorStatus) -> bool {
    let said = list(status, "conditions");
    let same_conditions = said.len() == wanted.conditions.len()
        && wanted.conditions.iter().all(|(name, condition)| {
            said.iter().any(|one| {
                (text(one, "type"), text(one, "status")) == (name, condition.status.as_str())
                    && (text(one, "reason"), text(one, "message"))
                        == (&*condition.reason, &*condition.message)
            })
        });
    let versions = list(status, "versions");
    let same_versions = versions.len() == wanted.versions.len()
        && versions.iter().zip(&wanted.versions).all(|(one, wanted)| {
            (text(one, "name"), text(one, "version")) == (&*wanted.name, &*wanted.version)
        });
    same_conditions && same_versions
}

fn status(before: &Value, wanted: &OperatorStatus, now: Timestamp) -> Value {
    let since = |name: &str, status: Status| {
        let same = list(before, "conditions")
            .iter()
            .find(|one| (text(one, "type"), text(one, "status")) == (name, status.as_str()));
        same.map(|one| text(one, "lastTransitionTime"))
            .filter(|time| !time.is_empty())
            .map_or_else(|| whole_seconds(now), str::to_owned)
    };
    let conditions = wanted.conditions.iter().map(|(name, condition)| {
        json!({
            "type": name,
            "status": condition.status.as_str(),
            "reason": condition.reason,
            "message": condition.message,
            "lastTransitionTime": since(name, condition.status),
        })
    });
    let versions = wanted
        .versions
        .iter()
        .map(|one| json!({ "name": one.name, "version": one.version }));
    json!({ "conditions": conditions.collect::<Vec<_>>(), "versions": versions.collect::<Vec<_>>() })
}

/// Kubernetes' time format: RFC 3339, in whole seconds.
pub(crate) fn whole_seconds(time: Timestamp) -> String {
    time.round(Unit::Second).unwrap_or(time).to_string()
}

fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value
        .get(name)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

impl Status {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}
