//! What stands in the way on a cluster: one rule a file, each from a step of a way and the cluster's facts to a verdict.
//!
//! None of them ever stops a patch. What is not known is refused, with what is missing as the reason: an update that has begun cannot
//! be taken back.

mod admin_acks;
mod kubelet_skew;
mod operators;
mod paused_control_plane;
mod platform_namespaces;
mod removals;
mod removed_apis;
mod update_in_progress;
mod upgradeable;

pub use kubelet_skew::{MaxSkew, PoolStanding, standings};
pub use removals::{REMOVALS, Removal};

use crate::domain::readiness::Facts;
use crate::domain::ready_reason::{ObjectKind, ReadyReason};
use crate::domain::way::Step;
use crate::domain::{Answer, Reason, Verdict};

/// What all rules say about a step.
pub fn judge(step: Step<'_>, facts: &Facts, max_skew: MaxSkew) -> Verdict {
    [
        admin_acks::judge(step, facts),
        kubelet_skew::judge(step, facts, max_skew),
        operators::judge(step, facts),
        paused_control_plane::judge(step, facts),
        removed_apis::judge(step, facts),
        update_in_progress::judge(step, facts),
        upgradeable::judge(step, facts),
    ]
    .into_iter()
    .collect()
}

fn refuse(reason: ReadyReason) -> Verdict {
    Verdict::refuse(Reason::Ready(Box::new(reason)))
}

fn inform(reason: ReadyReason) -> Verdict {
    Verdict {
        answer: Answer::Recommend,
        reasons: [Reason::Ready(Box::new(reason))].into(),
    }
}

fn not_given(kind: ObjectKind) -> Verdict {
    refuse(ReadyReason::NotGiven { kind })
}
