//! Hard block: the edge is not for anybody.
//!
//! Also where a block says whom it stops in words we do not understand: too many blocks can be undone.

use super::Rule;
use crate::domain::{Audience, Edge, KeptBlock, Reason, Situation, Verdict};

/// Refuses edges that a block stops for everybody.
pub struct HardBlock;

impl Rule for HardBlock {
    fn judge(&self, edge: Edge, at: &Situation<'_>) -> Verdict {
        let verdict = |block: &KeptBlock| match &block.stops {
            Some(Audience::Everybody) => Verdict::refuse(Reason::HardBlock {
                origin: block.origin.clone(),
            }),
            Some(Audience::NotUnderstood(what)) => Verdict::refuse(Reason::BlockNotUnderstood {
                what: what.clone(),
                origin: block.origin.clone(),
            }),
            Some(Audience::Disputed(what)) => Verdict::refuse(Reason::PayloadDisputed {
                what: what.clone(),
                origin: block.origin.clone(),
            }),
            Some(Audience::Platforms(_)) | None => Verdict::recommend(),
        };
        at.graph.blocks_on(edge).map(verdict).collect()
    }
}
