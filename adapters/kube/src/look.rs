//! Reads a cluster once for `ready`: lists what may stand in the way of an update, page by page.
//!
//! It only gets and lists. A kind that may not be read is reported, and the others are read. A
//! kind that the API does not have is a known "none", except where that says nothing.

use std::collections::BTreeMap;

use kube::api::{DynamicObject, ListParams};
use serde_json::{Map, Value, json};
use towpath_core::cluster::objects::ObjectKind;
use towpath_formats::SourceFile;

use crate::answer::within;
use crate::connect::{self, Access, Settings};
use crate::count::{Counter, Requests, Verb};
use crate::error::KubeError;
use crate::resource::{self, Call, Resource};
use crate::store::{MAX_BYTES, MAX_OBJECTS};

/// The most pages of a list, in case an API never ends one.
const MAX_PAGES: usize = 2_000;

/// What was read of a cluster.
#[derive(Debug)]
pub struct LookedAt {
    /// A file for each kind that was read.
    pub files: Vec<SourceFile>,
    /// Kinds that could not be read, each with why.
    pub unread: BTreeMap<ObjectKind, KubeError>,
    /// Kinds that the API does not have, though that does not mean that there is nothing.
    pub absent: Vec<ObjectKind>,
    pub requests: Requests,
}

/// One kind, and how it is read.
struct Wanted {
    kind: ObjectKind,
    resource: &'static Resource,
    /// The version that older clusters have instead.
    older: Option<&'static Resource>,
    /// Only this object.
    one: Option<(Option<&'static str>, &'static str)>,
    labels: Option<&'static str>,
    page: u32,
    /// The fields that are kept, as paths; all if there are none.
    keep: &'static [&'static str],
    /// Whether every cluster may be without it.
    is_optional: bool,
}

/// Reads what there is. Only a cluster that cannot be asked at all is an error.
pub async fn look(access: &Access, settings: &Settings) -> Result<LookedAt, KubeError> {
    look_at(access, settings, WANTED.iter()).await
}

/// The same for the plan of its nodes, which asks for less, and for volumes.
pub async fn look_at_nodes(access: &Access, settings: &Settings) -> Result<LookedAt, KubeError> {
    let also = [ObjectKind::Pod, ObjectKind::PodDisruptionBudget];
    let wanted = of_nodes(&also).chain([&PERSISTENT_VOLUMES]);
    look_at(access, settings, wanted).await
}

/// The same for the adviser of DaemonSets.
pub async fn look_at_daemon_sets(
    access: &Access,
    settings: &Settings,
) -> Result<LookedAt, KubeError> {
    let wanted = of_nodes(&[]).chain([&DAEMON_SETS]);
    look_at(access, settings, wanted).await
}

/// What says which nodes there are, and these kinds.
fn of_nodes(also: &[ObjectKind]) -> impl Iterator<Item = &'static Wanted> {
    let nodes = [
        ObjectKind::ClusterVersion,
        ObjectKind::Node,
        ObjectKind::MachineConfigPool,
    ];
    WANTED
        .iter()
        .filter(move |one| nodes.contains(&one.kind) || also.contains(&one.kind))
}

async fn look_at(
    access: &Access,
    settings: &Settings,
    wanted: impl Iterator<Item = &'static Wanted>,
) -> Result<LookedAt, KubeError> {
    let counter = Counter::default();
    let client = connect::client(access, settings, &counter).await?;
    let mut looked = LookedAt {
        files: Vec::new(),
        unread: BTreeMap::new(),
        absent: Vec::new(),
        requests: Requests::new(),
    };
    for wanted in wanted {
        match wanted.read(&client, settings).await {
            Ok(Some(file)) => looked.files.push(file),
            Ok(None) if wanted.is_optional => looked.files.push(wanted.file(wanted.resource, "")),
            Ok(None) => looked.absent.push(wanted.kind),
            // Nobody answers, or nobody knows us: the other kinds would say the same.
            Err(problem @ (KubeError::Unanswered { .. } | KubeError::Unauthorized { .. })) => {
                return Err(problem);
            }
            Err(problem) => drop(looked.unread.insert(wanted.kind, problem)),
        }
    }
    looked.requests = counter.so_far();
    Ok(looked)
}

impl Wanted {
    async fn read(
        &self,
        client: &kube::Client,
        settings: &Settings,
    ) -> Result<Option<SourceFile>, KubeError> {
        match self.one {
            Some((namespace, name)) => self.get(client, settings, namespace, name).await,
            None => match (
                self.list(client, settings, self.resource).await?,
                self.older,
            ) {
                (None, Some(older)) => self.list(client, settings, older).await,
                (found, _) => Ok(found),
            },
        }
    }

