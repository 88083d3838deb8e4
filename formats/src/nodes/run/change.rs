//! What is written to a node: everything that a step wants of it, as one write over what was read.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use towpath_core::fleet::Name;
use towpath_core::nodes::run::{NodeAct, NodeMark};

use super::pool::{handed_value, is_mark};
use super::{CORDONED, HANDED, MARK, RebootPool};

/// What is to change about a node; what is not named stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeChange {
    pub cordon: Option<bool>,
    pub mark: Option<NodeMark>,
    pub is_handed: Option<bool>,
}

/// The writes to nodes that these acts are, those that open a node first. A note of a cordon that somebody else has taken away goes too:
/// else the next cordon of a person would look like ours.
pub fn node_changes(pool: &RebootPool, acts: &[NodeAct]) -> Vec<(Name, Value)> {
    let mut changes: BTreeMap<&Name, NodeChange> = BTreeMap::new();
    for (name, node) in &pool.nodes {
        if node.has_note && !node.is_cordoned {
            changes.entry(name).or_default().cordon = Some(false);
        }
    }
    for act in acts {
        match act {
            NodeAct::Cordon(name) => changes.entry(name).or_default().cordon = Some(true),
            NodeAct::Uncordon(name) => changes.entry(name).or_default().cordon = Some(false),
            NodeAct::Mark(name, mark) => changes.entry(name).or_default().mark = Some(*mark),
            NodeAct::HandOver(name) => {
                let change = NodeChange {
                    cordon: Some(false),
                    mark: Some(NodeMark::KeepOut),
                    is_handed: Some(true),
                };
                changes.insert(name, change);
            }
            NodeAct::TakeBack(name) => changes.entry(name).or_default().is_handed = Some(false),
            NodeAct::Pause(_) | NodeAct::Evict { .. } => {}
        }
    }
    let mut changes: Vec<(&Name, NodeChange)> = changes.into_iter().collect();
    changes.sort_by_key(|(_, change)| change.cordon != Some(false));
    let patch =
        |(name, change): (&Name, NodeChange)| Some((name.clone(), change.patch(pool, name)?));
    changes.into_iter().filter_map(patch).collect()
}

impl NodeChange {
    /// As a merge patch, which the API takes only if the node is as it was read.
    fn patch(&self, pool: &RebootPool, name: &Name) -> Option<Value> {
        let node = pool.nodes.get(name)?;
        let mut metadata = Map::new();
        metadata.insert("resourceVersion".to_owned(), json!(node.resource_version));
        let mut spec = Map::new();
        if let Some(is_cordoned) = self.cordon {
            let (note, unschedulable) = match is_cordoned {
                true => (json!(pool.place.name), json!(true)),
                // As `kubectl uncordon` leaves it.
                false => (Value::Null, Value::Null),
            };
            metadata.insert("annotations".to_owned(), json!({ CORDONED: note }));
            spec.insert("unschedulable".to_owned(), unschedulable);
        }
        if let Some(is_handed) = self.is_handed {
            let label = match is_handed {
                true => json!(handed_value(&pool.place.name)),
                false => Value::Null,
            };
            metadata.insert("labels".to_owned(), json!({ HANDED: label }));
        }
        if let Some(mark) = self.mark {
            let others = node.taints.iter().filter(|taint| !is_mark(taint)).cloned();
            let effect = match mark {
                NodeMark::None => None,
                NodeMark::Avoid => Some("PreferNoSchedule"),
                NodeMark::KeepOut => Some("NoSchedule"),
            };
            let own = effect.map(|effect| json!({"key": MARK, "effect": effect}));
            let taints: Vec<Value> = others.chain(own).collect();
            spec.insert("taints".to_owned(), json!(taints));
        }
        let mut patch = Map::new();
        patch.insert("metadata".to_owned(), Value::Object(metadata));
        if !spec.is_empty() {
            patch.insert("spec".to_owned(), Value::Object(spec));
        }
        Some(Value::Object(patch))
    }
}
