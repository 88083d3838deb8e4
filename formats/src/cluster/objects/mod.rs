//! From a cluster's own objects, as `oc get -o yaml` prints them, to facts about the cluster.
//!
//! It takes any number of files in YAML or JSON, each with one object, a list, or several
//! documents. It ignores kinds that say nothing about updates. Kinds that were not given are
//! unknown. An object that cannot be understood fails the whole load, because a missing object
//! could be a missing reason.

mod alerts;
mod api_usage;
mod cluster_version;
mod daemon_sets;
mod documents;
mod hosted;
mod kind;
pub(crate) mod known_gates;
mod lifecycles;
mod must_gather;
mod nodes;
mod operators;
mod placement;
mod pods;
mod quantity;
mod single;
mod standing;
mod waiting;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use towpath_core::agent::ClusterStanding;
use towpath_core::cluster::health::ClusterHealth;
use towpath_core::cluster::objects::{Facts, ObjectKind, Topology};
use towpath_core::cluster::{ClusterId, Fact};
use towpath_core::duration::Shape;
use towpath_core::finding::{Finding, Place};
use towpath_core::graph::ChannelName;
use towpath_core::nodes::DaemonSetFacts;
use towpath_core::version::Arch;

pub(in crate::cluster) use api_usage::kubernetes;
pub use api_usage::{AddedRemoval, ApiAdditions};
pub use kind::Kind;
pub(crate) use single::{budgets_of, selector_of};
pub use standing::OPT_IN;

use crate::SourceFile;
use crate::read::{Node, Reader, Value};
use documents::{FoundObjects, Object};

/// The most objects of a cluster.
pub const MAX_OBJECTS: usize = 200_000;

/// What a cluster's objects say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterObjects {
    pub id: Fact<ClusterId>,
    pub channel: Fact<ChannelName>,
    /// What is known of it.
    pub facts: Facts,
    /// How it stands: what the agent looks at before it starts anything.
    pub standing: ClusterStanding,
    /// What it looks like, if its nodes and pools say so.
    pub shape: Option<Shape>,
    pub daemon_sets: Fact<Vec<DaemonSetFacts>>,
    /// The architecture of all its nodes, if it is one.
    pub arch: Fact<Arch>,
    /// How many objects of each kind there are.
    pub counts: BTreeMap<Kind, usize>,
    /// How many objects say nothing about updates.
    pub ignored: usize,
}

/// Whether a file of a directory may hold objects.
pub fn is_part(path: &str) -> bool {
    let is_hidden = path.split('/').any(|part| part.starts_with('.'));
    let is_wanted = [".yaml", ".yml", ".json", "/"]
        .iter()
        .any(|end| path.ends_with(end));
    is_wanted && !is_hidden && must_gather::may_hold_objects(path)
}

/// Reads all files. The objects were printed at that time. Either what they say, with warnings, or everything that is wrong with them.
pub fn read(
    files: &[SourceFile],
    now: Timestamp,
) -> Result<(ClusterObjects, Vec<Finding>), Vec<Finding>> {
    read_with(files, now, &ApiAdditions::default())
}

