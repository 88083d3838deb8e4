//! Nodes and MachineConfigPools: which kubelet a node has, which pool updates it, and how many at once.

use std::collections::BTreeSet;
use std::sync::Arc;

use towpath_core::cluster::Fact;
use towpath_core::cluster::health::{NodeState, PoolState};
use towpath_core::cluster::objects::{CONTROL_PLANE_POOL, MachineConfigPool, Node};
use towpath_core::duration::{
    self, ControlPlane, Ground, Machines, MaxUnavailable, Rollout, Shape,
};
use towpath_core::version::{Arch, Minor};

use super::cluster_version::text;
use super::documents::Object;
use super::hosted::node_pool;
use super::pods::{count, room};
use super::{AGAIN, items, placement};
use crate::minors;
use crate::read::{self, FieldName, Reader, Value, shown};

/// A pool, and which nodes are its own.
#[derive(Debug)]
pub(super) struct PoolOfNodes {
    pub(super) pool: MachineConfigPool,
    labels: Vec<(Box<str>, Box<str>)>,
    /// Whether `labels` are all that it asks for.
    is_understood: bool,
    max_unavailable: MaxUnavailable,
}

pub(super) fn pool(reader: &mut Reader, object: &Object) -> Option<PoolOfNodes> {
    let spec = object.node.get("spec");
    let is_paused = match spec.and_then(|spec| spec.get("paused")) {
        None => Some(false),
        Some(node) => reader.flag(node, "`paused`"),
    };
    let selector = spec.and_then(|spec| spec.get("nodeSelector"));
    let expressions = items(reader, selector, "matchExpressions");
    let labels = selector
        .and_then(|selector| selector.get("matchLabels"))
        .map_or_else(Vec::new, pairs);
    let is_understood = expressions.is_empty() && !labels.is_empty();
    let away = spec.and_then(|spec| spec.get("maxUnavailable"));
    let pool = MachineConfigPool {
        name: object.name.clone(),
        is_paused: is_paused?,
    };
    Some(PoolOfNodes {
        pool,
        labels,
        is_understood,
        max_unavailable: max_unavailable(away),
    })
}

/// How a pool is. Conditions that are not there say nothing.
pub(super) fn pool_state(reader: &mut Reader, object: &Object) -> PoolState {
    let (spec, status) = (object.node.get("spec"), object.node.get("status"));
    let paused = spec.and_then(|spec| spec.get("paused"));
    let conditions = items(reader, status, "conditions");
    let condition = |name: &str| conditions.iter().find(|one| text(one, "type") == name);
    let is = |name: &str| condition(name).map(|one| text(one, "status") == "True");
    // Anything but a plain no may be yes.
    let degraded = condition("Degraded").map(|one| match text(one, "status") {
        "False" => None,
        _ => Some(why_degraded(conditions, one)),
    });
    let is_updating = match (is("Updated"), is("Updating")) {
        (Some(true), _) => Some(false),
        (Some(false), _) | (None, Some(true)) => Some(true),
        (None, _) => None,
    };
    PoolState {
        name: object.name.clone(),
        is_paused: paused.is_some_and(|node| node.value == Value::Flag(true)),
        degraded: Fact::from(degraded),
        is_updating: Fact::from(is_updating),
        nodes: count(reader, status, "machineCount"),
        updated_nodes: count(reader, status, "updatedMachineCount"),
        stream: spec
            .and_then(|spec| spec.get("osImageStream"))
            .map(|stream| text(stream, "name").into()),
        max_unavailable: Fact::Known(max_unavailable(
            spec.and_then(|spec| spec.get("maxUnavailable")),
        )),
    }
}

/// `Degraded` itself often says nothing; the conditions that it sums up do.
fn why_degraded(conditions: &[read::Node], degraded: &read::Node) -> Arc<str> {
    let parts = ["RenderDegraded", "NodeDegraded", "BuildDegraded"];
    let is_part =
        |one: &&read::Node| parts.contains(&text(one, "type")) && text(one, "status") == "True";
    let mut said = [degraded]
        .into_iter()
        .chain(conditions.iter().filter(is_part))
        .map(|one| text(one, "message"));
    said.find(|message| !message.is_empty())
        .unwrap_or_default()
        .into()
}

