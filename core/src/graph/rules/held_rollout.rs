//! Held rollout: a release or an edge that people keep from being rolled out. Nobody gets it until
//! they let it go on.
//!
//! A hold says nothing about a release that clusters have been shown: that is what blocks are for.

use super::{EdgeQuestion, EdgeRule};
use crate::verdict::{Code, Verdict};

static ROLLOUT_HELD: Code = Code::new(
    "RolloutHeld",
    "it is held, so it is not rolled out to anybody",
    "wait until release administrators remove `held`; nobody has said when",
);

/// Makes everybody wait for what is held in their channel.
pub static RULE: EdgeRule = EdgeRule::new(&[&ROLLOUT_HELD], judge);

fn judge(q: &EdgeQuestion<'_>) -> Verdict {
    let channel = q.graph.channel(q.cluster.channel.as_str());
    let version = |id| &q.graph.release(id).version;
    let (from, to) = (version(q.edge.from), version(q.edge.to));
    let origin = channel.and_then(|channel| {
        let place = channel.membership(q.edge.to)?;
        channel.membership(q.edge.from)?;
        match channel.rule(from, to).filter(|rule| rule.is_held()) {
            _ if place.held => channel.origin_of(q.edge.to),
            Some(rule) => Some(&rule.origin),
            None => None,
        }
    });
    match origin {
        Some(origin) => Verdict::wait(ROLLOUT_HELD.alone().at(origin)),
        None => Verdict::recommend(),
    }
}