    async fn get(
        &self,
        client: &kube::Client,
        settings: &Settings,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Option<SourceFile>, KubeError> {
        let call = Call::new(Verb::Get, self.resource)
            .within(namespace)
            .of(name);
        let api = self.resource.api(client, namespace);
        let found = within(settings.request, &call, api.get_opt(name)).await?;
        let is_config_map = self.resource == &resource::CONFIG_MAPS;
        let text = match (found, is_config_map) {
            (Some(object), _) => self.trimmed(self.resource, object).to_string(),
            // A ConfigMap that is not there has no entries.
            (None, true) => {
                let metadata = json!({"namespace": namespace, "name": name});
                json!({"kind": "ConfigMap", "metadata": metadata, "data": {}}).to_string()
            }
            (None, false) => return Ok(None),
        };
        Ok(Some(self.file(self.resource, &text)))
    }

    async fn list(
        &self,
        client: &kube::Client,
        settings: &Settings,
        resource: &Resource,
    ) -> Result<Option<SourceFile>, KubeError> {
        let call = Call::new(Verb::List, resource);
        let api = resource.api(client, None);
        let mut parameters = ListParams {
            limit: Some(self.page),
            label_selector: self.labels.map(str::to_owned),
            ..ListParams::default()
        };
        let (mut items, mut objects) = (String::new(), 0usize);
        for _ in 0..MAX_PAGES {
            let page = match within(settings.request, &call, api.list(&parameters)).await {
                Ok(page) => page,
                Err(KubeError::NotFound { .. }) => return Ok(None),
                Err(problem) => return Err(problem),
            };
            for object in page.items {
                if objects > 0 {
                    items.push_str(",\n");
                }
                objects += 1;
                items.push_str(&self.trimmed(resource, object).to_string());
            }
            if objects > MAX_OBJECTS || items.len() > MAX_BYTES {
                return Err(too_large(&call, objects, items.len()));
            }
            parameters.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
            if parameters.continue_token.is_none() {
                return Ok(Some(self.file(resource, &items)));
            }
        }
        Err(too_large(&call, objects, items.len()))
    }

    /// A list of what was read; a single object is one of one.
    fn file(&self, resource: &Resource, items: &str) -> SourceFile {
        let (kind, plural) = (resource.kind, resource.plural);
        let name = self.one.map_or("", |(_, name)| name);
        let version = resource.api_version();
        let text = format!(
            "{{\"kind\":\"{kind}List\",\"apiVersion\":\"{version}\",\"items\":[{items}]}}\n"
        );
        SourceFile::new(format!("{plural}{name}.json"), text.into_bytes())
    }

    /// The object with the fields that somebody reads, in the version in which it was read: a field may mean something else in another.
    fn trimmed(&self, resource: &Resource, object: DynamicObject) -> Value {
        let DynamicObject { metadata, data, .. } = object;
        let mut whole = match data {
            Value::Object(data) => data,
            _ => Map::new(),
        };
        whole.insert("metadata".to_owned(), json!(metadata));
        let whole = Value::Object(whole);
        let mut kept = Map::new();
        kept.insert("kind".to_owned(), resource.kind.into());
        kept.insert("apiVersion".to_owned(), resource.api_version().into());
        for path in ["metadata.name", "metadata.namespace"]
            .iter()
            .chain(self.keep)
        {
            let parts: Vec<&str> = path.split('.').collect();
            copy(&whole, &mut kept, &parts);
        }
        let mut kept = Value::Object(kept);
        if self.kind == ObjectKind::MachineConfig {
            keep_settings_of_crio(&mut kept);
        }
        kept
    }
}

/// A MachineConfig holds files of hundreds of kilobytes; those of CRI-O are the ones that are read.
fn keep_settings_of_crio(config: &mut Value) {
    let files = config.pointer_mut("/spec/config/storage/files");
    if let Some(Value::Array(files)) = files {
        let path = |file: &Value| file["path"].as_str().unwrap_or_default().to_owned();
        files.retain(|file| path(file).starts_with("/etc/crio/"));
    }
}

/// Copies what is at a path. `[]` stands for each item of a list, and `~` for a dot in a name.
fn copy(from: &Value, to: &mut Map<String, Value>, path: &[&str]) {
    let Some((first, rest)) = path.split_first() else {
        return;
    };
    let (name, is_list) = match first.strip_suffix("[]") {
        Some(name) => (name, true),
        None => (*first, false),
    };
    let name = &*name.replace('~', ".");
    let Some(value) = from.get(name) else {
        return;
    };
    match (is_list, value, rest.is_empty()) {
        (_, value, true) => drop(to.insert(name.to_owned(), value.clone())),
        (true, Value::Array(items), false) => {
            let mut kept = match to.remove(name) {
                Some(Value::Array(kept)) => kept,
                _ => vec![json!({}); items.len()],
            };
            for (item, kept) in items.iter().zip(&mut kept) {
                if let Value::Object(kept) = kept {
                    copy(item, kept, rest);
                }
            }
            to.insert(name.to_owned(), Value::Array(kept));
        }
        (false, value, false) => {
            let below = to.entry(name).or_insert_with(|| json!({}));
            if let Value::Object(below) = below {
                copy(value, below, rest);
            }
        }
        (true, _, false) => {}
    }
}

fn too_large(call: &Call<'_>, objects: usize, bytes: usize) -> KubeError {
    KubeError::TooLarge {
        call: call.to_string(),
        problem: format!(
            "the list has more than {MAX_OBJECTS} objects, {MAX_BYTES} bytes or {MAX_PAGES} pages ({objects} objects and {bytes} bytes were read)"
        ),
    }
}

const fn all(
    kind: ObjectKind,
    resource: &'static Resource,
    keep: &'static [&'static str],
) -> Wanted {
    Wanted {
        kind,
        resource,
        older: None,
        one: None,
        labels: None,
        page: 200,
        keep,
        is_optional: true,
    }
}

