//! The layout of a must-gather: `cluster-scoped-resources/GROUP/…` and `namespaces/NAMESPACE/GROUP/…`,
//! below a folder for each image that gathered.
//!
//! It has the platform's namespaces, not those of users. So what it has of namespaced kinds is a
//! part.

use crate::SourceFile;

const CLUSTER_SCOPED: &str = "cluster-scoped-resources";
const NAMESPACES: &str = "namespaces";

/// The groups of cluster-scoped kinds that are read.
const CLUSTER_GROUPS: [&str; 4] = [
    "apiserver.openshift.io",
    "config.openshift.io",
    "core",
    "machineconfiguration.openshift.io",
];
/// The groups of namespaced kinds that are read, and the folder of single pods.
const NAMESPACE_GROUPS: [&str; 5] = ["apps", "core", "operators.coreos.com", "pods", "policy"];
/// The kinds of the group `apps` that are read.
const OF_APPS: [&str; 1] = ["daemonsets"];
/// The kinds of the core that are read.
const OF_CORE: [&str; 5] = [
    "configmaps",
    "nodes",
    "persistentvolumes",
    "pods",
    "configmaps.yaml",
];
/// The namespaces whose ConfigMaps are read.
const CONFIG: [&str; 2] = ["openshift-config", "openshift-config-managed"];

pub(super) fn is_one(files: &[SourceFile]) -> bool {
    let mut paths = files.iter().map(|file| file.path.as_str());
    paths.any(|path| path.split('/').any(|part| part == CLUSTER_SCOPED))
}

/// Whether a file of a must-gather has objects, or alerts.
pub(super) fn has_objects(path: &str) -> bool {
    let is_layout = |part: &str| part == CLUSTER_SCOPED || part == NAMESPACES;
    path.split('/').any(is_layout)
        || path.ends_with("monitoring/prometheus/rules.json")
        || path.ends_with("monitoring/prometheus/alerts.json")
        // Given on the command line, beside the must-gather.
        || !path.contains('/')
}

/// Whether a path is worth opening, as far as its place in the layout says. Folders end with `/`.
pub(super) fn may_hold_objects(path: &str) -> bool {
    let is_folder = path.ends_with('/');
    let parts: Vec<&str> = path.trim_end_matches('/').split('/').collect();
    let below = |name: &str| {
        let at = parts.iter().position(|part| *part == name)?;
        Some(&parts[at + 1..])
    };
    match (below(CLUSTER_SCOPED), below(NAMESPACES)) {
        (Some([group, rest @ ..]), _) => {
            CLUSTER_GROUPS.contains(group) && is_read_of_core(group, rest)
        }
        (None, Some([namespace, group, rest @ ..])) => {
            let is_config = rest
                .first()
                .is_some_and(|kind| kind.starts_with("configmaps"));
            let is_wanted = !is_config || CONFIG.contains(namespace);
            // Below a pod's own folder are its logs.
            let is_deep = *group == "pods" && rest.len() > if is_folder { 1 } else { 2 };
            NAMESPACE_GROUPS.contains(group)
                && is_read_of_core(group, rest)
                && is_wanted
                && !is_deep
        }
        _ => true,
    }
}

fn is_read_of_core(group: &str, rest: &[&str]) -> bool {
    let kind = rest.first().map(|kind| kind.trim_end_matches(".yaml"));
    match group {
        "core" => kind.is_none_or(|kind| OF_CORE.contains(&kind)),
        "apps" => kind.is_none_or(|kind| OF_APPS.contains(&kind)),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_must_gather_only_what_may_matter_is_opened() {
        for (path, expected) in [
            ("cluster-scoped-resources/", true),
            (
                "a/b/cluster-scoped-resources/config.openshift.io/clusterversions/version.yaml",
                true,
            ),
            ("a/cluster-scoped-resources/core/nodes/w1.yaml", true),
            (
                "a/cluster-scoped-resources/core/persistentvolumes/x.yaml",
                true,
            ),
            ("a/cluster-scoped-resources/oauth.openshift.io/", false),
            ("a/namespaces/", true),
            ("a/namespaces/openshift-etcd/core/pods.yaml", true),
            ("a/namespaces/openshift-etcd/core/events.yaml", false),
            ("a/namespaces/openshift-etcd/core/configmaps.yaml", false),
            ("a/namespaces/openshift-config/core/configmaps.yaml", true),
            ("a/namespaces/openshift-etcd/pods/etcd-m1/", true),
            (
                "a/namespaces/openshift-etcd/pods/etcd-m1/etcd-m1.yaml",
                true,
            ),
            ("a/namespaces/openshift-etcd/pods/etcd-m1/etcd/", false),
            ("a/namespaces/shop/policy/poddisruptionbudgets.yaml", true),
            ("a/namespaces/openshift-dns/apps/daemonsets.yaml", true),
            ("a/namespaces/openshift-dns/apps/deployments.yaml", false),
            ("objects/nodes.yaml", true),
        ] {
            assert_eq!(may_hold_objects(path), expected, "{path}");
        }
    }
}
