//! Halted: a person or a watch stopped the release, for everybody or for a part of the fleet.
//!
//! A halt is a block that says who made it and why. Clusters whose platform is unknown count as on
//! every platform. Nothing but a person ends a halt: time does not.

use super::targeted_block::objection;
use super::{EdgeQuestion, EdgeRule};
use crate::cluster::{Fact, Platform};
use crate::graph::{Audience, DeclaredHalt, KeptBlock};
use crate::verdict::{Code, Reason, Value, Verdict};

/// A person or a watch stopped the release.
static HALTED: Code = Code::new(
    "Halted",
    "halted for {whom} by {by} at {at}: {why}",
    "look at the evidence; removing the halt's file from the graph data undoes it, and a halt in the store ends when two people say `towpath rollouts resume`",
)
.with(&[
    ("whom", "clusters from 4.19 on AWS"),
    ("by", "watch"),
    ("at", "2026-11-16 12:00Z"),
    (
        "why",
        "6 failed and 0 degraded of 36 known outcomes (41 attempts).",
    ),
]);

/// Refuses edges that a halt stops for the cluster.
pub(crate) static RULE: EdgeRule = EdgeRule::new(&[&HALTED], judge);

fn judge(q: &EdgeQuestion<'_>) -> Verdict {
    let refusal = |block: &KeptBlock| {
        let halt = block.halt.as_deref()?;
        let is_meant = is_stopped(block.stops.as_ref()?, &q.cluster.platform);
        is_meant.then(|| Verdict::refuse(reason(halt).at(&block.origin)))
    };
    q.graph.blocks_on(q.edge).filter_map(refusal).collect()
}

fn is_stopped(stops: &Audience, platform: &Fact<Platform>) -> bool {
    match stops {
        Audience::Platforms(stopped) => objection(platform, stopped).is_some(),
        Audience::Everybody | Audience::NotUnderstood(_) | Audience::Disputed(_) => true,
    }
}

fn reason(halt: &DeclaredHalt) -> Reason {
    HALTED.because([
        ("whom", Value::text(&halt.scope)),
        ("by", halt.by.as_str().into()),
        ("at", halt.at.into()),
        ("why", Value::text(halt.sentence())),
    ])
}
