//! HostedClusters of a hub that hosts control planes, with their node pools.

use std::collections::BTreeMap;

use serde_json::Value;
use towpath_core::fleet::NodePool;

use super::curator::CuratorPlace;
use super::{items, text};

/// A hosted control plane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HostedCluster {
    pub(crate) place: CuratorPlace,
    pub(crate) channel: Option<String>,
    pub(crate) offers: Vec<String>,
    /// The version that it is to have.
    pub(crate) desired: Option<String>,
    /// Whether the newest update in its history is not complete, and where that one goes.
    pub(crate) under_way: Option<String>,
    pub(crate) pools: Vec<NodePool>,
    /// Node pools whose version cannot be read.
    pub(crate) unread: Vec<String>,
}

/// Where the newest update goes, if it is not complete. The newest comes first; one that does not tell goes nowhere that is known.
fn under_way(object: &Value) -> Option<String> {
    let newest = items(object, "/status/version/history").first()?;
    let is_complete = text(newest, "/state") == Some("Completed");
    (!is_complete).then(|| text(newest, "/version").unwrap_or("").to_owned())
}

/// By the id of the cluster.
pub(crate) fn by_cluster(hosted: &[Value], pools: &[Value]) -> BTreeMap<String, HostedCluster> {
    let read = |object: &Value| {
        let place = CuratorPlace {
            namespace: text(object, "/metadata/namespace")?.to_owned(),
            name: text(object, "/metadata/name")?.to_owned(),
            is_hosted: true,
        };
        let own = |pool: &&Value| {
            text(pool, "/metadata/namespace") == Some(&*place.namespace)
                && text(pool, "/spec/clusterName") == Some(&*place.name)
        };
        let (mut known, mut unread) = (Vec::new(), Vec::new());
        for pool in pools.iter().filter(own) {
            let name = text(pool, "/metadata/name").unwrap_or("without a name");
            let version = text(pool, "/status/version").map(str::parse);
            match version {
                Some(Ok(version)) => known.push(NodePool {
                    id: name.into(),
                    version,
                }),
                _ => unread.push(name.to_owned()),
            }
        }
        known.sort();
        let offers = items(object, "/status/version/availableUpdates").iter();
        let offers = offers.filter_map(|offer| text(offer, "/version").map(str::to_owned));
        let cluster = HostedCluster {
            channel: text(object, "/spec/channel").map(str::to_owned),
            offers: offers.collect(),
            desired: text(object, "/status/version/desired/version").map(str::to_owned),
            under_way: under_way(object),
            pools: known,
            unread,
            place,
        };
        Some((text(object, "/spec/clusterID")?.to_owned(), cluster))
    };
    hosted.iter().filter_map(read).collect()
}
