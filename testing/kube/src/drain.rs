//! Drains as `kubectl drain` does them: cordon, then ask the API to evict each pod, and ask again while a budget forbids it.

use std::time::{Duration, Instant};

use http::Request;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, ListParams};
use serde_json::{Value, json};

use crate::server::KubeApi;

/// What the API answered to an eviction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Eviction {
    Begun,
    /// The pod was gone already.
    Gone,
    /// A budget forbids it now; in the API's words.
    Forbidden(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DrainOutcome {
    /// So many pods had to leave.
    Drained(usize),
    /// These pods are still there, each with what the API said last.
    Blocked(Vec<(String, String)>),
}

/// Between two looks at a node that is not empty yet.
const AGAIN: Duration = Duration::from_millis(25);

impl KubeApi {
    pub fn pods(&self) -> Api<Pod> {
        Api::all(self.admin.clone())
    }

    /// The pods of a node that a drain moves: not those of DaemonSets.
    pub async fn movable_pods(&self, node: &str) -> Vec<Pod> {
        self.movable(node, ListParams::default()).await
    }

    async fn movable(&self, node: &str, which: ListParams) -> Vec<Pod> {
        let on_node = which.fields(&format!("spec.nodeName={node}"));
        let mut pods = self.pods().list(&on_node).await.unwrap().items;
        pods.retain(|pod| {
            let owners = pod.metadata.owner_references.iter().flatten();
            !owners.into_iter().any(|owner| owner.kind == "DaemonSet")
        });
        pods
    }

    /// Asks the API to evict a pod.
    pub async fn evict(&self, namespace: &str, name: &str) -> Eviction {
        let path = format!("/api/v1/namespaces/{namespace}/pods/{name}/eviction");
        // The only version that a server of 1.20 takes.
        let body = json!({
            "apiVersion": "policy/v1beta1", "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
        });
        let request = Request::post(path)
            .header("content-type", "application/json")
            .body(body.to_string().into_bytes());
        match self.admin.request::<Value>(request.unwrap()).await {
            Ok(_) => Eviction::Begun,
            Err(kube::Error::Api(status)) if status.code == 404 => Eviction::Gone,
            Err(kube::Error::Api(status)) if status.code == 429 => {
                Eviction::Forbidden(status.message.clone())
            }
            // The pod or its budget changed under the API's hands; it says so with 409 or 500.
            Err(kube::Error::Api(status)) if matches!(status.code, 409 | 500) => {
                Eviction::Forbidden(status.message.clone())
            }
            Err(error) => panic!("{namespace}/{name} cannot be evicted: {error}"),
        }
    }

    /// Cordons a node and moves its pods away. What is still there at the limit is named, and the node stays cordoned.
    pub async fn drain(&self, node: &str, limit: Duration) -> DrainOutcome {
        self.cordon(node).await;
        let (end, mut moved) = (Instant::now() + limit, 0);
        loop {
            // The server's memory is a moment old, and reads no database: only that the node is empty has to be true now.
            let mut pods = self.movable(node, ListParams::default().match_any()).await;
            if pods.is_empty() {
                pods = self.movable_pods(node).await;
            }
            if pods.is_empty() {
                return DrainOutcome::Drained(moved);
            }
            let mut blocked = Vec::new();
            for pod in &pods {
                let metadata = &pod.metadata;
                let (name, namespace) = (metadata.name.as_deref(), metadata.namespace.as_deref());
                let (name, namespace) = (name.unwrap(), namespace.unwrap());
                if metadata.deletion_timestamp.is_some() {
                    blocked.push((name.to_owned(), "it is ending".to_owned()));
                    continue;
                }
                match self.evict(namespace, name).await {
                    Eviction::Begun => moved += 1,
                    Eviction::Gone => {}
                    Eviction::Forbidden(why) => blocked.push((name.to_owned(), why)),
                }
            }
            if Instant::now() >= end && !blocked.is_empty() {
                return DrainOutcome::Blocked(blocked);
            }
            tokio::time::sleep(AGAIN).await;
        }
    }
}
