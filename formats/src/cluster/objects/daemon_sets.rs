//! DaemonSets: how their pods are replaced, and by whom they are set.

use towpath_core::cluster::Fact;
use towpath_core::cluster::health::Amount;
use towpath_core::duration::{DaemonSet, MaxUnavailable};
use towpath_core::nodes::{DaemonSetFacts, UpdateStrategy};

use super::cluster_version::text;
use super::documents::Object;
use super::items;
use super::pods::{amount, count, owner};
use crate::daemon_sets::WAVES;
use crate::read::{Node, Reader};

pub(super) fn read(reader: &mut Reader, object: &Object) -> DaemonSetFacts {
    let node = &object.node;
    let (metadata, spec, status) = (node.get("metadata"), node.get("spec"), node.get("status"));
    let controller = owner(reader, metadata).map(|(kind, name)| format!("{kind} {name}").into());
    let pod = spec
        .and_then(|spec| spec.get("template"))
        .and_then(|template| template.get("spec"));
    let annotations = metadata.and_then(|metadata| metadata.get("annotations"));
    let waves = annotations.and_then(|all| all.get(WAVES));
    let mut number = |of: Option<&Node>, name: &str| match count(reader, of, name) {
        Fact::Known(number) => u32::try_from(number).unwrap_or(u32::MAX),
        // The API leaves out zeros.
        Fact::Unknown => 0,
    };
    let (desired, updated, unavailable) = (
        number(status, "desiredNumberScheduled"),
        number(status, "updatedNumberScheduled"),
        number(status, "numberUnavailable"),
    );
    let min_ready_seconds = number(spec, "minReadySeconds");
    DaemonSetFacts {
        namespace: object.namespace.clone(),
        name: object.name.clone(),
        owner: DaemonSetFacts::owner(&object.namespace, controller),
        strategy: strategy(reader, spec),
        desired,
        updated,
        unavailable,
        min_ready_seconds,
        host_ports: host_ports(reader, pod),
        pulled_always: pulled_always(reader, pod),
        in_waves: waves.and_then(Node::as_text) == Some("true"),
    }
}

fn strategy(reader: &mut Reader, spec: Option<&Node>) -> UpdateStrategy {
    let strategy = spec.and_then(|spec| spec.get("updateStrategy"));
    if strategy.is_some_and(|strategy| text(strategy, "type") == "OnDelete") {
        return UpdateStrategy::OnDelete;
    }
    let rolling = strategy.and_then(|strategy| strategy.get("rollingUpdate"));
    let given = |name: &str| rolling.and_then(|rolling| rolling.given(name));
    let mut read = |node: Option<&Node>| at_once(amount(reader, node?)?);
    UpdateStrategy::Rolling {
        // One, where nobody says otherwise.
        max_unavailable: match given("maxUnavailable") {
            None => Some(MaxUnavailable::Count(1)),
            given => read(given),
        },
        max_surge: read(given("maxSurge")),
    }
}

/// None of zero: nothing at once.
fn at_once(amount: Amount) -> Option<MaxUnavailable> {
    let whole = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    match amount {
        Amount::Count(0) | Amount::Percent(0) => None,
        Amount::Count(count) => Some(MaxUnavailable::Count(whole(count))),
        Amount::Percent(percent) => Some(MaxUnavailable::Percent(whole(percent.min(100)))),
    }
}

fn host_ports(reader: &mut Reader, pod: Option<&Node>) -> Vec<u32> {
    let mut ports = Vec::new();
    for container in items(reader, pod, "containers") {
        for port in items(reader, Some(container), "ports") {
            if let Fact::Known(port @ 1..) = count(reader, Some(port), "hostPort") {
                ports.push(u32::try_from(port).unwrap_or(u32::MAX));
            }
        }
    }
    ports.sort_unstable();
    ports.dedup();
    ports
}

fn pulled_always(reader: &mut Reader, pod: Option<&Node>) -> Vec<towpath_core::fleet::Name> {
    let containers = ["initContainers", "containers"].map(|name| items(reader, pod, name));
    let containers = containers.into_iter().flatten();
    let always = containers.filter(|one| text(one, "imagePullPolicy") == "Always");
    let mut images: Vec<_> = always.map(|one| text(one, "image").into()).collect();
    images.sort();
    images.dedup();
    images
}

/// Those that an update of the cluster rolls out, as the duration model has them. What waits for deletes is up to its operator.
pub(super) fn of_payload(sets: &[DaemonSetFacts]) -> Vec<DaemonSet> {
    let own = sets.iter().filter(|set| set.is_of_payload());
    let rolling = own.filter_map(|set| {
        Some(DaemonSet {
            name: set.full_name().to_string(),
            max_unavailable: set.at_once()?,
            nodes: Some(set.desired),
            // Whatever lies in one namespace is one operator's.
            operator: Some(set.namespace.to_string()),
        })
    });
    rolling.collect()
}