/// How a node is, and what it has room for.
pub(super) fn node_state(reader: &mut Reader, object: &Object, pools: &[PoolOfNodes]) -> NodeState {
    let (spec, status) = (object.node.get("spec"), object.node.get("status"));
    let conditions = items(reader, status, "conditions");
    let ready = conditions.iter().find(|one| text(one, "type") == "Ready");
    let cordoned = spec.and_then(|spec| spec.get("unschedulable"));
    let allocatable = status.and_then(|status| status.get("allocatable"));
    NodeState {
        name: object.name.clone(),
        pool: pool_of(&labels(object), pools),
        is_ready: Fact::from(ready.map(|one| text(one, "status") == "True")),
        is_cordoned: cordoned.is_some_and(|node| node.value == Value::Flag(true)),
        allocatable: Fact::from(allocatable.map(|node| room(reader, Some(node)))),
        labels: super::pods::labels(object.node.get("metadata")),
        taints: placement::taints(reader, spec),
        created_at: placement::created_at(object),
    }
}

/// What cannot be read is taken for the usual one, which is also the most careful.
fn max_unavailable(node: Option<&read::Node>) -> MaxUnavailable {
    let read = node.and_then(|node| match &node.value {
        Value::Whole(count) => u32::try_from(*count)
            .ok()
            .filter(|count| *count > 0)
            .map(MaxUnavailable::Count),
        Value::Text(text) => MaxUnavailable::read(text),
        _ => None,
    });
    read.unwrap_or(MaxUnavailable::Count(1))
}

/// What the cluster looks like, as far as its updates take time for it; none without nodes of a control plane. Where its nodes run, they do not say.
pub(super) fn shape(nodes: &[Node], pools: &[PoolOfNodes]) -> Option<Shape> {
    let count = |pool: &str| {
        let own = nodes
            .iter()
            .filter(|node| matches!(&node.pool, Fact::Known(name) if **name == *pool))
            .count();
        u32::try_from(own).unwrap_or(u32::MAX)
    };
    let machines = Machines::on(Ground::Cloud);
    let workers = pools
        .iter()
        .filter(|one| !one.pool.is_of_control_plane())
        .map(|one| duration::PoolShape {
            name: one.pool.name.to_string(),
            nodes: count(&one.pool.name),
            max_unavailable: one.max_unavailable,
            machines: machines.clone(),
            rollout: if one.pool.is_paused {
                Rollout::Paused
            } else {
                Rollout::Runs
            },
        });
    let control_plane = ControlPlane {
        nodes: count(CONTROL_PLANE_POOL),
        machines: machines.clone(),
    };
    let pools = workers.filter(|pool| pool.nodes > 0).collect();
    (control_plane.nodes > 0).then_some(Shape {
        control_plane,
        pools,
        daemon_sets: None,
    })
}

pub(super) fn node(reader: &mut Reader, object: &Object, pools: &[PoolOfNodes]) -> Node {
    let labels = labels(object);
    let info = object
        .node
        .get("status")
        .and_then(|status| status.get("nodeInfo"));
    let version = info.and_then(|info| info.get("kubeletVersion"));
    let version = version.and_then(|node| Some((node, reader.text(node, "a kubelet's version")?)));
    let kubelet = version.and_then(|(node, text)| {
        let minor = kubelet(text);
        if minor.is_none() {
            let problem = format!("{:?} is not a kubelet's version", shown(text));
            reader.error("bad-version", node, problem, AGAIN);
        }
        minor
    });
    let told = |name: &str| {
        info.and_then(|info| info.get(name))
            .and_then(|node| node.as_text())
    };
    let parts = [
        ("cri-o", told("containerRuntimeVersion").and_then(cri_o)),
        ("RHCOS", told("osImage").and_then(core_os)),
    ];
    for (part, of) in parts {
        if let (Some(info), Some(kubelet), Some(of)) = (info, kubelet, of)
            && of != kubelet
        {
            let problem = format!(
                "the kubelet of node {} is of Kubernetes {kubelet}, and its {part} is of {of}; the older counts",
                object.name
            );
            let remedy = "let its pool finish the update, or repair the node";
            reader.warning("node-parts-differ", info, problem, remedy);
        }
    }
    let others = parts.into_iter().filter_map(|(_, of)| of);
    Node {
        name: object.name.clone(),
        pool: match pool_of(&labels, pools) {
            Fact::Unknown => Fact::from(node_pool(object)),
            known => known,
        },
        kubelet: Fact::from(kubelet.map(|kubelet| others.fold(kubelet, Minor::min))),
    }
}

