//! Drops the fields of objects that nobody reads.
//!
//! A node reports every few minutes that it is alive, and lists its images. An APIRequestCount has every verb of every
//! user. These fields are dropped, so their changes wake nobody.

use kube::api::DynamicObject;
use serde_json::{Map, Value, json};

use crate::subject::Subject;

/// The annotations of an optional operator that say where it runs.
const OPERATOR_ANNOTATIONS: [&str; 2] = ["operatorframework.io/properties", "olm.properties"];
/// The fields of a user's requests that we read.
const OF_USER: [&str; 3] = ["username", "userAgent", "requestCount"];

pub(crate) fn trimmed(subject: Subject, object: DynamicObject) -> Value {
    let DynamicObject { metadata, data, .. } = object;
    let mut kept = Map::new();
    kept.insert("kind".to_owned(), subject.selection().resource.kind.into());
    let mut name = Map::new();
    name.insert(
        "name".to_owned(),
        metadata.name.clone().unwrap_or_default().into(),
    );
    if let Some(namespace) = &metadata.namespace {
        name.insert("namespace".to_owned(), namespace.as_str().into());
    }
    let mut data = match data {
        Value::Object(data) => data,
        _ => Map::new(),
    };
    match subject {
        Subject::ClusterVersion => {
            name.insert("uid".to_owned(), metadata.uid.into());
            name.insert("generation".to_owned(), metadata.generation.into());
            name.insert(
                "annotations".to_owned(),
                json!(metadata.annotations.unwrap_or_default()),
            );
            kept.append(&mut data);
        }
        Subject::ClusterOperators => {
            keep(&mut kept, &mut data, "status", &["conditions", "versions"])
        }
        Subject::Infrastructure => keep(
            &mut kept,
            &mut data,
            "status",
            &["platform", "platformStatus", "controlPlaneTopology"],
        ),
        Subject::Nodes => {
            name.insert(
                "labels".to_owned(),
                json!(metadata.labels.unwrap_or_default()),
            );
            keep(&mut kept, &mut data, "status", &["nodeInfo"]);
        }
        Subject::MachineConfigPools => {
            keep(
                &mut kept,
                &mut data,
                "spec",
                &["paused", "nodeSelector", "maxUnavailable"],
            );
            keep(
                &mut kept,
                &mut data,
                "status",
                &[
                    "machineCount",
                    "updatedMachineCount",
                    "degradedMachineCount",
                ],
            );
        }
        Subject::ClusterServiceVersions => {
            let mut annotations = metadata.annotations.unwrap_or_default();
            annotations.retain(|annotation, _| OPERATOR_ANNOTATIONS.contains(&annotation.as_str()));
            name.insert("annotations".to_owned(), json!(annotations));
        }
        // Nobody asks who uses an API that stays; and that is most of what there is.
        Subject::ApiRequestCounts
            if !may_go(metadata.name.as_deref().unwrap_or_default(), &data) => {}
        Subject::ApiRequestCounts => {
            keep(
                &mut kept,
                &mut data,
                "status",
                &["removedInRelease", "requestCount", "currentHour", "last24h"],
            );
            if let Some(status) = kept.get_mut("status") {
                drop_verbs(status);
            }
        }
        Subject::AdminGates | Subject::AdminAcks => {
            kept.insert(
                "data".to_owned(),
                data.remove("data").unwrap_or_else(|| json!({})),
            );
        }
    }
    kept.insert("metadata".to_owned(), Value::Object(name));
    Value::Object(kept)
}

/// Whether an API may be removed: the cluster says so, or it is a beta version
/// (`flowschemas.v1beta3.flowcontrol.apiserver.k8s.io`).
fn may_go(name: &str, data: &Map<String, Value>) -> bool {
    let removed = data
        .get("status")
        .and_then(|status| status.get("removedInRelease"))
        .and_then(Value::as_str);
    let version = name.split('.').nth(1).unwrap_or_default();
    removed.is_some_and(|removed| !removed.is_empty())
        || version.contains("beta")
        || version.contains("alpha")
}

/// Drops all other fields of an object.
fn keep(kept: &mut Map<String, Value>, data: &mut Map<String, Value>, part: &str, fields: &[&str]) {
    if let Some(Value::Object(mut whole)) = data.remove(part) {
        whole.retain(|field, _| fields.contains(&field.as_str()));
        kept.insert(part.to_owned(), Value::Object(whole));
    }
}

/// Requests by hour, node and user; not by verb.
fn drop_verbs(status: &mut Value) {
    let hours = status.get_mut("last24h").and_then(Value::as_array_mut);
    hours.into_iter().flatten().for_each(drop_verbs_of_hour);
    if let Some(hour) = status.get_mut("currentHour") {
        drop_verbs_of_hour(hour);
    }
}

fn drop_verbs_of_hour(hour: &mut Value) {
    for node in hour
        .get_mut("byNode")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        for user in node
            .get_mut("byUser")
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            if let Value::Object(fields) = user {
                fields.retain(|field, _| OF_USER.contains(&field.as_str()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn kept(subject: Subject, object: Value) -> Value {
        trimmed(subject, serde_json::from_value(object).unwrap())
    }

    #[test]
    fn a_heartbeat_of_a_node_changes_nothing() {
        let node = |heartbeat: &str| {
            json!({
                "apiVersion": "v1", "kind": "Node",
                "metadata": {"name": "n", "resourceVersion": heartbeat, "labels": {"a": "b"}, "managedFields": [{"manager": heartbeat}]},
                "spec": {"providerID": "x"},
                "status": {
                    "conditions": [{"type": "Ready", "lastHeartbeatTime": heartbeat}],
                    "images": [{"names": ["i"]}],
                    "nodeInfo": {"kubeletVersion": "v1.20.2", "architecture": "amd64"},
                },
            })
        };
        assert_eq!(
            kept(Subject::Nodes, node("1")),
            kept(Subject::Nodes, node("2"))
        );
        assert_eq!(
            kept(Subject::Nodes, node("1")),
            json!({
                "kind": "Node", "metadata": {"name": "n", "labels": {"a": "b"}},
                "status": {"nodeInfo": {"kubeletVersion": "v1.20.2", "architecture": "amd64"}},
            })
        );
    }

    #[test]
    fn users_of_an_api_stay_and_their_verbs_go() {
        let user = json!({"username": "u", "userAgent": "a", "requestCount": 3, "byVerb": [{"verb": "get", "requestCount": 3}]});
        let hour = json!({"byNode": [{"nodeName": "n", "requestCount": 3, "byUser": [user]}]});
        let count = json!({
            "metadata": {"name": "ingresses.v1beta1.extensions"},
            "spec": {"numberOfUsersToReport": 10},
            "status": {"removedInRelease": "1.22", "requestCount": 3, "currentHour": hour, "last24h": [hour], "conditions": []},
        });
        let user = json!({"username": "u", "userAgent": "a", "requestCount": 3});
        let hour = json!({"byNode": [{"nodeName": "n", "requestCount": 3, "byUser": [user]}]});
        assert_eq!(
            kept(Subject::ApiRequestCounts, count),
            json!({
                "kind": "APIRequestCount", "metadata": {"name": "ingresses.v1beta1.extensions"},
                "status": {"removedInRelease": "1.22", "requestCount": 3, "currentHour": hour, "last24h": [hour]},
            })
        );
    }
}
