//! Offers: what the graph has against an edge for this cluster (a rollout, a block, a risk) stands here too.

use crate::domain::fleet::roster::{Candidate, Post};
use crate::domain::fleet::{Hold, OfferHold};

pub(super) fn judge(post: &Post<'_>, candidate: &Candidate) -> Option<Hold> {
    let against = post.member.state.offers[candidate.offer as usize]
        .hold
        .as_ref()?;
    (!is_over(post, against) && !is_accepted(post, against)).then_some(Hold::NotOffered)
}

fn is_over(post: &Post<'_>, against: &OfferHold) -> bool {
    against.until.is_some_and(|until| until <= post.now)
}

/// Whether the policy takes the risks, and there is nothing else.
fn is_accepted(post: &Post<'_>, against: &OfferHold) -> bool {
    !against.risks.is_empty() && against.risks.is_subset(&post.class.policy.accepted_risks)
}
