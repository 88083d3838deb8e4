//! From a cluster's own objects, as `oc get -o yaml` prints them, to facts about the cluster.
//!
//! It takes any number of files in YAML or JSON, each with one object, a list, or several
//! documents. It ignores kinds that say nothing about updates. Kinds that were not given are
//! unknown. An object that cannot be understood fails the whole load, because a missing object
//! could be a missing reason.

mod api_usage;
mod cluster_version;
mod documents;
mod nodes;
mod operators;
mod standing;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use towpath_core::agent::ClusterStanding;
use towpath_core::cluster::objects::Facts;
use towpath_core::cluster::{ClusterId, Fact};
use towpath_core::duration::Shape;
use towpath_core::finding::Finding;
use towpath_core::graph::ChannelName;
use towpath_core::version::Arch;

pub use standing::OPT_IN;

use crate::SourceFile;
use crate::read::{Node, Reader, Value};
use documents::Object;

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
    /// The architecture of all its nodes, if it is one.
    pub arch: Fact<Arch>,
    /// How many objects of each kind there are.
    pub counts: BTreeMap<Kind, usize>,
    /// How many objects say nothing about updates.
    pub ignored: usize,
}

/// Kinds of objects that say something about updates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    ClusterVersion,
    /// A part of the platform.
    ClusterOperator,
    Node,
    MachineConfigPool,
    ClusterServiceVersion,
    ApiRequestCount,
    /// Gates or acknowledgements, or something else.
    ConfigMap,
}

/// Whether a file of a directory may hold objects.
pub fn is_part(path: &str) -> bool {
    let is_hidden = path.split('/').any(|part| part.starts_with('.'));
    let is_wanted = [".yaml", ".yml", ".json", "/"]
        .iter()
        .any(|end| path.ends_with(end));
    is_wanted && !is_hidden
}

/// Reads all files. The objects were printed at that time. Either what they say, with warnings, or everything that is wrong with them.
pub fn read(
    files: &[SourceFile],
    now: Timestamp,
) -> Result<(ClusterObjects, Vec<Finding>), Vec<Finding>> {
    let found = documents::read(files);
    let mut findings = found.findings;
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
    let version = version.unwrap_or_default();
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
    let given = |kind: Kind| found.given.contains(&kind);
    let shape = nodes::shape(&nodes, &pools);
    let arch = nodes::arch(of(Kind::Node));
    let facts = Facts {
        history: version.history,
        objections: cluster_version::own(version.objections, &by_operators),
        operator_objections: Fact::from(given(Kind::ClusterOperator).then_some(by_operators)),
        failures: cluster_version::own(version.failures, &operator_failures),
        operator_failures: Fact::from(given(Kind::ClusterOperator).then_some(operator_failures)),
        nodes: Fact::from(given(Kind::Node).then_some(nodes)),
        pools: Fact::from(
            given(Kind::MachineConfigPool)
                .then(|| pools.into_iter().map(|pool| pool.pool).collect()),
        ),
        operators: Fact::from(
            given(Kind::ClusterServiceVersion).then(|| operators::once(operators)),
        ),
        apis: Fact::from(given(Kind::ApiRequestCount).then_some(apis)),
        gates,
        acks: match acks {
            Fact::Known(acks) => Fact::Known(acknowledged(acks)),
            Fact::Unknown => Fact::Unknown,
        },
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
            arch,
            counts,
            ignored,
        },
        findings,
    ))
}

/// Reads objects one after the other, and keeps what is wrong with them.
struct ObjectReading {
    findings: Vec<Finding>,
}

impl ObjectReading {
    fn of<T>(&mut self, object: &Object, read: impl FnOnce(&mut Reader, &Object) -> T) -> T {
        let mut reader = Reader::new(&object.place);
        let value = read(&mut reader, object);
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

impl Kind {
    pub const ALL: [Self; 7] = [
        Self::ClusterVersion,
        Self::ClusterOperator,
        Self::Node,
        Self::MachineConfigPool,
        Self::ClusterServiceVersion,
        Self::ApiRequestCount,
        Self::ConfigMap,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClusterVersion => "ClusterVersion",
            Self::ClusterOperator => "ClusterOperator",
            Self::Node => "Node",
            Self::MachineConfigPool => "MachineConfigPool",
            Self::ClusterServiceVersion => "ClusterServiceVersion",
            Self::ApiRequestCount => "APIRequestCount",
            Self::ConfigMap => "ConfigMap",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}
