//! The platform's own namespaces: a release's payload brings them and updates them.
//!
//! The list is closed. Operators from the catalogue live in `openshift-…` too (gitops, logging,
//! storage). Their ClusterServiceVersions do not say where: one that is installed for all
//! namespaces is copied into each of them. A namespace that is missing here causes a report that a
//! person can judge. One too many would hide a problem.

/// Whether a namespace comes with the payload.
pub(crate) fn is_of_platform(namespace: &str) -> bool {
    let of_openshift = namespace.strip_prefix("openshift-");
    namespace == "openshift"
        || namespace.starts_with("kube-")
        || of_openshift.is_some_and(|name| OF_OPENSHIFT.binary_search(&name).is_ok())
}

/// After `openshift-`, in order.
const OF_OPENSHIFT: [&str; 74] = [
    "apiserver",
    "apiserver-operator",
    "authentication",
    "authentication-operator",
    "catalogd",
    "cloud-controller-manager",
    "cloud-controller-manager-operator",
    "cloud-credential-operator",
    "cloud-network-config-controller",
    "cloud-platform-infra",
    "cluster-api",
    "cluster-csi-drivers",
    "cluster-machine-approver",
    "cluster-node-tuning-operator",
    "cluster-olm-operator",
    "cluster-samples-operator",
    "cluster-storage-operator",
    "cluster-version",
    "config",
    "config-managed",
    "config-operator",
    "console",
    "console-operator",
    "console-user-settings",
    "controller-manager",
    "controller-manager-operator",
    "dns",
    "dns-operator",
    "etcd",
    "etcd-operator",
    "host-network",
    "image-registry",
    "infra",
    "ingress",
    "ingress-canary",
    "ingress-operator",
    "insights",
    "kni-infra",
    "kube-apiserver",
    "kube-apiserver-operator",
    "kube-controller-manager",
    "kube-controller-manager-operator",
    "kube-proxy",
    "kube-scheduler",
    "kube-scheduler-operator",
    "kube-storage-version-migrator",
    "kube-storage-version-migrator-operator",
    "machine-api",
    "machine-config-operator",
    "marketplace",
    "monitoring",
    "multus",
    "network-console",
    "network-diagnostics",
    "network-node-identity",
    "network-operator",
    "node",
    "nutanix-infra",
    "oauth-apiserver",
    "openstack-infra",
    "operator-controller",
    "operator-lifecycle-manager",
    "ovirt-infra",
    "ovn-kubernetes",
    "route-controller-manager",
    "sdn",
    "service-ca",
    "service-ca-operator",
    "service-catalog-apiserver",
    "service-catalog-apiserver-operator",
    "service-catalog-controller-manager",
    "service-catalog-controller-manager-operator",
    "user-workload-monitoring",
    "vsphere-infra",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_order_and_once() {
        assert!(OF_OPENSHIFT.is_sorted_by(|a, b| a < b));
    }
}
