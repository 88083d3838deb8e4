//! Reboots of a pool: reads pools, nodes, budgets and pods, and makes the few writes of `towpath nodes run`.
//!
//! Every write to a pool or a node names the resource version that was read, so one that changed meanwhile is left alone. Pods go through
//! the eviction API alone, by their uid, so no budget is overdrawn and no successor of the same name is evicted.

use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use towpath_formats::nodes::run::{PoolObjects, PoolPlace};

use crate::answer::within;
use crate::connect::{self, Access, Settings};
use crate::count::{Counter, Requests, Verb};
use crate::error::KubeError;
use crate::event::{About, Event, tell_about};
use crate::list::{Which, all};
use crate::resource::{
    Call, MACHINE_CONFIG_POOLS, NODES, OLD_POD_DISRUPTION_BUDGETS, POD_DISRUPTION_BUDGETS, PODS,
    Resource,
};

const FIELD_MANAGER: &str = "towpath-nodes";
/// A budget forbids it.
const TOO_MANY: u16 = 429;

/// The nodes of a cluster, for whoever may change them.
#[derive(Clone)]
pub struct Reboots {
    client: kube::Client,
    settings: Settings,
    counter: Counter,
    /// The version of `policy` in which the API takes evictions.
    evictions: String,
}

/// What came of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeWrite {
    Written,
    /// It has changed since it was read, or is gone. Nothing was done.
    Conflict,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EvictOutcome {
    Evicted,
    /// It is gone, or another pod has its name.
    Gone,
    /// A budget forbids it now, in the API's words.
    Refused(String),
}

impl Reboots {
    pub async fn connect(access: &Access, settings: Settings) -> Result<Self, KubeError> {
        let counter = Counter::default();
        let client = connect::client(access, &settings, &counter).await?;
        let evictions = evictions(&client, &settings).await?;
        Ok(Self {
            client,
            settings,
            counter,
            evictions,
        })
    }

    pub fn requests(&self) -> Requests {
        self.counter.so_far()
    }

    /// Pools first: a write to a pool that names what was read here is refused if anybody has written to it since.
    pub async fn look(&self) -> Result<PoolObjects, KubeError> {
        let pools = self.all(&MACHINE_CONFIG_POOLS, None).await?;
        let nodes = self.all(&NODES, None).await?;
        let budgets = match self.all(&POD_DISRUPTION_BUDGETS, None).await {
            Err(KubeError::NotFound { .. }) => versioned(
                &OLD_POD_DISRUPTION_BUDGETS,
                self.all(&OLD_POD_DISRUPTION_BUDGETS, None).await?,
            ),
            read => versioned(&POD_DISRUPTION_BUDGETS, read?),
        };
        Ok(PoolObjects {
            pools,
            nodes,
            budgets,
        })
    }

    /// The pods of a node.
    pub async fn pods_on(&self, node: &str) -> Result<Vec<Value>, KubeError> {
        let on = format!("spec.nodeName={node}");
        self.all(&PODS, Some(&on)).await
    }

    /// Pods that have no node.
    pub async fn pods_without_node(&self) -> Result<Vec<Value>, KubeError> {
        self.all(&PODS, Some("spec.nodeName=")).await
    }

    async fn all(
        &self,
        resource: &Resource,
        fields: Option<&str>,
    ) -> Result<Vec<Value>, KubeError> {
        let which = Which {
            fields,
            ..Which::default()
        };
        all(&self.client, &self.settings, resource, which).await
    }

    /// Changes the pool, if it is as it was read. What it is then; none if it has changed since, or is gone.
    pub async fn change_pool(
        &self,
        pool: &PoolPlace,
        change: &Value,
    ) -> Result<Option<PoolPlace>, KubeError> {
        let mut change = change.clone();
        change["metadata"]["resourceVersion"] = json!(pool.resource_version);
        let written = self.patch(&MACHINE_CONFIG_POOLS, &pool.name, &change);
        let changed = |object: DynamicObject| {
            let conditions = object.data.pointer("/status/conditions");
            let conditions = conditions.and_then(Value::as_array).cloned();
            PoolPlace {
                resource_version: object.metadata.resource_version.unwrap_or_default().into(),
                conditions: conditions.unwrap_or_default(),
                ..pool.clone()
            }
        };
        Ok(written.await?.map(changed))
    }

    /// Sets all conditions of the pool, if it is as it was read.
    pub async fn set_conditions(
        &self,
        pool: &PoolPlace,
        conditions: &[Value],
    ) -> Result<NodeWrite, KubeError> {
        let call = Call::new(Verb::Patch, &MACHINE_CONFIG_POOLS);
        let call = call.of(&pool.name).part("status");
        let api = MACHINE_CONFIG_POOLS.api(&self.client, None);
        let change = json!({
            "metadata": {"resourceVersion": pool.resource_version},
            "status": {"conditions": conditions},
        });
        let (parameters, patch) = (parameters(), Patch::Merge(&change));
        let written = api.patch_status(&pool.name, &parameters, &patch);
        let written = unless_changed(within(self.settings.request, &call, written).await)?;
        Ok(outcome(written.as_ref()))
    }

