//! Kubernetes Events about the ClusterVersion, for `oc describe clusterversion`.
//!
//! Events about objects without a namespace go into `default`, as Kubernetes requires.
//! The same event has the same name, so repeating it raises its count instead of creating another object.
//! The API forgets events after about an hour.

use jiff::Timestamp;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use serde_json::json;
use sha2::{Digest, Sha256};
use towpath_core::hex;

use crate::answer::within;
use crate::cluster::Cluster;
use crate::connect::Settings;
use crate::count::Verb;
use crate::error::KubeError;
use crate::operator::whole_seconds;
use crate::resource::{CLUSTER_VERSIONS, Call, EVENTS, Resource};

const NAMESPACE: &str = "default";
/// The longest message that the API takes.
const MAX_MESSAGE_BYTES: usize = 1_024;
/// The longest reason that the API takes.
const MAX_REASON_BYTES: usize = 128;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub severity: Severity,
    /// One word for programs.
    pub reason: String,
    /// A sentence for people. Long ones are cut.
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    Normal,
    Warning,
}

impl Cluster {
    /// Writes the event. If it exists, its count goes up.
    pub async fn tell(&self, event: &Event, now: Timestamp) -> Result<(), KubeError> {
        let reason = beginning(&event.reason, MAX_REASON_BYTES);
        let message = beginning(&event.message, MAX_MESSAGE_BYTES);
        let severity = severity_word(event.severity);
        let (name, time) = (name(severity, reason, message), whole_seconds(now));
        let uid = self.objects().version.and_then(|seen| uid(&seen.json));
        let object = json!({
            "apiVersion": EVENTS.api_version(),
            "kind": EVENTS.kind,
            "metadata": { "name": name, "namespace": NAMESPACE },
            "involvedObject": {
                "apiVersion": CLUSTER_VERSIONS.api_version(),
                "kind": CLUSTER_VERSIONS.kind,
                "name": "version",
                "uid": uid,
            },
            "type": severity,
            "reason": reason,
            "message": message,
            "source": { "component": "towpath-agent" },
            "firstTimestamp": time,
            "lastTimestamp": time,
            "count": 1,
        });
        let create = Call::new(Verb::Create, &EVENTS)
            .of(&name)
            .within(Some(NAMESPACE));
        let object: DynamicObject = serde_json::from_value(object)
            .map_err(|error| KubeError::unanswered(&create, &error))?;
        let api = EVENTS.api(&self.client, Some(NAMESPACE));
        match within(
            self.settings.request,
            &create,
            api.create(&PostParams::default(), &object),
        )
        .await
        {
            Err(KubeError::Answer { code: 409, .. }) => self.count_again(&name, &time).await,
            other => other.map(|_| ()),
        }
    }

    async fn count_again(&self, name: &str, time: &str) -> Result<(), KubeError> {
        let api = EVENTS.api(&self.client, Some(NAMESPACE));
        let call = |verb| Call::new(verb, &EVENTS).of(name).within(Some(NAMESPACE));
        let there = within(self.settings.request, &call(Verb::Get), api.get(name)).await?;
        let count = there
            .data
            .get("count")
            .and_then(serde_json::Value::as_i64)
            .unwrap_or(1);
        let patch = json!({ "count": count.saturating_add(1), "lastTimestamp": time });
        let (parameters, patch) = (PatchParams::default(), Patch::Merge(&patch));
        within(
            self.settings.request,
            &call(Verb::Patch),
            api.patch(name, &parameters, &patch),
        )
        .await
        .map(|_| ())
    }
}

/// What an Event of ours is about.
pub(crate) struct About<'a> {
    pub(crate) resource: &'a Resource,
    pub(crate) namespace: Option<&'a str>,
    pub(crate) name: &'a str,
    pub(crate) uid: &'a str,
    /// Who tells it.
    pub(crate) component: &'a str,
}

/// Writes a new Event about an object.
pub(crate) async fn tell_about(
    client: &kube::Client,
    settings: &Settings,
    about: &About<'_>,
    event: &Event,
    now: Timestamp,
) -> Result<(), KubeError> {
    let namespace = about.namespace.unwrap_or(NAMESPACE);
    let call = Call::new(Verb::Create, &EVENTS).within(Some(namespace));
    let time = whole_seconds(now);
    let object = json!({
        "apiVersion": EVENTS.api_version(),
        "kind": EVENTS.kind,
        "metadata": {"generateName": format!("{}-", about.component), "namespace": namespace},
        "involvedObject": {
            "apiVersion": about.resource.api_version(),
            "kind": about.resource.kind,
            "namespace": about.namespace,
            "name": about.name,
            "uid": about.uid,
        },
        "type": severity_word(event.severity),
        "reason": beginning(&event.reason, MAX_REASON_BYTES),
        "message": beginning(&event.message, MAX_MESSAGE_BYTES),
        "source": {"component": about.component},
        "firstTimestamp": time,
        "lastTimestamp": time,
        "count": 1,
    });
    let object: DynamicObject =
        serde_json::from_value(object).map_err(|error| KubeError::unanswered(&call, &error))?;
    let api = EVENTS.api(client, Some(namespace));
    let parameters = PostParams::default();
    let created = api.create(&parameters, &object);
    within(settings.request, &call, created).await.map(|_| ())
}

pub(crate) fn severity_word(severity: Severity) -> &'static str {
    match severity {
        Severity::Normal => "Normal",
        Severity::Warning => "Warning",
    }
}

fn uid(json: &str) -> Option<String> {
    let object: serde_json::Value = serde_json::from_str(json).ok()?;
    object.pointer("/metadata/uid")?.as_str().map(str::to_owned)
}

fn name(severity: &str, reason: &str, message: &str) -> String {
    let mut hash = Sha256::new();
    for part in [severity, reason, message] {
        hash.update(part.len().to_be_bytes());
        hash.update(part);
    }
    format!("version.towpath.{}", hex::encode(&hash.finalize()[..8]))
}

/// Cuts a text to this many bytes, at a character boundary.
pub(crate) fn beginning(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_ends_with_a_whole_letter() {
        assert_eq!(beginning("short", 10), "short");
        assert_eq!(beginning("aä", 2), "a");
        assert_eq!(beginning("aä", 3), "aä");
    }

    #[test]
    fn news_have_names_of_their_own() {
        assert_eq!(name("Normal", "A", "b"), name("Normal", "A", "b"));
        assert_ne!(name("Normal", "A", "b"), name("Normal", "Ab", ""));
        assert_ne!(name("Normal", "A", "b"), name("Warning", "A", "b"));
    }
}
