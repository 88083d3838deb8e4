//! What puts everything back: when a run stops, ends, or is removed in the middle.

use super::view::{NodeMark, NodeUpdate, RebootView, RebootedNode};
use super::{NodeAct, RebootRecord};

/// Undoes a run, at whatever step it is. Nodes with which the machine-config operator has begun are left to it until they are back.
/// It is asked again until there is nothing to do and no node is out. Without a record nobody knows whether the pool was paused
/// before, so it stays as it is.
pub fn undo_step(view: &RebootView, record: Option<&RebootRecord>) -> Vec<NodeAct> {
    let acts = let_go(view);
    let is_whole = acts.is_empty() && !view.nodes.iter().any(RebootedNode::is_out);
    match record {
        // Only now: before, the operator would take nodes in an order of its own while others are out.
        Some(record) if is_whole && view.is_paused != record.was_paused => {
            vec![NodeAct::Pause(record.was_paused)]
        }
        _ => acts,
    }
}

/// Lets go of every node that the operator has not begun with, and of those that are back.
pub(super) fn let_go(view: &RebootView) -> Vec<NodeAct> {
    let mut acts = Vec::new();
    for node in &view.nodes {
        // What the operator works on is empty, and is better left so until it is back.
        let is_at_work = node.is_out() && !(is_untouched(node) && node.cordon.is_none());
        if is_at_work {
            continue;
        }
        if node.is_draining() {
            acts.push(NodeAct::Uncordon(node.name.clone()));
        }
        if node.is_handed {
            acts.push(NodeAct::TakeBack(node.name.clone()));
        }
        if node.mark != NodeMark::None {
            acts.push(NodeAct::Mark(node.name.clone(), NodeMark::None));
        }
    }
    acts
}

fn is_untouched(node: &RebootedNode) -> bool {
    node.update == NodeUpdate::Waiting
}
