//! The APIs that Kubernetes and OpenShift removed, and in which minor version. Used where the
//! cluster does not say so itself.
//!
//! The source is the Kubernetes deprecation guide, limited to APIs that people send requests to.
//! Reviews that only the API server sends are left out, and so are announced removals, because
//! their dates still move. `app/tests/ready_real_data.rs` compares the table with a list that
//! others made. OpenShift's own are those of its release notes, and not verified: whoever uses such an API is refused, and told so.

use crate::cluster::objects::ApiName;
use crate::version::Minor;

/// An API that was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Removal {
    /// The minor version of Kubernetes that no longer has it.
    pub removed_in: Minor,
    pub group: &'static str,
    pub version: &'static str,
    /// The resource, in the plural.
    pub resource: &'static str,
    /// The group and version to use instead.
    pub replacement: Option<&'static str>,
    /// Whether somebody has verified when it went.
    pub is_verified: bool,
}

/// When an API was removed, if it was.
pub fn removal(api: &ApiName) -> Option<&'static Removal> {
    let mut removals = REMOVALS.iter().chain(&OPENSHIFT_REMOVALS);
    removals.find(|removal| {
        (removal.resource, removal.version, removal.group)
            == (&*api.resource, &*api.version, &*api.group)
    })
}

const fn row(
    minor: u64,
    group: &'static str,
    version: &'static str,
    resource: &'static str,
    replacement: &'static str,
) -> Removal {
    let replacement = if replacement.is_empty() {
        None
    } else {
        Some(replacement)
    };
    Removal {
        removed_in: Minor::new(1, minor),
        group,
        version,
        resource,
        replacement,
        is_verified: true,
    }
}

/// A row that is known from a single compilation of release notes.
const fn unverified(
    minor: u64,
    group: &'static str,
    version: &'static str,
    resource: &'static str,
    replacement: &'static str,
) -> Removal {
    Removal {
        is_verified: false,
        ..row(minor, group, version, resource, replacement)
    }
}