/// The same, with what people and audit logs add to the cluster's counts of API requests.
pub fn read_with(
    files: &[SourceFile],
    now: Timestamp,
    additions: &ApiAdditions,
) -> Result<(ClusterObjects, Vec<Finding>), Vec<Finding>> {
    let mut found = documents::read(files);
    let mut findings = std::mem::take(&mut found.findings);
    let of = |kind: Kind| {
        found
            .objects
            .iter()
            .filter(move |object| object.kind == kind)
    };
    let mut all = ObjectReading {
        findings: Vec::new(),
    };
    let version = of(Kind::ClusterVersion)
        .next()
        .map(|object| all.of(object, cluster_version::read));
    let own_hosted = hosted::own(&found);
    // Without a ClusterVersion, the HostedCluster says which releases it has had.
    let version =
        version.or_else(|| own_hosted.map(|object| all.of(object, cluster_version::read_hosted)));
    let version = version.unwrap_or_default();
    let topology = hosted::topology(&found, own_hosted);
    let node_pools = hosted::node_pools(&mut all, &found, own_hosted);
    let are_its_nodes = own_hosted.is_none() || hosted::are_its_nodes(&mut all, &found);
    let standing = of(Kind::ClusterVersion)
        .next()
        .map(|object| all.of(object, standing::read))
        .unwrap_or_default();
    let by_operators: Vec<_> = of(Kind::ClusterOperator)
        .filter_map(|object| all.of(object, cluster_version::objection_of_operator))
        .collect();
    let operator_failures: Vec<_> = of(Kind::ClusterOperator)
        .flat_map(|object| all.of(object, cluster_version::troubles_of_operator))
        .collect();
    let pools: Vec<_> = of(Kind::MachineConfigPool)
        .filter_map(|object| all.of(object, nodes::pool))
        .collect();
    let nodes: Vec<_> = of(Kind::Node)
        .map(|object| all.of(object, |reader, object| nodes::node(reader, object, &pools)))
        .collect();
    let operators = of(Kind::ClusterServiceVersion)
        .map(|object| all.of(object, operators::read))
        .collect();
    let apis: Vec<_> = of(Kind::ApiRequestCount)
        .filter_map(|object| {
            all.of(object, |reader, object| {
                api_usage::read(reader, object, now)
            })
        })
        .collect();
    let mut config_map = |namespace: &str, name: &str| {
        let mut wanted = of(Kind::ConfigMap)
            .filter(|object| (&*object.namespace, &*object.name) == (namespace, name));
        Fact::from(wanted.next().map(|object| all.of(object, data)))
    };
    let gates = config_map("openshift-config-managed", "admin-gates");
    let acks = config_map("openshift-config", "admin-acks");
    let health = health(&mut all, &found, &pools, now);
    let given = |kind: Kind| found.given.contains(&kind);
    let daemon_sets: Vec<DaemonSetFacts> = of(Kind::DaemonSet)
        .map(|object| all.of(object, daemon_sets::read))
        .collect();
    let shape = nodes::shape(&nodes, &pools).map(|shape| Shape {
        daemon_sets: given(Kind::DaemonSet).then(|| daemon_sets::of_payload(&daemon_sets)),
        ..shape
    });
    let daemon_sets = Fact::from(given(Kind::DaemonSet).then_some(daemon_sets));
    let arch = nodes::arch(of(Kind::Node));
    let facts = Facts {
        history: version.history,
        objections: cluster_version::own(version.objections, &by_operators),
        operator_objections: Fact::from(given(Kind::ClusterOperator).then_some(by_operators)),
        failures: cluster_version::own(version.failures, &operator_failures),
        operator_failures: Fact::from(given(Kind::ClusterOperator).then_some(operator_failures)),
        nodes: Fact::from((given(Kind::Node) && are_its_nodes).then_some(nodes)),
        topology: topology.clone(),
        node_pools,
        // A cluster whose control plane is hosted has none.
        pools: Fact::from(
            (given(Kind::MachineConfigPool) || topology == Fact::Known(Topology::Hosted))
                .then(|| pools.into_iter().map(|pool| pool.pool).collect()),
        ),
        operators: Fact::from(
            given(Kind::ClusterServiceVersion).then(|| operators::once(operators)),
        ),
        apis: Fact::from(api_usage::with_additions(
            given(Kind::ApiRequestCount).then_some(apis),
            additions,
        )),
        gates,
        acks: match acks {
            Fact::Known(acks) => Fact::Known(acknowledged(acks)),
            Fact::Unknown => Fact::Unknown,
        },
        health,
    };
    findings.append(&mut all.findings);
    findings.sort();
    findings.dedup();
    if findings.iter().any(Finding::is_error) {
        return Err(findings);
    }
    let mut counts = BTreeMap::new();
    found
        .objects
        .iter()
        .for_each(|object| *counts.entry(object.kind).or_default() += 1);
    let (id, channel, ignored) = (version.id, version.channel, found.ignored);
    Ok((
        ClusterObjects {
            id,
            channel,
            facts,
            standing,
            shape,
            daemon_sets,
            arch,
            counts,
            ignored,
        },
        findings,
    ))
}

/// What only `ready` asks for.
fn health(
    all: &mut ObjectReading,
    found: &FoundObjects,
    pools: &[nodes::PoolOfNodes],
    now: Timestamp,
) -> ClusterHealth {
    let of = |kind: Kind| found.objects.iter().filter(move |one| one.kind == kind);
    let given = |kind: Kind| found.given.contains(&kind);
    let pool_states = of(Kind::MachineConfigPool)
        .map(|object| all.of(object, nodes::pool_state))
        .collect();
    let node_states = of(Kind::Node)
        .map(|object| {
            all.of(object, |reader, object| {
                nodes::node_state(reader, object, pools)
            })
        })
        .collect();
    let volumes = of(Kind::PersistentVolume)
        .map(|object| all.of(object, placement::volume))
        .collect();
    let pods = of(Kind::Pod)
        .map(|object| all.of(object, pods::pod))
        .collect();
    let budgets = of(Kind::PodDisruptionBudget)
        .map(|object| all.of(object, pods::budget))
        .collect();
    let plans = of(Kind::InstallPlan)
        .map(|object| all.of(object, waiting::install_plan))
        .collect();
    let network = of(Kind::Network)
        .find(|object| &*object.name == "cluster")
        .and_then(waiting::network);
    let runc_configs = of(Kind::ContainerRuntimeConfig)
        .filter(|object| all.of(object, waiting::config_sets_runc))
        .map(|object| object.name.clone())
        .collect();
    let runc_machine_configs = of(Kind::MachineConfig)
        .filter(|object| all.of(object, waiting::machine_config_sets_runc))
        .map(|object| object.name.clone())
        .collect();
    let default_stream = of(Kind::OsImageStream)
        .find(|object| &*object.name == "cluster")
        .and_then(waiting::default_stream);
    let alerts = found.alerts.as_ref();
    let alerts = alerts.map(|(place, node)| all.at(place, |reader| alerts::read(reader, node)));
    ClusterHealth {
        pools: Fact::from(given(Kind::MachineConfigPool).then_some(pool_states)),
        nodes: Fact::from(given(Kind::Node).then_some(node_states)),
        pods: Fact::from(given(Kind::Pod).then_some(pods)),
        budgets: Fact::from(given(Kind::PodDisruptionBudget).then_some(budgets)),
        volumes: Fact::from(given(Kind::PersistentVolume).then_some(volumes)),
        install_plans: Fact::from(given(Kind::InstallPlan).then(|| waiting::waiting(plans))),
        network: Fact::from(network),
        alerts: Fact::from(alerts),
        runc_configs: Fact::from(given(Kind::ContainerRuntimeConfig).then_some(runc_configs)),
        runc_machine_configs: Fact::from(
            given(Kind::MachineConfig).then_some(runc_machine_configs),
        ),
        default_stream: Fact::from(default_stream),
        ended_operators: ended_operators(all, found, now),
        partly: match found.is_must_gather {
            true => PARTS_OF_A_MUST_GATHER.into(),
            false => BTreeSet::new(),
        },
        known_gates: known_gates::read(),
    }
}

