//! Objects of hosted control planes: who says that a cluster is hosted, and which node pools are its own.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the finding")]

use towpath_core::cluster::Fact;
use towpath_core::cluster::objects::{Lag, Topology};
use towpath_formats::SourceFile;
use towpath_formats::cluster::objects::{self, ClusterObjects};

const VERSION: &str = "apiVersion: config.openshift.io/v1\nkind: ClusterVersion\nmetadata: {name: version}\nspec: {clusterID: 0CD7EE3D-0000-4000-8000-000000000001}\nstatus: {history: [{state: Completed, version: 4.20.1}]}\n";
const NODE: &str = "kind: Node\nmetadata: {name: w1, labels: {hypershift.openshift.io/nodePool: blue}}\nstatus: {nodeInfo: {kubeletVersion: v1.32.1}}\n";
const FOREIGN_NODE: &str =
    "kind: Node\nmetadata: {name: m1}\nstatus: {nodeInfo: {kubeletVersion: v1.33.1}}\n";

fn read(parts: &[&str]) -> (ClusterObjects, Vec<String>) {
    let text = parts.join("---\n");
    let file = SourceFile::new("objects.yaml", text.into_bytes());
    let now = "2026-11-18T00:00Z".parse().unwrap();
    let (objects, findings) = objects::read(&[file], now).unwrap();
    let codes = findings.iter().map(|finding| finding.code.to_owned());
    (objects, codes.collect())
}

fn infrastructure(topology: &str) -> String {
    format!(
        "apiVersion: config.openshift.io/v1\nkind: Infrastructure\nmetadata: {{name: cluster}}\nstatus: {{controlPlaneTopology: {topology}}}\n"
    )
}

fn hosted(name: &str, id: &str) -> String {
    format!(
        "apiVersion: hypershift.openshift.io/v1beta1\nkind: HostedCluster\nmetadata: {{name: {name}, namespace: clusters}}\nspec: {{clusterID: {id}, channel: stable-4.20}}\nstatus: {{version: {{history: [{{state: Completed, version: 4.20.3}}]}}}}\n"
    )
}

fn node_pool(name: &str, of: &str, version: &str) -> String {
    format!(
        "apiVersion: hypershift.openshift.io/v1beta1\nkind: NodePool\nmetadata: {{name: {name}, namespace: clusters}}\nspec: {{clusterName: {of}}}\nstatus: {{version: {version}}}\n"
    )
}

#[test]
fn a_clusters_own_infrastructure_says_whether_it_is_hosted() {
    let topology = |said: &str| read(&[VERSION, &infrastructure(said)]).0.facts.topology;
    assert_eq!(topology("External"), Fact::Known(Topology::Hosted));
    for said in [
        "HighlyAvailable",
        "SingleReplica",
        "DualReplica",
        "HighlyAvailableArbiter",
    ] {
        assert_eq!(topology(said), Fact::Known(Topology::Standalone), "{said}");
    }
    assert_eq!(topology("Somewhere"), Fact::Unknown);
    let (objects, _) = read(&[VERSION, NODE, &infrastructure("External")]);
    // It has no MachineConfigPools, and its nodes are in the node pool that they name.
    assert_eq!(objects.facts.pools, Fact::Known(vec![]));
    let nodes = objects.facts.nodes.known().unwrap();
    assert_eq!(nodes[0].pool, Fact::Known("blue".into()));
    assert_eq!(objects.facts.lag(&nodes[0]), Lag::NodePool);
    assert_eq!(read(&[VERSION]).0.facts.topology, Fact::Unknown);
}

#[test]
fn a_hosted_cluster_is_its_own_if_it_has_its_id() {
    let (own, other) = (
        hosted("a", "0cd7ee3d-0000-4000-8000-000000000001"),
        hosted("b", "0cd7ee3d-0000-4000-8000-000000000002"),
    );
    let pools = [
        node_pool("blue", "a", "4.19.5"),
        node_pool("red", "b", "4.18.5"),
    ];
    let (objects, findings) = read(&[VERSION, &own, &other, &pools[0], &pools[1]]);
    assert_eq!(objects.facts.topology, Fact::Known(Topology::Hosted));
    let names: Vec<&str> = objects
        .facts
        .node_pools
        .iter()
        .map(|pool| &*pool.name)
        .collect();
    assert_eq!((names.as_slice(), findings.len()), (["blue"].as_slice(), 0));
    // Others' say nothing about it, and node pools of nobody are told.
    let (objects, findings) = read(&[VERSION, &other, &pools[1]]);
    assert_eq!(objects.facts.topology, Fact::Unknown);
    assert_eq!(
        (objects.facts.node_pools.len(), findings),
        (0, vec!["node-pools-of-nobody".to_owned()])
    );
    // Two that contradict each other say nothing.
    let (objects, _) = read(&[VERSION, &own, &infrastructure("HighlyAvailable")]);
    assert_eq!(objects.facts.topology, Fact::Unknown);
}

#[test]
fn a_single_hosted_cluster_without_a_cluster_version_is_the_one() {
    let one = hosted("a", "0cd7ee3d-0000-4000-8000-000000000001");
    let (objects, findings) = read(&[&one, NODE]);
    let heads_for = objects.facts.heads_for().map(ToString::to_string);
    assert_eq!(heads_for.as_deref(), Some("4.20.3"));
    assert_eq!(objects.facts.topology, Fact::Known(Topology::Hosted));
    assert_eq!(
        (objects.facts.nodes.known().map(Vec::len), findings.len()),
        (Some(1), 0)
    );
    // What objects to an update, only the cluster itself says.
    assert_eq!(objects.facts.objections, Fact::Unknown);
    // Nodes of the cluster that hosts it are not its own.
    let (objects, findings) = read(&[&one, NODE, FOREIGN_NODE]);
    assert_eq!(objects.facts.nodes, Fact::Unknown);
    assert_eq!(findings, ["foreign-nodes"]);
    // Of two, nobody can tell which one is meant.
    let two = hosted("b", "0cd7ee3d-0000-4000-8000-000000000002");
    assert_eq!(read(&[&one, &two]).0.facts.heads_for(), None);
}
