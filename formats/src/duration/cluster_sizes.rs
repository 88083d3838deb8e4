//! How many nodes the cluster of a ClusterVersion has, as far as files beside it say.
//!
//! Nodes belong to a ClusterVersion of the same must-gather, or else of the same file or folder, where that has no other
//! ClusterVersion. The annotation `towpath.dev/nodes` says it for histories that were collected without nodes.
//! The number is that of today: nobody has kept how many there were at each update.

use std::collections::{BTreeMap, BTreeSet};

use crate::read::Node;

/// For histories that were collected without nodes.
pub(super) const NODES: &str = "towpath.dev/nodes";
/// Where a must-gather has what is not in a namespace.
const CLUSTER_SCOPED: &str = "cluster-scoped-resources/";
const MAX_NODES: u32 = 20_000;

/// The nodes and ClusterVersions of files and folders.
#[derive(Debug, Default)]
pub(super) struct ClusterSizes {
    nodes: BTreeMap<Scope, BTreeSet<String>>,
    clusters: BTreeMap<Scope, BTreeSet<String>>,
    /// What annotations say.
    said: BTreeMap<String, u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Scope {
    File(String),
    Folder(String),
}

impl ClusterSizes {
    pub(super) fn add_node(&mut self, path: &str, node: &Node) {
        let name = node.get("metadata").and_then(|of| of.get("name"));
        let Some(name) = name.and_then(Node::as_text) else {
            return;
        };
        for scope in scopes(path) {
            self.nodes.entry(scope).or_default().insert(name.to_owned());
        }
    }

    /// Of a ClusterVersion. What is wrong with its annotation, if it cannot be read.
    pub(super) fn add_cluster(
        &mut self,
        path: &str,
        cluster: &str,
        node: &Node,
    ) -> Result<(), String> {
        for scope in scopes(path) {
            let known = self.clusters.entry(scope).or_default();
            known.insert(cluster.to_owned());
        }
        let annotations = node.get("metadata").and_then(|of| of.get("annotations"));
        let Some(said) = annotations.and_then(|all| all.get(NODES)) else {
            return Ok(());
        };
        let number = said.as_text().and_then(crate::read::whole);
        match number.filter(|number| (1..=MAX_NODES).contains(number)) {
            Some(number) => {
                self.said.insert(cluster.to_owned(), number);
                Ok(())
            }
            None => Err(format!(
                "the annotation {NODES} is {}, and not a number of nodes from 1 to {MAX_NODES}",
                said.kind()
            )),
        }
    }

    /// The only cluster beside what is in that file.
    pub(super) fn only_cluster(&self, path: &str) -> Option<&str> {
        let known = scopes(path)
            .into_iter()
            .find_map(|scope| self.clusters.get(&scope))?;
        let first = known.first().filter(|_| known.len() == 1);
        first.map(String::as_str)
    }

    /// The nodes of each cluster of which that is known.
    pub(super) fn by_cluster(&self) -> BTreeMap<&str, u32> {
        let mut sizes = BTreeMap::new();
        // Folders first: what the file itself has is closer, and an annotation closest.
        for (scope, clusters) in self.clusters.iter().rev() {
            let (Some(nodes), 1) = (self.nodes.get(scope), clusters.len()) else {
                continue;
            };
            let nodes = u32::try_from(nodes.len()).unwrap_or(u32::MAX);
            sizes.extend(clusters.iter().map(|cluster| (cluster.as_str(), nodes)));
        }
        let said = self.said.iter();
        sizes.extend(said.map(|(cluster, nodes)| (cluster.as_str(), *nodes)));
        sizes
    }
}

/// The file, and the must-gather or folder that it is in.
fn scopes(path: &str) -> [Scope; 2] {
    let folder = match path.find(CLUSTER_SCOPED) {
        Some(at) => &path[..at],
        None => path.rsplit_once('/').map_or("", |(folder, _)| folder),
    };
    [
        Scope::File(path.to_owned()),
        Scope::Folder(folder.to_owned()),
    ]
}
