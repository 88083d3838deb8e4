//! Hard block: nobody gets the edge.
//!
//! This includes blocks whose audience we do not understand, because too many blocks can be
//! undone.

use super::{EdgeQuestion, EdgeRule};
use crate::graph::{Audience, KeptBlock};
use crate::verdict::{Code, Reason, Verdict};

static HARD_BLOCK: Code = Code::new(
    "HardBlock",
    "blocked for every cluster",
    "take another release; the block's file says why",
);

/// A block names its clusters in a way that we do not understand.
static BLOCK_NOT_UNDERSTOOD: Code = Code::new(
    "BlockNotUnderstood",
    "blocked for every cluster, because {what}",
    "correct the block, or use a newer towpath",
)
.with(&[("what", "`clusters` names no clusters")]);

/// Sources disagree about the release's payload.
static PAYLOAD_DISPUTED: Code = Code::new(
    "PayloadDisputed",
    "not offered to anybody, because {what}",
    "find out which source is right; `/readyz` names both payloads",
)
.with(&[("what", "releases and mirror name different payloads for it")]);

/// Refuses edges that a block stops for everybody.
pub(crate) static RULE: EdgeRule = EdgeRule::new(
    &[&HARD_BLOCK, &BLOCK_NOT_UNDERSTOOD, &PAYLOAD_DISPUTED],
    judge,
);

fn judge(q: &EdgeQuestion<'_>) -> Verdict {
    q.graph
        .blocks_on(q.edge)
        // Of halts, their own rule tells.
        .filter(|block| block.halt.is_none())
        .filter_map(|block| Some(Verdict::refuse(objection(block)?.at(&block.origin))))
        .collect()
}

/// Whether a block stops every cluster, whoever made it.
pub(crate) fn stops_everybody(block: &KeptBlock) -> bool {
    objection(block).is_some()
}

fn objection(block: &KeptBlock) -> Option<Reason> {
    match block.stops.as_ref()? {
        Audience::Everybody => Some(HARD_BLOCK.alone()),
        Audience::NotUnderstood(what) => {
            Some(BLOCK_NOT_UNDERSTOOD.because([("what", what.as_str().into())]))
        }
        Audience::Disputed(what) => {
            Some(PAYLOAD_DISPUTED.because([("what", what.as_str().into())]))
        }
        Audience::Platforms(_) => None,
    }
}
