//! DaemonSets in waves: reads them with their pods, and carries out one step at a time.
//!
//! Every write names the resource version that was read, so a DaemonSet that changed meanwhile is left alone. A pod is deleted by its uid,
//! so its successor of the same name is not. The DaemonSet controller does the rest.

use std::collections::BTreeMap;

use kube::api::{
    Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams, Preconditions,
};
use serde_json::{Value, json};
use towpath_formats::daemon_sets::{WaveObjects, WaveSet, has_asked};

use crate::answer::within;
use crate::connect::{self, Access, Settings};
use crate::count::{Counter, Requests, Verb};
use crate::error::KubeError;
use crate::event::{Event, beginning, severity_word};
use crate::operator::whole_seconds;
use crate::resource::{CONTROLLER_REVISIONS, Call, DAEMON_SETS, EVENTS, NODES, PODS, Resource};
use crate::store::MAX_OBJECTS;

const FIELD_MANAGER: &str = "towpath-daemonsets";
const PAGE: u32 = 500;

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
        let call = Call::new(Verb::Create, &EVENTS).within(Some(&*set.namespace));
        let time = whole_seconds(now);
        let object = json!({
            "apiVersion": EVENTS.api_version(),
            "kind": EVENTS.kind,
            "metadata": {"generateName": "towpath-waves-", "namespace": set.namespace},
            "involvedObject": {
                "apiVersion": DAEMON_SETS.api_version(),
                "kind": DAEMON_SETS.kind,
                "namespace": set.namespace,
                "name": set.name,
                "uid": set.uid,
            },
            "type": severity_word(event.severity),
            "reason": event.reason,
            "message": beginning(&event.message, 1_024),
            "source": {"component": FIELD_MANAGER},
            "firstTimestamp": time,
            "lastTimestamp": time,
            "count": 1,
        });
        let object: DynamicObject =
            serde_json::from_value(object).map_err(|error| KubeError::unanswered(&call, &error))?;
        let api = EVENTS.api(&self.client, Some(&*set.namespace));
        let parameters = PostParams::default();
        let created = api.create(&parameters, &object);
        within(self.settings.request, &call, created)
            .await
            .map(|_| ())
    }

    /// All objects of a kind, page by page.
    async fn all(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        labels: Option<&str>,
    ) -> Result<Vec<Value>, KubeError> {
        let call = Call::new(Verb::List, resource).within(namespace);
        let api: Api<DynamicObject> = resource.api(&self.client, namespace);
        let mut parameters = ListParams {
            limit: Some(PAGE),
            label_selector: labels.map(str::to_owned),
            ..ListParams::default()
        };
        let mut found = Vec::new();
        loop {
            let page = within(self.settings.request, &call, api.list(&parameters)).await?;
            for object in page.items {
                let object = serde_json::to_value(object)
                    .map_err(|error| KubeError::unanswered(&call, &error))?;
                found.push(object);
            }
            if found.len() > MAX_OBJECTS {
                return Err(KubeError::TooLarge {
                    call: call.to_string(),
                    problem: format!("there are more than {MAX_OBJECTS} objects"),
                });
            }
            parameters.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
            if parameters.continue_token.is_none() {
                return Ok(found);
            }
        }
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