const fn config_map(namespace: &'static str, name: &'static str) -> Wanted {
    Wanted {
        one: Some((Some(namespace), name)),
        ..all(ObjectKind::AdminGates, &resource::CONFIG_MAPS, &["data"])
    }
}

static WANTED: [Wanted; 16] = [
    Wanted {
        one: Some((None, "version")),
        is_optional: false,
        ..all(
            ObjectKind::ClusterVersion,
            &resource::CLUSTER_VERSIONS,
            &["spec", "status"],
        )
    },
    Wanted {
        is_optional: false,
        ..all(
            ObjectKind::ClusterOperator,
            &resource::CLUSTER_OPERATORS,
            &["status.conditions"],
        )
    },
    Wanted {
        is_optional: false,
        ..all(
            ObjectKind::Node,
            &resource::NODES,
            &[
                "metadata.labels",
                "metadata.creationTimestamp",
                "spec.unschedulable",
                "spec.taints",
                "status.conditions",
                "status.allocatable",
                "status.nodeInfo",
            ],
        )
    },
    // Hosted control planes have none.
    all(
        ObjectKind::MachineConfigPool,
        &resource::MACHINE_CONFIG_POOLS,
        &["spec", "status"],
    ),
    Wanted {
        // A cluster with a thousand namespaces has a thousand copies of each.
        labels: Some("!olm.copiedFrom"),
        page: 50,
        ..all(
            ObjectKind::ClusterServiceVersion,
            &resource::CLUSTER_SERVICE_VERSIONS,
            &[
                "metadata.annotations",
                "metadata.labels",
                "spec.minKubeVersion",
            ],
        )
    },
    Wanted {
        page: 50,
        is_optional: false,
        ..all(
            ObjectKind::ApiRequestCount,
            &resource::API_REQUEST_COUNTS,
            &["status"],
        )
    },
    config_map("openshift-config-managed", "admin-gates"),
    config_map("openshift-config", "admin-acks"),
    all(
        ObjectKind::Pod,
        &resource::PODS,
        &[
            "metadata.labels",
            "metadata.ownerReferences",
            "metadata.annotations.kubernetes~io/config~mirror",
            "spec.nodeName",
            "spec.nodeSelector",
            "spec.affinity",
            "spec.tolerations",
            "spec.topologySpreadConstraints",
            "spec.volumes[].persistentVolumeClaim",
            "spec.containers[].ports[].hostPort",
            "spec.overhead",
            "spec.resources.requests",
            "spec.containers[].resources.requests",
            "spec.initContainers[].resources.requests",
            "spec.initContainers[].restartPolicy",
            "status.phase",
            "status.conditions",
        ],
    ),
    Wanted {
        // Kubernetes has the first since 1.21, and had the other until 1.24.
        older: Some(&resource::OLD_POD_DISRUPTION_BUDGETS),
        is_optional: false,
        ..all(
            ObjectKind::PodDisruptionBudget,
            &resource::POD_DISRUPTION_BUDGETS,
            &["spec", "status"],
        )
    },
    all(
        ObjectKind::InstallPlan,
        &resource::INSTALL_PLANS,
        &[
            "spec.approved",
            "spec.generation",
            "spec.clusterServiceVersionNames",
            "status.phase",
        ],
    ),
    Wanted {
        one: Some((None, "cluster")),
        is_optional: false,
        ..all(
            ObjectKind::Network,
            &resource::NETWORKS,
            &["spec.networkType", "status.networkType"],
        )
    },
    Wanted {
        one: Some((None, "cluster")),
        ..all(
            ObjectKind::Infrastructure,
            &resource::INFRASTRUCTURES,
            &["status.controlPlaneTopology"],
        )
    },
    // Clusters before the streams have none.
    Wanted {
        one: Some((None, "cluster")),
        ..all(
            ObjectKind::OsImageStream,
            &resource::OS_IMAGE_STREAMS,
            &["spec.defaultStream", "status.defaultStream"],
        )
    },
    all(
        ObjectKind::ContainerRuntimeConfig,
        &resource::CONTAINER_RUNTIME_CONFIGS,
        &["spec.containerRuntimeConfig.defaultRuntime"],
    ),
    Wanted {
        // Each may hold files of hundreds of kilobytes.
        page: 10,
        ..all(
            ObjectKind::MachineConfig,
            &resource::MACHINE_CONFIGS,
            &["spec.config.storage.files"],
        )
    },
];