    /// Changes a node; the change names the resource version that was read.
    pub async fn change_node(&self, node: &str, change: &Value) -> Result<NodeWrite, KubeError> {
        Ok(outcome(self.patch(&NODES, node, change).await?.as_ref()))
    }

    async fn patch(
        &self,
        resource: &Resource,
        name: &str,
        change: &Value,
    ) -> Result<Option<DynamicObject>, KubeError> {
        let call = Call::new(Verb::Patch, resource).of(name);
        let api = resource.api(&self.client, None);
        let (parameters, patch) = (parameters(), Patch::Merge(change));
        let written = api.patch(name, &parameters, &patch);
        unless_changed(within(self.settings.request, &call, written).await)
    }

    /// Asks the API to evict a pod; or only whether it would now.
    pub async fn evict(
        &self,
        namespace: &str,
        name: &str,
        uid: &str,
        is_dry_run: bool,
    ) -> Result<EvictOutcome, KubeError> {
        let call = Call::new(Verb::Create, &PODS)
            .of(name)
            .within(Some(namespace))
            .part("eviction");
        let query = if is_dry_run { "?dryRun=All" } else { "" };
        let path = format!("/api/v1/namespaces/{namespace}/pods/{name}/eviction{query}");
        let mut options = json!({"preconditions": {"uid": uid}});
        if is_dry_run {
            options["dryRun"] = json!(["All"]);
        }
        let body = json!({
            "apiVersion": self.evictions,
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
            "deleteOptions": options,
        });
        let request = http::Request::post(path)
            .header("content-type", "application/json")
            .body(body.to_string().into_bytes())
            .map_err(|error| KubeError::unanswered(&call, &error))?;
        let asked = self.client.request::<Value>(request);
        match within(self.settings.request, &call, asked).await {
            Ok(_) => Ok(EvictOutcome::Evicted),
            Err(KubeError::NotFound { .. } | KubeError::Answer { code: 409, .. }) => {
                Ok(EvictOutcome::Gone)
            }
            // The API answers 500 where two budgets count a pod.
            Err(KubeError::Answer { code, message, .. }) if code == TOO_MANY || code == 500 => {
                Ok(EvictOutcome::Refused(message))
            }
            Err(other) => Err(other),
        }
    }

    /// Writes an Event about the pool.
    pub async fn tell(
        &self,
        pool: &PoolPlace,
        event: &Event,
        now: jiff::Timestamp,
    ) -> Result<(), KubeError> {
        let about = About {
            resource: &MACHINE_CONFIG_POOLS,
            namespace: None,
            name: &pool.name,
            uid: &pool.uid,
            component: FIELD_MANAGER,
        };
        tell_about(&self.client, &self.settings, &about, event, now).await
    }
}

fn parameters() -> PatchParams {
    PatchParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    }
}

/// None if it has changed since it was read, or is gone.
fn unless_changed<T>(written: Result<T, KubeError>) -> Result<Option<T>, KubeError> {
    match written {
        Ok(object) => Ok(Some(object)),
        Err(KubeError::NotFound { .. } | KubeError::Answer { code: 409, .. }) => Ok(None),
        Err(other) => Err(other),
    }
}

fn outcome(written: Option<&DynamicObject>) -> NodeWrite {
    match written {
        Some(_) => NodeWrite::Written,
        None => NodeWrite::Conflict,
    }
}

/// The version of `policy` in which the API takes evictions: it says so where it lists the subresources of pods, as kubectl reads it.
async fn evictions(client: &kube::Client, settings: &Settings) -> Result<String, KubeError> {
    let call = Call::new(Verb::Discover, &PODS).part("eviction");
    let asked = client.list_core_api_resources("v1");
    let there = within(settings.request, &call, asked).await?;
    let own = there
        .resources
        .iter()
        .find(|one| one.name == "pods/eviction");
    let own = own.and_then(|one| Some((one.group.as_deref()?, one.version.as_deref()?)));
    match own {
        Some((group, version)) => Ok(format!("{group}/{version}")),
        None => Err(KubeError::NotFound {
            call: call.to_string(),
            message: "this API takes no evictions".to_owned(),
        }),
    }
}

/// Items of a list do not say their version.
fn versioned(resource: &Resource, mut objects: Vec<Value>) -> Vec<Value> {
    for object in &mut objects {
        object["apiVersion"] = json!(resource.api_version());
        object["kind"] = json!(resource.kind);
    }
    objects
}
