//! Targeted block: the edge is not for clusters on some platforms.
//!
//! Blocked for a listed platform, not for one known to be another, blocked where the platform is unknown.

use std::collections::BTreeSet;

use super::Rule;
use crate::domain::{Audience, Edge, Fact, KeptBlock, Platform, Reason, Situation, Verdict};

/// Refuses edges that a block stops for the cluster's platform.
pub struct TargetedBlock;

impl Rule for TargetedBlock {
    fn judge(&self, edge: Edge, at: &Situation<'_>) -> Verdict {
        let verdict = |block: &KeptBlock| match &block.stops {
            Some(Audience::Platforms(platforms)) => {
                judge_platform(&at.cluster.platform, platforms, block)
            }
            Some(Audience::Everybody | Audience::NotUnderstood(_) | Audience::Disputed(_))
            | None => Verdict::recommend(),
        };
        at.graph.blocks_on(edge).map(verdict).collect()
    }
}

fn judge_platform(
    platform: &Fact<Platform>,
    stopped: &BTreeSet<Platform>,
    block: &KeptBlock,
) -> Verdict {
    let origin = block.origin.clone();
    match platform {
        Fact::Known(platform) if stopped.contains(platform) => {
            Verdict::refuse(Reason::PlatformBlocked {
                platform: platform.clone(),
                origin,
            })
        }
        Fact::Known(_) => Verdict::recommend(),
        Fact::Unknown => Verdict::refuse(Reason::PlatformUnknown {
            platforms: stopped.iter().cloned().collect(),
            origin,
        }),
    }
}
