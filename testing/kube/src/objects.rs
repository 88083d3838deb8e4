//! Writes objects to the API, and empties it between tests.

use std::path::Path;

use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::ApiResource;
use serde_json::{Value, json};

use crate::crds::{CRDS, Crd, Fields};
use crate::server::{KubeApi, wait_for};

/// The kinds that own pods.
const OWNERS: [&str; 5] = [
    "Deployment",
    "DaemonSet",
    "StatefulSet",
    "ReplicaSet",
    "ControllerRevision",
];

/// The namespaces that OpenShift has, and the agent's.
const NAMESPACES: [&str; 3] = [
    "openshift-config",
    "openshift-config-managed",
    "towpath-agent",
];

impl KubeApi {
    /// Objects of a kind, everywhere or in a namespace; its plural is the kind in small letters and an `s`.
    pub fn api(
        &self,
        api_version: &str,
        kind: &str,
        namespace: Option<&str>,
    ) -> Api<DynamicObject> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let resource = ApiResource {
            group: group.to_owned(),
            version: version.to_owned(),
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            plural: format!("{}s", kind.to_lowercase()),
        };
        match namespace {
            None => Api::all_with(self.admin.clone(), &resource),
            Some(namespace) => Api::namespaced_with(self.admin.clone(), namespace, &resource),
        }
    }

    /// Writes an object with its status, replacing an existing one.
    pub async fn put(&self, object: Value) -> DynamicObject {
        let text = |pointer: &str| {
            object
                .pointer(pointer)
                .and_then(Value::as_str)
                .map(str::to_owned)
        };
        let (version, kind) = (text("/apiVersion").unwrap(), text("/kind").unwrap());
        let (name, namespace) = (text("/metadata/name").unwrap(), text("/metadata/namespace"));
        let api = self.api(&version, &kind, namespace.as_deref());
        let written = match api.get_opt(&name).await.unwrap() {
            Some(_) => {
                api.patch(&name, &PatchParams::default(), &Patch::Merge(&object))
                    .await
            }
            None => {
                api.create(
                    &PostParams::default(),
                    &serde_json::from_value(object.clone()).unwrap(),
                )
                .await
            }
        };
        let written =
            written.unwrap_or_else(|error| panic!("{kind} {name} cannot be written: {error}"));
        match object.get("status") {
            None => written,
            Some(status) => {
                let patch = json!({ "status": status });
                api.patch_status(&name, &PatchParams::default(), &Patch::Merge(&patch))
                    .await
                    .unwrap()
            }
        }
    }

    /// The ClusterVersion as it is.
    pub async fn cluster_version(&self) -> Value {
        let api = self.api("config.openshift.io/v1", "ClusterVersion", None);
        serde_json::to_value(api.get("version").await.unwrap()).unwrap()
    }

    /// Adds a kind, or changes it, and waits until it can be used.
    pub async fn add_kind(&self, crd: &Crd, fields: Fields) {
        let api = self.api("apiextensions.k8s.io/v1", "CustomResourceDefinition", None);
        let definition = crd.definition(fields);
        match api.get_opt(&crd.name()).await.unwrap() {
            Some(_) => {
                api.patch(
                    &crd.name(),
                    &PatchParams::default(),
                    &Patch::Merge(&definition),
                )
                .await
            }
            None => {
                api.create(
                    &PostParams::default(),
                    &serde_json::from_value(definition).unwrap(),
                )
                .await
            }
        }
        .unwrap_or_else(|error| panic!("{} cannot be added: {error}", crd.kind));
        self.wait_for_kind(crd).await;
        if crd.kind == "ClusterVersion" {
            self.wait_for_schema(fields).await;
        }
    }

    /// Waits until objects of a kind can be listed.
    pub(crate) async fn wait_for_kind(&self, crd: &Crd) {
        let objects = self.api(&crd.api_version(), crd.kind, None);
        wait_for(crd.kind, || async {
            objects.list(&ListParams::default()).await.ok().map(|_| ())
        })
        .await;
    }

    /// Replaces the definition of ClusterVersion by the one in this file, and waits until it is in force.
    pub async fn define_cluster_version(&self, file: &Path, fields: Fields) {
        let file = file.display().to_string();
        self.kubectl(&["replace", "--validate=false", "--filename", &file]);
        self.wait_for_schema(fields).await;
    }

    /// Adds a kind as this file defines it, or puts that definition in place of ours, and waits until it can be used.
    pub async fn define(&self, crd: &Crd, file: &Path) {
        let api = self.api("apiextensions.k8s.io/v1", "CustomResourceDefinition", None);
        let verb = match api.get_opt(&crd.name()).await.unwrap() {
            Some(_) => "replace",
            None => "create",
        };
        // An old API server does not know all fields of a definition, and drops them.
        let file = file.display().to_string();
        self.kubectl(&[verb, "--validate=false", "--filename", &file]);
        self.wait_for_kind(crd).await;
    }

    /// Removes a kind and its objects.
    pub async fn remove_kind(&self, crd: &Crd) {
        let api = self.api("apiextensions.k8s.io/v1", "CustomResourceDefinition", None);
        api.delete(&crd.name(), &DeleteParams::default())
            .await
            .unwrap();
        let objects = self.api(&crd.api_version(), crd.kind, None);
        wait_for(crd.kind, || async {
            objects
                .list(&ListParams::default())
                .await
                .is_err()
                .then_some(())
        })
        .await;
    }

    /// Waits until a definition is in force, with a dry run of an object.
    async fn wait_for_schema(&self, wanted: Fields) {
        let api = self.api("config.openshift.io/v1", "ClusterVersion", None);
        let object = json!({
            "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "trial"},
            "spec": {"clusterID": "trial", "automaticUpdates": true, "desiredUpdate": {"mode": "Preflight"}},
        });
        let object = serde_json::from_value(object).unwrap();
        let trial = PostParams {
            dry_run: true,
            ..PostParams::default()
        };
        wait_for("the definition of ClusterVersion", || async {
            let kept = api.create(&trial, &object).await.ok()?;
            let spec = &kept.data["spec"];
            let has = match (&spec["automaticUpdates"], &spec["desiredUpdate"]["mode"]) {
                (Value::Null, Value::Null) => Fields::Released,
                (Value::Null, _) => Fields::Gated,
                _ => Fields::AutomaticUpdates,
            };
            (has == wanted).then_some(())
        })
        .await;
    }

    /// Removes what an earlier test has left, and adds what every test expects.
    pub(crate) async fn empty(&mut self) {
        let all = |_: &str| true;
        for crd in &CRDS {
            self.add_kind(crd, Fields::Released).await;
            self.remove(&crd.api_version(), crd.kind, all).await;
        }
        for namespace in NAMESPACES {
            self.put(
                json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}),
            )
            .await;
        }
        // Owners first: a controller that still runs would replace what they own.
        for kind in OWNERS {
            self.remove("apps/v1", kind, all).await;
        }
        for kind in ["ConfigMap", "ServiceAccount", "Node", "Event", "Pod"] {
            self.remove("v1", kind, all).await;
        }
        self.remove("policy/v1beta1", "PodDisruptionBudget", all)
            .await;
        self.remove("coordination.k8s.io/v1", "Lease", all).await;
        for kind in ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"] {
            self.remove("rbac.authorization.k8s.io/v1", kind, |name| {
                name.starts_with("towpath")
            })
            .await;
        }
    }

    /// Removes objects of a kind in all namespaces, except Kubernetes' own.
    pub(crate) async fn remove(
        &self,
        api_version: &str,
        kind: &str,
        is_wanted: impl Fn(&str) -> bool,
    ) {
        for object in self
            .api(api_version, kind, None)
            .list(&ListParams::default())
            .await
            .unwrap()
        {
            let (name, namespace) = (object.metadata.name.unwrap(), object.metadata.namespace);
            let is_own = namespace
                .as_deref()
                .is_some_and(|namespace| namespace.starts_with("kube-"));
            if is_wanted(&name) && !is_own {
                let api = self.api(api_version, kind, namespace.as_deref());
                // No kubelet is here to end a pod in its own time.
                let at_once = DeleteParams::default().grace_period(0);
                match api.delete(&name, &at_once).await {
                    // Whoever owned it was removed a moment before.
                    Err(kube::Error::Api(status)) if status.code == 404 => {}
                    answer => drop(answer.unwrap()),
                }
            }
        }
    }
}