/// What a must-gather has of some namespaces, and not of all.
const PARTS_OF_A_MUST_GATHER: [ObjectKind; 4] = [
    ObjectKind::ClusterServiceVersion,
    ObjectKind::InstallPlan,
    ObjectKind::Pod,
    ObjectKind::PodDisruptionBudget,
];

fn ended_operators(
    all: &mut ObjectReading,
    found: &FoundObjects,
    now: Timestamp,
) -> Fact<Vec<towpath_core::cluster::health::EndedOperator>> {
    if found.lifecycles.is_empty() {
        return Fact::Unknown;
    }
    let mut days = lifecycles::LastDays::new();
    for (place, node) in &found.lifecycles {
        all.at(place, |reader| lifecycles::read(reader, node, &mut days));
    }
    let operators = found.objects.iter();
    let operators = operators.filter(|object| object.kind == Kind::ClusterServiceVersion);
    let installed: Vec<_> = operators
        .filter_map(|object| all.of(object, operators::installed))
        .collect();
    Fact::Known(lifecycles::ended(&installed, &days, now))
}

/// Reads objects one after the other, and keeps what is wrong with them.
struct ObjectReading {
    findings: Vec<Finding>,
}

impl ObjectReading {
    fn of<T>(&mut self, object: &Object, read: impl FnOnce(&mut Reader, &Object) -> T) -> T {
        self.at(&object.place, |reader| read(reader, object))
    }

    fn at<T>(&mut self, place: &Place, read: impl FnOnce(&mut Reader) -> T) -> T {
        let mut reader = Reader::new(place);
        let value = read(&mut reader);
        self.findings.append(&mut reader.findings);
        value
    }
}

/// The entries of a ConfigMap.
fn data(reader: &mut Reader, object: &Object) -> BTreeMap<Arc<str>, Arc<str>> {
    let Some(node) = object.node.get("data") else {
        return BTreeMap::new();
    };
    let Value::Map(fields) = &node.value else {
        reader.error(
            "wrong-kind",
            node,
            format!("`data` is a mapping, and this is {}", node.kind()),
            AGAIN,
        );
        return BTreeMap::new();
    };
    let entries = fields
        .iter()
        .filter_map(|(key, value)| Some((Arc::from(&*key.text), words(reader, value)?)));
    entries.collect()
}

/// What has been acknowledged: `"true"`, and nothing else.
fn acknowledged(acks: BTreeMap<Arc<str>, Arc<str>>) -> BTreeSet<Arc<str>> {
    acks.into_iter()
        .filter(|(_, value)| &**value == "true")
        .map(|(gate, _)| gate)
        .collect()
}

/// A text of any length; nothing is an empty one.
fn words(reader: &mut Reader, node: &Node) -> Option<Arc<str>> {
    match &node.value {
        Value::Text(text) => Some(Arc::from(&**text)),
        Value::Nothing => Some("".into()),
        _ => {
            reader.error(
                "wrong-kind",
                node,
                format!("a text belongs here, and this is {}", node.kind()),
                AGAIN,
            );
            None
        }
    }
}

/// The items of a list; none if there is no such field.
fn items<'n>(reader: &mut Reader, parent: Option<&'n Node>, name: &str) -> &'n [Node] {
    match parent.and_then(|parent| parent.get(name)) {
        None => &[],
        Some(node) => reader.list(node, &format!("`{name}`"), MAX_OBJECTS),
    }
}

/// What helps against objects that are not as a cluster prints them.
const AGAIN: &str = "print the object again, with `oc get -o yaml`";
