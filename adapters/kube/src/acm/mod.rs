//! An ACM hub: it lists the clusters that the hub manages, and has its ClusterCurators upgrade them.
//!
//! [`Hub::fleet`] reads everything into the core's types. [`Hub::curate`] and [`Hub::withdraw`] carry out decisions of the
//! scheduler. Each looks first, writes once over what it saw, and returns what it found. Nothing is decided here.
//!
//! A curator that Towpath started has the annotation [`UPGRADE_ANNOTATION`]. All others belong to somebody else and are left alone.

mod act;
mod curator;
mod hosted;
mod info;
mod read;

use jiff::Timestamp;
use kube::api::ListParams;
use serde_json::Value;

use crate::answer::within;
use crate::connect::{self, Access, Settings};
use crate::count::{Counter, Verb};
use crate::error::KubeError;
use crate::resource::{
    CLUSTER_CURATORS, Call, HOSTED_CLUSTERS, MANAGED_CLUSTER_INFOS, MANAGED_CLUSTERS, NODE_POOLS,
    Resource,
};

pub use act::{CurateOutcome, CuratedUpgrade, WithdrawOutcome};
pub use curator::{CuratorPlace, CuratorProgress, UPGRADE_ANNOTATION};
pub use read::HubFleet;

/// Objects of one page.
const PAGE: u32 = 500;
/// The most pages of a list, in case an API never ends one.
const MAX_PAGES: usize = 200;

/// A client of a hub. It keeps nothing between calls.
pub struct Hub {
    client: kube::Client,
    settings: Settings,
}

impl Hub {
    /// Reads the configuration. Sends no request.
    pub async fn connect(access: &Access, settings: Settings) -> Result<Self, KubeError> {
        let client = connect::client(access, &settings, &Counter::default()).await?;
        Ok(Self { client, settings })
    }

    /// Reads the fleet. A kind that the hub lacks has no objects, except ManagedClusters and ClusterCurators.
    pub async fn fleet(&self, now: Timestamp) -> Result<HubFleet, KubeError> {
        let (clusters, curators, infos, hosted, pools) = tokio::try_join!(
            self.list(&MANAGED_CLUSTERS),
            self.list(&CLUSTER_CURATORS),
            self.list_if_there(&MANAGED_CLUSTER_INFOS),
            self.list_if_there(&HOSTED_CLUSTERS),
            self.list_if_there(&NODE_POOLS),
        )?;
        let lists = read::Lists {
            clusters,
            curators,
            infos,
            hosted,
            pools,
        };
        Ok(lists.fleet(now))
    }

    async fn list_if_there(&self, resource: &Resource) -> Result<Vec<Value>, KubeError> {
        match self.list(resource).await {
            Err(KubeError::NotFound { .. }) => Ok(Vec::new()),
            listed => listed,
        }
    }

    async fn list(&self, resource: &Resource) -> Result<Vec<Value>, KubeError> {
        let (api, call) = (
            resource.api(&self.client, None),
            Call::new(Verb::List, resource),
        );
        let mut parameters = ListParams {
            limit: Some(PAGE),
            ..ListParams::default()
        };
        let mut objects = Vec::new();
        for _ in 0..MAX_PAGES {
            let page = within(self.settings.request, &call, api.list(&parameters)).await?;
            let values = page.items.into_iter().map(serde_json::to_value);
            // What came as JSON can be written as JSON.
            objects.extend(values.filter_map(Result::ok));
            parameters.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
            if parameters.continue_token.is_none() {
                return Ok(objects);
            }
        }
        Err(KubeError::TooLarge {
            call: call.to_string(),
            problem: format!("the list has more than {MAX_PAGES} pages of {PAGE}"),
        })
    }
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hub").finish_non_exhaustive()
    }
}

/// A text of an object that is there and not empty.
fn text<'a>(object: &'a Value, pointer: &str) -> Option<&'a str> {
    let text = object.pointer(pointer).and_then(Value::as_str);
    text.filter(|text| !text.is_empty())
}

/// The items of a list in an object; none if it has no such list.
fn items<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    let items = object.pointer(pointer).and_then(Value::as_array);
    items.map_or(&[], Vec::as_slice)
}

/// The condition of that type.
fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    let mut conditions = items(object, "/status/conditions").iter();
    conditions.find(|condition| condition["type"] == kind)
}
