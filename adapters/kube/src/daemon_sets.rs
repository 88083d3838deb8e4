//! DaemonSets in waves: reads them with their pods, and carries out one step at a time.
//!
//! Every write names the resource version that was read, so a DaemonSet that changed meanwhile is left alone. A pod is deleted by its uid,
//! so its successor of the same name is not. The DaemonSet controller does the rest.

use std::collections::BTreeMap;

use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use serde_json::{Value, json};
use towpath_formats::daemon_sets::{WaveObjects, WaveSet, has_asked};

use crate::answer::within;
use crate::connect::{self, Access, Settings};
use crate::count::{Counter, Requests, Verb};
use crate::error::KubeError;
use crate::event::{About, Event, tell_about};
use crate::list::{Which, all};
use crate::resource::{CONTROLLER_REVISIONS, Call, DAEMON_SETS, NODES, PODS, Resource};

const FIELD_MANAGER: &str = "towpath-daemonsets";

/// The DaemonSets of a cluster.
#[derive(Clone)]
pub struct DaemonSets {
    client: kube::Client,
    settings: Settings,
    counter: Counter,
    /// Only those of this namespace.
    namespace: Option<String>,
}

/// What came of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SetWrite {
    /// The DaemonSet has this resource version now.
    Written(String),
    /// It has changed since it was read. Nothing was done.
    Conflict,
}

impl DaemonSets {
    pub async fn connect(
        access: &Access,
        settings: Settings,
        namespace: Option<String>,
    ) -> Result<Self, KubeError> {
        let counter = Counter::default();
        Ok(Self {
            client: connect::client(access, &settings, &counter).await?,
            settings,
            counter,
            namespace,
        })
    }

    pub fn requests(&self) -> Requests {
        self.counter.so_far()
    }

    /// Every DaemonSet that has an annotation of waves, with what it takes to judge it. Nodes first and pods last: a pod that was seen
    /// is on a node that was seen, unless the node is new.
    pub async fn in_waves(&self) -> Result<Vec<WaveObjects>, KubeError> {
        let namespace = self.namespace.as_deref();
        let nodes = self.all(&NODES, None, None).await?;
        let sets = self.all(&DAEMON_SETS, namespace, None).await?;
        let mut found = Vec::new();
        for daemon_set in sets.into_iter().filter(has_asked) {
            let own = daemon_set.pointer("/metadata/namespace");
            let own = own.and_then(Value::as_str);
            let labels = selector(&daemon_set);
            let revisions = self
                .all(&CONTROLLER_REVISIONS, own, Some(labels.as_str()))
                .await?;
            let pods = self.all(&PODS, own, Some(labels.as_str())).await?;
            found.push(WaveObjects {
                revisions,
                pods,
                nodes: nodes.clone(),
                daemon_set,
            });
        }
        Ok(found)
    }

    /// Writes annotations.
    pub async fn annotate(
        &self,
        set: &WaveSet,
        resource_version: &str,
        annotations: &BTreeMap<&str, String>,
    ) -> Result<SetWrite, KubeError> {
        let patch = json!({
            "metadata": {"resourceVersion": resource_version, "annotations": annotations},
        });
        self.write(set, &Patch::Merge(&patch)).await
    }

    /// Sets the template back to that of a revision, as `kubectl rollout undo` does.
    pub async fn set_template(
        &self,
        set: &WaveSet,
        resource_version: &str,
        template: &Value,
    ) -> Result<SetWrite, KubeError> {
        let mut patch = template.clone();
        patch["metadata"] = json!({ "resourceVersion": resource_version });
        self.write(set, &Patch::Strategic(&patch)).await
    }

    async fn write(&self, set: &WaveSet, patch: &Patch<&Value>) -> Result<SetWrite, KubeError> {
        let call = Call::new(Verb::Patch, &DAEMON_SETS)
            .of(&set.name)
            .within(Some(&*set.namespace));
        let api = DAEMON_SETS.api(&self.client, Some(&*set.namespace));
        let parameters = PatchParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let written = api.patch(&set.name, &parameters, patch);
        match within(self.settings.request, &call, written).await {
            Ok(written) => {
                let version = written.metadata.resource_version;
                Ok(SetWrite::Written(version.unwrap_or_default()))
            }
            Err(KubeError::Answer { code: 409, .. }) => Ok(SetWrite::Conflict),
            Err(other) => Err(other),
        }
    }

    /// Deletes a pod, if it is still this one. One that is gone is gone.
    pub async fn delete_pod(&self, set: &WaveSet, name: &str, uid: &str) -> Result<(), KubeError> {
        let call = Call::new(Verb::Delete, &PODS)
            .of(name)
            .within(Some(&*set.namespace));
        let api = PODS.api(&self.client, Some(&*set.namespace));
        let parameters = DeleteParams {
            preconditions: Some(Preconditions {
                uid: Some(uid.to_owned()),
                resource_version: None,
            }),
            ..DeleteParams::default()
        };
        match within(self.settings.request, &call, api.delete(name, &parameters)).await {
            Ok(_) | Err(KubeError::NotFound { .. } | KubeError::Answer { code: 409, .. }) => Ok(()),
            Err(other) => Err(other),
        }
    }

    /// Writes an Event about the DaemonSet.
    pub async fn tell(
        &self,
        set: &WaveSet,
        event: &Event,
        now: jiff::Timestamp,
    ) -> Result<(), KubeError> {
        let about = About {
            resource: &DAEMON_SETS,
            namespace: Some(&*set.namespace),
            name: &set.name,
            uid: &set.uid,
            component: FIELD_MANAGER,
        };
        tell_about(&self.client, &self.settings, &about, event, now).await
    }

    async fn all(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        labels: Option<&str>,
    ) -> Result<Vec<Value>, KubeError> {
        let which = Which {
            namespace,
            labels,
            fields: None,
        };
        all(&self.client, &self.settings, resource, which).await
    }
}

/// The labels that a DaemonSet's pods have at least. Whose a pod is says its owner.
fn selector(daemon_set: &Value) -> String {
    let labels = daemon_set.pointer("/spec/selector/matchLabels");
    let labels = labels.and_then(Value::as_object).into_iter().flatten();
    let pairs =
        labels.map(|(name, value)| format!("{name}={}", value.as_str().unwrap_or_default()));
    pairs.collect::<Vec<_>>().join(",")
}
