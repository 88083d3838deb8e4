//! Whom a risk names: everybody, platforms, an architecture, or a condition that is no class of ours.

use std::collections::BTreeSet;

use towpath_core::cluster::Platform;
use towpath_core::version::Arch;

/// The clusters that a risk is about, as far as its file says it in a way that outcomes are told apart by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NamedClass {
    Everybody,
    Platforms(BTreeSet<Platform>),
    Arch(Arch),
    /// Clusters with a condition that no report tells: IPsec, an operator, a network plug-in.
    Condition,
}

/// Azure Red Hat OpenShift: clusters that have this operator are on Azure.
const ON_AZURE: &str = "name=\"aro\"";
const PROVIDER: &str = "cluster_infrastructure_provider{";
const ARCH: &str = "label_kubernetes_io_arch=\"";

impl NamedClass {
    /// From the text of a block's file.
    pub(super) fn of_file(text: &str) -> Self {
        if !text.contains("type: PromQL") {
            return Self::Everybody;
        }
        let platforms = platforms(text);
        if !platforms.is_empty() {
            return Self::Platforms(platforms);
        }
        let arch = text
            .split(ARCH)
            .nth(1)
            .and_then(|rest| rest.split('"').next());
        arch.map_or(Self::Condition, |arch| Self::Arch(Arch::new(arch)))
    }

    /// Of a file that is gone: only the kinds of its rules are known.
    pub(super) fn of_kinds(kinds: &str) -> Self {
        match kinds.contains("PromQL") {
            true => Self::Condition,
            false => Self::Everybody,
        }
    }
}

/// Those that the query asks for: `type="AWS"`, `type=~"VSphere|None"`. What it counts as zero has no type, or `type!~`.
fn platforms(text: &str) -> BTreeSet<Platform> {
    let selectors = text.split(PROVIDER).skip(1);
    let selectors = selectors.filter_map(|rest| rest.split('}').next());
    let names = selectors.filter_map(|labels| {
        let value = labels
            .split_once("type=~\"")
            .or_else(|| labels.split_once("type=\""));
        value?.1.split('"').next()
    });
    let named = names
        .flat_map(|names| names.split('|'))
        .filter_map(Platform::new);
    let on_azure = text.contains(ON_AZURE).then(|| Platform::new("Azure"));
    named.chain(on_azure.flatten()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(query: &str) -> NamedClass {
        NamedClass::of_file(&format!(
            "matchingRules:\n- type: PromQL\n  promql:\n    promql: |\n      {query}\n"
        ))
    }

    fn platforms(names: &[&str]) -> NamedClass {
        NamedClass::Platforms(
            names
                .iter()
                .filter_map(|name| Platform::new(name))
                .collect(),
        )
    }

    #[test]
    fn a_query_names_platforms_or_an_architecture_or_neither() {
        let one = "group by (type) (cluster_infrastructure_provider{_id=\"\",type=\"AWS\"}) or 0 * group(cluster_infrastructure_provider{_id=\"\"})";
        assert_eq!(of(one), platforms(&["AWS"]));
        let several = "max(cluster_infrastructure_provider{_id=\"\",type=~\"OpenStack|oVirt|VSphere\"} or 0 * cluster_infrastructure_provider{type!~\"None\"})";
        assert_eq!(of(several), platforms(&["OpenStack", "VSphere", "oVirt"]));
        let aro = "group(cluster_operator_conditions{_id=\"\",name=\"aro\"}) or 0 * group(cluster_operator_conditions{_id=\"\"})";
        assert_eq!(of(aro), platforms(&["Azure"]));
        let arch = "group(kube_node_labels{_id=\"\",label_kubernetes_io_arch=\"s390x\"})";
        assert_eq!(of(arch), NamedClass::Arch(Arch::new("s390x")));
        assert_eq!(of("max(cluster_proxy_enabled)"), NamedClass::Condition);
    }

    #[test]
    fn a_risk_without_a_query_is_for_everybody() {
        assert_eq!(
            NamedClass::of_file("matchingRules:\n- type: Always\n"),
            NamedClass::Everybody
        );
        assert_eq!(NamedClass::of_kinds("Always"), NamedClass::Everybody);
        assert_eq!(NamedClass::of_kinds("Always,PromQL"), NamedClass::Condition);
    }
}
