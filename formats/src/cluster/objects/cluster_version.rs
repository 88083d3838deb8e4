//! ClusterVersion and ClusterOperators: the cluster's version, and who says that its minor version
//! must not change.

use towpath_core::cluster::objects::{HistoryEntry, Objection, Progress};
use towpath_core::cluster::{ClusterId, Fact};
use towpath_core::graph::ChannelName;
use towpath_core::version::Version;

use super::documents::Object;
use super::{AGAIN, items};
use crate::read::{Node, Reader, shown};

#[derive(Debug, Default)]
pub(super) struct OfVersion {
    pub(super) id: Fact<ClusterId>,
    pub(super) channel: Fact<ChannelName>,
    pub(super) history: Fact<Vec<HistoryEntry>>,
    pub(super) objections: Fact<Vec<Objection>>,
    pub(super) failures: Fact<Vec<Objection>>,
}

pub(super) fn read(reader: &mut Reader, object: &Object) -> OfVersion {
    let id = object
        .node
        .get("spec")
        .and_then(|spec| spec.get("clusterID"))
        .and_then(|id| reader.text(id, "an id"));
    let status = object.node.get("status");
    let given = |name: &str| status.and_then(|status| status.get(name)).is_some();
    OfVersion {
        id: Fact::from(id.and_then(ClusterId::new)),
        channel: Fact::from(
            object
                .node
                .get("spec")
                .and_then(|spec| ChannelName::new(text(spec, "channel"))),
        ),
        history: Fact::from(given("history").then(|| history(reader, status))),
        objections: Fact::from(given("conditions").then(|| {
            objection(reader, object, "ClusterVersion")
                .into_iter()
                .collect()
        })),
        failures: Fact::from(given("conditions").then(|| {
            let said = [("Failing", "False", "ClusterVersion is failing")];
            troubles(reader, object, &said)
        })),
    }
}

/// What a HostedCluster says about its cluster. Whether something objects is for the cluster itself to say.
pub(super) fn read_hosted(reader: &mut Reader, object: &Object) -> OfVersion {
    let (spec, status) = (object.node.get("spec"), object.node.get("status"));
    let id = spec
        .and_then(|spec| spec.get("clusterID"))
        .and_then(|id| reader.text(id, "an id"));
    let version = status.and_then(|status| status.get("version"));
    let has_history = version.is_some_and(|version| version.get("history").is_some());
    OfVersion {
        id: Fact::from(id.and_then(ClusterId::new)),
        channel: Fact::from(spec.and_then(|spec| ChannelName::new(text(spec, "channel")))),
        history: Fact::from(has_history.then(|| history(reader, version))),
        objections: Fact::Unknown,
        failures: Fact::Unknown,
    }
}

/// The agent's own ClusterOperator. It repeats what the rules say, so it is no reason of its own.
const OURS: &str = "towpath";

pub(super) fn objection_of_operator(reader: &mut Reader, object: &Object) -> Option<Objection> {
    if &*object.name == OURS {
        return None;
    }
    objection(reader, object, &format!("ClusterOperator {}", object.name))
}

/// What a part of the platform says is wrong with it.
pub(super) fn troubles_of_operator(reader: &mut Reader, object: &Object) -> Vec<Objection> {
    let name = &object.name;
    if &**name == OURS {
        return Vec::new();
    }
    let said = [
        (
            "Degraded",
            "False",
            &*format!("ClusterOperator {name} is degraded"),
        ),
        (
            "Available",
            "True",
            &*format!("ClusterOperator {name} is not available"),
        ),
    ];
    troubles(reader, object, &said)
}

/// What the ClusterVersion says on its own account. It repeats those of its operators; where they speak for themselves, it need not.
pub(super) fn own(
    by_version: Fact<Vec<Objection>>,
    by_operators: &[Objection],
) -> Fact<Vec<Objection>> {
    let repeats = |objection: &Objection| {
        [
            "Cluster operator ",
            "Cluster operators ",
            "Multiple cluster operators ",
        ]
        .iter()
        .any(|start| objection.message.starts_with(start))
    };
    match by_version {
        Fact::Unknown => Fact::Unknown,
        Fact::Known(mut objections) => {
            let of_ours = format!("Cluster operator {OURS} ");
            objections.retain(|objection| {
                let is_told = !by_operators.is_empty() && repeats(objection);
                !is_told && !objection.message.starts_with(&of_ours)
            });
            Fact::Known(objections)
        }
    }
}

/// The updates back to the last that completed; what was before does not matter any more.
fn history(reader: &mut Reader, status: Option<&Node>) -> Vec<HistoryEntry> {
    let mut history = Vec::new();
    for node in items(reader, status, "history") {
        let Some(entry) = entry(reader, node) else {
            break;
        };
        let progress = entry.progress;
        history.push(entry);
        if progress == Progress::Completed {
            break;
        }
    }
    history
}

fn entry(reader: &mut Reader, node: &Node) -> Option<HistoryEntry> {
    let field = |reader: &mut Reader, name: &str| match node.get(name) {
        Some(value) => reader.text(value, name).map(str::to_owned),
        None => {
            reader.error(
                "missing-field",
                node,
                format!("an update of the history has no `{name}`"),
                AGAIN,
            );
            None
        }
    };
    let (state, version) = (field(reader, "state")?, field(reader, "version")?);
    let progress = match state.as_str() {
        "Completed" => Progress::Completed,
        "Partial" => Progress::Partial,
        other => {
            let problem = format!(
                "an update of the history is Completed or Partial, and not {:?}",
                shown(other)
            );
            reader.error("bad-state", node, problem, AGAIN);
            return None;
        }
    };
    match version.parse::<Version>() {
        Ok(version) => Some(HistoryEntry { version, progress }),
        Err(problem) => {
            reader.error("bad-version", node, problem.to_string(), AGAIN);
            None
        }
    }
}

/// Absent means upgradeable; anything but `True` does not.
fn objection(reader: &mut Reader, object: &Object, by: &str) -> Option<Objection> {
    unless(reader, object, ("Upgradeable", "True", by))
}

/// Conditions, each with the status that is good and what it means that it has another.
fn troubles(reader: &mut Reader, object: &Object, said: &[(&str, &str, &str)]) -> Vec<Objection> {
    said.iter()
        .filter_map(|condition| unless(reader, object, *condition))
        .collect()
}

/// What a condition says unless its status is the good one. Absent is good; unknown is not.
fn unless(
    reader: &mut Reader,
    object: &Object,
    (name, good, by): (&str, &str, &str),
) -> Option<Objection> {
    let conditions = items(reader, object.node.get("status"), "conditions");
    let condition = conditions
        .iter()
        .find(|condition| text(condition, "type") == name)?;
    let reason = match (text(condition, "status"), text(condition, "reason")) {
        (status, _) if status == good => return None,
        ("True" | "False", "") => "NoReason".to_owned(),
        ("True" | "False", reason) => reason.to_owned(),
        (_, reason) => format!("Unknown {reason}").trim().to_owned(),
    };
    Some(Objection {
        by: by.into(),
        reason: reason.into(),
        message: text(condition, "message").into(),
    })
}

/// A field that is a text; empty if it is anything else.
pub(super) fn text<'n>(node: &'n Node, name: &str) -> &'n str {
    node.get(name).and_then(Node::as_text).unwrap_or_default()
}
