//! Hosted control planes: whether the cluster's control plane runs on another cluster, and its node
//! pools.
//!
//! The cluster itself says it (`controlPlaneTopology: External` of its Infrastructure). Its HostedCluster and NodePools are
//! objects of the cluster that hosts it, and lie there beside those of others. So a HostedCluster is this cluster's own only if it has
//! its id, or if it is the only one and there is no ClusterVersion. Where two objects contradict each other, nothing is known.

use std::sync::Arc;

use towpath_core::cluster::Fact;
use towpath_core::cluster::objects::{HostedPool, Topology};

use super::cluster_version::text;
use super::documents::{FoundObjects, Object};
use super::{Kind, ObjectReading};

/// Which node pool a node is of.
pub(super) const NODE_POOL_LABEL: &str = "hypershift.openshift.io/nodePool";

/// The cluster's own HostedCluster, if it is known which one that is.
pub(super) fn own(found: &FoundObjects) -> Option<&Object> {
    let of = |kind: Kind| found.objects.iter().filter(move |one| one.kind == kind);
    let id = |object: &Object| {
        let spec = object.node.get("spec");
        let id = spec.map(|spec| text(spec, "clusterID").to_ascii_lowercase());
        id.filter(|id| !id.is_empty())
    };
    let mut hosted = of(Kind::HostedCluster);
    match of(Kind::ClusterVersion).next() {
        Some(version) => {
            let wanted = id(version)?;
            hosted.find(|object| id(object).is_some_and(|id| id == wanted))
        }
        None => hosted.next().filter(|_| hosted.next().is_none()),
    }
}

/// Where the control plane runs.
pub(super) fn topology(found: &FoundObjects, own: Option<&Object>) -> Fact<Topology> {
    let mut infrastructures = found
        .objects
        .iter()
        .filter(|one| one.kind == Kind::Infrastructure && &*one.name == "cluster");
    let status = infrastructures
        .next()
        .and_then(|one| one.node.get("status"));
    let said = status.map(|status| text(status, "controlPlaneTopology"));
    match (said, own) {
        (Some("External"), _) | (None | Some(""), Some(_)) => Fact::Known(Topology::Hosted),
        (
            Some("HighlyAvailable" | "HighlyAvailableArbiter" | "SingleReplica" | "DualReplica"),
            None,
        ) => Fact::Known(Topology::Standalone),
        // Nobody says it, in a word that we do not know, or two contradict each other.
        _ => Fact::Unknown,
    }
}

/// The node pools of the cluster's own HostedCluster. Without one, nobody can tell whose they are.
pub(super) fn node_pools(
    all: &mut ObjectReading,
    found: &FoundObjects,
    own: Option<&Object>,
) -> Vec<HostedPool> {
    let mut given = found.objects.iter();
    let given: Vec<&Object> = given
        .by_ref()
        .filter(|one| one.kind == Kind::NodePool)
        .collect();
    let Some(own) = own else {
        if let Some(first) = given.first() {
            all.of(first, |reader, object| {
                let problem =
                    "nobody can tell whose NodePools these are, so they do not count".to_owned();
                let remedy = "give the cluster's own HostedCluster too, and its ClusterVersion";
                reader.warning("node-pools-of-nobody", &object.node, problem, remedy);
            });
        }
        return Vec::new();
    };
    let is_own = |pool: &&Object| {
        let spec = pool.node.get("spec");
        let of = spec.map_or("", |spec| text(spec, "clusterName"));
        pool.namespace == own.namespace && *of == *own.name
    };
    given.into_iter().filter(is_own).map(pool).collect()
}

fn pool(object: &Object) -> HostedPool {
    let status = object.node.get("status");
    let version = status.map_or("", |status| text(status, "version"));
    HostedPool {
        name: object.name.clone(),
        version: Fact::from(version.parse().ok()),
    }
}

/// Whether all nodes are the hosted cluster's. Without its ClusterVersion they may be those of the cluster that hosts it.
pub(super) fn are_its_nodes(all: &mut ObjectReading, found: &FoundObjects) -> bool {
    let of = |kind: Kind| found.objects.iter().filter(move |one| one.kind == kind);
    let has_version = of(Kind::ClusterVersion).next().is_some();
    let foreign = of(Kind::Node).find(|node| node_pool(node).is_none());
    match foreign {
        Some(node) if !has_version => {
            all.of(node, |reader, object| {
                let problem = format!(
                    "node {} has no label {NODE_POOL_LABEL}, so the Nodes may be those of the cluster that hosts this one; they do not count",
                    object.name
                );
                let remedy = "give the Nodes of the hosted cluster itself";
                reader.warning("foreign-nodes", &object.node, problem, remedy);
            });
            false
        }
        _ => true,
    }
}

/// The node pool that a node names.
pub(super) fn node_pool(node: &Object) -> Option<Arc<str>> {
    let labels = node.node.get("metadata")?.get("labels")?;
    let name = text(labels, NODE_POOL_LABEL);
    (!name.is_empty()).then(|| name.into())
}