static PERSISTENT_VOLUMES: Wanted = all(
    ObjectKind::PersistentVolume,
    &resource::PERSISTENT_VOLUMES,
    &["metadata.labels", "spec.claimRef", "spec.nodeAffinity"],
);

static DAEMON_SETS: Wanted = all(
    ObjectKind::DaemonSet,
    &resource::DAEMON_SETS,
    &[
        "metadata.ownerReferences",
        "metadata.annotations.towpath~dev/waves",
        "spec.updateStrategy",
        "spec.minReadySeconds",
        "spec.template.spec.containers[].image",
        "spec.template.spec.containers[].imagePullPolicy",
        "spec.template.spec.containers[].ports",
        "spec.template.spec.initContainers[].image",
        "spec.template.spec.initContainers[].imagePullPolicy",
        "status",
    ],
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_fields_that_somebody_reads_are_kept() {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "p", "namespace": "n", "uid": "u", "annotations": {"kubernetes.io/config.mirror": "x", "secret": "y"}},
            "spec": {"nodeName": "w1", "containers": [
                {"name": "a", "env": [{"name": "PASSWORD", "value": "x"}], "resources": {"requests": {"cpu": "1"}, "limits": {}}},
                {"name": "b"}]},
            "status": {"phase": "Running", "podIP": "10.0.0.1"},
        });
        let wanted = WANTED.iter().find(|one| one.kind == ObjectKind::Pod);
        let object = serde_json::from_value(pod);
        let kept = wanted
            .zip(object.ok())
            .map(|(wanted, pod)| wanted.trimmed(wanted.resource, pod));
        let expected = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "p", "namespace": "n", "annotations": {"kubernetes.io/config.mirror": "x"}},
            "spec": {"nodeName": "w1", "containers": [{"resources": {"requests": {"cpu": "1"}}}, {}]},
            "status": {"phase": "Running"},
        });
        assert_eq!(kept, Some(expected));
    }

    #[test]
    fn what_decides_where_pods_run_is_kept_and_nothing_else_of_their_volumes() {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "n"},
            "spec": {
                "nodeSelector": {"disk": "ssd"}, "tolerations": [{"operator": "Exists"}], "affinity": {"podAffinity": {}},
                "volumes": [{"name": "a", "persistentVolumeClaim": {"claimName": "data"}}, {"name": "b", "secret": {"secretName": "x"}}],
                "containers": [{"name": "a", "ports": [{"containerPort": 80, "hostPort": 80}]}],
            },
        });
        let wanted = WANTED.iter().find(|one| one.kind == ObjectKind::Pod);
        let object = serde_json::from_value(pod).ok();
        let kept = wanted
            .zip(object)
            .map(|(wanted, pod)| wanted.trimmed(wanted.resource, pod));
        let spec = kept.map(|kept| kept["spec"].clone());
        let expected = json!({
            "nodeSelector": {"disk": "ssd"}, "tolerations": [{"operator": "Exists"}], "affinity": {"podAffinity": {}},
            "volumes": [{"persistentVolumeClaim": {"claimName": "data"}}, {}],
            "containers": [{"ports": [{"hostPort": 80}]}],
        });
        assert_eq!(spec, Some(expected));
    }

    #[test]
    fn of_a_machine_config_the_settings_of_crio_are_kept() {
        let files = json!([{"path": "/etc/large", "contents": {}}, {"path": "/etc/crio/crio.conf.d/99-x", "contents": {}}]);
        let mut config = json!({"spec": {"config": {"storage": {"files": files}}}});
        keep_settings_of_crio(&mut config);
        let kept = &config["spec"]["config"]["storage"]["files"];
        assert_eq!(
            *kept,
            json!([{"path": "/etc/crio/crio.conf.d/99-x", "contents": {}}])
        );
    }
}