/// All of them, in the order in which they went.
#[rustfmt::skip]
pub const REMOVALS: [Removal; 65] = [
    row(16, "apps", "v1beta1", "controllerrevisions", "apps/v1"),
    row(16, "apps", "v1beta1", "deployments", "apps/v1"),
    row(16, "apps", "v1beta1", "statefulsets", "apps/v1"),
    row(16, "apps", "v1beta2", "controllerrevisions", "apps/v1"),
    row(16, "apps", "v1beta2", "daemonsets", "apps/v1"),
    row(16, "apps", "v1beta2", "deployments", "apps/v1"),
    row(16, "apps", "v1beta2", "replicasets", "apps/v1"),
    row(16, "apps", "v1beta2", "statefulsets", "apps/v1"),
    row(16, "extensions", "v1beta1", "daemonsets", "apps/v1"),
    row(16, "extensions", "v1beta1", "deployments", "apps/v1"),
    row(16, "extensions", "v1beta1", "networkpolicies", "networking.k8s.io/v1"),
    row(16, "extensions", "v1beta1", "podsecuritypolicies", "policy/v1beta1"),
    row(16, "extensions", "v1beta1", "replicasets", "apps/v1"),
    row(21, "flowcontrol.apiserver.k8s.io", "v1alpha1", "flowschemas", "flowcontrol.apiserver.k8s.io/v1beta1"),
    row(21, "flowcontrol.apiserver.k8s.io", "v1alpha1", "prioritylevelconfigurations", "flowcontrol.apiserver.k8s.io/v1beta1"),
    row(22, "admissionregistration.k8s.io", "v1beta1", "mutatingwebhookconfigurations", "admissionregistration.k8s.io/v1"),
    row(22, "admissionregistration.k8s.io", "v1beta1", "validatingwebhookconfigurations", "admissionregistration.k8s.io/v1"),
    row(22, "apiextensions.k8s.io", "v1beta1", "customresourcedefinitions", "apiextensions.k8s.io/v1"),
    row(22, "apiregistration.k8s.io", "v1beta1", "apiservices", "apiregistration.k8s.io/v1"),
    row(22, "authentication.k8s.io", "v1beta1", "tokenreviews", "authentication.k8s.io/v1"),
    row(22, "authorization.k8s.io", "v1beta1", "localsubjectaccessreviews", "authorization.k8s.io/v1"),
    row(22, "authorization.k8s.io", "v1beta1", "selfsubjectaccessreviews", "authorization.k8s.io/v1"),
    row(22, "authorization.k8s.io", "v1beta1", "selfsubjectrulesreviews", "authorization.k8s.io/v1"),
    row(22, "authorization.k8s.io", "v1beta1", "subjectaccessreviews", "authorization.k8s.io/v1"),
    row(22, "certificates.k8s.io", "v1beta1", "certificatesigningrequests", "certificates.k8s.io/v1"),
    row(22, "coordination.k8s.io", "v1beta1", "leases", "coordination.k8s.io/v1"),
    row(22, "extensions", "v1beta1", "ingresses", "networking.k8s.io/v1"),
    row(22, "networking.k8s.io", "v1beta1", "ingressclasses", "networking.k8s.io/v1"),
    row(22, "networking.k8s.io", "v1beta1", "ingresses", "networking.k8s.io/v1"),
    row(22, "rbac.authorization.k8s.io", "v1beta1", "clusterrolebindings", "rbac.authorization.k8s.io/v1"),
    row(22, "rbac.authorization.k8s.io", "v1beta1", "clusterroles", "rbac.authorization.k8s.io/v1"),
    row(22, "rbac.authorization.k8s.io", "v1beta1", "rolebindings", "rbac.authorization.k8s.io/v1"),
    row(22, "rbac.authorization.k8s.io", "v1beta1", "roles", "rbac.authorization.k8s.io/v1"),
    row(22, "scheduling.k8s.io", "v1beta1", "priorityclasses", "scheduling.k8s.io/v1"),
    row(22, "storage.k8s.io", "v1beta1", "csidrivers", "storage.k8s.io/v1"),
    row(22, "storage.k8s.io", "v1beta1", "csinodes", "storage.k8s.io/v1"),
    row(22, "storage.k8s.io", "v1beta1", "storageclasses", "storage.k8s.io/v1"),
    row(22, "storage.k8s.io", "v1beta1", "volumeattachments", "storage.k8s.io/v1"),
    row(24, "storage.k8s.io", "v1alpha1", "csistoragecapacities", "storage.k8s.io/v1"),
    row(24, "storage.k8s.io", "v1alpha1", "volumeattachments", "storage.k8s.io/v1"),
    row(25, "autoscaling", "v2beta1", "horizontalpodautoscalers", "autoscaling/v2"),
    row(25, "batch", "v1beta1", "cronjobs", "batch/v1"),
    row(25, "discovery.k8s.io", "v1beta1", "endpointslices", "discovery.k8s.io/v1"),
    row(25, "events.k8s.io", "v1beta1", "events", "events.k8s.io/v1"),
    row(25, "node.k8s.io", "v1beta1", "runtimeclasses", "node.k8s.io/v1"),
    row(25, "policy", "v1beta1", "poddisruptionbudgets", "policy/v1"),
    row(25, "policy", "v1beta1", "podsecuritypolicies", ""),
    row(26, "autoscaling", "v2beta2", "horizontalpodautoscalers", "autoscaling/v2"),
    row(26, "flowcontrol.apiserver.k8s.io", "v1beta1", "flowschemas", "flowcontrol.apiserver.k8s.io/v1beta3"),
    row(26, "flowcontrol.apiserver.k8s.io", "v1beta1", "prioritylevelconfigurations", "flowcontrol.apiserver.k8s.io/v1beta3"),
    row(27, "storage.k8s.io", "v1beta1", "csistoragecapacities", "storage.k8s.io/v1"),
    row(29, "flowcontrol.apiserver.k8s.io", "v1beta2", "flowschemas", "flowcontrol.apiserver.k8s.io/v1"),
    row(29, "flowcontrol.apiserver.k8s.io", "v1beta2", "prioritylevelconfigurations", "flowcontrol.apiserver.k8s.io/v1"),
    row(31, "networking.k8s.io", "v1alpha1", "clustercidrs", ""),
    row(32, "admissionregistration.k8s.io", "v1alpha1", "validatingadmissionpolicies", "admissionregistration.k8s.io/v1"),
    row(32, "admissionregistration.k8s.io", "v1alpha1", "validatingadmissionpolicybindings", "admissionregistration.k8s.io/v1"),
    row(32, "authentication.k8s.io", "v1alpha1", "selfsubjectreviews", "authentication.k8s.io/v1"),
    row(32, "flowcontrol.apiserver.k8s.io", "v1beta3", "flowschemas", "flowcontrol.apiserver.k8s.io/v1"),
    row(32, "flowcontrol.apiserver.k8s.io", "v1beta3", "prioritylevelconfigurations", "flowcontrol.apiserver.k8s.io/v1"),
    row(33, "authentication.k8s.io", "v1beta1", "selfsubjectreviews", "authentication.k8s.io/v1"),
    row(33, "networking.k8s.io", "v1alpha1", "ipaddresses", "networking.k8s.io/v1"),
    row(33, "networking.k8s.io", "v1alpha1", "servicecidrs", "networking.k8s.io/v1"),
    row(34, "admissionregistration.k8s.io", "v1beta1", "validatingadmissionpolicies", "admissionregistration.k8s.io/v1"),
    row(34, "admissionregistration.k8s.io", "v1beta1", "validatingadmissionpolicybindings", "admissionregistration.k8s.io/v1"),
    row(35, "storage.k8s.io", "v1alpha1", "volumeattributesclasses", "storage.k8s.io/v1"),
];