/// The pool that updates a node: `master` before any other, `worker` after all others. Where we cannot tell, it is unknown.
fn pool_of(labels: &[(Box<str>, Box<str>)], pools: &[PoolOfNodes]) -> Fact<Arc<str>> {
    let matches = |pool: &&PoolOfNodes| pool.labels.iter().all(|label| labels.contains(label));
    let mut candidates: Vec<&PoolOfNodes> = pools.iter().filter(matches).collect();
    candidates.sort_by_key(|pool| match &*pool.pool.name {
        CONTROL_PLANE_POOL => (0, pool.pool.name.clone()),
        "worker" => (2, pool.pool.name.clone()),
        other => (1, Arc::from(other)),
    });
    match candidates.first() {
        Some(pool) if pool.is_understood => Fact::Known(pool.pool.name.clone()),
        _ => Fact::Unknown,
    }
}

/// The architecture of all nodes, if they say it and agree.
pub(super) fn arch<'a>(nodes: impl Iterator<Item = &'a Object>) -> Fact<Arch> {
    let said = nodes.map(|object| {
        let info = object
            .node
            .get("status")
            .and_then(|status| status.get("nodeInfo"));
        match info
            .and_then(|info| info.get("architecture"))
            .map(|node| &node.value)
        {
            Some(Value::Text(arch)) if is_arch(arch) => Some(Arch::new(&**arch)),
            _ => None,
        }
    });
    let said: Option<BTreeSet<Arch>> = said.collect();
    match said
        .map(|arches| arches.into_iter().collect::<Vec<_>>())
        .as_deref()
    {
        Some([one]) => Fact::Known(one.clone()),
        _ => Fact::Unknown,
    }
}

fn is_arch(text: &str) -> bool {
    (1..=16).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// The 1.29 of v1.29.6+aba1e8d.
fn kubelet(text: &str) -> Option<Minor> {
    let mut parts = text.strip_prefix('v')?.splitn(3, '.');
    let minor = format!("{}.{}", parts.next()?, parts.next()?);
    Minor::parse(&minor)
}

/// The Kubernetes of cri-o://1.29.6-5.rhaos4.16.git940ae8b.el9, which is versioned with it. Another runtime says nothing.
fn cri_o(text: &str) -> Option<Minor> {
    let mut parts = text.strip_prefix("cri-o://")?.splitn(3, '.');
    Minor::parse(&format!("{}.{}", parts.next()?, parts.next()?))
}

/// The Kubernetes of the OpenShift that Red Hat Enterprise Linux CoreOS 416.94.202407251849-0 was made for. Later ones have the
/// version of RHEL instead (9.6.20250523-0), which says nothing.
fn core_os(text: &str) -> Option<Minor> {
    let build = text.strip_prefix("Red Hat Enterprise Linux CoreOS ")?;
    let build = build.split('.').next()?;
    let minor = build.strip_prefix('4').filter(|minor| !minor.is_empty())?;
    let minor = Minor::parse(&format!("4.{minor}"))?;
    Some(minors::built_in().kubernetes(minor)?.minor)
}

fn labels(object: &Object) -> Vec<(Box<str>, Box<str>)> {
    let metadata = object.node.get("metadata");
    let labels = metadata.and_then(|metadata| metadata.get("labels"));
    labels.map_or_else(Vec::new, pairs)
}

fn pairs(node: &read::Node) -> Vec<(Box<str>, Box<str>)> {
    let pair =
        |(key, value): &(FieldName, read::Node)| Some((key.text.clone(), value.as_text()?.into()));
    node.fields().iter().filter_map(pair).collect()
}
