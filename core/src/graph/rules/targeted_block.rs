//! Targeted block: clusters on some platforms do not get the edge.
//!
//! The rule stops the listed platforms and unknown ones. It does not stop a cluster that is known
//! to be on another platform. A name that OpenShift does not have counts as unknown: `Amazon` may
//! be AWS.

use std::collections::BTreeSet;

use super::{EdgeQuestion, EdgeRule};
use crate::cluster::{Fact, Platform};
use crate::graph::Audience;
use crate::verdict::{Code, Reason, Value, Verdict};

static PLATFORM_BLOCKED: Code = Code::new(
    "PlatformBlocked",
    "blocked on {platform}",
    "take another release; the block's file says why",
)
.with(&[("platform", "AWS")]);

/// A block stops the edge for some platforms, and the cluster's is unknown.
static PLATFORM_UNKNOWN: Code = Code::new(
    "PlatformUnknown",
    "blocked on {platforms}, and this cluster's platform is unknown",
    "let the cluster send its platform, or list it for `--platforms`; then it may be offered",
)
.with(&[("platforms", "AWS")]);

/// A block stops the edge for some platforms, and the cluster's has a name that OpenShift does not have.
static PLATFORM_NOT_RECOGNISED: Code = Code::new(
    "PlatformNotRecognised",
    "blocked on {platforms}, and {platform} is not a platform of OpenShift",
    "correct the platform's name; docs/graph-data.md lists all of them",
)
.with(&[("platforms", "AWS"), ("platform", "Amazon")]);

/// Refuses edges that a block stops for the cluster's platform.
pub(crate) static RULE: EdgeRule = EdgeRule::new(
    &[
        &PLATFORM_BLOCKED,
        &PLATFORM_UNKNOWN,
        &PLATFORM_NOT_RECOGNISED,
    ],
    judge,
);

fn judge(q: &EdgeQuestion<'_>) -> Verdict {
    let blocks = q.graph.blocks_on(q.edge);
    let refusal = |block: &crate::graph::KeptBlock| match (&block.stops, &block.halt) {
        // Of halts, their own rule tells.
        (Some(Audience::Platforms(stopped)), None) => {
            let reason = objection(&q.cluster.platform, stopped)?;
            Some(Verdict::refuse(reason.at(&block.origin)))
        }
        _ => None,
    };
    blocks.filter_map(refusal).collect()
}

pub(super) fn objection(platform: &Fact<Platform>, stopped: &BTreeSet<Platform>) -> Option<Reason> {
    let names = || Value::list(stopped.iter().map(Platform::as_str));
    match platform {
        Fact::Known(platform) if stopped.contains(platform) => {
            Some(PLATFORM_BLOCKED.because([("platform", platform.as_str().into())]))
        }
        Fact::Known(platform) if platform.is_known() => None,
        Fact::Known(platform) => {
            let facts = [
                ("platforms", names()),
                ("platform", platform.as_str().into()),
            ];
            Some(PLATFORM_NOT_RECOGNISED.because(facts))
        }
        Fact::Unknown => Some(PLATFORM_UNKNOWN.because([("platforms", names())])),
    }
}