/// Those that OpenShift removed on its own account, by the Kubernetes of the release that did.
#[rustfmt::skip]
pub const OPENSHIFT_REMOVALS: [Removal; 17] = [
    // OpenShift 4.5: the service catalogue, and CatalogSourceConfigs.
    unverified(18, "operators.coreos.com", "v1", "catalogsourceconfigs", "operators.coreos.com/v1alpha1"),
    unverified(18, "operators.coreos.com", "v2", "catalogsourceconfigs", "operators.coreos.com/v1alpha1"),
    unverified(18, "servicecatalog.k8s.io", "v1beta1", "clusterservicebrokers", ""),
    unverified(18, "servicecatalog.k8s.io", "v1beta1", "clusterserviceclasses", ""),
    unverified(18, "servicecatalog.k8s.io", "v1beta1", "clusterserviceplans", ""),
    unverified(18, "servicecatalog.k8s.io", "v1beta1", "servicebindings", ""),
    unverified(18, "servicecatalog.k8s.io", "v1beta1", "servicebrokers", ""),
    unverified(18, "servicecatalog.k8s.io", "v1beta1", "serviceclasses", ""),
    unverified(18, "servicecatalog.k8s.io", "v1beta1", "serviceinstances", ""),
    unverified(18, "servicecatalog.k8s.io", "v1beta1", "serviceplans", ""),
    // OpenShift 4.6.
    unverified(19, "operators.coreos.com", "v1", "operatorsources", "operators.coreos.com/v1alpha1"),
    // OpenShift 4.9.
    unverified(22, "operator.openshift.io", "v1beta1", "kubedeschedulers", "operator.openshift.io/v1"),
    // OpenShift 4.11.
    unverified(24, "snapshot.storage.k8s.io", "v1beta1", "volumesnapshotclasses", "snapshot.storage.k8s.io/v1"),
    unverified(24, "snapshot.storage.k8s.io", "v1beta1", "volumesnapshotcontents", "snapshot.storage.k8s.io/v1"),
    unverified(24, "snapshot.storage.k8s.io", "v1beta1", "volumesnapshots", "snapshot.storage.k8s.io/v1"),
    // OpenShift 4.16: MetalLB's AddressPools became IPAddressPools.
    unverified(29, "metallb.io", "v1alpha1", "addresspools", "metallb.io/v1beta1"),
    unverified(29, "metallb.io", "v1beta1", "addresspools", "metallb.io/v1beta1"),
];
